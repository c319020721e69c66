//! Blocks of the heap by the thread that takes and frees them.

use std::collections::HashMap;

use crate::archive::report::HeapThread;

#[derive(Debug, Clone, Default)]
struct Thread {
    sums: HeapThread,
    /// The heap's peak that `sums.peak_bytes` is of: at a later one it is what is live now.
    peak: u64,
}

/// Sums by thread.
#[derive(Debug, Clone, Default)]
pub(super) struct Threads {
    index: HashMap<Option<i64>, usize>,
    all: Vec<Thread>,
    /// How often the heap has reached a new peak.
    peaks: u64,
}

impl Threads {
    /// Where the sums of a thread are.
    pub fn of(&mut self, thread: Option<i64>) -> usize {
        let next = self.all.len();
        let found = *self.index.entry(thread).or_insert(next);
        if found == next {
            let sums = HeapThread { thread, ..HeapThread::default() };
            self.all.push(Thread { sums, peak: self.peaks });
        }
        found
    }

    /// A thread takes a block.
    pub fn takes(&mut self, thread: usize, bytes: u64) {
        let sums = self.change(thread);
        (sums.allocations, sums.bytes) = (sums.allocations + 1, sums.bytes.saturating_add(bytes));
        (sums.live, sums.live_bytes) = (sums.live + 1, sums.live_bytes.saturating_add(bytes));
    }

    /// A block that a thread has taken counts no longer.
    pub fn loses(&mut self, thread: usize, bytes: u64) {
        let sums = self.change(thread);
        (sums.live, sums.live_bytes) = (sums.live - 1, sums.live_bytes.saturating_sub(bytes));
    }

    /// It counts again.
    pub fn keeps(&mut self, thread: usize, bytes: u64) {
        let sums = self.change(thread);
        (sums.live, sums.live_bytes) = (sums.live + 1, sums.live_bytes.saturating_add(bytes));
    }

    /// A thread frees a block, of which it is known who took it or not.
    pub fn frees(&mut self, by: Option<i64>, of: Option<usize>) {
        let by = self.of(by);
        let is_known = |thread: usize| self.all[thread].sums.thread.is_some();
        let of_others = of.is_some_and(|of| of != by && is_known(of) && is_known(by));
        let sums = &mut self.all[by].sums;
        (sums.frees, sums.frees_of_others) =
            (sums.frees + 1, sums.frees_of_others + u64::from(of_others));
    }

    /// A thread gets no block.
    pub fn fails(&mut self, thread: Option<i64>) {
        let thread = self.of(thread);
        self.all[thread].sums.failed += 1;
    }

    /// The heap is at a new peak. Whoever changes next remembers what it had then, so that a peak
    /// costs the same however many threads there are.
    pub fn peak(&mut self) {
        self.peaks += 1;
    }

    /// The sums, to be changed.
    fn change(&mut self, thread: usize) -> &mut HeapThread {
        let Thread { sums, peak } = &mut self.all[thread];
        if std::mem::replace(peak, self.peaks) != self.peaks {
            sums.peak_bytes = sums.live_bytes;
        }
        sums
    }

    /// All of them, the greatest part of the peak first.
    pub fn finish(mut self) -> Vec<HeapThread> {
        (0..self.all.len()).for_each(|thread| _ = self.change(thread));
        let mut all: Vec<HeapThread> = self.all.into_iter().map(|thread| thread.sums).collect();
        all.sort_by_key(|sums| std::cmp::Reverse((sums.peak_bytes, sums.bytes)));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peak_shares_of_threads_are_from_the_last_peak() {
        let mut threads = Threads::default();
        let [a, b] = [Some(1), Some(2)].map(|thread| threads.of(thread));
        threads.takes(a, 10);
        threads.peak();
        threads.takes(b, 5);
        threads.peak();
        // Below the peak, and with a thread that was not there at it.
        threads.loses(a, 10);
        let c = threads.of(None);
        threads.takes(c, 3);
        threads.frees(Some(2), Some(a));
        threads.frees(Some(2), Some(b));
        threads.frees(None, Some(b));
        let figures = threads.finish().into_iter();
        let figures: Vec<_> = figures
            .map(|of| (of.thread, of.peak_bytes, of.live_bytes, of.frees, of.frees_of_others))
            .collect();
        assert_eq!(figures, [(Some(1), 10, 0, 0, 0), (Some(2), 5, 5, 2, 1), (None, 0, 3, 1, 0)]);
    }
}
