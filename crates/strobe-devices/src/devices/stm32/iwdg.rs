//! Independent watchdog (RM0360 section 22, RM0090 section 21): counts the low-speed oscillator,
//! whatever the core does.

use serde::Deserialize;

use crate::devices::common::register::part;
use strobe_sim::kernel::device::{Context, Create, Device, OptionError, Reading, ResetCause, Size};

const KR: u32 = 0x00;
const PR: u32 = 0x04;
const RLR: u32 = 0x08;
const SR: u32 = 0x0c;
const WINR: u32 = 0x10;

const KEY_RELOAD: u32 = 0xaaaa;
const KEY_UNLOCK: u32 = 0x5555;
const KEY_START: u32 = 0xcccc;
/// Widest counter value.
const FULL: u32 = 0xfff;
/// Register updates take up to five cycles of the watchdog's clock (22.4.2).
const UPDATE_CYCLES: u64 = 5;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    /// The low-speed oscillator, in hertz.
    lsi_hz: u32,
    /// Whether it has a window register.
    #[serde(default = "yes")]
    window: bool,
}

fn yes() -> bool {
    true
}

struct Iwdg {
    has_window: bool,
    lsi_hz: u32,
    unlocked: bool,
    prescaler: u32,
    reload: u32,
    window: u32,
    /// When the counter was last loaded, and with what; `None` until started.
    loaded: Option<(u64, u32)>,
    /// When the updates of PR, RLR and WINR are over, in nanoseconds.
    update_over: [u64; 3],
}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let Options { lsi_hz, window: has_window } = cx.options()?;
    if lsi_hz == 0 {
        return Err(OptionError::limit("lsi_hz", "must be more than 0"));
    }
    let iwdg = Iwdg {
        has_window,
        lsi_hz,
        unlocked: false,
        prescaler: 0,
        reload: FULL,
        window: FULL,
        loaded: None,
        update_over: [0; 3],
    };
    Ok(Box::new(iwdg))
}

fn now_ns(cx: &Context) -> u64 {
    cx.clocks().nanoseconds_at(cx.now())
}

impl Iwdg {
    /// Nanoseconds per count: PR divides the oscillator by 4 to 256.
    fn tick_ns(&self) -> u64 {
        (4 << self.prescaler.min(6)) * 1_000_000_000 / u64::from(self.lsi_hz)
    }

    /// The counter now.
    fn counter(&self, cx: &Context) -> u32 {
        let Some((since, value)) = self.loaded else { return FULL };
        let ticks = (now_ns(cx) - since) / self.tick_ns().max(1);
        value.saturating_sub(u32::try_from(ticks).unwrap_or(u32::MAX))
    }

    fn load(&mut self, cx: &mut Context) {
        self.loaded = Some((now_ns(cx), self.reload));
        self.schedule(cx);
    }

    fn schedule(&self, cx: &mut Context) {
        if let Some((since, value)) = self.loaded {
            let end = since + (u64::from(value) + 1) * self.tick_ns();
            cx.wake_at(cx.clocks().cycle_at_nanoseconds(end));
        }
    }

    fn key(&mut self, key: u32, cx: &mut Context) {
        self.unlocked = key == KEY_UNLOCK;
        match key {
            KEY_START if self.loaded.is_none() => self.load(cx),
            KEY_RELOAD if self.loaded.is_some() => {
                // 22.3.2: a reload while the counter is above the window is as bad as none.
                if self.counter(cx) > self.window {
                    cx.system_reset(ResetCause::IndependentWatchdog);
                }
                self.load(cx);
            }
            _ => {}
        }
    }

    fn begin_update(&mut self, which: usize, cx: &Context) {
        let cycles_ns = UPDATE_CYCLES * 1_000_000_000 / u64::from(self.lsi_hz);
        self.update_over[which] = now_ns(cx) + cycles_ns;
    }
}

impl Device for Iwdg {
    fn read(&mut self, offset: u32, size: Size, cx: &mut Context) -> Option<u32> {
        let word = match offset & !3 {
            KR => 0,
            PR => self.prescaler,
            RLR => self.reload,
            SR => {
                let now = now_ns(cx);
                (0..3).filter(|&i| now < self.update_over[i]).map(|i| 1 << i).sum()
            }
            WINR if self.has_window => self.window,
            _ => return None,
        };
        Some(part(word, offset, size))
    }

    fn reading(&mut self, offset: u32, _: Size, cx: &mut Context) -> Reading {
        if offset & !3 != SR {
            return Reading::FIXED;
        }
        let now = now_ns(cx);
        let next = self.update_over.into_iter().filter(|&over| over > now).min();
        Reading::FIXED.before(next.map_or(u64::MAX, |over| cx.clocks().first_cycle_at(over)))
    }

    fn write(&mut self, offset: u32, _size: Size, value: u32, cx: &mut Context) -> Option<()> {
        let value = value & 0xffff;
        match offset & !3 {
            KR => self.key(value, cx),
            PR if self.unlocked => {
                // The count so far is kept by starting anew from it.
                if self.loaded.is_some() {
                    self.loaded = Some((now_ns(cx), self.counter(cx)));
                }
                self.prescaler = value & 7;
                self.schedule(cx);
                self.begin_update(0, cx);
            }
            RLR if self.unlocked => {
                self.reload = value & FULL;
                self.begin_update(1, cx);
            }
            WINR if self.unlocked && self.has_window => {
                self.window = value & FULL;
                self.begin_update(2, cx);
                // 22.3.2: writing the window also reloads the counter.
                if self.loaded.is_some() {
                    self.load(cx);
                }
            }
            PR | RLR | SR => {}
            WINR if self.has_window => {}
            _ => return None,
        }
        Some(())
    }

    fn event(&mut self, cx: &mut Context) {
        if self.loaded.is_some() {
            cx.system_reset(ResetCause::IndependentWatchdog);
        }
    }

    fn clock_changed(&mut self, cx: &mut Context) {
        self.schedule(cx);
    }

    fn reset(&mut self, _cx: &mut Context) {
        self.unlocked = false;
        self.prescaler = 0;
        self.reload = FULL;
        self.window = FULL;
        self.loaded = None;
        self.update_over = [0; 3];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::Rig;

    const BASE: u32 = 0x4000_3000;

    /// An 8 MHz core: 200 cycles per oscillator cycle.
    fn rig() -> Rig {
        Rig::new(
            "[[device]]\nname = 'IWDG'\nmodel = 'stm32-iwdg'\nbase = 0x4000_3000\nsize = 0x400\n\
             bus = 'apb'\noptions.lsi_hz = 40_000",
        )
    }

    fn unlocked(register: u32, value: u32, rig: &mut Rig) {
        rig.write32(BASE + KR, KEY_UNLOCK);
        rig.write32(BASE + register, value);
    }

    #[test]
    fn resets_when_not_reloaded() {
        let mut rig = rig();
        unlocked(PR, 1, &mut rig);
        rig.write32(BASE + RLR, 9);
        assert_eq!(rig.read32(BASE + SR), 3, "both updates are under way");
        rig.write32(BASE + KR, KEY_START);
        // 10 counts of 8 oscillator cycles of 200 core cycles.
        rig.advance(15_999);
        assert_eq!(rig.bus.requests.reset, None);
        assert_eq!(rig.read32(BASE + SR), 0);
        rig.write32(BASE + KR, KEY_RELOAD);
        rig.advance(15_999);
        assert_eq!(rig.bus.requests.reset, None);
        rig.advance(1);
        assert_eq!(rig.bus.requests.reset, Some(ResetCause::IndependentWatchdog));
    }

    #[test]
    fn registers_are_locked_and_the_window_holds() {
        let mut rig = rig();
        rig.write32(BASE + RLR, 5);
        assert_eq!(rig.read32(BASE + RLR), FULL);
        unlocked(WINR, 0x800, &mut rig);
        rig.write32(BASE + KR, KEY_START);
        rig.write32(BASE + KR, KEY_RELOAD);
        assert_eq!(rig.bus.requests.reset, Some(ResetCause::IndependentWatchdog));
    }

    #[test]
    fn a_changed_core_clock_does_not_change_its_time() {
        let mut rig = rig();
        unlocked(RLR, 9, &mut rig);
        rig.write32(BASE + KR, KEY_START);
        rig.advance(4_000);
        let now = rig.bus.now;
        rig.bus.clocks.set_core_hz(now, 16_000_000);
        rig.bus.clocks_dirty = true;
        rig.bus.settle();
        // Half of 10 counts of 4 oscillator cycles are over; each has 400 core cycles now.
        rig.advance(7_999);
        assert_eq!(rig.bus.requests.reset, None);
        rig.advance(1);
        assert_eq!(rig.bus.requests.reset, Some(ResetCause::IndependentWatchdog));
    }
}
