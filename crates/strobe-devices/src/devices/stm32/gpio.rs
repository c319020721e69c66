//! General-purpose I/O port (RM0360 section 8, RM0090 section 8).
//!
//! The port owns its pins' wires (`PA0` to `PA15`). A pin's level comes from the output register,
//! from a peripheral's wire that the alternate function selects, from outside the chip, or from a
//! pull resistor. Which wire belongs to which alternate function is board data.

use crate::devices::common::register::{bit, merge, part};
use strobe_sim::kernel::device::{Context, Create, Device, DrivenPins, OptionError, Reading, Size};
use strobe_sim::kernel::signal::SignalId;

mod alternate;

use alternate::{Alternates, Options, Selector};

const MODER: u32 = 0x00;
const OTYPER: u32 = 0x04;
const OSPEEDR: u32 = 0x08;
const PUPDR: u32 = 0x0c;
const IDR: u32 = 0x10;
const ODR: u32 = 0x14;
const BSRR: u32 = 0x18;
const LCKR: u32 = 0x1c;
const AFRL: u32 = 0x20;
const AFRH: u32 = 0x24;
const BRR: u32 = 0x28;

/// LCKR.LCKK.
const LOCK_KEY: u32 = 1 << 16;

/// A pin's mode, as MODER codes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Input,
    Output,
    Alternate,
    Analog,
}

/// What an output stage does with its pin.
enum Drive {
    Level(bool),
    Open,
}

struct Gpio {
    options: Options,
    pins: [SignalId; 16],
    alternates: Alternates,
    /// The pins' levels, which the input register shows.
    levels: u16,
    moder: u32,
    otyper: u32,
    ospeedr: u32,
    pupdr: u32,
    odr: u32,
    afr: [u32; 2],
    lock: Lock,
}

/// The lock sequence: the same pins with the key set, clear, set; then a read (8.4.8).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Lock {
    pins: u32,
    step: u8,
    locked: bool,
}

impl Lock {
    fn write(&mut self, value: u32) {
        if self.locked {
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
        self.locked = self.step == 3;
    }

    /// Bits that a register with `width` bits per pin may not change; `first` is its first pin.
    fn mask(&self, width: u32, first: u32) -> u32 {
        if !self.locked {
            return 0;
        }
        let field = (1u32 << width) - 1;
        let pins = (first..16).take(32 / width as usize);
        pins.filter(|&n| bit(self.pins, n)).map(|n| field << ((n - first) * width)).sum()
    }
}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let options: Options = cx.options()?;
    if let Some(pin) = options.pins.iter().find(|&&n| n > 15) {
        return Err(OptionError::invalid(
            "pins",
            format!("{pin} is not a pin number from 0 to 15"),
        ));
    }
    let pins = std::array::from_fn(|n| cx.signal(&format!("P{}{n}", options.port)));
    for (n, &wire) in pins.iter().enumerate() {
        if options.pins.contains(&(n as u8)) {
            cx.signals.mark_pin(wire);
        }
    }
    let alternates = Alternates::new(&options, cx)?;
    Ok(Box::new(Gpio {
        options,
        pins,
        alternates,
        levels: 0,
        moder: 0,
        otyper: 0,
        ospeedr: 0,
        pupdr: 0,
        odr: 0,
        afr: [0; 2],
        lock: Lock::default(),
    }))
}

impl Gpio {
    fn mode(&self, pin: usize) -> Mode {
        [Mode::Input, Mode::Output, Mode::Alternate, Mode::Analog]
            [(self.moder >> (2 * pin) & 3) as usize]
    }

    fn function(&self, pin: usize) -> u8 {
        (self.afr[pin / 8] >> (4 * (pin % 8)) & 0xf) as u8
    }

    /// The wire that the pin's alternate function selects, if the pin is in that mode.
    fn selected(&self, pin: usize) -> Option<(SignalId, Selector)> {
        if self.mode(pin) != Mode::Alternate {
            return None;
        }
        self.alternates.wire(pin, self.function(pin))
    }

    fn drive(&self, pin: usize, cx: &Context) -> Drive {
        let level = match self.mode(pin) {
            Mode::Output => bit(self.odr, pin as u32),
            Mode::Alternate => match self.selected(pin) {
                Some((wire, Selector::Out)) => cx.level(wire),
                _ => return Drive::Open,
            },
            Mode::Input | Mode::Analog => return Drive::Open,
        };
        // An open-drain stage only pulls down.
        if level && bit(self.otyper, pin as u32) { Drive::Open } else { Drive::Level(level) }
    }

    /// The pin's level. An input that nothing holds reads low. An open-drain output that lets go is
    /// taken to have its pull-up on the circuit board, and a peripheral's input to be at an
    /// idle line.
    fn level(&self, pin: usize, drive: &Drive, cx: &Context) -> bool {
        if let Drive::Level(level) = *drive {
            return level;
        }
        let unheld = match (self.mode(pin), self.pupdr >> (2 * pin) & 3) {
            (Mode::Analog, _) => false,
            (_, 1) => true,
            (_, 2) => false,
            (Mode::Input, _) => false,
            _ => {
                bit(self.otyper, pin as u32)
                    || matches!(self.selected(pin), Some((_, Selector::In)))
            }
        };
        cx.external(self.pins[pin]).unwrap_or(unheld)
    }

    fn refresh(&mut self, pin: usize, cx: &mut Context) {
        let drive = self.drive(pin, cx);
        let level = self.level(pin, &drive, cx);
        self.levels = self.levels & !(1 << pin) | u16::from(level) << pin;
        cx.set_pin(self.pins[pin], level, matches!(drive, Drive::Level(_)));
        if let Some((wire, Selector::In)) = self.selected(pin) {
            cx.set_signal(wire, level);
        }
    }

    fn refresh_all(&mut self, cx: &mut Context) {
        (0..16).for_each(|pin| self.refresh(pin, cx));
    }

    fn set_odr(&mut self, odr: u32, cx: &mut Context) {
        let changed = self.odr ^ odr;
        self.odr = odr;
        for pin in (0..16).filter(|&pin| bit(changed, pin as u32)) {
            if self.mode(pin) == Mode::Output {
                self.refresh(pin, cx);
            }
        }
    }

    /// The input register: analog pins read zero (8.3.12).
    fn idr(&self) -> u32 {
        let analog = (0..16).filter(|&pin| self.mode(pin) == Mode::Analog);
        u32::from(self.levels) & !analog.map(|pin| 1u32 << pin).sum::<u32>()
    }

    fn configure(&mut self, register: u32, offset: u32, size: Size, value: u32) {
        let (width, first) = match register {
            MODER | OSPEEDR | PUPDR => (2, 0),
            OTYPER => (1, 0),
            AFRL => (4, 0),
            _ => (4, 8),
        };
        let locked = self.lock.mask(width, first);
        let target = match register {
            MODER => &mut self.moder,
            OSPEEDR => &mut self.ospeedr,
            PUPDR => &mut self.pupdr,
            OTYPER => &mut self.otyper,
            AFRL => &mut self.afr[0],
            _ => &mut self.afr[1],
        };
        let new = merge(*target, offset, size, value);
        *target = *target & locked | new & !locked;
        self.otyper &= 0xffff;
    }

    fn warn_unbonded(&self, cx: &mut Context) {
        for pin in (0..16u8).filter(|pin| !self.options.pins.contains(pin)) {
            if matches!(self.mode(usize::from(pin)), Mode::Output | Mode::Alternate) {
                let name = format!("P{}{pin}", self.options.port);
                cx.warn_of(
                    "no-such-pin",
                    format!("{name} is used as an output, but this package has no such pin"),
                );
            }
        }
    }
}

impl Device for Gpio {
    fn read(&mut self, offset: u32, size: Size, _cx: &mut Context) -> Option<u32> {
        let word = match offset & !3 {
            MODER => self.moder,
            OTYPER => self.otyper,
            OSPEEDR => self.ospeedr,
            PUPDR => self.pupdr,
            IDR => self.idr(),
            ODR => self.odr,
            BSRR => 0,
            BRR if self.options.brr => 0,
            LCKR => self.lock.pins | if self.lock.locked { LOCK_KEY } else { 0 },
            AFRL => self.afr[0],
            AFRH => self.afr[1],
            _ => return None,
        };
        Some(part(word, offset, size))
    }

    fn reading(&mut self, _: u32, _: Size, _: &mut Context) -> Reading {
        Reading::FIXED
    }

    fn write(&mut self, offset: u32, size: Size, value: u32, cx: &mut Context) -> Option<()> {
        let written = merge(0, offset, size, value);
        match offset & !3 {
            ODR => self.set_odr(merge(self.odr, offset, size, value) & 0xffff, cx),
            // 8.4.7: if both are asked for, set wins.
            BSRR => self.set_odr(self.odr & !(written >> 16) | written & 0xffff, cx),
            BRR if self.options.brr => self.set_odr(self.odr & !written, cx),
            LCKR => self.lock.write(written),
            IDR => {}
            register @ (MODER | OTYPER | PUPDR | OSPEEDR | AFRL | AFRH) => {
                self.configure(register, offset, size, value);
                self.refresh_all(cx);
                if register == MODER {
                    self.warn_unbonded(cx);
                }
            }
            _ => return None,
        }
        Some(())
    }

    fn signal(&mut self, id: SignalId, _level: bool, cx: &mut Context) {
        for at in self.alternates.outputs(id) {
            let (pin, function) = self.alternates.output(at);
            if self.mode(pin) == Mode::Alternate && self.function(pin) == function {
                self.refresh(pin, cx);
            }
        }
    }

    fn reset(&mut self, cx: &mut Context) {
        self.moder = self.options.moder;
        self.ospeedr = self.options.ospeedr;
        self.pupdr = self.options.pupdr;
        (self.otyper, self.odr, self.afr, self.lock) = (0, 0, [0; 2], Lock::default());
        self.alternates.release_inputs(cx);
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

#[cfg(test)]
mod tests;
