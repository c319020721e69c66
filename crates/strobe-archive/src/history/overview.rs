//! What an archive holds, and the builds from which on something took more.

use std::collections::{BTreeMap, BTreeSet};

use strobe_analyse::statistics::steps::Step;
use strobe_model::measurement::{Column, Content, Measurement, Table, Unit};

use super::{
    Builds, Reading, apart, begin, build_name, is_statistic, known, number, of_whom, otherwise,
    percent, what,
};
use crate::date;
use crate::series::{Key, Series};

/// What is in it, and every first build that took more, the greatest rise first.
pub fn overview(reading: &Reading, series: &Series) -> Measurement {
    let mut answer = begin(reading, series);
    answer.push("measurements", "measurements", Content::Table(measurements(series)));
    let mains: Vec<Key> = series.figures.keys().filter(|k| series.is_main(k)).cloned().collect();
    let mut units: BTreeMap<String, Found> = BTreeMap::new();
    for key in &mains {
        let Some(points) = series.figures.get(key) else { continue };
        let builds = Builds::of(series, points);
        let found = units.entry(key.unit.clone()).or_default();
        found.short += u64::from(!builds.is_enough());
        for step in builds.steps(mains.len()) {
            found.falls += u64::from(step.after < step.before);
            if step.after > step.before {
                found.rises.extend(Regression::of(series, key, &builds, step));
            }
        }
    }
    for (n, (unit, found)) in units.into_iter().enumerate() {
        let id = format!("rises-{unit}");
        let title = format!("first builds that took more {unit}");
        let notes = found.notes(n == 0);
        let section = answer.push(&id, title, Content::Table(found.table(&unit)));
        section.notes = notes;
    }
    answer
}

fn measurements(series: &Series) -> Table {
    let mut groups: BTreeMap<[String; 4], Vec<usize>> = BTreeMap::new();
    for (at, (origin, place)) in series.origins.iter().zip(&series.places).enumerate() {
        let names = [&place.project, &place.board, &origin.subject, &origin.instrument];
        groups.entry(names.map(Clone::clone)).or_default().push(at);
    }
    let mut table = Table::new(vec![
        Column::text("project", "project"),
        Column::text("board", "board"),
        Column::text("subject", "subject"),
        Column::text("instrument", "instrument"),
        Column::figure("measurements", "measurements", Unit::COUNT),
        Column::figure("commits", "commits", Unit::COUNT),
        Column::text("first", "first"),
        Column::text("last", "last"),
    ]);
    for ([project, board, subject, instrument], all) in groups {
        let origins = || all.iter().filter_map(|at| series.origins.get(*at));
        let commits: BTreeSet<_> = origins().filter_map(|o| o.commit.as_deref()).collect();
        let times = || origins().map(|origin| origin.order().0);
        table.row([
            project.into(),
            board.into(),
            subject.into(),
            instrument.into(),
            all.len().into(),
            commits.len().into(),
            times().min().map(date::day).into(),
            times().max().map(date::day).into(),
        ]);
    }
    table
}

/// Of one unit.
#[derive(Default)]
struct Found {
    rises: Vec<Regression>,
    falls: u64,
    /// Histories that are too short for figures that vary.
    short: u64,
}

struct Regression {
    key: Key,
    commit: String,
    day: String,
    step: Step,
    otherwise: &'static str,
}

impl Regression {
    fn of(series: &Series, key: &Key, builds: &Builds, step: Step) -> Option<Regression> {
        let origin = |at: usize| series.origins.get(builds.points.get(at)?.origin);
        let (last, first) = (origin(step.at.checked_sub(1)?)?, origin(step.at)?);
        Some(Regression {
            key: key.clone(),
            commit: build_name(first),
            day: date::day(first.order().0),
            step,
            otherwise: otherwise(last, first),
        })
    }
}

impl Found {
    fn notes(&self, is_first: bool) -> Vec<String> {
        let mut notes = Vec::new();
        if is_first {
            let method = "Exact figures are compared with the build before; what varies by change \
                          points that hold against a test, with about 1 % false alarms for the \
                          whole table.";
            notes.push(method.to_owned());
        }
        if self.falls > 0 {
            let times = if self.falls == 1 { "once" } else { &format!("{} times", self.falls) };
            notes.push(format!("Not listed: {times} something took less."));
        }
        if self.short > 0 {
            notes.push(format!("{} figures that vary have too few builds to judge.", self.short));
        }
        notes
    }

    fn table(mut self, unit: &str) -> Table {
        let size = |rise: &Regression| rise.step.after - rise.step.before;
        self.rises.sort_by(|a, b| size(b).total_cmp(&size(a)).then_with(|| a.key.cmp(&b.key)));
        let mut seen = BTreeSet::new();
        self.rises.retain(|Regression { key, commit, step, .. }| {
            let values = [step.before, step.after].map(f64::to_bits);
            !is_statistic(key) || seen.insert((of_whom(key), commit.clone(), values))
        });
        let unit = || Unit::other(unit);
        let of = apart(&self.rises.iter().map(|rise| &rise.key).collect::<Vec<_>>());
        let mut table = Table::new(vec![
            Column::text("item", "item"),
            Column::text("figure", "figure"),
            // Where all are of one program, that is in the table of measurements.
            Column::text("of", "of").worth(6),
            Column::text("commit", "commit"),
            Column::text("date", "date").worth(2),
            Column::figure("before", "before", unit()).worth(4),
            Column::figure("after", "after", unit()).worth(3),
            Column::figure("change", "change", unit()),
            Column::text("percent", "in %").worth(5),
            Column::text("known", "known").worth(1),
            Column::text("otherwise", "otherwise"),
        ]);
        for Regression { key, commit, day, step, otherwise } in self.rises {
            table.row([
                key.item.clone().unwrap_or_else(|| "(all)".to_owned()).into(),
                what(&key).into(),
                Some(of(&key)).filter(|of| !of.is_empty()).into(),
                commit.into(),
                day.into(),
                number(step.before).into(),
                number(step.after).into(),
                number(step.after - step.before).into(),
                percent(step.before, step.after).into(),
                known(&step).into(),
                otherwise.into(),
            ]);
        }
        table
    }
}
