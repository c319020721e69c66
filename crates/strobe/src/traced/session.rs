//! A stream on its way to a record: bytes are pushed, events are added up, ports go to files.

use std::fs::File;
use std::io::{BufWriter, Write};

use strobe_decode::container::{Carries, Header, Note};
use strobe_decode::kit;
use strobe_decode::swo::packet::Packet;
use strobe_decode::swo::reader::{self, Hint, Reader};
use strobe_decode::swo::timeline::{Event, Events, What};
use strobe_model::measurement::Timeline;
use strobe_model::{KitWay, Record, Warning};
use strobe_source::traced::{Collector, Settings, Tracks};
use strobe_symbols::Firmware;

use super::Options;
use super::notes::{self, Notes};
use crate::exit;

/// Bytes that decide how the rest is framed.
const BEGINNING: usize = 1 << 16;

/// What the bytes are.
enum Stream {
    /// Not known yet, nor how they are framed.
    Unknown,
    /// A trace pin's.
    Pin(Box<Reader>),
    /// Frames of the kit for the target.
    Kit,
    /// Bytes of one channel.
    Channel,
}

/// A stream that is being read.
pub struct Session {
    stream: Stream,
    beginning: Vec<u8>,
    hint: Hint,
    /// The stream may be the kit's: nobody said that it is a trace pin's.
    maybe_kit: bool,
    /// If it is not the kit's, it is one channel's bytes.
    is_channel: bool,
    events: Adder,
    settings: Settings,
    notes: Notes,
    /// Host time of the last bytes since the recording began, in microseconds.
    host_us: u64,
}

/// Where events go.
struct Adder {
    collector: Collector,
    /// Whether a time line of every event is wanted.
    keep: bool,
    /// That, once it is known what the stream is.
    tracks: Option<Tracks>,
    ports: Vec<(u8, String, BufWriter<File>)>,
    failed: Option<anyhow::Error>,
}

impl Events for Adder {
    fn event(&mut self, event: Event) {
        if !self.ports.is_empty()
            && let What::Packet(Packet::Instrumentation { port, bytes, value }) = event.what
        {
            self.write(port, &value.to_le_bytes()[..usize::from(bytes).min(4)]);
        }
        if let Some(tracks) = &mut self.tracks {
            tracks.event(event);
        }
        self.collector.event(event);
    }
}

impl Adder {
    fn kit_bytes(&mut self, bytes: &[u8]) {
        if let Some(tracks) = &mut self.tracks {
            tracks.kit_bytes(bytes);
        }
        self.collector.kit_bytes(bytes);
    }

    fn channel_bytes(&mut self, bytes: &[u8]) {
        let port = self.collector.channel_bytes(bytes);
        self.write(port, bytes);
    }

    fn kit_gap(&mut self) {
        if let Some(tracks) = &mut self.tracks {
            tracks.kit_gap();
        }
        self.collector.kit_gap();
    }

    fn write(&mut self, port: u8, data: &[u8]) {
        for (_, name, file) in self.ports.iter_mut().filter(|(n, ..)| *n == port) {
            if let Err(e) = file.write_all(data) {
                self.failed.get_or_insert(unwritable(name, &e));
            }
        }
    }

    fn check(&mut self) -> anyhow::Result<()> {
        self.failed.take().map_or(Ok(()), Err)
    }
}

fn unwritable(name: &str, e: &std::io::Error) -> anyhow::Error {
    exit::output(format!("cannot write {name}: {e}"))
}

impl Session {
    /// A stream of which nothing has been read; `header` is its recording's.
    pub fn new(
        options: &Options,
        header: Option<&Header>,
        firmware: Option<&Firmware>,
    ) -> anyhow::Result<Session> {
        let (hint, settings) = (options.framing(header), options.settings(header, firmware)?);
        let is_kit = header.is_some_and(|header| header.carries == Carries::Kit);
        let said =
            header.is_some_and(|header| header.settings.is_some()) || options.frames.is_some();
        let open = |(port, name): &(u8, String)| {
            let file = File::create(name).map_err(|e| unwritable(name, &e))?;
            Ok((*port, name.clone(), BufWriter::new(file)))
        };
        let ports = options.port.iter().map(open).collect::<anyhow::Result<_>>()?;
        let mut session = Session {
            stream: Stream::Unknown,
            beginning: Vec::new(),
            hint,
            maybe_kit: !said,
            is_channel: header.is_some_and(|header| header.carries == Carries::Channel),
            events: Adder {
                collector: Collector::new(settings.thread)
                    .with_kit(settings.kit_port())
                    .with_defmt(settings.defmt.clone())
                    .within(&settings.bounds),
                keep: false,
                tracks: None,
                ports,
                failed: None,
            },
            settings,
            notes: Notes::default(),
            host_us: 0,
        };
        if is_kit {
            session.is_kit();
        }
        Ok(session)
    }

    /// The stream is frames of the kit for the target.
    pub fn is_kit(&mut self) {
        self.stream = Stream::Kit;
        let tick = self.settings.kit.filter(|kit| kit.way != KitWay::Itm).map(|kit| kit.number);
        let tick = tick.filter(|cycles| *cycles > 0);
        self.settings.tick_cycles = self.settings.tick_cycles.or(tick);
    }

    /// Keeps every event for a time line.
    pub fn keep_events(&mut self) {
        self.events.keep = true;
    }

    /// What comes now came at this host time, in microseconds.
    pub fn at(&mut self, host_us: u64) {
        self.host_us = self.host_us.max(host_us);
    }

    /// More bytes.
    pub fn push(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        if self.beginning.is_empty() && self.has_begun() {
            self.take(bytes);
        } else {
            self.beginning.extend_from_slice(bytes);
            if self.beginning.len() >= BEGINNING || self.is_known() {
                self.begin()?;
            }
        }
        self.events.check()
    }

    fn take(&mut self, bytes: &[u8]) {
        match &mut self.stream {
            Stream::Pin(reader) => reader.push(bytes, &mut self.events),
            Stream::Channel => self.events.channel_bytes(bytes),
            Stream::Kit | Stream::Unknown => self.events.kit_bytes(bytes),
        }
    }

    /// Whether the bytes need not be looked at to know what they are.
    fn is_known(&self) -> bool {
        match self.stream {
            Stream::Unknown => self.hint == Hint::Bare && !self.maybe_kit,
            Stream::Pin(_) | Stream::Kit | Stream::Channel => true,
        }
    }

    /// Whether it is known what the stream is, and somebody is there to take its events.
    fn has_begun(&self) -> bool {
        let waits_for_tracks = self.events.keep && self.events.tracks.is_none();
        !matches!(self.stream, Stream::Unknown) && !waits_for_tracks
    }

    /// Enough has come to tell what the bytes are, or all there is.
    fn begin(&mut self) -> anyhow::Result<()> {
        if self.has_begun() {
            return Ok(());
        }
        let bytes = std::mem::take(&mut self.beginning);
        if matches!(self.stream, Stream::Unknown) {
            if self.maybe_kit && kit::is_likely(&bytes) {
                self.is_kit();
            } else if self.is_channel {
                self.stream = Stream::Channel;
            } else {
                let reader = Reader::new(reader::framing(&bytes, self.hint));
                self.stream = Stream::Pin(Box::new(reader));
            }
        }
        if self.events.keep {
            let text =
                "a time line needs the core's clock and the cycles of a tick: --clock and --tick";
            let tracks = Tracks::new(&self.settings).ok_or_else(|| exit::usage(text))?;
            self.events.tracks = Some(tracks);
        }
        self.take(&bytes);
        Ok(())
    }

    /// Bytes are missing here.
    pub fn gap(&mut self) -> anyhow::Result<()> {
        if !self.has_begun() && !self.beginning.is_empty() {
            self.begin()?;
        }
        let has_begun = self.has_begun();
        match &mut self.stream {
            Stream::Pin(reader) => reader.gap(&mut self.events),
            Stream::Kit if has_begun => self.events.kit_gap(),
            Stream::Channel => self.events.collector.channel_gap(),
            Stream::Kit | Stream::Unknown => {}
        }
        Ok(())
    }

    /// A program counter that was asked for over the debug port.
    pub fn polled(&mut self, pc: u32) {
        if pc == u32::MAX {
            self.notes.add("samples that were asked for had no address: asleep, halted or not to be looked at; they count as asleep");
        }
        self.events.collector.polled(pc);
    }

    /// Something happened beside the bytes.
    pub fn note(&mut self, note: &Note) -> anyhow::Result<()> {
        if notes::breaks_off(note) {
            self.gap()?;
        }
        self.notes.note(note);
        Ok(())
    }

    /// Something is wrong with the recording.
    pub fn add(&mut self, text: &str) {
        self.notes.add(text);
    }

    /// Something that the user should know.
    pub fn warn(&mut self, warning: Warning) {
        self.settings.warnings.push(warning);
    }

    /// The record of everything, and the time line if it is wanted, the stream being over.
    pub fn finish(
        mut self,
        firmware: Option<&Firmware>,
    ) -> anyhow::Result<(Record, Option<Timeline>)> {
        self.begin()?;
        let settings = self.settings();
        let Session { stream, mut events, .. } = self;
        let reader = match stream {
            Stream::Pin(mut reader) => {
                reader.finish(&mut events);
                Some(reader)
            }
            Stream::Kit | Stream::Channel | Stream::Unknown => None,
        };
        events.check()?;
        for (_, name, mut file) in events.ports {
            file.flush().map_err(|e| unwritable(&name, &e))?;
        }
        let events_kept = events.tracks.map(|tracks| tracks.finish(firmware));
        let record = events.collector.record(reader.as_deref(), firmware, &settings)?;
        Ok((record, events_kept))
    }

    /// The record of what has come so far; the stream goes on.
    pub fn so_far(&self, firmware: Option<&Firmware>) -> anyhow::Result<Record> {
        let mut collector = self.events.collector.clone();
        let mut reader = match &self.stream {
            Stream::Pin(reader) => Reader::clone(reader),
            Stream::Channel => return Ok(collector.record(None, firmware, &self.settings())?),
            Stream::Unknown if self.is_channel => {
                collector.channel_bytes(&self.beginning);
                return Ok(collector.record(None, firmware, &self.settings())?);
            }
            Stream::Unknown if !(self.maybe_kit && kit::is_likely(&self.beginning)) => {
                let mut begun = Reader::new(reader::framing(&self.beginning, self.hint));
                begun.push(&self.beginning, &mut collector);
                begun
            }
            Stream::Kit | Stream::Unknown => {
                collector.kit_bytes(&self.beginning);
                return Ok(collector.record(None, firmware, &self.settings())?);
            }
        };
        reader.finish(&mut collector);
        Ok(collector.record(Some(&reader), firmware, &self.settings())?)
    }

    /// What is known of the stream, host times and notes included.
    fn settings(&self) -> Settings {
        let mut settings = self.settings.clone();
        if let Some(recording) = &mut settings.recording {
            recording.nanoseconds = self.host_us.saturating_mul(1000);
            recording.notes = self.notes.0.clone();
        }
        settings
    }
}
