//! An I/O port (ATmega328P data sheet, chapter 14): eight pins with pull-ups.
//!
//! Wires: `<pins>0` to `<pins>7`, with the prefix of the board file. A pin that is no output and
//! that nobody drives is high where its pull-up is on, else low.
//!
//! Alternate functions (14.3) are wires of the board file's `alternate`: where the wire of that
//! name with `_ON` is high, the pin gets the function's level instead of PORTxn's; `_OUT` makes it
//! an output, `_IN` an input; `_PULL` means that it has a resistor to the supply beside the chip,
//! as open-drain lines must; `_OPEN` that besides the output never drives it high. Each change of
//! `_TOGGLE` toggles the pin's bit in PORTx.

use std::collections::BTreeMap;

use serde::Deserialize;

use strobe_sim::kernel::device::{
    ByteRegisters, Context, Create, Device, DrivenPins, OptionError, Reading, Size,
};
use strobe_sim::kernel::signal::SignalId;

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
    /// Functions that a pin can have instead, the first that is on goes first.
    #[serde(default)]
    alternate: BTreeMap<String, Vec<String>>,
}

fn all() -> u8 {
    0xff
}

/// What a peripheral may do to a pin.
struct Function {
    level: SignalId,
    on: SignalId,
    output: SignalId,
    input: SignalId,
    pull: SignalId,
    open: SignalId,
    toggle: SignalId,
}

impl Function {
    fn wires(&self) -> [SignalId; 7] {
        let &Function { level, on, output, input, pull, open, toggle } = self;
        [level, on, output, input, pull, open, toggle]
    }
}

/// The pins that a wire matters to, and those that it toggles.
#[derive(Clone, Copy, Default)]
struct Affected {
    pins: u8,
    toggled: u8,
}

/// By wire: a serial line changes wires at each of its edges.
fn affected(pins: &[Pin]) -> BTreeMap<SignalId, Affected> {
    let mut all: BTreeMap<SignalId, Affected> = BTreeMap::new();
    for pin in pins {
        for function in &pin.functions {
            for wire in function.wires() {
                all.entry(wire).or_default().pins |= 1 << pin.bit;
            }
            all.entry(function.toggle).or_default().toggled |= 1 << pin.bit;
        }
    }
    all
}

struct Pin {
    bit: u8,
    signal: SignalId,
    functions: Vec<Function>,
}

struct Port {
    pins: Vec<Pin>,
    affected: BTreeMap<SignalId, Affected>,
    mask: u8,
    direction: u8,
    out: u8,
    levels: u8,
    /// What PINx showed before the last change, and the cycle of that change.
    before: (u8, u64),
}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let Options { pins: prefix, mask, alternate } = cx.options()?;
    let mut pins = Vec::new();
    for bit in (0..8u8).filter(|bit| mask >> bit & 1 != 0) {
        let signal = cx.signal(&format!("{prefix}{bit}"));
        cx.signals.mark_pin(signal);
        pins.push(Pin { bit, signal, functions: Vec::new() });
    }
    for (name, functions) in &alternate {
        let pin = pins.iter_mut().find(|pin| cx.signals.find(name) == Some(pin.signal));
        let pin = pin.ok_or_else(|| {
            OptionError::invalid(format!("alternate.{name}"), "the port has no such pin")
        })?;
        pin.functions = functions.iter().map(|name| function(cx, name)).collect();
    }
    let affected = affected(&pins);
    Ok(Box::new(Port { pins, affected, mask, direction: 0, out: 0, levels: 0, before: (0, 0) }))
}

fn function(cx: &mut Create, name: &str) -> Function {
    let mut wire = |suffix: &str| {
        let id = cx.signal(&format!("{name}{suffix}"));
        cx.listen(id);
        id
    };
    Function {
        level: wire(""),
        on: wire("_ON"),
        output: wire("_OUT"),
        input: wire("_IN"),
        pull: wire("_PULL"),
        open: wire("_OPEN"),
        toggle: wire("_TOGGLE"),
    }
}

impl Pin {
    /// Direction and level, as the port's registers or a function want them.
    fn wants(&self, port: (bool, bool), cx: &Context) -> (bool, bool) {
        let (mut output, mut level) = port;
        for function in self.functions.iter().rev() {
            if cx.level(function.on) {
                level = cx.level(function.level);
            }
            output = (output || cx.level(function.output)) && !cx.level(function.input);
        }
        (output, level)
    }
}

impl Port {
    /// Brings the pins of `mask` up to date.
    fn refresh(&mut self, mask: u8, cx: &mut Context) {
        let mut levels = self.levels & !mask;
        for pin in self.pins.iter().filter(|pin| mask >> pin.bit & 1 != 0) {
            let at = |register: u8| register >> pin.bit & 1 != 0;
            let pull_up = at(self.out);
            let (output, high) = pin.wants((at(self.direction), pull_up), cx);
            let open = pin.functions.iter().any(|f| cx.level(f.open));
            let output = output && !(open && high);
            let pulled = pull_up || open || pin.functions.iter().any(|f| cx.level(f.pull));
            let level = if output { high } else { cx.external(pin.signal).unwrap_or(pulled) };
            levels |= u8::from(level) << pin.bit;
            cx.set_pin(pin.signal, level, output);
        }
        if levels != self.levels {
            self.before = (self.levels, cx.now());
            self.levels = levels;
        }
    }
}

impl Device for Port {
    /// A change of a pin shows in PINx half a cycle to one and a half cycles later: an IN right
    /// after the OUT that changes the pin reads the old level (14.2.4).
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

    fn reading(&mut self, register: u32, _: Size, cx: &mut Context) -> Reading {
        let (_, since) = self.before;
        // A change of a pin is one cycle late.
        let is_late = register == PIN && cx.now() <= since;
        Reading::FIXED.before(if is_late { since + 1 } else { u64::MAX })
    }

    fn write(&mut self, register: u32, _: Size, value: u32, cx: &mut Context) -> Option<()> {
        let value = value as u8 & self.mask;
        let (direction, out) = (self.direction, self.out);
        match register {
            // Writing ones to PINx toggles PORTx.
            PIN => self.out ^= value,
            DDR => self.direction = value,
            PORT => self.out = value,
            _ => return None,
        }
        self.refresh(direction ^ self.direction | out ^ self.out, cx);
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

    fn signal(&mut self, id: SignalId, _: bool, cx: &mut Context) {
        let Affected { pins, toggled } = self.affected.get(&id).copied().unwrap_or_default();
        self.out ^= toggled;
        self.refresh(pins, cx);
    }

    fn reset(&mut self, cx: &mut Context) {
        (self.direction, self.out) = (0, 0);
        self.refresh(all(), cx);
    }

    fn byte_registers(&mut self) -> Option<&mut dyn ByteRegisters> {
        Some(self)
    }

    fn driven_pins(&mut self) -> Option<&mut dyn DrivenPins> {
        Some(self)
    }
}

impl ByteRegisters for Port {
    fn names(&self) -> &'static [&'static str] {
        &["PIN", "DDR", "PORT"]
    }
}

impl DrivenPins for Port {
    fn driven(&mut self, pin: SignalId, cx: &mut Context) {
        if let Some(own) = self.pins.iter().find(|own| own.signal == pin) {
            self.refresh(1 << own.bit, cx);
        }
    }
}
