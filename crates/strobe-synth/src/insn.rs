//! The encoder: every instruction of the ARMv6-M Architecture Reference Manual (DDI 0419, chapters
//! A5 and A6) as a value, and the additions of ARMv7-M (DDI 0403).
//!
//! Written from the manual's encoding diagrams only. It knows encodings, not behaviour, and never
//! decodes machine code.

use crate::wide::Wide;

/// A core register, `r0` to `r15`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Reg(u8);

impl Reg {
    /// The stack pointer, r13.
    pub const SP: Reg = Reg(13);
    /// The link register, r14.
    pub const LR: Reg = Reg(14);
    /// The program counter, r15.
    pub const PC: Reg = Reg(15);

    /// Register `number`, 0 to 15.
    pub const fn new(number: u8) -> Self {
        assert!(number < 16, "there are sixteen core registers");
        Self(number)
    }

    /// Its number, 0 to 15.
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Whether a three-bit register field can name it (r0 to r7).
    pub const fn is_low(self) -> bool {
        self.0 < 8
    }
}

macro_rules! operations {
    ($(#[$doc:meta])* $name:ident {
        $($(#[$vdoc:meta])* $variant:ident = $code:literal),+ $(,)?
    }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name { $($(#[$vdoc])* $variant = $code),+ }

        impl $name {
            /// All of them, in encoding order.
            pub const ALL: &[Self] = &[$(Self::$variant),+];
        }
    };
}

operations! {
    /// Shifts by an immediate (A5.2.1).
    Shift {
        /// Logical left.
        Lsl = 0,
        /// Logical right; an amount of 32 is encoded as 0.
        Lsr = 1,
        /// Arithmetic right; an amount of 32 is encoded as 0.
        Asr = 2,
    }
}
operations! {
    /// Addition or subtraction (A5.2.1).
    AddSub {
        /// ADD.
        Add = 0,
        /// SUB.
        Sub = 1,
    }
}
operations! {
    /// Operations with an eight-bit immediate (A5.2.1).
    Imm8Op {
        /// MOVS.
        Mov = 0,
        /// CMP.
        Cmp = 1,
        /// ADDS.
        Add = 2,
        /// SUBS.
        Sub = 3,
    }
}
operations! {
    /// Two-register data processing (A5.2.2).
    DataOp {
        /// ANDS.
        And = 0,
        /// EORS.
        Eor = 1,
        /// LSLS by register.
        Lsl = 2,
        /// LSRS by register.
        Lsr = 3,
        /// ASRS by register.
        Asr = 4,
        /// ADCS.
        Adc = 5,
        /// SBCS.
        Sbc = 6,
        /// RORS by register.
        Ror = 7,
        /// TST.
        Tst = 8,
        /// RSBS from zero.
        Rsb = 9,
        /// CMP of low registers.
        Cmp = 10,
        /// CMN.
        Cmn = 11,
        /// ORRS.
        Orr = 12,
        /// MULS.
        Mul = 13,
        /// BICS.
        Bic = 14,
        /// MVNS.
        Mvn = 15,
    }
}
operations! {
    /// Loads and stores (A5.2.4); the code is that of the register-offset form.
    LoadStore {
        /// STR.
        Str = 0,
        /// STRH.
        Strh = 1,
        /// STRB.
        Strb = 2,
        /// LDRSB, register offset only.
        Ldrsb = 3,
        /// LDR.
        Ldr = 4,
        /// LDRH.
        Ldrh = 5,
        /// LDRB.
        Ldrb = 6,
        /// LDRSH, register offset only.
        Ldrsh = 7,
    }
}
operations! {
    /// Sign and zero extension (A5.2.5).
    Extend {
        /// SXTH.
        Sxth = 0,
        /// SXTB.
        Sxtb = 1,
        /// UXTH.
        Uxth = 2,
        /// UXTB.
        Uxtb = 3,
    }
}
operations! {
    /// Byte reversal (A5.2.5).
    Reverse {
        /// REV.
        Rev = 0,
        /// REV16.
        Rev16 = 1,
        /// REVSH.
        Revsh = 3,
    }
}
operations! {
    /// Hints (A5.2.5).
    Hint {
        /// NOP.
        Nop = 0,
        /// YIELD.
        Yield = 1,
        /// WFE.
        Wfe = 2,
        /// WFI.
        Wfi = 3,
        /// SEV.
        Sev = 4,
    }
}
operations! {
    /// Memory barriers (A5.3.2).
    Barrier {
        /// DSB.
        Dsb = 4,
        /// DMB.
        Dmb = 5,
        /// ISB.
        Isb = 6,
    }
}
operations! {
    /// Condition codes of a conditional branch (A6.3).
    Cond {
        /// Equal.
        Eq = 0,
        /// Not equal.
        Ne = 1,
        /// Carry set.
        Cs = 2,
        /// Carry clear.
        Cc = 3,
        /// Negative.
        Mi = 4,
        /// Positive or zero.
        Pl = 5,
        /// Overflow.
        Vs = 6,
        /// No overflow.
        Vc = 7,
        /// Unsigned higher.
        Hi = 8,
        /// Unsigned lower or same.
        Ls = 9,
        /// Signed greater or equal.
        Ge = 10,
        /// Signed less.
        Lt = 11,
        /// Signed greater.
        Gt = 12,
        /// Signed less or equal.
        Le = 13,
    }
}
operations! {
    /// Special registers of MRS and MSR by their SYSm value (B4.2).
    Special {
        /// The flags.
        Apsr = 0,
        /// Exception number and flags.
        Iapsr = 1,
        /// Execution state (reads as zero) and flags.
        Eapsr = 2,
        /// All three.
        Xpsr = 3,
        /// The exception number.
        Ipsr = 5,
        /// The execution state, which reads as zero.
        Epsr = 6,
        /// Exception number and execution state.
        Iepsr = 7,
        /// Main stack pointer.
        Msp = 8,
        /// Process stack pointer.
        Psp = 9,
        /// Priority mask.
        Primask = 16,
        /// Stack selection (and privilege, where implemented).
        Control = 20,
    }
}

/// One ARMv6-M instruction, one variant per encoding family.
///
/// Offsets of branches are in bytes from the address of the instruction plus four, as the manual's
/// `imm32`; other immediates are in the unit the instruction scales by, as their names state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // The fields carry the manual's own names.
pub enum Insn {
    ShiftImm {
        op: Shift,
        rd: Reg,
        rm: Reg,
        amount: u8,
    },
    AddSubReg {
        op: AddSub,
        rd: Reg,
        rn: Reg,
        rm: Reg,
    },
    AddSubImm3 {
        op: AddSub,
        rd: Reg,
        rn: Reg,
        imm3: u8,
    },
    Imm8 {
        op: Imm8Op,
        rdn: Reg,
        imm8: u8,
    },
    Data {
        op: DataOp,
        rdn: Reg,
        rm: Reg,
    },
    AddHigh {
        rdn: Reg,
        rm: Reg,
    },
    CmpHigh {
        rn: Reg,
        rm: Reg,
    },
    MovHigh {
        rd: Reg,
        rm: Reg,
    },
    Bx {
        rm: Reg,
    },
    Blx {
        rm: Reg,
    },
    LdrLiteral {
        rt: Reg,
        words: u8,
    },
    MemReg {
        op: LoadStore,
        rt: Reg,
        rn: Reg,
        rm: Reg,
    },
    /// `units` counts words, halfwords or bytes, as the operation does.
    MemImm {
        op: LoadStore,
        rt: Reg,
        rn: Reg,
        units: u8,
    },
    MemSp {
        load: bool,
        rt: Reg,
        words: u8,
    },
    Adr {
        rd: Reg,
        words: u8,
    },
    AddRdSp {
        rd: Reg,
        words: u8,
    },
    AdjustSp {
        op: AddSub,
        words: u8,
    },
    Extend {
        op: Extend,
        rd: Reg,
        rm: Reg,
    },
    Reverse {
        op: Reverse,
        rd: Reg,
        rm: Reg,
    },
    Push {
        list: u8,
        lr: bool,
    },
    Pop {
        list: u8,
        pc: bool,
    },
    Cps {
        disable: bool,
    },
    Bkpt {
        imm8: u8,
    },
    Hint {
        op: Hint,
    },
    Stm {
        rn: Reg,
        list: u8,
    },
    Ldm {
        rn: Reg,
        list: u8,
    },
    BCond {
        cond: Cond,
        offset: i32,
    },
    B {
        offset: i32,
    },
    Bl {
        offset: i32,
    },
    Udf {
        imm8: u8,
    },
    UdfW {
        imm16: u16,
    },
    Svc {
        imm8: u8,
    },
    Msr {
        to: Special,
        rn: Reg,
    },
    Mrs {
        rd: Reg,
        from: Special,
    },
    Barrier {
        op: Barrier,
    },
    /// IT: the first condition, and the mask with its lowest bit set.
    It {
        cond: u8,
        mask: u8,
    },
    Cbz {
        nonzero: bool,
        rn: Reg,
        offset: i32,
    },
    /// CPS of FAULTMASK, or of both masks.
    CpsFault {
        disable: bool,
        interrupts: bool,
    },
    BCondWide {
        cond: Cond,
        offset: i32,
    },
    BWide {
        offset: i32,
    },
    Wide(Wide),
}

impl Insn {
    /// The machine code, one halfword or two.
    ///
    /// # Panics
    /// If an operand does not fit its field: such an instruction does not exist.
    pub fn encode(&self) -> Vec<u16> {
        match *self {
            Insn::Bl { offset } => bl(offset),
            Insn::UdfW { imm16 } => vec![0xf7f0 | imm16 >> 12, 0xa000 | imm16 & 0xfff],
            Insn::Msr { to, rn } => vec![0xf380 | any(rn), 0x8800 | to as u16],
            Insn::Mrs { rd, from } => vec![0xf3ef, 0x8000 | any(rd) << 8 | from as u16],
            Insn::Barrier { op } => vec![0xf3bf, 0x8f0f | (op as u16) << 4],
            Insn::BCondWide { cond, offset } => b_cond_wide(cond, offset),
            Insn::BWide { offset } => {
                let [first, second] = bl(offset)[..] else { unreachable!("two halfwords") };
                vec![first, second & !0x4000]
            }
            Insn::Wide(wide) => vec![(wide.bits >> 16) as u16, wide.bits as u16],
            _ => vec![self.encode_16()],
        }
    }

    /// The size in bytes, 2 or 4.
    pub fn size(&self) -> u32 {
        match self {
            Insn::Bl { .. }
            | Insn::UdfW { .. }
            | Insn::Msr { .. }
            | Insn::Mrs { .. }
            | Insn::BCondWide { .. }
            | Insn::BWide { .. }
            | Insn::Wide(_)
            | Insn::Barrier { .. } => 4,
            _ => 2,
        }
    }

    fn encode_16(&self) -> u16 {
        match *self {
            Insn::ShiftImm { op, rd, rm, amount } => {
                let largest = if op == Shift::Lsl { 31 } else { 32 };
                assert!(amount <= largest && (op == Shift::Lsl || amount > 0), "{self:?}");
                (op as u16) << 11 | u16::from(amount & 31) << 6 | low(rm) << 3 | low(rd)
            }
            Insn::AddSubReg { op, rd, rn, rm } => {
                0x1800 | (op as u16) << 9 | low(rm) << 6 | low(rn) << 3 | low(rd)
            }
            Insn::AddSubImm3 { op, rd, rn, imm3 } => {
                0x1c00 | (op as u16) << 9 | field(imm3, 3) << 6 | low(rn) << 3 | low(rd)
            }
            Insn::Imm8 { op, rdn, imm8 } => {
                0x2000 | (op as u16) << 11 | low(rdn) << 8 | u16::from(imm8)
            }
            Insn::Data { op, rdn, rm } => 0x4000 | (op as u16) << 6 | low(rm) << 3 | low(rdn),
            Insn::AddHigh { rdn, rm } => 0x4400 | split(rdn) | any(rm) << 3,
            Insn::CmpHigh { rn, rm } => 0x4500 | split(rn) | any(rm) << 3,
            Insn::MovHigh { rd, rm } => 0x4600 | split(rd) | any(rm) << 3,
            Insn::Bx { rm } => 0x4700 | any(rm) << 3,
            Insn::Blx { rm } => 0x4780 | any(rm) << 3,
            Insn::LdrLiteral { rt, words } => 0x4800 | low(rt) << 8 | u16::from(words),
            Insn::MemReg { op, rt, rn, rm } => {
                0x5000 | (op as u16) << 9 | low(rm) << 6 | low(rn) << 3 | low(rt)
            }
            Insn::MemImm { op, rt, rn, units } => {
                mem_imm(op) | field(units, 5) << 6 | low(rn) << 3 | low(rt)
            }
            Insn::MemSp { load, rt, words } => {
                0x9000 | u16::from(load) << 11 | low(rt) << 8 | u16::from(words)
            }
            Insn::Adr { rd, words } => 0xa000 | low(rd) << 8 | u16::from(words),
            Insn::AddRdSp { rd, words } => 0xa800 | low(rd) << 8 | u16::from(words),
            Insn::AdjustSp { op, words } => 0xb000 | (op as u16) << 7 | field(words, 7),
            Insn::Extend { op, rd, rm } => 0xb200 | (op as u16) << 6 | low(rm) << 3 | low(rd),
            Insn::Reverse { op, rd, rm } => 0xba00 | (op as u16) << 6 | low(rm) << 3 | low(rd),
            Insn::Push { list, lr } => 0xb400 | u16::from(lr) << 8 | u16::from(list),
            Insn::Pop { list, pc } => 0xbc00 | u16::from(pc) << 8 | u16::from(list),
            Insn::Cps { disable } => 0xb662 | u16::from(disable) << 4,
            Insn::Bkpt { imm8 } => 0xbe00 | u16::from(imm8),
            Insn::Hint { op } => 0xbf00 | (op as u16) << 4,
            Insn::Stm { rn, list } => 0xc000 | low(rn) << 8 | u16::from(list),
            Insn::Ldm { rn, list } => 0xc800 | low(rn) << 8 | u16::from(list),
            Insn::BCond { cond, offset } => 0xd000 | (cond as u16) << 8 | halfwords(offset, 8),
            Insn::B { offset } => 0xe000 | halfwords(offset, 11),
            Insn::Udf { imm8 } => 0xde00 | u16::from(imm8),
            Insn::It { cond, mask } => {
                assert!(mask != 0, "a mask of zero is a hint");
                0xbf00 | field(cond, 4) << 4 | field(mask, 4)
            }
            Insn::Cbz { nonzero, rn, offset } => {
                let units = u16::try_from(offset / 2).expect("it only goes forward");
                assert!(offset % 2 == 0 && units < 64, "CBZ cannot reach {offset} bytes");
                let op = u16::from(nonzero) << 11;
                0xb100 | op | units >> 5 << 9 | (units & 31) << 3 | low(rn)
            }
            Insn::CpsFault { disable, interrupts } => {
                0xb661 | u16::from(disable) << 4 | u16::from(interrupts) << 1
            }
            Insn::Svc { imm8 } => 0xdf00 | u16::from(imm8),
            Insn::Bl { .. }
            | Insn::UdfW { .. }
            | Insn::Msr { .. }
            | Insn::Mrs { .. }
            | Insn::BCondWide { .. }
            | Insn::BWide { .. }
            | Insn::Wide(_)
            | Insn::Barrier { .. } => unreachable!("a 32-bit encoding"),
        }
    }
}

fn low(r: Reg) -> u16 {
    assert!(r.is_low(), "r{} does not fit a three-bit field", r.0);
    u16::from(r.0)
}

fn any(r: Reg) -> u16 {
    u16::from(r.0)
}

/// A destination split into bit 7 and bits 2:0, as the high-register instructions do.
fn split(r: Reg) -> u16 {
    any(r) >> 3 << 7 | any(r) & 7
}

fn field(value: u8, bits: u32) -> u16 {
    assert!(u32::from(value) < 1 << bits, "{value} does not fit {bits} bits");
    u16::from(value)
}

/// A signed byte offset as a field of `bits` bits counting halfwords.
fn halfwords(offset: i32, bits: u32) -> u16 {
    let reach = 1 << bits;
    assert!(
        offset % 2 == 0 && (-reach..reach).contains(&offset),
        "a branch of {offset} bytes does not fit {bits} bits"
    );
    (offset >> 1) as u16 & ((1 << bits) - 1)
}

fn mem_imm(op: LoadStore) -> u16 {
    match op {
        LoadStore::Str => 0x6000,
        LoadStore::Ldr => 0x6800,
        LoadStore::Strb => 0x7000,
        LoadStore::Ldrb => 0x7800,
        LoadStore::Strh => 0x8000,
        LoadStore::Ldrh => 0x8800,
        LoadStore::Ldrsb | LoadStore::Ldrsh => panic!("{op:?} has no immediate form"),
    }
}

/// B, encoding T3: offset = S:J2:J1:imm6:imm11:0.
fn b_cond_wide(cond: Cond, offset: i32) -> Vec<u16> {
    let reach = 1 << 20;
    let fits = offset % 2 == 0 && (-reach..reach).contains(&offset);
    assert!(fits, "a conditional branch cannot reach {offset} bytes");
    let bit = |n: u32| (offset >> n & 1) as u16;
    let imm6 = (offset >> 12 & 0x3f) as u16;
    let imm11 = (offset >> 1 & 0x7ff) as u16;
    let first = 0xf000 | bit(20) << 10 | (cond as u16) << 6 | imm6;
    vec![first, 0x8000 | bit(18) << 13 | bit(19) << 11 | imm11]
}

/// BL, encoding T1: I1 = NOT(J1 EOR S), I2 = NOT(J2 EOR S), offset = S:I1:I2:imm10:imm11:0.
fn bl(offset: i32) -> Vec<u16> {
    assert!(
        offset % 2 == 0 && (-(1 << 24)..1 << 24).contains(&offset),
        "BL cannot reach {offset} bytes"
    );
    let bit = |n: u32| (offset >> n & 1) as u16;
    let (s, j1, j2) = (bit(24), bit(23) ^ bit(24) ^ 1, bit(22) ^ bit(24) ^ 1);
    let imm10 = (offset >> 12 & 0x3ff) as u16;
    let imm11 = (offset >> 1 & 0x7ff) as u16;
    vec![0xf000 | s << 10 | imm10, 0xd000 | j1 << 13 | j2 << 11 | imm11]
}
