//! A chain of TLC5940 LED drivers (Texas Instruments SLVS515) with one matrix of LEDs, or several
//! layers of them that take turns at the same outputs.
//!
//! Options, of which the first five and `gsclk` or `gsclk_hz` must be given:
//!
//! - `count` of drivers; the pins `sin`, `sclk`, `xlat` and `blank`.
//! - `gsclk`, the pin with the grayscale clock, or `gsclk_hz`. Its millions of edges in a second
//!   show whether the firmware makes that clock, and nothing else that the figure would not.
//! - `vprg`, the pin that switches to dot correction (else it is tied low); `dcprg`, a pin or
//!   `'low'` (the default) or `'high'`: whether currents follow the EEPROM or the register;
//!   `eeprom`, what all outputs' dot correction is there (63 as delivered). VPRG at 22 V, which
//!   would program it, is not modelled.
//! - `sout` and `xerr`, the pins that the last driver's serial output and the chain's error output
//!   (with the pull-up resistor that it needs) lead to.
//! - `columns` and `rows` of the matrix, whose LEDs hang on the outputs row by row from output 0 of
//!   the first driver on, with `serpentine` every second row backwards, or else as `wiring` states,
//!   an output for each LED; `layers`, the pins that switch them on, by a low level and with
//!   pull-up resistors if `active_low`, shown in `across` columns side by side.
//! - `full`, the dot correction that pictures show as full brightness (63).
//! - What is broken: `open`, outputs whose LED is; `hot`, drivers that are too hot, from 0 on.
//!
//! A picture is what was to be seen from one turn-on of the first layer to the next (without
//! layers, from one BLANK to the next): of each LED the time that it really was lit, as its share
//! of 4096 grayscale clocks, times its current. Pixels are not proportional to light but, as image
//! files have it, to its root.

use self::chain::Chain;
use self::gsclk::Counter;
use self::light::Light;
use self::options::{FASTEST_HZ, Options, TIED};
use strobe_sim::kernel::device::{Context, Create, Device, OptionError};
use strobe_sim::kernel::signal::SignalId;

mod chain;
mod gsclk;
mod light;
mod options;
#[cfg(test)]
mod tests;

/// An output has to be on for so long until an open LED is noticed (tpd2, its maximum).
const OPEN_AFTER_NS: u64 = 1000;

/// An input that a pin drives, or that is tied to a level.
#[derive(Clone, Copy)]
enum Input {
    Pin(SignalId),
    Tied(bool),
}

impl Input {
    fn new(name: Option<&str>, cx: &mut Create) -> Result<Self, OptionError> {
        let Some(name) = name else { return Ok(Self::Tied(false)) };
        if let Some(level) = TIED.iter().position(|&tied| tied == name) {
            return Ok(Self::Tied(level == 1));
        }
        let pin = cx.pin(name)?;
        cx.listen(pin);
        Ok(Self::Pin(pin))
    }

    fn level(self, cx: &Context) -> bool {
        match self {
            Self::Pin(pin) => cx.level(pin),
            Self::Tied(level) => level,
        }
    }

    fn is(self, id: SignalId) -> bool {
        matches!(self, Self::Pin(pin) if pin == id)
    }
}

struct Pins {
    sin: SignalId,
    sclk: SignalId,
    xlat: SignalId,
    blank: SignalId,
    vprg: Input,
    dcprg: Input,
    gsclk: Option<SignalId>,
    sout: Option<SignalId>,
    xerr: Option<SignalId>,
    layers: Vec<SignalId>,
}

impl Pins {
    fn new(options: &Options, cx: &mut Create) -> Result<Self, OptionError> {
        let mut taken: Vec<SignalId> = Vec::new();
        for name in options.pins() {
            let pin = cx.pin(name)?;
            if taken.contains(&pin) {
                return Err(OptionError::RepeatedPin { name: name.clone() });
            }
            taken.push(pin);
        }
        let mut pin = |name: &String| cx.pin(name);
        let pins = Self {
            sin: pin(&options.sin)?,
            sclk: pin(&options.sclk)?,
            xlat: pin(&options.xlat)?,
            blank: pin(&options.blank)?,
            gsclk: options.gsclk.as_ref().map(&mut pin).transpose()?,
            sout: options.sout.as_ref().map(&mut pin).transpose()?,
            xerr: options.xerr.as_ref().map(&mut pin).transpose()?,
            layers: options.layers.iter().map(&mut pin).collect::<Result<_, _>>()?,
            vprg: Input::new(options.vprg.as_deref(), cx)?,
            dcprg: Input::new(options.dcprg.as_deref(), cx)?,
        };
        // SIN matters only when SCLK rises.
        let heard = [pins.sclk, pins.xlat, pins.blank];
        heard.iter().chain(&pins.gsclk).chain(&pins.layers).for_each(|&pin| cx.listen(pin));
        Ok(pins)
    }
}

struct Drivers {
    pins: Pins,
    chain: Chain,
    light: Light,
    counter: Counter,
    /// The dot correction register, the EEPROM's value, and drivers that are too hot.
    register: Vec<u16>,
    eeprom: u16,
    hot: Vec<bool>,
    active_low: bool,
    /// Grayscale values are latched for the first time after dot correction: status information
    /// replaces them with another pulse of SCLK only.
    first: bool,
    /// What that pulse will find: the outputs with open LEDs.
    pending: Option<Vec<bool>>,
    /// When SCLK rose last.
    clocked: Option<u64>,
    /// Core cycles that SCLK's fastest clock takes, at the core's frequency when that was worked
    /// out.
    shortest: (u64, u64),
}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let options: Options = cx.options()?;
    options.check()?;
    let pins = Pins::new(&options, cx)?;
    let hot = (0..options.count).map(|driver| options.hot.contains(&driver));
    Ok(Box::new(Drivers {
        pins,
        chain: Chain::new(options.count),
        light: Light::new(&options),
        counter: Counter::new(options.gsclk_hz),
        register: vec![0; options.outputs().into()],
        eeprom: options.eeprom.into(),
        hot: hot.collect(),
        active_low: options.active_low,
        first: false,
        pending: None,
        clocked: None,
        shortest: (0, 0),
    }))
}

impl Drivers {
    fn clocks(&self, cx: &Context) -> u64 {
        self.counter.clocks(cx.nanoseconds())
    }

    /// A rising edge of SCLK: the commonest event by far, but for GSCLK.
    fn clock(&mut self, cx: &mut Context) {
        match self.pending.take() {
            Some(open) => self.load_status(&open, cx),
            None => self.chain.shift(cx.level(self.pins.sin)),
        }
        self.show_sout(cx);
        let hz = u64::from(cx.clocks().core_hz());
        if self.shortest.1 != hz {
            self.shortest = (hz.div_ceil(FASTEST_HZ), hz);
        }
        let before = self.clocked.replace(cx.now());
        if before.is_some_and(|before| cx.now() - before < self.shortest.0) {
            warn(cx, "SCLK is faster than 30 MHz, the most that the part is specified for");
        }
    }

    fn show_sout(&self, cx: &mut Context) {
        if let Some(sout) = self.pins.sout {
            let level = self.chain.sout();
            if cx.external(sout) != Some(level) {
                cx.drive(sout, Some(level));
            }
        }
    }

    /// What the outputs' currents follow.
    fn correction(&self, cx: &Context) -> Vec<u16> {
        let from_register = self.pins.dcprg.level(cx);
        if from_register { self.register.clone() } else { vec![self.eeprom; self.register.len()] }
    }

    fn correct(&mut self, cx: &Context) {
        self.light.correct(&self.correction(cx), self.clocks(cx));
    }

    /// XLAT goes high: the registers take over what was shifted in.
    fn latch(&mut self, cx: &mut Context) {
        if let Some(bits) = self.chain.missing_bits() {
            let whole = self.chain.len();
            let text = format!("XLAT after {bits} bits, where the chain takes {whole}");
            warn(cx, &text);
        }
        let values = self.chain.latch();
        if self.pins.vprg.level(cx) {
            self.register = values;
            self.correct(cx);
            return;
        }
        let changes = self.light.latch(values, self.clocks(cx));
        if changes && !self.light.is_blank() {
            warn(cx, "XLAT while BLANK is low: outputs change in the middle of their cycle");
        }
    }

    /// XLAT goes low: grayscale values give way to status information.
    fn end_latch(&mut self, cx: &mut Context) {
        if self.pins.vprg.level(cx) {
            return;
        }
        let open = self.open(cx);
        if std::mem::take(&mut self.first) {
            self.pending = Some(open);
        } else {
            self.load_status(&open, cx);
            self.show_sout(cx);
        }
    }

    fn load_status(&mut self, open: &[bool], cx: &Context) {
        self.chain.load(open, &self.hot, &self.correction(cx));
    }

    /// Outputs that an open LED is noticed at.
    fn open(&self, cx: &Context) -> Vec<bool> {
        let since = self.counter.since(cx.nanoseconds());
        if since.is_some_and(|since| since >= OPEN_AFTER_NS) {
            self.light.open(self.clocks(cx))
        } else {
            vec![false; self.register.len()]
        }
    }

    /// Sets XERR, and asks to be woken when it may be different.
    fn show_error(&mut self, cx: &mut Context) {
        let Some(xerr) = self.pins.xerr else { return };
        let now = cx.nanoseconds();
        let error = self.hot.contains(&true) || self.open(cx).contains(&true);
        if cx.external(xerr) != Some(!error) {
            cx.drive(xerr, Some(!error));
        }
        let noticed = self.counter.since(now).filter(|&since| since < OPEN_AFTER_NS);
        let noticed = noticed.map(|since| now - since + OPEN_AFTER_NS);
        let off = || self.light.next_off(self.clocks(cx)).and_then(|off| self.counter.due(off));
        match noticed.or_else(off) {
            Some(due) => {
                let cycle = cx.clocks().cycle_at_nanoseconds(due).max(cx.now() + 1);
                cx.wake_at(cycle);
            }
            None => cx.sleep(),
        }
    }

    fn set_correction_mode(&mut self, cx: &mut Context) {
        let on = self.pins.vprg.level(cx);
        self.chain.set_correction(on);
        self.first |= on;
        self.pending = None;
        self.show_sout(cx);
    }

    fn set_blank(&mut self, level: bool, cx: &mut Context) {
        self.light.set_blank(level, self.clocks(cx));
        self.counter.set_blank(level, cx.nanoseconds());
        if level && self.pins.layers.is_empty() {
            cx.show(self.light.take_picture());
        }
    }

    fn switch(&mut self, layer: usize, on: bool, cx: &mut Context) {
        let clocks = self.clocks(cx);
        if self.light.is_lit(clocks) {
            warn(cx, "a layer is switched while outputs are on: it shows its neighbour's light");
        }
        self.light.switch(layer, on, clocks);
        if layer == 0 && on {
            let whole = self.light.completed_cycle();
            let picture = self.light.take_picture();
            if whole {
                cx.show(picture);
            }
        }
    }
}

/// A warning that names the part.
fn warn(cx: &mut Context, text: &str) {
    let text = format!("{}: {text}", cx.name());
    cx.warn(text);
}

impl Device for Drivers {
    fn signal(&mut self, id: SignalId, level: bool, cx: &mut Context) {
        if id == self.pins.sclk {
            if level {
                self.clock(cx);
            }
            return;
        }
        if Some(id) == self.pins.gsclk {
            if level {
                self.counter.clock();
                // Outputs are switched off with it.
                self.show_error(cx);
            }
            return;
        }
        if id == self.pins.xlat {
            if level { self.latch(cx) } else { self.end_latch(cx) }
        } else if id == self.pins.blank {
            self.set_blank(level, cx);
        } else if self.pins.vprg.is(id) {
            self.set_correction_mode(cx);
        } else if self.pins.dcprg.is(id) {
            self.correct(cx);
        } else if let Some(layer) = self.pins.layers.iter().position(|&pin| pin == id) {
            self.switch(layer, level != self.active_low, cx);
        }
        self.show_error(cx);
    }

    fn event(&mut self, cx: &mut Context) {
        self.show_error(cx);
    }

    fn reset(&mut self, cx: &mut Context) {
        self.chain.clear();
        self.light.clear();
        self.register.fill(0);
        (self.first, self.pending, self.clocked) = (false, None, None);
        self.set_correction_mode(cx);
        let blank = cx.level(self.pins.blank);
        self.light.set_blank(blank, 0);
        self.counter.set_blank(blank, cx.nanoseconds());
        self.correct(cx);
        for (layer, &pin) in self.pins.layers.iter().enumerate() {
            // The pull-up resistor is felt at once, also by whoever looks before the port does.
            let level = cx.level(pin) || self.active_low && !cx.is_held(pin);
            self.light.switch(layer, level != self.active_low, 0);
            if self.active_low {
                cx.drive(pin, Some(true));
            }
        }
        self.show_error(cx);
    }
}
