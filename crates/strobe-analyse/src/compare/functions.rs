//! Functions of two profiles: what each has by itself, with what it calls, how often it was called,
//! whether the difference is certain; the greatest change first.

mod table;

use std::collections::BTreeMap;
use strobe_model::measurement::ids;

use strobe_model::measurement::{Content, Kind, Measure, Measurement};

use super::certain::{self, Certainty, Doubt};
use super::comparison::{CERTAIN, CHANGE, Comparison, Note, Statement};
use super::difference::Figure;
use super::found::{FunctionChange, FunctionChanges, nameless};
use super::groups::{Group, NOWHERE, Side};
use super::matching::{Marks, Match, MatchKind, matches};
use super::models::is_one_model;
use super::state::state;
use super::sum::Sum;
use super::unlike::Unlike;
use super::{amount, division, explain, instructions, measures, places};
use crate::bands::Band;

/// The part of a function's sequences of instructions that another one in another file has as well
/// if it is the same.
const IN_COMMON: f64 = 0.3;

/// Adds what the measures that both profiles begin with are by function, and all measures that both
/// have.
pub(super) fn push(
    compared: &mut Comparison,
    [a, b]: [&Measurement; 2],
    bands: [Option<&Band>; 2],
    repeated: &certain::Repeated,
) {
    let one_model = is_one_model(a, b);
    let other_models = compared.unlike.contains(&Unlike::OtherModel);
    for section in &a.sections {
        let there = b.section(&section.id);
        let (Content::Profile(of_a), Some(Content::Profile(of_b))) =
            (&section.content, there.map(|section| &section.content))
        else {
            continue;
        };
        let windows = if section.id.starts_with(super::HEAP) {
            [1, 1]
        } else {
            [a, b].map(|side| side.window.entries.unwrap_or(1))
        };
        let first = of_a.measures.first().and_then(|m| Some((m, of_b.measure(&m.id)?)));
        if let Some((measure, _)) = first.filter(|(a, b)| a.unit == b.unit) {
            // A file that one side does not know distinguishes nothing.
            let by_name = ![of_a, of_b].into_iter().all(|profile| Side::knows_files(profile));
            let mut sides = [
                Side::new(a, of_a, measure, by_name, bands[0]),
                Side::new(b, of_b, measure, by_name, bands[1]),
            ];
            for side in &mut sides {
                (side.one_model, side.other_models) = (one_model, other_models);
            }
            let found = find(&sides, measure, &section.id, repeated);
            put(compared, &section.id, &sides, &found, measure);
            let are_known = found.nameless().is_none();
            if are_known {
                division::push(compared, &section.id, &sides, &found, measure);
            }
            let banded = [(&**of_a, bands[0]), (&**of_b, bands[1])];
            places::push(compared, &section.id, banded, measure, one_model);
            if are_known {
                instructions::push(compared, &section.id, &sides, &found, measure);
                amount::note(compared, &found);
            }
            compared.functions.push(found);
        }
        let banded = [(a, &**of_a, bands[0]), (b, &**of_b, bands[1])];
        measures::push(compared, &section.id, banded, windows, one_model);
    }
}

/// Adds the table of functions.
fn put(
    compared: &mut Comparison,
    section: &str,
    sides: &[Side; 2],
    found: &FunctionChanges,
    measure: &Measure,
) {
    let id = format!("{section}{}", ids::suffix::FUNCTIONS);
    let table = Content::Table(table::table(sides, found, measure));
    compared.push(&id, format!("functions: {}", measure.title), table);
    compared.note(&id, Note::Matching);
    if let Some(method) = certain::method(found) {
        compared.note(&id, method);
    }
    let certain = found.rows.iter().map(|row| Statement::Certainty(row.certain.clone()));
    compared.state(&id, CERTAIN, certain.collect());
    let states = found.rows.iter().map(|row| Statement::State(row.state.clone()));
    compared.state(&id, CHANGE, states.collect());
}

fn find(
    sides: &[Side; 2],
    measure: &Measure,
    section: &str,
    repeated: &certain::Repeated,
) -> FunctionChanges {
    let [a, b] = sides;
    let sampled = [a, b].iter().all(|side| matches!(side.kind, Kind::Sampled { .. }));
    // What called a handler or the first function is no function.
    let has_any = |group: &Group| {
        let is_used = group.calls != 0 || group.inclusive.value != 0;
        group.own.value != 0 || is_used && group.name != NOWHERE && !group.is_place
    };
    let all = matches(a, b);
    let found = all.iter().copied();
    let found = found.filter(|m| explain::groups(sides, m).into_iter().flatten().any(has_any));
    let mut rows: Vec<FunctionChange> = found.map(|matched| row(sides, &all, matched)).collect();
    let n = [a.all, b.all].map(|all| u64::try_from(all).unwrap_or(0));
    let inflation =
        sampled.then(|| certain::sampled(&mut rows, n, [a.idle.value, b.idle.value])).flatten();
    certain::repeated(&mut rows, sides, measure, section, repeated);
    let names_known = [a, b].map(Side::knows_names);
    leave_undecided(&mut rows, sides, repeated.is_set(), names_known);
    sort(&mut rows, sampled.then_some(n));
    name_apart(&mut rows, sides);
    FunctionChanges {
        unit: measure.unit.clone(),
        rows,
        all: [a.all, b.all],
        idle: [a.idle.value, b.idle.value],
        sampled,
        runs: [repeated.a.len().max(1), repeated.b.len().max(1)],
        functions: [a, b].map(|side| side.groups.iter().filter(|g| !g.is_place).count()),
        names_known,
        inflation,
    }
}

/// A function on both sides, or on one; for certain as far as its figures show.
fn row(sides: &[Side; 2], all: &[Match], matched: Match) -> FunctionChange {
    let groups = explain::groups(sides, &matched);
    let own = groups.map(|group| group.map_or(0, |group| group.own.value));
    let calls = groups.map(|group| group.map_or(0, |group| group.calls));
    FunctionChange {
        name: groups.into_iter().flatten().next_back().map_or_else(String::new, |g| g.name.clone()),
        is_one: is_one(groups, matched.how),
        state: state(sides, all, &matched),
        why: explain::why(sides, &matched),
        certain: Certainty::of_figures(&figures(sides, &matched), sides[0].one_model),
        matched,
        own,
        calls,
    }
}

/// What neither repeated runs nor samples can decide.
fn leave_undecided(
    rows: &mut [FunctionChange],
    sides: &[Side; 2],
    is_set: bool,
    names_known: [bool; 2],
) {
    if is_set && sides[0].other_models {
        // How runs of one model vary does not show what it is off.
        for row in rows.iter_mut() {
            if let Certainty::Undecided(_) =
                Certainty::of_figures(&figures(sides, &row.matched), false)
            {
                row.certain = Certainty::Undecided(Doubt::TimingModels);
            }
        }
    }
    if let Some(which) = nameless(names_known, [sides[0].all, sides[1].all]) {
        // Nothing is gone or new where nobody knows what is what.
        for row in rows.iter_mut() {
            row.state = None;
            row.why.clear();
            row.certain = Certainty::Undecided(Doubt::NoNames(which));
        }
    }
}

/// The greatest change first; of samples, so many on each side.
fn sort(rows: &mut [FunctionChange], samples: Option<[u64; 2]>) {
    let weight = |row: &FunctionChange| match samples {
        // Recordings of other lengths differ in everything: shares are compared.
        Some(n) => {
            let share = |side: usize| row.own[side] as f64 / n[side].max(1) as f64;
            ((share(1) - share(0)).abs() * 1e12) as u64
        }
        None => row.own[1].abs_diff(row.own[0]),
    };
    rows.sort_by(|x, y| {
        let key = |row: &FunctionChange| (weight(row), row.own[0].max(row.own[1]));
        key(y).cmp(&key(x)).then_with(|| x.name.cmp(&y.name))
    });
}

/// Namesakes get their files.
fn name_apart(rows: &mut [FunctionChange], sides: &[Side; 2]) {
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    rows.iter().for_each(|row| *times.entry(row.name.clone()).or_default() += 1);
    for row in rows.iter_mut().filter(|row| times.get(&row.name).is_some_and(|n| *n > 1)) {
        let groups = [
            row.matched.a.map(|at| &sides[0].groups[at]),
            row.matched.b.map(|at| &sides[1].groups[at]),
        ];
        let mut file = groups.into_iter().flatten().filter_map(|group| group.file.as_deref());
        if let Some(file) = file.next_back() {
            row.name = format!("{} ({file})", row.name);
        }
    }
}

/// In other files, by other instructions, one name is no proof.
fn is_one(groups: [Option<&Group>; 2], how: MatchKind) -> bool {
    let [Some(a), Some(b)] = groups else { return false };
    let has_code = !a.code.is_empty() && !b.code.is_empty();
    how != MatchKind::Moved || !has_code || Marks::of(a).within(&Marks::of(b)) >= IN_COMMON
}

/// What a function has by itself on both sides.
fn figures(sides: &[Side; 2], matched: &Match) -> [Figure; 2] {
    three(sides, matched, |group| group.own)
}

fn three(sides: &[Side; 2], matched: &Match, of: impl Fn(&Group) -> Sum) -> [Figure; 2] {
    let one = |side: &Side, at: Option<usize>| {
        at.map_or(Sum::default(), |at| of(&side.groups[at])).figure(&side.kind, side.all)
    };
    [one(&sides[0], matched.a), one(&sides[1], matched.b)]
}
