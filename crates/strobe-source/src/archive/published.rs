//! A published profile beside its samples, and the fault that explains the difference.

pub mod report;

use std::collections::{BTreeMap, HashMap};

use crate::archive::published::report::{KnownFault, Published, PublishedFunction};
use strobe_decode::archive::profile;
use strobe_symbols::{Detail, Firmware};

/// The fault of the tool that made the profiles of 2019: it keeps its functions in a list sorted by
/// address, and where a sample belongs to a function that is not in the list and would not come
/// last, it looks no further and drops it.
const FAULT: &str = "the tool that made it drops a sample whose function is not listed yet and \
                     lies below one that is";

/// The function that a tool would name which asks the debug information for an address: the
/// innermost, of those inlined.
fn function(firmware: &Firmware, address: u32) -> Option<String> {
    let frames = firmware.frames(address & !1);
    Some(frames.innermost()?.name?.to_owned())
}

/// Compares.
pub fn published(
    file: &str,
    profile: &[profile::Published],
    samples: &[u32],
    firmware: &Firmware,
) -> Published {
    let mut names: HashMap<u32, Option<String>> = HashMap::new();
    for pc in samples {
        names.entry(*pc).or_insert_with(|| function(firmware, *pc));
    }
    let named = || samples.iter().filter_map(|pc| Some((*pc, names.get(pc)?.as_deref()?)));
    let mut counted: BTreeMap<&str, u64> = BTreeMap::new();
    for (_, name) in named() {
        *counted.entry(name).or_default() += 1;
    }
    let all = counted.values().sum();
    let faulty = with_fault(named());
    let functions: Vec<PublishedFunction> = profile
        .iter()
        .map(|function| PublishedFunction {
            name: function.name.clone(),
            published: function.hits,
            counted: counted.remove(function.name.as_str()).unwrap_or(0),
            with_fault: faulty.get(function.name.as_str()).copied().unwrap_or(0),
        })
        .collect();
    let same = functions.iter().filter(|f| f.published == f.with_fault).count();
    let total = functions.iter().map(|f| f.published).sum();
    let left: u64 = faulty.values().sum();
    let mut missing: Vec<(String, u64)> =
        counted.into_iter().map(|(name, count)| (name.to_owned(), count)).collect();
    missing.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    Published {
        file: file.to_owned(),
        total,
        counted: all,
        fault: Some(KnownFault {
            what: FAULT.to_owned(),
            total: left,
            same: same as u64,
            functions: faulty.len() as u64,
            exact: same == functions.len() && left == total && faulty.len() == functions.len(),
        }),
        functions,
        missing,
        without_inlining: firmware.detail() != Detail::Lines,
    }
}

/// Hits by function that the fault leaves.
fn with_fault<'n>(samples: impl Iterator<Item = (u32, &'n str)>) -> HashMap<&'n str, u64> {
    let mut hits: HashMap<&str, u64> = HashMap::new();
    let mut last = None;
    for (pc, name) in samples {
        if let Some(hits) = hits.get_mut(name) {
            *hits += 1;
        } else if last < Some(pc) {
            // The list ends with the function whose first sample is the highest.
            last = Some(pc);
            hits.insert(name, 1);
        }
    }
    hits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_below_a_listed_one_vanish() {
        let samples = [(20, "b"), (10, "a"), (21, "b"), (30, "c"), (11, "a"), (25, "d")];
        let hits = with_fault(samples.into_iter());
        assert_eq!(hits, HashMap::from([("b", 2), ("c", 1)]));
    }

    #[test]
    fn published_hits_are_compared_with_the_faults_result() {
        let list = [("a", 0x100u32), ("b", 0x200), ("c", 0x300)];
        let list = list.map(|(name, at)| (name.to_owned(), at, 0x40));
        let firmware = Firmware::of_functions(list);
        let samples = [0x204, 0x104, 0x206, 0x304, 0x108, 0x999_9999];
        let hits = |name: &str, hits| profile::Published {
            name: name.to_owned(),
            hits,
            ..profile::Published::default()
        };
        let compared = published("p", &[hits("b", 2), hits("c", 1)], &samples, &firmware);
        assert_eq!((compared.total, compared.counted), (3, 5));
        assert_eq!(compared.missing, [("a".to_owned(), 2)]);
        assert!(compared.fault.as_ref().is_some_and(|fault| fault.exact && fault.same == 2));
        let other = published("p", &[hits("b", 2), hits("c", 2)], &samples, &firmware);
        assert!(other.fault.is_some_and(|fault| !fault.exact && fault.same == 1));
    }
}
