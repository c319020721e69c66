//! The file of a recording that is being made: nobody else writes it, and what is in it is on the
//! disk soon.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::{cannot_write, ledger, lock};
use crate::exit;

/// How often what was written goes to the disk (docs/recording.md).
const EVERY: Duration = Duration::from_secs(1);

/// A recording's file. It is not buffered: what was written is out of this process.
pub struct Recording {
    file: File,
    dirty: Arc<AtomicBool>,
    failed: mpsc::Receiver<io::Error>,
    /// Ends the thread when it goes.
    stop: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Recording {
    /// Whether there is a recording, or another file with something in it, that would be lost.
    ///
    /// # Errors
    /// If there is one, and no `force`.
    pub fn may_begin(path: &Path, force: bool) -> anyhow::Result<()> {
        let metadata = std::fs::metadata(path);
        if !force && metadata.is_ok_and(|metadata| metadata.is_file() && metadata.len() > 0) {
            let shown = path.display();
            return Err(exit::usage(format!("{shown} exists; --force records over it")));
        }
        Ok(())
    }

    /// Begins a file, which must not exist or be empty, or, with `force`, not be written by another
    /// process.
    ///
    /// # Errors
    /// If there is something in it (64), it is an input (64), or cannot be written (74).
    pub fn create(path: &Path, force: bool) -> anyhow::Result<Box<dyn Write>> {
        let is_regular = std::fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
        let is_new = std::fs::metadata(path).is_err();
        ledger::writes(path)?;
        Recording::may_begin(path, force)?;
        let mut options = OpenOptions::new();
        // Not truncated before it is locked: another one may be recording into it.
        let file = options.write(true).create(is_new).truncate(false).open(path);
        let file = file.map_err(|e| cannot_write(path, &e))?;
        if !is_regular && !is_new {
            return Ok(Box::new(file));
        }
        ledger::is_open(path);
        lock::take(&file).map_err(|e| cannot_write(path, &e))?;
        file.set_len(0).map_err(|e| cannot_write(path, &e))?;
        Ok(Box::new(Recording::start(file).map_err(|e| cannot_write(path, &e))?))
    }

    fn start(file: File) -> io::Result<Recording> {
        let (stop, stopped) = mpsc::channel();
        let (fail, failed) = mpsc::channel();
        let dirty = Arc::new(AtomicBool::new(false));
        let (handle, was_written) = (file.try_clone()?, Arc::clone(&dirty));
        // A disk may take long: the source must not wait for it.
        let thread = std::thread::Builder::new().spawn(move || {
            while stopped.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
                if was_written.swap(false, Ordering::Relaxed)
                    && let Err(e) = handle.sync_data()
                {
                    let _ = fail.send(e);
                }
            }
        })?;
        Ok(Recording { file, dirty, failed, stop: Some(stop), thread: Some(thread) })
    }
}

impl Write for Recording {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Ok(e) = self.failed.try_recv() {
            return Err(e);
        }
        self.dirty.store(true, Ordering::Relaxed);
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let _ = self.file.sync_all();
    }
}

#[cfg(test)]
mod tests {
    use std::fs::TryLockError;

    use super::*;

    #[test]
    fn a_recording_is_neither_overwritten_nor_written_twice() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.strobe");
        let mut first = Recording::create(&path, false).expect("a new file");
        first.write_all(b"recorded").expect("there is room");
        // As another process would.
        let other = OpenOptions::new().write(true).open(&path).expect("the file");
        assert!(matches!(other.try_lock(), Err(TryLockError::WouldBlock)));
        drop(first);
        assert!(other.try_lock().is_ok());
        assert_eq!(std::fs::read(&path).expect("the file"), b"recorded");
    }
}
