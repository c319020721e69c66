//! Archives built by hand: a trace of events with everything that one can have, allocations, a
//! published profile.

use strobe_decode::summary::ValueSummary;

use crate::archive::allocations::report::*;
use crate::archive::published::report::*;
use crate::archive::report::*;

fn spread(values: &[u64]) -> Option<ValueSummary> {
    ValueSummary::of(values.to_vec())
}

fn kind(name: &str, meaning: Option<&str>, count: u64, first: i64, last: i64) -> EventKind {
    let meaning = meaning.map(str::to_owned);
    EventKind { name: name.into(), meaning, count, first_ns: Some(first), last_ns: Some(last) }
}

/// A trace in which something of everything is missing.
pub(crate) fn events() -> EventsReport {
    let thread = |id, name: Option<&str>, running_ns, unannounced_ns| ThreadSeen {
        id,
        name: name.map(str::to_owned),
        runs: u64::from(running_ns > 0) * 3,
        running_ns,
        unannounced_runs: u64::from(unannounced_ns > 0),
        unannounced_ns,
    };
    EventsReport {
        trace: TraceSummary {
            file: "trace".into(),
            format: "CTF 1.8".into(),
            streams: vec![StreamSummary {
                file: "channel0".into(),
                bytes: 1012,
                packet_bytes: 1000,
                mark_bytes: 4,
                undecodable_bytes: 8,
                packets: 2,
                events: 12,
                backwards: 1,
                back_ns: 0,
                recounts: 0,
            }],
            clock: Some(TraceClock { name: "monotonic".into(), hz: 1_000_000, precision_ns: 1000 }),
            first_ns: Some(1_000_000),
            last_ns: Some(2_001_000_000),
            environment: vec![("domain".into(), "ust".into()), ("bell".into(), "\x07".into())],
        },
        window: Some(MarkedWindow {
            starts: 2,
            stops: 1,
            parts: 1,
            repeated: 1,
            open: true,
            from_ns: 2_000_000,
            to_ns: 1_002_000_000,
            total_ns: 1_000_000_000,
        }),
        kinds: vec![
            kind("switch", Some("another thread runs"), 10, 1_000_000, 2_001_000_000),
            kind("beep", None, 2, 5_000_000, 5_000_000),
        ],
        losses: vec![EventLoss {
            stream: "channel0".into(),
            events: 7,
            packets: 1,
            from_ns: Some(3_000_000),
            to_ns: Some(4_000_000),
        }],
        undecodable: vec![UndecodableBytes {
            stream: "channel0".into(),
            at: 512,
            bytes: 8,
            why: "event 99 is not described for stream 0".into(),
        }],
        threads: Some(ThreadsSeen {
            total_ns: 1_000_000_000,
            threads: vec![
                thread(7, Some("worker"), 600_000_000, 0),
                thread(1, None, 0, 300_000_000),
            ],
            switching_ns: 40_000_000,
            unknown_ns: 60_000_000,
            gaps: spread(&[9_000, 11_000]),
        }),
        interrupts: vec![InterruptSeen {
            number: 15,
            entered: 3,
            timed: 2,
            unmatched_enters: 1,
            unmatched_exits: 0,
            durations: spread(&[12_000, 14_000]),
        }],
        nesting: 2,
        functions: Some(FunctionsSeen {
            enters: 3,
            exits: 2,
            calls: 2,
            unmatched_enters: 1,
            unmatched_exits: 0,
            entered_functions: 2,
            functions: vec![
                FunctionSeen {
                    address: 0x0800_0100,
                    name: Some("poll".into()),
                    enters: 2,
                    exits: 2,
                    calls: 2,
                    total_ns: 5_000,
                    max_ns: 3_000,
                },
                FunctionSeen { address: 0x0800_0200, enters: 1, ..FunctionSeen::default() },
            ],
        }),
        stacks: vec![StackSeen {
            id: 7,
            name: Some("worker".into()),
            samples: 20,
            peak_bytes: 12_568,
            peak_ns: Some(6_000_000),
            peak_function: 0x0800_0100,
            peak_name: None,
        }],
        heap: Some(HeapSeen {
            allocations: 3,
            failed: 1,
            frees: 2,
            unknown_frees: 1,
            replaced: 1,
            live: 1,
            live_bytes: 64,
            peak_bytes: 128,
            peak_ns: Some(7_000_000),
            total_bytes: 192,
            requested_bytes: Some(150),
            ages: spread(&[1_000]),
            sites: vec![HeapSite {
                thread: Some(7),
                callers: vec!["0x08000100".into(), "0x08000200".into()],
                names: vec![Some("poll".into()), None],
                allocations: 3,
                bytes: 192,
                live: 1,
                live_bytes: 64,
                leak: None,
            }],
            threads: Vec::new(),
            names: Default::default(),
            uncertain: true,
        }),
        transfers: vec![TransferSeen {
            interface: "eth".into(),
            direction: "TX".into(),
            starts: 3,
            ends: 2,
            unmatched_starts: 1,
            unmatched_ends: 0,
            bytes: 120,
            durations: spread(&[30_000, 33_000]),
        }],
        timers: vec![TimerSeen {
            name: "4".into(),
            starts: 1,
            stops: 1,
            durations: spread(&[5_000_000]),
        }],
        pauses: Some(PausesSeen { starts: 2, stops: 1, pairs: 1, total_ns: 900 }),
        notes: vec!["1 events have times before the event before them".into()],
    }
}

/// A trace without anything.
pub(crate) fn no_events() -> EventsReport {
    let full = events();
    EventsReport {
        trace: TraceSummary {
            streams: Vec::new(),
            clock: None,
            first_ns: None,
            last_ns: None,
            environment: Vec::new(),
            ..full.trace
        },
        window: None,
        kinds: Vec::new(),
        losses: Vec::new(),
        undecodable: Vec::new(),
        threads: None,
        interrupts: Vec::new(),
        nesting: 0,
        functions: None,
        stacks: Vec::new(),
        heap: None,
        transfers: Vec::new(),
        timers: Vec::new(),
        pauses: None,
        notes: Vec::new(),
    }
}

/// Allocations with damage, and a tree that was published of them.
pub(crate) fn allocations() -> AllocationsReport {
    let node = |parent, address: &str, name: &str, count, bytes, own| AllocationNode {
        parent,
        address: address.into(),
        name: name.into(),
        symbol: None,
        damaged: name.contains('\u{fffd}'),
        count,
        bytes,
        own,
    };
    let class = |size, count, place: &str| {
        let place = place.to_owned();
        SizeClass { size, count, bytes: size * count, places: 1, place }
    };
    AllocationsReport {
        file: "itm.txt".into(),
        format: "allocations as a traced allocator printed them".into(),
        count: 4,
        bytes: 2_144,
        failed: 1,
        big_above: 1024,
        big_count: 1,
        big_bytes: 2_072,
        sizes: vec![class(2072, 1, "main > malloc"), class(24, 3, "\u{fffd}ain > malloc")],
        tree: vec![
            node(None, "0x08000100", "main", 3, 2_120, 0),
            node(Some(0), "0x08000200", "malloc", 3, 2_120, 3),
            node(None, "", "\u{fffd}ain", 1, 24, 1),
        ],
        damage: Damage {
            frames: 1,
            all_frames: 7,
            astray: Some(1),
            allocations: 1,
            heads: 1,
            before: 2,
            remarks: 1,
            not_utf8: 1,
        },
        published: Some(PublishedTree {
            file: "tree.json".into(),
            count: 4,
            bytes: 2_144,
            not_utf8: 1,
            nodes: 3,
            same: 2,
            differ: vec![("0x08000300 other".into(), 0, 1)],
            all_differ: 1,
            renamed: 1,
        }),
        notes: vec!["freed blocks are not in it".into()],
    }
}

/// A profile that was published, with samples that it lacks.
pub(crate) fn published() -> Published {
    let function = |name: &str, published, counted, with_fault| PublishedFunction {
        name: name.into(),
        published,
        counted,
        with_fault,
    };
    Published {
        file: "profile.txt".into(),
        total: 30,
        counted: 100,
        functions: vec![function("poll", 20, 20, 20), function("send", 10, 11, 9)],
        missing: vec![("idle".into(), 60), ("main".into(), 9)],
        fault: Some(KnownFault {
            what: "the tool drops every second sample".into(),
            total: 29,
            same: 1,
            functions: 2,
            exact: false,
        }),
        without_inlining: true,
    }
}
