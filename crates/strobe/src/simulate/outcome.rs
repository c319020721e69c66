//! What becomes of a run: its record, with what only the command knows of it, or an error with the
//! exit code of whose fault it is.

use strobe_model::measurement::{Finding, Measurement, Severity};
use strobe_source::cycles::FlashState;
use strobe_source::simulated::run_record::{EndReason, RunRecord};
use strobe_source::simulated::{self, Heaps, StackUse};

use super::Setup;
use crate::gallery::Written;
use crate::{exit, host};

/// A finished run.
pub struct Finished {
    /// What was measured.
    pub record: RunRecord,
    /// The same in the low and the high model, where these were run.
    pub bounding_runs: Option<[RunRecord; 2]>,
    /// How the firmware had set the flash at the end.
    pub flash: FlashState,
    /// How deep each stack got, if that was asked for.
    pub stacks: Vec<StackUse>,
    /// What became of the heaps, if that was asked for.
    pub heaps: Option<Heaps>,
}

impl Finished {
    /// What was measured, with the bounds that the runs of the other models give.
    pub fn measurement(&self) -> Measurement {
        match &self.bounding_runs {
            Some(runs) => simulated::bounding_runs::measurement(&self.record, runs),
            None => self.record.measurement(),
        }
    }
}

/// Adds to a record what only the host knows: what it could not deliver.
pub fn complete(record: &mut RunRecord, host: &host::Terminal, pictures: Option<Written>) {
    for (what, device, lost) in host.lost() {
        let text =
            format!("{what} from {device} could not be delivered: its host end was closed or full");
        record.warnings.push(Finding::warning("undelivered", text).times(lost));
    }
    let Some(Written { files, left_out }) = pictures else { return };
    if files == 0 {
        let text = "no display and no lamp beside the chip showed a whole picture: --pictures \
                    wrote an empty list (docs/rigs.md: what each part takes for a picture)";
        record.warnings.push(Finding::warning("no-picture", text));
    }
    if left_out > 0 {
        let text = "pictures were not written: there are too many";
        record.warnings.push(Finding::warning("pictures-left-out", text).times(left_out));
    }
}

/// The code of warnings of what was asked for and never reached.
const NEVER_REACHED: &str = "never-reached";

/// Adds to a record that what was asked for was never reached.
pub fn never_reached(record: &mut RunRecord, setup: &Setup) {
    let exited = matches!(record.window.end_reason, EndReason::Exit { .. });
    if !exited && setup.until.iter().any(|until| until == "exit") {
        record.unreached.push("--until exit".to_owned());
    }
    for asked in &record.unreached {
        let text = match (asked.starts_with("--from"), asked.starts_with("--mark")) {
            (true, _) => format!("{asked} was never reached, so nothing was measured"),
            (_, true) => format!("{asked}: it never changed or was never reached"),
            _ => format!("{asked} was never reached"),
        };
        record.warnings.push(Finding::warning(NEVER_REACHED, text));
    }
}

/// What was asked for and never reached, for a measurement that is not made of the whole record.
pub fn unreached(record: &RunRecord) -> impl Iterator<Item = Finding> {
    let all = record.warnings.iter().filter(|warning| warning.code == NEVER_REACHED);
    all.map(|warning| Finding::new(Severity::Warning, NEVER_REACHED, &warning.text))
}

/// Whose fault an error is decides its exit code.
pub fn explain(error: simulated::Error) -> anyhow::Error {
    let text = error.to_string();
    explain_as(error, text)
}

/// The same with another text, that states whose error it is.
pub fn explain_as(error: simulated::Error, text: String) -> anyhow::Error {
    use simulated::Error;
    match error {
        Error::Symbol(_)
        | Error::Pin { .. }
        | Error::Serial { .. }
        | Error::Network { .. }
        | Error::Part { .. }
        | Error::Analog { .. }
        | Error::Register { .. }
        | Error::Fuses { .. }
        | Error::Rtos(_) => exit::usage(text),
        Error::Board(_)
        | Error::DoesNotFit { .. }
        | Error::WrongCore { .. }
        | Error::NoCore { .. }
        | Error::NoStart { .. }
        | Error::Vectors(_)
        | Error::Allocators(_)
        | Error::Medium { .. }
        | Error::Wires(_) => exit::data(text),
        Error::Balance(_) => error.into(),
    }
}
