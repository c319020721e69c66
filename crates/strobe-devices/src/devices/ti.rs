//! Peripherals of Texas Instruments' Stellaris parts (once Luminary Micro's), as the LM3S6965 data
//! sheet has them. Their UARTs and watchdogs are Arm's.

use strobe_sim::kernel::device::Maker;

mod emac;
mod gpio;
mod gptm;
mod sysctl;

/// Model names as board files write them.
pub(super) const MODELS: &[(&str, Maker)] = &[
    ("stellaris-emac", emac::create),
    ("stellaris-gpio", gpio::create),
    ("stellaris-gptm", gptm::create),
    ("stellaris-sysctl", sysctl::create),
];
