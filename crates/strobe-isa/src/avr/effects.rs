//! Which registers an instruction uses and changes, what it transfers, and where control goes.

use super::insn::{Insn, Lean, Special};

/// A set of the 32 general registers: bit `n` is `r<n>`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Registers(pub u32);

impl Registers {
    /// None.
    pub const NONE: Registers = Registers(0);

    /// One register.
    pub fn one(register: u8) -> Self {
        Registers(1 << (register & 31))
    }

    /// A register and the next one.
    pub fn pair(low: u8) -> Self {
        Registers::one(low).with(Registers::one(low.wrapping_add(1)))
    }

    /// These and others.
    #[must_use]
    pub fn with(self, others: Registers) -> Self {
        Registers(self.0 | others.0)
    }

    /// Whether a register is one of them.
    pub fn contains(self, register: u8) -> bool {
        self.0 >> (register & 31) & 1 == 1
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The registers, from the lowest on.
    pub fn iter(self) -> impl Iterator<Item = u8> {
        (0..32).filter(move |register| self.contains(*register))
    }
}

/// The pointer Z, by its low register.
const Z: u8 = 30;

/// Where control goes after an instruction. Interrupts aside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    /// To the next instruction.
    Next,
    /// To the next one or there: branches and skips.
    Branch(u32),
    /// There.
    Jump(u32),
    /// There, and back behind the instruction.
    Call(u32),
    /// To where Z leads.
    JumpZ,
    /// To where Z leads, and back behind the instruction.
    CallZ,
    /// Back (RET, RETI).
    Return,
    /// Nowhere: it is none of this core's.
    Stop,
}

/// A place in the data space, or in program memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A data address (LDS, STS, IN, OUT, SBI and its kin).
    Data(u16),
    /// A pointer, by its low register, and an offset from its value before the instruction.
    Pointer {
        /// X, Y or Z: 26, 28 or 30.
        low: u8,
        /// Bytes.
        offset: i16,
        /// What the pointer changes by.
        step: i8,
    },
    /// The stack.
    Stack,
    /// Program memory, by Z.
    Program {
        /// What Z changes by.
        step: i8,
    },
}

/// A load or store of one byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// Where.
    pub place: Place,
    /// The register that is loaded.
    pub loads: Option<u8>,
    /// The register that is stored. SBI and CBI load and store without one.
    pub stores: Option<u8>,
}

/// The data address of an I/O address.
fn data(io: u8) -> Place {
    Place::Data(u16::from(io) + 0x20)
}

impl Insn {
    /// Where control goes after it.
    pub fn flow(self) -> Flow {
        use Insn::*;
        match self {
            Jmp { target } => Flow::Jump(target),
            Call { target } => Flow::Call(target),
            Ijmp | Eijmp => Flow::JumpZ,
            Icall | Eicall => Flow::CallZ,
            Ret | Reti => Flow::Return,
            Invalid { .. } => Flow::Stop,
            other => other.target().map_or(Flow::Next, Flow::Branch),
        }
    }

    /// What it loads or stores, registers of the core (SREG, SP) aside.
    pub fn access(self) -> Option<Access> {
        use Insn::*;
        let load = |d, place| Some(Access { place, loads: Some(d), stores: None });
        let store = |r, place| Some(Access { place, loads: None, stores: Some(r) });
        let by = |low, offset, step| Place::Pointer { low, offset, step };
        match self {
            Ldd { d, p, q } => load(d, by(p, q.into(), 0)),
            LdInc { d, p } => load(d, by(p, 0, 1)),
            LdDec { d, p } => load(d, by(p, -1, -1)),
            Std { p, q, r } => store(r, by(p, q.into(), 0)),
            StInc { p, r } => store(r, by(p, 0, 1)),
            StDec { p, r } => store(r, by(p, -1, -1)),
            Lds { d, address } => load(d, Place::Data(address)),
            Sts { address, r } => store(r, Place::Data(address)),
            Lpm { d, increment } | Elpm { d, increment } => {
                load(d, Place::Program { step: increment.into() })
            }
            Push { r } => store(r, Place::Stack),
            Pop { d } => load(d, Place::Stack),
            In { d, a } => load(d, data(a)),
            Out { a, r } => store(r, data(a)),
            Sbi { a, .. } | Cbi { a, .. } | Sbic { a, .. } | Sbis { a, .. } => {
                Some(Access { place: data(a), loads: None, stores: None })
            }
            _ => None,
        }
    }

    /// The registers whose values it uses.
    pub fn reads(self) -> Registers {
        let operands = operands(self);
        let Some(Access { place, stores, .. }) = self.access() else { return operands };
        let stored = stores.map_or(Registers::NONE, Registers::one);
        let pointer = match place {
            Place::Pointer { low, .. } => Registers::pair(low),
            Place::Program { .. } => Registers::pair(Z),
            Place::Data(_) | Place::Stack => Registers::NONE,
        };
        operands.with(stored).with(pointer)
    }

    /// The registers that it changes.
    pub fn writes(self) -> Registers {
        let results = results(self);
        let Some(Access { place, loads, .. }) = self.access() else { return results };
        let loaded = loads.map_or(Registers::NONE, Registers::one);
        let moved = match place {
            Place::Pointer { low, step, .. } if step != 0 => Registers::pair(low),
            Place::Program { step } if step != 0 => Registers::pair(Z),
            _ => Registers::NONE,
        };
        results.with(loaded).with(moved)
    }

    /// What it writes to a register of the core.
    pub fn writes_special(self) -> Option<Special> {
        match self {
            Insn::Set { to, .. } => Some(to),
            Insn::SetSreg { .. } => Some(Special::Sreg),
            _ => None,
        }
    }
}

impl Insn {
    /// Whether it changes flags of SREG other than I and T.
    pub fn sets_flags(self) -> bool {
        use Insn::*;
        match self {
            Mul { .. } | Muls { .. } | Mulsu { .. } | Fmul { .. } | Fmuls { .. } => true,
            Fmulsu { .. } | Cp { .. } | Cpc { .. } | Sub { .. } | Sbc { .. } | Add { .. } => true,
            Adc { .. } | And { .. } | Eor { .. } | Or { .. } | Cpi { .. } | Sbci { .. } => true,
            Subi { .. } | Ori { .. } | Andi { .. } | Com { .. } | Neg { .. } | Inc { .. } => true,
            Dec { .. } | Asr { .. } | Lsr { .. } | Ror { .. } | Adiw { .. } | Sbiw { .. } => true,
            Bset { s } | Bclr { s } => s < 6,
            SetSreg { .. } | Lean(_) => true,
            _ => false,
        }
    }

    /// Whether its result depends on flags.
    pub fn reads_carry(self) -> bool {
        use Insn::*;
        match self {
            Cpc { .. } | Sbc { .. } | Adc { .. } | Sbci { .. } | Ror { .. } => true,
            Lean(lean) => matches!(
                lean,
                super::insn::Lean::Cpc { .. }
                    | super::insn::Lean::Sbc { .. }
                    | super::insn::Lean::Adc { .. }
                    | super::insn::Lean::Sbci { .. }
                    | super::insn::Lean::Ror { .. }
            ),
            _ => false,
        }
    }
}

/// Operands that are neither a pointer nor stored.
fn operands(insn: Insn) -> Registers {
    use Insn::*;
    let two = |d, r| Registers::one(d).with(Registers::one(r));
    match insn {
        Movw { r, .. } => Registers::pair(r),
        Mov { r, .. } => Registers::one(r),
        Mul { d, r } | Muls { d, r } | Mulsu { d, r } | Fmul { d, r } => two(d, r),
        Fmuls { d, r } | Fmulsu { d, r } => two(d, r),
        Cp { d, r } | Cpc { d, r } | Sub { d, r } | Sbc { d, r } | Add { d, r } => two(d, r),
        Adc { d, r } | And { d, r } | Eor { d, r } | Or { d, r } | Cpse { d, r, .. } => two(d, r),
        Cpi { d, .. } | Sbci { d, .. } | Subi { d, .. } | Ori { d, .. } => Registers::one(d),
        Andi { d, .. } | Com { d } | Neg { d } | Swap { d } | Inc { d } => Registers::one(d),
        Dec { d } | Asr { d } | Lsr { d } | Ror { d } => Registers::one(d),
        Adiw { d, .. } | Sbiw { d, .. } => Registers::pair(d),
        Bst { d, .. } | Bld { d, .. } => Registers::one(d),
        Set { r, .. } | SetSreg { r } | Sbrc { r, .. } | Sbrs { r, .. } => Registers::one(r),
        Ijmp | Eijmp | Icall | Eicall => Registers::pair(Z),
        // The word of r1:r0 goes to the page buffer.
        Spm { .. } => Registers::pair(Z).with(Registers::pair(0)),
        Lean(lean) => lean_operands(lean),
        _ => Registers::NONE,
    }
}

fn lean_operands(lean: Lean) -> Registers {
    use Lean::*;
    match lean {
        Add { d, r } | Adc { d, r } | Sub { d, r } | Sbc { d, r } | Cp { d, r } | Cpc { d, r } => {
            Registers::one(d).with(Registers::one(r))
        }
        And { d, r } | Or { d, r } | Eor { d, r } => Registers::one(d).with(Registers::one(r)),
        Subi { d, .. } | Sbci { d, .. } | Cpi { d, .. } | Andi { d, .. } | Ori { d, .. } => {
            Registers::one(d)
        }
        Inc { d } | Dec { d } | Lsr { d } | Ror { d } => Registers::one(d),
    }
}

/// Results that are not loaded.
fn results(insn: Insn) -> Registers {
    use Insn::*;
    match insn {
        Movw { d, .. } | Adiw { d, .. } | Sbiw { d, .. } => Registers::pair(d),
        Mul { .. } | Muls { .. } | Mulsu { .. } | Fmul { .. } | Fmuls { .. } | Fmulsu { .. } => {
            Registers::pair(0)
        }
        Sub { d, .. } | Sbc { d, .. } | Add { d, .. } | Adc { d, .. } => Registers::one(d),
        And { d, .. } | Eor { d, .. } | Or { d, .. } | Mov { d, .. } => Registers::one(d),
        Sbci { d, .. } | Subi { d, .. } | Ori { d, .. } | Andi { d, .. } => Registers::one(d),
        Ldi { d, .. } | Com { d } | Neg { d } | Swap { d } | Inc { d } => Registers::one(d),
        Dec { d } | Asr { d } | Lsr { d } | Ror { d } => Registers::one(d),
        Bld { d, .. } | Get { d, .. } => Registers::one(d),
        Spm { increment: true } => Registers::pair(Z),
        Lean(lean) => lean_results(lean),
        _ => Registers::NONE,
    }
}

fn lean_results(lean: Lean) -> Registers {
    match lean {
        Lean::Cp { .. } | Lean::Cpc { .. } | Lean::Cpi { .. } => Registers::NONE,
        Lean::Add { d, .. }
        | Lean::Adc { d, .. }
        | Lean::Sub { d, .. }
        | Lean::Sbc { d, .. }
        | Lean::Subi { d, .. }
        | Lean::Sbci { d, .. }
        | Lean::And { d, .. }
        | Lean::Or { d, .. }
        | Lean::Eor { d, .. }
        | Lean::Andi { d, .. }
        | Lean::Ori { d, .. }
        | Lean::Inc { d }
        | Lean::Dec { d }
        | Lean::Lsr { d }
        | Lean::Ror { d } => Registers::one(d),
    }
}
