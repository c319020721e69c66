//! Threads, from writes to the variable that points to the current one.

use std::collections::HashMap;

use crate::traced::totals::TracedThread;

/// Threads kept apart; noise could bring more.
const MOST: usize = 1024;

/// Follows the pointer to the current thread.
#[derive(Debug, Clone, Default)]
pub(super) struct Threads {
    index: HashMap<u32, u32>,
    all: Vec<TracedThread>,
    /// The current one, and since when; `None` for the time where that is not known.
    current: Option<(u32, Option<u64>)>,
    /// What comes now is not counted.
    uncounted: bool,
}

impl Threads {
    /// The current thread by index, where known.
    pub fn current(&self) -> Option<u32> {
        self.current.map(|(thread, _)| thread)
    }

    /// Packets have been lost, perhaps a switch.
    pub fn lost(&mut self) {
        self.current = None;
    }

    /// From here on time is counted or is not.
    pub fn cut(&mut self, counted: bool, now: u64) {
        if !self.uncounted {
            self.close(now);
        }
        self.uncounted = !counted;
        self.current = self.current.map(|(thread, _)| (thread, counted.then_some(now)));
    }

    /// A write to the variable.
    pub fn switch(&mut self, pointer: u32, now: u64) {
        self.close(now);
        let next = self.all.len() as u32;
        if !self.index.contains_key(&pointer) && self.all.len() >= MOST {
            self.current = None;
            return;
        }
        let thread = *self.index.entry(pointer).or_insert(next);
        if thread == next {
            self.all.push(TracedThread { pointer, ..TracedThread::default() });
        }
        let counted = !self.uncounted;
        self.all[thread as usize].runs += u64::from(counted);
        self.current = Some((thread, counted.then_some(now)));
    }

    pub fn sample(&mut self) {
        if let Some((thread, _)) = self.current {
            self.all[thread as usize].samples += 1;
        }
    }

    pub fn finish(mut self, now: u64) -> Vec<TracedThread> {
        self.close(now);
        self.all
    }

    fn close(&mut self, now: u64) {
        if let Some((thread, Some(since))) = self.current {
            self.all[thread as usize].cycles += now.saturating_sub(since);
        }
    }
}
