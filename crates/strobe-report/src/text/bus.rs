//! A bus: how full its lines are, what is wrong, and every byte with its time.

use std::io::{self, Write};

use strobe_model::{BaudOrigin, BusLane, BusReport, BusTransfer, BusWord, FaultKind, WordKind};

use super::capture::{cells, decimals, notes, title};
use super::layout::{fields, heading, item};
use crate::Options;
use crate::number::{counted, grouped, moment, percent, picoseconds, share};
use crate::paint::Paint;
use crate::table::{Cell, Table};
use crate::words::clean;

/// Words in a row of the listing.
const ROW: usize = 16;

const AWAKE: &str = "awake is all the time that the core executes instructions, whatever for, waiting in a polling loop \
                     included; not awake is asleep, or in an empty loop that only an interrupt ends";

/// What is shown of a bus.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BusShow {
    /// Faults and sums only, not the bytes.
    pub errors_only: bool,
}

/// What a bus carried.
///
/// # Errors
/// Those of `out`.
pub fn bus(
    report: &BusReport,
    show: &BusShow,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    title(&report.capture, options, out)?;
    settings(report, options, out)?;
    lanes(report, options, out)?;
    transfers(report, options, out)?;
    unit(report, options, out)?;
    core(report, options, out)?;
    faults(report, options, out)?;
    if !show.errors_only {
        listing(report, options, out)?;
    }
    notes(&report.notes, options, out)
}

fn settings(report: &BusReport, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let each = report.settings.iter().map(|s| format!("{} {}", s.name, s.value));
    let text = each.collect::<Vec<_>>().join(", ");
    let mut lines = vec![(report.protocol.as_str(), text)];
    for lane in &report.lanes {
        if let Some(text) = baud(lane) {
            lines.push((lane.name.as_str(), text));
        }
    }
    fields(&lines, options, out)
}

/// How fast a line is, and how that is known.
fn baud(lane: &BusLane) -> Option<String> {
    let baud = lane.baud?;
    let mut text = match baud.origin {
        BaudOrigin::Given => format!("{} baud as given", baud.used),
        BaudOrigin::NearestUsual => {
            format!("{} baud, the usual speed nearest to the pulses", baud.used)
        }
        BaudOrigin::Measured => format!("{:.0} baud by the pulses, no usual speed", baud.used),
    };
    if let (Some(measured), Some(misfit)) = (baud.measured, baud.misfit) {
        text += &format!(
            "; {} say {measured:.0} baud, {misfit:.2} bits off on the average",
            counted(baud.pulses, "pulse")
        );
        if !baud.sure && baud.origin != BaudOrigin::Given {
            text += ": NOT SURE, give the speed if you know it";
        }
    }
    Some(text)
}

fn lanes(report: &BusReport, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    heading("lines", options, out)?;
    let mut table = Table::new()
        .number("words")
        .number("faulty")
        .number("words/s")
        .number("busy")
        .number("of the recording")
        .text("line");
    for lane in &report.lanes {
        let s = &lane.summary;
        table.row(vec![
            grouped(s.words).into(),
            grouped(s.faulty).into(),
            s.words_per_second.map_or("-".to_owned(), |n| grouped(n.round() as u64)).into(),
            picoseconds(s.busy_ps).into(),
            percent(s.utilisation_ppm).into(),
            format!("{} ({})", lane.name, lane.pin).into(),
        ]);
    }
    table.write(options.style, out)?;
    gaps(report, options, out)
}

fn gaps(report: &BusReport, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let words = report
        .lanes
        .iter()
        .map(|lane| (lane.summary.gaps_ps.as_ref(), format!("gaps in {}", lane.name)));
    let others = [
        (report.transfer_gaps_ps.as_ref(), "gaps between transfers".to_owned()),
        (report.clock_low_ps.as_ref(), "clock low".to_owned()),
    ];
    let mut table = Table::new().number("n").number("min").number("mean").number("median");
    table = table.number("p90").optional(1);
    table = table.number("p99").number("max").number("dev.").optional(0).text("what").room(28);
    let mut any = false;
    for (distribution, what) in words.chain(others).filter(|(d, _)| d.is_some()) {
        let mut line = cells(distribution, picoseconds);
        line.push(what.into());
        table.row(line);
        any = true;
    }
    if any {
        writeln!(out)?;
        table.write(options.style, out)?;
    }
    match report.stretched {
        Some(s) if s.count > 0 => {
            let text = format!(
                "the clock was held low beyond twice its median {}, for {} more in all and {} at the longest",
                counted(s.count, "time"),
                picoseconds(s.total_ps),
                picoseconds(s.longest_ps)
            );
            item("", &text, Paint::Plain, options, out)
        }
        _ => Ok(()),
    }
}

fn transfers(report: &BusReport, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    if report.transfers.is_empty() {
        return Ok(());
    }
    let n = report.transfers.len() as u64;
    let words = report.transfers.iter().map(|t| t.words).sum();
    let empty = report.transfers.iter().filter(|t| t.words == 0).count() as u64;
    let mut text = format!("{} of {}", counted(n, "transfer"), counted(words, "word"));
    if empty > 0 {
        text += &format!(", {} without any", grouped(empty));
    }
    item("", &text, Paint::Plain, options, out)
}

fn unit(report: &BusReport, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let Some(unit) = &report.unit else { return Ok(()) };
    let rate = unit.per_second.map_or("-".to_owned(), |rate| grouped(rate.round() as u64));
    let count = counted(unit.count, &unit.name);
    let words = counted(unit.words, "data word");
    let text = format!("{count} of {words} each, {rate} in a second");
    item("", &clean(&text), Paint::Plain, options, out)
}

fn core(report: &BusReport, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let Some(core) = &report.core else { return Ok(()) };
    heading("the core meanwhile", options, out)?;
    let mut table =
        Table::new().number("time").number("cycles").number("awake").number("share").text("when");
    let rows = [
        (Some(core.span), "from the first word to the last"),
        (core.transfers, "during transfers"),
        (Some(core.words), "during words"),
    ];
    for (time, when) in rows.into_iter().filter_map(|(time, when)| Some((time?, when))) {
        table.row(vec![
            picoseconds(time.time_ps).into(),
            grouped(time.cycles).into(),
            grouped(time.awake_cycles).into(),
            share(time.awake_cycles, time.cycles).into(),
            when.into(),
        ]);
    }
    table.write(options.style, out)?;
    if options.quiet { Ok(()) } else { item("", AWAKE, Paint::Faint, options, out) }
}

fn faults(report: &BusReport, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    if report.faults.is_empty() {
        return heading("no faults", options, out);
    }
    let each = report.fault_counts.iter().map(|(kind, n)| plural(*kind, *n));
    heading(&format!("faults: {}", each.collect::<Vec<_>>().join(", ")), options, out)?;
    let mut table = Table::new().number("at [s]").number("for").text("line").text("what").text("");
    for fault in &report.faults {
        let length = u64::try_from(fault.end_ps.saturating_sub(fault.start_ps)).unwrap_or(0);
        table.row(vec![
            moment(fault.start_ps, decimals(&report.capture)).into(),
            picoseconds(length).into(),
            fault.lane.as_str().into(),
            fault.kind.name().into(),
            fault.text.as_str().into(),
        ]);
    }
    table.write(options.style, out)
}

fn plural(kind: FaultKind, n: u64) -> String {
    match kind {
        FaultKind::Glitch if n != 1 => format!("{} glitches", grouped(n)),
        FaultKind::CutShort => format!("{} cut short", grouped(n)),
        kind => counted(n, kind.name()),
    }
}

/// Words of one line that stand in one row.
struct Row<'a> {
    lane: &'a BusLane,
    transfer: Option<&'a BusTransfer>,
    words: &'a [BusWord],
}

fn listing(report: &BusReport, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let mut rows: Vec<Row> = report.lanes.iter().flat_map(|l| rows(l, &report.transfers)).collect();
    rows.sort_by_key(|row| row.words[0].start_ps);
    if rows.is_empty() {
        return heading("no words", options, out);
    }
    heading("words", options, out)?;
    let widest = report.lanes.iter().flat_map(|l| &l.words).map(|w| w.value).max().unwrap_or(0);
    let digits = ((32 - widest.leading_zeros()).div_ceil(4) as usize).next_multiple_of(2).max(2);
    let mut table = Table::new().number("at [s]").text("line").text("to").text("hex").text("text");
    for row in &rows {
        let hex: Vec<String> = row.words.iter().map(|word| hex(word, digits)).collect();
        let to = row.transfer.and_then(|t| Some((t.address?, t.read?)));
        let cells: [Cell; 5] = [
            moment(row.words[0].start_ps, decimals(&report.capture)).into(),
            row.lane.name.as_str().into(),
            to.map_or(String::new(), |(address, read)| {
                format!("{address:02x} {}", if read { "read" } else { "write" })
            })
            .into(),
            hex.concat().trim_end().into(),
            row.words.iter().map(text).collect::<String>().into(),
        ];
        table.row(cells.into());
    }
    table.write(options.style, out)?;
    if options.quiet { Ok(()) } else { legend(report, options, out) }
}

/// A row ends with its transfer, after sixteen words, and where the line rests for more than eight
/// words.
fn rows<'a>(lane: &'a BusLane, transfers: &'a [BusTransfer]) -> Vec<Row<'a>> {
    let mut rows = Vec::new();
    let mut transfers = transfers.iter().filter(|t| t.words > 0).peekable();
    let mut from = 0;
    while from < lane.words.len() {
        while transfers.next_if(|t| t.first + t.words <= from as u64).is_some() {}
        let transfer = transfers.peek().copied().filter(|t| t.first <= from as u64);
        let end = match (transfer, transfers.peek()) {
            (Some(t), _) => t.first + t.words,
            (None, Some(next)) => next.first,
            (None, None) => u64::MAX,
        };
        let end = usize::try_from(end).unwrap_or(usize::MAX).min(from + ROW).min(lane.words.len());
        let pause = |pair: &[BusWord]| {
            let word = pair[0].end_ps.saturating_sub(pair[0].start_ps);
            pair[1].start_ps.saturating_sub(pair[0].end_ps) > word.saturating_mul(8)
        };
        let words = &lane.words[from..end.max(from + 1)];
        let n = words.windows(2).position(pause).map_or(words.len(), |at| at + 1);
        rows.push(Row { lane, transfer, words: &words[..n] });
        from += n;
    }
    rows
}

fn hex(word: &BusWord, digits: usize) -> String {
    let value = format!("{:0digits$x}", word.value);
    match (word.faulty, word.kind, word.acknowledged) {
        (true, ..) => format!("{value}! "),
        (_, WordKind::Command, _) => format!("{value}c "),
        (_, WordKind::Address, Some(false)) => format!("{value}A "),
        (_, WordKind::Address, _) => format!("{value}a "),
        (_, _, Some(false)) => format!("{value}n "),
        _ => format!("{value}  "),
    }
}

fn text(word: &BusWord) -> char {
    let byte = u8::try_from(word.value).ok().filter(|b| b.is_ascii_graphic() || *b == b' ');
    match (word.kind, byte) {
        (WordKind::Data, Some(byte)) => char::from(byte),
        _ => '.',
    }
}

fn legend(report: &BusReport, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let words = || report.lanes.iter().flat_map(|lane| &lane.words);
    let marks = [
        ("! faulty", words().any(|w| w.faulty)),
        ("a address", words().any(|w| w.kind == WordKind::Address)),
        (
            "A address that nobody acknowledged",
            words().any(|w| w.kind == WordKind::Address && w.acknowledged == Some(false)),
        ),
        (
            "n not acknowledged",
            words().any(|w| w.kind == WordKind::Data && w.acknowledged == Some(false)),
        ),
        ("c command", words().any(|w| w.kind == WordKind::Command)),
    ];
    let present: Vec<&str> = marks.iter().filter(|(_, is)| *is).map(|(mark, _)| *mark).collect();
    if present.is_empty() {
        return Ok(());
    }
    item("", &present.join(", "), Paint::Faint, options, out)
}
