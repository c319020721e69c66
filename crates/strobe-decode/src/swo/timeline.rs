//! When it was: joins timestamps to the packets that they are about.
//!
//! A local timestamp comes behind the packets that it is about and tells ticks since the one before (ARMv7-M D4.2.4). So packets wait for
//! theirs, a bounded number of them, and leave with the span of time in which they must have happened. Where packets have been lost, ticks may have been
//! lost with them: from there on times are too small by an unknown amount, until a global timestamp tells how much it was.

use super::itm::Sink;
use super::packet::{Packet, Raw, Relation};

/// Packets that wait for a timestamp; without any they go on when there are more.
const HELD: usize = 64;

/// When something happened, in ticks of the local timestamp since the stream's beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Time {
    /// Not before this. Of an event whose packet was delayed this is likely only: others may have overtaken it.
    pub earliest: u64,
    /// Not after this; `None` where no timestamp tells.
    pub latest: Option<u64>,
    /// How the timestamp and the packet relate; `None` for packets of which it tells no more than that they came before it.
    pub relation: Option<Relation>,
    /// Nothing has been lost that ticks could have been lost with, or a global timestamp has told how many.
    pub sure: bool,
}

impl Time {
    /// The moment to show, where there can be but one.
    pub fn likely(&self) -> u64 {
        self.latest.unwrap_or(self.earliest)
    }

    /// Known to the tick.
    pub fn is_exact(&self) -> bool {
        self.sure && self.latest == Some(self.earliest)
    }
}

/// What a stream tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// A packet, timestamps included.
    Packet(Packet),
    /// Bytes that belong to no packet.
    Undecodable,
    /// Bytes are missing here, nobody knows how many.
    Gap,
}

/// Something with its place and time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// Where it begins, in bytes from the stream's beginning.
    pub at: u64,
    /// How many bytes it has.
    pub bytes: u64,
    /// It.
    pub what: What,
    /// When it happened.
    pub time: Time,
}

/// Where events go.
pub trait Events {
    /// An event; they come in the stream's order.
    fn event(&mut self, event: Event);
}

impl<F: FnMut(Event)> Events for F {
    fn event(&mut self, event: Event) {
        self(event);
    }
}

/// How well things could be timed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Local timestamps.
    pub local: u64,
    /// Global timestamps of either kind.
    pub global: u64,
    /// Events known to the tick.
    pub exact: u64,
    /// Events between two ticks.
    pub between: u64,
    /// Events behind a loss: their times are at least these.
    pub unsure: u64,
    /// Events that no timestamp follows.
    pub untimed: u64,
    /// Losses behind which a global timestamp has told the time again.
    pub bridged: u64,
    /// Ticks that it had to add.
    pub bridged_ticks: u64,
}

/// Joins timestamps to packets.
#[derive(Debug, Clone)]
pub struct Timeline {
    /// What waits, its time being unknown.
    held: Vec<(u64, u64, What)>,
    now: u64,
    sure: bool,
    global: Global,
    stats: Stats,
}

impl Default for Timeline {
    fn default() -> Self {
        Timeline {
            held: Vec::with_capacity(HELD),
            now: 0,
            sure: true,
            global: Global::default(),
            stats: Stats::default(),
        }
    }
}

impl Timeline {
    /// A timeline at the beginning of a stream.
    pub fn new() -> Self {
        Timeline::default()
    }

    /// What has been seen so far.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// Ticks since the beginning, up to the last timestamp.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// The global timestamp, where it is known.
    pub fn global(&self) -> Option<u64> {
        self.global.value()
    }

    /// Takes packets and tells `events` of them.
    pub fn sink<'a, E: Events>(&'a mut self, events: &'a mut E) -> Joined<'a, E> {
        Joined { timeline: self, events }
    }

    /// Bytes are missing at a place.
    pub fn gap<E: Events>(&mut self, at: u64, events: &mut E) {
        self.take(at, 0, What::Gap, events);
    }

    /// The stream is over: what waits goes as it is.
    pub fn finish<E: Events>(&mut self, events: &mut E) {
        self.release(self.now, None, events);
    }

    fn take<E: Events>(&mut self, at: u64, bytes: u64, what: What, events: &mut E) {
        match what {
            What::Packet(Packet::LocalTimestamp { ticks, relation }) => {
                self.stats.local += 1;
                let before = self.now;
                self.now = self.now.saturating_add(u64::from(ticks));
                self.release(before, Some(relation), events);
                self.bridge(before);
                let now = self.now;
                let (latest, relation) = (Some(now), Some(relation));
                let time = Time { earliest: now, latest, relation, sure: self.sure };
                events.event(Event { at, bytes, what, time });
                return;
            }
            What::Packet(Packet::GlobalTimestamp1 { low, bits, wrapped, clock_changed }) => {
                self.stats.global += 1;
                self.global.low(low, bits, wrapped, clock_changed);
            }
            What::Packet(Packet::GlobalTimestamp2 { high, .. }) => {
                self.stats.global += 1;
                self.global.high(high);
            }
            What::Packet(Packet::Overflow) | What::Undecodable | What::Gap => {
                self.sure = false;
                self.global.lost();
            }
            What::Packet(_) => {}
        }
        if self.held.len() == HELD {
            self.release(self.now, None, events);
        }
        self.held.push((at, bytes, what));
    }

    /// Lets go what waits: it happened after `before` and not after now, and the last of it as the timestamp says.
    fn release<E: Events>(&mut self, before: u64, stamp: Option<Relation>, events: &mut E) {
        let last = self.held.len().wrapping_sub(1);
        for (i, &(at, bytes, what)) in self.held.iter().enumerate() {
            let relation = stamp.filter(|_| i == last);
            let exact = relation == Some(Relation::Synchronous);
            let earliest = if exact { self.now } else { before };
            let latest = stamp.map(|_| self.now);
            let time = Time { earliest, latest, relation, sure: self.sure };
            match () {
                () if latest.is_none() => self.stats.untimed += 1,
                () if !self.sure => self.stats.unsure += 1,
                () if time.is_exact() => self.stats.exact += 1,
                () => self.stats.between += 1,
            }
            events.event(Event { at, bytes, what, time });
        }
        self.held.clear();
    }

    /// Behind a local timestamp: what a global one that came since the one before tells of lost ticks.
    fn bridge(&mut self, before: u64) {
        let Some(value) = self.global.fresh() else { return };
        if self.sure {
            self.global.learn(before, self.now, value);
        } else if let Some(now) = self.global.expected(value) {
            let missing = now.saturating_sub(self.now);
            self.stats.bridged += 1;
            self.stats.bridged_ticks += missing;
            self.now += missing;
            self.sure = true;
            self.global.restart(self.now, value);
        }
    }
}

/// A [`Timeline`] with somewhere for its events to go.
pub struct Joined<'a, E> {
    timeline: &'a mut Timeline,
    events: &'a mut E,
}

impl<E: Events> Sink for Joined<'_, E> {
    fn packet(&mut self, raw: Raw) {
        // What the decoder tells is a packet.
        if let Some(packet) = raw.packet() {
            let (bytes, what) = (u64::from(raw.length), What::Packet(packet));
            self.timeline.take(raw.at, bytes, what, self.events);
        }
    }

    fn undecodable(&mut self, at: u64, bytes: u64) {
        self.timeline.take(at, bytes, What::Undecodable, self.events);
    }
}

/// The global timestamp, and how it and the local one go together.
#[derive(Debug, Clone, Default)]
struct Global {
    low: u32,
    high: u64,
    /// The low bits are whole.
    low_known: bool,
    /// The high bits have changed and have not been told.
    high_stale: bool,
    /// Nobody has asked yet.
    fresh: bool,
    /// Local and global time at one moment, nothing lost since.
    anchor: Option<(u64, u64)>,
    /// Local and global ticks in times without loss, to tell one from the other.
    local_ticks: u64,
    global_ticks: u64,
    /// What `local_ticks` may be off by.
    slack: u64,
}

/// The ratio of the clocks must be known this well to bridge a loss: one part in so many.
const PRECISION: u64 = 1000;

impl Global {
    fn value(&self) -> Option<u64> {
        (self.low_known && !self.high_stale).then_some(self.high << 26 | u64::from(self.low))
    }

    fn low(&mut self, low: u32, bits: u8, wrapped: bool, clock_changed: bool) {
        let mask = (1u32 << bits.min(26)) - 1;
        self.low = self.low & !mask | low & mask;
        self.low_known |= bits >= 26;
        self.high_stale |= wrapped;
        self.fresh = true;
        if clock_changed {
            (self.anchor, self.local_ticks, self.global_ticks) = (None, 0, 0);
        }
    }

    fn high(&mut self, high: u64) {
        self.high = high;
        self.high_stale = false;
    }

    /// Packets have been lost, perhaps a change of bits that are not always told.
    fn lost(&mut self) {
        self.low_known = false;
    }

    /// The value, if it has come since this was last asked.
    fn fresh(&mut self) -> Option<u64> {
        let value = self.value()?;
        std::mem::take(&mut self.fresh).then_some(value)
    }

    /// Nothing was lost: so many ticks of one are so many of the other.
    fn learn(&mut self, before: u64, now: u64, value: u64) {
        if let Some((local, global)) = self.anchor
            && let Some(global_ticks) = value.checked_sub(global)
        {
            self.local_ticks += now.saturating_sub(local);
            self.global_ticks += global_ticks;
            self.slack = self.slack.max(now - before);
        }
        self.anchor = Some((now, value));
    }

    /// The local time that belongs to a global one, behind a loss.
    fn expected(&self, value: u64) -> Option<u64> {
        let (local, global) = self.anchor?;
        let passed = value.checked_sub(global)?;
        if self.global_ticks == 0 || self.local_ticks / PRECISION < self.slack.max(1) {
            return None;
        }
        let ticks =
            u128::from(passed) * u128::from(self.local_ticks) / u128::from(self.global_ticks);
        local.checked_add(u64::try_from(ticks).ok()?)
    }

    fn restart(&mut self, now: u64, value: u64) {
        self.anchor = Some((now, value));
    }
}
