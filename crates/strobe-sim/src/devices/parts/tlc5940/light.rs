//! How long each LED is lit: an output is on from the end of BLANK for as many grayscale clocks as
//! its value states, and lights the LED of each layer that is switched on meanwhile.

use super::Options;
use crate::kernel::device::part::Picture;

/// Grayscale clocks of a whole cycle.
const WHOLE: u64 = 4096;
const SECOND: u128 = 1_000_000_000;

pub(super) struct Light {
    gsclk_hz: u64,
    columns: usize,
    rows: usize,
    serpentine: bool,
    across: usize,
    /// Latched values by output.
    values: Vec<u16>,
    /// When BLANK went low; `None` while it is high.
    began: Option<u64>,
    /// Everything up to here, in nanoseconds, has been added up.
    done: u64,
    /// Layers that are on, those that have been since the last picture; one bit each. Without
    /// layers, bit 0 is always on.
    on: u32,
    seen: u32,
    all: u32,
    /// Grayscale clocks by layer, then output.
    lit: Vec<Vec<u64>>,
}

impl Light {
    pub(super) fn new(options: &Options) -> Self {
        let layers = options.layers.len();
        let (columns, rows) = (usize::from(options.columns), usize::from(options.rows));
        let tiles = layers.max(1);
        let square = tiles.isqrt() + usize::from(tiles.isqrt().pow(2) < tiles);
        Self {
            gsclk_hz: options.gsclk_hz,
            columns,
            rows,
            serpentine: options.serpentine,
            across: options.across.map_or(square, usize::from).min(tiles),
            values: vec![0; 16 * usize::from(options.count)],
            began: None,
            done: 0,
            on: u32::from(layers == 0),
            seen: 0,
            all: (0..layers).fold(0, |mask, layer| mask | 1 << layer),
            lit: vec![vec![0; columns * rows]; tiles],
        }
    }

    pub(super) fn clear(&mut self) {
        self.values.fill(0);
        (self.began, self.done, self.seen) = (None, 0, 0);
        self.lit.iter_mut().for_each(|layer| layer.fill(0));
    }

    pub(super) fn is_blank(&self) -> bool {
        self.began.is_none()
    }

    /// Grayscale clocks since the end of BLANK.
    fn clocks(&self, now: u64) -> u64 {
        let since = self.began.map_or(0, |began| now.saturating_sub(began));
        ((u128::from(since) * u128::from(self.gsclk_hz) + SECOND / 2) / SECOND) as u64
    }

    /// Whether some output is on and some layer with it.
    pub(super) fn is_lit(&self, now: u64) -> bool {
        let clocks = self.clocks(now);
        let outputs = &self.values[..self.columns * self.rows];
        self.on != 0
            && self.began.is_some_and(|began| now > began)
            && outputs.iter().any(|&value| u64::from(value) > clocks)
    }

    /// Adds up what was lit until now.
    fn add_up(&mut self, now: u64) {
        if self.began.is_some() && self.on != 0 {
            let (from, to) = (self.clocks(self.done), self.clocks(now));
            for (_, lit) in
                (0u32..).zip(&mut self.lit).filter(|(layer, _)| self.on >> layer & 1 != 0)
            {
                for (lit, &value) in lit.iter_mut().zip(&self.values) {
                    let value = u64::from(value);
                    *lit += value.min(to).saturating_sub(from);
                }
            }
        }
        self.done = now;
    }

    pub(super) fn latch(&mut self, values: Vec<u16>, now: u64) {
        self.add_up(now);
        self.values = values;
    }

    pub(super) fn set_blank(&mut self, blank: bool, now: u64) {
        self.add_up(now);
        self.began = (!blank).then_some(now);
    }

    pub(super) fn switch(&mut self, layer: usize, on: bool, now: u64) {
        self.add_up(now);
        let bit = 1 << layer;
        self.on = if on { self.on | bit } else { self.on & !bit };
        // The first layer's own turn begins after the picture that its turn-on ends.
        if on && layer > 0 {
            self.seen |= bit;
        }
    }

    /// Whether every layer has had its turn since the last picture.
    pub(super) fn has_been_round(&self) -> bool {
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
            for (output, lit) in lit.iter_mut().enumerate() {
                let (row, place) = (output / self.columns, output % self.columns);
                let backwards = self.serpentine && row % 2 == 1;
                let column = if backwards { self.columns - 1 - place } else { place };
                let at = (top + row) * width + left + column;
                rgb[3 * at..3 * at + 3].fill(shade(std::mem::take(lit)));
            }
        }
        self.seen = 0;
        Picture { width: width as u16, height: height as u16, rgb }
    }
}

/// 255 times the root of the share of a whole cycle, rounded.
fn shade(clocks: u64) -> u8 {
    let square = 4 * 255 * 255 * clocks.min(WHOLE) / WHOLE;
    square.isqrt().div_ceil(2).min(255) as u8
}
