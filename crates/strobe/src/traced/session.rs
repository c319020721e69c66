//! A stream on its way to a record: bytes are pushed, events are added up, ports go to files.

use std::fs::File;
use std::io::{BufWriter, Write};

use strobe_decode::container::{Header, Note};
use strobe_decode::swo::packet::Packet;
use strobe_decode::swo::reader::{self, Framing, Hint, Reader};
use strobe_decode::swo::timeline::{Event, Events, What};
use strobe_model::{Record, TraceEvents, Warning};
use strobe_source::traced::{Collector, Settings, Tracks};
use strobe_symbols::Firmware;

use super::Options;
use super::notes::{self, Notes};
use crate::exit;

/// Bytes that decide how the rest is framed.
const BEGINNING: usize = 1 << 16;

/// A stream that is being read.
pub struct Session {
    /// `None` while it is not known how the bytes are framed.
    reader: Option<Reader>,
    beginning: Vec<u8>,
    hint: Hint,
    events: Adder,
    settings: Settings,
    notes: Notes,
    /// Host time of the last bytes since the recording began, in microseconds.
    host_us: u64,
}

/// Where events go.
struct Adder {
    collector: Collector,
    /// Every event on a time line, if it is wanted.
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
        let open = |(port, name): &(u8, String)| {
            let file = File::create(name).map_err(|e| unwritable(name, &e))?;
            Ok((*port, name.clone(), BufWriter::new(file)))
        };
        let ports = options.port.iter().map(open).collect::<anyhow::Result<_>>()?;
        Ok(Session {
            reader: (hint == Hint::Bare).then(|| Reader::new(Framing::Bare)),
            beginning: Vec::new(),
            hint,
            events: Adder {
                collector: Collector::new(settings.thread)
                    .with_kit(settings.kit_port)
                    .with_defmt(settings.defmt.clone())
                    .within(&settings.bounds),
                tracks: None,
                ports,
                failed: None,
            },
            settings,
            notes: Notes::default(),
            host_us: 0,
        })
    }

    /// Keeps every event for a time line.
    pub fn keep_events(&mut self) -> anyhow::Result<()> {
        let tracks = Tracks::new(&self.settings);
        let text =
            "a time line needs the core's clock and the cycles of a tick: --clock and --tick";
        self.events.tracks = Some(tracks.ok_or_else(|| exit::usage(text))?);
        Ok(())
    }

    /// What comes now came at this host time, in microseconds.
    pub fn at(&mut self, host_us: u64) {
        self.host_us = self.host_us.max(host_us);
    }

    /// More bytes of the pin.
    pub fn push(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        match &mut self.reader {
            Some(reader) => reader.push(bytes, &mut self.events),
            None => {
                self.beginning.extend_from_slice(bytes);
                if self.beginning.len() >= BEGINNING {
                    self.begin();
                }
            }
        }
        self.events.check()
    }

    /// Enough has come to tell how the bytes are framed, or all there is.
    fn begin(&mut self) -> &mut Reader {
        let bytes = std::mem::take(&mut self.beginning);
        let reader =
            self.reader.get_or_insert_with(|| Reader::new(reader::framing(&bytes, self.hint)));
        reader.push(&bytes, &mut self.events);
        reader
    }

    /// Bytes are missing here.
    pub fn gap(&mut self) {
        if let Some(reader) = &mut self.reader {
            reader.gap(&mut self.events);
        } else if !self.beginning.is_empty() {
            self.begin();
            self.gap();
        }
    }

    /// A program counter that was asked for over the debug port.
    pub fn polled(&mut self, pc: u32) {
        if pc == u32::MAX {
            self.notes.add("samples that were asked for had no address: asleep, halted or not to be looked at; they count as asleep");
        }
        self.events.collector.polled(pc);
    }

    /// Something happened beside the bytes.
    pub fn note(&mut self, note: &Note) {
        if notes::breaks_off(note) {
            self.gap();
        }
        self.notes.note(note);
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
    ) -> anyhow::Result<(Record, Option<TraceEvents>)> {
        self.begin();
        let settings = self.settings();
        let Session { reader, mut events, .. } = self;
        let mut reader = reader.unwrap_or_else(|| Reader::new(Framing::Bare));
        reader.finish(&mut events);
        events.check()?;
        for (_, name, mut file) in events.ports {
            file.flush().map_err(|e| unwritable(&name, &e))?;
        }
        let events_kept = events.tracks.map(|tracks| tracks.finish(firmware));
        let record = events.collector.record(Some(&reader), firmware, &settings)?;
        Ok((record, events_kept))
    }

    /// The record of what has come so far; the stream goes on.
    pub fn so_far(&self, firmware: Option<&Firmware>) -> anyhow::Result<Record> {
        let mut collector = self.events.collector.clone();
        let mut reader = match &self.reader {
            Some(reader) => reader.clone(),
            None => {
                let mut begun = Reader::new(reader::framing(&self.beginning, self.hint));
                begun.push(&self.beginning, &mut collector);
                begun
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
