//! What `run` and `cycles --run` share: the options of a simulated run, and carrying it out.

mod options;
mod outcome;
mod settings;
mod world;

use std::path::Path;

use strobe_model::measurement::Finding;
use strobe_source::simulated::extremes::{Alone, OTHER_END};
use strobe_source::simulated::run_record::{EndReason, RunRecord};
use strobe_source::simulated::{
    self, HeapSettings, Host, Recorder, Settings, TimelineSettings, trace,
};
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

/// Instructions up to which every run is done again for its bounds without being asked: more than
/// fast boards execute in a second. Beyond it, one that nobody has given an end, and that had none,
/// is longer than anybody asked for; and of one whose pins are recorded three captures would be in
/// memory.
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

/// Whether a run with these settings is done again in the low and the high model: of one chip, or
/// of those of a rig.
pub fn wants_others(
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
        && records.any(simulated::extremes::differ)
}

/// Whether runs that ended so, after so many instructions, are done again without being asked.
fn is_worth_it<'a>(ends: impl Iterator<Item = (&'a EndReason, u64)>, records: bool) -> bool {
    let (mut has_no_end, mut all) = (false, 0u64);
    for (reason, instructions) in ends {
        has_no_end |= *reason == EndReason::DefaultLimit;
        all = all.saturating_add(instructions);
    }
    all <= UNASKED || !(has_no_end || records)
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
    let wanted = wants_others(setup, settings, &terminal, std::slice::from_ref(&outcome));
    let others = outputs.others.filter(|_| wanted);
    let others = others.map(|hosts| {
        let (board, likely) = (&choice.board, &outcome.record);
        simulated::extremes::run(firmware, board, settings, likely, hosts, &interrupted)
    });
    let mut record = outcome.record;
    let others = match others {
        Some(Err(Alone::OtherEnd(text))) => {
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
    let simulated::Outcome { flash, stacks, heaps, .. } = outcome;
    Ok(Finished { record, others, flash, stacks, heaps })
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
        let long = 100 * UNASKED;
        for asked in [EndReason::Limit, EndReason::Exit { code: 0 }] {
            assert!(again(&[(asked, long)]));
        }
        assert!(again(&[(EndReason::DefaultLimit, UNASKED)]));
        assert!(!again(&[(EndReason::DefaultLimit, long)]));
        // The chips of a rig count together.
        let one = EndReason::OtherChip { chip: "a".to_owned() };
        assert!(!again(&[(EndReason::DefaultLimit, UNASKED), (one, 1)]));
        assert!(with(&[(EndReason::Limit, UNASKED)], true));
        assert!(!with(&[(EndReason::Limit, long)], true));
    }
}
