//! Which functions are behind a figure: the largest, and those that changed since a baseline.

use std::collections::BTreeMap;

use strobe_model::measurement::{Measurement, Profile};

use super::Selector;
use crate::attribution::{By, Place, restricted, rows, tree};

/// A function's part of a figure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    /// The function.
    pub name: String,
    /// Its part, in the unit of the profile's measure.
    pub value: i64,
    /// What it was before, where that is known and another.
    pub before: Option<i64>,
}

/// The functions behind a figure, the largest first; none where the measurement has no profile.
pub fn contributors(measurement: &Measurement, selector: &Selector) -> Vec<Share> {
    let part = owner(selector).and_then(|name| restricted(measurement, name));
    let of = part.as_ref().unwrap_or(measurement);
    let Some(profile) = of.profiles().next() else { return Vec::new() };
    let wanted = match selector {
        Selector::Cell { column, .. } | Selector::Any { column, .. } => Some(column.as_str()),
        Selector::Symbol { measure, .. } => Some(measure.as_str()),
        Selector::Total(id) => Some(id.as_str()),
        _ => None,
    };
    let named = wanted.and_then(|id| profile.measure(id)).or(profile.measures.first());
    let Some(measure) = named else { return Vec::new() };
    match selector {
        Selector::Function { name, inclusive: true } => below(profile, &measure.id, name),
        Selector::Function { name, .. } | Selector::Symbol { name, .. } => {
            all(profile, &measure.id).into_iter().filter(|share| share.name == *name).collect()
        }
        Selector::Cell { section, row, .. } if section == "files" => {
            let in_file = |share: &Share| file_of(profile, &share.name) == Some(row);
            all(profile, &measure.id).into_iter().filter(in_file).collect()
        }
        _ => all(profile, &measure.id),
    }
}

/// The thread or interrupt that a figure is of.
fn owner(selector: &Selector) -> Option<&str> {
    match selector {
        Selector::LostInterrupts(name) => Some(name),
        Selector::Cell { section, row, .. } if section == "interrupts" || section == "threads" => {
            Some(row)
        }
        Selector::Spread { section, name, .. } if section == "durations" => {
            Some(name.split_once(' ').map_or(name, |(_, name)| name))
        }
        _ => None,
    }
}

fn file_of<'a>(profile: &'a Profile, function: &str) -> Option<&'a String> {
    let at = profile.functions.name.iter().position(|name| name == function)?;
    profile.files.get(profile.functions.file.get(at).copied()?? as usize)
}

fn all(profile: &Profile, measure: &str) -> Vec<Share> {
    let Some(flat) = rows(profile, measure, &By::Function) else { return Vec::new() };
    let share = |row: crate::attribution::Row| Share {
        value: row.sums.busy().value,
        name: row.name,
        before: None,
    };
    flat.rows.into_iter().map(share).filter(|share| share.value != 0).collect()
}

/// What a function and its callees have while they do not sleep, by function.
fn below(profile: &Profile, measure: &str, name: &str) -> Vec<Share> {
    let Some(tree) = tree(profile, measure) else { return Vec::new() };
    // Callers come before those they call: one pass knows which are within.
    let mut within = vec![false; tree.nodes.len()];
    let mut sums: BTreeMap<String, i64> = BTreeMap::new();
    for (at, node) in tree.nodes.iter().enumerate() {
        let own = tree.name(profile, at);
        let is_function = matches!(node.place, Place::Function(_));
        within[at] = is_function && own == name || node.parent.is_some_and(|p| within[p]);
        if within[at] {
            let sum = sums.entry(own).or_default();
            *sum = sum.saturating_add(node.own.busy);
        }
    }
    let shares = sums.into_iter().filter(|(_, value)| *value != 0);
    let mut shares: Vec<Share> =
        shares.map(|(name, value)| Share { name, value, before: None }).collect();
    shares.sort_by(|a, b| b.value.cmp(&a.value).then_with(|| a.name.cmp(&b.name)));
    shares
}

/// Those that changed, the largest change first, with what they were; functions that are new were
/// 0 and those that are gone are 0. Of a baseline that is not `complete`, one that is not
/// among them is not known to be new.
pub fn changes(now: &[Share], before: &BTreeMap<String, i64>, complete: bool) -> Vec<Share> {
    let mut changed: Vec<Share> = Vec::new();
    for share in now {
        let was = before.get(&share.name).copied().or_else(|| complete.then_some(0));
        if was.is_some_and(|was| was != share.value) {
            changed.push(Share { before: was, ..share.clone() });
        }
    }
    for (name, was) in before {
        if !now.iter().any(|share| share.name == *name) {
            changed.push(Share { name: name.clone(), value: 0, before: Some(*was) });
        }
    }
    let by = |share: &Share| share.value.abs_diff(share.before.unwrap_or(share.value));
    changed.sort_by(|a, b| by(b).cmp(&by(a)).then_with(|| a.name.cmp(&b.name)));
    changed
}
