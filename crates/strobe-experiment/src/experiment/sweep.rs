//! What a sweep and a series of steps show: curves, where variants change places, shares.

use strobe_analyse::statistics::crossover::{Crossover, Point, crossover};
use strobe_analyse::statistics::growth::growth;
use strobe_model::measurement::{
    Cell, Column, Content, Ended, Finding, Measurement, NamedPart, Number, Quantity, Section,
    Table, Trust, Unit,
};

use super::Step;
use crate::judge::{judge, pairs};
use crate::samples::Metric;

/// All values together: what was counted and what was found at each, the curve, the crossings, and
/// the values as parts.
pub(super) fn whole(
    parameter: &str,
    steps: &[Step],
    one: impl Fn(&Step) -> Measurement,
) -> Measurement {
    let named = |step: &Step| NamedPart {
        name: format!("{parameter}={}", step.at.unwrap_or(0)),
        measurement: one(step),
    };
    let parts: Vec<NamedPart> = steps.iter().map(named).collect();
    let Some(mut whole) = parts.first().map(|part| part.measurement.clone()) else {
        return super::empty();
    };
    // Their commands have the value in them.
    whole.instrument.settings.retain(|name, _| !name.starts_with("variant "));
    let all = || parts.iter().map(|part| &part.measurement);
    whole.window.duration = sum(all().map(|part| &part.window.duration), Unit::NANOSECONDS);
    whole.window.ended = ended(&parts);
    for total in &mut whole.totals {
        total.quantity = sum(all().filter_map(|part| part.total(&total.id)), Unit::COUNT);
    }
    let at = |part: &NamedPart, finding: &Finding| Finding {
        place: finding.place.clone().or_else(|| Some(part.name.clone())),
        ..finding.clone()
    };
    let found = parts.iter().flat_map(|part| part.measurement.findings.iter().map(|f| at(part, f)));
    whole.findings = found.collect();
    whole.sections = vec![curve(parameter, steps), crossings(parameter, steps)];
    whole.parts = parts;
    whole
}

/// Of counts and times that are known.
fn sum<'a>(quantities: impl Iterator<Item = &'a Quantity>, unit: Unit) -> Quantity {
    let numbers = quantities.filter_map(|quantity| Some(quantity.value()?.as_u64()));
    Quantity::exact(numbers.sum::<u64>(), unit)
}

/// How most of it ended: only where every value was decided, the whole was.
fn ended(parts: &[NamedPart]) -> Ended {
    let is =
        |kind: &str| parts.iter().filter(|part| part.measurement.window.ended.kind == kind).count();
    let kind = ["interrupted", "limit"].into_iter().find(|kind| is(kind) > 0);
    let kind = kind.unwrap_or("decided");
    let of_kind = |part: &&NamedPart| part.measurement.window.ended.kind == kind;
    let first = parts.iter().find(of_kind).map(|part| part.measurement.window.ended.clone());
    let mut ended = first.unwrap_or_default();
    if is(kind) < parts.len() {
        ended.text = format!("{}, for {} of {} values", ended.text, is(kind), parts.len());
    }
    ended
}

/// The median quotient of each variant and the first, at each value.
pub(super) fn curve(parameter: &str, steps: &[Step]) -> Section {
    let mut table = Table::new(vec![Column::figure(parameter, parameter, Unit::COUNT)]);
    let Some(first) = steps.first() else { return section("curve", "curve", table) };
    for variant in first.variants.iter().skip(1) {
        let title = format!("{} / {}", variant.name, first.variants[0].name);
        table.columns.push(Column::figure(&variant.name, &title, Unit::RATIO));
    }
    for step in steps {
        let judgement = judge(&step.variants, &step.rounds, &step.settings);
        let mut cells = vec![Cell::from(step.at.unwrap_or(0))];
        for comparison in &judgement.comparisons {
            cells.push(match comparison.paired.as_ref().and_then(|p| Some((p, p.interval?))) {
                Some((paired, interval)) => {
                    let n = paired.pairs as u64;
                    let (low, high) = (interval.low.into(), interval.high.into());
                    let value = Some(Number::from(paired.ratio));
                    Cell::Figure { value, trust: Trust::Sampled { n, low, high } }
                }
                None => {
                    let why = "too few pairs, or a failure".to_owned();
                    Cell::Figure { value: None, trust: Trust::Unknown { why } }
                }
            });
        }
        for (column, cell) in table.columns.iter_mut().zip(cells) {
            column.cells.push(cell);
        }
    }
    section("curve", "ratio to the first variant, with 95 % intervals", table)
}

fn section(id: &str, title: &str, table: Table) -> Section {
    Section {
        id: id.to_owned(),
        title: title.to_owned(),
        notes: Vec::new(),
        content: Content::Table(table),
    }
}

/// Where each variant and the first change places, and how each grows.
pub(super) fn crossings(parameter: &str, steps: &[Step]) -> Section {
    let mut table = Table::new(vec![
        Column::text("variant", "variant"),
        Column::text("growth", "grows with"),
        Column::figure("crossover", "crossover", Unit::COUNT),
        Column::text("advice", "advice"),
    ]);
    let Some(first) = steps.first() else { return section("crossover", "crossover", table) };
    let values: Vec<u64> = steps.iter().filter_map(|step| step.at).collect();
    let (least, most) = (values.iter().min().unwrap_or(&0), values.iter().max().unwrap_or(&0));
    for (n, variant) in first.variants.iter().enumerate() {
        let metric = &first.settings.metric;
        let grows = costs(steps, n, metric);
        let grows = growth(&grows).map_or("inconclusive", |fit| fit.form.name());
        let (at, advice) = if n == 0 {
            (Cell::Empty, "the reference".to_owned())
        } else {
            let points = steps.iter().filter_map(|step| {
                let pairs = pairs(step.rounds.get(1..)?, n, metric);
                Some(Point { at: step.at? as f64, pairs })
            });
            let found = crossover(&points.collect::<Vec<_>>(), first.settings.seed);
            advice(found.as_ref(), &first.variants[0].name, &variant.name, parameter)
        };
        let advice = if n == 0 {
            advice
        } else {
            format!("{advice} (measured for {parameter} from {least} to {most} only)")
        };
        table.row([variant.name.as_str().into(), grows.into(), at, advice.into()]);
    }
    section("crossover", "where they change places", table)
}

/// Medians of a variant's samples by the value of the sweep.
fn costs(steps: &[Step], variant: usize, metric: &Metric) -> Vec<(f64, f64)> {
    let cost = |step: &Step| {
        let samples = step.rounds.iter().filter_map(|round| round.samples.get(variant)?.as_ref());
        let good = samples.filter(|sample| sample.failure().is_none());
        let values: Vec<f64> = good.filter_map(|s| Some(metric.of(s)? as f64)).collect();
        Some((step.at? as f64, strobe_analyse::statistics::median(&values)?))
    };
    steps.iter().filter_map(cost).collect()
}

fn advice(found: Option<&Crossover>, first: &str, second: &str, parameter: &str) -> (Cell, String) {
    match found {
        None => (Cell::Empty, "inconclusive".to_owned()),
        Some(Crossover::First) => (Cell::Empty, format!("{first} nowhere takes more")),
        Some(Crossover::Second) => (Cell::Empty, format!("{second} nowhere takes more")),
        Some(Crossover::Several(at)) => {
            (Cell::Empty, format!("they change places {} times", at.len()))
        }
        Some(Crossover::At { at, interval, first_below }) => {
            let (below, above) = if *first_below { (first, second) } else { (second, first) };
            let trust = Trust::Resolution {
                low: interval.low.min(*at).into(),
                high: interval.high.max(*at).into(),
            };
            let text = format!(
                "{below} below {parameter} = {:.0}, {above} above {:.0}",
                interval.low, interval.high
            );
            (Cell::Figure { value: Some(Number::from(*at)), trust }, text)
        }
    }
}

/// What each step contributes to the whole change (E8: which part is the algorithm's).
pub(super) fn shares(step: &Step) -> Section {
    let mut table = Table::new(vec![
        Column::text("step", "step"),
        Column::figure("times", "times as fast", Unit::RATIO),
        Column::figure("share", "share of the whole", Unit::PERCENT),
    ]);
    let metric = &step.settings.metric;
    let medians: Vec<Option<f64>> = (0..step.variants.len())
        .map(|variant| {
            let all = Step {
                at: Some(1),
                variants: Vec::new(),
                rounds: step.rounds.clone(),
                settings: step.settings.clone(),
                counted: Vec::new(),
                profiles: Default::default(),
                unkept: None,
            };
            costs(&[all], variant, metric).first().map(|(_, cost)| *cost)
        })
        .collect();
    let whole = medians.first().copied().flatten().zip(medians.last().copied().flatten());
    for (n, pair) in medians.windows(2).enumerate() {
        let name = format!("{} -> {}", step.variants[n].name, step.variants[n + 1].name);
        let (Some(before), Some(after), Some((first, last))) = (pair[0], pair[1], whole) else {
            let unknown = || Cell::from(Quantity::unknown(Unit::RATIO, "a variant failed"));
            table.row([name.into(), unknown(), unknown()]);
            continue;
        };
        let share = (before / after).ln() / (first / last).ln() * 100.0;
        table.row([name.into(), (before / after).into(), share.into()]);
    }
    section("steps", "one change at a time: shares of the logarithm of the whole change", table)
}
