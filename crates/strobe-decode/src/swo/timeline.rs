//! When it was: joins timestamps to the packets that they are about.
//!
//! A local timestamp comes behind the packets that it is about and tells ticks since the one before (ARMv7-M D4.2.4). So packets wait for
//! theirs, a bounded number of them, and leave with the span of time in which they must have happened. Where packets have been lost, ticks may have been
//! lost with them: from there on times are too small by an unknown amount, until a global timestamp tells how much it was.

use super::itm::Sink;
use super::packet::{GTS1, GTS2, OVERFLOW, Packet, Raw, Relation};

mod global;

use global::Global;

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

/// A packet, or bytes that are none, or their absence, as it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece(Raw);

impl Piece {
    /// A header that no packet has.
    const NONE: u8 = 4;

    fn no_packet(at: u64, bytes: u64) -> Piece {
        Piece(Raw { at, header: Piece::NONE, length: 0, page: 0, payload: bytes })
    }

    /// The packet, if it is one.
    #[inline]
    pub fn packet(&self) -> Option<&Raw> {
        (self.0.length > 0).then_some(&self.0)
    }

    fn event(&self, time: Time) -> Option<Event> {
        let Raw { at, length, payload, .. } = self.0;
        let (bytes, what) = match (length, payload) {
            (0, 0) => (0, What::Gap),
            (0, bytes) => (bytes, What::Undecodable),
            // What the decoder tells is a packet.
            (length, _) => (u64::from(length), What::Packet(self.0.packet()?)),
        };
        Some(Event { at, bytes, what, time })
    }
}

/// What one timestamp is about, and that timestamp; or what goes on without one.
#[derive(Debug, Clone, Copy)]
pub struct Group<'a> {
    waiting: &'a [Piece],
    /// When all but the last of it was.
    span: Time,
    /// When the last was.
    last: Time,
    stamp: Option<(Piece, Time)>,
}

impl<'a> Group<'a> {
    /// All of it in the stream's order with its times, the timestamp last.
    #[inline]
    pub fn pieces(&self) -> impl Iterator<Item = (Piece, Time)> + use<'a> {
        let (last, others) = match self.waiting.split_last() {
            Some((last, others)) => (Some((*last, self.last)), others),
            None => (None, self.waiting),
        };
        let span = self.span;
        others.iter().map(move |piece| (*piece, span)).chain(last).chain(self.stamp)
    }

    /// The same, each packet taken apart.
    pub fn events(&self) -> impl Iterator<Item = Event> + use<'a> {
        self.pieces().filter_map(|(piece, time)| piece.event(time))
    }
}

/// Where events go.
pub trait Events {
    /// An event; they come in the stream's order.
    fn event(&mut self, event: Event);

    /// What belongs to one timestamp, for those who are faster when they get it at once or who need no more than packets as they came.
    #[inline]
    fn group(&mut self, group: &Group<'_>) {
        group.events().for_each(|event| self.event(event));
    }
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

/// What a header means for times.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Nothing.
    Other,
    /// It is a local timestamp's.
    Local,
    /// It is a global timestamp's or an overflow's.
    Special,
}

static ROLES: [Role; 256] = roles();

const fn roles() -> [Role; 256] {
    let mut all = [Role::Other; 256];
    let mut header = 0x10;
    while header < 0x100 {
        // Format 2 has its ticks in bits 4 to 6, format 1 its relation in bits 4 and 5 (D4.2.4).
        all[header] = match header as u8 {
            OVERFLOW => Role::Special,
            0x10..OVERFLOW | 0xc0.. if header & 0xf == 0 => Role::Local,
            GTS1 | GTS2 => Role::Special,
            _ => Role::Other,
        };
        header += 1;
    }
    all
}

/// Joins timestamps to packets.
#[derive(Debug, Clone)]
pub struct Timeline {
    /// What waits, its time being unknown.
    held: [Piece; HELD],
    held_count: usize,
    now: u64,
    sure: bool,
    global: Global,
    stats: Stats,
}

impl Default for Timeline {
    fn default() -> Self {
        Timeline {
            held: [Piece::no_packet(0, 0); HELD],
            held_count: 0,
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
        self.lose();
        self.hold(Piece::no_packet(at, 0), events);
    }

    /// The stream is over: what waits goes as it is.
    pub fn finish<E: Events>(&mut self, events: &mut E) {
        self.release(events);
    }

    #[inline(always)]
    fn take<E: Events>(&mut self, raw: Raw, events: &mut E) {
        match ROLES[usize::from(raw.header)] {
            Role::Other => {}
            Role::Local => return self.stamp(raw, events),
            Role::Special => self.special(raw),
        }
        self.hold(Piece(raw), events);
    }

    #[inline(always)]
    fn hold<E: Events>(&mut self, piece: Piece, events: &mut E) {
        if self.held_count == HELD {
            self.release(events);
        }
        self.held[self.held_count] = piece;
        self.held_count += 1;
    }

    /// What a global timestamp or an overflow means for times.
    #[cold]
    fn special(&mut self, raw: Raw) {
        match raw.packet() {
            Some(Packet::GlobalTimestamp1 { low, bits, wrapped, clock_changed }) => {
                self.stats.global += 1;
                self.global.low(low, bits, wrapped, clock_changed);
            }
            Some(Packet::GlobalTimestamp2 { high, .. }) => {
                self.stats.global += 1;
                self.global.high(high);
            }
            _ => self.lose(),
        }
    }

    fn lose(&mut self) {
        self.sure = false;
        self.global.lost();
    }

    /// A local timestamp: what waits happened after the one before and not after now, and the last of it as the timestamp says.
    #[inline(always)]
    fn stamp<E: Events>(&mut self, raw: Raw, events: &mut E) {
        let Some((ticks, relation)) = raw.local_timestamp() else { return };
        self.stats.local += 1;
        let (before, sure) = (self.now, self.sure);
        self.now = before.saturating_add(u64::from(ticks));
        let now = self.now;
        let span = Time { earliest: before, latest: Some(now), relation: None, sure };
        let earliest = if relation == Relation::Synchronous { now } else { before };
        let last = Time { earliest, relation: Some(relation), ..span };
        self.count(&span, &last);
        self.bridge(before);
        let now = self.now;
        let at =
            Time { earliest: now, latest: Some(now), relation: last.relation, sure: self.sure };
        let waiting = &self.held[..std::mem::take(&mut self.held_count)];
        events.group(&Group { waiting, span, last, stamp: Some((Piece(raw), at)) });
    }

    /// Counts how well what waits can be timed.
    #[inline(always)]
    fn count(&mut self, span: &Time, last: &Time) {
        let n = self.held_count as u64;
        let sure = if self.sure { n } else { 0 };
        self.stats.unsure += n - sure;
        let of_last = if last.is_exact() { sure.min(1) } else { 0 };
        let of_others = if span.is_exact() { sure.saturating_sub(1) } else { 0 };
        self.stats.exact += of_last + of_others;
        self.stats.between += sure - of_last - of_others;
    }

    /// Lets go what waits without a timestamp.
    #[cold]
    fn release<E: Events>(&mut self, events: &mut E) {
        let waiting = &self.held[..std::mem::take(&mut self.held_count)];
        self.stats.untimed += waiting.len() as u64;
        let time = Time { earliest: self.now, latest: None, relation: None, sure: self.sure };
        events.group(&Group { waiting, span: time, last: time, stamp: None });
    }

    /// Behind a local timestamp: what a global one that came since the one before tells of lost ticks.
    #[inline]
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
    #[inline(always)]
    fn packet(&mut self, raw: Raw) {
        self.timeline.take(raw, self.events);
    }

    fn undecodable(&mut self, at: u64, bytes: u64) {
        self.timeline.lose();
        self.timeline.hold(Piece::no_packet(at, bytes), self.events);
    }
}
