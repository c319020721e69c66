//! Benchmarks as rows for JUnit XML and Markdown.

use std::collections::BTreeSet;
use strobe_model::measurement::ids;

use strobe_model::measurement::{Cell, Measurement, Table, Trust};
use strobe_report::bench::{Row, Verdict};
use strobe_report::grouped;

use super::baseline::Compared;

/// Figures of a row that are reported.
const FIGURES: [&str; 5] = ["cycles", "instructions", "stack", "blocks", "allocated"];

/// A row for each benchmark and input of all firmwares, and for those that are gone.
pub fn rows(all: &[(String, Measurement)], compared: Option<&Compared>) -> Vec<Row> {
    let mut rows = Vec::new();
    for (firmware, m) in all {
        let mut seen = BTreeSet::new();
        if let Some(table) = m.table(ids::section::BENCHMARKS) {
            for at in 0..table.len() {
                let row = row(firmware, table, at, compared);
                seen.insert(row.name.clone());
                rows.push(row);
            }
        }
        let verdicts = compared.into_iter().flat_map(|compared| &compared.verdicts);
        let gone = verdicts.filter(|((of, name), _)| of == firmware && !seen.contains(name));
        rows.extend(gone.map(|((firmware, name), (verdict, notes))| Row {
            firmware: firmware.clone(),
            name: name.clone(),
            figures: Vec::new(),
            verdict: *verdict,
            notes: notes.clone(),
        }));
    }
    rows
}

fn row(firmware: &str, table: &Table, at: usize, compared: Option<&Compared>) -> Row {
    let cell = |id: &str| table.column(id)?.cells.get(at);
    let name = cell("benchmark").and_then(Cell::text).unwrap_or_default().to_owned();
    let figure = |id: &&str| {
        let number = cell(id)?.number()?.as_u64();
        Some((table.column(id)?.title.clone(), grouped(number)))
    };
    let figures = FIGURES.iter().filter_map(figure).collect();
    let failed = match cell("cycles") {
        Some(Cell::Figure { trust: Trust::Unknown { why }, .. }) => Some(why.clone()),
        _ => None,
    };
    let of = (firmware.to_owned(), name.clone());
    let known = compared.and_then(|compared| compared.verdicts.get(&of)).cloned();
    let (verdict, notes) = match failed {
        Some(why) => (Verdict::Failed, vec![why]),
        None => known.unwrap_or_default(),
    };
    Row { firmware: firmware.to_owned(), name, figures, verdict, notes }
}
