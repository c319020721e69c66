//! Comma-separated values (RFC 4180), for spreadsheets and scripts: the rows of a table, the call
//! chains of a profile with all its measures, or what is on a time line.
//!
//! Units are in the headings. Where figures of a column are not exact, columns beside it have each
//! one's trust and bounds; what is unknown is empty.

mod events;

use std::io::{self, Write};

use strobe_model::measurement::{Cell, Column, Content, Measurement, Profile, Table, Trust, Unit};

use super::chains::Chains;
use super::timed::Timed;
use super::{About, Choice, Export, ExportError, InputKind, Output};
use crate::words::clean;

/// The format.
pub(super) struct Csv;

impl Export for Csv {
    fn about(&self) -> About {
        About {
            name: "csv",
            aliases: &[],
            extension: Some("csv"),
            takes: InputKind::Rows,
            help: "rows for spreadsheets and scripts: call chains with every measure, or a table \
                   or a time line (--section)",
        }
    }

    fn write(
        &self,
        measurement: &Measurement,
        choice: &Choice,
        out: &mut dyn Output,
    ) -> Result<(), ExportError> {
        let kinds: [fn(&Content) -> bool; 3] = [
            |content| matches!(content, Content::Profile(_)),
            |content| matches!(content, Content::Table(_)),
            |content| matches!(content, Content::Timeline(_)),
        ];
        match kinds.into_iter().find_map(|kind| find(measurement, choice, kind)) {
            Some(Content::Profile(profile)) => {
                let chains = Chains::new(profile, choice)?;
                chain_rows(&chains, profile, out.file("")?)?;
            }
            Some(Content::Table(table)) => rows(table, out.file("")?)?,
            Some(Content::Timeline(timeline)) => {
                events::rows(&Timed::new(measurement, timeline)?, out.file("")?)?;
            }
            _ => {
                choice.check(measurement)?;
                return Err(ExportError::nothing_to_take(self.about(), measurement, choice));
            }
        }
        Ok(())
    }
}

/// The section that was chosen, if it is of a kind; else the first of that kind.
fn find<'a>(
    measurement: &'a Measurement,
    choice: &Choice,
    is_kind: fn(&Content) -> bool,
) -> Option<&'a Content> {
    let mut all = choice.sections(measurement).map(|section| &section.content);
    all.find(|content| is_kind(content))
}

/// A row for each chain, and in all of them together what the profile has.
fn chain_rows(chains: &Chains, profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    let heads = chains.measures.iter().map(|measure| heading(&measure.id, Some(&measure.unit)));
    let heads: Vec<String> =
        ["label", "chain"].map(str::to_owned).into_iter().chain(heads).collect();
    line(&heads, out)?;
    for sample in &chains.samples {
        let label = sample.label.and_then(|label| profile.labels.get(label as usize));
        let label = label.map_or_else(String::new, |of| format!("{} {}", of.key, of.value));
        let frames = chains.frames(sample, false);
        let names: Vec<String> =
            frames.iter().map(|frame| chains.name(frame.name).replace(';', ":")).collect();
        let values = sample.values.iter().map(i64::to_string);
        let cells: Vec<String> = [label, names.join(";")].into_iter().chain(values).collect();
        line(&cells, out)?;
    }
    Ok(())
}

fn rows(table: &Table, out: &mut dyn Write) -> io::Result<()> {
    let columns: Vec<(&Column, bool)> =
        table.columns.iter().map(|column| (column, is_inexact(column))).collect();
    let mut cells = Vec::new();
    for (column, is_inexact) in &columns {
        cells.push(heading(&column.id, column.unit.as_ref()));
        if *is_inexact {
            cells.extend(["trust", "low", "high"].map(|of| format!("{} {of}", column.id)));
        }
    }
    line(&cells, out)?;
    for row in 0..table.len() {
        cells.clear();
        for (column, is_inexact) in &columns {
            let cell = column.cells.get(row).unwrap_or(&Cell::Empty);
            count_read();
            cells.push(value(cell));
            if *is_inexact {
                cells.extend(trust(cell));
            }
        }
        line(&cells, out)?;
    }
    Ok(())
}

/// Whether any figure of a column has a trust of its own. Reads the whole column, so callers ask
/// once and not for each row.
fn is_inexact(column: &Column) -> bool {
    let mut cells = column.cells.iter().inspect(|_| count_read());
    cells.any(|cell| matches!(cell, Cell::Figure { .. }))
}

/// Counts cells that are read, for the test that this is linear in rows.
fn count_read() {
    #[cfg(test)]
    tests::READS.set(tests::READS.get() + 1);
}

/// `peak (bytes)`; of counts the name alone.
fn heading(id: &str, unit: Option<&Unit>) -> String {
    match unit.filter(|unit| **unit != Unit::COUNT) {
        Some(unit) => format!("{id} ({unit})"),
        None => id.to_owned(),
    }
}

fn value(cell: &Cell) -> String {
    match cell {
        Cell::Empty => String::new(),
        Cell::Text(text) => text.clone(),
        Cell::Address(address) => address.to_string(),
        Cell::Exact(_) | Cell::Figure { .. } => {
            let number = cell.number().and_then(|number| serde_json::to_string(&number).ok());
            number.unwrap_or_default()
        }
    }
}

/// How far a figure can be trusted, and its bounds.
fn trust(cell: &Cell) -> [String; 3] {
    let (name, bounds) = match cell {
        Cell::Exact(_) => ("exact", None),
        Cell::Figure { trust, .. } => (kind(trust), trust.bounds()),
        Cell::Empty | Cell::Text(_) | Cell::Address(_) => ("", None),
    };
    let (low, high) = bounds.unzip();
    let [low, high] = [low, high].map(|bound| bound.map_or(String::new(), |n| value(&n.into())));
    [name.to_owned(), low, high]
}

fn kind(trust: &Trust) -> &'static str {
    match trust {
        Trust::Exact => "exact",
        Trust::Modelled { .. } => "modelled",
        Trust::Sampled { .. } => "sampled",
        Trust::Resolution { .. } => "resolution",
        Trust::AtLeast => "at least",
        Trust::AtMost => "at most",
        Trust::Unknown { .. } => "unknown",
    }
}

/// One line, ended as RFC 4180 has it in every spreadsheet: quotes around what needs them.
fn line(cells: &[String], out: &mut dyn Write) -> io::Result<()> {
    let cells: Vec<String> = cells.iter().map(|cell| quoted(cell)).collect();
    writeln!(out, "{}", cells.join(","))
}

/// A cell, with what a terminal would obey made visible.
fn quoted(cell: &str) -> String {
    let plain = clean(cell);
    if plain.contains([',', '"']) || plain.starts_with(' ') || plain.ends_with(' ') {
        format!("\"{}\"", plain.replace('"', "\"\""))
    } else {
        plain
    }
}

#[cfg(test)]
mod tests {
    use strobe_model::measurement::Quantity;

    use super::super::subjects;
    use super::*;

    thread_local! {
        /// Cells that were read by this thread.
        pub(super) static READS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
    }

    fn written(measurement: &Measurement, section: Option<&str>) -> String {
        let choice = Choice { section: section.map(str::to_owned), ..Choice::default() };
        String::from_utf8(subjects::write(&Csv, measurement, &choice)).unwrap()
    }

    #[test]
    fn chains_have_every_measure() {
        let text = written(&subjects::of(subjects::run()), None);
        let mut lines = text.lines();
        assert_eq!(
            lines.next(),
            Some(
                "label,chain,cycles (cycles),execute (cycles),asleep (cycles),\
                 executions (instructions)"
            )
        );
        assert_eq!(lines.next(), Some("thread main,main,100,100,0,0"));
        for (at, id) in ["cycles", "execute", "asleep", "executions"].iter().enumerate() {
            let cell = |line: &str| line.rsplit(',').nth(3 - at).unwrap().parse::<i128>().unwrap();
            let sum: i128 = text.lines().skip(1).map(cell).sum();
            assert_eq!(sum, subjects::total(&subjects::run(), id), "{id}");
        }
    }

    #[test]
    fn time_lines_have_their_events_in_order() {
        let text = written(&subjects::timeline(), None);
        let expected = "at (ns),until (ns),kind,track,name,value\n\
             0,10000,span,\"main \"\"1\"\"\",\"main \"\"1\"\"\",\n\
             0,9000,span,calls,main,\n\
             100,,moment,Samples,main,\n\
             200,,moment,Samples,(asleep),\n\
             300,,moment,Samples,main,\n\
             500,,value,level (bytes),,7\n\
             900,,value,level (bytes),,-3\n\
             1000,2000,span,calls,wait,\n\
             4000,5000,gap,,overflow,3\n";
        assert!(text.starts_with(expected), "{text}");
    }

    #[test]
    fn tables_have_trust_where_it_matters() {
        let mut table = Table::new(vec![
            Column::text("name", "name"),
            Column::figure("n", "n", Unit::COUNT),
            Column::figure("size", "size", Unit::BYTES),
        ]);
        let size = |quantity: Quantity| Cell::from(quantity);
        table.row(["a, \"b\"".into(), 3u64.into(), size(Quantity::at_least(7_u64, Unit::BYTES))]);
        table.row([
            "\u{1b}[1m\u{202e}".into(),
            Cell::Empty,
            size(Quantity::unknown(Unit::BYTES, "lost")),
        ]);
        table.row([Cell::Empty, 4u64.into(), 12u64.into()]);
        let mut measurement = subjects::of(subjects::run());
        measurement.push("sizes", "sizes", Content::Table(table));
        assert_eq!(
            written(&measurement, Some("sizes")),
            "name,n,size (bytes),size trust,size low,size high\n\
             \"a, \"\"b\"\"\",3,7,at least,,\n\
             \\x1b[1m\\u{202e},,,unknown,,\n\
             ,4,12,exact,,\n"
        );
    }

    /// Cells read for a table of that many rows, with an inexact figure in the last row only.
    fn reads(count: u64) -> u64 {
        let mut table = Table::new(vec![
            Column::text("name", "name"),
            Column::figure("n", "n", Unit::COUNT),
            Column::figure("size", "size", Unit::BYTES),
        ]);
        for n in 1..=count {
            let size: Quantity = if n == count {
                Quantity::at_least(n, Unit::BYTES)
            } else {
                Quantity::exact(n, Unit::BYTES)
            };
            table.row(["row".into(), n.into(), Cell::from(size)]);
        }
        let before = READS.get();
        let mut out = Vec::new();
        rows(&table, &mut out).unwrap();
        assert_eq!(out.iter().filter(|byte| **byte == b'\n').count() as u64, count + 1);
        READS.get() - before
    }

    #[test]
    fn cells_are_read_twice_for_any_number_of_rows() {
        let columns = 3;
        for count in [10_000, 100_000] {
            assert_eq!(reads(count), 2 * columns * count);
        }
    }
}
