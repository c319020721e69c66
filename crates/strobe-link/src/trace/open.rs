//! Opens what is only listened to: files, pipes, servers, serial adapters, captures. Whoever
//! records, reports or watches opens it here, so that all get the same bytes: frames of orbuculum
//! are taken off wherever they may be.
//!
//! What is set up first (a probe, OpenOCD, a simulated board) has an `open` of its own, which wants
//! to know how.

use std::fs::File;

use strobe_decode::capture::Capture;
use strobe_decode::container::Source;

use super::capture::Captured;
use super::link::{Error, Link};
use super::orbflow::Orbflow;
use super::stream::Stream;
use super::tcp::Tcp;

/// Kind of the source that a logic analyser's capture is. (`capture` were those that knew no time
/// of their own.)
const ANALYSER: &str = "logic analyser";

/// Something that is only listened to.
pub enum Tap<'a> {
    /// Standard input.
    Input,
    /// A file or a named pipe, by its name.
    File(&'a str, File),
    /// The same, without anything around its bytes.
    Plain(&'a str, File),
    /// A server that sends bytes, at its address.
    Server(&'a str),
    /// A server that sends orbuculum's frames: its address, and the tag of the frames that count.
    Orbflow(&'a str, u8),
    /// A serial adapter, and the bit rate.
    Serial(&'a str, u32),
    /// A channel of a capture, by the capture's name, with the bit rate if it is known.
    Capture(&'a str, &'a Capture, usize, Option<f64>),
}

/// A link, and what it is.
pub struct Tapped {
    /// What brings the bytes.
    pub link: Box<dyn Link>,
    /// What it is, for the recording.
    pub source: Source,
}

impl Tap<'_> {
    /// Opens it.
    ///
    /// # Errors
    /// If a server does not answer, a port is none, or a capture cannot be decoded.
    pub fn open(self) -> Result<Tapped, Error> {
        let (link, kind, name): (Box<dyn Link>, _, _) = match self {
            Tap::Input => {
                let what = "standard input";
                let stream = Box::new(Stream::new(what, std::io::stdin()));
                // A file that the shell has opened is read as fast as any.
                let is_file = std::fs::metadata("/dev/stdin").is_ok_and(|input| input.is_file());
                let kind = if is_file { "file" } else { "pipe" };
                (Box::new(Orbflow::detect(stream, what)), kind, "")
            }
            Tap::File(name, file) => {
                let stream = Box::new(Stream::new(name, file));
                (Box::new(Orbflow::detect(stream, name)), "file", name)
            }
            Tap::Plain(name, file) => (Box::new(Stream::new(name, file)), "file", name),
            Tap::Server(address) => {
                let server = Box::new(Tcp::connect(address)?);
                (Box::new(Orbflow::detect(server, address)), "tcp", address)
            }
            Tap::Orbflow(address, tag) => {
                let server = Box::new(Tcp::connect(address)?);
                (Box::new(Orbflow::with_tag(server, address, tag)), "orbflow", address)
            }
            Tap::Serial(device, baud) => (serial(device, baud)?, "serial", device),
            Tap::Capture(name, capture, channel, rate) => {
                (Box::new(Captured::new(capture, channel, rate)?), ANALYSER, name)
            }
        };
        Ok(Tapped { link, source: Source { kind: kind.to_owned(), name: name.to_owned() } })
    }
}

#[cfg(unix)]
fn serial(device: &str, baud: u32) -> Result<Box<dyn Link>, Error> {
    Ok(Box::new(super::serial::Serial::open(device, baud)?))
}

#[cfg(not(unix))]
fn serial(device: &str, _: u32) -> Result<Box<dyn Link>, Error> {
    Err(Error::open(device, "serial ports are read on Unix systems only"))
}
