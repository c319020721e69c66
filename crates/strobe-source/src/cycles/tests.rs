//! An explained function built by hand becomes a measurement that holds together and has every
//! figure of the report.

use crate::cycles::report::CyclesReport;
use strobe_model::measurement::{Address, Cell, Trust};

use crate::measuring::testing::{checked, finds, has, text};

#[path = "samples.rs"]
mod samples;

fn sample(wanted: &str) -> CyclesReport {
    let found = samples::cycles().into_iter().find(|(name, _)| *name == wanted);
    found.expect("a sample of that name").1
}

#[test]
fn a_function_from_the_tables() {
    let measurement = super::measurement(&samples::explained());
    let figures = checked(&measurement, 10_000);
    has(
        &figures,
        &[
            ("facts/code", 36.0),
            ("totals/code-instructions", 6.0),
            ("totals/once-through-min", 10.0),
            ("totals/once-through-max", 19.0),
            ("totals/once-through-likely", 13.5),
            ("instructions/0x080000b8/cycles-min", 1.0),
            ("instructions/0x080000ca/cycles-min", 1.0),
            ("instructions/0x080000ca/cycles-max", 6.0),
            ("instructions/0x080000ca/line", 13.0),
            ("causes/0x080000ca#3/cycles-likely", 1.5),
            ("causes/0x080000ca#3/cycles-max", 3.0),
            ("blocks/0x080000c2/cycles-likely", 6.5),
            ("loops/0x080000c2/iteration-max", 8.0),
            ("loops/0x080000c2/depth", 0.0),
        ],
    );
    assert!(!figures.contains_key("instructions/0x080000b8/cycles-likely"), "no model has a part");
    assert!(measurement.profiles().next().is_none(), "nothing ran");
    let likely = measurement.table("blocks").unwrap().column("cycles-likely").unwrap();
    let Cell::Figure { trust, .. } = &likely.cells[1] else { panic!("{likely:?}") };
    assert!(matches!(trust, Trust::Modelled { why: Some(_), .. }));
    assert_eq!(trust.bounds(), Some((3.0.into(), 8.0.into())));
    assert_eq!(text(&measurement, "instructions", "instruction", 4), Some("bne 0x080000c2"));
    assert_eq!(text(&measurement, "instructions", "bytes", 4), Some("d1fa"));
    assert_eq!(text(&measurement, "causes", "when", 7), Some("if taken"));
    let address = &measurement.table("loops").unwrap().column("back-edge").unwrap().cells[0];
    assert_eq!(address, &Cell::Address(Address(0x0800_00ca)));
    assert_eq!(measurement.subject.clock[0].hz, 48_000_000);
    assert_eq!(measurement.instrument.settings["condition"], "flash: 1 wait state, prefetch on");
    assert!(finds(&measurement, "cycles"));
}

#[test]
fn a_function_and_what_a_run_saw() {
    let report = samples::explained_with_run();
    let measurement = super::measurement(&report);
    let figures = checked(&measurement, 14_000);
    let sum: u64 = report.instructions.iter().filter_map(|i| Some(i.run?.cycles.likely)).sum();
    has(
        &figures,
        &[
            ("totals/calls", 10.0),
            ("totals/cycles", 16_700.0),
            ("instructions/0x080000ca/runs", 2550.0),
            ("instructions/0x080000ca/run-cycles", 15_300.0),
            ("blocks/0x080000c2/runs", 2550.0),
            ("blocks/0x080000c2/run-cycles", 16_575.0),
            ("loops/0x080000c2/runs", 2550.0),
            ("profile/cycles", sum as f64),
            ("profile/execute", sum as f64),
            ("profile/executions", 7680.0),
        ],
    );
    let cycles = measurement.total("cycles").unwrap().trust().bounds();
    assert_eq!(cycles, Some((15_420u64.into(), 17_980u64.into())));
    assert_eq!(text(&measurement, "instructions", "note", 5), Some("returns to the caller"));
}

#[test]
fn a_function_without_anything() {
    let measurement = super::measurement(&sample("nothing"));
    checked(&measurement, 6_000);
    assert!(finds(&measurement, "never-returns"));
    assert!(measurement.table("instructions").unwrap().is_empty());
}
