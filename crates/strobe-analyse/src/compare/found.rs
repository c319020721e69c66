//! What is found out about the functions of two profiles, for tables, explanations and the verdict.

use strobe_model::measurement::Unit;

use super::certain::Certain;
use super::matching::{How, Match};
use super::words;

/// What was found out about the functions of two profiles.
pub(super) struct Found {
    pub(super) unit: Unit,
    pub(super) rows: Vec<Row>,
    /// All of the measure on each side, and what of it is idle.
    pub(super) all: [i64; 2],
    pub(super) idle: [i64; 2],
    pub(super) sampled: bool,
    /// Runs of each side; several say how they vary.
    pub(super) runs: [usize; 2],
    /// Functions that each side has, and whether their names are known at all.
    pub(super) functions: [usize; 2],
    pub(super) names_known: [bool; 2],
    /// How much more the samples vary than independent ones, as far as that is known.
    pub(super) inflation: Option<f64>,
}

impl Found {
    pub(super) fn is_set(&self) -> bool {
        self.runs != [1, 1]
    }
}

/// One function in both, or in one.
pub(super) struct Row {
    pub(super) name: String,
    pub(super) matched: Match,
    pub(super) own: [i64; 2],
    pub(super) calls: [i64; 2],
    pub(super) certain: Certain,
    /// Whether nothing speaks against its being one function: not a name alone that other programs
    /// have too, as `main`.
    pub(super) is_one: bool,
    /// What became of it, if it is not the same function in both: `new`, `renamed from x`.
    pub(super) state: String,
    /// Why it differs, as far as the data say.
    pub(super) why: String,
}

impl Row {
    pub(super) fn difference(&self) -> i64 {
        self.own[1].saturating_sub(self.own[0])
    }
}

/// The sides whose functions have no names.
pub(super) fn nameless(names_known: [bool; 2], all: [i64; 2]) -> Option<&'static str> {
    // A side that has nothing lacks no names.
    match [0, 1].map(|side: usize| names_known[side] || all[side] == 0) {
        [true, true] => None,
        [false, true] => Some("a"),
        [true, false] => Some("b"),
        [false, false] => Some("both"),
    }
}

/// A sentence of what became of functions that are not the same in both; nothing of those that are.
/// A single one is named, and left out if it is `top`, of which the verdict has all.
pub(super) fn became(found: &Found, top: Option<&Row>) -> Option<String> {
    let of = |how: fn(&Row) -> bool, what: &str| {
        let rows: Vec<&Row> = found.rows.iter().filter(|row| how(row)).collect();
        match rows.as_slice() {
            [] => None,
            [row] if top.is_some_and(|top| std::ptr::eq(*row, top)) => None,
            [row] => Some(format!("{} {}", row.name, row.state)),
            _ => Some(format!("{} {what}", words::grouped(rows.len() as i64))),
        }
    };
    let parts = [
        of(|row| row.matched.how == How::Alone && row.matched.a.is_none(), "new"),
        of(|row| row.matched.how == How::Alone && row.matched.b.is_none(), "gone"),
        of(|row| matches!(row.matched.how, How::Alike(_)), "renamed"),
        of(|row| row.matched.how == How::Moved, "moved to other files"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}
