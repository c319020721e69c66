//! Locks of files that are being written: nobody else replaces them meanwhile.

use std::fs::{File, TryLockError};
use std::io;
use std::time::{Duration, Instant};

/// How long a lock may be somebody else's. A line is appended in a moment, and a process that is
/// being started has copies of all that is open, locks included, until its own program begins.
const PATIENCE: Duration = Duration::from_millis(500);

/// Takes a file's lock, which goes when the file is closed. Only regular files have one: nothing
/// is replaced in a device or a pipe; and not every file system has locks.
///
/// # Errors
/// If another process has it.
pub fn take(file: &File) -> io::Result<()> {
    if !file.metadata()?.is_file() {
        return Ok(());
    }
    let since = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(()),
            Err(TryLockError::WouldBlock) if since.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(TryLockError::WouldBlock) => {
                let text = "another process is writing it; name another file";
                return Err(io::Error::other(text));
            }
            // No result is lost because a lock is not to be had there.
            Err(TryLockError::Error(_)) => return Ok(()),
        }
    }
}
