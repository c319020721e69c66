//! The receive FIFO: what has arrived, what was lost, and how long nobody has come for it.

use std::collections::VecDeque;

/// DR: the frame was preceded by one that was lost.
const OVERRUN: u32 = 1 << 11;
/// RSR: the same, until cleared.
const OVERRUN_STATUS: u32 = 1 << 3;

/// Received frames.
#[derive(Debug, Default)]
pub(super) struct Inbox {
    queue: VecDeque<u32>,
    last: u32,
    lost: bool,
    overrun: u32,
    timeout: Option<u64>,
}

impl Inbox {
    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }

    /// Takes a frame if there is room; after that much silence the timeout comes.
    pub(super) fn push(&mut self, byte: u8, depth: usize, timeout: u64) -> bool {
        if self.queue.len() >= depth {
            self.lost = true;
            self.overrun = OVERRUN_STATUS;
            return false;
        }
        let flag = if std::mem::take(&mut self.lost) { OVERRUN } else { 0 };
        self.queue.push_back(u32::from(byte) | flag);
        self.timeout = Some(timeout);
        true
    }

    /// What DR reads; the last value again if nothing is there.
    pub(super) fn pop(&mut self) -> u32 {
        self.last = self.queue.pop_front().unwrap_or(self.last);
        if self.queue.is_empty() {
            self.timeout = None;
        }
        self.last
    }

    /// The FIFO becomes a single register.
    pub(super) fn shrink(&mut self) {
        self.queue.truncate(1);
    }

    pub(super) fn timeout(&self) -> Option<u64> {
        self.timeout
    }

    /// Whether the silence has lasted long enough; true once.
    pub(super) fn take_timeout(&mut self, now: u64) -> bool {
        let over = self.timeout.is_some_and(|at| at <= now);
        if over {
            self.timeout = None;
        }
        over
    }

    pub(super) fn overrun(&self) -> u32 {
        self.overrun
    }

    pub(super) fn clear_overrun(&mut self) {
        self.overrun = 0;
    }
}
