//! The receiver: bytes from the host at the pace of the line, or bits sampled from the RX wire
//! (RM0360, "Receiver").
//!
//! Every bit is sampled once, in its middle; wires carry no noise. A frame is complete in the
//! middle of its first stop bit.

use super::format::{Baud, Format};
use crate::devices::common::serial::Queue;

/// Bytes that wait for their turn on the line.
pub(super) const QUEUE_LIMIT: usize = 4096;

/// A frame that has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Received {
    /// Data and parity bits.
    pub(super) word: u16,
    /// The stop bit was low.
    pub(super) framing_error: bool,
}

#[derive(Debug, Clone, Copy)]
enum Source {
    /// A whole frame from the host.
    Host(u16),
    /// Bits of the RX wire sampled so far, and their number, start bit included.
    Wire { bits: u16, count: u32 },
}

#[derive(Debug, Clone, Copy)]
struct Arriving {
    source: Source,
    start: u64,
}

/// The receiving half of a USART.
#[derive(Debug, Default)]
pub(super) struct Receiver {
    pub(super) enabled: bool,
    queue: Queue<QUEUE_LIMIT>,
    arriving: Option<Arriving>,
    /// End of the last frame's stop bits.
    line_free: u64,
    /// The cycle at which the line will have been idle for a frame after a reception.
    idle_at: Option<u64>,
}

impl Receiver {
    /// RE with UE. Switched off, it drops the frame in flight; queued host bytes wait.
    pub(super) fn enable(&mut self, on: bool) {
        self.enabled = on;
        if !on {
            self.arriving = None;
            self.idle_at = None;
        }
    }

    /// BUSY: a frame is arriving.
    pub(super) fn is_busy(&self, now: u64) -> bool {
        self.arriving.is_some_and(|a| a.start <= now)
    }

    /// The cycle at which [`is_busy`](Self::is_busy) becomes true.
    pub(super) fn busy_from(&self, now: u64) -> Option<u64> {
        self.arriving.map(|a| a.start).filter(|&start| start > now)
    }

    /// How many host bytes fit in the queue.
    pub(super) fn room(&self) -> usize {
        self.queue.room()
    }

    /// Queues a byte from the host; false if there is no room.
    pub(super) fn push(&mut self, byte: u8) -> bool {
        self.queue.push(byte)
    }

    /// Lets the next host byte begin as soon as the line is free.
    pub(super) fn start(&mut self, format: Format, now: u64) {
        if !self.enabled || self.arriving.is_some() {
            return;
        }
        let Some(byte) = self.queue.pop() else { return };
        let source = Source::Host(format.word(byte.into()));
        self.arriving = Some(Arriving { source, start: self.line_free.max(now) });
    }

    /// The RX wire falls: the start bit of a frame, unless one is arriving.
    pub(super) fn wire_fell(&mut self, now: u64) {
        if self.enabled && self.arriving.is_none() {
            self.arriving =
                Some(Arriving { source: Source::Wire { bits: 0, count: 0 }, start: now });
        }
    }

    /// Takes the sample that is due by `now`, if any; `level` is the RX wire.
    pub(super) fn sample(
        &mut self,
        format: Format,
        baud: Baud,
        level: bool,
        now: u64,
    ) -> Option<Received> {
        let arriving = self.arriving?;
        let start = arriving.start;
        if now < self.next_sample(format, baud)? {
            return None;
        }
        let received = match arriving.source {
            Source::Host(word) => Received { word, framing_error: false },
            // The start bit must still be low in its middle.
            Source::Wire { count: 0, .. } if level => {
                self.arriving = None;
                return None;
            }
            Source::Wire { bits, count } if count <= format.word_bits => {
                let bits = bits | u16::from(level) << count;
                self.arriving =
                    Some(Arriving { source: Source::Wire { bits, count: count + 1 }, start });
                return None;
            }
            Source::Wire { bits, .. } => {
                let word = bits >> 1 & ((1 << format.word_bits) - 1);
                Received { word, framing_error: !level }
            }
        };
        self.arriving = None;
        self.line_free = baud.after(start, format.halves());
        self.idle_at = Some(baud.after(self.line_free, format.halves()));
        Some(received)
    }

    /// Whether the line has by `now` been idle for a frame; true once after each reception.
    pub(super) fn take_idle(&mut self, now: u64) -> bool {
        // A frame that has begun means that the line is not idle.
        let at = if self.is_busy(now) { None } else { self.idle_at };
        let idle = at.is_some_and(|at| at <= now);
        if idle {
            self.idle_at = None;
        }
        idle
    }

    fn next_sample(&self, format: Format, baud: Baud) -> Option<u64> {
        let arriving = self.arriving?;
        let bit = match arriving.source {
            Source::Host(_) => format.word_bits + 1,
            Source::Wire { count, .. } => count,
        };
        Some(baud.after(arriving.start, 2 * bit + 1))
    }

    /// The cycle at which the receiver next has something to do.
    pub(super) fn next_event(&self, format: Format, baud: Baud) -> Option<u64> {
        match self.arriving {
            Some(_) => self.next_sample(format, baud),
            None => self.idle_at,
        }
    }

    /// The bit clock changes from `from` to `to`.
    pub(super) fn rescale(&mut self, from: Baud, to: Baud, now: u64) {
        if let Some(arriving) = &mut self.arriving {
            arriving.start = from.rescale(to, arriving.start, now);
        }
        self.line_free = from.rescale(to, self.line_free.max(now), now);
        self.idle_at = self.idle_at.map(|at| from.rescale(to, at.max(now), now));
    }
}
