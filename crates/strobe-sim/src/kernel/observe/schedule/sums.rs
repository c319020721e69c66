//! What is added up of a thread and of a handler: cycles, runs, and times in short with the worst of them.

/// The greatest of many times, and where it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extreme {
    /// Cycles.
    pub cycles: u64,
    /// The cycle at which it ended.
    pub at: u64,
    /// Address of the instruction that was interrupted (latencies, handlers) or at which the thread stopped.
    pub pc: u32,
}

/// Many times in short.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Times {
    /// How many.
    pub count: u64,
    /// Their sum.
    pub sum: u64,
    /// The least.
    pub min: u64,
    /// The greatest.
    pub max: Option<Extreme>,
}

impl Times {
    pub(super) fn add(&mut self, time: Extreme) {
        self.min = if self.count == 0 { time.cycles } else { self.min.min(time.cycles) };
        self.count += 1;
        self.sum += time.cycles;
        worse(&mut self.max, time);
    }
}

/// Keeps the greater of two; of equal ones the first.
pub(super) fn worse(max: &mut Option<Extreme>, time: Extreme) {
    if max.is_none_or(|max| time.cycles > max.cycles) {
        *max = Some(time);
    }
}

/// What a thread did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
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
    /// Its longest run: from taking over to the next thread's, without handlers' cycles.
    pub longest: Option<Extreme>,
    /// From wake-up to run.
    pub wakes: Times,
    /// Wake-ups at an unknown moment.
    pub wakes_unknown: u64,
}

/// What a handler did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
    /// Its longest run, entry and exit included, without other handlers' cycles.
    pub longest: Option<Extreme>,
}
