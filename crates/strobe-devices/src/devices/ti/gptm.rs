//! General-purpose timer module of Stellaris parts (LM3S6965 data sheet, section 9): one counter of
//! 32 bits, two of 16 with prescalers, or a real-time counter.
//!
//! Modelled: one-shot and periodic counting, the real-time counter. Not modelled, and said so when
//! firmware asks for it: input capture and PWM. Interrupt lines: timer A, timer B.

#[cfg(test)]
mod tests;

use serde::Deserialize;

use crate::devices::common::counter::DownCounter;
use crate::devices::common::register::{bit, merge, part};
use crate::devices::common::serial::earliest;
use strobe_sim::kernel::device::{
    Context, Create, Device, OptionError, Reading, Shift, ShiftedTimer, Size, part_of,
};

const CFG: u32 = 0x00;
const TAMR: u32 = 0x04;
const TBMR: u32 = 0x08;
const CTL: u32 = 0x0c;
const IMR: u32 = 0x18;
const RIS: u32 = 0x1c;
const MIS: u32 = 0x20;
const ICR: u32 = 0x24;
const TAILR: u32 = 0x28;
const TBILR: u32 = 0x2c;
const TAMATCHR: u32 = 0x30;
const TBMATCHR: u32 = 0x34;
const TAPR: u32 = 0x38;
const TBPR: u32 = 0x3c;
const TAPMR: u32 = 0x40;
const TBPMR: u32 = 0x44;
const TAR: u32 = 0x48;
const TBR: u32 = 0x4c;

/// Bit numbers in CTL: timer A on, timer B on.
const ENABLE: [u32; 2] = [0, 8];
/// Flags of RIS: time-out of A and B, match of the real-time counter.
const TIMEOUT: [u32; 2] = [1 << 0, 1 << 8];
const RTC_MATCH: u32 = 1 << 3;
const FLAGS: u32 = 0x070f;
/// TAMR, TBMR: one-shot; capture.
const ONE_SHOT: u32 = 1;
const CAPTURE: u32 = 3;
/// TAMR, TBMR: PWM instead.
const PWM: u32 = 1 << 3;
const SECOND_NS: u64 = 1_000_000_000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {}

/// What the two halves are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// One timer of 32 bits.
    Joined,
    /// A counter of seconds.
    Clock,
    /// Two timers of 16 bits.
    Split,
}

struct Gptm {
    config: u32,
    modes: [u32; 2],
    control: u32,
    mask: u32,
    raw: u32,
    load: [u32; 2],
    matches: [u32; 2],
    prescale: [u32; 2],
    prescale_match: [u32; 2],
    counters: [DownCounter; 2],
    /// The real-time counter's value and when it came to it, in nanoseconds.
    clock: (u32, u64),
}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let Options {} = cx.options()?;
    Ok(Box::new(Gptm::new()))
}

impl Gptm {
    fn new() -> Self {
        let stopped = |value| DownCounter::new(value, value);
        Gptm {
            config: 0,
            modes: [0; 2],
            control: 0,
            mask: 0,
            raw: 0,
            load: [u32::MAX, 0xffff],
            matches: [u32::MAX, 0xffff],
            prescale: [0; 2],
            prescale_match: [0; 2],
            counters: [stopped(u32::MAX), stopped(0xffff)],
            clock: (0, 0),
        }
    }

    fn shape(&self) -> Shape {
        match self.config {
            0 => Shape::Joined,
            1 => Shape::Clock,
            _ => Shape::Split,
        }
    }

    fn is_on(&self, half: usize) -> bool {
        let counts = self.shape() == Shape::Split || half == 0;
        let capture = self.modes[half] & 3 == CAPTURE || self.modes[half] & PWM != 0;
        counts && bit(self.control, ENABLE[half]) && !(self.shape() == Shape::Split && capture)
    }

    fn width(&self) -> u32 {
        if self.shape() == Shape::Split { 0xffff } else { u32::MAX }
    }

    fn catch_up(&mut self, cx: &mut Context) {
        for half in 0..2 {
            let times = self.counters[half].advance(cx.now());
            if times == 0 {
                continue;
            }
            if self.mask & TIMEOUT[half] != 0 && self.modes[half] & 3 != ONE_SHOT {
                let taken = u64::from(self.raw & TIMEOUT[half] == 0);
                cx.lose_requests(half, times - taken);
            }
            self.raw |= TIMEOUT[half];
            if self.modes[half] & 3 == ONE_SHOT {
                self.control &= !(1 << ENABLE[half]);
                self.counters[half].set(self.load[half] & self.width(), cx.now());
                self.counters[half].run(false, 1, cx.now());
            }
        }
        self.count_seconds(cx);
    }

    fn clock_runs(&self) -> bool {
        self.shape() == Shape::Clock && bit(self.control, ENABLE[0])
    }

    /// 9.2.2.2: counts up, one a second, and goes on from 0 behind the match value.
    fn count_seconds(&mut self, cx: &Context) {
        let now = cx.clocks().nanoseconds_at(cx.now());
        let (value, since) = self.clock;
        if !self.clock_runs() {
            self.clock.1 = now;
            return;
        }
        // One nanosecond is lost to rounding between cycles and time.
        let seconds = (now + 1).saturating_sub(since) / SECOND_NS;
        if seconds == 0 {
            return;
        }
        let limit = u64::from(self.matches[0]) + 1;
        let count = u64::from(value) + seconds;
        if u64::from(value) < limit - 1 && count >= limit - 1 || count >= 2 * limit - 1 {
            self.raw |= RTC_MATCH;
        }
        self.clock = ((count % limit) as u32, since + seconds * SECOND_NS);
    }

    fn publish(&mut self, cx: &mut Context) {
        for half in 0..2 {
            let prescale =
                if self.shape() == Shape::Split { u64::from(self.prescale[half]) + 1 } else { 1 };
            let on = self.is_on(half) && self.shape() != Shape::Clock;
            self.counters[half].reload = self.load[half] & self.width();
            self.counters[half].run(on, prescale, cx.now());
        }
        let asked = self.raw & self.mask;
        cx.interrupt(0, asked & 0x00ff != 0);
        cx.interrupt(1, asked & 0xff00 != 0);
        let timers = (0..2).map(|half| {
            let watched = self.mask & !self.raw & TIMEOUT[half] != 0;
            let one_shot = self.modes[half] & 3 == ONE_SHOT;
            self.counters[half].due().filter(|_| watched || one_shot)
        });
        let clock = (self.clock_runs() && self.mask & !self.raw & RTC_MATCH != 0)
            .then(|| cx.clocks().cycle_at_nanoseconds(self.clock.1 + SECOND_NS));
        match earliest(timers.chain([clock])) {
            Some(cycle) => cx.wake_at(cycle),
            None => cx.sleep(),
        }
    }

    /// The next time-out of a timer that is not flagged.
    fn next_timeout(&self) -> u64 {
        let unflagged = (0..2).filter(|&half| self.raw & TIMEOUT[half] == 0);
        unflagged.filter_map(|half| self.counters[half].due()).min().unwrap_or(u64::MAX)
    }

    /// When the real-time counter goes on.
    fn next_second(&self, cx: &Context) -> u64 {
        if !self.clock_runs() {
            return u64::MAX;
        }
        // As in `count_seconds`.
        cx.clocks().first_cycle_at(self.clock.1 + SECOND_NS - 1)
    }

    fn count_reading(&self, half: usize, mask: u32, offset: u32, size: Size) -> Reading {
        let value = self.counters[half].value();
        self.counters[half].reading().masked(value, mask).part(value & mask, offset, size)
    }

    fn word(&self, register: u32) -> Option<u32> {
        Some(match register {
            CFG => self.config,
            TAMR | TBMR => self.modes[((register - TAMR) / 4) as usize],
            CTL => self.control,
            IMR => self.mask,
            RIS => self.raw,
            MIS => self.raw & self.mask,
            ICR => 0,
            TAILR => self.load[0] & self.width(),
            TBILR => self.load[1],
            TAMATCHR => self.matches[0] & self.width(),
            TBMATCHR => self.matches[1],
            TAPR | TBPR => self.prescale[((register - TAPR) / 4) as usize],
            TAPMR | TBPMR => self.prescale_match[((register - TAPMR) / 4) as usize],
            TAR if self.shape() == Shape::Clock => self.clock.0,
            TAR => self.counters[0].value() & self.width(),
            TBR => self.counters[1].value() & 0xffff,
            _ => return None,
        })
    }

    fn write_control(&mut self, value: u32, cx: &mut Context) {
        let started = value & !self.control;
        self.control = value & 0x6f7f;
        for half in (0..2).filter(|&half| bit(started, ENABLE[half])) {
            let load = self.load[half] & self.width();
            self.counters[half].set(load, cx.now());
            let capture = self.modes[half] & 3 == CAPTURE || self.modes[half] & PWM != 0;
            if self.shape() == Shape::Split && capture {
                cx.warn_of(
                    "not-modelled",
                    format!("{}: input capture and PWM are not modelled", cx.name()),
                );
            }
        }
    }

    fn write_word(&mut self, register: u32, value: u32, cx: &mut Context) {
        match register {
            CFG => self.config = value & 7,
            TAMR | TBMR => self.modes[((register - TAMR) / 4) as usize] = value & 0xf,
            CTL => self.write_control(value, cx),
            IMR => self.mask = value & FLAGS,
            ICR => self.raw &= !value,
            TAILR | TBILR => {
                let half = ((register - TAILR) / 4) as usize;
                self.load[half] = if half == 0 { value } else { value & 0xffff };
                // A load counts from the next clock on (9.4, GPTMTAILR).
                self.counters[half].set(self.load[half] & self.width(), cx.now());
                if self.shape() == Shape::Clock && half == 0 {
                    self.clock = (value, cx.clocks().nanoseconds_at(cx.now()));
                }
            }
            TAMATCHR => self.matches[0] = value,
            TBMATCHR => self.matches[1] = value & 0xffff,
            TAPR | TBPR => self.prescale[((register - TAPR) / 4) as usize] = value & 0xff,
            TAPMR | TBPMR => self.prescale_match[((register - TAPMR) / 4) as usize] = value & 0xff,
            _ => {}
        }
    }
}

impl Device for Gptm {
    fn read(&mut self, offset: u32, size: Size, cx: &mut Context) -> Option<u32> {
        self.catch_up(cx);
        Some(part(self.word(offset & !3)?, offset, size))
    }

    fn reading(&mut self, offset: u32, size: Size, cx: &mut Context) -> Reading {
        let second = self.next_second(cx);
        match offset & !3 {
            // A masked interrupt has no event.
            RIS | MIS => Reading::FIXED.before(self.next_timeout().min(second)),
            TAR if self.shape() == Shape::Clock => Reading::FIXED.before(second),
            TAR => self.count_reading(0, self.width(), offset, size),
            TBR => self.count_reading(1, 0xffff, offset, size),
            _ => Reading::FIXED,
        }
    }

    fn write(&mut self, offset: u32, size: Size, value: u32, cx: &mut Context) -> Option<()> {
        self.catch_up(cx);
        let register = offset & !3;
        let value = merge(self.word(register)?, offset, size, value);
        self.write_word(register, value, cx);
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
        *self = Gptm::new();
        self.clock.1 = cx.clocks().nanoseconds_at(cx.now());
        self.publish(cx);
    }

    fn shifted_timer(&mut self) -> Option<&mut dyn ShiftedTimer> {
        Some(self)
    }
}

impl ShiftedTimer for Gptm {
    /// Both timers go on, each by the part of its own rest; the cycles are those of the one whose
    /// interrupt comes first.
    fn shift(&mut self, part: u32, of: u32, cx: &mut Context) -> Shift {
        self.catch_up(cx);
        if self.clock_runs() {
            return Shift::Unfit("it counts seconds");
        }
        let asks =
            |&half: &usize| self.mask & TIMEOUT[half] != 0 && self.counters[half].due().is_some();
        let mut asking: Vec<usize> = (0..2).filter(asks).collect();
        asking.sort_by_key(|&half| self.counters[half].due());
        if asking.iter().any(|&half| self.modes[half] & 3 == ONE_SHOT) {
            return Shift::Unfit("it counts one period only");
        }
        let mut cycles = Vec::new();
        for half in asking {
            let left = self.counters[half].value().into();
            cycles.push(self.counters[half].skip(part_of(left, part, of) as u32));
        }
        self.publish(cx);
        cycles.first().map_or(Shift::Idle, |&cycles| Shift::Earlier(cycles))
    }
}
