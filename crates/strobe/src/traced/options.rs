//! Options that describe a trace pin's stream.

use std::ops::Range;

use strobe_decode::capture::{self, Capture};
use strobe_decode::container::Header;
use strobe_decode::swo::reader::Hint;
use strobe_decode::trace_settings::TraceSettings;
use strobe_model::measurement::Finding;
use strobe_source::defmt::Table;
use strobe_source::traced::totals::Recording;
use strobe_source::traced::{Bounds, Mark, Settings, kit_setting};
use strobe_symbols::Firmware;

use crate::{exit, files, input};

/// How to understand the stream. A recording states most of this itself.
#[derive(Clone, clap::Args, Default)]
#[group(id = "stream")]
#[command(next_help_heading = "Trace pin")]
pub struct Options {
    /// The core's clock in hertz. Where a firmware may be run as well, the option is the board's.
    #[arg(skip)]
    pub clock: Option<u32>,
    /// Core cycles from one PC sample to the next, as 16384.
    #[arg(long, value_name = "CYCLES", value_parser = clap::value_parser!(u64).range(1..))]
    pub period: Option<u64>,
    /// Core cycles of a tick of the local timestamp.
    #[arg(long, value_name = "CYCLES", value_parser = clap::value_parser!(u32).range(1..))]
    pub tick: Option<u32>,
    /// Whether the trace port's frames stand around the packets, or the number of the stream in
    /// them. By default what makes more sense of the bytes.
    #[arg(long, value_name = "auto|no|yes|STREAM", value_parser = frames)]
    pub frames: Option<Hint>,
    /// A function, or addresses as 0x8000100..0x8000120, whose samples count as idle. May be given
    /// several times.
    #[arg(long, value_name = "FUNCTION|RANGE")]
    pub idle: Vec<String>,
    /// The watched variable that points to the current thread, by name or comparator (0 to 3).
    #[arg(long, value_name = "NAME|N")]
    pub thread_pointer: Option<String>,
    /// What a comparator watches, as 0=counter. May be given several times.
    #[arg(long, value_name = "N=NAME", value_parser = named)]
    pub watch: Vec<(u8, String)>,
    /// Write what a stimulus port brings to a file, as 0=log.txt. May be given several times.
    #[arg(long, value_name = "PORT=FILE", value_parser = named)]
    pub port: Vec<(u8, String)>,
    /// The stimulus port that the firmware's defmt writes to, or `none`. By default port 0, if the
    /// firmware has defmt. Needs its ELF file.
    #[arg(long, value_name = "PORT|none", value_parser = defmt_port)]
    pub defmt_port: Option<DefmtPort>,
    /// The pin in a logic analyser's capture, as SWO@2000000. Without a rate it is that of the
    /// shortest pulses.
    #[arg(long, value_name = "PIN[@BAUD]")]
    pub pin: Option<String>,
    /// The marks that bound what is measured, as the user spells them. Only reports have such
    /// bounds.
    #[arg(skip)]
    pub marks: (Option<String>, Option<String>),
}

impl Options {
    /// The first of these that was given.
    pub fn given(&self) -> Option<&'static str> {
        let given = [
            (self.period.is_some(), "--period"),
            (self.tick.is_some(), "--tick"),
            (self.frames.is_some(), "--frames"),
            (!self.idle.is_empty(), "--idle"),
            (self.thread_pointer.is_some(), "--thread-pointer"),
            (!self.watch.is_empty(), "--watch"),
            (!self.port.is_empty(), "--port"),
            (self.defmt_port.is_some(), "--defmt-port"),
            (self.pin.is_some(), "--pin"),
        ];
        given.into_iter().find(|(given, _)| *given).map(|(_, option)| option)
    }
}

/// The stimulus port of `defmt` and the texts of its messages.
type Defmt = Option<(u8, Table)>;

/// Where messages of `defmt` are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefmtPort {
    /// Nowhere.
    None,
    /// At a stimulus port.
    Port(u8),
}

fn defmt_port(text: &str) -> Result<DefmtPort, String> {
    match (text, text.parse()) {
        ("none", _) => Ok(DefmtPort::None),
        (_, Ok(port @ 0..=31)) => Ok(DefmtPort::Port(port)),
        _ => Err("a stimulus port, 0 to 31, or none".to_owned()),
    }
}

/// A core clock, as 168MHz.
pub fn hertz(text: &str) -> Result<u32, String> {
    let hz = capture::parse_frequency(text).and_then(|hz| u32::try_from(hz).ok());
    hz.filter(|hz| *hz > 0)
        .ok_or_else(|| "a frequency is a number and a unit, as 168MHz, 500k, 16000000".to_owned())
}

fn frames(text: &str) -> Result<Hint, String> {
    Ok(match text {
        "auto" => Hint::Unknown,
        "no" => Hint::Bare,
        "yes" => Hint::Frames(None),
        number => match number.parse() {
            Ok(stream @ 1..=0x6f) => Hint::Frames(Some(stream)),
            _ => return Err("auto, no, yes, or a stream's number, 1 to 111".to_owned()),
        },
    })
}

fn named(text: &str) -> Result<(u8, String), String> {
    let parts = text.split_once('=').and_then(|(n, name)| Some((n.parse().ok()?, name.to_owned())));
    parts.ok_or_else(|| "a number and a name, as 0=counter".to_owned())
}

/// Variables that point to the current thread, of FreeRTOS, ThreadX, NuttX, uC/OS, RIOT.
const THREAD_POINTERS: [&str; 6] = [
    "pxCurrentTCB",
    "_tx_thread_current_ptr",
    "g_readytorun",
    "OSTCBCur",
    "OSTCBCurPtr",
    "sched_active_thread",
];

/// Kinds of sources that are read as fast as they can be.
const REPLAYED: [&str; 2] = ["file", "capture"];

impl Options {
    /// Registers the files that ports are written to.
    pub fn files(&self, named: &mut files::FileSet) {
        for (port, path) in &self.port {
            named.writes(&format!("--port {port}"), [path]);
        }
    }

    /// What is known of the stream: the user's settings, else those of the recording.
    pub fn settings(
        &self,
        header: Option<&Header>,
        firmware: Option<&Firmware>,
    ) -> anyhow::Result<Settings> {
        let recorded = header.and_then(|header| header.settings.as_ref());
        let mut watches = self.watch.clone();
        watches.extend(recorded.into_iter().flat_map(|settings| {
            settings.watches.iter().map(|watch| (watch.comparator(), watch.name().to_owned()))
        }));
        let sampling = recorded.and_then(|settings| settings.sampling);
        let tick = recorded.and_then(|settings| settings.local_timestamps);
        let idle = self.idle.iter().map(|text| idle(text, firmware));
        let (defmt, no_defmt) = self.defmt(firmware)?;
        let other = header.and_then(|h| other_firmware(h, firmware?));
        Ok(Settings {
            core_hz: self.clock.or(recorded.map(|settings| settings.core_hz.get())),
            baud: recorded.map(|settings| settings.line.baud()),
            tick_cycles: self.tick.or(tick.map(|prescaler| prescaler.value())),
            period_cycles: self.period.or(sampling.map(|s| s.period_cycles().into())),
            thread: self.thread(&watches)?,
            kit: firmware.and_then(kit_setting),
            bounds: self.bounds(firmware)?,
            defmt,
            watches,
            idle: idle.collect::<anyhow::Result<_>>()?,
            recording: header.map(|header| Recording {
                source: format!("{} {}", header.source.kind, header.source.name).trim().to_owned(),
                nanoseconds: 0,
                first_nanoseconds: 0,
                notes: Vec::new(),
                replayed: REPLAYED.contains(&header.source.kind.as_str()),
                flashed: header.flashed.clone(),
            }),
            target: header.and_then(|header| header.target.clone()).unwrap_or_default(),
            shown: recorded.map(shown).unwrap_or_default(),
            warnings: other.into_iter().chain(no_defmt).collect(),
        })
    }

    fn bounds(&self, firmware: Option<&Firmware>) -> anyhow::Result<Bounds> {
        let mark = |name: &str, text: &Option<String>| match text {
            Some(text) => mark(text, firmware)
                .map(Some)
                .map_err(|e| exit::usage(format!("--{name} {text}: {e}"))),
            None => Ok(None),
        };
        Ok(Bounds { from: mark("from", &self.marks.0)?, to: mark("to", &self.marks.1)? })
    }

    /// The port of `defmt` and the firmware's texts; or, if nobody asked for them, why they cannot
    /// be had.
    fn defmt(&self, firmware: Option<&Firmware>) -> anyhow::Result<(Defmt, Option<Finding>)> {
        let port = match self.defmt_port {
            Some(DefmtPort::None) => return Ok((None, None)),
            Some(DefmtPort::Port(port)) => Some(port),
            None => None,
        };
        let Some(firmware) = firmware else {
            let text = "--defmt-port needs the firmware, which has the texts: --elf";
            return if port.is_some() { Err(exit::usage(text)) } else { Ok((None, None)) };
        };
        match (Table::read(firmware), port) {
            (Ok(Some(table)), port) => Ok((Some((port.unwrap_or(0), table)), None)),
            (Ok(None), None) => Ok((None, None)),
            (Ok(None), Some(_)) => {
                let text = "--defmt-port: the firmware has no section .defmt; was it linked with \
                            -Tdefmt.x, and not stripped?";
                Err(exit::data(text))
            }
            (Err(error), Some(_)) => Err(exit::data(error.to_string())),
            (Err(error), None) => {
                Ok((None, Some(Finding::warning("defmt-table", error.to_string()))))
            }
        }
    }

    fn thread(&self, watches: &[(u8, String)]) -> anyhow::Result<Option<u8>> {
        let named = |name: &str| watches.iter().find(|(_, other)| other == name).map(|(n, _)| *n);
        let Some(text) = &self.thread_pointer else {
            return Ok(THREAD_POINTERS.iter().find_map(|name| named(name)));
        };
        let number = text.parse::<u8>().ok().filter(|n| *n < 4);
        number.or_else(|| named(text)).map(Some).ok_or_else(|| {
            let known: Vec<&str> = watches.iter().map(|(_, name)| name.as_str()).collect();
            let known = if known.is_empty() { "nothing".to_owned() } else { known.join(", ") };
            exit::usage(format!(
                "--thread-pointer {text}: watched is {known}; or give a comparator, 0 to 3"
            ))
        })
    }

    /// The pin in a capture, and its rate if given.
    pub fn pin(&self, capture: &Capture) -> anyhow::Result<(usize, Option<f64>)> {
        let (name, rate) = match self.pin.as_deref().map(|text| text.split_once('@')) {
            Some(Some((name, rate))) => (Some(name), Some(rate)),
            Some(None) => (self.pin.as_deref(), None),
            None => (None, None),
        };
        let channel = match (name, capture.channels.as_slice()) {
            (Some(name), _) => crate::capture::channel(capture, name)?,
            (None, [_]) => 0,
            (None, channels) => {
                let names: Vec<&str> = channels.iter().map(|c| c.name.as_str()).collect();
                let swo = names.iter().position(|name| name.eq_ignore_ascii_case("swo"));
                let text = format!("which pin? --pin NAME; the capture has {}", names.join(", "));
                swo.ok_or_else(|| exit::usage(text))?
            }
        };
        let rate = rate.map(|text| {
            let rate = capture::parse_frequency(text).filter(|rate| *rate > 0);
            let name = &capture.channels[channel].name;
            let text = format!("the rate of {name} is needed, as --pin {name}@2000000");
            rate.map(|rate| rate as f64).ok_or_else(|| exit::usage(text))
        });
        Ok((channel, rate.transpose()?))
    }
}

/// A mark that the firmware sends.
fn mark(text: &str, firmware: Option<&Firmware>) -> Result<Mark, String> {
    let (name, value) = match text.split_once('=') {
        Some((name, value)) => (name, Some(number(value).ok_or("a value is a number")?)),
        None => (text, None),
    };
    if let Some(port) = name.strip_prefix("port:") {
        let port = port.parse().map_err(|_| "a port is a number from 0 to 255")?;
        let value =
            value.map(|v| u32::try_from(v).map_err(|_| "a port is written 32 bits at most"));
        return Ok(Mark::Port { port, value: value.transpose()? });
    }
    let Some(firmware) = firmware.filter(|firmware| kit_setting(firmware).is_some()) else {
        return Err("names are those of the kit for the target, in the firmware's file (--elf); \
                    without it marks are as port:5"
            .to_owned());
    };
    let names = firmware.trace_names();
    let named = names.iter().find(|(_, known)| known.as_str() == name).map(|(id, _)| *id);
    let id = named.or_else(|| name.parse().ok().filter(|id| *id < 4095)).ok_or_else(|| {
        let known: Vec<&str> =
            names.iter().filter(|(id, _)| **id < 4095).map(|(_, name)| name.as_str()).collect();
        format!("the firmware has {}", known.join(", "))
    })?;
    Ok(Mark::Kit { id, name: name.to_owned(), value })
}

/// A number, also a negative or a hexadecimal one.
fn number(text: &str) -> Option<i64> {
    match text.strip_prefix("0x") {
        Some(digits) => i64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

fn idle(text: &str, firmware: Option<&Firmware>) -> anyhow::Result<Range<u32>> {
    let address = |text: &str| {
        let text = text.trim();
        u32::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16).ok()
    };
    if let Some((from, to)) = text.split_once("..") {
        let range = address(from).zip(address(to)).filter(|(from, to)| from < to);
        let range = range.map(|(from, to)| from..to);
        return range.ok_or_else(|| {
            exit::usage(format!("--idle {text}: addresses are as 0x8000100..0x8000120"))
        });
    }
    let Some(firmware) = firmware else {
        return Err(exit::usage(format!("--idle {text}: a function needs its firmware (--elf)")));
    };
    let function = input::function(firmware, text)?;
    Ok(function.start..u32::try_from(function.end()).unwrap_or(u32::MAX))
}

/// Warns if this firmware is not the one that was recorded.
fn other_firmware(header: &Header, given: &Firmware) -> Option<Finding> {
    let recorded = header.elf.as_ref()?;
    let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
    let file = &recorded.file;
    let text = match (&recorded.build_id, given.build_id().map(hex)) {
        (Some(theirs), Some(ours)) if *theirs == ours => return None,
        (Some(theirs), Some(ours)) => format!(
            "this is not the firmware that was recorded ({file}): its build id is {ours}, that \
             one's is {theirs}"
        ),
        _ if recorded.sha256 == hex(&given.sha256()) => return None,
        _ => format!(
            "this is not the file that was recorded ({file}): its SHA-256 is another; without \
             build ids (-Wl,--build-id) \
             it is unknown whether the code is the same"
        ),
    };
    Some(Finding::warning("other-firmware", text))
}

/// Settings as the report shows them.
fn shown(settings: &TraceSettings) -> Vec<(String, String)> {
    let mut out = vec![("baud".to_owned(), settings.line.baud().to_string())];
    if let Some(sampling) = settings.sampling {
        out.push(("period".to_owned(), format!("{} cycles", sampling.period_cycles())));
    }
    if let Some(prescaler) = settings.local_timestamps {
        out.push(("tick".to_owned(), format!("{} cycles", prescaler.value())));
    }
    if settings.exceptions {
        out.push(("exceptions".to_owned(), "on".to_owned()));
    }
    out
}
