//! What `run` and `cycles --run` share: the options of a simulated run, and carrying it out.

mod options;
mod outcome;
mod settings;
mod world;

use std::path::Path;

use strobe_model::{EndReason, Record, Warning};
use strobe_source::simulated::trace;
use strobe_source::simulated::{self, HeapSettings, Host, Recorder, Settings, TimelineSettings};
use strobe_symbols::Firmware;

pub use self::options::{Options, PathFor, Setup};
pub use self::outcome::{Finished, complete, explain, explain_as, never_reached, unreached};
use self::settings::common_settings;
pub use self::settings::{elsewhere, heap_settings, limit, recording, settings};
use self::world::BoundsFrom;
pub use self::world::World;
use crate::board::Choice;
use crate::gallery::Gallery;
use crate::host::Again;
use crate::{ending, host, input, interrupt};

/// Instructions up to which a run that nobody has given an end, and that had none, is done again
/// for its bounds without being asked: more than fast boards execute in the second for which it
/// goes on. A firmware that might have ended goes on for longer than anybody asked for.
const UNASKED: u64 = 400_000_000;

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

/// Runs the firmware on the chosen board; what leaves its trace pin goes to `trace`.
pub fn simulate(
    path: &Path,
    firmware: &Firmware,
    choice: &Choice,
    options: &Options,
    threads: Threads,
    trace: Option<&mut dyn trace::Pin>,
) -> anyhow::Result<Finished> {
    simulate_with_heap(path, firmware, choice, options, threads, None, trace)
}

/// The same, with the memory allocators watched, if they are wanted.
pub fn simulate_with_heap(
    path: &Path,
    firmware: &Firmware,
    choice: &Choice,
    options: &Options,
    threads: Threads,
    heap: Option<HeapSettings>,
    trace: Option<&mut dyn trace::Pin>,
) -> anyhow::Result<Finished> {
    let settings = Settings { heap, ..settings(options, threads)? };
    let mut again = Again::pair();
    let outputs = Outputs { recorder: None, trace, others: Some(&mut again) };
    let mut done = carry_out(path, firmware, choice, &options.setup, &settings, outputs)?;
    never_reached(&mut done.record, &options.setup);
    Ok(done)
}

/// The same from reset to the end, without marks.
pub fn whole(
    path: &Path,
    firmware: &Firmware,
    choice: &Choice,
    setup: &Setup,
    threads: Threads,
) -> anyhow::Result<Finished> {
    let Threads { only, apart, timeline } = threads;
    let settings = Settings { timeline, only, apart, ..common_settings(setup)? };
    let mut again = Again::pair();
    let outputs = Outputs { others: Some(&mut again), ..Outputs::of(None, None) };
    let mut done = carry_out(path, firmware, choice, setup, &settings, outputs)?;
    never_reached(&mut done.record, setup);
    Ok(done)
}

/// The same, for how deep each stack gets.
pub fn stacks(
    path: &Path,
    firmware: &Firmware,
    choice: &Choice,
    setup: &Setup,
) -> anyhow::Result<Finished> {
    let settings = common_settings(setup)?;
    let outputs = Outputs::<Again>::of(None, None);
    let mut done = carry_out(path, firmware, choice, setup, &settings, outputs)?;
    never_reached(&mut done.record, setup);
    Ok(done)
}

/// Runs the firmware with its memory allocators watched; `marks` are where windows begin and end.
pub fn heap(
    path: &Path,
    firmware: &Firmware,
    choice: &Choice,
    setup: &Setup,
    wanted: HeapSettings,
    marks: (Option<String>, Option<String>),
) -> anyhow::Result<Finished> {
    let settings = heap_settings(setup, wanted, marks)?;
    let outputs = Outputs::<Again>::of(None, None);
    let mut done = carry_out(path, firmware, choice, setup, &settings, outputs)?;
    never_reached(&mut done.record, setup);
    Ok(done)
}

/// The same, with every edge of every pin passed to a recorder; from a place on, if one is named.
pub fn record(
    path: &Path,
    firmware: &Firmware,
    choice: &Choice,
    setup: &Setup,
    from: Option<String>,
    recorder: &mut dyn Recorder,
    others: &mut [impl Host + Send; 2],
) -> anyhow::Result<Finished> {
    let settings = recording(setup, from)?;
    let outputs = Outputs { others: Some(others), ..Outputs::of(Some(recorder), None) };
    let mut done = carry_out(path, firmware, choice, setup, &settings, outputs)?;
    never_reached(&mut done.record, setup);
    Ok(done)
}

/// What receives a run's pin edges and trace bytes.
struct Outputs<'a, 'h, H> {
    recorder: Option<&'a mut dyn Recorder>,
    trace: Option<&'a mut dyn trace::Pin>,
    /// The hosts of the low and the high model's runs; none where these are of no use.
    others: Option<&'h mut [H; 2]>,
}

impl<'a, H> Outputs<'a, '_, H> {
    fn of(recorder: Option<&'a mut dyn Recorder>, trace: Option<&'a mut dyn trace::Pin>) -> Self {
        Outputs { recorder, trace, others: None }
    }
}

/// Whether a run is done again in the low and the high model: of one chip, or of those of a rig.
pub fn wants_others(setup: &Setup, host: &host::Terminal, outcomes: &[simulated::Outcome]) -> bool {
    let ends = outcomes.iter().map(|o| (&o.record.window.end_reason, o.instructions));
    let wanted = match setup.world.bounds {
        Some(from) => from == BoundsFrom::Runs,
        None => is_as_long_as_asked(ends),
    };
    let mut records = outcomes.iter().map(|outcome| &outcome.record);
    let interrupted = |record: &Record| record.window.end_reason == EndReason::Interrupted;
    wanted
        && host.is_repeatable()
        && !records.clone().any(interrupted)
        && records.any(simulated::extremes::differ)
}

/// Whether runs that ended so, after so many instructions, are no longer than what was asked for.
fn is_as_long_as_asked<'a>(ends: impl Iterator<Item = (&'a EndReason, u64)>) -> bool {
    let (mut has_no_end, mut all) = (false, 0u64);
    for (reason, instructions) in ends {
        has_no_end |= *reason == EndReason::DefaultLimit;
        all = all.saturating_add(instructions);
    }
    !has_no_end || all <= UNASKED
}

fn carry_out<H: Host + Send>(
    path: &Path,
    firmware: &Firmware,
    choice: &Choice,
    setup: &Setup,
    settings: &Settings,
    outputs: Outputs<H>,
) -> anyhow::Result<Finished> {
    let gallery = setup.world.pictures.as_deref().map(Gallery::new).transpose()?;
    let mut terminal = setup.host()?.with_gallery(gallery).with_recorder(outputs.recorder);
    terminal = terminal.with_trace(outputs.trace);
    let interrupted = interrupt::on_interrupt();
    let settings = &ending::patient(settings, [firmware].into_iter());
    let result = simulated::run(firmware, &choice.board, settings, &mut terminal, &interrupted);
    let galleries = terminal.finish().into_iter().collect();
    let outcome = result.map_err(explain)?;
    let pictures = Gallery::finish(galleries)?;
    let others =
        outputs.others.filter(|_| wants_others(setup, &terminal, std::slice::from_ref(&outcome)));
    let others = others.and_then(|hosts| {
        let (board, likely) = (&choice.board, &outcome.record);
        simulated::extremes::run(firmware, board, settings, likely, hosts, &interrupted)
    });
    let mut record = outcome.record;
    record.subject.file = input::file_name(path);
    complete(&mut record, &terminal, pictures);
    if let Some(note) = &choice.note {
        record.warnings.push(Warning::new("board-choice", note));
    }
    let simulated::Outcome { flash, stacks, heaps, .. } = outcome;
    Ok(Finished { record, others, flash, stacks, heaps })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_long_run_that_nobody_has_given_an_end_is_not_done_again() {
        let again = |ends: &[(EndReason, u64)]| {
            is_as_long_as_asked(ends.iter().map(|(reason, instructions)| (reason, *instructions)))
        };
        let long = 100 * UNASKED;
        for asked in [EndReason::Limit, EndReason::Exit { code: 0 }] {
            assert!(again(&[(asked, long)]));
        }
        assert!(again(&[(EndReason::DefaultLimit, UNASKED)]));
        assert!(!again(&[(EndReason::DefaultLimit, long)]));
        // The chips of a rig count together.
        let one = EndReason::OtherChip { chip: "a".to_owned() };
        assert!(!again(&[(EndReason::DefaultLimit, UNASKED), (one, 1)]));
    }
}
