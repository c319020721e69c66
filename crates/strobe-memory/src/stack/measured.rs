//! What a run measured, beside what machine code allows.

use strobe_model::measurement::ids;
use strobe_model::measurement::{
    Cell, Column, Content, Finding, Measurement, Severity, Table, Trust, Unit,
};

/// How deep a stack was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Measured {
    /// The thread, or `main`.
    pub name: String,
    /// The function that the thread is made of; the stack from reset is the first.
    pub entry: Option<u32>,
    /// The stack from reset.
    pub is_main: bool,
    /// Bytes from the highest address that the stack pointer has had.
    pub bytes: u64,
    /// All bytes of it, where its end is known.
    pub size: Option<u64>,
    /// The size is the most that it can be.
    pub is_most: bool,
    /// The lowest stack pointer.
    pub low: u32,
    /// Every instruction was looked at.
    pub is_exact: bool,
    /// Where it was deepest: the calls, outermost first.
    pub chain: String,
    /// Cycles since reset then.
    pub cycle: u64,
}

/// Puts the columns `measured` and `gap` into the table of stacks. A stack that only the run knows
/// has a row of its own.
pub fn join(measurement: &mut Measurement, measured: &[Measured]) {
    let Some(section) =
        measurement.sections.iter_mut().find(|section| section.id == ids::section::STACKS)
    else {
        return;
    };
    let Content::Table(table) = &mut section.content else { return };
    let Some(rows) = by_row(table, measured) else { return };
    let mut findings = sizes(table, &rows);
    let column = |id: &str| table.columns.iter().position(|column| column.id == id);
    let Some(worst) = column("worst") else { return };
    let tops = table.columns.iter().find(|column| column.id == ids::column::TOP);
    let tops: Vec<Option<u64>> =
        tops.map_or(Vec::new(), |column| column.cells.iter().map(address).collect());
    let mut found = Column::figure("measured", "measured", Unit::BYTES);
    let mut gap = Column::figure("gap", "worst - measured", Unit::BYTES);
    let mut deepest = Column::text("deepest", "deepest in");
    for (row, measured) in rows.iter().enumerate() {
        let Some(measured) = measured else {
            for column in [&mut found, &mut gap, &mut deepest] {
                column.cells.push(Cell::Empty);
            }
            continue;
        };
        // Start-up code may set the stack pointer to where the linker wants it.
        let top = tops.get(row).copied().flatten().filter(|_| measured.is_main);
        let used = top.and_then(|top| top.checked_sub(measured.low.into()));
        let used = used.unwrap_or(measured.bytes);
        let trust = if measured.is_exact { Trust::Exact } else { Trust::AtLeast };
        found.cells.push(Cell::Figure { value: Some(used.into()), trust });
        let worst = &table.columns[worst].cells[row];
        let bound = worst.number().map(|number| number.as_u64());
        let is_bound = matches!(worst, Cell::Figure { trust: Trust::AtMost, .. });
        gap.cells.push(match bound {
            Some(bound) => (bound as i64).saturating_sub(used as i64).into(),
            None => Cell::Empty,
        });
        deepest.cells.push(if measured.chain.is_empty() {
            Cell::Empty
        } else {
            format!("{} at cycle {}", measured.chain, measured.cycle).into()
        });
        if let Some(bound) = bound.filter(|bound| is_bound && *bound < used) {
            let text = format!(
                "the stack of {} was {} bytes deep, more than the {bound} that its machine code \
                 allows: part of its code was not seen, or a thread's stack was taken for another",
                measured.name, used
            );
            findings.push(Finding::new(Severity::Warning, "measured-exceeds", text));
        }
    }
    table.columns.extend([found, gap, deepest]);
    measurement.findings.extend(findings);
}

fn address(cell: &Cell) -> Option<u64> {
    match cell {
        Cell::Address(address) => Some(address.0),
        _ => None,
    }
}

/// What was measured of each stack in the table, which gets a row for each that only the run knows.
fn by_row<'m>(table: &mut Table, measured: &'m [Measured]) -> Option<Vec<Option<&'m Measured>>> {
    let entry = table.columns.iter().position(|column| column.id == ids::column::ENTRY)?;
    let mut rows: Vec<Option<&Measured>> = Vec::new();
    for row in 0..table.len() {
        let at = address(&table.columns[entry].cells[row]);
        let fits = |m: &&Measured| {
            if row == 0 { m.is_main } else { !m.is_main && m.entry.map(u64::from) == at }
        };
        rows.push(measured.iter().filter(fits).max_by_key(|m| m.bytes));
    }
    let is_shown = |m: &&Measured| rows.iter().flatten().any(|shown| std::ptr::eq(*shown, *m));
    let others: Vec<&Measured> = measured.iter().filter(|m| !is_shown(m)).collect();
    for other in &others {
        for column in &mut table.columns {
            let cell = if column.id == ids::column::STACK {
                other.name.as_str().into()
            } else {
                Cell::Empty
            };
            column.cells.push(cell);
        }
    }
    rows.extend(others.into_iter().map(Some));
    Some(rows)
}

/// Gives stacks the size that they had in the run, where the image shows none or a larger one: the
/// system may align a thread's stack, and a heap may have grown towards the stack from reset.
/// Returns those that may be too small now.
fn sizes(table: &mut Table, rows: &[Option<&Measured>]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (row, measured) in rows.iter().enumerate() {
        let Some(measured) = measured else { continue };
        let Some(size) = size_in_run(table, row, measured) else { continue };
        let cell = |id: &str| Some(&table.column(id)?.cells[row]);
        let known = cell("size").and_then(Cell::number).map(|known| known.as_u64());
        if known.is_some_and(|known| known <= size) {
            continue;
        }
        let worst = cell("worst").cloned().unwrap_or(Cell::Empty);
        let bound = worst.number().map(|bound| bound.as_u64());
        let is_bound = matches!(worst, Cell::Figure { trust: Trust::AtMost, .. });
        put_size(table, row, (size, measured.is_most), bound.map(|bound| (bound, is_bound)));
        // Of one that the image's size does not hold either, the image has a finding.
        let was_enough = |bound: &u64| known.is_none_or(|known| *bound <= known);
        if let Some(bound) = bound.filter(|bound| *bound > size && was_enough(bound)) {
            let text = format!(
                "the stack of {} had {}{size} bytes in the run and may need {}{bound}",
                measured.name,
                if measured.is_most { "at most " } else { "" },
                if is_bound { "" } else { "more than " },
            );
            findings.push(Finding::new(Severity::Warning, "stack-too-small", text));
        }
    }
    findings
}

/// The size that a stack had in the run; that of the stack from reset counts from where the image
/// has its top. Code that goes over to a process stack above that has another one, which is not the
/// one that the image knows.
fn size_in_run(table: &Table, row: usize, measured: &Measured) -> Option<u64> {
    let size = measured.size?;
    let low = u64::from(measured.low);
    let cell = |id: &str| table.column(id)?.cells.get(row);
    match cell("top") {
        Some(Cell::Address(top)) if measured.is_main && low < top.0 => {
            let floor = (measured.bytes + low).checked_sub(size)?;
            top.0.checked_sub(floor)
        }
        Some(Cell::Address(_)) if cell("size").is_some_and(|size| *size != Cell::Empty) => None,
        _ => Some(size),
    }
}

/// Puts a size from the run into a row, and whether it is the most that it can be, with its margin:
/// the worst case and whether it is a bound. Of two bounds there is none.
fn put_size(
    table: &mut Table,
    row: usize,
    (size, is_most): (u64, bool),
    worst: Option<(u64, bool)>,
) {
    let of_most = |size: u64| {
        if is_most {
            Cell::Figure { value: Some(size.into()), trust: Trust::AtMost }
        } else {
            size.into()
        }
    };
    let margin = worst.filter(|(_, is_bound)| !(is_most && *is_bound));
    let margin = margin.and_then(|(worst, is_bound)| {
        let margin = i64::try_from(size).ok()? - i64::try_from(worst).ok()?;
        let trust = if is_bound { Trust::AtLeast } else { Trust::AtMost };
        Some(Cell::Figure { value: Some(margin.into()), trust })
    });
    let cells =
        [("size", Some(of_most(size))), ("margin", margin), ("source", Some("the run".into()))];
    for (id, cell) in cells {
        let column = table.columns.iter_mut().find(|column| column.id == id);
        if let Some((column, cell)) = column.zip(cell) {
            column.cells[row] = cell;
        }
    }
}
