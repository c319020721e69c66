//! One capture/compare channel: its compare value with preload, and the level it makes of it.
//!
//! Knows the counter, not the timer around it.

use super::counter::Counter;
use crate::devices::common::register::bit;
use strobe_sim::kernel::signal::SignalId;

/// Output compare mode, OCxM of RM0360 (TIMx_CCMR1, "Output compare 1 mode").
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputMode {
    Frozen,
    ActiveOnMatch,
    InactiveOnMatch,
    Toggle,
    ForceInactive,
    ForceActive,
    Pwm1,
    Pwm2,
}

/// Which edges of the input a capture channel takes (CCxP, CCxNP).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edge {
    Rising,
    Falling,
    Both,
}

/// A channel and its wires.
#[derive(Debug, Clone)]
pub(super) struct Channel {
    /// This channel's byte of CCMR1 or CCMR2.
    pub(super) config: u8,
    /// This channel's four bits of CCER.
    pub(super) enable: u8,
    /// The register as firmware sees it.
    pub(super) preload: u32,
    /// The value that is compared.
    pub(super) active: u32,
    /// The output before polarity and enable, OCxREF.
    pub(super) reference: bool,
    /// Edges since the last capture, for the input prescaler.
    edges: u8,
    /// `<NAME>_CHx`.
    pub(super) output: SignalId,
    /// `<NAME>_CHxN`.
    pub(super) complement: SignalId,
    /// `<NAME>_CHx_IN`.
    pub(super) input: SignalId,
}

impl Channel {
    pub(super) fn new(output: SignalId, complement: SignalId, input: SignalId) -> Self {
        let (config, enable, preload, active, edges) = (0, 0, 0, 0, 0);
        let reference = false;
        Channel { config, enable, preload, active, reference, edges, output, complement, input }
    }

    pub(super) fn reset(&mut self) {
        *self = Channel::new(self.output, self.complement, self.input);
    }

    /// CCxS: 0 is output, 1 captures the own input, 2 the neighbour's.
    pub(super) fn selection(&self) -> u8 {
        self.config & 3
    }

    pub(super) fn is_output(&self) -> bool {
        self.selection() == 0
    }

    /// OCxPE: the compare value waits for the next update event.
    pub(super) fn is_preloaded(&self) -> bool {
        self.config & 1 << 3 != 0
    }

    /// Whether an update event would change the compare value.
    pub(super) fn is_pending(&self) -> bool {
        self.is_output() && self.preload != self.active
    }

    pub(super) fn mode(&self) -> OutputMode {
        match self.config >> 4 & 7 {
            0 => OutputMode::Frozen,
            1 => OutputMode::ActiveOnMatch,
            2 => OutputMode::InactiveOnMatch,
            3 => OutputMode::Toggle,
            4 => OutputMode::ForceInactive,
            5 => OutputMode::ForceActive,
            6 => OutputMode::Pwm1,
            _ => OutputMode::Pwm2,
        }
    }

    /// Writes the compare register.
    pub(super) fn set_compare(&mut self, value: u32) {
        self.preload = value;
        if !self.is_preloaded() {
            self.active = value;
        }
    }

    /// The counter has matched the compare value `times` times.
    pub(super) fn matched(&mut self, times: u64) {
        if times == 0 {
            return;
        }
        match self.mode() {
            OutputMode::ActiveOnMatch => self.reference = true,
            OutputMode::InactiveOnMatch => self.reference = false,
            OutputMode::Toggle => self.reference ^= times % 2 == 1,
            _ => {}
        }
    }

    /// Sets the reference level in the modes where it depends on the counter alone.
    pub(super) fn follow(&mut self, counter: &Counter) {
        // PWM mode 1 is active below the compare value counting up, and up to it counting down.
        let below = if counter.is_down() {
            counter.value() <= self.active
        } else {
            counter.value() < self.active
        };
        match self.mode() {
            OutputMode::ForceInactive => self.reference = false,
            OutputMode::ForceActive => self.reference = true,
            OutputMode::Pwm1 => self.reference = below,
            OutputMode::Pwm2 => self.reference = !below,
            _ => {}
        }
    }

    /// Whether the reference level can change while the counter runs.
    pub(super) fn moves(&self) -> bool {
        use OutputMode::{ForceActive, ForceInactive, Frozen};
        self.is_output() && !matches!(self.mode(), Frozen | ForceInactive | ForceActive)
    }

    /// Whether the reference level depends on where in the period the counter is.
    pub(super) fn is_pwm(&self) -> bool {
        matches!(self.mode(), OutputMode::Pwm1 | OutputMode::Pwm2)
    }

    /// CCxE.
    pub(super) fn output_enabled(&self) -> bool {
        bit(self.enable.into(), 0)
    }

    /// CCxNE.
    pub(super) fn complement_enabled(&self) -> bool {
        bit(self.enable.into(), 2)
    }

    /// Level of the main output while outputs are on.
    pub(super) fn output_level(&self) -> bool {
        self.output_enabled() && self.reference ^ bit(self.enable.into(), 1)
    }

    /// Level of the complementary output while outputs are on: the complement of the reference when
    /// both outputs are enabled, else the reference itself. Dead time is not inserted.
    pub(super) fn complement_level(&self) -> bool {
        self.complement_enabled()
            && self.reference ^ self.output_enabled() ^ bit(self.enable.into(), 3)
    }

    /// The edges that the input takes.
    pub(super) fn edge(&self) -> Edge {
        match (bit(self.enable.into(), 1), bit(self.enable.into(), 3)) {
            (false, _) => Edge::Rising,
            (true, false) => Edge::Falling,
            (true, true) => Edge::Both,
        }
    }

    /// Whether this change of the input's level is one to capture at, after the input prescaler.
    pub(super) fn takes_edge(&mut self, level: bool) -> bool {
        let wanted = match self.edge() {
            Edge::Rising => level,
            Edge::Falling => !level,
            Edge::Both => true,
        };
        if !wanted || !self.output_enabled() {
            return false;
        }
        self.edges += 1;
        let every = 1 << (self.config >> 2 & 3);
        if self.edges >= every {
            self.edges = 0;
        }
        self.edges == 0
    }
}
