//! Counters of the kernel for one command: opened by its supervisor before the command starts,
//! inherited by everything that it starts.
//!
//! A counter is the supervisor's, begins with `execve` and is inherited. The supervisor executes
//! nothing else, so that its own work is not counted; what ends adds its count to the
//! supervisor's, and what still runs is added up when it is read.

use std::collections::BTreeMap;
use std::io;

use perf_event::events::{Hardware, Software};
use perf_event::{Builder, Counter};

use super::event::{Event, EventCount};

/// Counters of one command.
pub struct Counters {
    all: Vec<(Event, Result<Open, CounterError>)>,
}

struct Open {
    counter: Counter,
    without_kernel: bool,
}

impl Counters {
    /// Opens them, for what this thread starts from now on.
    pub fn open(events: &[Event]) -> Counters {
        Counters { all: events.iter().map(|event| (*event, open(*event))).collect() }
    }

    /// What they have counted.
    pub fn read(self) -> BTreeMap<Event, EventCount> {
        let read = |(event, opened): (Event, Result<Open, CounterError>)| {
            let counted = opened.and_then(|open| open.read());
            (event, counted.unwrap_or_else(|error| EventCount::Refused(error.to_string())))
        };
        self.all.into_iter().map(read).collect()
    }
}

impl Open {
    fn read(mut self) -> Result<EventCount, CounterError> {
        let data = self.counter.read_full().map_err(CounterError::Read)?;
        let ns = |time: Option<std::time::Duration>| {
            time.and_then(|time| u64::try_from(time.as_nanos()).ok()).unwrap_or(0)
        };
        Ok(EventCount::Counted {
            count: data.count(),
            enabled_ns: ns(data.time_enabled()),
            running_ns: ns(data.time_running()),
            without_kernel: self.without_kernel,
        })
    }
}

fn open(event: Event) -> Result<Open, CounterError> {
    let build = |without_kernel: bool| {
        let mut builder = builder(event);
        builder.inherit(true).enable_on_exec(true);
        builder.exclude_kernel(without_kernel).exclude_hv(without_kernel);
        builder.build().map(|counter| Open { counter, without_kernel })
    };
    match build(false) {
        Ok(open) => Ok(open),
        // Without the kernel it would count nothing, and show a 0 that is none.
        Err(error) if is_refused(&error) && !event.is_kernels() => {
            build(true).map_err(|error| explain(event, error, paranoid()))
        }
        Err(error) => Err(explain(event, error, paranoid())),
    }
}

fn builder(event: Event) -> Builder<'static> {
    match event {
        Event::TaskClock => Builder::new(Software::TASK_CLOCK),
        Event::PageFaults => Builder::new(Software::PAGE_FAULTS),
        Event::ContextSwitches => Builder::new(Software::CONTEXT_SWITCHES),
        Event::CpuMigrations => Builder::new(Software::CPU_MIGRATIONS),
        Event::Cycles => Builder::new(Hardware::CPU_CYCLES),
        Event::Instructions => Builder::new(Hardware::INSTRUCTIONS),
        Event::CacheReferences => Builder::new(Hardware::CACHE_REFERENCES),
        Event::CacheMisses => Builder::new(Hardware::CACHE_MISSES),
        Event::Branches => Builder::new(Hardware::BRANCH_INSTRUCTIONS),
        Event::BranchMisses => Builder::new(Hardware::BRANCH_MISSES),
    }
}

fn is_refused(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::PermissionDenied
}

/// What the kernel lets users count (`perf_event_paranoid`); `None` where it does not say.
fn paranoid() -> Option<i32> {
    let text = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").ok()?;
    text.trim().parse().ok()
}

/// An event that is not counted, with the remedy (perf_event_open(2), ERRORS).
#[derive(Debug, thiserror::Error)]
enum CounterError {
    /// The kernel's setting forbids it.
    #[error(
        "perf_event_paranoid is {level}; as root: sysctl kernel.perf_event_paranoid=1, or give \
         strobe CAP_PERFMON"
    )]
    Paranoid { level: i32 },
    /// A filter of system calls forbids it.
    #[error(
        "the system call is forbidden here, as in many containers; allow perf_event_open (docker: \
         --cap-add PERFMON), or run it outside"
    )]
    Forbidden,
    /// The processor has no such counter.
    #[error(
        "this machine shows no counters of the processor, as most virtual machines; run it on the \
         host, or give the machine a virtual PMU"
    )]
    NoHardware,
    /// Any other error of the system call.
    #[error("perf_event_open: {0}")]
    Open(io::Error),
    /// The counter cannot be read.
    #[error("it cannot be read: {0}")]
    Read(io::Error),
}

fn explain(event: Event, error: io::Error, paranoid: Option<i32>) -> CounterError {
    match error.kind() {
        io::ErrorKind::PermissionDenied => match paranoid {
            Some(level) if level > 1 => CounterError::Paranoid { level },
            _ => CounterError::Forbidden,
        },
        io::ErrorKind::NotFound | io::ErrorKind::Unsupported if event.is_hardware() => {
            CounterError::NoHardware
        }
        _ => CounterError::Open(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_has_its_remedy() {
        let why = |event, code, level| {
            explain(event, io::Error::from_raw_os_error(code), level).to_string()
        };
        // EPERM, ENOENT, EACCES, EMFILE, EOPNOTSUPP of Linux.
        let [perm, noent, acces, mfile, notsup] = [1, 2, 13, 24, 95];
        let paranoid = why(Event::Cycles, acces, Some(3));
        assert!(paranoid.contains("perf_event_paranoid is 3; as root: sysctl"), "{paranoid}");
        assert!(why(Event::PageFaults, perm, Some(-1)).contains("docker: --cap-add PERFMON"));
        assert!(why(Event::Cycles, noent, Some(1)).contains("virtual PMU"));
        assert!(why(Event::CacheMisses, notsup, None).contains("virtual PMU"));
        assert!(why(Event::TaskClock, mfile, None).starts_with("perf_event_open: "));
    }
}
