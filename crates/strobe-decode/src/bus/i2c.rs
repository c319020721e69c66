//! I2C (NXP UM10204): start and stop conditions, addresses, bytes, acknowledgements, and how long
//! the clock is held low.

use crate::bus::report::{BusFault, BusTransfer, BusWord, FaultKind, Stretched, WordKind};
use crate::summary::{ValueCounts, ValueSummary};
use strobe_model::number::counted;

use super::{Decoded, fault, lane};
use crate::capture::{Capture, Level, Step};

/// What happened. Times are ticks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// Data falls while the clock is high.
    Start {
        /// When.
        at: u64,
        /// There was no stop condition since the last one.
        repeated: bool,
    },
    /// Eight bits and what the receiver answered.
    Byte {
        /// When the clock last fell before its first bit.
        start: u64,
        /// When the clock fell after its ninth.
        end: u64,
        /// The eight bits.
        value: u8,
        /// The ninth bit is low.
        acknowledged: bool,
        /// Some level was unknown, and taken as low.
        unknown: bool,
    },
    /// Eight bits, and a start or stop condition in the clock that was to bring the answer.
    Unanswered {
        /// When the clock last fell before its first bit.
        start: u64,
        /// When the condition came.
        end: u64,
        /// The eight bits.
        value: u8,
        /// Some level was unknown, and taken as low.
        unknown: bool,
    },
    /// Data rises while the clock is high.
    Stop {
        /// When.
        at: u64,
    },
    /// A start or stop condition after some bits of a byte, or the end of the recording.
    CutShort {
        /// When the byte began.
        start: u64,
        /// When it ended.
        end: u64,
        /// Its bits so far.
        bits: u8,
    },
    /// A stop condition that nothing began.
    StrayStop {
        /// When.
        at: u64,
    },
    /// Between start and stop, the clock was low that long.
    ClockLow {
        /// When it fell.
        start: u64,
        /// When it rose.
        end: u64,
    },
}

/// A decoder: push steps of clock and data, get events.
#[derive(Debug, Clone, Default)]
pub struct I2c {
    last: Option<(Level, Level)>,
    in_transfer: bool,
    bits: u8,
    value: u16,
    unknown: bool,
    start: u64,
    fell: u64,
}

impl I2c {
    /// At the beginning of a recording, in no transfer.
    pub fn new() -> Self {
        I2c::default()
    }

    /// The levels of clock and data from one moment on. Where both change at once, the clock counts
    /// as first.
    pub fn push(&mut self, step: &Step<2>, out: &mut impl FnMut(Event)) {
        let [scl, sda] = step.levels;
        let at = step.at;
        let Some((clock, data)) = self.last.replace((scl, sda)) else { return };
        match (clock, scl) {
            (Level::High, Level::High) => match (data, sda) {
                (Level::High, Level::Low) => self.begin(at, out),
                (Level::Low, Level::High) => self.stop(at, out),
                _ => {}
            },
            (Level::Low, Level::High) => self.rise(at, sda, out),
            (Level::High, Level::Low) => self.fall(at, out),
            _ => {}
        }
    }

    /// The recording ends.
    pub fn finish(mut self, end: u64, out: &mut impl FnMut(Event)) {
        if self.bits == 9 {
            self.fall(end, out);
        }
        self.cut(end, 0, out);
    }

    /// A byte in progress ends early, but for bits that were none.
    fn cut(&mut self, end: u64, none: u8, out: &mut impl FnMut(Event)) {
        let bits = self.bits.saturating_sub(none);
        let (start, unknown) = (self.start, self.unknown);
        if self.in_transfer && bits == 8 && none == 1 {
            out(Event::Unanswered { start, end, value: (self.value >> 1) as u8, unknown });
        } else if self.in_transfer && bits > 0 {
            out(Event::CutShort { start, end, bits });
        }
        (self.bits, self.value, self.unknown) = (0, 0, false);
    }

    /// The clock rose before a start or stop condition as before a bit; that one was none.
    fn begin(&mut self, at: u64, out: &mut impl FnMut(Event)) {
        self.cut(at, 1, out);
        out(Event::Start { at, repeated: self.in_transfer });
        self.in_transfer = true;
        self.start = at;
        self.fell = at;
    }

    fn stop(&mut self, at: u64, out: &mut impl FnMut(Event)) {
        self.cut(at, 1, out);
        out(if self.in_transfer { Event::Stop { at } } else { Event::StrayStop { at } });
        self.in_transfer = false;
    }

    fn rise(&mut self, at: u64, sda: Level, out: &mut impl FnMut(Event)) {
        if !self.in_transfer {
            return;
        }
        out(Event::ClockLow { start: self.fell, end: at });
        self.value = self.value << 1 | u16::from(sda.is_high());
        self.unknown |= sda == Level::Unknown;
        self.bits += 1;
    }

    fn fall(&mut self, at: u64, out: &mut impl FnMut(Event)) {
        self.fell = at;
        if self.bits == 9 && self.in_transfer {
            out(Event::Byte {
                start: self.start,
                end: at,
                value: (self.value >> 1) as u8,
                acknowledged: self.value & 1 == 0,
                unknown: self.unknown,
            });
            (self.bits, self.value, self.unknown) = (0, 0, false);
        }
        if self.bits == 0 {
            self.start = at;
        }
    }
}

/// Decodes a bus.
///
/// # Panics
/// When there are no such channels.
pub fn decode(capture: &Capture, scl: usize, sda: usize) -> Decoded {
    let mut taken = WordCollector {
        capture,
        words: Vec::new(),
        transfers: Vec::new(),
        faults: Vec::new(),
        lows: ValueCounts::default(),
        open: false,
    };
    let mut i2c = I2c::new();
    for step in capture.steps([Some(scl), Some(sda)]) {
        i2c.push(&step, &mut |event| taken.take(event));
    }
    i2c.finish(capture.end, &mut |event| taken.take(event));
    if taken.open {
        taken.close(capture.end, false);
    }
    let pins = format!("{}, {}", capture.channels[scl].name, capture.channels[sda].name);
    let WordCollector { words, transfers, mut faults, lows, .. } = taken;
    faults.sort_by_key(|fault| fault.start_ps);
    Decoded {
        lanes: vec![lane("i2c", &pins, words, capture)],
        transfers,
        faults,
        stretched: stretched(&lows.sorted(|ticks| capture.ps(ticks))),
        clock_low_ps: ValueSummary::of_counts(&lows, |ticks| capture.ps(ticks), None),
        notes: Vec::new(),
    }
}

/// Lows of more than twice the median, out of sorted ones with their counts: a device held the
/// clock.
fn stretched(lows: &[(u64, u64)]) -> Option<Stretched> {
    let all: u64 = lows.iter().map(|(_, count)| count).sum();
    let mut before = 0;
    let (median, _) = lows.iter().find(|(_, count)| {
        before += count;
        before > all / 2
    })?;
    let beyond = lows.iter().filter(|(low, _)| low / 2 > *median);
    Some(beyond.fold(Stretched::default(), |sum, (low, count)| Stretched {
        count: sum.count + count,
        total_ps: sum.total_ps.saturating_add((low - median).saturating_mul(*count)),
        longest_ps: sum.longest_ps.max(low - median),
    }))
}

struct WordCollector<'a> {
    capture: &'a Capture,
    words: Vec<BusWord>,
    transfers: Vec<BusTransfer>,
    faults: Vec<BusFault>,
    /// How long the clock was low, in ticks.
    lows: ValueCounts,
    open: bool,
}

impl WordCollector<'_> {
    fn take(&mut self, event: Event) {
        match event {
            Event::Start { at, .. } => {
                if self.open {
                    self.close(at, true);
                }
                self.transfers.push(BusTransfer {
                    start_ps: self.capture.at_ps(at),
                    end_ps: self.capture.at_ps(at),
                    first: self.words.len() as u64,
                    words: 0,
                    address: None,
                    read: None,
                    whole: true,
                });
                self.open = true;
            }
            Event::Stop { at } => self.close(at, true),
            Event::Byte { start, end, value, acknowledged, unknown } => {
                self.byte((start, end), value, Some(acknowledged), unknown);
            }
            Event::Unanswered { start, end, value, unknown } => {
                let text = format!("the transfer ends in the ninth clock of {value:#04x}");
                self.fault((start, end), FaultKind::CutShort, text);
                self.byte((start, end), value, None, unknown);
            }
            Event::CutShort { start, end, bits } => {
                let text = format!("a byte of {}", counted(u64::from(bits), "bit"));
                self.fault((start, end), FaultKind::CutShort, text);
            }
            Event::StrayStop { at } => {
                let text = "a stop condition that no start condition came before";
                self.fault((at, at), FaultKind::Violation, text);
            }
            Event::ClockLow { start, end } => self.lows.add(end - start),
        }
    }

    fn fault(&mut self, place: (u64, u64), kind: FaultKind, text: impl Into<String>) {
        self.faults.push(fault(self.capture, place, "i2c", kind, text));
    }

    fn close(&mut self, at: u64, whole: bool) {
        self.open = false;
        let Some(transfer) = self.transfers.last_mut() else { return };
        transfer.end_ps = self.capture.at_ps(at);
        transfer.whole = whole;
        if transfer.words == 0 && whole {
            self.fault((at, at), FaultKind::Violation, "a transfer without an address");
        }
    }

    /// A byte; `acknowledged` is absent where there was no ninth bit.
    fn byte(&mut self, place: (u64, u64), value: u8, acknowledged: Option<bool>, unknown: bool) {
        if unknown {
            self.fault(
                place,
                FaultKind::UnknownLevel,
                format!("the level is unknown in {value:#04x}"),
            );
        }
        // The other half of a ten-bit address, which is repeated without it for reading (UM10204
        // 3.1.11).
        let before = self.transfers.len().checked_sub(2).and_then(|n| self.transfers[n].address);
        let Some(transfer) = self.transfers.last_mut() else { return };
        let ten_bits = |address: u16| address & 0x7c == 0x78 && address < 0x80;
        let mut kind = WordKind::Data;
        if transfer.words == 0 {
            kind = WordKind::Address;
            let address = u16::from(value >> 1);
            let read = value & 1 == 1;
            let half = before.filter(|b| read && ten_bits(address) && b >> 8 == address & 3);
            transfer.address = Some(half.unwrap_or(address));
            transfer.read = Some(read);
        } else if transfer.words == 1
            && transfer.read == Some(false)
            && let Some(address) = transfer.address.filter(|a| ten_bits(*a))
        {
            kind = WordKind::Address;
            transfer.address = Some((address & 3) << 8 | u16::from(value));
        }
        transfer.words += 1;
        self.words.push(BusWord {
            start_ps: self.capture.at_ps(place.0),
            end_ps: self.capture.at_ps(place.1),
            value: u32::from(value),
            kind,
            acknowledged,
            faulty: unknown || acknowledged.is_none(),
        });
    }
}
