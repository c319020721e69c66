//! Cycles in functions that a waiting loop calls to look.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::code_profile::{AddressSample, Place, TreeNode};
use strobe_model::Bounds;
use strobe_symbols::Firmware;

use super::verdict::Waits;
use super::{busy, within};
use crate::names::{Names, outermost_at};

/// The addresses of a function.
pub(super) fn range(firmware: &Firmware, start: u32) -> Option<Range<u32>> {
    let function = firmware.function(firmware.function_at(start)?);
    Some(start..u32::try_from(function.end()).unwrap_or(u32::MAX))
}

/// How often instructions were executed.
fn executions(samples: &[AddressSample], sites: &BTreeSet<u32>) -> u64 {
    let count = |&site: &u32| within(samples, &(site..site + 1)).first().map_or(0, |at| at.count);
    sites.iter().map(count).sum()
}

/// How often the waits call each function to look.
pub(super) fn looks<'a>(
    samples: &[AddressSample],
    waits: impl Iterator<Item = &'a Waits>,
) -> BTreeMap<u32, u64> {
    let mut out = BTreeMap::new();
    for (&called, sites) in waits.flat_map(|waits| &waits.calls) {
        *out.entry(called).or_default() += executions(samples, sites);
    }
    out
}

/// What a loop in a function is by itself, a wait of its own: without its share in those calls of
/// the function that waits make to look, which have it already. `begin` is the loop's first
/// instruction.
pub(super) fn apart(
    names: &Names,
    begin: u32,
    looks: &BTreeMap<u32, u64>,
    (rounds, cycles): (u64, Bounds),
) -> (u64, Bounds) {
    let function = outermost_at(names.firmware(), begin).map(|function| function.start & !1);
    let Some((start, looks)) = function.and_then(|start| Some((start, *looks.get(&start)?))) else {
        return (rounds, cycles);
    };
    let first = executions(&names.profile.addresses, &BTreeSet::from([start]));
    // A loop that begins where the function does goes there in each turn.
    let calls = first.saturating_sub(if begin == start { rounds } else { 0 });
    let left = |of: u64| part(of, calls.saturating_sub(looks), calls);
    let Bounds { low, likely, high } = cycles;
    (left(rounds), Bounds { low: left(low), likely: left(likely), high: left(high) })
}

/// Cycles in a function that a loop calls at `sites`, or that one of those calls: what it took in
/// their call chains, as far as these begin in the loop.
pub(super) fn cycles(names: &Names, waits: &Waits, called: u32, sites: &BTreeSet<u32>) -> Bounds {
    let (firmware, samples) = (names.firmware(), names.profile.addresses.as_slice());
    let by_chains = range(firmware, called).and_then(|range| {
        let all = within(samples, &range);
        let chains = Chains::of(names, waits, called, sites)?;
        Some(chains.bounded(all, executions(samples, sites)))
    });
    by_chains.unwrap_or_else(|| in_proportion(firmware, samples, called, sites))
}

/// What call chains from one function took in another.
#[derive(Default)]
struct Chains {
    /// Cycles that are not idle.
    cycles: u64,
    /// Calls by which the chains begin.
    calls: u64,
}

impl Chains {
    /// The chains from the function with the sites through functions that the loop calls; nothing
    /// where chains are not known.
    fn of(names: &Names, waits: &Waits, called: u32, sites: &BTreeSet<u32>) -> Option<Chains> {
        if names.profile.tree_cut > 0 {
            return None;
        }
        let caller = outermost_at(names.firmware(), *sites.first()?)?.start & !1;
        let nodes = &names.profile.tree;
        let start = |node: &TreeNode| match node.place {
            Place::Function(number) => {
                let function = names.profile.functions.get(number as usize)?;
                let hex = function.address.as_ref()?.strip_prefix("0x")?;
                Some(u32::from_str_radix(hex, 16).ok()? & !1)
            }
            _ => None,
        };
        let mut out = Chains::default();
        let mut begun = BTreeSet::new();
        for node in nodes.iter().filter(|node| start(node) == Some(called)) {
            let (mut top, mut parent) = (node, node.parent);
            while let Some(at) = parent {
                let above = nodes.get(at as usize)?;
                match start(above) {
                    Some(start) if start == caller => {
                        out.cycles += node.self_cycles - node.self_idle;
                        // One beginning may lead there by several ways.
                        if begun.insert(std::ptr::from_ref(top)) {
                            out.calls += top.calls;
                        }
                        break;
                    }
                    Some(start) if waits.calls.contains_key(&start) => {
                        (top, parent) = (above, above.parent);
                    }
                    _ => break,
                }
            }
        }
        (out.cycles > 0).then_some(out)
    }

    /// The share of the chains that begin in the loop, `turns` of them; `all` is the function.
    fn bounded(&self, all: &[AddressSample], turns: u64) -> Bounds {
        let total = all.iter().fold(Bounds::default(), |sum, at| sum + busy(at));
        let scaled = |of: u64, by: u64| part(of, by, total.likely);
        let others = self.calls.saturating_sub(turns);
        let likely = part(self.cycles, self.calls - others, self.calls);
        // Others' calls take what the mean call does, each instruction rounded up, at most.
        let entries = all.first().map_or(1, |first| first.count.max(1));
        let theirs = |at: &AddressSample| {
            let times = others.saturating_mul(at.count.div_ceil(entries)).min(at.count);
            part(busy(at).likely, times, at.count)
        };
        let least = self.cycles.saturating_sub(all.iter().map(theirs).sum());
        let low = scaled(least.min(likely), total.low);
        Bounds { low, likely, high: scaled(self.cycles, total.high).max(likely) }
    }
}

/// The same where call chains are not known: all cycles if nobody else calls it, else a share by
/// the number of calls. At most all of them are the loop's; at least those that the others cannot
/// have taken if they ran each instruction no more often than the mean call does, rounded up.
fn in_proportion(
    firmware: &Firmware,
    samples: &[AddressSample],
    called: u32,
    sites: &BTreeSet<u32>,
) -> Bounds {
    let Some(range) = range(firmware, called) else { return Bounds::default() };
    let all = within(samples, &range);
    let entries = all.first().map_or(0, |first| first.count);
    let cycles = all.iter().fold(Bounds::default(), |sum, at| sum + busy(at));
    let turns = executions(samples, sites);
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
