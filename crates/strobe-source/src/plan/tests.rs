//! A plan built by hand becomes a measurement that holds together and has every figure of the
//! report.

use strobe_model::measurement::Address;

use crate::measuring::testing::{checked, finds, has, text};

#[path = "samples.rs"]
mod sample;

#[test]
fn a_plan_that_loses_samples() {
    let plan = sample::plan();
    let measurement = super::measurement(&plan);
    let figures = checked(&measurement, 6_500);
    has(
        &figures,
        &[
            ("totals/required", 52_269.0),
            ("totals/available", 11_522.0),
            ("totals/loss", 814_000.0),
            ("totals/sample-period", 16_384.0),
            ("totals/sample-period-asked", 20_000.0),
            ("totals/samples-taken", 10_253.906_25),
            ("totals/samples-received", 1907.0),
            ("facts/core clock", 168e6),
            ("facts/divider", 1458.0),
            ("facts/bit rate", 115_226.34),
            ("facts/bit rate off by", 229.0),
            ("facts/last bit of a byte off by, of a bit", 2172.0),
            ("required/PC samples/packets", 10_254.0),
            ("required/PC samples/bytes", 51_269.0),
            ("required/watch current_task/bytes", 1000.0),
            ("required/required/bytes", 52_269.0),
            ("required/available/bytes", 11_522.0),
            ("proposals/921600 baud/required", 52_269.0),
            ("proposals/921600 baud/available", 92_307.0),
            ("registers/TPIU_ACPR/write", 2.0),
        ],
    );
    let loss = measurement.total("loss").unwrap().trust().bounds();
    assert_eq!(loss, Some((778_000u64.into(), 815_000u64.into())));
    let column = |section: &str, id: &str| {
        measurement.table(section).unwrap().column(id).unwrap().cells.clone()
    };
    let address = |value: u64| strobe_model::measurement::Cell::Address(Address(value));
    assert_eq!(column("registers", "address"), [address(0xe000_edfc), address(0xe004_0010)]);
    assert_eq!(column("registers", "value"), [address(0x0100_0000), address(0x5b1)]);
    assert_eq!(column("registers", "mask"), [address(0x0100_0000), address(0xffff_ffff)]);
    assert_eq!(column("fields", "value"), [address(1), address(0x5b1)]);
    assert_eq!(text(&measurement, "registers", "others", 0), Some("the others are kept"));
    assert_eq!(text(&measurement, "fields", "bits", 0), Some("[24]"));
    assert_eq!(text(&measurement, "fields", "bits", 1), Some("[15:0]"));
    assert_eq!(text(&measurement, "fields", "meaning", 0), Some("trace blocks on"));
    assert!(finds(&measurement, "loses") && finds(&measurement, "plan"));
    let settings = &measurement.instrument.settings;
    assert_eq!(settings["sample period (cycles)"], "16384");
    assert_eq!(settings["watch 0"], "current_task at 0x20000040, 4 bytes: pc+value of w");
}
