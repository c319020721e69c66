//! What grew most: the last build against the last one that is so many days older.

use std::collections::{BTreeMap, BTreeSet};

use strobe_model::measurement::{
    Cell, Column, Content, Finding, Measurement, Severity, Table, Unit,
};

use super::{
    Builds, Reading, apart, begin, build_name, cell, is_statistic, known, number, of_whom, percent,
    what,
};
use crate::date;
use crate::series::{Key, Point, Series};

/// Builds of one program by one instrument.
type Group = [String; 4];

/// What took more in the last build than so many days before, the greatest growth first.
pub fn grew(reading: &Reading, series: &Series, days: u32) -> Measurement {
    let mut answer = begin(reading, series);
    let spans = spans(series, i64::from(days) * date::DAY);
    let mut units: BTreeMap<String, Vec<Grown>> = BTreeMap::new();
    let mains: Vec<&Key> = series.figures.keys().filter(|key| series.is_main(key)).collect();
    for key in &mains {
        let Some(span) = spans.get(&group(key)) else { continue };
        let points = series.figures.get(*key).map_or(&[][..], Vec::as_slice);
        let grown = Grown::of(series, key, points, span, mains.len());
        units.entry(key.unit.clone()).or_default().extend(grown);
    }
    answer.findings.extend(nothing(&spans, &units));
    answer.push("spans", "builds that are compared", Content::Table(compared(series, &spans)));
    let word = if days == 1 { "day" } else { "days" };
    for (unit, mut grown) in units {
        let mut seen = BTreeSet::new();
        grown.retain(|Grown { key, before, now, .. }| {
            let value = |point: &Point| point.value.map(f64::to_bits);
            let values = (before.as_ref().and_then(value), value(now));
            !is_statistic(key) || seen.insert((of_whom(key), values))
        });
        let title = format!("what takes more {unit} than {days} {word} before");
        let table = table(grown, &unit);
        answer.push(&format!("grew-{unit}"), title, Content::Table(table));
    }
    answer
}

/// Why there is no table.
fn nothing(spans: &BTreeMap<Group, Span>, units: &BTreeMap<String, Vec<Grown>>) -> Option<Finding> {
    let (code, text) = if spans.is_empty() {
        (
            "nothing-to-compare",
            "No program has two builds here, measured by one instrument on one board. Files with \
             other names are other programs, unless `--subject` gives them one name when they are \
             logged.",
        )
    } else if units.values().all(Vec::is_empty) {
        ("nothing-grew", "Nothing takes more than it did, as far as that is certain.")
    } else {
        return None;
    };
    Some(Finding::new(Severity::Note, code, text))
}

fn group(key: &Key) -> Group {
    [&key.project, &key.board, &key.subject, &key.instrument].map(Clone::clone)
}

/// The measurements at both ends.
struct Span {
    before: usize,
    now: usize,
}

fn spans(series: &Series, long: i64) -> BTreeMap<Group, Span> {
    let mut groups: BTreeMap<Group, Vec<usize>> = BTreeMap::new();
    for (at, (origin, place)) in series.origins.iter().zip(&series.places).enumerate() {
        let names = [&place.project, &place.board, &origin.subject, &origin.instrument];
        groups.entry(names.map(Clone::clone)).or_default().push(at);
    }
    let order = |at: &usize| series.origins.get(*at).map_or((0, 0), |origin| origin.order());
    let span = |(group, mut all): (Group, Vec<usize>)| {
        all.sort_by_key(order);
        let now = *all.last()?;
        let since = order(&now).0.saturating_sub(long);
        let older = all.iter().rev().find(|at| order(at).0 <= since);
        // An archive that is younger is compared with its first build.
        let before = older.or_else(|| all.first()).copied()?;
        (before != now).then_some((group, Span { before, now }))
    };
    groups.into_iter().filter_map(span).collect()
}

fn compared(series: &Series, spans: &BTreeMap<Group, Span>) -> Table {
    let mut table = Table::new(vec![
        Column::text("project", "project"),
        Column::text("board", "board"),
        Column::text("subject", "subject"),
        Column::text("instrument", "instrument"),
        Column::text("before", "before"),
        Column::text("before_date", "of"),
        Column::text("now", "now"),
        Column::text("now_date", "of"),
    ]);
    for ([project, board, subject, instrument], span) in spans {
        let name = |at: usize| series.origins.get(at).map(build_name);
        let day = |at: usize| series.origins.get(at).map(|origin| date::day(origin.order().0));
        table.row([
            project.as_str().into(),
            board.as_str().into(),
            subject.as_str().into(),
            instrument.as_str().into(),
            name(span.before).into(),
            day(span.before).into(),
            name(span.now).into(),
            day(span.now).into(),
        ]);
    }
    table
}

struct Grown {
    key: Key,
    /// None for what is new.
    before: Option<Point>,
    now: Point,
    certain: String,
}

impl Grown {
    fn of(series: &Series, key: &Key, points: &[Point], span: &Span, rows: usize) -> Option<Grown> {
        let at = |origin: usize| points.iter().find(|point| point.origin == origin);
        // What the last build does not have is gone.
        let now = at(span.now)?;
        let before = at(span.before);
        let (old, new) = (before.map_or(Some(0.0), |before| before.value)?, now.value?);
        if new <= old {
            return None;
        }
        let certain = match before {
            None => "new".to_owned(),
            Some(before) => {
                let builds = Builds::of(series, points);
                let place = |of: &Point| builds.points.iter().position(|p| std::ptr::eq(*p, of));
                let steps = builds.steps(rows);
                let from = place(before).unwrap_or(0);
                let within = steps.iter().filter(|step| step.at > from);
                let mut rises = within.filter(|step| step.after > step.before);
                match rises.next() {
                    Some(step) => known(step).to_owned(),
                    None => "inconclusive".to_owned(),
                }
            }
        };
        Some(Grown { key: key.clone(), before: before.cloned(), now: now.clone(), certain })
    }

    fn by(&self) -> f64 {
        let before = self.before.as_ref().and_then(|before| before.value).unwrap_or(0.0);
        self.now.value.unwrap_or(0.0) - before
    }
}

fn table(mut grown: Vec<Grown>, unit: &str) -> Table {
    grown.sort_by(|a, b| b.by().total_cmp(&a.by()).then_with(|| a.key.cmp(&b.key)));
    let unit = || Unit::other(unit);
    let of = apart(&grown.iter().map(|grown| &grown.key).collect::<Vec<_>>());
    let mut table = Table::new(vec![
        Column::text("item", "item"),
        Column::text("figure", "figure"),
        // Where all are of one program, that is in the table above.
        Column::text("of", "of").worth(6),
        Column::figure("before", "before", unit()).worth(3),
        Column::figure("now", "now", unit()).worth(2),
        Column::figure("change", "change", unit()),
        Column::text("percent", "in %").worth(4),
        Column::text("certain", "certain"),
    ]);
    for grown in grown {
        let old = grown.before.as_ref().and_then(|before| before.value);
        table.row([
            grown.key.item.clone().unwrap_or_else(|| "(all)".to_owned()).into(),
            what(&grown.key).into(),
            Some(of(&grown.key)).filter(|of| !of.is_empty()).into(),
            grown.before.as_ref().map_or(Cell::Empty, cell),
            cell(&grown.now),
            number(grown.by()).into(),
            old.zip(grown.now.value).map(|(a, b)| percent(a, b)).into(),
            grown.certain.into(),
        ]);
    }
    table
}
