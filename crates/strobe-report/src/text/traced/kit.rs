//! What the kit for the target told: marks, regions, values and channels by their names.

use std::io::{self, Write};

use strobe_model::{Kit, KitChannel, KitWay, TimeBase};

use super::super::layout::{heading, item};
use super::events::{LINES, MOST, and_more, unit};
use crate::Options;
use crate::number::{counted, grouped};
use crate::paint::Paint;
use crate::table::Table;
use crate::words::clean;

/// All of it.
pub(super) fn tables(
    kit: &Kit,
    times: &TimeBase,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    heading(&format!("the firmware's own records: {}", totals(kit)), options, out)?;
    let unit = unit(times);
    regions(kit, unit, options, out)?;
    marks(kit, unit, options, out)?;
    values(kit, options, out)?;
    kit.channels.iter().take(MOST).try_for_each(|c| channel(c, options, out))?;
    and_more(kit.channels.len().saturating_sub(MOST), "channel", out)
}

fn totals(kit: &Kit) -> String {
    let way = match kit.way {
        KitWay::Itm => format!("through port {}", kit.port),
        KitWay::Rtt => "over RTT".to_owned(),
        KitWay::Bytes => "as bytes".to_owned(),
    };
    let mut text = format!("{} came {way}", counted(kit.records, "record"));
    text += &match kit.lost {
        0 => ", none is missing".to_owned(),
        lost => format!(", {} missing in {}", grouped(lost), counted(kit.losses, "place")),
    };
    if kit.restarts > 0 {
        text += &format!(", the target began anew {}", counted(kit.restarts, "time"));
    }
    if kit.unusable > 0 {
        text += &format!(", {} not understood", counted(kit.unusable, "write"));
    }
    text
}

fn mean(sum: u64, count: u64) -> String {
    sum.checked_div(count).map_or_else(|| "-".to_owned(), grouped)
}

fn some(n: u64, count: u64) -> String {
    if count > 0 { grouped(n) } else { "-".to_owned() }
}

fn regions(kit: &Kit, unit: &str, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    if kit.regions.is_empty() {
        return Ok(());
    }
    let text = format!(
        "regions: {unit} from begin to end, with all that interrupted them, where both are known to the tick; `at most` is over those as \
         well that timestamps give bounds for"
    );
    heading(&text, options, out)?;
    let mut table = Table::new()
        .number("begun")
        .number("ended")
        .number("unmatched")
        .number("exact")
        .number("mean")
        .number("min")
        .number("max")
        .number("vague")
        .number("at most")
        .text("region");
    for r in kit.regions.iter().take(MOST) {
        table.row(vec![
            grouped(r.begun).into(),
            grouped(r.ended).into(),
            grouped(r.unmatched).into(),
            grouped(r.timed).into(),
            mean(r.sum, r.timed).into(),
            some(r.shortest, r.timed).into(),
            some(r.longest, r.timed).into(),
            grouped(r.vague).into(),
            some(r.at_most, r.timed + r.vague).into(),
            r.name.as_str().into(),
        ]);
    }
    table.write(options.style, out)?;
    and_more(kit.regions.len().saturating_sub(MOST), "region", out)
}

fn marks(kit: &Kit, unit: &str, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    if kit.marks.is_empty() {
        return Ok(());
    }
    heading(&format!("marks: {unit} from one to the next"), options, out)?;
    let mut table = Table::new()
        .number("count")
        .number("exact")
        .number("mean")
        .number("min")
        .number("max")
        .number("vague")
        .text("mark");
    for m in kit.marks.iter().take(MOST) {
        table.row(vec![
            grouped(m.count).into(),
            grouped(m.timed).into(),
            mean(m.sum, m.timed).into(),
            some(m.shortest, m.timed).into(),
            some(m.longest, m.timed).into(),
            grouped(m.vague).into(),
            m.name.as_str().into(),
        ]);
    }
    table.write(options.style, out)?;
    and_more(kit.marks.len().saturating_sub(MOST), "mark", out)
}

fn values(kit: &Kit, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    if kit.values.is_empty() {
        return Ok(());
    }
    heading("values", options, out)?;
    let mut table = Table::new()
        .number("count")
        .number("first")
        .number("min")
        .number("max")
        .number("last")
        .text("value");
    for v in kit.values.iter().take(MOST) {
        let first = v.values.first().map_or_else(|| "-".to_owned(), |(_, first)| signed(*first));
        table.row(vec![
            grouped(v.count).into(),
            first.into(),
            signed(v.min).into(),
            signed(v.max).into(),
            signed(v.last).into(),
            v.name.as_str().into(),
        ]);
    }
    table.write(options.style, out)?;
    and_more(kit.values.len().saturating_sub(MOST), "value", out)
}

fn signed(n: i64) -> String {
    let sign = if n < 0 { "-" } else { "" };
    format!("{sign}{}", grouped(n.unsigned_abs()))
}

fn channel(channel: &KitChannel, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let kind = if channel.text.is_some() { "text" } else { "binary" };
    let gaps = match channel.interrupted {
        0 => String::new(),
        n => format!(", {} where something may be missing", counted(n, "place")),
    };
    let text = format!("{}, {kind}{gaps}", counted(channel.bytes, "byte"));
    item(&format!("channel {}: ", clean(&channel.name)), &text, Paint::Plain, options, out)?;
    let lines: Vec<&str> = channel.text.as_deref().unwrap_or_default().lines().collect();
    let skipped = lines.len().saturating_sub(LINES);
    if skipped > 0 || channel.text_skipped > 0 {
        writeln!(out, "    ... the last lines (--format json has more):")?;
    }
    lines[skipped..].iter().try_for_each(|line| writeln!(out, "    | {}", clean(line)))
}
