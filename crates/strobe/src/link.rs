//! Opens whatever brings the bytes of a trace pin: `strobe record` and `strobe top` share it.

use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use strobe_decode::capture::parse_frequency;
use strobe_decode::container::{Carries, Source};
use strobe_decode::orbflow;
use strobe_model::{KitWay, TraceSettings, Verdict};
use strobe_source::simulated::trace::{Programme, RegisterWrite};
use strobe_source::trace::link::{Error, Link};
use strobe_source::trace::open::{Tap, Tapped};
use strobe_source::trace::openocd::{self, OpenOcd};
use strobe_source::trace::registers;
use strobe_source::trace::rtt::{self, USUAL_RAM};
use strobe_source::trace::simulated::{Setup, Simulated};
use strobe_source::trace::target::{self, Target};
use strobe_source::traced::kit_setting;
use strobe_symbols::Firmware;

use crate::trace_options::{self, Wanted};
use crate::{board, capture, exit, files, input, plan};

/// The part of `--help` that names the sources.
pub const SOURCES: &str = "\
Sources:
  serial:DEVICE@BAUD        a serial adapter that listens to the pin
  tcp:HOST:PORT             bytes from a server: OpenOCD, orbuculum, pyOCD (3443), J-Link (2332)
  orbflow:HOST:PORT[/TAG]   orbuculum's frames (3402), of which those with the tag are the pin's: 1, unless it was told otherwise
  file:PATH  or  -          raw bytes from a file, a named pipe, standard input
  sr:PATH:PIN[@BAUD]        a pin of a logic analyser's capture (.sr, .vcd, .csv)
  openocd:HOST:PORT         OpenOCD's TCL port (6666): writes the registers, and has the adapter listen
  probe  or  probe:VID:PID[:SERIAL]
                            a debug probe (CMSIS-DAP, ST-Link, J-Link): writes the registers, and listens; with --chip
  sim  or  sim:BOARD        a simulated board that runs --elf
The last three with --rtt: a buffer in RAM that the firmware writes, instead of the pin.";

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
    #[arg(long, value_name = "CHANNEL", num_args = 0..=1, require_equals = true, default_missing_value = "0", help_heading = "Probe", group = "polling")]
    pub rtt: Option<u32>,
    /// Where RTT's control block is, or is looked for: an address or a range, as
    /// 0x20000000..0x20004000. By default where --elf has `_SEGGER_RTT`, else from 0x20000000
    /// on.
    #[arg(long, value_name = "ADDRESS|RANGE", value_parser = range, requires = "rtt", help_heading = "Probe")]
    pub rtt_at: Option<Range<u32>>,
    /// What comes are frames of the kit for the target and not a trace pin's packets. Without, the
    /// bytes are looked at.
    #[arg(long, help_heading = "Trace")]
    pub kit: bool,
    /// Ask so often at most, as 1kHz; otherwise as often as the probe can, RTT a thousand times in
    /// a second.
    #[arg(long, value_name = "HZ", value_parser = trace_options::frequency, requires = "polling", help_heading = "Probe")]
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
    /// What comes, if that is known.
    pub carries: Carries,
    /// It was set up for this.
    pub programmed: bool,
}

/// Opens a source. `limit` is how long it will be read, if that is known.
pub fn open(
    source: &str,
    options: &Options,
    firmware: Option<(&Path, &Firmware)>,
    limit: Option<Duration>,
) -> anyhow::Result<Opened> {
    let spec = Spec::parse(source, options)?;
    if options.rtt.is_some() {
        return over_rtt(&spec, options, firmware, limit);
    }
    if !matches!(spec, Spec::Probe(_) | Spec::OpenOcd(_)) {
        only_listens(options)?;
    }
    let capture;
    let tap = match spec {
        Spec::Input => Tap::Input,
        Spec::File(path) => Tap::File(base_name(path), file(path)?),
        Spec::Tcp(address) => Tap::Server(address),
        Spec::Orbflow(address, tag) => Tap::Orbflow(address, tag),
        Spec::Serial(device, baud) => Tap::Serial(device, baud),
        Spec::Capture(path, pin, baud) => {
            (_, capture) = capture::open(Path::new(path), None, capture::MAX_EDGES)?;
            let channel = capture::channel(&capture, pin)?;
            Tap::Capture(base_name(path), &capture, channel, baud.map(f64::from))
        }
        Spec::Probe(selector) => {
            return over_probe(selector, options, firmware.map(|(_, firmware)| firmware));
        }
        Spec::OpenOcd(address) => {
            return over_openocd(address, options, firmware.map(|(_, firmware)| firmware));
        }
        Spec::Simulated(name) => return simulated(name, options, firmware, limit, None),
    };
    let is_capture = matches!(tap, Tap::Capture(..));
    let tapped = tap.open();
    let Tapped { link, source } = tapped.map_err(|e| match is_capture {
        true => exit::usage(e.to_string()),
        false => no_link(e),
    })?;
    let settings = settings(options, firmware.map(|(_, firmware)| firmware))?;
    let target = options.trace.target().map(|target: &Target| target.name.to_owned());
    let carries = if options.kit { Carries::Kit } else { Carries::Unspecified };
    Ok(Opened { link, source, target, core: None, settings, carries, programmed: false })
}

/// A buffer in the target's RAM.
fn over_rtt(
    spec: &Spec,
    options: &Options,
    firmware: Option<(&Path, &Firmware)>,
    limit: Option<Duration>,
) -> anyhow::Result<Opened> {
    if options.reset {
        return Err(exit::usage("--reset goes with the pin; RTT reads the core as it runs"));
    }
    let elf = firmware.map(|(_, firmware)| firmware);
    let symbol = elf.and_then(|firmware| {
        firmware.data_symbols().iter().find(|symbol| symbol.name == "_SEGGER_RTT")
    });
    let block = match (&options.rtt_at, symbol) {
        (Some(range), _) => range.clone(),
        (None, Some(symbol)) => symbol.address..symbol.address.saturating_add(1),
        (None, None) => USUAL_RAM,
    };
    let wanted = rtt::Wanted { block, channel: options.rtt.unwrap_or_default() };
    // Whatever else is in other buffers, the kit's own is the first.
    let kit = options.kit || elf.and_then(kit_setting).is_some_and(|kit| kit.way == KitWay::Rtt);
    let carries = if kit && wanted.channel == 0 { Carries::Kit } else { Carries::Channel };
    let (mut opened, kind) = match spec {
        Spec::Simulated(name) => {
            let rate = options.poll_rate.unwrap_or(SIMULATED_RTT_HZ);
            (simulated(*name, options, firmware, limit, Some((wanted, rate)))?, "sim")
        }
        Spec::OpenOcd(address) => {
            let port = openocd::memory(address).map_err(no_link)?;
            let link = rtt::Polled::new(port, wanted, options.poll_rate);
            let source = Source { kind: "openocd".to_owned(), name: (*address).to_owned() };
            (polled(Box::new(link), source, options.chip.clone()), "openocd")
        }
        Spec::Probe(selector) => (rtt_probe(*selector, options, wanted)?, "probe"),
        _ => {
            let text = "--rtt reads memory: over probe, openocd:HOST:PORT or sim";
            return Err(exit::usage(text));
        }
    };
    opened.source.kind = format!("{kind}, RTT");
    opened.carries = carries;
    Ok(opened)
}

/// Looks at a simulated board's memory in a second of its own time.
const SIMULATED_RTT_HZ: u32 = 1000;

/// What is polled and not set up.
fn polled(link: Box<dyn Link>, source: Source, target: Option<String>) -> Opened {
    let (core, settings, carries, programmed) = (None, None, Carries::Unspecified, false);
    Opened { link, source, target, core, settings, carries, programmed }
}

#[cfg(feature = "probe")]
fn rtt_probe(
    selector: Option<&str>,
    options: &Options,
    wanted: rtt::Wanted,
) -> anyhow::Result<Opened> {
    use strobe_source::trace::probe_rs::ProbeRs;

    let chip = options.chip.as_deref();
    let chip = chip.ok_or_else(|| exit::usage("a probe needs the --chip, as STM32F407VG"))?;
    let port = ProbeRs::open(selector, chip).map_err(no_link)?;
    let target = Some(port.chip());
    let source = Source { kind: String::new(), name: selector.unwrap_or_default().to_owned() };
    Ok(polled(Box::new(rtt::Polled::new(port, wanted, options.poll_rate)), source, target))
}

#[cfg(not(feature = "probe"))]
fn rtt_probe(_: Option<&str>, _: &Options, _: rtt::Wanted) -> anyhow::Result<Opened> {
    Err(without_probes())
}

/// A simulated board that runs the firmware, its trace blocks set up as was asked for; if nothing
/// was, the firmware's own set-up holds.
fn simulated(
    name: Option<&str>,
    options: &Options,
    firmware: Option<(&Path, &Firmware)>,
    limit: Option<Duration>,
    rtt: Option<(rtt::Wanted, u32)>,
) -> anyhow::Result<Opened> {
    let Some((path, firmware)) = firmware else {
        return Err(exit::usage("a simulated board needs its firmware: --elf FIRMWARE"));
    };
    let choice = board::choose(&board::Which::named(name.map(str::to_owned)), firmware)?;
    let board = choice.board;
    let (target, core) = (board.name().to_owned(), board.core_name().to_owned());
    let family = target::of_chip(&target);
    let wanted = options.trace.given().then(|| worthwhile(options, Some(firmware), family));
    let wanted = wanted.transpose()?;
    let mut programme = Programme::default();
    if let Some(wanted) = &wanted {
        let writes = registers::writes(&wanted.settings, wanted.target);
        let writes = writes.map_err(|e| exit::usage(e.to_string()))?;
        programme.writes.extend(writes.iter().map(RegisterWrite::from));
    }
    let settings = wanted.map(|wanted| wanted.settings);
    let baud = settings.as_ref().map(|settings| settings.line.baud());
    // The board's thread has a firmware of its own.
    let firmware = input::firmware(path)?;
    let link = Simulated::start(Setup { firmware, board, programme, baud, limit, rtt });
    let source = Source { kind: "sim".to_owned(), name: target.clone() };
    let (target, core, programmed) = (Some(target), Some(core), settings.is_some());
    let carries = Carries::Unspecified;
    Ok(Opened { link: Box::new(link), source, target, core, settings, carries, programmed })
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

/// Options that need a probe make no sense without.
fn only_listens(options: &Options) -> anyhow::Result<()> {
    let given = [
        (options.chip.is_some(), "--chip"),
        (options.reset, "--reset"),
        (options.pcsr, "--pcsr"),
        (options.halt, "--halt"),
    ];
    match given.into_iter().find(|(given, _)| *given) {
        Some((_, option)) => {
            Err(exit::usage(format!("{option} needs a probe; this source only listens")))
        }
        None => Ok(()),
    }
}

/// The settings that are to be programmed, if they are worth it.
fn worthwhile(
    options: &Options,
    firmware: Option<&Firmware>,
    target: Option<&'static Target>,
) -> anyhow::Result<Wanted> {
    let wanted = options.trace.wanted(firmware, target)?;
    let plan = wanted.plan()?;
    if plan.verdict == Verdict::Loses && !options.insist {
        return Err(exit::does_not_fit(plan::loses(&plan)));
    }
    Ok(wanted)
}

fn over_openocd(
    address: &str,
    options: &Options,
    firmware: Option<&Firmware>,
) -> anyhow::Result<Opened> {
    if options.pcsr || options.halt || options.reset {
        let text =
            "--pcsr, --halt and --reset go through `probe`; have OpenOCD reset the chip itself";
        return Err(exit::usage(text));
    }
    let family = options.chip.as_deref().and_then(target::of_chip);
    let wanted = worthwhile(options, firmware, family)?;
    let opened = OpenOcd::open(address, &wanted.settings, wanted.target).map_err(no_link)?;
    let (link, settings) = opened;
    Ok(Opened {
        link: Box::new(link),
        source: Source { kind: "openocd".to_owned(), name: address.to_owned() },
        target: Some(options.chip.clone().unwrap_or_else(|| wanted.target.name.to_owned())),
        core: None,
        settings: Some(settings),
        carries: Carries::Unspecified,
        programmed: true,
    })
}

#[cfg(not(feature = "probe"))]
fn without_probes() -> anyhow::Error {
    exit::usage(
        "this strobe was built without the library for debug probes; get it with `cargo install --locked \
         --path crates/strobe --features probe` in a checkout of strobe, or record through OpenOCD: \
         openocd:localhost:6666",
    )
}

#[cfg(feature = "probe")]
fn over_probe(
    selector: Option<&str>,
    options: &Options,
    firmware: Option<&Firmware>,
) -> anyhow::Result<Opened> {
    use strobe_source::trace::probe::{Poller, Polling, Probe};
    use strobe_source::trace::probe_rs::ProbeRs;

    let chip = options.chip.as_deref();
    let chip = chip.ok_or_else(|| exit::usage("a probe needs the --chip, as STM32F407VG"))?;
    let family = target::of_chip(chip);
    let polls = match (options.pcsr, options.halt) {
        (true, _) => Some(Polling::Pcsr),
        (_, true) => Some(Polling::Halt),
        _ => None,
    };
    // What cannot be is found out before the probe is touched.
    let wanted = if polls.is_none() { Some(worthwhile(options, firmware, family)?) } else { None };
    let port = ProbeRs::open(selector, chip).map_err(no_link)?;
    let (target, name) = (Some(port.chip()), selector.unwrap_or_default().to_owned());
    let kind = if polls.is_some() { "probe, polled" } else { "probe" };
    let source = Source { kind: kind.to_owned(), name };
    let (link, settings): (Box<dyn Link>, _) = match (polls, wanted) {
        (None, Some(wanted)) => {
            let reset = options.reset;
            let opened = Probe::open(port, &wanted.settings, wanted.target, reset);
            let (link, settings) = opened.map_err(no_link)?;
            (Box::new(link), Some(settings))
        }
        (how, _) => {
            let how = how.unwrap_or(Polling::Pcsr);
            let link = Poller::open(port, how, options.poll_rate).map_err(no_link)?;
            (Box::new(link), settings(options, firmware)?)
        }
    };
    let (programmed, carries) = (polls.is_none(), Carries::Unspecified);
    Ok(Opened { link, source, target, core: None, settings, carries, programmed })
}

#[cfg(not(feature = "probe"))]
fn over_probe(_: Option<&str>, _: &Options, _: Option<&Firmware>) -> anyhow::Result<Opened> {
    Err(without_probes())
}

/// A file that can be read.
fn file(path: &str) -> anyhow::Result<File> {
    files::stream(Path::new(path))
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
    Orbflow(&'a str, u8),
    Serial(&'a str, u32),
    Capture(&'a str, &'a str, Option<u32>),
    OpenOcd(&'a str),
    Probe(Option<&'a str>),
    Simulated(Option<&'a str>),
}

impl<'a> Spec<'a> {
    fn parse(text: &'a str, options: &Options) -> anyhow::Result<Spec<'a>> {
        let wrong = |form: &str| exit::usage(format!("the source `{text}`: write it {form}"));
        match text {
            "-" => return Ok(Spec::Input),
            "probe" => return Ok(Spec::Probe(None)),
            _ => {}
        }
        if text == "sim" {
            return Ok(Spec::Simulated(None));
        }
        let Some((kind, rest)) = text.split_once(':') else {
            let file = Path::new(text).exists();
            let hint = if file { format!("; is it file:{text}?") } else { String::new() };
            return Err(exit::usage(format!("`{text}` is no source{hint}\n{SOURCES}")));
        };
        let baud = options.trace.baud();
        match kind {
            "file" if !rest.is_empty() => Ok(Spec::File(rest)),
            "sim" if !rest.is_empty() => Ok(Spec::Simulated(Some(rest))),
            "tcp" => Ok(Spec::Tcp(host_port(rest).ok_or_else(|| wrong("tcp:HOST:PORT"))?)),
            "orbflow" => {
                let (rest, tag) = rest.split_once('/').map_or((rest, None), |(a, b)| (a, Some(b)));
                let tag = tag.map_or(Ok(orbflow::ITM), str::parse);
                let address = host_port(rest).zip(tag.ok());
                let form = "orbflow:HOST:PORT or orbflow:HOST:PORT/TAG, a tag of 0 to 255";
                let (address, tag) = address.ok_or_else(|| wrong(form))?;
                Ok(Spec::Orbflow(address, tag))
            }
            "openocd" => {
                let address = host_port(rest).ok_or_else(|| wrong("openocd:HOST:PORT"))?;
                Ok(Spec::OpenOcd(address))
            }
            "probe" if !rest.is_empty() => Ok(Spec::Probe(Some(rest))),
            "serial" => {
                let form = "serial:DEVICE@BAUD, or give --baud";
                let (device, baud) = at_baud(rest, baud).ok_or_else(|| wrong(form))?;
                Ok(Spec::Serial(device, baud))
            }
            "sr" => {
                let form = "sr:PATH:PIN or sr:PATH:PIN@BAUD";
                let (rest, baud) = match at_baud(rest, baud) {
                    Some((rest, baud)) => (rest, Some(baud)),
                    None if rest.contains('@') => return Err(wrong(form)),
                    None => (rest, None),
                };
                let (path, pin) = rest.rsplit_once(':').ok_or_else(|| wrong(form))?;
                Ok(Spec::Capture(path, pin, baud))
            }
            _ => Err(exit::usage(format!("`{kind}:` is no kind of source\n{SOURCES}"))),
        }
    }
}

fn host_port(text: &str) -> Option<&str> {
    let (host, port) = text.rsplit_once(':')?;
    (!host.is_empty() && port.parse::<u16>().is_ok()).then_some(text)
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
