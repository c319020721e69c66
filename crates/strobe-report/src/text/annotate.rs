//! A function's source and instructions with the cycles of each.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use strobe_model::{Bounds, Cause, CauseCycles, SourceLine, Trust};

use super::causes::strip;
use super::layout::{heading, item};
use crate::Options;
use crate::figure::{Marks, spread};
use crate::number::{grouped, share};
use crate::paint::Paint;
use crate::table::{Cell, Table};
use crate::words::{clean, one_line};

/// A function to annotate. The caller has the symbols, the disassembly and the source files.
#[derive(Debug, Clone)]
pub struct AnnotateInput {
    /// Its name.
    pub function: String,
    /// Its instructions in address order, also those that never ran.
    pub rows: Vec<AnnotateRow>,
    /// The record's trust.
    pub trust: Trust,
}

/// One instruction with what the run saw of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AnnotateRow {
    /// Its address.
    pub address: u32,
    /// Its encoding as `objdump` prints it, as `f7ff fffe`.
    pub bytes: String,
    /// Disassembly.
    pub text: String,
    /// Where it comes from, innermost inlined frame.
    pub source: Option<SourceLine>,
    /// Times executed.
    pub count: u64,
    /// Its cycles by cause, likely figures.
    pub cycles: CauseCycles,
    /// Total with bounds.
    pub bounds: Bounds,
}

impl AnnotateRow {
    /// Bytes of the encoding.
    pub(super) fn size(&self) -> u64 {
        self.bytes.bytes().filter(u8::is_ascii_hexdigit).count() as u64 / 2
    }

    fn busy(&self) -> Bounds {
        self.bounds.less(self.cycles[Cause::Asleep])
    }
}

/// Cycles by source line, then the instructions in address order under the lines they come from.
///
/// # Errors
/// Those of `out`.
pub fn annotate(input: &AnnotateInput, options: &Options, out: &mut dyn Write) -> io::Result<()> {
    let mut total = Sum::default();
    input.rows.iter().for_each(|row| total.add(row));
    let marks = Marks::of(&input.trust);
    let title = format!(
        "{}: {} busy cycles, {} idle; shares are of the busy ones",
        clean(&input.function),
        marks.sentence(total.busy),
        grouped(total.idle)
    );
    heading(&title, options, out)?;
    if input.rows.is_empty() {
        return writeln!(out, "  no instructions");
    }
    sources(input.rows.iter().map(|row| row.source.as_ref()), options, out)?;
    by_line(input, &total, marks, options, out)?;
    writeln!(out)?;
    listing(input, &total, marks, options, out)
}

#[derive(Default)]
struct Sum {
    busy: Bounds,
    idle: u64,
    cycles: CauseCycles,
    instructions: u64,
}

impl Sum {
    fn add(&mut self, row: &AnnotateRow) {
        self.busy += row.busy();
        self.idle = self.idle.saturating_add(row.cycles[Cause::Asleep]);
        self.cycles += row.cycles;
        self.instructions = self.instructions.saturating_add(row.count);
    }

    fn cells(&self, total: &Sum, marks: Marks) -> Vec<Cell> {
        let idle = if self.idle > 0 { grouped(self.idle) } else { String::new() };
        vec![
            marks.figure(self.busy).into(),
            share(self.busy.likely, total.busy.likely).into(),
            spread(self.busy).into(),
            idle.into(),
            grouped(self.instructions).into(),
            strip(&self.cycles).into(),
        ]
    }
}

fn columns(count: &'static str) -> Table {
    let table = Table::new().number("cycles").number("share").number("bounds").number("idle");
    table.number(count).text("causes").optional(1)
}

fn by_line(
    input: &AnnotateInput,
    total: &Sum,
    marks: Marks,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut lines: BTreeMap<(bool, &str, u32), (Sum, Option<&SourceLine>)> = BTreeMap::new();
    for row in &input.rows {
        // What has no line comes last.
        let key = row.source.as_ref().map_or((true, "", 0), |s| (false, s.file.as_str(), s.line));
        let (sum, source) = lines.entry(key).or_default();
        sum.add(row);
        *source = row.source.as_ref();
    }
    let mut table = columns("instr.").text("line").room(36).keeping_start();
    for (sum, source) in lines.values() {
        let mut cells = sum.cells(total, marks);
        cells.push(source.map_or_else(|| "(no line)".to_owned(), line_text).into());
        table.row(cells);
    }
    table.rule();
    let mut cells = total.cells(total, marks);
    cells.push("all lines".into());
    table.painted(cells, Paint::Strong);
    table.write(options.style, out)
}

fn listing(
    input: &AnnotateInput,
    total: &Sum,
    marks: Marks,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    let table = columns("count").text("address").text("bytes").optional(0);
    let mut table = table.text("instruction").room(40);
    let mut last = None;
    for row in &input.rows {
        let place = row.source.as_ref().map(|s| (&s.file, s.line, &s.inlined));
        if place != last {
            let text = row.source.as_ref().map_or_else(|| "(no line)".to_owned(), line_text);
            table.across(&text, Paint::Faint);
            last = place;
        }
        let words = one_line(&row.text);
        let instruction =
            [format!("{:08x}", row.address), row.bytes.clone(), words].map(Cell::from);
        if row.count == 0 && row.cycles == CauseCycles::ZERO {
            let mut cells = vec![Cell::default(); 6];
            cells[0] = "-".into();
            cells.extend(instruction);
            table.painted(cells, Paint::Faint);
            continue;
        }
        let mut sum = Sum::default();
        sum.add(row);
        let mut cells = sum.cells(total, marks);
        cells.extend(instruction);
        let hot = u128::from(sum.busy.likely) * 5 >= u128::from(total.busy.likely.max(1));
        table.painted(cells, if hot { Paint::Hot } else { Paint::Plain });
    }
    table.write(options.style, out)
}

/// `loop.c:12  while (--n)`: the file's last name, which is enough next to [`sources`].
pub(super) fn line_text(source: &SourceLine) -> String {
    let inlined = source.inlined.as_ref().map(|f| format!(" (in {f})")).unwrap_or_default();
    let text = source.text.as_deref().unwrap_or_default();
    format!("{}:{}{inlined}  {}", last_name(&source.file), source.line, one_line(text))
}

fn last_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// The files with their paths, where lines show only their last names.
pub(super) fn sources<'a>(
    lines: impl Iterator<Item = Option<&'a SourceLine>>,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    let files: BTreeSet<&str> = lines.flatten().map(|line| line.file.as_str()).collect();
    for file in files.into_iter().filter(|file| last_name(file) != *file) {
        item("source: ", file, Paint::Faint, options, out)?;
    }
    Ok(())
}
