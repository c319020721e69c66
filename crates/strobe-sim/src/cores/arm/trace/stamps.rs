//! When the ITM puts local and global timestamps among the packets (DDI 0403E, C1.7.1 and D4.2.4).
//!
//! The global timestamp counts core cycles here; on silicon it is whatever the chip's maker
//! connected, or nothing.

use super::packet::Packet;

/// Width of the local timestamp counter (DDI 0337 and DDI 0439, ITM functional description).
const LOCAL_BITS: u32 = 21;

/// What the ITM knows of the pin.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Line {
    /// Cycles of one bit.
    pub(crate) bit: u64,
    /// Since when bytes have been going out without a pause; `None` while it is idle.
    pub(crate) busy_since: Option<u64>,
}

/// How local timestamps are counted: from ITM_TCR.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LocalClock {
    /// TSPrescale: 1, 4, 16 or 64.
    pub(crate) prescale: u64,
    /// SWOENA: bits of the pin are counted, and only while it is busy.
    pub(crate) by_line: bool,
}

/// A packet went out to which no timestamp has been put.
#[derive(Debug, Clone, Copy)]
struct Unstamped {
    /// When it went into the output buffer.
    out: u64,
    /// It had had to wait for that.
    was_delayed: bool,
}

/// The state of both kinds of timestamp.
#[derive(Debug, Clone, Default)]
pub(crate) struct Stamps {
    unstamped: Option<Unstamped>,
    /// When the local counter was last zero.
    zero: u64,
    /// Bits 0 to 25 and those above as they were last sent; `None` if all must be sent.
    global: Option<(u32, u32)>,
    /// The upper bits are still to be sent.
    upper: Option<u32>,
    /// When a global timestamp was last asked for.
    asked: u64,
    wants_global: bool,
}

impl Stamps {
    /// The local counter starts, and the next global timestamp is complete.
    pub(crate) fn restart(&mut self, now: u64) {
        *self = Stamps { zero: now, asked: now, ..Stamps::default() };
    }

    /// A packet of a source goes out now that reports what happened at a cycle.
    pub(crate) fn note(&mut self, at: u64, now: u64) {
        self.unstamped = Some(Unstamped { out: now, was_delayed: now > at });
    }

    /// After synchronisation the next global timestamp is complete, for whoever begins to listen
    /// there.
    pub(crate) fn synchronise(&mut self) {
        self.global = None;
    }

    /// The local timestamp that can be sent now, if one is due.
    pub(crate) fn local(&self, now: u64, clock: LocalClock, line: Line) -> Option<Packet> {
        let Unstamped { out, was_delayed } = self.unstamped?;
        let relation = u8::from(now > out) | u8::from(was_delayed) << 1;
        Some(Packet::local_timestamp(self.ticks(now, clock, line), relation))
    }

    fn ticks(&self, now: u64, clock: LocalClock, line: Line) -> u32 {
        let ticks = if clock.by_line {
            // The counter is held at zero while the line is idle (ITM_TCR.SWOENA).
            let Some(since) = line.busy_since else { return 0 };
            (now - since.max(self.zero).min(now)) / line.bit / clock.prescale
        } else {
            // The prescaler runs on.
            now / clock.prescale - self.zero / clock.prescale
        };
        (ticks & ((1 << LOCAL_BITS) - 1)) as u32
    }

    /// The local timestamp has gone out.
    pub(crate) fn sent_local(&mut self, now: u64) {
        self.unstamped = None;
        self.zero = now;
    }

    /// When the local counter wraps, which an overflow packet reports (D4.2.3).
    pub(crate) fn wraps_at(&self, clock: LocalClock) -> u64 {
        if clock.by_line {
            return u64::MAX;
        }
        (self.zero / clock.prescale + (1 << LOCAL_BITS)) * clock.prescale
    }

    /// The local counter has wrapped.
    pub(crate) fn wrapped(&mut self, clock: LocalClock) {
        self.zero = self.wraps_at(clock);
    }

    /// When the next global timestamp is asked for by the count, whose bits from `bit` on are
    /// watched.
    pub(crate) fn asks_at(&self, bit: u32) -> u64 {
        ((self.asked >> bit) + 1) << bit
    }

    /// A global timestamp is asked for.
    pub(crate) fn ask(&mut self, now: u64) {
        self.asked = now;
        self.wants_global = true;
    }

    /// The packet of a global timestamp that can be sent now, if one is due.
    pub(crate) fn global(&self, now: u64) -> Option<Packet> {
        if let Some(upper) = self.upper {
            return Some(Packet::global_timestamp2(upper));
        }
        let (low, high) = parts(now);
        self.wants_global.then(|| match self.global {
            Some((before, upper)) => Packet::global_timestamp1(low, before, upper != high),
            None => Packet::global_timestamp1(low, 0, true),
        })
    }

    /// That packet has gone out.
    pub(crate) fn sent_global(&mut self, now: u64) {
        let (low, high) = parts(now);
        if self.upper.take().is_some() {
            return;
        }
        self.wants_global = false;
        if self.global.is_none_or(|(_, before)| before != high) {
            self.upper = Some(high);
        }
        self.global = Some((low, high));
    }
}

/// Bits 0 to 25 of a count of 48 bits, and the others.
fn parts(now: u64) -> (u32, u32) {
    ((now & 0x3ff_ffff) as u32, (now >> 26 & 0x3f_ffff) as u32)
}
