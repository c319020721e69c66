//! Instruction timing of Cortex-M3 (DDI 0337, table 3-1) and Cortex-M4 (DDI 0439, tables 3-1 and
//! 7-1) at zero wait states, as far as an instruction has a fixed figure of its own.
//!
//! What depends on the instructions before is in `neighbours`. A jump's refill is 1 to 3 cycles by
//! the tables, "depending on the alignment and width of the target instruction, and whether the
//! processor manages to speculate the address early". Here that is 1 for a branch whose target its
//! encoding holds, 2 for others; 1 more if the target of the former is in the middle of a word, and
//! 1 more if it is a 32-bit instruction there.

use strobe_model::Bounds;

use super::exec::Work;
use super::timing::{CoreKind, Cost};
use strobe_isa::thumb::insn::Insn;
use strobe_isa::thumb::op::FpOp;

/// Cycles to refill the pipeline behind a jump to a computed address.
const REFILL: u8 = 2;

/// The same behind a branch whose target is known when it is decoded and lies at a word (measured
/// on M3 and M4: the loops of github.com/jnk0le/cortexm-AES; a loop of SUBS and BNE takes 3 cycles
/// or 4).
const REFILL_EARLY: u8 = 1;

/// The table's row for an instruction.
pub(super) fn cost(kind: CoreKind, insn: Insn) -> Cost {
    use Insn::*;
    let m3 = kind == CoreKind::CortexM3;
    let (execute, load_store, refill) = match insn {
        // The M3 adds in a second cycle; its long multiplications and all divisions take at least
        // this.
        Mla { a: 15, .. } => (1, 0, 0),
        Mla { .. } | Mls { .. } if m3 => (2, 0, 0),
        LongMul { op, .. } if m3 => (if accumulates(op) { 4 } else { 3 }, 0, 0),
        Divide { .. } => (2, 0, 0),
        LdrLit { .. }
        | LdrReg { .. }
        | LdrhReg { .. }
        | LdrbReg { .. }
        | LdrshReg { .. }
        | LdrsbReg { .. }
        | LdrImm { .. }
        | LdrhImm { .. }
        | LdrbImm { .. }
        | Load { .. }
        | LoadReg { .. }
        | LoadAt { .. }
        | LoadExclusive { .. } => (1, 1, 0),
        StrReg { .. }
        | StrhReg { .. }
        | StrbReg { .. }
        | StoreReg { .. }
        | StoreExclusive { .. } => (1, 1, 0),
        // Through the write buffer; the store itself happens behind the next instruction.
        StrImm { .. } | StrhImm { .. } | StrbImm { .. } | Store { .. } => (1, 0, 0),
        Ldm { list, .. } | Stm { list, .. } | Pop { list } => (1, list.count_ones() as u8, 0),
        Push { list } => (1, list.count_ones() as u8, 0),
        LoadMultiple { list, .. } | StoreMultiple { list, .. } => (1, list.count_ones() as u8, 0),
        LoadDual { .. } | LoadDualAt { .. } | StoreDual { .. } => (1, 2, 0),
        PopPc { list } => (1, list.count_ones() as u8 + 1, REFILL),
        LoadMultiplePc { list, .. } => (1, list.count_ones() as u8 + 1, REFILL),
        // At least 5 and 6 in practice.
        LoadPc { .. } | LoadPcReg { .. } | LoadPcAt { .. } => (1, 1, 3),
        TableBranch { .. } => (1, 1, 4),
        B { .. } | BCond { .. } | Bl { .. } | Cbz { .. } => (1, 0, REFILL_EARLY),
        Bx { .. } | Blx { .. } | MovPc { .. } | AddPc { .. } => (1, 0, REFILL),
        Mrs { .. } | Msr { .. } => (2, 0, 0),
        Fp { op, .. } => (fp(op), 0, 0),
        FpLoad { count, .. } | FpLoadAt { count, .. } | FpStore { count, .. } => (1, count, 0),
        FpLoadMultiple { words, .. } | FpStoreMultiple { words, .. } => (1, words, 0),
        FpToCores { .. } | FpFromCores { .. } => (2, 0, 0),
        _ => (1, 0, 0),
    };
    Cost { execute, load_store, refill, fetch: 0 }
}

pub(super) fn accumulates(op: strobe_isa::thumb::op::LongOp) -> bool {
    use strobe_isa::thumb::op::LongOp::*;
    !matches!(op, Smull | Umull)
}

fn fp(op: FpOp) -> u8 {
    use FpOp::*;
    match op {
        Mla | Mls | Nmla | Nmls | Fma | Fms | Fnma | Fnms => 3,
        Div | Sqrt => 14,
        _ => 1,
    }
}

/// The most that [`extra`] gives.
pub(super) const MOST: u32 = 10;

/// The most that the operands of a long multiplication add on the M3.
pub(super) fn most_for_long_multiply(accumulates: bool) -> u32 {
    if accumulates { 3 } else { 2 }
}

/// What operands add to the least. The manuals give only the ranges (divide 2 to 12; on the M3
/// UMULL and SMULL 3 to 5, UMLAL and SMLAL 4 to 7), and that the signed ones take a cycle more than
/// the unsigned (DDI 0337E, table 18-1). The likely figure is a model: quotients four bits a cycle;
/// a cycle more for an operand of more than sixteen bits, when accumulating for each of two. Signed
/// ones with such operands take the most in published cycles of whole functions.
pub(super) fn extra(kind: CoreKind, work: Work) -> Bounds {
    match work {
        Work::Divide { dividend, divisor } => {
            let bits = divisor.leading_zeros().saturating_sub(dividend.leading_zeros());
            let likely = if dividend < divisor { 0 } else { u64::from(2 + bits / 4) };
            Bounds { low: 0, likely, high: u64::from(MOST) }
        }
        Work::LongMultiply { n, m, signed, accumulates } if kind == CoreKind::CortexM3 => {
            let wide = |x: u32| if signed { (x ^ x << 1) >> 16 != 0 } else { x >> 16 != 0 };
            let (n, m) = (wide(n), wide(m));
            let passes = if accumulates { u64::from(n) + u64::from(m) } else { u64::from(n | m) };
            let likely = u64::from(signed) + passes;
            Bounds { low: 0, likely, high: u64::from(most_for_long_multiply(accumulates)) }
        }
        Work::LongMultiply { .. } => Bounds::exact(0),
    }
}
