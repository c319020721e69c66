//! What places hold at a moment of a turn, made of what they held at its beginning.

use super::step::Location;

/// A place by its number in [`Numbers`].
pub(super) type Id = u8;

/// Places that a turn may have: loops with more do more than wait.
const MAX_PLACES: usize = 128;

/// A set of places.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Places(u128);

impl Places {
    pub(super) const NONE: Places = Places(0);

    pub(super) fn one(id: Id) -> Self {
        Places(1 << id)
    }

    pub(super) fn contains(self, id: Id) -> bool {
        self.0 >> id & 1 == 1
    }

    pub(super) fn with(self, others: Places) -> Self {
        Places(self.0 | others.0)
    }

    pub(super) fn without(self, others: Places) -> Self {
        Places(self.0 & !others.0)
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(super) fn iter(self) -> impl Iterator<Item = Id> {
        (0..MAX_PLACES as Id).filter(move |id| self.contains(*id))
    }
}

impl FromIterator<Id> for Places {
    fn from_iter<I: IntoIterator<Item = Id>>(all: I) -> Self {
        all.into_iter().fold(Places::NONE, |set, id| set.with(Places::one(id)))
    }
}

/// The places of a turn.
#[derive(Debug)]
pub(super) struct Numbers(Vec<Location>);

/// The numbers that are always given.
pub(super) const FLAGS: Id = 0;
pub(super) const WAY: Id = 1;
pub(super) const SOMEWHERE: Id = 2;

impl Default for Numbers {
    fn default() -> Self {
        Numbers(vec![Location::Flags, Location::Way, Location::Somewhere])
    }
}

impl Numbers {
    /// The number of a place, a new one if need be; `None` if there are too many.
    pub(super) fn of(&mut self, place: &Location) -> Option<Id> {
        let at = match self.0.iter().position(|known| known == place) {
            Some(at) => at,
            None if self.0.len() < MAX_PLACES => {
                self.0.push(place.clone());
                self.0.len() - 1
            }
            None => return None,
        };
        Some(at as Id)
    }

    pub(super) fn place(&self, id: Id) -> &Location {
        &self.0[usize::from(id)]
    }
}

/// What a place holds, as far as that is known exactly.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Exact {
    Constant(u32),
    /// What a place held at the beginning, and a constant.
    Copy(Id, i32),
    Unknown,
}

/// What a place holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
        Value { exact: Exact::Constant(value), ..Value::made(Places::NONE) }
    }

    pub(super) fn copy(of: Id) -> Self {
        let one = Places::one(of);
        Value { exact: Exact::Copy(of, 0), parts: one, addends: one, kept: one }
    }

    /// Something made of these places.
    pub(super) fn made(parts: Places) -> Self {
        Value { exact: Exact::Unknown, parts, addends: Places::NONE, kept: Places::NONE }
    }

    pub(super) fn plus(self, by: i32) -> Self {
        let exact = match self.exact {
            Exact::Constant(value) => Exact::Constant(value.wrapping_add_signed(by)),
            Exact::Copy(of, sum) => Exact::Copy(of, sum.wrapping_add(by)),
            Exact::Unknown => Exact::Unknown,
        };
        let kept = if by == 0 { self.kept } else { Places::NONE };
        Value { exact, kept, ..self }
    }

    /// The same with a carry, which is no part of itself, and what else is added.
    pub(super) fn with_carry(self, carry: Places, others: Places) -> Self {
        let addends = self.addends.without(others);
        Value { addends, ..Value::made(self.parts.with(carry).with(others)) }
    }

    /// A sum, or a difference.
    pub(super) fn sum(self, other: Value, minus: bool) -> Self {
        match (self.exact, other.exact) {
            (_, Exact::Constant(by)) if minus => return self.plus((by as i32).wrapping_neg()),
            (_, Exact::Constant(by)) => return self.plus(by as i32),
            (Exact::Constant(by), _) if !minus => return other.plus(by as i32),
            _ => {}
        }
        let own = self.addends.without(other.parts);
        let theirs = if minus { Places::NONE } else { other.addends.without(self.parts) };
        Value { addends: own.with(theirs), ..Value::made(self.parts.with(other.parts)) }
    }

    /// What is there where either may be: which of them, the way decides.
    pub(super) fn join(self, other: Value) -> Value {
        if self == other {
            return self;
        }
        let all = |of: fn(&Value) -> Places, stays: &dyn Fn(Value, Id) -> bool| -> Places {
            let both = of(&self).with(of(&other)).iter();
            both.filter(|&id| stays(self, id) && stays(other, id)).collect()
        };
        // A number may go on from what it was on one way, and begin anew on the other.
        let addends = all(|value| value.addends, &|value, id| {
            value.addends.contains(id) || value.parts.is_empty()
        });
        let kept = all(|value| value.kept, &|value, id| {
            value.kept.contains(id) || !value.parts.contains(id)
        });
        let parts = self.parts.with(other.parts).with(Places::one(WAY));
        Value { exact: Exact::Unknown, parts, addends, kept }
    }
}

/// What places hold, by their numbers; those that are not there hold what they did at the
/// beginning.
#[derive(Debug, Clone, Default)]
pub(super) struct State(Vec<Value>);

impl State {
    pub(super) fn get(&self, id: Id) -> Value {
        self.0.get(usize::from(id)).copied().unwrap_or_else(|| Value::copy(id))
    }

    pub(super) fn set(&mut self, id: Id, value: Value) {
        while self.0.len() <= usize::from(id) {
            self.0.push(Value::copy(self.0.len() as Id));
        }
        self.0[usize::from(id)] = value;
    }

    /// Makes of it what holds in it and in another one; whether that changes it.
    pub(super) fn join(&mut self, other: &State) -> bool {
        let mut changed = false;
        for id in 0..self.0.len().max(other.0.len()) as Id {
            let own = self.get(id);
            let both = own.join(other.get(id));
            if both != own {
                self.set(id, both);
                changed = true;
            }
        }
        changed
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Id, &Value)> {
        (0..).zip(&self.0)
    }
}
