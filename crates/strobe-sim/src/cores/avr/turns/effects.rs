//! The effects of each instruction of a turn on values in the next turns.

use super::super::cpu::{C, I, N, S, T, V, Z};
use super::cells::{Cell, Cells, Disproof, Flag};
use super::chain::Side;
use super::record::{ByteAccess, Place};
use super::sums::{ADC, ADD, DEC, INC, SBC, SUB};
use super::wide::Wide;
use crate::kernel::device::Reading;
use strobe_isa::avr::insn::{Insn, Special};

/// Flags that logic sets.
const LOGIC: u8 = S | V | N | Z;

/// One instruction in turn 0.
#[derive(Clone, Copy)]
pub(super) struct Executed<'a> {
    pub(super) insn: Insn,
    /// The registers and flags before it.
    pub(super) r: &'a [u8; 32],
    pub(super) sreg: u8,
    /// The registers after it.
    pub(super) after: &'a [u8; 32],
    pub(super) accesses: &'a [ByteAccess],
    /// Cycles of a turn.
    pub(super) turn: u64,
}

impl Executed<'_> {
    pub(super) fn value(&self, at: u8) -> u8 {
        self.r[usize::from(at & 31)]
    }

    fn result(&self, at: u8) -> u8 {
        self.after[usize::from(at & 31)]
    }
}

impl Cells<'_> {
    /// Takes a step further to the next instruction.
    pub(super) fn apply(&mut self, x: &Executed) -> Result<(), Disproof> {
        use Insn::*;
        match x.insn {
            Nop | Break | Jmp { .. } => {}
            Mov { d, r } => self.copy(d, r),
            Movw { d, r } => {
                self.copy(d & 30, r & 30);
                self.copy(d & 30 | 1, r & 30 | 1);
            }
            Ldi { d, .. } => self.set_register(d, Cell::Fixed),
            Add { d, r } => self.sum(x, ADD, Some(d), (d, r))?,
            Adc { d, r } => self.sum(x, ADC, Some(d), (d, r))?,
            Sub { d, r } => self.sum(x, SUB, Some(d), (d, r))?,
            Sbc { d, r } => self.sum(x, SBC, Some(d), (d, r))?,
            Cp { d, r } => self.sum(x, SUB, None, (d, r))?,
            Cpc { d, r } => self.sum(x, SBC, None, (d, r))?,
            Cpi { d, k } => self.sum_with(x, SUB, None, (d, k))?,
            Subi { d, k } => self.sum_with(x, SUB, Some(d), (d, k))?,
            Sbci { d, k } => self.sum_with(x, SBC, Some(d), (d, k))?,
            Inc { d } => self.sum_with(x, INC, Some(d), (d, 1))?,
            Dec { d } => self.sum_with(x, DEC, Some(d), (d, 1))?,
            Neg { d } => {
                let b = self.side(x, d);
                self.combine(x, SUB, Some(d), (Side::fixed(0), b))?;
            }
            Adiw { d, k } => self.sum_of_pair(x, false, (d, k))?,
            Sbiw { d, k } => self.sum_of_pair(x, true, (d, k))?,
            And { d, r } | Or { d, r } | Eor { d, r } => self.logic(x, d, r),
            Andi { d, k } => self.mask(x, d, k),
            Ori { d, k } => self.mask(x, d, !k),
            Com { d } => self.complement(x, d),
            Swap { d } => {
                let bits = self.bits(d);
                self.set_bits(d, bits.rotate_left(4));
            }
            Lsr { d } => self.shift(d, 0),
            Asr { d } => {
                let sign = self.bits(d) & 0x80;
                self.shift(d, sign);
            }
            Ror { d } => {
                let carry = if self.keeps_flag(0).is_ok() { 0 } else { 0x80 };
                self.shift(d, carry);
            }
            Mul { d, r }
            | Muls { d, r }
            | Mulsu { d, r }
            | Fmul { d, r }
            | Fmuls { d, r }
            | Fmulsu { d, r } => self.product(d, r),
            Bset { s } | Bclr { s } => self.set_flags(1 << (s & 7), Flag::Fixed),
            Sei | Cli => self.set_flags(I, Flag::Fixed),
            Bst { d, b } => {
                let varies = self.bits(d) >> (b & 7) & 1 != 0;
                self.set_flags(T, if varies { Flag::Unknown } else { Flag::Fixed });
            }
            Bld { d, b } => {
                let mask = 1 << (b & 7);
                let bit = if self.keeps_flag(6).is_ok() { 0 } else { mask };
                let bits = self.bits(d);
                self.set_bits(d, bits & !mask | bit);
            }
            Brbs { s, .. } | Brbc { s, .. } => self.keeps_flag(s)?,
            Sbrc { r, b, .. } | Sbrs { r, b, .. } => {
                let cell = self.register(r);
                self.keeps_bit(cell, b)?;
            }
            Cpse { d, r, .. } => {
                let (a, b) = (self.side(x, d), self.side(x, r));
                let chain = self.begin(true, a, b, 0);
                self.chains[usize::from(chain)].keeps(1, &self.wides)?;
            }
            _ => self.reach(x)?,
        }
        Ok(())
    }

    /// Instructions with accesses, and those of the rest that repeat.
    fn reach(&mut self, x: &Executed) -> Result<(), Disproof> {
        use Insn::*;
        match x.insn {
            Ldd { d, p, .. } => {
                self.keeps_pair(p)?;
                self.load_into(x, d)
            }
            LdInc { d, p } | LdDec { d, p } => {
                self.keeps_pair(p)?;
                self.set_pair(p, Cell::Fixed);
                self.load_into(x, d)
            }
            Lds { d, .. } | Pop { d } | In { d, .. } => self.load_into(x, d),
            Std { p, r, .. } | StInc { p, r } | StDec { p, r } => {
                self.keeps_pair(p)?;
                let cell = self.register(r);
                if !matches!(x.insn, Std { .. }) {
                    self.set_pair(p, Cell::Fixed);
                }
                self.store_all(x, cell);
                Ok(())
            }
            Sts { r, .. } | Push { r } | Out { r, .. } => {
                let cell = self.register(r);
                self.store_all(x, cell);
                Ok(())
            }
            Call { .. } => {
                self.store_all(x, Cell::Fixed);
                Ok(())
            }
            Icall => {
                self.keeps_pair(30)?;
                self.store_all(x, Cell::Fixed);
                Ok(())
            }
            Ijmp => self.keeps_pair(30),
            Ret => x.accesses.iter().try_for_each(|access| {
                let cell = self.read(access, x.turn)?;
                self.keeps(cell)
            }),
            Sbic { b, .. } | Sbis { b, .. } => x.accesses.iter().try_for_each(|access| {
                let cell = self.read(access, x.turn)?;
                self.keeps_bit(cell, b)
            }),
            Lpm { d, increment } => {
                self.keeps_pair(30)?;
                if increment {
                    self.set_pair(30, Cell::Fixed);
                }
                self.set_register(d, Cell::Fixed);
                Ok(())
            }
            Get { d, from: Special::Sreg } => {
                let bits = self.varying_flags();
                self.set_bits(d, bits);
                Ok(())
            }
            Get { d, .. } => {
                self.set_register(d, Cell::Fixed);
                Ok(())
            }
            Set { to: Special::Spl | Special::Sph, r } => {
                let cell = self.register(r);
                self.keeps(cell)
            }
            SetSreg { r } => {
                let bits = self.bits(r);
                if bits & I != 0 {
                    return Err(self.fewer());
                }
                self.set_flags(!bits, Flag::Fixed);
                self.set_flags(bits, Flag::Unknown);
                Ok(())
            }
            _ => Err(Disproof::Other),
        }
    }

    fn copy(&mut self, d: u8, r: u8) {
        let cell = self.register(r);
        self.set_register(d, cell);
    }

    fn bits(&mut self, at: u8) -> u8 {
        let cell = self.register(at);
        self.varying(cell)
    }

    fn set_bits(&mut self, at: u8, bits: u8) {
        self.set_register(at, if bits == 0 { Cell::Fixed } else { Cell::Bits(bits) });
    }

    fn set_pair(&mut self, low: u8, cell: Cell) {
        self.set_register(low & 30, cell);
        self.set_register(low & 30 | 1, cell);
    }

    fn keeps(&self, cell: Cell) -> Result<(), Disproof> {
        if self.varying(cell) == 0 { Ok(()) } else { Err(self.fewer()) }
    }

    fn keeps_pair(&mut self, low: u8) -> Result<(), Disproof> {
        for at in [low & 30, low & 30 | 1] {
            let cell = self.register(at);
            self.keeps(cell)?;
        }
        Ok(())
    }

    pub(super) fn side(&mut self, x: &Executed, at: u8) -> Side {
        Side { cell: self.register(at), value: x.value(at) }
    }

    fn logic(&mut self, x: &Executed, d: u8, r: u8) {
        let (a, b) = (self.bits(d), self.bits(r));
        let (left, right) = (x.value(d), x.value(r));
        let bits = match x.insn {
            // A bit that is 0, or 1, whatever the other is.
            Insn::And { .. } => (a | b) & (left | a) & (right | b),
            Insn::Or { .. } => (a | b) & (!left | a) & (!right | b),
            _ if d == r => 0,
            _ => a | b,
        };
        self.set_logic(x, d, bits);
    }

    fn mask(&mut self, x: &Executed, d: u8, mask: u8) {
        let bits = self.bits(d) & mask;
        self.set_logic(x, d, bits);
    }

    /// The result of logic, of which these bits may change.
    fn set_logic(&mut self, x: &Executed, d: u8, bits: u8) {
        self.set_bits(d, bits);
        self.set_flags(V, Flag::Fixed);
        let negative = if bits & 0x80 == 0 { Flag::Fixed } else { Flag::Unknown };
        self.set_flags(N | S, negative);
        let is_zero_known = bits == 0 || x.result(d) & !bits != 0;
        self.set_flags(Z, if is_zero_known { Flag::Fixed } else { Flag::Unknown });
    }

    fn complement(&mut self, x: &Executed, d: u8) {
        let cell = match self.register(d) {
            Cell::Byte { wide, at } => {
                let wide = self.wides[usize::from(wide)].negate().plus(-1);
                Cell::Byte { wide: self.number(wide), at }
            }
            cell => Cell::Bits(self.varying(cell)),
        };
        let bits = self.varying(cell);
        self.set_logic(x, d, bits);
        if bits != 0 {
            self.set_register(d, cell);
        }
        self.set_flags(C, Flag::Fixed);
    }

    /// A shift down, with a bit from above that may change if it is set.
    fn shift(&mut self, d: u8, above: u8) {
        let bits = self.bits(d);
        let carry = if bits & 1 == 0 { Flag::Fixed } else { Flag::Unknown };
        let bits = bits >> 1 | above;
        self.set_bits(d, bits);
        self.set_flags(C, carry);
        let others = if bits == 0 && carry == Flag::Fixed { Flag::Fixed } else { Flag::Unknown };
        self.set_flags(LOGIC, others);
    }

    fn product(&mut self, d: u8, r: u8) {
        let is_fixed = self.bits(d) | self.bits(r) == 0;
        self.set_pair(0, if is_fixed { Cell::Fixed } else { Cell::Bits(0xff) });
        self.set_flags(Z | C, if is_fixed { Flag::Fixed } else { Flag::Unknown });
    }

    fn load_into(&mut self, x: &Executed, d: u8) -> Result<(), Disproof> {
        let [access] = x.accesses else { return Err(Disproof::Other) };
        let cell = self.read(access, x.turn)?;
        self.set_register(d, cell);
        Ok(())
    }

    fn store_all(&mut self, x: &Executed, cell: Cell) {
        x.accesses.iter().for_each(|access| self.store(access.address, cell));
    }

    /// What a read gets.
    fn read(&mut self, access: &ByteAccess, turn: u64) -> Result<Cell, Disproof> {
        match access.place {
            Place::Ram => Ok(self.load(access.address)),
            Place::Unmodelled => Ok(Cell::Fixed),
            Place::Register(Reading::Steady { until }) => {
                self.ends_before(access.cycle, turn, until)?;
                Ok(Cell::Fixed)
            }
            Place::Register(Reading::Counting { period, next, down, until }) => {
                self.ends_before(access.cycle, turn, until)?;
                let wide = self.count(access, turn, (period.max(1), next), down);
                Ok(Cell::Byte { wide: self.number(wide), at: 0 })
            }
            Place::Register(Reading::Unknown) | Place::Other => Err(Disproof::Other),
        }
    }

    /// Shows that a read in the last turn comes before a cycle.
    fn ends_before(&self, cycle: u64, turn: u64, until: u64) -> Result<(), Disproof> {
        let turns = until.saturating_sub(cycle.saturating_add(1)) / turn.max(1);
        if turns >= self.last { Ok(()) } else { Err(Disproof::Shorter(turns)) }
    }

    /// What a counter is read as.
    fn count(
        &self,
        access: &ByteAccess,
        turn: u64,
        (period, next): (u64, u64),
        down: bool,
    ) -> Wide {
        let first = i64::from(access.value);
        if turn.is_multiple_of(period) {
            let step = (turn / period) as i64;
            return Wide::linear(first, if down { -step } else { step }, self.last);
        }
        let end = access.cycle + turn * self.last;
        let ticks = if end < next { 0 } else { 1 + (end - next) / period } as i64;
        let (low, high) = if down { (first - ticks, first) } else { (first, first + ticks) };
        Wide::between(first, low, high, self.last)
    }
}
