//! Why a cycle was spent, and sums of cycles by cause.

use std::ops::{AddAssign, Index, IndexMut};

/// The cause of one core clock cycle. Every simulated cycle has exactly one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cause {
    /// The instruction itself, as the core's manual counts it.
    Execute,
    /// The pipeline fills again after a change of flow.
    Refill,
    /// The data phase of a load, store, push or pop.
    LoadStore,
    /// The instruction fetch waits for flash (wait states, an empty prefetch buffer).
    FetchWait,
    /// A data access waits for its memory (flash wait states, a slow peripheral bus).
    DataWait,
    /// A data access waits while another bus master (DMA) holds the same slave.
    Contention,
    /// Stacking and vector fetch on the way into an exception.
    ExceptionEntry,
    /// Unstacking on the way out of an exception.
    ExceptionExit,
    /// The core sleeps (WFI, WFE) or spins in an empty loop that only an interrupt can leave.
    Asleep,
}

impl Cause {
    /// All causes, in the order reports print them.
    pub const ALL: [Cause; 9] = [
        Cause::Execute,
        Cause::Refill,
        Cause::LoadStore,
        Cause::FetchWait,
        Cause::DataWait,
        Cause::Contention,
        Cause::ExceptionEntry,
        Cause::ExceptionExit,
        Cause::Asleep,
    ];

    /// The words a report prints.
    pub fn name(self) -> &'static str {
        match self {
            Cause::Execute => "execute",
            Cause::Refill => "pipeline refill",
            Cause::LoadStore => "load/store",
            Cause::FetchWait => "fetch wait",
            Cause::DataWait => "data wait",
            Cause::Contention => "bus contention",
            Cause::ExceptionEntry => "exception entry",
            Cause::ExceptionExit => "exception exit",
            Cause::Asleep => "asleep or idle",
        }
    }

    /// Its name for programs.
    pub fn id(self) -> &'static str {
        match self {
            Cause::Execute => "execute",
            Cause::Refill => "refill",
            Cause::LoadStore => "load-store",
            Cause::FetchWait => "fetch-wait",
            Cause::DataWait => "data-wait",
            Cause::Contention => "contention",
            Cause::ExceptionEntry => "exception-entry",
            Cause::ExceptionExit => "exception-exit",
            Cause::Asleep => "asleep",
        }
    }
}

/// Cycles summed by cause.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CauseCycles([u64; Cause::ALL.len()]);

impl CauseCycles {
    /// No cycles at all.
    pub const ZERO: CauseCycles = CauseCycles([0; Cause::ALL.len()]);

    /// `cycles` of one cause.
    pub fn of(cause: Cause, cycles: u64) -> Self {
        let mut sum = Self::ZERO;
        sum[cause] = cycles;
        sum
    }

    /// Cycles of all causes together.
    pub fn total(&self) -> u64 {
        self.0.iter().fold(0, |sum, c| sum.saturating_add(*c))
    }

    /// Cycles in which the core did something: all but [`Cause::Asleep`].
    pub fn busy(&self) -> u64 {
        self.total().saturating_sub(self[Cause::Asleep])
    }

    /// Each cause with its cycles, in report order.
    pub fn iter(&self) -> impl Iterator<Item = (Cause, u64)> + '_ {
        Cause::ALL.into_iter().map(|cause| (cause, self[cause]))
    }

    /// This many times the same cycles.
    #[must_use]
    pub fn times(mut self, n: u64) -> Self {
        self.0.iter_mut().for_each(|c| *c *= n);
        self
    }
}

impl Index<Cause> for CauseCycles {
    type Output = u64;
    fn index(&self, cause: Cause) -> &u64 {
        &self.0[cause as usize]
    }
}

impl IndexMut<Cause> for CauseCycles {
    fn index_mut(&mut self, cause: Cause) -> &mut u64 {
        &mut self.0[cause as usize]
    }
}

impl AddAssign for CauseCycles {
    fn add_assign(&mut self, other: Self) {
        self.0.iter_mut().zip(other.0).for_each(|(a, b)| *a = a.saturating_add(b));
    }
}
