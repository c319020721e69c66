//! Busy waiting: loops that do nothing but wait for a flag, a tick or a counter, or that count.
//!
//! A profile counts their cycles like any others, but no better algorithm makes them fewer. What is
//! a wait follows from the instructions alone ([`body`]), never from a name; functions that the
//! user names (`--idle`) are added.

mod body;
mod effect;

use std::collections::BTreeSet;
use std::ops::Range;

use strobe_model::{AddressSample, Bounds, Cause, Wait};
use strobe_sim::bus::Bus;
use strobe_symbols::{Firmware, Instruction};

use super::Error;
use super::drive::address;
use crate::names::{Names, outermost_at};
use body::{For, Waits};

/// Bytes of a loop that may be a wait.
const LONGEST: u32 = 160;

/// Places that a loop is said to wait for.
const NAMED: usize = 2;

/// A wait and where it is.
struct Found {
    range: Range<u32>,
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

/// All waits of a run, those with most cycles first.
pub(super) fn find(names: &Names, bus: &Bus, idle: &[Range<u32>]) -> Vec<Wait> {
    let firmware = names.firmware();
    let samples = &names.profile.addresses;
    let mut out: Vec<Wait> = Vec::new();
    for range in idle {
        let inside = within(samples, range);
        let cycles = inside.iter().fold(Bounds::default(), |sum, at| sum + busy(at));
        let rounds = inside.first().map_or(0, |first| first.count);
        out.push(Wait {
            place: names.describe(range.start).swap_remove(0),
            addresses: range.clone(),
            waits_for: "what --idle names".to_owned(),
            rounds,
            cycles,
        });
    }
    let found = loops(firmware, samples);
    let is_named = |range: &Range<u32>| idle.iter().any(|idle| idle.contains(&range.start));
    for Found { range, waits, rounds } in found {
        if is_named(&range) {
            continue;
        }
        let inside = within(samples, &range);
        let mut cycles = inside.iter().fold(Bounds::default(), |sum, at| sum + busy(at));
        for (&called, sites) in &waits.calls {
            if !is_named(&(called..called + 1)) {
                cycles += in_callee(firmware, samples, called, sites);
            }
        }
        let sources = seen(bus, waits.sources, &range);
        out.push(Wait {
            place: names.describe(range.start).swap_remove(0),
            addresses: range,
            waits_for: what(firmware, bus, &sources),
            rounds,
            cycles,
        });
    }
    out.retain(|wait| wait.cycles.likely > 0);
    out.sort_by_key(|wait| (std::cmp::Reverse(wait.cycles.likely), wait.addresses.start));
    out
}

/// The loops that wait, by address; of nested ones the outermost.
fn loops(firmware: &Firmware, samples: &[AddressSample]) -> Vec<Found> {
    let mut out: Vec<Found> = Vec::new();
    let mut code: Option<(u32, Vec<Instruction>)> = None;
    for sample in samples.iter().filter(|sample| sample.jumped > 0) {
        let Some(function) = outermost_at(firmware, sample.address) else { continue };
        let (start, end) = (function.start & !1, u32::try_from(function.end()).unwrap_or(u32::MAX));
        if code.as_ref().is_none_or(|(of, _)| *of != start) {
            code = Some((start, firmware.instructions(start..end).collect()));
        }
        let Some((_, code)) = &code else { continue };
        let Ok(last) = code.binary_search_by_key(&sample.address, |one| one.address) else {
            continue;
        };
        let branch = &code[last];
        if !body::closes_loop(branch, firmware.machine()) {
            continue;
        }
        let Some(target) = branch.target.as_ref().map(|to| to.address & !1) else { continue };
        let Ok(first) = code.binary_search_by_key(&target, |one| one.address) else { continue };
        let length = branch.address - target;
        if length > LONGEST || last - first >= body::MOST {
            continue;
        }
        let Some(waits) = body::waits(firmware, &code[..first], &code[first..=last]) else {
            continue;
        };
        let range = target..branch.address + u32::from(branch.size);
        out.push(Found { range, waits, rounds: sample.jumped });
    }
    joined(out)
}

/// Loops that share instructions are one.
fn joined(mut found: Vec<Found>) -> Vec<Found> {
    found.sort_by_key(|one| (one.range.start, std::cmp::Reverse(one.range.end)));
    let mut out: Vec<Found> = Vec::new();
    for one in found {
        match out.last_mut().filter(|last| one.range.start < last.range.end) {
            Some(last) => {
                last.range.end = last.range.end.max(one.range.end);
                last.rounds = last.rounds.saturating_add(one.rounds);
                last.waits.sources.extend(one.waits.sources);
                for (called, sites) in one.waits.calls {
                    last.waits.calls.entry(called).or_default().extend(sites);
                }
            }
            None => out.push(one),
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

/// Cycles in a function that a loop calls at `sites`: all of them if nobody else does, else in
/// proportion. At most all of them are the loop's; at least those that the other calls cannot have
/// taken if they ran each instruction no more often than the mean call does, rounded up.
fn in_callee(
    firmware: &Firmware,
    samples: &[AddressSample],
    called: u32,
    sites: &BTreeSet<u32>,
) -> Bounds {
    let Some(function) = firmware.function_at(called).map(|id| firmware.function(id)) else {
        return Bounds::default();
    };
    let all = within(samples, &(called..u32::try_from(function.end()).unwrap_or(u32::MAX)));
    let entries = all.first().map_or(0, |first| first.count);
    let cycles = all.iter().fold(Bounds::default(), |sum, at| sum + busy(at));
    let count = |&site: &u32| within(samples, &(site..site + 1)).first().map_or(0, |at| at.count);
    let turns: u64 = sites.iter().map(count).sum();
    if turns >= entries {
        return cycles;
    }
    let others = entries - turns;
    let least = |at: &AddressSample| {
        let theirs = others.saturating_mul(at.count.div_ceil(entries)).min(at.count);
        part(busy(at).low, at.count - theirs, at.count)
    };
    let likely = part(cycles.likely, turns, entries);
    Bounds { low: all.iter().map(least).sum::<u64>().min(likely), likely, high: cycles.high }
}

fn part(of: u64, share: u64, whole: u64) -> u64 {
    let part = u128::from(of) * u128::from(share) / u128::from(whole.max(1));
    u64::try_from(part).unwrap_or(of)
}

/// The registers that instructions of the loop have read, instead of places that the instructions
/// do not show.
fn seen(bus: &Bus, mut sources: BTreeSet<For>, range: &Range<u32>) -> BTreeSet<For> {
    let registers = bus.registers_read(range);
    if !registers.is_empty() && sources.remove(&For::Somewhere) {
        sources.extend(registers.into_iter().map(For::Address));
    }
    sources
}

/// What the places are called.
fn what(firmware: &Firmware, bus: &Bus, sources: &BTreeSet<For>) -> String {
    if sources.is_empty() {
        return "nothing: it counts".to_owned();
    }
    let known: Vec<String> = sources
        .iter()
        .filter_map(|source| match source {
            For::Address(at) => place(firmware, bus, *at),
            For::Somewhere => None,
        })
        .collect();
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

fn place(firmware: &Firmware, bus: &Bus, at: u32) -> Option<String> {
    match at {
        CYCLE_COUNTER => return Some("the cycle counter".to_owned()),
        SYSTICK_FLAG => return Some("SysTick's flag".to_owned()),
        SYSTICK_COUNTER => return Some("SysTick's counter".to_owned()),
        _ => {}
    }
    if let Some(variable) = firmware.data_symbol_at(at) {
        return Some(format!("variable {}", variable.name));
    }
    let register = bus.register_at(at).map(|name| format!("register {name}"));
    register.or_else(|| bus.device_at(at).map(|name| format!("{name} at {at:#010x}")))
}
