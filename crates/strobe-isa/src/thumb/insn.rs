//! Instructions, decoded once (ARMv6-M Architecture Reference Manual, DDI 0419, A6; ARMv7-M, DDI
//! 0403, A7).
//!
//! Whatever depends only on the instruction's own address is resolved here: branch targets, literal
//! addresses and reads of the PC are absolute. Registers are numbers 0-14; the PC never appears as
//! one. 32-bit encodings that do what a 16-bit one does share its variant.

use super::op::{
    Conversion, DataOp, Direction, Extension, FpOp, Index, LaneResult, Lanes, LongOp, SaturatingOp,
    Shift, Width,
};
use crate::Size;

/// A register number, 0-14 (13 = SP, 14 = LR). Where an operand may be left out, 15 is none and
/// reads as zero.
pub type Reg = u8;

/// No register.
pub const NO_REG: Reg = 15;

/// A single-precision register number, 0-31.
pub type FpReg = u8;

/// The stack pointer.
const SP: Reg = 13;

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

/// An instruction. Field names follow the manual: `d` destination, `n` first operand or base, `m`
/// second operand or offset, `t` transferred register, `imm` immediate (already scaled), `list`
/// register bits.
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
    /// `masks`: bit 0 FAULTMASK, bit 1 PRIMASK.
    Cps { disable: bool, masks: u8 },
    Mrs { d: Reg, sysm: u8 },
    /// `mask`: bit 0 GE, bit 1 the flags, of APSR.
    Msr { n: Reg, sysm: u8, mask: u8 },
    Isb,
    Wfe,
    Wfi,
    /// Undefined (also by definition: UDF).
    Undefined,

    // ARMv7-M from here on.
    /// The next instructions' conditions, as ITSTATE behind this one.
    It { state: u8 },
    Cbz { n: Reg, nonzero: bool, target: u32 },
    TableBranch { n: Reg, m: Reg, half: bool },
    /// A coprocessor that is not there.
    NoCoprocessor,
    // Data processing.
    DataImm { op: DataOp, d: Reg, n: Reg, value: u32 },
    /// Sets the flags, C only by arithmetic.
    DataImmS { op: DataOp, d: Reg, n: Reg, value: u32 },
    /// Sets the flags; C is the value's bit 31, as it was rotated, unless by arithmetic.
    DataImmSc { op: DataOp, d: Reg, n: Reg, value: u32 },
    DataReg { op: DataOp, set: bool, d: Reg, n: Reg, m: Reg, shift: Shift, by: u8 },
    ShiftReg { shift: Shift, set: bool, d: Reg, n: Reg, m: Reg },
    Movt { d: Reg, imm: u16 },
    Bfi { d: Reg, n: Reg, lsb: u8, width: u8 },
    Ubfx { d: Reg, n: Reg, lsb: u8, width: u8 },
    Sbfx { d: Reg, n: Reg, lsb: u8, width: u8 },
    /// To `to` bits, with the sign.
    Ssat { d: Reg, n: Reg, to: u8, shift: Shift, by: u8 },
    Usat { d: Reg, n: Reg, to: u8, shift: Shift, by: u8 },
    Ssat16 { d: Reg, n: Reg, to: u8 },
    Usat16 { d: Reg, n: Reg, to: u8 },
    Rbit { d: Reg, m: Reg },
    Clz { d: Reg, m: Reg },
    Extend { op: Extension, d: Reg, n: Reg, m: Reg, rotate: u8 },
    Mla { d: Reg, n: Reg, m: Reg, a: Reg },
    Mls { d: Reg, n: Reg, m: Reg, a: Reg },
    LongMul { op: LongOp, lo: Reg, hi: Reg, n: Reg, m: Reg },
    Divide { signed: bool, d: Reg, n: Reg, m: Reg },
    // DSP extension.
    Pkh { top: bool, d: Reg, n: Reg, m: Reg, by: u8 },
    Saturating { op: SaturatingOp, d: Reg, n: Reg, m: Reg },
    Sel { d: Reg, n: Reg, m: Reg },
    Parallel { lanes: Lanes, result: LaneResult, d: Reg, n: Reg, m: Reg },
    /// SMLAxy, SMULxy; `halves`: bit 0 `m`'s, bit 1 `n`'s top half.
    Smla { halves: u8, d: Reg, n: Reg, m: Reg, a: Reg },
    Smlaw { top: bool, d: Reg, n: Reg, m: Reg, a: Reg },
    /// SMLAD, SMLSD and without accumulation SMUAD, SMUSD.
    Smlad { subtract: bool, swap: bool, d: Reg, n: Reg, m: Reg, a: Reg },
    Smmla { subtract: bool, round: bool, d: Reg, n: Reg, m: Reg, a: Reg },
    Usada8 { d: Reg, n: Reg, m: Reg, a: Reg },
    // Loads and stores.
    Load { width: Width, t: Reg, n: Reg, index: Index, imm: i16 },
    LoadReg { width: Width, t: Reg, n: Reg, m: Reg, by: u8 },
    /// PC-relative, but not a word at a multiple of four.
    LoadAt { width: Width, t: Reg, address: u32 },
    Store { width: Width, t: Reg, n: Reg, index: Index, imm: i16 },
    StoreReg { width: Width, t: Reg, n: Reg, m: Reg, by: u8 },
    LoadDual { t: Reg, t2: Reg, n: Reg, index: Index, imm: i16 },
    LoadDualAt { t: Reg, t2: Reg, address: u32 },
    StoreDual { t: Reg, t2: Reg, n: Reg, index: Index, imm: i16 },
    LoadExclusive { size: Size, t: Reg, n: Reg, imm: u16 },
    StoreExclusive { size: Size, d: Reg, t: Reg, n: Reg, imm: u16 },
    Clrex,
    LoadMultiple { direction: Direction, writeback: bool, n: Reg, list: u16 },
    StoreMultiple { direction: Direction, writeback: bool, n: Reg, list: u16 },
    // Loads of the PC.
    LoadPc { n: Reg, index: Index, imm: i16 },
    LoadPcReg { n: Reg, m: Reg, by: u8 },
    LoadPcAt { address: u32 },
    /// The list is without the PC, which is loaded, too.
    LoadMultiplePc { direction: Direction, writeback: bool, n: Reg, list: u16 },
    // Floating point.
    Fp { op: FpOp, d: FpReg, n: FpReg, m: FpReg },
    FpImm { d: FpReg, value: u32 },
    FpConvert { op: Conversion, d: FpReg, m: FpReg },
    /// Between floating and fixed point in place; `fraction` bits behind the point.
    FpFixed { to_fixed: bool, signed: bool, half: bool, d: FpReg, fraction: u8 },
    FpLoad { d: FpReg, count: u8, n: Reg, imm: i16 },
    FpLoadAt { d: FpReg, count: u8, address: u32 },
    FpStore { d: FpReg, count: u8, n: Reg, imm: i16 },
    FpLoadMultiple {
        direction: Direction,
        writeback: bool,
        n: Reg,
        d: FpReg,
        count: u8,
        // Of 32 bits, what the base moves by.
        words: u8,
    },
    FpStoreMultiple {
        direction: Direction,
        writeback: bool,
        n: Reg,
        d: FpReg,
        count: u8,
        // Of 32 bits, what the base moves by.
        words: u8,
    },
    FpToCore { t: Reg, n: FpReg },
    FpFromCore { n: FpReg, t: Reg },
    FpToCores { t: Reg, t2: Reg, m: FpReg },
    FpFromCores { m: FpReg, t: Reg, t2: Reg },
    /// VMRS; without a register, the flags go to APSR.
    Vmrs { t: Reg },
    Vmsr { t: Reg },
}

/// Blocks are arrays of these: they must not grow.
const _: () = assert!(size_of::<Insn>() == 8);

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
                | Cbz { .. }
                | TableBranch { .. }
                | NoCoprocessor
                | LoadPc { .. }
                | LoadPcReg { .. }
                | LoadPcAt { .. }
                | LoadMultiplePc { .. }
        )
    }

    /// The 16-bit instruction as it is inside an IT block, where only comparisons set flags (A7.3.2
    /// of DDI 0403).
    #[must_use]
    pub fn inside_it_block(self) -> Self {
        use Insn::*;
        let data = |op, d, n, m| DataReg { op, set: false, d, n, m, shift: Shift::Lsl, by: 0 };
        let shifted =
            |shift, d, m, by| DataReg { op: DataOp::Mov, set: false, d, n: NO_REG, m, shift, by };
        let shift = |shift, d, m| ShiftReg { shift, set: false, d, n: d, m };
        let imm = |op, d, n, imm| DataImm { op, d, n, value: u32::from(imm) };
        match self {
            LslImm { d, m, imm } => shifted(Shift::Lsl, d, m, imm),
            LsrImm { d, m, imm } => shifted(Shift::Lsr, d, m, imm),
            AsrImm { d, m, imm } => shifted(Shift::Asr, d, m, imm),
            AddReg { d, n, m } => data(DataOp::Add, d, n, m),
            SubReg { d, n, m } => data(DataOp::Sub, d, n, m),
            AddImm { d, n, imm: i } => imm(DataOp::Add, d, n, i),
            SubImm { d, n, imm: i } => imm(DataOp::Sub, d, n, i),
            MovImm { d, imm: i } => imm(DataOp::Mov, d, NO_REG, i),
            And { d, m } => data(DataOp::And, d, d, m),
            Eor { d, m } => data(DataOp::Eor, d, d, m),
            LslReg { d, m } => shift(Shift::Lsl, d, m),
            LsrReg { d, m } => shift(Shift::Lsr, d, m),
            AsrReg { d, m } => shift(Shift::Asr, d, m),
            RorReg { d, m } => shift(Shift::Ror, d, m),
            Adc { d, m } => data(DataOp::Adc, d, d, m),
            Sbc { d, m } => data(DataOp::Sbc, d, d, m),
            Rsb { d, n } => imm(DataOp::Rsb, d, n, 0),
            Orr { d, m } => data(DataOp::Orr, d, d, m),
            Mul { d, m } => Mla { d, n: d, m, a: NO_REG },
            Bic { d, m } => data(DataOp::Bic, d, d, m),
            Mvn { d, m } => data(DataOp::Mvn, d, NO_REG, m),
            other => other,
        }
    }

    /// Whether it is a jump whose target comes from a table or a calculation: what a `switch`
    /// becomes, never a return.
    pub fn is_table_jump(self) -> bool {
        use Insn::*;
        match self {
            TableBranch { .. } | LoadPcReg { .. } | AddPc { .. } => true,
            MovPc { m } => m != 14,
            _ => false,
        }
    }

    /// Whether it executes in an IT block even if the condition fails (A7.7.17 of DDI 0403).
    pub fn is_unconditional(self) -> bool {
        matches!(self, Insn::Bkpt { .. })
    }

    /// Whether the instruction writes the stack pointer, where that is not unpredictable.
    pub fn moves_stack(self) -> bool {
        use Insn::*;
        match self {
            AdjustSp { .. } | Push { .. } | Pop { .. } | PopPc { .. } => true,
            AddHi { d, .. } | MovHi { d, .. } | AddConst { d, .. } | MovConst { d, .. } => d == SP,
            DataImm { d, .. } | DataImmS { d, .. } | DataImmSc { d, .. } => d == SP,
            DataReg { d, .. } | AddSpImm { d, .. } => d == SP,
            LdrLit { t, .. } | LdrImm { t, .. } | LdrReg { t, .. } => t == SP,
            LoadReg { t, .. } | LoadAt { t, .. } => t == SP,
            Load { t, n, index, .. } => t == SP || n == SP && index != Index::Offset,
            Store { n, index, .. } | LoadDual { n, index, .. } | StoreDual { n, index, .. } => {
                n == SP && index != Index::Offset
            }
            LoadPc { n, index, .. } => n == SP && index != Index::Offset,
            Ldm { n, .. } | Stm { n, .. } => n == SP,
            LoadMultiple { writeback, n, .. }
            | StoreMultiple { writeback, n, .. }
            | LoadMultiplePc { writeback, n, .. }
            | FpLoadMultiple { writeback, n, .. }
            | FpStoreMultiple { writeback, n, .. } => n == SP && writeback,
            _ => false,
        }
    }

    /// Whether it loads the stack pointer and moves the base register as well: to be run once,
    /// where others that write the stack pointer can be run again.
    pub fn loads_stack_once(self) -> bool {
        matches!(self, Insn::Load { t: SP, n, index, .. } if n != SP && index != Index::Offset)
    }

    /// Whether the instruction uses the floating-point unit.
    pub fn is_fp(self) -> bool {
        use Insn::*;
        matches!(
            self,
            Fp { .. }
                | FpImm { .. }
                | FpConvert { .. }
                | FpFixed { .. }
                | FpLoad { .. }
                | FpLoadAt { .. }
                | FpStore { .. }
                | FpLoadMultiple { .. }
                | FpStoreMultiple { .. }
                | FpToCore { .. }
                | FpFromCore { .. }
                | FpToCores { .. }
                | FpFromCores { .. }
                | Vmrs { .. }
                | Vmsr { .. }
        )
    }

    /// Whether the floating-point unit works on it for long (VDIV, VSQRT).
    pub fn is_long_fp(self) -> bool {
        matches!(self, Insn::Fp { op: FpOp::Div | FpOp::Sqrt, .. })
    }

    /// Transfers on the data bus: at least as many as it makes.
    pub fn transfers(self) -> u32 {
        use Insn::*;
        match self {
            Ldm { list, .. } | Stm { list, .. } | Pop { list } => list.count_ones(),
            PopPc { list } => list.count_ones() + 1,
            Push { list } => list.count_ones(),
            LoadMultiple { list, .. } | StoreMultiple { list, .. } => list.count_ones(),
            LoadMultiplePc { list, .. } => list.count_ones() + 1,
            FpLoadMultiple { words, .. } | FpStoreMultiple { words, .. } => u32::from(words),
            LoadDual { .. } | LoadDualAt { .. } | StoreDual { .. } => 2,
            FpLoad { .. } | FpLoadAt { .. } | FpStore { .. } => 2,
            // Others make one, or three if unaligned.
            _ => 3,
        }
    }

    /// A direct branch that may not be taken.
    pub fn is_conditional_branch(self) -> bool {
        matches!(self, Insn::BCond { .. } | Insn::Cbz { .. })
    }

    /// Where a direct branch goes.
    pub fn target(self) -> Option<u32> {
        match self {
            Insn::B { target }
            | Insn::BCond { target, .. }
            | Insn::Cbz { target, .. }
            | Insn::Bl { target } => Some(target),
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
                | TableBranch { .. }
                | NoCoprocessor
                | LoadPc { .. }
                | LoadPcReg { .. }
                | LoadPcAt { .. }
                | LoadMultiplePc { .. }
        )
    }
}
