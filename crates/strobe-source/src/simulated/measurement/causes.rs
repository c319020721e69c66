//! Causes of cycles: what each is called, means and can be helped with, and the table of them.

use crate::simulated::run_record::{ModelledCause, RunRecord};
use strobe_isa::Machine;
use strobe_model::Cause;
use strobe_model::measurement::ids;
use strobe_model::measurement::{
    self, Cell, Column, Content, Kind, Measure, Number, Part, Section, Table, Unit,
};

use super::Model;

/// The measure whose parts the causes are.
pub(super) const CYCLES: &str = "cycles";

fn letter(cause: Cause) -> char {
    match cause {
        Cause::Execute => 'E',
        Cause::Refill => 'R',
        Cause::LoadStore => 'L',
        Cause::FetchWait => 'F',
        Cause::DataWait => 'D',
        Cause::Contention => 'C',
        Cause::ExceptionEntry => '>',
        Cause::ExceptionExit => '<',
        Cause::Asleep => 'z',
    }
}

/// What a newcomer should know about a cause, and what to do about it, which differs between cores.
fn words(cause: Cause, machine: Machine) -> (&'static str, Option<&'static str>) {
    match cause {
        Cause::LoadStore if machine == Machine::Avr => (
            "The second cycle of an access to the data space, and the bytes of a return address.",
            Some("Keep values in registers, inline small functions."),
        ),
        Cause::DataWait if machine == Machine::Avr => {
            ("The core stands still while the EEPROM is read or written.", None)
        }
        Cause::ExceptionEntry if machine == Machine::Avr => (
            "The core pushes the program counter and goes to the vector.",
            Some(
                "Fewer interrupts: longer timer periods, polling where a byte takes little longer \
                 than a handler.",
            ),
        ),
        Cause::Asleep if machine == Machine::Avr => (
            "Nothing to do: the core sleeps (SLEEP) or spins in an empty loop that only an \
             interrupt \
             can leave. This is the room that is left.",
            None,
        ),
        Cause::Execute => (
            "The instruction itself.",
            Some("Fewer instructions: a better algorithm, a higher optimisation level."),
        ),
        Cause::Refill => (
            "After a taken branch, call or return the core fetches from the new place before it \
             goes \
             on.",
            Some("Unroll short loops, inline small functions, let the common path fall through."),
        ),
        Cause::LoadStore => (
            "The data phase of memory accesses.",
            Some("Keep values in registers, move several words with one instruction (ldm, stm)."),
        ),
        Cause::FetchWait => (
            "The core waits for an instruction from flash.",
            Some(
                "Run hot code from RAM, align the targets of hot branches to words, or choose a \
                 clock that needs fewer wait states.",
            ),
        ),
        Cause::DataWait => (
            "A load or store waits for its memory, such as a constant in flash or a register \
             behind \
             a slow bridge.",
            Some("Copy hot tables to RAM."),
        ),
        Cause::Contention => (
            "Another bus master (DMA) used the same memory at the same time.",
            Some("Spread buffers over memories, or let DMA run when the core sleeps."),
        ),
        Cause::ExceptionEntry => (
            "The core saves registers and fetches the handler's address.",
            Some("Fewer interrupts: DMA, FIFOs, longer timer periods."),
        ),
        Cause::ExceptionExit => ("The core restores registers on the way out of a handler.", None),
        Cause::Asleep => (
            "Nothing to do: the core sleeps (WFI, WFE) or spins in an empty loop that only an \
             interrupt can leave. This is the room that is left.",
            None,
        ),
    }
}

fn modelled(record: &RunRecord, cause: Cause) -> Option<&ModelledCause> {
    record.modelled.iter().find(|modelled| modelled.cause == cause)
}

/// Cycles, and their causes as parts of them.
pub(super) fn measures(record: &RunRecord, model: &Model) -> Vec<Measure> {
    let kind = |why: Option<String>| match why {
        Some(why) => Kind::Modelled { why },
        None => Kind::Exact,
    };
    let measure = |id: &str, title: &str, why, part| Measure {
        id: id.to_owned(),
        title: title.to_owned(),
        unit: Unit::CYCLES,
        kind: kind(why),
        part,
    };
    let mut out = vec![measure(CYCLES, "cycles", model.why_of_waits(), None)];
    for cause in Cause::ALL {
        let (meaning, advice) = words(cause, record.machine);
        let waits = super::waits::advice(record).filter(|_| cause == Cause::Execute);
        let part = Part {
            of: CYCLES.to_owned(),
            letter: Some(letter(cause)),
            idle: cause == Cause::Asleep,
            meaning: Some(meaning.to_owned()),
            advice: waits.or_else(|| advice.map(str::to_owned)),
        };
        let why = modelled(record, cause).map(|modelled| modelled.why.clone());
        let turns = || model.awaited.contains(&cause).then(|| super::waits::TURNS.to_owned());
        let why = why.or_else(turns);
        out.push(measure(cause.id(), cause.name(), why, Some(part)));
    }
    out
}

/// Cycles of which no bounds are known.
fn unbounded(cycles: u64, why: &str) -> Cell {
    let value = Number::from(cycles);
    let trust = measurement::Trust::Modelled { low: value, high: value, why: Some(why.to_owned()) };
    Cell::Figure { value: Some(value), trust }
}

/// Cycles by cause with their bounds; they add up to the footer.
pub(super) fn section(record: &RunRecord, model: &Model) -> Option<Section> {
    let by_cause = &record.totals.by_cause;
    let total = by_cause.total();
    if total == 0 {
        return None;
    }
    let mut table = Table::new(vec![
        Column::figure(ids::column::CYCLES, "cycles", Unit::CYCLES).of(total),
        Column::text("letter", ""),
        Column::text(ids::column::CAUSE, "cause"),
        Column::text(ids::column::MEASURE, "measure").worth(0),
    ]);
    for (cause, cycles) in by_cause.iter().filter(|(_, cycles)| *cycles > 0) {
        let is_awaited = model.awaited.contains(&cause);
        let cell = match modelled(record, cause) {
            // How long the core sleeps depends on how long everything else took.
            None if cause == Cause::Asleep || is_awaited => model.cell(cycles),
            // With modelled waits in it, how often any code runs may depend on them.
            None if model.counts => model.cell(cycles),
            None => Cell::from(cycles),
            Some(modelled) if is_awaited || !modelled.cycles.is_exact() => {
                unbounded(cycles, &modelled.why)
            }
            Some(_) => model.cell(cycles),
        };
        table.row([cell, letter(cause).to_string().into(), cause.name().into(), cause.id().into()]);
    }
    let all = super::cycles(record, model).into();
    table.footer.push(vec![all, Cell::Empty, "all cycles".into(), Cell::Empty]);
    Some(super::section(ids::section::CAUSES, "cycles by cause", Content::Table(table)))
}
