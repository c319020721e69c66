//! What one timer has that another lacks, as board files spell it.

use serde::Deserialize;

use strobe_sim::kernel::device::OptionError;

/// No STM32F0 or F4 timer has more channels.
pub(super) const MAX_CHANNELS: usize = 4;

/// Options of `stm32-tim`.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Features {
    /// Capture/compare channels, 0 to 4. A timer without channels is a basic timer.
    pub(super) channels: usize,
    /// Width of the counter: 16 or 32.
    pub(super) bits: u32,
    /// Counts down and center-aligned too.
    pub(super) down: bool,
    /// Has a repetition counter.
    pub(super) repetition: bool,
    /// Has the break and main output enable register, and complementary outputs.
    pub(super) break_unit: bool,
}

impl Default for Features {
    fn default() -> Self {
        Features { channels: 0, bits: 16, down: false, repetition: false, break_unit: false }
    }
}

impl Features {
    /// Whether such a timer exists.
    pub(super) fn check(&self) -> Result<(), OptionError> {
        if self.channels > MAX_CHANNELS {
            return Err(OptionError::Number {
                option: "channels",
                value: self.channels as u64,
                allowed: format!("a timer has 0 to {MAX_CHANNELS}").into(),
            });
        }
        if ![16, 32].contains(&self.bits) {
            return Err(OptionError::Number {
                option: "bits",
                value: self.bits.into(),
                allowed: "a timer counts 16 or 32 bits".into(),
            });
        }
        Ok(())
    }
}
