//! Functions of two profiles, matched by name: what each has by itself, with what it calls, and how
//! often it was called.

use std::collections::{BTreeMap, BTreeSet};

use strobe_model::measurement::{
    Cell, Column, Content, Kind, Measure, Measurement, Profile, Samples, Table, Trust, Unit,
};

use super::difference::Figure;
use super::kebab;
use crate::statistics::wilson;

/// Adds what the measures that both profiles begin with are by function, and all measures that both
/// have.
pub(super) fn push(compared: &mut Measurement, a: &Measurement, b: &Measurement) {
    for section in &a.sections {
        let there = b.section(&section.id);
        let (Content::Profile(of_a), Some(Content::Profile(of_b))) =
            (&section.content, there.map(|section| &section.content))
        else {
            continue;
        };
        let windows = [a, b].map(|side| side.window.entries.unwrap_or(1));
        measures(compared, &section.id, [of_a, of_b], windows);
        let first = of_a.measures.first().and_then(|m| Some((m, of_b.measure(&m.id)?)));
        let Some((measure, _)) = first.filter(|(a, b)| a.unit == b.unit) else { continue };
        let table = Content::Table(table([of_a, of_b], measure));
        let id = format!("{}-functions", section.id);
        let section = compared.push(&id, format!("functions: {}", measure.title), table);
        section.notes.push("functions are matched by name; several of one name are one".to_owned());
    }
}

/// A sum with what it is at least and at most.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    value: i64,
    low: i64,
    high: i64,
}

impl Sum {
    fn add(&mut self, other: Sum) {
        self.value = self.value.saturating_add(other.value);
        self.low = self.low.saturating_add(other.low);
        self.high = self.high.saturating_add(other.high);
    }

    fn less(self, n: i64) -> Sum {
        let [value, low, high] = [self.value, self.low, self.high].map(|x| x.saturating_sub(n));
        Sum { value, low, high }
    }

    /// As a figure of a measure with so much in all.
    fn figure(self, kind: &Kind, all: i64) -> Figure {
        let value = Some(self.value.into());
        let trust = match kind {
            Kind::Exact => Trust::Exact,
            Kind::AtLeast => Trust::AtLeast,
            Kind::Modelled { .. } if self.low == self.high => Trust::Exact,
            Kind::Modelled { why } => {
                let (low, high) = (self.low.min(self.value), self.high.max(self.value));
                Trust::Modelled { low: low.into(), high: high.into(), why: Some(why.clone()) }
            }
            Kind::Sampled { .. } => {
                let n = u64::try_from(all).unwrap_or(0);
                let (low, high) = wilson(n, u64::try_from(self.value).unwrap_or(0));
                // The ends are shares of all samples.
                let end = |share: f64| share * n as f64;
                let (low, high) =
                    (end(low).min(self.value as f64), end(high).max(self.value as f64));
                Trust::Sampled { n, low: low.into(), high: high.into() }
            }
        };
        Figure { value, trust }
    }
}

/// A measure's value of a sample, without what is idle.
fn value(samples: &Samples, measure: &str, idle: &[&str], sample: usize) -> Option<(Sum, i64)> {
    let values = samples.of(measure)?;
    let value = *values.values.get(sample)?;
    let (low, high) = values.bounds(sample).unwrap_or((value, value));
    let of = |id: &&str| samples.of(id).and_then(|values| values.values.get(sample).copied());
    let idle = idle.iter().filter_map(of).fold(0i64, i64::saturating_add);
    Some((Sum { value, low, high }.less(idle), idle))
}

/// A profile's functions.
struct Functions {
    own: BTreeMap<String, Sum>,
    inclusive: BTreeMap<String, Sum>,
    calls: BTreeMap<String, i64>,
    has: [bool; 2],
    idle: i64,
    all: i64,
    kind: Kind,
}

impl Functions {
    fn of(profile: &Profile, measure: &Measure) -> Functions {
        let idle: Vec<&str> = profile
            .parts(&measure.id)
            .filter(|(_, part)| part.idle)
            .map(|(part, _)| part.id.as_str())
            .collect();
        let kind = profile.measure(&measure.id).map_or(Kind::Exact, |m| m.kind.clone());
        let mut functions = Functions {
            own: BTreeMap::new(),
            inclusive: BTreeMap::new(),
            calls: BTreeMap::new(),
            has: [false; 2],
            idle: 0,
            all: 0,
            kind,
        };
        let by_location = profile.leaves.of(&measure.id).is_some();
        if by_location {
            functions.leaves(profile, measure, &idle);
        }
        functions.chains(profile, measure, &idle, !by_location);
        functions
    }

    fn put(&mut self, name: &str, (sum, idle): (Sum, i64)) {
        self.idle = self.idle.saturating_add(idle);
        self.all = self.all.saturating_add(sum.value).saturating_add(idle);
        self.own.entry(name.to_owned()).or_default().add(sum);
    }

    fn leaves(&mut self, profile: &Profile, measure: &Measure, idle: &[&str]) {
        for (sample, at) in profile.leaves.at.iter().enumerate() {
            let name = profile.function_name(at.and_then(|at| profile.function_at(at)));
            if let Some(found) = value(&profile.leaves, &measure.id, idle, sample) {
                self.put(name, found);
            }
        }
    }

    fn chains(&mut self, profile: &Profile, measure: &Measure, idle: &[&str], own: bool) {
        let samples = &profile.chains;
        let calls = samples.of("calls");
        self.has = [samples.of(&measure.id).is_some(), calls.is_some()];
        for (sample, at) in samples.at.iter().enumerate() {
            let names = chain(profile, *at);
            let innermost = names.first().copied().unwrap_or("(no function)");
            if let Some(calls) = calls.and_then(|calls| calls.values.get(sample)) {
                *self.calls.entry(innermost.to_owned()).or_default() += calls;
            }
            let Some(found) = value(samples, &measure.id, idle, sample) else { continue };
            if own {
                self.put(innermost, found);
            }
            // One that calls itself has what it takes once.
            for name in names.into_iter().collect::<BTreeSet<_>>() {
                self.inclusive.entry(name.to_owned()).or_default().add(found.0);
            }
        }
    }
}

/// The functions of a chain, the innermost first.
fn chain(profile: &Profile, at: Option<u32>) -> Vec<&str> {
    let stacks = &profile.stacks;
    let caller =
        |at: &u32| stacks.parent.get(*at as usize).copied().flatten().filter(|parent| parent < at);
    let each = std::iter::successors(at, caller);
    let function = |at: u32| {
        let location = stacks.location.get(at as usize)?;
        Some(profile.function_name(profile.function_at(*location)))
    };
    each.filter_map(function).collect()
}

fn table(profiles: [&Profile; 2], measure: &Measure) -> Table {
    let sides = profiles.map(|profile| Functions::of(profile, measure));
    let [has_inclusive, has_calls] = [0, 1].map(|n| sides.iter().all(|side| side.has[n]));
    let mut columns = vec![Column::text("function", "function")];
    // Where there is no room, the sides of what is called go before their differences.
    let mut three = |id: &str, unit: &Unit, worth: Option<u8>| {
        let figure = |end: &str, title: &str, more: u8| {
            let column = Column::figure(&format!("{id}-{end}"), title, unit.clone());
            Column { worth: worth.map(|worth| worth + more), ..column }
        };
        columns.extend([
            figure("a", &format!("{id} a"), 0),
            figure("b", &format!("{id} b"), 0),
            figure("difference", "difference", 2),
        ]);
    };
    three("self", &measure.unit, None);
    if has_inclusive {
        three("inclusive", &measure.unit, Some(1));
    }
    if has_calls {
        three("calls", &Unit::COUNT, Some(0));
    }
    columns.push(Column::text("side", "only in"));
    let mut table = Table::new(columns);
    let mut names: Vec<&String> = sides
        .iter()
        .flat_map(|side| side.own.keys().chain(side.inclusive.keys()).chain(side.calls.keys()))
        .collect::<BTreeSet<_>>()
        .into_iter()
        .collect();
    let own = |side: &Functions, name: &String| side.own.get(name).map_or(0, |sum| sum.value);
    names.sort_by_key(|name| {
        let [a, b] = [&sides[0], &sides[1]].map(|side| own(side, name));
        (std::cmp::Reverse(b.abs_diff(a)), std::cmp::Reverse(a.max(b)))
    });
    let has_any = |side: &Functions, name: &String| {
        let sums = [&side.own, &side.inclusive].into_iter().filter_map(|sums| sums.get(name));
        let calls = side.calls.get(name).copied().unwrap_or(0);
        calls != 0 || sums.into_iter().any(|sum| sum.value != 0)
    };
    for name in names.into_iter().filter(|name| sides.iter().any(|side| has_any(side, name))) {
        let mut cells = vec![Cell::from(name.as_str())];
        cells.extend(three_of(sides.each_ref().map(|s| sum(s, s.own.get(name)))));
        if has_inclusive {
            cells.extend(three_of(sides.each_ref().map(|s| sum(s, s.inclusive.get(name)))));
        }
        if has_calls {
            let calls = |s: &Functions| Figure::exact(s.calls.get(name).copied().unwrap_or(0));
            cells.extend(three_of(sides.each_ref().map(calls)));
        }
        let there = |s: &Functions| s.own.contains_key(name) || s.inclusive.contains_key(name);
        cells.push(match sides.each_ref().map(there) {
            [true, false] => "a".into(),
            [false, true] => "b".into(),
            _ => Cell::Empty,
        });
        table.columns.iter_mut().zip(cells).for_each(|(column, cell)| column.cells.push(cell));
    }
    footer(&mut table, &sides);
    table
}

fn sum(side: &Functions, sum: Option<&Sum>) -> Figure {
    sum.copied().unwrap_or_default().figure(&side.kind, side.all)
}

fn three_of([a, b]: [Figure; 2]) -> [Cell; 3] {
    let difference = a.to(&b);
    [(&a).into(), (&b).into(), (&difference).into()]
}

/// What is idle, and everything: the sum of the rows and of what is idle.
fn footer(table: &mut Table, sides: &[Functions; 2]) {
    let whole = |side: &Functions| {
        let mut sum = Sum::default();
        side.own.values().for_each(|own| sum.add(*own));
        sum.less(side.idle.saturating_neg()).figure(&side.kind, side.all)
    };
    let idle = sides.each_ref().map(|side| Figure::exact(side.idle));
    let rows = [("idle", idle), ("all", sides.each_ref().map(whole))];
    let some_idle = sides.iter().any(|side| side.idle > 0);
    for (what, figures) in rows.into_iter().filter(|(what, _)| *what != "idle" || some_idle) {
        let mut cells = vec![Cell::from(what)];
        cells.extend(three_of(figures));
        cells.resize(table.columns.len(), Cell::Empty);
        table.footer.push(cells);
    }
}

/// Sums of all measures that both have: of cycles, by cause. What is nothing in both is left out.
fn measures(compared: &mut Measurement, id: &str, profiles: [&Profile; 2], windows: [u64; 2]) {
    let both = profiles[0].measures.iter().filter_map(|measure| {
        let there = profiles[1].measure(&measure.id)?;
        (there.unit == measure.unit).then_some((measure, there))
    });
    let mut tables: Vec<(Unit, [Table; 2])> = Vec::new();
    for (of_a, of_b) in both {
        let figures = whole(profiles[0], of_a).zip(whole(profiles[1], of_b));
        let nothing = |figure: &Figure| figure.value.is_none_or(|value| value.as_f64() == 0.0);
        let Some((a, b)) = figures.filter(|(a, b)| !(nothing(a) && nothing(b))) else { continue };
        let known = tables.iter().position(|(unit, _)| *unit == of_a.unit);
        let place = known.unwrap_or_else(|| {
            let tables_of = [(), ()].map(|()| super::side_by_side(&of_a.unit));
            tables.push((of_a.unit.clone(), tables_of));
            tables.len() - 1
        });
        let names = (of_a.id.as_str(), of_a.title.as_str());
        let [sums, each] = &mut tables[place].1;
        sums.row(super::row(names, &a, &b));
        each.row(super::row(names, &a.divided(windows[0]), &b.divided(windows[1])));
    }
    for (unit, [sums, each]) in tables {
        let name = kebab(&unit);
        let title = format!("measures: {unit}");
        compared.push(&format!("{id}-measures-{name}"), title, Content::Table(sums));
        if windows.iter().any(|n| *n > 1) {
            let title = format!("measures, each window on average: {unit}");
            compared.push(&format!("{id}-windows-{name}"), title, Content::Table(each));
        }
    }
}

/// All of a measure.
fn whole(profile: &Profile, measure: &Measure) -> Option<Figure> {
    let samples = [&profile.leaves, &profile.chains];
    let samples = samples.into_iter().find(|s| s.of(&measure.id).is_some())?;
    let each = (0..samples.len()).filter_map(|n| value(samples, &measure.id, &[], n));
    let mut sum = Sum::default();
    each.for_each(|(value, _)| sum.add(value));
    Some(sum.figure(&measure.kind, sum.value))
}
