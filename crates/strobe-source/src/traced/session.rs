//! A stream on its way to a record: bytes are pushed, events are added up, ports go to files.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::traced::record::StreamRecord;
use strobe_decode::container::{Header, Note};
use strobe_decode::kit::Transport;
use strobe_decode::swo::packet::Packet;
use strobe_decode::swo::reader::Hint;
use strobe_decode::swo::timeline::{Event, EventKind, Events, Group};
use strobe_model::measurement::{Finding, Timeline, Unbalanced};
use strobe_symbols::Firmware;

use super::notes::{self, Notes};
use super::{Accumulator, Intake, Listener, Payload, Settings, Tracks};

/// Bits of a byte on the line, at least: Manchester encoding has no start and stop bits.
const BITS_OF_A_BYTE: u64 = 8;

/// What is wrong with a session.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The sink of a port takes no more.
    #[error("cannot write {name}: {why}")]
    Port {
        /// The sink's name.
        name: String,
        /// Why.
        why: io::Error,
    },
    /// A defect: the totals do not balance.
    #[error(transparent)]
    Unbalanced(#[from] Unbalanced),
}

/// Where the bytes of a stimulus port go.
pub struct Port {
    /// The port.
    pub number: u8,
    /// The sink's name, for errors.
    pub name: String,
    /// The sink.
    pub sink: Box<dyn Sink>,
}

/// What takes the bytes of a port; it may be something that is whole only at its end.
pub trait Sink: Write {
    /// All bytes were written.
    ///
    /// # Errors
    /// If something of them could not be.
    fn complete(self: Box<Self>) -> io::Result<()>;
}

/// A stream that is being read.
pub struct Session {
    intake: Intake,
    events: Sinks,
    notes: Notes,
    /// Host time of the last bytes since the recording began, in microseconds.
    host_us: u64,
    /// That of the first byte at the latest, once there is any.
    first_us: Option<u64>,
    /// Set where reading what was recorded is to end.
    stop: Arc<AtomicBool>,
    /// It ended there.
    stopped: bool,
}

/// Where events go.
struct Sinks {
    accumulator: Accumulator,
    settings: Settings,
    /// Whether a time line of every event is wanted.
    keep: bool,
    /// That, once it is known what the stream is, and if its ticks have a length.
    tracks: Option<Tracks>,
    ports: Vec<Port>,
    failed: Option<Error>,
}

impl Events for Sinks {
    #[inline]
    fn group(&mut self, group: &Group<'_>) {
        if self.ports.is_empty() && self.tracks.is_none() {
            self.accumulator.group(group);
        } else {
            group.events().for_each(|event| self.event(event));
        }
    }

    fn event(&mut self, event: Event) {
        if !self.ports.is_empty()
            && let EventKind::Packet(Packet::Instrumentation { port, bytes, value }) = event.what
        {
            self.write(port, &value.to_le_bytes()[..usize::from(bytes).min(4)]);
        }
        if let Some(tracks) = &mut self.tracks {
            tracks.event(event);
        }
        self.accumulator.event(event);
    }
}

impl Listener for Sinks {
    fn begin(&mut self, payload: Payload) {
        if payload == Payload::Kit {
            self.settings.tick_cycles = kit_tick(&self.settings);
        }
        if self.keep {
            self.tracks = Tracks::new(&self.settings);
        }
    }

    fn kit_bytes(&mut self, bytes: &[u8]) {
        if let Some(tracks) = &mut self.tracks {
            tracks.kit_bytes(bytes);
        }
        self.accumulator.kit_bytes(bytes);
    }

    fn kit_gap(&mut self) {
        if let Some(tracks) = &mut self.tracks {
            tracks.kit_gap();
        }
        self.accumulator.kit_gap();
    }

    fn channel_bytes(&mut self, bytes: &[u8]) {
        let port = self.accumulator.channel_bytes(bytes);
        self.write(port, bytes);
    }

    fn channel_gap(&mut self) {
        self.accumulator.channel_gap();
    }
}

/// Core cycles of a tick of the kit's own clock, unless set otherwise.
fn kit_tick(settings: &Settings) -> Option<u32> {
    let kit = settings.kit.filter(|kit| kit.way != Transport::Itm);
    settings.tick_cycles.or(kit.map(|kit| kit.number).filter(|cycles| *cycles > 0))
}

impl Sinks {
    fn write(&mut self, port: u8, data: &[u8]) {
        for port in self.ports.iter_mut().filter(|other| other.number == port) {
            if let Err(why) = port.sink.write_all(data) {
                self.failed.get_or_insert(Error::Port { name: port.name.clone(), why });
            }
        }
    }

    fn check(&mut self) -> Result<(), Error> {
        self.failed.take().map_or(Ok(()), Err)
    }
}

impl Session {
    /// A stream of which nothing has been read; `header` is its recording's, `frames` what the user
    /// knows of the trace port's frames.
    pub fn new(
        settings: Settings,
        header: Option<&Header>,
        frames: Option<Hint>,
        ports: Vec<Port>,
    ) -> Session {
        let accumulator = Accumulator::new(settings.thread)
            .with_kit(settings.kit_port())
            .with_defmt(settings.defmt.clone())
            .within(&settings.bounds);
        Session {
            intake: Intake::of(header, frames),
            events: Sinks { accumulator, settings, keep: false, tracks: None, ports, failed: None },
            notes: Notes::default(),
            host_us: 0,
            first_us: None,
            stop: Arc::default(),
            stopped: false,
        }
    }

    /// Reading what was recorded before ends where this is set.
    pub fn stop_on(&mut self, stop: Arc<AtomicBool>) {
        self.stop = stop;
    }

    /// Whether reading is to end; the report then names that.
    pub(super) fn is_stopped(&mut self) -> bool {
        let stopped = self.stop.load(Ordering::Relaxed);
        if stopped {
            self.stopped = true;
            self.add("reading was stopped by the user: what follows is not in the figures");
        }
        stopped
    }

    /// The stream is frames of the kit for the target.
    pub fn is_kit(&mut self) {
        self.intake.assume_kit();
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
    ///
    /// # Errors
    /// If the sink of a port takes no more.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), Error> {
        if !bytes.is_empty() && self.first_us.is_none() {
            // These came up to now, and no faster than the line brings them.
            let baud = self.events.settings.baud.map(u64::from).filter(|baud| *baud > 0);
            let bits = bytes.len() as u64 * BITS_OF_A_BYTE;
            let on_line = baud.map_or(0, |baud| bits.saturating_mul(1_000_000) / baud);
            self.first_us = Some(self.host_us.saturating_sub(on_line));
        }
        self.intake.push(bytes, &mut self.events);
        self.events.check()
    }

    /// Bytes are missing here.
    pub fn gap(&mut self) {
        self.intake.gap(&mut self.events);
    }

    /// A program counter that was asked for over the debug port.
    pub fn polled(&mut self, pc: u32) {
        if pc == u32::MAX {
            self.notes.add(
                "samples that were asked for had no address: asleep, halted or not to \
                            be looked at; they count as asleep",
            );
        }
        self.events.accumulator.polled(pc);
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

    /// The record of everything, and the time line if it is wanted and events have times, the
    /// stream being over.
    ///
    /// # Errors
    /// As for [`Session::push`].
    pub fn finish(
        mut self,
        firmware: Option<&Firmware>,
    ) -> Result<(StreamRecord, Option<Timeline>), Error> {
        self.intake.finish(&mut self.events);
        self.events.check()?;
        let settings = self.settings(&self.intake);
        let Session { intake, events, stopped, .. } = self;
        for Port { name, sink, .. } in events.ports {
            sink.complete().map_err(|why| Error::Port { name, why })?;
        }
        let mut events_kept = events.tracks.map(|tracks| tracks.finish(firmware));
        let mut record = events.accumulator.record(intake.reader(), firmware, &settings)?;
        record.interrupted = stopped;
        // Wrong bits leave no sign: any time and any value may have one.
        let is_damaged = record.traced.stream.damage > 0;
        if let Some(line) = events_kept.as_mut().filter(|_| is_damaged) {
            line.exact.clear();
        }
        Ok((record, events_kept))
    }

    /// The record of what has come so far; the stream goes on.
    ///
    /// # Errors
    /// Only for a defect: when the totals do not balance.
    pub fn so_far(&self, firmware: Option<&Firmware>) -> Result<StreamRecord, Error> {
        let mut accumulator = self.events.accumulator.clone();
        let mut intake = self.intake.clone();
        intake.finish(&mut accumulator);
        Ok(accumulator.record(intake.reader(), firmware, &self.settings(&intake))?)
    }

    /// What is known of the stream, host times and notes included.
    fn settings(&self, intake: &Intake) -> Settings {
        let mut settings = self.events.settings.clone();
        if intake.payload() == Some(Payload::Kit) {
            settings.tick_cycles = kit_tick(&settings);
        }
        if let Some(recording) = &mut settings.recording {
            recording.nanoseconds = self.host_us.saturating_mul(1000);
            recording.first_nanoseconds = self.first_us.unwrap_or(0).saturating_mul(1000);
            recording.notes = self.notes.0.clone();
        } else {
            let notes = self.notes.0.iter();
            let notes =
                notes.map(|(text, count)| Finding::warning("recording", text).times(*count));
            settings.warnings.extend(notes);
        }
        settings
    }
}
