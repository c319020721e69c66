//! Time lines: exact where it was asked for, in short for the whole, small in JSON.

use strobe_model::measurement::{Measurement, Timeline, TrackKind};
use strobe_source::simulated::{self, Settings, TimelineSettings};

use super::{for_ms, full, run};

fn timeline(measurement: &Measurement) -> &Timeline {
    measurement.timelines().next().expect("a time line")
}

#[test]
fn every_level_of_the_summary_has_the_whole_run() {
    for name in ["threads", "threads-zephyr", "blink", "stepper"] {
        let record = run(name, "stm32f070cb", &full(50));
        let measurement = simulated::measurement(&record);
        let timeline = timeline(&measurement);
        let run = record.window.nanoseconds;
        assert!(timeline.summary.len() >= 2, "{name}");
        for level in &timeline.summary {
            let time: u64 = level.tracks.iter().flat_map(|track| &track.time).sum();
            assert_eq!(time, run, "{name}");
            let longest = level.tracks.iter().flat_map(|track| &track.stretch).max();
            assert!(longest.is_some_and(|last| u64::from(*last) * level.width < run), "{name}");
        }
        let asleep = timeline.tracks.iter().position(|track| track.name == "(asleep)");
        let idle = record.totals.by_cause[strobe_model::Cause::Asleep];
        assert_eq!(asleep.is_some(), idle > 0, "{name}");
    }
}

/// In the part that is said to be exact nobody is missing and nobody is there twice.
#[test]
fn the_exact_part_is_covered_without_gaps() {
    for worst in [false, true] {
        let timeline = Some(TimelineSettings { worst, nanoseconds: 2_000_000 });
        let record = run("threads", "stm32f070cb", &Settings { timeline, ..for_ms(30) });
        let measurement = simulated::measurement(&record);
        let timeline = self::timeline(&measurement);
        let [exact] = timeline.exact[..] else { panic!("one part was asked for") };
        assert!((exact.to - exact.from - 2_000_000).abs() < 1000, "{exact:?}");
        let marks = |track: u32| {
            let track = &timeline.tracks[track as usize];
            track.kind == TrackKind::Marks && track.name != "(asleep)"
        };
        let spans = &timeline.spans;
        let mut all: Vec<(i64, i64)> = (0..spans.track.len())
            .filter(|i| !marks(spans.track[*i]))
            .map(|i| (spans.begin[i], spans.begin[i] + spans.duration[i] as i64))
            .collect();
        all.sort_unstable();
        assert!(all[0].0 <= exact.from && all[all.len() - 1].1 >= exact.to);
        assert!(all.windows(2).all(|pair| pair[0].1 == pair[1].0), "{worst}");
        let waits = timeline.tracks.iter().any(|track| track.name.ends_with(" waits"));
        assert_eq!(waits, worst);
    }
}

/// Two threads and their switches, on one line of JSON.
#[test]
fn a_tenth_of_a_second_is_small() {
    let record = run("threads", "stm32f070cb", &full(100));
    let measurement = simulated::measurement(&record);
    measurement.check().expect("it holds together");
    let small = serde_json::to_vec(&measurement).expect("JSON").len();
    println!("{small} bytes");
    for section in &measurement.sections {
        println!("  {} {}", section.id, serde_json::to_vec(&section.content).expect("JSON").len());
    }
    assert!(small < 200_000, "{small} bytes");
}
