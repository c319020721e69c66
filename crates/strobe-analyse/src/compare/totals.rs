//! Headline figures that both sides have, side by side: of the whole, and of each window on
//! average.

use strobe_model::measurement::ids;
use strobe_model::measurement::{
    Cell, Column, Content, Measurement, ON_A_CHIP, Quantity, Table, Unit,
};

use super::comparison::Comparison;
use super::difference::Figure;
use super::memory::{OF_IMAGE, fact};
use super::models::{is_one_model, shares_model};
use super::{HEAP, code, kebab};

/// The name of how much code ran.
const CODE: &str = "code-run";

/// Figures of a whole run that are no sums.
const EXTREMES: [&str; 4] = ["deepest-stack", "stack-margin", "image-flash", "image-ram"];

/// Two figures of one name.
struct Both {
    id: String,
    title: String,
    unit: Unit,
    a: Figure,
    b: Figure,
}

impl Both {
    /// For programs and for people.
    fn names(&self) -> (&str, &str) {
        (&self.id, &self.title)
    }
}

/// Headline figures that both have, the time in the windows first.
fn pairs(a: &Measurement, b: &Measurement) -> Vec<Both> {
    let both = |id: &str, title: &str, a: &Quantity, b: &Quantity| {
        (a.unit() == b.unit()).then(|| Both {
            id: id.to_owned(),
            title: title.to_owned(),
            unit: a.unit().clone(),
            a: a.into(),
            b: b.into(),
        })
    };
    // Images and dumps have no time.
    let is_known = |pair: &Both| pair.a.value.is_some() || pair.b.value.is_some();
    let time = both("window", "time", &a.window.duration, &b.window.duration).filter(is_known);
    let shared = shares_model(a, b);
    let totals =
        a.totals.iter().filter(|total| !(shared && total.id == ON_A_CHIP)).filter_map(|total| {
            both(&total.id, &total.title, &total.quantity, b.total(&total.id)?)
        });
    let image = OF_IMAGE.iter().filter_map(|(name, id, title)| {
        // `strobe size` has both as totals, by the same words or not.
        both(id, title, fact(a, name)?, fact(b, name)?)
    });
    let code = code::bytes_run(a).zip(code::bytes_run(b));
    let code = code.and_then(|(a, b)| both(CODE, "bytes of code run", &a, &b));
    time.into_iter().chain(totals).chain(image).chain(code).collect()
}

/// Tables of headline figures, one for each unit: a column has one.
pub(super) fn push(compared: &mut Comparison, a: &Measurement, b: &Measurement) {
    let pairs = pairs(a, b);
    let one_model = is_one_model(a, b);
    let windows = [a, b].map(|side| side.window.entries.unwrap_or(1));
    let mut units: Vec<&Unit> = Vec::new();
    for pair in &pairs {
        if !units.contains(&&pair.unit) {
            units.push(&pair.unit);
        }
    }
    for unit in units {
        let of_unit = || pairs.iter().filter(|pair| pair.unit == *unit);
        let mut table = side_by_side(unit);
        of_unit().for_each(|pair| table.row(row(pair.names(), &pair.a, &pair.b, one_model)));
        let (id, title) = (kebab(unit), format!("totals: {unit}"));
        compared.push(&format!("{}{id}", ids::prefix::TOTALS), title, Content::Table(table));
        // What does not add up over windows has no share of each.
        let adds_up = ![Unit::RATIO, Unit::PERCENT, Unit::HERTZ].contains(unit);
        if adds_up && windows.iter().any(|n| *n > 1) {
            let mut table = side_by_side(unit);
            // Each window runs the same code, on the same stacks.
            let is_sum = |pair: &&Both| {
                pair.id != CODE
                    && !EXTREMES.contains(&pair.id.as_str())
                    && !pair.id.starts_with(HEAP)
            };
            for pair in of_unit().filter(is_sum) {
                let (a, b) = (pair.a.divided(windows[0]), pair.b.divided(windows[1]));
                table.row(row(pair.names(), &a, &b, one_model));
            }
            let title = format!("each window, on average: {unit}");
            if !table.is_empty() {
                compared.push(&format!("windows-{id}"), title, Content::Table(table));
            }
        }
    }
}

/// The columns of figures in both.
pub(super) fn side_by_side(unit: &Unit) -> Table {
    let figure = |id, title| Column::figure(id, title, unit.clone());
    Table::new(vec![
        Column::text("id", "id").worth(0),
        Column::text("title", "figure"),
        figure("a", "a"),
        figure("b", "b"),
        figure("difference", "difference"),
        Column::figure(ids::column::RATIO, "b / a", Unit::RATIO),
    ])
}

pub(super) fn row((id, title): (&str, &str), a: &Figure, b: &Figure, one_model: bool) -> [Cell; 6] {
    let difference = a.more(b, one_model);
    [id.into(), title.into(), a.into(), b.into(), (&difference).into(), a.ratio(b, one_model)]
}
