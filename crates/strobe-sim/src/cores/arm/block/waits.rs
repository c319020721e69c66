//! What the instructions of a block wait, beyond the table of cycles, wherever their data lie.

use super::super::neighbours::{self, Placed};
use super::super::timing::{MOST_FOR_OPERANDS, SYSTEM_BUS, Timing};
use crate::kernel::bus::Bus;
use crate::kernel::flash::HalfCycles;
use crate::kernel::memory::MemoryKind;
use strobe_isa::thumb::insn::Insn;

/// What a jump into RAM waits: the system bus adds a register stage to fetches (DDI 0337, system
/// bus interface), and data may have the bus.
const SYSTEM_BUS_JUMP: HalfCycles = HalfCycles { low: 0, likely: 2, high: 4 };

/// What a data access costs code in RAM, by the instruction's bytes: a fetch gives way to it.
/// 16-bit code leaves the bus free every other cycle, 32-bit code does not. From those rates; not
/// measured.
fn system_bus_wait(size: u32, words: u32, data_wait: HalfCycles) -> HalfCycles {
    let likely = if size == 4 { 2 * words } else { 0 };
    HalfCycles {
        low: data_wait.low,
        likely: data_wait.likely + likely,
        high: data_wait.high + 2 * words,
    }
}

/// What a jump to `target` waits for flash.
pub(crate) fn jump_wait(target: u32, bus: &Bus) -> HalfCycles {
    if bus.system_bus && target >= SYSTEM_BUS {
        return SYSTEM_BUS_JUMP;
    }
    if bus.flash_interface.timing.is_zero() || !in_flash(target, bus) {
        return HalfCycles::default();
    }
    bus.flash_interface.timing.jump(target)
}

/// Whether an address is one of flash, aliases included.
pub(crate) fn in_flash(address: u32, bus: &Bus) -> bool {
    bus.flash.contains(address)
        || bus.memory_at(address).is_some_and(|m| m.kind == MemoryKind::Flash)
}

/// What an instruction waits in any case: for its literal in flash, or for the bus.
pub(super) fn data_wait(placed: Placed, bus: &Bus, timing: &Timing) -> HalfCycles {
    let literal = literal_wait(placed.insn, bus);
    let words = u32::from(timing.cost(placed.insn).load_store);
    if bus.system_bus && placed.address >= SYSTEM_BUS && words > 0 {
        return system_bus_wait(placed.size, words, literal);
    }
    literal
}

/// Cycles that each instruction waits where RAM answers late at first.
pub(super) fn first_waits(code: &[Placed], bus: &Bus, timing: &Timing) -> Vec<u8> {
    if bus.first_wait.length == 0 {
        return vec![0; code.len()];
    }
    let waits = neighbours::first_waits(timing.kind, code).into_iter();
    waits.map(|waits| if waits { bus.first_wait.cycles } else { 0 }).collect()
}

fn literal_wait(insn: Insn, bus: &Bus) -> HalfCycles {
    match insn {
        Insn::LdrLit { address, .. } if in_flash(address, bus) => {
            bus.flash_interface.timing.data_read
        }
        _ => HalfCycles::default(),
    }
}

/// An upper bound on a block's cycles whatever its accesses meet, bus contention aside (events that
/// start it end the fast path).
pub(super) fn worst_case(
    insns: &[Insn],
    cycles: u32,
    words: u32,
    bus: &Bus,
    timing: &Timing,
) -> u32 {
    let divider = bus.clocks.apb_divider.max(bus.clocks.apb2_divider).max(1);
    let apb = (bus.apb_wait.high * u64::from(divider)) as u32;
    let per_access = bus.flash_interface.timing.data_read.high.div_ceil(2).max(apb);
    let lines = bus.flash_interface.accelerator.lines_in(4 * insns.len() as u32);
    let accelerator = bus.flash_interface.accelerator.worst(lines, words);
    let jump = bus
        .flash_interface
        .timing
        .unaligned_target
        .high
        .max(bus.flash_interface.timing.aligned_target.high);
    let each = |insn: &Insn| {
        let most = if timing.varies(*insn) { MOST_FOR_OPERANDS } else { 0 };
        insn.transfers() * per_access + most
    };
    let jump = jump.max(SYSTEM_BUS_JUMP.high);
    // The half cycle carried in may add one.
    cycles + insns.iter().map(each).sum::<u32>() + accelerator + jump.div_ceil(2) + 1
}
