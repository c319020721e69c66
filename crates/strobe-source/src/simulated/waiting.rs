//! Busy waiting: loops that do nothing but wait for a flag, a tick or a counter, or that count.
//!
//! A profile counts their cycles like any others, but no better algorithm makes them fewer. What is
//! a wait follows from the instructions alone ([`body`]), never from a name; functions that the
//! user names (`--idle`) are added.

mod acting;
mod body;
mod callee;
mod constants;
mod deciding;
mod effect;
mod flow;
mod leaving;
mod places;
mod program;
mod reader;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use strobe_model::{AddressSample, Bounds, Cause, Until, Wait};
use strobe_sim::bus::Bus;
use strobe_symbols::{Firmware, Instruction, Machine};

use super::Error;
use super::drive::address;
use crate::names::{Names, outermost_at};
use body::{For, Waits};
use flow::Flow;
use program::Program;

/// Places that a loop is said to wait for.
const NAMED: usize = 2;

/// A wait and where it is.
struct Found {
    /// Where the loop is entered.
    start: u32,
    /// Its instructions.
    code: Vec<Range<u32>>,
    waits: Waits,
    rounds: u64,
}

/// The functions of these names, as ranges of addresses.
pub(super) fn named(firmware: &Firmware, names: &[String]) -> Result<Vec<Range<u32>>, Error> {
    let range = |name: &String| {
        let function =
            firmware.function_at(address(firmware, name)?).map(|id| firmware.function(id));
        let function = function
            .ok_or_else(|| Error::Symbol(format!("--idle {name}: this is not a function")))?;
        Ok(function.start & !1..u32::try_from(function.end()).unwrap_or(u32::MAX))
    };
    names.iter().map(range).collect()
}

/// All waits of a run, those with most cycles first. `called` has call instructions with what each
/// has always called, if that is one place.
pub(super) fn find(
    names: &Names,
    bus: &Bus,
    idle: &[Range<u32>],
    called: &BTreeMap<u32, Option<u32>>,
) -> Vec<Wait> {
    let firmware = names.firmware();
    let samples = &names.profile.addresses;
    let mut out: Vec<Wait> = idle.iter().map(|range| of_named(names, range)).collect();
    let is_named = |at: u32| idle.iter().any(|idle| idle.contains(&at));
    // Calls that were too deep are not among them.
    let none = BTreeMap::new();
    let called = if names.profile.tree_cut > 0 { &none } else { called };
    let all = loops(&Program::new(firmware, called), samples);
    let looks = callee::looks(samples, all.iter().map(|found| &found.waits));
    for Found { start, code, waits, rounds } in all {
        if is_named(start) {
            continue;
        }
        let inside = code.iter().flat_map(|range| within(samples, range));
        let mut cycles = inside.fold(Bounds::default(), |sum, at| sum + busy(at));
        for (&called, sites) in &waits.calls {
            if !is_named(called) {
                cycles += callee::cycles(names, &waits, called, sites);
            }
        }
        let (rounds, cycles) = callee::apart(names, start, &looks, (rounds, cycles));
        let until = match (waits.sources.is_empty(), waits.counts) {
            (true, _) => Until::Counted,
            (false, true) => Until::Either,
            (false, false) => Until::Outside,
        };
        let sources = seen(firmware, bus, waits, &code);
        out.push(Wait {
            place: names.describe(start).swap_remove(0),
            addresses: start..code.last().map_or(start, |last| last.end),
            waits_for: what(firmware, bus, &sources),
            until,
            polls: sources.iter().any(is_of_device),
            rounds,
            cycles,
        });
    }
    out.retain(|wait| wait.cycles.likely > 0);
    out.sort_by_key(|wait| (std::cmp::Reverse(wait.cycles.likely), wait.addresses.start));
    out
}

/// A function that the user has called a wait.
fn of_named(names: &Names, range: &Range<u32>) -> Wait {
    let inside = within(&names.profile.addresses, range);
    let cycles = inside.iter().fold(Bounds::default(), |sum, at| sum + busy(at));
    let rounds = inside.first().map_or(0, |first| first.count);
    Wait {
        place: names.describe(range.start).swap_remove(0),
        addresses: range.clone(),
        waits_for: "what --idle names".to_owned(),
        until: Until::Either,
        polls: false,
        rounds,
        cycles,
    }
}

/// The loops that wait, by address; of nested ones the outermost.
fn loops(program: &Program<'_>, samples: &[AddressSample]) -> Vec<Found> {
    let firmware = program.firmware;
    let mut out: Vec<Found> = Vec::new();
    let mut done = 0;
    for sample in samples.iter().filter(|sample| sample.jumped > 0) {
        let Some(function) = outermost_at(firmware, sample.address) else { continue };
        let (start, end) = (function.start & !1, u32::try_from(function.end()).unwrap_or(u32::MAX));
        if sample.address < done {
            continue;
        }
        done = end;
        let code: Vec<Instruction> = program.instructions(start..end).collect();
        of_function(program, samples, &code, &mut out);
    }
    out
}

fn of_function(
    program: &Program<'_>,
    samples: &[AddressSample],
    code: &[Instruction],
    out: &mut Vec<Found>,
) {
    let flow = Flow::of(code, program.machine());
    let (mut covered, mut whole): (BTreeSet<usize>, Vec<usize>) = Default::default();
    for one in flow.loops() {
        if !one.part {
            whole.clone_from(&one.turn);
        }
        if one.turn.len() > body::MOST || one.turn.iter().any(|at| covered.contains(at)) {
            continue;
        }
        let back = |&at: &usize| {
            let branch = &code[at];
            let inside = |to: u32| one.turn.iter().any(|&at| code[at].address == to & !1);
            let target = branch.target.as_ref().map(|target| target.address);
            let goes_back = target.is_some_and(|to| to <= branch.address && inside(to));
            let sample = within(samples, &(branch.address..branch.address + 1)).first();
            sample.filter(|_| goes_back).map_or(0, |sample| sample.jumped)
        };
        let rounds = one.turn.iter().map(back).sum();
        if rounds == 0 {
            continue;
        }
        let Some(waits) = body::waits(program, code, &flow, &one) else { continue };
        if one.part {
            // What it counts goes on in the other turns, which do more. If those do nothing but
            // find out how often something was seen, or the most, all of them are for that.
            let machine = program.machine();
            let rest = whole.iter().copied().filter(|at| !one.turn.contains(at)).collect();
            let acts = acting::act(code, &rest, machine);
            if waits.counts || !acts && acting::find(code, &whole, &rest, machine) {
                continue;
            }
        }
        covered.extend(&one.turn);
        let start = one.turn.first().map_or(0, |&first| code[first].address);
        out.push(Found { start, code: ranges(code, &one.turn), waits, rounds });
    }
}

/// Instructions as ranges of addresses.
fn ranges(code: &[Instruction], turn: &[usize]) -> Vec<Range<u32>> {
    let mut numbers = turn.to_vec();
    numbers.sort_unstable();
    let mut out: Vec<Range<u32>> = Vec::new();
    for one in numbers.into_iter().map(|at| &code[at]) {
        let end = one.address + u32::from(one.size);
        match out.last_mut().filter(|last| last.end == one.address) {
            Some(last) => last.end = end,
            None => out.push(one.address..end),
        }
    }
    out
}

fn within<'a>(samples: &'a [AddressSample], range: &Range<u32>) -> &'a [AddressSample] {
    let from = samples.partition_point(|sample| sample.address < range.start);
    let to = samples.partition_point(|sample| sample.address < range.end);
    &samples[from..to.max(from)]
}

/// Cycles that are not idle already.
fn busy(sample: &AddressSample) -> Bounds {
    let asleep = sample.cycles[Cause::Asleep];
    let Bounds { low, likely, high } = sample.bounds;
    Bounds {
        low: low.saturating_sub(asleep),
        likely: likely.saturating_sub(asleep),
        high: high.saturating_sub(asleep),
    }
}

/// The registers that instructions of the loop have read, else those that functions which it calls
/// have, instead of places that the instructions do not show.
fn seen(firmware: &Firmware, bus: &Bus, waits: Waits, code: &[Range<u32>]) -> BTreeSet<For> {
    let Waits { mut sources, calls, .. } = waits;
    if !sources.contains(&For::Somewhere) {
        return sources;
    }
    let read = |code: Range<u32>| bus.registers_read(&code);
    let mut registers: BTreeSet<u32> = code.iter().cloned().flat_map(read).collect();
    if registers.is_empty() {
        let called = calls.keys().filter_map(|&at| callee::range(firmware, at));
        registers.extend(called.flat_map(read));
    }
    if !registers.is_empty() {
        sources.remove(&For::Somewhere);
        sources.extend(registers.into_iter().map(For::Address));
    }
    sources
}

/// What the places are called.
fn what(firmware: &Firmware, bus: &Bus, sources: &BTreeSet<For>) -> String {
    if sources.is_empty() {
        return "nothing: it counts".to_owned();
    }
    let mut known: Vec<(u8, String)> = sources
        .iter()
        .filter_map(|source| match source {
            For::Address(at) => place(firmware, bus, *at),
            For::Somewhere => None,
        })
        .collect();
    // Bytes of one variable are one place.
    known.dedup();
    // What a device does first; then what others write; last the time by which it is given up.
    known.sort_by_key(|(order, _)| *order);
    let known: Vec<String> = known.into_iter().map(|(_, name)| name).collect();
    match known.len() {
        0 => "a value in memory".to_owned(),
        1..=NAMED => known.join(" and "),
        n => format!("{} and {} more", known[..NAMED].join(", "), n - NAMED),
    }
}

/// DWT_CYCCNT, SYST_CSR and SYST_CVR (ARMv7-M C1.8.8, B3.3).
const CYCLE_COUNTER: u32 = 0xe000_1004;
const SYSTICK_FLAG: u32 = 0xe000_e010;
const SYSTICK_COUNTER: u32 = 0xe000_e018;

/// The ITM's stimulus ports (DDI 0403, C1.7), with which the system's registers begin, and where
/// those of peripherals are (B3.1).
const ITM_PORTS: Range<u32> = 0xe000_0000..0xe000_0080;
const PERIPHERALS: Range<u32> = 0x4000_0000..0x6000_0000;

/// Whether a place is a peripheral's.
fn is_of_device(source: &For) -> bool {
    matches!(source, For::Address(at) if PERIPHERALS.contains(at))
}

/// A place's name, and which of several it comes as.
fn place(firmware: &Firmware, bus: &Bus, at: u32) -> Option<(u8, String)> {
    let counter = match at {
        CYCLE_COUNTER => "the cycle counter",
        SYSTICK_FLAG => "SysTick's flag",
        SYSTICK_COUNTER => "SysTick's counter",
        _ => "",
    };
    if !counter.is_empty() {
        return Some((2, counter.to_owned()));
    }
    if let Some(variable) = firmware.data_symbol_at(at) {
        return Some((1, format!("variable {}", variable.name)));
    }
    if ITM_PORTS.contains(&at) {
        return Some((0, format!("ITM stimulus port {}", (at - ITM_PORTS.start) / 4)));
    }
    let register = bus.register_at(at).map(|name| format!("register {name}"));
    let name = register.or_else(|| bus.device_at(at).map(|name| format!("{name} at {at:#010x}")));
    let is_register =
        firmware.machine() == Machine::Arm && (PERIPHERALS.contains(&at) || at >= ITM_PORTS.start);
    let name = name.or_else(|| is_register.then(|| format!("the register at {at:#010x}")))?;
    Some((0, name))
}
