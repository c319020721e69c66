//! How long each LED is lit: an output is on from the end of BLANK for as many grayscale clocks as
//! its value states, and lights the LED of each layer that is switched on meanwhile, with a current
//! in proportion to its dot correction.

use super::options::Options;
use strobe_sim::kernel::device::part::Picture;

/// Grayscale clocks of a whole cycle.
const WHOLE: u64 = 4096;

pub(super) struct Light {
    columns: usize,
    rows: usize,
    across: usize,
    /// Of each LED of a layer its output.
    wiring: Vec<usize>,
    /// Outputs that have an LED which is not broken.
    attached: Vec<bool>,
    /// The dot correction that a picture shows as full.
    full: u64,
    /// Latched values and dot corrections by output.
    values: Vec<u16>,
    correction: Vec<u16>,
    /// BLANK is high.
    blank: bool,
    /// Everything up to this grayscale clock of the cycle has been added up.
    done: u64,
    /// Layers that are on, those that have been since the last picture; one bit each. Without
    /// layers, bit 0 is always on.
    on: u32,
    seen: u32,
    all: u32,
    /// Grayscale clocks times dot correction by layer, then output.
    lit: Vec<Vec<u64>>,
}

impl Light {
    pub(super) fn new(options: &Options) -> Self {
        let layers = options.layers.len();
        let tiles = layers.max(1);
        let square = tiles.isqrt() + usize::from(tiles.isqrt().pow(2) < tiles);
        let outputs = usize::from(options.outputs());
        let wiring = options.wiring();
        let mut attached = vec![false; outputs];
        wiring.iter().for_each(|&output| attached[output] = true);
        options.open.iter().for_each(|&output| attached[usize::from(output)] = false);
        Self {
            columns: options.columns.into(),
            rows: options.rows.into(),
            across: options.across.map_or(square, usize::from).min(tiles),
            wiring,
            attached,
            full: options.full.into(),
            values: vec![0; outputs],
            correction: vec![options.eeprom.into(); outputs],
            blank: false,
            done: 0,
            on: u32::from(layers == 0),
            seen: 0,
            all: (0..layers).fold(0, |mask, layer| mask | 1 << layer),
            lit: vec![vec![0; outputs]; tiles],
        }
    }

    pub(super) fn clear(&mut self) {
        self.values.fill(0);
        (self.blank, self.done, self.seen) = (false, 0, 0);
        self.lit.iter_mut().for_each(|layer| layer.fill(0));
    }

    pub(super) fn is_blank(&self) -> bool {
        self.blank
    }

    /// Whether an output is on, `clocks` after the end of BLANK.
    fn is_on(&self, output: usize, clocks: u64) -> bool {
        !self.blank && u64::from(self.values[output]) > clocks
    }

    /// Whether some output is on and some layer with it.
    pub(super) fn is_lit(&self, clocks: u64) -> bool {
        self.on != 0 && clocks > 0 && self.wiring.iter().any(|&output| self.is_on(output, clocks))
    }

    /// Of each output whether it is on and nothing holds up its voltage: no LED, or none that has
    /// a supply.
    pub(super) fn open(&self, clocks: u64) -> Vec<bool> {
        let is_open = |(output, &attached): (usize, &bool)| {
            self.is_on(output, clocks) && !(attached && self.on != 0)
        };
        self.attached.iter().enumerate().map(is_open).collect()
    }

    /// When, in grayscale clocks of this cycle, the next output after now is switched off.
    pub(super) fn next_off(&self, clocks: u64) -> Option<u64> {
        let values = self.values.iter().map(|&value| u64::from(value));
        values.filter(|&value| !self.blank && value > clocks).min()
    }

    /// Adds up what was lit until now.
    fn add_up(&mut self, clocks: u64) {
        if !self.blank && self.on != 0 {
            for (_, lit) in
                (0u32..).zip(&mut self.lit).filter(|(layer, _)| self.on >> layer & 1 != 0)
            {
                let outputs = self.values.iter().zip(&self.correction).zip(&self.attached);
                for (lit, ((&value, &correction), &attached)) in lit.iter_mut().zip(outputs) {
                    let on = u64::from(value).min(clocks).saturating_sub(self.done);
                    *lit += on * u64::from(correction) * u64::from(attached);
                }
            }
        }
        self.done = clocks;
    }

    /// Returns whether an output changes.
    pub(super) fn latch(&mut self, values: Vec<u16>, clocks: u64) -> bool {
        self.add_up(clocks);
        let changes = self.values != values;
        self.values = values;
        changes
    }

    pub(super) fn correct(&mut self, correction: &[u16], clocks: u64) {
        self.add_up(clocks);
        self.correction.copy_from_slice(correction);
    }

    pub(super) fn set_blank(&mut self, blank: bool, clocks: u64) {
        self.add_up(clocks);
        (self.blank, self.done) = (blank, 0);
    }

    pub(super) fn switch(&mut self, layer: usize, on: bool, clocks: u64) {
        self.add_up(clocks);
        let bit = 1 << layer;
        self.on = if on { self.on | bit } else { self.on & !bit };
        // The first layer's own turn begins after the picture that its turn-on ends.
        if on && layer > 0 {
            self.seen |= bit;
        }
    }

    /// Whether every layer has had its turn since the last picture.
    pub(super) fn completed_cycle(&self) -> bool {
        self.seen | 1 == self.all
    }

    /// What was to be seen since the last picture.
    pub(super) fn take_picture(&mut self) -> Picture {
        let (tile_width, tile_height) = (self.columns + 1, self.rows + 1);
        let down = self.lit.len().div_ceil(self.across);
        let (width, height) = (self.across * tile_width - 1, down * tile_height - 1);
        let mut rgb = vec![0; 3 * width * height];
        for (layer, lit) in self.lit.iter_mut().enumerate() {
            let (left, top) = (layer % self.across * tile_width, layer / self.across * tile_height);
            for (led, &output) in self.wiring.iter().enumerate() {
                let (row, column) = (led / self.columns, led % self.columns);
                let at = (top + row) * width + left + column;
                rgb[3 * at..3 * at + 3].fill(shade(lit[output], WHOLE * self.full));
            }
            lit.fill(0);
        }
        self.seen = 0;
        Picture { width: width as u16, height: height as u16, rgb }
    }
}

/// 255 times the root of the share of what is full, rounded.
fn shade(lit: u64, full: u64) -> u8 {
    let square = 4 * 255 * 255 * lit.min(full) / full;
    square.isqrt().div_ceil(2).min(255) as u8
}
