//! What a rig file states of a chain: its pins, its grayscale clock, where its LEDs hang.

use serde::Deserialize;

use strobe_sim::kernel::device::OptionError;

/// Outputs of a driver.
pub(super) const OUTPUTS: u16 = 16;
/// Greatest dot correction, which the EEPROM has as it is delivered.
pub(super) const MOST_CORRECTION: u8 = 63;
/// Most drivers in a chain: the data sheet's example of how far cascading goes has 40.
const MOST_DRIVERS: u16 = 40;
/// Fastest serial and grayscale clock (recommended operating conditions).
pub(super) const FASTEST_HZ: u64 = 30_000_000;
/// LEDs in all layers, more than any board has.
const MOST_LEDS: u32 = 1 << 20;

/// What an input is tied to if not to a pin of the chip.
pub(super) const TIED: [&str; 2] = ["low", "high"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Options {
    pub(super) count: u16,
    pub(super) sin: String,
    pub(super) sclk: String,
    pub(super) xlat: String,
    pub(super) blank: String,
    pub(super) vprg: Option<String>,
    pub(super) dcprg: Option<String>,
    pub(super) sout: Option<String>,
    pub(super) xerr: Option<String>,
    pub(super) gsclk: Option<String>,
    pub(super) gsclk_hz: Option<u64>,
    #[serde(default = "most_correction")]
    pub(super) eeprom: u8,
    #[serde(default = "most_correction")]
    pub(super) full: u8,
    pub(super) columns: u16,
    pub(super) rows: u16,
    #[serde(default)]
    pub(super) serpentine: bool,
    wiring: Option<Vec<u16>>,
    #[serde(default)]
    pub(super) layers: Vec<String>,
    #[serde(default)]
    pub(super) active_low: bool,
    pub(super) across: Option<u16>,
    #[serde(default)]
    pub(super) open: Vec<u16>,
    #[serde(default)]
    pub(super) hot: Vec<u16>,
}

fn most_correction() -> u8 {
    MOST_CORRECTION
}

impl Options {
    pub(super) fn check(&self) -> Result<(), OptionError> {
        if self.count == 0 || self.count > MOST_DRIVERS {
            return Err(OptionError::invalid("count", format!("1 to {MOST_DRIVERS}")));
        }
        if self.gsclk.is_some() == self.gsclk_hz.is_some() {
            return Err(OptionError::invalid(
                "gsclk or gsclk_hz",
                "one of them, a pin or a frequency",
            ));
        }
        if self.gsclk_hz.is_some_and(|hz| hz == 0 || hz > FASTEST_HZ) {
            return Err(OptionError::invalid("gsclk_hz", format!("1 to {FASTEST_HZ}")));
        }
        if self.eeprom > MOST_CORRECTION || self.full == 0 || self.full > MOST_CORRECTION {
            return Err(OptionError::invalid(
                "eeprom",
                format!("0 to {MOST_CORRECTION}; full: 1 to {MOST_CORRECTION}"),
            ));
        }
        if self.layers.len() > 32 || self.across == Some(0) {
            return Err(OptionError::invalid("layers", "at most 32; across: at least 1"));
        }
        if let Some(&hot) = self.hot.iter().find(|&&driver| driver >= self.count) {
            let problem = format!("no driver {hot}, the last one is {}", self.count - 1);
            return Err(OptionError::invalid("hot", problem));
        }
        self.check_leds()
    }

    fn check_leds(&self) -> Result<(), OptionError> {
        let outputs = self.outputs();
        let leds = u32::from(self.columns) * u32::from(self.rows);
        let total = leds.checked_mul(self.layers.len().max(1) as u32);
        if leds == 0 || leds > outputs.into() || total.is_none_or(|total| total > MOST_LEDS) {
            let allowed = format!("1 to {outputs} LEDs, one for each output");
            return Err(OptionError::invalid("columns and rows", allowed));
        }
        let named = self.wiring.iter().flatten().chain(&self.open);
        if let Some(output) = named.copied().find(|&output| output >= outputs) {
            let last = outputs - 1;
            let problem = format!("no output {output}, the last one is {last}");
            return Err(OptionError::invalid("wiring and open", problem));
        }
        let Some(wiring) = &self.wiring else { return Ok(()) };
        if self.serpentine {
            return Err(OptionError::invalid("wiring or serpentine", "one of them"));
        }
        if wiring.len() != leds as usize {
            let given = wiring.len();
            let problem = format!("an output for each of {leds} LEDs, not {given}");
            return Err(OptionError::invalid("wiring", problem));
        }
        let mut sorted = wiring.clone();
        sorted.sort_unstable();
        match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            Some(pair) => {
                let problem = format!("output {} is given twice", pair[0]);
                Err(OptionError::invalid("wiring", problem))
            }
            None => Ok(()),
        }
    }

    /// The names of all pins.
    pub(super) fn pins(&self) -> impl Iterator<Item = &String> {
        let always = [&self.sin, &self.sclk, &self.xlat, &self.blank];
        let others = [&self.vprg, &self.dcprg, &self.sout, &self.xerr, &self.gsclk];
        let others = others.into_iter().flatten().filter(|name| !TIED.contains(&name.as_str()));
        always.into_iter().chain(others).chain(&self.layers)
    }

    /// Outputs of the whole chain.
    pub(super) fn outputs(&self) -> u16 {
        OUTPUTS * self.count
    }

    /// Of each LED of a layer, row by row, the output that it hangs on.
    pub(super) fn wiring(&self) -> Vec<usize> {
        if let Some(wiring) = &self.wiring {
            return wiring.iter().map(|&output| output.into()).collect();
        }
        let (columns, rows) = (usize::from(self.columns), usize::from(self.rows));
        let output = |led: usize| {
            let (row, column) = (led / columns, led % columns);
            let backwards = self.serpentine && row % 2 == 1;
            row * columns + if backwards { columns - 1 - column } else { column }
        };
        (0..columns * rows).map(output).collect()
    }
}
