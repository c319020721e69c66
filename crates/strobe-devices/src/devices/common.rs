//! What models of several vendors share, and models of no particular vendor.

use strobe_sim::kernel::device::Maker;

pub(super) mod counter;
pub(super) mod ethernet;
pub(super) mod register;
mod registers;
pub(super) mod serial;
mod unmodelled;

/// Model names as board files write them.
pub(super) const MODELS: &[(&str, Maker)] =
    &[("registers", registers::create), ("unmodelled", unmodelled::create)];
