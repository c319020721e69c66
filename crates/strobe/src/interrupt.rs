//! Ctrl-C, SIGTERM and SIGHUP: what runs is ended and reported.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

/// One flag for the process: a command that runs twice is ended as a whole.
static FLAG: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| {
    let flag = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&flag);
    // A second signal, with the report under way, ends at once. Without a handler the first does.
    let _ = ctrlc::set_handler(move || {
        if set.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
    flag
});

/// The flag that is set by the first signal.
pub fn flag() -> Arc<AtomicBool> {
    Arc::clone(&FLAG)
}

/// Whether there was one.
pub fn happened() -> bool {
    FLAG.load(Ordering::Relaxed)
}
