//! The exceptions of a run: their names, and the statistics of their handlers.

use crate::simulated::run_record::ExceptionStatistics;
use strobe_sim::bus::Bus;
use strobe_sim::observe::calls::NodeKind;

use super::moment;
use crate::names::Names;
use crate::simulated::drive::Run;
use crate::simulated::scheduling;

pub(in crate::simulated) fn exception_label(bus: &Bus, number: u16) -> String {
    let irq = number.checked_sub(16);
    let vector = irq.and_then(|irq| bus.irq_name(irq)).map(str::to_owned);
    let name = vector.unwrap_or_else(|| crate::exception::exception_name(number));
    match irq.and_then(|irq| bus.irq_owners(irq)) {
        Some(owners) => format!("{name} ({owners})"),
        None => name,
    }
}

/// The exception that a name means: `SysTick`, `IRQ16`, or its device, `TIM3`, as far as that is
/// only one.
pub(in crate::simulated) fn exception_named(bus: &Bus, name: &str) -> Option<u16> {
    let is = |number: &u16| {
        let label = exception_label(bus, *number);
        let mut words = label.split([' ', '(', ')', '/']).filter(|word| !word.is_empty());
        label.eq_ignore_ascii_case(name) || words.any(|word| word.eq_ignore_ascii_case(name))
    };
    let mut found = (2..512).filter(is);
    found.next().filter(|_| found.next().is_none())
}

/// How often each exception was taken, what its handler cost, and how long it was waited for.
pub(super) fn all(run: &Run, names: &mut Names, starts: &[u32]) -> Vec<ExceptionStatistics> {
    let (bus, calls) = (run.machine.bus(), &run.machine.observer().1.0);
    let nodes = calls.nodes();
    // A table of jumps is no function of the handler's.
    let are_jumps = names.firmware().machine().conventions().vectors_are_jumps;
    let mut out = Vec::new();
    for h in calls.schedule.handlers() {
        let number = h.exception;
        let root = nodes.iter().position(|n| n.kind == NodeKind::Exception(number));
        let handler = nodes.iter().find_map(|n| match n.kind {
            NodeKind::Function(f) if n.parent.map(|p| p as usize) == root => {
                starts.get(f as usize).filter(|&&start| !(are_jumps && start == 0))
            }
            _ => None,
        });
        let handler = handler.and_then(|&a| names.function_at(a));
        let extreme = |time| scheduling::extreme(names.firmware(), bus, time);
        let latency = &h.latency;
        out.push(ExceptionStatistics {
            number,
            name: exception_label(bus, number),
            handler: handler.map(|f| names.profile.function_name(Some(f))),
            count: latency.spread.count(),
            tail_chained: h.tail_chained,
            cycles: h.cycles,
            latency_min: latency.spread.min().unwrap_or(0),
            latency_sum: latency.spread.sum(),
            latency_max: latency.max.map_or(0, |max| max.cycles),
            latency_max_at: moment(bus, latency.max.map_or(0, |max| max.at)),
            latency_worst: latency.max.map(extreme),
            idle: h.asleep,
            lost: Some(run.machine.lost_requests(number)),
            longest_run: h.durations.max.map(extreme),
            latencies: latency.spread.clone(),
            durations: h.durations.spread.clone(),
        });
    }
    out.retain(|e| e.count > 0 || e.cycles > 0);
    out.sort_by_key(|e| e.number);
    out
}
