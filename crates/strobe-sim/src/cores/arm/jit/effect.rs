//! What an instruction does to the flags, and whether there is code for it: for the analysis and
//! the choice of blocks.

use super::flags::{ALL, CARRY, NZ, Set};
use crate::kernel::bus::Bus;
use crate::kernel::device::Size;
use strobe_isa::thumb::insn::{Insn, NO_REG};
use strobe_isa::thumb::op::{DataOp, Shift};

/// What an instruction has to do with flags.
pub(super) struct Effect {
    pub(super) reads: Set,
    pub(super) writes: Set,
    /// It may need care, and then the flags before it matter.
    pub(super) may_leave: bool,
}

/// What an instruction that does not end its block does with the flags.
pub(super) fn flags(insn: Insn) -> Effect {
    use Insn::*;
    let (reads, writes, may_leave) = match insn {
        AddReg { .. } | SubReg { .. } | AddImm { .. } | SubImm { .. } | CmpImm { .. } => {
            (0, ALL, false)
        }
        Rsb { .. } | CmpReg { .. } | Cmn { .. } | CmpConst { .. } => (0, ALL, false),
        Adc { .. } | Sbc { .. } => (CARRY, ALL, false),
        MovImm { .. } | And { .. } | Eor { .. } | Tst { .. } | Orr { .. } => (0, NZ, false),
        Mul { .. } | Bic { .. } | Mvn { .. } => (0, NZ, false),
        LslImm { imm: 0, .. } => (0, NZ, false),
        LslImm { .. } | LsrImm { .. } | AsrImm { .. } => (0, NZ | CARRY, false),
        // By zero these leave the carry alone.
        LslReg { .. } | LsrReg { .. } | AsrReg { .. } | RorReg { .. } => (CARRY, NZ | CARRY, false),
        LdrLit { .. } => (0, 0, false),
        LdrReg { .. } | LdrhReg { .. } | LdrbReg { .. } | LdrshReg { .. } | LdrsbReg { .. } => {
            (0, 0, true)
        }
        LdrImm { .. } | LdrhImm { .. } | LdrbImm { .. } | Ldm { .. } | Pop { .. } => (0, 0, true),
        StrReg { .. } | StrhReg { .. } | StrbReg { .. } | Stm { .. } | Push { .. } => (0, 0, true),
        StrImm { .. } | StrhImm { .. } | StrbImm { .. } => (0, 0, true),
        DataImmS { op, .. } => data_flags(op, 0),
        DataImmSc { op, .. } => data_flags(op, CARRY),
        DataReg { op, set: true, shift, by, .. } => {
            let (reads, writes, _) = data_flags(op, if by == 0 { 0 } else { CARRY });
            (reads | if shift == Shift::Rrx { CARRY } else { 0 }, writes, false)
        }
        DataImm { op: DataOp::Adc | DataOp::Sbc, .. }
        | DataReg { op: DataOp::Adc | DataOp::Sbc, .. }
        | DataReg { shift: Shift::Rrx, .. } => (CARRY, 0, false),
        ShiftReg { set: true, .. } => (CARRY, NZ | CARRY, false),
        Vmrs { t: NO_REG } => (0, ALL, true),
        DataImm { .. } | DataReg { .. } | ShiftReg { .. } => (0, 0, false),
        Load { .. } | LoadReg { .. } | LoadAt { .. } | LoadDual { .. } | LoadDualAt { .. } => {
            (0, 0, true)
        }
        Store { .. } | StoreReg { .. } | StoreDual { .. } | StoreMultiple { .. } => (0, 0, true),
        LoadMultiple { .. } | Divide { .. } => (0, 0, true),
        _ => (0, 0, insn.is_fp()),
    };
    Effect { reads, writes, may_leave }
}

/// Flags of data processing that sets them; `shifter`: the carry, if the operand's shift sets it.
fn data_flags(op: DataOp, shifter: Set) -> (Set, Set, bool) {
    use DataOp::*;
    match op {
        Adc | Sbc => (CARRY, ALL, false),
        Add | Cmn | Sub | Cmp | Rsb => (0, ALL, false),
        _ => (0, NZ | shifter, false),
    }
}

/// Whether there is code for an instruction that does not end its block.
pub(super) fn is_known(insn: Insn, bus: &Bus) -> bool {
    match insn {
        Insn::LdrLit { address, .. } => {
            bus.flash.contains(address) || bus.ram.read(address, Size::Word).is_some()
        }
        Insn::LoadExclusive { .. } | Insn::StoreExclusive { .. } | Insn::Clrex => false,
        _ => !insn.ends_block(),
    }
}

/// Whether there is code for an instruction that ends its block.
pub(super) fn is_jump(insn: Insn) -> bool {
    use Insn::*;
    matches!(
        insn,
        B { .. }
            | BCond { .. }
            | Bl { .. }
            | Bx { .. }
            | Blx { .. }
            | PopPc { .. }
            | MovPc { .. }
            | AddPc { .. }
            | Cbz { .. }
            | TableBranch { .. }
            | LoadPc { .. }
            | LoadPcReg { .. }
            | LoadPcAt { .. }
            | LoadMultiplePc { .. }
    )
}
