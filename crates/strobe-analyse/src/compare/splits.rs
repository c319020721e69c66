//! Functions that were split off another one, or became part of it: what one side alone has, where
//! exactly one function that both have takes about as much less.

use super::groups::{Group, Side};
use super::matching::{How, Marks, Match};
use super::words::grouped;

/// What the other one takes less is no less than this part of what was split off, and no more than
/// its inverse: a split costs a call and some moves.
const ABOUT: f64 = 0.5;

/// The part of a function's sequences of instructions that the other one has to have.
const WITHIN: f64 = 0.3;

/// What became of a function that is on one side alone, if on the other it is a part of another.
pub(super) fn state(sides: &[Side; 2], all: &[Match], alone: &Match) -> Option<String> {
    let ([new, old], at, words) = match (alone.a, alone.b) {
        (None, Some(at)) => ([1, 0], at, ["new: split from", "less"]),
        (Some(at), None) => ([0, 1], at, ["gone: now part of", "more"]),
        _ => return None,
    };
    let part = &sides[new].groups[at];
    if alone.how != How::Alone || part.own.value <= 0 {
        return None;
    }
    let marks = Marks::of(part);
    let mut found: Option<(&Group, i64)> = None;
    for whole in all.iter().filter_map(|m| Some([m.a?, m.b?])) {
        let [here, there] = [&sides[new].groups[whole[new]], &sides[old].groups[whole[old]]];
        let lost = there.own.value.saturating_sub(here.own.value);
        let share = lost as f64 / part.own.value as f64;
        let is_about = (ABOUT..=1.0 / ABOUT).contains(&share) && here.file == part.file;
        let is_near = part.near.contains(&here.name) || here.near.contains(&part.name);
        if is_about && (is_near || marks.within(&Marks::of(there)) >= WITHIN) {
            if found.is_some() {
                // Either could be it.
                return None;
            }
            found = Some((there, lost));
        }
    }
    let (whole, lost) = found?;
    Some(format!("{} {}, which takes {} {}", words[0], whole.name, grouped(lost), words[1]))
}
