//! An I/O space: registers of one byte at scattered addresses, as AVR parts have it.

use std::collections::BTreeMap;

use super::Bus;
use crate::kernel::device::{DeviceId, Reading, Size};

/// Data addresses up to which registers may lie; RAM begins there at the latest.
pub(crate) const IO_END: u16 = 0x200;

/// By data address: which device has a register there, and which of its registers that is.
#[derive(Debug, Default)]
pub struct IoMap {
    /// Address of the data space, in which the registers are.
    base: u32,
    first: Vec<Option<(u8, u8)>>,
    /// Further devices with bits in a register.
    shared: Vec<(u16, u8, u8)>,
    /// What registers are called, with their devices' names.
    names: BTreeMap<u16, String>,
}

impl IoMap {
    /// An empty map of a data space.
    pub fn new(base: u32) -> Self {
        IoMap { base, ..IoMap::default() }
    }

    /// Puts a register into the map. Returns whether its place was free and one where registers can
    /// be.
    pub fn add(&mut self, address: u16, slot: u8, register: u8) -> bool {
        self.first.resize(usize::from(IO_END), None);
        match self.first.get_mut(usize::from(address)) {
            Some(place @ None) if address >= 0x20 => *place = Some((slot, register)),
            _ => return false,
        }
        true
    }

    /// Puts a register into the map whose other bits are another device's.
    pub fn share(&mut self, address: u16, slot: u8, register: u8) {
        self.shared.push((address, slot, register));
    }

    /// Gives a register its name, unless the device that came first has given one.
    pub fn name(&mut self, address: u16, name: String) {
        self.names.entry(address).or_insert(name);
    }

    /// The name of the register at an address of the bus.
    pub(crate) fn name_at(&self, address: u32) -> Option<&str> {
        let within = u16::try_from(address.checked_sub(self.base)?).ok()?;
        self.names.get(&within).map(String::as_str)
    }

    /// The device that came first.
    pub fn find(&self, address: u16) -> Option<(usize, u32)> {
        let (slot, register) = (*self.first.get(usize::from(address))?)?;
        Some((usize::from(slot), u32::from(register)))
    }

    /// The `n`-th of the others.
    fn further(&self, address: u16, n: usize) -> Option<(usize, u32)> {
        let mut all = self.shared.iter().filter(|(at, ..)| *at == address);
        all.nth(n).map(|&(_, slot, register)| (usize::from(slot), u32::from(register)))
    }
}

impl Bus {
    /// Whether a device's register is to be left alone, because its clock is off.
    fn is_off(&mut self, slot: usize) -> bool {
        self.slots[slot].gate.is_some() && !self.clocked(slot)
    }

    /// Reads a register at `self.now`. Device events due by then happen first.
    pub fn io_read(&mut self, address: u16) -> u8 {
        self.readers.note(self.pc, self.io.base + u32::from(address));
        let Some((slot, register)) = self.io.find(address) else { return self.unknown(address) };
        self.run_events(self.now);
        let mut answer = self.read_one(slot, register);
        for n in 0.. {
            let Some((slot, register)) = self.io.further(address, n) else { break };
            let other = self.read_one(slot, register);
            answer = answer.map_or(other, |value| Some(value | other.unwrap_or(0)));
        }
        self.settle();
        answer.unwrap_or_else(|| self.unknown(address))
    }

    /// What reading a register again shows; asked right after a [`Bus::io_read`] of it.
    pub fn io_reading(&mut self, address: u16) -> Reading {
        // A register without a model keeps what was written.
        let Some((slot, register)) = self.io.find(address) else { return Reading::FIXED };
        let mut reading = self.reading_of_one(slot, register);
        for n in 0.. {
            let Some((slot, register)) = self.io.further(address, n) else { break };
            reading = reading.and(self.reading_of_one(slot, register));
        }
        reading
    }

    fn reading_of_one(&mut self, slot: usize, register: u32) -> Reading {
        if self.slots[slot].gate.is_some() && !self.gate_open(DeviceId(slot as u8)) {
            return Reading::Unknown;
        }
        let reading = self.call(slot, |device, cx| device.reading(register, Size::Byte, cx));
        reading.unwrap_or(Reading::Unknown).before(self.next_edge_elsewhere(slot))
    }

    fn read_one(&mut self, slot: usize, register: u32) -> Option<u8> {
        if self.is_off(slot) {
            return Some(0);
        }
        let read = |device: &mut dyn crate::kernel::device::Device,
                    cx: &mut crate::kernel::device::Context| {
            device.read(register, Size::Byte, cx)
        };
        self.call(slot, read).flatten().map(|value| value as u8)
    }

    /// Writes a register at `self.now`. Device events due by then happen first.
    pub fn io_write(&mut self, address: u16, value: u8) {
        let Some((slot, register)) = self.io.find(address) else {
            return self.set_unknown(address, 0xff, value);
        };
        self.run_events(self.now);
        self.unmodelled.note_write(self.now);
        let mut known = self.write_one(slot, register, value);
        for n in 0.. {
            let Some((slot, register)) = self.io.further(address, n) else { break };
            known |= self.write_one(slot, register, value);
        }
        self.settle();
        if !known {
            self.set_unknown(address, 0xff, value);
        }
    }

    fn write_one(&mut self, slot: usize, register: u32, value: u8) -> bool {
        if self.is_off(slot) {
            return true;
        }
        let value = u32::from(value);
        let write = self.call(slot, |device, cx| device.write(register, Size::Byte, value, cx));
        write.flatten().is_some()
    }

    /// SBI and CBI at `self.now`.
    pub fn io_set_bit(&mut self, address: u16, bit: u8, level: bool) {
        let bit = bit & 7;
        let mask = 1 << bit;
        let Some((slot, register)) = self.io.find(address) else {
            return self.set_unknown(address, mask, if level { mask } else { 0 });
        };
        self.run_events(self.now);
        self.unmodelled.note_write(self.now);
        let mut known = self.set_bit_of_one(slot, register, bit, level);
        for n in 0.. {
            let Some((slot, register)) = self.io.further(address, n) else { break };
            known |= self.set_bit_of_one(slot, register, bit, level);
        }
        self.settle();
        if !known {
            self.set_unknown(address, mask, if level { mask } else { 0 });
        }
    }

    fn set_bit_of_one(&mut self, slot: usize, register: u32, bit: u8, level: bool) -> bool {
        if self.is_off(slot) {
            return true;
        }
        let set = self.call(slot, |device, cx| device.set_bit(register, bit, level, cx));
        set.flatten().is_some()
    }

    /// The core goes to sleep or wakes up at `self.now`.
    pub fn core_sleeps(&mut self, asleep: bool) {
        self.run_events(self.now);
        for at in 0..self.slots.len() {
            self.call(at, |device, cx| {
                device.core_events()?.core_sleeps(asleep, cx);
                Some(())
            });
        }
        self.settle();
    }

    /// The lowest interrupt that is asked for: it comes first.
    pub(crate) fn first_irq(&self) -> Option<u16> {
        let levels = self.interrupts.levels.iter().enumerate().find(|(_, levels)| **levels != 0)?;
        Some((32 * levels.0 as u32 + levels.1.trailing_zeros()) as u16)
    }

    /// The core enters an interrupt's handler at `self.now`: the device that asked for it is
    /// notified.
    pub fn acknowledge(&mut self, irq: u16) {
        for at in 0..self.slots.len() {
            let lines = self.slots[at].irqs.len();
            for line in
                (0..lines).filter(|&l| self.slots[at].irqs[l] == (irq, true)).collect::<Vec<_>>()
            {
                self.call(at, |device, cx| {
                    device.core_events()?.interrupt_taken(line, cx);
                    Some(())
                });
            }
        }
        self.settle();
    }

    /// WDR at `self.now`.
    pub(crate) fn watchdog_reset(&mut self) {
        self.run_events(self.now);
        for at in 0..self.slots.len() {
            self.call(at, |device, cx| {
                device.core_events()?.watchdog_reset(cx);
                Some(())
            });
        }
        self.settle();
    }

    /// Whether any device may yet reset the board without being asked again.
    pub(crate) fn may_reset(&mut self) -> bool {
        let devices = self.slots.iter_mut().filter_map(|slot| slot.device.as_mut());
        devices.filter_map(|device| device.core_events()).any(|events| events.may_reset())
    }

    fn unknown(&mut self, address: u16) -> u8 {
        let address = self.io.base + u32::from(address);
        self.note_strict(address);
        self.unmodelled.read(address, self.pc, self.now) as u8
    }

    fn set_unknown(&mut self, address: u16, mask: u8, value: u8) {
        let address = self.io.base + u32::from(address);
        self.note_strict(address);
        self.unmodelled.write(address, u32::from(mask), u32::from(value), self.pc);
    }
}
