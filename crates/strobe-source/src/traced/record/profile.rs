//! Samples by place, with the firmware's names: the profile and its tree.

use std::collections::BTreeMap;

use strobe_model::{
    AddressShare, Cause, CauseCycles, Place, Profile, Share, Traced, TreeNode, Warning, Who,
};
use strobe_symbols::Firmware;

use super::super::{Accumulator, Settings};
use crate::names::{Counted, Names};

/// Share of samples outside the firmware from which on it is probably another one, in parts of a
/// hundred.
const FOREIGN_PERCENT: u64 = 20;

/// Samples at an address, as cycles of the cause that they were taken in.
#[derive(Default)]
struct Samples {
    count: u64,
    cycles: CauseCycles,
}

impl Counted for Samples {
    fn count(&self) -> u64 {
        self.count
    }

    fn jumped(&self) -> u64 {
        0
    }

    fn cycles(&self) -> CauseCycles {
        self.cycles
    }
}

/// Samples by what could be made of their address.
#[derive(Debug, Default)]
pub struct Sums {
    /// In a function.
    pub named: u64,
    /// In code that counts as idle.
    pub idle: u64,
    /// In the firmware's memory, in no function.
    pub nameless: u64,
    /// Where the firmware has nothing.
    pub outside: u64,
}

impl Sums {
    /// Warns if most addresses are another firmware's.
    pub fn warning(&self, awake: u64) -> Option<Warning> {
        let is_foreign = self.outside * 100 > awake * FOREIGN_PERCENT;
        let text = format!(
            "{} of {awake} addresses lie outside this firmware: it is probably not the one that \
             ran, or the core clock or the baud \
             rate is not what the recording was made with",
            self.outside
        );
        is_foreign.then(|| Warning::new("other-firmware", text))
    }
}

/// The profile without its tree.
pub fn profile(
    accumulator: &Accumulator,
    firmware: Option<&Firmware>,
    settings: &Settings,
) -> (Profile, Sums) {
    let places = accumulator.places.sorted();
    let mut counts: Vec<(u32, Samples)> = Vec::new();
    let mut shares: BTreeMap<Who, Vec<AddressShare>> = BTreeMap::new();
    for (pc, who, n) in places {
        if counts.last().is_none_or(|(address, _)| *address != pc) {
            counts.push((pc, Samples::default()));
        }
        let sample = counts.len() as u32 - 1;
        let cause = if is_idle(pc, settings) { Cause::Asleep } else { Cause::Execute };
        let cycles = CauseCycles::of(cause, n);
        if let Some((_, count)) = counts.last_mut() {
            count.count += n;
            count.cycles += cycles;
        }
        if let Some(who) = who {
            let share = AddressShare { sample, count: n, idle: 0, jumped: 0, cycles };
            shares.entry(who).or_default().push(share);
        }
    }
    let empty = Firmware::of_functions([]);
    let mut names = Names::new(firmware.unwrap_or(&empty));
    names.add_samples(&counts);
    let mut sums = Sums::default();
    for sample in &names.profile.addresses {
        let inside = firmware.is_some_and(|f| f.has_code_at(sample.address));
        let sum = match (sample.cycles[Cause::Asleep] > 0, sample.function, inside) {
            (true, ..) => &mut sums.idle,
            (_, Some(_), _) => &mut sums.named,
            (_, None, true) => &mut sums.nameless,
            (_, None, false) => &mut sums.outside,
        };
        *sum += sample.count;
    }
    let share = |(who, addresses)| Share { who, addresses };
    names.profile.shares = shares.into_iter().map(share).collect();
    (names.profile, sums)
}

fn is_idle(pc: u32, settings: &Settings) -> bool {
    settings.idle.iter().any(|range| range.contains(&pc))
}

/// A root for each thread and handler, and its functions below it.
pub fn tree(profile: &Profile, traced: &Traced) -> Vec<TreeNode> {
    let mut out = Vec::new();
    let node = |place, parent, cycles, idle| TreeNode {
        place,
        parent,
        calls: 0,
        self_cycles: cycles,
        self_idle: Some(idle),
        self_instructions: 0,
    };
    for share in &profile.shares {
        let place = match share.who {
            Who::Thread(n) => Place::Thread(
                traced.threads.get(n as usize).map_or_else(String::new, |t| t.name.clone()),
            ),
            Who::Interrupt(n) => Place::Exception(
                traced
                    .exceptions
                    .iter()
                    .find(|e| e.number == n)
                    .map_or_else(String::new, |e| e.name.clone()),
            ),
        };
        let root = out.len() as u32;
        out.push(node(place, None, 0, 0));
        let mut functions: BTreeMap<Option<u32>, (u64, u64)> = BTreeMap::new();
        for part in &share.addresses {
            let function = profile.addresses.get(part.sample as usize).and_then(|s| s.function);
            let (all, idle) = functions.entry(function).or_default();
            *all += part.count;
            *idle += part.cycles[Cause::Asleep];
        }
        for (function, (all, idle)) in functions {
            let place = function.map_or(Place::Unknown, Place::Function);
            out.push(node(place, Some(root), all, idle));
        }
    }
    out
}
