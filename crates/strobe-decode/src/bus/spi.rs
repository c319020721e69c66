//! SPI: a bit of each data line with each clock pulse, in four modes, with or without a select
//! line; and the three-wire form of small displays, where a data/command bit comes first.

use crate::bus::report::{BusTransfer, BusWord, FaultKind, WordKind};
use strobe_model::number::counted;

use super::{Decoded, fault, lane};
use crate::capture::{Capture, Level, Step};

/// How words are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Format {
    /// The clock rests high (CPOL = 1).
    pub rests_high: bool,
    /// Data is taken at the second edge of a clock pulse (CPHA = 1) and not at the first.
    pub second_edge: bool,
    /// The least significant bit comes first.
    pub lsb_first: bool,
    /// Bits of a word, 1 to 32, without a data/command bit.
    pub bits: u8,
    /// Selected while the line is high.
    pub select_high: bool,
    /// Each word begins with one more bit, which shows whether it is data (1) or a command (0).
    pub dc_bit: bool,
}

impl Default for Format {
    fn default() -> Self {
        Format {
            rests_high: false,
            second_edge: false,
            lsb_first: false,
            bits: 8,
            select_high: false,
            dc_bit: false,
        }
    }
}

/// The channels; those that were not recorded are `None`.
#[derive(Debug, Clone, Copy)]
pub struct Lines {
    /// Clock.
    pub clk: usize,
    /// To the device, or both ways with three wires.
    pub mosi: Option<usize>,
    /// From the device.
    pub miso: Option<usize>,
    /// Select.
    pub cs: Option<usize>,
    /// A line that shows whether a word is data or a command.
    pub dc: Option<usize>,
}

/// What happened. Times are ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A whole word.
    Word(Word),
    /// The device is selected.
    Selected {
        /// When; the beginning of the recording if it already was.
        at: u64,
        /// The clock is not where it should rest.
        clock_is_off: bool,
    },
    /// The device is no longer selected.
    Deselected {
        /// When.
        at: u64,
    },
    /// A word with too few bits.
    CutShort {
        /// When its first bit was taken.
        start: u64,
        /// When it ended.
        end: u64,
        /// How many bits it had.
        bits: u8,
    },
}

/// A word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Word {
    /// When its first bit was taken.
    pub start: u64,
    /// When its last bit was over, if it was as long as the others on the average.
    pub end: u64,
    /// What went to the device.
    pub mosi: u32,
    /// What the device sent.
    pub miso: u32,
    /// Data (true) or a command, where that is known.
    pub data: Option<bool>,
    /// Some level was unknown, and taken as low: on `mosi` and on `miso`.
    pub unknown: (bool, bool),
}

/// A decoder: push steps of the five lines (clock, mosi, miso, select, data/command), get events.
#[derive(Debug, Clone)]
pub struct Spi {
    format: Format,
    has_select: bool,
    clock: Level,
    selected: bool,
    bits: u8,
    word: Word,
}

impl Spi {
    /// Without a select line the device is always selected.
    pub fn new(format: Format, has_select: bool) -> Self {
        let clock = Level::Unknown;
        Spi { format, has_select, clock, selected: false, bits: 0, word: Word::default() }
    }

    /// The levels from one moment on.
    pub fn push(&mut self, step: &Step<5>, out: &mut impl FnMut(Event)) {
        let [clk, mosi, miso, cs, dc] = step.levels;
        let was = std::mem::replace(&mut self.clock, clk);
        let active = Level::of(self.format.select_high);
        self.select(step.at, !self.has_select || cs == active, was, out);
        let leading = (was.is_low() && clk.is_high(), was.is_high() && clk.is_low());
        let rising = self.format.rests_high == self.format.second_edge;
        let takes = if rising { leading.0 } else { leading.1 };
        if self.selected && takes {
            self.bit(step.at, mosi, miso, dc, out);
        }
    }

    /// The recording ends.
    pub fn finish(mut self, end: u64, out: &mut impl FnMut(Event)) {
        self.cut(end, out);
    }

    fn select(&mut self, at: u64, selected: bool, clock: Level, out: &mut impl FnMut(Event)) {
        if selected == self.selected {
            return;
        }
        self.selected = selected;
        self.cut(at, out);
        if selected {
            let clock = if clock == Level::Unknown { self.clock } else { clock };
            let rest = Level::of(self.format.rests_high);
            out(Event::Selected { at, clock_is_off: clock == rest.inverted() });
        } else {
            out(Event::Deselected { at });
        }
    }

    fn cut(&mut self, end: u64, out: &mut impl FnMut(Event)) {
        if self.bits > 0 {
            out(Event::CutShort { start: self.word.start, end, bits: self.bits });
        }
        self.bits = 0;
    }

    fn bit(&mut self, at: u64, mosi: Level, miso: Level, dc: Level, out: &mut impl FnMut(Event)) {
        if self.bits == 0 {
            self.word = Word { start: at, ..Word::default() };
        }
        let word = &mut self.word;
        word.unknown.0 |= mosi == Level::Unknown;
        word.unknown.1 |= miso == Level::Unknown;
        let n = self.bits;
        self.bits += 1;
        if self.format.dc_bit && n == 0 {
            word.data = Some(mosi.is_high());
        } else {
            let n = n - u8::from(self.format.dc_bit);
            let place = if self.format.lsb_first { n } else { self.format.bits - 1 - n };
            word.mosi |= u32::from(mosi.is_high()) << place;
            word.miso |= u32::from(miso.is_high()) << place;
        }
        let all = self.format.bits + u8::from(self.format.dc_bit);
        if self.bits < all {
            return;
        }
        // The data/command line counts with the last bit, as displays take it.
        if dc != Level::Unknown {
            word.data = Some(dc.is_high());
        }
        word.end = at + (at - word.start) / u64::from(all - 1).max(1);
        out(Event::Word(*word));
        self.bits = 0;
    }
}

/// Decodes a bus.
///
/// # Panics
/// When there are no such channels.
pub fn decode(capture: &Capture, lines: Lines, format: Format) -> Decoded {
    let mut spi = Spi::new(format, lines.cs.is_some());
    let mut taken = WordCollector::new(capture, lines.cs.is_some());
    let channels = [Some(lines.clk), lines.mosi, lines.miso, lines.cs, lines.dc];
    for step in capture.steps(channels) {
        spi.push(&step, &mut |event| taken.take(event, &lines));
    }
    spi.finish(capture.end, &mut |event| taken.take(event, &lines));
    if taken.open
        && lines.cs.is_some()
        && let Some(last) = taken.transfers.last_mut()
    {
        (last.end_ps, last.whole) = (capture.at_ps(capture.end), false);
    }
    taken.finish(lines)
}

struct WordCollector<'a> {
    capture: &'a Capture,
    has_select: bool,
    mosi: Vec<BusWord>,
    miso: Vec<BusWord>,
    transfers: Vec<BusTransfer>,
    faults: Vec<crate::bus::report::BusFault>,
    open: bool,
    clock_off: u64,
}

impl<'a> WordCollector<'a> {
    fn new(capture: &'a Capture, has_select: bool) -> Self {
        let (mosi, miso) = (Vec::new(), Vec::new());
        let (transfers, faults) = (Vec::new(), Vec::new());
        WordCollector {
            capture,
            has_select,
            mosi,
            miso,
            transfers,
            faults,
            open: false,
            clock_off: 0,
        }
    }

    fn take(&mut self, event: Event, lines: &Lines) {
        match event {
            Event::Word(word) => self.word(&word, lines),
            Event::Selected { at, clock_is_off } => {
                self.clock_off += u64::from(clock_is_off && self.has_select);
                self.open = true;
                if self.has_select {
                    self.transfers.push(BusTransfer {
                        start_ps: self.capture.at_ps(at),
                        end_ps: self.capture.at_ps(at),
                        first: self.mosi.len() as u64,
                        words: 0,
                        address: None,
                        read: None,
                        whole: at > 0,
                    });
                }
            }
            Event::Deselected { at } => {
                self.open = false;
                if let Some(transfer) = self.transfers.last_mut() {
                    transfer.end_ps = self.capture.at_ps(at);
                }
            }
            Event::CutShort { start, end, bits } => {
                let text = format!("a word of {}", counted(u64::from(bits), "bit"));
                let cut = fault(self.capture, (start, end), "", FaultKind::CutShort, text);
                self.faults.push(cut);
            }
        }
    }

    fn word(&mut self, word: &Word, lines: &Lines) {
        let kind = if word.data == Some(false) { WordKind::Command } else { WordKind::Data };
        let (start_ps, end_ps) = (self.capture.at_ps(word.start), self.capture.at_ps(word.end));
        let faulty =
            (word.unknown.0 && lines.mosi.is_some(), word.unknown.1 && lines.miso.is_some());
        for (is, name) in [(faulty.0, "mosi"), (faulty.1, "miso")] {
            if is {
                let text = "the level is unknown in a word";
                let unknown = FaultKind::UnknownLevel;
                self.faults.push(fault(self.capture, (word.start, word.end), name, unknown, text));
            }
        }
        let plain = BusWord {
            start_ps,
            end_ps,
            value: word.mosi,
            kind,
            acknowledged: None,
            faulty: faulty.0,
        };
        self.mosi.push(plain);
        self.miso.push(BusWord { value: word.miso, faulty: faulty.1, ..plain });
        if let Some(transfer) = self.transfers.last_mut().filter(|_| self.open) {
            transfer.words += 1;
        }
    }

    fn finish(mut self, lines: Lines) -> Decoded {
        let name = |at: usize| self.capture.channels[at].name.as_str();
        let mut lanes = Vec::new();
        for (part, line, words) in
            [("mosi", lines.mosi, self.mosi), ("miso", lines.miso, self.miso)]
        {
            if let Some(line) = line {
                lanes.push(lane(part, name(line), words, self.capture));
            }
        }
        let mut notes = Vec::new();
        if self.has_select && self.transfers.is_empty() {
            notes.push(
                "the device was never selected; is cs the right line, and active low?".to_owned(),
            );
        }
        if self.clock_off > 0 {
            let n = self.clock_off;
            notes.push(format!(
                "the clock was not at rest at {n} of the selects; is the mode right?"
            ));
        }
        self.faults.sort_by_key(|fault| fault.start_ps);
        Decoded {
            lanes,
            transfers: self.transfers,
            faults: self.faults,
            notes,
            ..Decoded::default()
        }
    }
}
