//! How the cycles of a benchmark grow with its input.

use strobe_analyse::statistics::growth::{Fit, Growth, growth};
use strobe_model::measurement::ids;
use strobe_model::measurement::{Cell, Column, Content, Section, Table, Unit};

use super::Row;

/// A form that is further off, as 0.1 for 10 %, explains nothing.
const WORST: f64 = 0.1;

/// A table of benchmarks with inputs that say something of growth; none if there is no such one.
pub(super) fn section(rows: &[Row]) -> Option<Section> {
    let mut table = Table::new(vec![
        Column::text(ids::column::BENCHMARK, "benchmark"),
        Column::text("growth", "growth"),
        Column::text(ids::column::CYCLES, "cycles, about"),
        Column::figure("inputs", "inputs", Unit::COUNT),
        Column::figure("smallest", "from", Unit::COUNT),
        Column::figure("largest", "to", Unit::COUNT),
        Column::text("error", "off by"),
    ]);
    for same in rows.chunk_by(|a, b| a.name == b.name) {
        let points: Vec<(u32, u64)> = same.iter().filter_map(point).collect();
        let figures: Vec<(f64, f64)> =
            points.iter().map(|&(n, cycles)| (f64::from(n), cycles as f64)).collect();
        let Some(fit) = growth(&figures) else { continue };
        let fits = fit.error <= WORST;
        let inputs = || points.iter().map(|point| point.0);
        table.row([
            same[0].name.as_str().into(),
            if fits { fit.form.title() } else { "none fits" }.into(),
            if fits { formula(&fit).into() } else { Cell::Empty },
            points.len().into(),
            inputs().min().into(),
            inputs().max().into(),
            format!("{:.1} %", fit.error * 100.0).into(),
        ]);
    }
    let notes = vec![
        "The form that fits best of constant, log n, n, n log n and n^2, over at least four inputs \
         with a factor of eight between them; how far it is off is the root mean square over them, \
         and beyond 10 % none fits."
            .to_owned(),
    ];
    (!table.is_empty()).then(|| Section {
        id: "growth".to_owned(),
        title: "growth: cycles over the input".to_owned(),
        notes,
        content: Content::Table(table),
    })
}

/// The input and the cycles of the first call.
fn point(row: &Row) -> Option<(u32, u64)> {
    Some((row.input?, row.calls.first()?.cycles))
}

fn formula(fit: &Fit) -> String {
    let offset = digits(fit.offset);
    if fit.form == Growth::Constant {
        return offset;
    }
    let slope = digits(fit.slope);
    // Of a natural logarithm people expect two to its power.
    let (slope, form) = match fit.form {
        Growth::Logarithmic => (digits(fit.slope * std::f64::consts::LN_2), "log2 n"),
        Growth::Linearithmic => (digits(fit.slope * std::f64::consts::LN_2), "n log2 n"),
        other => (slope, other.name()),
    };
    match offset.strip_prefix('-') {
        Some(less) => format!("{slope} {form} - {less}"),
        None => format!("{slope} {form} + {offset}"),
    }
}

/// Three digits that mean something.
fn digits(x: f64) -> String {
    match x.abs() {
        y if y < 0.01 && y > 0.0 => format!("{x:.2e}"),
        ..10.0 => format!("{x:.2}"),
        ..100.0 => format!("{x:.1}"),
        _ => format!("{x:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use strobe_model::measurement::Content;

    use super::super::{Call, Row};
    use super::*;

    fn row(input: u32, cycles: u64) -> Row {
        let call = Call { cycles, instructions: 1, stack: None, allocated: None, interrupts: 0 };
        Row { name: "f".to_owned(), input: Some(input), calls: vec![call], failed: None }
    }

    fn found(cost: impl Fn(u32) -> u64, sizes: &[u32]) -> Option<(String, String)> {
        let rows: Vec<Row> = sizes.iter().map(|&n| row(n, cost(n))).collect();
        let Content::Table(table) = section(&rows)?.content else { return None };
        let cell = |id: &str| Some(table.column(id)?.cells[0].text()?.to_owned());
        Some((cell("growth")?, cell("cycles").unwrap_or_default()))
    }

    #[test]
    fn growth_has_a_name_and_a_formula() {
        let sizes = [8, 16, 32, 64, 128];
        let said = |growth: &str, formula: &str| Some((growth.to_owned(), formula.to_owned()));
        assert_eq!(found(|_| 300, &sizes), said("constant", "300"));
        assert_eq!(found(|n| 40 + 12 * u64::from(n), &sizes), said("linear", "12.0 n + 40.0"));
        let square = |n: u32| 5 * u64::from(n * n) + 1000;
        assert_eq!(found(square, &sizes), said("quadratic", "5.00 n^2 + 1000"));
        let sort = |n: u32| 7 * u64::from(n) * u64::from(n.ilog2()) + 20;
        assert_eq!(found(sort, &sizes), said("n log n", "7.00 n log2 n + 20.0"));
    }

    #[test]
    fn a_bad_fit_is_none() {
        let division = |n: u32| [75, 77, 171, 411][(n.ilog10() as usize).min(9) / 3];
        let sizes = [1, 1000, 1_000_000, 4_000_000_000];
        let (growth, formula) =
            (Some("none fits".to_owned()), found(division, &sizes).map(|found| found.0));
        assert_eq!(formula, growth);
    }

    /// More than one form fits few sizes, or sizes that are close together.
    #[test]
    fn too_few_inputs_say_nothing() {
        assert_eq!(found(|n| n.into(), &[8, 80, 800]), None);
        assert_eq!(found(|n| n.into(), &[8, 9, 10, 11]), None);
        assert_eq!(found(|n| n.into(), &[0, 8, 80, 800]), None);
    }
}
