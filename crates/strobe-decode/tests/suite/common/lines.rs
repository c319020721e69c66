//! Lines of the signal synthesiser as a capture.

use strobe_decode::capture::{Capture, Channel, Edge, Level, Tick};
use strobe_synth::Line;

/// A capture at a megahertz times `mhz`, which ends at `end`.
#[allow(dead_code)]
pub fn capture(mhz: u64, lines: &[(&str, &Line)], end: u64) -> Capture {
    let channel = |(name, line): &(&str, &Line)| Channel {
        name: (*name).to_owned(),
        initial: Level::of(line.initial),
        edges: line.edges.iter().map(|(at, high)| Edge::new(*at, Level::of(*high))).collect(),
    };
    let tick = Tick::from_hz(mhz * 1_000_000).expect("not zero");
    Capture {
        tick,
        resolution: tick,
        resolution_inferred: false,
        start: 0,
        end,
        channels: lines.iter().map(channel).collect(),
        notes: Vec::new(),
        cut: false,
        simulated: None,
    }
}
