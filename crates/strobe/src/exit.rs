//! Exit codes: what each means, and how errors are printed.

use std::io;
use std::process::ExitCode;

use strobe_model::measurement::Ended;
use strobe_source::simulated::run_record::{EndReason, RunRecord};
use strobe_source::traced::StreamRecord;

use crate::terminal::message;

/// The part of `--help` that documents them.
pub const HELP: &str = "\
Exit codes:
  0        the run ended as asked, the firmware exited with 0, or it did not end and nobody asked
           how long it shall run (--until)
  1-63     the firmware's own exit code (semihosting); other codes of its own become 63
  64       wrong arguments
  65       unusable firmware, board or capture
  66       a file cannot be read
  68       a probe, port or server cannot be reached, or nothing comes from it, or it could not
           program the firmware
  69       a trace plan does not fit through its pin
  70       a defect in strobe
  74       a file cannot be written
  110      a budget is exceeded, or may be, or its figure is not known (strobe check); a limit is
           exceeded (strobe compare --fail-above); a benchmark takes more than in its baseline
           (strobe bench --baseline)
  120      HardFault (with --run-on its handler runs instead)
  121      lockup: a fault that no handler can take, as one inside the HardFault handler, which only
           --run-on lets run
  122      a place, edge or mark that was asked for was never reached (--from, --to, --until,
           --trigger, --mark)
  123      unmodelled register, with --strict
  130      stopped by Ctrl-C, SIGTERM or SIGHUP";

/// A variant of a comparison failed, or an expectation does not hold.
pub const FAILED: u8 = 1;
/// Wrong arguments.
pub const USAGE: u8 = 64;
/// A file that is read but cannot be used.
pub const DATA: u8 = 65;
const NO_INPUT: u8 = 66;
const NO_LINK: u8 = 68;
const DOES_NOT_FIT: u8 = 69;
const SOFTWARE: u8 = 70;
const IO: u8 = 74;
/// A budget that is not held.
pub const BUDGET: u8 = 110;
const HARD_FAULT: u8 = 120;
const LOCKUP: u8 = 121;
/// What was asked for was never reached.
pub const NEVER: u8 = 122;
const UNMODELLED: u8 = 123;
/// Stopped by the user.
pub const INTERRUPTED: u8 = 130;

/// An error that knows its exit code.
#[derive(Debug)]
pub struct Failure {
    code: u8,
    text: String,
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Failure {}

/// Wrong arguments that the parser cannot see.
pub fn usage(text: impl Into<String>) -> anyhow::Error {
    Failure { code: USAGE, text: text.into() }.into()
}

/// The same failure, of one of several files.
pub fn of_file(error: anyhow::Error, path: &std::path::Path) -> anyhow::Error {
    let name = path.display().to_string();
    match error.downcast::<Failure>() {
        Ok(failure) if failure.text.contains(&name) => failure.into(),
        Ok(Failure { code, text }) => Failure { code, text: format!("{name}: {text}") }.into(),
        Err(other) => other,
    }
}

/// The same failure with more to try.
pub fn with_advice(error: anyhow::Error, advice: &str) -> anyhow::Error {
    match error.downcast::<Failure>() {
        Ok(Failure { code, text }) => Failure { code, text: format!("{text}\n  {advice}") }.into(),
        Err(other) => other,
    }
}

/// A file that is read but cannot be used.
pub fn data(text: impl Into<String>) -> anyhow::Error {
    Failure { code: DATA, text: text.into() }.into()
}

/// A file that cannot be read.
pub fn no_input(text: impl Into<String>) -> anyhow::Error {
    Failure { code: NO_INPUT, text: text.into() }.into()
}

/// A probe, port or server that cannot be reached or is silent.
pub fn no_link(text: impl Into<String>) -> anyhow::Error {
    Failure { code: NO_LINK, text: text.into() }.into()
}

/// A trace plan that does not fit through its pin.
pub fn does_not_fit(text: impl Into<String>) -> anyhow::Error {
    Failure { code: DOES_NOT_FIT, text: text.into() }.into()
}

/// A file that cannot be written.
pub fn output(text: impl Into<String>) -> anyhow::Error {
    Failure { code: IO, text: text.into() }.into()
}

/// An error of another command of strobe, with its code.
pub fn with(code: u8, text: impl Into<String>) -> anyhow::Error {
    Failure { code, text: text.into() }.into()
}

/// Prints an error, one line per cause, and gives its exit code. A closed pipe is no error.
pub fn report(error: &anyhow::Error) -> ExitCode {
    if let Some(io) = error.downcast_ref::<io::Error>() {
        if io.kind() == io::ErrorKind::BrokenPipe {
            return ExitCode::SUCCESS;
        }
        message(&format!("strobe: {error}"));
        return IO.into();
    }
    message(&format!("strobe: {error}"));
    for cause in error.chain().skip(1) {
        message(&format!("  because: {cause}"));
    }
    let code = error.downcast_ref::<Failure>().map_or(SOFTWARE, |failure| failure.code);
    code.into()
}

/// A place that was asked for and never reached.
pub fn never(text: impl Into<String>) -> anyhow::Error {
    Failure { code: NEVER, text: text.into() }.into()
}

/// Stopped by the user before there was a result.
pub fn interrupted(text: impl Into<String>) -> anyhow::Error {
    Failure { code: INTERRUPTED, text: text.into() }.into()
}

/// The exit code for one of the firmware's own that is not 0.
fn of_firmware(code: i32) -> u8 {
    u8::try_from(code).ok().filter(|c| (1..=63).contains(c)).unwrap_or(63)
}

/// The exit code for how a measured run failed, if it did.
pub fn of_end(ended: &Ended) -> Option<u8> {
    match (ended.kind.as_str(), ended.code) {
        ("exit", Some(code)) if code != 0 => Some(of_firmware(code)),
        ("hard-fault", _) => Some(HARD_FAULT),
        ("lockup", _) => Some(LOCKUP),
        ("unmodelled", _) => Some(UNMODELLED),
        _ => None,
    }
}

/// The exit code for how a run ended.
pub fn code_for(record: &RunRecord) -> ExitCode {
    let code = match &record.window.end_reason {
        EndReason::Exit { code } if *code != 0 => of_firmware(*code),
        EndReason::HardFault => HARD_FAULT,
        EndReason::Lockup => LOCKUP,
        EndReason::Unmodelled => UNMODELLED,
        EndReason::Interrupted => INTERRUPTED,
        _ if !record.unreached.is_empty() => NEVER,
        EndReason::Exit { .. }
        | EndReason::DefaultLimit
        | EndReason::Reached { .. }
        | EndReason::Limit
        | EndReason::SleepsForever
        | EndReason::OtherChip { .. } => 0,
    };
    code.into()
}

/// The exit code for a stream that was read.
pub fn code_for_stream(record: &StreamRecord) -> ExitCode {
    if record.interrupted {
        return INTERRUPTED.into();
    }
    if record.unreached().is_empty() { ExitCode::SUCCESS } else { NEVER.into() }
}
