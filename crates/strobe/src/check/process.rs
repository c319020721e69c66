//! Running builds and strobe itself: with an end to waiting, and nothing left behind.

use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use strobe_report::visible;

use super::error::ProcessError;
use crate::interrupt;

/// Bytes of its output that are shown when a command fails.
const SHOWN: u64 = 2000;

/// How often a command is looked at.
const PAUSE: Duration = Duration::from_millis(3);

/// A command that is over sooner is not shown, and how often what is shown changes.
const SHORT: Duration = Duration::from_secs(1);
const SHOWN_EVERY: Duration = Duration::from_millis(100);

/// How a command ended, with the end of what it printed.
pub struct Ended {
    /// Its status.
    pub status: ExitStatus,
    /// The end of its output.
    pub output: String,
}

/// A command of the system's shell.
pub fn shell(command: &str) -> Command {
    let (program, flag) = if cfg!(windows) { ("cmd", "/C") } else { ("sh", "-c") };
    let mut shell = Command::new(program);
    shell.args([flag, command]);
    shell
}

/// What runs and for how long, on a terminal.
struct Progress<'a> {
    what: &'a str,
    next: Duration,
    bar: ProgressBar,
}

impl<'a> Progress<'a> {
    fn new(what: &'a str) -> Self {
        // Nothing is shown where standard error is no terminal.
        let bar = ProgressBar::new_spinner();
        let style = ProgressStyle::with_template("{spinner} {wide_msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
        Progress { what, next: SHORT, bar }
    }

    fn show(&mut self, elapsed: Duration) {
        if elapsed > self.next {
            self.next = elapsed + SHOWN_EVERY;
            self.bar.set_message(progress_line(self.what, elapsed));
            self.bar.tick();
        }
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// How long it has been running comes first: a narrow terminal cuts the end off.
fn progress_line(what: &str, elapsed: Duration) -> String {
    format!("{} s: {}", elapsed.as_secs(), visible::line(what))
}

/// Runs a command to its end, or ends it and all that it started. `what` is shown on a terminal
/// while it takes its time.
///
/// # Errors
/// When it cannot be started, takes too long or Ctrl-C ended it.
pub fn run(
    what: &str,
    command: &mut Command,
    directory: &Path,
    timeout: Duration,
) -> Result<Ended, ProcessError> {
    let stop = interrupt::on_interrupt();
    let mut log = tempfile::tempfile().map_err(no_file)?;
    command.current_dir(directory).stdin(Stdio::null()).stdout(handle(&log)?).stderr(handle(&log)?);
    // A group of its own, which can be ended as a whole.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    let began = Instant::now();
    let mut progress = Progress::new(what);
    let mut child = command.spawn().map_err(|e| ProcessError::NotStarted {
        program: command.get_program().to_string_lossy().into_owned(),
        directory: directory.to_owned(),
        error: e.to_string(),
    })?;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(Ended { status, output: tail(&mut log) }),
            Ok(None) => {}
            Err(e) => return Err(ProcessError::NoEnd(e.to_string())),
        }
        let interrupted = stop.load(std::sync::atomic::Ordering::Relaxed);
        if interrupted || began.elapsed() > timeout {
            end(&mut child);
            if interrupted {
                return Err(ProcessError::Interrupted);
            }
            return Err(ProcessError::TimedOut { timeout, output: tail(&mut log) });
        }
        progress.show(began.elapsed());
        std::thread::sleep(PAUSE);
    }
}

/// A further handle of the file for the output.
fn handle(log: &std::fs::File) -> Result<Stdio, ProcessError> {
    log.try_clone().map(Stdio::from).map_err(no_file)
}

fn no_file(error: std::io::Error) -> ProcessError {
    ProcessError::NoFile(error.to_string())
}

/// Ends a command with what it has started.
fn end(child: &mut std::process::Child) {
    #[cfg(unix)]
    {
        let group = format!("-{}", child.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
    }
    let _ = child.kill();
    let _ = child.wait();
}

/// The end of what was printed.
fn tail(log: &mut std::fs::File) -> String {
    let length = log.seek(SeekFrom::End(0)).unwrap_or(0);
    let mut bytes = Vec::new();
    let from = log.seek(SeekFrom::Start(length.saturating_sub(SHOWN)));
    let _ = from.and_then(|_| log.take(SHOWN).read_to_end(&mut bytes));
    String::from_utf8_lossy(&bytes).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_has_the_time_without_terminal_controls() {
        let line = progress_line("strobe run a\u{202e}b.elf", Duration::from_millis(61_900));
        assert_eq!(line, "61 s: strobe run a\\u{202e}b.elf");
    }

    #[test]
    fn only_what_takes_its_time_is_shown() {
        let mut progress = Progress::new("sleep");
        progress.show(Duration::from_millis(900));
        assert_eq!(progress.bar.message(), "");
        progress.show(Duration::from_millis(2_100));
        progress.show(Duration::from_millis(2_150));
        assert_eq!(progress.bar.message(), "2 s: sleep");
    }
}
