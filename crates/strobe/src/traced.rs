//! What comes out of a trace pin, from whatever it comes, up to the record: options, the reading of
//! files, and a session that bytes are pushed into.

mod notes;
mod options;
mod session;

use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::time::Duration;

use strobe_decode::container::{self, Carries, Content, Ending, Header};
use strobe_model::Record;
use strobe_model::measurement::Timeline;
use strobe_source::trace::link::{Came, Link};
use strobe_source::trace::open::Tap;
use strobe_symbols::Firmware;

use crate::{capture, exit, input, link};

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

/// Reads a file to its end: what was measured, and its events on a time line, if anything in it has a time.
pub fn events(
    path: &Path,
    kind: Kind,
    firmware: Option<&Firmware>,
    options: &Options,
) -> anyhow::Result<(Record, Option<Timeline>)> {
    let (record, events) = read(path, kind, firmware, options, true)?;
    let timed = record.traced.as_ref().is_some_and(|traced| traced.times.local > 0);
    Ok((record, events.filter(|_| timed)))
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
            let (shown, file) = (path.display().to_string(), open(path)?);
            let tap = match kind {
                Kind::Kit => Tap::Plain(&shown, file),
                _ => Tap::File(&shown, file),
            };
            let mut link = tap.open().map_err(link::no_link)?.link;
            drain(path, link.as_mut(), &mut session)?;
            session.finish(firmware)
        }
        Kind::Capture => of_capture(path, firmware, options, session),
    }?;
    if record.subject.file.is_empty() {
        record.subject.file = input::file_name(path);
    }
    if kind != Kind::Recording && record.traced.as_ref().is_some_and(|traced| traced.is_empty()) {
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

/// Reads a link to its end, which somebody has recorded before.
fn drain(path: &Path, link: &mut dyn Link, session: &mut Session) -> anyhow::Result<()> {
    let mut bytes = Vec::new();
    loop {
        let came = link.read(&mut bytes, WAIT);
        if let Some(at) = link.elapsed() {
            session.at(at.as_micros().try_into().unwrap_or(u64::MAX));
        }
        session.push(&bytes)?;
        bytes.clear();
        match came {
            Ok(Came::Ended) => return Ok(()),
            Ok(Came::Note(note)) => session.note(&note),
            Ok(Came::Samples(samples)) => samples.iter().for_each(|s| session.polled(s.pc)),
            Ok(Came::Bytes | Came::Nothing) => {}
            Err(error) => {
                return Err(exit::no_input(format!("cannot read {}: {error}", path.display())));
            }
        }
    }
}

/// How long to wait for bytes of a file at once.
const WAIT: Duration = Duration::from_millis(100);

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
            session.gap();
            session.add("chunks of the recording are missing or damaged");
        }
        match chunk.content {
            Content::Raw(bytes) => session.push(bytes)?,
            Content::Polled(samples) => samples.iter().for_each(|sample| session.polled(sample.pc)),
            Content::Note(note) => session.note(&note),
            Content::End(_) => {}
        }
    }
    let summary = reader.summary();
    if let Ending::CutShort { .. } = summary.ending {
        session.add("the recording has no end mark: `strobe record` was killed, or still writes it");
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

/// A logic analyser's capture of the pin, whose time is its own.
fn of_capture(
    path: &Path,
    firmware: Option<&Firmware>,
    options: &Options,
    session: impl Fn(Option<&Header>) -> anyhow::Result<Session>,
) -> anyhow::Result<Made> {
    let (_, capture) = capture::open(path, None, capture::MAX_EDGES)?;
    let (pin, rate) = options.pin(&capture)?;
    let name = input::file_name(path);
    let tap = Tap::Capture(&name, &capture, pin, rate);
    let tapped = tap.open().map_err(|e| exit::usage(format!("{e}; --pin NAME@BAUD")))?;
    let header = Header {
        tool: String::new(),
        source: tapped.source,
        target: None,
        core: None,
        settings: None,
        carries: Carries::Unspecified,
        programmed: false,
        elf: None,
    };
    let mut session = session(Some(&header))?;
    let mut link = tapped.link;
    drain(path, link.as_mut(), &mut session)?;
    session.finish(firmware)
}
