//! The paper test: instruments that do not exist yet, written in the type as it is.

use super::*;

fn measurement(kind: &str, name: &str) -> Measurement {
    let subject = Subject { kind: kind.to_owned(), name: name.to_owned(), ..Subject::default() };
    let window = Window::untimed("a dump is one moment", Ended::default());
    Measurement::new(subject, Instrument::default(), window)
}

fn measure(id: &str, unit: Unit) -> Measure {
    Measure::new(id, id, unit, Kind::Exact)
}

fn values(measure: &str, values: &[i64]) -> Values {
    Values { measure: measure.to_owned(), values: values.to_vec(), ..Values::default() }
}

/// Two classes of a heap dump, held by a chain from a root.
fn heap_dump() -> Measurement {
    let mut dump = measurement("dump", "app.hprof");
    let functions = Functions {
        name: vec!["java.util.HashMap".to_owned(), "byte[]".to_owned()],
        address: vec![None; 2],
        file: vec![None; 2],
        ..Functions::default()
    };
    let profile = Profile {
        measures: vec![measure("retained", Unit::BYTES), measure("instances", Unit::COUNT)],
        functions,
        locations: Locations {
            address: vec![Some(Address(0x7f00_0000_0000_1000)), None],
            function: vec![Some(0), Some(1)],
            frame: vec![None; 2],
        },
        stacks: Stacks { parent: vec![None, Some(0)], location: vec![0, 1] },
        labels: vec![Label { key: "loader".to_owned(), value: "app".to_owned() }],
        chains: Samples {
            at: vec![Some(0), Some(1)],
            label: vec![Some(0), None],
            values: vec![values("retained", &[4096, 1 << 40]), values("instances", &[1, 9])],
        },
        ..Profile::default()
    };
    dump.push("profile", "retained bytes", Content::Profile(Box::new(profile)));
    dump
}

/// A profiler of a server that lost samples and does not know how many.
fn server() -> Measurement {
    let mut server = measurement("process", "postgres");
    let why = "the ring buffer was full";
    server.coverage.lost = Some(Quantity::unknown(Unit::SAMPLES, why));
    let trust = Trust::Sampled { n: 90, low: 0.31.into(), high: 0.42.into() };
    let share = Quantity::new(Some(0.36.into()), Unit::RATIO, trust).unwrap();
    server.push_total("cpu", "CPU", share);
    let balance = Balance::new(Parts {
        what: "samples".to_owned(),
        unit: Unit::SAMPLES,
        taken_as: "taken".to_owned(),
        attributed_as: String::new(),
        taken: 90,
        attributed: 80,
        unattributed: vec![("no symbol".to_owned(), 10)],
        idle: 0,
        lost: Loss::Unknown(why.to_owned()),
    });
    server.balances.push(balance.unwrap());
    server
}

/// Twelve threads' stacks, some bounds of which nobody knows.
fn stacks() -> Measurement {
    let mut stacks = measurement("firmware", "app.elf");
    let mut table = Table::new(vec![
        Column::text("thread", "thread"),
        Column::address("base", "base"),
        Column::figure("used", "high-water mark", Unit::BYTES),
        Column::figure("bound", "bound", Unit::BYTES),
    ]);
    for i in 0..12u64 {
        let why = "calls through a pointer".to_owned();
        let bound = match i {
            0 => Cell::Figure { value: None, trust: Trust::Unknown { why } },
            _ => Cell::Figure { value: Some(512u64.into()), trust: Trust::AtMost },
        };
        let base = Address(0x2000_0000 + i * 1024);
        table.row([format!("thread {i}").into(), base.into(), (100 + i).into(), bound]);
    }
    stacks.push("stacks", "stacks", Content::Table(table));
    stacks
}

#[test]
fn instruments_to_come_need_no_type_of_their_own() {
    for measurement in [heap_dump(), server(), stacks()] {
        measurement.check().unwrap();
        let json = serde_json::to_string(&measurement).unwrap();
        let read: Measurement = serde_json::from_str(&json).unwrap();
        read.check().unwrap();
        assert_eq!(read, measurement);
    }
}

/// Each is a heap dump or a table in which one thing is wrong.
#[test]
fn inconsistent_measurements_are_refused() {
    let profile = |change: fn(&mut Profile)| {
        let mut dump = heap_dump();
        if let Content::Profile(profile) = &mut dump.sections[0].content {
            change(profile);
        }
        dump.check().expect_err("refused").problem.to_string()
    };
    assert_eq!(
        profile(|p| p.stacks.location[1] = 2),
        "stacks refer to location 2, which is not there"
    );
    assert!(profile(|p| p.stacks.parent[0] = Some(1)).contains("does not come before it"));
    assert!(profile(|p| p.locations.frame.clear()).contains("columns of"));
    assert!(profile(|p| p.chains.values[0].measure = "live".to_owned()).contains("not declared"));
    assert!(
        profile(|p| p.leaves = Samples {
            at: vec![Some(0)],
            label: Vec::new(),
            values: vec![values("instances", &[11])],
        })
        .contains("add up to 10, locations to 11")
    );
    let mut table = stacks();
    if let Content::Table(table) = &mut table.sections[0].content {
        table.columns[2].cells[3] = "many".into();
    }
    assert!(
        table.check().unwrap_err().to_string().starts_with("sections.stacks: column used, row 3")
    );
    let mut twice = stacks();
    twice.sections.push(twice.sections[0].clone());
    assert!(twice.check().is_err());
}

/// A second of a thread's run, two spans of it exact.
fn run() -> Measurement {
    let mut builder = TimelineBuilder::new(Unit::NANOSECONDS);
    let main = builder.track(TrackKind::Thread, Some(1), "main");
    builder.span(main, None, 100, 400);
    builder.span(main, None, 600, 1000);
    builder.moment(main, Some("worst"), 300);
    builder.value(main, 200, 5);
    builder.gap(400, 450, Some(1), "the line was busy");
    let mut timeline = builder.finish();
    timeline.summary.push(Level {
        begin: 0,
        width: 500,
        tracks: vec![SummaryTrack {
            track: main,
            stretch: vec![0, 1],
            time: vec![300, 400],
            spans: vec![1, 1],
        }],
    });
    let mut run = measurement("firmware", "app.elf");
    run.subject.clock =
        vec![ClockSpan { cycle: 0, hz: 8_000_000 }, ClockSpan { cycle: 9, hz: 48_000_000 }];
    run.window.begin = Moment { nanoseconds: Some(0), cycle: Some(0) };
    run.window.end = Moment { nanoseconds: Some(1000), cycle: Some(48) };
    run.window.duration = Quantity::exact(1000u64, Unit::NANOSECONDS);
    let cycles = |n: u64| Some(Quantity::exact(n, Unit::CYCLES));
    run.coverage =
        Coverage { whole: cycles(48), seen: cycles(48), lost: cycles(0), ..run.coverage };
    run.push_total("cycles", "cycles", Quantity::exact(48u64, Unit::CYCLES));
    run.push("timeline", "who ran when", Content::Timeline(Box::new(timeline)));
    run
}

/// Each is a run in which one thing contradicts another one.
#[test]
fn nothing_ends_before_it_begins() {
    run().check().unwrap();
    let refused = |change: fn(&mut Measurement, &mut Timeline)| {
        let mut run = run();
        let Content::Timeline(timeline) = &run.sections[0].content else { unreachable!() };
        let mut timeline = timeline.clone();
        change(&mut run, &mut timeline);
        run.sections[0].content = Content::Timeline(timeline);
        run.check().expect_err("refused").to_string()
    };
    assert_eq!(
        refused(|run, _| run.window.end.nanoseconds = Some(-1)),
        "window: it ends at -1 nanoseconds, before it begins at 0"
    );
    assert_eq!(
        refused(|run, _| run.window.begin.cycle = Some(49)),
        "window: it ends at cycle 48, before it begins at 49"
    );
    assert_eq!(
        refused(|run, _| run.window.duration = Quantity::exact(-5i64, Unit::NANOSECONDS)),
        "window: it takes -5 nanoseconds"
    );
    assert_eq!(
        refused(|run, _| run.subject.clock[1].cycle = 0),
        "subject.clock: cycle 0 comes behind 0"
    );
    assert_eq!(
        refused(|run, _| run.coverage.lost = Some(Quantity::exact(49u64, Unit::CYCLES))),
        "coverage: lost is more than the whole"
    );
    assert_eq!(
        refused(|run, _| run.totals.push(run.totals[0].clone())),
        "totals: there are two of the name \"cycles\""
    );
    assert_eq!(
        refused(|_, timeline| timeline.exact[0].to = 99),
        "sections.timeline: a part that is exact ends at 99, before it begins at 100"
    );
    assert_eq!(
        refused(|_, timeline| timeline.exact[0].from = 50),
        "sections.timeline: the part from 50 to 1000 is not on the time line"
    );
    assert_eq!(
        refused(|run, _| {
            run.findings.push(Finding::new(Severity::Note, "rtos", "no threads"));
            run.findings[0].count = 0;
        }),
        "findings: rtos came up 0 times"
    );
    for (part, change) in [
        ("the time line ends", (|t| t.extent.to = 50) as fn(&mut Timeline)),
        ("span 1 ends behind", |t| t.spans.duration[1] = 401),
        ("span 0 at 99 is not on", |t| t.spans.begin[0] = 99),
        ("moment 0 at 2000 is not on", |t| t.moments.at[0] = 2000),
        ("value 0 at 2000 is not on", |t| t.counters.at[0] = 2000),
        ("gap 0 ends at 399", |t| t.gaps.to[0] = 399),
        ("stretches are not in their order", |t| t.summary[0].tracks[0].stretch[0] = 1),
    ] {
        let mut run = run();
        let Content::Timeline(timeline) = &mut run.sections[0].content else { unreachable!() };
        change(timeline);
        let what = run.check().expect_err(part).problem.to_string();
        assert!(what.contains(part), "{what}");
    }
}

#[test]
fn spreads_that_contradict_themselves_are_refused() {
    let good = r#"{"count":3,"sum":7,"squares":21.0,"min":1,"max":4,"at":[1,2,4],"times":[1,1,1]}"#;
    serde_json::from_str::<Spread>(good).unwrap();
    let sum = good.replace(r#""sum":7"#, r#""sum":8"#);
    let refused = serde_json::from_str::<Spread>(&sum).unwrap_err().to_string();
    assert!(refused.contains("add up to 7, not 8"), "{refused}");
    let squares = good.replace("21.0", "22.0");
    assert!(serde_json::from_str::<Spread>(&squares).is_err());
    let mut table = Table::new(vec![Column::figure("n", "n", Unit::COUNT)]);
    table.footer.push(vec![Cell::from(crate::Bounds { low: 4, likely: 5, high: 6 })]);
    table.check().unwrap();
    let trust = Trust::Modelled { low: 6u64.into(), high: 7u64.into(), why: None };
    table.footer[0][0] = Cell::Figure { value: Some(5u64.into()), trust };
    assert_eq!(
        table.check().unwrap_err().to_string(),
        "column n, footer: a figure lies outside of its bounds"
    );
    let spread: Spread = [1, 2, 4].into_iter().collect();
    let mut wide = Distribution::exact("PB8 high", Unit::CYCLES, spread.clone());
    (wide.low, wide.high) = (Some(spread.clone()), Some(spread));
    wide.check().unwrap();
    wide.low = Some([2, 2, 4].into_iter().collect());
    assert_eq!(
        wide.check().unwrap_err().to_string(),
        "PB8 high: values lie outside of their bounds"
    );
}
