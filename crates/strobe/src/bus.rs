//! `strobe bus`: bytes of a serial bus, in a capture or on a simulated board, with times and
//! faults.

mod sigrok;
mod spec;

use std::process::ExitCode;

use strobe_decode::bus::report::BusUnit;
use strobe_decode::bus::{self, Listing};
use strobe_decode::capture::Capture;
use strobe_decode::pins;
use strobe_model::measurement::Measurement;
use strobe_source::simulated::bounding_runs;

use crate::output::OutputArgs;
use crate::{files, recording};

const EXAMPLES: &str = "\
Decoders, channels and options, spelled as sigrok-cli spells them (shorter words in brackets):
  uart  rx tx; baudrate (baud), data_bits (bits), parity=none|even|odd|one|zero, stop_bits=1|1.5|2,
        bit_order=lsb-first|msb-first, invert=yes|no, format=8n1 for three of them at once;
        without baudrate it is found from the pulses
  spi   clk mosi miso cs dc; cpol cpha (or mode=0 to 3), bitorder=msb-first|lsb-first,
        wordsize (bits), cs_polarity=active-low|active-high, dc=bit for a data/command bit before
        each word
  i2c   scl sda

Examples:
  strobe bus capture.sr -P uart:rx=D0:baudrate=115200
  strobe bus capture.sr -P uart:rx=RX:tx=TX --errors-only
  strobe bus capture.vcd -P spi:clk=SCK:mosi=MOSI:miso=MISO:cs=CS:mode=3
  strobe bus capture.sr -P spi:clk=SCK:mosi=SDA:cs=CS:dc=bit     a display on three wires
  strobe bus capture.csv -P i2c:scl=D0:sda=D1 --format json
  strobe bus capture.csv --sigrok onewire_link:owr=D2            anything that sigrok decodes
  strobe bus firmware.elf --board stm32f070cb --until 20ms -P uart:rx=PA9

Of firmware, how busy the core was meanwhile is reported as well: awake is all the time in which it
executes instructions, whatever for, waiting in a polling loop included; not awake is asleep, or in
an empty loop that only an interrupt ends.

Exit codes: 0 done, 64 wrong arguments, 65 unusable capture or firmware, 66 cannot be read, 74
cannot be written; simulations end with those of `strobe run`";

/// Decode a serial bus in a capture or on a simulated board: bytes with times, throughput, gaps,
/// faults.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
#[command(group(clap::ArgGroup::new("decoder").required(true)))]
pub struct Args {
    #[command(flatten)]
    source: recording::Source,
    /// What to decode: uart, spi or i2c with its channels and options.
    #[arg(long, short = 'P', value_name = "DECODER:CHANNEL=PIN:...", group = "decoder")]
    protocol: Option<String>,
    /// Have sigrok-cli decode instead, with one of its decoders; the result is as it prints it.
    #[arg(long, value_name = "DECODER:CHANNEL=PIN:...", group = "decoder")]
    sigrok: Option<String>,
    /// Show what is wrong, and sums, but no bytes.
    #[arg(long, conflicts_with = "sigrok")]
    errors_only: bool,
    /// Count what so many data words make together, as `pixel=2`.
    #[arg(long, value_name = "NAME=WORDS", requires = "protocol", value_parser = unit)]
    unit: Option<(String, u64)>,
    #[command(flatten)]
    result: OutputArgs,
}

fn unit(text: &str) -> Result<(String, u64), String> {
    let parsed = text.split_once('=').and_then(|(name, words)| {
        let words = words.parse().ok().filter(|words| *words > 0)?;
        (!name.is_empty()).then(|| (name.to_owned(), words))
    });
    parsed.ok_or_else(|| "a name and a number of data words, as pixel=2".to_owned())
}

impl Args {
    /// Registers the files that are read and written.
    pub fn files(&self, named: &mut files::FileSet) {
        self.source.files(named);
        self.result.files(named);
    }
}

/// Decodes and prints.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let opened = recording::open(&args.source)?;
    let recording::Opened { file, format, capture, bounding_runs: others, run, code } = opened;
    if let Some(decoder) = &args.sigrok {
        let bytes = sigrok::decode(&capture, decoder, args.result.format())?;
        args.result.write(&bytes)?;
        return Ok(code);
    }
    let mut measurement = measured(args, capture, (&file, &format))?;
    let mut is_enclosed = false;
    if let Some(others) = others {
        let others = others.map(|capture| measured(args, capture, (&file, &format)));
        // What is on the wires then may be no such bus.
        if let [Ok(low), Ok(high)] = &others {
            bounding_runs::enclose(&mut measurement, [low, high]);
            is_enclosed = true;
        }
    }
    run.iter().for_each(|run| run.add_to(&mut measurement, is_enclosed));
    args.result.measurement(&measurement, &args.result.selection())?;
    Ok(code)
}

/// What the decoder makes of a recording.
fn measured(
    args: &Args,
    mut capture: Capture,
    (file, format): (&str, &str),
) -> anyhow::Result<Measurement> {
    let summary = pins::summary(&capture, file.to_owned(), format);
    let notes = std::mem::take(&mut capture.notes);
    let mut report = decode(&capture, args.protocol.as_deref().unwrap_or_default(), summary)?;
    report.notes.splice(0..0, notes);
    if let (Some((name, words)), Some(lane)) = (&args.unit, report.lanes.first()) {
        report.unit = Some(BusUnit::of(name.clone(), *words, lane));
    }
    if args.errors_only {
        report.lanes.iter_mut().for_each(|lane| lane.words.clear());
    }
    // Tables of a long recording take more memory than its edges.
    drop(capture);
    let listing = if args.result.is_default_text() { Listing::Rows } else { Listing::EachWord };
    Ok(bus::measurement(&report, listing))
}

fn decode(
    capture: &Capture,
    text: &str,
    summary: strobe_decode::pins::report::CaptureSummary,
) -> anyhow::Result<strobe_decode::bus::report::BusReport> {
    let mut spec = spec::Spec::parse(text)?;
    let (decoded, settings) = match spec.decoder.as_str() {
        "uart" => spec::uart(&mut spec, capture)?,
        "spi" => spec::spi(&mut spec, capture)?,
        "i2c" => spec::i2c(&mut spec, capture)?,
        other => {
            let text =
                format!("no decoder {other} here; uart, spi and i2c are, others through --sigrok");
            return Err(crate::exit::usage(text));
        }
    };
    let mut report = decoded.report(&spec.decoder, capture, summary);
    report.settings = settings;
    Ok(report)
}
