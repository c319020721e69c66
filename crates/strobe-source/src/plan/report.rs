//! What a trace set-up would bring through the pin and what not, and the registers that make it so.
//!
//! Rates are bytes and packets per second, in whole ones, so that tables add up.

use strobe_decode::trace_settings::TraceSettings;
use strobe_link::trace::registers::RegisterWrite;
use strobe_link::trace::script::SetUp;
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

impl PlanReport {
    /// What scripts for other tools need of it.
    pub fn set_up(&self) -> SetUp<'_> {
        SetUp { settings: &self.settings, target: &self.target, registers: &self.registers }
    }
}
