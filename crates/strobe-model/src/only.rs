//! A record of some threads and interrupts only: as if the window had been open just while they
//! ran.

use std::collections::BTreeMap;

use crate::{
    AddressSample, Balance, Bounds, Cause, CauseCycles, ModelledCause, Parts, Place, Profile,
    Record, Totals, TreeNode, Trust, Unbalanced, Who,
};

impl Record {
    /// The threads and interrupts that a name means: a thread's, with or without the parentheses or
    /// the address that it was given, an interrupt's, or its device's.
    pub fn named(&self, name: &str) -> Vec<Who> {
        let threads = self.scheduling.as_ref().map(|s| s.threads.as_slice()).unwrap_or_default();
        let threads = (0..).zip(threads).filter(|(_, thread)| is_called(&thread.name, name));
        let threads: Vec<Who> = threads.map(|(at, _)| Who::Thread(at)).collect();
        if !threads.is_empty() {
            return threads;
        }
        let words = |label: &str| {
            let mut words = label.split([' ', '(', ')', '/']).filter(|word| !word.is_empty());
            label.eq_ignore_ascii_case(name) || words.any(|word| word.eq_ignore_ascii_case(name))
        };
        let interrupts = self.exceptions.iter().filter(|e| words(&e.name));
        interrupts.map(|e| Who::Interrupt(e.number)).collect()
    }

    /// The part of the record that belongs to some threads and interrupts: their samples, their
    /// calls, their totals. Scheduling stays whole. Without [shares](Profile::shares) nothing
    /// belongs to anybody.
    ///
    /// # Errors
    /// When the shares do not add up to themselves; they always do unless their sums overflow.
    pub fn only(&self, who: &[Who]) -> Result<Record, Unbalanced> {
        let mut record = self.clone();
        let names: Vec<Place> = who
            .iter()
            .map(|who| match who {
                Who::Thread(_) => Place::Thread(self.who(*who)),
                Who::Interrupt(_) => Place::Exception(self.who(*who)),
            })
            .collect();
        record.profile.shares.retain(|share| who.contains(&share.who));
        record.profile.addresses = addresses(&self.profile, &record.profile);
        record.profile.tree = tree(&self.profile.tree, &names);
        let totals = totals(&record.profile.addresses);
        let unnamed = |s: &&AddressSample| s.function.is_none();
        let unnamed = record.profile.addresses.iter().filter(unnamed);
        let unnamed = unnamed.fold(0u64, |sum, s| sum.saturating_add(s.cycles.busy()));
        record.balance = Balance::new(Parts {
            taken: totals.by_cause.total(),
            attributed: totals.by_cause.busy().saturating_sub(unnamed),
            unattributed: if unnamed > 0 {
                vec![("no symbol".to_owned(), unnamed)]
            } else {
                Vec::new()
            },
            idle: totals.by_cause[Cause::Asleep],
            lost: 0,
        })?;
        record.coverage.seen_cycles = totals.cycles.likely;
        record.trust = trust(&self.trust, &record.profile);
        record.totals = totals;
        // Which samples they are parts of is no longer there.
        record.profile.shares.clear();
        Ok(record)
    }
}

/// `(idle_stack)` is also called `idle_stack`, `worker at 0x20000100 #2` also `worker`.
fn is_called(full: &str, name: &str) -> bool {
    let plain = full.trim_start_matches('(').trim_end_matches(')');
    let before_address = full.split(" at 0x").next().unwrap_or(full);
    [full, plain, before_address].contains(&name)
}

/// The shares' addresses, those of several shares added up.
fn addresses(all: &Profile, shares: &Profile) -> Vec<AddressSample> {
    let mut sums: BTreeMap<u32, AddressSample> = BTreeMap::new();
    for part in shares.shares.iter().flat_map(|share| &share.addresses) {
        let Some(sample) = all.addresses.get(part.sample as usize) else { continue };
        let sum = sums.entry(part.sample).or_insert_with(|| AddressSample {
            count: 0,
            idle: 0,
            jumped: 0,
            cycles: CauseCycles::ZERO,
            bounds: Bounds::default(),
            ..sample.clone()
        });
        sum.count = sum.count.saturating_add(part.count);
        sum.idle = sum.idle.saturating_add(part.idle);
        sum.jumped = sum.jumped.saturating_add(part.jumped);
        sum.cycles += part.cycles;
        sum.bounds += part.bounds;
    }
    sums.into_values().collect()
}

/// What hangs on these roots.
fn tree(all: &[TreeNode], roots: &[Place]) -> Vec<TreeNode> {
    let mut kept: Vec<Option<u32>> = Vec::with_capacity(all.len());
    let mut out = Vec::new();
    for node in all {
        let parent = node.parent.map(|parent| kept.get(parent as usize).copied().flatten());
        let keep = match parent {
            Some(parent) => parent.is_some(),
            None => roots.contains(&node.place),
        };
        kept.push(keep.then_some(out.len() as u32));
        if keep {
            out.push(TreeNode { parent: parent.flatten(), ..node.clone() });
        }
    }
    out
}

fn totals(addresses: &[AddressSample]) -> Totals {
    let mut totals =
        Totals { cycles: Bounds::default(), instructions: 0, by_cause: CauseCycles::ZERO };
    for sample in addresses {
        totals.cycles += sample.bounds;
        totals.instructions = totals.instructions.saturating_add(sample.count);
        totals.by_cause += sample.cycles;
    }
    totals
}

/// The modelled causes with the shares' cycles.
fn trust(all: &Trust, shares: &Profile) -> Trust {
    let Trust::Modelled { causes } = all else { return all.clone() };
    let of = |modelled: &ModelledCause| {
        let parts = shares.shares.iter().flat_map(|share| &share.modelled);
        let parts = parts.filter(|(cause, _)| *cause == modelled.cause);
        let mut cycles = Bounds::default();
        parts.for_each(|(_, part)| cycles += *part);
        ModelledCause { cycles, ..modelled.clone() }
    };
    let causes: Vec<ModelledCause> =
        causes.iter().map(of).filter(|modelled| modelled.cycles != Bounds::default()).collect();
    if causes.is_empty() { Trust::Exact } else { Trust::Modelled { causes } }
}
