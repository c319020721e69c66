//! The prepared questions, on series that are made here.

use strobe_archive::history::{Reading, grew, of_item, overview};
use strobe_archive::{Bytes, Figure, Filter, Origin, Place, Series, date, figures, open, write};
use strobe_model::measurement::{
    Cell, Column, Content, Ended, Instrument, Measurement, Quantity, Subject, Table, Unit, Window,
};

/// A build a day: its day, commit, and figures by function.
struct Day<'a>(i64, &'a str, Vec<(&'a str, f64)>);

fn origin(day: i64, commit: &str) -> Origin {
    Origin {
        measurement: format!("{commit}@{day}"),
        time: day * date::DAY,
        commit: Some(commit.to_owned()),
        subject: "app.elf".to_owned(),
        instrument: "simulated board".to_owned(),
        ..Origin::default()
    }
}

fn figure(item: &str, value: f64, trust: &str, n: Option<i64>) -> Figure {
    let unit = if trust == "sampled" { "samples" } else { "cycles" };
    Figure {
        section: "profile".to_owned(),
        item: Some(item.to_owned()),
        figure: unit.to_owned(),
        unit: unit.to_owned(),
        value: Some(value),
        trust: trust.to_owned(),
        n,
        ..Figure::default()
    }
}

fn place(board: &str) -> Place {
    Place { project: "demo".into(), board: board.into(), date: "2026-01-01".into() }
}

fn add(series: &mut Series, board: &str, origin: Origin, figures: Vec<Figure>) {
    let bytes = write(&[(origin, figures)], "strobe").unwrap();
    let file = open(Bytes::from(bytes)).unwrap();
    file.each(|row| series.add(&place(board), &Filter::default(), row)).unwrap();
}

fn series(days: &[Day]) -> Series {
    let mut series = Series::default();
    for Day(day, commit, values) in days {
        let figures = values.iter().map(|(item, value)| figure(item, *value, "exact", None));
        add(&mut series, "m0", origin(*day, commit), figures.collect());
    }
    series.sort();
    series
}

fn column(measurement: &Measurement, table: &str, column: &str) -> Vec<Cell> {
    measurement.check().unwrap();
    let table = measurement.table(table).unwrap_or_else(|| panic!("no {table}"));
    table.column(column).unwrap_or_else(|| panic!("no {column}")).cells.clone()
}

fn words(measurement: &Measurement, table: &str, of: &str) -> Vec<String> {
    let word = |cell: &Cell| cell.text().unwrap_or_default().to_owned();
    column(measurement, table, of).iter().map(word).collect()
}

fn numbers(measurement: &Measurement, table: &str, of: &str) -> Vec<f64> {
    column(measurement, table, of).iter().filter_map(|c| c.number()).map(|n| n.as_f64()).collect()
}

#[test]
fn the_first_build_that_took_more_is_named() {
    let days = [
        Day(1, "aaa", vec![("filter", 100.0), ("idle", 7.0)]),
        Day(2, "bbb", vec![("filter", 100.0), ("idle", 7.0)]),
        Day(3, "ccc", vec![("filter", 250.0), ("idle", 6.0)]),
        Day(4, "ddd", vec![("filter", 251.0), ("idle", 6.0)]),
    ];
    let series = series(&days);
    let answer = overview(&Reading::default(), &series);
    assert_eq!(words(&answer, "rises-cycles", "commit"), ["ccc", "ddd"]);
    assert_eq!(numbers(&answer, "rises-cycles", "change"), [150.0, 1.0]);
    assert_eq!(words(&answer, "rises-cycles", "percent"), ["+150.0 %", "+0.4 %"]);
    let notes = &answer.section("rises-cycles").unwrap().notes;
    assert!(notes.iter().any(|note| note.contains("once something took less")), "{notes:?}");

    let answer = of_item(&Reading::default(), &series, "filter", false).unwrap();
    assert_eq!(words(&answer, "history", "commit"), ["ddd", "ccc", "bbb", "aaa"]);
    assert_eq!(numbers(&answer, "history", "value"), [251.0, 250.0, 100.0, 100.0]);
    assert_eq!(words(&answer, "history", "step"), ["more, exactly", "more, exactly", "", ""]);
    assert!(answer.section("history").unwrap().notes[0].contains("first ccc (1970-01-04)"));
    let Content::Text(trend) = &answer.section("trend").unwrap().content else { panic!("text") };
    assert_eq!(trend.lines, ["▁▁██  100 to 251 cycles"]);
}

/// A thread that ran once has one figure, and more room for a stack is nothing that grew.
#[test]
fn value_is_listed_once_without_unused_room() {
    let mut series = Series::default();
    for (day, value) in [(1, 100.0), (2, 300.0)] {
        let of = |section: &str, name: &str, value: f64| Figure {
            section: section.to_owned(),
            figure: name.to_owned(),
            ..figure("main", value, "exact", None)
        };
        let statistics = ["max", "mean", "median", "min", "p99"];
        let mut figures: Vec<Figure> =
            statistics.iter().map(|name| of("durations", name, value)).collect();
        figures.push(of("latencies", "max", value));
        figures.push(of("latencies", "mean", value / 2.0));
        figures.push(of("stacks", "size", value));
        add(&mut series, "m0", origin(day, &format!("c{day}")), figures);
    }
    series.sort();
    let names = ["durations/max", "latencies/max", "latencies/mean"];
    let reading = Reading::default();
    assert_eq!(words(&overview(&reading, &series), "rises-cycles", "figure"), names);
    assert_eq!(words(&grew(&reading, &series, 1), "grew-cycles", "figure"), names);
}

#[test]
fn names_are_found_by_their_parts() {
    let series =
        series(&[Day(1, "aaa", vec![("filter_a", 1.0), ("filter_b", 2.0), ("main", 3.0)])]);
    let near = |item| of_item(&Reading::default(), &series, item, false).unwrap_err().near;
    assert_eq!(near("filter"), ["filter_a", "filter_b"]);
    assert!(near("nothing").is_empty());
    let none = of_item(&Reading::default(), &series, "nothing", false).unwrap_err();
    assert_eq!(none.all, ["filter_a", "filter_b", "main"]);
    assert!(of_item(&Reading::default(), &series, "MAIN", false).is_ok());
}

#[test]
fn growth_is_measured_from_an_old_enough_build() {
    let days = [
        Day(1, "old", vec![("filter", 10.0), ("same", 5.0), ("gone", 9.0)]),
        Day(20, "mid", vec![("filter", 100.0), ("same", 5.0)]),
        Day(60, "new", vec![("filter", 130.0), ("same", 5.0), ("added", 40.0)]),
    ];
    let series = series(&days);
    let answer = grew(&Reading::default(), &series, 30);
    assert_eq!(words(&answer, "spans", "before"), ["mid"]);
    assert_eq!(words(&answer, "grew-cycles", "item"), ["added", "filter"]);
    assert_eq!(numbers(&answer, "grew-cycles", "change"), [40.0, 30.0]);
    assert_eq!(words(&answer, "grew-cycles", "certain"), ["new", "exactly"]);
    // Older than the archive: since its first build.
    let answer = grew(&Reading::default(), &series, 3000);
    assert_eq!(words(&answer, "grew-cycles", "item"), ["filter", "added"]);
    assert_eq!(numbers(&answer, "grew-cycles", "change"), [120.0, 40.0]);
}

/// Twenty builds with the same shares: nothing is listed. Ten with twice the share: it is.
#[test]
fn samples_are_tested_before_they_are_listed() {
    let rises = |later: f64| {
        let mut series = Series::default();
        for day in 0..20 {
            let wobble = [0.0, 9.0, -6.0, 4.0, -8.0][day as usize % 5];
            let share = if day < 10 { 100.0 } else { later };
            let rows = vec![
                figure("filter", share + wobble, "sampled", Some(1000)),
                figure("rest", 1000.0 - share - wobble, "sampled", Some(1000)),
            ];
            add(&mut series, "m0", origin(day, &format!("c{day}")), rows);
        }
        series.sort();
        words(&overview(&Reading::default(), &series), "rises-samples", "commit")
    };
    assert!(rises(100.0).is_empty());
    assert_eq!(rises(200.0), ["c10"]);
}

/// A build that was measured twice with different figures varies: no build is to blame.
#[test]
fn figures_that_vary_by_run_are_not_compared_exactly() {
    let days: Vec<Day> = [("aaa", 100.0), ("aaa", 103.0), ("bbb", 101.0), ("ccc", 104.0)]
        .into_iter()
        .zip(1..)
        .map(|((commit, value), day)| Day(day, commit, vec![("filter", value)]))
        .collect();
    let series = series(&days);
    let answer = overview(&Reading::default(), &series);
    assert!(words(&answer, "rises-cycles", "commit").is_empty());
    let answer = of_item(&Reading::default(), &series, "filter", false).unwrap();
    assert!(answer.section("history").unwrap().notes[0].contains("too few builds"));
}

#[test]
fn boards_have_separate_histories_and_repeats_count_once() {
    let mut series = Series::default();
    for (board, value) in [("m0", 10.0), ("m4", 5.0)] {
        add(&mut series, board, origin(1, "aaa"), vec![figure("f", value, "exact", None)]);
    }
    let again = Origin { time: 9 * date::DAY, ..origin(1, "aaa") };
    add(&mut series, "m0", again, vec![figure("f", 10.0, "exact", None)]);
    series.sort();
    assert_eq!((series.origins.len(), series.repeated), (2, 1));
    let answer = overview(&Reading::default(), &series);
    assert!(words(&answer, "rises-cycles", "commit").is_empty());
    assert_eq!(words(&answer, "measurements", "board"), ["m0", "m4"]);
    assert!(answer.findings.iter().any(|finding| finding.code == "archive-repeated"));
}

/// In one call, and in two whose time was given.
#[test]
fn duplicate_log_entries_count_once() {
    let mut series = Series::default();
    let figures = || vec![figure("f", 10.0, "exact", None), figure("g", 1.0, "exact", None)];
    let both = [(origin(1, "aaa"), figures()), (origin(1, "aaa"), figures())];
    let bytes = write(&both, "strobe").unwrap();
    for _ in 0..2 {
        let file = open(Bytes::from(bytes.clone())).unwrap();
        file.each(|row| series.add(&place("m0"), &Filter::default(), row)).unwrap();
    }
    series.sort();
    assert!(series.figures.values().all(|points| points.len() == 1));
    assert_eq!((series.origins.len(), series.repeated), (1, 1));
}

#[test]
fn rows_are_called_by_the_column_that_names_them() {
    let (subject, instrument) = (Subject::default(), Instrument::default());
    let window = Window::untimed("none", Ended::default());
    let mut measurement = Measurement::new(subject, instrument, window);
    let columns = vec![
        Column::text("verdict", ""),
        Column::text("firmware", ""),
        Column::figure("value", "", Unit::CYCLES),
        Column::figure("most", "", Unit::CYCLES),
        Column::text("budget", ""),
    ];
    let mut table = Table::new(columns);
    table.row(["held".into(), "a".into(), 7u64.into(), 9u64.into(), "crc".into()]);
    table.row(["held".into(), "b".into(), 8u64.into(), 9u64.into(), "crc".into()]);
    measurement.push("budgets-cycles", "", Content::Table(table));
    let columns = vec![
        Column::figure("cycles", "", Unit::CYCLES),
        Column::figure("latency-max-at", "", Unit::NANOSECONDS),
        Column::text("letter", ""),
        Column::text("cause", ""),
    ];
    let mut table = Table::new(columns);
    table.row([5u64.into(), 1u64.into(), "x".into(), "execution".into()]);
    measurement.push("causes", "", Content::Table(table));
    let rows = figures(&measurement);
    let found: Vec<_> = rows
        .iter()
        .filter_map(|row| Some((row.item.as_deref()?, row.figure.as_str(), row.value?)))
        .collect();
    let expected =
        [("a: crc", "value", 7.0), ("b: crc", "value", 8.0), ("execution", "cycles", 5.0)];
    assert_eq!(found, expected);
}

#[test]
fn a_measurement_becomes_rows() {
    let ended = Ended::default();
    let (subject, instrument) = (Subject::default(), Instrument::default());
    let mut measurement = Measurement::new(subject, instrument, Window::untimed("none", ended));
    measurement.push_total("cycles", "cycles", Quantity::exact(42u64, Unit::CYCLES));
    measurement.push_total("lost", "lost", Quantity::unknown(Unit::CYCLES, "not counted"));
    let columns = vec![
        Column::text("interrupt", ""),
        Column::figure("latency_max", "", Unit::CYCLES),
        Column::moment("when", "", Unit::CYCLES),
    ];
    let mut table = Table::new(columns);
    table.row(["SysTick".into(), 16u64.into(), 1000u64.into()]);
    table.row(["SysTick".into(), 17u64.into(), 2000u64.into()]);
    measurement.push("interrupts", "", Content::Table(table));
    let rows = figures(&measurement);
    let row = |item: Option<&str>, name: &str| {
        let found = |f: &&Figure| f.item.as_deref() == item && f.figure == name;
        rows.iter().find(found).unwrap_or_else(|| panic!("no {item:?} {name}"))
    };
    assert_eq!(row(None, "cycles").value, Some(42.0));
    assert_eq!((row(None, "lost").value, row(None, "lost").trust.as_str()), (None, "unknown"));
    assert_eq!(row(Some("SysTick"), "latency_max").value, Some(16.0));
    assert_eq!(row(Some("SysTick#2"), "latency_max").value, Some(17.0));
    assert!(rows.iter().all(|row| row.figure != "when"));
}

/// A measurement with loops that wait: cycles, what for, and where.
fn waiting(rows: &[(u64, &str, &str)]) -> Measurement {
    let (subject, instrument) = (Subject::default(), Instrument::default());
    let window = Window::untimed("none", Ended::default());
    let mut measurement = Measurement::new(subject, instrument, window);
    let mut table = Table::new(vec![
        Column::figure("cycles", "cycles", Unit::CYCLES),
        Column::text("waits-for", "waits for"),
        Column::text("place", "place"),
    ]);
    for (cycles, what, place) in rows {
        table.row([(*cycles).into(), (*what).into(), (*place).into()]);
    }
    measurement.push("waiting", "waiting", Content::Table(table));
    measurement
}

/// Loops of other functions are other rows, wherever they stand in the table and in the image;
/// those of one function are counted as they stand in it.
#[test]
fn loops_are_the_same_by_their_functions() {
    let counts = "nothing: it counts";
    let before = waiting(&[
        (900, counts, "0x08000300 by_hand at src/main.c:30"),
        (700, counts, "0x08000200 delay at src/main.c:20"),
        (600, counts, "0x08000240 delay at src/main.c:21"),
        (500, "RCC at 0x40021000", "0x08000100 start"),
    ]);
    let now = waiting(&[
        (1000, counts, "0x08000248 delay at src/main.c:21"),
        (710, counts, "0x08000208 delay at src/main.c:20"),
        (300, "RCC at 0x40021000", "0x08000100 start"),
    ]);
    let items = |measurement: &Measurement| -> Vec<(String, f64)> {
        let rows = figures(measurement).into_iter().filter(|row| row.section == "waiting");
        rows.filter_map(|row| Some((row.item?, row.value?))).collect()
    };
    let delay = "nothing: it counts, delay";
    let named = |rows: &[(&str, f64)]| -> Vec<(String, f64)> {
        rows.iter().map(|(item, value)| ((*item).to_owned(), *value)).collect()
    };
    let second = "nothing: it counts, delay#2";
    let start = "RCC at 0x40021000, start";
    let by_hand = "nothing: it counts, by_hand";
    let expected = [(by_hand, 900.0), (delay, 700.0), (second, 600.0), (start, 500.0)];
    assert_eq!(items(&before), named(&expected));
    assert_eq!(items(&now), named(&[(second, 1000.0), (delay, 710.0), (start, 300.0)]));
    let mut series = Series::default();
    add(&mut series, "m0", origin(1, "aaaa"), figures(&before));
    add(&mut series, "m0", origin(40, "bbbb"), figures(&now));
    series.sort();
    let answer = grew(&Reading::default(), &series, 30);
    let grown = column(&answer, "grew-cycles", "item");
    assert_eq!(grown, [second, delay].map(Cell::from));
}

#[test]
fn worst_cases_are_the_same_wherever_they_were() {
    let (subject, instrument) = (Subject::default(), Instrument::default());
    let window = Window::untimed("none", Ended::default());
    let mut measurement = Measurement::new(subject, instrument, window);
    let mut table =
        Table::new(vec![Column::figure("cycles", "", Unit::CYCLES), Column::text("what", "")]);
    table.row([20u64.into(), "longest latency of SysTick, interrupted main".into()]);
    measurement.push("worst-cases", "worst cases", Content::Table(table));
    let rows = figures(&measurement);
    assert!(rows.iter().any(|row| row.item.as_deref() == Some("longest latency of SysTick")));
}
