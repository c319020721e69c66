//! `strobe run`: simulate a firmware, profile it, report.

use std::path::PathBuf;
use std::process::ExitCode;

use strobe_model::{Record, Trust};
use strobe_report::text::{AnnotateInput, AnnotateRow, Rows, Show, Tree};
use strobe_symbols::Firmware;

use crate::output::{self, Format};
use crate::source::Sources;
use crate::{board, exit, input, simulate};

/// Simulate a firmware cycle by cycle and report where the cycles went.
#[derive(clap::Args)]
#[command(after_help = exit::HELP)]
pub struct Args {
    /// The firmware, an ELF file; nothing in it needs to be prepared.
    firmware: PathBuf,
    /// What rows of the profile stand for.
    #[arg(long, value_enum, default_value_t = By::Function)]
    by: By,
    /// Rows of the profile; 0 for all.
    #[arg(long, default_value_t = 20, value_name = "N")]
    top: usize,
    /// Print the call tree as well.
    #[arg(long)]
    tree: bool,
    /// Print a function's source and instructions with their cycles. May be given several times.
    #[arg(long, value_name = "FUNCTION")]
    annotate: Vec<String>,
    /// Where to look for source files, if they are not where they were compiled.
    #[arg(long, value_name = "DIR")]
    source: Vec<PathBuf>,
    /// Leave out the explanations.
    #[arg(long)]
    terse: bool,
    /// How to print the result.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Write the result to a file.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    simulation: simulate::Options,
}

/// What rows of the profile stand for.
#[derive(Clone, Copy, clap::ValueEnum)]
pub enum By {
    /// Functions, with what they call.
    Function,
    /// Source lines.
    Line,
    /// Instruction addresses.
    Address,
    /// Threads and interrupts, with latencies and worst cases.
    Thread,
}

impl From<By> for Rows {
    fn from(by: By) -> Self {
        match by {
            By::Function => Rows::By(strobe_model::By::Function),
            By::Line => Rows::By(strobe_model::By::Line),
            By::Address => Rows::By(strobe_model::By::Address),
            By::Thread => Rows::Threads,
        }
    }
}

/// Runs and reports.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let firmware = input::firmware(&args.firmware)?;
    let choice = board::choose(&args.simulation.board, &firmware)?;
    let functions: Vec<_> =
        args.annotate.iter().map(|n| input::function(&firmware, n)).collect::<Result<_, _>>()?;
    let done = simulate::simulate(&args.firmware, &firmware, &choice, &args.simulation)?;
    let record = &done.record;
    let bytes = match args.format {
        Format::Json => strobe_report::json::record(record).into_bytes(),
        Format::Text => {
            let mut sources = Sources::new(&args.source);
            let annotate =
                functions.into_iter().map(|f| annotation(&firmware, f, record, &mut sources));
            let show = Show {
                rows: args.by.into(),
                top: args.top,
                tree: args.tree.then(Tree::default),
                annotate: annotate.collect(),
            };
            let mut out = Vec::new();
            let options = output::options(args.output.is_none(), args.terse);
            strobe_report::text::report(record, &show, &options, &mut out)?;
            out
        }
    };
    output::write(&bytes, args.output.as_deref())?;
    Ok(exit::code_for(&record.window.end_reason, done.asked))
}

/// A function's instructions with what the run saw of each.
fn annotation(
    firmware: &Firmware,
    function: &strobe_symbols::Function,
    record: &Record,
    sources: &mut Sources,
) -> AnnotateInput {
    let end = u32::try_from(function.end()).unwrap_or(u32::MAX);
    let samples = &record.profile.addresses;
    let row = |i: strobe_symbols::Instruction| {
        let at = samples.binary_search_by_key(&i.address, |s| s.address).ok();
        let sample = at.map(|at| &samples[at]);
        AnnotateRow {
            address: i.address,
            bytes: i.encoding(),
            text: i.to_string(),
            source: sources.line_of(firmware, i.address),
            count: sample.map_or(0, |s| s.count),
            cycles: sample.map_or_else(Default::default, |s| s.cycles),
            bounds: sample.map_or_else(Default::default, |s| s.bounds),
        }
    };
    AnnotateInput {
        function: function.name.clone(),
        rows: firmware.instructions(function.start..end).map(row).collect(),
        trust: Trust::clone(&record.trust),
    }
}
