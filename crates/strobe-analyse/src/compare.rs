//! Two measurements side by side, whoever made them: totals, functions, tables and distributions,
//! with every difference's bounds.
//!
//! Only what has the same name and the same unit is compared; functions also by what they are made
//! of. What one side alone has, and what makes the two hard to compare (another clock, another
//! board, another instrument), is a finding. The verdict is the first section.

mod amount;
mod certain;
mod code;
mod difference;
mod distributions;
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
mod sum;
mod tables;
pub mod threshold;
mod totals;
mod unlike;
mod verdict;
mod words;

use strobe_model::measurement::{
    Ended, Instrument, Measurement, NamedPart, Section, Subject, Unit, Window,
};

use certain::Repeated;

pub use sets::compare_sets;

/// How figures of heaps begin: windows have a table of their own, these are of the whole run.
const HEAP: &str = "heap-";

/// What grows or falls by less than this factor is not in the verdict, unless it is exceptional.
const WORTH_NAMING: f64 = 1.1;

/// Compares `b` with `a`: differences are what `b` has more.
pub fn compare(a: &Measurement, b: &Measurement) -> Measurement {
    let mut compared = of_two(a, b, &Repeated::default());
    let part = |name: &str, side: &Measurement| NamedPart {
        name: name.to_owned(),
        measurement: side.clone(),
    };
    compared.parts = vec![part("a", a), part("b", b)];
    compared
}

/// Compares two runs; further ones say how their figures vary.
fn of_two(a: &Measurement, b: &Measurement, repeated: &Repeated) -> Measurement {
    let subject = Subject {
        kind: "comparison".to_owned(),
        name: format!("{} and {}", a.subject.name, b.subject.name),
        ..Subject::default()
    };
    let tool = format!("strobe {}", env!("CARGO_PKG_VERSION"));
    let instrument = Instrument { kind: "comparison".to_owned(), tool, ..Instrument::default() };
    let window = Window::untimed("each side has a window of its own", Ended::default());
    let mut compared = Measurement::new(subject, instrument, window);
    unlike::differing(&mut compared, a, b, repeated.is_set());
    sets::ends(&mut compared, repeated);
    let [(a, of_a), (b, of_b)] = models::with_bands(&mut compared, [a, b]);
    let bands = [of_a.as_ref(), of_b.as_ref()];
    let (a, b) = (&*a, &*b);
    let a = &*roots::as_in_b(&mut compared, a, b);
    let found = functions::push(&mut compared, [a, b], bands, repeated);
    // Only then instructions.
    let is_code = |section: &Section| section.id.contains("-instructions-");
    let all = std::mem::take(&mut compared.sections);
    let (code, sections): (Vec<Section>, Vec<Section>) = all.into_iter().partition(is_code);
    compared.sections = sections;
    totals::push(&mut compared, a, b);
    let differing = tables::push(&mut compared, a, b);
    let mut others = distributions::push(&mut compared, a, b);
    if found.is_empty() {
        // Where there are functions, they say what tables would.
        others.extend(shares::push(&mut compared, [a, b], bands));
        others.extend(differing);
    } else {
        let is_same = |row: &found::Row| row.difference() == 0;
        let nothing = others.is_empty() && found.iter().all(|found| found.rows.iter().all(is_same));
        others.extend(memory::changes(a, b, if nothing { 1.0 } else { WORTH_NAMING }));
    }
    compared.sections.extend(code);
    unlike::one_sided(&mut compared, a, b);
    unlike::not_by_part(&mut compared, a, b);
    verdict::put(&mut compared, &found, &others);
    compared
}

/// A section's name that no other one has: what is compared may be comparisons.
fn free(compared: &Measurement, id: &str) -> String {
    let ids = std::iter::once(id.to_owned()).chain((2..).map(|n: u32| format!("{id}-{n}")));
    let mut free = ids.filter(|id| compared.section(id).is_none());
    free.next().unwrap_or_default()
}

/// A unit as a part of a section's name.
fn kebab(unit: &Unit) -> String {
    let dashed = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    unit.0.chars().map(dashed).collect()
}

#[cfg(test)]
mod cases;
#[cfg(test)]
mod tests;
