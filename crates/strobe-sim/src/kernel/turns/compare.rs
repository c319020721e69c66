//! Flags that an instruction leaves, in each of the next turns of a loop.

use super::value::{Span, Value};

/// The condition flags, by what set them. Each flag is known only if it is the same in every turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flags {
    /// Nothing is known of them.
    Unknown,
    /// The same in every turn.
    Constant { n: bool, z: bool, c: bool, v: bool },
    /// Those of `a - b`.
    Difference { a: Value, b: Value },
    /// Those of `a + b`.
    Sum { a: Value, b: Value },
    /// N and Z of a value; C and V are what they were before.
    Result { value: Value },
}

/// Whether a number that lies in a span is below another span in every turn, or in none.
fn is_below(a: Span, b: Span) -> Option<bool> {
    if a.high < b.low {
        Some(true)
    } else if a.low >= b.high {
        Some(false)
    } else {
        None
    }
}

fn is_zero(value: Value) -> Option<bool> {
    if value.is_constant() {
        return Some(value.first == 0);
    }
    // Zero is passed by in each of the ways in which the values may not have wrapped.
    let away = |span: Span| span.low > 0 || span.high < 0;
    let apart = value.unsigned().is_some_and(away) || value.signed().is_some_and(away);
    apart.then_some(false)
}

fn is_negative(value: Value) -> Option<bool> {
    let span = value.signed()?;
    is_below(span, Span { low: 0, high: 0 })
}

impl Flags {
    pub(crate) fn zero(self) -> Option<bool> {
        match self {
            Flags::Unknown => None,
            Flags::Constant { z, .. } => Some(z),
            Flags::Difference { a, b } => is_zero(a.sub(b)),
            Flags::Sum { a, b } => is_zero(a.add(b)),
            Flags::Result { value } => is_zero(value),
        }
    }

    pub(crate) fn negative(self) -> Option<bool> {
        match self {
            Flags::Unknown => None,
            Flags::Constant { n, .. } => Some(n),
            Flags::Difference { a, b } => is_negative(a.sub(b)),
            Flags::Sum { a, b } => is_negative(a.add(b)),
            Flags::Result { value } => is_negative(value),
        }
    }

    /// C as an Arm core has it: a difference did not borrow.
    pub(crate) fn carry(self) -> Option<bool> {
        match self {
            Flags::Unknown | Flags::Result { .. } => None,
            Flags::Constant { c, .. } => Some(c),
            Flags::Difference { a, b } => {
                is_below(a.unsigned()?, b.unsigned()?).map(|below| !below)
            }
            Flags::Sum { a, b } => {
                let (a, b) = (a.unsigned()?, b.unsigned()?);
                let (low, high) = (a.low + b.low, a.high + b.high);
                is_below(Span { low, high }, Span { low: 1 << 32, high: 1 << 32 })
                    .map(|below| !below)
            }
        }
    }

    pub(crate) fn overflow(self) -> Option<bool> {
        let exact = match self {
            Flags::Unknown | Flags::Result { .. } => return None,
            Flags::Constant { v, .. } => return Some(v),
            Flags::Difference { a, b } => {
                let (a, b) = (a.signed()?, b.signed()?);
                Span { low: a.low - b.high, high: a.high - b.low }
            }
            Flags::Sum { a, b } => {
                let (a, b) = (a.signed()?, b.signed()?);
                Span { low: a.low + b.low, high: a.high + b.high }
            }
        };
        if exact.fits(i32::MIN.into(), i32::MAX.into()) {
            return Some(false);
        }
        let beyond = exact.low > i32::MAX.into() || exact.high < i32::MIN.into();
        beyond.then_some(true)
    }

    /// N differs from V: the signed difference is less than nothing.
    pub(crate) fn less(self) -> Option<bool> {
        if let Flags::Difference { a, b } = self
            && let (Some(a), Some(b)) = (a.signed(), b.signed())
        {
            return is_below(a, b);
        }
        Some(self.negative()? != self.overflow()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::turns::Turns;

    fn counting(first: u32, step: i64, last: u64) -> Value {
        Value::linear(first, step, Turns { last })
    }

    #[test]
    fn a_countdown_is_not_zero_before_its_end() {
        let flags = |last| Flags::Difference { a: counting(100, -1, last), b: Value::constant(1) };
        assert_eq!(flags(98).zero(), Some(false));
        assert_eq!(flags(99).zero(), None);
        assert_eq!(flags(98).carry(), Some(true));
    }

    #[test]
    fn a_wrapped_difference_is_compared_as_unsigned() {
        // now - start < limit, with a counter that passes zero meanwhile.
        let elapsed = |last| counting(0xffff_fff0, 1, last).sub(Value::constant(0xffff_ffe0));
        let flags = |last| Flags::Difference { a: elapsed(last), b: Value::constant(100) };
        assert_eq!(flags(83).carry(), Some(false));
        assert_eq!(flags(84).carry(), None);
    }

    #[test]
    fn signed_comparisons_need_no_overflow() {
        let flags = Flags::Difference { a: counting(0x7fff_fff0, 1, 8), b: Value::constant(0) };
        assert_eq!((flags.less(), flags.overflow()), (Some(false), Some(false)));
        let flags = Flags::Difference { a: counting(0x7fff_fff0, 1, 100), b: Value::constant(0) };
        assert_eq!(flags.less(), None);
    }

    #[test]
    fn nothing_follows_from_unknown_flags() {
        assert_eq!((Flags::Unknown.zero(), Flags::Unknown.less()), (None, None));
        let value = Flags::Result { value: Value::constant(5) };
        assert_eq!((value.zero(), value.carry()), (Some(false), None));
    }
}
