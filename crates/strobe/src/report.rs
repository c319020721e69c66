//! `strobe report`: what somebody recorded.

use std::path::PathBuf;
use std::process::ExitCode;

use strobe_report::text::{Show, Tree};

use crate::output::{self, Format};
use crate::run::By;
use crate::{exit, input, traced};

/// Report a recording of a trace pin.
#[derive(clap::Args)]
#[command(after_help = exit::HELP)]
pub struct Args {
    /// A recording, the bytes of a trace pin, or a logic analyser's capture of it.
    path: PathBuf,
    /// The firmware that ran.
    #[arg(long, value_name = "FILE")]
    elf: Option<PathBuf>,
    /// What the file is, if it does not say so itself.
    #[arg(long = "as", value_enum, value_name = "KIND")]
    kind: Option<Kind>,
    /// What rows of the profile stand for.
    #[arg(long, value_enum, default_value_t = By::Function)]
    by: By,
    /// Rows of the profile; 0 for all.
    #[arg(long, default_value_t = 20, value_name = "N")]
    top: usize,
    /// Print samples by thread and handler, then by function, as a tree.
    #[arg(long)]
    tree: bool,
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
    options: traced::Options,
}

/// What a file is.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Kind {
    Recording,
    Swo,
    Capture,
}

/// Reads and reports.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let firmware = args.elf.as_deref().map(input::firmware).transpose()?;
    let kind = match args.kind {
        Some(Kind::Recording) => traced::Kind::Recording,
        Some(Kind::Capture) => traced::Kind::Capture,
        _ => traced::Kind::Raw,
    };
    let record = traced::record(&args.path, kind, firmware.as_ref(), &args.options)?;
    let bytes = match args.format {
        Format::Json => strobe_report::json::record(&record).into_bytes(),
        Format::Text => {
            let show = Show {
                rows: args.by.into(),
                top: args.top,
                tree: args.tree.then(Tree::default),
                annotate: Vec::new(),
            };
            let mut out = Vec::new();
            let options = output::options(args.output.is_none(), args.terse);
            strobe_report::text::report(&record, &show, &options, &mut out)?;
            out
        }
    };
    output::write(&bytes, args.output.as_deref())?;
    Ok(ExitCode::SUCCESS)
}
