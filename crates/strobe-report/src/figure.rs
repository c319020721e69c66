//! Figures with how far they can be trusted: a modelled number never looks like an exact one.

use strobe_model::{Bounds, Trust};

use crate::number::grouped;

/// What stands before a figure that has no bounds of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mark {
    /// Counted: nothing.
    Exact,
    /// From a model or from samples: `~`.
    About,
    /// Only what was seen: `>=`.
    AtLeast,
}

impl Mark {
    /// The mark of a figure that everything in the record may have a part in.
    pub(crate) fn of(trust: &Trust) -> Self {
        match trust {
            Trust::Exact => Mark::Exact,
            Trust::Modelled { .. } | Trust::Sampled { .. } => Mark::About,
            Trust::LowerBound => Mark::AtLeast,
        }
    }

    pub(crate) fn sign(self) -> &'static str {
        match self {
            Mark::Exact => "",
            Mark::About => "~",
            Mark::AtLeast => ">=",
        }
    }

    /// The figure behind its mark: `~2,172`. Zero needs none.
    pub(crate) fn figure(self, n: u64) -> String {
        let sign = if n == 0 && self == Mark::About { "" } else { self.sign() };
        format!("{sign}{}", grouped(n))
    }
}

/// The marks of one record's figures.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Marks {
    /// For figures without bounds of their own.
    pub(crate) general: Mark,
    /// Whether bounds that are equal mean an exact figure.
    bounds_decide: bool,
}

impl Marks {
    pub(crate) fn of(trust: &Trust) -> Self {
        let bounds_decide = matches!(trust, Trust::Exact | Trust::Modelled { .. });
        Marks { general: Mark::of(trust), bounds_decide }
    }

    /// The mark of a figure of which is known whether models have a part in it.
    pub(crate) fn modelled(self, modelled: bool) -> Mark {
        match (self.bounds_decide, modelled) {
            (true, false) => Mark::Exact,
            (true, true) => Mark::About,
            (false, _) => self.general,
        }
    }

    /// How often something happened: models do not touch that, sampling does.
    pub(crate) fn count(self, n: u64) -> String {
        self.modelled(false).figure(n)
    }
}

/// Bounds relative to the likely figure, rounded outwards: `-5.9/+18 %`; empty when exact.
pub(crate) fn spread(bounds: Bounds) -> String {
    if bounds.is_exact() {
        return String::new();
    }
    if bounds.likely == 0 {
        return format!("0-{}", grouped(bounds.high));
    }
    let below = outwards(bounds.likely.saturating_sub(bounds.low), bounds.likely);
    let above = outwards(bounds.high.saturating_sub(bounds.likely), bounds.likely);
    format!("-{below}/+{above} %")
}

fn outwards(part: u64, whole: u64) -> String {
    let (part, whole) = (u128::from(part), u128::from(whole.max(1)));
    match (part * 1000).div_ceil(whole) {
        0 => "0".to_owned(),
        permille @ 1..100 => format!("{}.{}", permille / 10, permille % 10),
        _ => grouped(u64::try_from((part * 100).div_ceil(whole)).unwrap_or(u64::MAX)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_modelled_figure_says_so() {
        let marks = Marks::of(&Trust::Modelled { causes: Vec::new() });
        assert_eq!(marks.modelled(true).figure(2172), "~2,172");
        assert_eq!(marks.modelled(false).figure(1790), "1,790");
        let bounds = Bounds { low: 2045, likely: 2172, high: 2554 };
        assert_eq!(spread(bounds), "-5.9/+18 %");
        assert_eq!(spread(Bounds::exact(1790)), "");
    }

    #[test]
    fn samples_are_never_exact() {
        let marks = Marks::of(&Trust::Sampled { n: 10, period_cycles: Some(100) });
        assert_eq!(marks.count(1000), "~1,000");
    }

    #[test]
    fn spreads_round_outwards() {
        let spread = |low, likely, high| spread(Bounds { low, likely, high });
        assert_eq!(spread(999_999, 1_000_000, 1_000_000), "-0.1/+0 %");
        assert_eq!(spread(0, 0, 5), "0-5");
        assert_eq!(spread(0, u64::MAX, u64::MAX), "-100/+0 %");
    }
}
