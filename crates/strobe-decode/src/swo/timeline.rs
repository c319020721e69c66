//! Timestamps: joins them to the packets that they apply to.
//!
//! A local timestamp follows the packets that it applies to and has the ticks since the timestamp
//! before (ARMv7-M D4.2.4). So packets wait for theirs, a bounded number of them, and are emitted
//! with the interval in which they must have happened. Where packets were lost, ticks may have been
//! lost with them: later times are too small by an unknown amount, until a global timestamp
//! resolves it.

use super::doubt;
use super::itm::Sink;
use super::packet::{GTS1, GTS2, OVERFLOW, Packet, Raw, Relation};

mod global;

use global::Global;

/// Maximum number of packets that wait for a timestamp; beyond it they are emitted without one.
const HELD: usize = 64;

/// The time of an event, in ticks of the local timestamp since the stream's beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Time {
    /// Not before this. For a delayed packet this is only likely: other packets may have overtaken
    /// it.
    pub earliest: u64,
    /// Not after this; `None` without a timestamp.
    pub latest: Option<u64>,
    /// Relation of timestamp and packet; `None` for packets known only to precede the timestamp.
    pub relation: Option<Relation>,
    /// No ticks can have been lost so far, or a global timestamp has resolved how many, but for
    /// those that may have passed between two local timestamps.
    pub sure: bool,
}

impl Time {
    /// The time to show, where only one can be shown.
    #[inline]
    pub fn likely(&self) -> u64 {
        self.latest.unwrap_or(self.earliest)
    }

    /// Known to the tick.
    #[inline]
    pub fn is_exact(&self) -> bool {
        self.sure && self.latest == Some(self.earliest)
    }
}

/// The content of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// A packet, timestamps included.
    Packet(Packet),
    /// A packet that may be wrong: there are undecodable bytes nearby. Its timestamps count for
    /// nothing.
    Doubtful(Packet),
    /// Undecodable bytes.
    Undecodable,
    /// A gap: an unknown number of bytes is missing.
    Gap,
}

/// A packet or a fault, with its place and time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// Offset of its first byte in the stream.
    pub at: u64,
    /// How many bytes it has.
    pub bytes: u64,
    /// The content.
    pub what: EventKind,
    /// When it happened.
    pub time: Time,
}

/// A packet, undecodable bytes or a gap, in stream order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece(Raw);

impl Piece {
    /// A header that no packet has.
    const NONE: u8 = 4;

    /// The bit of a page, of which there are eight, that marks a doubtful packet.
    const DOUBTFUL: u8 = 0x80;

    fn doubtful(raw: Raw) -> Piece {
        Piece(Raw { page: raw.page | Piece::DOUBTFUL, ..raw })
    }

    fn no_packet(at: u64, bytes: u64) -> Piece {
        Piece(Raw { at, header: Piece::NONE, length: 0, page: 0, payload: bytes })
    }

    /// The packet, if it is one that can be believed.
    #[inline]
    pub fn packet(&self) -> Option<&Raw> {
        (self.0.length > 0 && self.0.page & Piece::DOUBTFUL == 0).then_some(&self.0)
    }

    /// The same decoded; `None` only if it is no packet of any manual.
    #[inline]
    pub fn event(&self, time: Time) -> Option<Event> {
        let Raw { at, length, payload, .. } = self.0;
        let (bytes, what) = match (length, payload) {
            (0, 0) => (0, EventKind::Gap),
            (0, bytes) => (bytes, EventKind::Undecodable),
            // The decoder only emits defined packets.
            (length, _) if self.0.page & Piece::DOUBTFUL != 0 => {
                let raw = Raw { page: self.0.page & !Piece::DOUBTFUL, ..self.0 };
                (u64::from(length), EventKind::Doubtful(raw.packet()?))
            }
            (length, _) => (u64::from(length), EventKind::Packet(self.0.packet()?)),
        };
        Some(Event { at, bytes, what, time })
    }
}

/// The packets of one timestamp, and that timestamp; or packets that are emitted without one.
#[derive(Debug, Clone, Copy)]
pub struct Group<'a> {
    waiting: &'a [Piece],
    /// Time of all packets but the last.
    span: Time,
    /// Time of the last packet.
    last: Time,
    stamp: Option<(Piece, Time)>,
}

impl<'a> Group<'a> {
    /// All items in stream order with their times, the timestamp last.
    #[inline]
    pub fn pieces(&self) -> impl Iterator<Item = (Piece, Time)> + use<'a> {
        let (last, others) = match self.waiting.split_last() {
            Some((last, others)) => (Some((*last, self.last)), others),
            None => (None, self.waiting),
        };
        let span = self.span;
        others.iter().map(move |piece| (*piece, span)).chain(last).chain(self.stamp)
    }

    /// The same with each packet decoded.
    pub fn events(&self) -> impl Iterator<Item = Event> + use<'a> {
        self.pieces().filter_map(|(piece, time)| piece.event(time))
    }
}

/// Receives events.
pub trait Events {
    /// An event, in stream order.
    fn event(&mut self, event: Event);

    /// The packets of one timestamp, for sinks that are faster with a whole group or need raw
    /// packets only.
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

/// Statistics of the timing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Local timestamps.
    pub local: u64,
    /// Global timestamps of either kind.
    pub global: u64,
    /// Events with an exact time.
    pub exact: u64,
    /// Events with an interval.
    pub between: u64,
    /// Events after a loss: their times are lower bounds.
    pub unsure: u64,
    /// Events that no timestamp follows.
    pub untimed: u64,
    /// Losses after which a global timestamp has restored the time.
    pub bridged: u64,
    /// Ticks added by it: as many as were lost at least.
    pub bridged_ticks: u64,
}

/// The role of a header for times.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Nothing.
    Other,
    /// Local timestamp.
    Local,
    /// Global timestamp or overflow.
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
    /// Packets that wait for a timestamp.
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

    /// Statistics so far.
    pub fn stats(&self) -> Stats {
        self.stats
    }

    /// Ticks since the beginning, up to the last timestamp.
    pub fn now(&self) -> u64 {
        self.now
    }

    /// The global timestamp, if known.
    pub fn global(&self) -> Option<u64> {
        self.global.value()
    }

    /// Takes packets and emits events to `events`.
    pub fn sink<'a, E: Events>(&'a mut self, events: &'a mut E) -> Joined<'a, E> {
        Joined { timeline: self, events }
    }

    /// A gap: bytes are missing at `at`.
    pub fn gap<E: Events>(&mut self, at: u64, events: &mut E) {
        self.lose();
        self.hold(Piece::no_packet(at, 0), events);
    }

    /// The end of the stream: waiting packets are emitted without a timestamp.
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

    /// Handles a global timestamp or an overflow.
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

    /// Timestamps may be missing or wrong here. Before the first one that counts there is no time
    /// to lose.
    fn distrust(&mut self) {
        if self.stats.local > 0 {
            self.lose();
        }
    }

    /// Handles a local timestamp: waiting packets happened between the timestamp before and this
    /// one, and the last of them as the relation defines.
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

    /// Counts the waiting packets by the quality of their times.
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

    /// Emits waiting packets without a timestamp.
    #[cold]
    fn release<E: Events>(&mut self, events: &mut E) {
        let waiting = &self.held[..std::mem::take(&mut self.held_count)];
        self.stats.untimed += waiting.len() as u64;
        let time = Time { earliest: self.now, latest: None, relation: None, sure: self.sure };
        events.group(&Group { waiting, span: time, last: time, stamp: None });
    }

    /// After a local timestamp: restores lost ticks from a global timestamp received since the one
    /// before.
    #[inline]
    fn bridge(&mut self, before: u64) {
        let Some(value) = self.global.fresh() else { return };
        if self.sure {
            self.global.learn(before, self.now, value);
        } else if let Some(now) = self.global.at_least(value) {
            let (missing, slack) = (now.saturating_sub(self.now), self.now.saturating_sub(before));
            self.stats.bridged += 1;
            self.stats.bridged_ticks += missing;
            self.now += missing;
            self.sure = true;
            self.global.restart(self.now, value, slack);
        }
    }
}

/// A [`Timeline`] with its sink.
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
        self.timeline.distrust();
        self.timeline.hold(Piece::no_packet(at, bytes), self.events);
    }
}

impl<E: Events> doubt::Sink for Joined<'_, E> {
    fn doubtful(&mut self, raw: Raw) {
        self.timeline.distrust();
        self.timeline.hold(Piece::doubtful(raw), self.events);
    }
}
