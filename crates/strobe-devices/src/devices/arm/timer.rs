//! The CMSDK's timer (DDI 0479 4.1): 32 bits down from RELOAD, an interrupt at 0.
//!
//! The external input, which can gate or clock it, is tied low on the boards we know: firmware that
//! selects it is reported and the timer stands.

use serde::Deserialize;

use super::identity::Identity;
use crate::devices::common::counter::DownCounter;
use crate::devices::common::register::{bit, merge, part};
use strobe_sim::kernel::device::{
    Context, Create, Device, OptionError, Reading, Shift, ShiftedTimer, Size, part_of,
};

const CTRL: u32 = 0x00;
const VALUE: u32 = 0x04;
const RELOAD: u32 = 0x08;
const INTSTATUS: u32 = 0x0c;

/// Bit numbers in CTRL.
mod ctrl {
    pub(super) const ENABLE: u32 = 0;
    pub(super) const INTERRUPT: u32 = 3;
}
/// CTRL: the external input as enable, as clock.
const EXTERNAL: u32 = 0b110;

const IDENTITY: Identity = Identity::cmsdk(0x22);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {}

struct Timer {
    ctrl: u32,
    counter: DownCounter,
    interrupt: bool,
}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let Options {} = cx.options()?;
    Ok(Box::new(Timer { ctrl: 0, counter: DownCounter::new(0, 0), interrupt: false }))
}

impl Timer {
    fn catch_up(&mut self, cx: &mut Context) {
        let zeros = self.counter.advance(cx.now());
        if zeros > 0 && bit(self.ctrl, ctrl::INTERRUPT) {
            cx.lose_requests(0, zeros - u64::from(!self.interrupt));
            self.interrupt = true;
        }
    }

    fn publish(&mut self, cx: &mut Context) {
        let on = bit(self.ctrl, ctrl::ENABLE) && self.ctrl & EXTERNAL == 0;
        self.counter.run(on, cx.bus_divider().into(), cx.now());
        cx.interrupt(0, self.interrupt);
        let watched = bit(self.ctrl, ctrl::INTERRUPT) && !self.interrupt;
        match self.counter.due().filter(|_| watched) {
            Some(cycle) => cx.wake_at(cycle),
            None => cx.sleep(),
        }
    }
}

impl Device for Timer {
    fn read(&mut self, offset: u32, size: Size, cx: &mut Context) -> Option<u32> {
        self.catch_up(cx);
        let word = match offset & !3 {
            CTRL => self.ctrl,
            VALUE => self.counter.value(),
            RELOAD => self.counter.reload,
            INTSTATUS => self.interrupt.into(),
            _ => IDENTITY.register(offset)?,
        };
        Some(part(word, offset, size))
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
        let now = cx.now();
        match offset & !3 {
            CTRL => {
                self.ctrl = merge(self.ctrl, offset, size, value) & 0xf;
                if self.ctrl & EXTERNAL != 0 {
                    cx.warn(format!(
                        "{}: its external input is tied low: the timer stands",
                        cx.name()
                    ));
                }
            }
            VALUE => self.counter.set(merge(self.counter.value(), offset, size, value), now),
            RELOAD => self.counter.reload = merge(self.counter.reload, offset, size, value),
            INTSTATUS => self.interrupt &= !bit(merge(0, offset, size, value), 0),
            _ => {
                IDENTITY.register(offset)?;
            }
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
        // Whether somebody has looked before does not change what is lost.
        self.catch_up(cx);
        *self = Timer { ctrl: 0, counter: DownCounter::new(0, 0), interrupt: false };
        self.publish(cx);
    }

    fn shifted_timer(&mut self) -> Option<&mut dyn ShiftedTimer> {
        Some(self)
    }
}

impl ShiftedTimer for Timer {
    fn shift(&mut self, part: u32, of: u32, cx: &mut Context) -> Shift {
        self.catch_up(cx);
        let asks = bit(self.ctrl, ctrl::INTERRUPT);
        if !asks || self.counter.due().is_none() {
            return Shift::Idle;
        }
        let steps = part_of(self.counter.value().into(), part, of) as u32;
        let cycles = self.counter.skip(steps);
        self.publish(cx);
        Shift::Earlier(cycles)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::{Rig, apb_device};

    const BASE: u32 = 0x4000_0000;

    fn rig() -> Rig {
        Rig::new(&apb_device(("TIMER0", "cmsdk-timer"), BASE, &[8], ""))
    }

    #[test]
    fn a_shifted_timer_keeps_its_period() {
        let mut rig = rig();
        let timer = rig.bus.device_named("TIMER0").expect("the rig has one");
        rig.write32(BASE + RELOAD, 99);
        rig.write32(BASE + VALUE, 99);
        rig.write32(BASE + CTRL, 1);
        assert_eq!(rig.bus.shift_timer(timer, 1, 2), Shift::Idle, "it asks for no interrupt");
        rig.write32(BASE + CTRL, 0b1001);
        rig.run_to(19);
        assert_eq!(rig.bus.shift_timer(timer, 1, 2), Shift::Earlier(40));
        assert_eq!(rig.run_to_irq(8, 1_000), Some(59));
        rig.write32(BASE + INTSTATUS, 1);
        assert_eq!(rig.run_to_irq(8, 1_000), Some(159));
    }

    #[test]
    fn interrupts_every_reload_plus_one_cycles() {
        let mut rig = rig();
        rig.write32(BASE + RELOAD, 99);
        rig.write32(BASE + VALUE, 99);
        rig.write32(BASE + CTRL, 0b1001);
        assert_eq!(rig.run_to_irq(8, 1_000), Some(99));
        assert_eq!((rig.read32(BASE + VALUE), rig.read32(BASE + INTSTATUS)), (0, 1));
        rig.write32(BASE + INTSTATUS, 1);
        assert!(!rig.irq(8));
        assert_eq!(rig.run_to_irq(8, 1_000), Some(199));
    }

    #[test]
    fn events_while_the_interrupt_pends_are_lost() {
        let mut rig = rig();
        rig.write32(BASE + RELOAD, 99);
        rig.write32(BASE + VALUE, 99);
        rig.write32(BASE + CTRL, 0b1001);
        assert_eq!(rig.run_to_irq(8, 1_000), Some(99));
        rig.run_to(450);
        rig.write32(BASE + INTSTATUS, 1);
        assert_eq!(rig.bus.lost_requests(8), 3, "at 199, 299 and 399");
        rig.run_to(750);
        assert_eq!(rig.bus.lost_requests(8), 3, "nobody has looked");
        rig.bus.catch_up_timers();
        assert_eq!(rig.bus.lost_requests(8), 5, "at 599 and 699");
    }

    #[test]
    fn stands_while_off_and_while_an_input_clocks_it() {
        let mut rig = rig();
        rig.write32(BASE + VALUE, 50);
        rig.advance(10);
        assert_eq!(rig.read32(BASE + VALUE), 50);
        rig.write32(BASE + CTRL, 1);
        rig.advance(10);
        assert_eq!(rig.read32(BASE + VALUE), 40);
        rig.write32(BASE + CTRL, 0b101);
        rig.advance(10);
        assert_eq!(rig.read32(BASE + VALUE), 40);
        assert!(rig.warnings().contains("tied low"));
    }

    #[test]
    fn without_its_enable_the_interrupt_is_not_remembered() {
        let mut rig = rig();
        rig.write32(BASE + VALUE, 5);
        rig.write32(BASE + CTRL, 1);
        rig.advance(10);
        assert_eq!(rig.read32(BASE + INTSTATUS), 0);
    }
}
