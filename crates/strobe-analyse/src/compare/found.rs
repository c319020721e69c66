//! Changes of functions, for tables, explanations and the verdict.

use strobe_model::measurement::Unit;

use super::certain::Certainty;
use super::explain::Cause;
use super::matching::Match;
use super::state::State;

/// Changes of the functions of two profiles, the greatest first.
#[derive(Debug, Clone)]
pub struct FunctionChanges {
    /// The unit of the measure that is compared.
    pub unit: Unit,
    /// A row for each function.
    pub rows: Vec<FunctionChange>,
    /// All of the measure on each side.
    pub all: [i64; 2],
    /// The part of it that is idle.
    pub idle: [i64; 2],
    /// Whether the measure is counted in samples, on both sides.
    pub sampled: bool,
    /// Runs of each side; several show how their figures vary.
    pub runs: [usize; 2],
    /// The number of functions of each side.
    pub functions: [usize; 2],
    /// Whether the names of its functions are known.
    pub names_known: [bool; 2],
    /// How much more the samples vary than independent ones, as far as that is known.
    pub inflation: Option<f64>,
}

/// One function in both, or in one.
#[derive(Debug, Clone)]
pub struct FunctionChange {
    /// Its name in B, or in A if it is in A alone.
    pub name: String,
    /// The functions that are taken for one.
    pub matched: Match,
    /// The measure that each side has by itself.
    pub own: [i64; 2],
    /// How often each side calls it.
    pub calls: [i64; 2],
    /// Whether the difference is more than chance.
    pub certain: Certainty,
    /// Whether nothing speaks against its being one function, as a name that other programs have
    /// too (`main`) does.
    pub is_one: bool,
    /// How it is not the same in both.
    pub state: Option<State>,
    /// Why it differs.
    pub why: Vec<Cause>,
}

/// Sides whose functions have no names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nameless {
    /// The first one.
    A,
    /// The second one.
    B,
    /// Both.
    Both,
}

impl FunctionChanges {
    /// Whether a side has several runs.
    pub fn is_set(&self) -> bool {
        self.runs != [1, 1]
    }

    /// The sides whose functions have no names.
    pub fn nameless(&self) -> Option<Nameless> {
        nameless(self.names_known, self.all)
    }
}

impl FunctionChange {
    /// How much more B has.
    pub fn difference(&self) -> i64 {
        self.own[1].saturating_sub(self.own[0])
    }
}

/// The sides whose functions have no names.
pub(super) fn nameless(names_known: [bool; 2], all: [i64; 2]) -> Option<Nameless> {
    // A side that has nothing lacks no names.
    match [0, 1].map(|side: usize| names_known[side] || all[side] == 0) {
        [true, true] => None,
        [false, true] => Some(Nameless::A),
        [true, false] => Some(Nameless::B),
        [false, false] => Some(Nameless::Both),
    }
}
