//! From a checked board file to a bus with its devices.

use std::collections::BTreeMap;

use super::BoardError;
use super::file::{Bank, BusKind, DeviceEntry, File, Kind, MemoryEntry, PartEntry};
use crate::devices::{PARTS, models};
use strobe_sim::kernel::bus::{Bus, FirstWait, FlashSetting, Slave, Slot};
use strobe_sim::kernel::device::{Create, Device, DeviceId, Maker};
use strobe_sim::kernel::flash::accelerator::Accelerator;
use strobe_sim::kernel::memory::{Memory, MemoryKind};
use strobe_sim::kernel::unmodelled::Unmodelled;

pub(super) fn build(file: &File) -> Result<Bus, BoardError> {
    let mut memories: Vec<Memory> = file.memory.iter().map(memory).collect();
    let mut take = |kind: MemoryKind| {
        let at = memories.iter().position(|m| m.kind == kind);
        at.map(|at| memories.remove(at))
            .ok_or_else(|| BoardError::value("memory", "one is missing"))
    };
    let mut bus = Bus::new(take(MemoryKind::Flash)?, take(MemoryKind::Ram)?, file.clock_hz);
    bus.more = memories;
    if let Some(core) = &file.avr {
        super::avr::prepare(core, &mut bus);
    }
    let aliases = file.memory.iter().flat_map(|m| m.windows().map(|base| (base, m.size, m.base)));
    bus.aliases = aliases.collect();
    bus.apb_wait = file.bus.apb_wait;
    bus.first_wait = file.memory.iter().find_map(first_wait).unwrap_or_default();
    bus.answer_unclocked = file.bus.answer_unclocked;
    bus.system_bus = file.core.as_ref().is_some_and(|core| core.model.architecture().v7m);
    bus.flash_interface.settings = flash_settings(file);
    if let Some(entry) = &file.flash.accelerator {
        let bytes = bus.flash.data.len() as u32;
        bus.flash_interface.accelerator = Accelerator::new(entry.shape(), bus.flash.base, bytes);
    }
    let resets: BTreeMap<u32, u32> =
        file.reset_value.iter().map(|r| (r.address, r.value)).collect();
    bus.unmodelled = Unmodelled::new(file.ready.clone(), resets);
    for (id, entry) in (0u8..).zip(&file.device) {
        let make = find(models(), &entry.model, "device", &entry.name)?;
        let mut device = create(make, ("device", &entry.name), &entry.options, file, id, &mut bus)?;
        super::avr::map(entry, id, device.as_mut(), &mut bus)?;
        bus.add(slot(entry, device));
    }
    // Parts come after all devices, so that the pins that they name are there.
    for (id, entry) in (file.device.len() as u8..).zip(&file.part) {
        let make = find(PARTS.iter(), &entry.model, "part", &entry.name)?;
        let part = create(make, ("part", &entry.name), &entry.options, file, id, &mut bus)?;
        bus.add(part_slot(entry, part));
    }
    bus.reset();
    Ok(bus)
}

/// The bank of a memory that answers late, up to the next one.
fn first_wait(entry: &MemoryEntry) -> Option<FirstWait> {
    let (at, bank) = entry.banks.iter().enumerate().find_map(|(at, bank)| match bank {
        Bank::Waiting(bank) => Some((at, bank)),
        Bank::At(_) => None,
    })?;
    let end = entry.base.wrapping_add(entry.size);
    let end = entry.banks.get(at + 1).map_or(end, |next| next.from());
    let length = end.wrapping_sub(bank.from);
    Some(FirstWait { start: bank.from, length, cycles: bank.first_wait })
}

fn memory(entry: &MemoryEntry) -> Memory {
    let kind = match entry.kind {
        Kind::Flash => MemoryKind::Flash,
        Kind::Ram => MemoryKind::Ram,
    };
    let mut memory = Memory::new(&entry.name, kind, entry.base, entry.size);
    if entry.writable && kind == MemoryKind::Flash {
        memory.writable = true;
        // It comes up as RAM does, not as erased flash.
        memory.data.fill(0);
    }
    memory.core_only = entry.core_only;
    memory.banks = entry.banks.iter().map(|bank| bank.from()).collect();
    for contents in &entry.contents {
        for (address, &word) in (contents.address..).step_by(4).zip(&contents.words) {
            memory.write(address, strobe_sim::kernel::device::Size::Word, word);
        }
    }
    memory
}

/// An entry for several settings becomes one for each.
fn flash_settings(file: &File) -> Vec<FlashSetting> {
    let all = file.flash.timing.iter().flat_map(|t| t.settings().map(move |s| (t, s)));
    all.filter_map(|(t, (prefetch, caches))| {
        let timing = t.timing().ok()?;
        Some(FlashSetting { wait_states: t.wait_states, prefetch, caches, timing })
    })
    .collect()
}

/// The model of that name.
fn find<'a>(
    models: impl Iterator<Item = &'a (&'static str, Maker)> + Clone,
    model: &str,
    what: &str,
    name: &str,
) -> Result<Maker, BoardError> {
    if let Some((_, make)) = models.clone().find(|(known, _)| *known == model) {
        return Ok(*make);
    }
    let mut known: Vec<&str> = models.map(|(known, _)| *known).collect();
    known.sort_unstable();
    let problem = format!("no model `{model}`; there are {}", known.join(", "));
    Err(BoardError::value(format!("{what} {name}: model"), problem))
}

fn create(
    make: Maker,
    (what, name): (&str, &str),
    options: &toml::Table,
    file: &File,
    id: u8,
    bus: &mut Bus,
) -> Result<Box<dyn Device>, BoardError> {
    let (pins, signals, id) = (&file.pins, &mut bus.signals, DeviceId(id));
    make(&mut Create { name, options, pins, signals, id })
        .map_err(|problem| BoardError::value(format!("{what} {name}: options"), problem))
}

/// A part has no address, no clock and no interrupt.
fn part_slot(entry: &PartEntry, device: Box<dyn Device>) -> Slot {
    Slot {
        name: entry.name.clone(),
        base: 0,
        size: 0,
        slave: Slave::Ahb,
        gate: None,
        gate_name: String::new(),
        reset: None,
        irqs: Vec::new(),
        is_part: true,
        is_network: false,
        device: Some(device),
        unclocked: 0,
        unclocked_pc: 0,
    }
}

fn slot(entry: &DeviceEntry, device: Box<dyn Device>) -> Slot {
    Slot {
        name: entry.name.clone(),
        base: entry.base,
        size: entry.size,
        slave: match entry.bus {
            BusKind::Ahb => Slave::Ahb,
            BusKind::Apb => Slave::Apb,
            BusKind::Apb2 => Slave::Apb2,
        },
        gate: entry.gate,
        gate_name: entry.gate_name.clone(),
        reset: entry.reset,
        irqs: entry.irq.iter().map(|&number| (number, false)).collect(),
        is_part: false,
        is_network: false,
        device: Some(device),
        unclocked: 0,
        unclocked_pc: 0,
    }
}
