//! Traces of real boards, beside the repository and not in it (`../shared/data/microros`), against totals that somebody else worked out; and the same rules on a trace made up here.

use std::path::{Path, PathBuf};

use strobe_decode::ctf::{Options, Trace};
use strobe_model::{EventsReport, InterruptSeen, TraceEvents, TrackKind};
use strobe_source::archive::{Meanings, NoNames, Source, Stream, events, timeline};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/microros/aug2020")
}

fn of(metadata: &[u8], stream: &[u8]) -> (EventsReport, TraceEvents) {
    let trace = Trace::parse(metadata).unwrap();
    let (options, meanings) = (Options::default(), Meanings::new(None).unwrap());
    let streams = [Stream { file: "stream", bytes: stream }];
    let source = Source { file: "trace", trace: &trace, streams: &streams, options: &options };
    let (report, line) =
        (events(&source, &meanings, &NoNames), timeline(&source, &meanings, &NoNames));
    check(&report);
    (report, line)
}

/// What every report must fulfil.
fn check(report: &EventsReport) {
    for stream in &report.trace.streams {
        let parts = stream.packet_bytes + stream.mark_bytes + stream.undecodable_bytes;
        assert_eq!(parts, stream.bytes);
    }
    let events: u64 = report.trace.streams.iter().map(|stream| stream.events).sum();
    assert_eq!(report.kinds.iter().map(|kind| kind.count).sum::<u64>(), events);
    if let Some(threads) = &report.threads {
        let known: u64 = threads.threads.iter().map(|t| t.running_ns + t.unannounced_ns).sum();
        assert_eq!(known + threads.switching_ns + threads.unknown_ns, threads.total_ns);
    }
    for interrupt in &report.interrupts {
        assert_eq!(interrupt.entered, interrupt.timed + interrupt.unmatched_enters);
    }
    if let Some(f) = &report.functions {
        assert_eq!(f.enters + f.exits, 2 * f.calls + f.unmatched_enters + f.unmatched_exits);
        assert_eq!(f.functions.iter().map(|f| f.enters).sum::<u64>(), f.enters);
    }
    if let Some(heap) = &report.heap {
        assert_eq!(heap.allocations, heap.frees - heap.unknown_frees + heap.live + heap.replaced);
        assert_eq!(heap.sites.iter().map(|site| site.live_bytes).sum::<u64>(), heap.live_bytes);
        assert_eq!(heap.sites.iter().map(|site| site.allocations).sum::<u64>(), heap.allocations);
    }
    for transfer in &report.transfers {
        let timed = transfer.durations.as_ref().map_or(0, |d| d.count);
        assert_eq!(transfer.starts, timed + transfer.unmatched_starts);
        assert_eq!(transfer.ends, timed + transfer.unmatched_ends);
    }
}

/// A board's stream; `None` in a plain clone.
fn board(name: &str) -> Option<(EventsReport, TraceEvents)> {
    if !folder().is_dir() {
        eprintln!("not at hand: {}", folder().display());
        return None;
    }
    let read = |path: PathBuf| {
        std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    let board = name.split('/').next().unwrap();
    let metadata = read(folder().join(board).join("metadata.tsdl"));
    Some(of(&metadata, &read(folder().join(format!("{name}.raw.bin")))))
}

fn count(report: &EventsReport, name: &str) -> u64 {
    report.kinds.iter().find(|kind| kind.name == name).map_or(0, |kind| kind.count)
}

#[test]
fn ethernet_function_calls() {
    let Some((report, line)) = board("ethernet/fusage") else { return };
    assert_eq!(report.trace.streams[0].events, 18_732);
    assert_eq!(count(&report, "function_usage"), 18_379);
    let functions = report.functions.unwrap();
    assert_eq!((functions.enters, functions.exits), (9157, 9222));
    assert_eq!(functions.entered_functions, 228);
    assert_eq!(report.pauses.unwrap().pairs, 172);
    let calls =
        line.tracks.iter().position(|t| t.kind == TrackKind::Functions && t.number == Some(7));
    let drawn = line.slices.iter().filter(|slice| Some(slice.track) == calls).count();
    assert!(drawn > 8000, "{drawn}");
}

fn timed(interrupts: &[InterruptSeen]) -> Vec<(i64, u64)> {
    interrupts.iter().map(|i| (i.number, i.timed)).collect()
}

#[test]
fn interrupts_with_and_without_an_end() {
    let Some((ethernet, line)) = board("ethernet/isr") else { return };
    assert_eq!(ethernet.trace.streams[0].events, 5632);
    assert_eq!(timed(&ethernet.interrupts), [(3, 641), (15, 1928), (77, 92), (83, 150)]);
    let unmatched = |r: &EventsReport| r.interrupts.iter().map(|i| i.unmatched_enters).sum::<u64>();
    assert_eq!(unmatched(&ethernet), 1);
    assert_eq!(line.slices.len(), 641 + 1928 + 92 + 150 + 1);
    let (serial, _) = board("serial/isr").unwrap();
    assert_eq!(serial.trace.streams[0].events, 5826);
    assert!(timed(&serial.interrupts).contains(&(87, 878)));
    assert_eq!(unmatched(&serial), 23);
    assert!(serial.nesting <= 3, "{}", serial.nesting);
}

#[test]
fn heap() {
    let Some((report, _)) = board("ethernet/mem-dyn") else { return };
    assert_eq!(report.trace.streams[0].events, 333);
    let heap = report.heap.unwrap();
    assert_eq!((heap.allocations, heap.frees, heap.unknown_frees), (188, 135, 0));
    assert_eq!((heap.live, heap.live_bytes, heap.peak_bytes), (53, 14_944, 85_648));
    assert_eq!(report.window.unwrap().repeated, 1, "it is stopped twice");
    let (report, _) = board("serial/mem-dyn").unwrap();
    let heap = report.heap.unwrap();
    assert_eq!((heap.allocations, heap.frees), (92, 39));
}

#[test]
fn stacks() {
    for (name, peak) in [("ethernet/mem-static", (7, 12_568)), ("serial/mem-static", (6, 12_504))] {
        let Some((report, _)) = board(name) else { return };
        assert_eq!((report.stacks[0].id, report.stacks[0].peak_bytes), peak, "{name}");
        assert_eq!(report.stacks[0].name.as_deref(), Some("publisher"), "{name}");
    }
}

#[test]
fn transfers() {
    let Some((report, _)) = board("ethernet/com") else { return };
    assert_eq!(report.trace.streams[0].events, 137);
    let times = |direction: &str| {
        let transfer = report.transfers.iter().find(|t| t.direction == direction).unwrap();
        assert_eq!(transfer.interface, "eth");
        transfer.durations.as_ref().map(|d| (d.count, (d.mean + 50) / 100)).unwrap()
    };
    assert_eq!((times("COM_RX"), times("COM_TX")), ((33, 315), (27, 475)));
}

#[test]
fn who_ran() {
    let Some((report, _)) = board("serial/sched") else { return };
    assert_eq!(report.trace.streams[0].events, 3193);
    let threads = report.threads.unwrap();
    assert_eq!(threads.total_ns / 1_000_000, 6026);
    assert_eq!(threads.gaps.unwrap().mean, 9771);
    let share = |id: i64| {
        let thread = threads.threads.iter().find(|thread| thread.id == id).unwrap();
        (thread.running_ns + thread.unannounced_ns) * 1000 / threads.total_ns
    };
    // Idle, the publisher, and the tracer's own thread, which is never seen to start.
    assert_eq!((share(0), share(6), share(1)), (365, 5, 608));
    let (ethernet, _) = board("ethernet/sched").unwrap();
    let threads = ethernet.threads.unwrap();
    assert_eq!((threads.total_ns / 10_000_000, threads.gaps.unwrap().mean), (232, 9852));
    let idle = threads.threads.iter().find(|thread| thread.id == 0).unwrap();
    assert_eq!(idle.running_ns * 1000 / threads.total_ns, 810);
}

/// Events of unknown meaning are listed; those with a table's meaning are taken as that, in any trace.
#[test]
fn other_traces_and_other_tables() {
    let metadata = b"typealias integer { size = 8; } := u8;
        trace { byte_order = le; };
        clock { name = c; freq = 1000000; };
        stream { event.header := struct { u8 id; u8 timestamp; }; };
        event { name = begins; id = 0; fields := struct { u8 task; }; };
        event { name = beep; id = 1; };
        event { name = isr_enter; id = 2; fields := struct { u8 other; }; };";
    let stream = [0, 10, 1, 1, 20, 0, 30, 2, 2, 40, 9];
    let (report, line) = of(metadata, &stream);
    let kinds: Vec<_> =
        report.kinds.iter().map(|k| (k.name.as_str(), k.count, k.meaning.as_deref())).collect();
    assert_eq!(kinds, [("begins", 2, None), ("beep", 1, None), ("isr_enter", 1, None)]);
    assert_eq!((report.threads, report.interrupts.len(), line.instants.len()), (None, 0, 4));
    let table = "[[event]]\nname = 'begins'\nmeans = 'thread-runs'\nthread = 'task'\n";
    let meanings = Meanings::new(Some(table)).unwrap();
    let trace = Trace::parse(metadata).unwrap();
    let streams = [Stream { file: "s", bytes: &stream }];
    let options = Options::default();
    let source = Source { file: "t", trace: &trace, streams: &streams, options: &options };
    let threads = events(&source, &meanings, &NoNames).threads.unwrap();
    let each: Vec<_> = threads.threads.iter().map(|t| (t.id, t.running_ns)).collect();
    assert_eq!(each, [(1, 20_000), (2, 10_000)]);
    let wrong = Meanings::new(Some("[[event]]\nname = 'x'\nmeans = 'thread-runs'\n")).unwrap_err();
    assert_eq!(wrong.to_string(), "the entry of event `x` does not name the field for `thread`");
    assert!(Meanings::new(Some("[[event]]\nname = 'x'\nmeans = 'nothing'\n")).is_err());
}
