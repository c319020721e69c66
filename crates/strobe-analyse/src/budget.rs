//! Budgets: whether a figure of a measurement keeps within its limits.
//!
//! Values in, verdicts out: [`Selector::find`] looks a figure up, [`judge`] holds it against limits
//! with regard to how far it can be trusted, [`contributors`] names the functions behind it. What
//! is unknown, and what may lie on either side of a limit, never counts as held.

mod blame;
mod judge;
mod limit;
mod line;
mod lookup;
mod selector;

pub use blame::{Share, adds_up, changes, contributors};
pub use judge::{Judged, Openness, Reason, Stored, Verdict, judge};
pub use limit::{InvalidLimit, Limit, Limits, Scale};
pub use line::Line;
pub use selector::{ContentKind, Figure, Missing, NameKind, Selector, Statistic};

#[cfg(test)]
mod tests;
