//! Limits of a comparison: those that are exceeded, and those that cannot be judged.

use strobe_analyse::compare::threshold::{Excess, Unjudged};

use super::findings::no_symbols;
use super::state;
use super::words::real;

/// A limit that is exceeded, with both figures.
pub(super) fn exceeded(excess: &Excess) -> String {
    let Excess { function, sides: [a, b], shares, percent } = excess;
    let of = function.as_deref().unwrap_or("all functions");
    let [of_a, of_b] = [*a, *b].map(|side| figure(side, *shares));
    if *a == 0.0 {
        return format!("{of}: {of_b} instead of nothing, limit +{percent} %");
    }
    let by = (b - a) * 100.0 / a;
    format!("{of}: {of_a} -> {of_b}, {by:+.1} %, limit +{percent} %")
}

fn figure(side: f64, is_share: bool) -> String {
    if is_share { format!("{side:.2} % of the samples") } else { real(side) }
}

/// Why a limit cannot be judged.
#[must_use]
pub fn unjudged(error: &Unjudged) -> String {
    match error {
        Unjudged::NoFunctions => "no functions that both sides have are compared".to_owned(),
        Unjudged::NoSymbols { function, sides } => format!("{function}: {}", no_symbols(*sides)),
        Unjudged::NoSuchFunction(function) => format!("no function {function} is compared"),
        Unjudged::OnlyInA { function, state } => {
            let state = state.as_ref().map_or_else(|| "gone".to_owned(), state::text);
            format!("{function} is in a alone ({state}): a limit that it has holds nothing")
        }
        Unjudged::UnknownFigure(function) => {
            let of = function.as_deref().unwrap_or("all functions");
            format!("{of}: not known of both sides")
        }
        Unjudged::NothingIdle => {
            "all functions together: nothing is idle, and both sides have all of the time that \
             was measured, so that none can have more; give a limit for a function, or measure \
             the same work (--until PLACE, --from, --to)"
                .to_owned()
        }
    }
}
