//! The terminal as the simulated board's host: console, serial ports, progress.

use std::io::{self, IsTerminal, Read, Write};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use strobe_sim::semihost::Console;
use strobe_source::simulated::Host;

/// Firmware output goes to standard error, so that standard output holds the report alone.
pub struct Terminal {
    bar: ProgressBar,
    started: Instant,
    quiet: bool,
}

impl Terminal {
    /// A host; `quiet` drops the firmware's output.
    pub fn new(quiet: bool) -> Self {
        let bar = if io::stderr().is_terminal() {
            ProgressBar::new_spinner()
        } else {
            ProgressBar::hidden()
        };
        bar.set_style(
            ProgressStyle::with_template("{spinner} {msg}")
                .unwrap_or_else(|_| ProgressStyle::default_spinner()),
        );
        Terminal { bar, started: Instant::now(), quiet }
    }

    /// Takes the progress bar away before the report.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl Host for Terminal {
    fn console(&mut self) -> Box<dyn Console> {
        Box::new(Streams { bar: self.bar.clone(), quiet: self.quiet })
    }

    fn serial_output(&mut self, _: &str, bytes: &[u8]) {
        if !self.quiet {
            self.bar.suspend(|| drop(io::stderr().write_all(bytes)));
        }
    }

    fn progress(&mut self, cycles: u64) {
        let elapsed = self.started.elapsed();
        // Short runs need no bar.
        if elapsed > Duration::from_secs(1) {
            let speed = cycles as f64 / elapsed.as_secs_f64() / 1e6;
            self.bar.set_message(format!(
                "{} million cycles, {speed:.0} million/s",
                cycles / 1_000_000
            ));
            self.bar.tick();
        }
    }
}

struct Streams {
    bar: ProgressBar,
    quiet: bool,
}

impl Console for Streams {
    fn write(&mut self, _: bool, bytes: &[u8]) {
        if !self.quiet {
            // A closed standard error must not stop the measurement.
            self.bar.suspend(|| drop(io::stderr().write_all(bytes)));
        }
    }

    fn read(&mut self, buffer: &mut [u8]) -> usize {
        io::stdin().read(buffer).unwrap_or(0)
    }
}
