//! Shows how far the programming of a firmware is, and its outcome.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use strobe_decode::container::Flashed;
use strobe_link::trace::flash::{Observer, Step};
use strobe_report::grouped;

use crate::terminal;

/// A bar on standard error, if that is a terminal.
pub struct Progress {
    bar: ProgressBar,
    /// Set by Ctrl-C.
    interrupted: Arc<AtomicBool>,
    step: Option<(Step, Instant)>,
}

impl Progress {
    /// Nothing is shown until something is programmed.
    pub fn new(quiet: bool, interrupted: Arc<AtomicBool>) -> Self {
        let shown = !quiet && io::stderr().is_terminal();
        let bar = if shown { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
        Progress { bar, interrupted, step: None }
    }
}

/// How the bar looks while so much is to be done.
fn style(known: bool) -> ProgressStyle {
    let style = ProgressStyle::with_template(if known {
        "{spinner} {msg} {wide_bar} {bytes} of {total_bytes}, {binary_bytes_per_sec}"
    } else {
        "{spinner} {msg} {elapsed}"
    });
    style.unwrap_or_else(|_| ProgressStyle::default_spinner())
}

impl Observer for Progress {
    fn begin(&mut self, step: Step, bytes: Option<u64>) {
        self.step = Some((step, Instant::now()));
        self.bar.reset();
        self.bar.set_style(style(bytes.is_some()));
        self.bar.set_length(bytes.unwrap_or_default());
        self.bar.set_message(step.to_string());
    }

    fn advance(&mut self, bytes: u64) {
        self.bar.inc(bytes);
    }

    fn goes_on(&mut self) -> bool {
        if self.step.is_some_and(|(_, begun)| begun.elapsed() >= Duration::from_millis(50)) {
            self.bar.tick();
        }
        !self.interrupted.load(Ordering::Relaxed)
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// What was programmed, in a line.
pub fn line(flashed: &Flashed) -> String {
    let rate = flashed
        .bytes_per_second()
        .map_or_else(String::new, |rate| format!(" ({} bytes/s, erasing included)", grouped(rate)));
    let verified = if flashed.verified { "verified by reading back" } else { "not verified" };
    format!(
        "{} bytes programmed in {:.2} s{rate} by {}, {verified}",
        grouped(flashed.bytes),
        Duration::from_micros(flashed.write_us).as_secs_f64(),
        flashed.by,
    )
}

/// Prints it, unless nothing was programmed.
pub fn report(flashed: Option<&Flashed>, quiet: bool) {
    if let Some(flashed) = flashed.filter(|_| !quiet) {
        terminal::message(&format!("strobe: {}", line(flashed)));
    }
}
