//! UART: a start bit, five to nine data bits, a parity bit or none, and stop bits, without a clock.
//!
//! Each bit is looked at in its middle, counted from the beginning of the start bit. What a
//! receiver would not see is seen all the same: every pulse shorter than half a bit is a glitch,
//! wherever it is.

use crate::bus::report::{BusWord, FaultKind, WordKind};

use super::{Decoded, fault, lane};
use crate::capture::{Capture, Level};

/// What follows the data bits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Parity {
    /// No parity bit.
    #[default]
    None,
    /// Ones of data and parity are even in number.
    Even,
    /// Ones of data and parity are odd in number.
    Odd,
    /// Always 1.
    Mark,
    /// Always 0.
    Space,
}

/// How long the line rests after a word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StopBits {
    /// One bit.
    #[default]
    One,
    /// One and a half.
    OneAndAHalf,
    /// Two.
    Two,
}

/// How words are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    /// Data bits, 5 to 9.
    pub data_bits: u8,
    /// Parity.
    pub parity: Parity,
    /// Stop bits.
    pub stop_bits: StopBits,
    /// The most significant bit comes first, against custom.
    pub msb_first: bool,
    /// The line rests low and the start bit is high.
    pub inverted: bool,
}

impl Default for Format {
    fn default() -> Self {
        Format {
            data_bits: 8,
            parity: Parity::None,
            stop_bits: StopBits::One,
            msb_first: false,
            inverted: false,
        }
    }
}

impl Format {
    /// Bits before the first stop bit: start, data, parity.
    fn bits_before_stop(&self) -> u32 {
        1 + u32::from(self.data_bits) + u32::from(self.parity != Parity::None)
    }

    /// How long a word is, in bits.
    pub fn word_bits(&self) -> f64 {
        let stop = match self.stop_bits {
            StopBits::One => 1.0,
            StopBits::OneAndAHalf => 1.5,
            StopBits::Two => 2.0,
        };
        f64::from(self.bits_before_stop()) + stop
    }

    /// Where the line is looked at, in bits from the beginning of the word; `None` after the last.
    fn looks_at(&self, n: u32) -> Option<f64> {
        let first_stop = self.bits_before_stop();
        if n <= first_stop {
            return Some(f64::from(n) + 0.5);
        }
        let last = match self.stop_bits {
            StopBits::One => return None,
            StopBits::OneAndAHalf => 1.25,
            StopBits::Two => 1.5,
        };
        (n == first_stop + 1).then_some(f64::from(first_stop) + last)
    }
}

/// What happened on the line. Times are ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A word, sound or not.
    Word(Word),
    /// The line was low for a whole word and more.
    Break {
        /// When it went low.
        start: u64,
        /// When it went high again, or the end of the recording.
        end: u64,
    },
    /// A pulse shorter than half a bit.
    Glitch {
        /// When it began.
        start: u64,
        /// When it ended.
        end: u64,
    },
    /// A word that the end of the recording cut.
    CutShort {
        /// When it began.
        start: u64,
        /// The end of the recording.
        end: u64,
    },
}

/// A word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word {
    /// Beginning of its start bit.
    pub start: u64,
    /// Where its last stop bit should end.
    pub end: u64,
    /// Its data bits.
    pub value: u32,
    /// Its parity bit is wrong.
    pub parity_error: bool,
    /// A stop bit is low.
    pub framing_error: bool,
    /// Some level was unknown, and taken as low.
    pub unknown: bool,
}

#[derive(Debug, Clone, Copy)]
enum State {
    /// Low since before anything is known, or after a framing error: a word begins only after the
    /// line has rested.
    Waiting,
    Resting,
    InWord(WordCollector),
    InBreak(u64),
}

/// What a word has so far.
#[derive(Debug, Clone, Copy, Default)]
struct WordCollector {
    start: u64,
    looks: u32,
    /// In order of arrival, parity and stop bits included; the first is the lowest.
    bits: u32,
    unknown: bool,
}

/// A decoder for one line: push edges, get events.
#[derive(Debug, Clone)]
pub struct Uart {
    format: Format,
    bit: f64,
    state: State,
    level: Level,
    last_edge: Option<u64>,
    in_glitch: bool,
}

impl Uart {
    /// For a line at that level, with bits of so many ticks.
    pub fn new(format: Format, bit_ticks: f64, initial: Level) -> Self {
        let level = if format.inverted { initial.inverted() } else { initial };
        let state = if level.is_low() { State::Waiting } else { State::Resting };
        Uart { format, bit: bit_ticks, state, level, last_edge: None, in_glitch: false }
    }

    /// The line changes.
    pub fn push(&mut self, at: u64, level: Level, out: &mut impl FnMut(Event)) {
        let level = if self.format.inverted { level.inverted() } else { level };
        self.look_until(at, out);
        self.glitch(at, level, out);
        let was = std::mem::replace(&mut self.level, level);
        match self.state {
            // From an unknown level the beginning of a start bit is not known.
            State::Resting if level.is_low() && was.is_high() => {
                self.state = State::InWord(WordCollector { start: at, ..WordCollector::default() });
            }
            State::Waiting if level.is_high() => self.state = State::Resting,
            State::InBreak(start) if !level.is_low() => {
                out(Event::Break { start, end: at });
                self.state = State::Resting;
            }
            _ => {}
        }
    }

    /// The recording ends.
    pub fn finish(mut self, end: u64, out: &mut impl FnMut(Event)) {
        self.look_until(end.saturating_add(1), out);
        match self.state {
            State::InWord(word) => out(Event::CutShort { start: word.start, end }),
            State::InBreak(start) => out(Event::Break { start, end }),
            State::Waiting | State::Resting => {}
        }
    }

    fn glitch(&mut self, at: u64, level: Level, out: &mut impl FnMut(Event)) {
        let known = level != Level::Unknown && self.level != Level::Unknown;
        let short = self.last_edge.filter(|last| known && ((at - last) as f64) < self.bit / 2.0);
        // The spike and the short rest beside it are one glitch.
        let begins = short.filter(|_| !self.in_glitch);
        if let Some(start) = begins {
            out(Event::Glitch { start, end: at });
        }
        self.in_glitch = begins.is_some();
        self.last_edge = Some(at);
    }

    /// Looks at all bits whose middle lies before `at`.
    fn look_until(&mut self, at: u64, out: &mut impl FnMut(Event)) {
        while let State::InWord(mut word) = self.state {
            let Some(middle) = self.format.looks_at(word.looks) else { return };
            if middle * self.bit >= (at - word.start) as f64 {
                return;
            }
            let high = self.level.is_high();
            word.unknown |= self.level == Level::Unknown;
            if word.looks == 0 && high {
                // Too short for a start bit: a glitch, and reported as one.
                self.state = State::Resting;
                return;
            }
            word.bits |= u32::from(high) << word.looks;
            word.looks += 1;
            self.state = State::InWord(word);
            if self.format.looks_at(word.looks).is_none() {
                self.state = self.end(&word, out);
                return;
            }
        }
    }

    fn end(&self, word: &WordCollector, out: &mut impl FnMut(Event)) -> State {
        if word.bits == 0 && !word.unknown {
            return State::InBreak(word.start);
        }
        let n = u32::from(self.format.data_bits);
        let data = word.bits >> 1 & ((1 << n) - 1);
        let parity = word.bits >> (n + 1) & 1;
        let ones = data.count_ones() + parity;
        let parity_error = match self.format.parity {
            Parity::None => false,
            Parity::Even => !ones.is_multiple_of(2),
            Parity::Odd => ones.is_multiple_of(2),
            Parity::Mark => parity == 0,
            Parity::Space => parity == 1,
        };
        let stops = word.looks - self.format.bits_before_stop();
        let stop = word.bits >> self.format.bits_before_stop();
        let length = (self.format.word_bits() * self.bit).round() as u64;
        out(Event::Word(Word {
            start: word.start,
            end: word.start.saturating_add(length),
            value: if self.format.msb_first { data.reverse_bits() >> (32 - n) } else { data },
            parity_error,
            framing_error: stop != (1 << stops) - 1,
            unknown: word.unknown,
        }));
        if self.level.is_low() { State::Waiting } else { State::Resting }
    }
}

/// Decodes a channel. `name` is its part, `rx` or `tx`; a bit has so many ticks.
///
/// # Panics
/// When there is no such channel.
pub fn decode(capture: &Capture, channel: usize, name: &str, format: Format, bit: f64) -> Decoded {
    let line = &capture.channels[channel];
    let (mut words, mut faults) = (Vec::new(), Vec::new());
    let mut take = |event: Event| match event {
        Event::Word(word) => {
            let wrong = [
                (word.framing_error, FaultKind::Framing, "a stop bit is low after"),
                (word.parity_error, FaultKind::Parity, "the parity bit is wrong after"),
                (word.unknown, FaultKind::UnknownLevel, "the level is unknown in"),
            ];
            for (_, kind, text) in wrong.iter().filter(|(is, ..)| *is) {
                let text = format!("{text} {:#04x}", word.value);
                faults.push(fault(capture, (word.start, word.end), name, *kind, text));
            }
            words.push(BusWord {
                start_ps: capture.at_ps(word.start),
                end_ps: capture.at_ps(word.end),
                value: word.value,
                kind: WordKind::Data,
                acknowledged: None,
                faulty: wrong.iter().any(|(is, ..)| *is),
            });
        }
        Event::Break { start, end } => {
            let bits = (end - start) as f64 / bit;
            let text = format!("the line is low for {bits:.1} bits");
            faults.push(fault(capture, (start, end), name, FaultKind::Break, text));
        }
        Event::Glitch { start, end } => {
            let bits = (end - start) as f64 / bit;
            let text = format!("a pulse of {bits:.2} bits");
            faults.push(fault(capture, (start, end), name, FaultKind::Glitch, text));
        }
        Event::CutShort { start, end } => {
            let text = "the recording ends in a word";
            faults.push(fault(capture, (start, end), name, FaultKind::CutShort, text));
        }
    };
    let mut uart = Uart::new(format, bit, line.initial);
    for edge in &line.edges {
        uart.push(edge.at(), edge.level(), &mut take);
    }
    uart.finish(capture.end, &mut take);
    faults.sort_by_key(|fault| fault.start_ps);
    let lanes = vec![lane(name, &line.name, words, capture)];
    Decoded { lanes, faults, ..Decoded::default() }
}
