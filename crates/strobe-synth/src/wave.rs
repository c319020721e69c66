//! Signals on lines: bytes sent by UART, SPI and I2C, with the faults that a test needs.
//!
//! Times are ticks of a clock that the caller defines. This shares nothing with the decoders.

/// A line: its first level, and its changes by time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line {
    /// Whether it begins high.
    pub initial: bool,
    /// The times of its changes, and the new levels.
    pub edges: Vec<(u64, bool)>,
}

impl Line {
    /// An idle line.
    pub fn new(initial: bool) -> Self {
        Line { initial, edges: Vec::new() }
    }

    /// Sets the level from `at` on, which is not before the last change.
    pub fn set(&mut self, at: u64, level: bool) {
        if self.edges.last().is_some_and(|last| last.0 == at) {
            self.edges.pop();
        }
        if self.level() != level {
            self.edges.push((at, level));
        }
    }

    /// The level after the last change.
    pub fn level(&self) -> bool {
        self.edges.last().map_or(self.initial, |last| last.1)
    }

    /// The same line inverted.
    pub fn inverted(&self) -> Line {
        let edges = self.edges.iter().map(|(at, level)| (*at, !level)).collect();
        Line { initial: !self.initial, edges }
    }
}

/// The parity bit of a UART word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParityBit {
    /// Nothing.
    None,
    /// Makes the number of ones even.
    Even,
    /// Makes the number of ones odd.
    Odd,
    /// 1.
    Mark,
    /// 0.
    Space,
}

/// A UART transmitter.
#[derive(Debug, Clone)]
pub struct UartWave {
    /// The line so far, idle high.
    pub line: Line,
    /// Ticks to a bit.
    pub bit: f64,
    /// Data bits.
    pub data_bits: u32,
    /// Parity.
    pub parity: ParityBit,
    /// Stop bits, halves included.
    pub stop_bits: f64,
    /// The current time.
    pub now: f64,
}

impl UartWave {
    /// A transmitter of eight bits, no parity, one stop bit.
    pub fn new(bit: f64) -> Self {
        let line = Line::new(true);
        UartWave { line, bit, data_bits: 8, parity: ParityBit::None, stop_bits: 1.0, now: 0.0 }
    }

    /// Idle for so many bits.
    pub fn rest(&mut self, bits: f64) {
        self.put(true, bits);
    }

    /// Holds a level for so many bits.
    pub fn put(&mut self, level: bool, bits: f64) {
        self.line.set(self.now.round() as u64, level);
        self.now += bits * self.bit;
    }

    /// Sends a word.
    pub fn send(&mut self, word: u32) {
        self.send_with(word, false, false);
    }

    /// Sends a word, with the wrong parity bit, or a low stop bit and an idle time after it.
    /// Returns the tick of its beginning.
    pub fn send_with(&mut self, word: u32, bad_parity: bool, bad_stop: bool) -> u64 {
        let start = self.now.round() as u64;
        self.put(false, 1.0);
        let mut odd = false;
        for n in 0..self.data_bits {
            let one = word & (1 << n) != 0;
            odd ^= one;
            self.put(one, 1.0);
        }
        let parity = match self.parity {
            ParityBit::None => None,
            ParityBit::Even => Some(odd),
            ParityBit::Odd => Some(!odd),
            ParityBit::Mark => Some(true),
            ParityBit::Space => Some(false),
        };
        if let Some(parity) = parity {
            self.put(parity != bad_parity, 1.0);
        }
        self.put(!bad_stop, self.stop_bits);
        if bad_stop {
            self.rest(2.0);
        }
        start
    }
}

/// An SPI master with one device, and the device's answers.
#[derive(Debug, Clone)]
pub struct SpiWave {
    /// Clock, data out, data in, select (low means selected).
    pub lines: [Line; 4],
    /// CPOL and CPHA.
    pub mode: (bool, bool),
    /// Ticks to half a clock period.
    pub half: u64,
    /// The current time.
    pub now: u64,
}

impl SpiWave {
    /// An idle bus.
    pub fn new(mode: (bool, bool), half: u64) -> Self {
        let lines = [Line::new(mode.0), Line::new(false), Line::new(false), Line::new(true)];
        SpiWave { lines, mode, half, now: 4 * half }
    }

    /// Selects (low) or deselects.
    pub fn select(&mut self, selected: bool) {
        self.lines[3].set(self.now, !selected);
        self.now += self.half;
    }

    /// Sends and receives a bit.
    pub fn bit(&mut self, out: bool, back: bool) {
        let (rest, second) = self.mode;
        let data = |lines: &mut [Line; 4], at: u64| {
            lines[1].set(at, out);
            lines[2].set(at, back);
        };
        // Data changes half a period before the edge that samples it.
        if !second {
            data(&mut self.lines, self.now);
            self.now += self.half;
            self.lines[0].set(self.now, !rest);
            self.now += self.half;
            self.lines[0].set(self.now, rest);
        } else {
            self.lines[0].set(self.now, !rest);
            data(&mut self.lines, self.now);
            self.now += self.half;
            self.lines[0].set(self.now, rest);
            self.now += self.half;
        }
    }

    /// Sends and receives the low bits of two words, the most significant first.
    pub fn word(&mut self, out: u32, back: u32, bits: u32) {
        for n in (0..bits).rev() {
            self.bit(out & (1 << n) != 0, back & (1 << n) != 0);
        }
    }
}

/// An I2C bus with its master and the addressed device.
#[derive(Debug, Clone)]
pub struct I2cWave {
    /// Clock.
    pub scl: Line,
    /// Data.
    pub sda: Line,
    /// Ticks to a quarter of a clock period.
    pub quarter: u64,
    /// The current time.
    pub now: u64,
}

impl I2cWave {
    /// An idle bus.
    pub fn new(quarter: u64) -> Self {
        I2cWave { scl: Line::new(true), sda: Line::new(true), quarter, now: 8 * quarter }
    }

    fn step(&mut self) {
        self.now += self.quarter;
    }

    /// A start condition, repeated if the bus is not idle.
    pub fn start(&mut self) {
        self.sda.set(self.now, true);
        self.step();
        self.scl.set(self.now, true);
        self.step();
        self.sda.set(self.now, false);
        self.step();
        self.scl.set(self.now, false);
        self.step();
    }

    /// A bit, the clock held low for some ticks more.
    pub fn bit(&mut self, one: bool, stretch: u64) {
        self.sda.set(self.now, one);
        self.now += self.quarter + stretch;
        self.scl.set(self.now, true);
        self.now += 2 * self.quarter;
        self.scl.set(self.now, false);
        self.step();
    }

    /// A byte and its acknowledgement; the clock is held low before the latter.
    pub fn byte(&mut self, byte: u8, acknowledged: bool, stretch: u64) {
        for n in (0..8).rev() {
            self.bit(byte & (1 << n) != 0, 0);
        }
        self.bit(!acknowledged, stretch);
    }

    /// A stop condition.
    pub fn stop(&mut self) {
        self.sda.set(self.now, false);
        self.step();
        self.scl.set(self.now, true);
        self.step();
        self.sda.set(self.now, true);
        self.now += 4 * self.quarter;
    }
}
