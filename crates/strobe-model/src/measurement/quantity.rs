//! A figure: a number with its unit and how far it can be trusted.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// A number that stays what it is: counts are whole, ratios are not. Compared by value: 2 is 2.0,
/// and less than 2.5.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum Number {
    /// A whole number.
    Integer(i64),
    /// Any other finite number.
    Real(f64),
}

/// Numbers may come as maps: `serde_json` writes them so when some crate of the program asks for
/// its feature `arbitrary_precision`, and what is flattened or untagged sees it.
struct NumberVisitor;

/// The only key of such a map.
const PRECISE: &str = "$serde_json::private::Number";

impl<'de> Visitor<'de> for NumberVisitor {
    type Value = Number;

    fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("a finite number")
    }

    fn visit_i64<E: de::Error>(self, n: i64) -> Result<Number, E> {
        Ok(Number::Integer(n))
    }

    fn visit_u64<E: de::Error>(self, n: u64) -> Result<Number, E> {
        let wrong = || E::invalid_value(de::Unexpected::Unsigned(n), &"a number up to 2^63 - 1");
        i64::try_from(n).map(Number::Integer).map_err(|_| wrong())
    }

    fn visit_f64<E: de::Error>(self, x: f64) -> Result<Number, E> {
        let wrong = || E::invalid_value(de::Unexpected::Float(x), &self);
        if x.is_finite() { Ok(Number::Real(x)) } else { Err(wrong()) }
    }

    fn visit_map<A: de::MapAccess<'de>>(self, mut map: A) -> Result<Number, A::Error> {
        let key: Option<String> = map.next_key()?;
        if key.as_deref() != Some(PRECISE) {
            return Err(de::Error::invalid_type(de::Unexpected::Map, &self));
        }
        let text: String = map.next_value()?;
        let real = || text.parse().ok().filter(|x: &f64| x.is_finite()).map(Number::Real);
        let number = text.parse().ok().map(Number::Integer).or_else(real);
        number.ok_or_else(|| de::Error::invalid_value(de::Unexpected::Str(&text), &self))
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NumberVisitor)
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Number) -> bool {
        self.partial_cmp(other) == Some(Ordering::Equal)
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Number) -> Option<Ordering> {
        match (self, other) {
            (Number::Integer(a), Number::Integer(b)) => a.partial_cmp(b),
            (a, b) => a.as_f64().partial_cmp(&b.as_f64()),
        }
    }
}

impl Number {
    /// As a floating-point number, to 53 bits.
    pub fn as_f64(self) -> f64 {
        match self {
            Number::Integer(n) => n as f64,
            Number::Real(x) => x,
        }
    }

    /// As a count: negative numbers are 0, others are rounded.
    pub fn as_u64(self) -> u64 {
        match self {
            Number::Integer(n) => u64::try_from(n).unwrap_or(0),
            Number::Real(x) => x.round().max(0.0) as u64,
        }
    }
}

impl From<i64> for Number {
    fn from(n: i64) -> Self {
        Number::Integer(n)
    }
}

/// Counts above 2^63 - 1 do not occur in what can be measured; they are kept at that.
impl From<u64> for Number {
    fn from(n: u64) -> Self {
        Number::Integer(i64::try_from(n).unwrap_or(i64::MAX))
    }
}

impl From<u32> for Number {
    fn from(n: u32) -> Self {
        Number::Integer(n.into())
    }
}

impl From<usize> for Number {
    fn from(n: usize) -> Self {
        Number::from(n as u64)
    }
}

/// What is no number (a ratio of nothing) becomes 0; whoever knows better should make it
/// unknown.
impl From<f64> for Number {
    fn from(x: f64) -> Self {
        Number::Real(if x.is_finite() { x } else { 0.0 })
    }
}

/// A unit. The set is open: an instrument may declare its own. Those with a constant here are shown
/// in the customary way (times with prefixes, bytes grouped).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Unit(pub Cow<'static, str>);

impl Unit {
    /// Core clock cycles.
    pub const CYCLES: Unit = Unit(Cow::Borrowed("cycles"));
    /// Instructions retired.
    pub const INSTRUCTIONS: Unit = Unit(Cow::Borrowed("instructions"));
    /// Samples of a program counter or a stack.
    pub const SAMPLES: Unit = Unit(Cow::Borrowed("samples"));
    /// Plain numbers of things.
    pub const COUNT: Unit = Unit(Cow::Borrowed("count"));
    /// Bytes.
    pub const BYTES: Unit = Unit(Cow::Borrowed("bytes"));
    /// Nanoseconds.
    pub const NANOSECONDS: Unit = Unit(Cow::Borrowed("nanoseconds"));
    /// Picoseconds, for captures finer than a nanosecond.
    pub const PICOSECONDS: Unit = Unit(Cow::Borrowed("picoseconds"));
    /// Timestamp ticks whose length is not known.
    pub const TICKS: Unit = Unit(Cow::Borrowed("ticks"));
    /// Hertz.
    pub const HERTZ: Unit = Unit(Cow::Borrowed("hertz"));
    /// Parts of a hundred.
    pub const PERCENT: Unit = Unit(Cow::Borrowed("percent"));
    /// A quotient without a unit, as cycles per instruction.
    pub const RATIO: Unit = Unit(Cow::Borrowed("ratio"));

    /// A unit of the instrument's own.
    pub fn other(name: impl Into<String>) -> Unit {
        Unit(Cow::Owned(name.into()))
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How far a figure can be trusted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", tag = "trust")]
pub enum Trust {
    /// A count of what happened, or follows from one by documented rules.
    Exact,
    /// From a model with bounds: the value is the likely one.
    Modelled {
        /// The least that it may be.
        low: Number,
        /// The most that it may be.
        high: Number,
        /// Why it cannot be exact.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    /// Estimated from samples, with the 95 % interval.
    Sampled {
        /// Samples that the estimate rests on.
        n: u64,
        /// Lower end of the interval.
        low: Number,
        /// Upper end of the interval.
        high: Number,
    },
    /// Measured with limited resolution: the true value lies between.
    Resolution {
        /// The least that it may be.
        low: Number,
        /// The most that it may be.
        high: Number,
    },
    /// Only what was seen; there may have been more.
    AtLeast,
    /// There may have been less.
    AtMost,
    /// Not known.
    Unknown {
        /// Why not.
        why: String,
    },
}

/// A figure: value, unit, trust. There is no value where it is unknown.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "Unchecked")]
pub struct Quantity {
    value: Option<Number>,
    unit: Unit,
    #[serde(flatten)]
    trust: Trust,
}

/// A figure as it is read.
#[derive(Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Quantity"))]
struct Unchecked {
    value: Option<Number>,
    unit: Unit,
    #[serde(flatten)]
    trust: Trust,
}

/// A figure that contradicts itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid(&'static str);

impl Invalid {
    pub(super) const HAS_VALUE: Invalid = Invalid("a figure that is unknown has a value");
    pub(super) const NO_VALUE: Invalid = Invalid("a figure has no value and no reason for it");
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl std::error::Error for Invalid {}

impl TryFrom<Unchecked> for Quantity {
    type Error = Invalid;
    fn try_from(read: Unchecked) -> Result<Self, Invalid> {
        Quantity::new(read.value, read.unit, read.trust)
    }
}

impl Quantity {
    /// A figure.
    ///
    /// # Errors
    /// When one that is unknown has a value, one that is known has none, or the value lies outside
    /// of its bounds.
    pub fn new(value: Option<Number>, unit: Unit, trust: Trust) -> Result<Self, Invalid> {
        match (&trust, value) {
            (Trust::Unknown { .. }, None) => {}
            (Trust::Unknown { .. }, Some(_)) => {
                return Err(Invalid::HAS_VALUE);
            }
            (_, None) => return Err(Invalid::NO_VALUE),
            (_, Some(value)) => check(&trust, value)?,
        }
        Ok(Quantity { value, unit, trust })
    }

    /// A figure that is exact.
    pub fn exact(value: impl Into<Number>, unit: Unit) -> Self {
        Quantity { value: Some(value.into()), unit, trust: Trust::Exact }
    }

    /// A figure of a model; exact where the bounds meet. Bounds that do not enclose the value are
    /// widened to it.
    pub fn modelled(bounds: crate::Bounds, unit: Unit, why: Option<String>) -> Self {
        if bounds.is_exact() {
            return Quantity::exact(bounds.likely, unit);
        }
        let trust = Trust::Modelled {
            low: bounds.low.min(bounds.likely).into(),
            high: bounds.high.max(bounds.likely).into(),
            why,
        };
        Quantity { value: Some(bounds.likely.into()), unit, trust }
    }

    /// A figure that may be more.
    pub fn at_least(value: impl Into<Number>, unit: Unit) -> Self {
        Quantity { value: Some(value.into()), unit, trust: Trust::AtLeast }
    }

    /// Nothing is known of the figure.
    pub fn unknown(unit: Unit, why: impl Into<String>) -> Self {
        Quantity { value: None, unit, trust: Trust::Unknown { why: why.into() } }
    }

    /// The value; `None` where it is unknown.
    pub fn value(&self) -> Option<Number> {
        self.value
    }

    /// Its unit.
    pub fn unit(&self) -> &Unit {
        &self.unit
    }

    /// How far it can be trusted.
    pub fn trust(&self) -> &Trust {
        &self.trust
    }
}

impl Trust {
    /// The least and the most that the figure may be, where they are known and differ from it.
    pub fn bounds(&self) -> Option<(Number, Number)> {
        match self {
            Trust::Modelled { low, high, .. }
            | Trust::Sampled { low, high, .. }
            | Trust::Resolution { low, high } => Some((*low, *high)),
            Trust::Exact | Trust::AtLeast | Trust::AtMost | Trust::Unknown { .. } => None,
        }
    }
}

pub(super) fn check(trust: &Trust, value: Number) -> Result<(), Invalid> {
    match trust.bounds() {
        Some((low, high)) if !(low <= value && value <= high) => {
            Err(Invalid("a figure lies outside of its bounds"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_is_not_zero() {
        let lost = Quantity::unknown(Unit::SAMPLES, "the stream has no timestamps");
        let json = serde_json::to_string(&lost).unwrap();
        assert_eq!(
            json,
            concat!(
                r#"{"value":null,"unit":"samples","trust":"unknown","#,
                r#""why":"the stream has no timestamps"}"#
            )
        );
        assert_eq!(serde_json::from_str::<Quantity>(&json).unwrap(), lost);
        for bad in [
            r#"{"value":0,"unit":"samples","trust":"unknown","why":"?"}"#,
            r#"{"value":null,"unit":"samples","trust":"exact"}"#,
            r#"{"unit":"samples","trust":"exact"}"#,
            r#"{"value":5,"unit":"cycles","trust":"modelled","low":6,"high":7}"#,
        ] {
            assert!(serde_json::from_str::<Quantity>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn whole_numbers_and_others_compare_by_value() {
        let trust = Trust::Resolution { low: 18.5.into(), high: 22.0.into() };
        assert!(Quantity::new(Some(20u64.into()), Unit::CYCLES, trust.clone()).is_ok());
        assert!(Quantity::new(Some(18u64.into()), Unit::CYCLES, trust).is_err());
        assert_eq!(Number::from(2u64), Number::from(2.0));
    }

    #[test]
    fn a_model_without_slack_is_exact() {
        let bounds = crate::Bounds { low: 5, likely: 5, high: 5 };
        assert_eq!(*Quantity::modelled(bounds, Unit::CYCLES, None).trust(), Trust::Exact);
    }
}
