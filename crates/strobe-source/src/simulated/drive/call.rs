//! Calling a function of the firmware on a board that stands still, as a benchmark does.

use std::sync::atomic::AtomicBool;

use crate::simulated::run_record::EndReason;
use strobe_sim::observe::calls::NodeKind;

use super::{Limit, Run};
use crate::simulated::Host;

/// What a call took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::simulated) struct Called {
    /// Cycles from the function's first instruction up to where it has returned.
    pub cycles: u64,
    /// Instructions in that time.
    pub instructions: u64,
    /// The cycle at which it began, and that at which it ended.
    pub at: (u64, u64),
    /// Bytes of stack below what the caller had; unknown where stacks are not watched.
    pub stack: Option<u64>,
    /// Exceptions that were entered meanwhile.
    pub interrupts: u64,
}

impl Run {
    /// Calls a function of the firmware with one word, at the place `--until` at which the run
    /// stands, and returns when it is back there. After so many nanoseconds it is given up.
    ///
    /// # Errors
    /// Why it did not come back.
    pub(in crate::simulated) fn call(
        &mut self,
        function: u32,
        argument: u32,
        nanoseconds: u64,
        host: &mut dyn Host,
        interrupted: &AtomicBool,
    ) -> Result<Called, EndReason> {
        let (back, sp, resets) = (self.machine.pc(), self.machine.sp(), self.machine.resets());
        let (before, interrupts) = (self.mark(), self.exceptions());
        let now = self.machine.bus().clocks.nanoseconds_at(before.cycle);
        self.limit = Some(Limit::Nanoseconds(now.saturating_add(nanoseconds)));
        self.machine.observer_mut().1.0.mark_anew();
        self.machine.call(function, argument, back);
        loop {
            match self.go_on(host, interrupted) {
                EndReason::Reached { .. } if self.machine.resets() != resets => {
                    return Err(EndReason::Reached { place: "a reset".to_owned() });
                }
                // The function may itself come by: it is back when its stack is gone.
                EndReason::Reached { .. } if self.machine.sp() == sp => break,
                EndReason::Reached { .. } => {}
                reason => return Err(reason),
            }
        }
        let after = self.mark();
        let calls = &self.machine.observer().1.0;
        let deepest = calls.marks.as_ref().and_then(|marks| marks.of(calls.threads.current()));
        Ok(Called {
            cycles: after.cycle - before.cycle,
            instructions: after.instructions - before.instructions,
            at: (before.cycle, after.cycle),
            stack: deepest.map(|deepest| u64::from(deepest.top.saturating_sub(deepest.sp))),
            interrupts: self.exceptions() - interrupts,
        })
    }

    /// Exceptions that have been entered.
    fn exceptions(&self) -> u64 {
        let nodes = self.machine.observer().1.0.nodes().iter();
        let entries = nodes.filter(|node| matches!(node.kind, NodeKind::Exception(_)));
        entries.map(|node| node.calls).sum()
    }
}
