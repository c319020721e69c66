//! What a board file must satisfy beyond its syntax. Errors name the key and what is allowed.

use super::BoardError;
use super::avr;
use super::file::{
    ARMV6M_PRIORITY_BITS, AddressRange, Bank, CoreEntry, DeviceEntry, File, Kind, MPU_REGIONS,
    MemoryEntry,
};
use strobe_sim::cores::arm::timing::CoreKind;
use strobe_sim::kernel::bus::Bus;

/// Memory that a board may ask of the host, in bytes; no Cortex-M part comes near.
const MEMORY_LIMIT: u64 = 256 << 20;
/// Devices are numbered by one byte.
const DEVICE_LIMIT: usize = 255;

pub(super) fn check(file: &File) -> Result<(), BoardError> {
    match (&file.core, &file.avr) {
        (Some(core), None) => check_core(file, core)?,
        (None, Some(core)) => avr::check(file, core)?,
        _ => return Err(BoardError::value("core", "needs either [core] or, for an AVR, [avr]")),
    }
    check_memories(file)?;
    check_flash(file)?;
    check_bus(file)?;
    check_devices(file)?;
    check_overlap(file)
}

fn check_core(file: &File, core: &CoreEntry) -> Result<(), BoardError> {
    let bad = |key: &str, problem: &str| Err(BoardError::value(format!("core.{key}"), problem));
    if file.clock_hz == 0 {
        return Err(BoardError::value("clock_hz", "must be more than 0"));
    }
    let v7m = core.model.architecture().v7m;
    if !matches!(core.multiplier_cycles, 1 | 32) || v7m && core.multiplier_cycles != 1 {
        return bad("multiplier_cycles", "must be 1 or, on a cortex-m0 or cortex-m0plus, 32");
    }
    match core.priority_bits {
        Some(3..=8) if v7m => {}
        None | Some(ARMV6M_PRIORITY_BITS) if !v7m => {}
        _ => return bad("priority_bits", "must be 3 to 8 on a cortex-m3 or cortex-m4, else 2"),
    }
    if core.irq_lines > if v7m { 240 } else { 32 } {
        return bad("irq_lines", "at most 32, or 240 on a cortex-m3 or cortex-m4");
    }
    match core.mpu_regions {
        None | Some(0) => {}
        Some(MPU_REGIONS) if v7m => {}
        _ => return bad("mpu_regions", "must be 0 or, on a cortex-m3 or cortex-m4, 8"),
    }
    if v7m && !core.io_port.is_empty() {
        return bad("io_port", "only a cortex-m0plus may have one");
    }
    if core.model == CoreKind::CortexM0 && (core.vtor_mask != 0 || !core.io_port.is_empty()) {
        return bad("model", "a cortex-m0 has neither vtor_mask nor io_port; cortex-m0plus may");
    }
    core.io_port.iter().try_for_each(|&range| check_range("core.io_port", range))
}

fn check_range(key: &str, range: AddressRange) -> Result<(), BoardError> {
    let fits = u64::from(range.base) + u64::from(range.size) <= 1 << 32;
    if range.size == 0 || !fits {
        return Err(BoardError::value(key, "size must be at least 1 and end within 32 bits"));
    }
    Ok(())
}

fn check_memories(file: &File) -> Result<(), BoardError> {
    let mut total = 0u64;
    for memory in &file.memory {
        let key = format!("memory {}", memory.name);
        check_range(&key, AddressRange { base: memory.base, size: memory.size })?;
        for alias in memory.windows() {
            let window = AddressRange { base: alias, size: memory.size };
            check_range(&format!("{key}: alias"), window)?;
        }
        let inside = |at: u32| at > memory.base && at - memory.base < memory.size;
        let starts = memory.banks.iter().map(|bank| bank.from());
        if !starts.clone().all(inside) || !starts.is_sorted() {
            let problem = "banks begin inside the memory, in ascending order";
            return Err(BoardError::value(key, problem));
        }
        total += u64::from(memory.size);
        if total > MEMORY_LIMIT {
            return Err(BoardError::value(key, "all memories together may have 256 MiB"));
        }
        for contents in &memory.contents {
            let start = u64::from(contents.address);
            let end = start + 4 * contents.words.len() as u64;
            let last = u64::from(memory.base) + u64::from(memory.size);
            if start < u64::from(memory.base) || end > last {
                let problem = format!("{start:#x}..{end:#x} is not inside the memory");
                return Err(BoardError::value(format!("{key}: contents"), problem));
            }
        }
    }
    check_first_waits(file)?;
    for kind in [Kind::Flash, Kind::Ram] {
        if !file.memory.iter().any(|m| m.kind == kind) {
            let problem = "needs at least one of kind = \"flash\" and one of kind = \"ram\"";
            return Err(BoardError::value("memory", problem));
        }
    }
    Ok(())
}

fn check_first_waits(file: &File) -> Result<(), BoardError> {
    let banks = file.memory.iter().flat_map(|memory| memory.banks.iter().map(move |b| (memory, b)));
    let waiting = banks.filter_map(|(memory, bank)| match bank {
        Bank::Waiting(bank) => Some((memory, bank)),
        Bank::At(_) => None,
    });
    let v7m = file.core.as_ref().is_some_and(|core| core.model.architecture().v7m);
    for (at, (memory, bank)) in waiting.enumerate() {
        let bad = |problem| {
            let key = format!("memory {}: banks: first_wait", memory.name);
            Err(BoardError::value(key, problem))
        };
        if !(1..=8).contains(&bank.first_wait) {
            return bad("needs 1 to 8 cycles");
        }
        if memory.kind != Kind::Ram || !v7m {
            return bad("is for RAM beside a Cortex-M3 or M4");
        }
        if at > 0 {
            return bad("only one bank may have it");
        }
    }
    Ok(())
}

fn check_flash(file: &File) -> Result<(), BoardError> {
    if let Some(entry) = &file.flash.accelerator {
        let bad =
            |key, problem| Err(BoardError::value(format!("flash.accelerator: {key}"), problem));
        if !entry.line_bytes.is_power_of_two() || !(4..=64).contains(&entry.line_bytes) {
            return bad("line_bytes", "needs a power of two from 4 to 64");
        }
        if entry.buffer_lines == 0 {
            return bad("buffer_lines", "needs at least 1");
        }
        if entry.buffer_lines.max(entry.instruction_lines) > 254 {
            return bad("instruction_lines", "and buffer_lines are at most 254");
        }
    }
    for entry in &file.flash.timing {
        let setting = format!("flash.timing with wait_states = {}", entry.wait_states);
        entry.timing().map_err(|key| {
            let problem = "needs 0 <= low <= likely <= high <= 100 in steps of 0.5";
            BoardError::value(format!("{setting}: {key}"), problem)
        })?;
        for (prefetch, caches) in entry.settings() {
            let all = file.flash.timing.iter();
            if all.filter(|t| t.applies(entry.wait_states, prefetch, caches)).count() > 1 {
                let problem = "is given twice for one setting of prefetch and caches";
                return Err(BoardError::value(setting, problem));
            }
        }
    }
    Ok(())
}

fn check_bus(file: &File) -> Result<(), BoardError> {
    let wait = file.bus.apb_wait;
    if wait.low > wait.likely || wait.likely > wait.high || wait.high > 100 {
        return Err(BoardError::value("bus.apb_wait", "needs low <= likely <= high <= 100"));
    }
    for rule in &file.ready {
        let bad =
            |problem| Err(BoardError::value(format!("ready at {:#x}", rule.address), problem));
        if rule.bit > 31 || rule.follows.is_some_and(|bit| bit > 31) {
            return bad("bit and follows are bit numbers, 0 to 31");
        }
        if rule.follows.is_some() == rule.reads.is_some() || rule.reads.is_some_and(|on| on > 1) {
            return bad("needs either follows = a bit number or reads = 0 or 1");
        }
        if rule.of.is_some() && rule.follows.is_none() {
            return bad("of is the register of the bit in follows");
        }
    }
    let ready = file.ready.iter().flat_map(|r| [Some(r.address), r.of]).flatten();
    for address in ready.chain(file.reset_value.iter().map(|v| v.address)) {
        if address % 4 != 0 && file.core.is_some() {
            let key = format!("register {address:#x}");
            return Err(BoardError::value(key, "the address must be a multiple of 4"));
        }
    }
    Ok(())
}

fn check_devices(file: &File) -> Result<(), BoardError> {
    if file.device.len() + file.part.len() > DEVICE_LIMIT {
        return Err(BoardError::value("device", format!("at most {DEVICE_LIMIT}, with parts")));
    }
    let devices = file.device.iter().map(|device| &device.name);
    let names: Vec<&String> = devices.chain(file.part.iter().map(|part| &part.name)).collect();
    for (i, name) in names.iter().enumerate() {
        if names[..i].iter().any(|other| other.eq_ignore_ascii_case(name)) {
            let what = if i < file.device.len() { "device" } else { "part" };
            return Err(BoardError::value(format!("{what} {name}"), "the name is given twice"));
        }
    }
    for device in &file.device {
        let key = format!("device {}", device.name);
        match &file.core {
            Some(core) => check_arm_device(&key, device, core)?,
            None => avr::check_device(&key, device, file)?,
        }
        for (what, gate) in [("gate", device.gate), ("reset", device.reset)] {
            if gate.is_some_and(|g| g.bit > 31) {
                return Err(BoardError::value(format!("{key}: {what}"), "bit is 0 to 31"));
            }
        }
    }
    Ok(())
}

fn check_arm_device(key: &str, device: &DeviceEntry, core: &CoreEntry) -> Result<(), BoardError> {
    check_range(key, AddressRange { base: device.base, size: device.size })?;
    if !device.registers.is_empty() {
        let problem = "is for devices of an AVR; others have base and size";
        return Err(BoardError::value(format!("{key}: registers"), problem));
    }
    if let Some(irq) = device.irq.iter().find(|&&n| n >= core.irq_lines) {
        let problem = format!("{irq} is not below core.irq_lines = {}", core.irq_lines);
        return Err(BoardError::value(format!("{key}: irq"), problem));
    }
    Ok(())
}

/// Names of pins must mean pins that some port has.
pub(super) fn check_pins(file: &File, bus: &Bus) -> Result<(), BoardError> {
    for (name, pin) in &file.pins {
        if !bus.signals.pins().any(|id| bus.signals.name(id) == pin) {
            let problem = format!("no port has a pin `{pin}`");
            return Err(BoardError::value(format!("pins.{name}"), problem));
        }
    }
    Ok(())
}

/// Two things at one address would make the answer depend on the file's order.
fn check_overlap(file: &File) -> Result<(), BoardError> {
    let memories = file.memory.iter().map(|m| (m.base, m.size, &m.name));
    let windows = |m| MemoryEntry::windows(m).map(move |base| (base, m.size, &m.name));
    let aliases = file.memory.iter().flat_map(windows);
    let devices = file.device.iter().map(|d| (d.base, d.size, &d.name));
    let mut all: Vec<_> = memories.chain(aliases).chain(devices).collect();
    all.sort();
    for pair in all.windows(2) {
        let ((base, size, name), (next, _, other)) = (pair[0], pair[1]);
        if u64::from(base) + u64::from(size) > u64::from(next) {
            let problem = format!("overlaps {other} at {next:#010x}");
            return Err(BoardError::value(name.as_str(), problem));
        }
    }
    Ok(())
}
