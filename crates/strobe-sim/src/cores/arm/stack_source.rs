//! Where an instruction that writes the stack pointer has taken it from.
//!
//! A stack grows and shrinks by pushes, pops and sums with the stack pointer itself. A value from
//! memory, from a special register or from a caller is where another stack begins or goes on, or
//! where the same one was before.

use super::neighbours::result;
use strobe_isa::thumb::insn::{Insn, Reg};
use strobe_isa::thumb::op::DataOp;

const SP: Reg = 13;

/// Whether the last of some instructions, which run one after the other, sets the stack pointer to
/// what is not computed from it.
pub(super) fn is_from_elsewhere(insns: &[Insn]) -> bool {
    let Some((last, before)) = insns.split_last() else { return false };
    match *last {
        Insn::MovHi { d: SP, m } => is_loaded(m, before),
        Insn::Msr { .. } => true,
        insn => loads(insn, SP) && !matches!(insn, Insn::Pop { .. }),
    }
}

/// Whether a register holds what is not computed from the stack pointer in these instructions.
fn is_loaded(mut register: Reg, before: &[Insn]) -> bool {
    for insn in before.iter().rev() {
        if loads(*insn, register) {
            return true;
        }
        if result(*insn) != register {
            continue;
        }
        match *insn {
            Insn::MovHi { m: SP, .. } => return false,
            Insn::MovHi { m, .. } => register = m,
            Insn::DataImm { op: DataOp::Mov, .. } | Insn::Movt { .. } => return true,
            // A sum: of the stack pointer, as where a function takes an array of any size.
            _ => return false,
        }
    }
    // What a caller has handed over.
    true
}

/// Whether an instruction puts into a register what is in memory or in a special register.
fn loads(insn: Insn, register: Reg) -> bool {
    use Insn::*;
    let is_in = |list: u32| list >> register & 1 != 0;
    match insn {
        LdrLit { t, .. } | LdrReg { t, .. } | LdrImm { t, .. } => t == register,
        Load { t, .. } | LoadReg { t, .. } | LoadAt { t, .. } => t == register,
        LoadExclusive { t, .. } => t == register,
        LoadDual { t, t2, .. } | LoadDualAt { t, t2, .. } => t == register || t2 == register,
        Ldm { list, .. } | Pop { list } => is_in(list.into()),
        LoadMultiple { list, .. } => is_in(list.into()),
        Mrs { d, .. } => d == register,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use strobe_isa::thumb::arch::Architecture;
    use strobe_isa::thumb::decode::decode;

    fn is_from_elsewhere(code: &[(u16, u16)]) -> bool {
        let arch = Architecture { v7m: true, dsp: true, fp: true };
        let insns: Vec<Insn> = code.iter().map(|(a, b)| decode(arch, 0, *a, *b).0).collect();
        super::is_from_elsewhere(&insns)
    }

    #[test]
    fn stack_pointer_loaded_by_a_switch_is_foreign() {
        // ldr r3, [r0, #12]; mov sp, r3
        assert!(is_from_elsewhere(&[(0x68c3, 0), (0x469d, 0)]));
        // ldmia r0!, {r4-r9, sl, fp, ip, lr}; mov sp, ip
        assert!(is_from_elsewhere(&[(0xe8b0, 0x5ff0), (0x46e5, 0)]));
        assert!(is_from_elsewhere(&[(0xf8d0, 0xd000)]), "ldr.w sp, [r0]");
        assert!(is_from_elsewhere(&[(0xf380, 0x8809)]), "msr psp, r0");
        assert!(is_from_elsewhere(&[(0x4685, 0)]), "mov sp, r0 alone");
    }

    #[test]
    fn computed_stack_pointer_stays_on_its_stack() {
        // mov r2, sp; subs r2, r2, r3; mov sp, r2
        assert!(!is_from_elsewhere(&[(0x466a, 0), (0x1ad2, 0), (0x4695, 0)]));
        // mov r7, sp; mov r2, r7; mov sp, r2
        assert!(!is_from_elsewhere(&[(0x466f, 0), (0x463a, 0), (0x4695, 0)]));
        assert!(!is_from_elsewhere(&[(0xb5f0, 0)]), "push {{r4-r7, lr}}");
        assert!(!is_from_elsewhere(&[(0xb0a0, 0)]), "sub sp, #128");
        assert!(!is_from_elsewhere(&[(0xebad, 0x0d03)]), "sub.w sp, sp, r3");
        assert!(!is_from_elsewhere(&[(0x44a5, 0)]), "add sp, r4");
        assert!(!is_from_elsewhere(&[]));
    }
}
