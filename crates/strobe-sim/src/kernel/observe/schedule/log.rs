//! The order of things, as far as it is kept: who ran from when to when, at the end of the run or
//! around the worst latency.
//!
//! Memory is bounded: the oldest goes first, and is counted. Of the whole run there is a summary
//! ([`Overview`]).

use std::collections::VecDeque;

use super::overview::Overview;
use super::{Extreme, Who};
use crate::kernel::bus::Bus;
use crate::kernel::clock::Clocks;
use crate::kernel::observe::threads::Thread;

/// How somebody came to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// A measuring window began.
    Window,
    /// The core was reset.
    Reset,
    /// An interrupt was taken.
    Entered {
        /// Cycles since it became pending.
        latency: u64,
        /// Straight from another handler.
        chained: bool,
    },
    /// The handler that had interrupted it has ended.
    Resumed,
    /// A thread took over from another one.
    Switched {
        /// The other one had asked for it.
        by_itself: bool,
        /// Cycles since it was woken up, if it was and that is known.
        waited: Option<u64>,
    },
}

/// Segments kept.
const CAPACITY: usize = 1 << 16;

/// Somebody runs without a break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Who.
    pub who: Who,
    /// How it came to run.
    pub start: Start,
    /// First cycle.
    pub begin: u64,
    /// Cycle after the last.
    pub end: u64,
    /// Cycles asleep among them.
    pub asleep: u64,
}

/// Which part of the run to keep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Keep {
    /// The end.
    Last,
    /// Around the worst latency.
    Worst(LatencyOwner),
}

/// Whose latencies count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LatencyOwner {
    /// All threads' from wake-up to run or, where none was woken up, all interrupts'.
    All,
    /// Those of the threads of this name, or whose stack is here.
    Thread {
        /// Name.
        name: String,
        /// Where the stack is.
        stack: std::ops::Range<u32>,
    },
    /// Those of this exception.
    Exception(u16),
}

/// The worst latency and who had it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Worst {
    /// Who waited.
    pub who: Who,
    /// How long, and when it ended.
    pub time: Extreme,
}

/// What was kept.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kept {
    /// In order of time.
    pub segments: Vec<Segment>,
    /// Every segment from this cycle on
    pub begin: u64,
    /// to this one is there.
    pub end: u64,
    /// The latency that it shows.
    pub worst: Option<Worst>,
    /// Segments that were asked for but that there was no room for: they came before `begin`.
    pub dropped: u64,
}

/// Keeps segments.
#[derive(Debug)]
pub struct Log {
    keep: Keep,
    span_nanoseconds: u64,
    ring: VecDeque<Segment>,
    /// Ends of segments that had to go, newest last: how many went, and the last one's end.
    dropped: u64,
    dropped_until: u64,
    open: Option<Segment>,
    paused: bool,
    kept: Kept,
    /// The window around the worst is complete in this cycle.
    due: Option<u64>,
    /// For a run without any wake-up.
    interrupts: bool,
    last: u64,
    overview: Overview,
    /// When the open segment began, in nanoseconds.
    open_since_ns: u64,
}

impl Log {
    /// A log that keeps about so much time.
    pub fn new(keep: Keep, span_nanoseconds: u64) -> Self {
        Log {
            keep,
            span_nanoseconds,
            ring: VecDeque::new(),
            dropped: 0,
            dropped_until: 0,
            open: None,
            paused: false,
            kept: Kept::default(),
            due: None,
            interrupts: true,
            last: 0,
            overview: Overview::default(),
            open_since_ns: 0,
        }
    }

    /// The end of the run, by its clock, or what was kept around the worst latency.
    pub fn kept(&self, bus: &Bus) -> Kept {
        match self.keep {
            Keep::Worst(_) => self.kept.clone(),
            Keep::Last => {
                let end = self.last;
                let until = bus.clocks.nanoseconds_at(end);
                let begin = until.saturating_sub(self.span_nanoseconds);
                self.cut(bus.clocks.cycle_at_nanoseconds(begin).min(end), end, None)
            }
        }
    }

    /// The whole run in short.
    pub fn overview(&self) -> &Overview {
        &self.overview
    }

    pub(super) fn set_active(&mut self, active: bool) {
        self.paused = !active;
    }

    pub(super) fn advance(&mut self, now: u64, asleep: u64) {
        self.last = now;
        if let Some(open) = &mut self.open {
            open.end = now;
            open.asleep += asleep;
        }
        if self.due.is_some_and(|due| now >= due) {
            self.take_worst();
        }
    }

    pub(super) fn change(&mut self, who: Who, now: u64, start: Start, clocks: &Clocks) {
        let since_ns = std::mem::replace(&mut self.open_since_ns, clocks.nanoseconds_at(now));
        if let Some(open) = self.open.take().filter(|open| !self.paused && open.end > open.begin) {
            self.overview.add(&open, since_ns, self.open_since_ns);
            if self.ring.len() == CAPACITY {
                if self.due.is_some() {
                    self.take_worst();
                }
                self.dropped_until = self.ring.pop_front().map_or(0, |oldest| oldest.end);
                self.dropped += 1;
            }
            self.ring.push_back(open);
        }
        self.open = Some(Segment { who, start, begin: now, end: now, asleep: 0 });
    }

    /// A latency has ended: is it the worst so far?
    pub(super) fn judge(&mut self, who: Who, thread: Option<&Thread>, time: Extreme, bus: &Bus) {
        let Keep::Worst(whose) = &self.keep else { return };
        let wanted = match (whose, who, thread) {
            (LatencyOwner::All, Who::Thread(_), _) => true,
            (LatencyOwner::All, Who::Handler(_), _) => self.interrupts,
            (LatencyOwner::Exception(wanted), Who::Handler(exception), _) => *wanted == exception,
            (LatencyOwner::Thread { name, stack }, _, Some(thread)) => {
                thread.name == *name || stack.contains(&thread.top.wrapping_sub(1))
            }
            _ => false,
        };
        let first_wake = matches!(who, Who::Thread(_)) && std::mem::take(&mut self.interrupts);
        let worse = self.kept.worst.is_none_or(|worst| time.cycles > worst.time.cycles);
        if !wanted || !(worse || first_wake) {
            return;
        }
        let clocks = &bus.clocks;
        let at = clocks.nanoseconds_at(time.at);
        let after = self.span_nanoseconds / 4;
        let begin = clocks.cycle_at_nanoseconds(at.saturating_sub(self.span_nanoseconds - after));
        let end = clocks.cycle_at_nanoseconds(at.saturating_add(after));
        self.kept = Kept { begin: begin.min(time.at), end, ..Kept::default() };
        self.kept.worst = Some(Worst { who, time });
        self.due = Some(end);
    }

    pub(super) fn finish(&mut self, now: u64) {
        if self.due.is_some() {
            self.kept.end = self.kept.end.min(now);
            self.take_worst();
        }
    }

    /// The window around the worst latency is as complete as it gets.
    fn take_worst(&mut self) {
        self.due = None;
        let (begin, end) = (self.kept.begin, self.kept.end.min(self.last));
        self.kept = self.cut(begin, end, self.kept.worst);
    }

    fn cut(&self, begin: u64, end: u64, worst: Option<Worst>) -> Kept {
        let all = self.ring.iter().chain(&self.open);
        let inside = all.filter(|s| s.end > begin && s.begin < end && s.end > s.begin);
        let dropped = if self.dropped_until > begin { self.dropped } else { 0 };
        let begin = begin.max(self.dropped_until).min(end);
        Kept { segments: inside.copied().collect(), begin, end, worst, dropped }
    }
}
