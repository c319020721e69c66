//! How a function is not the same in both: renamed, moved, split, inlined, new or gone.

use super::comparison::SideId;
use super::explain::groups;
use super::groups::{Group, Side, base};
use super::matching::{Match, MatchKind};
use super::origins::{self, LibraryVersion};
use super::splits;

/// How a function is not the same in both.
#[derive(Debug, Clone, PartialEq)]
pub enum State {
    /// It has another name in A.
    Renamed {
        /// That name.
        from: String,
        /// The part of the instructions that is alike, from 0 to 1.
        alike: f64,
    },
    /// It is from another version of its library.
    OtherVersion(LibraryVersion),
    /// It is in another file in A.
    Moved {
        /// That file, if it is known.
        from: Option<String>,
    },
    /// One side has clones of it.
    Split {
        /// The names that the other side does not have.
        names: Vec<String>,
        /// That side.
        side: SideId,
    },
    /// It is in B alone.
    New(Origin),
    /// It is in A alone.
    Gone(Origin),
}

/// Where a function of one side is on the other.
#[derive(Debug, Clone, PartialEq)]
pub enum Origin {
    /// Nowhere.
    Nowhere,
    /// Nowhere, and it is arithmetic of floating-point numbers.
    SoftFloat,
    /// It is inlined there.
    Inlined {
        /// The functions that it is inlined into.
        hosts: Vec<String>,
        /// What its lines take there.
        takes: i64,
    },
    /// It is a part of another function there.
    Part {
        /// That function.
        whole: String,
        /// By how much its figure differs.
        by: i64,
    },
}

/// How a function is not the same in both.
pub(super) fn state(sides: &[Side; 2], all: &[Match], matched: &Match) -> Option<State> {
    let [a, b] = groups(sides, matched);
    match (a, b, matched.how) {
        (Some(a), Some(_), MatchKind::Alike(alike)) => {
            Some(State::Renamed { from: a.name.clone(), alike })
        }
        (Some(a), Some(b), MatchKind::Moved) => Some(match origins::version(a, b) {
            Some(version) => State::OtherVersion(version),
            None => State::Moved { from: a.file.clone() },
        }),
        (Some(a), Some(b), _) => clones(a, b),
        (Some(a), None, _) => {
            let origin = hosts(&sides[1], &a.name).or_else(|| splits::origin(sides, all, matched));
            Some(State::Gone(origin.unwrap_or(Origin::Nowhere)))
        }
        (None, Some(b), _) => Some(State::New(match hosts(&sides[0], &b.name) {
            Some(hosts) => hosts,
            None if origins::is_soft_float(&b.name) => Origin::SoftFloat,
            None => splits::origin(sides, all, matched).unwrap_or(Origin::Nowhere),
        })),
        (None, None, _) => None,
    }
}

/// Where a function's lines run that has no code of its own.
fn hosts(side: &Side, name: &str) -> Option<Origin> {
    let hosts = side.inlined.get(name)?;
    let takes = hosts.values().fold(0i64, |sum, n| sum.saturating_add(*n));
    let hosts = hosts.keys().map(|at| side.groups[*at].name.clone()).collect();
    Some(Origin::Inlined { hosts, takes })
}

/// Clones that one side alone has.
fn clones(a: &Group, b: &Group) -> Option<State> {
    clones_of(b, a, SideId::B).or_else(|| clones_of(a, b, SideId::A))
}

/// Clones that one side has and the other has not.
fn clones_of(here: &Group, there: &Group, side: SideId) -> Option<State> {
    let names: Vec<String> = here.names.difference(&there.names).cloned().collect();
    let is_clone = names.iter().any(|name| base(name) != *name);
    is_clone.then_some(State::Split { names, side })
}
