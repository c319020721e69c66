//! The three models of waits whose length no manual gives: which figure of each the simulated time
//! line takes.
//!
//! One run knows one model. Bounds of a figure are those of three runs, one in each model, side by
//! side; of one run there are only sums by cause.

use strobe_model::Bounds;

/// Which of a model's three figures the simulated time line takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Model {
    /// The minimum of each wait.
    Low,
    /// The figures that reports are made of.
    #[default]
    Likely,
    /// The maximum of each wait.
    High,
}

impl Model {
    /// The figure of this model, as one that is known.
    pub(crate) fn of(self, bounds: Bounds) -> Bounds {
        match self {
            Model::Low => Bounds::exact(bounds.low),
            Model::Likely => bounds,
            Model::High => Bounds::exact(bounds.high),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_model_takes_its_figure() {
        let wait = Bounds { low: 2, likely: 3, high: 5 };
        assert_eq!(Model::Low.of(wait), Bounds::exact(2));
        assert_eq!(Model::Likely.of(wait), wait);
        assert_eq!(Model::High.of(wait), Bounds::exact(5));
    }
}
