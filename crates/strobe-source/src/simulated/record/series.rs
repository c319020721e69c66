//! What the marks of a run measure, as raw values.

use crate::simulated::run_record::Series;

use crate::simulated::drive::Run;

/// Pulse widths of marked pins and times between arrivals at marked symbols.
pub(super) fn all(run: &Run) -> Vec<Series> {
    let mut out = Vec::new();
    let log = &run.machine.observer().1.1;
    for (name, pin) in &run.pins {
        let edges: Vec<_> = log.edges().iter().filter(|e| e.pin == *pin).collect();
        for (level, label) in [(true, "high"), (false, "low")] {
            let pulses = edges.windows(2).filter(|w| w[0].level == level);
            let points = pulses.map(|w| (w[0].cycle, w[1].cycle)).collect();
            out.extend(intervals(format!("{name} {label}"), points, log.dropped));
        }
        // From rise to rise, with the fall in between.
        let rises = edges.windows(3).filter(|w| w[0].level && !w[1].level && w[2].level);
        let cycles: Vec<_> = rises.map(|w| [w[0].cycle, w[1].cycle, w[2].cycle]).collect();
        let points = cycles.iter().map(|[rise, _, next]| (*rise, *next)).collect();
        out.extend(intervals(format!("{name} period"), points, log.dropped));
        out.extend(duty(format!("{name} duty"), &cycles, log.dropped));
    }
    for arrivals in &run.arrivals {
        let points = arrivals.at.windows(2).map(|w| (w[0], w[1])).collect();
        let dropped = arrivals.count - arrivals.at.len() as u64;
        out.extend(intervals(format!("{} to {}", arrivals.name, arrivals.name), points, dropped));
    }
    out
}

/// Lengths of the spans between two cycles each.
fn intervals(name: String, points: Vec<(u64, u64)>, dropped: u64) -> Option<Series> {
    let since_cycle = points.first()?.0;
    Some(Series {
        name,
        unit: "cycles".to_owned(),
        values: points.iter().map(|(from, to)| to - from).collect(),
        count: points.len() as u64 + dropped,
        since_cycle,
    })
}

/// The high part of each period, in millionths; periods are given as rise, fall and next rise.
fn duty(name: String, cycles: &[[u64; 3]], dropped: u64) -> Option<Series> {
    let since_cycle = cycles.first()?[0];
    let ppm = |[rise, fall, next]: &[u64; 3]| {
        let (high, all) = (fall - rise, (next - rise).max(1));
        // A part of a whole is no more than a million.
        (u128::from(high) * 1_000_000 / u128::from(all)) as u64
    };
    Some(Series {
        name,
        unit: "millionths".to_owned(),
        count: cycles.len() as u64 + dropped,
        values: cycles.iter().map(ppm).collect(),
        since_cycle,
    })
}
