//! Events that the kernel and the processor count for a command and all its descendants
//! (`perf_event_open`): which there are, and what became of one that was asked for.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use strobe_model::measurement::Unit;

use super::{Command, Host, run};

/// An event, named as `perf stat` names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    /// Time on any processor, in nanoseconds.
    TaskClock,
    /// Page faults, with and without reading from a disk.
    PageFaults,
    /// Switches to other threads.
    ContextSwitches,
    /// Moves to another processor.
    CpuMigrations,
    /// Cycles of the processor, at whatever frequency it ran.
    Cycles,
    /// Instructions retired.
    Instructions,
    /// Accesses to the last level of cache.
    CacheReferences,
    /// Accesses that it did not hold.
    CacheMisses,
    /// Branches retired.
    Branches,
    /// Branches that were predicted wrongly.
    BranchMisses,
}

impl Event {
    /// Those that the kernel counts by itself, on every machine.
    pub const SOFTWARE: [Event; 4] =
        [Event::TaskClock, Event::PageFaults, Event::ContextSwitches, Event::CpuMigrations];
    /// Those that need counters in the processor.
    pub const HARDWARE: [Event; 6] = [
        Event::Cycles,
        Event::Instructions,
        Event::CacheReferences,
        Event::CacheMisses,
        Event::Branches,
        Event::BranchMisses,
    ];

    /// All of them.
    pub fn all() -> impl Iterator<Item = Event> {
        Event::SOFTWARE.into_iter().chain(Event::HARDWARE)
    }

    /// Its name among the metrics; valgrind counts `instructions` as well.
    pub fn name(self) -> &'static str {
        match self {
            Event::TaskClock => "perf-task-clock",
            Event::PageFaults => "perf-page-faults",
            Event::ContextSwitches => "perf-context-switches",
            Event::CpuMigrations => "perf-cpu-migrations",
            Event::Cycles => "perf-cycles",
            Event::Instructions => "perf-instructions",
            Event::CacheReferences => "perf-cache-references",
            Event::CacheMisses => "perf-cache-misses",
            Event::Branches => "perf-branches",
            Event::BranchMisses => "perf-branch-misses",
        }
    }

    /// The unit of its count.
    pub fn unit(self) -> Unit {
        match self {
            Event::TaskClock => Unit::NANOSECONDS,
            Event::Cycles => Unit::CYCLES,
            Event::Instructions => Unit::INSTRUCTIONS,
            _ => Unit::COUNT,
        }
    }

    /// Whether the processor counts it.
    pub fn is_hardware(self) -> bool {
        Event::HARDWARE.contains(&self)
    }

    /// Whether it only ever happens inside the kernel.
    pub fn is_kernels(self) -> bool {
        matches!(self, Event::ContextSwitches | Event::CpuMigrations)
    }
}

/// A number of the kernel's, with how long it was counted: a processor has few counters, and
/// events that want more take turns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EventCount {
    /// It was counted.
    Counted {
        /// How often it was seen.
        count: u64,
        /// How long it was wanted, over all threads, in nanoseconds.
        enabled_ns: u64,
        /// How long it had a counter, in nanoseconds.
        running_ns: u64,
        /// What happened inside the kernel is not in it.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        without_kernel: bool,
    },
    /// The machine does not count it: why, with the remedy.
    Refused(String),
}

impl EventCount {
    /// The count over the whole time: what was seen, scaled by the share of time in which it was
    /// counted. `None` where nobody knows, which is not 0.
    pub fn value(&self) -> Option<u64> {
        match *self {
            EventCount::Counted { running_ns: 0, .. } | EventCount::Refused(_) => None,
            EventCount::Counted { count, enabled_ns, running_ns, .. } => {
                let scaled = u128::from(count) * u128::from(enabled_ns) / u128::from(running_ns);
                u64::try_from(scaled).ok()
            }
        }
    }

    /// The share of time in which it was counted, in percent.
    pub fn share(&self) -> Option<f64> {
        match *self {
            EventCount::Counted { enabled_ns, running_ns, .. } if enabled_ns > 0 => {
                Some(running_ns as f64 / enabled_ns as f64 * 100.0)
            }
            _ => None,
        }
    }
}

/// Why this machine does not count an event; `None` if it does.
pub fn uncounted(host: &Host, event: Event, stop: &AtomicBool) -> Option<String> {
    let command = Command { events: vec![event], ..Command::line("true") };
    let mut outcome = run(host, &command.within(Duration::from_secs(30)), stop);
    let why = match outcome.events.remove(&event) {
        Some(EventCount::Refused(why)) => why,
        Some(count) if count.value().is_some() => return None,
        Some(_) => "it never had a counter".to_owned(),
        None => outcome.ended.to_string(),
    };
    Some(format!("a machine that counts {} ({why})", event.name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(count: u64, enabled_ns: u64, running_ns: u64) -> EventCount {
        EventCount::Counted { count, enabled_ns, running_ns, without_kernel: false }
    }

    #[test]
    fn a_count_is_scaled_by_its_share_of_time() {
        assert_eq!(counted(300, 1000, 1000).value(), Some(300));
        let half = counted(300, 1000, 500);
        assert_eq!((half.value(), half.share()), (Some(600), Some(50.0)));
        assert_eq!(counted(u64::MAX, 2, 1).value(), None, "beyond what a figure holds");
    }

    #[test]
    fn uncounted_events_are_unknown_and_not_0() {
        let never = counted(0, 1000, 0);
        assert_eq!((never.value(), never.share()), (None, Some(0.0)));
        assert_eq!(counted(0, 0, 0).value(), None, "the command never began");
        assert_eq!(EventCount::Refused("no counters".to_owned()).value(), None);
        assert_eq!(counted(0, 10, 10).value(), Some(0));
    }
}
