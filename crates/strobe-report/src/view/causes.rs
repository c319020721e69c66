//! A measure by its parts, as cycles by cause: a table with bars that adds up, the letters that
//! stand for parts in a profile, and what the parts mean.

use std::io::{self, Write};
use strobe_model::measurement::ids;

use strobe_analyse::attribution::{Amount, By, Sums, is_unbounded, total};
use strobe_model::measurement::{Cell, CellKind, Kind, Measure, Number, Part, Profile, Trust};

use super::figure::{amount_spread, plain, share};
use super::{Page, View};
use crate::Options;
use crate::paint::Paint;
use crate::table::Table;
use crate::text::layout::{heading, item};

/// Letters in a row's strip; each stands for a tenth of what is not idle.
const STRIP: usize = 10;

/// Characters in a bar of the table, where there is room.
const BAR: usize = 25;

/// Characters of the table that are not the bar's.
const REST: usize = 52;

/// The table of a profile's parts.
pub(super) struct Causes<'a> {
    pub(super) profile: &'a Profile,
}

/// The parts that there is anything of, with their amounts.
pub(crate) fn present<'a>(
    profile: &'a Profile,
    measure: &'a Measure,
    total: &Sums,
) -> Vec<(&'a Measure, &'a Part, Amount)> {
    let parts = profile.parts(&measure.id).zip(&total.parts);
    let parts = parts.map(|((measure, part), amount)| (measure, part, *amount));
    parts.filter(|(_, _, amount)| *amount != Amount::default()).collect()
}

impl View for Causes<'_> {
    fn write(&self, page: &Page, out: &mut dyn Write) -> io::Result<()> {
        let profile = self.profile;
        let Some(measure) = page.selection.measure_of(profile) else { return Ok(()) };
        let Some(total) = total(profile, &measure.id, &By::Function) else { return Ok(()) };
        let parts = present(profile, measure, &total);
        if parts.iter().all(|(_, part, _)| part.letter.is_none()) {
            return Ok(());
        }
        heading(&format!("{} by cause", measure.title), page.options, out)?;
        let mut table = Table::new().narrowing().number(measure.title.clone()).number("share");
        table = table.number("bounds").text("").text("").text("");
        let whole = whole_of(page, measure, total.all);
        let is_open = !whole.is_exact() || is_unbounded(profile, measure);
        let room = page.options.style.width.saturating_sub(REST);
        let room = if room < BAR - 5 { 0 } else { room.min(BAR) };
        for (cause, part, amount) in parts {
            let paint = if part.idle { Paint::Idle } else { Paint::Plain };
            let amount = stated(page, cause, amount);
            let sign = if awaited(page, profile, cause) {
                "~"
            } else {
                sign_of_part(cause, part, amount, is_open)
            };
            table.painted(
                vec![
                    format!("{sign}{}", plain(amount.value.into())).into(),
                    share(amount.value, whole.value).into(),
                    amount_spread(amount).into(),
                    part.letter.map(String::from).unwrap_or_default().into(),
                    cause.title.as_str().into(),
                    bar(amount.value, whole.value, room).into(),
                ],
                paint,
            );
        }
        table.rule();
        let sum = vec![
            whole_figure(page, profile, measure, whole).into(),
            share(whole.value, whole.value).into(),
            amount_spread(whole).into(),
            "".into(),
            format!("all {}", measure.title).into(),
            "".into(),
        ];
        table.painted(sum, Paint::Strong);
        table.write(page.options.style, out)
    }
}

/// A measure's own total, where there is one that holds all that the samples do: its bounds are
/// closer than the sum of theirs.
pub(super) fn whole_of(page: &Page, measure: &Measure, samples: Amount) -> Amount {
    let total = page.measurement.total(&measure.id);
    let total = total.and_then(|total| amount(total.value(), total.trust()));
    total.filter(|total| total.value >= samples.value).unwrap_or(samples)
}

/// The amount of a part with the bounds that the instrument gives it, in a table of its own; a
/// profile may know bounds by place of the whole only.
pub(super) fn stated(page: &Page, cause: &Measure, sum: Amount) -> Amount {
    let find = || {
        let table = page.measurement.table(ids::section::CAUSES)?;
        let names = &table.column(ids::column::MEASURE)?.cells;
        let row = names.iter().position(|cell| cell.text() == Some(&cause.id))?;
        let figures = table.columns.iter().find(|column| column.kind == CellKind::Figure)?;
        match figures.cells.get(row)? {
            Cell::Figure { value, trust } => amount(*value, trust),
            cell => amount(cell.number(), &Trust::Exact),
        }
    };
    find().filter(|stated| stated.value == sum.value).unwrap_or(sum)
}

/// Whether the instrument gives a part no bounds because it depends on how often loops go round.
fn awaited(page: &Page, profile: &Profile, cause: &Measure) -> bool {
    let turns = profile.measure(ids::measure::EXECUTIONS);
    let turns = turns.is_some_and(|measure| matches!(measure.kind, Kind::Modelled { .. }));
    let cell = || {
        let table = page.measurement.table(ids::section::CAUSES)?;
        let names = &table.column(ids::column::MEASURE)?.cells;
        let row = names.iter().position(|cell| cell.text() == Some(&cause.id))?;
        table.columns.iter().find(|column| column.kind == CellKind::Figure)?.cells.get(row)
    };
    let unbounded = |cell: &Cell| match cell {
        Cell::Figure { trust: Trust::Modelled { low, high, .. }, .. } => low == high,
        _ => false,
    };
    turns && cell().is_some_and(unbounded)
}

fn amount(value: Option<Number>, trust: &Trust) -> Option<Amount> {
    let whole = |number: Number| match number {
        Number::Integer(n) => n,
        Number::Real(x) => x.round() as i64,
    };
    let value = whole(value?);
    let (low, high) =
        trust.bounds().map_or((value, value), |(low, high)| (whole(low), whole(high)));
    Some(Amount { low, value, high })
}

/// How long the core is idle depends on how long everything else took; what is modelled without
/// bounds is no count.
fn sign_of_part(cause: &Measure, part: &Part, amount: Amount, is_open: bool) -> &'static str {
    let is_modelled = matches!(cause.kind, Kind::Modelled { .. });
    match &cause.kind {
        Kind::AtLeast => ">=",
        _ if !amount.is_exact() || is_open && (is_modelled || part.idle) => "~",
        _ => "",
    }
}

/// An amount of a measure behind its sign: `~2,172`.
pub(super) fn figure(profile: &Profile, measure: &Measure, amount: Amount) -> String {
    let is_unbounded = amount.value != 0 && is_unbounded(profile, measure);
    figure_of(measure, amount.value, !amount.is_exact() || is_unbounded)
}

/// All of a measure behind its sign. A run to a given cycle has an exact sum of inexact parts.
pub(super) fn whole_figure(
    page: &Page,
    profile: &Profile,
    measure: &Measure,
    whole: Amount,
) -> String {
    let total = page.measurement.total(&measure.id);
    let is_exact = total.is_some_and(|total| *total.trust() == Trust::Exact);
    if is_exact { figure_of(measure, whole.value, false) } else { figure(profile, measure, whole) }
}

/// A value of which is known whether models have a part in it.
pub(super) fn figure_of(measure: &Measure, value: i64, modelled: bool) -> String {
    let sign = match &measure.kind {
        Kind::AtLeast => ">=",
        Kind::Modelled { .. } if modelled => "~",
        _ => "",
    };
    format!("{sign}{}", super::figure::number(value.into(), &measure.unit))
}

fn bar(part: i64, whole: i64, room: usize) -> String {
    let length = i128::from(part) * room as i128 / i128::from(whole.max(1));
    let length = length.max(i128::from(part > 0)).clamp(0, room as i128);
    "#".repeat(usize::try_from(length).unwrap_or(0))
}

/// Ten letters in proportion to the parts, idle ones left out: `EEEEERRLLF`. Nothing without
/// letters.
pub(crate) fn strip(profile: &Profile, measure: &Measure, sums: &Sums) -> String {
    let parts = profile.parts(&measure.id).zip(&sums.parts).filter(|((_, part), _)| !part.idle);
    let parts: Vec<(char, i128)> = parts
        .filter_map(|((_, part), amount)| Some((part.letter?, i128::from(amount.value.max(0)))))
        .collect();
    let total: i128 = parts.iter().map(|(_, n)| n).sum();
    if total == 0 {
        return String::new();
    }
    // Each part gets its whole tenths, then the largest remainders share what is left.
    let scaled = parts.iter().map(|(letter, n)| (*letter, n * STRIP as i128));
    let mut parts: Vec<(char, i128, i128)> =
        scaled.map(|(letter, n)| (letter, n / total, n % total)).collect();
    let given: i128 = parts.iter().map(|(_, whole, _)| whole).sum();
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|&i| (std::cmp::Reverse(parts[i].2), i));
    for &i in order.iter().take(STRIP.saturating_sub(given as usize)) {
        parts[i].1 += 1;
    }
    let letters = parts.iter().map(|&(letter, n, _)| letter.to_string().repeat(n as usize));
    letters.collect()
}

/// What each part that appears means, and what can be done about it.
pub(super) fn legend(
    profile: &Profile,
    measure: &Measure,
    total: &Sums,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    let parts = present(profile, measure, total).into_iter();
    let parts: Vec<_> = parts.filter(|(_, part, _)| part.meaning.is_some()).collect();
    if parts.is_empty() {
        return Ok(());
    }
    heading("what the causes mean", options, out)?;
    let width = parts.iter().map(|(m, ..)| m.title.chars().count()).max().unwrap_or(0);
    for (cause, part, _) in parts {
        let letter = part.letter.unwrap_or(' ');
        let mark = format!("{letter}  {:width$}  ", cause.title);
        let text: Vec<&str> =
            [&part.meaning, &part.advice].into_iter().flatten().map(String::as_str).collect();
        item(&mark, &text.join(" "), Paint::Plain, options, out)?;
    }
    Ok(())
}
