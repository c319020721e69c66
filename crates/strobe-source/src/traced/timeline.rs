//! A stream as a time line for viewers: handlers and threads as slices, values as counters, writes to stimulus ports as moments, losses as gaps.

use std::collections::BTreeMap;

use strobe_decode::swo::packet::{ExceptionAction, Packet};
use strobe_decode::swo::timeline::{Event, Events, What};
use strobe_model::{CounterValue, Gap, Instant, Slice, TraceEvents, Track, TrackKind};
use strobe_symbols::Firmware;

use super::Settings;
use super::kit;
use super::record::{exception, thread_name};

/// Slices, moments and values that are kept; viewers do not take more either.
const MOST: usize = 4_000_000;

/// Tracks of the kit's ids have numbers from here on, past those of ports and comparators.
const KIT: i64 = 32;
/// Regions of the kit that are open at once.
const MOST_REGIONS: usize = 256;

/// Makes a time line of events.
#[derive(Debug)]
pub struct Tracks {
    events: TraceEvents,
    index: BTreeMap<(TrackKind, i64), usize>,
    /// Handlers that have begun: number and when they, or what is left of them, did.
    open: Vec<(u16, u64)>,
    thread: Option<(u32, u64)>,
    thread_comparator: Option<u8>,
    kit: Option<kit::Reader>,
    frames: kit::Frames,
    /// Regions of the kit that have begun: id and when.
    regions: Vec<(u16, u64)>,
    /// When the kit's last record came.
    recorded_ns: u64,
    names: BTreeMap<u8, String>,
    /// Nanoseconds of a tick, as a fraction.
    tick: (u128, u128),
    last_ns: u64,
    left_out: u64,
}

impl Tracks {
    /// An empty one. `None` if neither clock nor tick are known: then nothing can be put on a time line.
    pub fn new(settings: &Settings) -> Option<Self> {
        let (cycles, hz) = (settings.tick_cycles?, settings.core_hz.filter(|hz| *hz > 0)?);
        Some(Tracks {
            events: TraceEvents::default(),
            index: BTreeMap::new(),
            open: Vec::new(),
            thread: None,
            thread_comparator: settings.thread,
            kit: settings.kit_port().map(kit::Reader::new),
            frames: kit::Frames::default(),
            regions: Vec::new(),
            recorded_ns: 0,
            names: settings.watches.iter().cloned().collect(),
            tick: (u128::from(cycles) * 1_000_000_000, u128::from(hz)),
            last_ns: 0,
            left_out: 0,
        })
    }

    /// The time line, with the firmware's names.
    pub fn finish(mut self, firmware: Option<&Firmware>) -> TraceEvents {
        let end = self.last_ns;
        self.switch(None, end);
        self.close_above(0, end);
        for track in &mut self.events.tracks {
            let number = track.number.unwrap_or_default();
            match track.kind {
                TrackKind::Exception => track.name = exception(number as u16, firmware),
                TrackKind::Marks | TrackKind::Counter if number >= KIT => {
                    track.name = kit::name((number - KIT) as u16, firmware);
                }
                TrackKind::Thread => track.name = thread_name(number as u32, firmware),
                _ => {}
            }
        }
        // A mark of the kit has nothing to say but its name.
        for instant in self.events.instants.iter_mut().filter(|i| i.name.is_empty()) {
            instant.name.clone_from(&self.events.tracks[instant.track].name);
        }
        if self.left_out > 0 {
            let why = format!("{} events were left out: there are too many", self.left_out);
            self.events.gaps.push(Gap { from_ns: end, to_ns: end, events: None, why });
        }
        self.events
    }

    fn ns(&self, ticks: u64) -> u64 {
        u64::try_from(u128::from(ticks) * self.tick.0 / self.tick.1).unwrap_or(u64::MAX)
    }

    fn track(&mut self, kind: TrackKind, number: i64, name: &str) -> usize {
        if let Some(&track) = self.index.get(&(kind, number)) {
            return track;
        }
        let track = self.events.tracks.len();
        let (name, unit) = (name.to_owned(), None);
        self.events.tracks.push(Track { kind, number: Some(number), name, unit });
        self.index.insert((kind, number), track);
        track
    }

    /// Whether there is room for one more.
    fn has_room(&mut self) -> bool {
        let TraceEvents { slices, instants, counters, gaps, .. } = &self.events;
        let kept = slices.len() + instants.len() + counters.len() + gaps.len();
        let room = kept < MOST;
        self.left_out += u64::from(!room);
        room
    }

    fn slice(&mut self, track: usize, begin_ns: u64, end_ns: u64) {
        if self.has_room() {
            let end_ns = end_ns.max(begin_ns);
            self.events.slices.push(Slice { track, name: String::new(), begin_ns, end_ns });
        }
    }

    fn close_above(&mut self, keep: usize, now: u64) {
        for (number, begin) in self.open.split_off(keep.min(self.open.len())).into_iter().rev() {
            let track = self.track(TrackKind::Exception, number.into(), "");
            self.slice(track, begin, now);
        }
    }

    fn exception(&mut self, number: u16, action: ExceptionAction, now: u64) {
        match action {
            ExceptionAction::Entered => self.open.push((number, now)),
            ExceptionAction::Exited => {
                if let Some(at) = self.open.iter().rposition(|(open, _)| *open == number) {
                    self.close_above(at, now);
                }
            }
            ExceptionAction::Returned => {
                let at = self.open.iter().rposition(|(open, _)| *open == number);
                self.close_above(at.map_or(0, |at| at + 1), now);
            }
        }
    }

    fn switch(&mut self, next: Option<u32>, now: u64) {
        if let Some((pointer, since)) = self.thread.take() {
            let track = self.track(TrackKind::Thread, pointer.into(), "");
            self.slice(track, since, now);
        }
        self.thread = next.map(|pointer| (pointer, now));
    }

    /// Something is missing: nobody knows what has begun or ended.
    fn gap(&mut self, from_ns: u64, to_ns: u64, why: &str) {
        self.switch(None, from_ns);
        self.close_above(0, from_ns);
        if let Some(kit) = &mut self.kit {
            kit.lost();
        }
        let events = None;
        if self.has_room() {
            self.events.gaps.push(Gap { from_ns, to_ns, events, why: why.to_owned() });
        }
    }

    fn value(&mut self, comparator: u8, value: u32, at_ns: u64) {
        let named = self.names.get(&comparator).cloned();
        let name = named.unwrap_or_else(|| format!("comparator {comparator}"));
        let track = self.track(TrackKind::Counter, comparator.into(), &name);
        if self.has_room() {
            self.events.counters.push(CounterValue { track, at_ns, value: value.into() });
        }
    }

    fn kit(&mut self, record: kit::Record, now: u64) {
        if (record.lost > 0 || record.restarted) && self.has_room() {
            self.regions.clear();
            let why = "records of the kit are missing".to_owned();
            let events = Some(record.lost.into());
            let from_ns = self.recorded_ns;
            self.events.gaps.push(Gap { from_ns, to_ns: now, events, why });
        }
        self.recorded_ns = now;
        let number = KIT + i64::from(record.id);
        match record.what {
            kit::What::Begin if self.regions.len() < MOST_REGIONS => {
                self.regions.push((record.id, now));
            }
            kit::What::Begin => {}
            kit::What::End => {
                if let Some(at) = self.regions.iter().rposition(|(id, _)| *id == record.id) {
                    let (_, begin) = self.regions.remove(at);
                    let track = self.track(TrackKind::Marks, number, "");
                    self.slice(track, begin, now);
                }
            }
            kit::What::Value(value) => {
                let track = self.track(TrackKind::Counter, number, "");
                if self.has_room() {
                    self.events.counters.push(CounterValue { track, at_ns: now, value });
                }
            }
            kit::What::Mark => {
                let track = self.track(TrackKind::Marks, number, "");
                if self.has_room() {
                    self.events.instants.push(Instant { track, name: String::new(), at_ns: now });
                }
            }
            kit::What::Bytes(bytes, length) => {
                let track = self.track(TrackKind::Marks, number, "");
                let bytes = bytes.get(..length).unwrap_or_default();
                self.say(track, bytes.strip_suffix(b"\n").unwrap_or(bytes), now);
            }
        }
    }

    /// Bytes of the kit for the target, where its records come in frames of their own.
    pub fn kit_bytes(&mut self, bytes: &[u8]) {
        let mut frames = std::mem::take(&mut self.frames);
        frames.push(bytes, &mut |record, now| {
            let now = self.ns(now.0);
            self.last_ns = now;
            self.kit(record, now);
        });
        self.frames = frames;
    }

    /// Such bytes are missing here.
    pub fn kit_gap(&mut self) {
        self.frames.gap();
    }

    fn write(&mut self, port: u8, bytes: u8, value: u32, at_ns: u64) {
        if let Some(kit) = self.kit.as_mut().filter(|kit| kit.is_at(port)) {
            if let Some(record) = kit.take(port, bytes, value) {
                self.kit(record, at_ns);
            }
            return;
        }
        let track = self.track(TrackKind::Marks, port.into(), &format!("port {port}"));
        self.say(track, &value.to_le_bytes()[..usize::from(bytes).min(4)], at_ns);
    }

    fn say(&mut self, track: usize, data: &[u8], at_ns: u64) {
        let text = std::str::from_utf8(data).ok().filter(|t| !t.chars().any(char::is_control));
        let hex =
            || data.iter().rev().fold("0x".to_owned(), |hex, byte| hex + &format!("{byte:02x}"));
        let name = text.map_or_else(hex, str::to_owned);
        if self.has_room() {
            self.events.instants.push(Instant { track, name, at_ns });
        }
    }
}

impl Events for Tracks {
    fn event(&mut self, event: Event) {
        let (from, now) = (self.ns(event.time.earliest), self.ns(event.time.likely()));
        self.last_ns = now;
        match event.what {
            What::Undecodable => self.gap(from, now, "bytes that are no packet"),
            What::Gap => self.gap(from, now, "bytes are missing"),
            What::Packet(Packet::Overflow) => self.gap(from, now, "overflow"),
            What::Packet(Packet::Exception { number, action }) => {
                self.exception(number, action, now);
            }
            What::Packet(Packet::DataTraceValue { comparator, write, value, .. }) => {
                if write && self.thread_comparator == Some(comparator) {
                    self.switch(Some(value), now);
                } else {
                    self.value(comparator, value, now);
                }
            }
            What::Packet(Packet::Instrumentation { port, bytes, value }) => {
                self.write(port, bytes, value, now);
            }
            What::Packet(_) => {}
        }
    }
}
