//! What a run measured, beside what machine code allows.

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
    let Some(section) = measurement.sections.iter_mut().find(|section| section.id == "stacks")
    else {
        return;
    };
    let Content::Table(table) = &mut section.content else { return };
    let address = |cell: &Cell| match cell {
        Cell::Address(address) => Some(address.0),
        _ => None,
    };
    let column = |id: &str| table.columns.iter().position(|column| column.id == id);
    let Some(entry) = column("entry") else { return };
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
            let cell = if column.id == "stack" { other.name.as_str().into() } else { Cell::Empty };
            column.cells.push(cell);
        }
    }
    rows.extend(others.into_iter().map(Some));
    let mut findings = sizes(table, &rows);
    let column = |id: &str| table.columns.iter().position(|column| column.id == id);
    let Some(worst) = column("worst") else { return };
    let tops = table.columns.iter().find(|column| column.id == "top");
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
        deepest.cells.push(match measured.chain.is_empty() {
            true => Cell::Empty,
            false => format!("{} at cycle {}", measured.chain, measured.cycle).into(),
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

/// Gives stacks of no known size the one that they had in the run; returns those that may be too
/// small.
fn sizes(table: &mut Table, rows: &[Option<&Measured>]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (row, measured) in rows.iter().enumerate() {
        let Some((measured, size)) = measured.and_then(|m| Some((m, m.size?))) else { continue };
        let cell = |id: &str| Some(&table.column(id)?.cells[row]);
        if cell("size") != Some(&Cell::Empty) {
            continue;
        }
        let worst = cell("worst").cloned().unwrap_or(Cell::Empty);
        let bound = worst.number().and_then(|bound| i64::try_from(bound.as_u64()).ok());
        let is_bound = matches!(worst, Cell::Figure { trust: Trust::AtMost, .. });
        let margin = bound.and_then(|bound| Some(i64::try_from(size).ok()? - bound));
        let trust = if is_bound { Trust::AtLeast } else { Trust::AtMost };
        let margin_cell = margin.map(|m| Cell::Figure { value: Some(m.into()), trust });
        for (id, cell) in [
            ("size", Some(size.into())),
            ("margin", margin_cell),
            ("source", Some("the run".into())),
        ] {
            let column = table.columns.iter_mut().find(|column| column.id == id);
            if let Some((column, cell)) = column.zip(cell) {
                column.cells[row] = cell;
            }
        }
        if margin.is_some_and(|margin| margin < 0) {
            let text = format!(
                "the stack of {} had {size} bytes in the run and may need {}{}",
                measured.name,
                if is_bound { "" } else { "more than " },
                bound.unwrap_or_default(),
            );
            findings.push(Finding::new(Severity::Warning, "stack-too-small", text));
        }
    }
    findings
}
