//! A trace of events as a time line.

use std::collections::HashMap;

use strobe_decode::ctf::{DecodeError, Item, Lost};
use strobe_model::measurement::{Timeline, TimelineBuilder, TrackKind, Unit};

use super::Names;
use super::events::{Source, add, nanoseconds, narrow};
use super::functions::Functions;
use super::interrupts::Nesting;
use super::meaning::{Meaning, Meanings};
use super::transfers::Transfers;

/// Everything in a trace that has a time and a known meaning.
pub fn timeline(source: &Source, meanings: &Meanings, names: &dyn Names) -> Timeline {
    let mut drawing = Drawing::new(source.streams.len(), names);
    add(source, meanings, names, Some(&mut drawing));
    drawing.finish()
}

/// A time line under construction.
pub(super) struct Drawing<'s> {
    names: &'s dyn Names,
    /// The streams that have had an event.
    begun: Vec<bool>,
    /// Since when the bytes of each stream could not be read.
    torn: Vec<Option<i64>>,
    line: TimelineBuilder,
    /// The first event; times count from here.
    origin: Option<i64>,
    now: i64,
    /// Who runs, and since when.
    running: Option<(i64, i64)>,
    /// Measurements, pauses and timers that have begun.
    open: HashMap<String, i64>,
    interrupts: Nesting,
    functions: Functions,
    transfers: Transfers,
    /// Bytes of the heap in use.
    heap_bytes: u64,
}

impl<'s> Drawing<'s> {
    pub(super) fn new(streams: usize, names: &'s dyn Names) -> Self {
        Drawing {
            names,
            begun: vec![false; streams],
            torn: vec![None; streams],
            line: TimelineBuilder::new(Unit::NANOSECONDS),
            origin: None,
            now: 0,
            running: None,
            open: HashMap::new(),
            interrupts: Nesting::default(),
            functions: Functions::default(),
            transfers: Transfers::default(),
            heap_bytes: 0,
        }
    }

    /// The next item of a stream, with its meaning if it is an event that has one, and the bytes of
    /// the heap in use after it.
    pub(super) fn item(
        &mut self,
        stream: usize,
        item: &Item,
        meaning: Option<&Meaning>,
        heap_bytes: u64,
    ) {
        self.heap_bytes = heap_bytes;
        match item {
            Item::Event(event) => {
                if let Some(at) = nanoseconds(event) {
                    self.begun[stream] = true;
                    if let Some(from) = self.torn[stream].take() {
                        self.hole(from, at);
                    }
                    self.event(at, meaning, &event.class.name);
                }
            }
            Item::Lost(lost) => self.lost(lost),
            Item::Undecodable(bad) if self.begun[stream] && bad.why != DecodeError::Repeated => {
                self.torn[stream].get_or_insert(self.now);
                self.cut();
            }
            Item::Packet(_) | Item::Undecodable(_) => {}
        }
    }

    fn time(&self, at: i64) -> i64 {
        at.saturating_sub(self.origin.unwrap_or(at)).max(0)
    }

    fn span(&mut self, track: u32, name: Option<&str>, from: i64, to: i64) {
        let (begin, end) = (self.time(from), self.time(to));
        self.line.span(track, name, begin, end);
    }

    fn moment(&mut self, track: u32, name: &str, at: i64) {
        let at = self.time(at);
        self.line.moment(track, Some(name), at);
    }

    /// A thread's track, with its name as soon as it is known.
    fn thread(&mut self, thread: i64, name: Option<&str>) -> u32 {
        let unnamed = || format!("thread {thread}");
        let track = self.line.numbered_track(TrackKind::Thread, thread, unnamed);
        if let Some(name) = name.filter(|name| *name != self.line.track_mut(track).name) {
            self.line.track_mut(track).name = name.to_owned();
        }
        track
    }

    fn marks(&mut self, name: &str) -> u32 {
        self.line.track(TrackKind::Marks, None, name)
    }

    fn event(&mut self, at: i64, meaning: Option<&Meaning>, class: &str) {
        self.origin.get_or_insert(at);
        self.now = self.now.max(at);
        match meaning {
            Some(meaning) => self.apply(at, meaning, class),
            None => {
                let track = self.marks("other events");
                self.moment(track, class, at);
            }
        }
    }

    fn stops(&mut self, at: i64) {
        if let Some((thread, from)) = self.running.take() {
            let track = self.thread(thread, None);
            self.span(track, None, from, at);
        }
    }

    fn runs(&mut self, at: i64, thread: i64, name: Option<&str>) {
        self.stops(at);
        self.thread(thread, name);
        self.running = Some((thread, at));
    }

    fn apply(&mut self, at: i64, meaning: &Meaning, class: &str) {
        match *meaning {
            Meaning::Thread { thread, ref name } => {
                self.thread(thread, name.as_deref());
            }
            Meaning::ThreadEnds { thread } => {
                let track = self.thread(thread, None);
                self.moment(track, "ends", at);
            }
            Meaning::Runs { thread, ref name } => self.runs(at, thread, name.as_deref()),
            Meaning::Stops { thread } => match self.running {
                Some((running, _)) if running == thread => self.stops(at),
                // It has run without having been seen to start.
                _ => {
                    self.stops(at);
                    let track = self.thread(thread, None);
                    self.moment(track, "stops, start not seen", at);
                }
            },
            Meaning::Switch { next, ref name, .. } => self.runs(at, next, name.as_deref()),
            Meaning::Interrupt { number, enters: true } => {
                self.interrupts.enters(at, number);
            }
            Meaning::Interrupt { number, enters: false } => {
                let name = || format!("interrupt {number}");
                let track = self.line.numbered_track(TrackKind::Exception, number, name);
                match self.interrupts.exits(number) {
                    Some((from, _)) => self.span(track, None, from, at),
                    None => self.moment(track, "exit, entry not seen", at),
                }
            }
            Meaning::Function { thread, function, enters: true } => {
                self.functions.enters(at, thread, function);
            }
            Meaning::Function { thread, function, enters: false } => {
                let name = || format!("calls of thread {thread}");
                let track = self.line.numbered_track(TrackKind::Functions, thread, name);
                if let Some(from) = self.functions.exits(at, thread, function) {
                    let name = self.names.name(function);
                    let name = name.unwrap_or_else(|| format!("{function:#010x}"));
                    self.span(track, Some(&name), from, at);
                }
            }
            Meaning::Stack { thread, bytes, .. } => {
                self.counter(&format!("stack of thread {thread}"), bytes, at);
            }
            Meaning::Alloc { .. } | Meaning::Free { .. } => {
                self.counter("heap in use", self.heap_bytes, at);
            }
            Meaning::Transfer { ref interface, ref direction, starts: true, .. } => {
                self.transfers.starts(at, interface, direction);
            }
            Meaning::Transfer { ref interface, ref direction, bytes, starts: false } => {
                let track = self.marks(&format!("{interface} {direction}"));
                let name = bytes.map(|bytes| format!("{bytes} bytes"));
                match self.transfers.ends(at, interface, direction, bytes) {
                    Some(from) => self.span(track, name.as_deref(), from, at),
                    None => self.moment(track, "end, beginning not seen", at),
                }
            }
            Meaning::Timer { ref timer, starts } => {
                self.named(at, &format!("timer {timer}"), starts)
            }
            Meaning::Window { starts } => self.named(at, "measurement", starts),
            Meaning::Pause { starts } => self.named(at, "tracer", starts),
            Meaning::Idle => {
                let track = self.marks(class);
                self.moment(track, class, at);
            }
        }
    }

    /// The beginning or end of something that has a name.
    fn named(&mut self, at: i64, name: &str, starts: bool) {
        let track = self.marks(name);
        if starts {
            self.open.insert(name.to_owned(), at);
        } else if let Some(from) = self.open.remove(name) {
            self.span(track, None, from, at);
        } else {
            self.moment(track, "end, beginning not seen", at);
        }
    }

    fn counter(&mut self, name: &str, bytes: u64, at: i64) {
        let track = self.line.track(TrackKind::Counter, None, name);
        self.line.track_mut(track).unit = Some(Unit::BYTES);
        let (at, value) = (self.time(at), i64::try_from(bytes).unwrap_or(i64::MAX));
        self.line.value(track, at, value);
    }

    /// Events are missing: what has begun may have ended, and begun again.
    fn cut(&mut self) {
        self.stops(self.now);
        self.open.clear();
        self.interrupts.lost();
        self.functions.lost();
        self.transfers.lost();
    }

    /// Bytes between two events could not be read.
    fn hole(&mut self, from: i64, to: i64) {
        let (from, to) = (self.time(from), self.time(to));
        self.line.gap(from.min(to), to, None, "bytes that could not be decoded");
    }

    fn lost(&mut self, lost: &Lost) {
        self.cut();
        let time = |ticks: Option<u64>| Some(narrow(lost.clock?.nanoseconds(ticks?)));
        let (from, to) = (time(lost.from), time(lost.to));
        let to = self.time(to.unwrap_or(self.now));
        let from = from.map_or(0, |from| self.time(from)).min(to);
        let why = match lost.packets {
            0 => "events that the tracer left out".to_owned(),
            1 => "a packet is missing".to_owned(),
            packets => format!("{packets} packets are missing"),
        };
        let events = (lost.events > 0).then_some(lost.events);
        self.line.gap(from, to, events, &why);
    }

    pub(super) fn finish(mut self) -> Timeline {
        self.stops(self.now);
        self.line.finish()
    }
}
