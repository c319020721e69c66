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
    pub fn envelope(self) -> Residual {
        Residual { more: self.more.max(self.more_with_waits), ..self }
    }

    /// Bounds of a part's own cycles, of which those in `work` are the core's own: what sleeps or
    /// waits for something with a time of its own has no such error.
    pub fn around(&self, cycles: Bounds, work: Bounds) -> Bounds {
        let part = |of: u64, mille: u32| {
            u64::try_from(u128::from(of) * u128::from(mille) / 1000).unwrap_or(u64::MAX)
        };
        // The fewest cycles may be those with the most work, where waits take up the rest.
        let at_low = work.high.min(cycles.low);
        Bounds {
            low: cycles.low.saturating_sub(part(at_low, self.less)),
            likely: cycles.likely,
            high: cycles.high.saturating_add(part(work.high, self.more)),
        }
    }

    /// Bounds of the cycles of a run that ends at a time. With one clock they are what they are,
    /// whatever the core does. With several spans, each so many cycles at so many hertz, what the
    /// core takes more before the clock changes is missing behind that, at the last span's rate.
    pub fn in_a_time(&self, cycles: Bounds, spans: &[(u64, u32)]) -> Bounds {
        let last = spans.last().map_or(0, |span| span.1);
        let (mut less, mut more) = (0, 0);
        for &(length, hz) in spans.iter().filter(|span| span.1 > 0) {
            // Cycles that the whole gains for each thousand that this span does.
            let gain = (i128::from(hz) - i128::from(last)) * i128::from(length);
            let by = |mille: i64| gain * i128::from(mille) / (1000 * i128::from(hz));
            let ends = [by(-i64::from(self.less)), by(i64::from(self.more))];
            less += ends[0].min(ends[1]);
            more += ends[0].max(ends[1]);
        }
        let moved =
            |n: u64, by: i128| u64::try_from((i128::from(n) + by).max(0)).unwrap_or(u64::MAX);
        Bounds {
            low: moved(cycles.low, less),
            likely: cycles.likely,
            high: moved(cycles.high, more),
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
                Some(Residual { figures: 53, median: 9, less: 25, more: 26, more_with_waits: 101 })
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
        let band = residual.envelope().around(cycles, Bounds::exact(2_000));
        assert_eq!((band.low, band.high), (9_980, 10_100));
        assert!(residual.around(Bounds::exact(u64::MAX), Bounds::exact(u64::MAX)).high == u64::MAX);
    }

    /// Where it waits, work is what remains, and the less it waits the more that is.
    #[test]
    fn the_most_work_counts_at_both_ends() {
        let (figures, median, more_with_waits) = (3, 5, 50);
        let residual = Residual { figures, median, less: 10, more: 30, more_with_waits };
        let cycles = Bounds { low: 9_000, likely: 10_000, high: 12_000 };
        let band = residual.around(cycles, Bounds { low: 0, likely: 1_000, high: 4_000 });
        assert_eq!((band.low, band.high), (8_960, 12_120));
        let band = residual.around(cycles, Bounds { low: 0, likely: 9_000, high: 11_000 });
        assert_eq!((band.low, band.high), (8_910, 12_330));
    }

    #[test]
    fn run_to_a_time_takes_its_number_of_cycles() {
        let (figures, median, more_with_waits) = (3, 5, 50);
        let residual = Residual { figures, median, less: 10, more: 30, more_with_waits };
        let cycles = Bounds::exact(800_000);
        assert_eq!(residual.in_a_time(cycles, &[]), cycles);
        assert_eq!(residual.in_a_time(cycles, &[(800_000, 8_000_000)]), cycles);
        // 10 cycles less of a slow clock are 90 more of one nine times as fast: 80 of the whole.
        let spans = [(1_000, 8_000_000), (799_000, 72_000_000)];
        let band = residual.in_a_time(cycles, &spans);
        assert_eq!((band.low, band.high), (799_760, 800_080));
        let spans = [(1_000, 16_000_000), (799_000, 8_000_000)];
        let band = residual.in_a_time(cycles, &spans);
        assert_eq!((band.low, band.high), (799_995, 800_015));
        // A clock that stands still has no rate.
        assert_eq!(residual.in_a_time(cycles, &[(5, 0), (5, 8_000_000)]), cycles);
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
