//! The CMSDK's dual timer (DDI 0479 4.2): two down counters of 16 or 32 bits with prescalers, free
//! running, periodic or one-shot.
//!
//! Interrupt lines: one for both.

use serde::Deserialize;

use super::identity::Identity;
use crate::devices::common::counter::DownCounter;
use crate::devices::common::register::{bit, merge, part};
use crate::devices::common::serial::earliest;
use strobe_sim::kernel::device::{
    Context, Create, Device, OptionError, Reading, Shift, ShiftedTimer, Size, part_of,
};

const LOAD: u32 = 0x00;
const VALUE: u32 = 0x04;
const CONTROL: u32 = 0x08;
const INTCLR: u32 = 0x0c;
const RIS: u32 = 0x10;
const MIS: u32 = 0x14;
const BGLOAD: u32 = 0x18;
/// From the first timer's registers to the second's.
const STRIDE: u32 = 0x20;

/// Bit numbers in CONTROL.
mod control {
    pub(super) const ONE_SHOT: u32 = 0;
    pub(super) const WIDE: u32 = 1;
    pub(super) const PRESCALER: u32 = 2;
    pub(super) const INTERRUPT: u32 = 5;
    pub(super) const PERIODIC: u32 = 6;
    pub(super) const ENABLE: u32 = 7;
}

/// The interrupt is enabled.
const CONTROL_RESET: u32 = 1 << control::INTERRUPT;
const IDENTITY: Identity = Identity::cmsdk(0x23);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {}

#[derive(Clone, Copy)]
struct Half {
    control: u32,
    /// What a periodic timer reloads.
    load: u32,
    counter: DownCounter,
    raw: bool,
    /// A one-shot timer has come to 0 and waits for a load.
    halted: bool,
}

const RESET: fn() -> Half = || Half {
    control: CONTROL_RESET,
    load: 0,
    counter: DownCounter::new(u32::MAX, u32::MAX),
    raw: false,
    halted: false,
};

impl Half {
    fn mask(&self) -> u32 {
        if bit(self.control, control::WIDE) { u32::MAX } else { 0xffff }
    }

    fn masked(&self) -> bool {
        self.raw && bit(self.control, control::INTERRUPT)
    }

    /// Counts up to now; returns how many interrupts came while one was asked for.
    fn catch_up(&mut self, now: u64) -> u64 {
        let zeros = self.counter.advance(now);
        if zeros == 0 {
            return 0;
        }
        let was_raw = std::mem::replace(&mut self.raw, true);
        if bit(self.control, control::ONE_SHOT) {
            self.halted = true;
            self.counter.set(0, now);
            return 0;
        }
        let asks = bit(self.control, control::INTERRUPT);
        if asks { zeros - u64::from(!was_raw) } else { 0 }
    }

    /// Applies the control register to the counter.
    fn configure(&mut self, divider: u32, now: u64) {
        let periodic = bit(self.control, control::PERIODIC);
        self.counter.reload = if periodic { self.load & self.mask() } else { self.mask() };
        let prescaler = [1, 16, 256, 256][(self.control >> control::PRESCALER & 3) as usize];
        let on = bit(self.control, control::ENABLE) && !self.halted;
        self.counter.run(on, u64::from(divider) * prescaler, now);
    }

    fn read(&self, register: u32) -> Option<u32> {
        Some(match register {
            LOAD | BGLOAD => self.load,
            VALUE => self.counter.value() & self.mask(),
            CONTROL => self.control,
            INTCLR => 0,
            RIS => self.raw.into(),
            MIS => self.masked().into(),
            _ => return None,
        })
    }

    fn reading(&self, register: u32, offset: u32, size: Size) -> Reading {
        match register {
            VALUE => self.counter.reading().part(self.counter.value(), offset, size),
            // A masked interrupt has no event.
            RIS | MIS if !self.raw => Reading::FIXED.before(self.counter.due().unwrap_or(u64::MAX)),
            _ => Reading::FIXED,
        }
    }

    fn write(&mut self, register: u32, value: u32, now: u64) {
        match register {
            LOAD => {
                self.load = value;
                self.halted = false;
                self.counter.set(value & self.mask(), now);
            }
            BGLOAD => self.load = value,
            CONTROL => {
                self.control = value & 0xef;
                self.halted &= bit(value, control::ONE_SHOT);
                self.counter.set(self.counter.value() & self.mask(), now);
            }
            INTCLR => self.raw = false,
            _ => {}
        }
    }

    /// When somebody must look at it; a one-shot timer must also be stopped.
    fn due(&self) -> Option<u64> {
        let watched = !self.raw && bit(self.control, control::INTERRUPT);
        self.counter.due().filter(|_| watched || bit(self.control, control::ONE_SHOT))
    }
}

struct DualTimer([Half; 2]);

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let Options {} = cx.options()?;
    Ok(Box::new(DualTimer([RESET(), RESET()])))
}

impl DualTimer {
    fn catch_up(&mut self, cx: &mut Context) {
        let now = cx.now();
        let lost = self.0.iter_mut().map(|half| half.catch_up(now)).sum();
        cx.lose_requests(0, lost);
    }

    fn publish(&mut self, cx: &mut Context) {
        let (divider, now) = (cx.bus_divider(), cx.now());
        self.0.iter_mut().for_each(|half| half.configure(divider, now));
        cx.interrupt(0, self.0.iter().any(Half::masked));
        match earliest(self.0.iter().map(Half::due)) {
            Some(cycle) => cx.wake_at(cycle),
            None => cx.sleep(),
        }
    }
}

impl Device for DualTimer {
    fn read(&mut self, offset: u32, size: Size, cx: &mut Context) -> Option<u32> {
        self.catch_up(cx);
        let (half, register) = ((offset / STRIDE) as usize, (offset % STRIDE) & !3);
        let word = match self.0.get(half) {
            Some(half) => half.read(register)?,
            None => IDENTITY.register(offset)?,
        };
        Some(part(word, offset, size))
    }

    fn reading(&mut self, offset: u32, size: Size, _: &mut Context) -> Reading {
        let (half, register) = ((offset / STRIDE) as usize, (offset % STRIDE) & !3);
        self.0.get(half).map_or(Reading::FIXED, |half| half.reading(register, offset, size))
    }

    fn write(&mut self, offset: u32, size: Size, value: u32, cx: &mut Context) -> Option<()> {
        self.catch_up(cx);
        let (half, register) = ((offset / STRIDE) as usize, (offset % STRIDE) & !3);
        match self.0.get_mut(half) {
            Some(half) => {
                let value = merge(half.read(register)?, offset, size, value);
                half.write(register, value, cx.now());
            }
            None => {
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
        self.0 = [RESET(), RESET()];
        self.publish(cx);
    }

    fn shifted_timer(&mut self) -> Option<&mut dyn ShiftedTimer> {
        Some(self)
    }
}

impl ShiftedTimer for DualTimer {
    /// Both halves go on, each by the part of its own rest; the cycles are those of the one whose
    /// interrupt comes first.
    fn shift(&mut self, part: u32, of: u32, cx: &mut Context) -> Shift {
        self.catch_up(cx);
        let asks =
            |half: &Half| bit(half.control, control::INTERRUPT) && half.counter.due().is_some();
        let mut asking: Vec<&mut Half> = self.0.iter_mut().filter(|half| asks(half)).collect();
        asking.sort_by_key(|half| half.counter.due());
        if asking.iter().any(|half| bit(half.control, control::ONE_SHOT)) {
            return Shift::Unfit("it counts one period only");
        }
        let shifted = asking.into_iter().map(|half| {
            let steps = part_of(half.counter.value().into(), part, of) as u32;
            half.counter.skip(steps)
        });
        let cycles: Vec<u64> = shifted.collect();
        self.publish(cx);
        cycles.first().map_or(Shift::Idle, |&cycles| Shift::Earlier(cycles))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::{Rig, apb_device};

    const BASE: u32 = 0x4000_2000;
    const SECOND: u32 = BASE + STRIDE;

    fn rig() -> Rig {
        Rig::new(&apb_device(("DUALTIMER", "cmsdk-dual-timer"), BASE, &[10], ""))
    }

    #[test]
    fn periodic_with_a_prescaler() {
        let mut rig = rig();
        rig.write32(SECOND + LOAD, 9);
        // Enabled, periodic, interrupt, divided by 16, 32 bits.
        rig.write32(SECOND + CONTROL, 0xe6);
        assert_eq!(rig.run_to_irq(10, 1_000), Some(9 * 16));
        assert_eq!((rig.read32(SECOND + MIS), rig.read32(BASE + MIS)), (1, 0));
        rig.write32(SECOND + INTCLR, 0);
        assert!(!rig.irq(10));
        assert_eq!(rig.run_to_irq(10, 1_000), Some(19 * 16));
    }

    #[test]
    fn events_while_the_interrupt_pends_are_lost() {
        let mut rig = rig();
        rig.write32(BASE + LOAD, 99);
        rig.write32(BASE + CONTROL, 0xe2);
        assert_eq!(rig.run_to_irq(10, 1_000), Some(99));
        rig.run_to(450);
        rig.bus.catch_up_timers();
        assert_eq!(rig.bus.lost_requests(10), 3, "at 199, 299 and 399");
    }

    #[test]
    fn a_shifted_timer_keeps_its_period() {
        let mut rig = rig();
        let timer = rig.bus.device_named("DUALTIMER").expect("the rig has one");
        assert_eq!(rig.bus.shift_timer(timer, 1, 2), Shift::Idle, "it stands");
        rig.write32(BASE + LOAD, 99);
        rig.write32(BASE + CONTROL, 0xe2);
        rig.run_to(19);
        assert_eq!(rig.bus.shift_timer(timer, 1, 2), Shift::Earlier(40));
        assert_eq!(rig.run_to_irq(10, 1_000), Some(59));
        rig.write32(BASE + INTCLR, 1);
        assert_eq!(rig.run_to_irq(10, 1_000), Some(159));
        rig.write32(BASE + CONTROL, 0xe3);
        assert_eq!(rig.bus.shift_timer(timer, 1, 2), Shift::Unfit("it counts one period only"));
    }

    #[test]
    fn one_shot_stops_until_loaded_again() {
        let mut rig = rig();
        rig.write32(BASE + LOAD, 20);
        rig.write32(BASE + CONTROL, 0xa1);
        assert_eq!(rig.run_to_irq(10, 1_000), Some(20));
        rig.write32(BASE + INTCLR, 1);
        rig.advance(1_000);
        assert_eq!((rig.read32(BASE + VALUE), rig.irq(10)), (0, false));
        rig.write32(BASE + LOAD, 5);
        assert_eq!(rig.run_to_irq(10, 2_000), Some(1_025));
    }

    #[test]
    fn free_running_has_sixteen_bits_at_reset() {
        let mut rig = rig();
        assert_eq!(rig.read32(BASE + VALUE), 0xffff);
        rig.write32(BASE + CONTROL, 0x80);
        rig.advance(0x1_0000 + 3);
        assert_eq!(rig.read32(BASE + VALUE), 0xffff - 3);
        assert_eq!((rig.read32(BASE + RIS), rig.irq(10)), (1, false), "masked");
    }

    #[test]
    fn a_background_load_waits_for_the_next_period() {
        let mut rig = rig();
        rig.write32(BASE + LOAD, 10);
        rig.write32(BASE + CONTROL, 0xe2);
        rig.write32(BASE + BGLOAD, 50);
        assert_eq!(rig.read32(BASE + VALUE), 10);
        rig.advance(11);
        assert_eq!(rig.read32(BASE + VALUE), 50);
    }
}
