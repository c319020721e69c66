//! Loops that wait, skipped against executed: whatever a run shows is the same either way, to the
//! last cycle.
//!
//! [`loops`] generates loops with random contents, [`kinds`] those that firmware is known to have,
//! of which it also asserts that they are skipped.

mod kinds;
mod loops;
mod program;
mod prove;
