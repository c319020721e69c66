//! Bounds of a run's figures: two further runs, of the low and of the high model.
//!
//! In them each modelled wait takes its minimum and its maximum. The bounds of a figure enclose its
//! values in all three runs, and need no rule for code that waits for something. Each run takes as
//! long again. A run that is not repeated has no bounds, and a finding states it ([`no_bounds`]).

mod elsewhere;

use std::sync::atomic::AtomicBool;
use strobe_model::measurement::ids;

use crate::simulated::run_record::{EndReason, RunRecord};
use strobe_devices::board::Board;
use strobe_model::Bounds;
use strobe_model::measurement::{Content, Finding, Kind, Measurement, Profile, Section, Severity};
use strobe_model::number::{counted, grouped};
use strobe_sim::model::Model;
use strobe_symbols::Firmware;

use super::measurement::TURNS;
use super::rig::{self, Chip, Layout};
use super::settings::{Limit, Settings};
use super::{Host, Quiet};

/// Why figures differ between the runs.
const WHY: &str = "waits are modelled: bounds are those of a run with the least of each and of one \
                   with the most";

pub use strobe_model::measurement::ids::finding::NO_BOUNDS;

/// The warning that a run of another model comes to another end.
pub const OTHER_END: &str = "other-end-of-model";

/// Why there are no bounding runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoBounds {
    /// A run could not be made, or was stopped.
    NoRun,
    /// A run came to another end: a sentence on it for the reader.
    OtherEnd(String),
}

/// A bounding run stops after so many times the cycles of the likely run. Waits are a part of a
/// run's cycles, and their maximum is rarely more than twice the likely figure: a run that is twice
/// as long does not end as the likely one does.
const LONGEST: u64 = 2;

/// Distributions that a note lists whose numbers of values are unequal in the runs.
const LISTED: usize = 6;

/// Whether the models make a difference to a run: some of its waits are modelled.
pub fn differ(likely: &RunRecord) -> bool {
    modelled_waits(likely).is_some()
}

/// The cycles of the causes that have modelled waits: those of the run, and what they are with the
/// minimum and with the maximum of each wait.
fn modelled_waits(record: &RunRecord) -> Option<Bounds> {
    let open = record.modelled.iter().filter(|cause| !cause.cycles.is_exact());
    let sum = open.fold(Bounds::default(), |sum, cause| sum + cause.cycles);
    (!sum.is_exact()).then_some(sum)
}

/// The finding that the figures of a run have no bounds, if modelled waits are in them.
/// [`enclose`] takes it away.
pub fn no_bounds(record: &RunRecord) -> Option<Finding> {
    let Bounds { low, likely, high } = modelled_waits(record)?;
    let [low, likely, high] = [low, likely, high].map(grouped);
    let text = format!(
        "Figures marked ~ have no bounds: this is one run, with the likely figure of each modelled \
         wait. The causes that have such waits take {likely} cycles in it; with the minimum of \
         each wait they would take {low}, with the maximum {high}."
    );
    Some(Finding {
        advice: Some(ADVICE.to_owned()),
        ..Finding::new(Severity::Note, NO_BOUNDS, text)
    })
}

/// How to get bounds.
const ADVICE: &str = "`--bounds runs` gives bounds by two further runs, with the minimum and with \
                      the maximum of each wait; runs with interactive or external input are not \
                      repeatable.";

/// Runs the low and the high model, at the same time, with what comes in as in the likely run.
///
/// # Errors
/// If one of them could not be run or did not come to the same end: then it cannot be laid beside
/// the likely one.
pub fn run<H: Host + Send>(
    firmware: &Firmware,
    board: &Board,
    settings: &Settings,
    likely: &RunRecord,
    hosts: &mut [H; 2],
    interrupted: &AtomicBool,
) -> Result<[RunRecord; 2], NoBounds> {
    let settings = beside(settings, likely);
    let records = side_by_side(hosts, |model, host| {
        let settings = Settings { model, ..settings.clone() };
        super::record_of(firmware, board, &settings, host, interrupted).ok()
    });
    let records = records.ok_or(NoBounds::NoRun)?;
    let unlike = {
        let mut each = records.iter().zip(["minimum", "maximum"]);
        each.find_map(|(record, of)| other_end(likely, record, of))
    };
    unlike.map_or(Ok(records), Err)
}

/// The same of a rig: all its chips in the low model, and all in the high one. `likely` are the
/// chips' records, in their order. The chip `at` has the hosts; of the others nothing is seen.
///
/// # Errors
/// Those of [`run`].
pub fn run_rig<H: Host + Send>(
    layout: Layout,
    likely: &[&RunRecord],
    (at, hosts): (usize, &mut [H; 2]),
    interrupted: &AtomicBool,
) -> Result<[Vec<RunRecord>; 2], NoBounds> {
    let records = side_by_side(hosts, |model, host| {
        let chips = layout.chips.iter().zip(likely).map(|(chip, likely)| {
            let settings = Settings { model, ..beside(&chip.settings, likely) };
            chip.with_settings(settings)
        });
        let chips: Vec<Chip> = chips.collect();
        let mut quiet: Vec<Quiet> = chips.iter().map(|_| Quiet).collect();
        let mut ends: Vec<&mut dyn Host> = Vec::new();
        ends.extend(quiet.iter_mut().map(|host| host as &mut dyn Host));
        ends[at] = host;
        let layout = Layout { chips: &chips, wires: layout.wires, delay: layout.delay };
        let outcomes = rig::run(layout, &mut ends, interrupted).ok()?;
        Some(outcomes.into_iter().map(|outcome| outcome.record).collect::<Vec<RunRecord>>())
    });
    let records = records.ok_or(NoBounds::NoRun)?;
    let unlike = {
        let runs = records.iter().zip(["minimum", "maximum"]);
        let mut each =
            runs.flat_map(|(run, of)| run.iter().zip(likely).map(move |ends| (ends, of)));
        each.find_map(|((one, likely), of)| other_end(likely, one, of))
    };
    unlike.map_or(Ok(records), Err)
}

/// The low and the high model at the same time.
pub(super) fn in_both<T: Send>(one: impl Fn(Model) -> Option<T> + Sync) -> Option<[T; 2]> {
    side_by_side(&mut [(), ()], |model, ()| one(model))
}

/// The same, each with its host.
fn side_by_side<H: Send, T: Send>(
    hosts: &mut [H; 2],
    one: impl Fn(Model, &mut H) -> Option<T> + Sync,
) -> Option<[T; 2]> {
    let [of_low, of_high] = hosts;
    let (low, high) = std::thread::scope(|scope| {
        let low = scope.spawn(|| one(Model::Low, of_low));
        let high = one(Model::High, of_high);
        (low.join().ok().flatten(), high)
    });
    Some([low?, high?])
}

/// The settings of a run beside the likely one: without what only that is asked for, and with an
/// end where it takes another way.
fn beside(settings: &Settings, likely: &RunRecord) -> Settings {
    bounded(Settings { heap: None, timeline: None, ..settings.clone() }, likely)
}

/// The settings with an end, for a run that takes another way than the likely one.
fn bounded(settings: Settings, likely: &RunRecord) -> Settings {
    let ended = likely.window.end_reason == EndReason::DefaultLimit;
    if settings.limit.is_some() || ended {
        return settings;
    }
    let cycles = likely.run_cycles.saturating_mul(LONGEST);
    Settings { default_limit: Some(Limit::Cycles(cycles.saturating_add(1_000_000))), ..settings }
}

fn same_end(likely: &RunRecord, other: &RunRecord) -> bool {
    likely.window.end_reason == other.window.end_reason
}

/// What is to be stated of a run with the least or the most `of` each wait, where that came to
/// another end than the likely one.
fn other_end(likely: &RunRecord, other: &RunRecord, of: &str) -> Option<NoBounds> {
    if same_end(likely, other) {
        return None;
    }
    let end = match other.window.end_reason {
        EndReason::Interrupted => return Some(NoBounds::NoRun),
        EndReason::DefaultLimit => "it does not come to an end in twice the time".to_owned(),
        _ => super::ended(other).text,
    };
    Some(NoBounds::OtherEnd(format!(
        "with the {of} of each wait the run ends otherwise: {end}; so there are no bounds"
    )))
}

/// The measurement of a run with bounds from the two others.
pub fn measurement(likely: &RunRecord, others: &[RunRecord; 2]) -> Measurement {
    let mut out = super::measurement(likely);
    let [low, high] = others.each_ref().map(super::measurement);
    enclose(&mut out, [&low, &high]);
    out
}

/// Gives a measurement of the likely run bounds from those of the low and of the high one.
pub fn enclose(likely: &mut Measurement, others: [&Measurement; 2]) {
    strobe_analyse::envelope::enclose(likely, others, WHY);
    likely.findings.retain(|finding| finding.code != NO_BOUNDS);
    let unequal = windows(likely, others);
    likely.findings.extend(unequal);
    let elsewhere = elsewhere::functions(likely, others);
    likely.findings.extend(elsewhere);
    for section in &mut likely.sections {
        let note = numbers(section, others.map(|other| other.section(&section.id)));
        section.notes.extend(note);
        if let Content::Profile(profile) = &mut section.content {
            settle(profile);
        }
    }
}

/// What the reader should know of sums over windows, where the runs have unequal numbers of them.
fn windows(likely: &Measurement, others: [&Measurement; 2]) -> Option<Finding> {
    let [low, high] = others.map(|other| other.window.entries);
    let (own, low, high) = (likely.window.entries?, low?, high?);
    let text = format!(
        "How many windows there are depends on how long waits are: {} here, {} with the least of \
         each and {} with the most. Sums over windows and their bounds have that in them.",
        grouped(own),
        grouped(low),
        grouped(high)
    );
    (own != low || own != high).then(|| Finding::new(Severity::Note, "number-of-windows", text))
}

/// What the reader should know of values that come one by one, where the runs have unequal numbers
/// of them: one that takes another way may call what this one does not.
fn numbers(own: &Section, others: [Option<&Section>; 2]) -> Option<String> {
    let [low, high] = others.map(|other| other.map(counts).unwrap_or_default());
    let counts = counts(own);
    let mut unequal = Vec::new();
    for (at, (name, here)) in counts.iter().enumerate() {
        // Names may come again, as those of threads.
        let before = counts[..at].iter().filter(|(other, _)| other == name).count();
        let there = [&low, &high].map(|all| {
            let mut same = all.iter().filter(|(other, _)| other == name);
            same.nth(before).map_or(0, |(_, count)| *count)
        });
        let (least, most) = there.iter().fold((*here, *here), |(l, m), n| (l.min(*n), m.max(*n)));
        if least != most {
            let all = [*here, least, most].map(grouped);
            unequal.push(format!("{} ({} to {}) of {name}", all[0], all[1], all[2]));
        }
    }
    let more = unequal.len().saturating_sub(LISTED);
    unequal.truncate(LISTED);
    let mut list = unequal.join(", ");
    if more > 0 {
        list += &format!(" and {}", counted(more as u64, "other"));
    }
    (!list.is_empty()).then(|| format!("How many there are depends on how long waits are: {list}."))
}

/// How many values the distributions of a section have. Of calls, each has several of them; and
/// windows have a finding of their own.
fn counts(section: &Section) -> Vec<(String, u64)> {
    let Content::Distributions(all) = &section.content else { return Vec::new() };
    let each = all.distributions.iter().filter_map(|one| {
        let name = match section.id.as_str() {
            ids::section::CALLS => one.name.strip_suffix(ids::suffix::WITH_CALLEES)?.trim_end(),
            ids::section::WINDOWS => return None,
            _ => one.name.as_str(),
        };
        Some((name.to_owned(), one.spread.count()))
    });
    each.collect()
}

/// Measures that were unbounded in one run have the bounds of the runs, or are the same in all.
fn settle(profile: &mut Profile) {
    let samples = [&profile.leaves, &profile.chains];
    let differs =
        |id: &str| samples.iter().filter_map(|all| all.of(id)).any(|values| !values.low.is_empty());
    let turns = Kind::Modelled { why: TURNS.to_owned() };
    for measure in &mut profile.measures {
        if differs(&measure.id) {
            if measure.kind == turns {
                measure.kind = Kind::Modelled { why: WHY.to_owned() };
            }
        } else if measure.kind == turns || measure.part.is_none() {
            measure.kind = Kind::Exact;
        }
    }
}

#[cfg(test)]
mod tests {
    use strobe_model::measurement::{
        Distribution, Distributions, Ended, Instrument, Subject, Unit, Window,
    };

    use super::*;

    #[test]
    fn unequal_numbers_of_windows_are_stated() {
        let with = |entries: Option<u64>| {
            let window = Window { entries, ..Window::untimed("a test", Ended::default()) };
            Measurement::new(Subject::default(), Instrument::default(), window)
        };
        let found = |all: [Option<u64>; 3]| {
            let [mut likely, low, high] = all.map(with);
            enclose(&mut likely, [&low, &high]);
            likely.findings.pop().map(|finding| finding.text)
        };
        let stated = found([Some(1_034), Some(1_040), Some(24)]).expect("a note");
        let numbers = "1,034 here, 1,040 with the least of each and 24 with the most";
        assert!(stated.contains(numbers), "{stated}");
        assert_eq!(found([Some(3); 3]), None);
        assert_eq!(found([None; 3]), None, "the whole run");
    }

    #[test]
    fn unequal_numbers_of_values_are_stated() {
        let with = |id: &str, names: &[&str], counts: &[u64]| {
            let window = Window::untimed("a test", Ended::default());
            let mut made = Measurement::new(Subject::default(), Instrument::default(), window);
            let one = |(name, count): (&&str, &u64)| {
                let each = (0..*count).map(|_| 30u64).collect();
                Distribution::exact(*name, Unit::CYCLES, each)
            };
            let distributions = names.iter().zip(counts).map(one).collect();
            made.push(id, "values", Content::Distributions(Distributions { distributions }));
            made
        };
        let notes = |id: &str, names: &[&str], all: [&[u64]; 3]| {
            let [mut likely, low, high] = all.map(|counts| with(id, names, counts));
            enclose(&mut likely, [&low, &high]);
            likely.sections.swap_remove(0).notes.join("\n")
        };
        let states = "How many there are depends on how long waits are:";
        let calls = ["slow with callees", "slow alone", "fast with callees", "fast alone"];
        let stated =
            notes(ids::section::CALLS, &calls, [&[0, 0, 8, 8], &[0, 0, 8, 8], &[8, 8, 0, 0]]);
        assert_eq!(stated, format!("{states} 0 (0 to 8) of slow, 8 (0 to 8) of fast."));
        // The second of two threads of one name.
        let stated = notes("durations", &["worker"; 2], [&[5, 7], &[5, 9], &[5, 6]]);
        assert_eq!(stated, format!("{states} 7 (6 to 9) of worker."));
        assert_eq!(notes("durations", &["worker"], [&[3], &[3], &[3]]), "");
        let many: Vec<u64> = (1..9).collect();
        let stated = notes("latencies", &["x"; 8], [&[9; 8], &many, &[9; 8]]);
        assert!(stated.ends_with("9 (6 to 9) of x and 2 others."), "{stated}");
        assert_eq!(
            notes(ids::section::WINDOWS, &["begin to end"], [&[3], &[4], &[5]]),
            "",
            "a finding does"
        );
    }
}
