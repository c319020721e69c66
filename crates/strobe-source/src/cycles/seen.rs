//! What a run saw of an explained function, as a profile by instruction.

use crate::cycles::report::{CyclesReport, RunCycles};
use strobe_model::measurement::ids;
use strobe_model::measurement::{
    Address, Functions, Kind, Measure, Number, Part, Profile, Quantity, Samples, Trust, Unit,
    Values,
};
use strobe_model::{Bounds, Cause};

use super::measurement::WHY;

/// Cycles of a run, without those asleep.
pub(super) fn cycles(run: &RunCycles) -> Quantity {
    let busy = busy(run);
    if run.is_unbounded && busy.likely > 0 {
        let value = Number::from(busy.likely);
        let why = Some(WHY.to_owned());
        let unbounded = Trust::Modelled { low: value, high: value, why };
        if let Ok(cycles) = Quantity::new(Some(value), Unit::CYCLES, unbounded) {
            return cycles;
        }
    }
    Quantity::modelled(busy, Unit::CYCLES, Some(WHY.to_owned()))
}

/// The same as bounds.
pub(super) fn busy(run: &RunCycles) -> Bounds {
    run.cycles.less(run.by_cause[Cause::Asleep])
}

fn measures(report: &CyclesReport) -> Vec<Measure> {
    let modelled = || Kind::Modelled { why: WHY.to_owned() };
    let mut measures = vec![Measure::new(ids::measure::CYCLES, "cycles", Unit::CYCLES, modelled())];
    let runs = || report.instructions.iter().filter_map(|i| i.run.as_ref());
    for cause in Cause::ALL.into_iter().filter(|c| runs().any(|run| run.by_cause[*c] > 0)) {
        let part = Part {
            of: "cycles".to_owned(),
            letter: None,
            idle: cause == Cause::Asleep,
            meaning: None,
            advice: None,
        };
        let measure = Measure::new(cause.id(), cause.name(), Unit::CYCLES, modelled());
        measures.push(Measure { part: Some(part), ..measure });
    }
    measures.push(Measure::new(
        ids::measure::EXECUTIONS,
        "executions",
        Unit::INSTRUCTIONS,
        Kind::Exact,
    ));
    measures.push(Measure::new("taken", "taken", Unit::COUNT, Kind::Exact));
    measures
}

/// Each instruction with what it took in the run; nothing where there was none.
pub(super) fn profile(report: &CyclesReport) -> Option<Profile> {
    let seen = || report.instructions.iter().filter_map(|i| Some((i, i.run.as_ref()?)));
    seen().next()?;
    let mut profile = Profile {
        measures: measures(report),
        functions: Functions {
            name: vec![report.function.clone()],
            address: vec![Some(Address(report.address.into()))],
            file: vec![None],
            ..Functions::default()
        },
        ..Profile::default()
    };
    for (instruction, _) in seen() {
        profile.locations.address.push(Some(Address(instruction.address.into())));
        profile.locations.function.push(Some(0));
        profile.locations.frame.push(None);
    }
    let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    let column = |id: &str, of: &dyn Fn(&RunCycles) -> u64| Values {
        measure: id.to_owned(),
        values: seen().map(|(_, run)| number(of(run))).collect(),
        ..Values::default()
    };
    let bound =
        |of: &dyn Fn(Bounds) -> u64| seen().map(|(_, run)| number(of(run.cycles))).collect();
    let mut cycles = column("cycles", &|run| run.cycles.likely);
    if seen().all(|(_, run)| !run.is_unbounded) {
        cycles.low = bound(&|cycles| cycles.low.min(cycles.likely));
        cycles.high = bound(&|cycles| cycles.high.max(cycles.likely));
    }
    let mut values = vec![cycles];
    for cause in Cause::ALL.into_iter().filter(|c| profile.measure(c.id()).is_some()) {
        values.push(column(cause.id(), &|run| run.by_cause[cause]));
    }
    values.push(column("executions", &|run| run.count));
    values.push(column("taken", &|run| run.jumped));
    let at = (0..).zip(seen()).map(|(n, _)| Some(n)).collect();
    profile.leaves = Samples { at, label: Vec::new(), values };
    Some(profile)
}
