//! Peripherals of Arm's own: the Cortex-M System Design Kit (CMSDK, DDI 0479), PrimeCells, and what
//! the FPGA images of the MPS2 boards put around them.

use strobe_sim::kernel::device::Maker;

mod dual_timer;
mod fpgaio;
mod gpio;
mod identity;
mod pl011;
mod pl022;
mod scc;
mod timer;
mod uart;
mod watchdog;

/// Model names as board files write them.
pub(super) const MODELS: &[(&str, Maker)] = &[
    ("arm-pl011", pl011::create),
    ("arm-pl022", pl022::create),
    ("arm-watchdog", watchdog::create),
    ("cmsdk-dual-timer", dual_timer::create),
    ("cmsdk-gpio", gpio::create),
    ("cmsdk-timer", timer::create),
    ("cmsdk-uart", uart::create),
    ("mps2-fpgaio", fpgaio::create),
    ("mps2-scc", scc::create),
];
