//! One function, interrupt or thread: its figure build by build.

use std::collections::BTreeSet;

use strobe_model::measurement::{
    Cell, Column, Content, Finding, Measurement, Section, Severity, Table, Text, Unit,
};

use super::{
    Builds, Reading, begin, build_name, cell, known, number, otherwise, percent, place, title,
};
use crate::date;
use crate::series::{Key, Point, Series};

/// Histories that one answer shows.
const MOST: usize = 8;

/// Characters of a picture.
const WIDTH: usize = 60;

/// Nothing has that name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotFound {
    /// Names that contain it.
    pub near: Vec<String>,
    /// All names, where none contains it.
    pub all: Vec<String>,
}

/// The history of what has that name, or of the only one whose name contains it; `(all)` is the
/// whole. Without a figure, the one that each section is about.
///
/// # Errors
/// When there is none, or several names contain it.
pub fn of_item(
    reading: &Reading,
    series: &Series,
    item: &str,
    any_figure: bool,
) -> Result<Measurement, NotFound> {
    let item = resolve(series, item)?;
    let named = |key: &&Key| key.item.as_deref().unwrap_or("(all)") == item;
    let mut keys: Vec<&Key> = series.figures.keys().filter(named).collect();
    if !any_figure {
        let main: Vec<&Key> = keys.iter().copied().filter(|key| series.is_main(key)).collect();
        // What a profile is about goes before what tables have of the same name.
        let profile = |key: &&Key| key.section.rsplit('/').next() == Some("profile");
        let of_profile: Vec<&Key> = main.iter().copied().filter(profile).collect();
        keys = [of_profile, main, keys].into_iter().find(|k| !k.is_empty()).unwrap_or_default();
    }
    let mut answer = begin(reading, series);
    if keys.len() > MOST {
        let text = format!(
            "{} of {} histories are shown; choose with --section, --figure, --project, --board",
            MOST,
            keys.len()
        );
        answer.findings.push(Finding::new(Severity::Note, "more-histories", text));
    }
    for (i, key) in keys.into_iter().take(MOST).enumerate() {
        let points = series.figures.get(key).map_or(&[][..], Vec::as_slice);
        let suffix = if i == 0 { String::new() } else { format!("-{}", i + 1) };
        sections(&mut answer, series, key, points, &suffix);
    }
    Ok(answer)
}

fn resolve(series: &Series, item: &str) -> Result<String, NotFound> {
    let names: BTreeSet<&str> =
        series.figures.keys().map(|key| key.item.as_deref().unwrap_or("(all)")).collect();
    if names.contains(item) {
        return Ok(item.to_owned());
    }
    let folded = item.to_lowercase();
    let contains = |name: &&&str| name.to_lowercase().contains(&folded);
    let near: Vec<&str> = names.iter().filter(contains).copied().collect();
    let owned = |names: Vec<&str>| names.into_iter().map(str::to_owned).collect();
    match near.as_slice() {
        [only] => Ok((*only).to_owned()),
        [] => Err(NotFound { near: Vec::new(), all: owned(names.into_iter().collect()) }),
        _ => Err(NotFound { near: owned(near), all: Vec::new() }),
    }
}

fn sections(answer: &mut Measurement, series: &Series, key: &Key, points: &[Point], suffix: &str) {
    let builds = Builds::of(series, points);
    let steps = builds.steps(1);
    let rises: Vec<_> = steps.iter().filter(|step| step.after > step.before).collect();
    let name = |at: usize| {
        let origin = series.origins.get(builds.points.get(at)?.origin)?;
        Some(format!("{} ({})", build_name(origin), date::day(origin.order().0)))
    };
    let summary = match rises.as_slice() {
        _ if builds.builds.is_empty() => "no build has a known value".to_owned(),
        _ if !builds.is_enough() => {
            "the figure varies from run to run, and there are too few builds to judge".to_owned()
        }
        [] => "no build took more than the one before".to_owned(),
        all => {
            let first = all.iter().filter_map(|step| name(step.at)).next().unwrap_or_default();
            let last = all.iter().filter_map(|step| name(step.at)).next_back().unwrap_or_default();
            match all.len() {
                1 => format!("one build took more than before: {first}"),
                n => format!("{n} builds took more than before: first {first}, last {last}"),
            }
        }
    };
    let title = format!("{}, {}", title(key), place(key));
    let table = Content::Table(table(series, key, points, &builds, &steps));
    let id = format!("history{suffix}");
    answer.sections.push(Section {
        id,
        title: title.clone(),
        notes: vec![summary],
        content: table,
    });
    let values: Vec<f64> = builds.builds.iter().map(|build| build.value).collect();
    let picture = picture(&values, &key.unit);
    if let Some(picture) = picture {
        let text = Text { lines: vec![picture], skipped_bytes: 0 };
        answer.push(&format!("trend{suffix}"), format!("trend of {title}"), Content::Text(text));
    }
}

fn table(
    series: &Series,
    key: &Key,
    points: &[Point],
    builds: &Builds,
    steps: &[strobe_analyse::statistics::steps::Step],
) -> Table {
    let unit = || Unit::other(key.unit.clone());
    let mut table = Table::new(vec![
        Column::text("date", "date"),
        Column::text("commit", "commit"),
        Column::text("branch", "branch").worth(1),
        Column::figure("value", key.figure.clone().as_str(), unit()),
        Column::figure("change", "change", unit()),
        Column::text("percent", "in %"),
        Column::text("step", "step"),
        Column::text("otherwise", "otherwise"),
    ]);
    let mut before: Option<&Point> = None;
    for point in points {
        let Some(origin) = series.origins.get(point.origin) else { continue };
        let last = before.and_then(|before| before.value).zip(point.value);
        let step = steps.iter().find(|step| {
            builds.points.get(step.at).is_some_and(|first| std::ptr::eq(*first, point))
        });
        let step = step.map(|step| {
            let way = if step.after > step.before { "more" } else { "less" };
            format!("{way}, {}", known(step))
        });
        let beside = before.and_then(|before| series.origins.get(before.origin));
        let change = last.filter(|(a, b)| a != b);
        table.row([
            date::day(origin.order().0).into(),
            build_name(origin).into(),
            origin.branch.clone().into(),
            cell(point),
            change.map_or(Cell::Empty, |(a, b)| number(b - a).into()),
            change.map(|(a, b)| percent(a, b)).into(),
            step.into(),
            beside.map(|before| otherwise(before, origin)).filter(|t| !t.is_empty()).into(),
        ]);
        before = Some(point);
    }
    // The last build first, as logs have it.
    table.columns.iter_mut().for_each(|column| column.cells.reverse());
    table
}

/// A bar for each build, the greatest of several where there are more than fit; none for fewer
/// than two, or where all are the same.
fn picture(values: &[f64], unit: &str) -> Option<String> {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let finite = || values.iter().copied().filter(|value| value.is_finite());
    let (low, high) = (finite().reduce(f64::min)?, finite().reduce(f64::max)?);
    if values.len() < 2 || low == high {
        return None;
    }
    let per_bar = values.len().div_ceil(WIDTH);
    let bar = |chunk: &[f64]| {
        let most = chunk.iter().copied().reduce(f64::max).unwrap_or(low);
        let height = if high > low { (most - low) / (high - low) } else { 0.0 };
        BARS[((height * 7.0).round() as usize).min(7)]
    };
    let bars: String = values.chunks(per_bar).map(bar).collect();
    Some(format!("{bars}  {} to {} {unit}", shown(low), shown(high)))
}

/// Whole numbers with their digits in groups, others with two decimals.
fn shown(value: f64) -> String {
    if value.fract() != 0.0 || value.abs() >= 9e15 {
        return format!("{value:.2}");
    }
    let digits = format!("{:.0}", value.abs());
    let mut out = if value < 0.0 { "-".to_owned() } else { String::new() };
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_show_the_least_and_the_most() {
        let picture = |values: &[f64]| picture(values, "cycles");
        let expected = "▁▁█  1 to 8,000 cycles";
        assert_eq!(picture(&[1.0, 1.0, 8000.0]).as_deref(), Some(expected));
        assert_eq!(picture(&[-1234567.0, 0.25]).as_deref(), Some("▁█  -1,234,567 to 0.25 cycles"));
        assert_eq!(picture(&[2.0; 3]), None);
        assert_eq!(picture(&[1.0]), None);
        let many: Vec<f64> = (0..1000).map(f64::from).collect();
        assert!(picture(&many).unwrap().split(' ').next().unwrap().chars().count() <= WIDTH);
    }
}
