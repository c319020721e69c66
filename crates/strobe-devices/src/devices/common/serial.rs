//! Whole frames on a serial line, for UART models that do not show single bits on a pin.
//!
//! A frame takes its time on the line and is over at an exact cycle. What the registers around it
//! look like is the model's business.

use std::collections::VecDeque;

/// Most frames that wait in front of a line: beyond a sender's FIFO, or from the host.
const QUEUE_LIMIT: usize = 1 << 16;

/// Bytes that wait for their turn, at most so many.
#[derive(Debug, Default)]
pub(in crate::devices) struct Queue<const LIMIT: usize>(VecDeque<u8>);

impl<const LIMIT: usize> Queue<LIMIT> {
    /// How many more fit.
    pub(in crate::devices) fn room(&self) -> usize {
        LIMIT - self.0.len()
    }

    /// One more; false if there is no room.
    pub(in crate::devices) fn push(&mut self, byte: u8) -> bool {
        let fits = self.room() > 0;
        if fits {
            self.0.push_back(byte);
        }
        fits
    }

    /// The one whose turn it is.
    pub(in crate::devices) fn pop(&mut self) -> Option<u8> {
        self.0.pop_front()
    }
}

/// One direction of a serial line: frames that the chip sends or that come from the host, one after
/// the other.
#[derive(Debug, Default)]
pub(in crate::devices) struct Line {
    queue: Queue<QUEUE_LIMIT>,
    /// The frame on the line and the cycle of its end.
    on_line: Option<(u8, u64)>,
}

impl Line {
    /// Frames that wait behind the one on the line.
    pub(in crate::devices) fn waiting(&self) -> usize {
        self.queue.0.len()
    }

    /// How many more can wait.
    pub(in crate::devices) fn room(&self) -> usize {
        self.queue.room()
    }

    /// Whether a frame is on the line or waits for it.
    pub(in crate::devices) fn is_busy(&self) -> bool {
        self.on_line.is_some() || self.waiting() > 0
    }

    /// Queues a frame; false if there is no room.
    pub(in crate::devices) fn push(&mut self, byte: u8) -> bool {
        self.queue.push(byte)
    }

    /// Takes the frame that has passed the line completely.
    pub(in crate::devices) fn finish(&mut self, now: u64) -> Option<u8> {
        let (byte, _) = self.on_line.filter(|&(_, end)| end <= now)?;
        self.on_line = None;
        Some(byte)
    }

    /// Puts the next frame on a free line; it takes `cycles`.
    pub(in crate::devices) fn start(&mut self, now: u64, cycles: u64) {
        if self.on_line.is_none()
            && let Some(byte) = self.queue.pop()
        {
            self.on_line = Some((byte, now + cycles.max(1)));
        }
    }

    /// The cycle at which the frame on the line ends.
    pub(in crate::devices) fn due(&self) -> Option<u64> {
        self.on_line.map(|(_, end)| end)
    }
}

/// The earliest of several wishes for an event.
pub(in crate::devices) fn earliest(wishes: impl IntoIterator<Item = Option<u64>>) -> Option<u64> {
    wishes.into_iter().flatten().min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_follow_each_other() {
        let mut sender = Line::default();
        assert!(sender.push(b'a') && sender.push(b'b'));
        sender.start(10, 100);
        assert_eq!((sender.due(), sender.waiting()), (Some(110), 1));
        assert_eq!(sender.finish(109), None);
        assert_eq!(sender.finish(110), Some(b'a'));
        sender.start(110, 100);
        assert_eq!(sender.finish(210), Some(b'b'));
        assert!(!sender.is_busy());
    }

    #[test]
    fn a_host_that_never_stops_is_bounded() {
        let mut receiver = Line::default();
        assert!((0..QUEUE_LIMIT).all(|_| receiver.push(0)));
        assert!(!receiver.push(0));
        receiver.start(0, 10);
        assert_eq!((receiver.room(), receiver.finish(10)), (1, Some(0)));
    }
}
