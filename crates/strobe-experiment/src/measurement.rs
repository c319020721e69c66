//! The measurement of rounds: what is exact first, then verdicts, spreads, the machine meanwhile.

use strobe_analyse::statistics::change::WarmUp;
use strobe_model::measurement::ids;
use strobe_model::measurement::{
    Cell, Column, Content, Distribution, Distributions, Ended, Finding, Instrument, Measurement,
    Quantity, Section, Severity, Spread, Subject, Table, Trust, Unit, Window,
};

use crate::counts;
use crate::events;
use crate::host::Counted;
use crate::judge::{Comparison, Judgement, judge, words};
use crate::pictures;
use crate::samples::{Metric, Round, Variant};
use crate::settings::Settings;

/// What a measurement is made of.
pub struct Parts<'a> {
    /// What is compared, as in `nginx against h2o`.
    pub title: &'a str,
    /// The variants, the reference first.
    pub variants: &'a [Variant],
    /// Their rounds.
    pub rounds: &'a [Round],
    /// How they were run.
    pub settings: &'a Settings,
    /// Valgrind's counts of each variant, twice, where something was to be counted.
    pub counted: &'a [Vec<Counted>],
    /// The least step of the clock, in nanoseconds.
    pub clock_ns: u64,
    /// Whether the user ended it.
    pub interrupted: bool,
    /// Tool and version.
    pub tool: &'a str,
}

/// Makes it.
pub fn measurement(parts: &Parts) -> Measurement {
    let judgement = judge(parts.variants, parts.rounds, parts.settings);
    let subject =
        Subject { kind: "variants".to_owned(), name: parts.title.to_owned(), ..Subject::default() };
    let mut measurement = Measurement::new(subject, instrument(parts), window(parts, &judgement));
    let rounds = parts.rounds.len() - judgement.warm_up;
    measurement.push_total("rounds", "rounds counted", Quantity::exact(rounds, Unit::COUNT));
    let warm = Quantity::exact(judgement.warm_up, Unit::COUNT);
    measurement.push_total("warm-up-rounds", "rounds of warm-up, not counted", warm);
    findings(parts, &judgement, &mut measurement.findings);
    if let Some(section) = exact(parts, &judgement) {
        measurement.sections.push(section);
    }
    measurement.sections.push(verdicts(parts, &judgement));
    measurement.sections.extend(events::table(parts, &judgement));
    measurement.sections.extend(pictures::side_by_side(parts, &judgement));
    measurement.sections.push(spreads(parts, &judgement));
    measurement.sections.extend(pictures::values(parts, &judgement));
    measurement.sections.extend(pictures::over_time(parts, &judgement));
    measurement.sections.extend(pictures::timeline(parts, &judgement));
    measurement.sections.push(environment(parts));
    measurement
}

pub(crate) fn section(id: &str, title: &str, notes: &[&str], content: Content) -> Section {
    let notes = notes.iter().map(|note| (*note).to_owned()).collect();
    Section { id: id.to_owned(), title: title.to_owned(), notes, content }
}

fn instrument(parts: &Parts) -> Instrument {
    let settings = parts.settings;
    let mut instrument = Instrument {
        kind: "host".to_owned(),
        tool: parts.tool.to_owned(),
        ..Instrument::default()
    };
    let mut set = |name: &str, value: String| instrument.settings.insert(name.to_owned(), value);
    set("seed", settings.seed.to_string());
    set("metric", settings.metric.name().to_owned());
    set("threshold", format!("{} %", settings.threshold * 100.0));
    set("order", "each variant once a round, in random order".to_owned());
    for (n, variant) in parts.variants.iter().enumerate() {
        let name = format!("variant {}", n + 1);
        set(&name, format!("{}: {}", variant.name, variant.command.arguments.join(" ")));
    }
    instrument
}

fn window(parts: &Parts, judgement: &Judgement) -> Window {
    let (kind, text) = match () {
        () if parts.interrupted => ("interrupted", "stopped by the user"),
        () if judgement.is_decided() => ("decided", "every comparison has an answer"),
        () => ("limit", "the time or the rounds given were over"),
    };
    let ended = Ended { kind: kind.to_owned(), text: text.to_owned(), code: None };
    let samples = parts.rounds.iter().flat_map(|round| round.samples.iter().flatten());
    let all: u64 = samples.map(|sample| sample.outcome.wall_ns).sum();
    let duration = Quantity::exact(all, Unit::NANOSECONDS);
    Window { duration, ..Window::untimed("", ended) }
}

fn findings(parts: &Parts, judgement: &Judgement, out: &mut Vec<Finding>) {
    for (n, (variant, failures)) in parts.variants.iter().zip(&judgement.failures).enumerate() {
        for (why, times) in failures {
            let said = said(parts, n, why);
            let text = format!("{} fails: {why}; it has no time{said}", variant.name);
            let finding = Finding::new(Severity::Warning, "failed", text);
            out.push(Finding { count: *times, ..finding });
        }
    }
    for (n, variant) in parts.variants.iter().enumerate() {
        let samples = parts.rounds.iter().filter_map(|round| round.samples.get(n)?.as_ref());
        let left: u64 = samples.map(|sample| sample.outcome.left_behind).sum();
        if left > 0 {
            let text = format!(
                "{} leaves processes behind, which were killed and are not in its figures",
                variant.name
            );
            let finding = Finding::new(Severity::Warning, "left-behind", text);
            out.push(Finding { count: left, ..finding });
        }
    }
    let (severity, text) = match judgement.steadiness {
        WarmUp::None | WarmUp::TooShort => return instruments(parts, out),
        WarmUp::First(n) => {
            let text = format!("the first {n} rounds are on another level and were left out");
            (Severity::Note, text)
        }
        WarmUp::NotSteady => {
            let text = "a variant changes its level late in the run: it may not be warm yet";
            (Severity::Warning, text.to_owned())
        }
    };
    out.push(Finding::new(severity, "warm-up", text));
    instruments(parts, out);
}

/// What a variant wrote to standard error the first time that it failed like this.
fn said(parts: &Parts, variant: usize, why: &str) -> String {
    let samples = parts.rounds.iter().filter_map(|round| round.samples.get(variant)?.as_ref());
    let mut failed = samples.filter(|sample| sample.failure().as_deref() == Some(why));
    let Some(errors) = failed.find_map(|sample| sample.errors.as_deref()) else {
        return String::new();
    };
    let lines: Vec<&str> = errors.lines().map(str::trim).collect();
    format!("; its standard error ends: {}", lines.join(" / "))
}

/// Instruments that gave nothing.
fn instruments(parts: &Parts, out: &mut Vec<Finding>) {
    counts::findings(parts, out);
    events::findings(parts, out);
}

fn exact(parts: &Parts, judgement: &Judgement) -> Option<Section> {
    let mut rows = counts::rows(parts);
    for (metric, counts) in &judgement.exact {
        rows.push((metric.name().to_owned(), counts.iter().map(|n| Cell::from(*n)).collect()));
    }
    if rows.is_empty() {
        return None;
    }
    let mut columns = vec![Column::text("count", "count")];
    for (n, variant) in parts.variants.iter().enumerate() {
        columns.push(Column::figure(&format!("variant-{}", n + 1), &variant.name, Unit::COUNT));
    }
    for (name, cells) in rows {
        columns[0].cells.push(name.into());
        for (column, cell) in columns[1..].iter_mut().zip(cells) {
            column.cells.push(cell);
        }
    }
    let repeat =
        "These repeat exactly in every run of a variant: no load on the machine moves them.";
    let notes: Vec<&str> = [repeat].into_iter().chain(counts::notes(parts)).collect();
    Some(section(ids::section::EXACT, "exact counts", &notes, Content::Table(Table::new(columns))))
}

fn verdicts(parts: &Parts, judgement: &Judgement) -> Section {
    let metric = &parts.settings.metric;
    let mut table = Table::new(vec![
        Column::text("variant", "variant"),
        Column::text("against", "against"),
        Column::text("verdict", "verdict"),
        Column::figure(ids::column::RATIO, "ratio", Unit::RATIO),
        Column::figure("less", "less in", Unit::COUNT).of(judgement.rounds).worth(2),
        Column::figure("p", "p", Unit::RATIO).worth(1),
    ]);
    let first = parts.variants.first().map_or("", |variant| variant.name.as_str());
    for comparison in &judgement.comparisons {
        let second = &parts.variants[comparison.variant].name;
        let verdict = match &comparison.verdict {
            Some(verdict) => words(verdict, first, second, metric),
            None if judgement.has_failed(comparison.variant) => format!("{second} fails"),
            None => format!("{first} fails"),
        };
        let paired = comparison.paired.as_ref();
        table.row([
            second.as_str().into(),
            first.into(),
            verdict.into(),
            ratio(comparison),
            paired.map(|paired| paired.less).into(),
            paired.map(|paired| paired.p).into(),
        ]);
    }
    let title = format!("verdicts on {}", metric.name());
    let notes = [
        "Ratio: the median of variant / against within rounds, with its 95 % interval (sign test \
         and paired bootstrap). A verdict holds with 95 % for all looks and comparisons together.",
        "8 % faster: it takes 8 % less time.",
    ];
    let notes = if metric.is_time_taken() { &notes[..] } else { &notes[..1] };
    section(ids::section::VERDICTS, &title, notes, Content::Table(table))
}

fn ratio(comparison: &Comparison) -> Cell {
    let Some(paired) = &comparison.paired else { return Cell::Empty };
    let n = paired.pairs as u64;
    match paired.interval {
        Some(interval) => {
            let trust = Trust::Sampled { n, low: interval.low.into(), high: interval.high.into() };
            Cell::Figure { value: Some(paired.ratio.into()), trust }
        }
        None => {
            let why = format!("{n} pairs are too few for an interval");
            Cell::Figure { value: None, trust: Trust::Unknown { why } }
        }
    }
}

/// Samples of a variant that count.
pub(crate) fn values(parts: &Parts, warm_up: usize, variant: usize, metric: &Metric) -> Vec<u64> {
    let rounds = parts.rounds.get(warm_up..).unwrap_or_default();
    let samples = rounds.iter().filter_map(|round| round.samples.get(variant)?.as_ref());
    let good = samples.filter(|sample| sample.failure().is_none());
    good.filter_map(|sample| metric.of(sample)).collect()
}

/// The metrics that are shown: the one asked for first.
fn metrics(parts: &Parts) -> Vec<Metric> {
    let asked = parts.settings.metric.clone();
    let counters = parts.settings.counters.iter().cloned().map(Metric::Counter);
    let all = Metric::ALWAYS.into_iter().chain([Metric::OutputBytes]).chain(counters);
    let all = all.chain(parts.settings.events.iter().copied().map(Metric::Event));
    let mut metrics = vec![asked.clone()];
    let samples = || parts.rounds.iter().flat_map(|round| round.samples.iter().flatten());
    let happens = |metric: &Metric| samples().any(|s| metric.of(s).is_some_and(|n| n > 0));
    metrics.extend(all.filter(|metric| *metric != asked && happens(metric)));
    metrics
}

fn spreads(parts: &Parts, judgement: &Judgement) -> Section {
    let mut distributions = Vec::new();
    for metric in metrics(parts) {
        for (n, variant) in parts.variants.iter().enumerate() {
            let values = values(parts, judgement.warm_up, n, &metric);
            if values.is_empty() || judgement.has_failed(n) {
                continue;
            }
            let name = format!("{} {}", metric.name(), variant.name);
            let spread: Spread = values.iter().copied().collect();
            let distribution = Distribution::exact(name, metric.unit(), spread);
            distributions.push(Distribution { values, ..distribution });
        }
    }
    let mut notes = Vec::new();
    if is_floor(parts) {
        notes.push(
            "Peak memory is at most what is shown: a process begins as a copy of the supervisor, \
             which held as much.",
        );
    }
    let all = Distributions { distributions };
    section("samples", "samples, without warm-up", &notes, Content::Distributions(all))
}

/// Whether a peak is the supervisor's and not the command's.
fn is_floor(parts: &Parts) -> bool {
    let samples = parts.rounds.iter().flat_map(|round| round.samples.iter().flatten());
    let mut outcomes = samples.map(|sample| &sample.outcome);
    outcomes.any(|outcome| outcome.peak_bytes <= outcome.peak_floor_bytes + 512 * 1024)
}

fn environment(parts: &Parts) -> Section {
    let of = |pick: fn(&crate::host::Environment) -> Option<u64>| -> Vec<u64> {
        parts.rounds.iter().filter_map(|round| pick(&round.environment)).collect()
    };
    let rows = [
        ("load average, 1/100", Unit::COUNT, of(|e| e.load_percent)),
        ("stolen by the hypervisor, ticks of 10 ms", Unit::COUNT, of(|e| e.steal_ticks)),
        ("one synchronous write of 4 KiB", Unit::NANOSECONDS, of(|e| e.sync_write_ns)),
        ("step of the clock", Unit::NANOSECONDS, vec![parts.clock_ns]),
    ];
    let distributions = rows.into_iter().map(|(name, unit, values)| {
        let spread: Spread = values.iter().copied().collect();
        let distribution = Distribution::exact(name, unit, spread);
        Distribution { values, ..distribution }
    });
    let all = Distributions { distributions: distributions.collect() };
    let notes = ["The machine beside each round; in absolute figures every run holds its noise."];
    section("environment", "the machine meanwhile", &notes, Content::Distributions(all))
}
