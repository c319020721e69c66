//! A function instruction by instruction, from what goes with the measurement: its disassembly, and
//! the profile's values at each address. No ELF file is needed.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use strobe_model::measurement::ids;

use strobe_analyse::attribution::{By, Flat, Row, RowPlace, Sums, rows};
use strobe_model::measurement::{Address, Measure, Measurement, Profile, Table, Unit};

use super::causes::{figure, strip};
use super::figure::{amount_spread, plain, share, times, with_unit};
use super::{Page, View};
use crate::Options;
use crate::paint::Paint;
use crate::table::{Cell, Table as Layout};
use crate::text::layout::{heading, item};
use crate::words::one_line;

/// The functions that the selection names.
pub(super) struct Annotated;

impl View for Annotated {
    fn write(&self, page: &Page, out: &mut dyn Write) -> io::Result<()> {
        // Functions are those of the chips, not of the rig.
        if page.measurement.profiles().next().is_none() && !page.measurement.parts.is_empty() {
            return Ok(());
        }
        page.selection.annotate.iter().try_for_each(|function| one(page, function, out))
    }
}

/// A function alone.
#[cfg(test)]
pub(super) fn annotate(
    measurement: &strobe_model::measurement::Measurement,
    function: &str,
    options: &crate::Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    let selection = super::Selection::default();
    one(&Page { measurement, selection: &selection, options }, function, out)
}

/// An instruction with what was measured there.
struct Instruction {
    address: Address,
    bytes: String,
    text: String,
    source: Option<Source>,
    /// `None` where nothing was measured.
    sums: Option<Sums>,
}

/// Where an instruction comes from.
#[derive(PartialEq, Eq)]
struct Source {
    file: String,
    line: u64,
    text: String,
    /// The function whose code was put here.
    inlined: String,
}

fn one(page: &Page, function: &str, out: &mut dyn Write) -> io::Result<()> {
    let options = page.options;
    let nothing = |why: &str, out: &mut dyn Write| {
        heading(function, options, out)?;
        item("", why, Paint::Plain, options, out)
    };
    let Some(profile) = page.measurement.profiles().next() else {
        return nothing("there is no profile", out);
    };
    let Some(measure) = page.selection.measure_of(profile) else {
        return nothing("the profile has no measure", out);
    };
    let Some(disassembly) = page.measurement.table(ids::section::DISASSEMBLY) else {
        return nothing("the measurement has no disassembly with it", out);
    };
    let Some(flat) = rows(profile, &measure.id, &By::Address) else {
        return nothing("nothing was measured", out);
    };
    let mut extents = extents(page.measurement, profile, function);
    let named = disassembly.column(ids::column::FUNCTION).map(|column| &column.cells);
    let is_listed = named.into_iter().flatten().any(|cell| cell.text() == Some(function));
    if extents.is_empty() && is_listed {
        // It never ran, so the profile does not have it.
        extents.push((Address(0), Address(u64::MAX)));
    }
    if extents.is_empty() {
        return nothing("there is no function of that name", out);
    }
    for (from, to) in extents {
        let sources = sources(page.measurement);
        let all = instructions(disassembly, &sources, &flat, function, (from, to));
        if all.is_empty() {
            nothing("the measurement has no disassembly of it", out)?;
            continue;
        }
        Listing { profile, measure, all: &all }.write(function, options, out)?;
    }
    Ok(())
}

/// From where to where functions of that name go: to the next symbol's address.
fn extents(measurement: &Measurement, profile: &Profile, name: &str) -> Vec<(Address, Address)> {
    let mut edges: BTreeSet<Address> =
        profile.functions.address.iter().flatten().copied().collect();
    let symbols = measurement
        .table(ids::section::SYMBOLS)
        .and_then(|symbols| symbols.column(ids::column::ADDRESS));
    for cell in symbols.iter().flat_map(|column| &column.cells) {
        if let strobe_model::measurement::Cell::Address(address) = cell {
            edges.insert(*address);
        }
    }
    let functions = profile.functions.name.iter().zip(&profile.functions.address);
    let starts = functions.filter(|(known, _)| *known == name).filter_map(|(_, address)| *address);
    let end = |from: Address| edges.range(from..).nth(1).copied().unwrap_or(Address(u64::MAX));
    starts.map(|from| (from, end(from))).collect()
}

/// Texts of source lines, by file and line.
type Sources<'a> = BTreeMap<(&'a str, u64), &'a str>;

fn sources(measurement: &Measurement) -> Sources<'_> {
    let Some(table) = measurement.table(ids::section::SOURCE) else { return Sources::new() };
    let column = |id: &str| table.column(id).map(|column| column.cells.as_slice());
    let (Some(files), Some(lines), Some(texts)) = (column("file"), column("line"), column("text"))
    else {
        return Sources::new();
    };
    let all = files.iter().zip(lines).zip(texts);
    all.filter_map(|((file, line), text)| {
        Some(((file.text()?, line.number()?.as_u64()), text.text()?))
    })
    .collect()
}

/// What the disassembly has of a function between two addresses.
fn instructions(
    table: &Table,
    sources: &Sources,
    flat: &Flat,
    function: &str,
    (from, to): (Address, Address),
) -> Vec<Instruction> {
    use strobe_model::measurement::Cell;
    let measured: BTreeMap<Address, &Row> = flat
        .rows
        .iter()
        .filter_map(|row| match row.spot {
            RowPlace::Address(address) => Some((address, row)),
            _ => None,
        })
        .collect();
    let cell = |id: &str, row: usize| table.column(id).and_then(|column| column.cells.get(row));
    let text = |id: &str, row: usize| cell(id, row).and_then(Cell::text).unwrap_or_default();
    let address = |row: usize| match cell("address", row) {
        Some(Cell::Address(address)) => Some(*address),
        _ => None,
    };
    let is_named =
        |row: usize| cell("function", row).and_then(Cell::text).is_none_or(|f| f == function);
    let inside =
        |row: &usize| address(*row).is_some_and(|at| (from..to).contains(&at)) && is_named(*row);
    let one = |row: usize| {
        let at = address(row)?;
        let line = cell("line", row).and_then(Cell::number).map(|line| line.as_u64());
        let file = text("file", row);
        let source = line.filter(|_| !file.is_empty());
        Some(Instruction {
            address: at,
            bytes: text("bytes", row).to_owned(),
            text: one_line(text("text", row)),
            source: source.map(|line| {
                let words = sources.get(&(file, line)).copied().unwrap_or_default();
                let (file, inlined) = (file.to_owned(), text("inlined", row).to_owned());
                Source { file, line, text: words.to_owned(), inlined }
            }),
            sums: measured.get(&at).map(|row| row.sums.clone()),
        })
    };
    let mut all: Vec<Instruction> = (0..table.len()).filter(inside).filter_map(one).collect();
    all.sort_by_key(|instruction| instruction.address);
    all
}

struct Listing<'a> {
    profile: &'a Profile,
    measure: &'a Measure,
    all: &'a [Instruction],
}

impl Listing<'_> {
    fn write(&self, name: &str, options: &Options, out: &mut dyn Write) -> io::Result<()> {
        let mut total = Sums::default();
        self.all.iter().filter_map(|i| i.sums.as_ref()).for_each(|sums| total.add(sums));
        let idle = if total.idle.value > 0 {
            format!(", {} idle; shares are of the busy ones", plain(total.idle.value.into()))
        } else {
            String::new()
        };
        let title = format!("{name}: {} {}{idle}", self.busy(&total), self.measure.title);
        heading(&title, options, out)?;
        let files = self.all.iter().filter_map(|i| Some(i.source.as_ref()?.file.as_str()));
        let files: BTreeSet<&str> = files.collect();
        for file in files.into_iter().filter(|file| last_name(file) != *file) {
            item("source: ", file, Paint::Faint, options, out)?;
        }
        self.by_line(&total, options, out)?;
        writeln!(out)?;
        self.by_address(&total, options, out)
    }

    /// What is not idle, with its bounds.
    fn busy(&self, total: &Sums) -> String {
        let busy = total.busy().ordered();
        let count = |n: i64| u64::try_from(n).unwrap_or(0);
        let bounds = strobe_model::Bounds {
            low: count(busy.low),
            likely: count(busy.value),
            high: count(busy.high),
        };
        let figure = strobe_model::measurement::Quantity::modelled(bounds, Unit::COUNT, None);
        let kind = if total.idle.value > 0 { " busy" } else { "" };
        format!("{}{kind}", with_unit(&figure))
    }

    fn columns(&self, count: &'static str) -> Layout {
        let first = self.measure.title.clone();
        let layout = Layout::new().narrowing().number(first).number("share").number("bounds");
        layout.number("idle").optional(3).number(count).optional(2).text("causes").optional(1)
    }

    fn cells(&self, sums: &Sums, total: &Sums) -> Vec<Cell> {
        let executions =
            self.profile.measures.iter().position(|m| m.id == ids::measure::EXECUTIONS);
        let count = executions.and_then(|i| sums.others.get(i).copied().flatten());
        let busy = sums.busy();
        let idle = sums.idle.value;
        let idle = if idle > 0 { plain(idle.into()) } else { String::new() };
        vec![
            figure(self.profile, self.measure, busy).into(),
            share(busy.value, total.busy().value).into(),
            amount_spread(busy).into(),
            idle.into(),
            count.map(times).unwrap_or_default().into(),
            strip(self.profile, self.measure, sums).into(),
        ]
    }

    fn by_line(&self, total: &Sums, options: &Options, out: &mut dyn Write) -> io::Result<()> {
        let mut lines: BTreeMap<(bool, &str, u64), (Sums, Option<&Source>)> = BTreeMap::new();
        for instruction in self.all {
            // What has no line comes last.
            let source = instruction.source.as_ref();
            let key = source.map_or((true, "", 0), |s| (false, s.file.as_str(), s.line));
            let (sums, known) = lines.entry(key).or_default();
            instruction.sums.iter().for_each(|own| sums.add(own));
            *known = source;
        }
        let mut layout = self.columns("instr.").text("line").room(36).keeping_start();
        for (sums, source) in lines.values() {
            let mut cells = self.cells(sums, total);
            cells.push(source.map_or_else(|| "(no line)".to_owned(), Source::shown).into());
            layout.row(cells);
        }
        layout.rule();
        let mut cells = self.cells(total, total);
        cells.push("all lines".into());
        layout.painted(cells, Paint::Strong);
        layout.write(options.style, out)
    }

    fn by_address(&self, total: &Sums, options: &Options, out: &mut dyn Write) -> io::Result<()> {
        let layout = self.columns("count").text("address").text("bytes").optional(0);
        let mut layout = layout.text("instruction").room(40);
        let mut last = None;
        for instruction in self.all {
            if last != Some(&instruction.source) {
                let name = instruction.source.as_ref().map(Source::shown);
                layout.across(&name.unwrap_or_else(|| "(no line)".to_owned()), Paint::Faint);
                last = Some(&instruction.source);
            }
            let Instruction { address, bytes, text, .. } = instruction;
            let words = [format!("{:08x}", address.0), bytes.clone(), text.clone()];
            let (mut cells, paint) = match &instruction.sums {
                Some(sums) => {
                    let busy = i128::from(sums.busy().value);
                    let hot = busy * 5 >= i128::from(total.busy().value.max(1));
                    (self.cells(sums, total), if hot { Paint::Hot } else { Paint::Plain })
                }
                None => {
                    let mut cells = vec![Cell::default(); 6];
                    cells[0] = "-".into();
                    (cells, Paint::Faint)
                }
            };
            cells.extend(words.map(Cell::from));
            layout.painted(cells, paint);
        }
        layout.write(options.style, out)
    }
}

impl Source {
    fn shown(&self) -> String {
        line_text(&self.file, self.line, &self.inlined, &self.text)
    }
}

/// `loop.c:12 (in next)  while (--n)`: the file's last name, which is enough below the list of
/// files.
pub(super) fn line_text(file: &str, line: u64, inlined: &str, text: &str) -> String {
    let inlined = if inlined.is_empty() { String::new() } else { format!(" (in {inlined})") };
    format!("{}:{line}{inlined}  {}", last_name(file), one_line(text))
}

fn last_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}
