//! Puts names to threads and makes their part of the record.

use std::collections::{HashMap, HashSet};

use crate::code_profile::Who;
use crate::simulated::run_record::{
    ExceptionStatistics, Extreme, Latency, Overview, OverviewLane, Schedule, Scheduling, Segment,
    ThreadStatistics, WorstLatency,
};
use strobe_sim::bus::Bus;
use strobe_sim::observe::schedule::{self, Log};
use strobe_sim::observe::threads::{Thread, Threads};
use strobe_symbols::Firmware;

use super::drive::Run;
use super::record::moment;
use super::{Error, stacks};
use crate::names::outermost_at;

pub(super) fn make(
    firmware: &Firmware,
    run: &Run,
    exceptions: &[ExceptionStatistics],
) -> Result<Scheduling, Error> {
    let calls = &run.machine.observer().1.0;
    let all = calls.threads.all();
    // Handlers have no stack of their own there, and with one thread it is known to the byte.
    let deepest = run.machine.deepest_stack().filter(|_| all.len() == 1);
    let names = names(firmware, &calls.threads);
    let runs = calls.schedule.threads().iter().cloned();
    let runs = runs.chain(std::iter::repeat_with(Default::default));
    let hex = |address: u32| format!("{address:#010x}");
    let mut numbers = 0..;
    let mut one = |((thread, runs), name): ((&Thread, schedule::ThreadRuns), String)| {
        let extreme = |time| extreme(firmware, run.machine.bus(), time);
        ThreadStatistics {
            deepest: numbers.next().and_then(|number| stacks::mark(firmware, run, number)),
            name,
            structure: thread.structure.map(hex),
            id: thread.id,
            priority: thread.priority,
            stack: (hex(deepest.unwrap_or(thread.low)), hex(thread.top)),
            cycles: runs.cycles,
            idle: runs.asleep,
            runs: runs.runs,
            gave_up: runs.gave_up,
            preempted: runs.preempted,
            longest_run: runs.durations.max.map(extreme),
            wake: Latency {
                count: runs.wakes.spread.count(),
                min: runs.wakes.spread.min().unwrap_or(0),
                sum: runs.wakes.spread.sum(),
                max: runs.wakes.max.map(extreme),
                spread: runs.wakes.spread,
            },
            wakes_unknown: runs.wakes_unknown,
            durations: runs.durations.spread,
        }
    };
    let threads: Vec<ThreadStatistics> = all.iter().zip(runs).zip(names).map(&mut one).collect();
    let rest = calls.threads.last_is_rest();
    let balance = Scheduling::balanced(run.cycles, &threads, exceptions, rest)?;
    let timeline =
        calls.schedule.log.as_ref().map(|log| timeline(firmware, run.machine.bus(), log));
    let handlers = stacks::of_handlers(firmware, run);
    Ok(Scheduling { rtos: run.system.clone(), threads, handlers, balance, timeline })
}

fn timeline(firmware: &Firmware, bus: &Bus, log: &Log) -> Schedule {
    let kept = log.kept(bus);
    let worst = kept.worst.map(|worst| WorstLatency {
        who: who(worst.who),
        latency: extreme(firmware, bus, worst.time),
    });
    let segment = |segment: &schedule::Segment| Segment {
        who: who(segment.who),
        start: segment.start,
        begin: moment(bus, segment.begin),
        end: moment(bus, segment.end),
        idle: segment.asleep,
    };
    Schedule {
        begin: moment(bus, kept.begin),
        end: moment(bus, kept.end),
        worst,
        segments: kept.segments.iter().map(segment).collect(),
        dropped: kept.dropped,
        overview: overview(log.overview()),
    }
}

fn overview(overview: &schedule::Overview) -> Overview {
    let stretch = |s: &schedule::Stretch| (s.busy_ns, s.asleep_ns, s.begun);
    let lane = |lane: &schedule::Lane| OverviewLane {
        who: who(lane.who),
        stretches: lane.stretches.iter().map(stretch).collect(),
    };
    Overview { width: overview.width_ns(), lanes: overview.lanes().iter().map(lane).collect() }
}

pub(super) fn who(who: schedule::Who) -> Who {
    match who {
        schedule::Who::Thread(thread) => Who::Thread(thread),
        schedule::Who::Handler(exception) => Who::Interrupt(exception),
    }
}

/// A worst case with its time and function.
pub(super) fn extreme(firmware: &Firmware, bus: &Bus, time: schedule::Extreme) -> Extreme {
    Extreme {
        cycles: time.cycles,
        at: moment(bus, time.at),
        address: format!("{:#010x}", time.pc),
        function: outermost_at(firmware, time.pc).map(|function| function.name.clone()),
    }
}

/// A name for each thread, no two the same: the operating system's; else, in parentheses, that of
/// the variable that holds the thread's structure or stack, else the structure's place in an array,
/// else where the stack is.
pub(super) fn names(firmware: &Firmware, threads: &Threads) -> Vec<String> {
    let all = threads.all();
    let structures = variables(firmware, all.iter().map(|thread| thread.structure));
    // A full descending stack ends where it is empty.
    let stacks = variables(firmware, all.iter().map(|thread| thread.top.checked_sub(1)));
    let element =
        |thread: &Thread| element(firmware, thread.structure?, threads.structure_bytes()?);
    let known = all.iter().any(|thread| thread.structure.is_some());
    let one = |(i, thread): (usize, &Thread)| {
        if threads.last_is_rest() && i + 1 == all.len() {
            return "(further threads)".to_owned();
        }
        match (i, thread.structure) {
            _ if !thread.name.is_empty() => thread.name.clone(),
            (0, None) if known => "(startup)".to_owned(),
            (0, None) => "main".to_owned(),
            _ => match structures[i].clone().or(stacks[i].clone()).or_else(|| element(thread)) {
                Some(name) => format!("({name})"),
                None => format!("(stack at {:#010x})", thread.top),
            },
        }
    };
    let mut names: Vec<String> = all.iter().enumerate().map(one).collect();
    distinguish(&mut names, all);
    names
}

/// The variables at these addresses, where each holds only one of them.
fn variables(
    firmware: &Firmware,
    addresses: impl Iterator<Item = Option<u32>>,
) -> Vec<Option<String>> {
    let name = |address: Option<u32>| Some(firmware.data_symbol_at(address?)?.name.clone());
    let mut names: Vec<Option<String>> = addresses.map(name).collect();
    let mut times: HashMap<Option<String>, usize> = HashMap::new();
    names.iter().for_each(|name| *times.entry(name.clone()).or_default() += 1);
    names.iter_mut().filter(|name| times[*name] > 1).for_each(|name| *name = None);
    names
}

/// The element of an array that begins here: a variable of several times `bytes` is an array of
/// such things.
fn element(firmware: &Firmware, address: u32, bytes: u32) -> Option<String> {
    let array = firmware.data_symbol_at(address)?;
    let offset = address - array.address;
    let divides = |n: u32| n.checked_rem(bytes) == Some(0);
    (array.size > bytes && divides(array.size) && divides(offset))
        .then(|| format!("{}[{}]", array.name, offset / bytes))
}

/// Threads of one name get their structure's address too, and a number where that is not enough.
fn distinguish(names: &mut [String], all: &[Thread]) {
    let mut times: HashMap<String, usize> = HashMap::new();
    names.iter().for_each(|name| *times.entry(name.clone()).or_default() += 1);
    let mut used: HashSet<String> = HashSet::new();
    for (name, thread) in names.iter_mut().zip(all) {
        if times[name.as_str()] > 1
            && let Some(structure) = thread.structure
        {
            *name = format!("{name} at {structure:#010x}");
        }
        let plain = name.clone();
        let mut n = 1;
        while !used.insert(name.clone()) {
            n += 1;
            *name = format!("{plain} #{n}");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// The kernel of firmware/threads has four structures of 24 bytes in one array.
    #[test]
    fn structures_in_an_array_go_by_their_place() {
        let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let elf = std::fs::read(repository.join("firmware/prebuilt/threads.elf")).expect("its ELF");
        let firmware = Firmware::parse(elf.as_slice()).expect("it comes with the project");
        let array = firmware.data_symbols().iter().find(|s| s.name == "threads").expect("is there");
        let at = |offset| element(&firmware, array.address + offset, 24);
        assert_eq!((at(0).as_deref(), at(48).as_deref()), (Some("threads[0]"), Some("threads[2]")));
        assert_eq!(at(20), None, "no element begins here");
        assert_eq!(element(&firmware, array.address, 40), None, "not of such elements");
        assert_eq!(element(&firmware, array.address, 96), None, "one thing is no array");
        assert_eq!(element(&firmware, array.address, 0), None);
    }
}
