//! Busy waiting apart from work.

use crate::code_profile::AddressSample;
use crate::simulated::run_record::{RunRecord, Until, Wait};
use strobe_model::measurement::{Column, Content, Quantity, Section, Table, Unit, ids};
use strobe_model::{Bounds, Cause};

use super::{Model, is_to_a_time, section};
use crate::simulated::bounding_runs;

/// Why counts are those of one run.
pub const TURNS: &str = "how often code runs depends on how long waits are, and is that of \
                                this run; its bounds are not known";

/// Whether how often code runs depends on what is modelled: where it waits for something with a
/// time of its own, the number of turns; where waits for memories are modelled, what is done until
/// a time, and where interrupts find it.
pub(super) fn decide_counts(record: &RunRecord) -> bool {
    let interrupted = || record.exceptions.iter().any(|one| one.count > 0);
    let open = || record.waits.iter().any(is_open);
    bounding_runs::differ(record) && (open() || is_to_a_time(record) || interrupted())
}

/// Whether something with a time of its own may decide how often a loop goes round.
fn is_open(wait: &Wait) -> bool {
    wait.until != Until::Counted
}

/// The causes that cycles of such waits have.
pub(super) fn causes(record: &RunRecord) -> Vec<Cause> {
    let samples = &record.profile.addresses;
    let waits = record.waits.iter().filter(|wait| is_open(wait));
    let inside: Vec<&AddressSample> = waits
        .flat_map(|wait| samples.iter().filter(|at| wait.addresses.contains(&at.address)))
        .collect();
    let has = |cause: &Cause| inside.iter().any(|at| at.cycles[*cause] > 0);
    Cause::ALL.into_iter().filter(|cause| *cause != Cause::Asleep).filter(has).collect()
}

/// Cycles of all waits.
pub(super) fn cycles(record: &RunRecord) -> Option<Bounds> {
    let sum = record.waits.iter().fold(Bounds::default(), |sum, wait| sum + wait.cycles);
    let most = record.totals.cycles;
    let sum = Bounds { low: sum.low.min(most), likely: sum.likely.min(most), high: sum.high };
    (!record.waits.is_empty()).then_some(sum)
}

/// The same as a headline figure.
pub(super) fn total(record: &RunRecord, model: &Model) -> Option<Quantity> {
    let sum = cycles(record)?;
    Some(of_share(sum, model, Unit::CYCLES))
}

/// Cycles of which the bounds are those of a share, where no modelled wait is in them.
fn of_share(cycles: Bounds, model: &Model, unit: Unit) -> Quantity {
    if model.waits || cycles.is_exact() {
        model.about(cycles.likely, unit)
    } else {
        Quantity::modelled(cycles, unit, model.why.clone())
    }
}

/// What the core waited for, and where, the longest first.
pub(super) fn table(record: &RunRecord, model: &Model) -> Option<Section> {
    if record.waits.is_empty() {
        return None;
    }
    let all = record.totals.cycles;
    let mut table = Table::new(vec![
        Column::figure(ids::column::CYCLES, "cycles", Unit::CYCLES).of(all),
        Column::figure("rounds", "rounds", Unit::COUNT).worth(2),
        Column::text("waits-for", "waits for"),
        Column::text(ids::column::PLACE, "place"),
    ]);
    for wait in &record.waits {
        let cycles = of_share(wait.cycles, model, Unit::CYCLES).into();
        let (what, place) = (wait.waits_for.as_str(), wait.place.as_str());
        let rounds = if is_open(wait) || is_to_a_time(record) {
            model.times(wait.rounds)
        } else {
            wait.rounds.into()
        };
        table.row([cycles, rounds, what.into(), place.into()]);
    }
    let title = "waiting: loops that do nothing but wait for something or count, without sleep; \
                 with functions that they call to look";
    Some(section(ids::section::WAITING, title, Content::Table(table)))
}

/// What helps instead of a better algorithm, if much of the run is waits.
pub(super) fn advice(record: &RunRecord) -> Option<String> {
    let waits = cycles(record)?;
    let all = record.totals.cycles.saturating_sub(record.balance.parts().idle);
    (waits.likely.saturating_mul(10) >= all && all > 0).then(|| {
        "Much of the run is spent waiting (table waiting): sleep until an interrupt, or let a \
         timer or DMA do it. For the rest fewer instructions: a better algorithm, a higher \
         optimisation level."
            .to_owned()
    })
}
