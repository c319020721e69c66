//! The supervisor: runs one command, measures it, ends all that is left of it.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use nix::sys::resource::{Usage, UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Resource, Rlimit, Signal, getrlimit, pidfd_open, set_child_subreaper,
    setrlimit,
};

use super::counters::Counters;
use super::io::children;
use super::processes::{end_descendants, send_group};
use super::{Command, Ended, Outcome};

/// Runs the command that standard input names in one line of JSON, and writes its [`Outcome`] to
/// standard output. When standard input closes, the command is ended. Returns the exit code.
pub fn supervise() -> u8 {
    let _ = set_child_subreaper(Some(rustix::process::getpid()));
    let Some(command) = read_line().and_then(|line| serde_json::from_slice(&line).ok()) else {
        return 64;
    };
    let outcome = carry_out(&command);
    let Ok(answer) = serde_json::to_string(&outcome) else { return 70 };
    match writeln!(io::stdout(), "{answer}") {
        Ok(()) => 0,
        Err(_) => 74,
    }
}

/// One line, byte by byte: what follows it is nobody's.
fn read_line() -> Option<Vec<u8>> {
    let mut stdin = io::stdin();
    let mut line = Vec::new();
    let mut byte = [0];
    while line.len() < 1 << 20 {
        match stdin.read(&mut byte).ok()? {
            0 => return None,
            _ if byte == *b"\n" => return Some(line),
            _ => line.extend(byte),
        }
    }
    None
}

fn carry_out(command: &Command) -> Outcome {
    if let Some(limit) = command.file_limit {
        let Rlimit { maximum, .. } = getrlimit(Resource::Fsize);
        let least = maximum.map_or(limit, |maximum| maximum.min(limit));
        let _ = setrlimit(Resource::Fsize, Rlimit { current: Some(least), maximum });
    }
    let counters = Counters::open(&command.events);
    let floor = usage(UsageWho::RUSAGE_SELF).map_or(0, |usage| kibibytes(&usage));
    let (begin, mut child) = match start(command) {
        Ok(started) => started,
        Err(error) => return Outcome::only(Ended::NotStarted(error.to_string())),
    };
    let asked = wait(&child, begin, command);
    let wall = begin.elapsed();
    let leader = child.id() as i32;
    if asked == Some(Ended::Stopped) && command.grace_ms > 0 {
        send_group(leader, Signal::TERM);
        let _ = poll_ended(&child, Duration::from_millis(command.grace_ms));
    }
    if asked.is_some() {
        send_group(leader, Signal::KILL);
    }
    let ended = match (asked, child.wait()) {
        (Some(ended), _) => ended,
        (None, Ok(status)) => match (status.code(), status.signal()) {
            (Some(code), _) => Ended::Exit(code),
            (None, signal) => Ended::Signal(signal.unwrap_or(0)),
        },
        (None, Err(error)) => Ended::NotStarted(error.to_string()),
    };
    // Before others are reaped, which were killed and did not do their work.
    let used = usage(UsageWho::RUSAGE_CHILDREN);
    let (read_bytes, written_bytes) = children().unzip();
    let events = counters.read();
    let left_behind = end_descendants();
    Outcome { events, read_bytes, written_bytes, ..outcome(ended, wall, used, floor, left_behind) }
}

fn start(command: &Command) -> io::Result<(Instant, Child)> {
    let sink = |path: &Option<std::path::PathBuf>| -> io::Result<Stdio> {
        Ok(match path {
            Some(path) => File::create(path)?.into(),
            None => Stdio::null(),
        })
    };
    let (program, arguments) = command
        .arguments
        .split_first()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "there is no command"))?;
    let mut process = std::process::Command::new(program);
    process.args(arguments).envs(&command.environment).process_group(0);
    process.stdin(Stdio::null()).stdout(sink(&command.output)?).stderr(sink(&command.errors)?);
    if let Some(folder) = &command.folder {
        process.current_dir(folder);
    }
    let begin = Instant::now();
    Ok((begin, process.spawn()?))
}

fn descriptor(child: &Child) -> io::Result<OwnedFd> {
    Ok(pidfd_open(Pid::from_child(child), PidfdFlags::empty())?)
}

/// Waits until the command ends by itself (`None`), its time is over or nobody wants it any more.
fn wait(child: &Child, begin: Instant, command: &Command) -> Option<Ended> {
    let Ok(process) = descriptor(child) else { return Some(Ended::Stopped) };
    let stdin = io::stdin();
    let limit = command.timeout_ms.map(Duration::from_millis);
    loop {
        let left = limit.map(|limit| limit.saturating_sub(begin.elapsed()));
        if left == Some(Duration::ZERO) {
            return Some(Ended::TimedOut);
        }
        let mut all = [PollFd::new(&process, PollFlags::IN), PollFd::new(&stdin, PollFlags::IN)];
        let timeout = left.map(timespec);
        match poll(&mut all, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return Some(Ended::Stopped),
        }
        if all[0].revents().intersects(PollFlags::IN) {
            return None;
        }
        // Nothing is ever written there: it can only be closed.
        if !all[1].revents().is_empty() {
            return Some(Ended::Stopped);
        }
    }
}

fn poll_ended(child: &Child, within: Duration) -> io::Result<()> {
    let process = descriptor(child)?;
    poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&timespec(within)))?;
    Ok(())
}

fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: i64::try_from(duration.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: duration.subsec_nanos().into(),
    }
}

fn usage(who: UsageWho) -> Option<Usage> {
    getrusage(who).ok()
}

fn kibibytes(usage: &Usage) -> u64 {
    u64::try_from(usage.max_rss()).unwrap_or(0)
}

fn outcome(
    ended: Ended,
    wall: Duration,
    used: Option<Usage>,
    floor: u64,
    left_behind: u64,
) -> Outcome {
    let mut outcome = Outcome::only(ended);
    outcome.wall_ns = u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX);
    outcome.left_behind = left_behind;
    let Some(used) = used else { return outcome };
    let count = |n: i64| u64::try_from(n).unwrap_or(0);
    outcome.user_us = count(used.user_time().num_microseconds());
    outcome.system_us = count(used.system_time().num_microseconds());
    outcome.peak_bytes = kibibytes(&used) * 1024;
    outcome.peak_floor_bytes = floor * 1024;
    outcome.minor_faults = count(used.minor_page_faults());
    outcome.major_faults = count(used.major_page_faults());
    outcome.voluntary_switches = count(used.voluntary_context_switches());
    outcome.involuntary_switches = count(used.involuntary_context_switches());
    outcome
}
