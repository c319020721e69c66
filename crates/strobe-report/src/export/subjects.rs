//! Measurements to export, built by hand: a run, one with hostile names, a heap, a time line.

use proptest::prelude::*;
use strobe_model::measurement::ids;
use strobe_model::measurement::{
    Address, Content, Ended, Frames, Functions, Instrument, Kind, Label, Locations, Measure,
    Measurement, Part, Profile, Samples, Stacks, Subject, TimelineBuilder, TrackKind, Unit, Values,
    Window,
};

use super::{Choice, Export};

/// Without any section.
pub(super) fn measurement() -> Measurement {
    let (kind, name) = ("firmware".to_owned(), "app.elf".to_owned());
    let subject = Subject { kind, name, ..Subject::default() };
    let (kind, tool) = ("simulated board".to_owned(), "strobe 0".to_owned());
    let instrument = Instrument { kind, tool, ..Instrument::default() };
    Measurement::new(subject, instrument, Window::untimed("none", Ended::default()))
}

/// A measurement of one profile.
pub(super) fn of(profile: Profile) -> Measurement {
    let mut measurement = measurement();
    measurement.push(ids::section::PROFILE, "profile", Content::Profile(Box::new(profile)));
    measurement.check().expect("sound");
    measurement
}

fn measure(id: &str, unit: Unit, part: Option<Part>) -> Measure {
    Measure { id: id.to_owned(), title: id.to_owned(), unit, kind: Kind::Exact, part }
}

fn part(idle: bool) -> Option<Part> {
    Some(Part { of: "cycles".to_owned(), letter: None, idle, meaning: None, advice: None })
}

fn values(measure: &str, values: &[i64]) -> Values {
    Values { measure: measure.to_owned(), values: values.to_vec(), ..Values::default() }
}

fn samples(at: &[u32], label: &[u32], values: Vec<Values>) -> Samples {
    Samples {
        at: at.iter().map(|at| Some(*at)).collect(),
        label: label.iter().map(|label| Some(*label)).collect(),
        values,
    }
}

/// Functions, the first of which has one inlined, called `names` in the order main, wait, tick,
/// get.
fn named(names: [&str; 4], files: [&str; 2], thread: &str) -> Profile {
    let address = |n: u64| Some(Address(0x0800_0000 + n));
    Profile {
        measures: vec![
            measure(ids::measure::CYCLES, Unit::CYCLES, None),
            measure("execute", Unit::CYCLES, part(false)),
            measure(ids::measure::ASLEEP, Unit::CYCLES, part(true)),
            measure(ids::measure::EXECUTIONS, Unit::INSTRUCTIONS, None),
        ],
        files: files.map(str::to_owned).to_vec(),
        functions: Functions {
            name: names.map(str::to_owned).to_vec(),
            address: vec![address(0x100), address(0x200), address(0x300), None],
            file: vec![Some(0), Some(0), Some(1), Some(1)],
            ..Functions::default()
        },
        frames: Frames {
            function: vec![0, 3, 1, 2],
            file: vec![Some(0), Some(1), Some(0), Some(1)],
            line: vec![Some(10), Some(77), Some(20), Some(30)],
            outer: vec![None, Some(0), None, None],
        },
        // The functions as a whole, then instructions: main, get in main, wait, tick, code without
        // a symbol.
        locations: Locations {
            address: [
                None,
                None,
                None,
                Some(0x104),
                Some(0x108),
                Some(0x202),
                Some(0x300),
                Some(0x900),
            ]
            .map(|n| n.and_then(address))
            .to_vec(),
            function: vec![Some(0), Some(1), Some(2), Some(0), Some(0), Some(1), Some(2), None],
            frame: vec![None, None, None, Some(0), Some(1), Some(2), Some(3), None],
        },
        stacks: Stacks { parent: vec![None, Some(0), None], location: vec![0, 1, 2] },
        labels: vec![
            Label { key: "thread".to_owned(), value: thread.to_owned() },
            Label { key: "handler".to_owned(), value: "SysTick".to_owned() },
        ],
        leaves: samples(
            &[3, 4, 5, 6],
            &[0, 0, 0, 1],
            vec![
                values(ids::measure::CYCLES, &[40, 60, 450, 30]),
                values("execute", &[40, 60, 50, 30]),
                values(ids::measure::ASLEEP, &[0, 0, 400, 0]),
                values(ids::measure::EXECUTIONS, &[20, 60, 10, 30]),
            ],
        ),
        chains: samples(
            &[0, 1, 2],
            &[0, 0, 1],
            vec![
                values(ids::measure::CYCLES, &[100, 450, 30]),
                values("execute", &[100, 50, 30]),
                values(ids::measure::ASLEEP, &[0, 400, 0]),
            ],
        ),
        merged_calls: 0,
    }
}

/// A run of a simulated board.
pub(super) fn run() -> Profile {
    named(["main", "wait", "tick", "get"], ["src/main.c", "src/tick.c"], "main")
}

/// The same with names that formats might take for something else.
pub(super) fn hostile() -> Profile {
    named(
        [
            "a;b 12\nfn=(1) c",
            "<T as \"Q\">::f&'s\\",
            "(3) 100% \u{7} {}\r\t",
            "💥;</title><script>",
        ],
        ["dir with space/ü;\n.c", "-->]]>\\"],
        "main\n;x",
    )
}

/// Samples of places, neither chains nor labels, and one of them nowhere.
pub(super) fn sampled() -> Profile {
    let mut profile = run();
    profile.chains = Samples::default();
    profile.stacks = Stacks::default();
    let period = Some(1024);
    profile.measures = vec![Measure {
        kind: Kind::Sampled { period, period_unit: Some(Unit::CYCLES) },
        ..measure(ids::measure::SAMPLES, Unit::SAMPLES, None)
    }];
    profile.leaves =
        samples(&[3, 4, 5, 7], &[], vec![values(ids::measure::SAMPLES, &[4, 5, 6, 2, 1])]);
    profile.leaves.at.push(None);
    profile
}

/// Bytes of a heap by call chain.
pub(super) fn heap() -> Profile {
    let mut profile = run();
    profile.measures =
        vec![measure("bytes", Unit::BYTES, None), measure("blocks", Unit::COUNT, None)];
    profile.leaves = Samples::default();
    profile.labels = Vec::new();
    let all = vec![values("bytes", &[4096, 1 << 40, 12]), values("blocks", &[1, 9, 3])];
    profile.chains = samples(&[0, 1, 2], &[], all);
    profile
}

/// Each of them.
pub(super) fn profiles() -> [(&'static str, Profile); 4] {
    [("run", run()), ("hostile", hostile()), ("sampled", sampled()), ("heap", heap())]
}

/// What a profile has of a measure.
pub(super) fn total(profile: &Profile, measure: &str) -> i128 {
    let of = profile.chains.of(measure).or_else(|| profile.leaves.of(measure));
    of.map_or(0, |values| values.values.iter().map(|value| i128::from(*value)).sum())
}

/// What a format writes.
pub(super) fn write(format: &dyn Export, measurement: &Measurement, choice: &Choice) -> Vec<u8> {
    let mut out = Vec::new();
    format.write(measurement, choice, &mut out).unwrap_or_else(|e| panic!("{e}"));
    out
}

/// A thread and a handler in it that takes turns, samples, a counter, a loss.
pub(super) fn timeline() -> Measurement {
    let mut line = TimelineBuilder::new(Unit::NANOSECONDS);
    let thread = line.track(TrackKind::Thread, Some(1), "main \"1\"");
    line.span(thread, None, 0, 10_000);
    let functions = line.track(TrackKind::Functions, Some(1), "calls");
    line.span(functions, Some("main"), 0, 9_000);
    line.span(functions, Some("wait"), 1_000, 2_000);
    line.span(functions, Some("late"), 8_000, 11_000);
    let samples = line.track(TrackKind::Samples, None, "Samples");
    for (at, name) in [(100, "main"), (200, "(asleep)"), (300, "main")] {
        line.moment(samples, Some(name), at);
    }
    let level = line.track(TrackKind::Counter, None, "level");
    line.track_mut(level).unit = Some(Unit::BYTES);
    line.value(level, 500, 7);
    line.value(level, 900, -3);
    line.gap(4_000, 5_000, Some(3), "overflow");
    let mut measurement = measurement();
    let content = Content::Timeline(Box::new(line.finish()));
    measurement.push(ids::section::TIMELINE, "time line", content);
    measurement.check().expect("sound");
    measurement
}

/// Profiles with any call tree and any label: a parent before each chain, values in both measures.
pub(super) fn any_run() -> impl Strategy<Value = Profile> {
    let chain = (any::<proptest::sample::Index>(), 0..4u32, 0..3u32, 0..1000i64, 0..1000i64);
    proptest::collection::vec(chain, 1..30).prop_map(|chains| {
        let mut profile = run();
        let parent =
            |(i, (parent, ..)): (usize, &(proptest::sample::Index, u32, u32, i64, i64))| {
                (i > 0).then(|| parent.index(i + 1)).filter(|p| *p < i).map(|p| p as u32)
            };
        profile.stacks.parent = chains.iter().enumerate().map(parent).collect();
        profile.stacks.location = chains.iter().map(|c| c.1).collect();
        profile.leaves = Samples::default();
        let label = |label: u32| (label < 2).then_some(label);
        profile.chains = Samples {
            at: (0..chains.len() as u32).map(Some).collect(),
            label: chains.iter().map(|c| label(c.2)).collect(),
            values: vec![
                values(ids::measure::CYCLES, &chains.iter().map(|c| c.3 + c.4).collect::<Vec<_>>()),
                values("execute", &chains.iter().map(|c| c.3).collect::<Vec<_>>()),
                values(ids::measure::ASLEEP, &chains.iter().map(|c| c.4).collect::<Vec<_>>()),
            ],
        };
        profile
    })
}
