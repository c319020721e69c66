//! A simulated run, for all commands that have one: its options, and carrying it out.

mod options;
mod outcome;
mod settings;
mod world;

use std::path::Path;

use strobe_model::measurement::Finding;

use strobe_source::simulated::bounding_runs::{self, NoBounds, OTHER_END};
use strobe_source::simulated::run_record::{EndReason, RunRecord};
use strobe_source::simulated::{self, Host, Recorder, Settings, TimelineSettings, trace};
use strobe_symbols::Firmware;

pub use self::options::{Options, PathFor, Setup};
pub use self::outcome::{Finished, complete, explain, explain_as, never_reached, unreached};
pub use self::settings::{common_settings, elsewhere, heap_settings, limit, recording, settings};
use self::world::BoundsFrom;
pub use self::world::World;
use crate::board::Choice;
use crate::gallery::Gallery;
use crate::host::RerunHost;
use crate::{ending, host, input, interrupt};

/// Instructions up to which a run is repeated for its bounds without `--bounds runs`: more than
/// fast boards execute in a second. Above it, a run that only the default limit ended is longer
/// than its user asked for, and a recording would keep three captures in memory.
const AUTO_RERUN_LIMIT: u64 = 400_000_000;

/// What to see of threads.
#[derive(Default)]
pub struct Threads {
    /// Only the thread or interrupt of this name.
    pub only: Option<String>,
    /// Keep their counts apart.
    pub apart: bool,
    /// Keep who ran when.
    pub timeline: Option<TimelineSettings>,
}

/// A run of a firmware on a board, before it starts.
pub struct Run<'a> {
    path: &'a Path,
    firmware: &'a Firmware,
    choice: &'a Choice,
    setup: &'a Setup,
    settings: Settings,
    trace: Option<&'a mut dyn trace::Pin>,
    recorder: Option<&'a mut dyn Recorder>,
}

impl<'a> Run<'a> {
    /// Of the firmware in a file, on the chosen board.
    pub fn new(
        (path, firmware): (&'a Path, &'a Firmware),
        choice: &'a Choice,
        setup: &'a Setup,
        settings: Settings,
    ) -> Self {
        Run { path, firmware, choice, setup, settings, trace: None, recorder: None }
    }

    /// What leaves the trace pin goes there.
    #[must_use]
    pub fn with_trace(self, trace: Option<&'a mut dyn trace::Pin>) -> Self {
        Run { trace, ..self }
    }

    /// Every edge of every pin goes there.
    #[must_use]
    pub fn with_recorder(self, recorder: &'a mut dyn Recorder) -> Self {
        Run { recorder: Some(recorder), ..self }
    }

    /// Runs it once.
    ///
    /// # Errors
    /// When it cannot start, or what it wrote cannot be put in place.
    pub fn once(self) -> anyhow::Result<Finished> {
        self.carry_out::<RerunHost>(None)
    }

    /// Runs it, and where waits are modelled in the low and the high model too.
    ///
    /// # Errors
    /// Those of [`Run::once`].
    pub fn bounded(self) -> anyhow::Result<Finished> {
        self.carry_out(Some(&mut RerunHost::pair()))
    }

    /// The same with hosts of its own for the bounding runs.
    ///
    /// # Errors
    /// Those of [`Run::once`].
    pub fn bounded_with(self, hosts: &mut [impl Host + Send; 2]) -> anyhow::Result<Finished> {
        self.carry_out(Some(hosts))
    }

    fn carry_out<H: Host + Send>(self, hosts: Option<&mut [H; 2]>) -> anyhow::Result<Finished> {
        let Run { path, firmware, choice, setup, settings, trace, recorder } = self;
        let gallery = setup.world.pictures.as_deref().map(Gallery::new).transpose()?;
        let mut terminal = setup.host()?.with_gallery(gallery).with_recorder(recorder);
        terminal = terminal.with_trace(trace);
        let interrupted = interrupt::on_interrupt();
        let settings = &ending::extend_limit(&settings, [firmware].into_iter());
        let result = simulated::run(firmware, &choice.board, settings, &mut terminal, &interrupted);
        let galleries = terminal.finish().into_iter().collect();
        let outcome = result.map_err(explain)?;
        let pictures = Gallery::finish(galleries)?;
        let wanted =
            needs_bounding_runs(setup, settings, &terminal, std::slice::from_ref(&outcome));
        let others = hosts.filter(|_| wanted).map(|hosts| {
            let (board, likely) = (&choice.board, &outcome.record);
            bounding_runs::run(firmware, board, settings, likely, hosts, &interrupted)
        });
        let mut record = outcome.record;
        let others = match others {
            Some(Err(NoBounds::OtherEnd(text))) => {
                record.warnings.push(Finding::warning(OTHER_END, text));
                None
            }
            others => others.and_then(Result::ok),
        };
        record.subject.name = input::file_name(path);
        let runs = 1 + others.as_ref().map_or(0, |others| others.len() as u32);
        terminal.show_speed(record.window.end.nanoseconds, runs);
        complete(&mut record, &terminal, pictures);
        if let Some(note) = &choice.note {
            record.warnings.push(Finding::warning("board-choice", note));
        }
        never_reached(&mut record, setup);
        let simulated::Outcome { flash, stacks, heaps, .. } = outcome;
        Ok(Finished { record, bounding_runs: others, flash, stacks, heaps })
    }
}

/// Whether a run with these settings, of one chip or of a rig's, is repeated in the low and the
/// high model.
pub fn needs_bounding_runs(
    setup: &Setup,
    settings: &Settings,
    host: &host::Terminal,
    outcomes: &[simulated::Outcome],
) -> bool {
    let ends = outcomes.iter().map(|o| (&o.record.window.end_reason, o.instructions));
    let wanted = match setup.world.bounds {
        Some(from) => from == BoundsFrom::Runs,
        None => is_worth_it(ends, settings.record_pins),
    };
    let mut records = outcomes.iter().map(|outcome| &outcome.record);
    let interrupted = |record: &RunRecord| record.window.end_reason == EndReason::Interrupted;
    wanted
        && host.is_repeatable()
        && !records.clone().any(interrupted)
        && records.any(bounding_runs::differ)
}

/// Whether runs that ended so, after so many instructions, are done again without being asked.
fn is_worth_it<'a>(ends: impl Iterator<Item = (&'a EndReason, u64)>, records: bool) -> bool {
    let (mut has_no_end, mut all) = (false, 0u64);
    for (reason, instructions) in ends {
        has_no_end |= *reason == EndReason::DefaultLimit;
        all = all.saturating_add(instructions);
    }
    all <= AUTO_RERUN_LIMIT || !(has_no_end || records)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_runs_repeat_unless_unrequested_or_recording_many_pins() {
        let with = |ends: &[(EndReason, u64)], records: bool| {
            let ends = ends.iter().map(|(reason, instructions)| (reason, *instructions));
            is_worth_it(ends, records)
        };
        let again = |ends: &[(EndReason, u64)]| with(ends, false);
        let long = 100 * AUTO_RERUN_LIMIT;
        for asked in [EndReason::Limit, EndReason::Exit { code: 0 }] {
            assert!(again(&[(asked, long)]));
        }
        assert!(again(&[(EndReason::DefaultLimit, AUTO_RERUN_LIMIT)]));
        assert!(!again(&[(EndReason::DefaultLimit, long)]));
        // The chips of a rig count together.
        let one = EndReason::OtherChip { chip: "a".to_owned() };
        assert!(!again(&[(EndReason::DefaultLimit, AUTO_RERUN_LIMIT), (one, 1)]));
        assert!(with(&[(EndReason::Limit, AUTO_RERUN_LIMIT)], true));
        assert!(!with(&[(EndReason::Limit, long)], true));
    }
}
