//! A chain of TLC5940 LED drivers (Texas Instruments SLVS515) with one matrix of LEDs, or several
//! layers of them that take turns at the same outputs.
//!
//! Options: `count` of drivers; the pins `sin`, `sclk`, `xlat` and `blank`; `gsclk_hz`, the
//! grayscale clock. It is a figure and not a pin because its millions of edges in a second would
//! show no more. `columns` and `rows` of the matrix, whose LEDs hang on the outputs row by row from
//! output 0 of the first driver on, with `serpentine` every second row backwards; `layers`, the
//! pins that switch them on (high), shown in `across` columns side by side.
//!
//! A picture is what was to be seen from one turn-on of the first layer to the next (without
//! layers, from one BLANK to the next): of each LED the time that it really was lit, as its share
//! of 4096 grayscale clocks. Pixels are not proportional to light but, as image files have it, to
//! its root. Dot correction and the error outputs are not modelled.

use serde::Deserialize;

use self::chain::Chain;
use self::light::Light;
use crate::kernel::device::{Context, Create, Device};
use crate::kernel::signal::SignalId;

mod chain;
mod light;
#[cfg(test)]
mod tests;

/// Most drivers in a chain: the data sheet's example of how far cascading goes has 40.
const MOST_DRIVERS: u16 = 40;
/// Fastest serial and grayscale clock (recommended operating conditions).
const FASTEST_HZ: u64 = 30_000_000;
/// LEDs in all layers, more than any board has.
const MOST_LEDS: u32 = 1 << 20;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    count: u16,
    sin: String,
    sclk: String,
    xlat: String,
    blank: String,
    gsclk_hz: u64,
    columns: u16,
    rows: u16,
    #[serde(default)]
    serpentine: bool,
    #[serde(default)]
    layers: Vec<String>,
    across: Option<u16>,
}

impl Options {
    fn check(&self) -> Result<(), String> {
        let outputs = 16 * u32::from(self.count);
        let leds = u32::from(self.columns) * u32::from(self.rows);
        let total = leds.checked_mul(self.layers.len().max(1) as u32);
        if self.count == 0 || self.count > MOST_DRIVERS {
            return Err(format!("count: 1 to {MOST_DRIVERS}"));
        }
        if self.gsclk_hz == 0 || self.gsclk_hz > FASTEST_HZ {
            return Err(format!("gsclk_hz: 1 to {FASTEST_HZ}"));
        }
        if leds == 0 || leds > outputs || total.is_none_or(|total| total > MOST_LEDS) {
            return Err(format!("columns and rows: 1 to {outputs} LEDs, one for each output"));
        }
        if self.layers.len() > 32 || self.across == Some(0) {
            return Err("layers: at most 32; across: at least 1".to_owned());
        }
        Ok(())
    }
}

struct Drivers {
    sin: SignalId,
    sclk: SignalId,
    xlat: SignalId,
    blank: SignalId,
    layers: Vec<SignalId>,
    chain: Chain,
    light: Light,
    /// When SCLK rose last.
    clocked: Option<u64>,
    /// Core cycles that SCLK's fastest clock takes, at the core's frequency when that was worked
    /// out.
    shortest: (u64, u64),
}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, String> {
    let options: Options = cx.options()?;
    options.check()?;
    let (sin, sclk) = (cx.pin(&options.sin)?, cx.pin(&options.sclk)?);
    let (xlat, blank) = (cx.pin(&options.xlat)?, cx.pin(&options.blank)?);
    let layers: Result<Vec<_>, _> = options.layers.iter().map(|name| cx.pin(name)).collect();
    let layers = layers?;
    // SIN matters only when SCLK rises.
    [sclk, xlat, blank].iter().chain(&layers).for_each(|&pin| cx.listen(pin));
    Ok(Box::new(Drivers {
        sin,
        sclk,
        xlat,
        blank,
        layers,
        chain: Chain::new(options.count),
        light: Light::new(&options),
        clocked: None,
        shortest: (0, 0),
    }))
}

impl Drivers {
    /// A rising edge of SCLK: the commonest event by far.
    fn clock(&mut self, cx: &mut Context) {
        self.chain.shift(cx.level(self.sin));
        let hz = u64::from(cx.clocks().core_hz());
        if self.shortest.1 != hz {
            self.shortest = (hz.div_ceil(FASTEST_HZ), hz);
        }
        let before = self.clocked.replace(cx.now());
        if before.is_some_and(|before| cx.now() - before < self.shortest.0) {
            warn(cx, "SCLK is faster than 30 MHz, the most that the part is specified for");
        }
    }

    fn latch(&mut self, cx: &mut Context) {
        if !self.light.is_blank() {
            warn(cx, "XLAT while BLANK is low: outputs change in the middle of their cycle");
        }
        if let Some(bits) = self.chain.odd_bits() {
            let whole = self.chain.len();
            let text = format!("XLAT after {bits} bits, where the chain takes {whole}");
            warn(cx, &text);
        }
        self.light.latch(self.chain.latch(), cx.nanoseconds());
    }

    fn set_blank(&mut self, level: bool, cx: &mut Context) {
        let now = cx.nanoseconds();
        self.light.set_blank(level, now);
        if level && self.layers.is_empty() {
            cx.show(self.light.take_picture());
        }
    }

    fn switch(&mut self, layer: usize, on: bool, cx: &mut Context) {
        let now = cx.nanoseconds();
        if self.light.is_lit(now) {
            warn(cx, "a layer is switched while outputs are on: it shows its neighbour's light");
        }
        self.light.switch(layer, on, now);
        if layer == 0 && on {
            let whole = self.light.has_been_round();
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
        if id == self.sclk {
            if level {
                self.clock(cx);
            }
        } else if id == self.xlat {
            if level {
                self.latch(cx);
            }
        } else if id == self.blank {
            self.set_blank(level, cx);
        } else if let Some(layer) = self.layers.iter().position(|&pin| pin == id) {
            self.switch(layer, level, cx);
        }
    }

    fn reset(&mut self, cx: &mut Context) {
        self.chain.clear();
        self.light.clear();
        self.light.set_blank(cx.level(self.blank), cx.nanoseconds());
        for (layer, &pin) in self.layers.iter().enumerate() {
            self.light.switch(layer, cx.level(pin), cx.nanoseconds());
        }
    }
}
