//! Functions of allocators that a compiler has inlined into others or made copies of that take
//! other arguments: nothing is to be seen of their calls.
//!
//! A wrapper that is inlined and calls a function that is seen hides nothing, and neither does what
//! is inlined into the allocator itself.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use strobe_symbols::{Firmware, Frame};

use super::names::{bare, fits};
use super::{Found, Role};

/// Functions into which one was inlined that are named.
const MOST_NAMES: usize = 3;

/// Debug information may have the call at the end of inlined code beside it: so many bytes.
const AROUND: u32 = 16;

/// What a call of a function does to blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum AllocatorAction {
    Allocates,
    Resizes,
    Frees,
}

fn deed(role: Role) -> Option<AllocatorAction> {
    match role {
        Role::Allocate { .. } => Some(AllocatorAction::Allocates),
        Role::Reallocate { .. } => Some(AllocatorAction::Resizes),
        Role::Free { .. } => Some(AllocatorAction::Frees),
        Role::Grow { .. } | Role::Give { .. } | Role::Own | Role::Passes => None,
    }
}

/// An allocator's function in another one: its name, what it does, and where it is.
type Copies = BTreeMap<(String, AllocatorAction, String), Vec<Range<u32>>>;

/// What is not to be seen of the wanted functions, each in words.
pub(super) fn unseen(firmware: &Firmware, found: &Found, wanted: &[(&str, Role)]) -> Vec<String> {
    let mut by_function: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for ((name, deed, into), ranges) in inlined(firmware, found, wanted) {
        let begin = ranges.iter().map(|range| range.start).min().unwrap_or(0);
        let end = ranges.iter().map(|range| range.end).max().unwrap_or(0);
        let around = begin.saturating_sub(AROUND)..end.saturating_add(AROUND);
        if !calls_on(firmware, found, around, deed) {
            by_function.entry(name).or_default().push(into);
        }
    }
    let mut out: Vec<String> = by_function
        .into_iter()
        .map(|(name, mut into)| {
            let more = into.len().saturating_sub(MOST_NAMES);
            into.truncate(MOST_NAMES);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("{name} is inlined into {}{more}", into.join(", "))
        })
        .collect();
    out.extend(changed(firmware, wanted));
    out
}

/// The wanted functions that were inlined, by the function that they are in.
fn inlined<'a>(firmware: &'a Firmware, found: &Found, wanted: &[(&str, Role)]) -> Copies {
    // What each name is, if it is wanted, looked up once.
    let mut known: HashMap<&'a str, Option<Role>> = HashMap::new();
    let is_entry = |address: u32| found.entries.iter().any(|entry| entry.address == address);
    let mut out = Copies::new();
    for (range, frames) in firmware.code_pieces(0..u64::from(u32::MAX)) {
        let mut role_of = |frame: &Frame<'a>| {
            let name = frame.linkage_name.or(frame.name)?;
            let find = || wanted.iter().find(|(pattern, _)| fits(pattern, bare(name)));
            *known.entry(name).or_insert_with(|| find().map(|(_, role)| *role))
        };
        let roles: Vec<Option<Role>> = frames.frames.iter().map(&mut role_of).collect();
        let Some(outer) = frames.outermost() else { continue };
        // The outermost of them is the one that is called.
        let Some(at) = roles.iter().rposition(Option::is_some) else { continue };
        let frame = &frames.frames[at];
        let is_allocator = outer.function.is_some_and(|id| is_entry(firmware.function(id).start));
        let Some(deed) = roles[at].and_then(deed).filter(|_| frame.inlined && !is_allocator) else {
            continue;
        };
        let name = frame.name.or(frame.linkage_name).unwrap_or_default().to_owned();
        let into = outer.name.unwrap_or("code without a name").to_owned();
        let range = range.start as u32..u32::try_from(range.end).unwrap_or(u32::MAX);
        out.entry((name, deed, into)).or_default().push(range);
    }
    out
}

/// Whether code calls, or goes on to, a function of the same kind that is seen.
fn calls_on(firmware: &Firmware, found: &Found, range: Range<u32>, does: AllocatorAction) -> bool {
    firmware.instructions(range).any(|instruction| {
        let Some(target) = instruction.target else { return false };
        let both = found.entries.iter().zip(&found.functions);
        let mut same = both.filter(|(_, known)| deed(known.role) == Some(does));
        same.any(|(entry, _)| entry.address == target.address & !1)
    })
}

/// Copies that the compiler has made for certain arguments, and that do not take them.
fn changed(firmware: &Firmware, wanted: &[(&str, Role)]) -> Vec<String> {
    let mut out = Vec::new();
    for function in firmware.functions() {
        let name = &function.linkage_name;
        let mark = [".constprop", ".isra"].iter().filter_map(|mark| name.find(mark)).min();
        let Some(original) = mark.map(|at| &name[..at]) else { continue };
        let mut same = wanted.iter().filter(|(pattern, _)| fits(pattern, original));
        if same.any(|(_, role)| deed(*role).is_some()) {
            out.push(format!("{name} takes other arguments than {original}"));
        }
    }
    out
}
