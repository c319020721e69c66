//! One function explained: what each instruction costs, why, and what blocks and loops sum to.
//!
//! This is documentation applied to code, with a run's counts beside it where there was a run.
//! Whoever fills it knows cores, memories and flow; these types know none of them.

use std::fmt;

use strobe_model::{Bounds, Cause, CauseCycles};

/// The instructions of one function with their cycles.
#[derive(Debug, Clone, PartialEq)]
pub struct CyclesReport {
    /// Demangled name.
    pub function: String,
    /// First address.
    pub address: u32,
    /// Size in bytes, literal pools included.
    pub size_bytes: u32,
    /// Board name.
    pub board: String,
    /// Core, as its maker writes it.
    pub core: String,
    /// Core clock that the figures hold for, where they depend on it (flash wait states).
    pub clock_hz: Option<u32>,
    /// What the figures hold for, as `flash: 1 wait state, prefetch on`; one entry per condition.
    pub conditions: Vec<String>,
    /// In address order.
    pub instructions: Vec<InstructionCycles>,
    /// In address order.
    pub blocks: Vec<BlockCycles>,
    /// Outer loops before the loops inside them.
    pub loops: Vec<LoopCycles>,
    /// The whole function.
    pub totals: FunctionCycles,
    /// What the reader should know, each a sentence or two.
    pub notes: Vec<String>,
}

/// Cycles between a least and a most.
///
/// The spread comes from data and path (taken or not) or from a model of what no manual documents;
/// [`CycleRange::likely`] shows which: it is there when a model has a part in it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CycleRange {
    /// At least.
    pub min: u64,
    /// At most.
    pub max: u64,
    /// The average that the simulated time line uses, where a model has a part in the figure; may
    /// have a fraction (a flash interface that costs 1.5 cycles on average).
    pub likely: Option<f64>,
    /// Where data or path decide as well: `likely` is the cheapest case's average and this the
    /// dearest's.
    pub likely_most: Option<f64>,
}

/// Cycles between a least and a most: `7`, `1-3`, or, with a model in it, `~8.5 (8-10)`; where the
/// path decides as well, `~2-4.5 (2-6)`.
impl fmt::Display for CycleRange {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let CycleRange { min, max, likely, likely_most } = *self;
        let average = |cycles: f64| {
            let text = format!("{cycles:.2}");
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        };
        match (likely, likely_most) {
            _ if min == max => write!(f, "{min}"),
            (None, _) => write!(f, "{min}-{max}"),
            (Some(likely), None) => write!(f, "~{} ({min}-{max})", average(likely)),
            (Some(likely), Some(most)) => {
                write!(f, "~{}-{} ({min}-{max})", average(likely), average(most))
            }
        }
    }
}

impl CycleRange {
    /// Always this many, by documented rules.
    pub const fn exact(cycles: u64) -> Self {
        CycleRange { min: cycles, max: cycles, likely: None, likely_most: None }
    }

    /// Between two documented figures, as path or data will have it.
    pub const fn between(min: u64, max: u64) -> Self {
        CycleRange { min, max, likely: None, likely_most: None }
    }

    /// A modelled figure.
    pub const fn modelled(min: u64, likely: f64, max: u64) -> Self {
        CycleRange { min, max, likely: Some(likely), likely_most: None }
    }

    /// Whether there is nothing to choose.
    pub fn is_exact(&self) -> bool {
        self.min == self.max
    }

    /// Both, one after the other.
    pub fn plus(self, other: CycleRange) -> CycleRange {
        let (a, b) = (self.averages(), other.averages());
        let modelled = self.likely.is_some() || other.likely.is_some();
        let (min, max) = (self.min.saturating_add(other.min), self.max.saturating_add(other.max));
        CycleRange { min, max, ..averaged(modelled, (a.0 + b.0, a.1 + b.1)) }
    }

    /// Either of the two, as data or path decide.
    pub fn or(self, other: CycleRange) -> CycleRange {
        let (a, b) = (self.averages(), other.averages());
        let modelled = self.likely.is_some() || other.likely.is_some();
        let (min, max) = (self.min.min(other.min), self.max.max(other.max));
        CycleRange { min, max, ..averaged(modelled, (a.0.min(b.0), a.1.max(b.1))) }
    }

    /// That many times in a row.
    pub fn times(self, n: u64) -> CycleRange {
        let (least, most) = self.averages();
        let (min, max) = (self.min.saturating_mul(n), self.max.saturating_mul(n));
        let averages = (least * n as f64, most * n as f64);
        CycleRange { min, max, ..averaged(self.likely.is_some(), averages) }
    }

    /// The averages of the cheapest and the dearest case; what no model touches is its own.
    fn averages(self) -> (f64, f64) {
        match self.likely {
            Some(likely) => (likely, self.likely_most.unwrap_or(likely)),
            None => (self.min as f64, self.max as f64),
        }
    }
}

/// The averages of a range, if a model has a part in it.
fn averaged(modelled: bool, (least, most): (f64, f64)) -> CycleRange {
    CycleRange {
        likely: modelled.then_some(least),
        likely_most: (modelled && most > least).then_some(most),
        ..CycleRange::default()
    }
}

/// One instruction.
#[derive(Debug, Clone, PartialEq)]
pub struct InstructionCycles {
    /// Its address.
    pub address: u32,
    /// Its encoding as `objdump` prints it, as `f7ff fffe`.
    pub bytes: String,
    /// Disassembly.
    pub text: String,
    /// Where it comes from, innermost inlined frame.
    pub source: Option<SourceLine>,
    /// Cycles of one execution.
    pub cycles: CycleRange,
    /// What they are made of; unconditional parts first.
    pub causes: Vec<CausedCycles>,
    /// What else decides, as `restarts when interrupted`.
    pub note: Option<String>,
    /// What a run saw.
    pub run: Option<RunCycles>,
}

/// A part of an instruction's cycles.
#[derive(Debug, Clone, PartialEq)]
pub struct CausedCycles {
    /// Why.
    pub cause: Cause,
    /// How many, when the condition holds.
    pub cycles: CycleRange,
    /// The condition, as `if taken`; always when absent.
    pub when: Option<String>,
}

/// A line of source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourceLine {
    /// File as the debug information names it, without host directories.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Its text, where the file was found.
    pub text: Option<String>,
    /// The inlined function it belongs to, when not the function itself.
    pub inlined: Option<String>,
}

/// What a run saw of an instruction, a block, a loop or a function.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RunCycles {
    /// Executions (iterations of a loop, calls of a function).
    pub count: u64,
    /// Of these, how often an instruction changed the flow; 0 where that means nothing.
    pub jumped: u64,
    /// Cycles of all executions, with the bounds that further runs give.
    pub cycles: Bounds,
    /// Modelled waits are in them, and no further runs bound them.
    pub is_unbounded: bool,
    /// The likely figure by cause.
    pub by_cause: CauseCycles,
}

/// Instructions that always run together.
#[derive(Debug, Clone, PartialEq)]
pub struct BlockCycles {
    /// Address of the first instruction.
    pub first: u32,
    /// Address of the last instruction.
    pub last: u32,
    /// Cycles of one pass: least when it does not jump at its end, most when it does.
    pub cycles: CycleRange,
    /// What a run saw.
    pub run: Option<RunCycles>,
}

/// A loop.
#[derive(Debug, Clone, PartialEq)]
pub struct LoopCycles {
    /// Address of its first instruction.
    pub header: u32,
    /// Address of the branch back to it.
    pub back_edge: u32,
    /// Nesting: 0 for an outermost loop.
    pub depth: u32,
    /// Cycles of one iteration, from header to header; loops inside count as one pass.
    pub per_iteration: CycleRange,
    /// What a run saw: `count` is iterations.
    pub run: Option<RunCycles>,
}

/// The function as a whole.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FunctionCycles {
    /// Number of instructions.
    pub instructions: u64,
    /// From entry to exit, loops passed once, called functions left out; absent when it never
    /// returns.
    pub once_through: Option<CycleRange>,
    /// What a run saw: `count` is calls.
    pub run: Option<RunCycles>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_state_where_they_come_from() {
        assert_eq!(CycleRange::exact(7).to_string(), "7");
        assert_eq!(CycleRange::between(1, 3).to_string(), "1-3");
        assert_eq!(CycleRange::modelled(8, 8.5, 10).to_string(), "~8.5 (8-10)");
        let path = CycleRange::exact(2).or(CycleRange::modelled(4, 4.5, 6));
        assert_eq!(path.to_string(), "~2-4.5 (2-6)");
    }

    /// `~likely-most (min-max)` in one line.
    fn parts(range: CycleRange) -> (u64, u64, Option<f64>, Option<f64>) {
        (range.min, range.max, range.likely, range.likely_most)
    }

    #[test]
    fn a_model_stays_visible_whatever_it_is_added_to() {
        let (taken, wait) = (CycleRange::between(1, 3), CycleRange::modelled(1, 1.5, 3));
        assert_eq!(parts(wait.plus(CycleRange::exact(3))), (4, 6, Some(4.5), None));
        assert_eq!(parts(taken.plus(wait)), (2, 6, Some(2.5), Some(4.5)));
        assert_eq!(parts(CycleRange::exact(5).or(wait)), (1, 5, Some(1.5), Some(5.0)));
        assert_eq!(parts(taken.plus(wait).times(2)), (4, 12, Some(5.0), Some(9.0)));
    }

    #[test]
    fn documented_figures_have_no_likely_one() {
        let sum = CycleRange::between(1, 3).plus(CycleRange::exact(2)).or(CycleRange::exact(9));
        assert_eq!(parts(sum), (3, 9, None, None));
    }
}
