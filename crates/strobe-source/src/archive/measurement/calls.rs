//! Calls of instrumented functions: a table of them, and a profile of the time by call chain.

use std::collections::HashMap;
use strobe_model::measurement::ids;

use crate::archive::report::FunctionsSeen;
use strobe_model::measurement::{
    Address, Cell, Column, Content, Kind, Label, Loss, Measure, Measurement, Parts, Profile, Table,
    Unit, Values,
};

use super::super::calls::Calls;
use super::events::About;
use crate::measuring::{balance, count};

const INSTRUMENTED: &str = "as instrumented code reports; times include the instrumentation";

/// Adds the sections.
pub(super) fn push(measurement: &mut Measurement, about: &About) {
    let Some(functions) = &about.report.functions else { return };
    if !about.extras.calls.nodes().is_empty() {
        let profile = Content::Profile(Box::new(profile(about, functions)));
        let section =
            measurement.push(ids::section::PROFILE, "functions: time by call chain", profile);
        section.notes.push(INSTRUMENTED.to_owned());
    }
    measurement.push_total("calls", "calls", about.counted(functions.calls, Unit::COUNT));
    let entered = about.counted(functions.entered_functions, Unit::COUNT);
    measurement.push_total("functions-entered", "functions entered", entered);
    let section = measurement.push(
        "functions",
        "functions: times with the calls they made",
        Content::Table(table(about, functions)),
    );
    section.notes.push(INSTRUMENTED.to_owned());
    let parts = Parts {
        what: "entries and exits of functions".to_owned(),
        unit: Unit::COUNT,
        taken_as: "seen".to_owned(),
        attributed_as: String::new(),
        taken: functions.enters.saturating_add(functions.exits),
        attributed: functions.calls.saturating_mul(2),
        unattributed: vec![
            ("entries without an exit".to_owned(), functions.unmatched_enters),
            ("exits without an entry".to_owned(), functions.unmatched_exits),
        ],
        idle: 0,
        lost: Loss::Known(0),
    };
    balance(measurement, parts);
}

fn name(name: Option<&str>, address: u32) -> String {
    name.map_or_else(|| format!("{address:#010x}"), str::to_owned)
}

fn table(about: &About, functions: &FunctionsSeen) -> Table {
    let time = |id, title| Column::figure(id, title, Unit::NANOSECONDS);
    let mut table = Table::new(vec![
        Column::text(ids::column::FUNCTION, "function"),
        Column::address(ids::column::ADDRESS, "address").worth(0),
        count("enters", "entered").of(functions.enters),
        count("exits", "left"),
        count("calls", "matched"),
        time("total", "total"),
        time("mean", "mean"),
        time("max", "max"),
    ]);
    for f in &functions.functions {
        let timed = |ns: u64| (f.calls > 0).then_some(ns);
        let seen = |ns: u64| about.counted(ns, Unit::NANOSECONDS);
        table.row([
            name(f.name.as_deref(), f.address).into(),
            Address(f.address.into()).into(),
            about.count(f.enters),
            about.count(f.exits),
            f.calls.into(),
            timed(f.total_ns).map(seen).into(),
            timed(f.total_ns.checked_div(f.calls).unwrap_or(0)).into(),
            timed(f.max_ns).map(seen).into(),
        ]);
    }
    let [address, total, mean, max] = [const { Cell::Empty }; 4];
    let (enters, exits) = (functions.enters.into(), functions.exits.into());
    let calls = functions.calls.into();
    table.footer.push(vec!["all".into(), address, enters, exits, calls, total, mean, max]);
    table
}

fn profile(about: &About, functions: &FunctionsSeen) -> Profile {
    let calls: &Calls = &about.extras.calls;
    let kind = if about.lossy() { Kind::AtLeast } else { Kind::Exact };
    let measure = |id: &str, title: &str, unit| Measure::new(id, title, unit, kind.clone());
    let mut profile = Profile {
        measures: vec![
            measure("time", "time", Unit::NANOSECONDS),
            measure(ids::measure::CALLS, "calls", Unit::COUNT),
        ],
        merged_calls: calls.merged(),
        ..Profile::default()
    };
    let mut places = HashMap::new();
    for (at, f) in (0u32..).zip(&functions.functions) {
        profile.functions.name.push(name(f.name.as_deref(), f.address));
        profile.functions.address.push(Some(Address(f.address.into())));
        profile.functions.file.push(None);
        // The function as a whole: where in it the calls were nobody knows.
        profile.locations.address.push(None);
        profile.locations.function.push(Some(at));
        profile.locations.frame.push(None);
        places.insert(f.address, at);
    }
    let mut labels = HashMap::new();
    let (mut times, mut counts) = (Vec::new(), Vec::new());
    for (at, node) in (0u32..).zip(calls.nodes()) {
        profile.stacks.parent.push(node.caller);
        profile.stacks.location.push(places.get(&node.function).copied().unwrap_or(0));
        if node.calls == 0 {
            continue;
        }
        let label = *labels.entry(node.thread).or_insert_with(|| {
            let value = about.thread(node.thread, None);
            profile.labels.push(Label { key: "thread".to_owned(), value });
            profile.labels.len() as u32 - 1
        });
        profile.chains.at.push(Some(at));
        profile.chains.label.push(Some(label));
        times.push(i64::try_from(node.self_ns).unwrap_or(i64::MAX));
        counts.push(i64::try_from(node.calls).unwrap_or(i64::MAX));
    }
    let values =
        |measure: &str, values| Values { measure: measure.to_owned(), values, ..Values::default() };
    profile.chains.values = vec![values("time", times), values(ids::measure::CALLS, counts)];
    profile
}
