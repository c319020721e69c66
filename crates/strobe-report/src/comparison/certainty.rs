//! Whether a difference is more than chance, in a cell.

use strobe_analyse::compare::{Certainty, Doubt, Nameless};

use super::words::real;

/// A chance of a false alarm below this is not printed with its digits.
const LEAST_CHANCE: f64 = 0.001;

pub(super) fn text(certainty: &Certainty) -> String {
    match certainty {
        Certainty::Equal => "equal".to_owned(),
        Certainty::Yes => "yes".to_owned(),
        Certainty::Test(chance) if *chance < LEAST_CHANCE => "yes, q < 0.001".to_owned(),
        Certainty::Test(chance) => format!("yes, q {chance:.3}"),
        Certainty::Undecided(Doubt::Bounds) => "undecided".to_owned(),
        Certainty::Undecided(doubt) => format!("undecided: {}", reason(doubt)),
    }
}

fn reason(doubt: &Doubt) -> String {
    let reason = match doubt {
        Doubt::Bounds => "within the bounds of both",
        Doubt::UnknownFigure => "not known of both",
        Doubt::NeedsSamples(times) => return format!("needs {}x", real(*times)),
        Doubt::NoDifference => "no difference in sight",
        Doubt::OneRun => "one run of a side: give several of each",
        Doubt::RunsVary => "runs vary as much",
        Doubt::TimingModels => "the timing models may be off by as much",
        Doubt::NoNames(Nameless::A) => "no names in a",
        Doubt::NoNames(Nameless::B) => "no names in b",
        Doubt::NoNames(Nameless::Both) => "no names in both",
    };
    reason.to_owned()
}
