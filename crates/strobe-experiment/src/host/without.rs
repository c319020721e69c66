//! Systems without what a supervisor needs: said so, instead of figures nobody can trust.

use super::{Command, Ended, Host, Outcome};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// The reason.
const WHY: &str = "experiments on the host need Linux (subreaper, pidfd, /proc)";

/// A command that keeps running; there is none here.
#[derive(Debug)]
pub struct Running;

impl Running {
    /// It has ended.
    pub fn has_ended(&mut self) -> bool {
        true
    }

    /// Nobody knows how.
    pub fn ended(&self) -> Option<&Ended> {
        None
    }

    /// Nothing to end.
    pub fn stop(self) -> Outcome {
        Outcome::only(Ended::NotStarted(WHY.to_owned()))
    }
}

/// A run's claim; there are no runs here.
#[derive(Debug)]
pub struct Lease {
    /// Nothing.
    pub mark: String,
    /// Nothing was left behind.
    pub cleaned: u64,
}

impl Lease {
    /// # Errors
    /// Always.
    pub fn take(_: &Path) -> std::io::Result<Lease> {
        Err(std::io::Error::new(std::io::ErrorKind::Unsupported, WHY))
    }
}

/// Runs nothing.
pub fn run(_: &Host, _: &Command, _: &AtomicBool) -> Outcome {
    Outcome::only(Ended::NotStarted(WHY.to_owned()))
}

/// Starts nothing.
///
/// # Errors
/// Always.
pub fn start(_: &Host, _: &Command) -> std::io::Result<Running> {
    Err(std::io::Error::new(std::io::ErrorKind::Unsupported, WHY))
}

/// Supervises nothing: the exit code of a wrong system.
pub fn supervise() -> u8 {
    70
}
