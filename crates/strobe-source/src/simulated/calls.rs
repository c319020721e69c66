//! Calls of chosen functions: which functions are meant, and what was seen of them.

use crate::simulated::run_record::{FunctionCalls, WorstCall};
use strobe_sim::observe::calls::NodeKind;
use strobe_sim::observe::per_call::{MOST, PerCall};
use strobe_symbols::Firmware;

use super::drive::{Run, address};
use super::record::{exception_label, moment};
use super::{Error, PlaceError};
use crate::names::{Names, outermost, outermost_at};

/// The functions of these names, by index into ranges `[start, end)`; each once.
pub(super) fn chosen(
    firmware: &Firmware,
    functions: &[(u32, u32)],
    asked: &[String],
) -> Result<Vec<u32>, Error> {
    let mut out = Vec::new();
    for name in asked {
        let start = address(firmware, name)?;
        let index = (0u32..).zip(functions).find(|(_, range)| range.0 & !1 == start);
        let Some((index, _)) = index else {
            let around = outermost_at(firmware, start).filter(|around| around.start & !1 < start);
            let name = name.clone();
            return Err(Error::from(match around {
                Some(around) => PlaceError::SharedCode { name, around: around.name.to_string() },
                None => PlaceError::NoFunctionStart { name, address: start },
            }));
        };
        if !out.contains(&index) {
            out.push(index);
        }
    }
    if out.len() > MOST {
        return Err(PlaceError::TooManyCalls { count: out.len(), limit: MOST }.into());
    }
    Ok(out)
}

/// The names of chosen functions, as reports have them.
pub(super) fn names(firmware: &Firmware, calls: &[PerCall]) -> Vec<String> {
    if calls.is_empty() {
        return Vec::new();
    }
    let mut names = Names::new(firmware);
    let starts: Vec<u32> = outermost(firmware).map(|function| function.start).collect();
    let each = calls.iter().map(|calls| {
        let start = starts.get(calls.function as usize);
        let function = start.and_then(|&start| names.function_at(start));
        names.profile.function_name(function)
    });
    each.collect()
}

/// What was seen of them.
pub(super) fn seen(
    run: &Run,
    names: &mut Names,
    starts: &[u32],
    threads: &[&str],
) -> Vec<FunctionCalls> {
    let calls = run.machine.observer().1.0.per_call();
    calls.iter().map(|calls| function(run, names, starts, threads, calls)).collect()
}

fn function(
    run: &Run,
    names: &mut Names,
    starts: &[u32],
    threads: &[&str],
    calls: &PerCall,
) -> FunctionCalls {
    let bus = run.machine.bus();
    let function = starts.get(calls.function as usize).and_then(|&start| names.function_at(start));
    let nodes = run.machine.observer().1.0.nodes();
    let parent = |node: u32| nodes.get(node as usize)?.parent;
    let kind = |node: u32| Some(nodes.get(parent(node)? as usize)?.kind);
    let worst = calls.worst.map(|worst| WorstCall {
        at: moment(bus, worst.begin),
        with_callees: worst.with_callees,
        alone: worst.alone,
        elapsed: worst.elapsed,
        caller: match kind(worst.node) {
            Some(NodeKind::Exception(number)) => exception_label(bus, number),
            Some(NodeKind::Thread(thread)) => {
                let name = threads.get(thread as usize).copied().unwrap_or_default();
                format!("thread {name}")
            }
            _ => names.describe(worst.from).swap_remove(0),
        },
    });
    FunctionCalls {
        name: names.profile.function_name(function),
        with_callees: calls.with_callees.clone(),
        alone: calls.alone.clone(),
        elapsed: calls.elapsed.clone(),
        worst,
        nested: calls.nested,
        tails: calls.tails,
        parts: calls.parts,
        part_cycles: calls.part_cycles,
    }
}
