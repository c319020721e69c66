//! `strobe export`: what somebody recorded, for other programs.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use strobe_model::TraceEvents;
use strobe_report::export::{chrome, ctf};
use strobe_source::archive::{Names, NoNames, timeline};

use crate::report::{Kind, detect};
use crate::{events, exit, input, output, traced};

const EXAMPLES: &str = "\
Formats:
  chrome   JSON for https://ui.perfetto.dev, Perfetto's trace processor and Chrome's about:tracing (also: perfetto)
  ctf      a directory in Common Trace Format 1.8, for babeltrace2 and Trace Compass

Examples:
  strobe export trace/ --to chrome -o trace.json
  strobe export run.strobe --elf firmware.elf --to chrome -o run.json
  strobe export isr.raw.bin --metadata metadata.tsdl --to ctf -o isr/
  strobe export trace/ --elf firmware.elf --to chrome -o trace.json    functions by name";

/// Write what somebody recorded as a time line for viewers: threads, interrupts, functions, marks, counters.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A trace of events: its directory, or one stream beside its metadata. Or a recording of a trace pin, its bytes, or a capture of it.
    path: PathBuf,
    /// What to write.
    #[arg(long, value_enum, value_name = "FORMAT")]
    to: Format,
    /// Where: a file, or for CTF a directory that does not exist yet.
    #[arg(long, short, value_name = "FILE|DIR", required_if_eq("to", "ctf"))]
    output: Option<PathBuf>,
    /// The firmware that ran, for names of functions.
    #[arg(long, value_name = "FILE")]
    elf: Option<PathBuf>,
    /// The metadata of a stream of events, if it is not beside it.
    #[arg(long, value_name = "FILE")]
    metadata: Option<PathBuf>,
    /// What events of other names mean: a table as strobe's own, whose entries go before those.
    #[arg(long, value_name = "FILE")]
    meanings: Option<PathBuf>,
    /// What the file is, if it does not say so itself.
    #[arg(long = "as", value_enum, value_name = "KIND")]
    kind: Option<Kind>,
    #[command(flatten)]
    options: traced::Options,
}

impl Args {
    /// What of a trace pin it is; `None` for a trace of events.
    fn trace_pin(&self) -> anyhow::Result<Option<traced::Kind>> {
        let kind = match self.kind {
            Some(kind) => kind,
            None => detect::kind(&self.path, self.metadata.is_some())?,
        };
        Ok(match kind {
            Kind::Recording => Some(traced::Kind::Recording),
            Kind::Swo => Some(traced::Kind::Raw),
            Kind::Kit => Some(traced::Kind::Kit),
            Kind::Capture => Some(traced::Kind::Capture),
            Kind::Ctf => None,
            Kind::Samples | Kind::Allocations => {
                let text = "samples and allocations without times are no time line";
                return Err(exit::usage(text));
            }
        })
    }
}

/// What can be written.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Format {
    /// JSON for Perfetto and Chrome.
    #[value(alias = "perfetto")]
    Chrome,
    /// Common Trace Format 1.8.
    Ctf,
}

/// Reads and writes.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let firmware = args.elf.as_deref().map(input::firmware).transpose()?;
    let names: &dyn Names = firmware.as_ref().map_or(&NoNames, |firmware| firmware);
    let events = match args.trace_pin()? {
        Some(kind) => traced::events(&args.path, kind, firmware.as_ref(), &args.options)?,
        None => {
            let (metadata, meanings) = (args.metadata.as_deref(), args.meanings.as_deref());
            let opened = events::open(&args.path, metadata, meanings)?;
            opened.with(|source| timeline(source, &opened.meanings, names))
        }
    };
    match (args.to, &args.output) {
        (Format::Ctf, Some(folder)) => directory(&events, folder)?,
        (_, to) => {
            let mut out = Vec::new();
            chrome::write(&events, &mut out)?;
            output::write(&out, to.as_deref())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A trace in a directory of its own.
fn directory(events: &TraceEvents, folder: &Path) -> anyhow::Result<()> {
    let shown = folder.display();
    let failed = |e: std::io::Error| exit::output(format!("cannot write {shown}: {e}"));
    // Whatever else lies in it would be taken for a stream of the trace.
    if std::fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(exit::output(format!("{shown} is not empty; give a directory of its own")));
    }
    std::fs::create_dir_all(folder).map_err(failed)?;
    let files = ctf::write(events);
    std::fs::write(folder.join("metadata"), files.metadata).map_err(failed)?;
    std::fs::write(folder.join("stream"), files.stream).map_err(failed)
}
