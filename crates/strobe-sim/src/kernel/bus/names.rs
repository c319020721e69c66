//! What devices, registers and interrupts are called, for reports; nothing here changes the board.

use super::Bus;
use crate::kernel::device::DeviceId;

/// A device that firmware used while its clock was off, which reads as zero and ignores writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unclocked<'a> {
    /// The device's name.
    pub device: &'a str,
    /// The enable bit that would have helped, as the manual names it; may be empty.
    pub enable: &'a str,
    /// Accesses.
    pub accesses: u64,
    /// Program counter of the first.
    pub first_pc: u32,
}

impl Bus {
    /// A device's name on the board.
    pub fn device_name(&self, id: DeviceId) -> &str {
        &self.slots[id.0 as usize].name
    }

    /// What the data sheet calls an interrupt, where the board file names it (AVR).
    pub fn irq_name(&self, number: u16) -> Option<&str> {
        let at = usize::from(number).checked_sub(1)?;
        self.interrupts.names.get(at).map(String::as_str)
    }

    /// Names of the devices that can raise an interrupt, joined with slashes.
    pub fn irq_owners(&self, number: u16) -> Option<String> {
        let owners: Vec<&str> = self
            .slots
            .iter()
            .filter(|s| s.irqs.iter().any(|&(n, _)| n == number))
            .map(|s| s.name.as_str())
            .collect();
        if owners.is_empty() {
            return self.unmodelled.description()?.interrupts.get(&number).cloned();
        }
        Some(owners.join("/"))
    }

    /// Name of the device at an address.
    pub fn device_at(&self, address: u32) -> Option<&str> {
        match self.slot_at(address) {
            Some(at) => Some(&self.slots[at].name),
            None => self.unmodelled.description()?.peripheral_at(address).map(|p| p.name.as_str()),
        }
    }

    /// Name of the register at an address with its peripheral's, as `RCC.CR` or `TIMER0.TCNT`,
    /// where an SVD file or an AVR's board names it.
    pub fn register_at(&self, address: u32) -> Option<&str> {
        let described = || self.unmodelled.known(address & !3).map(|known| known.name.as_str());
        self.io.name_at(address).or_else(described)
    }

    /// Whether an SVD file describes the chip.
    pub fn has_svd(&self) -> bool {
        self.unmodelled.description().is_some()
    }

    /// The device of that name.
    pub fn device_named(&self, name: &str) -> Option<DeviceId> {
        let at = self.slots.iter().position(|s| s.name.eq_ignore_ascii_case(name))?;
        Some(DeviceId(at as u8))
    }

    /// Whether devices answer although their clock is off, which no chip's do.
    pub fn answers_unclocked(&self) -> bool {
        self.answer_unclocked
    }

    /// Devices that were accessed while their clock was off.
    pub fn unclocked(&self) -> impl Iterator<Item = Unclocked<'_>> + '_ {
        self.slots.iter().filter(|s| s.unclocked > 0).map(|s| Unclocked {
            device: &s.name,
            enable: &s.gate_name,
            accesses: s.unclocked,
            first_pc: s.unclocked_pc,
        })
    }

    /// Requests of an interrupt, since reset, that came while the same one was still asked for.
    pub fn lost_requests(&self, irq: u16) -> u64 {
        self.interrupts.lost.get(usize::from(irq)).copied().unwrap_or(0)
    }

    /// The device at `address` and the offset in it, for naming registers.
    pub fn place_of(&self, address: u32) -> Option<(&str, u32)> {
        let slot = &self.slots[self.slot_at(address)?];
        Some((&slot.name, address - slot.base))
    }
}
