//! A value in each of the next turns of a loop.

/// How many turns a proof is about: the recorded one is turn 0, and the last one is turn `last`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Turns {
    pub(crate) last: u64,
}

/// A 32-bit value in turns 0 to `last`: what it is in turn 0, and between which distances from that
/// it stays in the others, counted without wrapping around.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Value {
    /// In turn 0.
    pub(crate) first: u32,
    /// What each turn adds, where that is the same for every turn.
    pub(crate) step: Option<i64>,
    low: i64,
    high: i64,
}

/// The least and the most that a value is in any of the turns, as a number that has not wrapped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) low: i64,
    pub(crate) high: i64,
}

impl Span {
    pub(crate) fn fits(self, low: i64, high: i64) -> bool {
        low <= self.low && self.high <= high
    }
}

impl Value {
    /// The same in every turn.
    pub(crate) const fn constant(first: u32) -> Self {
        Value { first, step: Some(0), low: 0, high: 0 }
    }

    /// `step` more with each turn.
    pub(crate) fn linear(first: u32, step: i64, turns: Turns) -> Self {
        let end = step.saturating_mul(turns.last.min(i64::MAX as u64) as i64);
        Value { first, step: Some(step), low: end.min(0), high: end.max(0) }
    }

    /// A counter that ticks every `period` cycles while a turn takes `cycles`.
    pub(crate) fn counter(
        first: u32,
        (cycles, period): (u64, u64),
        down: bool,
        turns: Turns,
    ) -> Self {
        let period = period.max(1);
        if cycles.is_multiple_of(period) {
            let step = i64::try_from(cycles / period).unwrap_or(i64::MAX);
            return Value::linear(first, if down { -step } else { step }, turns);
        }
        let ticks = u128::from(turns.last) * u128::from(cycles) / u128::from(period) + 1;
        let most = i64::try_from(ticks).unwrap_or(i64::MAX / 4);
        let (low, high) = if down { (-most, 0) } else { (0, most) };
        Value { first, step: None, low, high }
    }

    /// Whether it is the same in every turn.
    pub(crate) fn is_constant(self) -> bool {
        self.low == 0 && self.high == 0
    }

    /// The values as unsigned numbers; `None` if they wrap.
    pub(crate) fn unsigned(self) -> Option<Span> {
        let span = self.span(i64::from(self.first));
        span.fits(0, u32::MAX.into()).then_some(span)
    }

    /// The values as signed numbers; `None` if they wrap.
    pub(crate) fn signed(self) -> Option<Span> {
        let span = self.span(i64::from(self.first as i32));
        span.fits(i32::MIN.into(), i32::MAX.into()).then_some(span)
    }

    fn span(self, first: i64) -> Span {
        Span { low: first.saturating_add(self.low), high: first.saturating_add(self.high) }
    }

    pub(crate) fn add(self, other: Value) -> Value {
        Value {
            first: self.first.wrapping_add(other.first),
            step: self.step.zip(other.step).map(|(a, b)| a.saturating_add(b)),
            low: self.low.saturating_add(other.low),
            high: self.high.saturating_add(other.high),
        }
        .exact()
    }

    pub(crate) fn sub(self, other: Value) -> Value {
        Value {
            first: self.first.wrapping_sub(other.first),
            step: self.step.zip(other.step).map(|(a, b)| a.saturating_sub(b)),
            low: self.low.saturating_sub(other.high),
            high: self.high.saturating_sub(other.low),
        }
        .exact()
    }

    /// Of two values that change alike the sum of the distances is too wide.
    fn exact(self) -> Value {
        if self.step == Some(0) { Value::constant(self.first) } else { self }
    }

    /// The product with a power of two.
    pub(crate) fn shift_left(self, by: u32) -> Value {
        let scale = |n: i64| {
            n.checked_shl(by).filter(|m| m >> by == n).unwrap_or(n.signum() * (i64::MAX / 4))
        };
        Value {
            first: self.first.checked_shl(by).unwrap_or(0),
            step: self.step.and_then(|step| step.checked_mul(1 << by.min(31))),
            low: scale(self.low),
            high: scale(self.high),
        }
    }

    /// The quotient by a power of two, rounded down; `None` if the values wrap.
    pub(crate) fn shift_right(self, by: u32) -> Option<Value> {
        let span = self.unsigned()?;
        let first = self.first.checked_shr(by).unwrap_or(0);
        let by = by.min(63);
        let (low, high) = (span.low >> by, span.high >> by);
        let step = if self.is_constant() { Some(0) } else { None };
        Some(Value { first, step, low: low - i64::from(first), high: high - i64::from(first) })
    }

    /// The lowest bits alone, as unsigned or as signed number; `None` if those bits wrap.
    pub(crate) fn narrow(self, bits: u32, signed: bool) -> Option<Value> {
        let spare = 32 - bits.clamp(1, 32);
        let first = if signed {
            ((self.first << spare) as i32 >> spare) as u32
        } else {
            self.first << spare >> spare
        };
        let value = Value { first, ..self };
        let span = if signed { value.signed()? } else { value.unsigned()? };
        let fits = if signed {
            span.fits(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
        } else {
            span.fits(0, (1i64 << bits) - 1)
        };
        fits.then_some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEN: Turns = Turns { last: 10 };

    #[test]
    fn linear_values_span_all_turns() {
        let value = Value::linear(100, -3, TEN);
        assert_eq!(value.unsigned(), Some(Span { low: 70, high: 100 }));
        assert_eq!(Value::linear(20, -3, TEN).unsigned(), None, "it wraps");
        assert_eq!(Value::linear(20, -3, TEN).signed(), Some(Span { low: -10, high: 20 }));
    }

    #[test]
    fn equal_steps_cancel() {
        let (a, b) = (Value::linear(5, 4, TEN), Value::linear(2, 4, TEN));
        assert_eq!(a.sub(b), Value::constant(3));
        assert!(!a.add(b).is_constant());
    }

    #[test]
    fn counters_tick_as_often_as_cycles_allow() {
        let even = Value::counter(7, (144, 72), false, TEN);
        assert_eq!(even.step, Some(2));
        let odd = Value::counter(7, (10, 72), false, TEN);
        assert_eq!((odd.step, odd.unsigned()), (None, Some(Span { low: 7, high: 9 })));
        let down = Value::counter(7, (10, 72), true, TEN);
        assert_eq!(down.unsigned(), Some(Span { low: 5, high: 7 }));
    }

    #[test]
    fn narrow_values_must_not_wrap() {
        let value = Value::linear(0x1_00f0, 1, TEN);
        assert_eq!(value.narrow(8, false).map(|v| v.first), Some(0xf0));
        assert_eq!(Value::linear(0xf8, 1, TEN).narrow(8, false), None);
        assert!(Value::linear(0xf8, 1, TEN).narrow(8, true).is_some(), "from -8 to 2");
        assert_eq!(Value::linear(0x78, 1, TEN).narrow(8, true), None);
    }

    #[test]
    fn quotients_are_bounded() {
        let value = Value::linear(64, 1, TEN).shift_right(3);
        assert_eq!(value.and_then(Value::unsigned), Some(Span { low: 8, high: 9 }));
    }
}
