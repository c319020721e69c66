//! What comes out of a trace pin, from whatever it comes, up to the record: options, the reading of files, and a session that bytes are pushed
//! into.

mod notes;
mod options;
mod session;

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use strobe_decode::bus::baud;
use strobe_decode::bus::uart::{self, Uart};
use strobe_decode::container::{self, Content, Ending, Header};
use strobe_model::measurement::{Timeline, Unit};
use strobe_model::{Record, Warning};
use strobe_symbols::Firmware;

use crate::{capture, exit, input};

pub use options::Options;
pub use session::Session;

/// What a file with a trace pin's bytes is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A recording of `strobe record`.
    Recording,
    /// The bytes alone.
    Raw,
    /// Frames of the kit for the target alone.
    Kit,
    /// A logic analyser's capture of the pin.
    Capture,
}

/// Reads a file to its end and makes the record.
pub fn record(
    path: &Path,
    kind: Kind,
    firmware: Option<&Firmware>,
    options: &Options,
) -> anyhow::Result<Record> {
    Ok(read(path, kind, firmware, options, false)?.0)
}

/// Reads a file to its end and puts its events on a time line.
pub fn events(
    path: &Path,
    kind: Kind,
    firmware: Option<&Firmware>,
    options: &Options,
) -> anyhow::Result<Timeline> {
    let (record, events) = read(path, kind, firmware, options, true)?;
    if record.traced.is_some_and(|traced| traced.times.local == 0) {
        let text = "there are no local timestamps, so nobody knows when anything was";
        return Err(exit::data(format!("{}: {text}", path.display())));
    }
    Ok(events.unwrap_or_else(|| Timeline::new(Unit::NANOSECONDS)))
}

type Made = (Record, Option<Timeline>);

fn read(
    path: &Path,
    kind: Kind,
    firmware: Option<&Firmware>,
    options: &Options,
    keep: bool,
) -> anyhow::Result<Made> {
    let session = |header: Option<&Header>| {
        let mut session = Session::new(options, header, firmware)?;
        if keep {
            session.keep_events();
        }
        if kind == Kind::Kit {
            session.is_kit();
        }
        Ok(session)
    };
    let (mut record, events) = match kind {
        Kind::Recording => recording(path, firmware, session),
        Kind::Raw | Kind::Kit => {
            let mut session = session(None)?;
            copy(path, open(path)?, &mut session)?;
            session.finish(firmware)
        }
        Kind::Capture => of_capture(path, firmware, options, session),
    }?;
    if record.subject.file.is_empty() {
        record.subject.file = input::file_name(path);
    }
    if record.traced.as_ref().is_some_and(|t| t.is_empty() && t.recording.is_none()) {
        return Err(exit::data(format!("{} is empty: nothing was recorded", path.display())));
    }
    Ok((record, events))
}

fn open(path: &Path) -> anyhow::Result<File> {
    File::open(path).map_err(|e| unreadable(path, &e))
}

fn unreadable(path: &Path, e: &std::io::Error) -> anyhow::Error {
    exit::no_input(format!("cannot read {}: {e}", path.display()))
}

fn copy(path: &Path, mut file: File, session: &mut Session) -> anyhow::Result<()> {
    let mut buffer = vec![0; 1 << 18];
    loop {
        match file.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(n) => session.push(&buffer[..n])?,
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(unreadable(path, &e)),
        }
    }
}

/// A recording of `strobe record`.
fn recording(
    path: &Path,
    firmware: Option<&Firmware>,
    session: impl Fn(Option<&Header>) -> anyhow::Result<Session>,
) -> anyhow::Result<Made> {
    let input = BufReader::with_capacity(1 << 17, open(path)?);
    let wrong = |e: &dyn std::fmt::Display| exit::data(format!("{}: {e}", path.display()));
    let mut reader = container::Reader::new(input).map_err(|e| wrong(&e))?;
    let mut session = session(reader.header())?;
    while let Some(chunk) = reader.next().map_err(|e| unreadable(path, &e))? {
        session.at(chunk.host_us);
        if chunk.missing_before > 0 {
            session.gap()?;
            session.add("chunks of the recording are missing or damaged");
        }
        match chunk.content {
            Content::Raw(bytes) => session.push(bytes)?,
            Content::Polled(samples) => samples.iter().for_each(|sample| session.polled(sample.pc)),
            Content::Note(note) => session.note(&note)?,
            Content::End(_) => {}
        }
    }
    let summary = reader.summary();
    if let Ending::CutShort { .. } = summary.ending {
        session.add("the recording has no end mark: whoever made it was stopped");
    }
    if summary.damaged_bytes > 0 {
        let at = summary.damages.first().map_or(0, |damage| damage.at);
        session.add(&format!("{} bytes from byte {at} on are damaged", summary.damaged_bytes));
    }
    if summary.unknown_chunks > 0 {
        session.add(&format!(
            "{} chunks are of kinds this version does not know",
            summary.unknown_chunks
        ));
    }
    if summary.header_damaged {
        session.add("its header is damaged: clock and settings are not known");
    }
    session.finish(firmware)
}

/// A logic analyser's capture of the pin, as a serial line.
fn of_capture(
    path: &Path,
    firmware: Option<&Firmware>,
    options: &Options,
    session: impl Fn(Option<&Header>) -> anyhow::Result<Session>,
) -> anyhow::Result<Made> {
    let (_, capture) = capture::open(path, None, capture::MAX_EDGES)?;
    let (pin, speed) = options.pin(&capture)?;
    let mut session = session(None)?;
    let (line, bit) = (&capture.channels[pin], baud::bit_ticks(&capture, speed));
    // Bytes, and where some are missing.
    let (mut words, mut broken) = (Vec::new(), false);
    let mut keep = |event| match event {
        uart::Event::Word(word) => {
            let sound = !word.framing_error && !word.unknown;
            words.extend(std::mem::take(&mut broken).then_some(None));
            words.push(u8::try_from(word.value).ok().filter(|_| sound));
        }
        // A zero whose stop bit is wrong looks like a break. Before the first word and behind the last one the pin may just not be in use.
        uart::Event::Break { .. } => broken = !words.is_empty(),
        uart::Event::Glitch { .. } | uart::Event::CutShort { .. } => {}
    };
    let mut decoder = Uart::new(uart::Format::default(), bit, line.initial);
    line.edges.iter().for_each(|edge| decoder.push(edge.at(), edge.level(), &mut keep));
    decoder.finish(capture.end, &mut keep);
    let mut bad = 0;
    for word in words {
        match word {
            Some(byte) => session.push(&[byte])?,
            None => {
                bad += 1;
                session.gap()?;
            }
        }
    }
    if bad > 0 {
        let text =
            format!("{bad} words of the line have no valid stop bit; is {speed:.0} baud right?");
        session.warn(Warning { text, count: 1 });
    }
    session.finish(firmware)
}
