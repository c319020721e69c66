//! Threads that begin in functions of the system, which then call theirs by a pointer:
//! `nxtask_start` and `nxtask_startup` of NuttX, `main_trampoline` of RIOT. Which these are, a run
//! shows: they come before a function that threads are known to be made of. What they have on the
//! stack counts for the thread, and what else is called from the same place is a thread too.
//! Threads that the image does not show at all are those of the run.

use std::collections::{BTreeMap, BTreeSet};

use super::Analysis;
use super::entries::{Entry, Kind, entry};
use super::worst::Link;
use crate::callgraph::{Function, Target};

/// The worst case of an entry point.
pub(super) struct Deepest {
    pub(super) bytes: u64,
    /// It is a lower bound only.
    pub(super) is_open: bool,
    /// Outermost first; the bytes add up.
    pub(super) chain: Vec<Link>,
}

impl Analysis<'_> {
    /// Takes over what a run showed: for each thread, but not for the code from reset, the paths of
    /// calls from its first function.
    pub fn observe(&mut self, threads: &[Vec<Vec<u32>>]) {
        let paths: BTreeSet<&[u32]> = threads.iter().flatten().map(Vec::as_slice).collect();
        let systems = self.systems(&paths);
        for system in &systems {
            let begins = |path: &&&[u32]| path.len() > system.len() && path.starts_with(system);
            for to in paths.iter().filter(begins).map(|path| path[system.len()]) {
                if !self.is_by_pointer(system, to) {
                    continue;
                }
                let known = self.thread(to).unwrap_or_else(|| {
                    self.entries.push(entry(Kind::Thread, to));
                    self.entries.len() - 1
                });
                self.entries[known].through.clone_from(system);
            }
        }
        // What else threads began with is theirs: the image did not show that it makes threads.
        for paths in threads {
            let first = paths.first().and_then(|path| path.first().copied());
            let is_known = |at: &u32| self.graph.functions.contains_key(at);
            let new = first.filter(|at| is_known(at) && self.thread(*at).is_none());
            if let Some(first) = new.filter(|_| self.entry_of(paths).is_none()) {
                self.entries.push(entry(Kind::Thread, first));
            }
        }
    }

    /// What comes before functions of threads: each the path of calls from a thread's first
    /// function.
    fn systems(&self, paths: &BTreeSet<&[u32]>) -> BTreeSet<Vec<u32>> {
        let mut all: BTreeMap<&[u32], BTreeSet<u32>> = BTreeMap::new();
        for path in paths {
            let [before @ .., last] = path else { continue };
            let is_new = before.first().is_some_and(|first| self.thread(*first).is_none());
            if is_new && self.thread(*last).is_some() && self.is_by_pointer(before, *last) {
                all.entry(before).or_default().insert(*last);
            }
        }
        // A thread's function may call another one's; what calls two of them is the system's.
        let is_known = |at: &u32| self.thread(*at).is_some_and(|at| !self.entries[at].is_guess);
        let is_own = |before: &[u32]| before.iter().any(is_known);
        all.retain(|before, threads| threads.len() > 1 || !is_own(before));
        all.into_keys().map(<[u32]>::to_vec).collect()
    }

    /// The entry point that a thread's paths lead to: the innermost, if there are several.
    pub fn entry_of(&self, paths: &[Vec<u32>]) -> Option<u32> {
        let fits = |entry: &&Entry| {
            let whole = entry.through.iter().chain([&entry.address]);
            paths.iter().any(|path| path.iter().eq(whole.clone()))
        };
        let found = self.of(Kind::Thread).filter(fits);
        found.max_by_key(|entry| entry.through.len()).map(|entry| entry.address)
    }

    fn thread(&self, address: u32) -> Option<usize> {
        let is = |entry: &Entry| entry.kind == Kind::Thread && entry.address == address;
        self.entries.iter().position(is)
    }

    /// Whether the last of some functions has an indirect call, and no other one of this target.
    fn is_by_pointer(&self, from: &[u32], to: u32) -> bool {
        let function = from.last().and_then(|from| self.graph.functions.get(from));
        let Some(function) = function else { return false };
        let has = |target| function.calls.keys().any(|(_, known, _)| *known == target);
        self.graph.functions.contains_key(&to)
            && has(Target::Unknown)
            && !self.leads_to(function, to)
    }

    /// Whether a function calls another one itself, or one that ends with a jump to it, which
    /// leaves no trace of its own.
    fn leads_to(&self, function: &Function, to: u32) -> bool {
        let known = |function: &Function, jumps_only: bool| -> Vec<u32> {
            let calls = function.calls.keys().filter(|(.., is_jump)| *is_jump || !jumps_only);
            let target = |target: &Target| match target {
                Target::Known(to) => Some(*to),
                Target::Unknown => None,
            };
            calls.filter_map(|(_, to, _)| target(to)).collect()
        };
        let mut work = known(function, false);
        let mut seen = BTreeSet::new();
        while let Some(at) = work.pop() {
            if at == to {
                return true;
            }
            if seen.insert(at)
                && let Some(function) = self.graph.functions.get(&at)
            {
                work.extend(known(function, true));
            }
        }
        false
    }

    /// The deepest stack of an entry point, with what comes before its function.
    pub(super) fn deepest(&self, entry: &Entry) -> Deepest {
        let mut is_open = self.worst.is_open(entry.address);
        let mut above: Vec<Link> = Vec::new();
        let mut chains = Vec::new();
        for (number, at) in entry.through.iter().enumerate() {
            let next = entry.through.get(number + 1).copied();
            is_open |= self.worst.is_open_beside(&self.graph, &self.resolved, *at, next);
            chains.push([above.as_slice(), &self.worst.chain(*at)].concat());
            let bytes = self.graph.bytes_at_call(*at, next);
            above.push(Link { function: *at, bytes, is_ring: false });
        }
        chains.push([above, self.worst.chain(entry.address)].concat());
        let bytes =
            |chain: &[Link]| chain.iter().map(|link| link.bytes).fold(0, u64::saturating_add);
        let chain = chains.into_iter().max_by_key(|chain| bytes(chain)).unwrap_or_default();
        Deepest { bytes: bytes(&chain), is_open, chain }
    }

    /// What an entry point reaches, and what comes before its function.
    pub(super) fn reached(&self, entry: &Entry) -> BTreeSet<u32> {
        let starts = entry.through.iter().chain([&entry.address]);
        starts.flat_map(|start| self.worst.reached(*start)).collect()
    }
}
