//! Busy waiting: loops that do nothing but wait for a flag, a tick or a counter, or that count.
//!
//! A profile counts their cycles like any others, but no better algorithm makes them fewer. What is
//! a wait follows from the instructions alone ([`verdict`]), never from a name; functions that the
//! user names (`--idle`) are added.

mod arm;
mod avr;
mod callee;
mod entry;
mod flow;
mod live;
mod program;
mod step;
mod turn;
mod value;
mod verdict;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::code_profile::AddressSample;
use crate::simulated::run_record::{Until, Wait};
use strobe_model::Bounds;
use strobe_sim::bus::Bus;
use strobe_symbols::Firmware;

use super::drive::address;
use super::{Error, PlaceError};
use crate::names::{Names, outermost_at};
use flow::Loop;
use program::{Function, Program};
use step::Location;
use verdict::Waits;

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
        let function = function.ok_or_else(|| PlaceError::IdleFunction { name: name.clone() })?;
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
        let sources = seen(firmware, bus, &waits, &code);
        out.push(Wait {
            place: names.describe(start).swap_remove(0),
            addresses: start..code.last().map_or(start, |last| last.end),
            waits_for: what(firmware, bus, &sources),
            until,
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
        if sample.address < done {
            continue;
        }
        done = u32::try_from(function.end()).unwrap_or(u32::MAX);
        if let Some(function) = program.around(function.start & !1) {
            of_function(program, samples, &function, &mut out);
        }
    }
    out
}

fn of_function(
    program: &Program<'_>,
    samples: &[AddressSample],
    function: &Function,
    out: &mut Vec<Found>,
) {
    let mut covered: BTreeSet<u32> = BTreeSet::new();
    for one in function.loops() {
        let rounds = rounds(samples, function, one);
        if rounds == 0 || !covered.is_disjoint(&one.body) {
            continue;
        }
        let entry = || entry::constants(program, function, one);
        let Some(waits) = verdict::waits(program, function, one, entry) else { continue };
        covered.extend(&one.body);
        out.push(Found { start: one.head, code: ranges(function, one), waits, rounds });
    }
}

/// How often a loop went back to its head.
fn rounds(samples: &[AddressSample], function: &Function, of: &Loop) -> u64 {
    let back = |&at: &u32| {
        let step = function.step(at)?;
        let sample = within(samples, &(at..at + 1)).first()?;
        let falls = step.end == of.head && step.successors().contains(&step.end);
        Some(match step.next {
            step::Next::Branch { to, .. } | step::Next::Jump(to) if to == of.head => sample.jumped,
            _ if falls => sample.count.saturating_sub(sample.jumped),
            _ => 0,
        })
    };
    of.body.iter().filter_map(back).sum()
}

/// Instructions as ranges of addresses.
fn ranges(function: &Function, of: &Loop) -> Vec<Range<u32>> {
    let mut out: Vec<Range<u32>> = Vec::new();
    for step in of.body.iter().filter_map(|&at| function.step(at)) {
        match out.last_mut().filter(|last| last.end == step.address) {
            Some(last) => last.end = step.end,
            None => out.push(step.address..step.end),
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
    Bounds::exact(sample.cycles.busy())
}

/// What a loop waits for, as addresses: those that its instructions show, and for others the
/// registers of devices that they have read, or that functions which it calls have.
fn seen(
    firmware: &Firmware,
    bus: &Bus,
    waits: &Waits,
    code: &[Range<u32>],
) -> BTreeSet<Option<u32>> {
    let base = firmware.machine().conventions().data_space;
    let shown = |place: &Location| match place {
        Location::Memory(None, at) => Some(*at as u32 | base),
        _ => None,
    };
    let mut out: BTreeSet<Option<u32>> = waits.sources.iter().map(shown).collect();
    if !out.contains(&None) {
        return out;
    }
    let read = |code: Range<u32>| bus.registers_read(&code);
    let mut registers: BTreeSet<u32> = code.iter().cloned().flat_map(read).collect();
    if registers.is_empty() {
        let called = waits.calls.keys().filter_map(|&at| callee::range(firmware, at));
        registers.extend(called.flat_map(read));
    }
    if !registers.is_empty() {
        out.remove(&None);
        out.extend(registers.into_iter().map(Some));
    }
    out
}

/// What the places are called.
fn what(firmware: &Firmware, bus: &Bus, sources: &BTreeSet<Option<u32>>) -> String {
    if sources.is_empty() {
        return "nothing: it counts".to_owned();
    }
    let known = sources.iter().flatten();
    let mut known: Vec<(u8, String)> = known.filter_map(|at| place(firmware, bus, *at)).collect();
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
    let is_register = PERIPHERALS.contains(&at) || at >= ITM_PORTS.start;
    let name = name.or_else(|| is_register.then(|| format!("the register at {at:#010x}")))?;
    Some((0, name))
}
