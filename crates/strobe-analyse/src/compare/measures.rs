//! Sums of the measures that two profiles have: of cycles, by cause.

use strobe_model::measurement::{Content, Measure, Measurement, Profile, Table, Unit};

use super::comparison::Comparison;
use super::difference::Figure;
use super::kebab;
use super::sum::Sum;
use super::totals::{row, side_by_side};
use crate::bands::{self, Band};

/// Sums of all measures that both have: of cycles, by cause. What is nothing in both is left out.
pub(super) fn push(
    compared: &mut Comparison,
    id: &str,
    sides: [(&Measurement, &Profile, Option<&Band>); 2],
    windows: [u64; 2],
    one_model: bool,
) {
    let both = sides[0].1.measures.iter().filter_map(|measure| {
        let there = sides[1].1.measure(&measure.id)?;
        (there.unit == measure.unit).then_some((measure, there))
    });
    let mut tables: Vec<(Unit, [Table; 2])> = Vec::new();
    for (of_a, of_b) in both {
        let figures = whole(sides[0], of_a).zip(whole(sides[1], of_b));
        let nothing = |figure: &Figure| figure.value.is_none_or(|value| value.as_f64() == 0.0);
        let Some((a, b)) = figures.filter(|(a, b)| !(nothing(a) && nothing(b))) else { continue };
        let known = tables.iter().position(|(unit, _)| *unit == of_a.unit);
        let place = known.unwrap_or_else(|| {
            let tables_of = [(), ()].map(|()| side_by_side(&of_a.unit));
            tables.push((of_a.unit.clone(), tables_of));
            tables.len() - 1
        });
        let names = (of_a.id.as_str(), of_a.title.as_str());
        let [sums, each] = &mut tables[place].1;
        sums.row(row(names, &a, &b, one_model));
        each.row(row(names, &a.divided(windows[0]), &b.divided(windows[1]), one_model));
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
fn whole(
    (of, profile, band): (&Measurement, &Profile, Option<&Band>),
    measure: &Measure,
) -> Option<Figure> {
    let samples = [&profile.leaves, &profile.chains];
    let samples = samples.into_iter().find(|s| s.of(&measure.id).is_some())?;
    let all = |id: &str| {
        let mut sum = Sum::default();
        let each = (0..samples.len()).filter_map(|n| Sum::of(samples, id, &[], n));
        each.for_each(|(value, _)| sum.add(value));
        sum
    };
    let sum = all(&measure.id);
    let Some(band) = band.filter(|_| bands::is_work(measure)) else {
        return Some(sum.within_total(of, measure).all_of(profile, measure));
    };
    let mut idle = Sum::default();
    let parts = profile.parts(&measure.id).filter(|(_, part)| part.idle);
    parts.for_each(|(part, _)| idle.add(all(&part.id)));
    let banded = sum.whole(idle, band, (of, measure));
    Some(banded.figure(&band.kind(&measure.kind), sum.value))
}
