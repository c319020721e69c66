//! The flash front end: what wait states and the prefetch buffer cost, as a model with bounds.
//!
//! A part's flash interface carries state that no manual documents fully, so each event that can
//! cost cycles has a low, a likely and a high figure (board data, with its origin). The simulated
//! time line uses the likely one; half cycles are carried from one event to the next.

pub mod accelerator;

use serde::Deserialize;
use strobe_model::Bounds;

use super::model::Model;

/// Extra cycles of one event, in half cycles.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HalfCycles {
    /// At least.
    pub low: u32,
    /// On average; the remainder is carried to the next event.
    pub likely: u32,
    /// At most.
    pub high: u32,
}

impl HalfCycles {
    /// Whether the event never costs anything.
    #[inline]
    pub fn is_zero(self) -> bool {
        self == HalfCycles::default()
    }
}

/// Extra cycles of one event as a board file writes them: `{ low = 1, likely = 1.5, high = 3 }`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Penalty {
    /// At least.
    pub low: f32,
    /// On average; a multiple of one half.
    pub likely: f32,
    /// At most.
    pub high: f32,
}

impl Penalty {
    /// The figure in half cycles; `None` unless 0 <= low <= likely <= high <= 100 in steps of a
    /// half.
    pub fn half_cycles(self) -> Option<HalfCycles> {
        let half = |x: f32| {
            ((0.0..=100.0).contains(&x) && (x * 2.0).fract() == 0.0).then_some((x * 2.0) as u32)
        };
        let h =
            HalfCycles { low: half(self.low)?, likely: half(self.likely)?, high: half(self.high)? };
        (h.low <= h.likely && h.likely <= h.high).then_some(h)
    }
}

/// Costs of the flash at one setting of wait states and prefetch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FlashTiming {
    /// A change of flow to a word-aligned target in flash.
    pub aligned_target: HalfCycles,
    /// A change of flow to a target in the upper half of a flash word.
    pub unaligned_target: HalfCycles,
    /// A data read (literal, constant table) from flash.
    pub data_read: HalfCycles,
}

impl FlashTiming {
    /// The cost of jumping to `target`, which lies in flash.
    pub fn jump(&self, target: u32) -> HalfCycles {
        if target & 2 == 0 { self.aligned_target } else { self.unaligned_target }
    }

    /// With one model's figures, as ones that are known.
    pub(crate) fn in_model(self, model: Model) -> Self {
        let [aligned_target, unaligned_target, data_read] =
            [self.aligned_target, self.unaligned_target, self.data_read].map(|cost| {
                let likely = match model {
                    Model::Low => cost.low,
                    Model::Likely => return cost,
                    Model::High => cost.high,
                };
                HalfCycles { low: likely, likely, high: likely }
            });
        FlashTiming { aligned_target, unaligned_target, data_read }
    }

    /// Whether nothing ever waits.
    pub fn is_zero(&self) -> bool {
        *self == FlashTiming::default()
    }
}

/// Which caches of a flash interface are on, where it has any.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FlashCaches {
    /// Instruction cache.
    pub instructions: bool,
    /// Data cache.
    pub data: bool,
}

impl std::fmt::Display for FlashCaches {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match (self.instructions, self.data) {
            (false, false) => "",
            (true, false) => " and the instruction cache on",
            (false, true) => " and the data cache on",
            (true, true) => " and both caches on",
        })
    }
}

/// Turns half-cycle costs into whole cycles, carrying the rest, and sums the bounds.
#[derive(Debug, Clone, Copy, Default)]
pub struct HalfCycleCarry {
    pub(crate) carry: u32,
}

impl HalfCycleCarry {
    /// Whole cycles for this event on the likely time line.
    #[inline]
    pub fn take(&mut self, cost: HalfCycles) -> u32 {
        let halves = cost.likely + self.carry;
        self.carry = halves & 1;
        halves >> 1
    }
}

impl HalfCycleCarry {
    /// Whole cycles for `times` such events in a row.
    pub fn take_many(&mut self, cost: HalfCycles, times: u64) -> u64 {
        let halves = u64::from(cost.likely) * times + u64::from(self.carry);
        self.carry = (halves & 1) as u32;
        halves >> 1
    }
}

/// What an event with this cost adds to a figure, the likely part as already taken.
pub fn bounds(cost: HalfCycles, likely: u32) -> Bounds {
    Bounds {
        low: u64::from(cost.low / 2).min(u64::from(likely)),
        likely: u64::from(likely),
        high: u64::from(cost.high.div_ceil(2)).max(u64::from(likely)),
    }
}
