//! The balance: what was taken equals what is accounted for, or there is no measurement.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Unit;

/// What became of everything that an instrument took, in any unit.
///
/// Can only be built balanced: `taken = attributed + unattributed + idle + lost`. Where nobody
/// knows how much was lost, `taken` is what was received, and the loss stands beside it as unknown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "Parts", into = "Parts")]
pub struct Balance(Parts);

/// The parts of a [`Balance`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Parts {
    /// What is balanced, as `samples`; for people, and to distinguish balances.
    pub what: String,
    /// Of every amount.
    pub unit: Unit,
    /// What `taken` is called, as `taken` or `due`.
    pub taken_as: String,
    /// Everything.
    pub taken: u64,
    /// Attributed to named code, threads, packets; or what `attributed_as` names.
    pub attributed: u64,
    /// What `attributed` is called where that is another word, as `freed`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub attributed_as: String,
    /// Not attributable, each amount with its reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unattributed: Vec<(String, u64)>,
    /// Asleep or idle.
    pub idle: u64,
    /// Lost.
    pub lost: Loss,
}

impl Parts {
    /// Nothing taken, and nothing lost.
    pub fn new(what: impl Into<String>, unit: Unit) -> Self {
        Parts {
            what: what.into(),
            unit,
            taken_as: "taken".to_owned(),
            taken: 0,
            attributed: 0,
            attributed_as: String::new(),
            unattributed: Vec::new(),
            idle: 0,
            lost: Loss::Known(0),
        }
    }
}

/// How much was lost.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// So much; 0 where nothing can have been lost.
    Known(u64),
    /// At least so much.
    AtLeast(u64),
    /// Nobody knows, and why.
    Unknown(String),
}

impl Loss {
    /// What is known to be lost.
    pub fn known(&self) -> u64 {
        match self {
            Loss::Known(n) | Loss::AtLeast(n) => *n,
            Loss::Unknown(_) => 0,
        }
    }
}

/// The parts do not add up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unbalanced {
    /// What is balanced.
    pub what: String,
    /// What should be accounted for.
    pub taken: u64,
    /// What is.
    pub accounted: u64,
}

impl fmt::Display for Unbalanced {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Unbalanced { what, taken, accounted } = self;
        write!(f, "the totals of {what} do not balance: {taken} taken, {accounted} accounted for")
    }
}

impl std::error::Error for Unbalanced {}

impl Balance {
    /// Checks the parts.
    ///
    /// # Errors
    /// When they do not add up.
    pub fn new(parts: Parts) -> Result<Self, Unbalanced> {
        let unattributed = parts.unattributed.iter().map(|(_, n)| u128::from(*n)).sum::<u128>();
        let rest = [parts.attributed, parts.idle, parts.lost.known()];
        let accounted = unattributed + rest.map(u128::from).iter().sum::<u128>();
        if accounted == u128::from(parts.taken) {
            return Ok(Balance(parts));
        }
        let accounted = u64::try_from(accounted).unwrap_or(u64::MAX);
        Err(Unbalanced { what: parts.what, taken: parts.taken, accounted })
    }

    /// The parts, which add up.
    pub fn parts(&self) -> &Parts {
        &self.0
    }
}

impl TryFrom<Parts> for Balance {
    type Error = Unbalanced;
    fn try_from(parts: Parts) -> Result<Self, Unbalanced> {
        Balance::new(parts)
    }
}

impl From<Balance> for Parts {
    fn from(balance: Balance) -> Parts {
        balance.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn only_balanced_parts_make_a_balance(
            a: u32, u: u32, i: u32, l: u32, known: bool, off in 0u64..3,
        ) {
            let lost = if known { Loss::Known(l.into()) } else { Loss::Unknown("no \
                timestamps".into()) };
            let sum = u64::from(a) + u64::from(u) + u64::from(i) + lost.known();
            let parts = Parts {
                what: "samples".into(),
                unit: Unit::SAMPLES,
                taken_as: "taken".into(),
                attributed_as: String::new(),
                taken: sum + off,
                attributed: a.into(),
                unattributed: vec![("no symbol".into(), u.into())],
                idle: i.into(),
                lost,
            };
            let json = serde_json::to_string(&parts).unwrap();
            prop_assert_eq!(serde_json::from_str::<Balance>(&json).is_ok(), off == 0);
            prop_assert_eq!(Balance::new(parts).is_ok(), off == 0);
        }
    }
}
