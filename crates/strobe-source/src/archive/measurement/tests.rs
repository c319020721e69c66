//! Archives built by hand become measurements that hold together and have every figure of the
//! report.

use strobe_model::measurement::{
    Content, Ended, Instrument, Loss, Measurement, Subject, Trust, Window,
};

use super::super::calls::Calls;
use super::super::events::Extras;
use super::events::measured;
use crate::measuring::testing::{checked, finds, has, text};

#[path = "samples.rs"]
mod archives;

/// Two calls of `poll` of 4 and 1 microseconds, of which the other function was left for good.
fn calls() -> Calls {
    let mut calls = Calls::default();
    let poll = calls.called(7, None, 0x0800_0100);
    let other = calls.called(7, Some(poll), 0x0800_0200);
    let again = calls.called(7, Some(other), 0x0800_0100);
    calls.ended(again, 1_000);
    calls.ended(poll, 3_000);
    calls
}

fn trace() -> Measurement {
    measured(&archives::events(), &Extras { calls: calls(), counts_losses: true, holes: 0 })
}

#[test]
fn a_trace_with_everything() {
    let measurement = trace();
    let figures = checked(&measurement, 20_000);
    has(
        &figures,
        &[
            ("totals/events", 12.0),
            ("window/duration", 2_000_000_000.0),
            ("facts/clock frequency", 1e6),
            ("facts/clock precision", 1000.0),
            ("kinds/switch/events", 10.0),
            ("kinds/switch/first", 0.0),
            ("kinds/switch/last", 2_000_000_000.0),
            ("kinds/switch/rate", 4.5),
            ("kinds/all/events", 12.0),
            ("streams/channel0/packet-bytes", 1000.0),
            ("streams/channel0/mark-bytes", 4.0),
            ("streams/channel0/packets", 2.0),
            ("streams/channel0/backwards", 1.0),
            ("balances/bytes of channel0/taken", 1012.0),
            ("balances/bytes of channel0/undecodable", 8.0),
            ("balances/events/attributed", 10.0),
            ("balances/events/lost", 7.0),
            ("coverage/overhead", 900.0),
            ("totals/marked", 1e9),
            ("losses/channel0/events", 7.0),
            ("losses/channel0/packets", 1.0),
            ("losses/channel0/from", 2_000_000.0),
            ("undecodable/channel0/at", 512.0),
            ("undecodable/channel0/bytes", 8.0),
            ("pauses/0/pauses", 1.0),
            ("pauses/0/starts", 2.0),
            ("pauses/0/time", 900.0),
        ],
    );
    let windows = measurement.table("windows").unwrap();
    let marked: Vec<_> = ["from", "to", "time", "parts", "starts", "stops", "repeated"]
        .map(|id| windows.column(id).unwrap().cells[0].number().unwrap().as_u64())
        .into();
    assert_eq!(marked, [1_000_000, 1_001_000_000, 1_000_000_000, 1, 2, 1, 1]);
    assert!(text(&measurement, "windows", "end", 0).unwrap().contains("no end mark"));
    assert_eq!(text(&measurement, "kinds", "meaning", 0), Some("another thread runs"));
    assert_eq!(measurement.window.begin.nanoseconds, Some(1_000_000));
    assert_eq!(measurement.instrument.environment["domain"], "ust");
    assert_eq!(measurement.total("events").unwrap().trust(), &Trust::AtLeast);
    assert!(finds(&measurement, "events-lost") && finds(&measurement, "trace"));
}

#[test]
fn who_ran_and_what_happened_meanwhile() {
    let measurement = trace();
    let figures = checked(&measurement, 20_000);
    has(
        &figures,
        &[
            ("threads/worker (7)/runs", 3.0),
            ("threads/worker (7)/time", 600_000_000.0),
            ("threads/thread 1/unannounced-runs", 1.0),
            ("threads/thread 1/time", 300_000_000.0),
            ("threads/between threads/time", 40_000_000.0),
            ("threads/not known who ran/time", 60_000_000.0),
            ("threads/all/time", 1e9),
            ("balances/time of threads/attributed", 900_000_000.0),
            ("switches/stop to next start/sum", 20_000.0),
            ("interrupts/15/entered", 3.0),
            ("interrupts/15/timed", 2.0),
            ("interrupts/15/unmatched-enters", 1.0),
            ("interrupt-durations/15/max", 14_000.0),
            ("totals/nesting", 2.0),
            ("transfers/eth/starts", 3.0),
            ("transfers/eth/ends", 2.0),
            ("transfers/eth/bytes", 120.0),
            ("transfers/eth/unmatched-starts", 1.0),
            ("transfer-durations/eth TX/min", 30_000.0),
            ("timers/4/starts", 1.0),
            ("timer-durations/4/max", 5e6),
            ("findings/unmatched-interrupts", 1.0),
            ("findings/unmatched-transfers", 1.0),
        ],
    );
    let entered = &measurement.table("interrupts").unwrap().column("entered").unwrap().cells[0];
    let is_at_least =
        matches!(entered, strobe_model::measurement::Cell::Figure { trust: Trust::AtLeast, .. });
    assert!(is_at_least, "{entered:?}");
}

#[test]
fn calls_and_memory() {
    let measurement = trace();
    let figures = checked(&measurement, 20_000);
    has(
        &figures,
        &[
            ("functions/poll/enters", 2.0),
            ("functions/poll/exits", 2.0),
            ("functions/poll/calls", 2.0),
            ("functions/poll/total", 5_000.0),
            ("functions/poll/mean", 2_500.0),
            ("functions/poll/max", 3_000.0),
            ("functions/0x08000200/enters", 1.0),
            ("functions/all/exits", 2.0),
            ("totals/functions-entered", 2.0),
            ("balances/entries and exits of functions/entries without an exit", 1.0),
            ("profile/time", 4_000.0),
            ("profile/calls", 2.0),
            ("stacks/worker (7)/used", 12_568.0),
            ("stacks/worker (7)/samples", 20.0),
            ("stacks/worker (7)/at", 5_000_000.0),
            ("heap/allocated/blocks", 3.0),
            ("heap/allocated/bytes", 192.0),
            ("heap/requested/bytes", 150.0),
            ("heap/failed/blocks", 1.0),
            ("heap/freed/blocks", 2.0),
            ("heap/freed, allocation not seen/blocks", 1.0),
            ("heap/allocated again, free not seen/blocks", 1.0),
            ("heap-ages/freed blocks/max", 1_000.0),
            ("heap-sites/all/bytes", 192.0),
            ("heap-profile/bytes", 192.0),
            ("heap-profile/live-blocks", 1.0),
        ],
    );
    // No time is known of a function of which no call has both ends.
    assert!(!figures.contains_key("functions/0x08000200/total"));
    assert_eq!(text(&measurement, "heap-sites", "callers", 0), Some("poll < 0x08000200"));
    assert_eq!(text(&measurement, "stacks", "function", 0), Some("0x08000100"));
    let profiles: Vec<_> = measurement.profiles().collect();
    assert_eq!(profiles[0].labels[0].value, "worker (7)");
    assert_eq!(profiles[0].stacks.parent, [None, Some(0), Some(1)]);
    // The heap's chain begins with the outermost caller, of which no name is known.
    let heap = profiles[1];
    assert_eq!(heap.function_name(heap.function_at(heap.stacks.location[0])), "(no symbol)");
    assert_eq!(heap.function_name(heap.function_at(heap.stacks.location[1])), "poll");
    assert_eq!(heap.chains.of("live-bytes").unwrap().bounds(0), Some((0, 64)));
    // Events were lost: what is left is unknown, wherever it stands.
    assert!(finds(&measurement, "heap-uncertain"));
    for of in ["heap/in use at the end/bytes", "heap/peak/bytes", "totals/heap-peak"] {
        assert!(!figures.contains_key(of), "{of}");
    }
    for id in ["heap-peak", "heap-live", "heap-leaks"] {
        assert_eq!(measurement.total(id).unwrap().value(), None, "{id}");
    }
}

#[test]
fn a_trace_without_anything() {
    let measurement = measured(&archives::no_events(), &Extras::default());
    let figures = checked(&measurement, 2_000);
    has(&figures, &[("totals/events", 0.0), ("kinds/all/events", 0.0)]);
    assert_eq!(measurement.sections.len(), 1);
    // Nobody counted, so nobody knows.
    assert!(matches!(measurement.balances[0].parts().lost, Loss::Unknown(_)));
    assert!(!figures.contains_key("coverage/lost") && measurement.coverage.lost.is_some());
    assert!(!figures.contains_key("window/duration"));
}

#[test]
fn allocations_by_size_and_caller() {
    let report = archives::allocations();
    let measurement = super::allocations(&report);
    let figures = checked(&measurement, 6_000);
    has(
        &figures,
        &[
            ("totals/blocks", 4.0),
            ("totals/bytes", 2_144.0),
            ("totals/failed", 1.0),
            ("totals/big-blocks", 1.0),
            ("totals/big-bytes", 2_072.0),
            ("balances/blocks/attributed", 4.0),
            ("balances/bytes/taken", 2_144.0),
            ("profile/bytes", 2_144.0),
            ("profile/blocks", 4.0),
            ("sizes/main > malloc/size", 2_072.0),
            ("sizes/\u{fffd}ain > malloc/blocks", 3.0),
            ("sizes/\u{fffd}ain > malloc/places", 1.0),
            ("sizes/all/bytes", 2_144.0),
            ("damage/callers damaged/count", 1.0),
            ("damage/callers damaged/of", 7.0),
            ("damage/callers in no function/count", 1.0),
            ("damage/allocations with such a caller/count", 1.0),
            ("damage/lines before the first allocation/count", 2.0),
            ("damage/bytes that are no UTF-8/count", 1.0),
            ("odd-callers/\u{fffd}ain/blocks", 1.0),
            ("published/here/bytes", 2_144.0),
            ("published/published/blocks", 4.0),
            ("published/published/same", 2.0),
            ("published/published/differ", 1.0),
            ("differences/0x08000300 other/published", 1.0),
            ("findings/published-renamed", 1.0),
            ("findings/published-not-utf8", 1.0),
            ("coverage/lost", 1.0),
        ],
    );
    assert_eq!(measurement.instrument.settings["big above (bytes)"], "1024");
    assert_eq!(measurement.total("blocks").unwrap().trust(), &Trust::AtLeast);
    let profile = measurement.profiles().next().unwrap();
    assert_eq!(profile.chains.of("bytes").unwrap().values, [2_120, 24]);
    assert_eq!(profile.stacks.parent, [None, Some(0), None]);
}

#[test]
fn a_published_profile_beside_its_samples() {
    let window = Window::untimed("samples have no times", Ended::default());
    let samples = Measurement::new(Subject::default(), Instrument::default(), window);
    let measurement = super::published(samples, &archives::published());
    let figures = checked(&measurement, 3_000);
    has(
        &figures,
        &[
            ("published/poll/samples", 20.0),
            ("published/send/samples", 11.0),
            ("published/send/published", 10.0),
            ("published/send/with-fault", 9.0),
            ("published/idle/samples", 60.0),
            ("published/all/samples", 100.0),
            ("published/all/published", 30.0),
            ("published/all/with-fault", 29.0),
            ("balances/samples with a function/attributed", 31.0),
            ("balances/samples with a function/function not in the published profile", 69.0),
            ("findings/published-incomplete", 70.0),
        ],
    );
    assert!(!figures.contains_key("published/idle/published"), "it is not in the published one");
    let fault = measurement.findings.iter().find(|f| f.code == "published-fault").unwrap();
    assert!(fault.text.contains("leaves 2 functions with 29 hits; 1 of the published 2"));
    assert!(finds(&measurement, "published-inlining"));
    assert!(matches!(measurement.section("published").unwrap().content, Content::Table(_)));
}
