//! Measurements of what was recorded, read as tests need them: tables by row, balances, findings,
//! sums by function.

use std::collections::BTreeMap;

use serde_json::{Map, Value};
use strobe_model::measurement::{
    Cell, CellKind, Content, Finding, Measurement, Number, Parts, Profile, Spread,
};
use strobe_report::file;

use super::{Ran, number, strobe};

/// Runs a command that ends well, as `["report", "run.strobe"]`, and reads the measurement that it
/// writes, which must hold together.
pub fn recorded(arguments: &[&str]) -> Measurement {
    let (code, measurement) = ended(arguments);
    assert_eq!(code, 0, "{arguments:?}");
    measurement
}

/// The same of a command that may end otherwise, with its exit code.
pub fn ended(arguments: &[&str]) -> (i32, Measurement) {
    let Ran { code, stdout, stderr } = strobe(&[arguments, &["--format", "measurement"]].concat());
    match file::read(stdout.as_bytes()) {
        Ok(measurement) => (code, measurement),
        other => panic!("{arguments:?}: {other:?}\n{stdout}\n{stderr}"),
    }
}

/// The rows of a table as objects by the names of its columns, each cell as its likely value; none
/// where there is no such table, which is left out if there is nothing in it.
pub fn rows(measurement: &Measurement, table: &str) -> Vec<Value> {
    let Some(table) = measurement.table(table) else { return Vec::new() };
    let row = |at: usize| {
        let cells = table.columns.iter().map(|c| (c.id.clone(), shown(&c.cells[at])));
        Value::Object(cells.collect::<Map<_, _>>())
    };
    (0..table.len()).map(row).collect()
}

fn shown(cell: &Cell) -> Value {
    match cell {
        Cell::Empty => Value::Null,
        Cell::Text(text) => text.as_str().into(),
        Cell::Address(address) => address.to_string().into(),
        Cell::Exact(_) | Cell::Figure { .. } => match cell.number() {
            Some(Number::Integer(n)) => n.into(),
            Some(Number::Real(x)) => x.into(),
            None => Value::Null,
        },
    }
}

/// The row of a table whose first text column is this.
pub fn row(measurement: &Measurement, table: &str, name: &str) -> Value {
    let all = rows(measurement, table);
    let columns = measurement.table(table).map(|table| &table.columns);
    let names = columns.and_then(|all| all.iter().find(|c| c.kind == CellKind::Text));
    let key = names.map_or_else(|| panic!("no table {table}"), |column| column.id.clone());
    let found = all.iter().find(|row| row[&key] == name);
    found.unwrap_or_else(|| panic!("{table}: no {name} in {all:?}")).clone()
}

/// A column of a table, as counts.
pub fn column(measurement: &Measurement, table: &str, id: &str) -> Vec<u64> {
    rows(measurement, table).iter().map(|row| number(&row[id])).collect()
}

/// A headline figure; 0 where it is left out.
pub fn figure(measurement: &Measurement, id: &str) -> u64 {
    measurement.total(id).and_then(|total| total.value()).map_or(0, Number::as_u64)
}

/// The balance of something.
pub fn balance<'a>(measurement: &'a Measurement, what: &str) -> &'a Parts {
    let mut all = measurement.balances.iter().map(|balance| balance.parts());
    all.find(|parts| parts.what == what).unwrap_or_else(|| panic!("no balance of {what}"))
}

/// What of a balance has no owner, for a reason; 0 where that is left out.
pub fn unattributed(measurement: &Measurement, what: &str, why: &str) -> u64 {
    let reasons = &balance(measurement, what).unattributed;
    reasons.iter().find(|(reason, _)| reason == why).map_or(0, |(_, n)| *n)
}

/// Packets of a kind.
pub fn packets(measurement: &Measurement, kind: &str) -> u64 {
    let all = rows(measurement, "packets");
    all.iter().find(|row| row["kind"] == kind).map_or(0, |row| number(&row["packets"]))
}

/// A distribution of a section.
pub fn spread<'a>(measurement: &'a Measurement, section: &str, name: &str) -> &'a Spread {
    let content = measurement.section(section).map(|section| &section.content);
    let Some(Content::Distributions(all)) = content else { panic!("no distributions {section}") };
    let found = all.distributions.iter().find(|d| d.name == name);
    &found.unwrap_or_else(|| panic!("{section}: no {name}")).spread
}

/// The lines of a text.
pub fn lines<'a>(measurement: &'a Measurement, section: &str) -> &'a [String] {
    match measurement.section(section).map(|section| &section.content) {
        Some(Content::Text(text)) => &text.lines,
        _ => panic!("no text {section}"),
    }
}

/// Findings of a kind.
pub fn findings<'a>(measurement: &'a Measurement, code: &str) -> Vec<&'a Finding> {
    measurement.findings.iter().filter(|finding| finding.code == code).collect()
}

/// The text of all findings.
pub fn said(measurement: &Measurement) -> String {
    let texts: Vec<&str> = measurement.findings.iter().map(|f| f.text.as_str()).collect();
    texts.join("\n")
}

/// What a fact of the subject counts.
pub fn fact(measurement: &Measurement, name: &str) -> u64 {
    let fact = measurement.subject.facts.iter().find(|fact| fact.name == name);
    let figure = fact.and_then(|fact| fact.figure.as_ref()).and_then(|figure| figure.value());
    figure.unwrap_or_else(|| panic!("no fact {name}")).as_u64()
}

/// A section that is a profile.
pub fn profile<'a>(measurement: &'a Measurement, section: &str) -> &'a Profile {
    match measurement.section(section).map(|section| &section.content) {
        Some(Content::Profile(profile)) => profile,
        _ => panic!("no profile {section}"),
    }
}

/// Functions with what they have of a measure themselves, without what is idle.
pub fn functions(measurement: &Measurement, measure: &str) -> BTreeMap<String, u64> {
    let profile = profile(measurement, "profile");
    let values = |id: &str| profile.leaves.of(id).map(|values| &values.values);
    let idle = profile.parts(measure).filter(|(_, part)| part.idle);
    let idle: Vec<_> = idle.filter_map(|(measure, _)| values(&measure.id)).collect();
    let all = values(measure).unwrap_or_else(|| panic!("no measure {measure}"));
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for (at, place) in profile.leaves.at.iter().enumerate() {
        let Some(function) = place.and_then(|location| profile.function_at(location)) else {
            continue;
        };
        let busy = all[at] - idle.iter().map(|values| values[at]).sum::<i64>();
        let name = profile.function_name(Some(function)).to_owned();
        *sums.entry(name).or_default() += u64::try_from(busy).expect("no fewer than none");
    }
    sums
}

/// Addresses that samples of a measure lie at.
pub fn addresses(measurement: &Measurement) -> Vec<u64> {
    let all = profile(measurement, "profile").locations.address.iter();
    all.flatten().map(|address| address.0).collect()
}

/// Cycles and calls of a function with all that it calls: at the likely figure.
pub fn spent(measurement: &Measurement, name: &str) -> (u64, u64) {
    let profile = profile(measurement, "profile");
    let is_it = |stack: u32| {
        let location = profile.stacks.location[stack as usize];
        profile.function_at(location).is_some_and(|f| profile.function_name(Some(f)) == name)
    };
    let parent = |stack: &u32| profile.stacks.parent[*stack as usize];
    let chains = &profile.chains;
    let of = |id: &str| &chains.of(id).unwrap_or_else(|| panic!("no {id}")).values;
    let (all_cycles, all_calls) = (of("cycles"), of("calls"));
    let (mut cycles, mut calls) = (0, 0);
    for (at, stack) in chains.at.iter().enumerate() {
        let Some(stack) = *stack else { continue };
        if is_it(stack) {
            calls += all_calls[at];
        }
        if std::iter::successors(Some(stack), parent).any(is_it) {
            cycles += all_cycles[at];
        }
    }
    assert!(calls > 0, "no {name}");
    (cycles as u64, calls as u64)
}

/// Values of a counter of a time line by its track's name, with their times.
pub fn counter(measurement: &Measurement, section: &str, name: &str) -> Vec<(i64, i64)> {
    let content = measurement.section(section).map(|section| &section.content);
    let Some(Content::Timeline(line)) = content else { panic!("no time line {section}") };
    let track = line.tracks.iter().position(|track| track.name == name);
    let track = track.unwrap_or_else(|| panic!("{section}: no {name}")) as u32;
    let all = &line.counters;
    let of_it = (0..all.track.len()).filter(|i| all.track[*i] == track);
    of_it.map(|i| (all.at[i], all.value[i])).collect()
}
