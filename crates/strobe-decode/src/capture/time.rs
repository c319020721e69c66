//! Time bases as exact fractions: 1/24,000,000 s is not a whole number of picoseconds.

/// A length of time as an exact fraction of a second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tick {
    numerator: u64,
    denominator: u64,
}

impl Tick {
    /// `numerator / denominator` seconds; `None` where one of them is 0.
    pub fn new(numerator: u64, denominator: u64) -> Option<Tick> {
        if numerator == 0 || denominator == 0 {
            return None;
        }
        let divisor = gcd(numerator, denominator);
        Some(Tick { numerator: numerator / divisor, denominator: denominator / divisor })
    }

    /// The period of a clock.
    pub fn from_hz(hz: u64) -> Option<Tick> {
        Tick::new(1, hz)
    }

    /// A decimal fraction of a second: `10^-decimals` s, at most 18 decimals.
    pub(super) fn decimal(decimals: u32) -> Tick {
        Tick { numerator: 1, denominator: 10u64.pow(decimals.min(18)) }
    }

    /// Numerator and denominator, in lowest terms.
    pub fn fraction(self) -> (u64, u64) {
        (self.numerator, self.denominator)
    }

    /// The frequency, if it is a whole number of hertz.
    pub fn hz(self) -> Option<u64> {
        (self.numerator == 1).then_some(self.denominator)
    }

    /// So many ticks in picoseconds, rounded to nearest.
    pub fn ps(self, ticks: u128) -> u128 {
        let ticks = ticks.saturating_mul(u128::from(self.numerator));
        let (whole, rest) =
            (ticks / u128::from(self.denominator), ticks % u128::from(self.denominator));
        let second = 1_000_000_000_000u128;
        let half = u128::from(self.denominator) / 2;
        let rest = (rest * second + half) / u128::from(self.denominator);
        whole.saturating_mul(second).saturating_add(rest)
    }

    /// So many ticks in ticks of `other`, rounded to nearest; `None` if the result does not fit.
    pub(super) fn convert(self, ticks: u64, other: Tick) -> Option<u64> {
        let up = u128::from(self.numerator).checked_mul(u128::from(other.denominator))?;
        let down = u128::from(self.denominator).checked_mul(u128::from(other.numerator))?;
        let product = u128::from(ticks).checked_mul(up)?;
        u64::try_from(product.checked_add(down / 2)? / down).ok()
    }

    /// So many ticks as one; `None` if the result does not fit.
    pub(super) fn times(self, n: u64) -> Option<Tick> {
        let divisor = gcd(n, self.denominator);
        let numerator = self.numerator.checked_mul(n / divisor.max(1))?;
        Tick::new(numerator, self.denominator / divisor.max(1))
    }

    /// Whether this time is longer than `other`.
    pub fn is_longer_than(self, other: Tick) -> bool {
        u128::from(self.numerator) * u128::from(other.denominator)
            > u128::from(other.numerator) * u128::from(self.denominator)
    }
}

/// The greatest common divisor; of a number and 0, that number.
pub(crate) fn gcd(a: u64, b: u64) -> u64 {
    let (mut a, mut b) = (a, b);
    while b > 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thirds_of_microseconds_stay_exact() {
        let tick = Tick::from_hz(24_000_000).unwrap();
        assert_eq!(tick.ps(24_000_000), 1_000_000_000_000);
        assert_eq!(tick.ps(1), 41_667);
        assert_eq!(tick.convert(24, Tick::decimal(9)), Some(1000));
        assert_eq!(Tick::decimal(9).convert(1000, tick), Some(24));
        assert_eq!(Tick::decimal(9).times(500), Tick::from_hz(2_000_000));
    }
}
