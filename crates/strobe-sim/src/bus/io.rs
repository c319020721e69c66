//! The I/O space of AVR parts: registers of one byte at scattered addresses.

use super::Bus;
use crate::avr::DATA;
use crate::device::Size;

/// Data addresses up to which registers may lie; RAM begins there at the latest.
pub(crate) const IO_END: u16 = 0x200;

/// By data address: which device has a register there, and which of its registers that is.
#[derive(Debug, Default)]
pub(crate) struct IoMap(Vec<Option<(u8, u8)>>);

impl IoMap {
    /// Puts a register into the map. Returns whether its place was free and one where registers can be.
    pub(crate) fn add(&mut self, address: u16, slot: u8, register: u8) -> bool {
        self.0.resize(usize::from(IO_END), None);
        match self.0.get_mut(usize::from(address)) {
            Some(place @ None) if address >= 0x20 => *place = Some((slot, register)),
            _ => return false,
        }
        true
    }

    fn find(&self, address: u16) -> Option<(usize, u32)> {
        let (slot, register) = (*self.0.get(usize::from(address))?)?;
        Some((usize::from(slot), u32::from(register)))
    }
}

impl Bus {
    /// Reads a register at `self.now`. Device events due by then happen first.
    pub(crate) fn io_read(&mut self, address: u16) -> u8 {
        let Some((slot, register)) = self.io.find(address) else { return self.unknown(address) };
        self.run_events(self.now);
        let answer = self.call(slot, |device, cx| device.read(register, Size::Byte, cx)).flatten();
        self.settle();
        answer.map_or_else(|| self.unknown(address), |value| value as u8)
    }

    /// Writes a register at `self.now`. Device events due by then happen first.
    pub(crate) fn io_write(&mut self, address: u16, value: u8) {
        let Some((slot, register)) = self.io.find(address) else {
            return self.set_unknown(address, 0xff, value);
        };
        self.run_events(self.now);
        self.unmodelled.note_write(self.now);
        let value = u32::from(value);
        let write = self.call(slot, |device, cx| device.write(register, Size::Byte, value, cx));
        self.settle();
        if write.flatten().is_none() {
            self.set_unknown(address, 0xff, value as u8);
        }
    }

    /// SBI and CBI at `self.now`.
    pub(crate) fn io_set_bit(&mut self, address: u16, bit: u8, level: bool) {
        let mask = 1 << (bit & 7);
        let Some((slot, register)) = self.io.find(address) else {
            return self.set_unknown(address, mask, if level { mask } else { 0 });
        };
        self.run_events(self.now);
        self.unmodelled.note_write(self.now);
        self.call(slot, |device, cx| device.set_bit(register, bit & 7, level, cx));
        self.settle();
    }

    /// The lowest interrupt that is asked for: it comes first.
    pub(crate) fn first_irq(&self) -> Option<u16> {
        let levels = self.irq_levels.iter().enumerate().find(|(_, levels)| **levels != 0)?;
        Some((32 * levels.0 as u32 + levels.1.trailing_zeros()) as u16)
    }

    /// The core enters an interrupt's handler at `self.now`: whoever asked for it is told.
    pub(crate) fn acknowledge(&mut self, irq: u16) {
        for at in 0..self.slots.len() {
            let lines = self.slots[at].irqs.len();
            for line in
                (0..lines).filter(|&l| self.slots[at].irqs[l] == (irq, true)).collect::<Vec<_>>()
            {
                self.call(at, |device, cx| device.interrupt_taken(line, cx));
            }
        }
        self.settle();
    }

    /// WDR at `self.now`.
    pub(crate) fn watchdog_reset(&mut self) {
        self.run_events(self.now);
        for at in 0..self.slots.len() {
            self.call(at, |device, cx| device.watchdog_reset(cx));
        }
        self.settle();
    }

    /// Whether any device may yet reset the board without being asked again.
    pub(crate) fn may_reset(&self) -> bool {
        self.slots.iter().any(|s| s.device.as_ref().is_some_and(|device| device.may_reset()))
    }

    fn unknown(&mut self, address: u16) -> u8 {
        let address = DATA + u32::from(address);
        self.note_strict(address);
        self.unmodelled.read(address, self.pc, self.now) as u8
    }

    fn set_unknown(&mut self, address: u16, mask: u8, value: u8) {
        let address = DATA + u32::from(address);
        self.note_strict(address);
        self.unmodelled.write(address, u32::from(mask), u32::from(value), self.pc);
    }
}
