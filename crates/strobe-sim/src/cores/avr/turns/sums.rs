//! Sums, differences and comparisons, byte by byte, as one instruction each makes them.

use super::super::cpu::{C, H, N, S, V, Z};
use super::cells::{Cell, Cells, Disproof, Flag};
use super::chain::Side;
use super::effects::Executed;

/// Flags that arithmetic sets.
const ARITHMETIC: u8 = H | S | V | N | Z | C;

/// A sum or difference of two bytes.
#[derive(Clone, Copy)]
pub(super) struct Sum {
    subtracts: bool,
    with_carry: bool,
    /// The flags that it sets.
    flags: u8,
}

pub(super) const SUB: Sum = Sum { subtracts: true, with_carry: false, flags: ARITHMETIC };
pub(super) const SBC: Sum = Sum { with_carry: true, ..SUB };
pub(super) const ADD: Sum = Sum { subtracts: false, ..SUB };
pub(super) const ADC: Sum = Sum { with_carry: true, ..ADD };
pub(super) const DEC: Sum = Sum { flags: S | V | N | Z, ..SUB };
pub(super) const INC: Sum = Sum { flags: S | V | N | Z, ..ADD };

impl Cells<'_> {
    pub(super) fn sum(
        &mut self,
        x: &Executed,
        sum: Sum,
        to: Option<u8>,
        of: (u8, u8),
    ) -> Result<(), Disproof> {
        let sides = (self.side(x, of.0), self.side(x, of.1));
        self.combine(x, sum, to, sides)
    }

    pub(super) fn sum_with(
        &mut self,
        x: &Executed,
        sum: Sum,
        to: Option<u8>,
        (d, k): (u8, u8),
    ) -> Result<(), Disproof> {
        let sides = (self.side(x, d), Side::fixed(k));
        self.combine(x, sum, to, sides)
    }

    pub(super) fn combine(
        &mut self,
        x: &Executed,
        sum: Sum,
        to: Option<u8>,
        (a, b): (Side, Side),
    ) -> Result<(), Disproof> {
        let is_fixed = |cell| matches!(cell, Cell::Fixed | Cell::Head(_));
        let carry = if sum.with_carry { self.flag(0) } else { Flag::Fixed };
        let keeps_zero =
            !sum.with_carry || !sum.subtracts || matches!(self.flag(1), Flag::Fixed | Flag::Head);
        let fixed_carry = matches!(carry, Flag::Fixed | Flag::Head);
        if fixed_carry && keeps_zero && is_fixed(a.cell) && is_fixed(b.cell) {
            to.into_iter().for_each(|d| self.set_register(d, Cell::Fixed));
            self.set_flags(sum.flags, Flag::Fixed);
            return Ok(());
        }
        let Some((chain, continues)) = self.chain_of(x, sum, carry, (a, b))? else {
            to.into_iter().for_each(|d| self.set_register(d, Cell::Bits(0xff)));
            self.set_flags(sum.flags, Flag::Unknown);
            return Ok(());
        };
        let cell = self.last_byte(chain);
        to.into_iter().for_each(|d| self.set_register(d, cell));
        let zero = self.zero_of(x, sum, chain, continues);
        self.set_flags(sum.flags & !H, Flag::Chain(chain));
        self.set_flags(sum.flags & H, Flag::Unknown);
        self.set_flags(Z, zero);
        Ok(())
    }

    /// The chain that an instruction begins or continues.
    fn chain_of(
        &mut self,
        x: &Executed,
        sum: Sum,
        carry: Flag,
        (a, b): (Side, Side),
    ) -> Result<Option<(u16, bool)>, Disproof> {
        let carried = if sum.with_carry { x.sreg & C } else { 0 };
        if let Flag::Chain(at) = carry {
            if self.chains[usize::from(at)].subtracts() == sum.subtracts {
                match self.continue_chain(at, a, b) {
                    Ok(chain) => return Ok(Some((chain, true))),
                    Err(Disproof::Other) => {}
                    Err(trouble) => return Err(trouble),
                }
            }
            if self.keeps_flag(0).is_err() {
                return Ok(None);
            }
        } else if carry == Flag::Unknown {
            return Ok(None);
        }
        Ok(Some((self.begin(sum.subtracts, a, b, carried), false)))
    }

    /// Where the flag Z comes from: SBC only ever clears it.
    fn zero_of(&mut self, x: &Executed, sum: Sum, chain: u16, continues: bool) -> Flag {
        let accumulates = sum.with_carry && sum.subtracts;
        match self.flag(1) {
            Flag::Chain(before) if continues && accumulates && before + 1 == chain => {
                Flag::Chain(chain)
            }
            Flag::Fixed | Flag::Head if accumulates && !continues => {
                if x.sreg & Z == 0 {
                    Flag::Fixed
                } else {
                    Flag::Chain(chain)
                }
            }
            _ if accumulates => Flag::Unknown,
            _ => Flag::Chain(chain),
        }
    }

    pub(super) fn sum_of_pair(
        &mut self,
        x: &Executed,
        subtracts: bool,
        (d, k): (u8, u8),
    ) -> Result<(), Disproof> {
        let (low, high) = (d & 30, d & 30 | 1);
        let sides = (self.side(x, low), self.side(x, high));
        let first = self.begin(subtracts, sides.0, Side::fixed(k), 0);
        let chain = self.continue_chain(first, sides.1, Side::fixed(0))?;
        let cell = self.last_byte(first);
        self.set_register(low, cell);
        let cell = self.last_byte(chain);
        self.set_register(high, cell);
        self.set_flags(ARITHMETIC & !H, Flag::Chain(chain));
        self.chains[usize::from(chain)].is_word = true;
        Ok(())
    }
}
