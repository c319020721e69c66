//! Where runs end: at the time that was asked for, whatever the firmware does to its clock, and at
//! a place from the very first instruction on.

use strobe_model::measurement::Measurement;
use strobe_synth::{ElfBuilder, Symbol};

use crate::common::measured;

/// An ATmega328P's program that sets its prescaler and counts for ever.
fn ran(prescaler: u16, options: &[&str]) -> (i32, Measurement) {
    let set = 0xe000 | prescaler;
    // ldi r16, CLKPCE; sts CLKPR, r16; ldi r16; sts CLKPR, r16; inc r16; rjmp to it
    let code = [0xe800, 0x9300, 0x0061, set, 0x9300, 0x0061, 0x9503, 0xcffe];
    let image: Vec<u8> = code.into_iter().flat_map(u16::to_le_bytes).collect();
    let mut elf = ElfBuilder::new();
    elf.machine = 83;
    elf.code(0, &image);
    for (name, value, size) in [("start", 0, 12), ("count", 12, 4)] {
        let (name, kind, section) = (name.into(), 2, 0xfff1);
        elf.symbol(Symbol { name, value, size, kind, global: true, section });
    }
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("firmware.elf");
    std::fs::write(&path, elf.build()).unwrap();
    let path = path.display().to_string();
    let all = [&["run", path.as_str(), "--board", "arduino-uno"], options].concat();
    measured(&all)
}

/// The same, which ends as it was asked to.
fn run(prescaler: u16, options: &[&str]) -> Measurement {
    let (code, measurement) = ran(prescaler, options);
    assert_eq!(code, 0, "{:?}", measurement.findings);
    measurement
}

/// A slower clock brings the end nearer, in cycles.
#[test]
fn a_time_is_the_same_with_a_slower_clock() {
    for prescaler in [0, 3, 8] {
        let measurement = run(prescaler, &["--until", "10ms"]);
        let end = measurement.window.end.nanoseconds.expect("a simulated time");
        // A turn takes three cycles, of 16 microseconds at most.
        assert!((10_000_000..10_060_000).contains(&end), "{prescaler}: {end}");
    }
}

#[test]
fn a_place_counts_from_the_first_instruction_on() {
    let measurement = run(0, &["--from", "start", "--to", "count", "--until", "1000c"]);
    assert_eq!(measurement.window.begin.cycle, Some(0));
    assert_eq!(measurement.window.entries, Some(1));
    assert_eq!(measurement.window.end.cycle, Some(6));
}

/// One that is open at the end is stated, be there others or not.
#[test]
fn a_window_that_never_ends_is_stated() {
    let (code, measurement) = ran(0, &["--from", "count", "--to", "start", "--until", "106c"]);
    assert_eq!(code, 122);
    let windows = measurement.section("windows").expect("windows");
    let notes = windows.notes.join(" ");
    assert!(notes.contains("One was open at the end of the run, 100 cycles long"), "{notes}");
}
