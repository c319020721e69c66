//! The watchdog of the CMSDK (DDI 0479 4.4), of the PrimeCell SP805 and of Stellaris parts: 32 bits
//! down from LOAD, an interrupt at 0, a reset at the next 0 if the interrupt has not been cleared
//! by then.
//!
//! Interrupt lines: none or one. With `nmi` the interrupt is the core's non-maskable one.

use serde::Deserialize;

use super::identity::Identity;
use crate::devices::common::counter::DownCounter;
use crate::devices::common::register::{bit, merge, part};
use strobe_sim::kernel::device::{Context, Create, Device, OptionError, Reading, ResetCause, Size};

const LOAD: u32 = 0x000;
const VALUE: u32 = 0x004;
const CONTROL: u32 = 0x008;
const INTCLR: u32 = 0x00c;
const RIS: u32 = 0x010;
const MIS: u32 = 0x014;
/// Of Stellaris parts: whether a debugger stops the counter.
const TEST: u32 = 0x418;
const LOCK: u32 = 0xc00;

/// Bit numbers in CONTROL.
mod control {
    pub(super) const INTERRUPT: u32 = 0;
    pub(super) const RESET: u32 = 1;
}
/// Unlocks the other registers.
const KEY: u32 = 0x1acc_e551;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    /// Whether its interrupt is the non-maskable one.
    #[serde(default)]
    nmi: bool,
    /// Once on, only a reset turns it off (Stellaris).
    #[serde(default)]
    sticky: bool,
    /// Identification, where it is not the CMSDK's.
    identity: Option<Identity>,
}

struct Watchdog {
    options: Options,
    counter: DownCounter,
    control: u32,
    raw: bool,
    locked: bool,
}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let options: Options = cx.options()?;
    let counter = DownCounter::new(u32::MAX, u32::MAX);
    Ok(Box::new(Watchdog { options, counter, control: 0, raw: false, locked: false }))
}

impl Watchdog {
    fn catch_up(&mut self, cx: &mut Context) {
        for _ in 0..self.counter.advance(cx.now()).min(2) {
            if self.raw && bit(self.control, control::RESET) {
                cx.system_reset(ResetCause::Watchdog);
            }
            if !self.raw && self.options.nmi {
                cx.non_maskable_interrupt();
            }
            self.raw = true;
        }
    }

    fn publish(&mut self, cx: &mut Context) {
        let on = bit(self.control, control::INTERRUPT);
        self.counter.run(on, cx.bus_divider().into(), cx.now());
        if !self.options.nmi {
            cx.interrupt(0, self.raw && on);
        }
        // Unanswered and without a reset to come, nothing more can happen.
        let idle = self.raw && !bit(self.control, control::RESET);
        match self.counter.due().filter(|_| !idle) {
            Some(cycle) => cx.wake_at(cycle),
            None => cx.sleep(),
        }
    }

    fn word(&self, register: u32) -> Option<u32> {
        Some(match register {
            LOAD => self.counter.reload,
            VALUE => self.counter.value(),
            CONTROL => self.control,
            INTCLR | TEST => 0,
            RIS => self.raw.into(),
            MIS => (self.raw && bit(self.control, control::INTERRUPT)).into(),
            LOCK => self.locked.into(),
            _ => self.options.identity.unwrap_or(Identity::cmsdk(0x24)).register(register)?,
        })
    }

    fn write_unlocked(&mut self, register: u32, value: u32, cx: &Context) {
        match register {
            LOAD => {
                self.counter.reload = value;
                self.counter.set(value, cx.now());
            }
            CONTROL => {
                let kept = if self.options.sticky { self.control & 1 } else { 0 };
                let started = value & !self.control & 1 != 0;
                self.control = value & 3 | kept;
                if started {
                    self.counter.set(self.counter.reload, cx.now());
                }
            }
            INTCLR => {
                self.raw = false;
                self.counter.set(self.counter.reload, cx.now());
            }
            _ => {}
        }
    }
}

impl Device for Watchdog {
    fn read(&mut self, offset: u32, size: Size, cx: &mut Context) -> Option<u32> {
        self.catch_up(cx);
        Some(part(self.word(offset & !3)?, offset, size))
    }

    fn reading(&mut self, offset: u32, size: Size, _: &mut Context) -> Reading {
        match offset & !3 {
            VALUE => self.counter.reading().part(self.counter.value(), offset, size),
            // The interrupt has an event.
            _ => Reading::FIXED,
        }
    }

    fn write(&mut self, offset: u32, size: Size, value: u32, cx: &mut Context) -> Option<()> {
        self.catch_up(cx);
        let register = offset & !3;
        let value = merge(self.word(register)?, offset, size, value);
        match register {
            LOCK => self.locked = value != KEY,
            _ if self.locked => {
                cx.warn_of(
                    "write-without-effect",
                    format!("{}: a register was written while locked: no effect", cx.name()),
                );
            }
            _ => self.write_unlocked(register, value, cx),
        }
        self.publish(cx);
        Some(())
    }

    fn event(&mut self, cx: &mut Context) {
        self.catch_up(cx);
        self.publish(cx);
    }

    fn clock_changed(&mut self, cx: &mut Context) {
        self.event(cx);
    }

    fn reset(&mut self, cx: &mut Context) {
        self.counter = DownCounter::new(u32::MAX, u32::MAX);
        (self.control, self.raw, self.locked) = (0, false, false);
        self.publish(cx);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::{Rig, apb_device};

    const BASE: u32 = 0x4000_0000;

    fn rig(options: &str) -> Rig {
        let watchdog = apb_device(("WDT", "arm-watchdog"), BASE, &[18], options);
        Rig::new(&watchdog.replace("size = 0x400\n", "size = 0x1000\n"))
    }

    #[test]
    fn interrupts_then_resets() {
        let mut rig = rig("");
        rig.write32(BASE + LOAD, 99);
        rig.write32(BASE + CONTROL, 3);
        assert_eq!(rig.run_to_irq(18, 1_000), Some(99));
        rig.write32(BASE + INTCLR, 0);
        assert!(!rig.irq(18));
        rig.advance(99);
        assert!(rig.irq(18), "the clear reloaded it");
        rig.advance(99);
        assert_eq!(rig.bus.requests.reset, None);
        rig.advance(1);
        assert_eq!(rig.bus.requests.reset, Some(ResetCause::Watchdog));
    }

    #[test]
    fn without_reset_enable_it_only_asks() {
        let mut rig = rig("");
        rig.write32(BASE + LOAD, 9);
        rig.write32(BASE + CONTROL, 1);
        rig.advance(1_000);
        assert!(rig.irq(18));
        assert_eq!(rig.bus.requests.reset, None);
    }

    #[test]
    fn the_lock_keeps_writes_out() {
        let mut rig = rig("");
        rig.write32(BASE + LOCK, 1);
        rig.write32(BASE + LOAD, 9);
        assert_eq!((rig.read32(BASE + LOCK), rig.read32(BASE + LOAD)), (1, u32::MAX));
        assert!(rig.warnings().contains("while locked"));
        rig.write32(BASE + LOCK, KEY);
        rig.write32(BASE + LOAD, 9);
        assert_eq!(rig.read32(BASE + LOAD), 9);
    }

    #[test]
    fn can_be_the_non_maskable_interrupt() {
        let mut rig = rig("nmi = true\nsticky = true");
        rig.write32(BASE + LOAD, 9);
        rig.write32(BASE + CONTROL, 1);
        rig.write32(BASE + CONTROL, 0);
        assert_eq!(rig.read32(BASE + CONTROL), 1, "on for good");
        rig.advance(9);
        assert!(rig.bus.requests.nmi && !rig.irq(18));
    }
}
