//! Whether one side does more of the same work: where nearly all that takes cycles is called so
//! many times as often, sums of the two are not of the same work, though each call may be.

use super::comparison::Comparison;
use super::found::{FunctionChange, FunctionChanges};
use super::unlike::Unlike;

/// The part of what both sides take that is called alike many times as often.
const MOST_OF_IT: f64 = 0.75;

/// From so many functions on, numbers of calls are no coincidence.
const FEWEST: usize = 3;

/// Less is no other amount of work.
const APART: f64 = 0.05;

/// Numbers of calls are alike within this part, and within a call at either end of a run.
const WITHIN: f64 = 0.02;

/// States that B does so many times what A does.
pub(super) fn note(compared: &mut Comparison, found: &FunctionChanges) {
    if found.sampled {
        return;
    }
    let is_counted = |row: &&FunctionChange| {
        row.matched.a.is_some() && row.matched.b.is_some() && row.calls[0] > 1
    };
    let mut rows: Vec<&FunctionChange> = found.rows.iter().filter(is_counted).collect();
    let times = |row: &FunctionChange| row.calls[1] as f64 / row.calls[0] as f64;
    rows.sort_by(|x, y| times(x).total_cmp(&times(y)));
    let Some(by) = middle(&rows).map(times) else { return };
    let is_member = |row: &FunctionChange| {
        let expected = by * row.calls[0] as f64;
        (row.calls[1] as f64 - expected).abs() <= (WITHIN * expected).max(1.0 + by)
    };
    let mut members: Vec<&FunctionChange> = rows.into_iter().filter(|row| is_member(row)).collect();
    let share = |side: usize| {
        let sum = |rows: &mut dyn Iterator<Item = &FunctionChange>| -> f64 {
            rows.map(|row| row.own[side].max(0) as f64).sum()
        };
        sum(&mut members.iter().copied()) / sum(&mut found.rows.iter()).max(1.0)
    };
    let least = share(0).min(share(1));
    if members.len() < FEWEST || least < MOST_OF_IT || (by - 1.0).abs() < APART {
        return;
    }
    members.sort_by_key(|row| std::cmp::Reverse(row.own[0].max(row.own[1])));
    let calls = members.into_iter().map(|row| (row.name.clone(), row.calls));
    let unlike = Unlike::Amount {
        times: by,
        share: least,
        unit: found.unit.clone(),
        calls: calls.collect(),
    };
    compared.unlike.push(unlike);
}

/// The one in the middle, by what rows take.
fn middle<'r>(rows: &[&'r FunctionChange]) -> Option<&'r FunctionChange> {
    let weight = |row: &FunctionChange| row.own[0].max(0) as f64;
    let all: f64 = rows.iter().map(|row| weight(row)).sum();
    let mut sum = 0.0;
    rows.iter().copied().find(|row| {
        sum += weight(row);
        sum * 2.0 >= all && all > 0.0
    })
}
