//! The trace blocks of ARMv7-M (DDI 0403E, C1.7 to C1.10): what DWT and ITM report, through their
//! buffers, to the bytes of the trace pin.
//!
//! Time is only looked at when something happens: [`Trace::spend`] takes what cycles were spent on,
//! [`Trace::run`] lets the buffers empty up to a cycle. In between nothing here costs anything, and
//! [`Trace::due`] is the next cycle at which it must be known what the core does.

mod comparator;
mod dwt;
mod fifo;
mod itm;
mod packet;
mod stamps;
#[cfg(test)]
mod tests;
mod tpiu;
mod watch;
mod waveform;

use std::ops::Range;

use crate::kernel::device::{Reading, Size};

pub(crate) use self::comparator::Seen;
use self::dwt::Dwt;
use self::dwt::EmittedPacket;
pub(crate) use self::dwt::{Counter, Spent};
pub use self::fifo::Depths;
use self::itm::Itm;
pub(crate) use self::packet::Action;
pub(crate) use self::tpiu::Sent;
use self::tpiu::Tpiu;
pub(crate) use self::waveform::Waveform;
pub use crate::kernel::observe::Coding;

/// Pages of the registers.
pub(crate) const ITM: u32 = 0xe000_0000;
pub(crate) const DWT: u32 = 0xe000_1000;
pub(crate) const TPIU: u32 = 0xe004_0000;

/// The three blocks and what joins them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Trace {
    dwt: Dwt,
    itm: Itm,
    tpiu: Tpiu,
    /// The buffers have been looked after up to here.
    now: u64,
    /// Bytes at the pin that nobody has fetched yet.
    pub(crate) sent: Vec<Sent>,
}

impl Trace {
    /// The next cycle that somebody must be named for.
    #[inline(always)]
    pub(crate) fn due(&self) -> u64 {
        self.dwt.due()
    }

    /// Cycles up to `until`, that one not included, were spent on something.
    #[inline(always)]
    pub(crate) fn spend(&mut self, until: u64, spent: Spent) {
        if self.dwt.due() < until {
            self.dwt.spend(until, spent);
        }
    }

    /// Cycles or instructions for a profiling counter, the last of them at a cycle.
    pub(crate) fn count(&mut self, counter: Counter, cycles: u64, at: u64) {
        self.dwt.count(counter, cycles, at);
    }

    /// An exception does something.
    pub(crate) fn exception(&mut self, number: u16, action: Action, at: u64) {
        self.dwt.exception(number, action, at);
    }

    /// Whether instructions must be looked at one by one.
    pub(crate) fn wants_instructions(&self) -> bool {
        self.dwt.wants_instructions()
    }

    /// Whose stores must be reported.
    pub(crate) fn watched_stores(&self) -> Range<u32> {
        self.dwt.watched_stores()
    }

    /// Whether data accesses must be reported.
    #[inline(always)]
    pub(crate) fn watches(&self) -> bool {
        self.dwt.watches()
    }

    /// A data access, at its cycle.
    pub(crate) fn accessed(&mut self, seen: &Seen, at: u64) {
        self.dwt.accessed(seen, at);
    }

    /// DEMCR.TRCENA changes.
    pub(crate) fn set_on(&mut self, on: bool, now: u64) {
        self.run(now);
        self.dwt.set_on(on, now);
        self.itm.set_on(on, now);
    }

    /// How much the buffers hold.
    pub(crate) fn set_depths(&mut self, depths: Depths) {
        self.itm.depths = depths;
    }

    /// Whether the chip lets the pin out.
    pub(crate) fn set_pin(&mut self, on: bool, now: u64) {
        self.run(now);
        self.tpiu.pin_is_on = on;
    }

    /// The level of a pin that sends nothing.
    pub(crate) fn idles_high(&self) -> bool {
        self.tpiu.idles_high()
    }

    /// Bytes went to the parallel port, since this was last asked.
    pub(crate) fn went_elsewhere(&mut self) -> bool {
        std::mem::take(&mut self.tpiu.elsewhere)
    }

    /// Reads a register of one of the pages; `None` where there is none.
    pub(crate) fn read(&mut self, address: u32, now: u64) -> Option<u32> {
        let offset = address & 0xfff;
        self.run(now);
        match address & !0xfff {
            ITM => self.itm.read(offset),
            DWT => self.dwt.read(offset, now),
            TPIU => self.tpiu.read(offset),
            _ => None,
        }
    }

    /// What reading a register again shows.
    pub(crate) fn reading(&self, address: u32, size: Size, now: u64) -> Reading {
        // Each read lets the buffers empty up to its time.
        if self.itm.is_active() || self.tpiu.is_busy() || !self.dwt.emitted.is_empty() {
            return Reading::Unknown;
        }
        match address & !0xfff {
            DWT => self.dwt.reading(address & 0xfff, size, now),
            _ => Reading::FIXED,
        }
    }

    /// Writes a register; `None` where there is none. Returns what was asked for and is not
    /// modelled.
    pub(crate) fn write(&mut self, write: &Write, now: u64) -> Option<Option<&'static str>> {
        let offset = write.address & 0xffc;
        self.run(now);
        let value = write.value;
        let done = match write.address & !0xfff {
            ITM if offset < 0x80 => {
                let (port, bytes) = (offset / 4, write.bytes);
                self.itm.write_port(port, value, bytes, write.privileged, now);
                Some(None)
            }
            ITM => self.itm.write(offset, value, now).map(|()| None),
            DWT => self.dwt.write(offset, value, now),
            TPIU => self.tpiu.write(offset, value).map(|()| None),
            _ => None,
        };
        self.empty(now);
        done
    }

    /// Lets everything happen up to a cycle: packets emitted so far go to the ITM at their time,
    /// and bytes to the pin.
    pub(crate) fn run(&mut self, to: u64) {
        if !self.dwt.emitted.is_empty() {
            self.hand_over(to);
        }
        self.empty(to);
    }

    #[cold]
    fn hand_over(&mut self, to: u64) {
        self.dwt.emitted.sort_by_key(|&(at, _)| at);
        let past = self.dwt.emitted.partition_point(|&(at, _)| at <= to);
        let emitted: Vec<(u64, EmittedPacket)> = self.dwt.emitted.drain(..past).collect();
        for (at, item) in emitted {
            self.empty(at);
            match item {
                EmittedPacket::Packet(packet) => self.itm.take(packet, at),
                EmittedPacket::Synchronise => {
                    self.itm.synchronise();
                    self.tpiu.synchronise();
                }
            }
            self.arbitrate();
        }
    }

    /// Lets out what waits, up to a cycle; timestamps that only time asks for are no reason to go
    /// on.
    pub(crate) fn finish(&mut self, to: u64) {
        self.run(self.now);
        while let Some(at) = self.next_byte().filter(|&at| at <= to) {
            self.empty(at);
        }
    }

    /// When the next byte can go out.
    fn next_byte(&mut self) -> Option<u64> {
        let stream = self.itm.stream();
        self.tpiu.next_start(&mut self.itm.output, stream, self.now)
    }

    fn arbitrate(&mut self) {
        let line = self.tpiu.line(self.now);
        self.itm.arbitrate(self.now, line);
    }

    /// Lets the buffers empty up to a cycle.
    fn empty(&mut self, to: u64) {
        while self.itm.is_active() || self.tpiu.is_busy() {
            self.arbitrate();
            let start = self.next_byte();
            let next = start.unwrap_or(u64::MAX).min(self.itm.due());
            if next > to {
                break;
            }
            self.now = self.now.max(next);
            self.itm.tick(self.now);
            if start == Some(next) {
                self.sent.extend(self.tpiu.send(&mut self.itm.output, self.now));
            }
        }
        self.now = self.now.max(to);
    }
}

/// A write to a register.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Write {
    pub(crate) address: u32,
    /// In the lowest bits.
    pub(crate) value: u32,
    /// 1, 2 or 4.
    pub(crate) bytes: u32,
    pub(crate) privileged: bool,
}

impl Write {
    /// A write as the core makes it. But for stimulus ports, narrow ones are words whose other
    /// bytes are zero.
    pub(crate) fn new(address: u32, size: Size, value: u32, privileged: bool) -> Self {
        let value = value & size.mask();
        let shift = if is_port(address) { 0 } else { 8 * (address & 3) };
        Write { address: address & !3, value: value << shift, bytes: size.bytes(), privileged }
    }
}

fn is_port(address: u32) -> bool {
    (ITM..ITM + 0x80).contains(&address)
}

/// Whether a register affects what is due next, or in how closely instructions are looked at.
pub(crate) fn decides_what_is_due(address: u32) -> bool {
    address & !0xfff == DWT
}
