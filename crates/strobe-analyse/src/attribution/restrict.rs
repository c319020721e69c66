//! A measurement of some labels only: as if the window had been open just while they ran.

use strobe_model::measurement::{
    Balance, Content, Loss, Measurement, Number, Parts, Profile, Quantity, Trust, Unit,
};

use super::{Amount, By, Spot, named, only, rows};

/// The part of a measurement that belongs to the threads and handlers that a name means: their
/// samples and calls, and the totals and the balance of the profile's measures. Other sections stay
/// whole. `None` where no label of that name has samples.
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
    Some(part)
}

/// Totals, coverage and balance of the first measure.
fn totals(profile: &Profile, part: &mut Measurement) {
    let Some(measure) = profile.measures.first() else { return };
    let Some(flat) = rows(profile, &measure.id, &By::Function) else { return };
    let (all, busy, idle) = (flat.total.all, flat.total.busy(), flat.total.idle);
    let figure = |amount: Amount| quantity(amount, &measure.unit);
    let executions = profile.measures.iter().position(|measure| measure.id == "executions");
    let executed = executions.and_then(|i| flat.total.others.get(i).copied().flatten());
    for total in &mut part.totals {
        let own = match total.id.as_str() {
            id if id == measure.id => Some(figure(all)),
            "idle" if *total.quantity.unit() == measure.unit => Some(figure(idle)),
            "instructions" => executed.map(|amount| quantity(amount, &Unit::INSTRUCTIONS)),
            "cycles-per-instruction" => executed.map(|amount| ratio(busy, amount.value)),
            _ => None,
        };
        if let Some(own) = own {
            total.quantity = own;
        }
    }
    if part.coverage.seen.as_ref().is_some_and(|seen| *seen.unit() == measure.unit) {
        part.coverage.seen = Some(figure(all));
    }
    let unnamed = flat.rows.iter().filter(|row| row.spot == Spot::Function(None));
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
