//! Samples by place, with the firmware's names.

use std::collections::BTreeMap;

use crate::code_profile::Who;
use crate::code_profile::{AddressShare, CodeProfile, Share};
use strobe_model::measurement::Finding;
use strobe_model::{Cause, CauseCycles};
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
    pub fn warning(&self, awake: u64) -> Option<Finding> {
        let is_foreign = self.outside * 100 > awake * FOREIGN_PERCENT;
        let text = format!(
            "{} of {awake} addresses lie outside this firmware: it is probably not the one that \
             ran, or the core clock or the baud \
             rate is not what the recording was made with",
            self.outside
        );
        is_foreign.then(|| Finding::warning("other-firmware", text))
    }
}

/// The samples with their names.
pub fn profile(
    accumulator: &Accumulator,
    firmware: Option<&Firmware>,
    settings: &Settings,
) -> (CodeProfile, Sums) {
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
