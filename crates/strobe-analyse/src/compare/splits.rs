//! Functions that were split off another one, or became part of it: what one side alone has, where
//! exactly one function that both have takes about as much less, its only caller before others.

use super::groups::{Group, Side};
use super::matching::{Marks, Match, MatchKind};
use super::state::Origin;

/// What the other one takes less is no less than this part of what was split off, and no more than
/// its inverse: a split costs a call and some moves.
const ABOUT: f64 = 0.5;

/// The same of a part that nothing else calls: what is left of the whole may have come out
/// otherwise.
const ABOUT_BY_CALLER: f64 = 0.25;

/// The part of a function's sequences of instructions that the other one has to have.
const WITHIN: f64 = 0.3;

/// The other function of which one that is on one side alone is a part on the other side.
pub(super) fn origin(sides: &[Side; 2], all: &[Match], alone: &Match) -> Option<Origin> {
    let ([new, old], at) = match (alone.a, alone.b) {
        (None, Some(at)) => ([1, 0], at),
        (Some(at), None) => ([0, 1], at),
        _ => return None,
    };
    let part = &sides[new].groups[at];
    // Names with two underscores are the compiler's: helpers of its library are split off nothing.
    if alone.how != MatchKind::Alone || part.own.value <= 0 || part.name.starts_with("__") {
        return None;
    }
    let losses = all.iter().filter_map(|m| Some([m.a?, m.b?])).filter_map(|whole| {
        let [here, there] = [&sides[new].groups[whole[new]], &sides[old].groups[whole[old]]];
        let lost = there.own.value.saturating_sub(here.own.value);
        (here.file == part.file && lost > 0).then_some((here, there, lost))
    });
    let losses: Vec<(&Group, &Group, i64)> = losses.collect();
    let (whole, by) = by_caller(part, &losses).or_else(|| by_likeness(part, &losses))?;
    Some(Origin::Part { whole: whole.name.clone(), by })
}

/// Whether what one takes less is about what the other takes.
fn is_about(lost: i64, part: &Group, least: f64) -> bool {
    (least..=1.0 / least).contains(&(lost as f64 / part.own.value as f64))
}

/// The only caller of the part.
fn by_caller<'g>(part: &Group, losses: &[(&Group, &'g Group, i64)]) -> Option<(&'g Group, i64)> {
    let mut callers = part.callers.iter();
    let (Some(caller), None) = (callers.next(), callers.next()) else { return None };
    let mut named = losses.iter().filter(|(here, _, _)| here.name == *caller);
    let (_, there, lost) = named.next().filter(|_| named.next().is_none())?;
    is_about(*lost, part, ABOUT_BY_CALLER).then_some((*there, *lost))
}

/// The only one that is near the part or shares instructions with it.
fn by_likeness<'g>(part: &Group, losses: &[(&Group, &'g Group, i64)]) -> Option<(&'g Group, i64)> {
    let marks = Marks::of(part);
    let could_be = |(here, there, lost): &&(&Group, &'g Group, i64)| {
        let is_near = part.near.contains(&here.name) || here.near.contains(&part.name);
        is_about(*lost, part, ABOUT) && (is_near || marks.within(&Marks::of(there)) >= WITHIN)
    };
    let mut found = losses.iter().filter(could_be);
    let (_, there, lost) = found.next()?;
    // Either could be it.
    found.next().is_none().then_some((*there, *lost))
}
