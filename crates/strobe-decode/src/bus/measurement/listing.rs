//! Words of a bus as people read them: in rows of sixteen, as hexadecimal digits and as text.

use crate::bus::report::{BusLane, BusReport, BusTransfer, BusWord, WordKind};
use strobe_model::measurement::{Column, Table, Unit};

/// Words in a row.
const ROW: usize = 16;

/// Words of one line that stand in one row.
struct Row<'a> {
    lane: &'a BusLane,
    transfer: Option<&'a BusTransfer>,
    words: &'a [BusWord],
}

/// All words, in rows by their time.
pub(super) fn table(report: &BusReport) -> Table {
    let mut rows: Vec<Row> = report.lanes.iter().flat_map(|l| rows(l, &report.transfers)).collect();
    rows.sort_by_key(|row| row.words[0].start_ps);
    let widest = report.lanes.iter().flat_map(|l| &l.words).map(|w| w.value).max().unwrap_or(0);
    let digits = ((32 - widest.leading_zeros()).div_ceil(4) as usize).next_multiple_of(2).max(2);
    let mut table = Table::new(vec![
        Column::moment("start", "at", Unit::PICOSECONDS),
        Column::text("line", "line"),
        Column::text("to", "to"),
        Column::text("hex", "hex"),
        Column::text("text", "text"),
    ]);
    for row in &rows {
        let hex: String = row.words.iter().map(|word| hex(word, digits)).collect();
        let to = row.transfer.and_then(|t| Some((t.address?, t.read?)));
        let to = to.map(|(address, read)| {
            format!("{address:02x} {}", if read { "read" } else { "write" })
        });
        table.row([
            row.words[0].start_ps.into(),
            row.lane.name.as_str().into(),
            to.into(),
            hex.trim_end().into(),
            row.words.iter().map(text).collect::<String>().into(),
        ]);
    }
    table
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

/// The marks behind words, where there are any.
pub(super) fn legend(report: &BusReport) -> Option<String> {
    let words = || report.lanes.iter().flat_map(|lane| &lane.words);
    let refused = |word: &BusWord, kind| word.kind == kind && word.acknowledged == Some(false);
    let marks = [
        ("! faulty", words().any(|w| w.faulty)),
        ("a address", words().any(|w| w.kind == WordKind::Address)),
        (
            "A address that nobody acknowledged",
            words().any(|word| refused(word, WordKind::Address)),
        ),
        ("n not acknowledged", words().any(|word| refused(word, WordKind::Data))),
        ("c command", words().any(|w| w.kind == WordKind::Command)),
    ];
    let present: Vec<&str> = marks.iter().filter(|(_, is)| *is).map(|(mark, _)| *mark).collect();
    (!present.is_empty()).then(|| present.join(", "))
}
