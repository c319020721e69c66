//! What boards with an AVR core have otherwise: where memories lie, and registers one by one
//! instead of ranges.

use super::BoardError;
use super::file::{AvrEntry, DeviceEntry, File, Kind};
use strobe_sim::cores::avr::{CoreOptions, DATA};
use strobe_sim::kernel::bus::io::IoMap;
use strobe_sim::kernel::bus::{Bus, IRQS};
use strobe_sim::kernel::device::Device;

/// What a 22-bit program counter reaches, in bytes.
const MOST_FLASH: u32 = 8 << 20;
/// Data addresses at which RAM can begin: behind the registers that IN and OUT reach, at the latest
/// behind all others.
const RAM_BEGINS: std::ops::RangeInclusive<u32> = DATA + 0x60..=DATA + 0x200;
/// Behind the last data address.
const RAM_ENDS: u32 = DATA + 0x1_0000;

impl AvrEntry {
    pub(super) fn options(&self) -> CoreOptions {
        CoreOptions {
            kind: self.model,
            vector_bytes: u32::from(self.vector_bytes),
            vectors: self.vectors,
        }
    }
}

pub(super) fn check(file: &File, core: &AvrEntry) -> Result<(), BoardError> {
    let bad = |key: &str, problem: &str| Err(BoardError::value(key, problem));
    if file.clock_hz == 0 {
        return bad("clock_hz", "must be more than 0");
    }
    if !matches!(core.vector_bytes, 2 | 4) {
        return bad("avr.vector_bytes", "must be 2 or 4");
    }
    if core.vectors == 0 || usize::from(core.vectors) > IRQS {
        return bad("avr.vectors", "must be 1 to 240");
    }
    for (kind, fits) in [
        (Kind::Flash, flash_fits as fn(u32, u32) -> bool),
        (Kind::Ram, ram_fits as fn(u32, u32) -> bool),
    ] {
        let memory = file.memory.iter().find(|memory| memory.kind == kind);
        if let Some(memory) = memory.filter(|m| !fits(m.base, m.size)) {
            let problem = "an AVR has its flash at 0, a power of two from 512 bytes to 8 MiB, and \
                           its RAM from \
                           0x800060 to 0x800200 on, up to 0x810000";
            return bad(&format!("memory {}", memory.name), problem);
        }
    }
    Ok(())
}

fn flash_fits(base: u32, size: u32) -> bool {
    base == 0 && size.is_power_of_two() && (512..=MOST_FLASH).contains(&size)
}

fn ram_fits(base: u32, size: u32) -> bool {
    RAM_BEGINS.contains(&base) && size > 0 && size <= RAM_ENDS - base
}

pub(super) fn check_device(key: &str, device: &DeviceEntry, file: &File) -> Result<(), BoardError> {
    if (device.base, device.size) != (0, 0) {
        let problem = "is for devices of other cores; an AVR's have registers = { NAME = ADDRESS }";
        return Err(BoardError::value(format!("{key}: base"), problem));
    }
    let vectors = file.avr.as_ref().map_or(0, |core| core.vectors);
    if let Some(irq) = device.irq.iter().find(|&&n| n == 0 || n >= vectors) {
        let problem = format!("{irq} is not a vector: there are {vectors}, of which 0 is reset's");
        return Err(BoardError::value(format!("{key}: irq"), problem));
    }
    Ok(())
}

/// What the bus of an AVR has beyond memories and devices.
pub(super) fn prepare(core: &AvrEntry, bus: &mut Bus) {
    bus.io = IoMap::new(DATA);
    bus.interrupts.names = core.vector_names.clone();
}

/// Puts a device's registers into the bus's map.
pub(super) fn map(
    entry: &DeviceEntry,
    slot: u8,
    device: &mut dyn Device,
    bus: &mut Bus,
) -> Result<(), BoardError> {
    let registers = device.byte_registers();
    let known = registers.as_ref().map_or(&[][..], |registers| registers.names());
    for (name, &address) in &entry.registers {
        let bad = |problem: String| {
            Err(BoardError::value(format!("device {}: registers.{name}", entry.name), problem))
        };
        let Some(register) = known.iter().position(|k| k == name) else {
            return bad(format!("model {} has {}", entry.model, known.join(", ")));
        };
        let below_ram = DATA + u32::from(address) < bus.ram.base;
        let shares = registers.as_ref().is_some_and(|known| known.is_shared(register as u32));
        if below_ram && shares && is_shared(address, bus) {
            bus.io.share(address, slot, register as u8);
        } else if !below_ram || !bus.io.add(address, slot, register as u8) {
            return bad(format!(
                "{address:#x} is another device's, or not from 0x20 to where RAM begins"
            ));
        }
        bus.io.name(address, format!("{}.{name}", entry.name));
    }
    Ok(())
}

/// Whether a device has bits in the register there and leaves the others to others.
fn is_shared(address: u16, bus: &mut Bus) -> bool {
    let Some((slot, register)) = bus.io.find(address) else { return false };
    // A device that is not on the bus yet is the one at hand: it shares the register with itself.
    let Some(slot) = bus.slots.get_mut(slot) else { return true };
    let registers = slot.device.as_mut().and_then(|device| device.byte_registers());
    registers.is_some_and(|registers| registers.is_shared(register))
}
