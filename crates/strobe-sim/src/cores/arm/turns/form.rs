//! Instructions by what a proof must know of them: how a value that changes with each turn passes
//! through, or that none may.

use crate::cores::arm::neighbours::{address_registers, result};
use strobe_isa::thumb::insn::{Condition, Insn, NO_REG, Reg};
use strobe_isa::thumb::op::{DataOp, Extension, Shift, Width};

/// An operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operand {
    Register(Reg),
    /// A register, shifted left.
    Shifted(Reg, u8),
    Constant(u32),
}

/// How a loaded value gets into its register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extend {
    None,
    /// With the sign, from so many bits.
    Sign(u32),
}

/// What an instruction does with values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// A sum, into a register if there is one.
    Add {
        d: Reg,
        a: Operand,
        b: Operand,
        sets: bool,
    },
    /// A difference.
    Sub {
        d: Reg,
        a: Operand,
        b: Operand,
        sets: bool,
    },
    Move {
        d: Reg,
        a: Operand,
        sets: bool,
    },
    /// A quotient by a power of two.
    ShiftRight {
        d: Reg,
        m: Reg,
        by: u8,
        sets: bool,
    },
    /// The lowest bits.
    Narrow {
        d: Reg,
        m: Reg,
        bits: u32,
        signed: bool,
    },
    /// One register from memory.
    Load {
        t: Reg,
        extend: Extend,
    },
    /// One register to memory.
    Store {
        t: Reg,
    },
    /// Registers from memory in the order of addresses; 15 is the PC.
    LoadMany {
        list: u16,
    },
    /// Registers to memory in the order of addresses.
    StoreMany {
        list: u16,
    },
    /// A branch under a condition.
    Branch(Condition),
    /// A branch if a register is zero, or is not.
    ZeroBranch {
        n: Reg,
    },
    /// Registers (a set) decide all that comes of it.
    Other {
        inputs: u16,
    },
    /// Any register may decide it, and the flags.
    Any,
    /// No turn with it can be repeated.
    Never,
}

/// A set of registers; the register that is none is in no set.
fn set<const N: usize>(registers: [Reg; N]) -> u16 {
    registers.iter().fold(0, |set, &r| set | 1 << r) & 0x7fff
}

/// The registers from which an access computes its address.
pub(super) fn address_inputs(insn: Insn) -> u16 {
    match insn {
        Insn::Push { .. } | Insn::Pop { .. } | Insn::PopPc { .. } => 1 << 13,
        Insn::LoadPc { n, .. } | Insn::LoadMultiplePc { n, .. } => set([n]),
        Insn::LoadPcReg { n, m, .. } | Insn::TableBranch { n, m, .. } => set([n, m]),
        Insn::LoadExclusive { n, .. } | Insn::StoreExclusive { n, .. } => set([n]),
        insn => set(address_registers(insn)),
    }
}

/// The base register that an access changes, if it does.
pub(super) fn writes_back(insn: Insn) -> Option<Reg> {
    use strobe_isa::thumb::op::Index;
    match insn {
        Insn::Push { .. } | Insn::Pop { .. } | Insn::PopPc { .. } => Some(13),
        Insn::Ldm { n, list } => (list >> n & 1 == 0).then_some(n),
        Insn::Stm { n, .. } => Some(n),
        Insn::Load { n, index, .. } | Insn::Store { n, index, .. } => {
            (index != Index::Offset).then_some(n)
        }
        Insn::LoadDual { n, index, .. } | Insn::StoreDual { n, index, .. } => {
            (index != Index::Offset).then_some(n)
        }
        Insn::LoadMultiple { n, writeback, .. }
        | Insn::StoreMultiple { n, writeback, .. }
        | Insn::LoadMultiplePc { n, writeback, .. } => writeback.then_some(n),
        Insn::LoadPc { n, index, .. } => (index != Index::Offset).then_some(n),
        _ => None,
    }
}

fn register(r: Reg) -> Operand {
    Operand::Register(r)
}

/// An operand of data processing, shifted as the instruction states.
fn shifted(m: Reg, shift: Shift, by: u8) -> Option<Operand> {
    match (shift, by) {
        (_, 0) if shift != Shift::Rrx => Some(register(m)),
        (Shift::Lsl, by) => Some(Operand::Shifted(m, by)),
        _ => None,
    }
}

fn data(op: DataOp, d: Reg, a: Operand, b: Operand, sets: bool) -> Option<Form> {
    Some(match op {
        DataOp::Add => Form::Add { d, a, b, sets },
        DataOp::Sub => Form::Sub { d, a, b, sets },
        DataOp::Rsb => Form::Sub { d, a: b, b: a, sets },
        DataOp::Cmp => Form::Sub { d: NO_REG, a, b, sets: true },
        DataOp::Cmn => Form::Add { d: NO_REG, a, b, sets: true },
        DataOp::Mov => Form::Move { d, a: b, sets },
        _ => return None,
    })
}

fn load(t: Reg, width: Width) -> Form {
    let extend = match width {
        Width::SignedHalf => Extend::Sign(16),
        Width::SignedByte => Extend::Sign(8),
        Width::Word | Width::Half | Width::Byte => Extend::None,
    };
    Form::Load { t, extend }
}

/// The form of an instruction.
pub(super) fn form(insn: Insn) -> Form {
    use Insn::*;
    arithmetic(insn).or_else(|| access(insn)).unwrap_or_else(|| match insn {
        BCond { condition, .. } => Form::Branch(condition),
        Cbz { n, .. } => Form::ZeroBranch { n },
        B { .. }
        | Bl { .. }
        | Nop
        | Dmb
        | Dsb
        | Isb
        | It { .. }
        | MovImm { .. }
        | MovConst { .. } => Form::Other { inputs: 0 },
        Bx { m } | Blx { m } | MovPc { m } | AddPc { m, .. } => Form::Other { inputs: set([m]) },
        Cps { .. } => Form::Other { inputs: 0 },
        Svc { .. } | Bkpt { .. } | Wfe | Wfi | Sev | Undefined | NoCoprocessor => Form::Never,
        insn => operands(insn).map_or(Form::Any, |inputs| Form::Other { inputs }),
    })
}

fn arithmetic(insn: Insn) -> Option<Form> {
    use Insn::*;
    let imm = |imm: u8| Operand::Constant(imm.into());
    Some(match insn {
        AddReg { d, n, m } => Form::Add { d, a: register(n), b: register(m), sets: true },
        SubReg { d, n, m } => Form::Sub { d, a: register(n), b: register(m), sets: true },
        AddImm { d, n, imm: i } => Form::Add { d, a: register(n), b: imm(i), sets: true },
        SubImm { d, n, imm: i } => Form::Sub { d, a: register(n), b: imm(i), sets: true },
        CmpImm { n, imm: i } => Form::Sub { d: NO_REG, a: register(n), b: imm(i), sets: true },
        CmpReg { n, m } => Form::Sub { d: NO_REG, a: register(n), b: register(m), sets: true },
        Cmn { n, m } => Form::Add { d: NO_REG, a: register(n), b: register(m), sets: true },
        CmpConst { n, value } => {
            Form::Sub { d: NO_REG, a: register(n), b: Operand::Constant(value), sets: true }
        }
        Rsb { d, n } => Form::Sub { d, a: Operand::Constant(0), b: register(n), sets: true },
        AddHi { d, m } => Form::Add { d, a: register(d), b: register(m), sets: false },
        MovHi { d, m } => Form::Move { d, a: register(m), sets: false },
        AddConst { d, value } => {
            Form::Add { d, a: register(d), b: Operand::Constant(value), sets: false }
        }
        AddSpImm { d, imm } => {
            Form::Add { d, a: register(13), b: Operand::Constant(imm.into()), sets: false }
        }
        AdjustSp { imm } => {
            let b = Operand::Constant(i32::from(imm) as u32);
            Form::Add { d: 13, a: register(13), b, sets: false }
        }
        LslImm { d, m, imm: 0 } => Form::Move { d, a: register(m), sets: true },
        LsrImm { d, m, imm } => Form::ShiftRight { d, m, by: imm, sets: true },
        DataReg { op: DataOp::Mov, set, d, m, shift: Shift::Lsr, by, .. } => {
            Form::ShiftRight { d, m, by, sets: set }
        }
        Sxth { d, m } => Form::Narrow { d, m, bits: 16, signed: true },
        Sxtb { d, m } => Form::Narrow { d, m, bits: 8, signed: true },
        Uxth { d, m } => Form::Narrow { d, m, bits: 16, signed: false },
        Uxtb { d, m } => Form::Narrow { d, m, bits: 8, signed: false },
        Extend { op, d, n: NO_REG, m, rotate: 0 } => {
            let (bits, signed) = match op {
                Extension::Sxth => (16, true),
                Extension::Uxth => (16, false),
                Extension::Sxtb => (8, true),
                Extension::Uxtb => (8, false),
                Extension::Sxtb16 | Extension::Uxtb16 => return None,
            };
            Form::Narrow { d, m, bits, signed }
        }
        Ubfx { d, n, lsb: 0, width } => Form::Narrow { d, m: n, bits: width.into(), signed: false },
        DataImm { op, d, n, value } => {
            return data(op, d, register(n), Operand::Constant(value), false);
        }
        // An operand that is no register reads as zero: a constant moved sets C otherwise.
        DataImmS { op, d, n, value } | DataImmSc { op, d, n, value } if op != DataOp::Mov => {
            return data(op, d, register(n), Operand::Constant(value), true);
        }
        DataReg { op, set, d, n, m, shift, by } => {
            return data(op, d, register(n), shifted(m, shift, by)?, set);
        }
        _ => return None,
    })
}

fn access(insn: Insn) -> Option<Form> {
    use Insn::*;
    Some(match insn {
        LdrLit { t, .. } | LdrReg { t, .. } | LdrhReg { t, .. } | LdrbReg { t, .. } => {
            load(t, Width::Word)
        }
        LdrImm { t, .. } | LdrhImm { t, .. } | LdrbImm { t, .. } => load(t, Width::Word),
        LdrshReg { t, .. } => load(t, Width::SignedHalf),
        LdrsbReg { t, .. } => load(t, Width::SignedByte),
        Load { width, t, .. } | LoadReg { width, t, .. } | LoadAt { width, t, .. } => {
            load(t, width)
        }
        StrReg { t, .. } | StrhReg { t, .. } | StrbReg { t, .. } => Form::Store { t },
        StrImm { t, .. } | StrhImm { t, .. } | StrbImm { t, .. } => Form::Store { t },
        Store { t, .. } | StoreReg { t, .. } => Form::Store { t },
        Ldm { list, .. } | Pop { list } => Form::LoadMany { list: list.into() },
        PopPc { list } => Form::LoadMany { list: u16::from(list) | 1 << 15 },
        LoadMultiple { list, .. } => Form::LoadMany { list },
        LoadMultiplePc { list, .. } => Form::LoadMany { list: list | 1 << 15 },
        LoadPc { .. } | LoadPcReg { .. } | LoadPcAt { .. } => Form::LoadMany { list: 1 << 15 },
        Stm { list, .. } => Form::StoreMany { list: list.into() },
        Push { list } => Form::StoreMany { list },
        StoreMultiple { list, .. } => Form::StoreMany { list },
        _ => return None,
    })
}

/// The registers that an instruction without flags or accesses reads, if it is a common one.
fn operands(insn: Insn) -> Option<u16> {
    use Insn::*;
    // Its flags decide those that read them; these do not.
    Some(match insn {
        And { d, m } | Eor { d, m } | Orr { d, m } | Mul { d, m } | Bic { d, m } => set([d, m]),
        Tst { n, m } => set([n, m]),
        Mvn { m, .. } | AsrImm { m, .. } => set([m]),
        LslImm { m, .. } => set([m]),
        Rev { m, .. } | Rev16 { m, .. } | Revsh { m, .. } | Rbit { m, .. } | Clz { m, .. } => {
            set([m])
        }
        DataImm { op, n, .. } | DataImmS { op, n, .. } | DataImmSc { op, n, .. }
            if !matches!(op, DataOp::Adc | DataOp::Sbc) =>
        {
            set([n])
        }
        DataReg { op, n, m, shift, .. }
            if !matches!(op, DataOp::Adc | DataOp::Sbc) && shift != Shift::Rrx =>
        {
            set([n, m])
        }
        Ubfx { n, .. } | Sbfx { n, .. } => set([n]),
        Bfi { d, n, .. } => set([d, n]),
        Movt { d, .. } => set([d]),
        Mla { n, m, a, .. } | Mls { n, m, a, .. } => set([n, m, a]),
        Divide { n, m, .. } => set([n, m]),
        _ => return None,
    })
}

/// The register that an instruction of [`Form::Other`] writes, if only one.
pub(super) fn output(insn: Insn) -> Reg {
    match insn {
        Insn::Bl { .. } | Insn::Blx { .. } => 14,
        Insn::Divide { d, .. } => d,
        insn => result(insn),
    }
}
