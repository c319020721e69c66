//! Sources of a trace pin's bytes as arguments: `strobe record` and `strobe top` share them, and
//! open them here.

use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use strobe_decode::container::PayloadKind;
use strobe_decode::trace_settings::TraceSettings;
use strobe_devices::board::Board;
use strobe_link::trace::flash::{self, Image, Observer};
use strobe_link::trace::link::Error;
use strobe_link::trace::links::{self, Access, Origin, Request};
use strobe_link::trace::open::Tap;
use strobe_link::trace::place::{self, Place};
use strobe_link::trace::probe::Polling;
use strobe_link::trace::target::{self, Target};
use strobe_source::plan::report::Verdict;
use strobe_source::simulated;
use strobe_source::simulated::link::Startup;
use strobe_source::traced::kit_setting;
use strobe_symbols::Firmware;

use crate::{board, capture, exit, files, input, plan, simulate, trace_options};

pub use strobe_link::trace::links::Opened;

/// The part of `--help` that names the sources.
pub const SOURCES: &str = "\
Sources:
  serial:DEVICE@BAUD        a serial adapter that listens to the pin
  tcp:HOST:PORT             bytes from a server: OpenOCD, orbuculum, pyOCD (3443), J-Link (2332)
  orbflow:HOST:PORT[/TAG]   orbuculum's frames (3402), of which those with the tag (default: 1)
                            are the pin's
  file:PATH  or  -          raw bytes from a file, a named pipe, standard input
  sr:PATH:PIN[@BAUD]        a pin of a logic analyser's capture (.sr, .vcd, .csv)
  openocd:HOST:PORT         OpenOCD's TCL port (6666): writes the registers, and has the
                            adapter listen
  probe  or  probe:VID:PID[:SERIAL]
                            a debug probe (CMSIS-DAP, ST-Link, J-Link): writes the registers, and
                            listens; with --chip
  sim  or  sim:BOARD        a simulated board that runs --elf
The last three with --rtt: a buffer in RAM that the firmware writes, instead of the pin.
OpenOCD and probes with --flash: the firmware of --elf is programmed first.";

/// How to open a source.
#[derive(clap::Args, Default)]
#[group(id = "source-options")]
pub struct Options {
    /// What to trace, and how the hardware is set up.
    #[command(flatten)]
    pub trace: trace_options::Options,
    /// Go on with a set-up that loses packets.
    #[arg(long, help_heading = "Trace")]
    pub insist: bool,
    /// The chip behind the probe, as STM32F407VG.
    #[arg(long, value_name = "NAME", help_heading = "Probe")]
    pub chip: Option<String>,
    /// Program the firmware of --elf into the chip's flash first, verify it by reading it back, and
    /// have the chip run it. Over `probe` and `openocd`.
    #[arg(long, help_heading = "Probe")]
    pub flash: bool,
    /// Reset the chip once everything is set up, to record from its first instruction. Until the
    /// firmware has started its PLL the line's speed is another one.
    #[arg(long, help_heading = "Probe")]
    pub reset: bool,
    /// Ask the probe for the program counter (DWT_PCSR) instead of listening to the pin; the core
    /// is not disturbed.
    #[arg(long, help_heading = "Probe", group = "polling")]
    pub pcsr: bool,
    /// Halt the core for each sample, where it has neither pin nor DWT_PCSR; how long it was
    /// halted is recorded.
    #[arg(long, help_heading = "Probe", group = "polling")]
    pub halt: bool,
    /// Read the buffer in RAM that the firmware writes (RTT) instead of listening to the pin: that
    /// channel of it, by default 0, where the kit for the target has its records. Over
    /// `probe`, `openocd` and `sim`.
    #[arg(
        long,
        value_name = "CHANNEL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "0",
        help_heading = "Probe",
        group = "polling"
    )]
    pub rtt: Option<u32>,
    /// Where RTT's control block is, or is looked for: an address or a range, as
    /// 0x20000000..0x20004000. By default where --elf has `_SEGGER_RTT`, else from 0x20000000
    /// on.
    #[arg(
        long,
        value_name = "ADDRESS|RANGE",
        value_parser = range,
        requires = "rtt",
        help_heading = "Probe"
    )]
    pub rtt_at: Option<Range<u32>>,
    /// What comes are frames of the kit for the target and not a trace pin's packets. Without, the
    /// bytes are looked at.
    #[arg(long, help_heading = "Trace")]
    pub kit: bool,
    /// Ask so often at most, as 1kHz; otherwise as often as the probe can, RTT a thousand times in
    /// a second.
    #[arg(
        long,
        value_name = "HZ",
        value_parser = trace_options::frequency,
        requires = "polling",
        help_heading = "Probe"
    )]
    pub poll_rate: Option<u32>,
}

/// An address, or a range of them.
fn range(text: &str) -> Result<Range<u32>, String> {
    let address = |text: &str| {
        let digits = text.trim().strip_prefix("0x")?;
        u32::from_str_radix(digits, 16).ok()
    };
    let range = match text.split_once("..") {
        Some((from, to)) => address(from).zip(address(to)).map(|(from, to)| from..to),
        None => address(text).map(|at| at..at.saturating_add(1)),
    };
    let range = range.filter(|range| range.start < range.end);
    range.ok_or_else(|| "an address as 0x20000000, or a range as 0x20000000..0x20004000".to_owned())
}

/// Opens a source. `limit` is how long it will be read, if that is known.
pub fn open(
    source: &str,
    options: &Options,
    firmware: Option<(&Path, &Firmware)>,
    limit: Option<Duration>,
    observer: &mut dyn Observer,
) -> anyhow::Result<Opened> {
    let place = Place::parse(source, options.trace.baud()).map_err(|e| no_source(source, &e))?;
    let elf = firmware.map(|(_, firmware)| firmware);
    let image = options.image(elf)?;
    let mut request = options.request(elf, limit);
    request.image = image.as_ref();
    links::fits(&place, &request).map_err(no_link)?;
    let capture;
    let origin = match place {
        Place::Input => Origin::Tap(Tap::Input),
        Place::File(path) => Origin::Tap(Tap::File(base_name(path), file(path)?)),
        Place::Tcp(address) => Origin::Tap(Tap::Server(address)),
        Place::Orbflow(address, tag) => Origin::Tap(Tap::Orbflow(address, tag)),
        Place::Serial(device, baud) => Origin::Tap(Tap::Serial(device, baud)),
        Place::Capture(path, pin, baud) => {
            (_, capture) = capture::open(Path::new(path), None, capture::MAX_EDGES)?;
            let channel = capture::channel(&capture, pin)?;
            Origin::Tap(Tap::Capture(base_name(path), &capture, channel, baud.map(f64::from)))
        }
        Place::Probe(selector) => Origin::Probe(selector),
        Place::OpenOcd(address) => Origin::OpenOcd(address),
        Place::Simulated(name) => {
            let needed = || exit::usage("a simulated board needs its firmware: --elf FIRMWARE");
            let (path, firmware) = firmware.ok_or_else(needed)?;
            let board = simulated_board(name, firmware)?;
            // The board's thread has a firmware of its own.
            Origin::Simulated(Box::new(Startup { board, firmware: input::firmware(path)? }))
        }
    };
    request.trace = options.settings(&origin, &request.access, elf)?;
    let is_capture = matches!(origin, Origin::Tap(Tap::Capture(..)));
    links::open(origin, &request, observer)
        .map_err(|error| if is_capture { exit::usage(error.to_string()) } else { no_link(error) })
}

/// What errors of boards advise is of `strobe run`.
const BOARDS_HERE: &str = "here sim:BOARD names a board in place of --board BOARD: a name, or a \
                           board file, which has what --memory and --svd state elsewhere";

/// The simulated board of that name or for that firmware, if it can run it: what cannot begin is no
/// source that broke off.
fn simulated_board(name: Option<&str>, firmware: &Firmware) -> anyhow::Result<Board> {
    let which = board::BoardArgs::named(name.map(str::to_owned));
    let fitting = board::choose(&which, firmware).and_then(|choice| {
        simulated::prepare(firmware, &choice.board).map_err(simulate::explain)?;
        Ok(choice.board)
    });
    fitting.map_err(|error| exit::with_advice(error, BOARDS_HERE))
}

impl Options {
    /// What is wanted of the link, as far as it does not depend on which one it is.
    fn request(&self, firmware: Option<&Firmware>, limit: Option<Duration>) -> Request<'_> {
        let poll = self.pcsr.then_some(Polling::Pcsr).or(self.halt.then_some(Polling::Halt));
        let mut request = Request {
            family: self.trace.target(),
            chip: self.chip.as_deref(),
            reset: self.reset,
            access: poll.map_or(Access::Pin, |how| Access::Poll(how, self.poll_rate)),
            carries: if self.kit { PayloadKind::Kit } else { PayloadKind::Unspecified },
            limit,
            ..Request::default()
        };
        if let Some(channel) = self.rtt {
            let way = firmware.and_then(kit_setting).map(|kit| kit.way);
            let place = (channel, self.rtt_at.clone());
            request.read_buffer(place, self.poll_rate, firmware, way);
        }
        request
    }

    /// What is to be programmed, if anything.
    fn image(&self, firmware: Option<&Firmware>) -> anyhow::Result<Option<Image>> {
        if !self.flash {
            return Ok(None);
        }
        let needed = "--flash programs a firmware: which one? --elf FIRMWARE";
        let firmware = firmware.ok_or_else(|| exit::usage(needed))?;
        Image::of(firmware).map(Some).map_err(|error| no_link(error.into()))
    }

    /// What the hardware is to be set to, if it is worth it; or was, as far as anybody said.
    fn settings(
        &self,
        origin: &Origin<'_>,
        access: &Access,
        firmware: Option<&Firmware>,
    ) -> anyhow::Result<Option<(TraceSettings, &'static Target)>> {
        let chip = self.chip.as_deref().and_then(target::of_chip);
        let claimed = self.trace.given();
        let (family, needed) = match (origin, access) {
            (Origin::OpenOcd(_) | Origin::Probe(_), Access::Rtt(..)) => return Ok(None),
            (Origin::OpenOcd(_) | Origin::Probe(_), Access::Pin) => (chip, true),
            (Origin::Simulated(board), _) => (target::of_chip(board.name()), claimed),
            (Origin::Probe(_) | Origin::OpenOcd(_) | Origin::Tap(_), _) => (None, false),
        };
        if !needed && !claimed {
            return Ok(None);
        }
        let wanted = self.trace.wanted(firmware, family)?;
        if needed {
            let plan = wanted.plan()?;
            if plan.verdict == Verdict::Loses && !self.insist {
                return Err(exit::does_not_fit(plan::loses(&plan)));
            }
        }
        Ok(Some((wanted.settings, wanted.target)))
    }
}

/// An argument that is no source.
fn no_source(text: &str, error: &place::Error) -> anyhow::Error {
    let is_file = matches!(error, place::Error::NoKind(_)) && Path::new(text).exists();
    let hint = if is_file { format!("; is it file:{text}?") } else { String::new() };
    let sources = match error {
        place::Error::Form { .. } => String::new(),
        place::Error::NoKind(_) | place::Error::UnknownKind(_) => format!("\n{SOURCES}"),
    };
    exit::usage(format!("{error}{hint}{sources}"))
}

/// A file that can be read.
fn file(path: &str) -> anyhow::Result<File> {
    files::stream(Path::new(path))
}

/// A link that cannot be opened, cannot do what was asked, or does no more.
pub fn no_link(error: Error) -> anyhow::Error {
    let text = error.to_string();
    match error {
        Error::Unfit { .. } => exit::usage(text),
        Error::Flash(flash::Error::Machine | flash::Error::Elsewhere { .. }) => exit::data(text),
        Error::Flash(flash::Error::Interrupted { .. }) => exit::interrupted(text),
        _ => exit::no_link(text),
    }
}

/// A path without its folders.
fn base_name(path: &str) -> &str {
    Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or(path)
}
