//! Pins, captured and simulated, and both side by side.

use crate::pairing;

use crate::pairing::report::*;
use crate::pins::report::*;
use crate::summary::ValueSummary;

pub(super) fn capture() -> CaptureSummary {
    CaptureSummary {
        file: "board.sr".into(),
        format: "sigrok session".into(),
        resolution_ps: 41_667,
        resolution_inferred: true,
        start_ps: -1_000_000,
        duration_ps: 2_500_000_000,
        channels: vec!["LED".into(), "RX".into()],
        cut: false,
        simulated: None,
    }
}

/// A pin with a late pulse, one that never changes, and a time between the two.
pub(crate) fn pins() -> PinsReport {
    let widths = (0..50).map(|n| 45_000_000 + n % 3 * 41_667).chain([9_000_000_000]);
    let high = ValueSummary::with_histogram(widths.collect(), 41_667);
    let led = PinStatistics {
        pin: "LED".into(),
        initial: PinLevel::Low,
        rising: 51,
        falling: 51,
        unknown: 1,
        high_total_ps: 1_200_000_000,
        low_total_ps: 1_300_000_000,
        low_ps: ValueSummary::of(vec![458_333, 500_000]),
        period_ps: ValueSummary::of(vec![45_500_000, 46_000_000]),
        duty_ppm: ValueSummary::of(vec![989_900, 990_000]),
        jitter: ValueSummary::of(vec![41_667])
            .map(|cycle_to_cycle_ps| Jitter { period_ps: 29_463, cycle_to_cycle_ps }),
        high_ps: high,
    };
    let still = PinStatistics {
        pin: "RX".into(),
        initial: PinLevel::High,
        rising: 0,
        falling: 0,
        unknown: 0,
        high_total_ps: 2_500_000_000,
        low_total_ps: 0,
        high_ps: None,
        low_ps: None,
        period_ps: None,
        duty_ppm: None,
        jitter: None,
    };
    let interval = |times| PinInterval {
        from: "RX falling".into(),
        to: "LED rising".into(),
        times_ps: ValueSummary::of(times),
        unanswered: 2,
    };
    PinsReport {
        capture: capture(),
        pins: vec![led, still],
        intervals: vec![interval(vec![1_500_000, 1_541_667]), interval(Vec::new())],
        notes: vec!["line 7: the file ends in the middle of a command".into()],
    }
}

/// The same pins on a simulated board, whose models leave some doubt.
pub(crate) fn simulated_pins() -> PinsReport {
    let mut report = pins();
    report.capture.file = "firmware.elf".into();
    report.capture.format = "simulated on a-board".into();
    report.capture.simulated =
        Some(SimulatedCapture { board: "a-board".into(), is_modelled: true });
    let led = &mut report.pins[0];
    let [likely, low, high] = [[45_000_000, 45_020_000], [44_000_000; 2], [47_000_000; 2]]
        .map(|widths| ValueSummary::of(widths.into()));
    led.high_ps = likely.zip(low).zip(high).map(|((d, low), high)| d.enclosed(&low, &high));
    led.low_ps = ValueSummary::of(vec![600_000]);
    report
}

/// Both side by side.
pub(crate) fn against() -> Against {
    let (a, b) = (simulated_pins(), pins());
    Against {
        pairs: vec![
            pairing::pins((&a.capture, &a.pins[0]), (&b.capture, &b.pins[0]), 100),
            pairing::intervals((&a.capture, &a.intervals[0]), (&b.capture, &b.intervals[0]), 100),
        ],
        a: a.capture,
        b: b.capture,
        clock_tolerance_ppm: 100,
        notes: Vec::new(),
    }
}
