//! SysTick, the system timer (DDI 0419 and DDI 0403, B3.3).
//!
//! It is worked out when looked at and not counted down: what matters to others is when it next
//! reaches zero.

use crate::kernel::device::Reading;

/// SysTick (B3.3). Counts core clock cycles, or the reference clock's, down to 0 and reloads.
#[derive(Debug, Clone, Default)]
pub(crate) struct SysTick {
    pub(super) control: u32,
    reload: u32,
    /// Counter value at `since`.
    value: u32,
    since: u64,
    pub(crate) count_flag: bool,
    /// The last read of SYST_CSR has taken the flag.
    took_flag: bool,
    /// How often it reached 0 on the last way to now.
    pub(crate) passed: u64,
    /// Core cycles per reference clock cycle (board data; STM32F0: 8); 0 means none.
    pub(crate) reference_divider: u32,
    /// SYST_CALIB as the chip's maker set it.
    pub(crate) calibration: u32,
}

impl SysTick {
    /// A timer that stands, with what the chip's maker chose.
    pub(super) fn new(reference_divider: u32, calibration: u32) -> Self {
        SysTick { reference_divider, calibration, ..SysTick::default() }
    }

    fn enabled(&self) -> bool {
        self.control & 1 != 0
    }

    fn step(&self) -> u64 {
        if self.control & 4 != 0 || self.reference_divider == 0 {
            1
        } else {
            u64::from(self.reference_divider)
        }
    }

    /// Brings the counter up to `now`; returns whether it reached 0 on the way.
    pub(crate) fn sync(&mut self, now: u64) -> bool {
        if !self.enabled() {
            self.since = now;
            return false;
        }
        self.passed = 0;
        let ticks = now.saturating_sub(self.since) / self.step();
        self.since += ticks * self.step();
        if ticks == 0 {
            return false;
        }
        let value = u64::from(self.value);
        let reload = u64::from(self.reload);
        // From 0 the counter first takes the reload value: `value` ticks to reach 0 if it is not 0.
        let (reached, left) = if value != 0 && ticks < value {
            (false, value - ticks)
        } else {
            // The tick on which it reached 0 now; what remains counts whole periods of reload + 1.
            let over = ticks - value;
            let period = reload + 1;
            let at = over % period;
            let further = if reload != 0 { over / period } else { 0 };
            self.passed = u64::from(value != 0) + further;
            let reached = self.passed > 0;
            (reached, if at == 0 { 0 } else { period - at })
        };
        self.value = left as u32;
        self.count_flag |= reached;
        reached
    }

    /// The cycle at which the counter next reaches 0, if it runs.
    pub(crate) fn due(&self) -> u64 {
        if !self.enabled() || (self.value == 0 && self.reload == 0) {
            return u64::MAX;
        }
        let ticks =
            if self.value != 0 { u64::from(self.value) } else { u64::from(self.reload) + 1 };
        self.since + ticks * self.step()
    }

    pub(super) fn read(&mut self, offset: u32, now: u64) -> u32 {
        self.sync(now);
        match offset {
            0x10 => {
                let flag = std::mem::take(&mut self.count_flag);
                self.took_flag = flag;
                self.control | u32::from(flag) << 16
            }
            0x14 => self.reload,
            0x18 => self.value,
            _ => self.calibration,
        }
    }

    /// SYST_CVR as it was last brought up to date.
    pub(super) fn value(&self) -> u32 {
        self.value
    }

    /// What reading a register again shows, right after [`read`](Self::read) of it.
    pub(super) fn reading(&self, offset: u32) -> Reading {
        match offset {
            0x10 if self.took_flag => Reading::Unknown,
            0x10 => Reading::FIXED.before(self.due()),
            0x18 => self.count_reading(),
            _ => Reading::FIXED,
        }
    }

    fn count_reading(&self) -> Reading {
        if !self.enabled() || (self.value, self.reload) == (0, 0) {
            return Reading::FIXED;
        }
        let (period, next) = (self.step(), self.since + self.step());
        let until = next + u64::from(self.value) * period;
        Reading::Counting { period, next, down: true, until }
    }

    pub(super) fn write(&mut self, offset: u32, value: u32, now: u64) {
        self.sync(now);
        match offset {
            0x10 => {
                // Without a reference clock CLKSOURCE reads as one and ignores writes.
                let forced = if self.reference_divider == 0 { 4 } else { 0 };
                self.control = value & 7 | forced;
                self.since = now;
            }
            0x14 => self.reload = value & 0xff_ffff,
            0x18 => {
                // Any write clears the counter and the flag; it reloads on the next tick.
                self.value = 0;
                self.count_flag = false;
                self.since = now;
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn running(reload: u32) -> SysTick {
        let mut tick = SysTick { reference_divider: 8, ..SysTick::default() };
        tick.write(0x14, reload, 0);
        tick.write(0x18, 0, 0);
        tick.write(0x10, 7, 0);
        tick
    }

    #[test]
    fn systick_counts_reload_plus_one_cycles() {
        let mut tick = running(99);
        assert_eq!(tick.due(), 100);
        assert!(!tick.sync(99));
        assert!(tick.sync(100));
        assert_eq!(tick.due(), 200);
        assert_eq!(tick.read(0x18, 150), 50);
        assert!(tick.sync(200));
    }

    #[test]
    fn systick_syncs_the_same_in_one_step_or_many() {
        for reload in [1u32, 2, 7, 100] {
            let mut fine = running(reload);
            for now in 1..1000u64 {
                let mut coarse = running(reload);
                fine.sync(now);
                coarse.sync(now);
                assert_eq!(fine.value, coarse.value, "reload {reload} at {now}");
                assert_eq!(fine.due(), coarse.due(), "reload {reload} at {now}");
            }
        }
    }
}
