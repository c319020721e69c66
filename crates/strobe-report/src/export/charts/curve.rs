//! Curves: tables whose first column grows and whose figures have intervals.

use strobe_model::measurement::{Cell, Number, Table, Trust, Unit};

/// A series of a curve: where, how much, from where to where it may be.
pub(super) struct Series<'a> {
    pub name: &'a str,
    pub points: Vec<(f64, f64, f64, f64)>,
}

/// A curve.
pub(super) struct Curve<'a> {
    pub across: &'a str,
    pub unit: Unit,
    pub series: Vec<Series<'a>>,
}

impl<'a> Curve<'a> {
    /// The curve that a table is; `None` for other tables.
    pub fn of(table: &'a Table) -> Option<Curve<'a>> {
        let (first, rest) = table.columns.split_first()?;
        let at: Vec<f64> = first.cells.iter().map_while(|c| Some(c.number()?.as_f64())).collect();
        let grows = at.windows(2).all(|pair| pair[0] < pair[1]);
        if at.len() < 2 || at.len() < table.len() || !grows {
            return None;
        }
        let has_interval = |cell: &Cell| {
            matches!(cell, Cell::Figure { trust: Trust::Sampled { .. }, value: Some(_) })
        };
        if !rest.iter().flat_map(|column| &column.cells).any(has_interval) {
            return None;
        }
        let mut series = Vec::new();
        for column in rest {
            let point = |(at, cell): (&f64, &Cell)| {
                let value = cell.number()?.as_f64();
                let (low, high) = bounds(cell).unwrap_or((value, value));
                Some((*at, value, low, high))
            };
            let points: Vec<_> = at.iter().zip(&column.cells).filter_map(point).collect();
            if !points.is_empty() {
                series.push(Series { name: &column.title, points });
            }
        }
        let unit = rest.first()?.unit.clone().unwrap_or(Unit::COUNT);
        Some(Curve { across: &first.title, unit, series })
    }
}

fn bounds(cell: &Cell) -> Option<(f64, f64)> {
    let of = |low: &Number, high: &Number| Some((low.as_f64(), high.as_f64()));
    match cell {
        Cell::Figure {
            trust:
                Trust::Sampled { low, high, .. }
                | Trust::Modelled { low, high, .. }
                | Trust::Resolution { low, high },
            ..
        } => of(low, high),
        _ => None,
    }
}
