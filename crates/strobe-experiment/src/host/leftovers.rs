//! What a run leaves when it is killed together with its supervisors: the next one cleans up.
//!
//! Each run holds the lock on a file of a folder, whose name its processes bear in their
//! environment. A file without a lock is one of a run that is gone.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::{MARK, processes};

/// A run's claim, which ends with it.
#[derive(Debug)]
pub struct Lease {
    /// What marks the run's processes.
    pub mark: String,
    /// Processes of earlier runs that were still there, and are not any more.
    pub cleaned: u64,
    path: PathBuf,
    // Holds the lock.
    _file: File,
}

impl Lease {
    /// Claims a run, after cleaning up behind those that are gone. The folder is made where it is
    /// missing.
    ///
    /// # Errors
    /// If the folder cannot be written.
    pub fn take(folder: &Path) -> io::Result<Lease> {
        fs::create_dir_all(folder)?;
        let cleaned = clean(folder)?;
        let started = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let mark = format!("{}-{}", std::process::id(), started.unwrap_or_default().as_nanos());
        let path = folder.join(&mark);
        let file = File::create(&path)?;
        file.lock()?;
        Ok(Lease { mark, cleaned, path, _file: file })
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Ends what runs that are gone have left, and forgets them.
fn clean(folder: &Path) -> io::Result<u64> {
    let mut killed = 0;
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let Ok(file) = File::open(&path) else { continue };
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            continue;
        }
        if let Some(mark) = path.file_name().and_then(|name| name.to_str()) {
            killed += end_marked(&format!("{MARK}={mark}"));
        }
        let _ = fs::remove_file(&path);
    }
    Ok(killed)
}

fn end_marked(variable: &str) -> u64 {
    let since = Instant::now();
    let mut killed = std::collections::BTreeSet::new();
    loop {
        let left = processes::marked(variable);
        if left.is_empty() || since.elapsed() > Duration::from_secs(5) {
            return killed.len() as u64;
        }
        for pid in left {
            processes::send(pid, Signal::KILL);
            killed.insert(pid);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
