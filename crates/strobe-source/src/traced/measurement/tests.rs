//! Streams built for it, as measurements: they hold together, nothing is there twice, and what is
//! not known has a reason.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::traced::totals::Recording;
use proptest::prelude::*;
use strobe_decode::swo::reader::{Framing, Reader};
use strobe_model::measurement::{Cell, Content, Kind, Loss, Measurement, Profile, Trust, Unit};
use strobe_synth::kit::{frame, head};
use strobe_synth::swo::{Stream, mixed};

use super::super::{Accumulator, Session, Settings};
use super::measurement;

/// A core of 16 MHz, a sample each 1,024 cycles, a tick of 64.
fn settings() -> Settings {
    Settings {
        core_hz: Some(16_000_000),
        period_cycles: Some(1024),
        tick_cycles: Some(64),
        thread: Some(2),
        watches: vec![(1, "level".to_owned())],
        recording: Some(Recording {
            source: "file raw.swo".to_owned(),
            nanoseconds: 5000,
            replayed: true,
            ..Recording::default()
        }),
        ..Settings::default()
    }
}

fn measured(bytes: &[u8], settings: &Settings) -> Measurement {
    let mut accumulator = Accumulator::new(settings.thread);
    let mut reader = Reader::new(Framing::Bare);
    reader.push(bytes, &mut accumulator);
    reader.finish(&mut accumulator);
    let record = accumulator.record(Some(&reader), None, settings).expect("it balances");
    let out = measurement(&record);
    out.check().expect("it holds together");
    out
}

fn profile(measured: &Measurement) -> &Profile {
    measured.profiles().next().expect("there are samples")
}

fn figure(measured: &Measurement, total: &str) -> Option<u64> {
    Some(measured.total(total)?.value()?.as_u64())
}

/// `n` samples of which every fourth finds the core asleep, each with a timestamp if there are any.
fn sampled(n: u32, stamped: bool) -> Stream {
    let mut stream = Stream::new();
    stream.sync();
    for i in 0..n {
        if i % 4 == 0 {
            stream.sleep()
        } else {
            stream.pc_sample(0x0800_0100 + i % 3 * 2)
        };
        if stamped {
            stream.local_timestamp(16, 0);
        }
    }
    stream
}

#[test]
fn samples_are_no_cycles() {
    let out = measured(&sampled(1000, true).bytes, &settings());
    assert_eq!(figure(&out, "samples"), Some(1000));
    assert_eq!(figure(&out, "cycles"), Some(999 * 1024));
    assert_eq!(out.window.duration.value().map(|n| n.as_u64()), Some(999 * 64_000));
    let idle = out.total("idle").expect("it is sampled");
    let Trust::Sampled { n: 1000, low, high } = idle.trust() else { panic!("{idle:?}") };
    assert_eq!(idle.value().map(|share| share.as_f64()), Some(25.0));
    assert!((22.0..25.0).contains(&low.as_f64()) && (25.0..28.0).contains(&high.as_f64()));
    let samples = profile(&out);
    assert_eq!(samples.leaves.of("samples").map(|v| v.sum()), Some(1000));
    assert_eq!(samples.leaves.of("asleep").map(|v| v.sum()), Some(250));
    let kind = Kind::Sampled { period: Some(1024), period_unit: Some(Unit::CYCLES) };
    assert_eq!(samples.measures[0].kind, kind);
    assert_eq!(out.balances[0].parts().lost, Loss::Known(0));
}

#[test]
fn unknown_figures_have_a_reason_and_are_not_0() {
    let out = measured(&sampled(1000, false).bytes, &settings());
    assert_eq!((figure(&out, "samples"), out.total("cycles")), (Some(1000), None));
    for unknown in [&out.window.duration, out.coverage.lost.as_ref().expect("samples can be lost")]
    {
        let Trust::Unknown { why } = unknown.trust() else { panic!("{unknown:?}") };
        assert!(why.contains("replayed"), "{why}");
    }
    let balance = out.balances[0].parts();
    assert!(matches!(balance.lost, Loss::Unknown(_)) && balance.taken_as == "taken", "{balance:?}");
    assert!(out.findings.iter().any(|finding| finding.code == "loss-unknown"));
    // Recorded as it was sent, the host's clock counts, as far as such a clock does.
    let mut live = settings();
    live.recording = Some(Recording { nanoseconds: 128_000_000, ..Recording::default() });
    let out = measured(&sampled(1000, false).bytes, &live);
    let lost = &out.balances[0].parts().lost;
    assert!(matches!(lost, Loss::Unknown(why) if why.contains("1,000 of 2,000")), "{lost:?}");
    let mut full = sampled(1000, false);
    full.overflow();
    let parts = measured(&full.bytes, &live).balances[0].parts().clone();
    assert_eq!((parts.taken, parts.lost), (1980, Loss::AtLeast(980)));
    assert_eq!(out.window.duration.value().map(|n| n.as_u64()), Some(128_000_000));
}

/// Who logs or compares it sees that it is a part.
#[test]
fn measurement_states_if_its_stream_was_not_finished() {
    for (is_stopped, kind) in [(false, "end-of-recording"), (true, "interrupted")] {
        let stop = Arc::new(AtomicBool::new(is_stopped));
        let mut session = Session::new(settings(), None, None, Vec::new());
        session.stop_on(Arc::clone(&stop));
        session.push(&sampled(100, true).bytes).expect("no port fails");
        assert_eq!(session.is_stopped(), stop.load(Ordering::Relaxed));
        let (record, _) = session.finish(None).expect("it balances");
        assert_eq!(measurement(&record).window.ended.kind, kind);
    }
}

#[test]
fn handlers_are_there_once_with_all_their_times() {
    let mut stream = Stream::new();
    stream.sync();
    for length in [10, 20, 40] {
        stream.exception(15, 1).local_timestamp(100, 0).pc_sample(0x0800_0200);
        stream.local_timestamp(1, 0).exception(15, 2).local_timestamp(length, 0);
        stream.exception(0, 3).local_timestamp(5, 0);
    }
    let out = measured(&stream.bytes, &settings());
    let table = out.table("interrupts").expect("there are exceptions");
    assert_eq!(table.len(), 1);
    let cell = |id: &str| table.column(id).and_then(|c| c.cells[0].number()).map(|n| n.as_u64());
    assert_eq!((cell("entered"), cell("exact"), cell("samples")), (Some(3), Some(3), Some(3)));
    let durations = out.section("durations").map(|section| &section.content);
    let Some(Content::Distributions(durations)) = durations else { panic!("{out:?}") };
    let [one] = &durations.distributions[..] else { panic!("{durations:?}") };
    let values: Vec<_> = one.spread.buckets().collect();
    assert_eq!(values, [(11 * 64, 1), (21 * 64, 1), (41 * 64, 1)]);
    assert_eq!((one.unit.clone(), one.hertz), (Unit::CYCLES, Some(16_000_000)));
    let labels: Vec<_> = profile(&out).labels.iter().map(|l| l.key.as_str()).collect();
    assert_eq!(labels, ["handler"]);
}

#[test]
fn cycle_counter_period_does_not_count_as_256() {
    let mut stream = sampled(100, true);
    (0..10).for_each(|_| {
        stream.event_counters(0x21).local_timestamp(16, 0);
    });
    let out = measured(&stream.bytes, &settings());
    let table = out.table("counters").expect("there are counters");
    let cells = |id: &str| table.column(id).map(|column| column.cells.clone());
    assert_eq!(cells("packets"), Some(vec![10u64.into(), 10u64.into()]));
    assert_eq!(cells("counted"), Some(vec![2560u64.into(), Cell::Empty]));
}

/// How long a stream lasted is known at least where something of it was lost, whatever the unit.
#[test]
fn ticks_of_a_lossy_stream_are_a_least() {
    let settings = Settings { tick_cycles: None, recording: None, ..settings() };
    for lossy in [false, true] {
        let mut stream = sampled(100, true);
        if lossy {
            stream.overflow().local_timestamp(16, 0);
        }
        let out = measured(&stream.bytes, &settings);
        let fact = out.subject.facts.iter().find(|fact| fact.name == "duration in ticks");
        let figure = fact.and_then(|fact| fact.figure.as_ref()).expect("there are timestamps");
        let trust = if lossy { Trust::AtLeast } else { Trust::Exact };
        assert_eq!(figure.trust(), &trust);
    }
}

#[test]
fn records_of_the_kit_are_distributions() {
    let mut accumulator = Accumulator::default();
    let records = [(2, 100), (3, 110), (2, 200), (3, 230)];
    for (number, (kind, time)) in (0u16..).zip(records) {
        // One is missing before the last.
        let number = if number == 3 { 4 } else { number };
        accumulator.kit_bytes(&frame(&[head(kind, 7, number), time]));
    }
    let settings = Settings { recording: None, ..settings() };
    let record = accumulator.record(None, None, &settings).expect("it balances");
    let out = measurement(&record);
    out.check().expect("it holds together");
    let durations = out.section("kit-durations").map(|section| &section.content);
    let Some(Content::Distributions(durations)) = durations else { panic!("{out:?}") };
    assert_eq!(durations.distributions[0].spread.sum(), 10 * 64);
    assert_eq!(
        out.coverage.lost.as_ref().and_then(|lost| lost.value()).map(|n| n.as_u64()),
        Some(1)
    );
    assert!(out.section("profile").is_none());
    let gaps = out.timelines().map(|line| line.gaps.events.clone()).next();
    assert_eq!(gaps, Some(vec![Some(1)]));
    // What is missing may have been one more, and a longer one.
    let regions = out.table("kit-regions").expect("there is a region");
    for (id, trust) in [("begun", Trust::AtLeast), ("max", Trust::AtLeast), ("min", Trust::AtMost)]
    {
        let cells = regions.column(id).map(|column| &column.cells[..]);
        let Some([Cell::Figure { value: Some(_), trust: seen }]) = cells else {
            panic!("{id}: {cells:?}")
        };
        assert_eq!(seen, &trust, "{id}");
    }
}

proptest! {
    /// Whatever a stream holds, damaged or not: what is said of it holds together, and nothing gets
    /// lost on the way.
    #[test]
    fn every_stream_holds_together(
        seed: u64,
        packets in 0usize..400,
        damage in proptest::collection::vec((0usize..4000, any::<u8>()), 0..4),
        known: bool,
    ) {
        let mut bytes = mixed(packets, seed).bytes;
        for (at, byte) in damage {
            if let Some(place) = bytes.get_mut(at) {
                *place = byte;
            }
        }
        let settings = if known { settings() } else { Settings::default() };
        let out = measured(&bytes, &settings);
        let json = serde_json::to_string(&out).unwrap();
        prop_assert_eq!(&serde_json::from_str::<Measurement>(&json).unwrap(), &out);
        let sum = |table: &str, column: &str| {
            let cells = out.table(table).and_then(|t| t.column(column)).map(|c| c.cells.clone());
            let cells = cells.unwrap_or_default();
            cells.iter().filter_map(|cell| cell.number()).map(|n| n.as_u64()).sum::<u64>()
        };
        prop_assert_eq!(sum("packets", "packets"), figure(&out, "packets").unwrap_or(0));
        if let Some(samples) = figure(&out, "samples") {
            for samples_of in [&profile(&out).leaves, &profile(&out).chains] {
                let all = samples_of.of("samples").map(|values| values.sum());
                prop_assert_eq!(all, i64::try_from(samples).ok());
            }
        }
        let bytes_of: u64 = figure(&out, "bytes").unwrap_or(0);
        prop_assert_eq!(bytes_of, bytes.len() as u64);
    }
}
