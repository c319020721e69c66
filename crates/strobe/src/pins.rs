//! `strobe pins`: widths, periods and times between edges in a capture.

use std::path::PathBuf;
use std::process::ExitCode;

use strobe_decode::capture::Capture;
use strobe_decode::pins::{self, Edges, Trigger};
use strobe_model::{PINS_SCHEMA, PinsReport};
use strobe_report::{json, text};

use crate::output::{self, Format};
use crate::{capture, exit, input};

const EXAMPLES: &str = "\
Examples:
  strobe pins capture.sr
  strobe pins capture.vcd --pin LED --histogram
  strobe pins capture.csv --from IRQ:rise --to ACK:fall
  strobe pins capture.csv --export capture.sr

A pin is named as in the capture; D3 or CH3 is the one with number 3, tx that of top.uart.tx.

Exit codes: 0 done, 64 wrong arguments, 65 unusable capture, 66 cannot be read, 74 cannot be written";

/// Measure pins in a capture: pulse widths, periods, duty, jitter, times from edge to edge.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    source: capture::Source,
    /// Only this pin; may be given several times.
    #[arg(long, value_name = "PIN")]
    pin: Vec<String>,
    /// Time from this edge, as IRQ:rise, IRQ:fall or IRQ:any; without a word, rising.
    #[arg(long, value_name = "PIN[:EDGE]", requires = "to")]
    from: Option<String>,
    /// Time to the next edge of this kind; may be given several times.
    #[arg(long, value_name = "PIN[:EDGE]", requires = "from")]
    to: Vec<String>,
    /// Draw histograms.
    #[arg(long)]
    histogram: bool,
    /// Also write the capture to a file, for GTKWave (.vcd) or PulseView (.sr).
    #[arg(long, value_name = "FILE")]
    export: Option<PathBuf>,
    /// Leave out the explanations.
    #[arg(long)]
    terse: bool,
    /// How to print the result.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Write the result to a file.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Measures and prints.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let (format, capture) = capture::open(&args.source)?;
    if let Some(path) = &args.export {
        capture::export(&capture, path)?;
    }
    let channels: Vec<usize> = match args.pin.is_empty() {
        true if args.from.is_some() => Vec::new(),
        true => (0..capture.channels.len()).collect(),
        false => {
            let each = args.pin.iter().map(|name| capture::channel(&capture, name));
            each.collect::<anyhow::Result<_>>()?
        }
    };
    let summary = pins::summary(&capture, input::file_name(&args.source.capture), format);
    let histogram = args.histogram.then_some(summary.resolution_ps);
    let mut intervals = Vec::new();
    if let Some(from) = &args.from {
        let from = trigger(&capture, from)?;
        for to in &args.to {
            intervals.push(pins::interval(&capture, from, trigger(&capture, to)?, histogram));
        }
    }
    let each = channels.iter().map(|at| pins::statistics(&capture, *at, histogram));
    let report = PinsReport {
        schema: PINS_SCHEMA,
        capture: summary,
        pins: each.collect(),
        intervals,
        notes: capture.notes,
    };
    let bytes = match args.format {
        Format::Json => json::pins(&report, json::Form::Pretty).into_bytes(),
        Format::Text => {
            let mut out = Vec::new();
            text::pins(&report, &output::options(args.output.is_none(), args.terse), &mut out)?;
            out
        }
    };
    output::write(&bytes, args.output.as_deref())?;
    Ok(ExitCode::SUCCESS)
}

/// `IRQ`, `IRQ:rise`, `IRQ:fall`, `IRQ:any`. A name may have colons, as long as no edge is what follows the last.
fn trigger(capture: &Capture, text: &str) -> anyhow::Result<Trigger> {
    let (name, edges) = match text.rsplit_once(':') {
        Some((name, "rise" | "rising")) => (name, Edges::Rising),
        Some((name, "fall" | "falling")) => (name, Edges::Falling),
        Some((name, "any" | "both")) => (name, Edges::Any),
        Some((name, edge)) if capture.channel(text).is_err() && capture.channel(name).is_ok() => {
            return Err(exit::usage(format!("{text}: {edge} is no edge; rise, fall and any are")));
        }
        _ => (text, Edges::Rising),
    };
    Ok(Trigger { channel: capture::channel(capture, name)?, edges })
}
