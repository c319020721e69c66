//! A trace of events as a time line.

use std::collections::HashMap;

use strobe_decode::ctf::{DecodeError, Item, Lost};
use strobe_model::measurement::{Timeline, TimelineBuilder, TrackKind, Unit};

use super::Names;
use super::events::{Source, nanoseconds, narrow};
use super::functions::Functions;
use super::heap::{Heap, Taken};
use super::interrupts::Interrupts;
use super::meaning::{Meaning, Meanings};
use super::transfers::Transfers;

/// Everything in a trace that has a time and a known meaning.
pub fn timeline(source: &Source, meanings: &Meanings, names: &dyn Names) -> Timeline {
    let mut drawing = Drawing {
        names,
        line: TimelineBuilder::new(Unit::NANOSECONDS),
        origin: None,
        now: 0,
        running: None,
        open: HashMap::new(),
        interrupts: Interrupts::default(),
        functions: Functions::default(),
        transfers: Transfers::default(),
        heap: Heap::default(),
    };
    // The streams that have had an event, and since when their bytes could not be read.
    let mut begun = vec![false; source.streams.len()];
    let mut torn = vec![None; source.streams.len()];
    for (stream, item) in source.items() {
        match item {
            Item::Event(event) => {
                if let Some(at) = nanoseconds(&event) {
                    begun[stream] = true;
                    if let Some(from) = torn[stream].take() {
                        drawing.hole(from, at);
                    }
                    drawing.event(at, meanings.of(&event), &event.class.name);
                }
            }
            Item::Lost(lost) => drawing.lost(&lost),
            Item::Undecodable(bad) if begun[stream] && bad.why != DecodeError::Repeated => {
                torn[stream].get_or_insert(drawing.now);
                drawing.cut();
            }
            Item::Packet(_) | Item::Undecodable(_) => {}
        }
    }
    drawing.finish()
}

struct Drawing<'s> {
    names: &'s dyn Names,
    line: TimelineBuilder,
    /// The first event; times count from here.
    origin: Option<i64>,
    now: i64,
    /// Who runs, and since when.
    running: Option<(i64, i64)>,
    /// Measurements, pauses and timers that have begun.
    open: HashMap<String, i64>,
    interrupts: Interrupts,
    functions: Functions,
    transfers: Transfers,
    heap: Heap,
}

impl Drawing<'_> {
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
        let unnamed = format!("thread {thread}");
        let track = self.line.track(TrackKind::Thread, Some(thread), &unnamed);
        if let Some(name) = name {
            self.line.track_mut(track).name = name.to_owned();
        }
        track
    }

    fn marks(&mut self, name: &str) -> u32 {
        self.line.track(TrackKind::Marks, None, name)
    }

    fn event(&mut self, at: i64, meaning: Option<Meaning>, class: &str) {
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

    fn apply(&mut self, at: i64, meaning: Meaning, class: &str) {
        match meaning {
            Meaning::Thread { thread, name } => {
                self.thread(thread, name.as_deref());
            }
            Meaning::ThreadEnds { thread } => {
                let track = self.thread(thread, None);
                self.moment(track, "ends", at);
            }
            Meaning::Runs { thread, name } => self.runs(at, thread, name.as_deref()),
            Meaning::Stops { thread } => match self.running {
                Some((running, _)) if running == thread => self.stops(at),
                // It has run without having been seen to start.
                _ => {
                    self.stops(at);
                    let track = self.thread(thread, None);
                    self.moment(track, "stops, start not seen", at);
                }
            },
            Meaning::Switch { next, name, .. } => self.runs(at, next, name.as_deref()),
            Meaning::Interrupt { number, enters: true } => self.interrupts.enters(at, number),
            Meaning::Interrupt { number, enters: false } => {
                let name = format!("interrupt {number}");
                let track = self.line.track(TrackKind::Exception, Some(number), &name);
                match self.interrupts.exits(at, number) {
                    Some(from) => self.span(track, None, from, at),
                    None => self.moment(track, "exit, entry not seen", at),
                }
            }
            Meaning::Function { thread, function, enters: true } => {
                self.functions.enters(at, thread, function);
            }
            Meaning::Function { thread, function, enters: false } => {
                let name = format!("calls of thread {thread}");
                let track = self.line.track(TrackKind::Functions, Some(thread), &name);
                if let Some(from) = self.functions.exits(at, thread, function) {
                    let name = self.names.name(function);
                    let name = name.unwrap_or_else(|| format!("{function:#010x}"));
                    self.span(track, Some(&name), from, at);
                }
            }
            Meaning::Stack { thread, bytes, .. } => {
                self.counter(&format!("stack of thread {thread}"), bytes, at);
            }
            Meaning::Alloc { thread, address, bytes, requested, callers } => {
                self.heap.alloc(at, Taken { thread, address, bytes, requested, callers });
                self.counter("heap in use", self.heap.live_bytes(), at);
            }
            Meaning::Free { address } => {
                self.heap.free(at, address, None);
                self.counter("heap in use", self.heap.live_bytes(), at);
            }
            Meaning::Transfer { interface, direction, starts: true, .. } => {
                self.transfers.starts(at, interface, direction);
            }
            Meaning::Transfer { interface, direction, bytes, starts: false } => {
                let track = self.marks(&format!("{interface} {direction}"));
                let name = bytes.map(|bytes| format!("{bytes} bytes"));
                match self.transfers.ends(at, interface, direction, bytes) {
                    Some(from) => self.span(track, name.as_deref(), from, at),
                    None => self.moment(track, "end, beginning not seen", at),
                }
            }
            Meaning::Timer { timer, starts } => self.named(at, &format!("timer {timer}"), starts),
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

    fn finish(mut self) -> Timeline {
        self.stops(self.now);
        self.line.finish()
    }
}
