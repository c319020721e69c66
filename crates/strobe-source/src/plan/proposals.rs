//! What to change in a set-up that needs more than its pin carries.

use crate::plan::report::{PlanProposal, Verdict};
use strobe_decode::trace_settings::{EventCounters, Line, PcSampling, TraceSettings};

use super::budget::Budget;
use super::{BAUDS, MAX_BAUD_ERROR, Workload};
use strobe_link::trace::registers;
use strobe_link::trace::target::Target;

/// The nearest set-ups that fit: a faster line, a longer period, less that is traced, and if none
/// of these does alone, all together.
pub(super) fn proposals(
    settings: &TraceSettings,
    load: &Workload,
    target: &Target,
) -> Vec<PlanProposal> {
    let mut found = Vec::new();
    let mut offer = |change: String, settings: TraceSettings| {
        let budget = Budget::of(&settings, load);
        let fits = budget.verdict() == Verdict::Fits;
        if fits && registers::writes(&settings, target).is_ok() {
            let Budget { required, available, .. } = budget;
            found.push(PlanProposal { change, settings, required, available });
            return true;
        }
        false
    };
    let less = without_extras(settings);
    for start in std::iter::once(settings).chain(less.as_ref().map(|(_, settings)| settings)) {
        let and = match &less {
            Some((what, settings)) if std::ptr::eq(start, settings) => format!(" and {what}"),
            _ => String::new(),
        };
        let faster =
            faster(start).any(|(baud, settings)| offer(format!("{baud} baud{and}"), settings));
        let slower = slower(start).any(|(sampling, settings)| {
            offer(format!("a sample every {} cycles{and}", sampling.period_cycles()), settings)
        });
        if faster && slower {
            break;
        }
    }
    if let Some((what, settings)) = less {
        offer(what, settings);
    }
    found
}

/// The same on faster lines, the slowest first.
fn faster(settings: &TraceSettings) -> impl Iterator<Item = (u32, TraceSettings)> {
    let line = settings.line;
    let bauds = BAUDS.iter().filter(move |baud| **baud > line.baud());
    bauds.filter_map(move |&baud| {
        let line = Line::new(line.trace_hz(), baud, line.encoding()).ok()?;
        let near = line.baud_error().abs() <= MAX_BAUD_ERROR;
        near.then(|| (baud, TraceSettings { line, ..settings.clone() }))
    })
}

/// The same with longer periods, the shortest first.
fn slower(settings: &TraceSettings) -> impl Iterator<Item = (PcSampling, TraceSettings)> {
    let now = settings.sampling.map_or(u32::MAX, |sampling| sampling.period_cycles());
    let longer = PcSampling::all().filter(move |sampling| sampling.period_cycles() > now);
    longer.map(|s| (s, TraceSettings { sampling: Some(s), ..settings.clone() }))
}

/// The same without timestamps and event counters, if it has any.
fn without_extras(settings: &TraceSettings) -> Option<(String, TraceSettings)> {
    let mut less = settings.clone();
    let mut what = Vec::new();
    if less.local_timestamps.take().is_some() || less.global_timestamps.take().is_some() {
        less.global_timestamps = None;
        what.push("no timestamps");
    }
    if less.counters.any() {
        less.counters = EventCounters::default();
        what.push("no event counters");
    }
    (!what.is_empty()).then(|| (what.join(" and "), less))
}
