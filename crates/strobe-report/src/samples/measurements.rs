//! Measurements built by hand, one for each kind of section and of trust.

mod board;

use strobe_model::Bounds;
use strobe_model::measurement::*;

use Severity::Fault;

pub(crate) use board::simulated;

/// Why flash waits are not known.
const FLASH: &str = "what the prefetch buffer hides is not documented";

fn firmware(name: &str) -> Measurement {
    let subject = Subject {
        kind: "firmware".into(),
        name: name.into(),
        sha256: Some("7f83b1657ff1fc53b92dc18148a1d65dfc2d4b1fa3d677284addd200126d9069".into()),
        build_id: Some("5f3c9d1e0b7a40d8".into()),
        board: Some("STM32F070CB".into()),
        core: Some("Cortex-M0".into()),
        clock: vec![ClockSpan { cycle: 0, hz: 8_000_000 }],
        facts: vec![
            Fact::figure("flash", Quantity::exact(1732u64, Unit::BYTES)),
            Fact::figure("RAM", Quantity::exact(1u64, Unit::BYTES)),
            Fact::text("symbols", "functions, lines and inlined calls, from DWARF 4"),
        ],
    };
    let instrument = Instrument {
        kind: "simulated board".into(),
        tool: "strobe 0.1.0".into(),
        settings: [("until".to_owned(), "20000000 ns".to_owned())].into(),
        environment: Settings::new(),
    };
    let ended = Ended {
        kind: "exit".into(),
        text: "the firmware exited with code 0".into(),
        code: Some(0),
    };
    let window = Window {
        begin: Moment { nanoseconds: Some(0), cycle: Some(0) },
        end: Moment { nanoseconds: Some(500_000), cycle: Some(4000) },
        entries: None,
        duration: modelled((497_500, 500_000, 505_000), Unit::NANOSECONDS),
        ended,
    };
    Measurement::new(subject, instrument, window)
}

fn modelled((low, likely, high): (u64, u64, u64), unit: Unit) -> Quantity {
    Quantity::modelled(Bounds { low, likely, high }, unit, Some(FLASH.into()))
}

fn measure(id: &str, title: &str, unit: Unit) -> Measure {
    Measure::new(id, title, unit, Kind::Exact)
}

fn values<const N: usize>(measure: &str, values: [i64; N]) -> Values {
    Values { measure: measure.into(), values: values.into(), ..Values::default() }
}

/// A run that ended in a fault.
pub(crate) fn faulted() -> Measurement {
    let mut run = firmware("faulted.elf");
    run.window.ended.text = "a fault: the core entered HardFault (see below)".into();
    let mut fault = Finding::new(Fault, "HardFault", "a load from 0x00000001 is not aligned");
    fault.place = Some("main (main.c:12), cycle 1,234 (154.3 us)".into());
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let registers = (0..13).map(|i| pair(&format!("r{i}"), &format!("{:#010x}", i * 4)));
    fault.evidence = vec![
        ("backtrace".to_owned(), vec![pair("#0", "main (main.c:12)"), pair("#1", "(reset)")]),
        ("registers".to_owned(), registers.collect()),
    ];
    run.findings.push(fault);
    run
}

/// Samples of a trace pin, of which nobody knows how many were lost.
pub(crate) fn sampled() -> Measurement {
    let mut pin = firmware("traced.elf");
    let why = "the recording has no timestamps";
    pin.instrument = Instrument {
        kind: "trace pin".into(),
        tool: "strobe 0.1.0".into(),
        settings: [("baud".to_owned(), "115200".to_owned())].into(),
        environment: [("link".to_owned(), "serial /dev/ttyUSB0".to_owned())].into(),
    };
    pin.window = Window::untimed(
        why,
        Ended { kind: "end-of-file".into(), text: "the recording ends here".into(), code: None },
    );
    pin.subject.clock.clear();
    pin.coverage.seen = Some(Quantity::exact(655u64, Unit::SAMPLES));
    pin.coverage.lost = Some(Quantity::unknown(Unit::SAMPLES, why));
    pin.push_total("samples", "samples", Quantity::exact(655u64, Unit::SAMPLES));
    let trust = Trust::Sampled { n: 655, low: 34.5.into(), high: 42.0.into() };
    let idle = Quantity::new(Some(38.2.into()), Unit::PERCENT, trust).unwrap();
    pin.push_total("idle-share", "idle", idle);
    let parts = Parts {
        what: "samples".into(),
        unit: Unit::SAMPLES,
        taken_as: "due".into(),
        attributed_as: String::new(),
        taken: 655,
        attributed: 400,
        unattributed: vec![("outside the firmware".into(), 5)],
        idle: 250,
        lost: Loss::Unknown(why.into()),
    };
    pin.balances.push(Balance::new(parts).unwrap());
    let asleep = Measure {
        part: Some(Part {
            of: "samples".into(),
            letter: None,
            idle: true,
            meaning: None,
            advice: None,
        }),
        ..measure("asleep", "asleep", Unit::SAMPLES)
    };
    let awake = Measure {
        part: asleep.part.clone().map(|part| Part { idle: false, ..part }),
        ..measure("awake", "awake", Unit::SAMPLES)
    };
    let kind = Kind::Sampled { period: Some(16_384), period_unit: Some(Unit::CYCLES) };
    let samples = Measure { kind, ..measure("samples", "samples", Unit::SAMPLES) };
    let profile = Profile {
        measures: vec![samples, awake, asleep],
        functions: Functions {
            name: ["main", "idle"].map(str::to_owned).into(),
            address: vec![Some(Address(0x0800_0100)), Some(Address(0x0800_0200))],
            file: vec![None; 2],
            ..Functions::default()
        },
        locations: Locations {
            address: [0x0800_0100, 0x0800_0200, 0x1fff_0000].map(|a| Some(Address(a))).into(),
            function: vec![Some(0), Some(1), None],
            frame: vec![None; 3],
        },
        labels: vec![Label { key: "state".into(), value: "asleep".into() }],
        leaves: Samples {
            at: vec![Some(0), Some(1), Some(2), None],
            label: vec![None, None, None, Some(0)],
            values: vec![
                values("samples", [400, 50, 5, 200]),
                values("awake", [400, 0, 5, 0]),
                values("asleep", [0, 50, 0, 200]),
            ],
        },
        ..Profile::default()
    };
    pin.push("profile", "profile", Content::Profile(Box::new(profile)));
    pin.push(
        "ports",
        "stimulus port 0: 26 bytes",
        Content::Text(Text {
            lines: vec!["hello".into(), "wor\u{1b}[31mld".into()],
            skipped_bytes: 12,
        }),
    );
    pin
}

/// A table alone: stacks, the bound of one of which nobody knows.
pub(crate) fn stacks() -> Measurement {
    let mut stacks = firmware("app.elf");
    stacks.instrument.kind = "static analysis".into();
    stacks.window = Window::untimed("nothing ran", Ended::default());
    let mut table = Table::new(vec![
        Column::text("thread", "thread"),
        Column::address("base", "base"),
        Column::figure("used", "high-water mark", Unit::BYTES).of(1024u64),
        Column::figure("bound", "bound", Unit::BYTES),
        Column::figure("share", "of it", Unit::PERCENT),
        Column::figure("rate", "rate", Unit::HERTZ),
    ]);
    let figure = |value: Option<Number>, trust| Cell::Figure { value, trust };
    for i in 0..3u64 {
        let why = "calls through a pointer".to_owned();
        let bound = match i {
            0 => figure(None, Trust::Unknown { why }),
            1 => figure(Some(512u64.into()), Trust::AtMost),
            _ => figure(Some(300u64.into()), Trust::AtLeast),
        };
        let base = Address(0x2000_0000 + i * 1024);
        let resolution = Trust::Resolution { low: 9.5.into(), high: 10.5.into() };
        let sampled = Trust::Sampled { n: 90, low: 8.0.into(), high: 12.5.into() };
        table.row([
            format!("thread {i}").into(),
            base.into(),
            (100 + i).into(),
            bound,
            figure(Some(10.0.into()), sampled),
            figure(Some(10.0.into()), resolution),
        ]);
    }
    let section = stacks.push("stacks", "stacks", Content::Table(table));
    section.notes.push("Recursion counts once.".to_owned());
    let pages = Parts {
        what: "pages".into(),
        unit: Unit::other("pages"),
        taken_as: "seen".into(),
        attributed_as: String::new(),
        taken: 3,
        attributed: 1,
        unattributed: Vec::new(),
        idle: 0,
        lost: Loss::AtLeast(2),
    };
    stacks.balances.push(Balance::new(pages).unwrap());
    stacks
}

/// Two threads and a handler over 400 us, of which the last half is exact.
pub(crate) fn timeline() -> Measurement {
    let mut run = firmware("events.ctf");
    (run.subject.board, run.subject.core) = (None, None);
    run.subject.kind = "trace".into();
    let track = |kind, name: &str, unit| Track { kind, number: None, name: name.into(), unit };
    let mut line = Timeline::new(Unit::NANOSECONDS);
    line.extent = Extent { from: 0, to: 400_000 };
    line.exact = vec![Extent { from: 200_000, to: 400_000 }];
    line.tracks = vec![
        track(TrackKind::Thread, "worker", None),
        track(TrackKind::Thread, "(idle_stack)", None),
        track(TrackKind::Exception, "SysTick", None),
        track(TrackKind::Counter, "heap", Some(Unit::BYTES)),
        track(TrackKind::Marks, "PB8", None),
    ];
    line.names = vec!["edge".into(), "work".into()];
    let mut latency = Column::figure("latency", "latency", Unit::CYCLES);
    let mut how = Column::text("how", "how it came to run");
    let spans = [
        (1u32, None, 200_000, 50_000, Cell::Empty, "reset"),
        (2, None, 250_000, 10_000, modelled((16, 32, 40), Unit::CYCLES).into(), "tail-chained"),
        (0, Some(1), 260_000, 90_000, Cell::Empty, "preempts (idle_stack)"),
        (1, None, 350_000, 50_000, Cell::Empty, "worker gave up"),
    ];
    for (track, name, begin, duration, cell, text) in spans {
        line.spans.track.push(track);
        line.spans.name.push(name);
        line.spans.begin.push(begin);
        line.spans.duration.push(duration);
        latency.cells.push(cell);
        how.cells.push(text.into());
    }
    line.spans.details = vec![latency, how];
    line.moments = Moments { track: vec![4, 4], name: vec![0, 0], at: vec![10_000, 390_000] };
    line.counters =
        Counters { track: vec![3; 3], at: vec![0, 100, 200], value: vec![512, 2048, 1024] };
    line.gaps = Gaps {
        from: vec![100_000, 150_000],
        to: vec![110_000, 150_001],
        events: vec![Some(12), None],
        why: vec!["the buffer was full".into(), "bytes are missing".into()],
    };
    let of = |track, stretch: Vec<u32>, time: Vec<u64>| {
        let spans = vec![1; stretch.len()];
        SummaryTrack { track, stretch, time, spans }
    };
    line.summary = vec![Level {
        begin: 0,
        width: 50_000,
        tracks: vec![
            of(0, vec![0, 1, 3], vec![50_000, 20_000, 10_000]),
            of(1, vec![1], vec![30_000]),
        ],
    }];
    run.push("timeline", "timeline", Content::Timeline(Box::new(line)));
    run
}

/// Two chips of a rig.
pub(crate) fn rig() -> Measurement {
    let mut rig = firmware("cube.toml");
    rig.subject = Subject { kind: "rig".into(), name: "cube.toml".into(), ..Subject::default() };
    let mut left = firmware("left.elf");
    left.push_total("cycles", "cycles", Quantity::exact(1234u64, Unit::CYCLES));
    let mut right = firmware("right.elf");
    right.push_total("cycles", "cycles", Quantity::at_least(99u64, Unit::CYCLES));
    for (name, measurement) in [("left", left), ("right", right)] {
        rig.parts.push(NamedPart { name: name.into(), measurement });
    }
    rig
}

/// A heap dump whose two classes differ in the middle of their long names.
pub(crate) fn heap() -> Measurement {
    let mut heap = firmware("app.hprof");
    heap.subject = Subject { kind: "dump".into(), name: "app.hprof".into(), ..Subject::default() };
    heap.window = Window::untimed("a dump is one moment", Ended::default());
    let name = |what: &str| {
        format!("com.example.application.services.{what}.internal.cache.ConcurrentEntryTable<K, V>")
    };
    let profile = Profile {
        measures: vec![measure("retained", "retained bytes", Unit::BYTES)],
        functions: Functions {
            name: vec![name("customers"), name("suppliers")],
            address: vec![None; 2],
            file: vec![None; 2],
            ..Functions::default()
        },
        locations: Locations {
            address: vec![None; 2],
            function: vec![Some(0), Some(1)],
            frame: vec![None; 2],
        },
        leaves: Samples {
            at: vec![Some(0), Some(1)],
            label: Vec::new(),
            values: vec![values("retained", [5 << 40, 3 << 30])],
        },
        ..Profile::default()
    };
    heap.push("profile", "heap", Content::Profile(Box::new(profile)));
    heap
}

/// All of them.
pub(crate) fn all() -> Vec<(&'static str, Measurement)> {
    vec![
        ("simulated", simulated()),
        ("faulted", faulted()),
        ("sampled", sampled()),
        ("stacks", stacks()),
        ("timeline", timeline()),
        ("rig", rig()),
        ("heap", heap()),
    ]
}
