//! What is needed to read a measurement without its ELF file: symbols, the instructions of what
//! ran, their source.

use std::collections::{BTreeMap, BTreeSet};
use strobe_model::measurement::ids;

use strobe_model::measurement::{Address, Column, Content, Measurement, Table, Unit};
use strobe_symbols::{Firmware, Function};

/// Reads a line of a source file, if the file is there.
pub type ReadLine<'a> = dyn FnMut(&str, u32) -> Option<String> + 'a;

/// What to put into a measurement.
#[derive(Default)]
pub struct Attach<'a> {
    /// Functions and variables with their sizes.
    pub symbols: bool,
    /// The instructions of functions that ran.
    pub disassembly: bool,
    /// The source lines of functions that ran; a line of a file, as the debug information names
    /// it, is read by the caller.
    pub source: Option<&'a mut ReadLine<'a>>,
    /// Functions that are treated as if they ran.
    pub also: Vec<&'a Function>,
}

/// The most lines of source that a measurement takes.
const MOST_LINES: usize = 100_000;

/// A function whose lines are this far apart has some of another one among them.
const LONGEST: u32 = 5_000;

/// Puts them into sections of the measurement's own (`symbols`, `disassembly`, `source`), in place
/// of any that are there. What ran is taken from its profiles; without one there are symbols only.
pub fn attach(measurement: &mut Measurement, firmware: &Firmware, what: Attach<'_>) {
    if what.symbols {
        put(measurement, "symbols", "functions and variables", symbols(firmware));
    }
    let mut functions = functions(measurement, firmware);
    functions.extend(what.also);
    functions.sort_by_key(|function| function.start);
    functions.dedup_by_key(|function| function.start);
    if what.disassembly {
        let title = "instructions of functions that ran";
        put(measurement, "disassembly", title, disassembly(firmware, &functions));
    }
    if let Some(read) = what.source {
        let (table, left_out) = source(firmware, &functions, read);
        put(measurement, "source", "source of functions that ran", table);
        let section =
            measurement.sections.iter_mut().find(|section| section.id == ids::section::SOURCE);
        if let Some(section) = section.filter(|_| left_out > 0) {
            section.notes.push(format!("{left_out} further lines are not here."));
        }
    }
}

fn put(measurement: &mut Measurement, id: &str, title: &str, table: Table) {
    measurement.sections.retain(|section| section.id != id);
    if !table.is_empty() {
        measurement.push(id, title, Content::Table(table));
    }
}

/// The functions of the image that profiles refer to, by address.
fn functions<'a>(measurement: &Measurement, firmware: &'a Firmware) -> Vec<&'a Function> {
    let mut starts = BTreeSet::new();
    for profile in measurement.profiles() {
        let used: BTreeSet<u32> = profile.locations.function.iter().flatten().copied().collect();
        let address = |f: &u32| profile.functions.address.get(*f as usize).copied().flatten();
        starts.extend(used.iter().filter_map(address));
    }
    let found = starts.iter().filter_map(|address| {
        let address = u32::try_from(address.0).ok()?;
        Some(firmware.function(firmware.function_at(address)?))
    });
    found.collect()
}

fn symbols(firmware: &Firmware) -> Table {
    let mut table = Table::new(vec![
        Column::text("name", "name"),
        Column::text(ids::column::KIND, "kind"),
        Column::address(ids::column::ADDRESS, "address"),
        Column::figure("size", "size", Unit::BYTES),
        Column::text("section", "section"),
        Column::text("file", "file"),
    ]);
    let section = |address| firmware.section_at(address).map(|section| section.name.as_str());
    for function in firmware.functions() {
        let frames = firmware.frames(function.start);
        let file = frames.outermost().and_then(|frame| frame.file);
        table.row([
            function.name.as_str().into(),
            "function".into(),
            Address(function.start.into()).into(),
            function.size.into(),
            section(function.start).into(),
            file.or(function.symbol_file.as_deref()).into(),
        ]);
    }
    for variable in firmware.data_symbols() {
        table.row([
            variable.name.as_str().into(),
            "variable".into(),
            Address(variable.address.into()).into(),
            variable.size.into(),
            section(variable.address).into(),
            None::<&str>.into(),
        ]);
    }
    table
}

/// The addresses of a function's instructions.
fn range(function: &Function) -> std::ops::Range<u32> {
    function.start..u32::try_from(function.end()).unwrap_or(u32::MAX)
}

fn disassembly(firmware: &Firmware, functions: &[&Function]) -> Table {
    let mut table = Table::new(vec![
        Column::address(ids::column::ADDRESS, "address"),
        Column::text(ids::column::BYTES, "bytes"),
        Column::text("text", "instruction"),
        Column::text(ids::column::FUNCTION, "function"),
        Column::text("file", "file"),
        Column::figure("line", "line", Unit::COUNT),
        Column::text("inlined", "inlined"),
    ]);
    for function in functions {
        for instruction in firmware.instructions(range(function)) {
            let frames = firmware.frames(instruction.address);
            let frame = frames.innermost();
            table.row([
                Address(instruction.address.into()).into(),
                instruction.encoding().into(),
                instruction.to_string().into(),
                function.name.as_str().into(),
                frame.and_then(|frame| frame.file).into(),
                frame.and_then(|frame| frame.line).into(),
                frame.filter(|frame| frame.inlined).and_then(|frame| frame.name).into(),
            ]);
        }
    }
    table
}

/// From the first line of each function to its last, those inlined into it included; and how many
/// lines are left out.
fn source(
    firmware: &Firmware,
    functions: &[&Function],
    read: &mut dyn FnMut(&str, u32) -> Option<String>,
) -> (Table, usize) {
    let mut table = Table::new(vec![
        Column::text("file", "file"),
        Column::figure("line", "line", Unit::COUNT),
        Column::text("text", "text"),
    ]);
    let mut lines: BTreeSet<(String, u32)> = BTreeSet::new();
    for function in functions {
        // By file and function: code of several is inlined into one.
        let mut spans: BTreeMap<(&str, Option<&str>), (u32, u32)> = BTreeMap::new();
        let frames = firmware.instructions(range(function));
        let frames: Vec<_> = frames.map(|i| firmware.frames(i.address)).collect();
        for frame in frames.iter().flat_map(|frames| &frames.frames) {
            let (Some(file), Some(line)) = (frame.file, frame.line) else { continue };
            let span = spans.entry((file, frame.name)).or_insert((line, line));
            *span = (span.0.min(line), span.1.max(line));
        }
        for ((file, _), (first, last)) in spans {
            let last = last.min(first.saturating_add(LONGEST));
            lines.extend((first..=last).map(|line| (file.to_owned(), line)));
        }
    }
    let left_out = lines.len().saturating_sub(MOST_LINES);
    for (file, line) in lines.into_iter().take(MOST_LINES) {
        if let Some(text) = read(&file, line) {
            table.row([file.into(), line.into(), text.into()]);
        }
    }
    (table, left_out)
}
