//! Ctrl-C and requests to end: what runs ends properly, with its results.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

/// The number of the signal that asked for the end, if it was not Ctrl-C.
static BY: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);

/// One flag for the process: a command that runs twice is ended as a whole.
static FLAG: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| {
    let flag = Arc::new(AtomicBool::new(false));
    let set = Arc::clone(&flag);
    // Without a handler Ctrl-C just ends.
    let _ = ctrlc::set_handler(move || {
        if set.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
    on_termination(&flag);
    flag
});

/// A flag that Ctrl-C sets, and SIGTERM and SIGHUP on Unix: what runs then ends and is reported. A
/// second signal ends at once. Whoever started strobe with one of them ignored (`nohup`) goes on
/// having it ignored.
pub fn on_interrupt() -> Arc<AtomicBool> {
    Arc::clone(&FLAG)
}

/// A file at its size limit (`ulimit -f`) is an error of the write, with its own message and exit
/// code, and does not end the process.
pub fn outlive_file_limits() {
    #[cfg(unix)]
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
}

/// Whether the flag is set.
pub fn happened() -> bool {
    FLAG.load(Ordering::Relaxed)
}

#[cfg(unix)]
fn on_termination(interrupted: &Arc<AtomicBool>) {
    use signal_hook::consts::{SIGHUP, SIGTERM};
    use signal_hook::flag;

    // The flag is the last to change: whoever sees it knows the signal.
    for signal in [SIGTERM, SIGHUP].into_iter().filter(|signal| !is_ignored(*signal)) {
        // In this order: the first signal finds the flag down.
        let again = flag::register_conditional_shutdown(signal, 128 + signal, interrupted.clone());
        let named = again.and_then(|_| flag::register_usize(signal, BY.clone(), signal as usize));
        let _ = named.and_then(|_| flag::register(signal, interrupted.clone()));
    }
}

#[cfg(not(unix))]
fn on_termination(_: &Arc<AtomicBool>) {}

/// What has set the flag.
pub fn by() -> &'static str {
    match BY.load(Ordering::Relaxed) {
        1 => "SIGHUP",
        15 => "SIGTERM",
        _ => "Ctrl-C",
    }
}

/// Whether this process was started with a signal ignored, where the system shows that.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
