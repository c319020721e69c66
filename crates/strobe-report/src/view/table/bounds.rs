//! How far from a table's figures the truth may be: of each cell, and of a column as a whole.

use strobe_model::measurement::{Cell, Column, Number, Trust, Unit};

use crate::view::figure::{number, range, spread};

/// Bounds that are no wider, in parts of their figure, are alike enough for one line to state the
/// widest of a column.
const ALIKE: f64 = 0.1;

/// How far from the figure the truth may be; for samples, from where to where.
pub(super) fn bounds(cell: &Cell, unit: &Unit) -> Option<String> {
    let Cell::Figure { value: Some(value), trust } = cell else { return None };
    match trust {
        Trust::Modelled { low, high, .. } => spread(*value, *low, *high),
        Trust::Sampled { low, high, .. } => Some(range(*low, *high, unit)),
        Trust::Resolution { low, high } => Some(number(off(*value, *low, *high), unit)),
        _ => None,
    }
}

/// By how much a figure of limited resolution may be off.
pub(super) fn off(value: Number, low: Number, high: Number) -> Number {
    match (value, low, high) {
        (Number::Integer(value), Number::Integer(low), Number::Integer(high)) => {
            Number::Integer(value.saturating_sub(low).max(high.saturating_sub(value)))
        }
        _ => {
            let value = value.as_f64();
            Number::Real((value - low.as_f64()).max(high.as_f64() - value))
        }
    }
}

/// Whether cells of limited resolution are off by different amounts, so that each needs its own.
pub(super) fn is_uneven(column: &Column, unit: &Unit) -> bool {
    let each = column.cells.iter().filter(|cell| is_fine(cell)).map(|cell| bounds(cell, unit));
    let each: Vec<Option<String>> = each.collect();
    each.windows(2).any(|pair| pair[0] != pair[1])
}

pub(super) fn is_fine(cell: &Cell) -> bool {
    matches!(cell, Cell::Figure { trust: Trust::Resolution { .. }, .. })
}

pub(super) fn is_sampled(cell: &Cell) -> bool {
    matches!(cell, Cell::Figure { trust: Trust::Sampled { .. }, .. })
}

/// A figure and its bounds.
fn ends(cell: &Cell) -> Option<(f64, f64, f64)> {
    let Cell::Figure { value: Some(value), trust } = cell else { return None };
    let (low, high) = trust.bounds()?;
    Some((value.as_f64(), low.as_f64(), high.as_f64()))
}

/// The bounds of the figure that is furthest from 0, if it has some.
pub(super) fn of_largest(cells: &[Cell], unit: &Unit) -> Option<String> {
    let size = |cell: &&Cell| cell.number().map_or(0.0, |number| number.as_f64().abs());
    let largest = cells.iter().max_by(|a, b| size(a).total_cmp(&size(b)));
    largest.and_then(|cell| bounds(cell, unit))
}

/// Whether all bounds are so close to their figures that the widest describe the others.
pub(super) fn is_alike(cells: &[Cell]) -> bool {
    let is_close = |(value, low, high): (f64, f64, f64)| {
        let most = ALIKE * value.abs();
        value - low <= most && high - value <= most
    };
    cells.iter().filter_map(ends).all(is_close)
}

/// The widest bounds, of those that are parts of their figure and of those that are not, because
/// 0 is within them.
pub(super) fn widest(cells: &[Cell], unit: &Unit) -> Option<String> {
    let has_zero = |(value, low, high): (f64, f64, f64)| value == 0.0 || (low < 0.0 && high > 0.0);
    let of = |with_zero: bool| {
        let width = |cell: &&Cell| {
            let (value, low, high) = ends(cell).unwrap_or_default();
            (high - low) / if with_zero { 1.0 } else { value.abs() }
        };
        let cells =
            cells.iter().filter(|cell| ends(cell).is_some_and(|e| has_zero(e) == with_zero));
        let widest = cells.max_by(|a, b| width(a).total_cmp(&width(b)));
        widest.and_then(|cell| bounds(cell, unit))
    };
    match (of(false), of(true)) {
        (Some(part), Some(whole)) => Some(format!("{part}, or {whole} where 0 is within")),
        (part, whole) => part.or(whole),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A difference of nothing does not hide how wide the others are.
    #[test]
    fn widest_bounds_cover_relative_and_possibly_zero_figures() {
        let cell = |value: i64, low: i64, high: i64| Cell::Figure {
            value: Some(value.into()),
            trust: Trust::Modelled { low: low.into(), high: high.into(), why: None },
        };
        let (part, whole) = (cell(1_000, 900, 1_300), cell(0, -2, 1));
        let widest = |cells: &[&Cell]| {
            let cells: Vec<Cell> = cells.iter().map(|cell| (*cell).clone()).collect();
            widest(&cells, &Unit::CYCLES).unwrap_or_default()
        };
        assert_eq!(widest(&[&part, &cell(10, 10, 11)]), "-10/+30 %");
        assert_eq!(widest(&[&part, &whole]), "-10/+30 %, or -2 to 1 where 0 is within");
        assert_eq!(widest(&[&whole, &cell(5, -40, 9)]), "-40 to 9");
        assert_eq!(widest(&[&Cell::from(3u64)]), "");
    }

    /// One row of a few cycles does not hide how close the bounds of the others are.
    #[test]
    fn bounds_that_differ_much_are_not_one() {
        let cell = |value: i64, low: i64, high: i64| Cell::Figure {
            value: Some(value.into()),
            trust: Trust::Modelled { low: low.into(), high: high.into(), why: None },
        };
        let (all, close) = (cell(4_000, 3_996, 4_008), cell(-200, -210, -185));
        let few = cell(15, 15, 30);
        assert!(is_alike(&[all.clone(), close.clone(), Cell::from(3u64), Cell::Empty]));
        let unlike = [few, close, all];
        assert!(!is_alike(&unlike));
        assert_eq!(of_largest(&unlike, &Unit::CYCLES).as_deref(), Some("-0.1/+0.2 %"));
        assert_eq!(of_largest(&[Cell::from(9u64)], &Unit::CYCLES), None);
    }
}
