//! Moments that are known with bounds, and what lies between two of them.

/// A moment: not before, not after.
pub(super) type Span = (u64, u64);

/// How long it is from one moment to another: at least and at most.
pub(super) fn between(from: Span, to: Span) -> (u64, u64) {
    (to.0.saturating_sub(from.1), to.1.saturating_sub(from.0))
}
