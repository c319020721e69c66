//! Peripherals of AVR parts. Registers are of one byte each and lie at scattered addresses, so that board files give an
//! address for each by its name: a model's `offset` is the register's place in [`Device::registers`](super::Device::registers).

use super::Maker;

mod port;
mod sleep;

/// Model names as board files write them.
pub(super) const MODELS: &[(&str, Maker)] =
    &[("avr-port", port::create), ("avr-sleep", sleep::create)];
