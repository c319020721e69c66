//! Ctrl-C and requests to end: what runs ends properly, with its results.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Once};

use crate::exit;

/// The number of the signal that asked for the end, if it was not Ctrl-C.
static BY: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);

/// One flag for the process: a command that runs twice is ended as a whole.
static FLAG: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Whether a signal ends the process at once, since nobody looks at the flag: nothing is measured
/// yet, and what is being read may be long.
static AT_ONCE: LazyLock<Arc<AtomicBool>> = LazyLock::new(|| Arc::new(AtomicBool::new(true)));

static HEEDED: Once = Once::new();

/// A flag that Ctrl-C sets, and SIGTERM and SIGHUP on Unix: what runs then ends and is reported. A
/// second signal ends at once. Whoever started strobe with one of them ignored (`nohup`) goes on
/// having it ignored.
pub fn on_interrupt() -> Arc<AtomicBool> {
    HEEDED.call_once(|| {
        on_termination(&FLAG);
        AT_ONCE.store(false, Ordering::Relaxed);
        // Ctrl-C comes last: whoever sees that it is caught knows that the others set the flag.
        let set = Arc::clone(&FLAG);
        // Without a handler Ctrl-C just ends.
        let _ = ctrlc::set_handler(move || {
            if AT_ONCE.load(Ordering::Relaxed) || set.swap(true, Ordering::Relaxed) {
                std::process::exit(exit::INTERRUPTED.into());
            }
        });
    });
    Arc::clone(&FLAG)
}

/// Until somebody looks at the flag, SIGTERM and SIGHUP end the process with the code that Ctrl-C
/// ends it with, and not with one for each.
#[cfg(unix)]
pub fn install_handlers() {
    for signal in terminations() {
        let code = exit::INTERRUPTED.into();
        let at_once = Arc::clone(&AT_ONCE);
        let _ = signal_hook::flag::register_conditional_shutdown(signal, code, at_once);
    }
}

/// There are no such requests.
#[cfg(not(unix))]
pub fn install_handlers() {}

/// Does what takes long without a look at the flag, and yields no result that could be shown in
/// part: signals end the process meanwhile.
pub fn ends_at_once<T>(work: impl FnOnce() -> T) -> T {
    let before = AT_ONCE.swap(true, Ordering::Relaxed);
    let result = work();
    AT_ONCE.store(before, Ordering::Relaxed);
    result
}

/// A file at its size limit (`ulimit -f`) is an error of the write, with its own message and exit
/// code, and does not end the process.
pub fn ignore_sigxfsz() {
    #[cfg(unix)]
    let _ = signal_hook::flag::register(signal_hook::consts::SIGXFSZ, Arc::default());
}

/// Whether the flag is set.
pub fn happened() -> bool {
    FLAG.load(Ordering::Relaxed)
}

#[cfg(unix)]
fn on_termination(interrupted: &Arc<AtomicBool>) {
    use signal_hook::flag;

    // The flag is the last to change: whoever sees it knows the signal.
    for signal in terminations() {
        let code = exit::INTERRUPTED.into();
        // In this order: the first signal finds the flag down.
        let again = flag::register_conditional_shutdown(signal, code, interrupted.clone());
        let named = again.and_then(|_| flag::register_usize(signal, BY.clone(), signal as usize));
        let _ = named.and_then(|_| flag::register(signal, interrupted.clone()));
    }
}

/// Requests to end that are not ignored.
#[cfg(unix)]
fn terminations() -> impl Iterator<Item = i32> {
    use signal_hook::consts::{SIGHUP, SIGTERM};
    [SIGTERM, SIGHUP].into_iter().filter(|signal| !is_ignored(*signal))
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
