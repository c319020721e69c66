//! Differences add up, know no more than their sides, and are nothing where nothing differs.

use proptest::prelude::*;
use strobe_model::measurement::{
    CORE_TIMING, ClockSpan, Distribution, Distributions, Functions, Kind, Locations, Measure,
    Number, Part, Profile, Samples, Spread, Stacks, Trust, Values,
};

use super::*;
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

/// Whether a cell is of a model of which no bounds are known.
fn is_about(cell: Option<&Cell>) -> bool {
    let trust = match cell {
        Some(Cell::Figure { trust, .. }) => trust,
        _ => return false,
    };
    matches!(trust, Trust::Modelled { low, high, .. } if low == high)
}

/// Where one run is all there is, nobody knows the bounds of counts that waits decide: neither of
/// these nor of their differences.
#[test]
fn what_has_no_bounds_on_either_side_is_not_exact() {
    let counted = |rows: &[Row]| {
        let mut run = run(rows, modelled());
        for section in &mut run.sections {
            match &mut section.content {
                Content::Profile(profile) => {
                    let calls = profile.measures.iter_mut().find(|measure| measure.id == "calls");
                    calls.unwrap().kind = modelled();
                }
                Content::Distributions(all) => {
                    let one = &mut all.distributions[0];
                    (one.resolution, one.why) = (None, Some("waits".to_owned()));
                }
                _ => {}
            }
        }
        let rounds = Number::from(rows.len());
        let trust = Trust::Modelled { low: rounds, high: rounds, why: None };
        let rounds = Quantity::new(Some(rounds), Unit::COUNT, trust).unwrap();
        run.push_total("rounds", "rounds", rounds);
        run
    };
    let compared = compare(&counted(A), &counted(B));
    compared.check().unwrap();
    for (section, column, row) in [
        ("profile-functions", "calls-a", "send"),
        ("profile-functions", "calls-difference", "send"),
        ("profile-functions", "per-call-b", "send"),
        ("profile-measures-count", "b", "calls"),
        ("profile-measures-count", "difference", "calls"),
        ("profile-measures-count", "ratio", "calls"),
        ("profile-measures-cycles", "a", "asleep"),
        ("totals-count", "difference", "rounds"),
        ("latencies", "max-a", "UART"),
        ("latencies", "max-difference", "UART"),
    ] {
        let cell = cell(&compared, section, column, row);
        assert!(is_about(cell), "{section} {column} {row}: {cell:?}");
    }
    let exact = cell(&compared, "profile-measures-cycles", "a", "execute");
    assert!(matches!(exact, Some(Cell::Exact(_))), "{exact:?}");
    // Bounds that agree with the figure are bounds.
    let mut bounded = counted(A);
    for section in &mut bounded.sections {
        if let Content::Distributions(all) = &mut section.content {
            let one = &mut all.distributions[0];
            (one.low, one.high) = (Some(one.spread.clone()), Some(one.spread.clone()));
        }
    }
    let compared = compare(&bounded, &bounded);
    let max = cell(&compared, "latencies", "max-a", "UART");
    assert!(matches!(max, Some(Cell::Exact(_))), "{max:?}");
}

/// Places may have a tenth less and a fifth more, and the whole takes what it takes.
#[test]
fn sums_of_functions_are_no_further_open_than_the_total() {
    let compared = compare(&run(A, modelled()), &run(B, modelled()));
    let table = compared.table("profile-functions").unwrap();
    let own = table.columns.iter().position(|column| column.id == "self-a").unwrap();
    let all = table.footer.iter().find(|row| row[0].text() == Some("all")).map(|row| &row[own]);
    let measured = cell(&compared, "profile-measures-cycles", "a", "cycles");
    for sum in [all, measured] {
        assert_eq!(sum, Some(&Cell::Exact(1380i64.into())));
    }
    let one = cell(&compared, "profile-functions", "self-a", "send");
    assert!(matches!(one, Some(Cell::Figure { .. })), "{one:?}");
}

#[test]
fn what_is_unknown_of_one_side_is_unknown_of_the_difference() {
    let compared = compare(&run(A, modelled()), &run(B, Kind::Exact));
    compared.check().unwrap();
    let lost = cell(&compared, "totals-cycles", "difference", "lost").unwrap();
    let Cell::Figure { value: None, trust: Trust::Unknown { why } } = lost else {
        panic!("{lost:?}")
    };
    assert_eq!(why, "a: nobody counted; b: nobody counted");
    // 330 may be 297 to 396, so 500 is more by 104 to 203.
    let send = cell(&compared, "profile-functions", "self-difference", "send").unwrap();
    let Cell::Figure { value, trust } = send else { panic!("{send:?}") };
    assert_eq!(*value, Some(170i64.into()));
    assert_eq!(trust.bounds(), Some((104i64.into(), 203i64.into())));
    // The latency's ends are known to two cycles each.
    let max = cell(&compared, "latencies", "max-difference", "UART").unwrap();
    let Cell::Figure { trust: trust @ Trust::Resolution { .. }, .. } = max else {
        panic!("{max:?}")
    };
    let (low, high) = trust.bounds().unwrap();
    assert_eq!((low.as_f64(), high.as_f64()), (86.0, 94.0));
}

#[test]
fn samples_differ_with_an_interval() {
    let sampled = || Kind::Sampled { period: None, period_unit: None };
    let compared = compare(&run(A, sampled()), &run(B, sampled()));
    compared.check().unwrap();
    let send = cell(&compared, "profile-functions", "self-difference", "send").unwrap();
    let Cell::Figure { trust: Trust::Sampled { n, low, high }, .. } = send else {
        panic!("{send:?}")
    };
    assert_eq!(*n, 1380 + 1470);
    let (low, high) = (low.as_f64(), high.as_f64());
    assert!(100.0 < low && low < 140.0 && 200.0 < high && high < 240.0, "{low} to {high}");
}

#[test]
fn what_cannot_be_compared_is_a_finding() {
    let a = run(A, Kind::Exact);
    let mut b = run(B, Kind::Exact);
    b.subject.clock[0].hz = 16_000_000;
    b.instrument.kind = "trace pin".to_owned();
    b.instrument.settings.insert("period".to_owned(), "64".to_owned());
    b.totals[0].quantity = Quantity::exact(7u64, Unit::SAMPLES);
    b.sections.remove(1);
    b.window.entries = Some(3);
    let compared = compare(&a, &b);
    compared.check().unwrap();
    let codes: Vec<&str> = compared.findings.iter().map(|f| f.code.as_str()).collect();
    let wanted = [
        "other-instrument",
        "other-clock",
        "other-windows",
        "other-settings",
        "one-sided-totals",
        "one-sided-sections",
        "one-sided-totals",
    ];
    assert_eq!(codes, wanted);
    assert!(cell(&compared, "totals-cycles", "a", "cycles").is_none(), "units differ");
    assert!(compared.section("interrupts").is_none(), "b has none");
    let clock = &compared.findings[1].text;
    assert_eq!(clock, "the core clock differs: 48,000,000 Hz (a), 16,000,000 Hz (b)");
}

#[test]
fn tables_whose_rows_share_a_name_are_not_compared() {
    let a = run(A, Kind::Exact);
    let mut b = run(B, Kind::Exact);
    if let Content::Table(table) = &mut b.sections[1].content {
        table.columns[0].cells[1] = "irq of main".into();
    }
    let compared = compare(&a, &b);
    assert!(compared.section("interrupts").is_none());
    let finding = compared.findings.iter().find(|f| f.code == "not-compared").unwrap();
    assert_eq!(
        finding.text,
        "tables whose rows have no names of their own are not compared: interrupts"
    );
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

#[test]
fn more_than_was_seen_has_one_end() {
    let known = |n: i64| Figure::exact(n);
    let at_least = |n: i64| Figure { value: Some(n.into()), trust: Trust::AtLeast };
    let trust = |a: &Figure, b: &Figure| a.to(b).trust;
    assert_eq!(trust(&known(3), &at_least(5)), Trust::AtLeast);
    assert_eq!(trust(&at_least(3), &known(5)), Trust::AtMost);
    assert!(matches!(trust(&at_least(3), &at_least(5)), Trust::Unknown { .. }));
    assert_eq!(known(3).to(&at_least(5)).value, Some(2i64.into()));
    assert_eq!(known(4).ratio(&known(6), false), Cell::Exact(1.5.into()));
    assert_eq!(known(0).ratio(&known(6), false), Cell::Empty);
    assert_eq!(at_least(4).ratio(&known(6), false), Cell::Empty);
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
        let compared = compare(&measured, &measured);
        compared.check().unwrap();
        prop_assert!(compared.findings.is_empty(), "{:?}", compared.findings);
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

/// Two cores with the bands of their timing, on boards of their own.
fn timed(core: &str, (low, high): (f64, f64), rows: &[Row]) -> Measurement {
    let mut run = run(rows, Kind::Exact);
    run.subject.core = Some(core.to_owned());
    run.subject.board = Some(format!("board of {core}"));
    let trust = Trust::Modelled { low: low.into(), high: high.into(), why: Some("it is".into()) };
    let figure = Quantity::new(Some(100u64.into()), Unit::PERCENT, trust).unwrap();
    let fact = strobe_model::measurement::Fact::figure(CORE_TIMING, figure);
    run.subject.facts.push(fact);
    run
}

/// Of different models the bands of both count, for each row and for the sum; of one model neither
/// does.
#[test]
fn what_two_timing_models_are_off_is_in_every_row() {
    const A: &[Row] = &[("near", None, 102_560, 0, 40), ("far", None, 10_000, 0, 1)];
    const B: &[Row] = &[("near", None, 92_320, 0, 40), ("far", None, 20_000, 0, 1)];
    let m3 = |rows| timed("Cortex-M3", (97.5, 110.1), rows);
    let m4 = |rows| timed("Cortex-M4", (99.3, 110.4), rows);
    let words = |compared: &Measurement, name: &str| {
        let table = compared.table("profile-functions").unwrap();
        let names = &table.column("function").unwrap().cells;
        let row = names.iter().position(|cell| cell.text() == Some(name)).unwrap();
        let word = table.column("verdict").unwrap().cells[row].text().unwrap();
        word.to_owned()
    };
    let other = compare(&m3(A), &m4(B));
    assert_eq!([words(&other, "near"), words(&other, "far")], ["undecided", "yes"]);
    assert!(other.findings.iter().any(|finding| finding.code == "other-model"));
    let difference = cell(&other, "totals-cycles", "difference", "cycles").cloned();
    let Some(Cell::Figure { trust: Trust::Modelled { low, high, .. }, .. }) = difference else {
        panic!("{difference:?}");
    };
    assert!(low.as_f64() < 0.0 && high.as_f64() > 0.0, "{low:?} {high:?}");
    let same = compare(&m3(A), &m3(B));
    assert_eq!([words(&same, "near"), words(&same, "far")], ["yes", "yes"]);
    // The memory of another board is a part of the model.
    let mut elsewhere = m3(B);
    elsewhere.subject.board = Some("with other RAM".to_owned());
    assert_eq!(words(&compare(&m3(A), &elsewhere), "near"), "undecided");
    // A side that follows its manual has no band.
    let mut manual = m3(B);
    manual.subject.core = Some("Cortex-M0".to_owned());
    manual.subject.facts.clear();
    let compared = compare(&m3(A), &manual);
    assert_eq!(words(&compared, "near"), "yes");
    compared.check().unwrap();
    // Repeated runs vary, and what the models are off does not.
    let sets = compare_sets(&[m3(A), m3(A)], &[m4(B), m4(B)]).unwrap();
    assert!(words(&sets, "near").starts_with("undecided"), "{}", words(&sets, "near"));
    assert_eq!(words(&sets, "far"), "yes");
}

/// What one place has less in the low model, another one may have more: the band is that of their
/// sum, wherever it is shown, and not of each place.
#[test]
fn what_timing_models_are_off_makes_sums_no_wider_than_it_is() {
    const ROWS: &[Row] = &[("wait", None, 10_000, 0, 1), ("wait", Some(0), 10_000, 0, 1)];
    let of = |core: &str, band: (f64, f64)| {
        let mut run = timed(core, band, ROWS);
        for section in &mut run.sections {
            if let Content::Profile(profile) = &mut section.content {
                profile.measures[0].kind = modelled();
                let cycles = &mut profile.chains.values[0];
                (cycles.low, cycles.high) = (vec![9_000, 11_000], vec![11_000, 9_000]);
            }
        }
        run.window.duration = Quantity::exact(10_000_000u64, Unit::NANOSECONDS);
        run.window.ended.kind = "limit".to_owned();
        run
    };
    let compared = compare(&of("Cortex-M3", (97.5, 110.0)), &of("Cortex-M4", (99.5, 110.0)));
    compared.check().unwrap();
    let table = compared.table("profile-functions").unwrap();
    let own = table.columns.iter().position(|column| column.id == "self-a").unwrap();
    let all = table.footer.iter().find(|row| row[0].text() == Some("all")).map(|row| &row[own]);
    let places = [
        cell(&compared, "profile-functions", "self-a", "wait"),
        cell(&compared, "profile-measures-cycles", "a", "cycles"),
        all,
    ];
    for place in places {
        let Some(Cell::Figure { trust: Trust::Modelled { low, high, .. }, .. }) = place else {
            panic!("{place:?}");
        };
        let (low, high) = (low.as_f64(), high.as_f64());
        assert!((19_499.0..=19_500.0).contains(&low), "{place:?}");
        assert!((22_000.0..=22_001.0).contains(&high), "{place:?}");
    }
    // And what is stopped at a time takes that time.
    let time = cell(&compared, "totals-nanoseconds", "difference", "window");
    assert_eq!(time, Some(&Cell::Exact(0i64.into())));
}

/// What a timing model is off, it is off on both sides.
#[test]
fn the_error_of_a_shared_timing_model_is_in_no_difference() {
    let on = |core: &str, rows: &[Row]| {
        let mut run = run(rows, Kind::Exact);
        run.subject.core = Some(core.to_owned());
        let band = strobe_model::Bounds { low: 1000, likely: 1400, high: 1800 };
        let band = Quantity::modelled(band, Unit::CYCLES, Some("inferred".to_owned()));
        run.push_total(ON_A_CHIP, "cycles on a chip", band);
        run
    };
    let said = |compared: &Measurement| compared.findings.iter().any(|f| f.code == "shared-model");
    let alike = compare(&on("Cortex-M4F", A), &on("Cortex-M4F", B));
    assert!(cell(&alike, "totals-cycles", "difference", ON_A_CHIP).is_none());
    assert_eq!(figures(&alike)["totals-cycles/cycles/difference"], Number::Integer(90));
    assert!(said(&alike));
    let other = compare(&on("Cortex-M4F", A), &on("Cortex-M3", B));
    let row = cell(&other, "totals-cycles", "difference", ON_A_CHIP);
    assert!(matches!(row, Some(Cell::Figure { trust: Trust::Modelled { .. }, .. })), "{row:?}");
    assert!(!said(&other));
    assert!(!said(&compare(&run(A, Kind::Exact), &run(B, Kind::Exact))));
}
