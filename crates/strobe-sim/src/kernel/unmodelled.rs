//! Registers that nobody modelled: they keep their last value, are counted, and are listed at the
//! end.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A ready flag in an unmodelled register, so that firmware which polls it goes on: `bit` reads as
/// another bit was last written, or always the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadyRule {
    /// Register address.
    pub address: u32,
    /// The flag's bit number.
    pub bit: u8,
    /// The bit it copies.
    pub follows: Option<u8>,
    /// The register that bit is in, if another.
    pub of: Option<u32>,
    /// What it always reads, 0 or 1, instead of following.
    pub reads: Option<u8>,
}

/// What is known of an unmodelled register although nobody modelled it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Known {
    /// Its name with its peripheral's, as `RCC.CR`.
    pub name: String,
    /// Its value at reset.
    pub reset: u32,
    /// Bits that a write does not change.
    pub read_only: u32,
    /// Bits that writing a one clears, and writing a zero leaves.
    pub one_clears: u32,
    /// Bits of the word that belong to a register.
    pub lanes: u32,
}

/// A peripheral's place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peripheral {
    /// Name.
    pub name: String,
    /// First address.
    pub base: u32,
    /// Bytes, at least up to its last register.
    pub size: u32,
}

/// What a description of the chip knows of registers that nobody modelled, and of the peripherals
/// that they belong to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Description {
    /// Peripherals, by address.
    pub peripherals: Vec<Peripheral>,
    /// Peripherals by interrupt number.
    pub interrupts: BTreeMap<u16, String>,
    /// What is known of each word of register space.
    pub known: BTreeMap<u32, Known>,
    /// Ready flags, by the names of their bits.
    pub rules: Vec<ReadyRule>,
}

impl Description {
    /// The peripheral at an address.
    pub fn peripheral_at(&self, address: u32) -> Option<&Peripheral> {
        let behind = self.peripherals.partition_point(|p| p.base <= address);
        let found = self.peripherals[..behind].iter().rev();
        // A larger block may begin before a smaller one inside it; nobody nests deeper than that.
        found.take(4).find(|p| address - p.base < p.size)
    }
}

/// What firmware did to one unmodelled register.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Touched {
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Writes without effect, because the register is known to be read-only.
    pub refused: u64,
    /// What it holds.
    pub value: u32,
    /// Program counter of the first access.
    pub first_pc: u32,
    /// The latest reads.
    pub poll: Poll,
    /// Earlier ones that were a long wait, which another one of the same value has followed.
    pub given_up: Option<Poll>,
}

/// Reads of one register, wherever in the code, all of which got the same, with no device written
/// to in between.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Poll {
    /// How many.
    pub reads: u64,
    /// How many got the same, whatever else was written to meanwhile.
    pub steady: u64,
    /// Cycle of the first.
    pub since: u64,
    /// Cycle of the latest.
    pub last: u64,
    /// Address of the first one's instruction.
    pub pc: u32,
    /// What it got.
    pub value: u32,
}

impl Poll {
    /// Fewer reads may still be about to end.
    const LEAST_READS: u64 = 1000;
    /// Cycles from one turn of a loop that waits to the next, at most; handlers may run in between.
    const MOST_APART: u64 = 1000;
    /// So many reads that never see a change are a wait, even if handlers write to devices.
    const STEADY_READS: u64 = 10_000;

    /// Counts a read; `changed` is the cycle at which a device was last written to.
    pub(crate) fn note(&mut self, pc: u32, value: u32, now: u64, changed: u64) {
        let steady = if self.value == value { self.steady + 1 } else { 1 };
        if self.value != value || self.since < changed || self.reads == 0 {
            *self = Poll { reads: 0, steady, since: now, last: now, pc, value };
        }
        self.reads += 1;
        self.steady = steady;
        self.last = now;
    }

    /// Whether this follows from an earlier state by a turn of so many cycles that can be repeated.
    pub(crate) fn repeats(&self, before: &Poll, cycles: u64) -> bool {
        let since = self.since.wrapping_sub(before.since);
        let last = self.last.wrapping_sub(before.last);
        self.pc == before.pc && (since == 0 || since == cycles) && last == cycles
    }

    /// What has led here from an earlier state happens so many times more.
    pub(crate) fn repeat(&mut self, before: &Poll, times: u64) {
        let further = |now: u64, then: u64| now + now.wrapping_sub(then).wrapping_mul(times);
        *self = Poll {
            reads: further(self.reads, before.reads),
            steady: further(self.steady, before.steady),
            since: further(self.since, before.since),
            last: further(self.last, before.last),
            ..*self
        };
    }

    /// Whether so many reads one right after another, with nothing else done to devices, are a wait
    /// that came to nothing, if the value stays.
    pub(crate) fn is_long(&self) -> bool {
        self.reads >= Self::STEADY_READS
            && (self.last - self.since) / self.reads <= Self::MOST_APART
    }

    /// Whether it lasted nearly up to a cycle; handlers may have run since.
    pub(crate) fn was_at(&self, now: u64) -> bool {
        now.saturating_sub(self.last) <= 10 * Self::MOST_APART
    }

    /// What is known of a wait that was given up when another read gets `value`: a change is what
    /// was waited for.
    fn given_up(&self, before: Option<Poll>, value: u32, changed: u64) -> Option<Poll> {
        if self.reads > 0 && self.value != value {
            return None;
        }
        let is_over = self.since < changed && self.is_long();
        if is_over { Some(*self) } else { before }
    }

    /// Whether the firmware waits for a change, up to the cycle `end`: it did nothing else with
    /// registers, or has read this one very often.
    pub(crate) fn lasts(&self, end: u64, changed: u64) -> bool {
        let alone = self.reads >= Self::LEAST_READS
            && self.since >= changed
            && (self.last - self.since) / self.reads <= Self::MOST_APART;
        (alone || self.steady >= Self::STEADY_READS) && self.was_at(end)
    }
}

/// The store behind all unmodelled registers of a board.
#[derive(Debug, Default)]
pub struct Unmodelled {
    registers: BTreeMap<u32, Touched>,
    rules: Vec<ReadyRule>,
    resets: BTreeMap<u32, u32>,
    description: Option<Arc<Description>>,
    overflow: u64,
    /// Cycle of the latest write to any device, modelled or not.
    changed: u64,
}

/// Distinct registers remembered; a firmware that walks the whole space must not fill the host's
/// memory.
const LIMIT: usize = 4096;

impl Unmodelled {
    /// An empty store with the board's ready-flag rules and reset values.
    pub fn new(rules: Vec<ReadyRule>, resets: BTreeMap<u32, u32>) -> Self {
        Unmodelled { rules, resets, ..Unmodelled::default() }
    }

    /// Adds what a description of the chip knows: names, reset values, access, and ready flags.
    /// The board's own rules for a register come first.
    pub fn describe(&mut self, chip: &Arc<Description>) {
        self.description = Some(Arc::clone(chip));
        let named: BTreeSet<(u32, u8)> = self.rules.iter().map(|r| (r.address, r.bit)).collect();
        let new = chip.rules.iter().filter(|r| !named.contains(&(r.address, r.bit)));
        self.rules.extend(new.copied());
    }

    /// The description of the chip, if there is one.
    pub(crate) fn description(&self) -> Option<&Description> {
        self.description.as_deref()
    }

    /// What is known of the word at `word`.
    pub fn known(&self, word: u32) -> Option<&Known> {
        self.description.as_ref()?.known.get(&word)
    }

    /// Sets what registers hold at reset.
    pub(crate) fn program(&mut self, address: u32, bytes: &[u8]) {
        for (at, byte) in (address..).zip(bytes) {
            let (word, shift) = (at & !3, 8 * (at & 3));
            let value = self.reset_of(word) & !(0xff << shift) | u32::from(*byte) << shift;
            self.resets.insert(word, value);
        }
    }

    fn reset_of(&self, word: u32) -> u32 {
        let known = || self.known(word).map_or(0, |known| known.reset);
        self.resets.get(&word).copied().unwrap_or_else(known)
    }

    fn entry(&mut self, word: u32, pc: u32) -> Option<&mut Touched> {
        if self.registers.len() >= LIMIT && !self.registers.contains_key(&word) {
            self.overflow += 1;
            return None;
        }
        let value = self.reset_of(word);
        Some(self.registers.entry(word).or_insert_with(|| Touched {
            value,
            first_pc: pc,
            ..Touched::default()
        }))
    }

    /// Reads the word at `word` (word aligned), at the cycle `now`.
    pub fn read(&mut self, word: u32, pc: u32, now: u64) -> u32 {
        let Some(touched) = self.entry(word, pc) else { return 0 };
        touched.reads += 1;
        let stored = touched.value;
        let value = self.shown(word, stored);
        let changed = self.changed;
        if let Some(touched) = self.registers.get_mut(&word) {
            touched.given_up = touched.poll.given_up(touched.given_up, value, changed);
            touched.poll.note(pc, value, now, changed);
        }
        value
    }

    /// Whether the latest read of the word at `word` was at a cycle.
    pub(crate) fn is_just_read(&self, word: u32, now: u64) -> bool {
        let touched = self.registers.get(&word);
        touched.is_some_and(|touched| touched.poll.reads > 0 && touched.poll.last == now)
    }

    /// Whether a turn that began at a cycle, in which the word at `word` was read, can be repeated.
    pub(crate) fn repeats(&self, word: u32, begin: u64) -> bool {
        let touched = self.registers.get(&word);
        touched.is_some_and(|touched| touched.poll.since < begin)
    }

    /// A read of the word at `word` happens `times` times more, the last one at a cycle.
    pub(crate) fn repeat(&mut self, word: u32, times: u64, last: u64) {
        let Some(touched) = self.registers.get_mut(&word) else { return };
        touched.reads += times;
        touched.poll.reads += times;
        touched.poll.steady += times;
        touched.poll.last = touched.poll.last.max(last);
    }

    /// What a register that holds `stored` reads as, by the rules.
    fn shown(&self, word: u32, stored: u32) -> u32 {
        self.rules.iter().filter(|r| r.address == word).fold(stored, |value, rule| {
            let on = match rule.follows {
                Some(bit) => self.stored(rule.of.unwrap_or(word)) >> bit & 1,
                None => u32::from(rule.reads.unwrap_or(0)),
            };
            value & !(1 << rule.bit) | on << rule.bit
        })
    }

    /// What a register holds, without counting the look.
    fn stored(&self, word: u32) -> u32 {
        self.registers.get(&word).map_or_else(|| self.reset_of(word), |touched| touched.value)
    }

    /// Firmware has written to a device, modelled or not: it is not merely waiting.
    pub(crate) fn note_write(&mut self, now: u64) {
        self.changed = now;
    }

    /// Cycle of the latest write to any device.
    pub(crate) fn changed(&self) -> u64 {
        self.changed
    }

    /// Registers that firmware has done nothing but read at the end of a run, and that never
    /// change.
    pub fn polled(&self, end: u64) -> impl Iterator<Item = (u32, Poll)> + '_ {
        let polls = self.registers.iter().map(|(&word, touched)| (word, touched.poll));
        polls.filter(move |(_, poll)| poll.lasts(end, self.changed))
    }

    /// Registers that firmware did nothing but read for long, without a change, before it went on.
    pub(crate) fn given_up(&self, end: u64) -> impl Iterator<Item = (u32, Poll)> + '_ {
        let left = self.registers.iter().filter(move |(_, t)| !t.poll.lasts(end, self.changed));
        left.filter_map(|(&word, touched)| {
            let last = Some(touched.poll).filter(Poll::is_long);
            Some((word, last.or(touched.given_up)?))
        })
    }

    /// Replaces the bits of `mask` in the word at `word`.
    pub fn write(&mut self, word: u32, mask: u32, value: u32, pc: u32) {
        let (read_only, one_clears) =
            self.known(word).map_or((0, 0), |known| (known.read_only, known.one_clears));
        if let Some(touched) = self.entry(word, pc) {
            touched.writes += 1;
            touched.refused += u64::from(mask & !read_only == 0);
            let mask = mask & !read_only;
            let written = touched.value & !mask | value & mask;
            let cleared = touched.value & !(value & mask);
            touched.value = written & !one_clears | cleared & one_clears;
        }
    }

    /// Every register touched, by address.
    pub fn touched(&self) -> impl Iterator<Item = (u32, Touched)> + '_ {
        self.registers.iter().map(|(&a, &t)| (a, t))
    }

    /// Accesses to further registers beyond the number remembered.
    pub fn overflow(&self) -> u64 {
        self.overflow
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn follow(address: u32, bit: u8, follows: u8) -> ReadyRule {
        ReadyRule { address, bit, follows: Some(follows), of: None, reads: None }
    }

    #[test]
    fn a_ready_flag_follows_its_enable_bit() {
        let resets = BTreeMap::from([(0x4002_1000, 0x83)]);
        let mut store = Unmodelled::new(vec![follow(0x4002_1000, 17, 16)], resets);
        assert_eq!(store.read(0x4002_1000, 0, 0), 0x83);
        store.write(0x4002_1000, u32::MAX, 0x1_0083, 0);
        assert_eq!(store.read(0x4002_1000, 0, 0), 0x3_0083);
    }

    #[test]
    fn programmed_bytes_are_present_at_reset() {
        let resets = BTreeMap::from([(0x1000_1010, 0xffff_ffff)]);
        let mut store = Unmodelled::new(Vec::new(), resets);
        store.program(0x1000_1011, &[0x40, 0x0f, 0x00, 0x12]);
        assert_eq!(store.read(0x1000_1010, 0, 0), 0x000f_40ff);
        assert_eq!(store.read(0x1000_1014, 0, 0), 0x12);
    }

    #[test]
    fn a_flag_follows_another_register_or_stays() {
        let done = ReadyRule { follows: None, reads: Some(0), ..follow(0x4001_2408, 31, 0) };
        let ready = ReadyRule { of: Some(0x4001_2408), ..follow(0x4001_2400, 0, 0) };
        let mut store = Unmodelled::new(vec![done, ready], BTreeMap::new());
        assert_eq!(store.read(0x4001_2400, 0, 0), 0);
        store.write(0x4001_2408, u32::MAX, 1 << 31 | 1, 0);
        assert_eq!((store.read(0x4001_2408, 0, 0), store.read(0x4001_2400, 0, 0)), (1, 1));
    }

    /// What counts as polled at cycle 70,000, after a read each ten cycles with something before
    /// each of them.
    fn polled_after(mut before: impl FnMut(&mut Unmodelled, u64)) -> Vec<Poll> {
        let mut store = Unmodelled::default();
        for now in (0..70_000).step_by(10) {
            before(&mut store, now);
            store.read(0x4000_0000, 0x100, now);
        }
        store.polled(70_000).map(|(_, poll)| poll).collect()
    }

    #[test]
    fn a_loop_that_only_reads_one_register_is_waiting() {
        let (reads, steady) = (7000, 7000);
        let poll = Poll { reads, steady, since: 0, last: 69_990, pc: 0x100, value: 0 };
        assert_eq!(polled_after(|_, _| ()), [poll]);
        let reset_late = |store: &mut Unmodelled, now| {
            if now == 30_000 {
                store.note_write(now);
            }
        };
        assert_eq!(polled_after(reset_late), [Poll { reads: 4000, since: 30_000, ..poll }]);
    }

    #[test]
    fn a_loop_that_gets_on_is_not_waiting() {
        // It writes between its reads, or what it reads changes.
        assert_eq!(polled_after(|store, now| store.note_write(now + 1)), []);
        let count = |store: &mut Unmodelled, now| store.write(0x4000_0000, !0, now as u32, 0);
        assert_eq!(polled_after(count), []);
    }

    /// Unrolled, or with the same wait in two places.
    #[test]
    fn reads_at_several_addresses_of_code_are_one_wait() {
        let read_too = |store: &mut Unmodelled, now| {
            store.read(0x4000_0000, 0x200, now);
        };
        let polls = polled_after(read_too);
        assert_eq!(polls.iter().map(|p| (p.reads, p.pc)).collect::<Vec<_>>(), [(14_000, 0x200)]);
    }

    /// A handler that serves a timer meanwhile does not hide the wait.
    #[test]
    fn steady_reads_are_a_wait_despite_other_writes() {
        let mut store = Unmodelled::default();
        for now in (0..200_000).step_by(10) {
            store.read(0x4000_0000, 0x100, now);
            if now % 1000 == 0 {
                store.note_write(now);
            }
        }
        let polls: Vec<_> = store.polled(200_000).map(|(_, poll)| poll.steady).collect();
        assert_eq!(polls, [20_000]);
    }

    /// A timeout that went off, whether or not the register is read again.
    #[test]
    fn a_long_wait_without_a_change_was_given_up() {
        let waited = |then: &dyn Fn(&mut Unmodelled)| -> Vec<u64> {
            let mut store = Unmodelled::default();
            for now in (0..200_000).step_by(10) {
                store.read(0x4000_0000, 0x100, now);
            }
            store.note_write(200_000);
            then(&mut store);
            store.given_up(300_000).map(|(_, poll)| poll.reads).collect()
        };
        assert_eq!(waited(&|_| ()), [20_000]);
        let again = |store: &mut Unmodelled| {
            store.read(0x4000_0000, 0x200, 250_000);
        };
        assert_eq!(waited(&again), [20_000]);
        let change = |store: &mut Unmodelled| {
            store.write(0x4000_0000, !0, 1, 0);
            store.read(0x4000_0000, 0x200, 250_000);
        };
        assert_eq!(waited(&change), [0; 0]);
        let go_on = |store: &mut Unmodelled| {
            for now in (200_010..300_000).step_by(10) {
                store.read(0x4000_0000, 0x100, now);
            }
        };
        assert_eq!(waited(&go_on), [0; 0], "it is still waited for");
    }

    #[test]
    fn walking_the_address_space_stays_bounded() {
        let mut store = Unmodelled::default();
        (0..10_000u32).for_each(|i| store.write(0x4000_0000 + i * 4, u32::MAX, i, 0));
        assert_eq!(store.touched().count(), LIMIT);
        assert_eq!(store.overflow(), 10_000 - LIMIT as u64);
    }
}
