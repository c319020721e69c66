//! The debug blocks of ARMv7-M that firmware can reach (DDI 0403, part C): DWT, ITM and TPIU, which
//! are `trace.rs`'s, FPB, the ROM table, and the core debug registers.

use super::trace::{DWT, ITM, TPIU, Trace, Write};
use crate::kernel::device::{Reading, Size};

/// Debug components that identify themselves: their 4 KiB page, part number on an M3 and an M4, and
/// class (DDI 0337I and DDI 0439, chapters 7 to 9).
const COMPONENTS: [(u32, u32, u32, u32); 6] = [
    (ITM, 0x001, 0x001, 0xe),
    (DWT, 0x002, 0x002, 0xe),
    (FPB, 0x003, 0x003, 0xe),
    (SCS, 0x000, 0x00c, 0xe),
    (TPIU, 0x923, 0x9a1, 0x9),
    (ROM, 0x4c3, 0x4c4, 0x1),
];

const FPB: u32 = 0xe000_2000;
const SCS: u32 = 0xe000_e000;
const ROM: u32 = 0xe00f_f000;

/// What the ROM table points to: SCS, DWT, FPB, ITM, TPIU; the ETM is not there.
const ROM_TABLE: [u32; 6] =
    [0xfff0_f003, 0xfff0_2003, 0xfff0_3003, 0xfff0_1003, 0xfff4_1003, 0xfff4_2002];

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
    pub(crate) trace: Trace,
    fpb_control: u32,
    fpb_remap: u32,
    fpb_comparators: [u32; 8],
    /// What was asked for and is not modelled; taken by whoever warns.
    pub(crate) asked: Option<&'static str>,
}

impl Debug {
    /// As after power-on, in a Cortex-M4 or else an M3, with the trace pin out or not.
    pub(crate) fn new(m4: bool, pin_is_on: bool) -> Self {
        let mut debug = Debug { m4, ..Debug::default() };
        debug.trace.set_pin(pin_is_on, 0);
        debug
    }

    /// A system reset: what belongs to the debugger stays (C1.6).
    pub(crate) fn reset(&mut self) {
        // MON_EN and its companions.
        self.demcr &= !0x000f_0000;
    }

    /// Writes DEMCR.
    pub(crate) fn write_demcr(&mut self, value: u32, now: u64) {
        self.demcr = value & DEMCR_BITS;
        self.trace.set_on(value & TRCENA != 0, now);
    }

    /// Reads a word outside the system control space; `None` where nothing is.
    pub(crate) fn read(&mut self, address: u32, now: u64) -> Option<u32> {
        if let Some(id) = self.identification(address) {
            return Some(id);
        }
        let offset = address & 0xfff;
        match address & !0xfff {
            ITM | DWT | TPIU => self.trace.read(address, now),
            FPB => self.read_fpb(offset),
            ROM => {
                let entry = ROM_TABLE.get(offset as usize / 4).copied();
                // MEMTYPE: the system's memory can be seen.
                Some(if offset == 0xfcc { 1 } else { entry.unwrap_or(0) })
            }
            _ => None,
        }
    }

    /// What reading a register again shows; asked right after [`Debug::read`] of it, at `now`.
    pub(crate) fn reading(&self, address: u32, size: Size, now: u64) -> Reading {
        match address & !0xfff {
            ITM | DWT | TPIU if self.identification(address).is_none() => {
                self.trace.reading(address, size, now)
            }
            _ => Reading::FIXED,
        }
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
    pub(crate) fn write(&mut self, write: &Write, now: u64) -> Option<()> {
        if self.identification(write.address).is_some() {
            return Some(());
        }
        match write.address & !0xfff {
            ITM | DWT | TPIU => {
                let asked = self.trace.write(write, now)?;
                self.asked = self.asked.or(asked);
                Some(())
            }
            FPB => self.write_fpb(write.address & 0xfff, write.value),
            ROM => Some(()),
            _ => None,
        }
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

    /// DDI 0337I, table 7.1 and 7.2.
    #[test]
    fn the_rom_table_is_that_of_the_manual() {
        let mut debug = Debug::default();
        let ids =
            [0xfe0, 0xfe4, 0xfe8, 0xff0, 0xff4, 0xff8, 0xffc].map(|at| debug.read(ROM + at, 0));
        assert_eq!(ids, [0xc3, 0xb4, 0x0b, 0x0d, 0x10, 0x05, 0xb1].map(Some));
        assert_eq!(debug.read(ROM, 0), Some(0xfff0_f003));
        assert_eq!(debug.read(ROM + 0x18, 0), Some(0), "the end marker");
        assert_eq!(debug.read(0xe000_3000, 0), None);
    }
}
