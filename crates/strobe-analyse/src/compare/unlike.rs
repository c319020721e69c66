//! Findings on what the two sides do not have in common: what makes their figures hard to compare,
//! and what is not compared.

use std::collections::BTreeSet;

use strobe_model::measurement::{Finding, Measurement, Settings, Severity, Unit};
use strobe_model::number::hertz;

/// Lengths of runs that are farther apart are different ones; a limit is reached within some
/// instructions.
pub(super) const LENGTHS_APART: f64 = 0.001;

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
pub(super) fn differing(
    compared: &mut Measurement,
    a: &Measurement,
    b: &Measurement,
    is_set: bool,
) {
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

/// Chips of rigs have figures of their own, which no total of the whole has.
pub(super) fn not_by_part(compared: &mut Measurement, a: &Measurement, b: &Measurement) {
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

/// What one side alone has, or has in another unit.
pub(super) fn one_sided(compared: &mut Measurement, a: &Measurement, b: &Measurement) {
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
