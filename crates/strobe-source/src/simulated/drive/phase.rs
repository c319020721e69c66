//! Shifts what interrupts a program against the program, to see what of a run was luck: a simulated
//! board always meets its interrupts at the same instructions.

use std::sync::atomic::AtomicBool;

use strobe_model::EndReason;

use super::Run;
use crate::simulated::Host;
use crate::simulated::settings::Phase;

/// SYST_RVR and SYST_CVR (DDI 0419, B3.3.4 and B3.3.5). A write of the latter begins the period
/// anew and pends nothing.
const RELOAD: u32 = 0xe000_e014;
const COUNTER: u32 = 0xe000_e018;

/// Cycles between two looks whether the firmware has started the timer; later ones are farther
/// apart.
const FIRST_LOOK: u64 = 256;

impl Run {
    /// Runs until SysTick counts and begins its period anew after a part of one. Firmware that
    /// never starts it, and cores without it, are run as they are.
    pub(super) fn shift(
        &mut self,
        phase: Phase,
        host: &mut dyn Host,
        interrupted: &AtomicBool,
    ) -> Option<EndReason> {
        let mut look = FIRST_LOOK;
        loop {
            match self.machine.debugger_read(COUNTER) {
                Err(_) => return None,
                Ok(0) => {}
                Ok(_) => break,
            }
            let end = self.on(look, host, interrupted);
            if end.is_some() {
                return end;
            }
            look += look / 8;
        }
        let period = u64::from(self.machine.debugger_read(RELOAD).ok()?) + 1;
        let mut left = period.saturating_mul(phase.part.into()) / u64::from(phase.of.max(1));
        while left > 0 {
            let before = self.machine.cycles();
            let end = self.on(left, host, interrupted);
            if end.is_some() {
                return end;
            }
            left = left.saturating_sub((self.machine.cycles() - before).max(1));
        }
        // Nothing depends on whether it could be written: it was read before.
        self.machine.debugger_write(COUNTER, 0).ok();
        None
    }

    /// Runs on for so many cycles, or as far as the host lets it.
    fn on(
        &mut self,
        cycles: u64,
        host: &mut dyn Host,
        interrupted: &AtomicBool,
    ) -> Option<EndReason> {
        let to = self.machine.cycles() + cycles.min(self.chunk(host));
        let end = self.advance(to, interrupted);
        self.serve(host);
        end.or(self.is_full().then_some(EndReason::Limit))
    }
}
