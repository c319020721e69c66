//! A bus as a measurement: its lines, words, transfers, faults, and what the core did meanwhile.

mod listing;

use crate::bus::report::{BaudOrigin, BusReport, BusTransfer, FaultKind, WordKind};
use strobe_model::measurement::ids;
use strobe_model::measurement::{
    Column, Content, Distributions, Finding, Measurement, Quantity, Severity, Table, Unit,
};

use crate::capture::measured::{distribution, head, seen};

const OWN_TIME: &str = "times are those of the recording's own time line";
const AWAKE: &str = "awake is all the time that the core executes instructions, whatever for, \
                     waiting in a polling loop included; not awake is asleep, or in an empty loop \
                     that only an interrupt ends";

const MOVED: &str = "words are in transfers that end within a word: a clock pulse is missing or \
                     one too many, and nothing shows where, so any of them may be wrong";

/// How words are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listing {
    /// In rows of sixteen.
    Rows,
    /// In rows, and each by itself: most of the memory of a long recording.
    EachWord,
}

/// What a bus carried.
pub fn measurement(report: &BusReport, listing: Listing) -> Measurement {
    let mut measurement = head(&report.capture, &report.notes);
    let settings = &mut measurement.instrument.settings;
    settings.insert("protocol".to_owned(), report.protocol.clone());
    for setting in &report.settings {
        settings.insert(setting.name.clone(), setting.value.clone());
    }
    let moved = moved(report);
    if moved > 0 {
        let finding = Finding::new(Severity::Warning, "capture", MOVED);
        measurement.findings.push(Finding { count: moved, ..finding });
    }
    let more = moved > 0 || is_unframed(report) || report.capture.cut;
    totals(&mut measurement, report, more);
    let mut push = |id: &str, title: &str, table: Table, note: &[&str]| {
        if !table.is_empty() {
            let section = measurement.push(id, title, Content::Table(table));
            section.notes.extend(note.iter().map(|note| (*note).to_owned()));
        }
    };
    push("lines", "lines", lines(report, more), &[]);
    push("speeds", "speeds", speeds(report), &[]);
    push("core", "the core meanwhile", core(report), &[AWAKE]);
    push("fault-counts", "faults by kind", fault_counts(report), &[]);
    push("faults", "faults", faults(report), &[OWN_TIME]);
    push("transfers", "transfers", transfers(report), &[OWN_TIME]);
    let legend = listing::legend(report);
    let legend: Vec<&str> = [OWN_TIME].into_iter().chain(legend.as_deref()).collect();
    push("bytes", "words in order", listing::table(report), &legend);
    if listing == Listing::EachWord {
        push(ids::section::WORDS, "each word", words(report), &[OWN_TIME]);
    }
    gaps(&mut measurement, report);
    measurement
}

fn count(id: &str, title: &str) -> Column {
    Column::figure(id, title, Unit::COUNT)
}

fn time(id: &str, title: &str) -> Column {
    Column::figure(id, title, Unit::PICOSECONDS)
}

fn moment(id: &str, title: &str) -> Column {
    Column::moment(id, title, Unit::PICOSECONDS)
}

/// Words of transfers that end within a word, which a clock pulse too many or too few explains.
fn moved(report: &BusReport) -> u64 {
    let Some(lane) = report.lanes.first() else { return 0 };
    // A byte of I2C with all its bits and no answer is none.
    let is_whole =
        |start: &i64| lane.words.binary_search_by_key(start, |word| word.start_ps).is_ok();
    let cut = report.faults.iter().filter(|fault| fault.kind == FaultKind::CutShort);
    let mut cut: Vec<i64> =
        cut.map(|fault| fault.start_ps).filter(|start| !is_whole(start)).collect();
    cut.sort_unstable();
    let has_one = |transfer: &&BusTransfer| {
        let next = cut.partition_point(|at| *at < transfer.start_ps);
        transfer.whole && cut.get(next).is_some_and(|at| *at <= transfer.end_ps)
    };
    let words = report.transfers.iter().filter(has_one).map(|transfer| transfer.words);
    words.sum::<u64>().saturating_mul(report.lanes.len() as u64)
}

/// Whether bits are left over of a bus with a clock that has no transfers, which would bound what
/// they have moved.
fn is_unframed(report: &BusReport) -> bool {
    let is_cut = || report.faults.iter().any(|fault| fault.kind == FaultKind::CutShort);
    report.protocol != "uart" && report.transfers.is_empty() && is_cut()
}

/// A number of words that are known to be faulty, of which there may be more.
fn faulty(n: u64, more: bool) -> Quantity {
    if more { Quantity::at_least(n, Unit::COUNT) } else { Quantity::exact(n, Unit::COUNT) }
}

fn totals(measurement: &mut Measurement, report: &BusReport, more: bool) {
    let words = report.lanes.iter().map(|lane| lane.summary.words).sum::<u64>();
    let wrong = report.lanes.iter().map(|lane| lane.summary.faulty).sum::<u64>();
    measurement.push_total("words", "words", seen(words, Unit::COUNT, &report.capture));
    measurement.push_total("faulty", "of them faulty", faulty(wrong, more));
    let mut total = |id: &str, title: &str, n: u64, unit: Unit| {
        measurement.push_total(id, title, seen(n, unit, &report.capture));
    };
    total("faults", "faults", report.faults.len() as u64, Unit::COUNT);
    if !report.transfers.is_empty() {
        let of = report.transfers.iter().map(|t| t.words).sum();
        let empty = report.transfers.iter().filter(|t| t.words == 0).count() as u64;
        total("transfers", "transfers", report.transfers.len() as u64, Unit::COUNT);
        total("transfer-words", "words of transfers", of, Unit::COUNT);
        total("transfers-empty", "transfers without words", empty, Unit::COUNT);
    }
    if let Some(stretched) = &report.stretched {
        let ps = || Unit::PICOSECONDS;
        total("stretched", "clock held low beyond twice its median", stretched.count, Unit::COUNT);
        total("stretched-time", "for so much more in all", stretched.total_ps, ps());
        total("stretched-longest", "at the longest", stretched.longest_ps, ps());
    }
    if let Some(unit) = &report.unit {
        total("units", &unit.name, unit.count, Unit::COUNT);
        total("unit-words", &format!("data words to one {}", unit.name), unit.words, Unit::COUNT);
        let title = format!("{} in a second", unit.name);
        let rate = match unit.per_second {
            Some(rate) => Quantity::exact(rate, Unit::HERTZ),
            None => Quantity::unknown(Unit::HERTZ, "no time passed"),
        };
        measurement.push_total("unit-rate", &title, rate);
    }
}

fn lines(report: &BusReport, more: bool) -> Table {
    let mut table = Table::new(vec![
        Column::text("line", "line"),
        Column::text("pin", "pin"),
        count("words", "words"),
        count("faulty", "faulty"),
        Column::figure("rate", "words/s", Unit::HERTZ),
        time("busy", "busy").of(report.capture.duration_ps),
        time("span", "first to last").worth(0),
        Column::figure("utilisation", "of the recording", Unit::PERCENT),
    ]);
    for lane in &report.lanes {
        let summary = &lane.summary;
        table.row([
            lane.name.as_str().into(),
            lane.pin.as_str().into(),
            seen(summary.words, Unit::COUNT, &report.capture).into(),
            faulty(summary.faulty, more).into(),
            summary.words_per_second.into(),
            summary.busy_ps.into(),
            summary.span_ps.into(),
            (summary.utilisation_ppm as f64 / 1e4).into(),
        ]);
    }
    table
}

/// How fast lines are, and how that is known.
fn speeds(report: &BusReport) -> Table {
    let baud = |id, title| Column::figure(id, title, Unit::other("baud"));
    let mut table = Table::new(vec![
        Column::text("line", "line"),
        baud("used", "decoded with"),
        Column::text("origin", "which is"),
        baud("measured", "pulses show"),
        Column::figure("misfit", "mean misfit", Unit::other("bits")),
        Column::text("sure", "sure"),
        count("pulses", "pulses"),
    ]);
    for (lane, baud) in report.lanes.iter().filter_map(|lane| Some((lane, lane.baud?))) {
        let origin = match baud.origin {
            BaudOrigin::Given => "given",
            BaudOrigin::NearestUsual => "usual speed nearest to the pulses",
            BaudOrigin::Measured => "by the pulses, no usual speed",
        };
        table.row([
            lane.name.as_str().into(),
            baud.used.into(),
            origin.into(),
            baud.measured.into(),
            baud.misfit.into(),
            if baud.sure { "yes" } else { "no" }.into(),
            baud.pulses.into(),
        ]);
    }
    table
}

fn core(report: &BusReport) -> Table {
    let cycles = |id, title| Column::figure(id, title, Unit::CYCLES);
    let mut table = Table::new(vec![
        Column::text("when", "when"),
        time("time", "time"),
        cycles("cycles", "cycles"),
        cycles("awake", "awake"),
        Column::figure("share", "share", Unit::PERCENT).worth(0),
    ]);
    let Some(core) = &report.core else { return table };
    let rows = [
        ("from the first word to the last", Some(core.span)),
        ("during transfers", core.transfers),
        ("during words", Some(core.words)),
    ];
    for (when, core) in rows.into_iter().filter_map(|(when, core)| Some((when, core?))) {
        let share = core.awake_cycles as f64 * 100.0 / core.cycles as f64;
        let share = (core.cycles > 0).then_some(share);
        table.row([
            when.into(),
            core.time_ps.into(),
            core.cycles.into(),
            core.awake_cycles.into(),
            share.into(),
        ]);
    }
    table
}

fn fault_counts(report: &BusReport) -> Table {
    let mut table = Table::new(vec![Column::text("fault", "fault"), count("count", "count")]);
    for (kind, n) in &report.fault_counts {
        table.row([kind.name().into(), (*n).into()]);
    }
    table
}

fn faults(report: &BusReport) -> Table {
    let mut table = Table::new(vec![
        moment("start", "at"),
        time("duration", "for"),
        Column::text("line", "line"),
        Column::text("fault", "fault"),
        Column::text("text", ""),
    ]);
    for fault in &report.faults {
        let length = u64::try_from(fault.end_ps.saturating_sub(fault.start_ps)).unwrap_or(0);
        table.row([
            fault.start_ps.into(),
            length.into(),
            fault.lane.as_str().into(),
            fault.kind.name().into(),
            fault.text.as_str().into(),
        ]);
    }
    table
}

fn transfers(report: &BusReport) -> Table {
    let mut table = Table::new(vec![
        moment("start", "from"),
        moment("end", "to"),
        count("first", "first word").worth(0),
        count("words", "words"),
        Column::text(ids::column::ADDRESS, "address"),
        Column::text("direction", "direction"),
        Column::text("whole", "whole").worth(0),
    ]);
    for transfer in &report.transfers {
        let direction = transfer.read.map(|read| if read { "read" } else { "write" });
        table.row([
            transfer.start_ps.into(),
            transfer.end_ps.into(),
            transfer.first.into(),
            transfer.words.into(),
            transfer.address.map(|address| format!("{address:#04x}")).into(),
            direction.into(),
            if transfer.whole { "yes" } else { "no" }.into(),
        ]);
    }
    table
}

fn words(report: &BusReport) -> Table {
    let mut table = Table::new(vec![
        moment("start", "from"),
        moment("end", "to").worth(0),
        Column::text("line", "line"),
        count("word", "word"),
        count("value", "value"),
        Column::text(ids::column::KIND, "kind"),
        Column::text("acknowledged", "acknowledged"),
        Column::text("faulty", "faulty"),
    ]);
    let mut words: Vec<_> = Vec::new();
    for lane in &report.lanes {
        words.extend((0u64..).zip(&lane.words).map(|(n, word)| (lane, n, word)));
    }
    words.sort_by_key(|(_, _, word)| word.start_ps);
    for (lane, n, word) in words {
        let kind = match word.kind {
            WordKind::Data => "data",
            WordKind::Command => "command",
            WordKind::Address => "address",
        };
        table.row([
            word.start_ps.into(),
            word.end_ps.into(),
            lane.name.as_str().into(),
            n.into(),
            word.value.into(),
            kind.into(),
            word.acknowledged.map(|yes| if yes { "yes" } else { "no" }).into(),
            word.faulty.then_some("faulty").into(),
        ]);
    }
    table
}

fn gaps(measurement: &mut Measurement, report: &BusReport) {
    let lanes = report
        .lanes
        .iter()
        .map(|lane| (lane.summary.gaps_ps.as_ref(), format!("gaps in {}", lane.name)));
    let others = [
        (report.transfer_gaps_ps.as_ref(), "gaps between transfers".to_owned()),
        (report.clock_low_ps.as_ref(), "clock low".to_owned()),
    ];
    let each = lanes.chain(others).filter_map(|(values, name)| {
        distribution(values, &name, Unit::PICOSECONDS, &report.capture)
    });
    let distributions: Vec<_> = each.collect();
    if !distributions.is_empty() {
        let content = Content::Distributions(Distributions { distributions });
        measurement.push("gaps", "gaps", content);
    }
}
