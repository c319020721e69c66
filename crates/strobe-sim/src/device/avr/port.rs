//! An I/O port (ATmega328P data sheet, chapter 14): eight pins with pull-ups.
//!
//! Wires: `<pins>0` to `<pins>7`, with the prefix of the board file. A pin that is no output and that nobody drives is
//! high where its pull-up is on, else low.

use serde::Deserialize;

use crate::device::{Context, Create, Device, Size};
use crate::signal::SignalId;

const PIN: u32 = 0;
const DDR: u32 = 1;
const PORT: u32 = 2;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    /// What the pins' names begin with, as `PB`.
    pins: String,
    /// Pins that the package has, one bit each; all eight if not given.
    #[serde(default = "all")]
    mask: u8,
}

fn all() -> u8 {
    0xff
}

struct Port {
    pins: Vec<(u8, SignalId)>,
    mask: u8,
    direction: u8,
    out: u8,
    levels: u8,
    /// What PINx showed before the last change, and the cycle of that change.
    before: (u8, u64),
}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, String> {
    let Options { pins, mask } = cx.options()?;
    let bits = (0..8u8).filter(|bit| mask >> bit & 1 != 0);
    let pins: Vec<_> = bits.map(|bit| (bit, cx.signal(&format!("{pins}{bit}")))).collect();
    pins.iter().for_each(|&(_, pin)| cx.signals.mark_pin(pin));
    Ok(Box::new(Port { pins, mask, direction: 0, out: 0, levels: 0, before: (0, 0) }))
}

impl Port {
    fn refresh(&mut self, cx: &mut Context) {
        let mut levels = 0;
        for &(bit, pin) in &self.pins {
            let (output, high) = (self.direction >> bit & 1 != 0, self.out >> bit & 1 != 0);
            let level = if output { high } else { cx.external(pin).unwrap_or(high) };
            levels |= u8::from(level) << bit;
            cx.set_signal(pin, level);
        }
        if levels != self.levels {
            self.before = (self.levels, cx.now());
            self.levels = levels;
        }
    }
}

impl Device for Port {
    fn registers(&self) -> &'static [&'static str] {
        &["PIN", "DDR", "PORT"]
    }

    /// A change of a pin shows in PINx half a cycle to one and a half cycles later: an IN right after the OUT that changes
    /// the pin reads the old level (14.2.4).
    fn read(&mut self, register: u32, _: Size, cx: &mut Context) -> Option<u32> {
        let (old, since) = self.before;
        Some(u32::from(match register {
            PIN if cx.now() <= since => old,
            PIN => self.levels,
            DDR => self.direction,
            PORT => self.out,
            _ => return None,
        }))
    }

    fn write(&mut self, register: u32, _: Size, value: u32, cx: &mut Context) -> Option<()> {
        let value = value as u8 & self.mask;
        match register {
            // Writing ones to PINx toggles PORTx.
            PIN => self.out ^= value,
            DDR => self.direction = value,
            PORT => self.out = value,
            _ => return None,
        }
        self.refresh(cx);
        Some(())
    }

    fn set_bit(&mut self, register: u32, bit: u8, level: bool, cx: &mut Context) -> Option<()> {
        let mask = 1 << bit;
        let old = match register {
            // Of PINx only the bit itself is written.
            PIN => 0,
            DDR => self.direction,
            PORT => self.out,
            _ => return None,
        };
        let value = if level { old | mask } else { old & !mask };
        self.write(register, Size::Byte, u32::from(value), cx)
    }

    fn driven(&mut self, pin: SignalId, cx: &mut Context) {
        if self.pins.iter().any(|&(_, own)| own == pin) {
            self.refresh(cx);
        }
    }

    fn reset(&mut self, cx: &mut Context) {
        (self.direction, self.out) = (0, 0);
        self.refresh(cx);
    }
}
