//! Cycles of each instruction (DS40002198, the AVRe column; two-byte and three-byte program
//! counters).
//!
//! Program memory has no wait states, so this is all there is. How a figure splits into causes is
//! ours: one cycle to execute, one for each further cycle on the data or program bus, the rest for
//! going elsewhere.

use super::Architecture;
use crate::kernel::observe::code::Cost;
use strobe_isa::avr::insn::Insn;

/// Cycles from an interrupt's acceptance to the first instruction in its vector: four, and one more
/// for a third byte of program counter (ATmega328P data sheet 7.7.1, ATmega2560 7.8.1).
pub fn interrupt_entry(arch: Architecture) -> u64 {
    2 + u64::from(arch.pc_bytes())
}

/// What waking up from sleep adds to that (the same paragraphs).
pub const WAKE_UP: u64 = 4;

/// The table's row for an instruction, `next` being the address behind it.
pub fn cost(arch: Architecture, insn: Insn, size: u32, next: u32) -> Cost {
    use Insn::*;
    let pc_bytes = arch.pc_bytes() as u8;
    let (execute, load_store, refill) = match insn {
        Adiw { .. } | Sbiw { .. } => (2, 0, 0),
        Mul { .. } | Muls { .. } | Mulsu { .. } => (2, 0, 0),
        Fmul { .. } | Fmuls { .. } | Fmulsu { .. } => (2, 0, 0),
        Ldd { .. } | LdInc { .. } | LdDec { .. } | Std { .. } | StInc { .. } | StDec { .. } => {
            (1, 1, 0)
        }
        Lds { .. } | Sts { .. } | Push { .. } | Pop { .. } => (1, 1, 0),
        Sbi { .. } | Cbi { .. } => (1, 1, 0),
        Lpm { .. } | Elpm { .. } => (1, 2, 0),
        Jmp { .. } => (1, 0, if size == 4 { 2 } else { 1 }),
        Ijmp | Eijmp => (1, 0, 1),
        // A long call's second word takes a cycle of its own.
        Call { .. } => (if size == 4 { 1 } else { 0 }, pc_bytes, 1),
        Icall | Eicall => (0, pc_bytes, 1),
        Ret | Reti => (1, pc_bytes, 1),
        Brbs { .. } | Brbc { .. } => (1, 0, 1),
        _ if insn.skips() => (1, 0, skipped_words(arch, insn, next)),
        _ => (1, 0, 0),
    };
    Cost { execute, load_store, refill, fetch: 0 }
}

fn skipped_words(arch: Architecture, insn: Insn, next: u32) -> u8 {
    let target = insn.target().unwrap_or(next);
    (target.wrapping_sub(next) & arch.pc_mask) as u8 / 2
}
