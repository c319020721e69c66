//! How a function is not the same in both, in a cell.

use strobe_analyse::compare::{LibraryVersion, Origin, State};
use strobe_model::number::{first_of, signed};

/// The number of names in a list; of further ones it has how many there are.
const NAMED: usize = 3;

pub(super) fn text(state: &State) -> String {
    match state {
        State::Renamed { from, alike } => {
            format!("renamed from {from} ({:.0} % alike)", alike * 100.0)
        }
        State::OtherVersion(version) => other_version(version),
        State::Moved { from } => {
            format!("moved from {}", from.as_deref().unwrap_or("another file"))
        }
        State::Split { names, side } => format!("split: {} in {}", named(names), side.letter()),
        State::New(origin) => new(origin),
        State::Gone(origin) => gone(origin),
    }
}

fn new(origin: &Origin) -> String {
    match origin {
        Origin::Nowhere => "new".to_owned(),
        Origin::SoftFloat => "new: soft-float arithmetic".to_owned(),
        Origin::Inlined { hosts, takes } => format!("new: was inlined into {}", at(hosts, *takes)),
        Origin::Part { whole, by } => {
            format!("new: split from {whole}, which takes {} less", signed(*by))
        }
    }
}

fn gone(origin: &Origin) -> String {
    match origin {
        Origin::Nowhere | Origin::SoftFloat => "gone".to_owned(),
        Origin::Inlined { hosts, takes } => format!("gone: inlined into {}", at(hosts, *takes)),
        Origin::Part { whole, by } => {
            format!("gone: now part of {whole}, which takes {} more", signed(*by))
        }
    }
}

/// Functions that another one is inlined into.
fn at(hosts: &[String], takes: i64) -> String {
    format!("{}, where it takes {}", named(hosts), signed(takes))
}

pub(super) fn other_version(version: &LibraryVersion) -> String {
    let [a, b] = &version.versions;
    format!("another version of {}: {a} -> {b}", version.library)
}

/// Names of functions.
pub(super) fn named(names: &[String]) -> String {
    first_of(names, NAMED)
}
