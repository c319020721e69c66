//! The code of the two: its names, files and timing models, and how much work it does.

use strobe_analyse::compare::{Nameless, Root, SideId};
use strobe_model::measurement::Unit;
use strobe_model::number::{first_of, signed};

use super::super::words::{counted, real};

pub(super) const SHARED_MODEL: &str = "both rest on one timing model of the core: what that is \
                                       off, they share, and the differences are without it";

pub(super) const OTHER_MODEL: &str = "the two do not rest on one timing model of a core and its \
                                      memory: what that of each may be off is in the bounds of \
                                      its cycles and times";

/// The number of functions whose calls are shown.
const NAMED: usize = 3;

pub(super) fn directories(roots: &[Root]) -> String {
    let each = roots.iter().map(|Root { a, b }| format!("{a} (a) is {b} (b)"));
    format!(
        "built in different directories: {}; files are matched by their paths within, and shown \
         by those of b",
        each.collect::<Vec<_>>().join(", ")
    )
}

pub(super) fn no_files(side: SideId) -> String {
    format!(
        "{} knows no source files (it has no debug information): files and lines are not compared",
        side.letter()
    )
}

/// Another amount of the same work.
pub(super) fn amount(times: f64, share: f64, unit: &Unit, calls: &[(String, [i64; 2])]) -> String {
    let each =
        calls.iter().map(|(name, [a, b])| format!("{name} {} -> {}", signed(*a), signed(*b)));
    let each: Vec<String> = each.collect();
    format!(
        "b does {} times as much of the same work: what takes {:.0} % of the {unit} is called so \
         many times as often ({}); compare what a call takes, or the same work (--from, --to)",
        real(times),
        share * 100.0,
        first_of(each, NAMED)
    )
}

pub(in super::super) fn no_symbols(sides: Nameless) -> String {
    let sides = match sides {
        Nameless::A => "a has",
        Nameless::B => "b has",
        Nameless::Both => "a and b have",
    };
    format!(
        "{sides} no names of functions: only sums are compared; take the firmware with its \
         symbols, or a measurement of it"
    )
}

pub(super) fn other_programs(functions: [usize; 2], both: usize, shares: [f64; 2]) -> String {
    let [a, b] = functions;
    let [share_a, share_b] = shares.map(|share| share * 100.0);
    format!(
        "these look like two different programs: of {} (a) and {b} (b) {} in both, with \
         {share_a:.1} % of what a takes and {share_b:.1} % of what b takes",
        counted(a, "function"),
        if both == 1 { "1 is".to_owned() } else { format!("{both} are") },
    )
}
