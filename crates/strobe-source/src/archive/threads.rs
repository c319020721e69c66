//! Who ran, as events of starting and stopping show.

use std::collections::BTreeMap;

use crate::archive::report::{ThreadSeen, ThreadsSeen};
use strobe_decode::summary::{ValueCounts, ValueSummary};

use super::windows::{Windows, length};

/// What is known of the moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Now {
    /// Nothing yet.
    #[default]
    Unknown,
    /// A thread runs, from then on.
    Runs(i64, i64),
    /// One has stopped then, and the next has not started.
    Between(i64),
}

/// Threads so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Threads {
    now: Now,
    threads: BTreeMap<i64, ThreadSeen>,
    switching_ns: u64,
    gaps: ValueCounts,
    seen: bool,
}

impl Threads {
    fn thread(&mut self, id: i64) -> &mut ThreadSeen {
        self.threads.entry(id).or_insert_with(|| ThreadSeen { id, ..ThreadSeen::default() })
    }

    /// A thread exists.
    pub(super) fn exists(&mut self, id: i64, name: Option<&str>) {
        let thread = self.thread(id);
        if name.is_some() && thread.name.as_deref() != name {
            thread.name = name.map(str::to_owned);
        }
    }

    /// The names of threads.
    pub(super) fn name(&self, id: i64) -> Option<String> {
        self.threads.get(&id)?.name.clone()
    }

    /// A thread runs from now on.
    pub(super) fn runs(&mut self, at: i64, id: i64, name: Option<&str>, windows: &Windows) {
        self.seen = true;
        self.exists(id, name);
        match self.now {
            Now::Runs(other, from) => self.ran(other, from, at, windows),
            Now::Between(from) => {
                self.switching_ns += windows.inside(from, at);
                if windows.contain(at) {
                    self.gaps.add(length(from, at));
                }
            }
            Now::Unknown => {}
        }
        self.now = Now::Runs(id, at);
    }

    /// A thread runs no more.
    pub(super) fn stops(&mut self, at: i64, id: i64, windows: &Windows) {
        self.seen = true;
        match self.now {
            Now::Runs(running, from) if running == id => self.ran(id, from, at, windows),
            // It must have run since, if nobody else did.
            Now::Between(from) => {
                let time = windows.inside(from, at);
                let thread = self.thread(id);
                thread.unannounced_ns += time;
                thread.unannounced_runs += u64::from(time > 0);
            }
            // One was seen to start and another one stops: between them both have run, nobody knows
            // how long each.
            Now::Runs(..) | Now::Unknown => {}
        }
        self.now = Now::Between(at);
    }

    /// Events are missing behind that moment: who runs is not known until the next one starts.
    pub(super) fn lost(&mut self, at: i64, windows: &Windows) {
        if let Now::Runs(id, from) = self.now {
            self.ran(id, from, at, windows);
        }
        self.now = Now::Unknown;
    }

    fn ran(&mut self, id: i64, from: i64, at: i64, windows: &Windows) {
        let time = windows.inside(from, at);
        let thread = self.thread(id);
        thread.running_ns += time;
        thread.runs += u64::from(time > 0);
    }

    /// Who ran, of so much time in the windows, up to the end of the trace.
    pub(super) fn finish(
        mut self,
        end: i64,
        total_ns: u64,
        windows: &Windows,
    ) -> Option<ThreadsSeen> {
        if let Now::Runs(id, from) = self.now {
            self.ran(id, from, end, windows);
        }
        if !self.seen {
            return None;
        }
        let mut threads: Vec<ThreadSeen> = self.threads.into_values().collect();
        let time = |thread: &ThreadSeen| thread.running_ns + thread.unannounced_ns;
        threads.sort_by_key(|thread| (std::cmp::Reverse(time(thread)), thread.id));
        let known = threads.iter().map(time).sum::<u64>() + self.switching_ns;
        Some(ThreadsSeen {
            total_ns,
            threads,
            switching_ns: self.switching_ns,
            unknown_ns: total_ns.saturating_sub(known),
            gaps: ValueSummary::of_counts(&self.gaps, |ns| ns, None),
        })
    }
}
