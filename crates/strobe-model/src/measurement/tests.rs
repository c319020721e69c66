//! The paper test: instruments that do not exist yet, written in the type as it is.

use super::*;

fn measurement(kind: &str, name: &str) -> Measurement {
    let subject = Subject { kind: kind.to_owned(), name: name.to_owned(), ..Subject::default() };
    let window = Window::untimed("a dump is one moment", Ended::default());
    Measurement::new(subject, Instrument::default(), window)
}

fn measure(id: &str, unit: Unit) -> Measure {
    Measure { id: id.to_owned(), title: id.to_owned(), unit, kind: Kind::Exact, part: None }
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
fn what_does_not_hold_together_is_refused() {
    let profile = |change: fn(&mut Profile)| {
        let mut dump = heap_dump();
        if let Content::Profile(profile) = &mut dump.sections[0].content {
            change(profile);
        }
        dump.check().expect_err("refused").what
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
