//! Shifting a timer against the program: its count goes on by a part of what is left until the next
//! interrupt.

use super::{ALL_CAPTURE_COMPARE, CAPTURE_COMPARE, Timer, UPDATE, cr1};
use crate::devices::common::register::bit;
use strobe_sim::kernel::device::{Context, Shift, ShiftedTimer, part_of};

impl ShiftedTimer for Timer {
    fn shift(&mut self, part: u32, of: u32, cx: &mut Context) -> Shift {
        self.catch_up(cx.now());
        if !self.running || self.dier & (UPDATE | ALL_CAPTURE_COMPARE) == 0 {
            return Shift::Idle;
        }
        if let Some(why) = self.unfit() {
            return Shift::Unfit(why);
        }
        let Some(left) = self.to_interrupt() else { return Shift::Idle };
        let ticks = part_of(left, part, of);
        // Short of the next interrupt and of the end of the period: nothing is left out.
        self.counter.advance(ticks as i64);
        self.publish(cx);
        Shift::Earlier(ticks.saturating_mul(self.tick()))
    }
}

impl Timer {
    /// Why more than its interrupts would move.
    fn unfit(&self) -> Option<&'static str> {
        let channels = || self.channels.iter();
        if bit(self.cr1, cr1::OPM) {
            return Some("it counts one period only");
        }
        if self.dier >> 8 != 0 {
            return Some("it paces DMA");
        }
        if channels().any(|c| !c.is_output() && c.output_enabled()) {
            return Some("it captures edges of pins");
        }
        let drives = channels().any(|c| c.output_enabled() || c.complement_enabled());
        drives.then_some("it drives pins")
    }

    /// Ticks to the next of its interrupts, or to the end of the period if that comes first.
    fn to_interrupt(&self) -> Option<u64> {
        let end = self.counter.to_boundary()?;
        let compares = (0..self.channels.len())
            .filter(|i| self.dier & CAPTURE_COMPARE << i != 0)
            .flat_map(|i| self.flag_positions(i).into_iter().flatten())
            .filter_map(|position| self.counter.ticks_to(position));
        u64::try_from(compares.fold(end, i64::min)).ok()
    }
}
