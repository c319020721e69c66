//! What a simulated run has measured, as a measurement: the one place that knows both the run's
//! record and the form that every view reads.

mod calls;
mod causes;
mod chip;
mod findings;
mod kit;
mod profile;
mod rig;
mod spreads;
mod tables;
mod threads;
mod timeline;
mod waits;

use super::bounding_runs;
use crate::simulated::run_record::{EndReason, RunRecord};
use strobe_analyse::evidence;
use strobe_isa::Machine;
use strobe_model::Cause;
use strobe_model::measurement::ids;
use strobe_model::measurement::{
    self, Cell, Content, Coverage, Ended, Measurement, Number, Quantity, Section, Subject, Trust,
    Unit, Window,
};

pub use chip::{core_timing, of_rows, of_run, on_chips};
pub use rig::{Joined, rig};
pub(super) use waits::TURNS;

/// The measurement of a run of a simulated board.
pub fn measurement(record: &RunRecord) -> Measurement {
    let model = Model::of(record);
    let mut out =
        Measurement::new(subject(record), record.instrument.clone(), window(record, &model));
    out.coverage = coverage(record, &model);
    totals(record, &model, &mut out);
    out.balances.push(record.balance.clone());
    out.balances.extend(record.scheduling.as_ref().map(|scheduling| scheduling.balance.clone()));
    out.findings = findings::findings(record);
    let sections = [
        causes::section(record, &model),
        waits::table(record, &model),
        tables::interrupts(record, &model),
        spreads::pins(record, &model),
        calls::spreads(record, &model),
        calls::worst(record, &model),
        calls::windows(record, &model),
        threads::threads(record, &model),
        profile::section(record, &model),
        spreads::latencies(record, &model),
        spreads::wake_ups(record, &model),
        threads::wake_up_times(record, &model),
        spreads::durations(record, &model),
        threads::worst_cases(record, &model),
        timeline::section(record),
        threads::stacks(record, &model),
        kit::section_of(record, &model),
        tables::unmodelled(record),
    ];
    out.sections.extend(sections.into_iter().flatten());
    evidence::follow_causes(&mut out);
    out
}

/// What models have to do with the figures of a run.
struct Model {
    /// Whether they have a part in any.
    rules: bool,
    /// Whether modelled waits are in the run: then no sum of cycles is exact, and one run does not
    /// know their bounds.
    waits: bool,
    /// Why those figures cannot be exact.
    why: Option<String>,
    /// Whether they decide how often code runs, too: then counts are those of this run, and their
    /// bounds are not known.
    counts: bool,
    /// Causes that a wait for something outside has cycles of: what of the wait's time is which
    /// depends on how long a turn takes.
    awaited: Vec<Cause>,
}

impl Model {
    fn of(record: &RunRecord) -> Self {
        if record.modelled.is_empty() {
            return Model {
                rules: false,
                waits: false,
                why: None,
                counts: false,
                awaited: Vec::new(),
            };
        }
        let mut reasons: Vec<&str> =
            record.modelled.iter().map(|modelled| modelled.why.as_str()).collect();
        reasons.sort_unstable();
        reasons.dedup();
        let waits = bounding_runs::differ(record);
        let counts = waits::decide_counts(record);
        let awaited = if counts { waits::causes(record) } else { Vec::new() };
        Model { rules: true, waits, why: Some(reasons.join("; ")), counts, awaited }
    }

    /// How often something happened.
    fn count(&self, n: u64, unit: Unit) -> Quantity {
        if self.counts { self.about(n, unit) } else { Quantity::exact(n, unit) }
    }

    /// The same in a table.
    fn times(&self, n: u64) -> Cell {
        self.count(n, Unit::COUNT).into()
    }

    /// A figure that models may have a part in, and of which nobody knows how much of one.
    fn about(&self, n: u64, unit: Unit) -> Quantity {
        let value = Number::from(n);
        let trust = Trust::Modelled { low: value, high: value, why: None };
        let modelled = || Quantity::new(Some(value), unit.clone(), trust).ok();
        let modelled = (self.rules && n > 0).then(modelled).flatten();
        modelled.unwrap_or_else(|| Quantity::exact(value, unit))
    }

    fn cell(&self, n: u64) -> Cell {
        self.about(n, Unit::COUNT).into()
    }

    /// A quotient of such a figure; nothing of nothing.
    fn mean(&self, sum: u64, n: u64) -> Cell {
        if n == 0 {
            return Cell::Empty;
        }
        let value = Number::from((sum as f64 / n as f64 * 1000.0).round() / 1000.0);
        if self.rules && sum > 0 {
            Cell::Figure {
                value: Some(value),
                trust: Trust::Modelled { low: value, high: value, why: None },
            }
        } else {
            Cell::Exact(value)
        }
    }

    /// A sum of cycles or of time: exact if no modelled wait is in the run.
    fn sum(&self, n: u64, unit: Unit) -> Quantity {
        let value = Number::from(n);
        let trust = Trust::Modelled { low: value, high: value, why: self.why.clone() };
        let modelled = || Quantity::new(Some(value), unit.clone(), trust).ok();
        let modelled = (self.waits && n > 0).then(modelled).flatten();
        modelled.unwrap_or_else(|| Quantity::exact(value, unit))
    }

    /// Why sums of cycles are not exact, where modelled waits are in the run.
    fn why_of_waits(&self) -> Option<String> {
        self.why.clone().filter(|_| self.waits)
    }
}

/// The cycles that were measured: exact where the run ended at a cycle that was given.
fn cycles(record: &RunRecord, model: &Model) -> Quantity {
    let cycles = record.totals.cycles;
    let is_given = is_to_a_time(record) && record.subject.clock.len() <= 1;
    if is_given { Quantity::exact(cycles, Unit::CYCLES) } else { model.sum(cycles, Unit::CYCLES) }
}

fn section(id: &str, title: impl Into<String>, content: Content) -> Section {
    Section { id: id.to_owned(), title: title.into(), notes: Vec::new(), content }
}

/// Nanoseconds as times of time lines are kept.
fn nanoseconds(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

fn address(hex: &str) -> Option<measurement::Address> {
    hex.parse().ok()
}

/// How long so many cycles are by the clock at a moment, in nanoseconds.
fn duration_at(
    record: &RunRecord,
    cycles: u64,
    at: crate::simulated::run_record::SimTime,
) -> Option<u64> {
    let spans = record.subject.clock.iter();
    let hz = spans.rev().find(|span| span.cycle <= at.cycle)?.hz;
    let product = u128::from(cycles) * 1_000_000_000;
    (hz > 0).then(|| (product + u128::from(hz / 2)) / u128::from(hz)).map(|ns| ns as u64)
}

fn subject(record: &RunRecord) -> Subject {
    let mut subject = record.subject.clone();
    subject.facts.extend(threads::facts(record));
    subject.facts.extend(core_timing(subject.core(), subject.board()));
    subject
}

/// Whether parts of the run were measured and not all of it.
fn has_windows(record: &RunRecord) -> bool {
    let asked = |name: &&str| record.instrument.settings.contains_key(*name);
    record.window.entries != 1 || ["from", "to"].iter().any(asked)
}

/// Whether all of a run was measured that ended at a time: it takes that time whatever it does.
fn is_to_a_time(record: &RunRecord) -> bool {
    let limit = matches!(record.window.end_reason, EndReason::Limit | EndReason::DefaultLimit);
    limit && !has_windows(record)
}

fn window(record: &RunRecord, model: &Model) -> Window {
    let window = &record.window;
    let windows = has_windows(record);
    let duration = if is_to_a_time(record) {
        Quantity::exact(window.nanoseconds, Unit::NANOSECONDS)
    } else {
        model.sum(window.nanoseconds, Unit::NANOSECONDS)
    };
    Window {
        begin: window.begin.into(),
        end: window.end.into(),
        entries: windows.then_some(window.entries),
        duration,
        ended: ended(record),
    }
}

/// Why a run ended.
pub fn ended(record: &RunRecord) -> Ended {
    why_ended(&record.window.end_reason, record.machine)
}

pub(super) fn why_ended(reason: &EndReason, machine: Machine) -> Ended {
    let (kind, text) = match reason {
        EndReason::Exit { code } => ("exit", format!("the firmware exited with code {code}")),
        EndReason::Reached { place } => ("reached", format!("{place} was reached")),
        EndReason::Limit => ("limit", "the limit that was asked for".to_owned()),
        EndReason::DefaultLimit => (
            "default-limit",
            "the firmware did not end by itself; --until sets how long it runs".to_owned(),
        ),
        EndReason::HardFault => ("hard-fault", "a fault: the core entered HardFault".to_owned()),
        EndReason::Lockup => ("lockup", machine.conventions().lockup.to_owned()),
        EndReason::SleepsForever => {
            ("sleeps-forever", "asleep, and nothing is left that could wake it".to_owned())
        }
        EndReason::Unmodelled => {
            ("unmodelled", "an unmodelled register was accessed (strict)".to_owned())
        }
        EndReason::Interrupted => ("interrupted", "stopped by the user".to_owned()),
        EndReason::OtherChip { chip } => ("other-chip", format!("chip {chip} came to its end")),
    };
    let code = match reason {
        EndReason::Exit { code } => Some(*code),
        _ => None,
    };
    Ended { kind: kind.to_owned(), text, code }
}

fn coverage(record: &RunRecord, model: &Model) -> Coverage {
    let exact = |n: u64| Some(Quantity::exact(n, Unit::CYCLES));
    Coverage {
        whole: Some(model.about(record.run_cycles, Unit::CYCLES)),
        seen: Some(cycles(record, model)),
        // Nothing is lost of a simulation.
        lost: exact(0),
        overhead: exact(0),
    }
}

fn totals(record: &RunRecord, model: &Model, out: &mut Measurement) {
    let totals = &record.totals;
    out.push_total(ids::total::CYCLES, "cycles", cycles(record, model));
    if let Some(chip) = chip::cycles(record, model) {
        out.push_total(measurement::ON_A_CHIP, "cycles on a chip", chip);
    }
    let instructions = model.count(totals.instructions, Unit::INSTRUCTIONS);
    out.push_total(ids::total::INSTRUCTIONS, "instructions", instructions);
    let idle = model.about(totals.by_cause[Cause::Asleep], Unit::CYCLES);
    out.push_total("cycles-per-instruction", "cycles/instr.", per_instruction(record, model));
    out.push_total(ids::total::IDLE, "idle", idle);
    if let Some(waiting) = waits::total(record, model) {
        out.push_total(ids::total::WAITING, "waiting", waiting);
    }
    if let Some((name, mark)) = threads::deepest(record) {
        let bytes = |n: u64| Quantity::exact(n, Unit::BYTES);
        out.push_total(ids::total::DEEPEST_STACK, &format!("stack of {name}"), bytes(mark.bytes));
        if let Some(margin) = mark.margin() {
            let trust = if mark.shares { Trust::AtMost } else { Trust::Exact };
            if let Ok(margin) = Quantity::new(Some(margin.into()), Unit::BYTES, trust) {
                out.push_total("stack-margin", "unused of it", margin);
            }
        }
    }
}

/// Cycles per instruction, idle cycles and idle instructions both left out.
fn per_instruction(record: &RunRecord, model: &Model) -> Quantity {
    let (cycles, instructions) = record.busy();
    if instructions == 0 {
        return Quantity::unknown(Unit::RATIO, "no instruction ran that was not idle");
    }
    let value = Number::from(cycles as f64 / instructions as f64);
    let trust = Trust::Modelled { low: value, high: value, why: model.why.clone() };
    let modelled = Quantity::new(Some(value), Unit::RATIO, trust).ok().filter(|_| model.waits);
    modelled.unwrap_or_else(|| Quantity::exact(value, Unit::RATIO))
}
