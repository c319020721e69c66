//! The grayscale clock: a pin whose edges are counted, or a frequency.

/// The counter stops there, with all outputs off.
const LAST: u64 = 0xfff;
const SECOND: u128 = 1_000_000_000;

pub(super) enum Gsclk {
    /// Rising edges of the pin since the end of BLANK.
    Pin(u64),
    Hz(u64),
}

pub(super) struct Counter {
    gsclk: Gsclk,
    /// When BLANK went low, in nanoseconds; `None` while it is high.
    began: Option<u64>,
}

impl Counter {
    pub(super) fn new(hz: Option<u64>) -> Self {
        Self { gsclk: hz.map_or(Gsclk::Pin(0), Gsclk::Hz), began: None }
    }

    /// A rising edge of the pin.
    pub(super) fn clock(&mut self) {
        if let (Gsclk::Pin(count), Some(_)) = (&mut self.gsclk, self.began) {
            *count = (*count + 1).min(LAST);
        }
    }

    pub(super) fn set_blank(&mut self, blank: bool, now: u64) {
        self.began = (!blank).then_some(now);
        if let Gsclk::Pin(count) = &mut self.gsclk {
            *count = 0;
        }
    }

    /// Nanoseconds since the end of BLANK.
    pub(super) fn since(&self, now: u64) -> Option<u64> {
        self.began.map(|began| now.saturating_sub(began))
    }

    /// Grayscale clocks since the end of BLANK.
    pub(super) fn clocks(&self, now: u64) -> u64 {
        match self.gsclk {
            Gsclk::Pin(count) => count,
            Gsclk::Hz(hz) => {
                let since = u128::from(self.since(now).unwrap_or(0));
                ((since * u128::from(hz) + SECOND / 2) / SECOND) as u64
            }
        }
    }

    /// When a clock is due, in nanoseconds; with a pin, whoever clocks it knows.
    pub(super) fn due(&self, clocks: u64) -> Option<u64> {
        let Gsclk::Hz(hz) = self.gsclk else { return None };
        let after = (u128::from(clocks) * SECOND).div_ceil(u128::from(hz));
        Some(self.began? + after as u64)
    }
}
