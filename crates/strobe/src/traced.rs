//! What comes out of a trace pin, from whatever it comes, up to the record: options, the reading of
//! files, and a session that bytes are pushed into.

mod options;

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use strobe_decode::container::{self, Header, PayloadKind};
use strobe_link::trace::link::Link;
use strobe_link::trace::open::Tap;
use strobe_model::measurement::Timeline;
use strobe_source::traced::StreamRecord;
use strobe_source::traced::{self, Port, ReplayError, Session};
use strobe_symbols::Firmware;

use crate::files::{self, AtomicFile};
use crate::{capture, exit, input, interrupt, link};

pub use options::{Options, hertz};

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
) -> anyhow::Result<StreamRecord> {
    Ok(read(path, kind, firmware, options, false)?.0)
}

/// Reads a file to its end: what was measured, and its events on a time line, if anything in it has
/// a time.
pub fn events(
    path: &Path,
    kind: Kind,
    firmware: Option<&Firmware>,
    options: &Options,
) -> anyhow::Result<(StreamRecord, Option<Timeline>)> {
    let (record, events) = read(path, kind, firmware, options, true)?;
    let timed = record.traced.times.local > 0;
    Ok((record, events.filter(|_| timed)))
}

type Made = (StreamRecord, Option<Timeline>);

fn read(
    path: &Path,
    kind: Kind,
    firmware: Option<&Firmware>,
    options: &Options,
    keep: bool,
) -> anyhow::Result<Made> {
    let session = |header: Option<&Header>| {
        let mut session = begin(options, header, firmware)?;
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
            session.finish(firmware).map_err(unusable)
        }
        Kind::Capture => of_capture(path, firmware, options, session),
    }?;
    if record.subject.name.is_empty() {
        record.subject.name = input::file_name(path);
    }
    if kind != Kind::Recording && record.traced.is_empty() {
        // Unless there is something else in it.
        let why = record.warnings.iter().find(|warning| warning.code == "recording");
        let why = why.map(|warning| format!("has no bytes of a trace pin: {}", warning.text));
        let why = why.unwrap_or("is empty: nothing was recorded".to_owned());
        return Err(exit::data(format!("{} {why}", path.display())));
    }
    Ok((record, events))
}

fn open(path: &Path) -> anyhow::Result<File> {
    files::open(path, &files::Kind::PIECEWISE)
}

/// A session of which nothing has been read; `header` is its recording's. Files for what ports
/// bring are opened.
pub fn begin(
    options: &Options,
    header: Option<&Header>,
    firmware: Option<&Firmware>,
) -> anyhow::Result<Session> {
    let settings = options.settings(header, firmware)?;
    let open = |(number, name): &(u8, String)| {
        let sink = Box::new(AtomicFile::create(Path::new(name))?);
        Ok(Port { number: *number, name: name.clone(), sink })
    };
    let ports = options.port.iter().map(open).collect::<anyhow::Result<_>>()?;
    let mut session = Session::new(settings, header, options.frames, ports);
    session.stop_on(interrupt::on_interrupt());
    Ok(session)
}

/// A session that takes no more.
pub fn unusable(error: traced::Error) -> anyhow::Error {
    match error {
        traced::Error::Port { .. } => exit::output(error.to_string()),
        traced::Error::Unbalanced(error) => error.into(),
    }
}

/// Something that was recorded before and cannot be read to its end.
fn broken(path: &Path, error: ReplayError) -> anyhow::Error {
    match error {
        ReplayError::Read(why) => exit::no_input(format!("cannot read {}: {why}", path.display())),
        ReplayError::Session(error) => unusable(error),
    }
}

/// Reads a link to its end, which somebody has recorded before.
fn drain(path: &Path, link: &mut dyn Link, session: &mut Session) -> anyhow::Result<()> {
    session.drain(link).map_err(|error| broken(path, error))
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
    session.replay(&mut reader).map_err(|error| broken(path, error))?;
    session.finish(firmware).map_err(unusable)
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
        carries: PayloadKind::Unspecified,
        programmed: false,
        elf: None,
        flashed: None,
    };
    let mut session = session(Some(&header))?;
    let mut link = tapped.link;
    drain(path, link.as_mut(), &mut session)?;
    session.finish(firmware).map_err(unusable)
}
