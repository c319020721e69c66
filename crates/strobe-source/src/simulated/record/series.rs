//! What the marks of a run measure, as raw values with their bounds.

use crate::simulated::run_record::Series;
use strobe_sim::pace::Drift;
use strobe_sim::signal::PinEdge;

use crate::simulated::drive::Run;

/// Pulse widths of marked pins and times between arrivals at marked symbols.
pub(super) fn all(run: &Run) -> Vec<Series> {
    let mut out = Vec::new();
    let log = &run.machine.observer().1.1;
    for (name, pin) in &run.pins {
        let edges: Vec<_> = log.edges().iter().filter(|e| e.pin == *pin).collect();
        for (level, label) in [(true, "high"), (false, "low")] {
            let pulses = edges.windows(2).filter(|w| w[0].level == level);
            let points = pulses.map(|w| (stamp(w[0]), stamp(w[1]))).collect();
            out.extend(intervals(format!("{name} {label}"), points, log.dropped));
        }
        // From rise to rise, with the fall in between.
        let rises = edges.windows(3).filter(|w| w[0].level && !w[1].level && w[2].level);
        let cycles: Vec<_> = rises.map(|w| [stamp(w[0]), stamp(w[1]), stamp(w[2])]).collect();
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

type Stamp = (u64, Drift);

fn stamp(edge: &PinEdge) -> Stamp {
    (edge.cycle, edge.drift)
}

fn intervals(name: String, points: Vec<(Stamp, Stamp)>, dropped: u64) -> Option<Series> {
    if points.is_empty() {
        return None;
    }
    let width = |(a, b): &(Stamp, Stamp)| b.0 - a.0;
    let bounds = |(a, b): &(Stamp, Stamp)| {
        let bounds = Drift::between(a.1, b.1, b.0 - a.0);
        (bounds.low, bounds.high)
    };
    let exact = points.iter().all(|p| bounds(p) == (width(p), width(p)));
    Some(Series {
        name,
        unit: "cycles".to_owned(),
        values: points.iter().map(width).collect(),
        bounds: if exact { Vec::new() } else { points.iter().map(bounds).collect() },
        count: points.len() as u64 + dropped,
        since_cycle: points.first().map_or(0, |p| p.0.0),
    })
}

/// The high part of each period, in millionths.
fn duty(name: String, cycles: &[[Stamp; 3]], dropped: u64) -> Option<Series> {
    let parts = |[rise, fall, next]: &[Stamp; 3]| {
        let between = |a: Stamp, b: Stamp| Drift::between(a.1, b.1, b.0 - a.0);
        (between(*rise, *fall), between(*fall, *next))
    };
    let ppm = |high: u64, low: u64| {
        let all = (u128::from(high) + u128::from(low)).max(1);
        // A part of a whole is no more than a million.
        (u128::from(high) * 1_000_000 / all) as u64
    };
    let each = cycles.iter().map(parts);
    let values: Vec<u64> = each.clone().map(|(h, l)| ppm(h.likely, l.likely)).collect();
    let bounds: Vec<_> = each.map(|(h, l)| (ppm(h.low, l.high), ppm(h.high, l.low))).collect();
    let exact = values.iter().zip(&bounds).all(|(value, b)| *b == (*value, *value));
    (!values.is_empty()).then(|| Series {
        name,
        unit: "millionths".to_owned(),
        count: values.len() as u64 + dropped,
        values,
        bounds: if exact { Vec::new() } else { bounds },
        since_cycle: cycles.first().map_or(0, |[rise, ..]| rise.0),
    })
}
