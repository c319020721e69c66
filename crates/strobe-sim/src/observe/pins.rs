//! What chosen pins did, edge by edge.

use super::Observer;
use crate::device::SerialFrame;
use crate::signal::{PinEdge, SignalId};

/// Edges kept; a pin that toggles for ever must not fill the host's memory.
const MAX_EDGES: usize = 1 << 20;

/// Records the edges of chosen pins, and every serial frame until it is taken.
#[derive(Debug, Default)]
pub struct PinLog {
    wanted: Vec<SignalId>,
    edges: Vec<PinEdge>,
    /// Edges that came after the log was full.
    pub dropped: u64,
    frames: Vec<SerialFrame>,
    active: bool,
}

impl PinLog {
    /// A log of these pins.
    pub fn new(wanted: Vec<SignalId>) -> Self {
        PinLog { wanted, active: true, ..PinLog::default() }
    }

    /// Switches recording of edges on or off: a measuring window.
    pub fn set_active(&mut self, active: bool) {
        self.active = active;
    }

    /// Edges recorded, in time order.
    pub fn edges(&self) -> &[PinEdge] {
        &self.edges
    }

    /// Serial frames since the last call.
    pub fn take_frames(&mut self) -> Vec<SerialFrame> {
        std::mem::take(&mut self.frames)
    }
}

impl Observer for PinLog {
    fn pin(&mut self, edge: &PinEdge) {
        if !self.active || !self.wanted.contains(&edge.pin) {
            return;
        }
        if self.edges.len() < MAX_EDGES {
            self.edges.push(*edge);
        } else {
            self.dropped += 1;
        }
    }

    fn frame(&mut self, frame: &SerialFrame) {
        self.frames.push(*frame);
    }
}
