//! Looking a budget's figure up: in tables, distributions, profiles, totals.

use strobe_model::measurement::{
    Cell, Content, Distribution, Kind, Measurement, Number, Profile, Quantity, Section, Spread,
    Table, Trust, Unit,
};

use super::{ContentKind, Missing, NameKind, Scale, Statistic, blame};
use crate::attribution::{Amount, By, rows};

/// The clocks of the measured time, the slowest first, each with its cycles.
fn spans(measurement: &Measurement) -> Vec<(f64, f64)> {
    let spans = &measurement.subject.clock;
    let begin = measurement.window.begin.cycle.unwrap_or(0);
    let end = measurement.window.end.cycle.unwrap_or(u64::MAX).max(1);
    let within = spans.iter().enumerate().filter_map(|(i, span)| {
        let next = spans.get(i + 1).map_or(u64::MAX, |next| next.cycle);
        let is_within = next > begin && span.cycle < end && span.hz > 0;
        let cycles = next.min(end).saturating_sub(span.cycle.max(begin));
        is_within.then(|| (f64::from(span.hz), cycles as f64))
    });
    let mut within: Vec<(f64, f64)> = within.collect();
    within.sort_by(|a, b| a.0.total_cmp(&b.0));
    within
}

/// The slowest and the fastest clock of the measured time.
pub(super) fn clocks(measurement: &Measurement) -> Option<(f64, f64)> {
    let spans = spans(measurement);
    Some((spans.first()?.0, spans.last()?.0))
}

/// The clock of so many cycles, on average, if they are as slow as they can be: of slow ones there
/// are no more than the measured time has.
pub(super) fn slowest(measurement: &Measurement, cycles: &Quantity) -> Option<f64> {
    if *cycles.unit() != Unit::CYCLES {
        return None;
    }
    let most = cycles.trust().bounds().map(|(_, high)| high).or(cycles.value())?.as_f64();
    let spans = spans(measurement);
    let (fast, slow) = spans.split_last()?;
    let (mut left, mut seconds) = (most, 0.0);
    for (hz, length) in slow {
        let here = left.min(*length);
        seconds += here / hz;
        left -= here;
    }
    seconds += left / fast.0;
    (seconds > 0.0).then(|| most / seconds)
}

pub(super) fn section<'a>(measurement: &'a Measurement, id: &str) -> Result<&'a Section, Missing> {
    measurement.section(id).ok_or_else(|| {
        let ids = measurement.sections.iter().map(|section| section.id.clone());
        Missing::new(NameKind::Section, id, ids)
    })
}

/// A section that has other content.
fn other_content(section: &str, wanted: ContentKind) -> Missing {
    Missing::Content { section: section.to_owned(), wanted }
}

fn table<'a>(measurement: &'a Measurement, id: &str) -> Result<&'a Table, Missing> {
    match &section(measurement, id)?.content {
        Content::Table(table) => Ok(table),
        _ => Err(other_content(id, ContentKind::Table)),
    }
}

pub(super) fn cell(
    measurement: &Measurement,
    id: &str,
    row: &str,
    column: &str,
) -> Result<Quantity, Missing> {
    let table = table(measurement, id)?;
    let chosen = table.column(column).ok_or_else(|| {
        let names = table.columns.iter().map(|column| column.id.clone());
        Missing::new(NameKind::Column(id.to_owned()), column, names)
    })?;
    let of_path = || {
        let rows = if is_of_paths(id) { by_path(table, row) } else { Vec::new() };
        match rows.as_slice() {
            [] => Ok(None),
            [at] => Ok(Some(*at)),
            several => Err(Missing::ambiguous(table, several, id, row)),
        }
    };
    let found = match find_row(table, row) {
        None => of_path()?,
        found => found,
    };
    let at = found.ok_or_else(|| {
        let names = table
            .columns
            .iter()
            .filter_map(|column| column.cells.iter().find_map(Cell::text).map(|_| column));
        let texts = names.flat_map(|column| column.cells.iter().filter_map(Cell::text));
        Missing::new(NameKind::Row(id.to_owned()), row, texts.map(str::to_owned))
    })?;
    let unit = chosen.unit.clone().unwrap_or(Unit::COUNT);
    Ok(match chosen.cells.get(at) {
        Some(Cell::Exact(number)) => Quantity::exact(*number, unit),
        Some(Cell::Figure { value, trust }) => {
            let unknown = |e| Quantity::unknown(unit.clone(), format!("{e}"));
            Quantity::new(*value, unit.clone(), trust.clone()).unwrap_or_else(unknown)
        }
        _ => Quantity::unknown(unit, format!("{id} has no {column} of {row}")),
    })
}

/// The row with that text: first by a whole cell, then as the number in a name, `IRQ16 (TIM3)`.
fn find_row(table: &Table, name: &str) -> Option<usize> {
    let by = |is: &dyn Fn(&str) -> bool| {
        (0..table.len()).find(|row| {
            table.columns.iter().filter_map(|column| column.cells.get(*row)?.text()).any(is)
        })
    };
    by(&|text| text == name).or_else(|| by(&|text| is_called(text, name)))
}

/// Whether rows of a section are called by paths. Debug information has those of the machine that
/// built the firmware, which a budget cannot know.
fn is_of_paths(section: &str) -> bool {
    ["files", "directories"].contains(&section)
}

/// The rows whose path ends with that one, whole folders and names.
fn by_path(table: &Table, name: &str) -> Vec<usize> {
    let ends = |text: &str| blame::ends_with_path(text, name);
    let has = |row: &usize| {
        let cells = table.columns.iter().filter_map(|column| column.cells.get(*row)?.text());
        cells.into_iter().any(ends)
    };
    (0..table.len()).filter(has).collect()
}

/// `IRQ16 (TIM3)` is called `IRQ16` and `TIM3` as well; a word before both is the same in both.
pub(super) fn is_called(text: &str, name: &str) -> bool {
    if let (Some(text), Some(name)) = (text.strip_prefix("handler "), name.strip_prefix("handler "))
    {
        return is_called(text, name);
    }
    let Some((number, alias)) = text.split_once(" (") else { return text == name };
    text == name || number == name || alias.strip_suffix(')') == Some(name)
}

pub(super) fn distribution<'a>(
    measurement: &'a Measurement,
    id: &str,
    name: &str,
) -> Result<&'a Distribution, Missing> {
    let Content::Distributions(all) = &section(measurement, id)?.content else {
        return Err(other_content(id, ContentKind::Distributions));
    };
    let all = &all.distributions;
    let exact = all.iter().find(|one| one.name == name);
    exact.or_else(|| all.iter().find(|one| is_called(&one.name, name))).ok_or_else(|| {
        Missing::new(NameKind::Row(id.to_owned()), name, all.iter().map(|one| one.name.clone()))
    })
}

pub(super) fn statistic(found: &Distribution, of: Statistic) -> Quantity {
    if of == Statistic::Count {
        return Quantity::exact(found.spread.count(), Unit::COUNT);
    }
    let unit = found.unit.clone();
    let Some(value) = of.of(&found.spread) else {
        return Quantity::unknown(unit, format!("{} never happened", found.name));
    };
    let bound = |spread: &Option<Spread>| spread.as_ref().and_then(|spread| of.of(spread));
    let (low, high) = (bound(&found.low), bound(&found.high));
    let trust = match (low, high, found.resolution) {
        (None, None, None) if !found.spread.is_coarse() || of == Statistic::Max => Trust::Exact,
        (None, None, None) => {
            // Buckets are narrower than 0.8 % of their values, and give the smallest of them.
            let high = if matches!(of, Statistic::P99 | Statistic::Median) { 1.008 } else { 1.0 };
            Trust::Resolution { low: value, high: (value.as_f64() * high).into() }
        }
        (None, None, Some(ticks)) => Trust::Resolution {
            low: (value.as_f64() - ticks as f64).into(),
            high: (value.as_f64() + ticks as f64).into(),
        },
        (low, high, _) => {
            let low = low.filter(|low| *low <= value).unwrap_or(value);
            let high = high.filter(|high| *high >= value).unwrap_or(value);
            Trust::Modelled { low, high, why: found.why.clone() }
        }
    };
    let wrong = |e| Quantity::unknown(unit.clone(), format!("{e}"));
    Quantity::new(Some(value), unit.clone(), trust).unwrap_or_else(wrong)
}

fn profile(measurement: &Measurement) -> Result<&Profile, Missing> {
    measurement.profiles().next().ok_or(Missing::NoProfile)
}

/// The names of statistics.
pub(super) const STATISTICS: [&str; 6] = ["min", "mean", "median", "p99", "max", "count"];

/// A function's part of a measure, the first by default.
pub(super) fn function(
    measurement: &Measurement,
    name: &str,
    of: Option<&str>,
    inclusive: bool,
) -> Result<Quantity, Missing> {
    let profile = profile(measurement)?;
    let named = of.map_or(profile.measures.first(), |id| profile.measure(id));
    let measure = named.ok_or(Missing::NoMeasure)?;
    let flat = rows(profile, &measure.id, &By::Function).ok_or(Missing::NoMeasure)?;
    let found = flat.rows.iter().find(|row| row.name == name).ok_or_else(|| {
        Missing::new(
            if of.is_some() { NameKind::Symbol } else { NameKind::Function },
            name,
            flat.rows.iter().map(|row| row.name.clone()),
        )
    })?;
    let unit = measure.unit.clone();
    let amount = match (inclusive, found.inclusive) {
        (false, _) => found.sums.busy(),
        (true, Some(amount)) => amount,
        (true, None) => {
            let why = "no call chains: what it calls is not known";
            return Ok(Quantity::unknown(unit, why));
        }
    };
    if let Some((low, high)) = flat.interval(amount.value) {
        let (all, n) = (flat.total.all.value as f64, flat.total.all.value.unsigned_abs());
        let trust = Trust::Sampled { n, low: (low * all).into(), high: (high * all).into() };
        let wrong = |e| Quantity::unknown(unit.clone(), format!("{e}"));
        return Ok(
            Quantity::new(Some(amount.value.into()), unit.clone(), trust).unwrap_or_else(wrong)
        );
    }
    Ok(amount_of(amount, unit, &measure.kind))
}

/// A function's part of a section's profile, with all that it calls.
pub(super) fn below(
    measurement: &Measurement,
    id: &str,
    measure: &str,
    name: &str,
) -> Result<Quantity, Missing> {
    let Content::Profile(own) = &section(measurement, id)?.content else {
        return Err(other_content(id, ContentKind::Profile));
    };
    let counted = own.measure(measure).ok_or_else(|| {
        let names = own.measures.iter().map(|measure| measure.id.clone());
        Missing::new(NameKind::Measure(id.to_owned()), measure, names)
    })?;
    // One that ran may have nothing of this; one that did not is an error.
    function(measurement, name, None, false)?;
    let shares = blame::below(own, measure, name).into_iter();
    let sum = shares.fold(0i64, |sum, share| sum.saturating_add(share.value));
    Ok(amount_of(Amount::exact(sum), counted.unit.clone(), &counted.kind))
}

/// How often a second, by the time from one to the next.
pub(super) fn rate(time: &Quantity, hertz: Option<(f64, f64)>) -> Quantity {
    let unknown = |why: &str| Quantity::unknown(Unit::HERTZ, why.to_owned());
    if let Trust::Unknown { why } = time.trust() {
        return unknown(why);
    }
    let (slow, fast) = match (Scale::of(time.unit()), hertz) {
        ((Scale::Time, factor), _) => (1e9 / factor, 1e9 / factor),
        ((Scale::Cycles, _), Some(hertz)) => hertz,
        ((Scale::Cycles, _), None) => return unknown("the core clock is not known"),
        _ => return unknown("it is no time"),
    };
    let Some(value) = time.value().map(Number::as_f64).filter(|time| *time > 0.0) else {
        return unknown("there is no time between two");
    };
    let (low, high) =
        time.trust().bounds().map_or((value, value), |(l, h)| (l.as_f64(), h.as_f64()));
    // As of all times, the likely one is that of the slowest clock.
    let (least, likely) = (slow / high.max(value), slow / value);
    let most = if low > 0.0 { fast / low.min(value) } else { f64::MAX };
    let (low, high) = (Number::from(least), Number::from(most));
    let trust = match time.trust() {
        Trust::Resolution { .. } => Trust::Resolution { low, high },
        _ if least == most => Trust::Exact,
        _ => Trust::Modelled { low, high, why: None },
    };
    Quantity::new(Some(likely.into()), Unit::HERTZ, trust)
        .unwrap_or_else(|e| unknown(&e.to_string()))
}

fn amount_of(amount: Amount, unit: Unit, kind: &Kind) -> Quantity {
    let Amount { low, value, high } = amount.ordered();
    let trust = match kind {
        Kind::AtLeast => Trust::AtLeast,
        _ if amount.is_exact() => Trust::Exact,
        Kind::Modelled { why } => {
            Trust::Modelled { low: low.into(), high: high.into(), why: Some(why.clone()) }
        }
        _ => Trust::Modelled { low: low.into(), high: high.into(), why: None },
    };
    let wrong = |e| Quantity::unknown(unit.clone(), format!("{e}"));
    Quantity::new(Some(value.into()), unit.clone(), trust).unwrap_or_else(wrong)
}

/// Requests that were lost of all that there were, in percent, with the bounds of both counts.
pub(super) fn lost_share(lost: &Quantity, taken: &Quantity) -> Quantity {
    let unknown =
        || Quantity::unknown(Unit::PERCENT, "it is not known how many requests were lost");
    let (Some(own), Some(entries)) = (lost.value(), taken.value()) else { return unknown() };
    let percent = |lost: Number, taken: Number| {
        let all = lost.as_f64() + taken.as_f64();
        (all > 0.0).then(|| 100.0 * lost.as_f64() / all)
    };
    let Some(value) = percent(own, entries) else { return unknown() };
    if (lost.trust(), taken.trust()) == (&Trust::Exact, &Trust::Exact) {
        return Quantity::exact(value, Unit::PERCENT);
    }
    let (lost_low, lost_high) = lost.trust().bounds().unwrap_or((own, own));
    let (taken_low, taken_high) = taken.trust().bounds().unwrap_or((entries, entries));
    let low = percent(lost_low, taken_high).map_or(value, |low| low.min(value));
    let high = percent(lost_high, taken_low).map_or(value, |high| high.max(value));
    let trust = Trust::Modelled { low: low.into(), high: high.into(), why: None };
    Quantity::new(Some(value.into()), Unit::PERCENT, trust).unwrap_or_else(|_| unknown())
}

/// A part of a whole in percent, with the bounds of both.
pub(super) fn share(part: Option<&Quantity>, whole: Option<&Quantity>, what: &str) -> Quantity {
    let unknown = |why: &str| Quantity::unknown(Unit::PERCENT, format!("{what}: {why}"));
    let (Some(part), Some(whole)) = (part, whole) else {
        return unknown("not known to this instrument");
    };
    for quantity in [part, whole] {
        if let Trust::Unknown { why } = quantity.trust() {
            return unknown(why);
        }
    }
    let (Some(p), Some(w)) = (part.value(), whole.value()) else { return unknown("no value") };
    if w.as_f64() <= 0.0 || part.unit() != whole.unit() {
        return unknown("there is nothing that it is a part of");
    }
    let percent = |p: Number, w: Number| (100.0 * p.as_f64() / w.as_f64()).clamp(0.0, 100.0);
    let value = percent(p, w);
    let (p_low, p_high) = part.trust().bounds().unwrap_or((p, p));
    let (w_low, w_high) = whole.trust().bounds().unwrap_or((w, w));
    let low = percent(p_low, w_high).min(value);
    let high = if w_low.as_f64() > 0.0 { percent(p_high, w_low).max(value) } else { 100.0 };
    let trust = match part.trust() {
        Trust::AtLeast => Trust::AtLeast,
        Trust::AtMost => Trust::AtMost,
        _ if low == high => Trust::Exact,
        _ => Trust::Modelled { low: low.into(), high: high.into(), why: None },
    };
    Quantity::new(Some(value.into()), Unit::PERCENT, trust).unwrap_or_else(|_| unknown("no value"))
}
