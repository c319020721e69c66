//! A supervisor without the rest of `strobe`, for the tests of this crate.

use std::process::ExitCode;

fn main() -> ExitCode {
    strobe_experiment::host::supervise().into()
}
