//! Opens whatever brings the bytes of a trace pin: `strobe record` and `strobe top` share it.

use std::fs::File;
use std::path::Path;

use strobe_decode::capture::parse_frequency;
use strobe_decode::container::Source;
use strobe_model::TraceSettings;
use strobe_source::trace::capture::Captured;
use strobe_source::trace::link::{Error, Link};
use strobe_source::trace::stream::Stream;
use strobe_source::trace::target::Target;
use strobe_source::trace::tcp::Tcp;
use strobe_symbols::Firmware;

use crate::{capture, exit, trace_options};

/// The part of `--help` that names the sources.
pub const SOURCES: &str = "\
Sources:
  serial:DEVICE@BAUD        a serial adapter that listens to the pin
  tcp:HOST:PORT             raw bytes from a server: OpenOCD, orbuculum, pyOCD (3443), J-Link (2332)
  file:PATH  or  -          raw bytes from a file, a named pipe, standard input
  sr:PATH:PIN@BAUD          a pin of a logic analyser's capture (.sr, .vcd, .csv)";

/// How to open a source.
#[derive(clap::Args, Default)]
pub struct Options {
    /// What to trace, and how the hardware is set up.
    #[command(flatten)]
    pub trace: trace_options::Options,
    /// Go on with a set-up that loses packets.
    #[arg(long, help_heading = "Trace")]
    pub insist: bool,
}

/// A source that is open.
pub struct Opened {
    /// What brings the bytes.
    pub link: Box<dyn Link>,
    /// What it is.
    pub source: Source,
    /// The chip or board, where known.
    pub target: Option<String>,
    /// Its core, where known.
    pub core: Option<String>,
    /// How the hardware is set up, as far as anybody said.
    pub settings: Option<TraceSettings>,
    /// It was set up for this.
    pub programmed: bool,
}

/// Opens a source.
pub fn open(
    source: &str,
    options: &Options,
    firmware: Option<&Firmware>,
) -> anyhow::Result<Opened> {
    let spec = Spec::parse(source, options)?;
    let (link, kind, name): (Box<dyn Link>, _, _) = match spec {
        Spec::Input => (Box::new(Stream::new("standard input", std::io::stdin())), "pipe", ""),
        Spec::File(path) => {
            let shown = path.to_owned();
            let file = File::open(path)
                .map_err(|e| exit::no_input(format!("cannot read {shown}: {e}")))?;
            if file.metadata().is_ok_and(|metadata| metadata.is_dir()) {
                return Err(exit::no_input(format!("{shown} is a directory")));
            }
            (Box::new(Stream::new(shown, file)), "file", base_name(path))
        }
        Spec::Tcp(address) => (Box::new(Tcp::connect(address).map_err(no_link)?), "tcp", address),
        Spec::Serial(device, baud) => (serial(device, baud)?, "serial", device),
        Spec::Capture(path, pin, baud) => {
            let (_, capture) = capture::open(Path::new(path), None, capture::MAX_EDGES)?;
            let channel = capture::channel(&capture, pin)?;
            let link = Captured::new(&capture, channel, baud);
            let link = link.map_err(|e| exit::usage(e.to_string()))?;
            (Box::new(link), "capture", base_name(path))
        }
    };
    let settings = settings(options, firmware)?;
    let source = Source { kind: kind.to_owned(), name: name.to_owned() };
    let target = options.trace.target().map(|target: &Target| target.name.to_owned());
    Ok(Opened { link, source, target, core: None, settings, programmed: false })
}

/// What the hardware was said to be set to, if anything was said.
fn settings(
    options: &Options,
    firmware: Option<&Firmware>,
) -> anyhow::Result<Option<TraceSettings>> {
    if !options.trace.given() {
        return Ok(None);
    }
    Ok(Some(options.trace.wanted(firmware, None)?.settings))
}

#[cfg(unix)]
fn serial(device: &str, baud: u32) -> anyhow::Result<Box<dyn Link>> {
    let link = strobe_source::trace::serial::Serial::open(device, baud).map_err(no_link)?;
    Ok(Box::new(link))
}

#[cfg(not(unix))]
fn serial(_: &str, _: u32) -> anyhow::Result<Box<dyn Link>> {
    Err(exit::usage("serial ports are read on Unix systems only"))
}

/// A link that cannot be opened or does no more.
pub fn no_link(error: Error) -> anyhow::Error {
    exit::no_link(error.to_string())
}

/// A path without its folders.
fn base_name(path: &str) -> &str {
    Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or(path)
}

/// A source, as an argument.
#[derive(Debug, PartialEq)]
enum Spec<'a> {
    Input,
    File(&'a str),
    Tcp(&'a str),
    Serial(&'a str, u32),
    Capture(&'a str, &'a str, u32),
}

impl<'a> Spec<'a> {
    fn parse(text: &'a str, options: &Options) -> anyhow::Result<Spec<'a>> {
        let wrong = |form: &str| exit::usage(format!("the source `{text}`: write it {form}"));
        if text == "-" {
            return Ok(Spec::Input);
        }
        let Some((kind, rest)) = text.split_once(':') else {
            let file = Path::new(text).exists();
            let hint = if file { format!("; is it file:{text}?") } else { String::new() };
            return Err(exit::usage(format!("`{text}` is no source{hint}\n{SOURCES}")));
        };
        let baud = options.trace.baud();
        match kind {
            "file" if !rest.is_empty() => Ok(Spec::File(rest)),
            "tcp" => {
                let port = rest.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok());
                port.ok_or_else(|| wrong("tcp:HOST:PORT"))?;
                Ok(Spec::Tcp(rest))
            }
            "serial" => {
                let form = "serial:DEVICE@BAUD, or give --baud";
                let (device, baud) = at_baud(rest, baud).ok_or_else(|| wrong(form))?;
                Ok(Spec::Serial(device, baud))
            }
            "sr" => {
                let form = "sr:PATH:PIN@BAUD, or give --baud";
                let (rest, baud) = at_baud(rest, baud).ok_or_else(|| wrong(form))?;
                let (path, pin) = rest.rsplit_once(':').ok_or_else(|| wrong(form))?;
                Ok(Spec::Capture(path, pin, baud))
            }
            _ => Err(exit::usage(format!("`{kind}:` is no kind of source\n{SOURCES}"))),
        }
    }
}

/// What stands before the `@`, and the bit rate behind it.
fn at_baud(text: &str, default: Option<u32>) -> Option<(&str, u32)> {
    let (what, baud) = match text.rsplit_once('@') {
        Some((what, baud)) => {
            let baud = parse_frequency(baud).and_then(|baud| u32::try_from(baud).ok());
            (what, baud)
        }
        None => (text, default),
    };
    Some((what, baud?)).filter(|(what, _)| !what.is_empty())
}
