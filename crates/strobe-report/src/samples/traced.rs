//! What other instruments make: samples, and all that a trace pin tells.

use strobe_model::*;

use super::build::Build;
use super::runs::exact;
use Cause::*;

/// What another instrument makes: samples, some of them lost.
pub(crate) fn sampled() -> Record {
    let mut record = exact();
    record.subject.file = "sampled.elf".into();
    record.instrument.kind = "trace pin".into();
    record.trust = Trust::Sampled { n: 4010, period_cycles: Some(1000) };
    let mut parts = record.balance.parts().clone();
    (parts.taken, parts.lost) = (parts.taken + 7000, 7000);
    record.totals.cycles = Bounds::exact(parts.taken);
    record.balance = Balance::new(parts).unwrap();
    record.coverage.lost_cycles = Some(7000);
    record.coverage.run_cycles += 7000;
    record
}

/// What comes out of a trace pin, with everything that it can tell, some of it lost.
pub(crate) fn traced() -> Record {
    let mut b = Build::new("traced.elf");
    let file = b.file("src/main.c");
    let main = b.function("main", 0x0800_0100, Some(file));
    let idle = b.function("idle", 0x0800_0200, None);
    b.sample((0x0800_0100, Some(main), Some((file, 12))), 300, &[(Execute, 300)], (0, 0));
    b.sample((0x0800_0104, Some(main), Some((file, 13))), 100, &[(Execute, 100)], (0, 0));
    b.sample((0x0800_0200, Some(idle), None), 50, &[(Asleep, 50)], (0, 0));
    b.sample((0x1fff_0000, None, None), 5, &[(Execute, 5)], (0, 0));
    let mut record = b.finish();
    let share = |sample: u32, count| AddressShare {
        sample,
        count,
        idle: 0,
        jumped: 0,
        cycles: CauseCycles::of(Execute, count),
        bounds: Bounds::exact(count),
    };
    record.profile.shares = vec![
        Share { who: Who::Thread(0), addresses: vec![share(0, 300)], modelled: Vec::new() },
        Share { who: Who::Interrupt(15), addresses: vec![share(1, 80)], modelled: Vec::new() },
    ];
    record.instrument.kind = "trace pin".into();
    record.instrument.settings = [("baud".to_owned(), "115200".to_owned())].into();
    record.trust = Trust::Sampled { n: 655, period_cycles: Some(16_384) };
    record.balance = Balance::new(Parts {
        taken: 3200,
        attributed: 400,
        unattributed: vec![("outside the firmware".into(), 5)],
        idle: 250,
        lost: 2545,
    })
    .unwrap();
    record.warnings.push(Warning { text: "somebody should know".into(), count: 1 });
    record.traced = Some(Box::new(what_was_traced()));
    record
}

/// A stream without timestamps that was read from a file: nobody knows how many samples were lost.
pub(crate) fn replayed() -> Record {
    let mut record = traced();
    let mut parts = record.balance.parts().clone();
    (parts.taken, parts.lost) = (655, 0);
    record.balance = Balance::new(parts).unwrap();
    record.totals.cycles = Bounds::exact(655);
    record.coverage.lost_cycles = None;
    if let Some(traced) = &mut record.traced {
        traced.times =
            TimeBase { core_hz: Some(168_000_000), untimed: 1_700, ..TimeBase::default() };
        traced.sampling.expected = None;
        let why = "there are no local timestamps, and the bytes were replayed";
        traced.sampling.lost = Some(strobe_model::measurement::Loss::Unknown(why.into()));
        traced.recording.iter_mut().for_each(|recording| recording.replayed = true);
        (traced.exceptions, traced.threads) = (Vec::new(), Vec::new());
    }
    record
}

fn what_was_traced() -> Traced {
    let kind = |name: &str, packets, bytes| PacketKind { name: name.into(), packets, bytes };
    Traced {
        stream: StreamTotals {
            frames: Some(FrameTotals {
                bytes: 6_420,
                frames: 400,
                sync_bytes: 4,
                streams: vec![(0, 10), (1, 5_990)],
                stream: Some(1),
                undecodable_bytes: 16,
            }),
            bytes: 5_990,
            packets: 1_700,
            packet_bytes: 5_980,
            padding_bytes: 3,
            undecodable_bytes: 7,
            disruptions: 2,
            packets_in_doubt: 20,
            overflows: 600,
            kinds: vec![kind("overflow", 600, 600), kind("PC sample", 455, 2_275)],
        },
        recording: Some(Recording {
            source: "serial /dev/ttyUSB0".into(),
            nanoseconds: 312_000_000,
            notes: vec![("the source broke off: unplugged".into(), 1), ("bytes lost".into(), 12)],
            replayed: false,
        }),
        times: TimeBase {
            local: 500,
            global: 3,
            ticks: 819_200,
            tick_cycles: Some(64),
            core_hz: Some(168_000_000),
            exact: 900,
            between: 300,
            unsure: 450,
            untimed: 50,
            bridged: 1,
        },
        sampling: Sampling {
            taken: 655,
            awake: 455,
            asleep: 200,
            prohibited: 0,
            period_cycles: Some(16_384),
            expected: Some(Expected {
                samples: 3_200,
                from: "local timestamps".into(),
                at_least: true,
            }),
            idle_by_name: 50,
            lost: Some(strobe_model::measurement::Loss::AtLeast(2_545)),
        },
        exceptions: vec![TracedException {
            number: 15,
            name: "SysTick (tick)".into(),
            entered: 100,
            left: 98,
            unmatched: 2,
            timed: 90,
            own: 9_000,
            shortest: 64,
            longest: 128,
            vague: 8,
            at_most: 640,
            depth: 2,
            samples: 80,
            ..TracedException::default()
        }],
        threads: vec![TracedThread {
            name: "worker".into(),
            pointer: 0x2000_0100,
            runs: 12,
            cycles: 1_000_000,
            samples: 300,
        }],
        channels: vec![
            Channel {
                port: 0,
                packets: 20,
                bytes: 26,
                interrupted: 1,
                text: Some("hello\nwor[lost?]ld\u{1b}[31m\n".into()),
                text_skipped: 4,
                decoded: None,
            },
            Channel { port: 3, packets: 2, bytes: 8, ..Channel::default() },
        ],
        counters: vec![EventCounter {
            name: "CPICNT".into(),
            what: "cycles of instructions beyond their first".into(),
            wraps: 1_000,
        }],
        watched: vec![Watched {
            comparator: 1,
            name: "level".into(),
            reads: 1,
            writes: 3,
            matches: 4,
            min: 2,
            max: 900,
            values: vec![(0, 2), (64, 900), (128, 7), (640, 7)],
            more: 0,
            from: vec![("main".into(), 4)],
        }],
        window: None,
        kit: None,
    }
}
