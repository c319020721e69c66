//! A stream as a time line: handlers and threads as spans, values as counters, writes to stimulus
//! ports and samples of the program counter as moments, losses as gaps.

use std::collections::{BTreeMap, HashMap};

use strobe_decode::swo::packet::{ExceptionAction, Packet};
use strobe_decode::swo::timeline::{Event, EventKind, Events};
use strobe_model::measurement::{Timeline, TimelineBuilder, TrackKind, Unit};
use strobe_symbols::Firmware;

use super::Settings;
use super::kit;
use super::record::{exception, thread_name};

/// Spans, moments and values that are kept; viewers do not take more either.
const MOST: usize = 4_000_000;

/// Tracks of the kit's ids have numbers from here on, past those of ports and comparators.
const KIT: i64 = 32;
/// Regions of the kit that are open at once.
const MOST_REGIONS: usize = 256;

/// What a sample is called that found the core asleep.
const ASLEEP: &str = "(asleep)";

/// The function at an address, or the address.
fn function(pc: u32, firmware: Option<&Firmware>) -> String {
    let known = firmware.and_then(|f| Some(f.function(f.function_at(pc)?).name.to_string()));
    known.unwrap_or_else(|| format!("{pc:#010x}"))
}

/// Makes a time line of events.
#[derive(Debug)]
pub struct Tracks {
    line: TimelineBuilder,
    /// Samples: when, and the program counter unless the core was asleep. Functions have names
    /// only at the end.
    samples: Vec<(i64, Option<u32>)>,
    /// Handlers that have begun: number and when they, or what is left of them, did.
    open: Vec<(u16, i64)>,
    thread: Option<(u32, i64)>,
    thread_comparator: Option<u8>,
    kit: Option<kit::Reader>,
    frames: kit::Frames,
    /// Regions of the kit that have begun: id and when.
    regions: Vec<(u16, i64)>,
    /// When the kit's last record came.
    recorded_ns: i64,
    names: BTreeMap<u8, String>,
    /// Nanoseconds of a tick, as a fraction.
    tick: (u128, u128),
    last_ns: i64,
    /// The last packet was in doubt.
    in_doubt: bool,
    left_out: u64,
}

impl Tracks {
    /// An empty one. `None` if neither clock nor tick are known: then nothing can be put on a time
    /// line.
    pub fn new(settings: &Settings) -> Option<Self> {
        let (cycles, hz) = (settings.tick_cycles?, settings.core_hz.filter(|hz| *hz > 0)?);
        Some(Tracks {
            line: TimelineBuilder::new(Unit::NANOSECONDS),
            samples: Vec::new(),
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
            in_doubt: false,
            left_out: 0,
        })
    }

    /// The time line, with the firmware's names.
    pub fn finish(mut self, firmware: Option<&Firmware>) -> Timeline {
        let end = self.last_ns;
        self.switch(None, end);
        self.close_above(0, end);
        for track in self.line.tracks_mut() {
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
        self.name_samples(firmware);
        if self.left_out > 0 {
            let why = format!("{} events were left out: there are too many", self.left_out);
            self.line.gap(end, end, Some(self.left_out), &why);
        }
        self.line.finish()
    }

    /// Samples become moments with the names of the functions that they fell into.
    fn name_samples(&mut self, firmware: Option<&Firmware>) {
        let samples = std::mem::take(&mut self.samples);
        if samples.is_empty() {
            return;
        }
        let track = self.line.track(TrackKind::Samples, None, "Samples");
        let mut names: HashMap<u32, String> = HashMap::new();
        for (at, pc) in samples {
            let name = match pc {
                None => ASLEEP,
                Some(pc) => names.entry(pc).or_insert_with(|| function(pc, firmware)).as_str(),
            };
            self.line.moment(track, Some(name), at);
        }
    }

    fn ns(&self, ticks: u64) -> i64 {
        i64::try_from(u128::from(ticks) * self.tick.0 / self.tick.1).unwrap_or(i64::MAX)
    }

    fn track(&mut self, kind: TrackKind, number: i64, name: &str) -> u32 {
        self.line.track(kind, Some(number), name)
    }

    /// Whether there is room for one more.
    fn has_room(&mut self) -> bool {
        let room = self.line.len() + self.samples.len() < MOST;
        if !room {
            self.left_out += 1;
            self.line.cut(self.last_ns);
        }
        room
    }

    fn span(&mut self, track: u32, begin: i64, end: i64) {
        if self.has_room() {
            self.line.span(track, None, begin, end);
        }
    }

    fn sample(&mut self, pc: Option<u32>, at: i64) {
        if self.has_room() {
            self.samples.push((at, pc));
        }
    }

    fn close_above(&mut self, keep: usize, now: i64) {
        for (number, begin) in self.open.split_off(keep.min(self.open.len())).into_iter().rev() {
            let track = self.track(TrackKind::Exception, number.into(), "");
            self.span(track, begin, now);
        }
    }

    fn exception(&mut self, number: u16, action: ExceptionAction, now: i64) {
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

    fn switch(&mut self, next: Option<u32>, now: i64) {
        if let Some((pointer, since)) = self.thread.take() {
            let track = self.track(TrackKind::Thread, pointer.into(), "");
            self.span(track, since, now);
        }
        self.thread = next.map(|pointer| (pointer, now));
    }

    /// Something is missing: nobody knows what has begun or ended.
    fn gap(&mut self, from: i64, to: i64, why: &str) {
        self.switch(None, from);
        self.close_above(0, from);
        if let Some(kit) = &mut self.kit {
            kit.lost();
        }
        if self.has_room() {
            self.line.gap(from, to, None, why);
        }
    }

    fn value(&mut self, comparator: u8, value: u32, at: i64) {
        let named = self.names.get(&comparator).cloned();
        let name = named.unwrap_or_else(|| format!("comparator {comparator}"));
        let track = self.track(TrackKind::Counter, comparator.into(), &name);
        if self.has_room() {
            self.line.value(track, at, value.into());
        }
    }

    fn kit(&mut self, record: kit::Record, now: i64) {
        if (record.lost > 0 || record.restarted) && self.has_room() {
            self.regions.clear();
            let events = Some(record.lost.into());
            self.line.gap(self.recorded_ns, now, events, "records of the kit are missing");
        }
        self.recorded_ns = now;
        let number = KIT + i64::from(record.id);
        match record.what {
            kit::RecordKind::Begin if self.regions.len() < MOST_REGIONS => {
                self.regions.push((record.id, now));
            }
            kit::RecordKind::Begin => {}
            kit::RecordKind::End => {
                if let Some(at) = self.regions.iter().rposition(|(id, _)| *id == record.id) {
                    let (_, begin) = self.regions.remove(at);
                    let track = self.track(TrackKind::Marks, number, "");
                    self.span(track, begin, now);
                }
            }
            kit::RecordKind::Value(value) => {
                let track = self.track(TrackKind::Counter, number, "");
                if self.has_room() {
                    self.line.value(track, now, value);
                }
            }
            kit::RecordKind::Mark => {
                let track = self.track(TrackKind::Marks, number, "");
                if self.has_room() {
                    self.line.moment(track, None, now);
                }
            }
            kit::RecordKind::Bytes(bytes, length) => {
                let track = self.track(TrackKind::Marks, number, "");
                let bytes = bytes.get(..length).unwrap_or_default();
                self.text(track, bytes.strip_suffix(b"\n").unwrap_or(bytes), now);
            }
            // On the heap's own time line.
            kit::RecordKind::Heap(_) | kit::RecordKind::Stack(..) | kit::RecordKind::Thread(_) => {}
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

    fn write(&mut self, port: u8, bytes: u8, value: u32, at: i64) {
        if let Some(kit) = self.kit.as_mut().filter(|kit| kit.is_at(port)) {
            if let Some(record) = kit.take(port, bytes, value) {
                self.kit(record, at);
            }
            return;
        }
        let track = self.track(TrackKind::Marks, port.into(), &format!("port {port}"));
        self.text(track, &value.to_le_bytes()[..usize::from(bytes).min(4)], at);
    }

    fn text(&mut self, track: u32, data: &[u8], at: i64) {
        let text = std::str::from_utf8(data).ok().filter(|t| !t.chars().any(char::is_control));
        let hex =
            || data.iter().rev().fold("0x".to_owned(), |hex, byte| hex + &format!("{byte:02x}"));
        if self.has_room() {
            let name = text.map_or_else(hex, str::to_owned);
            self.line.moment(track, Some(&name), at);
        }
    }
}

impl Events for Tracks {
    fn event(&mut self, event: Event) {
        let (from, now) = (self.ns(event.time.earliest), self.ns(event.time.likely()));
        self.last_ns = now;
        let is_doubtful = matches!(event.what, EventKind::Doubtful(_));
        match event.what {
            EventKind::Undecodable => self.gap(from, now, "bytes that are no packet"),
            EventKind::Gap => self.gap(from, now, "bytes are missing"),
            EventKind::Doubtful(_) if self.in_doubt => {}
            EventKind::Doubtful(_) => self.gap(from, now, "packets in doubt"),
            EventKind::Packet(Packet::Overflow) => self.gap(from, now, "overflow"),
            EventKind::Packet(Packet::Exception { number, action }) => {
                self.exception(number, action, now);
            }
            EventKind::Packet(Packet::DataTraceValue { comparator, write, value, .. }) => {
                if write && self.thread_comparator == Some(comparator) {
                    self.switch(Some(value), now);
                } else {
                    self.value(comparator, value, now);
                }
            }
            EventKind::Packet(Packet::Instrumentation { port, bytes, value }) => {
                self.write(port, bytes, value, now);
            }
            EventKind::Packet(Packet::PcSample(pc)) => self.sample(Some(pc), now),
            EventKind::Packet(Packet::Sleep) => self.sample(None, now),
            EventKind::Packet(_) => {}
        }
        self.in_doubt = is_doubtful;
    }
}
