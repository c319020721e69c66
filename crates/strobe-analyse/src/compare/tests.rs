//! Differences add up, know no more than their sides, and are nothing where nothing differs.

mod bounds;
mod models;

use proptest::prelude::*;
use strobe_model::measurement::{
    Cell, ClockSpan, Column, Content, Distribution, Distributions, Ended, Functions, Instrument,
    Kind, Locations, Measure, Measurement, Number, Part, Profile, Quantity, Samples, Spread,
    Stacks, Subject, Table, Trust, Unit, Values, Window,
};

use super::difference::Figure;
use super::{Comparison, Unlike};
use crate::figures::figures;

fn measure(id: &str, kind: Kind) -> Measure {
    let unit = if id == "calls" { Unit::COUNT } else { Unit::CYCLES };
    let part = ["execute", "asleep"].contains(&id).then(|| Part {
        of: "cycles".to_owned(),
        letter: None,
        idle: id == "asleep",
        meaning: None,
        advice: None,
    });
    Measure { id: id.to_owned(), title: id.to_owned(), unit, kind, part }
}

/// A function of a made-up run: name, caller by its place, cycles by itself, of which asleep,
/// calls.
type Row = (&'static str, Option<u32>, i64, i64, i64);

fn profile(rows: &[Row], kind: Kind) -> Profile {
    let values = |measure: &str, of: fn(&Row) -> i64| Values {
        measure: measure.to_owned(),
        values: rows.iter().map(of).collect(),
        ..Values::default()
    };
    let mut cycles = values("cycles", |row| row.2);
    if matches!(kind, Kind::Modelled { .. }) {
        cycles.low = cycles.values.iter().map(|n| n - n / 10).collect();
        cycles.high = cycles.values.iter().map(|n| n + n / 5).collect();
    }
    let (n, range) = (rows.len(), 0..rows.len() as u32);
    Profile {
        measures: vec![
            measure("cycles", kind),
            measure("execute", Kind::Exact),
            measure("asleep", Kind::Exact),
            measure("calls", Kind::Exact),
        ],
        functions: Functions {
            name: rows.iter().map(|row| row.0.to_owned()).collect(),
            address: vec![None; n],
            file: vec![None; n],
            ..Functions::default()
        },
        locations: Locations {
            address: vec![None; n],
            function: range.clone().map(Some).collect(),
            frame: vec![None; n],
        },
        stacks: Stacks {
            parent: rows.iter().map(|row| row.1).collect(),
            location: range.clone().collect(),
        },
        chains: Samples {
            at: range.map(Some).collect(),
            label: Vec::new(),
            values: vec![
                cycles,
                values("execute", |row| row.2 - row.3),
                values("asleep", |row| row.3),
                values("calls", |row| row.4),
            ],
        },
        ..Profile::default()
    }
}

fn run(rows: &[Row], kind: Kind) -> Measurement {
    let subject = Subject {
        name: "app.elf".to_owned(),
        clock: vec![ClockSpan { cycle: 0, hz: 48_000_000 }],
        ..Subject::default()
    };
    let window = Window::untimed("made up", Ended::default());
    let mut run = Measurement::new(subject, Instrument::default(), window);
    let cycles = rows.iter().map(|row| row.2).sum::<i64>();
    run.push_total("cycles", "cycles", Quantity::exact(cycles, Unit::CYCLES));
    let lost = Quantity::unknown(Unit::CYCLES, "nobody counted");
    run.push_total("lost", "lost", lost);
    let profile = profile(rows, kind);
    let mut table = Table::new(vec![
        Column::text("interrupt", "interrupt"),
        Column::figure("entered", "entered", Unit::COUNT),
    ]);
    let names: std::collections::BTreeSet<&str> = rows.iter().map(|row| row.0).collect();
    for (n, name) in (1u64..).zip(names) {
        table.row([format!("irq of {name}").into(), n.into()]);
    }
    table.footer.push(vec!["all".into(), rows.len().into()]);
    let mut times =
        Distribution::exact("UART", Unit::CYCLES, [10, 20, cycles as u64].into_iter().collect());
    times.resolution = Some(2);
    run.push("profile", "cycles", Content::Profile(Box::new(profile)));
    run.push("interrupts", "interrupts", Content::Table(table));
    let distributions = vec![times];
    run.push("latencies", "latencies", Content::Distributions(Distributions { distributions }));
    run
}

const A: &[Row] = &[
    ("main", None, 1000, 600, 1),
    ("send", Some(0), 300, 0, 10),
    ("old", Some(1), 50, 0, 5),
    ("send", Some(2), 30, 0, 5),
];
const B: &[Row] =
    &[("main", None, 900, 700, 1), ("send", Some(0), 500, 0, 12), ("new", Some(0), 70, 0, 2)];

fn modelled() -> Kind {
    Kind::Modelled { why: "flash".to_owned() }
}

/// The figures of a comparison.
fn compare(a: &Measurement, b: &Measurement) -> Measurement {
    super::compare(a, b).measurement
}

fn codes(compared: &Comparison) -> Vec<&'static str> {
    compared.unlike.iter().map(Unlike::code).collect()
}

fn cell<'m>(compared: &'m Measurement, section: &str, column: &str, row: &str) -> Option<&'m Cell> {
    let table = compared.table(section)?;
    let names = &table.columns.first()?.cells;
    let at = names.iter().position(|cell| cell.text() == Some(row))?;
    table.column(column)?.cells.get(at)
}

#[test]
fn functions_are_matched_by_name_and_differences_add_up() {
    let compared = compare(&run(A, Kind::Exact), &run(B, Kind::Exact));
    compared.check().unwrap();
    let all = figures(&compared);
    let figure = |name: &str| all.get(name).map(|n| n.as_f64());
    let wanted = [
        ("totals-cycles/cycles/difference", 90.0),
        ("profile-functions/main/self-a", 400.0),
        ("profile-functions/main/self-b", 200.0),
        ("profile-functions/main/inclusive-a", 780.0),
        ("profile-functions/send/self-a", 330.0),
        ("profile-functions/send/self-difference", 170.0),
        // It calls itself through another one: what that takes is in it once.
        ("profile-functions/send/inclusive-a", 380.0),
        ("profile-functions/send/calls-difference", -3.0),
        ("profile-functions/old/self-difference", -50.0),
        ("profile-functions/new/self-difference", 70.0),
        ("profile-functions/idle/self-difference", 100.0),
        ("profile-functions/all/self-difference", 90.0),
        ("profile-measures-cycles/asleep/difference", 100.0),
        ("interrupts/irq of main/entered-difference", 0.0),
        ("interrupts/all/entered-difference", -1.0),
        ("latencies/UART/max-difference", 90.0),
        ("latencies/UART/count-a", 3.0),
        ("parts/a/totals/cycles", 1380.0),
    ];
    for (name, value) in wanted {
        assert_eq!(figure(name), Some(value), "{name} of {:#?}", all.keys());
    }
    assert_eq!(cell(&compared, "profile-functions", "side", "old"), Some(&"a".into()));
    assert_eq!(cell(&compared, "profile-functions", "side", "new"), Some(&"b".into()));
    assert_eq!(cell(&compared, "interrupts", "side", "irq of new"), Some(&"b".into()));
    let table = compared.table("profile-functions").unwrap();
    let differences = &table.column("self-difference").unwrap().cells;
    let sum: f64 = differences.iter().filter_map(|cell| Some(cell.number()?.as_f64())).sum();
    assert_eq!(sum + 100.0, 90.0, "rows and what is idle");
}

#[test]
fn incomparable_parts_are_findings() {
    let a = run(A, Kind::Exact);
    let mut b = run(B, Kind::Exact);
    b.subject.clock[0].hz = 16_000_000;
    b.instrument.kind = "trace pin".to_owned();
    b.instrument.settings.insert("period".to_owned(), "64".to_owned());
    b.totals[0].quantity = Quantity::exact(7u64, Unit::SAMPLES);
    b.sections.remove(1);
    b.window.entries = Some(3);
    let compared = super::compare(&a, &b);
    compared.measurement.check().unwrap();
    let wanted = [
        "other-instrument",
        "other-clock",
        "other-windows",
        "other-settings",
        "one-sided-totals",
        "one-sided-sections",
        "one-sided-totals",
    ];
    assert_eq!(codes(&compared), wanted);
    assert_eq!(compared.unlike[1], Unlike::Clock([vec![48_000_000], vec![16_000_000]]));
    let compared = compared.measurement;
    assert!(cell(&compared, "totals-cycles", "a", "cycles").is_none(), "units differ");
    assert!(compared.section("interrupts").is_none(), "b has none");
}

#[test]
fn tables_whose_rows_share_a_name_are_not_compared() {
    let a = run(A, Kind::Exact);
    let mut b = run(B, Kind::Exact);
    if let Content::Table(table) = &mut b.sections[1].content {
        table.columns[0].cells[1] = "irq of main".into();
    }
    let compared = super::compare(&a, &b);
    assert!(compared.measurement.section("interrupts").is_none());
    assert!(compared.unlike.contains(&Unlike::NamelessRows(vec!["interrupts".to_owned()])));
}

#[test]
fn comparisons_can_be_compared() {
    let (a, b) = (run(A, Kind::Exact), run(B, modelled()));
    let compared = compare(&compare(&a, &b), &compare(&b, &a));
    compared.check().unwrap();
    let all = figures(&compared);
    assert_eq!(all["totals-cycles/cycles/difference-a"], Number::Integer(90));
    assert_eq!(all["totals-cycles/cycles/difference-difference"], Number::Integer(-180));
}

#[test]
fn several_windows_are_compared_one_by_one() {
    let (mut a, mut b) = (run(A, Kind::Exact), run(B, Kind::Exact));
    b.window.entries = Some(2);
    // The heap of the whole run is no sum over windows.
    for side in [&mut a, &mut b] {
        side.push_total("heap-peak", "heap peak", Quantity::exact(600u64, Unit::BYTES));
    }
    let compared = compare(&a, &b);
    let all = figures(&compared);
    assert_eq!(all["totals-bytes/heap-peak/b"], Number::Integer(600));
    assert!(!all.contains_key("windows-bytes/heap-peak/b"));
    assert_eq!(all["windows-cycles/cycles/b"], Number::Integer(735));
    assert_eq!(all["windows-cycles/cycles/difference"], Number::Integer(735 - 1380));
}

proptest! {
    #[test]
    fn a_difference_holds_whatever_the_sides_truly_are(
        a in (0i64..1000, 0i64..100, 0i64..100), b in (0i64..1000, 0i64..100, 0i64..100),
        x in 0.0..1.0f64, y in 0.0..1.0f64,
    ) {
        let figure = |(value, below, above): (i64, i64, i64)| Figure {
            value: Some(value.into()),
            trust: Trust::Modelled {
                low: (value - below).into(),
                high: (value + above).into(),
                why: None,
            },
        };
        let truth = |(value, below, above): (i64, i64, i64), at: f64| {
            value as f64 - below as f64 + at * (below + above) as f64
        };
        let difference = figure(a).to(&figure(b));
        let value = difference.value.unwrap().as_f64();
        let bounds = difference.trust.bounds().map(|(low, high)| (low.as_f64(), high.as_f64()));
        let (low, high) = bounds.unwrap_or((value, value));
        let truly = truth(b, y) - truth(a, x);
        prop_assert!(low <= truly + 1e-9 && truly <= high + 1e-9, "{low} {truly} {high}");
        prop_assert!(low <= value && value <= high);
    }

    #[test]
    fn nothing_differs_from_itself(cycles in proptest::collection::vec(0i64..1_000_000, 1..6)) {
        let names = ["main", "a", "b", "c", "d", "e"];
        let rows: Vec<Row> = (0u32..).zip(names).zip(&cycles)
            .map(|((n, name), cycles)| (name, n.checked_sub(1), *cycles, *cycles / 3, 1))
            .collect();
        let measured = run(&rows, Kind::Exact);
        let compared = super::compare(&measured, &measured);
        prop_assert!(compared.unlike.is_empty(), "{:?}", compared.unlike);
        let compared = compared.measurement;
        compared.check().unwrap();
        for (name, number) in figures(&compared) {
            if name.ends_with("difference") {
                prop_assert_eq!(number.as_f64(), 0.0, "{}", name);
            }
        }
    }

    #[test]
    fn spreads_of_means(values in proptest::collection::vec(0u64..1000, 1..50)) {
        let spread: Spread = values.iter().copied().collect();
        let distribution = Distribution::exact("x", Unit::TICKS, spread);
        let mut one = run(A, Kind::Exact);
        one.sections.truncate(0);
        let distributions = vec![distribution];
        one.push("d", "d", Content::Distributions(Distributions { distributions }));
        let compared = compare(&one, &one);
        let mean = values.iter().sum::<u64>() as f64 / values.len() as f64;
        prop_assert!((figures(&compared)["d/x/mean-a"].as_f64() - mean).abs() < 1e-6);
    }
}
