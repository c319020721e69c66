//! The terminal as the simulated board's host: console, serial ports, progress.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use strobe_link::network::HostPlug;
use strobe_link::serial::HostPort;
use strobe_report::visible::Stream;
use strobe_sim::device::part::Picture;
use strobe_sim::semihost::Console;
use strobe_source::simulated::{Host, Progress, Recorder, trace};

use crate::gallery::Gallery;
use crate::{files, terminal};

/// Work that takes less needs neither a progress bar nor a word about its speed.
const NOTICED: Duration = Duration::from_secs(1);

/// Firmware output goes to standard error, so that standard output holds the report alone.
pub struct Terminal<'a> {
    bar: ProgressBar,
    started: Instant,
    quiet: bool,
    /// What serial devices send is shown, unless it goes to a port.
    shows_serial: bool,
    /// Of each serial device, its text as it is shown.
    serial: BTreeMap<String, Stream>,
    ports: Vec<HostPort>,
    plugs: Vec<HostPlug>,
    gallery: Option<Gallery>,
    recorder: Option<&'a mut dyn Recorder>,
    trace: Option<&'a mut dyn trace::Pin>,
    /// The firmware has read from standard input.
    has_read: Arc<AtomicBool>,
}

impl<'a> Terminal<'a> {
    /// A host; `quiet` drops the firmware's output, except what goes to the ports.
    pub fn new(quiet: bool, ports: Vec<HostPort>, plugs: Vec<HostPlug>) -> Self {
        let bar = spinner();
        let (started, shows_serial) = (Instant::now(), !quiet);
        let (gallery, recorder, trace) = (None, None, None);
        let (serial, has_read) = (BTreeMap::new(), Arc::default());
        Terminal {
            bar,
            started,
            quiet,
            shows_serial,
            serial,
            ports,
            plugs,
            gallery,
            recorder,
            trace,
            has_read,
        }
    }

    /// The same for a chip whose serial lines may lead to other chips: they are not shown.
    pub fn with_hidden_serial(self) -> Self {
        Terminal { shows_serial: false, ..self }
    }

    /// The same, with pictures kept.
    pub fn with_gallery(self, gallery: Option<Gallery>) -> Self {
        Terminal { gallery, ..self }
    }

    /// The same, with pin edges passed to a recorder.
    pub fn with_recorder(self, recorder: Option<&'a mut dyn Recorder>) -> Self {
        Terminal { recorder, ..self }
    }

    /// The same, with the trace pin's bytes passed on.
    pub fn with_trace(self, trace: Option<&'a mut dyn trace::Pin>) -> Self {
        Terminal { trace, ..self }
    }

    /// Takes the progress bar away before the report, delivers what ports still hold, and gives
    /// back the pictures.
    pub fn finish(&mut self) -> Option<Gallery> {
        self.bar.finish_and_clear();
        self.ports.iter_mut().for_each(HostPort::flush);
        self.ports.iter().filter_map(HostPort::failure).for_each(files::log_failed);
        self.gallery.take()
    }

    /// Shows on a terminal how long the runs took, if that was long enough to be noticed. In a pipe
    /// it would be another text each time.
    pub fn show_speed(&self, nanoseconds: u64, runs: u32) {
        let elapsed = self.started.elapsed();
        if !self.quiet && elapsed > NOTICED && io::stderr().is_terminal() {
            terminal::message(&speed_line(nanoseconds, elapsed, runs));
        }
    }

    /// Whether everything that came in would come in again: nobody typed, no other machine sent.
    pub fn is_repeatable(&self) -> bool {
        !self.expects_input() && !self.has_read.load(Ordering::Relaxed)
    }

    /// What could not be delivered: bytes or frames, the device, how many.
    pub fn lost(&self) -> impl Iterator<Item = (&'static str, &str, u64)> {
        let bytes = self.ports.iter().map(|p| ("bytes", p.device(), p.lost()));
        let frames = self.plugs.iter().map(|p| ("frames", p.device(), p.lost()));
        bytes.chain(frames).filter(|&(.., lost)| lost > 0)
    }
}

impl Host for Terminal<'_> {
    fn console(&mut self) -> Box<dyn Console> {
        let has_read = Arc::clone(&self.has_read);
        let (bar, shown) = (self.bar.clone(), Stream::default());
        Box::new(Streams { bar, shown, quiet: self.quiet, has_read })
    }

    fn serial_output(&mut self, name: &str, bytes: &[u8]) {
        let port = self.ports.iter_mut().find(|p| p.device().eq_ignore_ascii_case(name));
        if let Some(port) = port {
            self.bar.suspend(|| port.write(bytes));
        } else if self.shows_serial {
            let shown = self.serial.entry(name.to_owned()).or_default().push(bytes);
            self.bar.suspend(|| drop(io::stderr().write_all(shown.as_bytes())));
        }
    }

    fn serial_input(&mut self, room: &dyn Fn(&str) -> usize) -> Vec<(String, u8)> {
        let mut all = Vec::new();
        for port in &mut self.ports {
            let bytes = port.read(room(port.device()));
            all.extend(bytes.into_iter().map(|byte| (port.device().to_owned(), byte)));
        }
        all
    }

    fn frame_output(&mut self, name: &str, frame: &[u8]) {
        if let Some(plug) = self.plugs.iter_mut().find(|p| p.device().eq_ignore_ascii_case(name)) {
            plug.write(frame);
        }
    }

    fn frame_input(&mut self, name: &str) -> Option<Vec<u8>> {
        self.plugs.iter_mut().find(|p| p.device().eq_ignore_ascii_case(name))?.read()
    }

    fn picture(&mut self, part: &str, nanoseconds: u64, picture: &Picture) {
        if let Some(gallery) = &mut self.gallery {
            gallery.show(part, nanoseconds, picture);
        }
    }

    fn expects_input(&self) -> bool {
        !self.plugs.is_empty() || self.ports.iter().any(HostPort::expects_input)
    }

    fn keep_pace(&mut self, nanoseconds: u64) {
        let ahead = Duration::from_nanos(nanoseconds).checked_sub(self.started.elapsed());
        std::thread::sleep(ahead.unwrap_or_default());
    }

    fn recorder(&mut self) -> Option<&mut dyn Recorder> {
        // Matched, not mapped: the reference's own lifetime has to shrink.
        match &mut self.recorder {
            Some(recorder) => Some(&mut **recorder),
            None => None,
        }
    }

    fn trace_pin(&mut self) -> Option<&mut dyn trace::Pin> {
        match &mut self.trace {
            Some(pin) => Some(&mut **pin),
            None => None,
        }
    }

    fn progress(&mut self, progress: &Progress) {
        let elapsed = self.started.elapsed();
        if elapsed > NOTICED {
            self.bar.set_message(progress_line(progress, elapsed));
            self.bar.tick();
        }
    }
}

/// A line that shows how far something is, if standard error is a terminal.
fn spinner() -> ProgressBar {
    let bar =
        if io::stderr().is_terminal() { ProgressBar::new_spinner() } else { ProgressBar::hidden() };
    bar.set_style(
        ProgressStyle::with_template("{spinner} {msg}")
            .unwrap_or_else(|_| ProgressStyle::default_spinner()),
    );
    bar
}

/// The host of a run that is done again for the bounds of the first: nothing of it is shown but how
/// far it is.
pub struct RerunHost {
    bar: ProgressBar,
    started: Option<Instant>,
}

impl RerunHost {
    /// Of the low model, in which a run to a time has more to do and shows how far it is, and of
    /// the high one.
    pub fn pair() -> [RerunHost; 2] {
        [spinner(), ProgressBar::hidden()].map(|bar| RerunHost { bar, started: None })
    }
}

impl Host for RerunHost {
    fn console(&mut self) -> Box<dyn Console> {
        Box::new(())
    }

    fn progress(&mut self, progress: &Progress) {
        let elapsed = self.started.get_or_insert_with(Instant::now).elapsed();
        if elapsed > NOTICED {
            self.bar.set_message(format!("again for bounds: {}", progress_line(progress, elapsed)));
            self.bar.tick();
        }
    }
}

impl Drop for RerunHost {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Simulated against real time, when all is over.
fn speed_line(nanoseconds: u64, elapsed: Duration, runs: u32) -> String {
    let (simulated, real) = (nanoseconds as f64 / 1e9, elapsed.as_secs_f64().max(1e-3));
    let times = f64::from(runs) * simulated / real;
    let runs = if runs == 1 { String::new() } else { format!(" in {runs} runs") };
    format!("simulated {simulated:.3} s{runs}, took {real:.3} s: {times:.2} times real time")
}

/// Simulated time, its share of the whole run where that is known, and how fast it goes.
fn progress_line(progress: &Progress, elapsed: Duration) -> String {
    let simulated = progress.nanoseconds as f64 / 1e9;
    let share =
        progress.share().map_or_else(String::new, |share| format!(", {:.0} %", share * 100.0));
    let real = elapsed.as_secs_f64().max(1e-3);
    let (speed, times) = (progress.cycles as f64 / real / 1e6, simulated / real);
    format!(
        "{simulated:.3} s simulated{share}, {speed:.0} million cycles/s, {times:.2} times real time"
    )
}

struct Streams {
    bar: ProgressBar,
    shown: Stream,
    quiet: bool,
    has_read: Arc<AtomicBool>,
}

impl Console for Streams {
    fn write(&mut self, _: bool, bytes: &[u8]) {
        if !self.quiet {
            // A closed standard error must not stop the measurement.
            let shown = self.shown.push(bytes);
            self.bar.suspend(|| drop(io::stderr().write_all(shown.as_bytes())));
        }
    }

    fn read(&mut self, buffer: &mut [u8]) -> usize {
        self.has_read.store(true, Ordering::Relaxed);
        io::stdin().read(buffer).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use strobe_source::simulated::Limit;

    use super::*;

    #[test]
    fn speed_counts_all_runs() {
        let line = speed_line(500_000_000, Duration::from_secs(3), 3);
        assert_eq!(line, "simulated 0.500 s in 3 runs, took 3.000 s: 0.50 times real time");
        let line = speed_line(2_000_000_000, Duration::from_secs(4), 1);
        assert_eq!(line, "simulated 2.000 s, took 4.000 s: 0.50 times real time");
    }

    #[test]
    fn progress_has_time_share_and_speed() {
        let limit = Some(Limit::Nanoseconds(1_000_000_000));
        let progress = Progress { cycles: 12_000_000, nanoseconds: 250_000_000, limit };
        let line = progress_line(&progress, Duration::from_secs(2));
        assert_eq!(line, "0.250 s simulated, 25 %, 6 million cycles/s, 0.12 times real time");
        let endless = Progress { limit: None, ..progress };
        assert!(!progress_line(&endless, Duration::from_secs(2)).contains('%'));
        let cycles = Progress { limit: Some(Limit::Cycles(24_000_000)), ..progress };
        assert!(progress_line(&cycles, Duration::from_secs(2)).contains(", 50 %,"));
    }
}
