//! Which wires a port's alternate functions select, from the board file.

use std::collections::BTreeMap;

use serde::Deserialize;

use strobe_sim::kernel::device::{Context, Create, OptionError};
use strobe_sim::kernel::signal::SignalId;

/// A GPIO port's options.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Options {
    /// The port's letter.
    pub(super) port: String,
    /// Pins that the package has.
    pub(super) pins: Vec<u8>,
    /// Whether there is a bit reset register.
    #[serde(default = "yes")]
    pub(super) brr: bool,
    /// Reset values (8.4): the debug port's pins are not inputs.
    #[serde(default)]
    pub(super) moder: u32,
    #[serde(default)]
    pub(super) ospeedr: u32,
    #[serde(default)]
    pub(super) pupdr: u32,
    /// By pin number, the wires of functions 0, 1, 2, ...: empty for none, `<NAME` for an input of
    /// the peripheral `NAME`, plain for an output.
    #[serde(default)]
    alternate: BTreeMap<String, Vec<String>>,
}

fn yes() -> bool {
    true
}

/// Which end drives an alternate function's wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Selector {
    /// The pin drives the peripheral.
    In,
    /// The peripheral drives the pin.
    Out,
}

/// The alternate functions of a port.
pub(super) struct Alternates {
    wires: [[Option<(SignalId, Selector)>; 16]; 16],
    /// (wire, pin, function) of outputs, sorted by wire.
    outputs: Vec<(SignalId, u8, u8)>,
}

impl Alternates {
    pub(super) fn new(options: &Options, cx: &mut Create) -> Result<Self, OptionError> {
        let mut all = Alternates { wires: [[None; 16]; 16], outputs: Vec::new() };
        for (pin, functions) in &options.alternate {
            let number = pin.parse::<u8>().ok().filter(|n| *n < 16);
            let number = number.ok_or_else(|| {
                OptionError::invalid("alternate", format!("`{pin}` is not a pin, 0 to 15"))
            })?;
            if functions.len() > 16 {
                let option = format!("alternate.{pin}");
                return Err(OptionError::invalid(option, "there are 16 functions, 0 to 15"));
            }
            for (function, name) in (0u8..).zip(functions).filter(|(_, name)| !name.is_empty()) {
                all.add(number, function, name, cx);
            }
        }
        all.outputs.sort_unstable();
        Ok(all)
    }

    fn add(&mut self, pin: u8, function: u8, name: &str, cx: &mut Create) {
        let (wire, way) = match name.strip_prefix('<') {
            Some(input) => (cx.signal(input), Selector::In),
            None => (cx.signal(name), Selector::Out),
        };
        if way == Selector::Out {
            cx.listen(wire);
            self.outputs.push((wire, pin, function));
        }
        self.wires[usize::from(pin)][usize::from(function)] = Some((wire, way));
    }

    pub(super) fn wire(&self, pin: usize, function: u8) -> Option<(SignalId, Selector)> {
        self.wires[pin][usize::from(function)]
    }

    /// Positions in the list of outputs that belong to a wire.
    pub(super) fn outputs(&self, wire: SignalId) -> std::ops::Range<usize> {
        let start = self.outputs.partition_point(|o| o.0 < wire);
        let end = self.outputs.partition_point(|o| o.0 <= wire);
        start..end
    }

    /// The pin and the function of one output.
    pub(super) fn output(&self, at: usize) -> (usize, u8) {
        let (_, pin, function) = self.outputs[at];
        (usize::from(pin), function)
    }

    /// A peripheral's input that no pin is routed to reads high, as an idle serial line does.
    pub(super) fn release_inputs(&self, cx: &mut Context) {
        for (wire, way) in self.wires.iter().flatten().flatten() {
            if *way == Selector::In {
                cx.set_signal(*wire, true);
            }
        }
    }
}
