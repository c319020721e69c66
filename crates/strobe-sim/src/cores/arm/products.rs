//! Who waits for the product of a multiplication on a Cortex-M3. The manuals have nothing on it;
//! these are statements inferred from published cycles of whole functions (docs/accuracy.md states
//! which taught them and which judged).
//!
//! - A product of 32 bits is a cycle late for arithmetic, logic and shifts that come right behind,
//!   not for another multiplication, nor for what only moves bits (extending, packing, bit fields).
//! - Products of 64 bits are not late; nor is what is added to: that takes a second cycle itself.
//!
//! On a Cortex-M4 no product is late: where functions seemed to wait for one, it was their memory
//! (`first_wait` in the board file).

use super::insn::{Insn, NO_REG, Reg};
use super::timing::CoreKind;

/// Whether `here` takes a cycle more because the instruction before it multiplies.
pub(super) fn waits(kind: CoreKind, before: Insn, here: Insn) -> bool {
    let product = match before {
        Insn::Mul { d, .. } | Insn::Mla { d, a: NO_REG, .. } => d,
        _ => return false,
    };
    kind == CoreKind::CortexM3 && operands(here).contains(&product)
}

/// What arithmetic, logic and shifts compute with.
fn operands(insn: Insn) -> [Reg; 2] {
    use Insn::*;
    match insn {
        LslImm { m, .. } | LsrImm { m, .. } | AsrImm { m, .. } => [m, NO_REG],
        AddReg { n, m, .. } | SubReg { n, m, .. } => [n, m],
        AddImm { n, .. } | SubImm { n, .. } | CmpImm { n, .. } | CmpConst { n, .. } => [n, NO_REG],
        And { d, m } | Eor { d, m } | Orr { d, m } | Bic { d, m } => [d, m],
        LslReg { d, m } | LsrReg { d, m } | AsrReg { d, m } | RorReg { d, m } => [d, m],
        Adc { d, m } | Sbc { d, m } | AddHi { d, m } => [d, m],
        Tst { n, m } | CmpReg { n, m } | Cmn { n, m } => [n, m],
        Rsb { n, .. } => [n, NO_REG],
        Mvn { m, .. } | MovHi { m, .. } => [m, NO_REG],
        DataImm { n, .. } | DataImmS { n, .. } | DataImmSc { n, .. } => [n, NO_REG],
        DataReg { n, m, .. } | ShiftReg { n, m, .. } => [n, m],
        _ => [NO_REG; 2],
    }
}

#[cfg(test)]
mod tests {
    use super::super::neighbours::tests::cycles;
    use super::*;

    const M3: CoreKind = CoreKind::CortexM3;
    const M4: CoreKind = CoreKind::CortexM4f;

    /// `mul r0, r1, r2`.
    const MUL: [u16; 2] = [0xfb01, 0xf002];

    /// Cycles of the second instruction of [`MUL`] and what comes behind it.
    fn behind_mul(kind: CoreKind, halves: &[u16]) -> u32 {
        cycles(kind, &[&MUL, halves].concat())[1]
    }

    #[test]
    fn arithmetic_waits_for_a_product() {
        // adds.w r3, r3, r0; adc.w r3, r3, r0; lsls r0, r0, #1; adds r3, r0, #1.
        for halves in [&[0xeb13, 0x0300][..], &[0xeb43, 0x0300], &[0x0040], &[0x1c43]] {
            assert_eq!((behind_mul(M3, halves), behind_mul(M4, halves)), (2, 1));
        }
        // adds.w r3, r3, r0, lsl #16.
        assert_eq!(behind_mul(M3, &[0xeb13, 0x4300]), 2);
        for kind in [M3, M4] {
            // One in between, or another register: adds r3, #1; adds r3, r3, r0. adds r3, r3, r4.
            assert_eq!(cycles(kind, &[&MUL[..], &[0x3301, 0x181b]].concat()), [1, 1, 1]);
            assert_eq!(behind_mul(kind, &[0x191b]), 1);
            // mul r3, r0, r0; mla r3, r4, r5, r0 (2 on an M3 anyway).
            assert_eq!(behind_mul(kind, &[0xfb00, 0xf300]), 1);
            let mla = if kind == M3 { 2 } else { 1 };
            assert_eq!(behind_mul(kind, &[0xfb04, 0x0305]), mla);
            // ubfx r3, r0, #0, #16; sxth r3, r0; str r0, [r4]; stm r4!, {r0, r1}.
            assert_eq!(behind_mul(kind, &[0xf3c0, 0x030f]), 1);
            assert_eq!(behind_mul(kind, &[0xb203]), 1);
            assert_eq!(behind_mul(kind, &[0x6020]), 1);
            assert_eq!(behind_mul(kind, &[0xc403]), 3);
        }
    }

    #[test]
    fn what_accumulates_is_not_late() {
        // mla r0, r1, r2, r3; adds r4, r4, r0.
        let code = [0xfb01, 0x3002, 0x1824];
        assert_eq!((cycles(M3, &code), cycles(M4, &code)), (vec![2, 1], vec![1, 1]));
        // smlad r0, r1, r2, r3; adds r4, r4, r0. umull r0, r1, r2, r3; adds r4, r4, r0.
        assert_eq!(cycles(M4, &[0xfb21, 0x3002, 0x1824]), [1, 1]);
        assert_eq!(cycles(M4, &[0xfba2, 0x0103, 0x1824]), [1, 1]);
    }
}
