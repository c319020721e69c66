//! Differences of figures: what is known of one is no more than what is known of both.

use strobe_model::measurement::{Cell, Number, Quantity, Trust};

/// A figure without its unit.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Figure {
    pub(super) value: Option<Number>,
    pub(super) trust: Trust,
}

impl From<&Quantity> for Figure {
    fn from(quantity: &Quantity) -> Self {
        Figure { value: quantity.value(), trust: quantity.trust().clone() }
    }
}

impl From<&Figure> for Cell {
    fn from(figure: &Figure) -> Self {
        match (figure.value, &figure.trust) {
            (Some(value), Trust::Exact) => Cell::Exact(value),
            (value, trust) => Cell::Figure { value, trust: trust.clone() },
        }
    }
}

/// What a figure may be, at its ends; `None` where there is no end.
struct Range {
    low: Option<Number>,
    high: Option<Number>,
}

fn minus(b: Number, a: Number) -> Number {
    match (b, a) {
        (Number::Integer(b), Number::Integer(a)) => Number::Integer(b.saturating_sub(a)),
        _ => (b.as_f64() - a.as_f64()).into(),
    }
}

fn plus(a: Number, b: Number) -> Number {
    match (a, b) {
        (Number::Integer(a), Number::Integer(b)) => Number::Integer(a.saturating_add(b)),
        _ => (a.as_f64() + b.as_f64()).into(),
    }
}

impl Figure {
    /// A figure that is exact.
    pub(super) fn exact(value: impl Into<Number>) -> Figure {
        Figure { value: Some(value.into()), trust: Trust::Exact }
    }

    /// A figure of a model of which no bounds are known: they are those of the figure itself.
    pub(super) fn about(value: Number, why: Option<String>) -> Figure {
        Figure { value: Some(value), trust: Trust::Modelled { low: value, high: value, why } }
    }

    /// Whether it is one.
    pub(super) fn is_about(&self) -> bool {
        has_no_bounds(&self.trust)
    }

    /// The figure of a cell; nothing where it has none.
    pub(super) fn of(cell: &Cell) -> Option<Figure> {
        match cell {
            Cell::Exact(value) => Some(Figure::exact(*value)),
            Cell::Figure { value, trust } => Some(Figure { value: *value, trust: trust.clone() }),
            Cell::Empty | Cell::Text(_) | Cell::Address(_) => None,
        }
    }

    fn unknown(why: impl Into<String>) -> Figure {
        Figure { value: None, trust: Trust::Unknown { why: why.into() } }
    }

    fn range(&self) -> Range {
        let value = self.value;
        match &self.trust {
            Trust::AtLeast => Range { low: value, high: None },
            Trust::AtMost => Range { low: None, high: value },
            trust => {
                let (low, high) = trust.bounds().unzip();
                Range { low: low.or(value), high: high.or(value) }
            }
        }
    }

    /// How much more `b` is.
    pub(super) fn to(&self, b: &Figure) -> Figure {
        let (Some(x), Some(y)) = (self.value, b.value) else {
            let why = |side: &str, figure: &Figure| match &figure.trust {
                Trust::Unknown { why } => Some(format!("{side}: {why}")),
                _ => None,
            };
            let whys: Vec<String> = why("a", self).into_iter().chain(why("b", b)).collect();
            return Figure::unknown(whys.join("; "));
        };
        if let (Trust::Sampled { n, .. }, Trust::Sampled { n: m, .. }) = (&self.trust, &b.trust) {
            return sampled(self, b, minus(y, x), n.saturating_add(*m));
        }
        let (from, to) = (self.range(), b.range());
        let low = to.low.zip(from.high).map(|(b, a)| minus(b, a));
        let high = to.high.zip(from.low).map(|(b, a)| minus(b, a));
        match (low, high) {
            (Some(low), Some(high)) => bounded(minus(y, x), (low, high), [&self.trust, &b.trust]),
            (Some(low), None) => Figure { value: Some(low), trust: Trust::AtLeast },
            (None, Some(high)) => Figure { value: Some(high), trust: Trust::AtMost },
            (None, None) => Figure::unknown("either side may be more than was seen"),
        }
    }

    /// How much more `b` is if one model is in both and is off by the same part of its bounds
    /// on both sides; as [`Figure::to`] where it is not a model's.
    pub(super) fn to_by_one_model(&self, b: &Figure) -> Figure {
        let is_model =
            |figure: &Figure| matches!(figure.trust, Trust::Exact | Trust::Modelled { .. });
        let (Some(x), Some(y)) = (self.value, b.value) else { return self.to(b) };
        if !is_model(self) || !is_model(b) {
            return self.to(b);
        }
        let (from, to) = (self.range(), b.range());
        let end = |a: Option<Number>, b: Option<Number>| Some(minus(b?, a?));
        let likely = minus(y, x);
        let [low, high] = [end(from.low, to.low), end(from.high, to.high)];
        let ends = ends_of([low.unwrap_or(likely), high.unwrap_or(likely), likely]);
        bounded(likely, ends, [&self.trust, &b.trust])
    }

    /// How much more `b` is, by one of the two.
    pub(super) fn more(&self, b: &Figure, one_model: bool) -> Figure {
        if one_model { self.to_by_one_model(b) } else { self.to(b) }
    }

    /// How many times as much `b` is; nothing where that cannot be said.
    pub(super) fn ratio(&self, b: &Figure, one_model: bool) -> Cell {
        let (Some(x), Some(y)) = (self.value, b.value) else { return Cell::Empty };
        let (from, to) = (self.range(), b.range());
        let ends = from.low.zip(from.high).zip(to.low.zip(to.high));
        let Some(((from_low, from_high), (low, high))) = ends else { return Cell::Empty };
        if from_low.as_f64() <= 0.0 || low.as_f64() < 0.0 {
            return Cell::Empty;
        }
        let quotient = |b: Number, a: Number| Number::from(b.as_f64() / a.as_f64());
        let is_model =
            |figure: &Figure| matches!(figure.trust, Trust::Exact | Trust::Modelled { .. });
        let ends = if one_model && is_model(self) && is_model(b) {
            ends_of([quotient(low, from_low), quotient(high, from_high), quotient(y, x)])
        } else {
            (quotient(low, from_high), quotient(high, from_low))
        };
        let ratio = match (&self.trust, &b.trust) {
            (Trust::Sampled { n, .. }, Trust::Sampled { n: m, .. }) => {
                let (low, high) = ends;
                let trust = Trust::Sampled { n: n.saturating_add(*m), low, high };
                Figure { value: Some(quotient(y, x)), trust }
            }
            (a, b) => bounded(quotient(y, x), ends, [a, b]),
        };
        (&ratio).into()
    }

    /// A part of so many equal ones.
    pub(super) fn divided(&self, parts: u64) -> Figure {
        let parts = parts.max(1);
        let each = |number: Number| match number {
            Number::Integer(n) if n % i64::try_from(parts).unwrap_or(i64::MAX) == 0 => {
                Number::Integer(n / i64::try_from(parts).unwrap_or(i64::MAX))
            }
            number => Number::from(number.as_f64() / parts as f64),
        };
        let trust = match self.trust.clone() {
            Trust::Modelled { low, high, why } => {
                Trust::Modelled { low: each(low), high: each(high), why }
            }
            Trust::Sampled { n, low, high } => {
                Trust::Sampled { n, low: each(low), high: each(high) }
            }
            Trust::Resolution { low, high } => {
                Trust::Resolution { low: each(low), high: each(high) }
            }
            trust => trust,
        };
        Figure { value: self.value.map(each), trust }
    }
}

/// The cells of both and of their difference, which is none where one side has no figure.
pub(super) fn three(a: Option<Figure>, b: Option<Figure>, one_model: bool) -> [Cell; 3] {
    let difference = a.as_ref().zip(b.as_ref()).map(|(a, b)| a.more(b, one_model));
    [a, b, difference].map(|figure| figure.as_ref().map_or(Cell::Empty, Cell::from))
}

/// The same of figures that both sides have.
pub(super) fn three_of([a, b]: [Figure; 2], one_model: bool) -> [Cell; 3] {
    three(Some(a), Some(b), one_model)
}

/// The least and the most.
fn ends_of([first, rest @ ..]: [Number; 3]) -> (Number, Number) {
    rest.into_iter().fold((first, first), |(low, high), at| {
        (if at < low { at } else { low }, if at > high { at } else { high })
    })
}

/// Whether nobody knows how far a model's figure is off.
fn has_no_bounds(trust: &Trust) -> bool {
    matches!(trust, Trust::Modelled { low, high, .. } if low == high)
}

/// Between two ends, for the reasons of both sides.
fn bounded(value: Number, (low, high): (Number, Number), sides: [&Trust; 2]) -> Figure {
    if low == high && !sides.into_iter().any(has_no_bounds) {
        return Figure::exact(value);
    }
    let is_measured = |trust: &&Trust| matches!(trust, Trust::Exact | Trust::Resolution { .. });
    if sides.iter().all(is_measured) {
        return Figure { value: Some(value), trust: Trust::Resolution { low, high } };
    }
    let mut whys: Vec<&str> = Vec::new();
    for side in sides {
        let why = match side {
            Trust::Modelled { why, .. } => why.as_deref(),
            Trust::Sampled { .. } => Some("estimated from samples"),
            Trust::Resolution { .. } => Some("measured with limited resolution"),
            _ => None,
        };
        whys.extend(why.filter(|why| !whys.contains(why)));
    }
    let why = (!whys.is_empty()).then(|| whys.join("; "));
    Figure { value: Some(value), trust: Trust::Modelled { low, high, why } }
}

/// A difference of two estimates from independent samples: the distances to the ends add up as
/// squares do (Newcombe 1998, method 10).
fn sampled(a: &Figure, b: &Figure, difference: Number, n: u64) -> Figure {
    let ends = |figure: &Figure| {
        let value = figure.value.map_or(0.0, Number::as_f64);
        let range = figure.range();
        let low = range.low.map_or(0.0, |low| value - low.as_f64());
        (low, range.high.map_or(0.0, |high| high.as_f64() - value))
    };
    let ((a_low, a_high), (b_low, b_high)) = (ends(a), ends(b));
    let low = plus(difference, (-a_high.hypot(b_low)).into());
    let high = plus(difference, a_low.hypot(b_high).into());
    Figure { value: Some(difference), trust: Trust::Sampled { n, low, high } }
}
