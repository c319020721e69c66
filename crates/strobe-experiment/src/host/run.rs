//! The near end of a supervisor: starts one, hands it its command, waits for its answer.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::Duration;

use super::{Command, Ended, Host, MARK, Outcome, SUPERVISOR};

/// How often the user's wish to stop is looked at.
const EVERY: Duration = Duration::from_millis(20);

/// A command that runs.
#[derive(Debug)]
pub struct Running {
    supervisor: Child,
    /// Ends the command when it closes.
    line: Option<ChildStdin>,
    answer: Receiver<Outcome>,
    outcome: Option<Outcome>,
}

/// Starts a command and comes back at once.
///
/// # Errors
/// If the supervisor cannot be started.
pub fn start(host: &Host, command: &Command) -> io::Result<Running> {
    let mut supervisor = std::process::Command::new(&host.supervisor)
        .arg(SUPERVISOR)
        .env(MARK, &host.mark)
        // What a terminal sends to its foreground is for `strobe`, which ends commands in order.
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let (mut line, answers) = (supervisor.stdin.take(), supervisor.stdout.take());
    let mut text = serde_json::to_string(command).map_err(io::Error::other)?;
    text.push('\n');
    if let Some(line) = &mut line {
        line.write_all(text.as_bytes())?;
    }
    let (send, answer) = mpsc::channel();
    if let Some(answers) = answers {
        // Nobody waits for the answer of one that was stopped.
        std::thread::spawn(move || drop(send.send(read(answers))));
    }
    Ok(Running { supervisor, line, answer, outcome: None })
}

fn read(answers: ChildStdout) -> Outcome {
    let mut text = String::new();
    let read = BufReader::new(answers).read_line(&mut text);
    let answer = read.ok().and_then(|_| serde_json::from_str(&text).ok());
    answer.unwrap_or_else(|| {
        Outcome::only(Ended::NotStarted("the supervisor ended without an answer".to_owned()))
    })
}

impl Running {
    /// Whether it has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        self.outcome = self.outcome.take().or_else(|| self.answer.try_recv().ok());
        self.outcome.is_some()
    }

    /// How it has ended by itself; `None` while it runs.
    pub fn ended(&self) -> Option<&Ended> {
        self.outcome.as_ref().map(|outcome| &outcome.ended)
    }

    /// Asks it to end, within its grace, and waits for that.
    pub fn stop(mut self) -> Outcome {
        drop(self.line.take());
        self.wait(&AtomicBool::new(false))
    }

    /// Waits for its end, or ends it when the flag is set.
    fn wait(mut self, stop: &AtomicBool) -> Outcome {
        let outcome = loop {
            if let Some(outcome) = self.outcome.take() {
                break outcome;
            }
            match self.answer.recv_timeout(EVERY) {
                Ok(outcome) => break outcome,
                Err(RecvTimeoutError::Disconnected) => {
                    break Outcome::only(Ended::NotStarted("no supervisor".to_owned()));
                }
                Err(RecvTimeoutError::Timeout) if stop.load(Ordering::Relaxed) => {
                    drop(self.line.take());
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        };
        let _ = self.supervisor.wait();
        outcome
    }
}

impl Drop for Running {
    /// No command outlives the one who started it; its supervisor sees to that.
    fn drop(&mut self) {
        drop(self.line.take());
        let _ = self.supervisor.wait();
    }
}

/// Runs a command to its end, or until the flag is set.
pub fn run(host: &Host, command: &Command, stop: &AtomicBool) -> Outcome {
    match start(host, command) {
        Ok(running) => running.wait(stop),
        Err(error) => Outcome::only(Ended::NotStarted(error.to_string())),
    }
}
