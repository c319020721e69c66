//! What the flash's wait states cost, by setting or by the caches before it.

use serde::Deserialize;

use strobe_sim::kernel::flash::accelerator::Shape;
use strobe_sim::kernel::flash::{FlashCaches, FlashTiming, Penalty};

/// `[flash]`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlashSection {
    /// One entry per setting of the flash controller.
    #[serde(default)]
    pub timing: Vec<FlashEntry>,
    /// Caches in front of the flash, whose state decides what wait states cost.
    pub accelerator: Option<AcceleratorEntry>,
}

/// A flash accelerator, for any number of wait states.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AcceleratorEntry {
    /// Bytes that the flash reads at once; a power of two from 4 to 64.
    pub line_bytes: u32,
    /// Lines that are held without a cache, the one in use among them; at least 1.
    pub buffer_lines: u8,
    /// Lines of the instruction cache, at most 254; 0 if there is none.
    #[serde(default)]
    pub instruction_lines: u8,
    /// Lines of the data cache; 0 if there is none.
    #[serde(default)]
    pub data_lines: u8,
    /// Cycles that a line can be asked for before the core executes anything in it, at most: what
    /// the core's own buffer bridges between lines.
    #[serde(default)]
    pub ahead: u8,
    /// Where the figures come from.
    pub origin: String,
    /// Why wait states cost what they cost, for reports.
    pub why: String,
}

impl AcceleratorEntry {
    pub(in crate::boards) fn shape(&self) -> Shape {
        Shape {
            line_bytes: self.line_bytes,
            buffer_lines: self.buffer_lines,
            instruction_lines: self.instruction_lines,
            data_lines: self.data_lines,
            ahead: self.ahead,
        }
    }
}

/// What the flash costs at one setting, in core cycles.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlashEntry {
    /// Wait states as set.
    pub wait_states: u8,
    /// Prefetch on or off; left out, the entry is for both.
    pub prefetch: Option<bool>,
    /// Instruction cache on or off, where there is one; left out, the entry is for both.
    pub icache: Option<bool>,
    /// Data cache on or off, where there is one; left out, the entry is for both.
    pub dcache: Option<bool>,
    /// Change of flow to a word-aligned target.
    #[serde(default)]
    pub aligned_target: Penalty,
    /// Change of flow to a target in the upper half of a word.
    #[serde(default)]
    pub unaligned_target: Penalty,
    /// Data read.
    #[serde(default)]
    pub data_read: Penalty,
    /// Where the figures come from.
    pub origin: String,
    /// Why this setting costs what it costs, for reports.
    pub why: String,
}

impl FlashEntry {
    /// Whether the entry is for this setting.
    pub fn applies(&self, wait_states: u8, prefetch: bool, caches: FlashCaches) -> bool {
        self.wait_states == wait_states
            && self.prefetch.is_none_or(|p| p == prefetch)
            && self.icache.is_none_or(|c| c == caches.instructions)
            && self.dcache.is_none_or(|c| c == caches.data)
    }

    /// Every setting of prefetch and caches that the entry is for.
    pub(in crate::boards) fn settings(&self) -> impl Iterator<Item = (bool, FlashCaches)> + '_ {
        let all = (0..8u8).map(|n| {
            let caches = FlashCaches { instructions: n & 2 != 0, data: n & 4 != 0 };
            (n & 1 != 0, caches)
        });
        all.filter(|&(prefetch, caches)| self.applies(self.wait_states, prefetch, caches))
    }

    /// The figures in half cycles, which a checked board file always has.
    pub fn flash_timing(&self) -> Option<FlashTiming> {
        self.timing().ok()
    }

    /// The figures in half cycles; `Err` names the key that is out of range.
    pub(in crate::boards) fn timing(&self) -> Result<FlashTiming, &'static str> {
        Ok(FlashTiming {
            aligned_target: self.aligned_target.half_cycles().ok_or("aligned_target")?,
            unaligned_target: self.unaligned_target.half_cycles().ok_or("unaligned_target")?,
            data_read: self.data_read.half_cycles().ok_or("data_read")?,
        })
    }
}
