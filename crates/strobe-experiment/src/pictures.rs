//! Pictures in plain text: samples side by side, values over the time of a run.

use std::time::Duration;
use strobe_model::measurement::ids;

use strobe_model::measurement::{
    Content, Distribution, Distributions, Section, Spread, Text, TimelineBuilder, TrackKind, Unit,
};

use crate::judge::Judgement;
use crate::measurement::{Parts, section, values as counted};
use crate::samples::{Metric, Sample, Variant};
use crate::settings::LATENESS;

/// Columns of the picture.
const WIDTH: usize = 60;

/// Spreads of the metric side by side on one axis.
pub fn side_by_side(parts: &Parts, judgement: &Judgement) -> Option<Section> {
    let metric = &parts.settings.metric;
    let mut all: Vec<(&str, Vec<u64>)> = Vec::new();
    for (n, variant) in parts.variants.iter().enumerate() {
        if !judgement.has_failed(n) {
            all.push((&variant.name, counted(parts, judgement.warm_up, n, metric)));
        }
    }
    let every: Vec<f64> = all.iter().flat_map(|(_, v)| v).map(|v| *v as f64).collect();
    let low = every.iter().copied().fold(f64::INFINITY, f64::min);
    // The slowest runs would press all others into one column.
    let high = strobe_analyse::statistics::quantile(&every, 0.97)?;
    if every.len() < 6 || high <= low {
        return None;
    }
    let name_width = all.iter().map(|(name, _)| name.chars().count()).max()?;
    let mut lines: Vec<String> = all
        .iter()
        .map(|(name, values)| format!("{name:name_width$} |{}|", strip(values, low, high)))
        .collect();
    let (from, to) = (axis(low, metric), axis(high, metric));
    let gap = (WIDTH + 2).saturating_sub(from.chars().count() + to.chars().count());
    lines.push(format!("{:name_width$} {from}{}{to}", "", " ".repeat(gap)));
    let text = Text { lines, skipped_bytes: 0 };
    let title = format!("{} side by side", metric.name());
    let notes = ["M is the median. Above the right end lie up to 3 % of all samples."];
    Some(section("picture", &title, &notes, Content::Text(text)))
}

/// How many samples lie in each column, as heights in ASCII.
fn strip(values: &[u64], low: f64, high: f64) -> String {
    let column = |value: f64| {
        let part = (value - low) / (high - low);
        (part * (WIDTH - 1) as f64).round().clamp(0.0, (WIDTH - 1) as f64) as usize
    };
    let mut counts = [0usize; WIDTH];
    values.iter().for_each(|value| counts[column(*value as f64)] += 1);
    let most = counts.iter().copied().max().unwrap_or(1).max(1);
    let mut strip: Vec<char> = counts
        .iter()
        .map(|count| match (count * 4).div_ceil(most) {
            0 => ' ',
            1 => '.',
            2 => ':',
            3 => '+',
            _ => '#',
        })
        .collect();
    let reals: Vec<f64> = values.iter().map(|value| *value as f64).collect();
    if let Some(median) = strobe_analyse::statistics::median(&reals) {
        strip[column(median)] = 'M';
    }
    strip.into_iter().collect()
}

fn axis(value: f64, metric: &Metric) -> String {
    if metric.is_duration() {
        let duration = Duration::from_nanos(value as u64);
        return format!("{duration:.3?}").replace('µ', "u");
    }
    format!("{value:.0}")
}

/// Names of values: those that variants print, and the probe's.
fn names<'a>(parts: &'a Parts) -> impl Iterator<Item = &'a str> {
    let probe = parts.settings.lateness.map(|_| LATENESS);
    parts.settings.values.iter().map(String::as_str).chain(probe)
}

/// Runs of a variant that count.
fn runs<'a>(
    parts: &'a Parts,
    judgement: &Judgement,
    variant: usize,
) -> impl DoubleEndedIterator<Item = &'a Sample> {
    let rounds = parts.rounds.get(judgement.warm_up..).unwrap_or_default();
    let samples = rounds.iter().filter_map(move |round| round.samples.get(variant)?.as_ref());
    samples.filter(|sample| sample.failure().is_none())
}

/// Values that are kept one by one; of more only the spread.
const KEPT: usize = 50_000;

/// How all values of all runs spread.
pub fn values(parts: &Parts, judgement: &Judgement) -> Option<Section> {
    let mut distributions = Vec::new();
    for name in names(parts) {
        for (n, variant) in parts.variants.iter().enumerate() {
            let of = |sample: &'_ Sample| sample.values.get(name).cloned().unwrap_or_default();
            let mut values: Vec<u64> = runs(parts, judgement, n).flat_map(of).collect();
            if values.is_empty() || judgement.has_failed(n) {
                continue;
            }
            let spread: Spread = values.iter().copied().collect();
            let unit = Metric::Counter(name.to_owned()).unit();
            let distribution =
                Distribution::exact(format!("{name} {}", variant.name), unit, spread);
            if values.len() > KEPT {
                values.clear();
            }
            distributions.push(Distribution { values, ..distribution });
        }
    }
    let all = Content::Distributions(Distributions { distributions });
    let is_empty = matches!(&all, Content::Distributions(all) if all.distributions.is_empty());
    let notes = ["All values of all runs that count, together."];
    (!is_empty).then(|| section("values", "values within runs", &notes, all))
}

/// How values went over the last run of each variant: the most of each column, by its logarithm.
pub fn over_time(parts: &Parts, judgement: &Judgement) -> Vec<Section> {
    names(parts).filter_map(|name| one_over_time(parts, judgement, name)).collect()
}

/// Values of one name in the last run of a variant that counts, with their times.
struct Last<'a> {
    variant: &'a str,
    values: &'a [u64],
    times: Option<&'a [u64]>,
}

fn last<'a>(parts: &'a Parts, judgement: &Judgement, name: &str) -> Vec<Last<'a>> {
    let of = |(n, variant): (usize, &'a Variant)| {
        let sample = runs(parts, judgement, n).next_back().filter(|_| !judgement.has_failed(n))?;
        let times = sample.times.get(name).map(Vec::as_slice);
        Some(Last { variant: &variant.name, values: sample.values.get(name)?, times })
    };
    parts.variants.iter().enumerate().filter_map(of).collect()
}

fn one_over_time(parts: &Parts, judgement: &Judgement, name: &str) -> Option<Section> {
    let all = last(parts, judgement, name);
    let most = all.iter().flat_map(|last| last.values.iter().copied()).max()?;
    let name_width = all.iter().map(|last| last.variant.chars().count()).max()?;
    // One axis for all: who takes longer has the longer line.
    let end = all.iter().filter_map(|last| last.times?.last().copied()).max();
    let lines = all.iter().map(|last| {
        let columns: Vec<Option<u64>> = match (last.times, end) {
            (Some(times), Some(end)) => by_time(times, last.values, end),
            _ => columns(last.values).map(Some).collect(),
        };
        let height = |value: Option<u64>| value.map_or('_', |value| height(value, most));
        let strip: String = columns.into_iter().map(height).collect();
        format!("{:name_width$} |{strip:WIDTH$}| {} values", last.variant, last.values.len())
    });
    let metric = Metric::Counter(name.to_owned());
    let text = Text { lines: lines.collect(), skipped_bytes: 0 };
    let steps = [3, 2, 1].map(|power| axis((most / 10u64.pow(power)) as f64, &metric));
    let across = match end {
        Some(end) => format!("the last run from its start to {:.3?}", Duration::from_nanos(end)),
        None => "the last run's values in their order".to_owned(),
    };
    let note = format!(
        "Left to right: {across}. Blank up to {}, . to {}, : to {}, # to {}{}.",
        steps[0],
        steps[1],
        steps[2],
        axis(most as f64, &metric),
        if end.is_some() { "; _ where there was none" } else { "" }
    );
    let title = format!("{name} over time");
    Some(section(&format!("over-time-{name}"), &title, &[&note], Content::Text(text)))
}

/// The most of each column; fewer values than columns have one each.
fn columns(values: &[u64]) -> impl Iterator<Item = u64> {
    let width = WIDTH.min(values.len());
    (0..width).filter_map(move |column| {
        let (from, to) = (column * values.len() / width, (column + 1) * values.len() / width);
        values.get(from..to)?.iter().copied().max()
    })
}

/// The most of each column of time; none where nothing was.
fn by_time(times: &[u64], values: &[u64], end: u64) -> Vec<Option<u64>> {
    let mut columns = vec![None; WIDTH];
    for (at, value) in times.iter().zip(values) {
        let column = u128::from(*at) * WIDTH as u128 / u128::from(end.max(1));
        let column = &mut columns[(column as usize).min(WIDTH - 1)];
        *column = (*column).max(Some(*value));
    }
    columns
}

/// Values that have times, of the last run of each variant, as a time line; each from its start.
pub fn timeline(parts: &Parts, judgement: &Judgement) -> Option<Section> {
    let mut builder = TimelineBuilder::new(Unit::NANOSECONDS);
    for name in names(parts) {
        let unit = Metric::Counter(name.to_owned()).unit();
        for last in last(parts, judgement, name) {
            let Some(times) = last.times else { continue };
            let title = format!("{name} {}", last.variant);
            let track = builder.track(TrackKind::Counter, None, &title);
            builder.track_mut(track).unit = Some(unit.clone());
            let whole = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
            for (at, value) in times.iter().zip(last.values) {
                builder.value(track, whole(*at), whole(*value));
            }
        }
    }
    if builder.is_empty() {
        return None;
    }
    let notes = ["The last run of each variant, each from its own start."];
    let content = Content::Timeline(Box::new(builder.finish()));
    Some(section(ids::section::TIMELINE, "values over time", &notes, content))
}

fn height(value: u64, most: u64) -> char {
    match value {
        _ if value <= most / 1000 => ' ',
        _ if value <= most / 100 => '.',
        _ if value <= most / 10 => ':',
        _ => '#',
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_value_is_lost_between_columns() {
        assert_eq!(columns(&[]).count(), 0);
        assert_eq!(columns(&[3, 1]).collect::<Vec<_>>(), [3, 1]);
        for n in [59, 60, 61, 119, 121, 1000] {
            let values: Vec<u64> = (0..n).collect();
            let columns: Vec<u64> = columns(&values).collect();
            assert_eq!(columns.len(), WIDTH.min(n as usize), "{n}");
            assert_eq!(columns.last(), Some(&(n - 1)), "{n}");
            assert!(columns.windows(2).all(|pair| pair[0] < pair[1]), "{n}");
        }
    }

    #[test]
    fn no_value_is_lost_between_columns_of_time() {
        let times = [0, 1, 500, 999, 1000];
        let columns = by_time(&times, &[7, 8, 3, 4, 9], 1000);
        assert_eq!(columns.len(), WIDTH);
        assert_eq!((columns[0], columns[30], columns[59]), (Some(8), Some(3), Some(9)));
        assert_eq!(columns.iter().flatten().count(), 3, "a gap stays a gap");
        assert_eq!(by_time(&[0], &[1], 0)[0], Some(1));
    }

    #[test]
    fn heights_are_powers_of_ten() {
        let shown: String =
            [1, 2, 10, 11, 100, 101, 1000].map(|n| height(n, 1000)).iter().collect();
        assert_eq!(shown, " ..::##");
    }
}
