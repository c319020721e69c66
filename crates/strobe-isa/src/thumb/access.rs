//! What an instruction transfers between registers and memory (DDI 0403, A6.3 and A7.7).

use super::insn::{FpReg, Insn, NO_REG, Reg};
use super::op::{Direction, Index, Width};
use super::registers::{PC, Registers, SP};

/// Loads and stores of one instruction. Transfers go upwards from an address, one word each where
/// there are several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// Registers are stored and not loaded.
    pub is_store: bool,
    /// Where the first transfer is.
    pub address: Address,
    /// The width of each transfer.
    pub width: Width,
    /// What is transferred.
    pub transfers: Transfers,
    /// The base register, if it is changed, and by how much.
    pub writeback: Option<(Reg, i32)>,
    /// LDREX or STREX: it is the monitor's.
    pub is_exclusive: bool,
}

/// Where an access is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Address {
    /// A register, before the instruction, and an offset.
    Offset {
        /// The base.
        base: Reg,
        /// Bytes.
        offset: i32,
    },
    /// A register and another one, shifted left.
    Index {
        /// The base.
        base: Reg,
        /// The index.
        index: Reg,
        /// What the index is shifted by.
        by: u8,
    },
    /// A literal, relative to the program counter.
    Literal(u32),
}

/// Registers that are transferred, in the order of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transfers {
    /// One; 15 is the program counter.
    One(Reg),
    /// Two, in this order.
    Two(Reg, Reg),
    /// A list, the lowest register at the lowest address.
    List(Registers),
    /// Registers of the floating-point unit, and the words that they are.
    Float {
        /// The first.
        first: FpReg,
        /// Words.
        words: u8,
    },
}

impl Transfers {
    /// The core registers.
    pub fn registers(self) -> Registers {
        match self {
            Transfers::One(t) => bit(t),
            Transfers::Two(t, t2) => bit(t).with(bit(t2)),
            Transfers::List(list) => list,
            Transfers::Float { .. } => Registers::NONE,
        }
    }

    /// How many transfers there are.
    pub fn count(self) -> u32 {
        match self {
            Transfers::One(_) => 1,
            Transfers::Two(..) => 2,
            Transfers::List(list) => list.count(),
            Transfers::Float { words, .. } => words.into(),
        }
    }

    /// The core registers with their distances from the first transfer, in bytes.
    pub fn places(self) -> impl Iterator<Item = (Reg, u32)> {
        let (two, list) = match self {
            Transfers::Two(t, t2) => ([Some((t, 0)), Some((t2, 4))], Registers::NONE),
            other => ([None; 2], other.registers()),
        };
        let list = (0..).zip(list.iter()).map(|(at, register)| (register, 4 * at));
        two.into_iter().flatten().chain(list)
    }
}

/// A register of a list; 15 is the program counter there, and not none.
fn bit(register: Reg) -> Registers {
    Registers(1 << (register & 15))
}

impl Access {
    fn one(is_store: bool, width: Width, t: Reg, address: Address) -> Self {
        let transfers = Transfers::One(t);
        Access { is_store, address, width, transfers, writeback: None, is_exclusive: false }
    }

    fn load(width: Width, t: Reg, address: Address) -> Option<Self> {
        Some(Access::one(false, width, t, address))
    }

    fn store(width: Width, t: Reg, address: Address) -> Option<Self> {
        Some(Access::one(true, width, t, address))
    }

    fn indexed(self, n: Reg, index: Index, imm: i16) -> Option<Self> {
        let imm = i32::from(imm);
        let offset = if index == Index::Post { 0 } else { imm };
        let writeback = (index != Index::Offset).then_some((n, imm));
        Some(Access { address: Address::Offset { base: n, offset }, writeback, ..self })
    }

    fn several(self, transfers: Transfers) -> Self {
        Access { transfers, width: Width::Word, ..self }
    }

    /// A list from its base on, upwards or below it.
    fn list(is_store: bool, n: Reg, transfers: Transfers, direction: Direction) -> Self {
        let bytes = 4 * transfers.count() as i32;
        let offset = if direction == Direction::Up { 0 } else { -bytes };
        let address = Address::Offset { base: n, offset };
        let writeback = Some((n, if direction == Direction::Up { bytes } else { -bytes }));
        Access { writeback, ..Access::one(is_store, Width::Word, NO_REG, address) }
            .several(transfers)
    }

    fn written_back(self, writeback: bool) -> Option<Self> {
        Some(Access { writeback: self.writeback.filter(|_| writeback), ..self })
    }
}

fn offset(base: Reg, offset: impl Into<i32>) -> Address {
    Address::Offset { base, offset: offset.into() }
}

fn index(base: Reg, index: Reg) -> Address {
    Address::Index { base, index, by: 0 }
}

impl Insn {
    /// What it loads or stores. Table branches, which load an offset, are [`Flow`]'s.
    ///
    /// [`Flow`]: super::flow::Flow
    pub fn access(self) -> Option<Access> {
        narrow(self).or_else(|| wide(self)).or_else(|| float(self))
    }

    /// The register that gets a literal of one word (LDR, literal), and where that is.
    pub fn literal(self) -> Option<(Reg, u32)> {
        match self.access()? {
            Access {
                address: Address::Literal(at),
                width: Width::Word,
                transfers: Transfers::One(register),
                ..
            } => Some((register, at)),
            _ => None,
        }
    }
}

/// Those of 16-bit encodings.
fn narrow(insn: Insn) -> Option<Access> {
    use Insn::*;
    let list = |bits: u16| Transfers::List(Registers(bits));
    match insn {
        LdrLit { t, address } => Access::load(Width::Word, t, Address::Literal(address)),
        LdrReg { t, n, m } => Access::load(Width::Word, t, index(n, m)),
        LdrhReg { t, n, m } => Access::load(Width::Half, t, index(n, m)),
        LdrbReg { t, n, m } => Access::load(Width::Byte, t, index(n, m)),
        LdrshReg { t, n, m } => Access::load(Width::SignedHalf, t, index(n, m)),
        LdrsbReg { t, n, m } => Access::load(Width::SignedByte, t, index(n, m)),
        StrReg { t, n, m } => Access::store(Width::Word, t, index(n, m)),
        StrhReg { t, n, m } => Access::store(Width::Half, t, index(n, m)),
        StrbReg { t, n, m } => Access::store(Width::Byte, t, index(n, m)),
        LdrImm { t, n, imm } => Access::load(Width::Word, t, offset(n, imm)),
        LdrhImm { t, n, imm } => Access::load(Width::Half, t, offset(n, imm)),
        LdrbImm { t, n, imm } => Access::load(Width::Byte, t, offset(n, imm)),
        StrImm { t, n, imm } => Access::store(Width::Word, t, offset(n, imm)),
        StrhImm { t, n, imm } => Access::store(Width::Half, t, offset(n, imm)),
        StrbImm { t, n, imm } => Access::store(Width::Byte, t, offset(n, imm)),
        // The base is written back unless it is loaded.
        Ldm { n, list: bits } => Access::list(false, n, list(bits.into()), Direction::Up)
            .written_back(bits >> n & 1 == 0),
        Stm { n, list: bits } => Some(Access::list(true, n, list(bits.into()), Direction::Up)),
        Push { list: bits } => Some(Access::list(true, SP, list(bits), Direction::Down)),
        Pop { list: bits } => Some(Access::list(false, SP, list(bits.into()), Direction::Up)),
        PopPc { list: bits } => {
            Some(Access::list(false, SP, list(u16::from(bits) | 1 << PC), Direction::Up))
        }
        _ => None,
    }
}

/// Those of 32-bit encodings.
fn wide(insn: Insn) -> Option<Access> {
    use Insn::*;
    let list = |bits: u16| Transfers::List(Registers(bits));
    let none = Address::Literal(0);
    match insn {
        Load { width, t, n, index, imm } => Access::load(width, t, none)?.indexed(n, index, imm),
        LoadReg { width, t, n, m, by } => {
            Access::load(width, t, Address::Index { base: n, index: m, by })
        }
        LoadAt { width, t, address } => Access::load(width, t, Address::Literal(address)),
        Store { width, t, n, index, imm } => Access::store(width, t, none)?.indexed(n, index, imm),
        StoreReg { width, t, n, m, by } => {
            Access::store(width, t, Address::Index { base: n, index: m, by })
        }
        LoadDual { t, t2, n, index, imm } => {
            let access = Access::load(Width::Word, t, none)?.several(Transfers::Two(t, t2));
            access.indexed(n, index, imm)
        }
        LoadDualAt { t, t2, address } => {
            let access = Access::load(Width::Word, t, Address::Literal(address))?;
            Some(access.several(Transfers::Two(t, t2)))
        }
        StoreDual { t, t2, n, index, imm } => {
            let access = Access::store(Width::Word, t, none)?.several(Transfers::Two(t, t2));
            access.indexed(n, index, imm)
        }
        LoadExclusive { size, t, n, imm } => {
            let access = Access::load(size.into(), t, offset(n, imm))?;
            Some(Access { is_exclusive: true, ..access })
        }
        StoreExclusive { size, t, n, imm, .. } => {
            let access = Access::store(size.into(), t, offset(n, imm))?;
            Some(Access { is_exclusive: true, ..access })
        }
        LoadMultiple { direction, writeback, n, list: bits } => {
            Access::list(false, n, list(bits), direction).written_back(writeback)
        }
        StoreMultiple { direction, writeback, n, list: bits } => {
            Access::list(true, n, list(bits), direction).written_back(writeback)
        }
        LoadMultiplePc { direction, writeback, n, list: bits } => {
            Access::list(false, n, list(bits | 1 << PC), direction).written_back(writeback)
        }
        LoadPc { n, index, imm } => Access::load(Width::Word, PC, none)?.indexed(n, index, imm),
        LoadPcReg { n, m, by } => {
            Access::load(Width::Word, PC, Address::Index { base: n, index: m, by })
        }
        LoadPcAt { address } => Access::load(Width::Word, PC, Address::Literal(address)),
        _ => None,
    }
}

/// Those of the floating-point unit.
fn float(insn: Insn) -> Option<Access> {
    use Insn::*;
    let one = |is_store, first, words, address| {
        let access = Access::one(is_store, Width::Word, NO_REG, address);
        Some(access.several(Transfers::Float { first, words }))
    };
    match insn {
        FpLoad { d, count, n, imm } => one(false, d, count, offset(n, imm)),
        FpLoadAt { d, count, address } => one(false, d, count, Address::Literal(address)),
        FpStore { d, count, n, imm } => one(true, d, count, offset(n, imm)),
        FpLoadMultiple { direction, writeback, n, d, words, .. } => {
            let transfers = Transfers::Float { first: d, words };
            Access::list(false, n, transfers, direction).written_back(writeback)
        }
        FpStoreMultiple { direction, writeback, n, d, words, .. } => {
            let transfers = Transfers::Float { first: d, words };
            Access::list(true, n, transfers, direction).written_back(writeback)
        }
        _ => None,
    }
}
