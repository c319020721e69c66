//! Locks of files that two runs must not use at once.

use std::fs::{File, TryLockError};
use std::time::{Duration, Instant};

/// How long a lock may be somebody else's before it counts as that.
const PATIENCE: Duration = Duration::from_secs(1);

/// Takes a file's lock.
///
/// A process that is being started has copies of all files that whoever starts it has open, locks
/// included, until its own program begins. So a file that was unlocked may be locked for a moment
/// longer.
pub(crate) fn take(file: &File) -> Result<(), TryLockError> {
    let since = Instant::now();
    loop {
        match file.try_lock() {
            Err(TryLockError::WouldBlock) if since.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(5));
            }
            taken => return taken,
        }
    }
}
