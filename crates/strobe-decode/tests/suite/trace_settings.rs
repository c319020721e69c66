//! Settings that the hardware has, and those that it has not.

use std::num::NonZeroU32;

use strobe_decode::trace_settings::*;

fn settings() -> TraceSettings {
    let line = Line::new(168_000_000, 115_200, Encoding::Nrz).expect("a rate that can be had");
    let mut settings = TraceSettings::new(NonZeroU32::new(168_000_000).expect("not zero"), line);
    settings.sampling = Some(PcSampling::nearest(16384));
    settings.local_timestamps = Some(TimestampPrescaler::By64);
    let watch = Watch::new("ticks", 2, (0x2000_0010, 4), WatchWhat::PcAndValue, WatchAccess::Write);
    settings.watches = Watches::new(vec![watch.expect("aligned")]).expect("one");
    settings
}

#[test]
fn json_gives_back_what_was_written() {
    let json = serde_json::to_string(&settings()).expect("plain values");
    assert_eq!(serde_json::from_str::<TraceSettings>(&json).expect("its own"), settings());
    assert!(json.contains(r#""sampling":{"tap":1024,"count":16}"#), "{json}");
    assert!(json.contains(r#""address":"0x20000010","bytes":4,"what":"pc+value","access":"w""#));
}

/// What is wrong, as JSON of one field, and what the error names.
#[test]
fn json_cannot_hold_what_hardware_cannot_do() {
    let json = serde_json::to_value(settings()).expect("plain values");
    let watch = |comparator: u8, address: &str, bytes: u32, what: &str| {
        let (name, access) = ("x", "r");
        serde_json::json!({ "name": name, "comparator": comparator, "address": address,
            "bytes": bytes, "what": what, "access": access })
    };
    let good = watch(1, "0x20000000", 4, "value");
    let cases = [
        ("core_hz", serde_json::json!(0), "nonzero"),
        ("line", serde_json::json!({"trace_hz": 16_000_000, "baud": 0}), "bit rate of 0"),
        ("line", serde_json::json!({"trace_hz": 16_000_000, "baud": 40_000_000}), "slower"),
        ("line", serde_json::json!({"trace_hz": 16_000_000, "baud": 200}), "65536"),
        ("sampling", serde_json::json!({"tap": 128, "count": 1}), "64, 1024"),
        ("sampling", serde_json::json!({"tap": 64, "count": 0}), "1 to 16"),
        ("sampling", serde_json::json!({"tap": 64, "count": 17}), "1 to 16"),
        ("local_timestamps", serde_json::json!(2), "1, 4, 16, 64"),
        ("sync", serde_json::json!(1 << 25), "16777216"),
        ("bus_id", serde_json::json!(0), "0x6f"),
        ("bus_id", serde_json::json!(0x70), "0x6f"),
        ("watches", serde_json::json!([watch(4, "0x20000000", 4, "value")]), "0 to 3"),
        ("watches", serde_json::json!([watch(0, "0x20000002", 4, "value")]), "multiple"),
        ("watches", serde_json::json!([watch(0, "0x20000000", 3, "value")]), "power of two"),
        ("watches", serde_json::json!([watch(0, "0x20000000", 65536, "value")]), "power of two"),
        ("watches", serde_json::json!([watch(0, "0x20000000", 4, "pc")]), "alike"),
        ("watches", serde_json::json!([good, good]), "taken"),
    ];
    for (field, value, names) in cases {
        let mut json = json.clone();
        json[field] = value.clone();
        let error = serde_json::from_value::<TraceSettings>(json).expect_err("no such hardware");
        assert!(error.to_string().contains(names), "{field} {value}: {error}");
    }
}

#[test]
fn periods_are_those_of_the_prescaler() {
    let periods: Vec<u32> = PcSampling::all().map(|s| s.period_cycles()).collect();
    assert!(periods.is_sorted_by(|a, b| a < b), "{periods:?}");
    assert_eq!((periods.len(), periods[0], periods[30]), (31, 64, 16384));
    assert_eq!(PcSampling::nearest(10_000).period_cycles(), 10_240);
    assert_eq!(PcSampling::nearest(0).period_cycles(), 64);
    assert_eq!(PcSampling::nearest(u32::MAX).period_cycles(), 16384);
}

/// The figures of a well-known set-up: 168 MHz, 115200 baud.
#[test]
fn the_divider_is_the_nearest() {
    let line = settings().line;
    assert_eq!(line.divider(), 1458);
    assert!((line.actual_baud() - 115_226.3).abs() < 0.1);
    assert!((line.baud_error() * 1e4 - 2.3).abs() < 0.1, "two hundredths of a percent");
    let rate = settings().samples_per_second().expect("it samples");
    assert!((rate - 10_253.9).abs() < 0.01);
}
