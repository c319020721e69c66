//! Window watchdog (RM0090 section 22): counts the bus clock and wants to be fed neither too early
//! nor too late.

use serde::Deserialize;

use crate::devices::common::register::{bit, merge, part};
use strobe_sim::kernel::device::{Context, Create, Device, OptionError, Reading, ResetCause, Size};

const CR: u32 = 0x00;
const CFR: u32 = 0x04;
const SR: u32 = 0x08;

/// The counter: seven bits, of which the highest must stay set.
const COUNTER: u32 = 0x7f;
const ALIVE: u32 = 0x40;
const CR_WDGA: u32 = 7;
const CFR_WDGTB: u32 = 7;
const CFR_EWI: u32 = 9;
/// Bus clocks per count at the smallest prescaler.
const CLOCKS: u64 = 4096;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {}

struct Wwdg {
    /// WDGA, which only a reset clears.
    active: bool,
    /// The counter's value and the cycle at which it came to it.
    counter: u32,
    since: u64,
    /// Core cycles per count.
    tick: u64,
    cfr: u32,
    early: bool,
}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let Options {} = cx.options()?;
    let tick = CLOCKS;
    Ok(Box::new(Wwdg {
        active: false,
        counter: COUNTER,
        since: 0,
        tick,
        cfr: COUNTER,
        early: false,
    }))
}

impl Wwdg {
    /// Brings the counter to the present; it counts whether the watchdog is active or not (22.3).
    fn catch_up(&mut self, now: u64) {
        let ticks = now.saturating_sub(self.since) / self.tick;
        self.since += ticks * self.tick;
        self.counter = self.counter.wrapping_sub(ticks as u32) & COUNTER;
    }

    fn ticks_to(&self, value: u32) -> u64 {
        u64::from(self.counter.wrapping_sub(value) & COUNTER)
    }

    /// Takes up the prescaler and the bus clock, and asks for the next event.
    fn schedule(&mut self, cx: &mut Context) {
        self.tick = (CLOCKS << (self.cfr >> CFR_WDGTB & 3)) * u64::from(cx.bus_divider());
        if !self.active {
            return cx.sleep();
        }
        // 22.4.3: EWIF at 0x40, the reset one count later.
        let next = if self.counter > ALIVE { ALIVE } else { ALIVE - 1 };
        cx.wake_at(self.since + self.ticks_to(next) * self.tick);
    }

    fn write_control(&mut self, value: u32, cx: &mut Context) {
        let too_early = self.active && self.counter > self.cfr & COUNTER;
        self.active |= bit(value, CR_WDGA);
        self.counter = value & COUNTER;
        self.since = cx.now();
        if too_early || self.active && self.counter < ALIVE {
            cx.system_reset(ResetCause::WindowWatchdog);
        }
    }
}

impl Device for Wwdg {
    fn read(&mut self, offset: u32, size: Size, cx: &mut Context) -> Option<u32> {
        self.catch_up(cx.now());
        let word = match offset & !3 {
            CR => self.counter | u32::from(self.active) << CR_WDGA,
            CFR => self.cfr,
            SR => self.early.into(),
            _ => return None,
        };
        Some(part(word, offset, size))
    }

    fn reading(&mut self, offset: u32, size: Size, _: &mut Context) -> Reading {
        if offset & !3 != CR {
            return Reading::FIXED;
        }
        let next = self.since + self.tick;
        let until = next.saturating_add(u64::from(self.counter) * self.tick);
        Reading::Counting { period: self.tick, next, down: true, until }.part(
            self.counter,
            offset,
            size,
        )
    }

    fn write(&mut self, offset: u32, size: Size, value: u32, cx: &mut Context) -> Option<()> {
        self.catch_up(cx.now());
        match offset & !3 {
            CR => self.write_control(merge(0, offset, size, value), cx),
            // 22.4.2: the early interrupt can only be switched on.
            CFR => {
                self.cfr = merge(self.cfr, offset, size, value) & 0x3ff | self.cfr & 1 << CFR_EWI
            }
            SR => self.early &= bit(merge(1, offset, size, value), 0),
            _ => return None,
        }
        self.schedule(cx);
        cx.interrupt(0, self.early && bit(self.cfr, CFR_EWI));
        Some(())
    }

    fn event(&mut self, cx: &mut Context) {
        self.catch_up(cx.now());
        if self.counter < ALIVE {
            return cx.system_reset(ResetCause::WindowWatchdog);
        }
        self.early |= self.counter == ALIVE;
        cx.interrupt(0, self.early && bit(self.cfr, CFR_EWI));
        self.schedule(cx);
    }

    fn clock_changed(&mut self, cx: &mut Context) {
        self.catch_up(cx.now());
        self.schedule(cx);
    }

    fn reset(&mut self, cx: &mut Context) {
        (self.active, self.counter, self.since) = (false, COUNTER, cx.now());
        (self.cfr, self.early) = (COUNTER, false);
        self.schedule(cx);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::{Rig, apb_device};

    const BASE: u32 = 0x4000_2c00;
    const BITTEN: Option<ResetCause> = Some(ResetCause::WindowWatchdog);

    fn rig() -> Rig {
        Rig::new(&apb_device(("WWDG", "stm32-wwdg"), BASE, &[0], ""))
    }

    #[test]
    fn it_warns_and_bites_at_its_counts() {
        let mut rig = rig();
        assert_eq!((rig.read32(BASE), rig.read32(BASE + CFR)), (0x7f, 0x7f));
        rig.write32(BASE + CFR, 0x7f | 1 << CFR_WDGTB | 1 << CFR_EWI);
        rig.write32(BASE, 1 << CR_WDGA | 0x45);
        let tick = 2 * 4096;
        rig.run_to(5 * tick - 1);
        assert!(!rig.irq(0));
        rig.run_to(5 * tick);
        assert_eq!((rig.irq(0), rig.read32(BASE)), (true, 0xc0));
        rig.write32(BASE + SR, 0);
        assert!(!rig.irq(0));
        rig.run_to(6 * tick - 1);
        assert_eq!(rig.bus.requests.reset, None);
        rig.run_to(6 * tick);
        assert_eq!(rig.bus.requests.reset, BITTEN);
    }

    #[test]
    fn feeding_outside_the_window_bites() {
        let mut rig = rig();
        rig.write32(BASE + CFR, 0x50);
        rig.write32(BASE, 0xff);
        rig.run_to(0x2f * 4096);
        rig.write32(BASE, 0xff);
        assert_eq!(rig.bus.requests.reset, None, "in the window");
        rig.advance(0x2e * 4096);
        rig.write32(BASE, 0xff);
        assert_eq!(rig.bus.requests.reset, BITTEN, "a count early");
    }

    #[test]
    fn a_dead_counter_bites_at_once_and_activation_stays() {
        let mut rig = rig();
        rig.write32(BASE, 0xff);
        rig.write32(BASE, 0x7f);
        assert_eq!(rig.read32(BASE), 0xff, "WDGA stays");
        assert_eq!(rig.bus.requests.reset, None);
        rig.write32(BASE, 0x3f);
        assert_eq!(rig.bus.requests.reset, BITTEN);
        rig.bus.reset();
        assert_eq!(rig.read32(BASE), 0x7f);
        assert_eq!(rig.bus.next_due, u64::MAX);
    }
}
