//! Letting a timer's time pass: from one access or event to the next, at the exact cycles between.
//!
//! Nothing here runs per tick. A stretch without an overflow is one step; once the preloaded
//! registers have taken effect all periods are alike, so any number of them is one step too.

use super::features::MAX_CHANNELS;
use super::{ALL_CAPTURE_COMPARE, CAPTURE_COMPARE, Timer, UPDATE, bdtr, cr1};
use crate::devices::common::register::bit;
use strobe_sim::kernel::device::{Context, Reading};

impl Timer {
    /// Core cycles per tick of the counter.
    pub(super) fn tick(&self) -> u64 {
        self.divider * (u64::from(self.prescaler) + 1)
    }

    /// Brings counter, flags and levels to the cycle `now`.
    pub(super) fn catch_up(&mut self, now: u64) {
        // At most 256 overflows (the repetition counter) pass before the registers have settled.
        while self.running {
            let ticks = (now.saturating_sub(self.origin) / self.tick()) as i64;
            match self.counter.to_boundary() {
                _ if ticks == 0 => return,
                None => return self.origin += ticks as u64 * self.tick(),
                Some(boundary) if ticks < boundary => return self.step(ticks),
                Some(boundary) => self.step(boundary - 1),
            }
            self.overflow();
            self.skip_periods(now);
        }
    }

    /// Moves on by ticks that stay short of the next overflow.
    fn step(&mut self, ticks: i64) {
        for i in 0..self.channels.len() {
            let [up, down] = self.distinct_matches(i);
            let passed = |p: &Option<i64>| p.is_some_and(|p| self.counter.passes(p, ticks));
            let flagged = self.flag_positions(i).iter().filter(|p| passed(p)).count() as u64;
            let times = [up, down].iter().filter(|p| passed(p)).count() as u64;
            self.matched(i, flagged, times);
        }
        self.counter.advance(ticks);
        self.origin += ticks as u64 * self.tick();
    }

    /// The tick that overflows or underflows the counter.
    fn overflow(&mut self) {
        self.origin += self.tick();
        let update = self.repetition == 0 && !bit(self.cr1, cr1::UDIS);
        if update {
            self.load_shadows();
            self.raise(UPDATE);
        } else {
            self.repetition = self.repetition.saturating_sub(1);
        }
        let top = if update { self.arr } else { self.counter.top() };
        self.counter.cross_boundary(top);
        self.match_here();
        // A compare value beyond the top is flagged at the overflow (RM0360, CC1IF).
        let is_overflow = !self.is_center() || !self.counter.at_start();
        for i in 0..self.channels.len() {
            let beyond = self.channels[i].active > self.counter.top();
            self.matched(i, u64::from(beyond && is_overflow), 0);
        }
        if update && bit(self.cr1, cr1::OPM) {
            self.cr1 &= !(1 << cr1::CEN);
            self.running = false;
            self.phase = 0;
        }
    }

    /// Flags the channels whose compare value the counter has just been set to.
    fn match_here(&mut self) {
        for i in 0..self.channels.len() {
            let here = |p: &Option<i64>| p.is_some_and(|p| self.counter.is_at(p));
            let flagged = u64::from(self.flag_positions(i).iter().any(here));
            let times = u64::from(self.distinct_matches(i).iter().any(here));
            self.matched(i, flagged, times);
        }
    }

    /// Passes over whole periods that are all alike.
    fn skip_periods(&mut self, now: u64) {
        let updates = !bit(self.cr1, cr1::UDIS);
        let stops = bit(self.cr1, cr1::OPM) && updates;
        let Some(period) = self.counter.period().filter(|_| self.counter.at_start()) else {
            return;
        };
        if !self.running || stops || updates && self.is_update_pending() {
            return;
        }
        let ticks = now.saturating_sub(self.origin) / self.tick();
        let periods = (ticks / period as u64).saturating_sub(1);
        if periods == 0 {
            return;
        }
        for i in 0..self.channels.len() {
            let per_period = self.distinct_matches(i).iter().flatten().count() as u64;
            let beyond = self.channels[i].active > self.counter.top();
            let positions = self.flag_positions(i).iter().flatten().count() as u64;
            let flagged = if beyond { 1 } else { positions };
            self.matched(i, periods * flagged, periods * per_period);
        }
        let overflows = if self.is_center() { 2 * periods } else { periods };
        let repetition = u64::from(self.repetition);
        if !updates {
            self.repetition = repetition.saturating_sub(overflows) as u32;
        } else if overflows > repetition {
            let every = u64::from(self.rcr) + 1;
            self.raise_times(UPDATE, 1 + (overflows - repetition - 1) / every);
            self.repetition = (every - 1 - (overflows - repetition - 1) % every) as u32;
        } else {
            self.repetition -= overflows as u32;
        }
        self.origin += periods * period as u64 * self.tick();
    }

    /// Whether an update event would change anything but the flags.
    fn is_update_pending(&self) -> bool {
        self.arr != self.counter.top()
            || self.psc != self.prescaler
            || self.channels.iter().any(|c| c.is_pending())
    }

    /// The update event: preloaded values take effect.
    fn load_shadows(&mut self) {
        self.prescaler = self.psc;
        self.repetition = self.rcr;
        self.channels.iter_mut().filter(|c| c.is_output()).for_each(|c| c.active = c.preload);
        if bit(self.bdtr, bdtr::AOE) {
            self.bdtr |= 1 << bdtr::MOE;
        }
    }

    /// EGR.UG: starts the period anew. Being set to a compare value is not a match: Embassy's time
    /// driver relies on it, which gives UG while CCR1 is still 0 and then enables CC1IE.
    pub(super) fn generate_update(&mut self, now: u64) {
        let updates = !bit(self.cr1, cr1::UDIS);
        if updates {
            self.load_shadows();
        }
        self.counter.restart(if updates { self.arr } else { self.counter.top() });
        self.phase = 0;
        self.origin = now;
        if updates && !bit(self.cr1, cr1::URS) {
            self.raise(UPDATE);
        }
    }

    /// Where in the period a channel's output may change: both ways through the compare value.
    fn distinct_matches(&self, channel: usize) -> [Option<i64>; 2] {
        let channel = &self.channels[channel];
        if !channel.is_output() {
            return [None, None];
        }
        let [up, down] = self.counter.matches(channel.active);
        [up, down.filter(|_| up != down)]
    }

    /// Where in the period a channel's flag is set: as above, but in the center modes only the
    /// direction that CMS selects, and 0 and the top in either.
    pub(super) fn flag_positions(&self, channel: usize) -> [Option<i64>; 2] {
        let channel = &self.channels[channel];
        if !channel.is_output() {
            return [None, None];
        }
        let [up, down] = self.counter.matches(channel.active);
        match self.cr1 >> cr1::CMS & 3 {
            1 => [None, down],
            2 => [up, None],
            _ => [up, down.filter(|_| up != down)],
        }
    }

    fn matched(&mut self, channel: usize, flagged: u64, times: u64) {
        if self.channels[channel].is_output() {
            self.raise_times(CAPTURE_COMPARE << channel, flagged);
        }
        self.channels[channel].matched(times);
    }

    /// Starts or stops the counter as CEN and the peripheral's clock require.
    pub(super) fn gate(&mut self, cx: &Context) {
        let (run, now) = (bit(self.cr1, cr1::CEN) && cx.clocked(), cx.now());
        if run && !self.running {
            // CNT_EN follows CEN by one clock; timers share the edges of their kernel clock.
            let start = (now / self.divider + 1) * self.divider;
            self.origin = start.saturating_sub(self.phase * self.divider);
        } else if !run && self.running {
            self.phase = now.saturating_sub(self.origin) / self.divider;
        }
        self.running = run;
    }

    /// Takes up a new ratio of core and kernel clock; the counter keeps its place within a tick.
    pub(super) fn rebase(&mut self, divider: u64, now: u64) {
        if self.running && divider != self.divider {
            let phase = now.saturating_sub(self.origin) / self.divider;
            self.origin = now.saturating_sub(phase * divider);
        }
        self.divider = divider;
    }

    /// The cycle at which something next happens that others can see.
    pub(super) fn next_event(&self, cx: &Context) -> Option<u64> {
        let drives = std::array::from_fn(|i| {
            self.channels.get(i).is_some_and(|c| c.moves() && self.drives(c, cx))
        });
        self.next_of(self.wanted(), drives)
    }

    /// The first cycle at which flags or control bits may be others than now.
    pub(super) fn next_change(&self) -> u64 {
        let unset = !self.sr & (UPDATE | ALL_CAPTURE_COMPARE);
        let flags = self.next_of(unset, [false; MAX_CHANNELS]);
        // CEN, DIR and MOE change with an overflow.
        let control = bit(self.cr1, cr1::OPM) || self.is_center() || bit(self.bdtr, bdtr::AOE);
        let overflow = self.counter.to_boundary().filter(|_| control && self.running);
        let overflow = overflow.map(|ticks| self.cycle_in(ticks));
        [flags, overflow].into_iter().flatten().min().unwrap_or(u64::MAX)
    }

    /// The counter register as time passes; it has been brought up to now.
    pub(super) fn count(&self) -> Reading {
        let Some(ticks) = self.counter.to_jump().filter(|_| self.running) else {
            return Reading::FIXED;
        };
        Reading::Counting {
            period: self.tick(),
            next: self.origin + self.tick(),
            down: self.counter.is_down(),
            until: self.cycle_in(ticks),
        }
    }

    /// The cycle of a tick.
    fn cycle_in(&self, ticks: i64) -> u64 {
        // A tick count of years must not wrap; the cycle counter ends first.
        self.origin.saturating_add((ticks as u64).saturating_mul(self.tick()))
    }

    /// The cycle at which one of these flags is set, or one of these channels' outputs changes.
    fn next_of(&self, flags: u32, outputs: [bool; MAX_CHANNELS]) -> Option<u64> {
        if !self.running {
            return None;
        }
        let mut soonest: Option<i64> = None;
        let mut at = |ticks: Option<i64>| {
            soonest = [soonest, ticks].into_iter().flatten().min();
        };
        let to_overflow = self.counter.to_boundary();
        let mut shadows_matter = false;
        for (i, (channel, &drives)) in self.channels.iter().zip(&outputs).enumerate() {
            let flagged = flags & CAPTURE_COMPARE << i != 0;
            shadows_matter |= flagged || drives;
            if flagged {
                let positions = self.flag_positions(i);
                positions.into_iter().flatten().for_each(|p| at(self.counter.ticks_to(p)));
                // Beyond the top it is flagged at the overflow.
                at(to_overflow.filter(|_| channel.active > self.counter.top()));
            }
            if drives {
                let positions = self.distinct_matches(i);
                positions.into_iter().flatten().for_each(|p| at(self.counter.ticks_to(p)));
                at(to_overflow.filter(|_| channel.is_pwm()));
            }
        }
        let updates = !bit(self.cr1, cr1::UDIS);
        shadows_matter &= self.is_update_pending();
        if updates && (flags & UPDATE != 0 || shadows_matter) {
            let more = i64::from(self.repetition) * self.counter.boundary_spacing().unwrap_or(0);
            at(to_overflow.map(|first| first + more));
        }
        soonest.map(|ticks| self.cycle_in(ticks))
    }
}
