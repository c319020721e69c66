//! What chosen pins did, edge by edge, and bytes of serial lines and of the trace pin.

use super::{Observer, TraceByte};
use crate::kernel::device::SerialFrame;
use crate::kernel::signal::{PinEdge, SignalId};

/// Edges kept; a pin that toggles for ever must not fill the host's memory.
const MAX_EDGES: usize = 1 << 20;

/// Records the edges of chosen pins, and every serial frame until it is taken; if asked, all pins'
/// edges in the same way.
#[derive(Debug, Default)]
pub struct PinLog {
    wanted: Vec<SignalId>,
    edges: Vec<PinEdge>,
    /// Edges that came after the log was full.
    pub dropped: u64,
    frames: Vec<SerialFrame>,
    active: bool,
    recording: bool,
    seen: Seen,
    keeps_trace: bool,
    trace: Vec<TraceByte>,
}

/// What all pins and the core did since somebody asked last.
#[derive(Debug, Default)]
pub struct Seen {
    /// Edges of every pin, in time order.
    pub edges: Vec<PinEdge>,
    /// When the core slept or went round an idle loop: from, to.
    pub slept: Vec<(u64, u64)>,
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

    /// From here on keeps what every pin does, until it is taken: whoever asks for this must come
    /// for it now and then.
    pub fn record(&mut self) {
        self.recording = true;
    }

    /// What was seen since the last call.
    pub fn take_seen(&mut self) -> Seen {
        std::mem::take(&mut self.seen)
    }

    /// Keeps what leaves the trace pin until it is taken, or no longer does.
    pub fn keep_trace(&mut self, on: bool) {
        self.keeps_trace = on;
    }

    /// Bytes of the trace pin since the last call.
    pub fn take_trace(&mut self) -> Vec<TraceByte> {
        std::mem::take(&mut self.trace)
    }

    /// Serial frames since the last call.
    pub fn take_frames(&mut self) -> Vec<SerialFrame> {
        std::mem::take(&mut self.frames)
    }
}

impl Observer for PinLog {
    fn pin(&mut self, edge: &PinEdge) {
        if self.recording {
            self.seen.edges.push(*edge);
        }
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

    fn trace(&mut self, byte: &TraceByte) {
        if self.keeps_trace {
            self.trace.push(*byte);
        }
    }

    fn slept(&mut self, from: u64, to: u64) {
        if !self.recording {
            return;
        }
        match self.seen.slept.last_mut() {
            Some(last) if last.1 == from => last.1 = to,
            _ => self.seen.slept.push((from, to)),
        }
    }
}
