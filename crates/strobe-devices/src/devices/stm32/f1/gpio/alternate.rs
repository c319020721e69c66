//! Which wires a port's pins can carry, from the board file: `"USART1_TX unless USART1_REMAP"`.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use serde::Deserialize;

use strobe_sim::kernel::device::{Context, Create, DeviceId, OptionError};
use strobe_sim::kernel::signal::SignalId;

/// A port's options.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Options {
    /// The port's letter.
    pub(super) port: String,
    /// Pins that the package has.
    pub(super) pins: Vec<u8>,
    /// By pin number, the peripherals' wires: `<NAME` for an input, plain for an output, each
    /// followed by any number of `when WIRE` and `unless WIRE`.
    #[serde(default)]
    alternate: BTreeMap<String, Vec<String>>,
}

struct Route {
    wire: SignalId,
    /// The peripheral, which is what comes before the wire's first underscore.
    device: String,
    input: bool,
    /// Remap wires and the levels that they must have.
    conditions: Vec<(SignalId, bool)>,
    /// The device of that name, once it has been looked for.
    found: OnceCell<Option<DeviceId>>,
}

impl Route {
    fn parse(text: &str, cx: &mut Create) -> Result<Self, OptionError> {
        let (name, input) = match text.trim().strip_prefix('<') {
            Some(rest) => (rest, true),
            None => (text.trim(), false),
        };
        let mut words = name.split_whitespace();
        let name =
            words.next().ok_or_else(|| OptionError::invalid("alternate", "a name is missing"))?;
        let mut conditions = Vec::new();
        while let Some(word) = words.next() {
            let level = match word {
                "when" => true,
                "unless" => false,
                _ => {
                    let expected = "expected WIRE [when|unless WIRE]";
                    return Err(OptionError::text("alternate", text, expected));
                }
            };
            let wire = words
                .next()
                .ok_or_else(|| OptionError::text("alternate", text, format!("{word} what?")))?;
            conditions.push((cx.signal(wire), level));
        }
        let device = name.split('_').next().unwrap_or(name).to_owned();
        let wire = cx.signal(name);
        if !input {
            cx.listen(wire);
        }
        conditions.iter().for_each(|(wire, _)| cx.listen(*wire));
        Ok(Route { wire, device, input, conditions, found: OnceCell::new() })
    }

    fn is_clocked(&self, cx: &Context) -> bool {
        let found = self.found.get_or_init(|| cx.device(&self.device));
        found.is_some_and(|id| cx.is_clocked(id))
    }

    fn holds(&self, cx: &Context) -> bool {
        self.conditions.iter().all(|&(wire, level)| cx.level(wire) == level)
    }
}

/// The alternate functions of a port.
pub(super) struct Alternates {
    routes: [Vec<Route>; 16],
    /// Pins that have to do with a wire, as output or as condition, one bit each.
    pins: BTreeMap<SignalId, u16>,
}

impl Alternates {
    pub(super) fn new(options: &Options, cx: &mut Create) -> Result<Self, OptionError> {
        let mut all: [Vec<Route>; 16] = std::array::from_fn(|_| Vec::new());
        for (pin, routes) in &options.alternate {
            let number = pin.parse::<usize>().ok().filter(|n| *n < 16);
            let number = number.ok_or_else(|| {
                OptionError::invalid("alternate", format!("`{pin}` is not a pin, 0 to 15"))
            })?;
            for route in routes {
                all[number].push(Route::parse(route, cx)?);
            }
        }
        let mut pins = BTreeMap::new();
        for (pin, routes) in all.iter().enumerate() {
            for route in routes {
                let output = (!route.input).then_some(route.wire);
                let conditions = route.conditions.iter().map(|(wire, _)| *wire);
                for wire in conditions.chain(output) {
                    *pins.entry(wire).or_insert(0) |= 1 << pin;
                }
            }
        }
        Ok(Alternates { routes: all, pins })
    }

    /// The wire that drives a pin in an alternate output mode.
    pub(super) fn output(&self, pin: usize, cx: &Context) -> Option<SignalId> {
        let mut routes = self.routes[pin].iter().filter(|r| !r.input && r.holds(cx));
        routes.find(|r| r.is_clocked(cx)).map(|r| r.wire)
    }

    /// Hands a pin's level to the peripherals that read it.
    pub(super) fn feed(&self, pin: usize, level: bool, cx: &mut Context) {
        for route in self.routes[pin].iter().filter(|r| r.input) {
            if route.holds(cx) {
                cx.set_signal(route.wire, level);
            }
        }
    }

    /// Pins that have to do with a wire, as output or as condition.
    pub(super) fn pins_of(&self, wire: SignalId) -> impl Iterator<Item = usize> + use<> {
        let pins = self.pins.get(&wire).copied().unwrap_or(0);
        (0..16).filter(move |pin| pins >> pin & 1 != 0)
    }

    /// Whether a pin has outputs of its peripherals.
    pub(super) fn is_shared(&self, pin: usize) -> bool {
        self.routes[pin].iter().any(|r| !r.input)
    }
}
