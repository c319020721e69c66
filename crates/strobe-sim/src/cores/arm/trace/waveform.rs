//! The trace pin as a wire: the edges of the bytes that leave it, for boards that lead them to a
//! pin.
//!
//! Edges are made only while somebody records pins. Manchester code has none here.

use std::collections::VecDeque;

use super::{Coding, Sent};
use crate::kernel::bus::Bus;
use crate::kernel::signal::SignalId;

/// The wire that board files join to a pin's alternate function.
const WIRE: &str = "TRACESWO";

/// Edges to come.
#[derive(Debug, Clone, Default)]
pub(crate) struct Waveform {
    wire: Option<SignalId>,
    edges: VecDeque<(u64, bool)>,
    /// The level behind all of them.
    last: bool,
}

impl Waveform {
    /// Of a board with these wires.
    pub(crate) fn new(bus: &Bus) -> Self {
        Waveform { wire: bus.signals.find(WIRE), ..Waveform::default() }
    }

    /// Whether anybody can see it.
    pub(crate) fn is_seen(&self, bus: &Bus) -> bool {
        self.wire.is_some() && bus.outputs.record_edges
    }

    /// Adds a byte: a start bit, eight bits from the lowest on, a stop bit.
    pub(crate) fn push(&mut self, sent: &Sent) {
        if sent.coding != Coding::Nrz {
            return;
        }
        let word = u32::from(sent.value) << 1 | 1 << 9;
        for bit in 0..10 {
            let at = sent.cycle + bit * u64::from(sent.bit_cycles);
            self.set(at, word >> bit & 1 != 0);
        }
    }

    fn set(&mut self, at: u64, level: bool) {
        if self.last != level {
            self.last = level;
            self.edges.push_back((at, level));
        }
    }

    /// Puts the wire to what it is up to a cycle, from `now` on at `idle` where nothing is on its
    /// way.
    pub(crate) fn show(&mut self, bus: &mut Bus, idle: bool, now: u64, to: u64) {
        let Some(wire) = self.wire else { return };
        if self.edges.is_empty() {
            self.set(now, idle);
        }
        let time = bus.now;
        while let Some((at, level)) = self.edges.pop_front_if(|&mut (at, _)| at <= to) {
            bus.now = at;
            bus.set_signal(wire, level);
            bus.settle();
        }
        bus.now = time;
    }
}
