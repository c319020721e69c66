//! The data watchpoint and trace unit (DDI 0403E, C1.8): the cycle counter with its taps, the
//! profiling counters, comparators.
//!
//! What it reports goes into a list of packets with their cycles; who takes them is not its
//! business.

use std::ops::Range;

use super::comparator::{Comparator, Seen};
use super::packet::{Action, Packet, event};
use crate::kernel::device::{Reading, Size};

/// Bits of DWT_CTRL.
mod ctrl {
    pub(super) const CYCCNTENA: u32 = 1;
    pub(super) const CYCTAP: u32 = 1 << 9;
    pub(super) const PCSAMPLENA: u32 = 1 << 12;
    pub(super) const EXCTRCENA: u32 = 1 << 16;
    pub(super) const CPIEVTENA: u32 = 1 << 17;
    pub(super) const EXCEVTENA: u32 = 1 << 18;
    pub(super) const SLEEPEVTENA: u32 = 1 << 19;
    pub(super) const LSUEVTENA: u32 = 1 << 20;
    pub(super) const FOLDEVTENA: u32 = 1 << 21;
    pub(super) const CYCEVTENA: u32 = 1 << 22;
    pub(super) const WRITABLE: u32 = 0x007f_1fff;
    /// NUMCOMP: four comparators.
    pub(super) const FIXED: u32 = 4 << 28;
}

/// The profiling counters: bit that enables the event, bit in the packet. Their registers follow
/// one another from 0x08 on.
const COUNTERS: [(u32, u8); 5] = [
    (ctrl::CPIEVTENA, event::CPI),
    (ctrl::EXCEVTENA, event::EXC),
    (ctrl::SLEEPEVTENA, event::SLEEP),
    (ctrl::LSUEVTENA, event::LSU),
    (ctrl::FOLDEVTENA, event::FOLD),
];

/// Which of the profiling counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Counter {
    /// Further cycles of instructions, those of loads and stores apart, and fetch stalls.
    Cpi = 0,
    /// Cycles of exception entry and return.
    Exception = 1,
    /// Cycles asleep.
    Sleep = 2,
    /// Further cycles of loads and stores.
    Lsu = 3,
    /// Instructions that took no cycle.
    Fold = 4,
}

/// What a cycle is spent on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spent {
    /// An instruction, or what the profile counts for it.
    At(u32),
    /// Sleep.
    Asleep,
}

/// What the unit emits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EmittedPacket {
    /// A packet for the ITM.
    Packet(Packet),
    /// The heartbeat for ITM and TPIU.
    Synchronise,
}

/// The unit.
#[derive(Debug, Clone, Default)]
pub(crate) struct Dwt {
    /// Trace is on (DEMCR.TRCENA).
    on: bool,
    control: u32,
    /// CYCCNT while it counts is the cycle less this; else it is this.
    cycle_base: u32,
    counters: [u8; 5],
    /// POSTCNT while nothing counts it.
    post: u32,
    /// When POSTCNT is next asked to go below zero, when the heartbeat comes.
    post_due: Option<u64>,
    sync_due: Option<u64>,
    match_due: Option<u64>,
    /// The first of the three.
    due: Option<u64>,
    comparators: [Comparator; 4],
    /// One of them looks at data accesses.
    watches: bool,
    /// What has been emitted, with the cycle of each.
    pub(crate) emitted: Vec<(u64, EmittedPacket)>,
}

impl Dwt {
    fn counts(&self) -> bool {
        self.on && self.control & ctrl::CYCCNTENA != 0
    }

    fn is_on(&self, bit: u32) -> bool {
        self.on && self.control & bit != 0
    }

    /// DWT_CYCCNT at a cycle.
    fn cycle_count(&self, now: u64) -> u32 {
        if self.counts() { (now as u32).wrapping_sub(self.cycle_base) } else { self.cycle_base }
    }

    /// The cycle of the first change of a bit of CYCCNT after `now`.
    fn next_change(&self, bit: u32, now: u64) -> u64 {
        let period = 1u64 << bit;
        now + period - u64::from(self.cycle_count(now)) % period
    }

    /// The bit that POSTCNT counts the changes of.
    fn tap(&self) -> u32 {
        if self.control & ctrl::CYCTAP != 0 { 10 } else { 6 }
    }

    fn counts_down(&self) -> bool {
        self.counts() && self.control & (ctrl::PCSAMPLENA | ctrl::CYCEVTENA) != 0
    }

    /// Changes what decides about counting, keeping both counts. Everything due before `now` must
    /// have been done.
    fn change(&mut self, now: u64, change: impl FnOnce(&mut Self)) {
        let count = self.cycle_count(now);
        if let Some(due) = self.post_due {
            let left = due.saturating_sub(self.next_change(self.tap(), now));
            self.post = (left >> self.tap()) as u32;
        }
        change(self);
        self.set_cycle_count(count, now);
    }

    /// Sets CYCCNT, and with it when its bits change.
    fn set_cycle_count(&mut self, count: u32, now: u64) {
        self.cycle_base = if self.counts() { (now as u32).wrapping_sub(count) } else { count };
        self.schedule(now);
    }

    fn write_control(&mut self, value: u32, now: u64) {
        // Enabling an event clears its counter.
        let enabled = value & !self.control;
        for ((enable, _), counter) in COUNTERS.iter().zip(&mut self.counters) {
            if enabled & enable != 0 {
                *counter = 0;
            }
        }
        // POSTINIT counts when nothing has been counting down.
        let starts = self.control & (ctrl::PCSAMPLENA | ctrl::CYCEVTENA) == 0;
        self.change(now, |dwt| {
            dwt.control = value;
            if starts {
                dwt.post = value >> 5 & 15;
            }
        });
    }

    fn schedule(&mut self, now: u64) {
        self.watches = self.on && self.comparators.iter().any(Comparator::watches);
        let tap = self.tap();
        let post = u64::from(self.post) << tap;
        self.post_due = self.counts_down().then(|| self.next_change(tap, now) + post);
        let tap = match self.control >> 10 & 3 {
            0 => None,
            n => Some(22 + 2 * n),
        };
        let counts = self.counts();
        self.sync_due = tap.filter(|_| counts).map(|bit| self.next_change(bit, now));
        let to = self.comparators[0].cycle_match().filter(|_| counts);
        self.match_due = to.map(|to| match to.wrapping_sub(self.cycle_count(now)) {
            0 => now + (1 << 32),
            left => now + u64::from(left),
        });
        self.find_due();
    }

    /// The cycle of the next thing that comes by itself.
    #[inline(always)]
    pub(crate) fn due(&self) -> u64 {
        self.due.unwrap_or(u64::MAX)
    }

    fn find_due(&mut self) {
        let dues = [self.post_due, self.sync_due, self.match_due];
        self.due = dues.into_iter().flatten().min();
    }

    /// Cycles up to `until`, that one not included, are spent on something: does what is due in
    /// them.
    pub(crate) fn spend(&mut self, until: u64, spent: Spent) {
        while self.due() < until {
            let due = self.due();
            if self.sync_due == Some(due) {
                self.emitted.push((due, EmittedPacket::Synchronise));
                self.sync_due = Some(self.next_change(22 + 2 * (self.control >> 10 & 3), due));
            }
            if self.post_due == Some(due) {
                let reload = u64::from(self.control >> 1 & 15) + 1;
                self.post_due = Some(due + (reload << self.tap()));
                self.underflow(due, spent);
            }
            if self.match_due == Some(due) {
                self.match_due = Some(due + (1 << 32));
                if let (Some(packet), Spent::At(pc)) = (self.comparators[0].cycle_matched(), spent)
                {
                    self.emit(due, packet(pc));
                }
            }
            self.find_due();
        }
    }

    fn emit(&mut self, at: u64, packet: Packet) {
        self.emitted.push((at, EmittedPacket::Packet(packet)));
    }

    /// POSTCNT was to go below zero.
    fn underflow(&mut self, at: u64, spent: Spent) {
        let packet = match spent {
            _ if self.control & ctrl::PCSAMPLENA == 0 => Packet::counters(event::CYC),
            Spent::At(pc) => Packet::pc_sample(pc),
            Spent::Asleep => Packet::SLEEP,
        };
        self.emit(at, packet);
    }

    /// An exception does something.
    pub(crate) fn exception(&mut self, number: u16, action: Action, at: u64) {
        if self.is_on(ctrl::EXCTRCENA) {
            self.emit(at, Packet::exception(number, action));
        }
    }

    /// Counts cycles or instructions, up to `at`, of which the last is the one at `at`.
    pub(crate) fn count(&mut self, counter: Counter, cycles: u64, at: u64) {
        let (enable, bit) = COUNTERS[counter as usize];
        if !self.is_on(enable) || cycles == 0 {
            return;
        }
        let sum = u64::from(self.counters[counter as usize]) + cycles;
        self.counters[counter as usize] = sum as u8;
        // The wraps, the first of them first.
        for n in 1..=sum / 256 {
            self.emit(at - (sum - 256 * n), Packet::counters(bit));
        }
    }

    /// Whether instructions must be looked at one by one: for what their cycles were, or what they
    /// load.
    pub(crate) fn wants_instructions(&self) -> bool {
        let loads = self.watches && self.comparators.iter().any(Comparator::watches_loads);
        self.is_on(ctrl::CPIEVTENA | ctrl::LSUEVTENA | ctrl::FOLDEVTENA) || loads
    }

    /// Whose stores the comparators look at, in whole words.
    pub(crate) fn watched_stores(&self) -> Range<u32> {
        let watching = self.comparators.iter().filter(|c| self.watches && c.watches());
        let ranges = watching.map(Comparator::words);
        ranges.reduce(|a, b| a.start.min(b.start)..a.end.max(b.end)).unwrap_or(0..0)
    }

    /// Whether a comparator looks at data accesses.
    pub(crate) fn watches(&self) -> bool {
        self.watches
    }

    /// A data access, at its cycle.
    pub(crate) fn accessed(&mut self, seen: &Seen, at: u64) {
        for (n, comparator) in (0..).zip(&mut self.comparators) {
            for packet in comparator.accessed(n, seen).into_iter().flatten() {
                self.emitted.push((at, EmittedPacket::Packet(packet)));
            }
        }
    }

    /// DEMCR.TRCENA changes.
    pub(crate) fn set_on(&mut self, on: bool, now: u64) {
        self.change(now, |dwt| dwt.on = on);
    }

    /// Reads a register; `None` where there is none.
    pub(crate) fn read(&mut self, offset: u32, now: u64) -> Option<u32> {
        Some(match offset {
            0x00 => ctrl::FIXED | self.control,
            0x04 => self.cycle_count(now),
            0x08..=0x18 => self.counters[offset as usize / 4 - 2].into(),
            // PCSR: no sample while nobody halts or looks from outside.
            0x1c => u32::MAX,
            0x20..=0x5c => self.comparators[offset as usize / 16 - 2].read(offset & 15),
            0xfb0 | 0xfb4 => 0,
            _ => return None,
        })
    }

    /// What reading a register again shows.
    pub(crate) fn reading(&self, offset: u32, size: Size, now: u64) -> Reading {
        match offset & !3 {
            0x04 if self.counts() => {
                let (period, next) = (1, now + 1);
                Reading::Counting { period, next, down: false, until: u64::MAX }.part(
                    self.cycle_count(now),
                    offset,
                    size,
                )
            }
            // Instructions count these.
            0x08..=0x18 => Reading::Unknown,
            // Reading FUNCTION clears MATCHED.
            at @ 0x20..=0x5c if at & 15 == 8 => Reading::Unknown,
            _ => Reading::FIXED,
        }
    }

    /// Writes a register; `None` where there is none. Returns what was asked for and is not
    /// modelled.
    pub(crate) fn write(
        &mut self,
        offset: u32,
        value: u32,
        now: u64,
    ) -> Option<Option<&'static str>> {
        // Without TRCENA the unit cannot be programmed (C1.6.5).
        if !self.on {
            return Some(None);
        }
        let mut asked = None;
        match offset {
            0x00 => self.write_control(value & ctrl::WRITABLE, now),
            0x04 => {
                self.change(now, |_| {});
                self.set_cycle_count(value, now);
            }
            0x08..=0x18 => self.counters[offset as usize / 4 - 2] = value as u8,
            0x1c | 0xfb0 | 0xfb4 => {}
            0x20..=0x5c => {
                let n = offset as usize / 16 - 2;
                asked = self.comparators[n].write(n, offset & 15, value);
                self.change(now, |_| {});
            }
            _ => return None,
        }
        Some(asked)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A unit with this in DWT_CTRL since cycle 0.
    fn with(control: u32) -> Dwt {
        let mut dwt = Dwt::default();
        dwt.set_on(true, 0);
        dwt.write(0, control, 0).expect("DWT_CTRL");
        dwt
    }

    fn times(dwt: &mut Dwt) -> Vec<u64> {
        std::mem::take(&mut dwt.emitted).into_iter().map(|(at, _)| at).collect()
    }

    /// DDI 0337G, 11.6.1: an event on a change of the tap while POSTCNT is 0, which is then loaded
    /// from POSTPRESET.
    #[test]
    fn samples_come_at_changes_of_the_tap() {
        let cases = [
            // CYCTAP 0, POSTPRESET 0, POSTINIT 0: each 64 cycles.
            (0, 0, 0, [64, 128, 192]),
            (0, 2, 0, [64, 256, 448]),
            (0, 2, 5, [384, 576, 768]),
            // CYCTAP 1: 1024 to 16384 cycles.
            (1, 0, 0, [1024, 2048, 3072]),
            (1, 15, 0, [1024, 17_408, 33_792]),
            (1, 15, 15, [16_384, 32_768, 49_152]),
        ];
        for (tap, preset, init, expected) in cases {
            let control = ctrl::CYCCNTENA | ctrl::PCSAMPLENA | tap << 9 | init << 5 | preset << 1;
            let mut dwt = with(control);
            dwt.spend(expected[2] + 1, Spent::At(0x100));
            assert_eq!(times(&mut dwt), expected, "{tap} {preset} {init}");
        }
    }

    #[test]
    fn sampled_cycle_belongs_to_its_spender() {
        let mut dwt = with(ctrl::CYCCNTENA | ctrl::PCSAMPLENA);
        dwt.spend(64, Spent::At(0x100));
        assert_eq!(dwt.emitted, [], "cycle 64 is the next one's");
        dwt.spend(65, Spent::At(0x102));
        dwt.spend(300, Spent::Asleep);
        let sample = EmittedPacket::Packet(Packet::pc_sample(0x102));
        let asleep = EmittedPacket::Packet(Packet::SLEEP);
        assert_eq!(dwt.emitted, [(64, sample), (128, asleep), (192, asleep), (256, asleep)]);
    }

    /// Writing what is there already, as firmware does that sets one more bit, does not disturb the
    /// count.
    #[test]
    fn the_phase_survives_other_writes() {
        let control = ctrl::CYCCNTENA | ctrl::PCSAMPLENA | 3 << 1 | 3 << 5;
        let mut dwt = with(control);
        for now in [10, 64, 65, 150, 255] {
            dwt.spend(now, Spent::At(0));
            dwt.write(0, control | ctrl::EXCTRCENA, now).expect("DWT_CTRL");
        }
        dwt.spend(600, Spent::At(0));
        assert_eq!(times(&mut dwt), [256, 512]);
        // CYCCNT 0x30 at cycle 600: the tap changes 16 cycles later, three times before POSTCNT is
        // through.
        dwt.write(4, 0x30, 600).expect("CYCCNT");
        dwt.spend(1000, Spent::At(0));
        assert_eq!(times(&mut dwt), [616 + 2 * 64]);
    }

    #[test]
    fn cycle_events_and_the_heartbeat() {
        let mut dwt = with(ctrl::CYCCNTENA | ctrl::CYCEVTENA | ctrl::CYCTAP | 15 << 1 | 1 << 10);
        dwt.spend((1 << 24) + 1, Spent::Asleep);
        let packet = EmittedPacket::Packet(Packet::counters(event::CYC));
        assert_eq!(dwt.emitted[0], (1024, packet));
        assert!(dwt.emitted.contains(&(1 << 24, EmittedPacket::Synchronise)));
        let mut dwt = with(1 << 10 | ctrl::CYCEVTENA);
        dwt.spend(1 << 30, Spent::Asleep);
        assert_eq!(dwt.emitted, [], "nothing without CYCCNTENA");
    }

    #[test]
    fn counters_emit_a_packet_when_they_wrap() {
        let mut dwt = with(ctrl::SLEEPEVTENA | ctrl::LSUEVTENA);
        dwt.count(Counter::Sleep, 600, 1000);
        dwt.count(Counter::Exception, 600, 1000);
        assert_eq!(times(&mut dwt), [1000 - 344, 1000 - 88]);
        assert_eq!((dwt.read(0x10, 0), dwt.read(0x0c, 0)), (Some(88), Some(0)));
        assert!(dwt.wants_instructions());
    }
}
