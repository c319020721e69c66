//! The profile of one benchmark: its first call once more, on a board of its own, with what a run
//! records from the function's first instruction up to its return.

use crate::simulated::run_record::EndReason;
use strobe_model::measurement::{Content, Section};
use strobe_symbols::Benchmark;

use super::Bench;
use crate::simulated::settings::{DEFAULT_LIMIT, Limit, Settings};
use crate::simulated::{Error, Quiet, drive, measurement, ready, record};

/// Sections of a run that are about its code, and about nothing that a row of the table has.
const SECTIONS: [&str; 2] = ["profile", "causes"];

impl Bench<'_> {
    /// What is known of the call by place and by cause; nothing where it does not come to its end,
    /// which its row states.
    ///
    /// # Errors
    /// When the board cannot be started.
    pub(super) fn profile(
        &self,
        benchmark: &Benchmark,
        input: Option<u32>,
    ) -> Result<Vec<Section>, Error> {
        let settings = Settings {
            // Start-up and preparation are not in it.
            from: Some(format!("{:#x}", benchmark.function)),
            until: Some(self.options.after.clone()),
            default_limit: Some(DEFAULT_LIMIT),
            limit: Some(Limit::Nanoseconds(self.options.timeout)),
            model: self.model,
            ..Settings::default()
        };
        let bus = ready(self.firmware, self.board, &settings)?;
        let mut run = drive::Run::new(self.firmware, self.board, &settings, bus, &mut Quiet)?;
        let started = run.drive(&mut Quiet, self.interrupted);
        if !matches!(started, EndReason::Reached { .. }) {
            return Ok(Vec::new());
        }
        let argument = input.unwrap_or(0);
        let timeout = self.options.timeout;
        let setup = benchmark.setup.map(|function| (function, false));
        for (function, is_measured) in setup.into_iter().chain([(benchmark.function, true)]) {
            // The core stands on the function's first instruction, which it does not come to.
            if is_measured {
                run.open_window();
            }
            let called = run.call(function, argument, timeout, &mut Quiet, self.interrupted);
            if called.is_err() {
                return Ok(Vec::new());
            }
        }
        run.finish(&started, &mut Quiet);
        let record = record::make(self.firmware, self.board, &settings, run, started)?;
        let of_call = |mut section: Section| {
            let label = super::label(&benchmark.name, input);
            section.title = format!("{label}, first call: {}", section.title);
            section
        };
        let all = measurement::measurement(&record).sections.into_iter();
        let wanted = all.filter(|section| SECTIONS.contains(&section.id.as_str()));
        let has_content = |section: &Section| match &section.content {
            Content::Profile(profile) => !profile.leaves.is_empty(),
            _ => true,
        };
        Ok(wanted.filter(has_content).map(of_call).collect())
    }
}
