//! `strobe pins`: widths, periods and times between edges, in a capture or on a simulated board.

mod against;

use std::path::PathBuf;
use std::process::ExitCode;

use strobe_decode::capture::Capture;
use strobe_decode::pins::report::PinsReport;
use strobe_decode::pins::{self, Edges, Trigger};
use strobe_model::measurement::Measurement;
use strobe_model::spelling;

use strobe_report::text::Selection;
use strobe_source::simulated::bounding_runs;

use crate::output::OutputArgs;
use crate::recording::{self, Opened};
use crate::{capture, exit, files};

const EXAMPLES: &str = "\
Examples:
  strobe pins capture.sr
  strobe pins capture.vcd LED --histogram
  strobe pins capture.csv --from IRQ:rise --to ACK:fall
  strobe pins firmware.elf --board stm32f070cb --until 20ms PB8 PA5
  strobe pins firmware.elf --until finished --export simulated.sr
  strobe pins firmware.elf --until 1s --against measured.sr --pair PB8=D0 --clock-tolerance 50ppm

A pin is named as in the capture; D3 or CH3 is the one with number 3, tx that of top.uart.tx.
Simulated pins have the chip's names (PB8) and the board's own (LED); the pin `awake` is high while
the core is neither asleep nor in an empty loop. Without any, all that move are measured.

Exit codes: 0 done, 64 wrong arguments, 65 unusable capture or firmware, 66 cannot be read, 74
cannot be written; simulations end with those of `strobe run`";

/// Measure pins in a capture or on a simulated board: pulse widths, periods, duty, jitter, times
/// from edge to edge.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    source: recording::Source,
    /// Only these pins.
    #[arg(value_name = "PIN")]
    pins: Vec<String>,
    /// Time from this edge: `IRQ:rise` or `IRQ=1`, `IRQ:fall` or `IRQ=0`, `IRQ:any`; a pin alone
    /// means rising.
    #[arg(long, value_name = "PIN[:EDGE]", requires = "to")]
    from: Option<String>,
    /// Time to the next edge of this kind; may be given several times.
    #[arg(long, value_name = "PIN[:EDGE]", requires = "from")]
    to: Vec<String>,
    /// Lay a capture beside the recording, as one measured on the real board beside the simulated
    /// one: each figure's difference with what is not known of either, and whether they agree.
    #[arg(long, value_name = "CAPTURE", conflicts_with = "histogram")]
    against: Option<PathBuf>,
    /// Which pin belongs to which of the capture's, as PB8=D0; without, those of the same name.
    #[arg(long, value_name = "PIN=PIN", requires = "against", value_delimiter = ',')]
    pair: Vec<String>,
    /// By how much the two clocks may be apart, as 50ppm or 1%.
    #[arg(
        long,
        value_name = "PART",
        requires = "against",
        value_parser = tolerance,
        default_value = "0ppm"
    )]
    clock_tolerance: u64,
    /// Draw histograms.
    #[arg(long)]
    histogram: bool,
    /// Also write the recording to a file, for GTKWave (.vcd) or PulseView (.sr).
    #[arg(long, value_name = "FILE")]
    export: Option<PathBuf>,
    #[command(flatten)]
    result: OutputArgs,
}

impl Args {
    /// Registers the files that are read and written.
    pub fn files(&self, named: &mut files::FileSet) {
        self.source.files(named);
        named.reads(&self.against);
        named.writes("--export", &self.export);
        self.result.files(named);
    }
}

/// Measures and prints.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let opened = recording::open(&args.source)?;
    let Opened { file, format, capture, bounding_runs: others, run, code } = opened;
    if let Some(path) = &args.export {
        match capture.simulated {
            None => capture::export(&capture, path)?,
            // A chip has many pins that do nothing.
            Some(_) => capture::export(&capture.only(&chosen(args, &capture)?), path)?,
        }
    }
    if let Some(path) = &args.against {
        let opened = Opened { file, format, capture, bounding_runs: others, run, code };
        against::run(args, path, &opened)?;
        return Ok(code);
    }
    let channels = if args.pins.is_empty() && args.from.is_some() {
        Vec::new()
    } else {
        chosen(args, &capture)?
    };
    let mut measurement = measured(args, &capture, (&file, &format), &channels)?;
    if let Some(others) = &others {
        let [low, high] = others.each_ref().map(|c| measured(args, c, (&file, &format), &channels));
        bounding_runs::enclose(&mut measurement, [&low?, &high?]);
    }
    run.iter().for_each(|run| run.add_to(&mut measurement, others.is_some()));
    let selection = Selection { histograms: args.histogram, ..args.result.selection() };
    args.result.measurement(&measurement, &selection)?;
    Ok(code)
}

/// What a recording shows of the channels.
fn measured(
    args: &Args,
    capture: &Capture,
    (file, format): (&str, &str),
    channels: &[usize],
) -> anyhow::Result<Measurement> {
    let summary = pins::summary(capture, file.to_owned(), format);
    let histogram = args.histogram.then_some(summary.resolution_ps);
    let mut intervals = Vec::new();
    if let Some(from) = &args.from {
        let from = trigger(capture, from)?;
        for to in &args.to {
            intervals.push(pins::interval(capture, from, trigger(capture, to)?, histogram));
        }
    }
    let each = channels.iter().map(|at| pins::statistics(capture, *at, histogram));
    let notes = capture.notes.clone();
    let report = PinsReport { capture: summary, pins: each.collect(), intervals, notes };
    Ok(pins::measurement(&report))
}

/// `50ppm`, `1%`, `0.1%`: in millionths.
fn tolerance(text: &str) -> Result<u64, String> {
    let (number, scale) = match (text.strip_suffix("ppm"), text.strip_suffix('%')) {
        (Some(number), _) => (number, 1.0),
        (_, Some(number)) => (number, 10_000.0),
        _ => (text, f64::NAN),
    };
    let ppm = number.trim().parse::<f64>().ok().map(|n| (n * scale).round());
    let ppm = ppm.filter(|ppm| (0.0..=500_000.0).contains(ppm));
    ppm.map(|ppm| ppm as u64).ok_or_else(|| "a part such as 50ppm or 1%, at most 50%".to_owned())
}

/// The channels that were asked for: all, or all that move where the board is simulated, if none
/// was named.
fn chosen(args: &Args, capture: &Capture) -> anyhow::Result<Vec<usize>> {
    if !args.pins.is_empty() {
        return args.pins.iter().map(|name| capture::channel(capture, name)).collect();
    }
    let simulated = capture.simulated.is_some();
    let channels = (0..).zip(&capture.channels);
    Ok(channels.filter(|(_, c)| !simulated || !c.edges.is_empty()).map(|(at, _)| at).collect())
}

/// A pin's edges, as in every command; a name alone means rising ones.
fn trigger(capture: &Capture, text: &str) -> anyhow::Result<Trigger> {
    let (name, edges) = match spelling::edge(text) {
        Some(edge) => edge,
        None => (text, Edges::Rising),
    };
    match text.rsplit_once([':', '=']) {
        Some((pin, edge)) if capture.channel(name).is_err() && capture.channel(pin).is_ok() => {
            Err(exit::usage(format!("{text}: {edge:?} is no edge; {}", spelling::EDGES)))
        }
        _ => Ok(Trigger { channel: capture::channel(capture, name)?, edges }),
    }
}
