//! The ATtiny85's Timer1 (data sheet 2586Q, chapter 12): eight bits with a top register of its own,
//! and a clock of up to 64 MHz from the PLL.
//!
//! Wires: those of `outputs`, OC1A and OC1B, each with `_ON`, and of `inverted`, their complements.
//! Edges are shown at whole core cycles, also where the PLL's clock is faster than the core's. Dead
//! time is not modelled.

use serde::Deserialize;

use super::wave::{Mode, OVERFLOW, Shape, Top, Wave};
use crate::devices::avr::standstill::Standstill;
use strobe_sim::kernel::device::{
    ByteRegisters, Context, CoreEvents, Create, Device, OptionError, Reading, Size,
};
use strobe_sim::kernel::signal::SignalId;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    outputs: [String; 2],
    inverted: [String; 2],
}

const REGISTERS: &[&str] = &[
    "TCCR", "GTCCR", "TCNT", "OCRA", "OCRB", "OCRC", "TIMSK", "TIFR", "DTPS", "DTA", "DTB",
    "PLLCSR",
];
const TCCR: u32 = 0;
const GTCCR: u32 = 1;
const TCNT: u32 = 2;
const OCRA: u32 = 3;
const OCRB: u32 = 4;
const OCRC: u32 = 5;
const TIMSK: u32 = 6;
const TIFR: u32 = 7;
const DTPS: u32 = 8;
const DTB: u32 = 10;
const PLLCSR: u32 = 11;

const CTC: u8 = 1 << 7;
/// PWM1A in TCCR1, PWM1B in GTCCR.
const PWM: u8 = 1 << 6;
/// COM1B, FOC and PSR1; the rest of GTCCR is Timer0's.
const OWN_GTCCR: u8 = 0x7e;
const PRESCALER_RESET: u8 = 1 << 1;
const LOW_SPEED: u8 = 1 << 7;
const PLL_CLOCKS_TIMER: u8 = 1 << 2;
const PLL_ENABLE: u8 = 1 << 1;
const PLL_LOCKED: u8 = 1;
/// The PLL locks within 100 us (6.1.3).
const LOCK_NANOSECONDS: u64 = 100_000;

/// Flags of [`Wave`] and their bits in TIMSK and TIFR: compare A and B, overflow; in the order of
/// the interrupt lines.
const FLAGS: [(u8, u8); 3] = [(OVERFLOW << 1, 1 << 6), (OVERFLOW, 1 << 2), (OVERFLOW << 2, 1 << 5)];

struct Pair {
    level: SignalId,
    on: SignalId,
    inverted: SignalId,
    inverted_on: SignalId,
}

struct Timer {
    wave: Wave,
    pairs: Vec<Pair>,
    tccr: u8,
    gtccr: u8,
    dead: [u8; 3],
    pll: u8,
    pll_since: u64,
    enabled: u8,
    raised: u8,
    /// Cycle of the prescaler's reset, and clocks counted since.
    epoch: u64,
    taken: u64,
    standstill: Standstill,
}

pub(in crate::devices::avr) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let Options { outputs, inverted } = cx.options()?;
    let pairs = outputs.iter().zip(&inverted).map(|(name, other)| Pair {
        level: cx.signal(name),
        on: cx.signal(&format!("{name}_ON")),
        inverted: cx.signal(other),
        inverted_on: cx.signal(&format!("{other}_ON")),
    });
    Ok(Box::new(Timer {
        pairs: pairs.collect(),
        wave: fresh(),
        tccr: 0,
        gtccr: 0,
        dead: [0; 3],
        pll: 0,
        pll_since: 0,
        enabled: 0,
        raised: 0,
        epoch: 0,
        taken: 0,
        standstill: Standstill::default(),
    }))
}

fn fresh() -> Wave {
    let mut wave = Wave::new(2, 0xff);
    wave.capture = 0xff;
    wave
}

impl Timer {
    /// Clocks per core cycle, as a fraction; none while it stands still.
    fn rate(&self, cx: &Context) -> Option<(u64, u64)> {
        let select = self.tccr & 0xf;
        if select == 0 || self.standstill.is_on() {
            return None;
        }
        let prescaler = 1u64 << (select - 1);
        if self.pll & PLL_CLOCKS_TIMER == 0 {
            return Some((1, prescaler));
        }
        let hz = if self.pll & LOW_SPEED == 0 { 64_000_000 } else { 32_000_000 };
        Some((hz, prescaler * u64::from(cx.clocks().core_hz())))
    }

    fn clocks_at(&self, cycle: u64, (clocks, cycles): (u64, u64)) -> u64 {
        let passed = u128::from(cycle.saturating_sub(self.epoch));
        (passed * u128::from(clocks) / u128::from(cycles)) as u64
    }

    /// The cycle of the `clocks`-th clock from now on, up to which all have been taken.
    fn cycle_of(&self, clocks: u64, cx: &Context) -> Option<u64> {
        let (per, cycles) = self.rate(cx)?;
        let to = u128::from(self.taken + clocks) * u128::from(cycles);
        Some(self.epoch + to.div_ceil(u128::from(per)) as u64)
    }

    fn catch_up(&mut self, cx: &mut Context) {
        let Some(rate) = self.rate(cx) else { return };
        let clocks = self.clocks_at(cx.now(), rate);
        let new = clocks.saturating_sub(std::mem::replace(&mut self.taken, clocks));
        self.raised |= self.wave.run(new);
    }

    /// The prescaler begins anew, after a change of the clock or its reset bit.
    fn begin_anew(&mut self, cx: &Context) {
        (self.epoch, self.taken) = (cx.now(), 0);
    }

    fn is_pwm(&self) -> bool {
        (self.tccr | self.gtccr) & PWM != 0
    }

    fn set_mode(&mut self) {
        let (shape, top) = match (self.is_pwm(), self.tccr & CTC != 0) {
            (true, _) => (Shape::Fast, Top::Capture),
            (_, true) => (Shape::Plain, Top::Capture),
            _ => (Shape::Plain, Top::Fixed(0xff)),
        };
        self.wave.set_mode(Mode { shape, top });
        for (at, control) in [self.tccr, self.gtccr].into_iter().enumerate() {
            let action = control >> 4 & 3;
            // With PWM the first mode is the second with the complement on a pin of its own (table
            // 12-1).
            self.wave.channels[at].action =
                if self.is_pwm() { action.max(action << 1 & 2) } else { action };
        }
    }

    fn show(&self, cx: &mut Context) {
        for (at, pair) in self.pairs.iter().enumerate() {
            let channel = self.wave.channels[at];
            let control = if at == 0 { self.tccr } else { self.gtccr };
            cx.set_signal(pair.level, channel.output);
            cx.set_signal(pair.on, channel.action != 0);
            cx.set_signal(pair.inverted, !channel.output);
            cx.set_signal(pair.inverted_on, self.is_pwm() && control >> 4 & 3 == 1);
        }
        for (line, (flag, _)) in FLAGS.iter().enumerate() {
            cx.interrupt(line, self.raised & self.enabled & flag != 0);
        }
        let drives = self.wave.channels.iter().any(|channel| channel.action != 0);
        let wanted = drives || self.enabled & !self.raised != 0;
        let due = self.cycle_of(self.wave.quiet() + 1, cx).filter(|_| wanted);
        cx.wake_at(due.unwrap_or(u64::MAX));
    }

    fn force(&mut self, value: u8) {
        for (at, bit) in [(0, 1 << 2), (1, 1 << 3)] {
            if value & bit != 0 {
                self.wave.force(at);
            }
        }
    }

    fn set_pll(&mut self, value: u8, cx: &mut Context) {
        if value & PLL_ENABLE != 0 && self.pll & PLL_ENABLE == 0 {
            self.pll_since = cx.nanoseconds();
        }
        let switches = (value ^ self.pll) & (PLL_CLOCKS_TIMER | LOW_SPEED) != 0;
        self.pll = value & (LOW_SPEED | PLL_CLOCKS_TIMER | PLL_ENABLE);
        if switches {
            self.begin_anew(cx);
        }
    }
}

fn bits_of(flags: u8) -> u8 {
    FLAGS.iter().filter(|(flag, _)| flags & flag != 0).fold(0, |bits, (_, bit)| bits | bit)
}

fn flags_of(bits: u8) -> u8 {
    FLAGS.iter().filter(|(_, bit)| bits & bit != 0).fold(0, |flags, (flag, _)| flags | flag)
}

impl Device for Timer {
    fn read(&mut self, register: u32, _: Size, cx: &mut Context) -> Option<u32> {
        self.catch_up(cx);
        Some(u32::from(match register {
            TCCR => self.tccr,
            GTCCR => self.gtccr,
            TCNT => self.wave.count as u8,
            OCRA | OCRB => self.wave.channels[(register - OCRA) as usize].buffer as u8,
            OCRC => self.wave.capture as u8,
            TIMSK => bits_of(self.enabled),
            TIFR => bits_of(self.raised),
            DTPS..=DTB => self.dead[(register - DTPS) as usize],
            PLLCSR => {
                let on = self.pll & PLL_ENABLE != 0;
                let locked = on && cx.nanoseconds() >= self.pll_since + LOCK_NANOSECONDS;
                self.pll | if locked { PLL_LOCKED } else { 0 }
            }
            _ => return None,
        }))
    }

    fn reading(&mut self, register: u32, _: Size, cx: &mut Context) -> Reading {
        let now = cx.now();
        let flags = FLAGS.iter().fold(0, |all, (flag, _)| all | flag);
        let until = match register {
            TCNT => self.cycle_of(1, cx),
            TIFR if flags & !self.raised & self.wave.can_raise() != 0 => {
                self.cycle_of(self.wave.quiet() + 1, cx)
            }
            PLLCSR if self.pll & PLL_ENABLE != 0 => {
                let locked = cx.clocks().first_cycle_at(self.pll_since + LOCK_NANOSECONDS);
                Some(locked).filter(|&locked| locked > now)
            }
            _ => None,
        };
        Reading::FIXED.before(until.unwrap_or(u64::MAX))
    }

    fn write(&mut self, register: u32, _: Size, value: u32, cx: &mut Context) -> Option<()> {
        self.catch_up(cx);
        let value = value as u8;
        match register {
            TCCR => {
                let other_clock = (value ^ self.tccr) & 0xf != 0;
                self.tccr = value;
                if other_clock {
                    self.begin_anew(cx);
                }
                self.set_mode();
            }
            GTCCR => {
                self.gtccr = value & OWN_GTCCR & !PRESCALER_RESET & !0x0c;
                self.set_mode();
                self.force(value);
                if value & PRESCALER_RESET != 0 {
                    self.begin_anew(cx);
                }
            }
            TCNT => self.wave.set_count(value.into()),
            OCRA | OCRB => self.wave.set_compare((register - OCRA) as usize, value.into()),
            OCRC => self.wave.capture = value.into(),
            TIMSK => self.enabled = flags_of(value),
            TIFR => self.raised &= !flags_of(value),
            DTPS..=DTB => {
                self.dead[(register - DTPS) as usize] = value;
                if register != DTPS && value != 0 {
                    let name = cx.name().to_owned();
                    cx.warn_of(
                        "not-modelled",
                        format!("{name}: dead time (DT1A, DT1B) is not modelled"),
                    );
                }
            }
            PLLCSR => self.set_pll(value, cx),
            _ => return None,
        }
        self.show(cx);
        Some(())
    }

    fn set_bit(&mut self, register: u32, bit: u8, level: bool, cx: &mut Context) -> Option<()> {
        let keeps = if register == TIFR { 0 } else { self.read(register, Size::Byte, cx)? };
        self.write(register, Size::Byte, keeps & !(1 << bit) | u32::from(level) << bit, cx)
    }

    fn event(&mut self, cx: &mut Context) {
        self.catch_up(cx);
        self.show(cx);
    }

    fn clock_changed(&mut self, cx: &mut Context) {
        let runs = cx.clocked() && cx.clocks().io_runs();
        if !runs {
            self.catch_up(cx);
        }
        let Some(gap) = self.standstill.change(runs, cx.now()) else { return };
        self.epoch += gap;
        self.show(cx);
    }

    fn reset(&mut self, cx: &mut Context) {
        self.wave = fresh();
        (self.tccr, self.gtccr, self.dead, self.pll) = (0, 0, [0; 3], 0);
        (self.enabled, self.raised, self.taken, self.epoch) = (0, 0, 0, cx.now());
        self.show(cx);
    }

    fn byte_registers(&mut self) -> Option<&mut dyn ByteRegisters> {
        Some(self)
    }

    fn core_events(&mut self) -> Option<&mut dyn CoreEvents> {
        Some(self)
    }
}

impl ByteRegisters for Timer {
    fn names(&self) -> &'static [&'static str] {
        REGISTERS
    }

    fn is_shared(&self, register: u32) -> bool {
        matches!(register, GTCCR | TIMSK | TIFR)
    }
}

impl CoreEvents for Timer {
    fn interrupt_taken(&mut self, line: usize, cx: &mut Context) {
        self.catch_up(cx);
        self.raised &= !FLAGS.get(line).map_or(0, |&(flag, _)| flag);
        self.show(cx);
    }
}
