//! How far the cycles that others have measured on real parts and published lie from those of the
//! model, without wait states: what a figure of a Cortex-M3 or M4 may be off beyond its own bounds.
//!
//! The tables are docs/accuracy.md's. Cortex-M0 and M0+ follow their manuals and have no residual.

use strobe_model::Bounds;

use super::timing::CoreKind;

/// What published figures are more or less than the model's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Residual {
    /// Published figures compared.
    pub figures: u32,
    /// Half of them lie within so many per mille.
    pub median: u32,
    /// The most that one is less than the model's, in per mille of that.
    pub less: u32,
    /// The most that one is more.
    pub more: u32,
    /// The most that one is more than the model's with RAM that answers at once, where the part's
    /// makes the core wait: what a bare core does not know of its part.
    pub more_with_waits: u32,
}

impl Residual {
    /// That of a bare core, which stands for parts whatever their RAM is.
    pub fn of_any_part(self) -> Residual {
        Residual { more: self.more.max(self.more_with_waits), ..self }
    }

    /// Bounds of a part's own cycles, of which those `busy` are the core's work: time asleep has
    /// no such error.
    pub fn around(&self, cycles: Bounds, busy: Bounds) -> Bounds {
        let part = |of: u64, mille: u32| {
            u64::try_from(u128::from(of) * u128::from(mille) / 1000).unwrap_or(u64::MAX)
        };
        Bounds {
            low: cycles.low.saturating_sub(part(busy.low, self.less)),
            likely: cycles.likely,
            high: cycles.high.saturating_add(part(busy.high, self.more)),
        }
    }
}

impl CoreKind {
    /// The core of a name as [`CoreKind::name`] has it.
    pub fn named(name: &str) -> Option<CoreKind> {
        use CoreKind::*;
        [CortexM0, CortexM0plus, CortexM3, CortexM4, CortexM4f]
            .into_iter()
            .find(|kind| kind.name() == name)
    }

    /// How far published cycles lie from the model's; none where the manual's table decides.
    pub fn residual(self) -> Option<Residual> {
        match self {
            CoreKind::CortexM0 | CoreKind::CortexM0plus => None,
            CoreKind::CortexM3 => {
                Some(Residual { figures: 53, median: 9, less: 24, more: 39, more_with_waits: 101 })
            }
            CoreKind::CortexM4 | CoreKind::CortexM4f => {
                Some(Residual { figures: 79, median: 5, less: 7, more: 23, more_with_waits: 104 })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_residual_is_of_what_is_not_asleep() {
        let (figures, median, less) = (3, 5, 10);
        let residual = Residual { figures, median, less, more: 30, more_with_waits: 50 };
        let cycles = Bounds::exact(10_000);
        let band = residual.around(cycles, Bounds::exact(2_000));
        assert_eq!((band.low, band.likely, band.high), (9_980, 10_000, 10_060));
        let band = residual.of_any_part().around(cycles, Bounds::exact(2_000));
        assert_eq!((band.low, band.high), (9_980, 10_100));
        assert!(residual.around(Bounds::exact(u64::MAX), Bounds::exact(u64::MAX)).high == u64::MAX);
    }

    #[test]
    fn who_has_one() {
        for kind in [CoreKind::CortexM0, CoreKind::CortexM0plus] {
            assert_eq!(kind.residual(), None);
        }
        for kind in [CoreKind::CortexM3, CoreKind::CortexM4, CoreKind::CortexM4f] {
            assert!(kind.residual().is_some_and(|r| r.median <= r.more.max(r.less)));
            assert_eq!(CoreKind::named(kind.name()), Some(kind));
        }
        assert_eq!(CoreKind::named("AVR"), None);
    }
}
