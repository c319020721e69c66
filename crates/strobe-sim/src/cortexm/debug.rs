//! The debug blocks of ARMv7-M that firmware can reach (DDI 0403, part C): DWT with its cycle counter, ITM,
//! FPB, the ROM table, and the core debug registers.
//!
//! The cycle counter is real, to the cycle. Trace goes nowhere yet: stimulus ports take what is written. Comparators
//! keep their values and do nothing.

/// Debug components that identify themselves: their 4 KiB page, part number on an M3 and an M4, and class (DDI 0337I and
/// DDI 0439, chapters 7 to 9).
const COMPONENTS: [(u32, u32, u32, u32); 5] = [
    (ITM, 0x001, 0x001, 0xe),
    (DWT, 0x002, 0x002, 0xe),
    (FPB, 0x003, 0x003, 0xe),
    (SCS, 0x000, 0x00c, 0xe),
    (ROM, 0x4c3, 0x4c4, 0x1),
];

const ITM: u32 = 0xe000_0000;
const DWT: u32 = 0xe000_1000;
const FPB: u32 = 0xe000_2000;
const SCS: u32 = 0xe000_e000;
const ROM: u32 = 0xe00f_f000;

/// What the ROM table points to: SCS, DWT, FPB, ITM, TPIU; the ETM is not there.
const ROM_TABLE: [u32; 6] =
    [0xfff0_f003, 0xfff0_2003, 0xfff0_3003, 0xfff0_1003, 0xfff4_1003, 0xfff4_2002];

/// Bits of DWT_CTRL.
mod ctrl {
    pub(super) const CYCCNTENA: u32 = 1;
    pub(super) const EXCEVTENA: u32 = 1 << 18;
    pub(super) const SLEEPEVTENA: u32 = 1 << 19;
    /// Events of counters that are not modelled: CPI, LSU and FOLD.
    pub(super) const UNMODELLED: u32 = 1 << 17 | 1 << 20 | 1 << 21;
    pub(super) const WRITABLE: u32 = 0x007f_1fff;
    /// NUMCOMP: four comparators.
    pub(super) const FIXED: u32 = 4 << 28;
}

/// DEMCR.TRCENA.
const TRCENA: u32 = 1 << 24;
/// Of DEMCR: TRCENA, the monitor's bits, and vector catch.
const DEMCR_BITS: u32 = 0x010f_07f1;

/// The registers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Debug {
    /// Part of a Cortex-M4.
    m4: bool,
    /// DEMCR.
    pub(crate) demcr: u32,
    dwt_control: u32,
    /// CYCCNT while it counts is the cycle less this; else it is this.
    cycle_base: u32,
    exception_cycles: u32,
    sleep_cycles: u32,
    /// DWT_COMP, MASK and FUNCTION of the four comparators.
    comparators: [[u32; 4]; 4],
    itm_control: u32,
    itm_enabled: u32,
    itm_privilege: u32,
    fpb_control: u32,
    fpb_remap: u32,
    fpb_comparators: [u32; 8],
    /// What was asked for and is not modelled; taken by whoever warns.
    pub(crate) asked: Option<&'static str>,
}

impl Debug {
    /// As after power-on, in a Cortex-M4 or else an M3.
    pub(crate) fn new(m4: bool) -> Self {
        Debug { m4, ..Debug::default() }
    }

    /// A system reset: what belongs to the debugger stays (C1.6).
    pub(crate) fn reset(&mut self) {
        // MON_EN and its companions.
        self.demcr &= !0x000f_0000;
    }

    fn counts(&self) -> bool {
        self.demcr & TRCENA != 0 && self.dwt_control & ctrl::CYCCNTENA != 0
    }

    /// DWT_CYCCNT at a cycle.
    fn cycle_count(&self, now: u64) -> u32 {
        if self.counts() { (now as u32).wrapping_sub(self.cycle_base) } else { self.cycle_base }
    }

    /// Changes what decides whether cycles are counted, keeping the count.
    fn while_counting(&mut self, now: u64, change: impl FnOnce(&mut Self)) {
        let count = self.cycle_count(now);
        change(self);
        self.set_cycle_count(count, now);
    }

    fn set_cycle_count(&mut self, count: u32, now: u64) {
        self.cycle_base = if self.counts() { (now as u32).wrapping_sub(count) } else { count };
    }

    /// Cycles of an exception's entry or exit, which EXCCNT counts while its event is enabled.
    pub(crate) fn count_exception(&mut self, cycles: u64) {
        if self.counts() && self.dwt_control & ctrl::EXCEVTENA != 0 {
            self.exception_cycles = self.exception_cycles.wrapping_add(cycles as u32);
        }
    }

    /// Cycles asleep, which SLEEPCNT counts while its event is enabled. CYCCNT counts them as well (C1.8.4).
    pub(crate) fn count_sleep(&mut self, cycles: u64) {
        if self.counts() && self.dwt_control & ctrl::SLEEPEVTENA != 0 {
            self.sleep_cycles = self.sleep_cycles.wrapping_add(cycles as u32);
        }
    }

    /// Writes DEMCR.
    pub(crate) fn write_demcr(&mut self, value: u32, now: u64) {
        self.while_counting(now, |debug| debug.demcr = value & DEMCR_BITS);
    }

    /// Reads a word outside the system control space; `None` where nothing is.
    pub(crate) fn read(&self, address: u32, now: u64) -> Option<u32> {
        if let Some(id) = self.identification(address) {
            return Some(id);
        }
        let offset = address & 0xfff;
        match address & !0xfff {
            ITM => self.read_itm(offset),
            DWT => self.read_dwt(offset, now),
            FPB => self.read_fpb(offset),
            ROM => {
                let entry = ROM_TABLE.get(offset as usize / 4).copied();
                // MEMTYPE: the system's memory can be seen.
                Some(if offset == 0xfcc { 1 } else { entry.unwrap_or(0) })
            }
            _ => None,
        }
    }

    fn read_itm(&self, offset: u32) -> Option<u32> {
        Some(match offset {
            // A stimulus port's FIFO is never full; without ITMENA and its enable bit it takes nothing.
            0..=0x7c => {
                let on = self.demcr & TRCENA != 0 && self.itm_control & 1 != 0;
                u32::from(on && self.itm_enabled >> (offset / 4) & 1 != 0)
            }
            0xe00 => self.itm_enabled,
            0xe40 => self.itm_privilege,
            0xe80 => self.itm_control,
            // LSR: no lock.
            0xfb0 | 0xfb4 => 0,
            _ => return None,
        })
    }

    fn read_dwt(&self, offset: u32, now: u64) -> Option<u32> {
        Some(match offset {
            0x00 => ctrl::FIXED | self.dwt_control,
            0x04 => self.cycle_count(now),
            0x0c => self.exception_cycles & 0xff,
            0x10 => self.sleep_cycles & 0xff,
            0x08 | 0x14 | 0x18 => 0,
            // PCSR: no sample while nobody halts or looks from outside.
            0x1c => u32::MAX,
            0x20..=0x5c => self.comparators[offset as usize / 16 - 2][offset as usize / 4 % 4],
            0xfb0 | 0xfb4 => 0,
            _ => return None,
        })
    }

    fn read_fpb(&self, offset: u32) -> Option<u32> {
        Some(match offset {
            // Six instruction and two literal comparators.
            0x00 => 0x260 | self.fpb_control,
            0x04 => self.fpb_remap,
            0x08..=0x24 => self.fpb_comparators[offset as usize / 4 - 2],
            _ => return None,
        })
    }

    /// Writes a word outside the system control space; `None` where nothing is.
    pub(crate) fn write(&mut self, address: u32, value: u32, now: u64) -> Option<()> {
        if self.identification(address).is_some() {
            return Some(());
        }
        let offset = address & 0xfff;
        match address & !0xfff {
            ITM => self.write_itm(offset, value),
            DWT => self.write_dwt(offset, value, now),
            FPB => self.write_fpb(offset, value),
            ROM => Some(()),
            _ => None,
        }
    }

    fn write_itm(&mut self, offset: u32, value: u32) -> Option<()> {
        match offset {
            0..=0x7c => {}
            0xe00 => self.itm_enabled = value,
            0xe40 => self.itm_privilege = value & 15,
            0xe80 => self.itm_control = value & 0x007f_0f1f,
            0xfb0 => {}
            _ => return None,
        }
        Some(())
    }

    fn write_dwt(&mut self, offset: u32, value: u32, now: u64) -> Option<()> {
        // Without TRCENA the unit cannot be programmed (C1.6.5).
        if self.demcr & TRCENA == 0 {
            return Some(());
        }
        match offset {
            0x00 => {
                if value & ctrl::UNMODELLED & !self.dwt_control != 0 {
                    self.asked = Some("DWT's CPICNT, LSUCNT and FOLDCNT read as zero");
                }
                // Enabling an event clears its counter.
                let enabled = value & !self.dwt_control;
                if enabled & ctrl::EXCEVTENA != 0 {
                    self.exception_cycles = 0;
                }
                if enabled & ctrl::SLEEPEVTENA != 0 {
                    self.sleep_cycles = 0;
                }
                self.while_counting(now, |debug| debug.dwt_control = value & ctrl::WRITABLE);
            }
            0x04 => self.set_cycle_count(value, now),
            0x0c => self.exception_cycles = value & 0xff,
            0x10 => self.sleep_cycles = value & 0xff,
            0x08 | 0x14 | 0x18 | 0x1c => {}
            0x20..=0x5c => {
                if offset & 15 == 8 && value & 15 != 0 {
                    self.asked = Some("DWT's comparators (watchpoints) do nothing");
                }
                self.comparators[offset as usize / 16 - 2][offset as usize / 4 % 4] = value;
            }
            0xfb0 => {}
            _ => return None,
        }
        Some(())
    }

    fn write_fpb(&mut self, offset: u32, value: u32) -> Option<()> {
        match offset {
            // KEY.
            0x00 if value & 2 != 0 => {
                self.fpb_control = value & 1;
                if value & 1 != 0 {
                    self.asked = Some("the FPB neither patches code nor sets breakpoints");
                }
            }
            0x00 => {}
            0x04 => self.fpb_remap = value & 0x1fff_ffe0 | 0x2000_0000,
            0x08..=0x24 => self.fpb_comparators[offset as usize / 4 - 2] = value,
            _ => return None,
        }
        Some(())
    }

    /// The CoreSight peripheral and component identification in a page.
    pub(crate) fn identification(&self, address: u32) -> Option<u32> {
        let &(_, m3, m4, class) = COMPONENTS.iter().find(|(page, ..)| *page == address & !0xfff)?;
        let part = if self.m4 { m4 } else { m3 };
        Some(match address & 0xfff {
            0xfd0 => 4,
            0xfe0 => part & 0xff,
            // ARM's JEP106 code.
            0xfe4 => 0xb0 | part >> 8,
            0xfe8 => 0x0b,
            0xfd4..=0xfdc | 0xfec => 0,
            0xff0 => 0x0d,
            0xff4 => class << 4,
            0xff8 => 5,
            0xffc => 0xb1,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CTRL: u32 = DWT;
    const CYCCNT: u32 = DWT + 4;

    fn counting() -> Debug {
        let mut debug = Debug::default();
        debug.write_demcr(TRCENA, 0);
        debug.write(CTRL, 1, 10).expect("DWT_CTRL");
        debug
    }

    #[test]
    fn the_counter_counts_from_where_it_was_enabled() {
        let mut debug = counting();
        assert_eq!(debug.read(CYCCNT, 10), Some(0));
        assert_eq!(debug.read(CYCCNT, 1010), Some(1000));
        debug.write(CYCCNT, 0xffff_fff0, 2000).expect("CYCCNT");
        assert_eq!(debug.read(CYCCNT, 2016), Some(0), "it wraps");
        debug.write(CTRL, 0, 2020).expect("DWT_CTRL");
        assert_eq!(debug.read(CYCCNT, 9999), Some(4), "it stands still");
        debug.write(CTRL, 1, 10_000).expect("DWT_CTRL");
        assert_eq!(debug.read(CYCCNT, 10_001), Some(5));
    }

    #[test]
    fn without_trcena_nothing_counts_and_nothing_is_written() {
        let mut debug = Debug::default();
        debug.write(CTRL, 1, 0).expect("DWT_CTRL");
        assert_eq!(debug.read(CTRL, 0), Some(0x4000_0000));
        let mut debug = counting();
        debug.write_demcr(0, 110);
        assert_eq!(debug.read(CYCCNT, 5000), Some(100));
        debug.write_demcr(TRCENA, 5000);
        assert_eq!(debug.read(CYCCNT, 5001), Some(101));
    }

    #[test]
    fn overhead_counters_count_while_enabled() {
        let mut debug = counting();
        debug.count_exception(12);
        debug.write(CTRL, 1 | ctrl::EXCEVTENA | ctrl::SLEEPEVTENA, 0).expect("DWT_CTRL");
        debug.count_exception(12);
        debug.count_exception(250);
        debug.count_sleep(300);
        assert_eq!(debug.read(DWT + 0xc, 0), Some(6), "eight bits");
        assert_eq!(debug.read(DWT + 0x10, 0), Some(44));
        assert_eq!(debug.asked, None);
        debug.write(CTRL, 1 | 1 << 17, 0).expect("DWT_CTRL");
        assert!(debug.asked.is_some());
    }

    #[test]
    fn stimulus_ports_are_ready_when_enabled() {
        let mut debug = Debug::default();
        assert_eq!(debug.read(ITM, 0), Some(0));
        debug.write_demcr(TRCENA, 0);
        debug.write(ITM + 0xe00, 1, 0).expect("TER");
        debug.write(ITM + 0xe80, 1, 0).expect("TCR");
        debug.write(ITM, 0x41, 0).expect("port 0");
        assert_eq!((debug.read(ITM, 0), debug.read(ITM + 4, 0)), (Some(1), Some(0)));
    }

    /// DDI 0337I, table 7.1 and 7.2.
    #[test]
    fn the_rom_table_is_that_of_the_manual() {
        let debug = Debug::default();
        let ids =
            [0xfe0, 0xfe4, 0xfe8, 0xff0, 0xff4, 0xff8, 0xffc].map(|at| debug.read(ROM + at, 0));
        assert_eq!(ids, [0xc3, 0xb4, 0x0b, 0x0d, 0x10, 0x05, 0xb1].map(Some));
        assert_eq!(debug.read(ROM, 0), Some(0xfff0_f003));
        assert_eq!(debug.read(ROM + 0x18, 0), Some(0), "the end marker");
        assert_eq!(debug.read(0xe000_3000, 0), None);
    }
}
