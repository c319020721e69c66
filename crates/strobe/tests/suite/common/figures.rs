//! Figures of measured runs by name: what tests ask of a measurement.

use strobe_analyse::attribution::{self, Place, RowPlace};
use strobe_model::measurement::{
    Cell, Content, Distribution, Kind, Measurement, Number, Parts, Profile, Severity, Trust,
};

/// Runs a firmware and reads its measurement, which must balance.
pub fn run(arguments: &[&str]) -> (i32, Measurement) {
    let (code, measurement) = super::measured(&[&["run"], arguments].concat());
    assert_balanced(&measurement);
    (code, measurement)
}

/// Every cycle taken is accounted for, in the balance, by cause and by address.
pub fn assert_balanced(measurement: &Measurement) {
    let name = &measurement.subject.name;
    let taken = taken(measurement);
    let balance = balance(measurement);
    let unattributed: u64 = balance.unattributed.iter().map(|(_, n)| n).sum();
    let accounted = balance.attributed + unattributed + balance.idle + balance.lost.known();
    assert_eq!(taken, accounted, "the balance of {name}");
    assert_eq!(taken, total(measurement, "cycles"), "the total of {name}");
    let profile = profile(measurement);
    let sum = |measure: &str| count(profile.leaves.of(measure).map_or(0, |v| v.sum()).into());
    assert_eq!(taken, sum("cycles"), "addresses of {name}");
    let causes: u64 = profile.parts("cycles").map(|(part, _)| sum(&part.id)).sum();
    assert_eq!(taken, causes, "causes of {name}");
    if let Some(causes) = measurement.table("causes") {
        let cells = &causes.column("cycles").expect("cycles").cells;
        assert_eq!(taken, cells.iter().map(number).sum::<u64>(), "causes of {name}");
    }
}

/// No model has a part in any figure. How much of a function is waiting that others call, too, is
/// worked out and not counted.
pub fn assert_exact(measurement: &Measurement) {
    let name = &measurement.subject.name;
    assert!(measurement.findings.iter().all(|f| f.code != "modelled"), "{name}");
    // A run that does not watch the heap does not know its peak.
    let mut totals = measurement
        .totals
        .iter()
        .filter(|total| !["heap-peak", "waiting"].contains(&total.id.as_str()));
    assert!(totals.all(|t| *t.quantity.trust() == Trust::Exact), "{name}");
    assert!(profile(measurement).measures.iter().all(|m| m.kind == Kind::Exact), "{name}");
    let tables = measurement.sections.iter().filter_map(|section| match &section.content {
        Content::Table(table) if section.id != "waiting" => Some(table),
        _ => None,
    });
    let mut cells = tables.flat_map(|table| &table.columns).flat_map(|column| &column.cells);
    let modelled =
        |cell: &&Cell| matches!(cell, Cell::Figure { trust: Trust::Modelled { .. }, .. });
    assert_eq!(cells.find(modelled), None, "{name}");
}

/// A count, which a figure has to be.
fn count(number: Number) -> u64 {
    match number {
        Number::Integer(n) => u64::try_from(n).unwrap_or_else(|_| panic!("{n} is no count")),
        Number::Real(n) => panic!("{n} is no count"),
    }
}

/// The likely value of a headline figure that is a count.
pub fn total(measurement: &Measurement, id: &str) -> u64 {
    count(super::total(measurement, id))
}

/// The profile.
pub fn profile(measurement: &Measurement) -> &Profile {
    measurement.profiles().next().expect("a profile")
}

/// What became of all cycles.
pub fn balance(measurement: &Measurement) -> &Parts {
    let mut all = measurement.balances.iter().map(|balance| balance.parts());
    all.find(|parts| parts.what == "cycles").expect("a balance of cycles")
}

/// All cycles.
pub fn taken(measurement: &Measurement) -> u64 {
    balance(measurement).taken
}

/// How much of all cycles was idle.
pub fn idle_percent(measurement: &Measurement) -> u64 {
    balance(measurement).idle * 100 / taken(measurement)
}

/// How the run ended, for programs.
pub fn ended(measurement: &Measurement) -> &str {
    &measurement.window.ended.kind
}

/// The board.
pub fn board(measurement: &Measurement) -> Option<&str> {
    measurement.subject.board.as_deref()
}

/// The core.
pub fn core(measurement: &Measurement) -> Option<&str> {
    measurement.subject.core.as_deref()
}

/// The clock over time.
pub fn hertz(measurement: &Measurement) -> Vec<u32> {
    measurement.subject.clock.iter().map(|span| span.hz).collect()
}

/// The clock at the end.
pub fn final_hertz(measurement: &Measurement) -> u32 {
    *hertz(measurement).last().expect("a clock")
}

/// Texts of the warnings.
pub fn warnings(measurement: &Measurement) -> Vec<&str> {
    let all = measurement.findings.iter().filter(|f| f.severity == Severity::Warning);
    all.map(|finding| finding.text.as_str()).collect()
}

/// A part, as a chip of a rig.
pub fn part<'a>(measurement: &'a Measurement, name: &str) -> &'a Measurement {
    let part = measurement.parts.iter().find(|part| part.name == name);
    &part.unwrap_or_else(|| panic!("no part {name}")).measurement
}

/// A distribution of a section.
pub fn spread<'a>(measurement: &'a Measurement, section: &str, name: &str) -> &'a Distribution {
    let content = measurement.section(section).map(|section| &section.content);
    let Some(Content::Distributions(all)) = content else { panic!("no distributions {section}") };
    let mut all = all.distributions.iter();
    all.find(|d| d.name == name).unwrap_or_else(|| panic!("{section} has no {name}"))
}

/// The likely widths of a series, in cycles, in their order.
pub fn widths(measurement: &Measurement, name: &str) -> Vec<u64> {
    let series = spread(measurement, "pins", name);
    assert_eq!(series.spread.count(), series.values.len() as u64, "{name}");
    series.values.clone()
}

/// The lower and upper bounds of a series, in cycles, each in the order of size.
pub fn bounds(measurement: &Measurement, name: &str) -> Vec<(u64, u64)> {
    let series = spread(measurement, "pins", name);
    let all = |spread: &Option<strobe_model::measurement::Spread>| -> Vec<u64> {
        let buckets = spread.iter().flat_map(|spread| spread.buckets());
        buckets.flat_map(|(value, n)| std::iter::repeat_n(value, n as usize)).collect()
    };
    let (low, high) = (all(&series.low), all(&series.high));
    assert_eq!(low.len(), high.len());
    low.into_iter().zip(high).collect()
}

/// The number of a cell; 0 of an empty one.
pub fn number(cell: &Cell) -> u64 {
    match cell {
        Cell::Empty => 0,
        cell => count(cell.number().unwrap_or_else(|| panic!("{cell:?} is no number"))),
    }
}

/// A column of a table; nothing where there is no such table.
pub fn column<'a>(measurement: &'a Measurement, table: &str, column: &str) -> &'a [Cell] {
    let Some(table) = measurement.table(table) else { return &[] };
    &table.column(column).unwrap_or_else(|| panic!("no column {column}")).cells
}

/// The texts of a column.
pub fn texts<'a>(measurement: &'a Measurement, table: &str, name: &str) -> Vec<&'a str> {
    column(measurement, table, name).iter().filter_map(Cell::text).collect()
}

/// The cell of a row, by what one of the row's texts contains; what stands further left counts
/// first, as a row's name does.
pub fn cell<'a>(measurement: &'a Measurement, table: &str, row: &str, name: &str) -> &'a Cell {
    let all = measurement.table(table).unwrap_or_else(|| panic!("no table {table}"));
    let texts = |n: &usize| {
        let cells = all.columns.iter().filter_map(|column| column.cells.get(*n)?.text());
        cells.collect::<Vec<_>>()
    };
    let mut exact = (0..all.len()).filter(|n| texts(n).contains(&row));
    let like = (0..all.len()).filter(|n| texts(n).iter().any(|text| text.contains(row)));
    let by_place = |n: &usize| texts(n).iter().position(|text| text.contains(row));
    let found = exact.next().or_else(|| like.min_by_key(by_place));
    let found = found.unwrap_or_else(|| panic!("{table} has no row {row}"));
    &column(measurement, table, name)[found]
}

/// The figure of a row.
pub fn figure(measurement: &Measurement, table: &str, row: &str, column: &str) -> u64 {
    number(cell(measurement, table, row, column))
}

/// Busy and idle cycles and calls of the nodes of the call tree that are called so, and whether a
/// node is a root.
pub struct Node {
    /// What it is called; functions as they are, threads and handlers with what they are.
    pub name: String,
    /// Cycles by itself.
    pub own: u64,
    /// Cycles with all that it called.
    pub all: u64,
    /// How often it was called.
    pub calls: u64,
    /// The node above it.
    pub parent: Option<usize>,
    /// A function.
    pub is_function: bool,
}

/// The call tree.
pub fn nodes(measurement: &Measurement) -> Vec<Node> {
    let profile = profile(measurement);
    let tree = attribution::tree(profile, "cycles").expect("call chains");
    let calls = profile.measures.iter().position(|measure| measure.id == "calls");
    let sum = |sum: &attribution::NodeSum| count((sum.busy + sum.idle).into());
    let each = tree.nodes.iter().enumerate().map(|(at, node)| Node {
        name: tree.name(profile, at),
        own: sum(&node.own),
        all: sum(&node.all),
        calls: calls.and_then(|i| node.others[i]).map_or(0, |n| count(n.value.into())),
        parent: node.parent,
        is_function: matches!(node.place, Place::Function(_)),
    });
    each.collect()
}

/// Functions by name that ran, with their busy cycles.
pub fn functions(measurement: &Measurement) -> Vec<(String, u64)> {
    let by = attribution::By::Function;
    let flat = attribution::rows(profile(measurement), "cycles", &by).expect("cycles");
    let named = flat.rows.iter().filter(|row| matches!(row.spot, RowPlace::Function(Some(_))));
    named.map(|row| (row.name.clone(), count(row.sums.busy().value.into()))).collect()
}
