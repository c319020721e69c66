//! Who ran and what happened meanwhile: threads, interrupts, transfers, timers, pauses of the
//! tracer.

use crate::archive::report::ThreadsSeen;
use strobe_decode::summary::ValueSummary;
use strobe_model::measurement::ids;
use strobe_model::measurement::{
    Cell, Column, Content, Distributions, Finding, Loss, Measurement, Parts, Quantity, Severity,
    Table, Unit,
};

use super::events::About;
use crate::measuring::{balance, count, distributions};

/// Adds the sections.
pub(super) fn push(measurement: &mut Measurement, about: &About) {
    threads(measurement, about);
    interrupts(measurement, about);
    transfers(measurement, about);
    timers(measurement, about);
    pauses(measurement, about);
}

fn time(id: &str, title: &str) -> Column {
    Column::figure(id, title, Unit::NANOSECONDS)
}

/// Adds distributions of times, if there are any values.
fn spreads<'a>(
    measurement: &mut Measurement,
    (id, title): (&str, &str),
    all: impl IntoIterator<Item = (String, Option<&'a ValueSummary>)>,
) {
    let distributions = distributions(&Unit::NANOSECONDS, all);
    if !distributions.is_empty() {
        let content = Content::Distributions(Distributions { distributions });
        measurement.push(id, title, content);
    }
}

fn threads(measurement: &mut Measurement, about: &About) {
    let Some(threads) = &about.report.threads else { return };
    let mut table = Table::new(vec![
        Column::text("thread", "thread"),
        count("number", "number").worth(1),
        count("runs", "runs"),
        time("time", "time").of(threads.total_ns),
        count("unannounced-runs", "runs without a start").worth(0),
        time("unannounced-time", "in them").worth(0),
    ]);
    for thread in &threads.threads {
        let ns = thread.running_ns.saturating_add(thread.unannounced_ns);
        table.row([
            about.thread(thread.id, thread.name.as_deref()).into(),
            thread.id.into(),
            about.count(thread.runs.saturating_add(thread.unannounced_runs)),
            about.timed(ns, threads.unknown_ns).into(),
            thread.unannounced_runs.into(),
            thread.unannounced_ns.into(),
        ]);
    }
    let rest = [
        ("between threads", threads.switching_ns),
        ("not known who ran", threads.unknown_ns),
        ("all", threads.total_ns),
    ];
    for (what, ns) in rest {
        let [number, runs, unannounced, within] = [const { Cell::Empty }; 4];
        table.footer.push(vec![what.into(), number, runs, ns.into(), unannounced, within]);
    }
    let of = if about.report.window.is_some() { "inside marks" } else { "of the trace" };
    measurement.push(ids::section::THREADS, format!("threads: time {of}"), Content::Table(table));
    thread_balance(measurement, threads);
    // Tracers that have stop and start in one event have none.
    let gaps = threads.gaps.as_ref().filter(|gaps| gaps.max > 0);
    let name = "stop to next start".to_owned();
    spreads(
        measurement,
        ("switches", "from one thread's stop to the next one's start"),
        [(name, gaps)],
    );
}

fn thread_balance(measurement: &mut Measurement, threads: &ThreadsSeen) {
    let times = threads.threads.iter().map(|t| t.running_ns.saturating_add(t.unannounced_ns));
    let attributed = times.fold(0, u64::saturating_add);
    let known = attributed.saturating_add(threads.switching_ns);
    if known > threads.total_ns {
        let text =
            "times of threads are more than there was: events are not in the order of their times";
        let finding = Finding::new(Severity::Warning, "threads-overlap", text);
        measurement.findings.push(finding);
        return;
    }
    let parts = Parts {
        what: "time of threads".to_owned(),
        unit: Unit::NANOSECONDS,
        taken_as: "measured".to_owned(),
        attributed_as: String::new(),
        taken: threads.total_ns,
        attributed,
        unattributed: vec![
            ("between threads".to_owned(), threads.switching_ns),
            ("not known who ran".to_owned(), threads.unknown_ns),
        ],
        idle: 0,
        lost: Loss::Known(0),
    };
    balance(measurement, parts);
}

/// A finding that something has one end only.
fn unmatched(measurement: &mut Measurement, code: &str, text: String, n: u64) {
    if n > 0 {
        let finding = Finding::new(Severity::Warning, code, text);
        measurement.findings.push(Finding { count: n, ..finding });
    }
}

fn interrupts(measurement: &mut Measurement, about: &About) {
    let all = &about.report.interrupts;
    if all.is_empty() {
        return;
    }
    let mut table = Table::new(vec![
        Column::text("interrupt", "interrupt"),
        count("entered", "entered"),
        count("timed", "with an exit"),
        count("unmatched-enters", "entries without an exit").worth(1),
        count("unmatched-exits", "exits without an entry").worth(1),
    ]);
    for seen in all {
        table.row([
            seen.number.to_string().into(),
            about.count(seen.entered),
            seen.timed.into(),
            seen.unmatched_enters.into(),
            seen.unmatched_exits.into(),
        ]);
    }
    measurement.push(ids::section::INTERRUPTS, "interrupts", Content::Table(table));
    let each = all.iter().map(|i| (i.number.to_string(), i.durations.as_ref()));
    let title = "interrupts: from entry to exit, with what interrupted them";
    spreads(measurement, ("interrupt-durations", title), each);
    let nesting = Quantity::at_least(about.report.nesting, Unit::COUNT);
    measurement.push_total("nesting", "handlers inside one another, most", nesting);
    let enters: u64 = all.iter().map(|i| i.unmatched_enters).sum();
    let exits: u64 = all.iter().map(|i| i.unmatched_exits).sum();
    let text = format!(
        "interrupts: entries without an exit: {enters}, exits without an entry: {exits}; the trace \
         lacks events"
    );
    unmatched(measurement, "unmatched-interrupts", text, enters + exits);
}

fn transfers(measurement: &mut Measurement, about: &About) {
    let all = &about.report.transfers;
    if all.is_empty() {
        return;
    }
    let mut table = Table::new(vec![
        Column::text("interface", "interface"),
        Column::text("direction", "direction"),
        count("starts", "begun"),
        count("ends", "ended"),
        Column::figure(ids::column::BYTES, "bytes", Unit::BYTES),
        count("unmatched-starts", "without an end").worth(1),
        count("unmatched-ends", "without a beginning").worth(1),
    ]);
    for seen in all {
        table.row([
            seen.interface.as_str().into(),
            seen.direction.as_str().into(),
            about.count(seen.starts),
            about.count(seen.ends),
            about.counted(seen.bytes, Unit::BYTES).into(),
            seen.unmatched_starts.into(),
            seen.unmatched_ends.into(),
        ]);
    }
    measurement.push("transfers", "transfers", Content::Table(table));
    let name = |interface: &str, direction: &str| format!("{interface} {direction}");
    let each = all.iter().map(|t| (name(&t.interface, &t.direction), t.durations.as_ref()));
    spreads(measurement, ("transfer-durations", "transfers: from beginning to end"), each);
    let starts: u64 = all.iter().map(|t| t.unmatched_starts).sum();
    let ends: u64 = all.iter().map(|t| t.unmatched_ends).sum();
    let text = format!(
        "transfers without an end, or begun again before it: {starts}, without a beginning: \
         {ends}; they are not in the times"
    );
    unmatched(measurement, "unmatched-transfers", text, starts + ends);
}

fn timers(measurement: &mut Measurement, about: &About) {
    let all = &about.report.timers;
    if all.is_empty() {
        return;
    }
    let mut table = Table::new(vec![
        Column::text("timer", "timer"),
        count("starts", "started"),
        count("stops", "stopped"),
    ]);
    for seen in all {
        table.row([seen.name.as_str().into(), about.count(seen.starts), about.count(seen.stops)]);
    }
    measurement.push("timers", "timers", Content::Table(table));
    let each = all.iter().map(|t| (t.name.clone(), t.durations.as_ref()));
    spreads(measurement, ("timer-durations", "timers: from start to stop"), each);
}

fn pauses(measurement: &mut Measurement, about: &About) {
    let Some(pauses) = &about.report.pauses else { return };
    let mut table = Table::new(vec![
        count("pauses", "pauses"),
        count("starts", "begun"),
        count("stops", "ended"),
        time("time", "time"),
    ]);
    table.row([
        pauses.pairs.into(),
        pauses.starts.into(),
        pauses.stops.into(),
        pauses.total_ns.into(),
    ]);
    let title = "pauses: the tracer did something else, as sending what it had collected";
    measurement.push("pauses", title, Content::Table(table));
}
