//! Reads and writes: which memory or register answers an address.
//!
//! What a device makes of an access is its own; what nobody answers is a fault or a register that
//! nobody modelled.

use std::collections::BTreeSet;
use std::ops::Range;

use super::Bus;
use crate::kernel::device::{DeviceId, Reading, Size};
use crate::kernel::memory::{BusFault, Memory};
use crate::kernel::pace::Drift;
use crate::kernel::unmodelled::Poll;

/// The peripheral region of the ARMv6-M memory map (B3.1): unlisted addresses in it are unmodelled
/// registers, not faults.
const PERIPHERALS: Range<u32> = 0x4000_0000..0x6000_0000;

/// Registers of which it is remembered that they were waited for in vain.
const MOST_GIVEN_UP: usize = 16;

/// Behind the code region of the same map.
const CODE_END: u32 = 0x2000_0000;

/// What is known of reads of registers at one moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Polls {
    awaited: (u32, Poll),
    given_up: usize,
}

/// The address behind alias windows (alias base, size, target base).
pub(crate) fn unalias(aliases: &[(u32, u32, u32)], address: u32) -> u32 {
    let window = aliases.iter().find(|&&(base, size, _)| address.wrapping_sub(base) < size);
    window.map_or(address, |&(base, _, target)| target + (address - base))
}

impl Bus {
    pub(crate) fn unalias(&self, address: u32) -> u32 {
        unalias(&self.aliases, address)
    }

    /// The memory that holds `address`, after aliases.
    pub fn memory_at(&self, address: u32) -> Option<&Memory> {
        let address = self.unalias(address);
        [&self.flash, &self.ram].into_iter().chain(&self.more).find(|m| m.contains(address))
    }

    /// Whether a memory's own addresses, and not those of an alias, include this one.
    pub fn is_at_home(&self, address: u32) -> bool {
        [&self.flash, &self.ram].into_iter().chain(&self.more).any(|m| m.contains(address))
    }

    /// Puts bytes into memory, flash included, as a programmer does. Bytes outside any memory are
    /// an error that names the first such address.
    pub fn load(&mut self, address: u32, bytes: &[u8]) -> Result<(), BusFault> {
        let address = self.unalias(address);
        let fault = BusFault { address };
        let memory = [&mut self.flash, &mut self.ram]
            .into_iter()
            .chain(&mut self.more)
            .find(|m| m.contains(address))
            .ok_or(fault)?;
        let at = (address - memory.base) as usize;
        let room = memory.data.len() - at;
        let end = BusFault { address: address.wrapping_add(room as u32) };
        memory.data.get_mut(at..at + bytes.len()).ok_or(end)?.copy_from_slice(bytes);
        Ok(())
    }

    /// Puts bytes into registers without a model, as a programmer writes option bytes and the like:
    /// the registers hold them at reset. Whether one peripheral has them all, where code may be.
    pub fn program(&mut self, address: u32, bytes: &[u8]) -> bool {
        let beyond = bytes.len().checked_sub(1).and_then(|n| u32::try_from(n).ok());
        let Some(last) = beyond.and_then(|beyond| address.checked_add(beyond)) else {
            return false;
        };
        let owner = self.device_at(address);
        if last >= CODE_END || owner.is_none() || owner != self.device_at(last) {
            return false;
        }
        self.unmodelled.program(address, bytes);
        true
    }

    /// Reads memory without side effects; devices do not answer.
    pub fn peek(&self, address: u32, size: Size) -> Option<u32> {
        let address = self.unalias(address);
        self.memory_at(address)?.read(address, size)
    }

    /// The words of memory from an address on, as far as one memory has them; for long ranges,
    /// where [`Bus::peek`] would look for the memory each time.
    pub fn peek_words(&self, range: Range<u32>) -> impl Iterator<Item = u32> {
        let start = self.unalias(range.start);
        let bytes = self.memory_at(start).and_then(|m| m.data.get((start - m.base) as usize..));
        let wanted = range.end.saturating_sub(range.start) as usize / 4;
        let (words, _) = bytes.unwrap_or_default().as_chunks::<4>();
        words.iter().take(wanted).map(|word| u32::from_le_bytes(*word))
    }

    /// The device whose registers are at an address that is no alias and in no memory.
    pub(super) fn slot_at(&self, address: u32) -> Option<usize> {
        self.places.find(address).or_else(|| self.search_slot(address))
    }

    fn search_slot(&self, address: u32) -> Option<usize> {
        self.slots.iter().position(|s| address.wrapping_sub(s.base) < s.size)
    }

    /// A naturally aligned read by a bus master at `self.now`. Device events due by then happen
    /// first.
    pub fn read(&mut self, address: u32, size: Size) -> Result<u32, BusFault> {
        if let Some(at) = self.places.find(address) {
            return Ok(self.read_register(at, address, size));
        }
        let address = self.unalias(address);
        if let Some(value) = self.memory_at(address).and_then(|m| m.read(address, size)) {
            return Ok(value);
        }
        match self.slot_at(address) {
            Some(at) => Ok(self.read_register(at, address, size)),
            None => self.read_unmodelled(address, size),
        }
    }

    fn read_register(&mut self, at: usize, address: u32, size: Size) -> u32 {
        self.run_events(self.now);
        self.answered = true;
        if !self.clocked(at) {
            return 0;
        }
        let offset = address - self.slots[at].base;
        let answer = self.call(at, |device, cx| device.read(offset, size, cx)).flatten();
        self.settle();
        self.answered = answer.is_some();
        match answer {
            Some(value) => {
                self.note_read(address, value & size.mask());
                value & size.mask()
            }
            None => self.unmodelled_word(address) >> (8 * (address & 3)) & size.mask(),
        }
    }

    /// A naturally aligned write by a bus master at `self.now`. Device events due by then happen
    /// first.
    pub fn write(&mut self, address: u32, size: Size, value: u32) -> Result<(), BusFault> {
        let value = value & size.mask();
        if let Some(at) = self.places.find(address) {
            self.write_register(at, address, size, value);
            return Ok(());
        }
        let address = self.unalias(address);
        let memory = [&mut self.ram, &mut self.flash]
            .into_iter()
            .chain(&mut self.more)
            .find(|m| m.contains(address));
        if let Some(memory) = memory.filter(|m| m.writable) {
            if let Some(written) = &mut self.written {
                written.push((address, size));
            }
            return memory.write(address, size, value).ok_or(BusFault { address });
        }
        if self.memory_at(address).is_some() {
            let pc = self.pc;
            self.warnings.add_once("flash-write", || {
                format!(
                    "writes to flash were ignored (flash programming is not modelled), the first \
                     to {address:#010x} \
                     by the code at {pc:#010x}"
                )
            });
            return Ok(());
        }
        match self.slot_at(address) {
            Some(at) => {
                self.write_register(at, address, size, value);
                Ok(())
            }
            None => {
                self.unmodelled.note_write(self.now);
                self.write_unmodelled(address, size, value)
            }
        }
    }

    fn write_register(&mut self, at: usize, address: u32, size: Size, value: u32) {
        self.unmodelled.note_write(self.now);
        self.run_events(self.now);
        if !self.clocked(at) {
            return;
        }
        let offset = address - self.slots[at].base;
        let answer = self.call(at, |device, cx| device.write(offset, size, value, cx)).flatten();
        self.settle();
        if answer.is_none() {
            self.set_unmodelled(address, size, value);
        }
    }

    /// Whether a register has a model; asked right after a [`Bus::read`] of it.
    pub(crate) fn is_modelled(&self, address: u32) -> bool {
        self.answered && self.slot_at(self.unalias(address)).is_some()
    }

    /// What reading a register that has a model again shows; asked right after a [`Bus::read`] of
    /// it.
    pub(crate) fn reading(&mut self, address: u32, size: Size) -> Reading {
        let address = self.unalias(address);
        let Some(at) = self.slot_at(address) else { return Reading::Unknown };
        if !self.gate_open(DeviceId(at as u8)) {
            return Reading::Unknown;
        }
        let offset = address - self.slots[at].base;
        let reading = self.call(at, |device, cx| device.reading(offset, size, cx));
        reading.unwrap_or(Reading::Unknown).before(self.next_edge_elsewhere(at))
    }

    /// Whether an address is known to be that of a register; others may be as well.
    #[inline]
    pub(crate) fn is_register(&self, address: u32) -> bool {
        self.places.find(address).is_some()
    }

    /// Whether what is read there may change by itself, with a device's time.
    #[inline]
    pub(crate) fn is_paced(&self, address: u32) -> bool {
        PERIPHERALS.contains(&address)
            && (self.places.find(address).is_some() || self.memory_at(address).is_none())
    }

    /// The registers that the core has read by the instructions in `code`.
    pub fn registers_read(&self, code: &Range<u32>) -> BTreeSet<u32> {
        self.readers.of(code)
    }

    /// The drift of the time of the device at an address, and its event behind one cycle and up to
    /// another; no event of one that counts without saying when. Nothing if it had none.
    pub(crate) fn time_of(&self, address: u32, span: (u64, u64)) -> Option<(Drift, Option<u64>)> {
        let (drift, event, counts) = self.pace.of(self.slot_at(self.unalias(address))?);
        let event = event.filter(|event| (span.0 + 1..=span.1).contains(event));
        (event.is_some() || counts).then_some((drift, event))
    }

    /// What is known of reads of registers.
    pub(crate) fn polls(&self) -> Polls {
        Polls { awaited: self.awaited, given_up: self.given_up.len() }
    }

    /// Whether reads between two moments, so many cycles apart, leave the same behind when they
    /// happen again.
    pub(crate) fn polls_repeat(&self, before: Polls, cycles: u64) -> bool {
        let (was, is) = (before.awaited, self.awaited);
        let same = was.0 == is.0 && before.given_up == self.given_up.len();
        same && (was.1 == is.1 || is.1.repeats(&was.1, cycles))
    }

    /// What was read since then is read so many times more.
    pub(crate) fn repeat_polls(&mut self, before: Polls, times: u64) {
        self.awaited.1.repeat(&before.awaited.1, times);
    }

    /// A modelled register was read: perhaps not for the first time.
    pub(crate) fn note_read(&mut self, address: u32, value: u32) {
        if self.awaited.0 != address {
            self.leave_awaited();
            self.awaited = (address, Poll::default());
            let came = |poll: &Poll| poll.value != value && poll.was_at(self.now);
            if self.given_up.get(&address).is_some_and(came) {
                // A handler that reads another register ran within the wait, and what was waited
                // for came meanwhile.
                self.given_up.remove(&address);
            }
        }
        let changed = self.unmodelled.changed();
        let poll = self.awaited.1;
        if poll.reads > 0 && poll.value != value {
            self.given_up.remove(&address);
        } else if poll.since < changed {
            self.leave_awaited();
        }
        self.awaited.1.note(self.pc, value, self.now, changed);
    }

    /// The firmware did something else than read the same register: if it had waited for long, that
    /// came to nothing.
    fn leave_awaited(&mut self) {
        let (address, poll) = self.awaited;
        if poll.is_long() && self.given_up.len() < MOST_GIVEN_UP {
            self.given_up.insert(address, poll);
        }
    }

    /// Registers, modelled or not, that firmware did nothing but read for long, without a change,
    /// before it went on; the run ends at the cycle `end`.
    pub fn given_up(&self, end: u64) -> impl Iterator<Item = (u32, Poll)> + '_ {
        let (address, poll) = self.awaited;
        let is_over = self.awaited(end).is_none();
        let last = (is_over && poll.is_long()).then_some((address, poll));
        let earlier = self.given_up.iter().map(|(&address, &poll)| (address, poll));
        let others = earlier.filter(move |(at, _)| *at != address || is_over && last.is_none());
        last.into_iter().chain(others).chain(self.unmodelled.given_up(end))
    }

    /// The modelled register that firmware has done nothing but read at the end of a run, at the
    /// cycle `end`, and that did not change.
    pub fn awaited(&self, end: u64) -> Option<(u32, Poll)> {
        let (address, poll) = self.awaited;
        poll.lasts(end, self.unmodelled.changed()).then_some((address, poll))
    }

    pub(super) fn clocked(&mut self, at: usize) -> bool {
        if self.gate_open(DeviceId(at as u8)) {
            return true;
        }
        let slot = &mut self.slots[at];
        if slot.unclocked == 0 {
            slot.unclocked_pc = self.pc;
        }
        slot.unclocked += 1;
        self.answer_unclocked
    }

    /// Whether the clock controller lets a device's clock through.
    pub(crate) fn gate_open(&self, id: DeviceId) -> bool {
        self.slots[id.0 as usize].gate.is_none_or(|gate| self.clocks.gate_open(gate))
    }

    pub(super) fn note_strict(&mut self, address: u32) {
        if self.strict && self.strict_hit.is_none() {
            self.strict_hit = Some((address, self.pc));
            self.attention = true;
        }
    }

    /// Whether unlisted addresses there are registers that nobody modelled, and no fault.
    fn has_registers(&self, address: u32) -> bool {
        PERIPHERALS.contains(&address) || self.unmodelled.known(address & !3).is_some()
    }

    fn read_unmodelled(&mut self, address: u32, size: Size) -> Result<u32, BusFault> {
        if !self.has_registers(address) {
            return Err(BusFault { address });
        }
        Ok(self.unmodelled_word(address) >> (8 * (address & 3)) & size.mask())
    }

    fn unmodelled_word(&mut self, address: u32) -> u32 {
        self.note_strict(address);
        self.unmodelled.read(address & !3, self.pc, self.now)
    }

    fn write_unmodelled(&mut self, address: u32, size: Size, value: u32) -> Result<(), BusFault> {
        if !self.has_registers(address) {
            return Err(BusFault { address });
        }
        self.set_unmodelled(address, size, value);
        Ok(())
    }

    fn set_unmodelled(&mut self, address: u32, size: Size, value: u32) {
        self.note_strict(address);
        let shift = 8 * (address & 3);
        self.unmodelled.write(address & !3, size.mask() << shift, value << shift, self.pc);
    }

    /// The alias window at `base` shows the memory at `target` from now on.
    pub(crate) fn remap(&mut self, base: u32, target: u32) {
        let size = self.memory_at(target).map_or(0, |m| m.data.len() as u32);
        let Some(alias) = self.aliases.iter_mut().find(|a| a.0 == base) else { return };
        if *alias != (base, size, target) {
            if size > alias.1 {
                // The window may cover registers now.
                self.places.clear();
            }
            *alias = (base, size, target);
            self.code.generation += 1;
            self.attention = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boards::Board;

    const CLOCKS: u32 = 0x4002_1014;
    const MODES: u32 = 0x4800_0000;
    const INPUTS: u32 = 0x4800_0010;
    const OUTPUTS: u32 = 0x4800_0014;

    /// How many waits were given up when a register is read for long, another one is by a handler,
    /// which may move a pin, and the first one is so many cycles later.
    fn given_up(moves: bool, later: u64) -> usize {
        let mut bus = Board::builtin("stm32f070cb").unwrap().build().unwrap();
        bus.write(CLOCKS, Size::Word, 1 << 17).unwrap();
        bus.write(MODES, Size::Word, 1 << 10).unwrap();
        for _ in 0..20_000 {
            bus.now += 10;
            assert_eq!(bus.read(INPUTS, Size::Word).unwrap() & 1 << 5, 0);
        }
        bus.read(OUTPUTS, Size::Word).unwrap();
        if moves {
            bus.write(OUTPUTS, Size::Word, 1 << 5).unwrap();
        }
        bus.now += later;
        let read = bus.read(INPUTS, Size::Word).unwrap();
        assert_eq!(read & 1 << 5 != 0, moves);
        bus.given_up(bus.now + 1_000_000).count()
    }

    #[test]
    fn wait_ended_by_a_handler_is_not_in_vain() {
        assert_eq!(given_up(true, 100), 0);
        assert_eq!(given_up(false, 100), 1);
        assert_eq!(given_up(true, 1_000_000), 1, "the firmware did something else");
    }
}
