//! A measurement of some labels only: as if the window had been open just while they ran.

use strobe_model::measurement::ids;
use strobe_model::measurement::{
    Balance, Content, Kind, Loss, Measure, Measurement, Number, ON_A_CHIP, Parts, Profile,
    Quantity, Table, Trust, Unit,
};

use crate::{bands, evidence};

use super::{Amount, By, RowPlace, named, only, rows};

/// The part of a measurement that belongs to the threads and handlers that a name means: their
/// samples and calls, and the totals, causes and balance of the profile's measures. What else the
/// measurement has is of the whole run, and is named so. `None` where no label of that name has
/// samples.
pub fn restricted(measurement: &Measurement, name: &str) -> Option<Measurement> {
    let mut part = measurement.clone();
    let mut found = false;
    let mut first: Option<Profile> = None;
    for section in &mut part.sections {
        let Content::Profile(profile) = &mut section.content else { continue };
        let labels = named(profile, name);
        let restricted = only(profile, |label| label.is_some_and(|label| labels.contains(&label)));
        found |= !restricted.leaves.is_empty() || !restricted.chains.is_empty();
        first.get_or_insert_with(|| restricted.clone());
        **profile = restricted;
    }
    let profile = first.filter(|_| found)?;
    totals(&profile, &mut part);
    for section in &mut part.sections {
        match &mut section.content {
            // That shows everybody by name.
            Content::Profile(_) | Content::Timeline(_) => {}
            Content::Table(table) if section.id == ids::section::CAUSES => causes(&profile, table),
            _ => section.title = format!("whole run: {}", section.title),
        }
    }
    evidence::follow_causes(&mut part);
    Some(part)
}

/// The causes of a measure's values, and all of them.
fn causes(profile: &Profile, table: &mut Table) {
    let Some(measure) = profile.measures.first() else { return };
    let Some(flat) = rows(profile, &measure.id, &By::Function) else { return };
    let Some(named) = table.column(ids::column::MEASURE) else { return };
    let names: Vec<Option<String>> =
        named.cells.iter().map(|cell| cell.text().map(str::to_owned)).collect();
    let of = |name: &Option<String>| {
        let at = profile.measures.iter().position(|one| Some(&one.id) == name.as_ref())?;
        Some((&profile.measures[at], flat.total.others.get(at).copied().flatten()?))
    };
    let Some(column) = table.columns.iter_mut().find(|one| one.id == measure.id) else { return };
    column.whole = column.whole.map(|_| flat.total.all.value.into());
    for (own, name) in column.cells.iter_mut().zip(&names) {
        let Some((measure, amount)) = of(name) else { continue };
        // Of a cause that is this one's alone, bounds are known that samples do not have.
        if own.number() != Some(amount.value.into()) {
            *own = of_kind(measure, amount, &measure.unit).into();
        }
    }
    let all = quantity(flat.total.all, &measure.unit);
    table.footer.iter_mut().filter_map(|row| row.first_mut()).for_each(|own| {
        *own = all.clone().into();
    });
}

/// Totals, coverage and balance of the first measure.
fn totals(profile: &Profile, part: &mut Measurement) {
    let Some(measure) = profile.measures.first() else { return };
    let Some(flat) = rows(profile, &measure.id, &By::Function) else { return };
    let (all, busy, idle) = (flat.total.all, flat.total.busy(), flat.total.idle);
    let figure = |amount: Amount| quantity(amount, &measure.unit);
    let executions =
        profile.measures.iter().position(|measure| measure.id == ids::measure::EXECUTIONS);
    let executed = executions.and_then(|i| flat.total.others.get(i).copied().flatten());
    let band = bands::band(part);
    let on_a_chip = || {
        let Amount { low, value, high } = all.ordered();
        let (value, ends) = (Number::from(value), (low as f64, high as f64));
        let trust = band.as_ref()?.around(value, ends, busy.ordered().high as f64);
        Quantity::new(Some(value), measure.unit.clone(), trust).ok()
    };
    // What of the waits is this one's, nobody knows; the table of them has all.
    part.totals.retain(|total| match total.id.as_str() {
        ON_A_CHIP => on_a_chip().is_some(),
        id => id != "waiting",
    });
    for total in &mut part.totals {
        let own = match total.id.as_str() {
            ON_A_CHIP => on_a_chip(),
            id if id == measure.id => Some(figure(all)),
            "idle" if *total.quantity.unit() == measure.unit => Some(figure(idle)),
            "instructions" => executed
                .zip(executions)
                .map(|(amount, at)| of_kind(&profile.measures[at], amount, &Unit::INSTRUCTIONS)),
            "cycles-per-instruction" => executed.map(|amount| ratio(busy, amount.value)),
            _ => None,
        };
        match own {
            Some(own) => total.quantity = own,
            None => total.title = format!("{} (whole run)", total.title),
        }
    }
    if part.coverage.seen.as_ref().is_some_and(|seen| *seen.unit() == measure.unit) {
        part.coverage.seen = Some(figure(all));
    }
    let unnamed = flat.rows.iter().filter(|row| row.spot == RowPlace::Function(None));
    let unnamed = count(unnamed.map(|row| row.sums.busy().value).sum());
    let balances = part.balances.iter().map(Balance::parts);
    let lost = balances.into_iter().find(|parts| parts.unit == measure.unit);
    let lost = lost.map_or(Loss::Known(0), |parts| lost_of_part(&parts.lost));
    part.balances.retain(|balance| balance.parts().unit != measure.unit);
    let balance = Balance::new(Parts {
        what: measure.title.clone(),
        unit: measure.unit.clone(),
        taken_as: "taken".to_owned(),
        attributed_as: String::new(),
        taken: count(all.value),
        attributed: count(busy.value).saturating_sub(unnamed),
        unattributed: if unnamed > 0 {
            vec![("no symbol".to_owned(), unnamed)]
        } else {
            Vec::new()
        },
        idle: count(idle.value),
        lost,
    });
    // Only sums that overflow do not balance; then there is none.
    part.balances.extend(balance.ok());
}

/// Whose the lost ones were, nobody knows.
fn lost_of_part(whole: &Loss) -> Loss {
    match whole {
        Loss::Known(0) => Loss::Known(0),
        Loss::Known(_) | Loss::AtLeast(_) => {
            Loss::Unknown("some were lost, and whose they were is not known".to_owned())
        }
        Loss::Unknown(why) => Loss::Unknown(why.clone()),
    }
}

fn count(n: i64) -> u64 {
    u64::try_from(n).unwrap_or(0)
}

fn quantity(amount: Amount, unit: &Unit) -> Quantity {
    let Amount { low, value, high } = amount.ordered();
    if amount.is_exact() {
        return Quantity::exact(value, unit.clone());
    }
    let trust = Trust::Modelled { low: low.into(), high: high.into(), why: None };
    Quantity::new(Some(value.into()), unit.clone(), trust)
        .unwrap_or_else(|_| Quantity::exact(value, unit.clone()))
}

/// The same of a measure whose values may be modelled without bounds.
fn of_kind(measure: &Measure, amount: Amount, unit: &Unit) -> Quantity {
    let exact = quantity(amount, unit);
    let is_modelled = matches!(measure.kind, Kind::Modelled { .. }) && amount.value > 0;
    if !is_modelled || !amount.is_exact() {
        return exact;
    }
    let value = Number::from(amount.value);
    let trust = Trust::Modelled { low: value, high: value, why: None };
    Quantity::new(Some(value), unit.clone(), trust).unwrap_or(exact)
}

fn ratio(busy: Amount, executed: i64) -> Quantity {
    if executed <= 0 {
        return Quantity::unknown(Unit::RATIO, "nothing was executed");
    }
    let busy = busy.ordered();
    let per = |cycles: i64| Number::from(cycles as f64 / executed as f64);
    if busy.is_exact() {
        return Quantity::exact(per(busy.value), Unit::RATIO);
    }
    let trust = Trust::Modelled { low: per(busy.low), high: per(busy.high), why: None };
    Quantity::new(Some(per(busy.value)), Unit::RATIO, trust)
        .unwrap_or_else(|_| Quantity::unknown(Unit::RATIO, "its bounds contradict it"))
}
