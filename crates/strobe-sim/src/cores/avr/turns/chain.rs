//! Sums and differences of numbers of several bytes, as chains of instructions make them: the first
//! without a carry, the others with that of the one before.

use super::super::cpu::{C, N, S, V, Z};
use super::cells::{Address, Cell, Cells, Disproof};
use super::wide::{Shorter, Wide};

/// The longest number, in bytes.
const MAX_BYTES: u32 = 5;

/// One side of a chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Operand {
    value: Wide,
    /// The number whose bytes it has been so far, and which of them was the first.
    source: Option<(u16, u8)>,
}

/// A sum or difference of so many bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Chain {
    subtracts: bool,
    a: Operand,
    b: Operand,
    carry: i64,
    bytes: u32,
    /// One instruction has made all bytes, and Z is that of all.
    pub(super) is_word: bool,
    pub(super) result: u16,
}

/// A byte on one side of a chain, with its value in turn 0.
#[derive(Debug, Clone, Copy)]
pub(super) struct Side {
    pub(super) cell: Cell,
    pub(super) value: u8,
}

impl Side {
    pub(super) fn fixed(value: u8) -> Side {
        Side { cell: Cell::Fixed, value }
    }
}

impl Cells<'_> {
    /// The least and the most that a byte is.
    fn range(&self, side: Side) -> Wide {
        let bits = self.varying(side.cell);
        let [first, low, high] = [side.value, side.value & !bits, side.value | bits].map(i64::from);
        Wide::between(first, low, high, self.last)
    }

    fn operand(&self, side: Side) -> Operand {
        match side.cell {
            Cell::Byte { wide, at } => Operand {
                value: self.wides[usize::from(wide)].above(8 * u32::from(at)),
                source: Some((wide, at)),
            },
            _ => Operand { value: self.range(side), source: None },
        }
    }

    /// A side of a chain with one more byte, above the `bytes` that it has.
    fn extend(&mut self, operand: Operand, bytes: u32, side: Side) -> Result<Operand, Disproof> {
        if let Some((wide, first)) = operand.source {
            let next = Cell::Byte { wide, at: first + bytes as u8 };
            if side.cell == next {
                // It may have become longer since.
                let value = self.wides[usize::from(wide)].above(8 * u32::from(first));
                return Ok(Operand { value, ..operand });
            }
        }
        let adoption = self.adoption(operand, bytes, side.cell);
        if let (Some((counter, next)), Cell::Byte { .. }) = (adoption, side.cell) {
            return Err(Disproof::Adopt { counter, next });
        }
        let low = match operand.source {
            Some(_) => operand.value.unsigned(8 * bytes),
            None => Ok(operand.value),
        };
        if low.is_err() && adoption.is_some() {
            self.suggested = adoption;
        }
        let value = low?.add(self.range(side).shifted(8 * bytes));
        Ok(Operand { value, source: None })
    }

    /// If the operand is a counter so far and the cell may be its next byte: the two.
    fn adoption(&self, operand: Operand, bytes: u32, cell: Cell) -> Option<(u16, Address)> {
        let (counter, first) = operand.source?;
        let places = &self.counters.get(usize::from(counter))?.places;
        let next = match cell {
            Cell::Head(place) => place,
            Cell::Byte { wide, at: 0 } => *self.counters.get(usize::from(wide))?.places.first()?,
            _ => return None,
        };
        let fits = first == 0 && places.len() == bytes as usize && !places.contains(&next);
        (fits && !self.refused.contains(&(counter, next))).then_some((counter, next))
    }

    /// A new chain, with a carry that is the same in all turns.
    pub(super) fn begin(&mut self, subtracts: bool, a: Side, b: Side, carry: u8) -> u16 {
        let (a, b) = (self.operand(a), self.operand(b));
        let mut chain =
            Chain { subtracts, a, b, carry: carry.into(), bytes: 1, is_word: false, result: 0 };
        chain.result = self.number(chain.total());
        self.chains.push(chain);
        (self.chains.len() - 1) as u16
    }

    /// A chain with one more byte, if the flag C is its own.
    pub(super) fn continue_chain(&mut self, at: u16, a: Side, b: Side) -> Result<u16, Disproof> {
        let Chain { bytes, .. } = self.chains[usize::from(at)];
        if bytes == MAX_BYTES {
            return Err(Disproof::Other);
        }
        let mut chain = self.chains[usize::from(at)];
        chain.a = self.extend(chain.a, bytes, a)?;
        chain.b = self.extend(chain.b, bytes, b)?;
        chain.bytes += 1;
        // The bytes that it had before are the same in the longer number.
        self.wides[usize::from(chain.result)] = chain.total();
        self.chains.push(chain);
        Ok((self.chains.len() - 1) as u16)
    }

    /// The cell of a chain's last byte.
    pub(super) fn last_byte(&self, chain: u16) -> Cell {
        let Chain { result, bytes, .. } = self.chains[usize::from(chain)];
        Cell::Byte { wide: result, at: bytes as u8 - 1 }
    }
}

impl Chain {
    pub(super) fn subtracts(self) -> bool {
        self.subtracts
    }

    fn combine(self, a: Wide, b: Wide) -> Wide {
        if self.subtracts { a.add(b.negate()).plus(-self.carry) } else { a.add(b).plus(self.carry) }
    }

    fn total(self) -> Wide {
        self.combine(self.a.value, self.b.value)
    }

    /// Shows that a flag of its last instruction is the same in all turns.
    pub(super) fn keeps(self, bit: u8, wides: &[Wide]) -> Result<(), Shorter> {
        let bits = 8 * self.bytes;
        let result = wides[usize::from(self.result)];
        match 1u8 << (bit & 7) {
            C => {
                let sides = (self.a.value.unsigned(bits)?, self.b.value.unsigned(bits)?);
                let exact = self.combine(sides.0, sides.1);
                let limit = if self.subtracts { 0 } else { 1 << bits };
                exact.plus(-limit).keeps_sign()
            }
            Z if self.subtracts || self.is_word || self.bytes == 1 => result.keeps_zero(bits),
            // A sum's Z is its last byte's.
            Z => result.above(bits - 8).keeps_zero(8),
            N => result.keeps_from(bits - 1),
            S => self.keeps_order(bits),
            V => result.keeps_from(bits - 1).and_then(|()| self.keeps_order(bits)),
            _ if result.is_constant() => Ok(()),
            _ => Err(Shorter(0)),
        }
    }

    /// Shows that the sign of the exact result is the same in all turns.
    fn keeps_order(self, bits: u32) -> Result<(), Shorter> {
        let sides = (self.a.value.signed(bits)?, self.b.value.signed(bits)?);
        self.combine(sides.0, sides.1).keeps_sign()
    }
}
