//! What the machine does beside a round: others' load, time stolen by a hypervisor, how fast small
//! writes reach the disk. Absolute figures mean little without it.

use std::fs::{self, File, OpenOptions};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::time::Instant;

use serde::{Deserialize, Serialize};

/// The machine during one round.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Environment {
    /// Runnable processes on average over the last minute, times 100; `None` where unknown.
    pub load_percent: Option<u64>,
    /// Time that a hypervisor gave to others meanwhile, in ticks of 10 ms over all processors.
    pub steal_ticks: Option<u64>,
    /// How long one write of 4 KiB took to reach the disk, in nanoseconds.
    pub sync_write_ns: Option<u64>,
}

/// Looks at the machine round by round.
#[derive(Debug)]
pub struct Probe {
    file: Option<File>,
    steal: Option<u64>,
    /// The least difference between two readings of the clock, in nanoseconds.
    pub clock_ns: u64,
}

impl Probe {
    /// Begins; the file that is written lies in that folder and goes at once.
    pub fn new(folder: &Path) -> Probe {
        let path = folder.join(format!("probe-{}", std::process::id()));
        let file = OpenOptions::new().write(true).create(true).truncate(true).open(&path).ok();
        let _ = fs::remove_file(&path);
        Probe { file, steal: steal(), clock_ns: clock() }
    }

    /// What happened since the last look.
    pub fn look(&mut self) -> Environment {
        let now = steal();
        let steal_ticks = now.zip(self.steal).map(|(now, before)| now.saturating_sub(before));
        self.steal = now;
        Environment { load_percent: load(), steal_ticks, sync_write_ns: self.sync() }
    }

    fn sync(&mut self) -> Option<u64> {
        let file = self.file.as_mut()?;
        let begin = Instant::now();
        file.seek(SeekFrom::Start(0)).ok()?;
        file.write_all(&[0x55; 4096]).ok()?;
        file.sync_data().ok()?;
        u64::try_from(begin.elapsed().as_nanos()).ok()
    }
}

fn load() -> Option<u64> {
    let text = fs::read_to_string("/proc/loadavg").ok()?;
    let load: f64 = text.split(' ').next()?.parse().ok()?;
    Some((load * 100.0).round() as u64)
}

/// The eighth figure of the first line (proc(5)).
fn steal() -> Option<u64> {
    let text = fs::read_to_string("/proc/stat").ok()?;
    text.lines().next()?.split_whitespace().nth(8)?.parse().ok()
}

fn clock() -> u64 {
    let step = |_| {
        let begin = Instant::now();
        let mut passed = begin.elapsed();
        while passed.is_zero() {
            passed = begin.elapsed();
        }
        u64::try_from(passed.as_nanos()).unwrap_or(u64::MAX)
    };
    (0..50).map(step).min().unwrap_or(0)
}
