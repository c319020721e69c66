//! Heaps of simulated runs, against what the firmware itself notes of its calls in memory.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;

use strobe_devices::board::Board;
use strobe_link::trace::program::Registers;
use strobe_model::measurement::{Content, Profile};
use strobe_sim::semihost::Console;
use strobe_source::simulated::{self, Debugger, HeapSettings, Heaps, Host, Limit, Settings};

use crate::measurement::firmware;

/// Reads the firmware's own notes now and then.
struct Notes {
    log: u32,
    count: u32,
    calls: Vec<(u32, u32)>,
}

impl Debugger for Notes {
    fn every_nanoseconds(&self) -> u64 {
        1_000_000
    }

    fn look(&mut self, memory: &mut dyn Registers, _: u64) {
        let mut word = |address: u32| memory.read_word(address).expect("it is RAM");
        let count = word(self.count);
        // Anew at each look: the last note may be half written.
        let note = |n: u32| (word(self.log + n * 8), word(self.log + n * 8 + 4));
        self.calls = (0..count).map(note).collect();
    }
}

impl Host for Notes {
    fn console(&mut self) -> Box<dyn Console> {
        Box::new(())
    }

    fn debugger(&mut self) -> Option<&mut dyn Debugger> {
        Some(self)
    }
}

fn heap_of(interpret: bool) -> (Heaps, Vec<(u32, u32)>) {
    let firmware = firmware("leaky");
    let address = |name: &str| firmware.symbol(name).expect("a variable of the firmware").address;
    let mut notes =
        Notes { log: address("heap_log"), count: address("heap_calls"), calls: Vec::new() };
    let settings = Settings {
        limit: Some(Limit::Nanoseconds(400_000_000)),
        heap: Some(HeapSettings::default()),
        interpret,
        ..Settings::default()
    };
    let board = Board::builtin("stm32f070cb").expect("a board that comes with the project");
    let never = AtomicBool::new(false);
    let outcome = simulated::run(&firmware, &board, &settings, &mut notes, &never);
    let heaps = outcome.expect("it runs").heaps.expect("heaps were asked for");
    (heaps, notes.calls)
}

fn total(heaps: &Heaps, id: &str) -> u64 {
    let total = heaps.totals.iter().find(|total| total.id == id);
    let value = total.unwrap_or_else(|| panic!("{id}")).quantity.value();
    value.unwrap_or_else(|| panic!("{id} is not known")).as_u64()
}

fn profile(heaps: &Heaps) -> &Profile {
    let section = heaps.sections.iter().find(|section| section.id == "heap-profile");
    match section.map(|section| &section.content) {
        Some(Content::Profile(profile)) => profile,
        other => panic!("{other:?}"),
    }
}

/// The figures are those of the notes: what was allocated, freed, live, and at the peak.
#[test]
fn heaps_are_what_the_firmware_noted() {
    let (heaps, calls) = heap_of(false);
    assert!(calls.len() > 300, "{}", calls.len());
    let mut live: HashMap<u32, u32> = HashMap::new();
    let (mut bytes, mut blocks, mut freed, mut now, mut peak) = (0u64, 0u64, 0u64, 0u64, 0u64);
    for (pointer, asked) in calls {
        if asked == 0 {
            now -= u64::from(live.remove(&pointer).expect("it is live"));
            freed += 1;
        } else {
            assert_eq!(live.insert(pointer, asked), None);
            (bytes, blocks, now) = (bytes + u64::from(asked), blocks + 1, now + u64::from(asked));
            peak = peak.max(now);
        }
    }
    assert_eq!(total(&heaps, "heap-bytes"), bytes);
    assert_eq!(total(&heaps, "heap-blocks"), blocks);
    assert_eq!(total(&heaps, "heap-freed-blocks"), freed);
    assert_eq!(total(&heaps, "heap-live"), now);
    assert_eq!(total(&heaps, "heap-live-blocks"), live.len() as u64);
    assert_eq!(total(&heaps, "heap-peak"), peak);
    assert_eq!(total(&heaps, "heap-failed"), 0);
    let profile = profile(&heaps);
    for (measure, sum) in [("bytes", bytes), ("live-bytes", now), ("peak-bytes", peak)] {
        let values = profile.chains.of(measure).expect("a measure of the profile");
        assert_eq!(values.sum(), sum as i64, "{measure}");
    }
    let leaks: Vec<&str> =
        heaps.findings.iter().filter(|f| f.code == "leak").map(|f| f.text.as_str()).collect();
    assert!(leaks.len() == 1 && leaks[0].contains("record_new"), "{leaks:?}");
    assert!(heaps.findings.iter().all(|finding| finding.code == "leak"), "{:?}", heaps.findings);
}

/// Compiled code is seen as interpreted code is.
#[test]
fn heaps_of_compiled_runs_are_those_of_interpreted_ones() {
    let (compiled, calls) = heap_of(false);
    let (interpreted, others) = heap_of(true);
    assert_eq!(calls, others);
    assert_eq!(compiled.totals, interpreted.totals);
    assert_eq!(compiled.findings, interpreted.findings);
    assert_eq!(compiled.sections, interpreted.sections);
}
