//! What a trace set-up would bring through the pin and what not, and the registers that make it so.
//!
//! Rates are bytes and packets per second, in whole ones, so that tables add up.

use strobe_decode::trace_settings::TraceSettings;
use strobe_model::Bounds;

/// A plan: what is traced, what it needs, what there is.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanReport {
    /// What is set.
    pub settings: TraceSettings,
    /// The family of chips whose pin is routed, or `generic`.
    pub target: String,
    /// The line's speed.
    pub line: PlanLine,
    /// What is sent, one entry for each kind.
    pub parts: Vec<PlanPart>,
    /// Their sum, in bytes per second.
    pub required: Bounds,
    /// What the pin carries, in bytes per second.
    pub available: u64,
    /// How much of what is traced does not come through, in millionths.
    pub loss_ppm: Bounds,
    /// Program counter samples, if there are any.
    pub samples: Option<PlanSamples>,
    /// Whether it fits.
    pub verdict: Verdict,
    /// The nearest plans that fit, where this one does not.
    pub proposals: Vec<PlanProposal>,
    /// What is written to the hardware, in this order.
    pub registers: Vec<RegisterWrite>,
    /// What the reader should know, each a sentence or two.
    pub notes: Vec<String>,
}

/// Whether a plan fits through its pin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Even by the upper bounds; only bursts can overflow.
    Fits,
    /// By the likely figures, but not by the upper bounds.
    Tight,
    /// Not: packets will be lost all the time.
    Loses,
}

/// How near the divider comes to the bit rate.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanLine {
    /// What TRACECLKIN is divided by.
    pub divider: u32,
    /// The bit rate that comes of it.
    pub actual_baud: f64,
    /// How far that is from what was asked for, in millionths.
    pub error_ppm: i64,
    /// By how much of a bit the last one of a byte is off, in millionths; half a bit, less what
    /// the receiver's own clock takes, is too much.
    pub last_bit_off_ppm: i64,
}

/// One kind of packets.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanPart {
    /// What it is.
    pub name: String,
    /// Packets per second.
    pub packets: Bounds,
    /// Bytes per second.
    pub bytes: Bounds,
    /// How that was worked out.
    pub how: String,
}

/// How often the program counter is sampled.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanSamples {
    /// Cycles between samples.
    pub period_cycles: u32,
    /// What was asked for, where the hardware has no such period.
    pub asked_cycles: Option<u32>,
    /// Samples that are taken each second.
    pub taken_per_second: f64,
    /// Of these, how many come through each second.
    pub received_per_second: Bounds,
}

/// A plan that fits.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanProposal {
    /// What is different.
    pub change: String,
    /// The whole of it.
    pub settings: TraceSettings,
    /// What it needs at most, in bytes per second.
    pub required: Bounds,
    /// What there is.
    pub available: u64,
}

/// A write to a register of the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisterWrite {
    /// Its name.
    pub register: String,
    /// Its address.
    pub address: u32,
    /// What its bits in `mask` become.
    pub value: u32,
    /// The bits that are written; the others are kept as they were read.
    pub mask: u32,
    /// The bits that must read back as written; none of a register that cannot be read.
    pub check: u32,
    /// What its fields mean.
    pub fields: Vec<RegisterField>,
}

impl RegisterWrite {
    /// Whether bits beside the written ones are kept, for which the register has to be read first.
    pub fn keeps_others(&self) -> bool {
        self.mask != u32::MAX
    }

    /// What to write into a register that now holds `old`.
    pub fn over(&self, old: u32) -> u32 {
        old & !self.mask | self.value & self.mask
    }
}

/// A field of a register.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisterField {
    /// Its name.
    pub field: String,
    /// Its highest bit and its lowest.
    pub bits: (u8, u8),
    /// Its value.
    pub value: u32,
    /// What that does.
    pub meaning: String,
}
