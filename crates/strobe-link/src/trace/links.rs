//! Opens any link, whoever asks: what only listens as it is, and what can be set up (a debug probe,
//! OpenOCD, a simulated board) as it is wanted, with the firmware programmed first if that is
//! wanted too.

use std::ops::Range;
use std::time::Duration;

use strobe_decode::container::{Flashed, PayloadKind, Source};
use strobe_decode::kit::Transport;
use strobe_decode::trace_settings::TraceSettings;
use strobe_symbols::Firmware;

use super::flash::{Image, Observer};
use super::link::{Error, Link};
use super::open::{Tap, Tapped};
use super::openocd::{self, OpenOcd};
use super::place::Place;
use super::probe::Polling;
use super::rtt;
use super::target::Target;

mod fits;
#[cfg(feature = "probe")]
#[path = "links/probe.rs"]
mod probes;
#[cfg(not(feature = "probe"))]
#[path = "links/without.rs"]
mod probes;

pub use fits::fits;

/// A board that starts as it is wanted when it is opened, as a simulated one.
pub trait Startable {
    /// The board's name.
    fn name(&self) -> &str;

    /// Starts the board and reads its trace pin or its RAM.
    ///
    /// # Errors
    /// [`Error::Unfit`] if it cannot be set up so.
    fn start(self: Box<Self>, request: &Request<'_>) -> Result<Opened, Error>;
}

/// What is at the other end.
pub enum Origin<'a> {
    /// Something that is only listened to.
    Tap(Tap<'a>),
    /// OpenOCD, at its TCL port.
    OpenOcd(&'a str),
    /// A debug probe: the only one, or the one of that selector.
    Probe(Option<&'a str>),
    /// A simulated board with the firmware that it runs.
    Simulated(Box<dyn Startable>),
}

impl Origin<'_> {
    fn place(&self) -> Place<'_> {
        match self {
            Origin::Tap(_) => Place::Input,
            Origin::OpenOcd(address) => Place::OpenOcd(address),
            Origin::Probe(selector) => Place::Probe(*selector),
            Origin::Simulated(_) => Place::Simulated(None),
        }
    }
}

/// How it is asked for what it brings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Access {
    /// It sends by itself what the trace pin has.
    #[default]
    Pin,
    /// The program counter is asked for, so often in a second, or as often as can be.
    Poll(Polling, Option<u32>),
    /// A buffer in RAM is read, so often in a second at most.
    Rtt(rtt::RttFilter, Option<u32>),
}

/// What is wanted of a link.
#[derive(Default)]
pub struct Request<'a> {
    /// The settings of the trace hardware, and the chip's family. What can be set up is; of others
    /// it is what the user claims.
    pub trace: Option<(TraceSettings, &'static Target)>,
    /// The family that the user named, if settings or not.
    pub family: Option<&'static Target>,
    /// The chip behind a probe.
    pub chip: Option<&'a str>,
    /// The target is reset once everything is set up.
    pub reset: bool,
    /// How it is read.
    pub access: Access,
    /// The kind of bytes, if it is known.
    pub carries: PayloadKind,
    /// How long it will be read, if that is known.
    pub limit: Option<Duration>,
    /// The firmware's image, to be programmed first.
    pub image: Option<&'a Image>,
}

impl Request<'_> {
    /// A buffer of RTT is read, where it was said to be or where the firmware has it. Whatever else
    /// is in other buffers, that of the firmware's kit is the first, if it sends over `way`.
    pub fn read_buffer(
        &mut self,
        (channel, at): (u32, Option<Range<u32>>),
        rate_hz: Option<u32>,
        firmware: Option<&Firmware>,
        way: Option<Transport>,
    ) {
        let has_kit = self.carries == PayloadKind::Kit || way == Some(Transport::Rtt);
        let kit = channel == 0 && has_kit;
        self.carries = if kit { PayloadKind::Kit } else { PayloadKind::Channel };
        self.access = Access::Rtt(rtt::RttFilter::find(channel, at, firmware), rate_hz);
    }
}

/// A link that is open.
pub struct Opened {
    /// What brings the bytes.
    pub link: Box<dyn Link>,
    /// What it is.
    pub source: Source,
    /// The chip or board, where known.
    pub target: Option<String>,
    /// Its core, where known.
    pub core: Option<String>,
    /// How the hardware is set up, as far as known.
    pub settings: Option<TraceSettings>,
    /// The kind of bytes.
    pub carries: PayloadKind,
    /// The hardware was set up for this.
    pub programmed: bool,
    /// How the firmware was programmed for this, if it was.
    pub flashed: Option<Flashed>,
}

impl Opened {
    /// A link of which nothing else is known.
    pub fn new(link: Box<dyn Link>, kind: &str, name: &str) -> Self {
        Opened {
            link,
            source: Source { kind: kind.to_owned(), name: name.to_owned() },
            target: None,
            core: None,
            settings: None,
            carries: PayloadKind::Unspecified,
            programmed: false,
            flashed: None,
        }
    }
}

/// Opens a link.
///
/// # Errors
/// [`Error::Unfit`] before anything is touched if the link cannot do what is wanted; otherwise if
/// the other end does not answer, does not take the settings, or the firmware.
pub fn open(
    origin: Origin<'_>,
    request: &Request<'_>,
    observer: &mut dyn Observer,
) -> Result<Opened, Error> {
    fits(&origin.place(), request)?;
    let opened = match origin {
        Origin::Tap(tap) => tapped(tap, request),
        Origin::OpenOcd(address) => over_openocd(address, request, observer),
        Origin::Probe(selector) => probes::open(selector, request, observer),
        Origin::Simulated(board) => board.start(request),
    }?;
    let carries = request.carries;
    let kind = match request.access {
        Access::Rtt(..) => format!("{}, RTT", opened.source.kind),
        Access::Pin | Access::Poll(..) => opened.source.kind.clone(),
    };
    let source = Source { kind, ..opened.source };
    Ok(Opened { carries, source, ..opened })
}

fn tapped(tap: Tap<'_>, request: &Request<'_>) -> Result<Opened, Error> {
    let Tapped { link, source } = tap.open()?;
    let settings = request.trace.as_ref().map(|(settings, _)| settings.clone());
    let target = request.family.map(|family| family.name.to_owned());
    Ok(Opened { settings, target, ..Opened::new(link, &source.kind, &source.name) })
}

fn over_openocd(
    address: &str,
    request: &Request<'_>,
    observer: &mut dyn Observer,
) -> Result<Opened, Error> {
    if matches!(request.access, Access::Pin) && request.trace.is_none() {
        return Err(Error::unfit(
            "OpenOCD sets up the pin: the core's --clock and --baud are needed",
        ));
    }
    let program = |image: &Image| openocd::program_flash(address, image, image.longest(), observer);
    let flashed = request.image.map(program).transpose()?;
    let chip = request.chip.map(str::to_owned);
    let opened = match (&request.access, &request.trace) {
        (Access::Rtt(wanted, rate), _) => {
            let memory = openocd::memory(address)?;
            let link = rtt::Polled::new(memory, wanted.clone(), *rate);
            Opened { target: chip, ..Opened::new(Box::new(link), "openocd", address) }
        }
        (_, Some((settings, family))) => {
            let (link, settings) = OpenOcd::open(address, settings, family)?;
            Opened {
                target: Some(chip.unwrap_or_else(|| family.name.to_owned())),
                settings: Some(settings),
                programmed: true,
                ..Opened::new(Box::new(link), "openocd", address)
            }
        }
        (_, None) => return Err(Error::unfit("nothing was asked of OpenOCD")),
    };
    Ok(Opened { flashed, ..opened })
}
