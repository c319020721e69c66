//! ARMv6-M instructions, decoded once (ARMv6-M Architecture Reference Manual, DDI 0419, A6).
//!
//! Whatever depends only on the instruction's own address is resolved here: branch targets, literal
//! addresses and reads of the PC are absolute. Registers are numbers 0-14; the PC never appears as one.

/// A register number, 0-14 (13 = SP, 14 = LR).
pub type Reg = u8;

/// Condition of a conditional branch (A6.3), as encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Condition {
    /// Equal: Z set.
    Eq,
    /// Not equal: Z clear.
    Ne,
    /// Carry set, unsigned higher or same.
    Cs,
    /// Carry clear, unsigned lower.
    Cc,
    /// Negative.
    Mi,
    /// Positive or zero.
    Pl,
    /// Overflow.
    Vs,
    /// No overflow.
    Vc,
    /// Unsigned higher.
    Hi,
    /// Unsigned lower or same.
    Ls,
    /// Signed greater or equal.
    Ge,
    /// Signed less.
    Lt,
    /// Signed greater.
    Gt,
    /// Signed less or equal.
    Le,
}

impl Condition {
    /// From the four encoded bits; 14 and 15 are not conditions.
    pub fn from_bits(bits: u16) -> Option<Self> {
        use Condition::*;
        [Eq, Ne, Cs, Cc, Mi, Pl, Vs, Vc, Hi, Ls, Ge, Lt, Gt, Le].get(bits as usize).copied()
    }
}

/// An instruction. Field names follow the manual: `d` destination, `n` first operand or base, `m` second
/// operand or offset, `t` transferred register, `imm` immediate (already scaled), `list` register bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[rustfmt::skip] // A table: one instruction, one line.
#[allow(missing_docs)] // The manual's mnemonics and field names, nothing to add.
pub enum Insn {
    // Shift, add, subtract, move, compare (immediate); all set flags.
    LslImm { d: Reg, m: Reg, imm: u8 },
    LsrImm { d: Reg, m: Reg, imm: u8 },
    AsrImm { d: Reg, m: Reg, imm: u8 },
    AddReg { d: Reg, n: Reg, m: Reg },
    SubReg { d: Reg, n: Reg, m: Reg },
    AddImm { d: Reg, n: Reg, imm: u8 },
    SubImm { d: Reg, n: Reg, imm: u8 },
    MovImm { d: Reg, imm: u8 },
    CmpImm { n: Reg, imm: u8 },
    // Data processing (register); all set flags.
    And { d: Reg, m: Reg },
    Eor { d: Reg, m: Reg },
    LslReg { d: Reg, m: Reg },
    LsrReg { d: Reg, m: Reg },
    AsrReg { d: Reg, m: Reg },
    Adc { d: Reg, m: Reg },
    Sbc { d: Reg, m: Reg },
    RorReg { d: Reg, m: Reg },
    Tst { n: Reg, m: Reg },
    Rsb { d: Reg, n: Reg },
    CmpReg { n: Reg, m: Reg },
    Cmn { n: Reg, m: Reg },
    Orr { d: Reg, m: Reg },
    Mul { d: Reg, m: Reg },
    Bic { d: Reg, m: Reg },
    Mvn { d: Reg, m: Reg },
    // High registers; ADD and MOV leave the flags alone.
    AddHi { d: Reg, m: Reg },
    MovHi { d: Reg, m: Reg },
    // Reads of the PC and ADR: a constant at a known address.
    AddConst { d: Reg, value: u32 },
    MovConst { d: Reg, value: u32 },
    CmpConst { n: Reg, value: u32 },
    // SP arithmetic.
    AddSpImm { d: Reg, imm: u16 },
    AdjustSp { imm: i16 },
    // Extend and reverse.
    Sxth { d: Reg, m: Reg },
    Sxtb { d: Reg, m: Reg },
    Uxth { d: Reg, m: Reg },
    Uxtb { d: Reg, m: Reg },
    Rev { d: Reg, m: Reg },
    Rev16 { d: Reg, m: Reg },
    Revsh { d: Reg, m: Reg },
    // Loads and stores.
    LdrLit { t: Reg, address: u32 },
    LdrReg { t: Reg, n: Reg, m: Reg },
    LdrhReg { t: Reg, n: Reg, m: Reg },
    LdrbReg { t: Reg, n: Reg, m: Reg },
    LdrshReg { t: Reg, n: Reg, m: Reg },
    LdrsbReg { t: Reg, n: Reg, m: Reg },
    StrReg { t: Reg, n: Reg, m: Reg },
    StrhReg { t: Reg, n: Reg, m: Reg },
    StrbReg { t: Reg, n: Reg, m: Reg },
    /// Base R0-R7 or SP.
    LdrImm { t: Reg, n: Reg, imm: u16 },
    LdrhImm { t: Reg, n: Reg, imm: u8 },
    LdrbImm { t: Reg, n: Reg, imm: u8 },
    /// Base R0-R7 or SP.
    StrImm { t: Reg, n: Reg, imm: u16 },
    StrhImm { t: Reg, n: Reg, imm: u8 },
    StrbImm { t: Reg, n: Reg, imm: u8 },
    Ldm { n: Reg, list: u8 },
    Stm { n: Reg, list: u8 },
    /// Bit 14 is LR.
    Push { list: u16 },
    Pop { list: u8 },
    // Hints without effect on this core.
    Nop,
    Sev,
    Dmb,
    Dsb,
    // Changes of flow: the last instruction of a block.
    B { target: u32 },
    BCond { condition: Condition, target: u32 },
    Bl { target: u32 },
    Bx { m: Reg },
    /// BX PC and BLX PC are unpredictable; MOV PC and ADD PC are not.
    Blx { m: Reg },
    PopPc { list: u8 },
    MovPc { m: Reg },
    AddPc { m: Reg, value: u32 },
    // System: may change what is pending, masked or running; the last of a block, too.
    Svc { imm: u8 },
    Bkpt { imm: u8 },
    Cps { disable: bool },
    Mrs { d: Reg, sysm: u8 },
    Msr { n: Reg, sysm: u8 },
    Isb,
    Wfe,
    Wfi,
    /// Undefined (also by definition: UDF).
    Undefined,
}

impl Insn {
    /// Whether the instruction ends a block: control may go elsewhere or system state may change.
    pub fn ends_block(self) -> bool {
        use Insn::*;
        matches!(
            self,
            B { .. }
                | BCond { .. }
                | Bl { .. }
                | Bx { .. }
                | Blx { .. }
                | PopPc { .. }
                | MovPc { .. }
                | AddPc { .. }
                | Svc { .. }
                | Bkpt { .. }
                | Cps { .. }
                | Mrs { .. }
                | Msr { .. }
                | Isb
                | Wfe
                | Wfi
                | Sev
                | Undefined
        )
    }

    /// Where a direct branch goes.
    pub fn target(self) -> Option<u32> {
        match self {
            Insn::B { target } | Insn::BCond { target, .. } | Insn::Bl { target } => Some(target),
            _ => None,
        }
    }

    /// Whether the instruction can only go on at the next address.
    pub fn falls_through(self) -> bool {
        use Insn::*;
        !matches!(
            self,
            B { .. }
                | Bx { .. }
                | PopPc { .. }
                | MovPc { .. }
                | AddPc { .. }
                | Undefined
                | Bkpt { .. }
        )
    }
}
