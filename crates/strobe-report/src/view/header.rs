//! What was measured, with what, when, how much of it was seen, and the headline figures.

use std::io::{self, Write};
use strobe_model::measurement::ids;

use strobe_model::measurement::{
    Fact, Measurement, Moment, Number, Quantity, Subject, Total, Trust, Unit,
};

use super::figure::{number, sentence, unit_name, with_unit};
use super::settings::{clock, setting};
use super::{Page, View};
use crate::number::{counted, share};
use crate::paint::Paint;
use crate::text::layout::fields;
use crate::words::{clean, folded};

/// The first lines of a report.
pub(super) struct Header;

impl View for Header {
    fn write(&self, page: &Page, out: &mut dyn Write) -> io::Result<()> {
        let measurement = page.measurement;
        for line in folded(&title(&measurement.subject), page.options.style.width.max(20)) {
            writeln!(out, "{}", Paint::Strong.on(&line, page.options.style))?;
        }
        let lines: Vec<_> = about(measurement).into_iter().chain(figures(measurement)).collect();
        let lines: Vec<(&str, String)> =
            lines.iter().map(|(name, text)| (name.as_str(), text.clone())).collect();
        fields(&lines, page.options, out)
    }
}

/// `threads.elf on stm32f070cb (Cortex-M0)`.
pub(crate) fn title(subject: &Subject) -> String {
    let name = if subject.name.is_empty() { &subject.kind } else { &subject.name };
    let board = subject.board.as_ref().map_or_else(String::new, |b| format!(" on {b}"));
    let core = subject.core.as_ref().map_or_else(String::new, |core| format!(" ({core})"));
    clean(&format!("{name}{board}{core}"))
}

/// What was measured, and with what.
pub(crate) fn about(measurement: &Measurement) -> Vec<(String, String)> {
    let subject = &measurement.subject;
    let mut lines = Lines::default();
    let kind = if subject.kind.is_empty() { "subject" } else { &subject.kind };
    lines.push(kind, build(subject));
    let facts = subject.facts.iter().filter(|fact| size(fact).is_none());
    // Compilers distinguish builds for programs; build ids do so for people.
    for fact in facts.filter(|fact| fact.name != "compiler") {
        let figure = fact.figure.as_ref().map(with_unit);
        let text: Vec<String> = fact.text.clone().into_iter().chain(figure).collect();
        lines.push(&fact.name, Some(text.join(", ")));
    }
    lines.push("measured by", instrument(measurement));
    let mut environment = measurement.instrument.environment.clone();
    lines.push("recorded from", environment.remove("source"));
    lines.push("with", Some(joined(&environment)));
    let clocks: Vec<(u64, u32)> = subject.clock.iter().map(|c| (c.cycle, c.hz)).collect();
    lines.push("clock", clock(&clocks));
    lines.0
}

/// When, how much of it was seen, the headline figures, and what is missing.
pub(crate) fn figures(measurement: &Measurement) -> Vec<(String, String)> {
    let mut lines = Lines::default();
    // Of what is no run there is nothing to say of time.
    let window = &measurement.window;
    let has_ended = !window.ended.text.is_empty() || window.duration.value().is_some();
    lines.push("time", has_ended.then(|| time(measurement)));
    lines.push("ended", Some(window.ended.text.clone()));
    for total in &measurement.totals {
        lines.push(&total.title, Some(headline(measurement, total)));
    }
    lines.push("lost", lost(measurement));
    let cost = |cost: &Quantity| {
        let nothing = cost.value().is_some_and(|value| value.as_f64() == 0.0);
        (!nothing).then(|| match cost.value() {
            Some(_) => format!("{} spent by the target on being measured", with_unit(cost)),
            None => sentence(cost),
        })
    };
    lines.push("overhead", measurement.coverage.overhead.as_ref().and_then(cost));
    lines.0
}

/// Names with texts; none without a text.
#[derive(Default)]
struct Lines(Vec<(String, String)>);

impl Lines {
    fn push(&mut self, name: &str, text: Option<String>) {
        self.0.extend(text.filter(|text| !text.is_empty()).map(|text| (clean(name), text)));
    }
}

/// The beginning of its identity, and its sizes: `build id e4e98927a888, 908 bytes of flash`.
fn build(subject: &Subject) -> Option<String> {
    let first = |hex: &str| hex.chars().take(12).collect::<String>();
    let id = match (&subject.build_id, &subject.sha256) {
        (Some(id), _) => Some(format!("build id {}", first(id))),
        (None, Some(hash)) => Some(format!("SHA-256 {}...", first(hash))),
        (None, None) => None,
    };
    let sizes = subject.facts.iter().filter_map(size);
    let parts: Vec<String> = id.into_iter().chain(sizes).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// A fact in bytes without further words, as a part of a sentence.
fn size(fact: &Fact) -> Option<String> {
    let figure =
        fact.figure.as_ref().filter(|f| *f.unit() == Unit::BYTES && fact.text.is_none())?;
    Some(format!("{} of {}", with_unit(figure), fact.name))
}

fn joined(settings: &strobe_model::measurement::Settings) -> String {
    let all = settings.iter().map(|(name, value)| setting(name, value));
    all.collect::<Vec<_>>().join(", ")
}

fn instrument(measurement: &Measurement) -> Option<String> {
    let instrument = &measurement.instrument;
    let who = [&instrument.kind, &instrument.tool].map(String::as_str);
    let who: Vec<&str> = who.into_iter().filter(|text| !text.is_empty()).collect();
    let settings = joined(&instrument.settings);
    let parts = [who.join(", "), settings];
    let parts: Vec<String> = parts.into_iter().filter(|text| !text.is_empty()).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// How long it was, and how much of it was measured.
fn time(measurement: &Measurement) -> String {
    let (window, coverage) = (&measurement.window, &measurement.coverage);
    let length = match window.duration.value() {
        Some(_) if *window.duration.unit() == Unit::NANOSECONDS => short(&window.duration),
        _ => with_unit(&window.duration),
    };
    // A recording may begin long after the run did.
    let is_simulated = measurement.instrument.kind.starts_with("simulated");
    let (simulated, all_of_it) = match (is_simulated, window.ended.kind.as_str()) {
        (true, _) => (" simulated", "the whole run"),
        (false, "interrupted" | "cut-short") => ("", "what was read of the recording"),
        (false, _) => ("", "the whole recording"),
    };
    let entries = window.entries.unwrap_or(1);
    let both = coverage.seen.as_ref().zip(coverage.whole.as_ref());
    let known = both.and_then(|(seen, whole)| Some((seen, whole, seen.value()?, whole.value()?)));
    let Some((seen, whole, part, all)) = known else {
        let windows = (entries > 1).then(|| format!(" in {}", counted(entries, "window")));
        return length + &windows.unwrap_or_default();
    };
    if part == all && entries <= 1 {
        let begin = window.begin.nanoseconds.filter(|ns| *ns != 0 && window.begin.cycle.is_none());
        let begin = begin.map_or_else(String::new, |ns| {
            let at = crate::number::moment(ns.saturating_mul(1000), 9);
            format!("; begins at {at} s of its own clock")
        });
        return format!("{length}{simulated}, {all_of_it}{begin}");
    }
    let unit = unit_name(whole.unit()).unwrap_or_default();
    let part = format!(
        "{} of {} {unit} run ({})",
        short(seen),
        short(whole),
        share(part.as_u64(), all.as_u64())
    );
    let begins_later = window.begin.cycle.or(window.begin.nanoseconds.map(i64::unsigned_abs));
    if entries <= 1 && begins_later.unwrap_or(0) == 0 {
        return format!("{length}, {part}");
    }
    let windows = counted(entries, "window");
    let at = |what: &str, moment: &Moment| {
        moment_text(moment, window.duration.trust()).map(|at| format!("{what} {at}"))
    };
    let edges = [at("the first begins at", &window.begin), at("the last ends at", &window.end)];
    let edges: Vec<String> = edges.into_iter().flatten().collect();
    let edges = if edges.is_empty() { String::new() } else { format!("; {}", edges.join(", ")) };
    format!("{length} in {windows}, {part}{edges}")
}

/// A figure behind its sign; its bounds are those of another one nearby.
fn short(quantity: &Quantity) -> String {
    let zero = quantity.value().is_some_and(|value| value.as_f64() == 0.0);
    let text = super::figure::cell(quantity.value(), quantity.trust(), quantity.unit());
    if zero { text.trim_start_matches('~').to_owned() } else { text }
}

fn moment_text(moment: &Moment, trust: &Trust) -> Option<String> {
    let sign = super::figure::sign(trust);
    let time = moment.nanoseconds.map(|ns| number(Number::from(ns), &Unit::NANOSECONDS));
    let cycle = moment.cycle.map(|cycle| format!("cycle {}", crate::grouped(cycle)));
    time.map(|time| format!("{sign}{time}")).or(cycle)
}

/// A total; what is idle with its share, what leaves idle cycles out with that.
fn headline(measurement: &Measurement, total: &Total) -> String {
    let quantity = &total.quantity;
    let idle = measurement.total(ids::total::IDLE).and_then(Quantity::value);
    let has_idle = idle.is_some_and(|idle| idle.as_f64() > 0.0);
    let unit = quantity.unit();
    match (total.id.as_str(), quantity.value()) {
        ("idle", Some(part)) => {
            let whole = measurement.total(&unit.0);
            let Some((whole, all)) = whole.and_then(|whole| Some((whole, whole.value()?))) else {
                return with_unit(quantity);
            };
            let of = format!("{} of {} {unit}", short(quantity), short(whole));
            format!("{of} ({})", share(part.as_u64(), all.as_u64()))
        }
        ("cycles-per-instruction", Some(_)) if has_idle => {
            format!("{}, without idle cycles", sentence(quantity))
        }
        _ if total.title == unit.0 || total.id == unit.0 => sentence(quantity),
        _ => with_unit(quantity),
    }
}

/// What is missing; nothing where nothing is.
fn lost(measurement: &Measurement) -> Option<String> {
    let lost = measurement.coverage.lost.as_ref()?;
    let Some(part) = lost.value() else { return Some(sentence(lost)) };
    if part.as_f64() == 0.0 && *lost.trust() == Trust::Exact {
        return None;
    }
    let whole = measurement.coverage.whole.as_ref().filter(|whole| whole.unit() == lost.unit());
    let of = whole.and_then(|whole| Some((whole, whole.value()?)));
    Some(match of {
        Some((whole, all)) => format!(
            "{} of {} ({})",
            sentence(lost),
            with_unit(whole),
            share(part.as_u64(), all.as_u64())
        ),
        None => with_unit(lost),
    })
}
