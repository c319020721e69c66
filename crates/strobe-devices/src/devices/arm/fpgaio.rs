//! FPGAIO of the MPS2 boards' FPGA images (Application Note AN385, section 4.4): user LEDs and
//! buttons, three counters.
//!
//! Wires: `LED0`, `LED1`; `BUTTON0`, `BUTTON1`, high while driven high from outside.

use serde::Deserialize;

use crate::devices::common::register::{bit, merge, part};
use strobe_sim::kernel::device::{Context, Create, Device, DrivenPins, OptionError, Reading, Size};
use strobe_sim::kernel::signal::SignalId;

const LED: u32 = 0x00;
const BUTTON: u32 = 0x08;
const CLK1HZ: u32 = 0x10;
const CLK100HZ: u32 = 0x14;
const COUNTER: u32 = 0x18;
const PRESCALE: u32 = 0x1c;
const PSCNTR: u32 = 0x20;
const MISC: u32 = 0x4c;
const MISC_WRITABLE: u32 = 0x3ff;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {}

/// An up counter that is computed when somebody looks.
#[derive(Debug, Clone, Copy, Default)]
struct UpCounter {
    value: u32,
    /// Steps since the start of the run at which it had its value.
    since: u64,
}

impl UpCounter {
    fn value(self, steps: u64) -> u32 {
        self.value.wrapping_add((steps - self.since) as u32)
    }
}

struct Fpgaio {
    leds: [SignalId; 2],
    buttons: [SignalId; 2],
    led: u32,
    misc: u32,
    second: UpCounter,
    hundredth: UpCounter,
    /// COUNTER and PSCNTR at `counted`; the prescaler counts down to 0, then the counter goes up
    /// by one.
    counter: u32,
    prescaler: u32,
    prescale: u32,
    counted: u64,
}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let Options {} = cx.options()?;
    let mut pins = |name| {
        [0, 1].map(|n| {
            let wire = cx.signal(&format!("{name}{n}"));
            cx.signals.mark_pin(wire);
            wire
        })
    };
    Ok(Box::new(Fpgaio {
        leds: pins("LED"),
        buttons: pins("BUTTON"),
        led: 0,
        misc: 0,
        second: UpCounter::default(),
        hundredth: UpCounter::default(),
        counter: 0,
        prescaler: 0,
        prescale: 0,
        counted: 0,
    }))
}

/// Steps of a counter of `hz` hertz since the start of the run.
fn steps(hz: u64, cx: &Context) -> u64 {
    cx.clocks().nanoseconds_at(cx.now()) / (1_000_000_000 / hz)
}

/// The same value until the next of those steps.
fn next_step(hz: u64, cx: &Context) -> Reading {
    let ns = (steps(hz, cx) + 1) * (1_000_000_000 / hz);
    Reading::FIXED.before(cx.clocks().first_cycle_at(ns))
}

impl Fpgaio {
    /// Brings the prescaled counter up to now; it counts core cycles.
    fn count(&mut self, now: u64) {
        let cycles = now - self.counted;
        self.counted = now;
        let left = u64::from(self.prescaler);
        if cycles <= left {
            self.prescaler -= cycles as u32;
            return;
        }
        let period = u64::from(self.prescale) + 1;
        let past = cycles - left - 1;
        self.counter = self.counter.wrapping_add((1 + past / period) as u32);
        self.prescaler = (period - 1 - past % period) as u32;
    }

    /// COUNTER as time passes; it has been brought up to now.
    fn count_reading(&self) -> Reading {
        let period = u64::from(self.prescale) + 1;
        let next = self.counted + u64::from(self.prescaler) + 1;
        Reading::Counting { period, next, down: false, until: u64::MAX }
    }

    /// PSCNTR, likewise.
    fn prescaler_reading(&self) -> Reading {
        let next = self.counted + 1;
        Reading::Counting { period: 1, next, down: true, until: u64::MAX }
    }

    fn word(&mut self, register: u32, cx: &Context) -> Option<u32> {
        self.count(cx.now());
        Some(match register {
            LED => self.led,
            BUTTON => self
                .buttons
                .iter()
                .enumerate()
                .map(|(n, &b)| u32::from(cx.external(b) == Some(true)) << n)
                .sum(),
            CLK1HZ => self.second.value(steps(1, cx)),
            CLK100HZ => self.hundredth.value(steps(100, cx)),
            COUNTER => self.counter,
            PRESCALE => self.prescale,
            PSCNTR => self.prescaler,
            MISC => self.misc,
            _ => return None,
        })
    }
}

impl Device for Fpgaio {
    fn read(&mut self, offset: u32, size: Size, cx: &mut Context) -> Option<u32> {
        Some(part(self.word(offset & !3, cx)?, offset, size))
    }

    fn reading(&mut self, offset: u32, size: Size, cx: &mut Context) -> Reading {
        match offset & !3 {
            CLK1HZ => next_step(1, cx),
            CLK100HZ => next_step(100, cx),
            COUNTER => self.count_reading().part(self.counter, offset, size),
            PSCNTR => self.prescaler_reading().part(self.prescaler, offset, size),
            _ => Reading::FIXED,
        }
    }

    fn write(&mut self, offset: u32, size: Size, value: u32, cx: &mut Context) -> Option<()> {
        let register = offset & !3;
        let value = merge(self.word(register, cx)?, offset, size, value);
        match register {
            LED => {
                self.led = value & 3;
                (0..).zip(self.leds).for_each(|(n, led)| cx.set_pin(led, bit(value, n), true));
            }
            CLK1HZ => self.second = UpCounter { value, since: steps(1, cx) },
            CLK100HZ => self.hundredth = UpCounter { value, since: steps(100, cx) },
            COUNTER => self.counter = value,
            PRESCALE => self.prescale = value,
            PSCNTR => self.prescaler = value,
            MISC => self.misc = value & MISC_WRITABLE,
            _ => {}
        }
        Some(())
    }

    fn reset(&mut self, cx: &mut Context) {
        (self.led, self.misc) = (0, 0);
        self.leds.into_iter().for_each(|led| cx.set_pin(led, false, true));
        self.second = UpCounter { value: 0, since: steps(1, cx) };
        self.hundredth = UpCounter { value: 0, since: steps(100, cx) };
        (self.counter, self.prescaler, self.prescale, self.counted) = (0, 0, 0, cx.now());
    }

    fn driven_pins(&mut self) -> Option<&mut dyn DrivenPins> {
        Some(self)
    }
}

impl DrivenPins for Fpgaio {
    fn driven(&mut self, pin: SignalId, cx: &mut Context) {
        if self.buttons.contains(&pin) {
            let level = cx.external(pin).unwrap_or(false);
            cx.set_signal(pin, level);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::{Rig, apb_device};

    const BASE: u32 = 0x4002_8000;

    fn rig() -> Rig {
        Rig::new(&apb_device(("FPGAIO", "mps2-fpgaio"), BASE, &[], ""))
    }

    #[test]
    fn leds_and_buttons_are_pins() {
        let mut rig = rig();
        rig.write32(BASE + LED, 0b10);
        assert!(rig.level("LED1") && !rig.level("LED0"));
        rig.drive("BUTTON1", Some(true));
        assert_eq!(rig.read32(BASE + BUTTON), 0b10);
    }

    /// The rig runs at 8 MHz.
    #[test]
    fn counters_keep_time() {
        let mut rig = rig();
        rig.advance(8_000_000);
        assert_eq!((rig.read32(BASE + CLK1HZ), rig.read32(BASE + CLK100HZ)), (1, 100));
        rig.write32(BASE + CLK100HZ, 7);
        rig.advance(80_000);
        assert_eq!(rig.read32(BASE + CLK100HZ), 8);
    }

    #[test]
    fn the_cycle_counter_has_a_prescaler() {
        let mut rig = rig();
        rig.advance(1_000);
        assert_eq!(rig.read32(BASE + COUNTER), 1_000);
        rig.write32(BASE + PRESCALE, 9);
        rig.write32(BASE + COUNTER, 0);
        rig.advance(1);
        assert_eq!((rig.read32(BASE + COUNTER), rig.read32(BASE + PSCNTR)), (1, 9));
        rig.advance(25);
        assert_eq!((rig.read32(BASE + COUNTER), rig.read32(BASE + PSCNTR)), (3, 4));
    }
}
