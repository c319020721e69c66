//! Frames on the two lines of a USART: one start bit, five to nine data bits, parity, stop bits
//! (ATmega328P data sheet, 19.5). Pure arithmetic in core cycles.

use std::collections::VecDeque;

use crate::devices::common::serial::Queue;

/// Bytes from the host that wait for their turn on the line.
const QUEUE_LIMIT: usize = 4096;
/// The receive buffer without the shift register (19.7.3).
const FIFO: usize = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Format {
    pub(super) data_bits: u32,
    /// Parity bit: none, even (false) or odd.
    pub(super) parity: Option<bool>,
    pub(super) stop_bits: u32,
    pub(super) bit_cycles: u64,
}

impl Format {
    fn data(self, data: u16) -> u16 {
        data & ((1 << self.data_bits) - 1)
    }

    fn parity_of(self, data: u16) -> Option<bool> {
        self.parity.map(|odd| (self.data(data).count_ones() % 2 == 1) != odd)
    }

    /// Bits before the stop bits.
    fn before_stop(self) -> u32 {
        1 + self.data_bits + u32::from(self.parity.is_some())
    }

    /// Levels of the frame, start bit in bit 0.
    fn levels(self, data: u16) -> u16 {
        let parity = u16::from(self.parity_of(data) == Some(true)) << self.data_bits;
        let stop = u16::MAX << self.before_stop();
        (self.data(data) | parity) << 1 | stop
    }

    fn cycles(self) -> u64 {
        self.bit_cycles * u64::from(self.before_stop() + self.stop_bits)
    }
}

#[derive(Debug, Clone, Copy)]
struct Sending {
    data: u16,
    levels: u16,
    start: u64,
    bit_cycles: u64,
    end: u64,
}

/// The sending half.
#[derive(Debug, Default)]
pub(super) struct Transmitter {
    buffer: Option<u16>,
    shift: Option<Sending>,
}

impl Transmitter {
    pub(super) fn has_room(&self) -> bool {
        self.buffer.is_none()
    }

    pub(super) fn is_busy(&self) -> bool {
        self.shift.is_some() || self.buffer.is_some()
    }

    /// UDR is written; while it is full that does nothing (19.11.1).
    pub(super) fn push(&mut self, data: u16) {
        self.buffer.get_or_insert(data);
    }

    /// Moves what waits into a free shift register. Returns whether a frame is on the line.
    pub(super) fn start_next(&mut self, format: Format, now: u64) -> bool {
        if self.shift.is_none()
            && let Some(data) = self.buffer.take()
        {
            self.shift = Some(Sending {
                data: format.data(data),
                levels: format.levels(data),
                start: now,
                bit_cycles: format.bit_cycles,
                end: now + format.cycles(),
            });
        }
        self.shift.is_some()
    }

    /// Takes the frame whose stop bits are over.
    pub(super) fn finish(&mut self, now: u64) -> Option<u16> {
        let done = self.shift.filter(|sending| sending.end <= now)?;
        self.shift = None;
        Some(done.data)
    }

    pub(super) fn level(&self, now: u64) -> bool {
        self.shift.is_none_or(|s| {
            let bit = now.saturating_sub(s.start) / s.bit_cycles;
            bit > 15 || s.levels >> bit & 1 != 0
        })
    }

    /// The cycle at which the frame ends.
    pub(super) fn end(&self) -> Option<u64> {
        Some(self.shift?.end)
    }

    /// The next edge within the frame.
    pub(super) fn next_edge(&self, now: u64) -> Option<u64> {
        let sending = self.shift?;
        let bit = now.saturating_sub(sending.start) / sending.bit_cycles;
        let rest = (bit.min(15)..15).find(|bit| {
            let two = sending.levels >> bit & 3;
            two == 1 || two == 2
        });
        rest.map(|bit| sending.start + (bit + 1) * sending.bit_cycles)
    }

    pub(super) fn delay(&mut self, cycles: u64) {
        if let Some(sending) = &mut self.shift {
            sending.start += cycles;
            sending.end += cycles;
        }
    }
}

/// A frame that has arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Received {
    pub(super) data: u16,
    pub(super) framing_error: bool,
    pub(super) parity_error: bool,
}

#[derive(Debug, Clone, Copy)]
enum Source {
    Host(u8),
    /// Samples of the wire so far, start bit first, and their number.
    Wire(u16, u32),
}

#[derive(Debug, Clone, Copy)]
struct Arriving {
    source: Source,
    start: u64,
    /// Its start bit has been seen.
    begun: bool,
    format: Format,
}

impl Arriving {
    fn next_sample(&self) -> u64 {
        let bit = match self.source {
            Source::Host(_) => self.format.before_stop(),
            Source::Wire(_, count) => count,
        };
        self.start + self.format.bit_cycles * u64::from(bit) + self.format.bit_cycles / 2
    }
}

/// The receiving half.
#[derive(Debug, Default)]
pub(super) struct Receiver {
    enabled: bool,
    queue: Queue<QUEUE_LIMIT>,
    arriving: Option<Arriving>,
    line_free: u64,
    fifo: VecDeque<Received>,
    /// A frame that the FIFO has no room for stays in the shift register.
    waiting: Option<Received>,
    pub(super) overrun: bool,
}

impl Receiver {
    /// RXEN; switched off, it drops what has come in (19.7.6).
    pub(super) fn enable(&mut self, on: bool) {
        self.enabled = on;
        if !on {
            (self.arriving, self.waiting, self.overrun) = (None, None, false);
            self.fifo.clear();
        }
    }

    pub(super) fn room(&self) -> usize {
        self.queue.room()
    }

    /// A byte from the host; false if there is no room.
    pub(super) fn push(&mut self, byte: u8) -> bool {
        self.queue.push(byte)
    }

    /// Puts the host's next byte on a free line, and sees its start bit when it is there. Returns
    /// whether that cost a frame.
    pub(super) fn begin(&mut self, format: Format, now: u64) -> bool {
        if self.enabled
            && self.arriving.is_none()
            && let Some(byte) = self.queue.pop()
        {
            let start = self.line_free.max(now);
            self.arriving =
                Some(Arriving { source: Source::Host(byte), start, begun: false, format });
        }
        match &mut self.arriving {
            Some(arriving) if !arriving.begun && arriving.start <= now => {
                arriving.begun = true;
                self.start_bit()
            }
            _ => false,
        }
    }

    /// A start bit while a frame still waits in the shift register overwrites that (19.7.4).
    fn start_bit(&mut self) -> bool {
        let lost = self.waiting.take().is_some();
        self.overrun |= lost;
        lost
    }

    /// The pin falls: a start bit, unless a frame is arriving. Returns whether that cost a frame.
    pub(super) fn wire_fell(&mut self, format: Format, now: u64) -> bool {
        if !self.enabled || self.arriving.is_some() {
            return false;
        }
        let source = Source::Wire(0, 0);
        self.arriving = Some(Arriving { source, start: now, begun: true, format });
        self.start_bit()
    }

    /// Takes the sample that is due; `Some` is a whole frame.
    pub(super) fn sample(&mut self, level: bool, now: u64) -> Option<Received> {
        let arriving = self.arriving.filter(|a| a.begun && a.next_sample() <= now)?;
        let format = arriving.format;
        let received = match arriving.source {
            Source::Host(byte) => Received {
                data: format.data(byte.into()),
                framing_error: false,
                parity_error: false,
            },
            // A start bit must still be low in its middle.
            Source::Wire(_, 0) if level => {
                self.arriving = None;
                return None;
            }
            Source::Wire(bits, count) if count < format.before_stop() => {
                let bits = bits | u16::from(level) << count;
                self.arriving =
                    Some(Arriving { source: Source::Wire(bits, count + 1), ..arriving });
                return None;
            }
            Source::Wire(bits, _) => {
                let data = format.data(bits >> 1);
                let parity = bits >> (1 + format.data_bits) & 1 != 0;
                let wrong = format.parity_of(data).is_some_and(|right| right != parity);
                Received { data, framing_error: !level, parity_error: wrong }
            }
        };
        self.arriving = None;
        self.line_free = arriving.start + format.cycles();
        Some(received)
    }

    pub(super) fn keep(&mut self, received: Received) {
        if self.fifo.len() < FIFO {
            self.fifo.push_back(received);
        } else {
            self.waiting = Some(received);
        }
    }

    pub(super) fn front(&self) -> Option<Received> {
        self.fifo.front().copied()
    }

    /// UDR is read; what waited moves up.
    pub(super) fn take(&mut self) -> u16 {
        self.overrun = false;
        let taken = self.fifo.pop_front();
        self.fifo.extend(self.waiting.take());
        taken.map_or(0, |received| received.data)
    }

    pub(super) fn due(&self) -> Option<u64> {
        self.arriving.map(|a| if a.begun { a.next_sample() } else { a.start })
    }

    pub(super) fn delay(&mut self, cycles: u64) {
        self.line_free += cycles;
        if let Some(arriving) = &mut self.arriving {
            arriving.start += cycles;
        }
    }
}
