//! One budget with its verdict: what every report of a check prints a line of.

use super::{Judged, Limits, Share, Verdict};

/// A budget with its verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct Line {
    /// The firmware's name.
    pub firmware: String,
    /// The budget's name.
    pub name: String,
    /// Its limits as they are written.
    pub limits: Limits,
    /// The verdict.
    pub judged: Judged,
    /// The functions behind a figure that is not held: those that changed since the baseline, else
    /// the largest.
    pub functions: Vec<Share>,
}

impl Line {
    /// Whether it is held.
    pub fn is_held(&self) -> bool {
        self.judged.verdict == Verdict::Held
    }
}
