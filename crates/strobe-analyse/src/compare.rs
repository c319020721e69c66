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
mod origins;
mod places;
mod roots;
mod sets;
mod shares;
mod splits;
mod sum;
mod tables;
pub mod threshold;
mod verdict;
mod words;

use std::borrow::Cow;
use std::collections::BTreeSet;

use strobe_model::measurement::{
    Cell, Column, Content, Ended, Finding, Instrument, Measurement, NamedPart, ON_A_CHIP, Quantity,
    Section, Settings, Severity, Subject, Table, Total, Unit, Window,
};
use strobe_model::number::hertz;

use crate::bands::{self, Band};
use certain::Repeated;
use difference::Figure;

pub use sets::compare_sets;

/// The name of how much code ran.
const CODE: &str = "code-run";

/// Figures of a whole run that are no sums.
const EXTREMES: [&str; 4] = ["deepest-stack", "stack-margin", "image-flash", "image-ram"];

/// How figures of heaps begin: windows have a table of their own, these are of the whole run.
const HEAP: &str = "heap-";

/// The instrument whose bounds are those of a model.
const SIMULATED: &str = "simulated board";

/// What an image takes, by the names of the subject's facts.
const OF_IMAGE: [(&str, &str, &str); 2] =
    [("flash", "image-flash", "flash of the image"), ("RAM", "image-ram", "RAM of the image")];

/// Figures of memory for the verdict, the gravest first.
const OF_MEMORY: [&str; 6] =
    ["heap-leaks", "heap-failed", "deepest-stack", "heap-peak", "heap-live", "heap-blocks"];

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
    differing(&mut compared, a, b, repeated.is_set());
    sets::ends(&mut compared, repeated);
    let [(a, of_a), (b, of_b)] = with_bands(&mut compared, [a, b]);
    let bands = [of_a.as_ref(), of_b.as_ref()];
    let (a, b) = (&*a, &*b);
    let a = &*roots::as_in_b(&mut compared, a, b);
    let found = functions::push(&mut compared, [a, b], bands, repeated);
    // Only then instructions.
    let is_code = |section: &Section| section.id.contains("-instructions-");
    let all = std::mem::take(&mut compared.sections);
    let (code, sections): (Vec<Section>, Vec<Section>) = all.into_iter().partition(is_code);
    compared.sections = sections;
    totals(&mut compared, a, b);
    let differing = tables::push(&mut compared, a, b);
    let mut others = distributions::push(&mut compared, a, b);
    if found.is_empty() {
        // Where there are functions, they say what tables would.
        others.extend(shares::push(&mut compared, [a, b], bands));
        others.extend(differing);
    } else {
        let is_same = |row: &found::Row| row.difference() == 0;
        let nothing = others.is_empty() && found.iter().all(|found| found.rows.iter().all(is_same));
        others.extend(memory(a, b, if nothing { 1.0 } else { WORTH_NAMING }));
    }
    compared.sections.extend(code);
    one_sided(&mut compared, a, b);
    not_by_part(&mut compared, a, b);
    verdict::put(&mut compared, &found, &others);
    compared
}

/// Chips of rigs have figures of their own, which no total of the whole has.
fn not_by_part(compared: &mut Measurement, a: &Measurement, b: &Measurement) {
    let is_in = |of: &Measurement, name: &String| of.parts.iter().any(|part| part.name == *name);
    let names = a.parts.iter().map(|part| &part.name).filter(|name| is_in(b, name));
    let names: Vec<&str> = names.map(String::as_str).collect();
    if !names.is_empty() {
        let text = format!(
            "parts that both have are not compared here: {}; --part NAME compares one",
            names.join(", ")
        );
        compared.findings.push(Finding::new(Severity::Warning, "parts", text));
    }
}

/// What a run needs of memory, which its functions do not show: totals of both that differ for
/// certain; of an image what changed by that factor.
fn memory(a: &Measurement, b: &Measurement, worth: f64) -> Vec<String> {
    let image = OF_IMAGE.iter().filter_map(|(name, _, title)| {
        let [x, y] = [a, b].map(|side| Some(fact(side, name)?.value()?.as_f64()));
        let (x, y) = (x?, y?);
        // Nearly every change of code changes it by a few bytes.
        let by = x.max(y) / x.min(y).max(1.0);
        (x != y && by >= worth)
            .then(|| format!("{title} {} -> {} bytes", words::real(x), words::real(y)))
    });
    let each = OF_MEMORY.iter().filter_map(|id| {
        let of_a = a.totals.iter().find(|total| total.id == *id)?;
        // Of another thread it is another figure.
        let same = |total: &&Total| total.id == *id && total.title == of_a.title;
        let of_b = b.totals.iter().find(same)?;
        let (title, x, y) = (&of_a.title, &of_a.quantity, &of_b.quantity);
        let bounds = |quantity: &Quantity| {
            let value = quantity.value()?;
            Some(quantity.trust().bounds().unwrap_or((value, value)))
        };
        let ((x_low, x_high), (y_low, y_high)) = (bounds(x)?, bounds(y)?);
        let differ = x.unit() == y.unit() && (x_high < y_low || y_high < x_low);
        let unit = if *x.unit() == Unit::COUNT { String::new() } else { format!(" {}", x.unit()) };
        let value = |quantity: &Quantity| Some(words::real(quantity.value()?.as_f64()));
        let (x, y) = (value(x)?, value(y)?);
        differ.then(|| format!("{title} {x} -> {y}{unit}"))
    });
    each.chain(image).collect()
}

/// A figure that is known of the subject, whatever was measured.
fn fact<'m>(side: &'m Measurement, name: &str) -> Option<&'m Quantity> {
    side.subject.facts.iter().find(|fact| fact.name == name)?.figure.as_ref()
}

/// Lengths of runs that are farther apart are different ones; a limit is reached within some
/// instructions.
const LENGTHS_APART: f64 = 0.001;

/// Adds a finding that the two are not alike in something.
fn differ(compared: &mut Measurement, code: &str, what: &str, [a, b]: [String; 2]) {
    if a == b {
        return;
    }
    let or_none = |text: &str| if text.is_empty() { "unknown".to_owned() } else { text.to_owned() };
    let (a, b) = (or_none(&a), or_none(&b));
    let text = format!("the {what} differs: {a} (a), {b} (b)");
    compared.findings.push(Finding::new(Severity::Warning, code, text));
}

/// What makes the figures hard to compare.
fn differing(compared: &mut Measurement, a: &Measurement, b: &Measurement, is_set: bool) {
    let both = |of: fn(&Measurement) -> String| [of(a), of(b)];
    let clock = |m: &Measurement| {
        let each = m.subject.clock.iter().map(|span| hertz(span.hz));
        each.collect::<Vec<_>>().join(", ")
    };
    differ(compared, "other-instrument", "instrument", both(|m| m.instrument.kind.clone()));
    differ(compared, "other-tool", "version of strobe", both(|m| m.instrument.tool.clone()));
    differ(compared, "other-board", "board", both(|m| m.subject.board.clone().unwrap_or_default()));
    differ(compared, "other-core", "core", both(|m| m.subject.core.clone().unwrap_or_default()));
    differ(compared, "other-clock", "core clock", both(clock));
    let windows = |m: &Measurement| match m.window.entries {
        Some(n) => n.to_string(),
        None => "the whole run".to_owned(),
    };
    differ(compared, "other-windows", "number of windows", both(windows));
    other_compilers(compared, a, b);
    let inputs = |m: &Measurement| {
        let is_input =
            |name: &str| ["input", "adc", "fuses", "stimulus"].iter().any(|w| name.contains(w));
        let given = m.instrument.settings.iter().filter(|(name, _)| is_input(name));
        given.map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ")
    };
    differ(compared, "other-inputs", "inputs", both(inputs));
    ends(compared, a, b);
    shortened(compared, [a, b]);
    other_settings(compared, [a, b].map(|side| &side.instrument.settings), is_set);
}

/// Settings of the instrument that are not the same: by name, with both values. Runs of a set are
/// shifted against each other.
fn other_settings(compared: &mut Measurement, [a, b]: [&Settings; 2], is_set: bool) {
    let names: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let differ = names.into_iter().filter(|name| a.get(*name) != b.get(*name));
    let differ: Vec<&String> = differ.filter(|name| !is_set || *name != "phase").collect();
    if differ.is_empty() {
        return;
    }
    let shown = |of: &Settings, name: &str| of.get(name).cloned().unwrap_or("none".to_owned());
    let each = differ.iter().map(|name| {
        let (a, b) = (shown(a, name), shown(b, name));
        format!("{name}: {a} (a), {b} (b)")
    });
    let text = format!("settings differ: {}", each.collect::<Vec<_>>().join("; "));
    let evidence = [("a", a), ("b", b)].map(|(side, of)| {
        let value = |name: &String| of.get(name).cloned().unwrap_or_default();
        let values = differ.iter().map(|name| ((*name).clone(), value(name)));
        (side.to_owned(), values.collect())
    });
    let finding = Finding::new(Severity::Note, "other-settings", text);
    compared.findings.push(Finding { evidence: evidence.into(), ..finding });
}

/// Compilers, with their versions and options, that one side alone has anything from: a library may
/// be another one. What is not known of one does not differ.
fn other_compilers(compared: &mut Measurement, a: &Measurement, b: &Measurement) {
    let named = |measurement: &Measurement| -> BTreeSet<String> {
        let facts = measurement.subject.facts.iter().filter(|fact| fact.name == "compiler");
        facts.filter_map(|fact| fact.text.clone()).collect()
    };
    let (of_a, of_b) = (named(a), named(b));
    if of_a.is_empty() || of_b.is_empty() {
        return;
    }
    let only = |here: &BTreeSet<String>, there: &BTreeSet<String>| {
        here.difference(there).map(String::as_str).collect::<Vec<_>>().join(", ")
    };
    let text = match [only(&of_a, &of_b), only(&of_b, &of_a)] {
        [a, b] if a.is_empty() && b.is_empty() => return,
        [a, b] if a.is_empty() => format!("b alone has code of this compiler: {b}"),
        [a, b] if b.is_empty() => format!("a alone has code of this compiler: {a}"),
        [a, b] => format!("the compiler differs: {a} (a), {b} (b)"),
    };
    compared.findings.push(Finding::new(Severity::Warning, "other-compiler", text));
}

/// Runs that somebody or something stopped have no length of their own: what they took is not to be
/// divided by one another in silence.
fn ends(compared: &mut Measurement, a: &Measurement, b: &Measurement) {
    let [end_a, end_b] = [a, b].map(|side| &side.window.ended);
    let mut warn = |code: &str, text: String| {
        compared.findings.push(Finding::new(Severity::Warning, code, text));
    };
    if (&end_a.kind, end_a.code) != (&end_b.kind, end_b.code) {
        warn(
            "other-end",
            format!(
                "they ended for different reasons: {} (a), {} (b); times and sums may not be of \
                 the same work",
                end_a.text, end_b.text
            ),
        );
        return;
    }
    let is_whole = |side: &Measurement| side.window.entries.is_none();
    let ([Some(of_a), Some(of_b)], true) = ([a, b].map(milliseconds), is_whole(a) && is_whole(b))
    else {
        return;
    };
    let are_apart = (of_a - of_b).abs() > LENGTHS_APART * of_a.max(of_b);
    let was_stopped = ["limit", "default-limit", "interrupted"].contains(&end_a.kind.as_str());
    let was_recorded = ["end-of-file", "end-of-recording"].contains(&end_a.kind.as_str());
    if was_stopped && are_apart {
        warn(
            "other-length",
            format!(
                "they were stopped after different times, {of_a:.3} ms (a) and {of_b:.3} ms (b): \
                 compare what each does in \
                 the same time (--until), or the same work (--from, --to)"
            ),
        );
    } else if was_recorded && are_apart {
        // A recording of a board is as long as somebody let it be.
        let is_simulated = |side: &Measurement| side.instrument.kind.starts_with("simulated");
        let both = is_simulated(a) && is_simulated(b);
        let severity = if both { Severity::Warning } else { Severity::Note };
        let text = format!(
            "they are recordings of different lengths, {of_a:.3} ms (a) and {of_b:.3} ms (b): \
             sums and counts are of different times"
        );
        compared.findings.push(Finding::new(severity, "other-length", text));
    } else if was_stopped {
        let text = format!(
            "both were stopped after the same time, {of_a:.3} ms: all together they take the same, \
             and what one function has more, others or idle time have less"
        );
        compared.findings.push(Finding::new(Severity::Note, "same-length", text));
    }
}

/// How long one was, where that is known as a time.
fn milliseconds(side: &Measurement) -> Option<f64> {
    let duration = &side.window.duration;
    let in_one = match duration.unit() {
        unit if *unit == Unit::NANOSECONDS => 1e6,
        unit if *unit == Unit::PICOSECONDS => 1e9,
        _ => return None,
    };
    Some(duration.value()?.as_f64() / in_one)
}

/// A side that was cut off when it was written: what it lacks is not gone, and what is only in the
/// other one is not new.
fn shortened(compared: &mut Measurement, sides: [&Measurement; 2]) {
    for (side, measurement) in ["a", "b"].into_iter().zip(sides) {
        let found = measurement.findings.iter().find(|finding| finding.code == "shortened");
        if let Some(finding) = found {
            let text = format!(
                "{side} was cut off when it was written ({}): rows that only the other side has \
                 may be in both, and functions are not compared; compare whole measurements",
                finding.text
            );
            compared.findings.push(Finding::new(Severity::Warning, "shortened-side", text));
        }
    }
}

/// Two figures of one name.
struct Both {
    id: String,
    title: String,
    unit: Unit,
    a: Figure,
    b: Figure,
}

impl Both {
    /// For programs and for people.
    fn names(&self) -> (&str, &str) {
        (&self.id, &self.title)
    }
}

/// Whether both come from one timing model, of a core with the memory of a board: what that is off,
/// it is off in both, and their difference is without it.
fn shares_model(a: &Measurement, b: &Measurement) -> bool {
    let is_modelled =
        |side: &Measurement| bands::band(side).is_some() || side.total(ON_A_CHIP).is_some();
    let same = |of: fn(&Measurement) -> Option<&str>| of(a) == of(b);
    is_modelled(a)
        && is_modelled(b)
        && same(|side| side.subject.core.as_deref())
        && same(|side| side.subject.board.as_deref())
}

/// Both sides, where they do not share a timing model with what that of each may be off; profiles
/// without it.
fn with_bands<'m>(
    compared: &mut Measurement,
    sides: [&'m Measurement; 2],
) -> [(Cow<'m, Measurement>, Option<Band>); 2] {
    let bands = sides.map(bands::band);
    if shares_model(sides[0], sides[1]) {
        let text = "both rest on one timing model of the core: what that is off, they share, and \
                    the differences are without it";
        compared.findings.push(Finding::new(Severity::Note, "shared-model", text));
        return sides.map(|side| (Cow::Borrowed(side), None));
    }
    if bands.iter().any(Option::is_some) {
        let text = "the two do not rest on one timing model of a core and its memory: what that of \
                    each may be off is in the bounds of its cycles and times";
        compared.findings.push(Finding::new(Severity::Note, "other-model", text));
    }
    let [of_a, of_b] = bands;
    [(sides[0], of_a), (sides[1], of_b)].map(|(side, band)| match band {
        Some(band) => (Cow::Owned(bands::widened(side, &band)), Some(band)),
        None => (Cow::Borrowed(side), None),
    })
}

/// Whether that model is of one board too, so that what waits are off by is the same part of their
/// bounds on both sides.
fn is_one_model(a: &Measurement, b: &Measurement) -> bool {
    let is_simulated = |side: &Measurement| side.instrument.kind == SIMULATED;
    let same = |of: fn(&Measurement) -> Option<&str>| of(a) == of(b);
    is_simulated(a)
        && is_simulated(b)
        && same(|side| Some(&side.instrument.tool))
        && same(|side| side.subject.core.as_deref())
        && same(|side| side.subject.board.as_deref())
}

/// Headline figures that both have, the time in the windows first.
fn pairs(a: &Measurement, b: &Measurement) -> Vec<Both> {
    let both = |id: &str, title: &str, a: &Quantity, b: &Quantity| {
        (a.unit() == b.unit()).then(|| Both {
            id: id.to_owned(),
            title: title.to_owned(),
            unit: a.unit().clone(),
            a: a.into(),
            b: b.into(),
        })
    };
    // Images and dumps have no time.
    let is_known = |pair: &Both| pair.a.value.is_some() || pair.b.value.is_some();
    let time = both("window", "time", &a.window.duration, &b.window.duration).filter(is_known);
    let shared = shares_model(a, b);
    let totals =
        a.totals.iter().filter(|total| !(shared && total.id == ON_A_CHIP)).filter_map(|total| {
            both(&total.id, &total.title, &total.quantity, b.total(&total.id)?)
        });
    let image = OF_IMAGE.iter().filter_map(|(name, id, title)| {
        // `strobe size` has both as totals, by the same words or not.
        both(id, title, fact(a, name)?, fact(b, name)?)
    });
    let code = code::bytes_run(a).zip(code::bytes_run(b));
    let code = code.and_then(|(a, b)| both(CODE, "bytes of code run", &a, &b));
    time.into_iter().chain(totals).chain(image).chain(code).collect()
}

/// Tables of headline figures, one for each unit: a column has one.
fn totals(compared: &mut Measurement, a: &Measurement, b: &Measurement) {
    let pairs = pairs(a, b);
    let one_model = is_one_model(a, b);
    let windows = [a, b].map(|side| side.window.entries.unwrap_or(1));
    let mut units: Vec<&Unit> = Vec::new();
    for pair in &pairs {
        if !units.contains(&&pair.unit) {
            units.push(&pair.unit);
        }
    }
    for unit in units {
        let of_unit = || pairs.iter().filter(|pair| pair.unit == *unit);
        let mut table = side_by_side(unit);
        of_unit().for_each(|pair| table.row(row(pair.names(), &pair.a, &pair.b, one_model)));
        let (id, title) = (kebab(unit), format!("totals: {unit}"));
        compared.push(&format!("totals-{id}"), title, Content::Table(table));
        // What does not add up over windows has no share of each.
        let adds_up = ![Unit::RATIO, Unit::PERCENT, Unit::HERTZ].contains(unit);
        if adds_up && windows.iter().any(|n| *n > 1) {
            let mut table = side_by_side(unit);
            // Each window runs the same code, on the same stacks.
            let is_sum = |pair: &&Both| {
                pair.id != CODE
                    && !EXTREMES.contains(&pair.id.as_str())
                    && !pair.id.starts_with(HEAP)
            };
            for pair in of_unit().filter(is_sum) {
                let (a, b) = (pair.a.divided(windows[0]), pair.b.divided(windows[1]));
                table.row(row(pair.names(), &a, &b, one_model));
            }
            let title = format!("each window, on average: {unit}");
            if !table.is_empty() {
                compared.push(&format!("windows-{id}"), title, Content::Table(table));
            }
        }
    }
}

/// The columns of figures in both.
fn side_by_side(unit: &Unit) -> Table {
    let figure = |id, title| Column::figure(id, title, unit.clone());
    Table::new(vec![
        Column::text("id", "id").worth(0),
        Column::text("title", "figure"),
        figure("a", "a"),
        figure("b", "b"),
        figure("difference", "difference"),
        Column::figure("ratio", "b / a", Unit::RATIO),
    ])
}

fn row((id, title): (&str, &str), a: &Figure, b: &Figure, one_model: bool) -> [Cell; 6] {
    let difference = a.more(b, one_model);
    [id.into(), title.into(), a.into(), b.into(), (&difference).into(), a.ratio(b, one_model)]
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

/// What one side alone has, or has in another unit.
fn one_sided(compared: &mut Measurement, a: &Measurement, b: &Measurement) {
    for (name, side, other) in [("a", a, b), ("b", b, a)] {
        let totals = side.totals.iter().filter(|total| {
            other.total(&total.id).is_none_or(|there| there.unit() != total.quantity.unit())
        });
        let totals = totals.map(|total| (total.id.clone(), total.quantity.unit().to_string()));
        let sections = side.sections.iter().filter(|s| other.section(&s.id).is_none());
        let sections = sections.map(|section| (section.id.clone(), section.title.clone()));
        let groups = [
            ("one-sided-totals", "figures", totals.collect::<Vec<_>>()),
            ("one-sided-sections", "sections", sections.collect()),
        ];
        for (code, what, found) in groups.into_iter().filter(|(_, _, found)| !found.is_empty()) {
            let names: Vec<&str> = found.iter().map(|(id, _)| id.as_str()).collect();
            let text = format!("{what} that only {name} has: {}", names.join(", "));
            let evidence = vec![(name.to_owned(), found)];
            let finding = Finding::new(Severity::Note, code, text);
            compared.findings.push(Finding { evidence, ..finding });
        }
    }
}

#[cfg(test)]
mod cases;
#[cfg(test)]
mod tests;
