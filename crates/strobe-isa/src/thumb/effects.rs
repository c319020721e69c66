//! Which core registers an instruction uses and which it changes.

use super::access::{Access, Address};
use super::flow::Flow;
use super::insn::{Insn, NO_REG};
use super::op::{DataOp, LongOp, Shift};
use super::registers::{LR, PC, Registers, SP};

impl Insn {
    /// The core registers whose values it uses: operands, addresses and what is stored. The program
    /// counter is none of them.
    pub fn reads(self) -> Registers {
        let mut read = operands(self);
        if let Some(Access { address, is_store, transfers, .. }) = self.access() {
            if is_store {
                read = read.with(transfers.registers());
            }
            read = read.with(match address {
                Address::Offset { base, .. } => Registers::of([base]),
                Address::Index { base, index, .. } => Registers::of([base, index]),
                Address::Literal(_) => Registers::NONE,
            });
        }
        match self.flow() {
            Flow::CallRegister(m) | Flow::JumpRegister(m) => read.with(Registers::of([m])),
            Flow::JumpSum { register, .. } => read.with(Registers::of([register])),
            Flow::Table { base, index, .. } => read.with(Registers::of([base, index])),
            _ => read,
        }
    }

    /// The core registers that it changes: results, what is loaded, a base that is written back,
    /// the link register of calls. The program counter is none of them.
    pub fn writes(self) -> Registers {
        let mut written = results(self);
        if let Some(Access { is_store, transfers, writeback, .. }) = self.access() {
            if !is_store {
                written = written.with(transfers.registers());
            }
            if let Some((base, _)) = writeback {
                written = written.with(Registers::of([base]));
            }
        }
        if matches!(self.flow(), Flow::Call(_) | Flow::CallRegister(_)) {
            written = written.with(Registers::of([LR]));
        }
        written.without(Registers(1 << PC))
    }
}

impl Insn {
    /// Whether it changes the flags N, Z, C or V of APSR. Those of 16-bit encodings do outside of
    /// IT blocks; [`Insn::inside_it_block`] has them as they are within.
    pub fn sets_flags(self) -> bool {
        use Insn::*;
        match self {
            LslImm { .. } | LsrImm { .. } | AsrImm { .. } | MovImm { .. } | CmpImm { .. } => true,
            AddReg { .. } | SubReg { .. } | AddImm { .. } | SubImm { .. } | Rsb { .. } => true,
            And { .. } | Eor { .. } | Orr { .. } | Bic { .. } | Mvn { .. } | Tst { .. } => true,
            LslReg { .. } | LsrReg { .. } | AsrReg { .. } | RorReg { .. } | Mul { .. } => true,
            Adc { .. } | Sbc { .. } | CmpReg { .. } | CmpConst { .. } | Cmn { .. } => true,
            DataImmS { .. } | DataImmSc { .. } => true,
            DataReg { set, .. } | ShiftReg { set, .. } => set,
            Msr { mask, sysm, .. } => sysm < 4 && mask & 2 != 0,
            Vmrs { t } => t == NO_REG,
            _ => false,
        }
    }

    /// Whether its result depends on the carry.
    pub fn reads_carry(self) -> bool {
        use Insn::*;
        match self {
            Adc { .. } | Sbc { .. } => true,
            DataImm { op, .. } | DataImmS { op, .. } | DataImmSc { op, .. } => {
                matches!(op, DataOp::Adc | DataOp::Sbc)
            }
            DataReg { op, shift, .. } => {
                matches!(op, DataOp::Adc | DataOp::Sbc) || shift == Shift::Rrx
            }
            _ => false,
        }
    }
}

/// Operands that are neither part of an address nor stored.
fn operands(insn: Insn) -> Registers {
    use Insn::*;
    match insn {
        LslImm { m, .. } | LsrImm { m, .. } | AsrImm { m, .. } => Registers::of([m]),
        AddReg { n, m, .. } | SubReg { n, m, .. } => Registers::of([n, m]),
        AddImm { n, .. } | SubImm { n, .. } | CmpImm { n, .. } => Registers::of([n]),
        And { d, m } | Eor { d, m } | LslReg { d, m } | LsrReg { d, m } => Registers::of([d, m]),
        AsrReg { d, m } | Adc { d, m } | Sbc { d, m } | RorReg { d, m } => Registers::of([d, m]),
        Orr { d, m } | Mul { d, m } | Bic { d, m } | AddHi { d, m } => Registers::of([d, m]),
        Tst { n, m } | CmpReg { n, m } | Cmn { n, m } => Registers::of([n, m]),
        Rsb { n, .. } | CmpConst { n, .. } => Registers::of([n]),
        Mvn { m, .. } | MovHi { m, .. } => Registers::of([m]),
        AddConst { d, .. } => Registers::of([d]),
        AddSpImm { .. } | AdjustSp { .. } => Registers::of([SP]),
        Sxth { m, .. } | Sxtb { m, .. } | Uxth { m, .. } | Uxtb { m, .. } => Registers::of([m]),
        Rev { m, .. } | Rev16 { m, .. } | Revsh { m, .. } => Registers::of([m]),
        Rbit { m, .. } | Clz { m, .. } => Registers::of([m]),
        Msr { n, .. } | Cbz { n, .. } => Registers::of([n]),
        DataImm { n, .. } | DataImmS { n, .. } | DataImmSc { n, .. } => Registers::of([n]),
        DataReg { n, m, .. } | ShiftReg { n, m, .. } => Registers::of([n, m]),
        Movt { d, .. } => Registers::of([d]),
        Bfi { d, n, .. } => Registers::of([d, n]),
        Ubfx { n, .. } | Sbfx { n, .. } | Ssat { n, .. } | Usat { n, .. } => Registers::of([n]),
        Ssat16 { n, .. } | Usat16 { n, .. } => Registers::of([n]),
        Extend { n, m, .. } | Divide { n, m, .. } => Registers::of([n, m]),
        Mla { n, m, a, .. } | Mls { n, m, a, .. } | Smla { n, m, a, .. } => {
            Registers::of([n, m, a])
        }
        Smlaw { n, m, a, .. } | Smlad { n, m, a, .. } => Registers::of([n, m, a]),
        Smmla { n, m, a, .. } | Usada8 { n, m, a, .. } => Registers::of([n, m, a]),
        LongMul { op: LongOp::Smull | LongOp::Umull, n, m, .. } => Registers::of([n, m]),
        LongMul { lo, hi, n, m, .. } => Registers::of([lo, hi, n, m]),
        Pkh { n, m, .. } | Saturating { n, m, .. } | Sel { n, m, .. } => Registers::of([n, m]),
        Parallel { n, m, .. } => Registers::of([n, m]),
        FpFromCore { t, .. } | Vmsr { t } => Registers::of([t]),
        FpFromCores { t, t2, .. } => Registers::of([t, t2]),
        _ => Registers::NONE,
    }
}

/// Results that are not loaded.
fn results(insn: Insn) -> Registers {
    use Insn::*;
    match insn {
        LongMul { lo, hi, .. } => Registers::of([lo, hi]),
        FpToCores { t, t2, .. } => Registers::of([t, t2]),
        other => Registers::of([result(other)]),
    }
}

/// The register that holds the result, [`NO_REG`] if there is none or more than one.
fn result(insn: Insn) -> u8 {
    use Insn::*;
    match insn {
        LslImm { d, .. } | LsrImm { d, .. } | AsrImm { d, .. } | MovImm { d, .. } => d,
        AddReg { d, .. } | SubReg { d, .. } | AddImm { d, .. } | SubImm { d, .. } => d,
        And { d, .. } | Eor { d, .. } | Orr { d, .. } | Bic { d, .. } | Mvn { d, .. } => d,
        LslReg { d, .. } | LsrReg { d, .. } | AsrReg { d, .. } | RorReg { d, .. } => d,
        Adc { d, .. } | Sbc { d, .. } | Rsb { d, .. } | Mul { d, .. } => d,
        AddHi { d, .. } | MovHi { d, .. } | AddConst { d, .. } | MovConst { d, .. } => d,
        AddSpImm { d, .. } => d,
        AdjustSp { .. } => SP,
        Sxth { d, .. } | Sxtb { d, .. } | Uxth { d, .. } | Uxtb { d, .. } => d,
        Rev { d, .. } | Rev16 { d, .. } | Revsh { d, .. } | Rbit { d, .. } | Clz { d, .. } => d,
        DataImm { d, .. } | DataImmS { d, .. } | DataImmSc { d, .. } | DataReg { d, .. } => d,
        ShiftReg { d, .. } | Movt { d, .. } | Bfi { d, .. } | Ubfx { d, .. } | Sbfx { d, .. } => d,
        Extend { d, .. } | Mla { d, .. } | Mls { d, .. } | Ssat { d, .. } | Usat { d, .. } => d,
        Divide { d, .. } | Smla { d, .. } | Smlaw { d, .. } | Smlad { d, .. } => d,
        Smmla { d, .. } | Pkh { d, .. } | Parallel { d, .. } | Saturating { d, .. } => d,
        Sel { d, .. } | Ssat16 { d, .. } | Usat16 { d, .. } | Usada8 { d, .. } => d,
        StoreExclusive { d, .. } | Mrs { d, .. } => d,
        FpToCore { t, .. } | Vmrs { t } => t,
        _ => NO_REG,
    }
}
