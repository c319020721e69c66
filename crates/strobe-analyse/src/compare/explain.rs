//! Why a function differs, from the data: more calls, more instructions for each, more of a cause,
//! another place in the flash, inlining.

use super::groups::{Group, Side};
use super::matching::Match;
use super::origins::{self, LibraryVersion};

/// What is less than this part of a difference is not named as its cause.
const WORTH_NAMING: f64 = 0.1;

/// Flash is read in lines of 4 to 32 bytes, by part; within this many bytes, places are alike.
const LINE: u64 = 16;

/// Cores fetch words of so many bytes: a jump to the second half of one fetches two.
const WORD: u64 = 4;

/// Parts of a measure that depend on where code lies: in the flash, and in words.
const FETCH_WAIT: &str = "fetch-wait";
const REFILL: &str = "refill";

/// Why a function differs.
#[derive(Debug, Clone, PartialEq)]
pub enum Cause {
    /// It is called more or less often.
    Calls {
        /// The calls of each side.
        calls: [i64; 2],
    },
    /// More or fewer instructions run.
    Instructions(Rate),
    /// More or less of a part of the measure, as a wait.
    Part {
        /// The part's title.
        title: String,
        /// What each side has of it.
        rate: Rate,
    },
    /// Functions that are inlined into it on one side alone.
    Inlined {
        /// Their names.
        names: Vec<String>,
        /// Whether B has them, not A.
        now: bool,
    },
    /// Arithmetic of floating-point numbers in software that one side alone calls.
    SoftFloat {
        /// The functions' names.
        names: Vec<String>,
        /// Whether B calls them, not A.
        now: bool,
        /// Whether the other side calls others.
        others: bool,
    },
    /// It is from another version of its library.
    OtherVersion(LibraryVersion),
    /// The same instructions are at another place.
    Place {
        /// Its address on each side.
        addresses: [u64; 2],
        /// What the place matters for.
        unit: FetchUnit,
        /// The number of bytes of that unit.
        size: u64,
    },
}

/// A figure of each side, for each call where calls are known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rate {
    /// Of A and of B.
    pub sides: [f64; 2],
    /// Whether it is for each call.
    pub per_call: bool,
}

/// Units in which code is fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FetchUnit {
    /// Lines of the flash.
    FlashLine,
    /// Words that a jump fetches.
    Word,
}

pub(super) fn groups<'s>(sides: &'s [Side; 2], matched: &Match) -> [Option<&'s Group>; 2] {
    [matched.a.map(|at| &sides[0].groups[at]), matched.b.map(|at| &sides[1].groups[at])]
}

/// What the figures of a function are divided by, and what is worth naming of its difference.
struct Scale<'g> {
    groups: [&'g Group; 2],
    difference: u64,
    /// Whether figures are for each call.
    per_call: bool,
}

impl Scale<'_> {
    /// Whether a part of the difference is worth naming.
    fn matters(&self, part: f64) -> bool {
        part.abs() >= WORTH_NAMING * self.difference as f64
    }

    /// A figure of each side, for each call where calls are known.
    fn rate(&self, values: [i64; 2]) -> Rate {
        let mut sides = values.map(|value| value as f64);
        if self.per_call {
            for (side, group) in sides.iter_mut().zip(self.groups) {
                *side /= group.calls.max(1) as f64;
            }
        }
        Rate { sides, per_call: self.per_call }
    }

    /// Whether a figure matters that is that much on each side.
    fn is_cause(&self, rate: Rate) -> bool {
        let calls = if self.per_call { self.groups[1].calls } else { 1 };
        self.matters((rate.sides[1] - rate.sides[0]) * calls as f64)
    }

    /// Whether a part is a cause of the difference; nothing where the parts are not known.
    fn is_part_cause(&self, part: &str) -> Option<bool> {
        if self.groups.iter().any(|group| group.parts.is_empty()) {
            return None;
        }
        let values = self.groups.map(|group| group.parts.get(part).copied().unwrap_or(0));
        Some(self.is_cause(self.rate(values)))
    }
}

/// Why a function differs; nothing where it does not.
pub(super) fn why(sides: &[Side; 2], matched: &Match) -> Vec<Cause> {
    let [Some(a), Some(b)] = groups(sides, matched) else { return Vec::new() };
    let difference = b.own.value.saturating_sub(a.own.value).unsigned_abs();
    if difference == 0 {
        return Vec::new();
    }
    let scale = Scale { groups: [a, b], difference, per_call: a.calls > 0 && b.calls > 0 };
    let mut causes = Vec::new();
    let each = a.own.value as f64 / a.calls.max(1) as f64;
    if scale.per_call && scale.matters(each * (b.calls - a.calls) as f64) {
        causes.push(Cause::Calls { calls: [a.calls, b.calls] });
    }
    let executed = scale.rate([a.executions, b.executions]);
    if sides.iter().all(|side| side.has_executions) && scale.is_cause(executed) {
        causes.push(Cause::Instructions(executed));
    }
    causes.extend(parts(sides, &scale));
    causes.extend(inlined_into(sides, matched));
    causes.extend(origins::arithmetic(a, b));
    causes.extend(origins::version(a, b).map(Cause::OtherVersion));
    causes.extend(moved(&scale));
    causes
}

/// Causes that are not instructions, those that matter.
fn parts(sides: &[Side; 2], scale: &Scale) -> Vec<Cause> {
    let mut causes = Vec::new();
    for measure in &sides[0].profile.measures {
        let Some(id) = measure.part.as_ref().map(|_| &measure.id) else { continue };
        let values = scale.groups.map(|group| group.parts.get(id).copied());
        let [Some(x), Some(y)] = values else { continue };
        let rate = scale.rate([x, y]);
        // Executing is what instructions are.
        if id != "execute" && scale.is_cause(rate) {
            causes.push(Cause::Part { title: measure.title.clone(), rate });
        }
    }
    causes
}

/// Functions whose lines are in it on one side alone.
fn inlined_into(sides: &[Side; 2], matched: &Match) -> Option<Cause> {
    let before = inlined_in(&sides[0], matched.a);
    let after = inlined_in(&sides[1], matched.b);
    let new: Vec<String> = after.iter().filter(|n| !before.contains(n)).cloned().collect();
    let gone: Vec<String> = before.iter().filter(|n| !after.contains(n)).cloned().collect();
    match (new.is_empty(), gone.is_empty()) {
        (false, _) => Some(Cause::Inlined { names: new, now: true }),
        (true, false) => Some(Cause::Inlined { names: gone, now: false }),
        (true, true) => None,
    }
}

/// Functions whose lines are in another one.
fn inlined_in(side: &Side, at: Option<usize>) -> Vec<String> {
    let hosted =
        side.inlined.iter().filter(|(_, hosts)| at.is_some_and(|at| hosts.contains_key(&at)));
    hosted.map(|(name, _)| name.clone()).collect()
}

/// The same instructions at another place: in other lines of the flash, where fetching waits, or
/// otherwise in the words that are fetched, where jumps take longer for it.
fn moved(scale: &Scale) -> Option<Cause> {
    let [a, b] = scale.groups;
    let addresses = [a.address?, b.address?];
    let tokens = |group: &Group| -> Vec<String> {
        group.code.iter().map(|instruction| instruction.token.clone()).collect()
    };
    if a.code.is_empty() || tokens(a) != tokens(b) {
        return None;
    }
    let [from, to] = addresses;
    if scale.is_part_cause(FETCH_WAIT).unwrap_or(true) && from % LINE != to % LINE {
        return Some(Cause::Place { addresses, unit: FetchUnit::FlashLine, size: LINE });
    }
    let is_cause = scale.is_part_cause(REFILL) == Some(true) && from % WORD != to % WORD;
    is_cause.then_some(Cause::Place { addresses, unit: FetchUnit::Word, size: WORD })
}
