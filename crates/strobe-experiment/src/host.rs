//! Commands on this machine: started, measured and ended.
//!
//! A command runs under a supervisor, a process of its own: `strobe` started again under
//! [`SUPERVISOR`]. It is the reaper of everything that the command starts, so nothing escapes by a
//! double fork; it holds a pipe to its parent, so it ends everything also when its parent is
//! killed; and as it runs one command only, what the system counts for its children is exactly
//! that command with its descendants.

#[cfg(target_os = "linux")]
mod counters;
mod environment;
mod event;
mod instruments;
#[cfg(target_os = "linux")]
mod io;
mod lateness;
#[cfg(target_os = "linux")]
mod leftovers;
#[cfg(target_os = "linux")]
mod processes;
#[cfg(target_os = "linux")]
mod run;
#[cfg(target_os = "linux")]
mod supervise;
mod valgrind;
#[cfg(not(target_os = "linux"))]
mod without;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use environment::{Environment, Probe};
pub use event::{Event, EventCount, uncounted};
pub use instruments::{Instruments, UnknownInstrument, instruments};
pub use lateness::Lateness;
pub use valgrind::{Count, Counted, counted};
#[cfg(not(target_os = "linux"))]
pub use without::{Lease, Running, run, start, supervise};
#[cfg(target_os = "linux")]
pub use {leftovers::Lease, run::Running, run::run, run::start, supervise::supervise};

/// The first argument that makes `strobe` a supervisor.
pub const SUPERVISOR: &str = "__supervise";

/// The environment variable by which processes are found that a killed run left behind.
pub const MARK: &str = "STROBE_EXPERIMENT_RUN";

/// How commands are started, for all commands of a run.
#[derive(Debug, Clone)]
pub struct Host {
    /// The executable of `strobe`.
    pub supervisor: PathBuf,
    /// The value of [`MARK`].
    pub mark: String,
}

/// A command to run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Command {
    /// Program and arguments.
    pub arguments: Vec<String>,
    /// Variables of its environment, beside those of `strobe`.
    pub environment: BTreeMap<String, String>,
    /// Where it runs; `None` for where `strobe` does.
    pub folder: Option<PathBuf>,
    /// Where its standard output goes; nowhere if not said.
    pub output: Option<PathBuf>,
    /// Where its standard error goes; nowhere if not said.
    pub errors: Option<PathBuf>,
    /// When it is ended, in milliseconds.
    pub timeout_ms: Option<u64>,
    /// Bytes that a file may have which it writes.
    pub file_limit: Option<u64>,
    /// How long it may take to end itself when it is asked to, in milliseconds, before it is
    /// killed.
    pub grace_ms: u64,
    /// What the kernel counts for it and its descendants.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<Event>,
}

impl Command {
    /// A command as a line of a shell. Without anything that only a shell understands it is
    /// started directly, which leaves the shell out of the figures.
    pub fn line(line: &str) -> Command {
        let special = "|&;<>()$`\\\"'*?[#~=%\n{}!";
        let is_plain = !line.contains(|c| special.contains(c));
        let arguments = if is_plain && !line.trim().is_empty() {
            line.split_whitespace().map(str::to_owned).collect()
        } else {
            vec!["/bin/sh".to_owned(), "-c".to_owned(), line.to_owned()]
        };
        Command { arguments, ..Command::default() }
    }

    /// The same, ended after that time.
    #[must_use]
    pub fn within(mut self, timeout: Duration) -> Command {
        self.timeout_ms = Some(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX));
        self
    }
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// By itself, with that code.
    Exit(i32),
    /// By a signal.
    Signal(i32),
    /// It took longer than it may.
    TimedOut,
    /// It could not be started.
    NotStarted(String),
    /// It was ended because the whole run was.
    Stopped,
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            // A shell in between turns the signal that ended its command into a code.
            Ended::Exit(code) => match code.checked_sub(128).and_then(signal) {
                Some(name) => write!(f, "exit code {code}, by which a shell means: {name}"),
                None => write!(f, "exit code {code}"),
            },
            Ended::Signal(n) => match signal(*n) {
                Some(name) => f.write_str(name),
                None => write!(f, "signal {n}"),
            },
            Ended::TimedOut => f.write_str("timeout"),
            Ended::NotStarted(why) => write!(f, "cannot be started: {why}"),
            Ended::Stopped => f.write_str("stopped"),
        }
    }
}

/// What it means to be ended by a signal (signal(7)); `None` for those that nobody sends.
fn signal(number: i32) -> Option<&'static str> {
    Some(match number {
        1 => "hung up (signal 1)",
        2 => "interrupted (signal 2)",
        3 => "quit (signal 3)",
        4 => "crashed (signal 4, illegal instruction)",
        5 => "trapped (signal 5)",
        6 => "aborted (signal 6)",
        7 => "crashed (signal 7, bus error)",
        8 => "crashed (signal 8, division by zero or its like)",
        9 => "killed (signal 9)",
        11 => "crashed (signal 11, invalid memory reference)",
        13 => "wrote to a closed pipe (signal 13)",
        14 => "its alarm rang (signal 14)",
        15 => "terminated (signal 15)",
        24 => "used more processor time than it may (signal 24)",
        25 => "wrote a file beyond the limit (signal 25)",
        31 => "made a forbidden system call (signal 31)",
        _ => return None,
    })
}

/// What a command took.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// How it ended.
    pub ended: Ended,
    /// From its start to its end, in nanoseconds.
    pub wall_ns: u64,
    /// User time of it and its descendants, in microseconds.
    pub user_us: u64,
    /// System time of it and its descendants, in microseconds.
    pub system_us: u64,
    /// The most memory that one of them held, in bytes.
    pub peak_bytes: u64,
    /// `peak_bytes` is at least what the supervisor itself held, in bytes: a smaller peak cannot be
    /// seen.
    pub peak_floor_bytes: u64,
    /// Page faults without reading from a disk.
    pub minor_faults: u64,
    /// Page faults that read from a disk.
    pub major_faults: u64,
    /// Switches because it waited.
    pub voluntary_switches: u64,
    /// Switches because others were to run.
    pub involuntary_switches: u64,
    /// Processes that were still there when it had ended; they were killed.
    pub left_behind: u64,
    /// Bytes that it and its descendants read, where the system counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_bytes: Option<u64>,
    /// Bytes that they wrote, where the system counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_bytes: Option<u64>,
    /// What the kernel counted, of what was asked for.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub events: BTreeMap<Event, EventCount>,
}

impl Outcome {
    /// Of a command of which nothing is known but its end.
    pub fn only(ended: Ended) -> Outcome {
        Outcome {
            ended,
            wall_ns: 0,
            user_us: 0,
            system_us: 0,
            peak_bytes: 0,
            peak_floor_bytes: 0,
            minor_faults: 0,
            major_faults: 0,
            voluntary_switches: 0,
            involuntary_switches: 0,
            left_behind: 0,
            read_bytes: None,
            written_bytes: None,
            events: BTreeMap::new(),
        }
    }
}

/// The last lines of a file, of those that are not empty; `None` if it cannot be read.
pub fn tail(path: &Path, lines: usize) -> Option<String> {
    let mut file = File::open(path).ok()?;
    let from = file.metadata().ok()?.len().saturating_sub(4000);
    file.seek(SeekFrom::Start(from)).ok()?;
    let mut bytes = Vec::new();
    file.take(4000).read_to_end(&mut bytes).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let all: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    Some(all[all.len().saturating_sub(lines)..].join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_needs_a_shell_has_one() {
        assert_eq!(Command::line("sleep  0.1").arguments, ["sleep", "0.1"]);
        assert_eq!(Command::line("a | b").arguments, ["/bin/sh", "-c", "a | b"]);
        assert_eq!(Command::line("X=1 a").arguments[0], "/bin/sh");
        assert_eq!(Command::line("  ").arguments[0], "/bin/sh");
    }

    #[test]
    fn a_shells_code_for_a_signal_names_the_signal() {
        let shown = |ended: Ended| ended.to_string();
        assert_eq!(shown(Ended::Signal(11)), "crashed (signal 11, invalid memory reference)");
        assert_eq!(
            shown(Ended::Exit(139)),
            "exit code 139, by which a shell means: crashed (signal 11, invalid memory reference)"
        );
        assert_eq!(shown(Ended::Exit(1)), "exit code 1");
        assert_eq!(shown(Ended::Exit(127)), "exit code 127");
        assert_eq!(shown(Ended::Exit(128)), "exit code 128");
        assert_eq!(shown(Ended::Exit(255)), "exit code 255");
        assert_eq!(shown(Ended::Exit(-1)), "exit code -1");
        assert_eq!(shown(Ended::Signal(63)), "signal 63");
    }
}
