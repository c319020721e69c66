//! A figure from a model: what it is at least, most likely, and at most.

use std::ops::{Add, AddAssign};

use serde::{Deserialize, Serialize};

/// A modelled count of cycles. `low <= likely <= high`; all three equal means exact.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bounds {
    /// The model's lower bound.
    pub low: u64,
    /// The figure that the simulated time line uses.
    pub likely: u64,
    /// The model's upper bound.
    pub high: u64,
}

impl Bounds {
    /// A figure without uncertainty.
    pub const fn exact(cycles: u64) -> Self {
        Bounds { low: cycles, likely: cycles, high: cycles }
    }

    /// Whether low, likely and high are the same.
    pub fn is_exact(&self) -> bool {
        self.low == self.high
    }

    /// Without `cycles` that are part of it and exact.
    #[must_use]
    pub fn less(&self, cycles: u64) -> Self {
        Bounds {
            low: self.low.saturating_sub(cycles),
            likely: self.likely.saturating_sub(cycles),
            high: self.high.saturating_sub(cycles),
        }
    }

    /// Half-widths below and above the likely value as fractions of it: `(0.06, 0.17)` is -6 %, +17
    /// %.
    pub fn relative(&self) -> (f64, f64) {
        let likely = self.likely.max(1) as f64;
        let (below, above) =
            (self.likely.saturating_sub(self.low), self.high.saturating_sub(self.likely));
        (below as f64 / likely, above as f64 / likely)
    }
}

// Sums saturate: counters of damaged streams may hold any numbers, and none may panic.
impl Add for Bounds {
    type Output = Bounds;
    fn add(self, other: Bounds) -> Bounds {
        Bounds {
            low: self.low.saturating_add(other.low),
            likely: self.likely.saturating_add(other.likely),
            high: self.high.saturating_add(other.high),
        }
    }
}

impl AddAssign for Bounds {
    fn add_assign(&mut self, other: Bounds) {
        *self = *self + other;
    }
}
