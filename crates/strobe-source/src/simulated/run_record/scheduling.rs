//! Who had the core: threads and interrupts, how long, how often, how late.
//!
//! What the figures mean exactly is in the glossary (docs/glossary.md): run, by itself, preempted,
//! latency, wake-up.

use crate::code_profile::Who;
use crate::simulated::run_record::{ExceptionStatistics, RunRecord, SimTime};
use strobe_model::measurement::{Balance, Parts, Spread, Unbalanced, Unit};
use strobe_sim::observe::schedule::Start;

/// Threads and what is known of their operating system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scheduling {
    /// The operating system, where one was recognised.
    pub rtos: Option<Rtos>,
    /// The threads, in the order in which they first ran; the first is the code from reset.
    pub threads: Vec<ThreadStatistics>,
    /// The stack that only handlers use, where the code from reset has gone over to another one and
    /// the instrument keeps that.
    pub handlers: Option<StackMark>,
    /// The window's cycles: attributed to threads and interrupts, not attributable, idle.
    pub balance: Balance,
    /// Who ran when, for a part of the run, if asked for.
    pub timeline: Option<Schedule>,
}

/// An operating system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rtos {
    /// Its name.
    pub name: String,
    /// Whether threads could be identified by its structures; else they are distinguished by their
    /// stacks.
    pub understood: bool,
    /// What could not be found, and what follows from that.
    pub notes: Vec<String>,
}

/// The deepest that a stack was, exactly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StackMark {
    /// Bytes from its top.
    pub bytes: u64,
    /// The lowest stack pointer.
    pub low: u32,
    /// Where the stack ends, if that is known.
    pub floor: Option<u32>,
    /// Other stacks are in the same variable, so that it may end above that.
    pub shares: bool,
    /// Bytes from its top by the paint that the firmware has filled it with, if it has.
    pub painted: Option<u64>,
    /// The functions on it, outermost first.
    pub chain: String,
    /// When.
    pub at: SimTime,
}

impl StackMark {
    /// Bytes that the stack has, if it is known where it ends.
    pub fn size(&self) -> Option<u64> {
        let top = u64::from(self.low) + self.bytes;
        top.checked_sub(self.floor?.into())
    }

    /// Bytes that were never in use; none if it went below its end.
    pub fn margin(&self) -> Option<u64> {
        Some(self.low.saturating_sub(self.floor?).into())
    }
}

/// One thread's statistics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadStatistics {
    /// Its name, different from all others'. In parentheses where nobody gave it one.
    pub name: String,
    /// The operating system's structure of it, as `0x20000100`.
    pub structure: Option<String>,
    /// The number that the operating system gave it.
    pub id: Option<i64>,
    /// Its priority when it last began to run, as the operating system counts.
    pub priority: Option<i64>,
    /// The part of its stack that was seen in use: lowest and highest address.
    pub stack: (String, String),
    /// Cycles of its own, those asleep included.
    pub cycles: u64,
    /// Of these, asleep or idle.
    pub idle: u64,
    /// Times it took over from another thread.
    pub runs: u64,
    /// Times it gave up the core by itself.
    pub gave_up: u64,
    /// Times it was preempted.
    pub preempted: u64,
    /// Its longest run.
    pub longest_run: Option<Extreme>,
    /// From wake-up to run.
    pub wake: Latency,
    /// Wake-ups at an unknown moment, which are not among those.
    pub wakes_unknown: u64,
    /// The deepest that its stack was, where the instrument keeps that.
    pub deepest: Option<StackMark>,
    /// All its runs, where the instrument keeps them.
    pub durations: Spread,
}

impl ThreadStatistics {
    /// Its cycles without those asleep.
    pub fn busy(&self) -> u64 {
        self.cycles.saturating_sub(self.idle)
    }
}

/// Latencies, in cycles.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Latency {
    /// How many.
    pub count: u64,
    /// The shortest.
    pub min: u64,
    /// Their sum; divide by `count` for the mean.
    pub sum: u64,
    /// The longest.
    pub max: Option<Extreme>,
    /// All of them, where the instrument keeps them.
    pub spread: Spread,
}

/// The greatest of many times, with where it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Extreme {
    /// Cycles.
    pub cycles: u64,
    /// When it ended.
    pub at: SimTime,
    /// The code that had the core before (latencies), was interrupted (interrupts) or at which the
    /// thread stopped (runs), as `0x08000123`.
    pub address: String,
    /// The function there.
    pub function: Option<String>,
}

/// Who ran when, for a part of the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    /// Start of the part.
    pub begin: SimTime,
    /// Its end.
    pub end: SimTime,
    /// The latency that it was chosen for; none for the end of the run.
    pub worst: Option<WorstLatency>,
    /// Who ran, in order of time; a first and a last one may reach over the edges. Gaps are
    /// outside of measuring windows.
    pub segments: Vec<Segment>,
    /// Segments that there was no room for; they came before `begin`.
    pub dropped: u64,
    /// The whole run in short, where the instrument keeps it.
    pub overview: Overview,
}

/// Who had how much of each stretch of the run: stretches are equally long and begin with the run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Overview {
    /// Nanoseconds in a stretch; 0 where there is no overview.
    pub width: u64,
    /// Each thread and interrupt that ran.
    pub lanes: Vec<OverviewLane>,
}

/// What a thread or an interrupt has of the stretches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverviewLane {
    /// Who.
    pub who: Who,
    /// Of each stretch: nanoseconds busy, nanoseconds asleep, segments that began.
    pub stretches: Vec<(u64, u64, u64)>,
}

/// The worst latency of the run: an interrupt's, or a thread's from wake-up to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorstLatency {
    /// Who waited.
    pub who: Who,
    /// How long, and when it ended.
    pub latency: Extreme,
}

/// Somebody runs without a break.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    /// Who.
    pub who: Who,
    /// How it came to run.
    pub start: Start,
    /// First cycle.
    pub begin: SimTime,
    /// Cycle after the last.
    pub end: SimTime,
    /// Cycles asleep or idle among them; they come last.
    pub idle: u64,
}

impl Scheduling {
    /// The sum over threads and interrupts, held against the window's cycles. `rest` means that the
    /// last thread stands for several that were not kept apart.
    ///
    /// # Errors
    /// When they are not the same.
    pub fn balanced(
        taken: u64,
        threads: &[ThreadStatistics],
        interrupts: &[ExceptionStatistics],
        rest: bool,
    ) -> Result<Balance, Unbalanced> {
        let sum = |values: &mut dyn Iterator<Item = u64>| values.fold(0, u64::saturating_add);
        let kept = threads.len().saturating_sub(usize::from(rest));
        let (threads, others) = threads.split_at(kept);
        let busy = sum(&mut threads.iter().map(ThreadStatistics::busy))
            .saturating_add(sum(&mut interrupts.iter().map(ExceptionStatistics::busy)));
        let others_busy = sum(&mut others.iter().map(ThreadStatistics::busy));
        let idle = sum(&mut threads.iter().chain(others).map(|t| t.idle))
            .saturating_add(sum(&mut interrupts.iter().map(|e| e.idle)));
        Balance::new(Parts {
            taken,
            attributed: busy,
            unattributed: if rest {
                vec![("threads that were not kept apart".to_owned(), others_busy)]
            } else {
                Vec::new()
            },
            idle,
            ..Parts::new("cycles by thread", Unit::CYCLES)
        })
    }
}

impl RunRecord {
    /// The name of a thread or an interrupt.
    pub fn who(&self, who: Who) -> String {
        match who {
            Who::Thread(thread) => {
                let threads = self.scheduling.as_ref().map(|s| s.threads.as_slice());
                let known = threads.unwrap_or_default().get(thread as usize);
                known.map_or_else(|| format!("thread {thread}"), |known| known.name.clone())
            }
            Who::Interrupt(number) => {
                let known = self.exceptions.iter().find(|e| e.number == number);
                known.map_or_else(|| format!("exception {number}"), |known| known.name.clone())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn thread(cycles: u64, idle: u64) -> ThreadStatistics {
        ThreadStatistics {
            name: String::new(),
            structure: None,
            id: None,
            priority: None,
            stack: Default::default(),
            deepest: None,
            cycles: cycles + idle,
            idle,
            runs: 0,
            gave_up: 0,
            preempted: 0,
            longest_run: None,
            wake: Latency::default(),
            wakes_unknown: 0,
            durations: Spread::default(),
        }
    }

    fn interrupt(cycles: u64) -> ExceptionStatistics {
        ExceptionStatistics { cycles, ..ExceptionStatistics::default() }
    }

    proptest! {
        #[test]
        fn thread_and_interrupt_times_balance_or_are_refused(
            threads in proptest::collection::vec((0u64..1 << 40, 0u64..1 << 40), 1..6),
            interrupts in proptest::collection::vec(0u64..1 << 40, 0..4),
            rest: bool,
            off in 0u64..3,
        ) {
            let of_threads = threads.iter().map(|(a, b)| a + b).sum::<u64>();
            let sum = of_threads + interrupts.iter().sum::<u64>();
            let threads: Vec<_> = threads.into_iter().map(|(a, b)| thread(a, b)).collect();
            let interrupts: Vec<_> = interrupts.into_iter().map(interrupt).collect();
            let balance = Scheduling::balanced(sum + off, &threads, &interrupts, rest);
            prop_assert_eq!(balance.is_ok(), off == 0);
            if let Ok(balance) = balance {
                let parts = balance.parts();
                let reasons: u64 = parts.unattributed.iter().map(|(_, n)| n).sum();
                prop_assert_eq!(parts.attributed + reasons + parts.idle, sum);
            }
        }
    }
}
