//! General-purpose I/O port of the STM32F1 (RM0008 section 9.2): four configuration bits a pin.
//!
//! The port owns its pins' wires (`PA0` to `PA15`). A pin in an alternate output mode follows the
//! peripheral that board data names for it: the first whose remap conditions hold and whose clock
//! is on. A pin that is an input feeds every peripheral input that is named for it.

mod alternate;
#[cfg(test)]
mod tests;

use crate::devices::common::register::{bit, merge, part};
use alternate::{Alternates, Options};
use strobe_sim::kernel::device::{Context, Create, Device, DrivenPins, OptionError, Reading, Size};
use strobe_sim::kernel::signal::SignalId;

const CRL: u32 = 0x00;
const CRH: u32 = 0x04;
const IDR: u32 = 0x08;
const ODR: u32 = 0x0c;
const BSRR: u32 = 0x10;
const BRR: u32 = 0x14;
const LCKR: u32 = 0x18;

/// All pins are floating inputs.
const CR_RESET: u32 = 0x4444_4444;
/// LCKR.LCKK.
const LOCK_KEY: u32 = 1 << 16;

/// A pin's mode, as MODE and CNF code it (table 20).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Analog,
    Floating,
    /// With a pull-up if its output bit is set, else a pull-down.
    Pulled,
    Output {
        open_drain: bool,
        alternate: bool,
    },
}

impl Mode {
    fn of(field: u32) -> Mode {
        match (field & 3, field >> 2 & 3) {
            (0, 0) => Mode::Analog,
            (0, 2) => Mode::Pulled,
            (0, _) => Mode::Floating,
            (_, cnf) => Mode::Output { open_drain: cnf & 1 != 0, alternate: cnf & 2 != 0 },
        }
    }
}

struct Gpio {
    port: String,
    bonded: u16,
    pins: [SignalId; 16],
    alternates: Alternates,
    /// The pins' levels, which the input register shows.
    levels: u32,
    cr: [u32; 2],
    odr: u32,
    lock: Lock,
}

/// The lock sequence: the same pins with the key set, clear, set (9.2.7).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Lock {
    pins: u32,
    step: u8,
}

impl Lock {
    fn is_locked(self) -> bool {
        self.step == 3
    }

    fn write(&mut self, value: u32) {
        if self.is_locked() {
            return;
        }
        let (pins, key) = (value & 0xffff, value & LOCK_KEY != 0);
        self.step = match (self.step, key) {
            (0, true) => 1,
            (1, false) if pins == self.pins => 2,
            (2, true) if pins == self.pins => 3,
            _ => 0,
        };
        self.pins = pins;
    }

    /// Bits of a configuration register that are fixed.
    fn mask(self, half: usize) -> u32 {
        let pins = if self.is_locked() { self.pins >> (8 * half) } else { 0 };
        (0..8).filter(|&n| bit(pins, n)).map(|n| 0xf << (4 * n)).sum()
    }
}

pub(in crate::devices::stm32) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let options: Options = cx.options()?;
    if let Some(pin) = options.pins.iter().find(|&&n| n > 15) {
        return Err(OptionError::invalid(
            "pins",
            format!("{pin} is not a pin number from 0 to 15"),
        ));
    }
    let pins = std::array::from_fn(|n| cx.signal(&format!("P{}{n}", options.port)));
    let bonded = options.pins.iter().map(|&n| 1u16 << n).fold(0, |all, one| all | one);
    for n in options.pins.iter() {
        cx.signals.mark_pin(pins[usize::from(*n)]);
    }
    let alternates = Alternates::new(&options, cx)?;
    let port = options.port;
    let (cr, lock) = ([CR_RESET; 2], Lock::default());
    Ok(Box::new(Gpio { port, bonded, pins, alternates, levels: 0, cr, odr: 0, lock }))
}

impl Gpio {
    fn mode(&self, pin: usize) -> Mode {
        Mode::of(self.cr[pin / 8] >> (4 * (pin % 8)))
    }

    /// What the pin's output stage does: drive it, or (`None`) leave it alone.
    fn drive(&self, pin: usize, cx: &Context) -> Option<bool> {
        let Mode::Output { open_drain, alternate } = self.mode(pin) else { return None };
        let level = if alternate {
            cx.level(self.alternates.output(pin, cx)?)
        } else {
            bit(self.odr, pin as u32)
        };
        // An open-drain stage only pulls down.
        (!(open_drain && level)).then_some(level)
    }

    /// The level of a pin whose output stage leaves it alone. An input that nothing holds reads
    /// low; an open-drain output that lets go is taken to have its pull-up on the circuit board.
    fn level(&self, pin: usize, cx: &Context) -> bool {
        let unheld = match self.mode(pin) {
            Mode::Pulled => bit(self.odr, pin as u32),
            Mode::Output { open_drain, .. } => open_drain,
            Mode::Analog | Mode::Floating => false,
        };
        cx.external(self.pins[pin]).unwrap_or(unheld)
    }

    fn refresh(&mut self, pin: usize, cx: &mut Context) {
        let driven = self.drive(pin, cx);
        let level = driven.unwrap_or_else(|| self.level(pin, cx));
        self.levels = self.levels & !(1 << pin) | u32::from(level) << pin;
        cx.set_pin(self.pins[pin], level, driven.is_some());
        // A line that nobody drives is idle, as far as a peripheral at a floating input goes.
        let floating = self.mode(pin) == Mode::Floating && cx.external(self.pins[pin]).is_none();
        let reads = matches!(self.mode(pin), Mode::Floating | Mode::Pulled);
        if reads || matches!(self.mode(pin), Mode::Output { open_drain: true, .. }) {
            self.alternates.feed(pin, level || floating, cx);
        }
    }

    fn refresh_all(&mut self, cx: &mut Context) {
        (0..16).for_each(|pin| self.refresh(pin, cx));
    }

    /// What a peripheral does to an open-drain pin, others may hear as an input.
    fn hear(&self, cx: &mut Context) {
        let open = Mode::Output { open_drain: true, alternate: true };
        cx.hear_edges((0..16).any(|pin| self.mode(pin) == open));
    }

    fn set_odr(&mut self, odr: u32, cx: &mut Context) {
        let changed = self.odr ^ odr;
        self.odr = odr & 0xffff;
        (0..16).filter(|&n| bit(changed, n)).for_each(|n| self.refresh(n as usize, cx));
    }

    fn configure(&mut self, half: usize, value: u32, cx: &mut Context) {
        let locked = self.lock.mask(half);
        self.cr[half] = self.cr[half] & locked | value & !locked;
        self.hear(cx);
        self.refresh_all(cx);
        for pin in (8 * half..8 * half + 8).filter(|&pin| self.bonded >> pin & 1 == 0) {
            if matches!(self.mode(pin), Mode::Output { .. }) {
                let name = format!("P{}{pin}", self.port);
                cx.warn_of(
                    "no-such-pin",
                    format!("{name} is used as an output, but this package has no such pin"),
                );
            }
        }
    }

    /// The input register: analog pins read zero.
    fn idr(&self) -> u32 {
        let analog = (0..16).filter(|&pin| self.mode(pin) == Mode::Analog);
        self.levels & !analog.map(|pin| 1u32 << pin).sum::<u32>()
    }

    fn word(&self, register: u32) -> Option<u32> {
        Some(match register {
            CRL => self.cr[0],
            CRH => self.cr[1],
            IDR => self.idr(),
            ODR => self.odr,
            BSRR | BRR => 0,
            LCKR => self.lock.pins | if self.lock.is_locked() { LOCK_KEY } else { 0 },
            _ => return None,
        })
    }
}

impl Device for Gpio {
    fn read(&mut self, offset: u32, size: Size, _cx: &mut Context) -> Option<u32> {
        Some(part(self.word(offset & !3)?, offset, size))
    }

    fn reading(&mut self, _: u32, _: Size, _: &mut Context) -> Reading {
        Reading::FIXED
    }

    fn write(&mut self, offset: u32, size: Size, value: u32, cx: &mut Context) -> Option<()> {
        let register = offset & !3;
        let value = merge(self.word(register)?, offset, size, value);
        match register {
            CRL => self.configure(0, value, cx),
            CRH => self.configure(1, value, cx),
            ODR => self.set_odr(value, cx),
            // 9.2.5: if both are asked for, set wins.
            BSRR => self.set_odr(self.odr & !(value >> 16) | value & 0xffff, cx),
            BRR => self.set_odr(self.odr & !value, cx),
            LCKR => self.lock.write(value),
            _ => {}
        }
        Some(())
    }

    fn signal(&mut self, id: SignalId, _level: bool, cx: &mut Context) {
        for pin in self.alternates.pins_of(id) {
            self.refresh(pin, cx);
        }
    }

    fn clock_changed(&mut self, cx: &mut Context) {
        // A peripheral's clock decides whether it has its pin.
        let shared: Vec<usize> = (0..16).filter(|&pin| self.alternates.is_shared(pin)).collect();
        shared.into_iter().for_each(|pin| self.refresh(pin, cx));
    }

    fn reset(&mut self, cx: &mut Context) {
        (self.cr, self.odr, self.lock) = ([CR_RESET; 2], 0, Lock::default());
        self.hear(cx);
        self.refresh_all(cx);
    }

    fn driven_pins(&mut self) -> Option<&mut dyn DrivenPins> {
        Some(self)
    }
}

impl DrivenPins for Gpio {
    fn driven(&mut self, pin: SignalId, cx: &mut Context) {
        if let Some(pin) = self.pins.iter().position(|&wire| wire == pin) {
            self.refresh(pin, cx);
        }
    }
}
