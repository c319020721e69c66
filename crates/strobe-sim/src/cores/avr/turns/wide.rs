//! A number of one or more bytes in each of the next turns of a loop.
//!
//! Numbers do not wrap here: a register of eight bits shows the low bits of one, and a question
//! about those bits is answered only if the rest stays the same in all turns.

/// An answer is the same in fewer turns only: up to this one, the recorded one being turn 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shorter(pub(super) u64);

/// Beyond every number of a program.
const FAR: i64 = 1 << 60;

/// A number in turns 0 to `last`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wide {
    /// In turn 0.
    pub(super) first: i64,
    /// The increment of each turn, where all turns have the same.
    pub(super) step: Option<i64>,
    low: i64,
    high: i64,
    last: u64,
}

impl Wide {
    pub(super) fn constant(first: i64, last: u64) -> Wide {
        Wide::linear(first, 0, last)
    }

    pub(super) fn linear(first: i64, step: i64, last: u64) -> Wide {
        let turns = last.min(FAR as u64) as i64;
        let end = first.saturating_add(step.saturating_mul(turns)).clamp(-FAR, FAR);
        Wide { first, step: Some(step), low: first.min(end), high: first.max(end), last }
    }

    /// Between two limits, and nothing else is known.
    pub(super) fn between(first: i64, low: i64, high: i64, last: u64) -> Wide {
        let step = (low == high).then_some(0);
        Wide { first, step, low, high, last }
    }

    pub(super) fn is_constant(self) -> bool {
        self.low == self.high
    }

    pub(super) fn add(self, other: Wide) -> Wide {
        let first = self.first + other.first;
        match self.step.zip(other.step) {
            Some((a, b)) => Wide::linear(first, a.saturating_add(b), self.last),
            None => Wide::between(first, self.low + other.low, self.high + other.high, self.last),
        }
    }

    pub(super) fn negate(self) -> Wide {
        match self.step {
            Some(step) => Wide::linear(-self.first, -step, self.last),
            None => Wide::between(-self.first, -self.high, -self.low, self.last),
        }
    }

    pub(super) fn plus(self, constant: i64) -> Wide {
        self.add(Wide::constant(constant, self.last))
    }

    /// The number above its lowest bits.
    pub(super) fn above(self, bits: u32) -> Wide {
        if bits == 0 {
            return self;
        }
        Wide::between(self.first >> bits, self.low >> bits, self.high >> bits, self.last)
    }

    /// The number shifted up.
    pub(super) fn shifted(self, bits: u32) -> Wide {
        match self.step {
            Some(step) => Wide::linear(self.first << bits, step << bits, self.last),
            None => {
                Wide::between(self.first << bits, self.low << bits, self.high << bits, self.last)
            }
        }
    }

    /// The last turn up to which the number stays within limits, where it begins.
    fn turns_within(self, low: i64, high: i64) -> u64 {
        let turns = match self.step {
            Some(0) => self.last,
            Some(step) if step > 0 => ((high - self.first) / step).max(0) as u64,
            Some(step) => ((self.first - low) / -step).max(0) as u64,
            None => self
                .share((high - self.first, self.high - self.first))
                .min(self.share((self.first - low, self.first - self.low))),
        };
        turns.min(self.last.saturating_sub(1))
    }

    /// Of what it moves in one direction in all turns it may do so much: an estimate.
    fn share(self, (may, does): (i64, i64)) -> u64 {
        if does <= may {
            return self.last;
        }
        (u128::from(self.last) * may.max(0) as u128 / does as u128) as u64
    }

    /// The quotient of the number and an offset by a power of two, if it is the same in all turns.
    fn quotient(self, bits: u32, offset: i64) -> Result<i64, Shorter> {
        let quotient = (self.first + offset) >> bits;
        let is_same = |value: i64| (value + offset) >> bits == quotient;
        if is_same(self.low) && is_same(self.high) {
            return Ok(quotient);
        }
        let low = (quotient << bits) - offset;
        Err(Shorter(self.turns_within(low, low + (1 << bits) - 1)))
    }

    /// The number that the lowest bits make.
    pub(super) fn unsigned(self, bits: u32) -> Result<Wide, Shorter> {
        let quotient = self.quotient(bits, 0)?;
        Ok(self.plus(-(quotient << bits)))
    }

    /// The number that the lowest bits make in two's complement.
    pub(super) fn signed(self, bits: u32) -> Result<Wide, Shorter> {
        let quotient = self.quotient(bits, 1 << (bits - 1))?;
        Ok(self.plus(-(quotient << bits)))
    }

    /// Shows that one bit is the same in all turns, with all above it.
    pub(super) fn keeps_from(self, bit: u32) -> Result<(), Shorter> {
        self.quotient(bit, 0).map(|_| ())
    }

    /// Shows that the number is less than nothing in all turns, or in none.
    pub(super) fn keeps_sign(self) -> Result<(), Shorter> {
        let (low, high) = if self.first < 0 { (-FAR, -1) } else { (0, FAR) };
        if low <= self.low && self.high <= high {
            return Ok(());
        }
        Err(Shorter(self.turns_within(low, high)))
    }

    /// Shows that the lowest bits are all zero in all turns, or in none.
    pub(super) fn keeps_zero(self, bits: u32) -> Result<(), Shorter> {
        let mask = (1i64 << bits) - 1;
        if self.is_constant() || self.step.is_some_and(|step| step & mask == 0) {
            return Ok(());
        }
        if self.first & mask == 0 {
            return Err(Shorter(0));
        }
        let below = self.first & !mask;
        if below < self.low && self.high <= below + mask {
            return Ok(());
        }
        Err(Shorter(self.turns_within(below + 1, below + mask)))
    }

    /// Which bits of one byte may change from turn to turn.
    pub(super) fn varying_bits(self, byte: u8) -> u8 {
        let shift = 8 * u32::from(byte);
        let differing = (self.low >> shift) ^ (self.high >> shift);
        match differing {
            0 => 0,
            1..=0xff => u8::MAX >> (differing as u8).leading_zeros(),
            _ => u8::MAX,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_bounded_by_their_wrap() {
        let down = Wide::linear(0x1_0005, -1, 10);
        assert_eq!(down.unsigned(16), Err(Shorter(5)));
        assert_eq!(down.unsigned(24), Ok(down));
        assert_eq!(Wide::linear(5, -1, 5).unsigned(16), Ok(Wide::linear(5, -1, 5)));
    }

    #[test]
    fn zero_is_found_at_its_turn() {
        assert_eq!(Wide::linear(7, -1, 10).keeps_zero(16), Err(Shorter(6)));
        assert_eq!(Wide::linear(7, -1, 6).keeps_zero(16), Ok(()));
        assert_eq!(Wide::linear(0xfffe, 1, 9).keeps_zero(16), Err(Shorter(1)));
        assert_eq!(Wide::linear(0, 1, 9).keeps_zero(16), Err(Shorter(0)));
    }

    #[test]
    fn signs_are_kept_up_to_a_turn() {
        assert_eq!(Wide::linear(-9, 3, 9).keeps_sign(), Err(Shorter(2)));
        assert_eq!(Wide::linear(9, 3, 9).keeps_sign(), Ok(()));
        assert_eq!(Wide::linear(0x7ffe, 1, 9).signed(16), Err(Shorter(1)));
    }

    #[test]
    fn only_bits_below_the_highest_change_vary() {
        assert_eq!(Wide::between(0x14, 0x14, 0x16, 4).varying_bits(0), 3);
        assert_eq!(Wide::between(0x14, 0x14, 0x16, 4).varying_bits(1), 0);
        assert_eq!(Wide::between(0xff, 0xff, 0x100, 4).varying_bits(0), 0xff);
    }

    #[test]
    fn ranges_are_shortened_in_proportion() {
        let range = Wide::between(10, 10, 30, 100);
        assert_eq!(range.plus(-20).keeps_sign(), Err(Shorter(45)));
    }
}
