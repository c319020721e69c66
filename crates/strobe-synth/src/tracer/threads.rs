//! Threads that run in turn. One is the tracer's own, owner begin is never in the stream.

use std::collections::BTreeMap;

use super::{Marks, Number, Stream, Tracer};

/// Run times of threads during the measurement. All times are nanoseconds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Schedule {
    /// Threads with begin and end in the stream.
    pub running_ns: BTreeMap<u32, u64>,
    /// Threads with their end in the stream only: from the end before.
    pub unannounced_ns: BTreeMap<u32, u64>,
    /// Time between threads.
    pub switching_ns: u64,
    /// Each time from the end of a thread to the beginning of the next.
    pub gaps: Vec<u64>,
    /// The measurement marks.
    pub marks: Marks,
}

/// The owner of a time span.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    Thread(u32),
    Unannounced(u32),
    Switch,
}

/// The tracer's own thread.
const TRACER: u32 = 1;
const NAMES: [(u32, &str); 4] = [(0, "idle"), (TRACER, "hpwork"), (5, "init"), (6, "publisher")];

struct Model {
    tracer: Tracer,
    truth: Schedule,
    /// When the measurement began, if it did.
    measuring: Option<u64>,
    /// The spans of the time line.
    line: Vec<(Owner, u64, u64)>,
    windows: Vec<(u64, u64)>,
}

impl Model {
    /// Advances the time of the running owner, in which a measurement may begin or end.
    fn pass(&mut self, below_ns: u32) {
        self.tracer.wait(below_ns / 2);
        if self.tracer.rng.one_in(60) {
            self.mark();
            if self.tracer.rng.one_in(4) {
                self.mark_again();
            }
        }
        self.tracer.wait(below_ns / 2);
    }

    fn mark(&mut self) {
        match self.measuring.take() {
            None => {
                self.tracer.event("measurement_start", &[]);
                self.measuring = Some(self.tracer.now);
                self.truth.marks.starts += 1;
            }
            Some(from) => {
                self.tracer.event("measurement_stop", &[]);
                self.windows.push((from, self.tracer.now));
                self.truth.marks.stops += 1;
            }
        }
    }

    /// Repeats the last mark.
    fn mark_again(&mut self) {
        self.tracer.wait(300);
        let marks = &mut self.truth.marks;
        marks.repeated += 1;
        let name = if self.measuring.is_some() {
            marks.starts += 1;
            "measurement_start"
        } else {
            marks.stops += 1;
            "measurement_stop"
        };
        self.tracer.event(name, &[]);
    }

    fn turn(&mut self, thread: u32) {
        let stopped = self.tracer.now;
        self.tracer.wait(19_000);
        let from = self.tracer.now;
        let fields = |thread| [("thread_id", Number(thread))];
        if thread != TRACER {
            self.tracer.event("thread_resume", &fields(thread));
            self.line.push((Owner::Switch, stopped, from));
        }
        self.pass(match thread {
            0 => 4_000_000,
            TRACER => 5_000_000,
            _ => 200_000,
        });
        self.tracer.event("thread_suspend", &fields(thread));
        let now = self.tracer.now;
        self.line.push(match thread {
            TRACER => (Owner::Unannounced(thread), stopped, now),
            _ => (Owner::Thread(thread), from, now),
        });
    }

    /// Adds up the spans within measurements.
    fn add_up(&mut self) {
        for (owner, from, to) in &self.line {
            let parts = self
                .windows
                .iter()
                .map(|(begin, end)| end.min(to).saturating_sub(*begin.max(from)));
            let time: u64 = parts.sum();
            let inside = self.windows.iter().any(|(begin, end)| (begin..=end).contains(&to));
            let truth = &mut self.truth;
            match owner {
                Owner::Thread(id) => *truth.running_ns.entry(*id).or_default() += time,
                Owner::Unannounced(id) => *truth.unannounced_ns.entry(*id).or_default() += time,
                Owner::Switch => truth.switching_ns += time,
            }
            if *owner == Owner::Switch && inside {
                truth.gaps.push(to - from);
            }
        }
        self.truth.marks.total_ns = self.windows.iter().map(|(from, to)| to - from).sum();
    }
}

/// A stream of so many turns.
pub fn threads(seed: u64, turns: u32) -> Stream<Schedule> {
    let mut tracer = Tracer::new(seed, 1);
    NAMES.iter().for_each(|(id, name)| tracer.thread(*id, name));
    // The time before is of an unknown owner.
    tracer.wait(1000);
    tracer.event("thread_suspend", &[("thread_id", Number(5))]);
    let mut model = Model {
        tracer,
        truth: Schedule::default(),
        measuring: None,
        line: Vec::new(),
        windows: Vec::new(),
    };
    for _ in 0..turns {
        let thread = model.tracer.rng.pick(&[0, 0, TRACER, 5, 6]);
        model.turn(thread);
    }
    if model.measuring.is_some() {
        model.mark();
    }
    model.add_up();
    model.tracer.finish(11, model.truth)
}
