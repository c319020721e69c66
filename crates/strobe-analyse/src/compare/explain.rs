//! Why a function differs, from the data: more calls, more instructions for each, more of a cause,
//! another place in the flash, inlining, another name. Parts add up to the whole difference.

use strobe_model::measurement::ids;
use strobe_model::measurement::{Cell, Column, Content, Measure, Measurement, Part, Table};

use super::found::{Found, Row};
use super::groups::{Group, Side, base};
use super::matching::{How, Match};
use super::origins;
use super::splits;
use super::words::{grouped, real, some};

/// What is less than this part of a difference is not named as its cause.
const WORTH_NAMING: f64 = 0.1;

/// Flash is read in lines of 4 to 32 bytes, by part; within this many bytes, places are alike.
const LINE: u64 = 16;

/// Cores fetch words of so many bytes: a jump to the second half of one fetches two.
const WORD: u64 = 4;

/// Parts of a measure that depend on where code lies: in the flash, and in words.
const FETCH_WAIT: &str = "fetch-wait";
const REFILL: &str = "refill";

pub(super) fn groups<'s>(sides: &'s [Side; 2], matched: &Match) -> [Option<&'s Group>; 2] {
    [matched.a.map(|at| &sides[0].groups[at]), matched.b.map(|at| &sides[1].groups[at])]
}

/// What became of a function that is not the same in both.
pub(super) fn state(sides: &[Side; 2], all: &[Match], matched: &Match) -> String {
    let [a, b] = groups(sides, matched);
    let mut said = Vec::new();
    match (a, b, matched.how) {
        (Some(a), Some(_), How::Alike(part)) => {
            said.push(format!("renamed from {} ({:.0} % alike)", a.name, part * 100.0));
        }
        (Some(a), Some(b), How::Moved) => {
            said.push(origins::version(a, b).unwrap_or_else(|| {
                format!("moved from {}", a.file.as_deref().unwrap_or("another file"))
            }));
        }
        (Some(a), Some(b), _) => said.extend(clones(a, b)),
        (Some(a), None, _) => said.push(match hosts(&sides[1], &a.name) {
            Some(hosts) => format!("gone: inlined into {hosts}"),
            None => splits::state(sides, all, matched).unwrap_or_else(|| "gone".to_owned()),
        }),
        (None, Some(b), _) => said.push(match hosts(&sides[0], &b.name) {
            Some(hosts) => format!("new: was inlined into {hosts}"),
            None if origins::is_soft_float(&b.name) => "new: soft-float arithmetic".to_owned(),
            None => splits::state(sides, all, matched).unwrap_or_else(|| "new".to_owned()),
        }),
        (None, None, _) => {}
    }
    said.join("; ")
}

/// Where a function's lines run that has no code of its own.
fn hosts(side: &Side, name: &str) -> Option<String> {
    let hosts = side.inlined.get(name)?;
    let names = hosts.keys().map(|at| side.groups[*at].name.as_str());
    let all: i64 = hosts.values().fold(0, |sum, n| sum.saturating_add(*n));
    Some(format!("{}, where it takes {}", some(names, 3), grouped(all)))
}

/// Clones that one side alone has.
fn clones(a: &Group, b: &Group) -> Option<String> {
    let only = |x: &Group, y: &Group, side: &str| {
        let extra: Vec<&str> = x.names.difference(&y.names).map(String::as_str).collect();
        let is_clone = extra.iter().any(|name| base(name) != *name);
        is_clone.then(|| format!("split: {} in {side}", some(extra.iter().copied(), 3)))
    };
    only(b, a, "b").or_else(|| only(a, b, "a"))
}

/// How a row's difference divides: what more calls alone would make, then each part of what a call
/// takes. The sum is the difference.
struct Division {
    calls: i64,
    parts: Vec<i64>,
    rest: i64,
}

fn divide(row: &Row, sides: &[Side; 2], parts: &[&Measure]) -> Division {
    let [a, b] = groups(sides, &row.matched);
    let calls = [a, b].map(|group| group.map_or(0, |group| group.calls));
    let of = |group: Option<&Group>, id: &str| {
        group.and_then(|group| group.parts.get(id).copied()).unwrap_or(0)
    };
    // What more calls of what A is would take, part by part.
    let by_calls = |value: i64| match calls {
        [x, y] if x > 0 && y > 0 => {
            (value as f64 * (y as f64 - x as f64) / x as f64).round() as i64
        }
        _ => 0,
    };
    let mut division = Division { calls: 0, parts: Vec::new(), rest: 0 };
    for part in parts {
        let [x, y] = [of(a, &part.id), of(b, &part.id)];
        let of_calls = by_calls(x);
        division.calls = division.calls.saturating_add(of_calls);
        division.parts.push(y.saturating_sub(x).saturating_sub(of_calls));
    }
    if parts.is_empty() {
        division.calls = by_calls(row.own[0]);
    }
    let named = division.parts.iter().fold(division.calls, |sum, n| sum.saturating_add(*n));
    division.rest = row.difference().saturating_sub(named);
    division
}

/// Adds the division of every function's difference, and of all of them together.
pub(super) fn push(
    compared: &mut Measurement,
    section: &str,
    sides: &[Side; 2],
    found: &Found,
    measure: &Measure,
) {
    let parts: Vec<&Measure> = sides[0]
        .profile
        .parts(&measure.id)
        .filter(|(part, Part { idle, .. })| !idle && sides[1].profile.measure(&part.id).is_some())
        .map(|(part, _)| part)
        .collect();
    let differing = || found.rows.iter().filter(|row| row.difference() != 0);
    let has_calls = sides.iter().all(|side| side.has_calls);
    if found.sampled || differing().next().is_none() || (parts.is_empty() && !has_calls) {
        return;
    }
    let divisions: Vec<(&Row, Division)> =
        differing().map(|row| (row, divide(row, sides, &parts))).collect();
    // A part that nothing differs in has no column.
    let used: Vec<usize> = (0..parts.len())
        .filter(|at| divisions.iter().any(|(_, division)| division.parts[*at] != 0))
        .collect();
    let figure = |id: &str, title: &str| Column::figure(id, title, measure.unit.clone());
    let mut columns =
        vec![Column::text(ids::column::FUNCTION, "function"), figure("difference", "difference")];
    // The note at the end has which there is no room for: those with least in their rows.
    let size = |of: &dyn Fn(&Division) -> i64| -> u64 {
        divisions.iter().fold(0, |sum, (_, each)| sum.saturating_add(of(each).unsigned_abs()))
    };
    let mut sizes = vec![size(&|division| division.calls)];
    sizes.extend(used.iter().map(|at| size(&|division| division.parts[*at])));
    sizes.push(size(&|division| division.rest));
    let worth = |at: usize| {
        let less = sizes.iter().filter(|other| **other < sizes[at]).count();
        u8::try_from(less).unwrap_or(u8::MAX)
    };
    columns.push(figure("more-calls", "more calls").worth(worth(0)));
    let parts_of = used.iter().zip(1..);
    columns.extend(parts_of.map(|(at, n)| {
        let part = parts[*at];
        figure(&part.id, &part.title).worth(worth(n))
    }));
    columns.push(figure("rest", "rest").worth(worth(used.len() + 1)));
    columns.push(Column::text("why", "why"));
    let mut table = Table::new(columns);
    let mut sums = vec![0i64; used.len() + 3];
    for (row, division) in &divisions {
        let mut numbers = vec![row.difference(), division.calls];
        numbers.extend(used.iter().map(|at| division.parts[*at]));
        numbers.push(division.rest);
        sums.iter_mut().zip(&numbers).for_each(|(sum, n)| *sum = sum.saturating_add(*n));
        let mut cells = vec![Cell::from(row.name.as_str())];
        cells.extend(numbers.into_iter().map(Cell::from));
        cells.push(Some(row.why.as_str()).filter(|why| !why.is_empty()).into());
        table.columns.iter_mut().zip(cells).for_each(|(column, cell)| column.cells.push(cell));
    }
    let idle = sides[1].idle.value.saturating_sub(sides[0].idle.value);
    let whole = found.all[1].saturating_sub(found.all[0]);
    let beside = whole.saturating_sub(sums[0]).saturating_sub(idle);
    for (name, n) in [("idle", idle), ("in no function", beside)] {
        if n != 0 {
            let mut row = vec![Cell::from(name), n.into()];
            row.resize(table.columns.len(), Cell::Empty);
            table.footer.push(row);
        }
    }
    sums[0] = whole;
    let mut row = vec![Cell::from("all")];
    row.extend(sums.into_iter().map(Cell::from));
    row.push(Cell::Empty);
    table.footer.push(row);
    let title = format!("causes of the difference: {}, by function", measure.title);
    let added = compared.push(&format!("{section}-causes"), title, Content::Table(table));
    added.notes.push(
        "more calls: what they would take if each took what it did in a; the rest of a row is for \
         each call of b. A row's parts add up to its difference; a column for which there is no \
         room has the least in its rows, signs aside"
            .to_owned(),
    );
}

/// Why a function differs, in a line; nothing where it does not.
pub(super) fn why(sides: &[Side; 2], matched: &Match) -> String {
    let [Some(a), Some(b)] = groups(sides, matched) else { return String::new() };
    let difference = b.own.value.saturating_sub(a.own.value);
    if difference == 0 {
        return String::new();
    }
    let mut said = Vec::new();
    let matters = |part: f64| part.abs() >= WORTH_NAMING * difference.unsigned_abs() as f64;
    let each = |value: i64, group: &Group| value as f64 / group.calls.max(1) as f64;
    let calls_known = a.calls > 0 && b.calls > 0;
    if calls_known && matters(each(a.own.value, a) * (b.calls - a.calls) as f64) {
        let word = if b.calls > a.calls { "more" } else { "fewer" };
        said.push(format!("{word} calls, {} -> {}", grouped(a.calls), grouped(b.calls)));
    }
    let (per, scale) = if calls_known { (" per call", b.calls) } else { ("", 1) };
    let per_call = |value: i64, group: &Group| match calls_known {
        true => each(value, group),
        false => value as f64,
    };
    let has_executions = sides.iter().all(|side| side.has_executions);
    let [ran_a, ran_b] = [a, b].map(|group| per_call(group.executions, group));
    let more_ran = (ran_b - ran_a) * scale as f64;
    if has_executions && matters(more_ran) && real(ran_a) != real(ran_b) {
        let word = if ran_b > ran_a { "more" } else { "fewer" };
        said.push(format!("{word} instructions{per}, {} -> {}", real(ran_a), real(ran_b)));
    }
    said.extend(parts(sides, [a, b], scale, per, &matters, &per_call));
    said.extend(inlined_into(sides, matched));
    said.extend(origins::arithmetic(a, b));
    said.extend(origins::version(a, b));
    let differ = |part: &str| parts_differ(part, [a, b], scale, &matters, &per_call);
    said.extend(moved(a, b, &differ));
    said.join("; ")
}

/// Causes that are not instructions, those that matter.
fn parts(
    sides: &[Side; 2],
    [a, b]: [&Group; 2],
    scale: i64,
    per: &str,
    matters: &dyn Fn(f64) -> bool,
    per_call: &dyn Fn(i64, &Group) -> f64,
) -> Vec<String> {
    let mut said = Vec::new();
    for measure in &sides[0].profile.measures {
        let Some(id) = measure.part.as_ref().map(|_| &measure.id) else { continue };
        // Executing is what instructions are.
        let values = [a, b].map(|group| group.parts.get(id).copied());
        let [Some(x), Some(y)] = values else { continue };
        let (x, y) = (per_call(x, a), per_call(y, b));
        if id != "execute" && matters((y - x) * scale as f64) && real(x) != real(y) {
            let word = if y > x { "more" } else { "less" };
            said.push(format!("{word} {}{per}, {} -> {}", measure.title, real(x), real(y)));
        }
    }
    said
}

/// Functions whose lines are in it on one side alone.
fn inlined_into(sides: &[Side; 2], matched: &Match) -> Option<String> {
    let of = |side: &Side, at: Option<usize>| -> Vec<String> {
        let hosted =
            side.inlined.iter().filter(|(_, hosts)| at.is_some_and(|at| hosts.contains_key(&at)));
        hosted.map(|(name, _)| name.clone()).collect()
    };
    let (before, after) = (of(&sides[0], matched.a), of(&sides[1], matched.b));
    let new: Vec<&str> = after.iter().filter(|n| !before.contains(n)).map(String::as_str).collect();
    let gone: Vec<&str> =
        before.iter().filter(|n| !after.contains(n)).map(String::as_str).collect();
    match (new.is_empty(), gone.is_empty()) {
        (false, _) => Some(format!("now has {} inlined", some(new.into_iter(), 3))),
        (true, false) => Some(format!("no longer has {} inlined", some(gone.into_iter(), 3))),
        (true, true) => None,
    }
}

/// Whether a part is a cause of the difference; nothing where nobody knows the parts.
fn parts_differ(
    part: &str,
    [a, b]: [&Group; 2],
    scale: i64,
    matters: &dyn Fn(f64) -> bool,
    per_call: &dyn Fn(i64, &Group) -> f64,
) -> Option<bool> {
    if a.parts.is_empty() || b.parts.is_empty() {
        return None;
    }
    let of = |group: &Group| group.parts.get(part).copied().unwrap_or(0);
    Some(matters((per_call(of(b), b) - per_call(of(a), a)) * scale as f64))
}

/// The same instructions at another place: in other lines of the flash, where fetching waits, or
/// otherwise in the words that are fetched, where jumps take longer for it.
fn moved(a: &Group, b: &Group, differ: &dyn Fn(&str) -> Option<bool>) -> Option<String> {
    let (from, to) = (a.address?, b.address?);
    let tokens = |group: &Group| -> Vec<String> {
        group.code.iter().map(|instruction| instruction.token.clone()).collect()
    };
    if a.code.is_empty() || tokens(a) != tokens(b) {
        return None;
    }
    let places =
        |of: u64| format!("0x{from:08x} -> 0x{to:08x} (byte {} -> {} of {of})", from % of, to % of);
    if differ(FETCH_WAIT).unwrap_or(true) && from % LINE != to % LINE {
        let places = places(LINE);
        return Some(format!(
            "the same instructions lie otherwise in the lines of the flash: {places}"
        ));
    }
    (differ(REFILL) == Some(true) && from % WORD != to % WORD).then(|| {
        format!(
            "the same instructions lie otherwise in the words that jumps fetch: {}",
            places(WORD)
        )
    })
}
