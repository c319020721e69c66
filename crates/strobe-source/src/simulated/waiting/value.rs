//! What places hold at a moment of a turn, made of what they held at its beginning.

use std::collections::{BTreeMap, BTreeSet};

use super::step::Location;

/// A set of places.
pub(super) type Places = BTreeSet<Location>;

/// What a place holds, as far as that is known exactly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Exact {
    Constant(u32),
    /// What a place held at the beginning, and a constant.
    Copy(Location, i32),
    Unknown,
}

/// What a place holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Value {
    pub exact: Exact,
    /// The places that have a part in it.
    pub parts: Places,
    /// Those of them that it is a sum of, each once.
    pub addends: Places,
    /// Those of them that it still is on one way, untouched.
    pub kept: Places,
}

impl Value {
    pub(super) fn constant(value: u32) -> Self {
        let exact = Exact::Constant(value);
        Value { exact, parts: Places::new(), addends: Places::new(), kept: Places::new() }
    }

    pub(super) fn copy(of: Location, by: i32) -> Self {
        let one = Places::from([of.clone()]);
        let kept = if by == 0 { one.clone() } else { Places::new() };
        Value { exact: Exact::Copy(of, by), parts: one.clone(), addends: one, kept }
    }

    /// Something made of these places.
    pub(super) fn made(parts: Places) -> Self {
        Value { exact: Exact::Unknown, parts, addends: Places::new(), kept: Places::new() }
    }

    pub(super) fn plus(self, by: i32) -> Self {
        let exact = match self.exact {
            Exact::Constant(value) => Exact::Constant(value.wrapping_add_signed(by)),
            Exact::Copy(of, sum) => Exact::Copy(of, sum.wrapping_add(by)),
            Exact::Unknown => Exact::Unknown,
        };
        let kept = if by == 0 { self.kept } else { Places::new() };
        Value { exact, kept, ..self }
    }

    /// The same with a carry, which is no part of itself, and what else is added.
    pub(super) fn with_carry(self, carry: &Places, others: &Places) -> Self {
        let addends = self.addends.difference(others).cloned().collect();
        let parts = self.parts.iter().chain(carry).chain(others).cloned().collect();
        Value { addends, ..Value::made(parts) }
    }

    /// A sum, or a difference.
    pub(super) fn sum(self, other: Value, minus: bool) -> Self {
        match (&self.exact, &other.exact) {
            (_, Exact::Constant(by)) => {
                let by = *by as i32;
                return self.plus(if minus { by.wrapping_neg() } else { by });
            }
            (Exact::Constant(by), _) if !minus => {
                let by = *by as i32;
                return other.plus(by);
            }
            _ => {}
        }
        let alone = |own: &Value, theirs: &Value| -> Places {
            own.addends.difference(&theirs.parts).cloned().collect()
        };
        let mut addends = alone(&self, &other);
        if !minus {
            addends.extend(alone(&other, &self));
        }
        let parts = self.parts.union(&other.parts).cloned().collect();
        Value { addends, ..Value::made(parts) }
    }

    /// What is there where either may be: which of them, the way decides.
    pub(super) fn join(self, other: &Value) -> Value {
        if self == *other {
            return self;
        }
        // A number may go on from what it was on one way, and begin anew on the other.
        let stays =
            |of: &Value, place: &Location| of.addends.contains(place) || of.parts.is_empty();
        let all = self.addends.union(&other.addends);
        let addends =
            all.filter(|place| stays(&self, place) && stays(other, place)).cloned().collect();
        let mut parts: Places = self.parts.union(&other.parts).cloned().collect();
        parts.insert(Location::Way);
        let is_kept =
            |of: &Value, place: &Location| of.kept.contains(place) || !of.parts.contains(place);
        let all = self.kept.union(&other.kept);
        let kept =
            all.filter(|place| is_kept(&self, place) && is_kept(other, place)).cloned().collect();
        Value { exact: Exact::Unknown, parts, addends, kept }
    }
}

/// What places hold; those that are not there hold what they did at the beginning.
pub(super) type State = BTreeMap<Location, Value>;

pub(super) fn get(state: &State, place: &Location) -> Value {
    state.get(place).cloned().unwrap_or_else(|| Value::copy(place.clone(), 0))
}

/// Makes of a state what holds in it and in another one; whether that changes it.
pub(super) fn join(into: &mut State, other: &State) -> bool {
    let mut changed = false;
    let places: Places = into.keys().chain(other.keys()).cloned().collect();
    for place in places {
        let (own, theirs) = (get(into, &place), get(other, &place));
        let both = own.clone().join(&theirs);
        if both != own {
            into.insert(place, both);
            changed = true;
        }
    }
    changed
}
