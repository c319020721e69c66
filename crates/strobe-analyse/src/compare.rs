//! Two measurements side by side, whoever made them: totals, functions, tables and distributions,
//! with every difference's bounds.
//!
//! Only what has the same name and the same unit is compared; functions also by what they are made
//! of. What one side alone has, and what makes the two hard to compare (another clock, another
//! board, another instrument), is an [`Unlike`]. Nothing here is a sentence: `strobe-report` makes
//! a measurement with sentences of a [`Comparison`].

mod amount;
mod certain;
mod change;
mod code;
mod comparison;
mod difference;
mod distributions;
mod division;
mod explain;
mod found;
mod functions;
mod groups;
mod instructions;
mod lines;
mod matching;
mod measures;
mod memory;
mod models;
mod origins;
mod places;
mod roots;
mod sets;
mod shares;
mod splits;
mod state;
mod sum;
mod tables;
pub mod threshold;
mod totals;
mod unlike;
mod verdict;

use strobe_model::measurement::{
    Ended, Instrument, Measurement, NamedPart, Section, Subject, Unit, Window,
};

use certain::Repeated;

pub use certain::{Certainty, Doubt, RATE};
pub use change::{Change, Longest};
pub use comparison::{Comparison, Note, SideId, StatedColumn, Statement};
pub use explain::{Cause, FetchUnit, Rate};
pub use found::{FunctionChange, FunctionChanges, Nameless};
pub use matching::{Match, MatchKind};
pub use origins::{LibraryVersion, SoftFloat};
pub use roots::Root;
pub use sets::compare_sets;
pub use state::{Origin, State};
pub use unlike::{OneSided, Setting, Unlike};
pub use verdict::{
    Amount, Basis, Became, BecameKind, Changed, Confidence, Obstacle, SameTime, TotalChange,
    Verdict, Whole, WholePart,
};

/// The kind of subject and instrument of a comparison.
const COMPARISON: &str = "comparison";

/// How figures of heaps begin: windows have a table of their own, these are of the whole run.
const HEAP: &str = "heap-";

/// What grows or falls by less than this factor is not in the verdict, unless it is exceptional.
const WORTH_NAMING: f64 = 1.1;

/// Compares `b` with `a`: differences are what `b` has more.
pub fn compare(a: &Measurement, b: &Measurement) -> Comparison {
    let mut compared = of_two(a, b, &Repeated::default());
    compared.measurement.parts = SideId::BOTH
        .into_iter()
        .zip([a, b])
        .map(|(side, measurement)| NamedPart {
            name: side.letter().to_owned(),
            measurement: measurement.clone(),
        })
        .collect();
    compared
}

/// Compares two runs; further ones show how their figures vary.
fn of_two(a: &Measurement, b: &Measurement, repeated: &Repeated) -> Comparison {
    let mut compared = Comparison::new(empty(), [a, b].map(|side| side.subject.name.clone()));
    unlike::differing(&mut compared, [a, b], repeated.is_set());
    sets::ends(&mut compared, repeated);
    let [(a, of_a), (b, of_b)] = models::with_bands(&mut compared, [a, b]);
    let bands = [of_a.as_ref(), of_b.as_ref()];
    let (a, b) = (&*a, &*b);
    let a = &*roots::as_in_b(&mut compared, a, b);
    functions::push(&mut compared, [a, b], bands, repeated);
    // Only then instructions.
    let is_code = |section: &Section| section.id.contains("-instructions-");
    let all = std::mem::take(&mut compared.measurement.sections);
    let (code, sections): (Vec<Section>, Vec<Section>) = all.into_iter().partition(is_code);
    compared.measurement.sections = sections;
    totals::push(&mut compared, a, b);
    let differing = tables::push(&mut compared, a, b);
    let mut others = distributions::push(&mut compared, a, b);
    if compared.functions.is_empty() {
        // Where there are functions, they show what tables would.
        others.extend(shares::push(&mut compared, [a, b], bands));
        others.extend(differing);
    } else {
        let is_same = |found: &FunctionChanges| found.rows.iter().all(|row| row.difference() == 0);
        let nothing = others.is_empty() && compared.functions.iter().all(is_same);
        others.extend(memory::changes(a, b, if nothing { 1.0 } else { WORTH_NAMING }));
    }
    compared.measurement.sections.extend(code);
    unlike::one_sided(&mut compared, a, b);
    unlike::not_by_part(&mut compared, a, b);
    verdict::put(&mut compared, others);
    compared
}

/// A measurement of nothing yet. It has no name: that of both sides is for a report to make.
fn empty() -> Measurement {
    let subject = Subject { kind: COMPARISON.to_owned(), ..Subject::default() };
    let tool = format!("strobe {}", env!("CARGO_PKG_VERSION"));
    let instrument = Instrument { kind: COMPARISON.to_owned(), tool, ..Instrument::default() };
    Measurement::new(subject, instrument, Window::untimed("", Ended::default()))
}

/// A unit as a part of a section's name.
fn kebab(unit: &Unit) -> String {
    let dashed = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    unit.0.chars().map(dashed).collect()
}

#[cfg(test)]
mod tests;
