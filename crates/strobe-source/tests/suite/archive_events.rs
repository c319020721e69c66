//! What reports of event traces show, against what the model that wrote them did: streams of a
//! small tracer with noise, losses and cut ends.

use std::collections::BTreeMap;

use strobe_analyse::figures::figures;
use strobe_decode::ctf::{Options, Trace};
use strobe_decode::summary::ValueSummary;
use strobe_model::measurement::{
    Cell, Measurement, Number, Severity, Timeline, Track, TrackKind, Trust, Unit,
};
use strobe_source::archive::report::EventsReport;
use strobe_source::archive::{Meanings, NoNames, Source, Stream, events, measurement, timeline};
use strobe_synth::tracer;

fn of(metadata: &[u8], stream: &[u8]) -> (EventsReport, Timeline) {
    let trace = Trace::parse(metadata).unwrap();
    let (options, meanings) = (Options::default(), Meanings::new(None).unwrap());
    let streams = [Stream { file: "stream", bytes: stream }];
    let source = Source { file: "trace", trace: &trace, streams: &streams, options: &options };
    let (report, line) =
        (events(&source, &meanings, &NoNames), timeline(&source, &meanings, &NoNames));
    check(&report);
    same_measurement(&report, &measurement::events(&source, &meanings, &NoNames));
    (report, line)
}

/// The measurement of a trace has what the report has.
fn same_measurement(report: &EventsReport, measurement: &Measurement) {
    measurement.check().unwrap();
    assert!(measurement.findings.iter().all(|finding| finding.code != "unbalanced"));
    let figures = figures(measurement);
    let figure = |name: &str| figures.get(name).map(|number| number.as_u64());
    let events: u64 = report.kinds.iter().map(|kind| kind.count).sum();
    assert_eq!(figure("totals/events"), Some(events));
    assert_eq!(figure("kinds/all/events"), Some(events));
    if let Some(functions) = &report.functions {
        assert_eq!(figure("profile/calls"), Some(functions.calls));
        let all: u64 = functions.functions.iter().map(|f| f.total_ns).sum();
        assert!(
            figure("profile/time") <= Some(all),
            "self times are parts of the times with calls"
        );
    }
    for interrupt in &report.interrupts {
        let name = format!("interrupt-durations/{}", interrupt.number);
        let durations = interrupt.durations.as_ref();
        assert_eq!(figure(&format!("{name}/count")), durations.map(|d| d.count));
        assert_eq!(figure(&format!("{name}/max")), durations.map(|d| d.max));
    }
    if let Some(heap) = &report.heap {
        assert_eq!(figure("heap-profile/bytes"), Some(heap.total_bytes));
        assert_eq!(figure("heap-profile/live-bytes"), Some(heap.live_bytes));
    }
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

/// The report on a tracer's stream. Events by kind, and bytes that are none, are those that were
/// written.
fn report<T>(stream: &tracer::Stream<T>) -> (EventsReport, Timeline) {
    let (report, line) = of(tracer::metadata().as_bytes(), &stream.bytes);
    let summary = &report.trace.streams[0];
    assert_eq!(summary.events, stream.events.len() as u64);
    assert_eq!(summary.undecodable_bytes, (stream.noise + stream.tail) as u64);
    for kind in &report.kinds {
        assert_eq!(kind.count, stream.count(&kind.name), "{}", kind.name);
    }
    (report, line)
}

/// What is known of some values, beside what a report shows of them.
fn same_durations(found: Option<&ValueSummary>, values: &[u64]) {
    let (count, sum) = (values.len() as u64, values.iter().sum::<u64>());
    let Some(found) = found else { return assert_eq!(count, 0) };
    assert_eq!(found.count, count);
    assert_eq!((Some(&found.min), Some(&found.max)), (values.iter().min(), values.iter().max()));
    assert!((found.mean * count).abs_diff(sum) <= count, "{} of {count}, not {sum}", found.mean);
}

#[test]
fn calls_are_those_that_the_tracer_sent() {
    let stream = tracer::calls(21, 18_000);
    let truth = &stream.truth;
    let (report, line) = report(&stream);
    let functions = report.functions.unwrap();
    let (enters, exits) = (truth.sum(|f| f.enters), truth.sum(|f| f.exits));
    assert!(enters + exits >= 18_000 && enters != exits);
    assert_eq!((functions.enters, functions.exits), (enters, exits));
    let calls = truth.sum(|f| f.calls);
    assert_eq!(functions.calls, calls);
    let unmatched = (functions.unmatched_enters, functions.unmatched_exits);
    assert_eq!(unmatched, (enters - calls, exits - calls));
    assert!(unmatched.0 > 50 && unmatched.1 > 50, "{unmatched:?}");
    let entered = truth.functions.values().filter(|f| f.enters > 0).count();
    assert_eq!(functions.entered_functions, entered as u64);
    assert_eq!(functions.functions.len(), truth.functions.len());
    for seen in &functions.functions {
        let f = &truth.functions[&seen.address];
        let found = (seen.enters, seen.exits, seen.calls, seen.total_ns, seen.max_ns);
        assert_eq!(found, (f.enters, f.exits, f.calls, f.total_ns, f.max_ns), "{seen:?}");
    }
    let pauses = report.pauses.unwrap();
    assert_eq!((pauses.starts, pauses.stops, pauses.pairs), truth.pauses);
    // A thread's calls are slices on its track.
    for (thread, calls) in &truth.by_thread {
        let of_thread = Some(i64::from(*thread));
        let is_track = |t: &Track| t.kind == TrackKind::Functions && t.number == of_thread;
        let track = line.tracks.iter().position(is_track).map(|track| track as u32);
        let drawn = line.spans.track.iter().filter(|of| Some(**of) == track).count();
        assert_eq!(drawn as u64, *calls, "thread {thread}");
    }
}

#[test]
fn interrupts_with_and_without_an_end() {
    for (seed, losses) in [(22, false), (23, true)] {
        let stream = tracer::interrupts(seed, 2900, losses);
        let truth = &stream.truth;
        let (report, line) = report(&stream);
        let numbers: Vec<i64> = truth.handlers.keys().map(|number| i64::from(*number)).collect();
        assert_eq!(report.interrupts.iter().map(|i| i.number).collect::<Vec<_>>(), numbers);
        let mut timed = 0;
        for (seen, handlers) in report.interrupts.iter().zip(truth.handlers.values()) {
            assert_eq!(seen.timed, handlers.durations.len() as u64, "{seen:?}");
            assert_eq!(seen.unmatched_enters, handlers.unmatched_enters, "{seen:?}");
            assert_eq!(seen.unmatched_exits, handlers.unmatched_exits, "{seen:?}");
            same_durations(seen.durations.as_ref(), &handlers.durations);
            timed += seen.timed;
        }
        let unmatched: u64 = report.interrupts.iter().map(|i| i.unmatched_enters).sum();
        assert_eq!(unmatched > 10, losses, "{unmatched}");
        // In a handler that goes on, and of one that nothing ends.
        let of = |number: u32| truth.handlers[&number].unmatched_enters;
        assert_eq!((of(83) > 3, of(87) > 3), (losses, losses), "{} {}", of(83), of(87));
        // A handler whose exit was lost is taken for one that still runs.
        let nesting = u64::from(truth.nesting)..=u64::from(truth.nesting + u32::from(losses));
        assert!(nesting.contains(&report.nesting.into()), "{} in {nesting:?}", report.nesting);
        let marks = report.window.unwrap();
        assert_eq!(
            (marks.starts, marks.stops, marks.parts),
            (truth.marks.starts, truth.marks.stops, 3)
        );
        assert_eq!((marks.repeated, marks.total_ns), (truth.marks.repeated, truth.marks.total_ns));
        assert!(marks.repeated > 10 && !marks.open);
        let of_handlers = |track: &&u32| line.tracks[**track as usize].kind == TrackKind::Exception;
        assert_eq!(line.spans.track.iter().filter(of_handlers).count() as u64, timed);
    }
}

#[test]
fn blocks_are_followed_by_call_site_and_thread() {
    let stream = tracer::heap(24, 3000);
    let truth = &stream.truth;
    let (report, _) = report(&stream);
    let heap = report.heap.unwrap();
    assert_eq!((heap.allocations, heap.frees), (truth.allocations, truth.frees));
    assert_eq!((heap.unknown_frees, heap.replaced), (truth.unknown_frees, truth.replaced));
    assert!(heap.unknown_frees > 5 && heap.replaced > 5 && truth.failed > 5, "{}", truth.failed);
    assert_eq!(heap.failed, truth.failed);
    assert_eq!((heap.live, heap.live_bytes), (truth.live.len() as u64, truth.live_bytes()));
    assert_eq!((heap.peak_bytes, heap.total_bytes), (truth.peak_bytes, truth.total_bytes));
    assert_eq!(heap.requested_bytes, Some(truth.requested_bytes));
    same_durations(heap.ages.as_ref(), &truth.ages);
    let sites: BTreeMap<_, _> = heap
        .sites
        .iter()
        .map(|s| ((s.thread, s.callers.clone()), (s.allocations, s.bytes, s.live, s.live_bytes)))
        .collect();
    let wanted = truth.sites.iter().map(|((thread, callers), s)| {
        let callers = callers.iter().map(|at| format!("{at:#010x}")).collect();
        ((Some(i64::from(*thread)), callers), (s.allocations, s.bytes, s.live, s.live_bytes))
    });
    assert_eq!(sites, wanted.collect());
    let window = report.window.unwrap();
    assert_eq!(
        (window.repeated, window.total_ns),
        (1, truth.marks.total_ns),
        "it is stopped twice"
    );
}

#[test]
fn stacks_have_their_peak_with_its_place() {
    let stream = tracer::stacks(25, 24_000);
    let (report, _) = report(&stream);
    assert_eq!(report.stacks.len(), stream.truth.len());
    for (seen, stack) in report.stacks.iter().zip(&stream.truth) {
        assert_eq!((seen.id, seen.name.as_deref()), (i64::from(stack.id), Some(stack.name)));
        assert_eq!((seen.samples, seen.peak_bytes), (stack.samples, stack.peak_bytes));
        assert_eq!(seen.peak_ns.map(|at| at as u64), Some(stack.peak_ns));
        assert_eq!(seen.peak_function, stack.peak_function);
    }
    assert_eq!(report.stacks[0].name.as_deref(), Some("publisher"));
}

#[test]
fn transfers_are_paired_and_the_others_counted() {
    let stream = tracer::transfers(26, 700);
    let (report, _) = report(&stream);
    assert_eq!(report.transfers.len(), stream.truth.len());
    let (mut starts, mut ends) = (0, 0);
    for seen in &report.transfers {
        let truth = &stream.truth[&(seen.interface.as_str(), seen.direction.as_str())];
        same_durations(seen.durations.as_ref(), &truth.durations);
        assert_eq!(seen.bytes, truth.bytes);
        assert_eq!(
            (seen.unmatched_starts, seen.unmatched_ends),
            (truth.unmatched_starts, truth.unmatched_ends)
        );
        (starts, ends) = (starts + seen.unmatched_starts, ends + seen.unmatched_ends);
    }
    assert!(starts > 3 && ends > 3, "{starts} {ends}");
}

#[test]
fn thread_times_equal_those_the_tracer_sent() {
    let stream = tracer::threads(27, 1500);
    let truth = &stream.truth;
    let (report, _) = report(&stream);
    let window = report.window.unwrap();
    assert_eq!((window.starts, window.stops), (truth.marks.starts, truth.marks.stops));
    assert_eq!((window.repeated, window.total_ns), (truth.marks.repeated, truth.marks.total_ns));
    let threads = report.threads.unwrap();
    assert_eq!((threads.total_ns, threads.unknown_ns), (truth.marks.total_ns, 0));
    assert_eq!(threads.switching_ns, truth.switching_ns);
    same_durations(threads.gaps.as_ref(), &truth.gaps);
    assert!(truth.gaps.len() > 200, "{}", truth.gaps.len());
    for thread in &threads.threads {
        let time = |of: &BTreeMap<u32, u64>| of.get(&(thread.id as u32)).copied().unwrap_or(0);
        // The tracer's own thread is never seen to start.
        let wanted = (time(&truth.running_ns), time(&truth.unannounced_ns));
        assert_eq!((thread.running_ns, thread.unannounced_ns), wanted, "{thread:?}");
        assert!(thread.running_ns + thread.unannounced_ns > 0 && thread.name.is_some());
    }
    assert_eq!(threads.threads.len(), 4);
}

/// Streams of one trace are read together: each adds its part, in the order of time.
#[test]
fn streams_side_by_side() {
    let (heap, isr) = (tracer::heap(28, 800), tracer::interrupts(29, 700, true));
    let (calls, sched) = (tracer::calls(30, 3000), tracer::stacks(31, 3000));
    let trace = Trace::parse(tracer::metadata().as_bytes()).unwrap();
    let (options, meanings) = (Options::default(), Meanings::new(None).unwrap());
    let all = [&heap.bytes, &isr.bytes, &calls.bytes, &sched.bytes];
    let streams: Vec<Stream> = ["heap", "isr", "calls", "stacks"]
        .iter()
        .zip(all)
        .map(|(file, bytes)| Stream { file, bytes })
        .collect();
    let source = Source { file: "trace", trace: &trace, streams: &streams, options: &options };
    let report = events(&source, &meanings, &NoNames);
    check(&report);
    let found: Vec<u64> = report.trace.streams.iter().map(|stream| stream.events).collect();
    let written = [heap.events.len(), isr.events.len(), calls.events.len(), sched.events.len()];
    assert_eq!(found, written.map(|n| n as u64));
    assert_eq!(report.heap.unwrap().peak_bytes, heap.truth.peak_bytes);
    assert_eq!(report.functions.unwrap().calls, calls.truth.sum(|f| f.calls));
    assert_eq!(report.stacks[0].peak_bytes, sched.truth[0].peak_bytes);
    let timed: Vec<u64> = report.interrupts.iter().map(|i| i.timed).collect();
    let handled: Vec<u64> = isr.truth.handlers.values().map(|h| h.durations.len() as u64).collect();
    assert_eq!(timed, handled);
}

/// Events of unknown meaning are listed; those with a table's meaning are taken as that, in any
/// trace.
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
    assert_eq!((report.threads, report.interrupts.len(), line.moments.at.len()), (None, 0, 4));
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

/// Packets with numbers, and handlers in them.
const PACKETS: &str = r#"/* CTF 1.8 */
typealias integer { size = 16; align = 8; signed = false; } := uint16_t;
typealias integer { size = 32; align = 8; signed = false; } := uint32_t;
typealias integer { size = 64; align = 8; signed = false; } := uint64_t;
clock { name = "mono"; freq = 1000000000; };
typealias integer { size = 64; align = 8; signed = false; map = clock.mono.value; } := time_t;
trace {
  major = 1; minor = 8; byte_order = le;
  packet.header := struct { uint32_t magic; uint32_t stream_id; };
};
stream {
  id = 0;
  packet.context := struct {
    uint64_t content_size; uint64_t packet_size; uint64_t packet_seq_num;
  };
  event.header := struct { uint16_t id; time_t timestamp; };
};
event { name = "irq_handler_entry"; id = 1; stream_id = 0; fields := struct { uint32_t _irq; }; };
event { name = "irq_handler_exit"; id = 2; stream_id = 0; fields := struct { uint32_t _irq; }; };
"#;

/// Where the events of such a packet begin.
const EVENTS: usize = 32;

fn packet(number: u64, events: &[(u16, u64)]) -> Vec<u8> {
    let bits = 8 * (EVENTS + 14 * events.len()) as u64;
    let mut out = Vec::new();
    out.extend(0xc1fc_1fc1u32.to_le_bytes());
    out.extend(0u32.to_le_bytes());
    [bits, bits, number].iter().for_each(|n| out.extend(n.to_le_bytes()));
    for (id, at) in events {
        out.extend(id.to_le_bytes());
        out.extend(at.to_le_bytes());
        out.extend(7u32.to_le_bytes());
    }
    out
}

/// The exit behind a loss is not that of the entry before it, and of what is missing there is no
/// exact number.
#[test]
fn no_handler_lasts_over_what_is_missing() {
    let event = |n: u16| (1 + n % 2, 1000 * u64::from(n / 2) + 50 * u64::from(n % 2));
    let events: Vec<(u16, u64)> = (0..60).map(event).collect();
    // Packets of seven: each other one ends within a handler.
    let whole: Vec<Vec<u8>> =
        (0u64..).zip(events.chunks(7)).map(|(number, events)| packet(number, events)).collect();
    let missing = [&whole[..1], &whole[3..]].concat();
    let mut torn = whole.clone();
    torn[1..3].iter_mut().for_each(|packet| packet[EVENTS..][..2].fill(0xee));
    for (packets, is_lossy) in [(whole, false), (missing, true), (torn, true)] {
        let bytes = packets.concat();
        let (report, line) = of(PACKETS.as_bytes(), &bytes);
        let durations = report.interrupts[0].durations.as_ref().expect("there are handlers");
        assert_eq!((durations.min, durations.max), (50, 50));
        assert!(line.spans.duration.iter().all(|ns| *ns == 50), "{:?}", line.spans.duration);
        assert_eq!(line.gaps.from.len(), usize::from(is_lossy));
        let out = measured(PACKETS, &bytes);
        let (seen, lost) = (out.total("events"), out.coverage.lost.as_ref());
        let expected = if is_lossy { Trust::AtLeast } else { Trust::Exact };
        assert_eq!(seen.map(|figure| figure.trust()), Some(&expected));
        let lost = lost.map(|figure| figure.trust());
        assert!(matches!(lost, Some(Trust::Unknown { .. })), "{lost:?}");
        let rate = &out.table("kinds").unwrap().column("rate").unwrap().cells[0];
        let is_least = matches!(rate, Cell::Figure { trust: Trust::AtLeast, .. });
        assert_eq!(is_least, is_lossy, "{rate:?}");
        if let Some(losses) = out.table("losses") {
            let events = &losses.column("events").unwrap().cells[0];
            assert!(matches!(events, Cell::Figure { value: None, .. }), "{events:?}");
            let finding = out.findings.iter().find(|f| f.code == "events-lost").unwrap();
            assert_eq!(finding.text, "2 packets are missing, whose events nobody counted");
        }
    }
}

fn measured(metadata: &str, bytes: &[u8]) -> Measurement {
    let trace = Trace::parse(metadata.as_bytes()).unwrap();
    let (options, meanings) = (Options::default(), Meanings::new(None).unwrap());
    let streams = [Stream { file: "stream", bytes }];
    let source = Source { file: "trace", trace: &trace, streams: &streams, options: &options };
    measurement::events(&source, &meanings, &NoNames)
}

/// The same with the times of packets: handlers of 50 ns, each 1000 ns, three in a packet.
fn timed() -> (String, Vec<Vec<u8>>) {
    let number = "uint64_t packet_seq_num;";
    let times = format!("{number} time_t timestamp_begin; time_t timestamp_end;");
    let metadata = PACKETS.replace(number, &times);
    let event = |n: u16| (1 + n % 2, 1000 * u64::from(n / 2) + 50 * u64::from(n % 2));
    let events: Vec<(u16, u64)> = (0..60).map(event).collect();
    let packet = |(number, events): (u64, &[(u16, u64)])| {
        let plain = packet(number, events);
        let bits = 8 * (plain.len() + 16) as u64;
        let mut out = plain[..8].to_vec();
        [bits, bits, number, events[0].1, events[5].1]
            .iter()
            .for_each(|n| out.extend(n.to_le_bytes()));
        out.extend(&plain[EVENTS..]);
        out
    };
    (metadata, (0u64..).zip(events.chunks(6)).map(packet).collect())
}

/// A buffer that was written twice is no event more.
#[test]
fn a_packet_that_is_there_twice_counts_once() {
    let (metadata, mut packets) = timed();
    let once = measured(&metadata, &packets.concat());
    packets.insert(4, packets[3].clone());
    packets.insert(9, packets[5].clone());
    let (report, _) = of(metadata.as_bytes(), &packets.concat());
    let repeated = 2 * packets[3].len() as u64;
    assert_eq!(report.trace.streams[0].undecodable_bytes, repeated);
    assert!(report.undecodable[0].why.contains("twice"), "{:?}", report.undecodable);
    let twice = measured(&metadata, &packets.concat());
    for measurement in [&once, &twice] {
        let events = measurement.total("events").unwrap();
        assert_eq!((events.value(), events.trust()), (Some(60u64.into()), &Trust::Exact));
    }
    assert_eq!(once.window.duration, twice.window.duration);
    assert_eq!(once.table("interrupts"), twice.table("interrupts"));
    assert!(twice.findings.iter().any(|finding| finding.code == "undecodable-bytes"));
}

/// A wrong bit in a time, and packets in another order: no length of time is exact, and the true
/// one is within what is printed.
#[test]
fn no_length_is_exact_where_times_go_back() {
    let (metadata, packets) = timed();
    let mut wrong = packets.clone();
    // The fifth byte of an exit's time.
    wrong[4][EVENTS + 16 + 14 + 2 + 4] ^= 0x10;
    let mut swapped = packets;
    swapped.swap(4, 5);
    for (packets, is_far) in [(wrong, true), (swapped, false)] {
        let (_, _) = of(metadata.as_bytes(), &packets.concat());
        let out = measured(&metadata, &packets.concat());
        let Trust::Resolution { low, high } = out.window.duration.trust() else {
            panic!("{:?}", out.window.duration)
        };
        let truth = Number::from(29_050u64);
        assert!(*low <= truth && truth <= *high, "{low:?} {high:?}");
        assert_eq!(high.as_u64() > 1_000_000, is_far);
        assert_eq!(out.window.duration.unit(), &Unit::NANOSECONDS);
        let finding = out.findings.iter().find(|f| f.code == "event-order").unwrap();
        assert_eq!(finding.severity, Severity::Warning, "{}", finding.text);
        assert!(finding.text.contains("or the tracer began anew"), "{}", finding.text);
    }
}

/// A wrong bit in a packet's number is no million of missing packets.
#[test]
fn loss_counts_going_back_are_not_a_loss() {
    let (metadata, mut packets) = timed();
    // The third byte of the number.
    packets[4][26] ^= 0x10;
    let (report, _) = of(metadata.as_bytes(), &packets.concat());
    assert_eq!(report.trace.streams[0].recounts, 1);
    assert!(report.losses[0].packets > 1_000_000, "{:?}", report.losses);
    let out = measured(&metadata, &packets.concat());
    let lost = out.coverage.lost.as_ref().unwrap().trust();
    assert!(matches!(lost, Trust::Unknown { why } if why.contains("go back")), "{lost:?}");
    assert_eq!(out.total("events").unwrap().trust(), &Trust::AtLeast);
    let losses = out.table("losses").unwrap();
    for id in ["events", "packets"] {
        let cells = &losses.column(id).unwrap().cells;
        assert!(cells.iter().all(|cell| cell.number().is_none()), "{cells:?}");
    }
    let finding = out.findings.iter().find(|f| f.code == "events-lost").unwrap();
    assert!(finding.text.contains("go back"), "{}", finding.text);
    assert!(finding.text.contains("or the tracer began anew"), "{}", finding.text);
}
