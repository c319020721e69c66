//! What is added up of a thread and of a handler: cycles, runs, and how their times spread, with
//! the worst of them.

use strobe_model::measurement::Spread;

/// The greatest of many times, and where it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extreme {
    /// Cycles.
    pub cycles: u64,
    /// The cycle at which it ended.
    pub at: u64,
    /// Address of the instruction that was interrupted (latencies, handlers) or at which the
    /// thread stopped.
    pub pc: u32,
}

/// How many times spread, and where the worst was.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Times {
    /// All of them.
    pub spread: Spread,
    /// The greatest; of equal ones the first.
    pub max: Option<Extreme>,
}

impl Times {
    pub(super) fn add(&mut self, time: Extreme) {
        self.spread.add(time.cycles);
        if self.max.is_none_or(|max| time.cycles > max.cycles) {
            self.max = Some(time);
        }
    }
}

/// The longest wait of an exception's request, and what it waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LongestWait {
    /// From pending to the handler's first instruction.
    pub time: Extreme,
    /// The instruction that had masked interrupts until then, if one had.
    pub masked_from: Option<u32>,
    /// Where the interrupted function returns to.
    pub caller: Option<u32>,
    /// The exception whose handlers had the core for most of it, if one ended right before.
    pub behind: Option<u16>,
}

/// The waits of an exception's requests, inside of windows and outside.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Waits {
    /// Entries into the handler.
    pub entries: u64,
    /// The longest; of equal ones the first.
    pub longest: Option<LongestWait>,
}

impl Waits {
    pub(super) fn add(&mut self, wait: LongestWait) {
        self.entries += 1;
        if self.longest.is_none_or(|longest| wait.time.cycles > longest.time.cycles) {
            self.longest = Some(wait);
        }
    }
}

/// What a thread did.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ThreadRuns {
    /// Cycles of its own, sleep included.
    pub cycles: u64,
    /// Of these, asleep.
    pub asleep: u64,
    /// Times it took over from another thread.
    pub runs: u64,
    /// Times it gave up the core by itself.
    pub gave_up: u64,
    /// Times it was preempted.
    pub preempted: u64,
    /// Its runs: from taking over to the next thread's, without handlers' cycles.
    pub durations: Times,
    /// From wake-up to run.
    pub wakes: Times,
    /// Wake-ups at an unknown moment.
    pub wakes_unknown: u64,
}

/// What a handler did.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HandlerRuns {
    /// Exception number.
    pub exception: u16,
    /// Cycles of its own, sleep included.
    pub cycles: u64,
    /// Of these, asleep.
    pub asleep: u64,
    /// Of its entries, those from another handler without unstacking.
    pub tail_chained: u64,
    /// From pending to the first instruction; one for each entry.
    pub latency: Times,
    /// Its runs, entry and exit included, without other handlers' cycles.
    pub durations: Times,
}
