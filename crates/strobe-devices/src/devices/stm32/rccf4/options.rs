//! The clock controller in a board file: oscillators, limits, start-up times.

use serde::Deserialize;

/// Options of `stm32f4-rcc`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Options {
    /// Internal oscillator, in hertz.
    pub(super) hsi_hz: u32,
    /// Crystal or external clock on the board, in hertz; 0 if there is none.
    #[serde(default)]
    pub(super) hse_hz: u32,
    /// Whether the board has a 32768 Hz crystal.
    #[serde(default)]
    pub(super) lse: bool,
    /// Highest core clock, in hertz.
    pub(super) max_hz: u32,
    /// Highest clocks of APB1 and APB2, in hertz.
    pub(super) max_apb_hz: [u32; 2],
    /// Start-up times.
    pub(super) startup_us: StartUp,
}

/// Start-up times, in microseconds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StartUp {
    pub(super) hsi: u32,
    pub(super) hse: u32,
    pub(super) lsi: u32,
    pub(super) lse: u32,
    pub(super) pll: u32,
}
