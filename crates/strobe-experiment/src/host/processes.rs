//! Processes as /proc shows them: who descends from whom, who bears a mark.

use std::collections::BTreeSet;
use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, kill_process_group, wait};

/// All processes with their parents.
fn all() -> Vec<(i32, i32)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    numbers.filter_map(|pid: i32| Some((pid, parent(pid)?))).collect()
}

/// The parent, the second field after the name, which may hold anything in its parentheses.
fn parent(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, after) = stat.rsplit_once(") ")?;
    after.split(' ').nth(1)?.parse().ok()
}

/// Everything below a process.
pub fn descendants(of: i32) -> BTreeSet<i32> {
    let all = all();
    let mut found = BTreeSet::new();
    let mut grown = true;
    while grown {
        grown = false;
        for (pid, parent) in &all {
            if (*parent == of || found.contains(parent)) && found.insert(*pid) {
                grown = true;
            }
        }
    }
    found
}

/// Processes whose environment has that variable.
pub fn marked(variable: &str) -> BTreeSet<i32> {
    let has = |pid: &i32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|entry| entry == variable.as_bytes())
    };
    all().into_iter().map(|(pid, _)| pid).filter(has).collect()
}

/// Sends a signal to a process.
pub fn send(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = kill_process(pid, signal);
    }
}

/// Sends a signal to a group of processes.
pub fn send_group(leader: i32, signal: Signal) {
    if let Some(leader) = Pid::from_raw(leader) {
        let _ = kill_process_group(leader, signal);
    }
}

/// Takes leave of children that have ended; whether any is left. Of any group: rustix's `waitpid`
/// without a process waits for those of the own group alone.
pub fn reap() -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) => {}
            Ok(None) => return true,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

/// How long helpers of a command that has ended may take to see that, and end as well.
const AFTERWARDS: Duration = Duration::from_millis(200);

/// Kills everything below this process that does not end by itself at once, and waits until it is
/// gone; how many were killed.
pub fn end_descendants() -> u64 {
    let own = std::process::id() as i32;
    let mut killed = BTreeSet::new();
    let since = Instant::now();
    while reap() && since.elapsed() < AFTERWARDS {
        std::thread::sleep(Duration::from_millis(1));
    }
    // What is killed may have started others meanwhile, which then are children of this process.
    while reap() && since.elapsed() < Duration::from_secs(10) {
        for pid in descendants(own) {
            send(pid, Signal::KILL);
            killed.insert(pid);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    killed.len() as u64
}
