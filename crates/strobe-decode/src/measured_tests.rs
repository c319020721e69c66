//! Reports built by hand become measurements that hold together and have every figure of the
//! report.

use std::collections::BTreeMap;

use strobe_analyse::figures::figures;
use strobe_model::measurement::{Content, Measurement, Number, Trust};

#[path = "samples/buses.rs"]
#[allow(dead_code)]
mod buses;
#[path = "samples/pins.rs"]
#[allow(dead_code)]
mod pins;

/// It holds together, comes back from JSON as it was, and its JSON is no longer than so many bytes.
fn checked(measurement: &Measurement, most: usize) -> BTreeMap<String, Number> {
    measurement.check().unwrap();
    let json = serde_json::to_string(measurement).unwrap();
    assert!(json.len() < most, "{} bytes", json.len());
    let read: Measurement = serde_json::from_str(&json).unwrap();
    assert_eq!(&read, measurement);
    assert!(measurement.findings.iter().all(|finding| finding.code != "unbalanced"));
    figures(measurement)
}

fn has(figures: &BTreeMap<String, Number>, wanted: &[(&str, f64)]) {
    for (name, value) in wanted {
        let found = figures.get(*name).map(|number| number.as_f64());
        let near = found.is_some_and(|found| (found - value).abs() <= value.abs() * 1e-6);
        assert!(near, "{name} is {found:?}, not {value}; there are {:#?}", figures.keys());
    }
}

fn text<'m>(
    measurement: &'m Measurement,
    section: &str,
    column: &str,
    row: usize,
) -> Option<&'m str> {
    measurement.table(section)?.column(column)?.cells.get(row)?.text()
}

#[test]
fn pins_of_a_capture() {
    let report = pins::pins();
    let measurement = crate::pins::measurement(&report);
    let figures = checked(&measurement, 6000);
    let high = report.pins[0].high_ps.as_ref().unwrap();
    has(
        &figures,
        &[
            ("totals/edges", 102.0),
            ("totals/duration", 2_500_000_000.0),
            ("facts/resolution", 41_667.0),
            ("edges/LED/rising", 51.0),
            ("edges/LED/falling", 51.0),
            ("edges/LED/unknown", 1.0),
            ("edges/LED/high", 1_200_000_000.0),
            ("edges/LED/low", 1_300_000_000.0),
            ("edges/LED/frequency", 1e12 / 45_750_000.0),
            ("edges/LED/jitter", 29_463.0),
            ("edges/RX/rising", 0.0),
            ("pins/LED high/count", high.count as f64),
            ("pins/LED high/min", high.min as f64),
            ("pins/LED high/median", high.p50 as f64),
            ("pins/LED high/p90", high.p90 as f64),
            ("pins/LED high/p99", high.p99 as f64),
            ("pins/LED high/max", 9_000_000_000.0),
            ("pins/LED low/max", 500_000.0),
            ("pins/LED period/sum", 91_500_000.0),
            ("pins/LED duty/max", 990_000.0),
            ("pins/LED cycle to cycle/max", 41_667.0),
            ("pins/RX falling to LED rising/max", 1_541_667.0),
            ("intervals/RX falling/times", 2.0),
            ("intervals/RX falling/unanswered", 2.0),
            ("intervals/RX falling#2/times", 0.0),
        ],
    );
    assert_eq!(measurement.window.begin.nanoseconds, Some(-1000));
    assert_eq!(text(&measurement, "edges", "initial", 1), Some("high"));
    let Content::Distributions(all) = &measurement.section("pins").unwrap().content else {
        panic!("no distributions")
    };
    assert!(all.distributions.iter().all(|d| d.low.is_none()));
    assert_eq!(all.distributions[0].resolution, Some(41_667));
    let resolution = &measurement.subject.facts.iter().find(|f| f.name == "resolution").unwrap();
    assert_eq!(resolution.figure.as_ref().unwrap().trust(), &Trust::AtMost);
    assert_eq!(measurement.findings[0].text, report.notes[0]);
}

#[test]
fn pins_of_a_simulated_board() {
    let measurement = crate::pins::measurement(&pins::simulated_pins());
    let figures = checked(&measurement, 6000);
    has(
        &figures,
        &[
            ("pins/LED high/low/min", 44_000_000.0),
            ("pins/LED high/min", 45_000_000.0),
            ("pins/LED high/high/max", 47_000_000.0),
            ("totals/duration", 2_500_000_000.0),
        ],
    );
    assert_eq!(measurement.subject.board.as_deref(), Some("a-board"));
    let bounds = measurement.window.duration.trust().bounds();
    assert_eq!(bounds, Some((2_400_000_000u64.into(), 2_650_000_000u64.into())));
    let Content::Distributions(all) = &measurement.section("pins").unwrap().content else {
        panic!("no distributions")
    };
    assert!(all.distributions[0].why.is_some() && all.distributions[0].resolution.is_none());
    assert!(all.distributions[1].why.is_none(), "exact values need no reason");
}

#[test]
fn a_serial_line() {
    let report = buses::uart();
    let measurement = crate::bus::measurement(&report, crate::bus::Listing::EachWord);
    let figures = checked(&measurement, 7000);
    let summary = &report.lanes[0].summary;
    has(
        &figures,
        &[
            ("totals/words", 22.0),
            ("totals/faulty", 1.0),
            ("totals/faults", 2.0),
            ("lines/rx/words", 22.0),
            ("lines/rx/faulty", 1.0),
            ("lines/rx/rate", summary.words_per_second.unwrap()),
            ("lines/rx/busy", summary.busy_ps as f64),
            ("lines/rx/span", summary.span_ps as f64),
            ("lines/rx/utilisation", summary.utilisation_ppm as f64 / 1e4),
            ("speeds/rx/used", 115_200.0),
            ("speeds/rx/measured", 115_384.6),
            ("speeds/rx/misfit", 0.04),
            ("speeds/rx/pulses", 7.0),
            ("fault-counts/framing error/count", 1.0),
            ("faults/rx/start", 360_000_000.0),
            ("faults/rx/duration", 1_000_000.0),
            ("gaps/gaps in rx/count", 21.0),
            ("gaps/gaps in rx/max", summary.gaps_ps.as_ref().unwrap().max as f64),
            ("words/rx#5/value", f64::from(b'o')),
            ("words/rx#10/start", 2_810_000_000.0),
        ],
    );
    assert_eq!(text(&measurement, "words", "faulty", 4), Some("faulty"));
    assert_eq!(text(&measurement, "speeds", "sure", 0), Some("no"));
    assert_eq!(text(&measurement, "faults", "text", 0), Some("a stop bit is low after 0x6f"));
    assert_eq!(measurement.instrument.settings["protocol"], "uart");
    assert_eq!(measurement.instrument.settings["data bits"], "8");
}

#[test]
fn a_bus_with_transfers() {
    let mut report = buses::i2c();
    let time =
        |time_ps, cycles, awake_cycles| strobe_model::CoreTime { time_ps, cycles, awake_cycles };
    report.core = Some(strobe_model::BusCore {
        span: time(356_805_556, 17_127, 9_000),
        words: time(347_222_224, 16_666, 8_500),
        transfers: Some(time(354_000_000, 16_992, 8_900)),
    });
    let unit = "pixel".to_owned();
    report.unit = Some(strobe_model::BusUnit { name: unit, words: 2, count: 1, per_second: None });
    let measurement = crate::bus::measurement(&report, crate::bus::Listing::EachWord);
    let figures = checked(&measurement, 7000);
    has(
        &figures,
        &[
            ("totals/transfers", 2.0),
            ("totals/transfer-words", 4.0),
            ("totals/transfers-empty", 0.0),
            ("totals/stretched", 1.0),
            ("totals/stretched-time", 14_000_000.0),
            ("totals/stretched-longest", 14_000_000.0),
            ("totals/units", 1.0),
            ("totals/unit-words", 2.0),
            ("transfers/0x50/start", -1_000_000.0),
            ("transfers/0x48/end", 358_000_000.0),
            ("transfers/0x48/first", 3.0),
            ("gaps/gaps between transfers/max", 1_000_000.0),
            ("gaps/clock low/max", 19_000_000.0),
            ("core/during words/awake", 8_500.0),
            ("core/during transfers/time", 354_000_000.0),
            ("core/from the first word to the last/cycles", 17_127.0),
        ],
    );
    // No time passed, so nobody knows how many there are in a second.
    assert!(!figures.contains_key("totals/unit-rate"));
    assert!(measurement.total("unit-rate").is_some());
    assert_eq!(text(&measurement, "transfers", "direction", 0), Some("write"));
    assert_eq!(text(&measurement, "words", "kind", 3), Some("address"));
    assert_eq!(text(&measurement, "words", "acknowledged", 3), Some("no"));
}

#[test]
fn two_recordings_side_by_side() {
    let report = pins::against();
    let [a, b] = [pins::simulated_pins(), pins::pins()].map(|pins| crate::pins::measurement(&pins));
    let measurement = strobe_report::pairing::measurement(&report, a, b);
    let figures = checked(&measurement, 25_000);
    let all: Vec<_> = report.pairs.iter().flat_map(|pair| &pair.figures).collect();
    has(&figures, &[("totals/figures", all.len() as f64), ("parts/b/totals/edges", 102.0)]);
    let sum =
        ["agree", "differ", "inconclusive"].map(|id| figures[&format!("totals/{id}")].as_u64());
    assert_eq!(sum.iter().sum::<u64>(), all.len() as u64);
    let high = &all[0];
    let (a, b, difference) = (high.a.unwrap(), high.b.unwrap(), high.difference.unwrap());
    has(
        &figures,
        &[
            ("times/LED/a", a.value as f64),
            ("times/LED/a-count", a.count as f64),
            ("times/LED/b", b.value as f64),
            ("times/LED/b-count", b.count as f64),
            ("times/LED/difference", difference.value as f64),
        ],
    );
    let table = measurement.table("times").unwrap();
    let cell = &table.column("difference").unwrap().cells[0];
    let strobe_model::measurement::Cell::Figure { trust, .. } = cell else { panic!("{cell:?}") };
    assert_eq!(trust.bounds(), Some((difference.low.into(), difference.high.into())));
    assert_eq!(measurement.instrument.settings["clock tolerance (ppm)"], "100");
}
