//! `strobe report`: what somebody recorded.

pub mod archive;
pub mod detect;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use strobe_model::measurement::ids;

use strobe_model::measurement::{Content, Measurement};
use strobe_source::archive as source;

use strobe_symbols::Firmware;

use crate::log::ArchiveArgs;
use crate::output::OutputArgs;
use crate::run::By;
use crate::{events, exit, files, input, interrupt, measurement, show, traced};

const EXAMPLES: &str = "\
What can be reported:
  measurement  written by any command with --format json or -o FILE.measurement
  recording    made by `strobe record`
  swo          the bytes of a trace pin
  kit          frames of the kit for the target alone, as a serial port brought them
  capture      a logic analyser's capture of the pin
  ctf          a trace in Common Trace Format 1.8: its directory, or one stream beside its metadata
  samples      packets of a trace pin as JSON, of micro-ROS' tools of 2019
  allocations  the text of their traced allocator, or the call tree that they made of it
  profile      a report of SBCL's sb-sprof (:graph), or calls with a compiler's notes

Examples:
  strobe report run.strobe --elf firmware.elf
  strobe report trace/                                   CTF: metadata and all streams
  strobe report isr.raw.bin --metadata metadata.tsdl     one stream
  strobe report trace/ --meanings ours.toml              events with names of your own
  strobe report packets.json --symbols functions.csv --published profile.txt
  strobe report itm.txt --elf firmware.elf --published tree.json";

/// Report what somebody recorded: a trace pin, a trace of events, an archive of samples or
/// allocations.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A recording, the bytes of a trace pin, a logic analyser's capture of it, a trace of events,
    /// or an archive.
    path: PathBuf,
    /// The firmware that ran.
    #[arg(long, value_name = "FILE")]
    elf: Option<PathBuf>,
    /// Functions instead of a firmware: a file of comma-separated values with address, size, kind
    /// and name.
    #[arg(long, value_name = "FILE", conflicts_with = "elf")]
    symbols: Option<PathBuf>,
    /// Input format [default: detect].
    #[arg(long = "as", value_enum, value_name = "KIND")]
    kind: Option<Kind>,
    /// What rows of the profile stand for.
    #[arg(long, value_enum, default_value_t = By::Function)]
    by: By,
    /// Only what belongs to this thread or interrupt, of a measurement that has them apart.
    #[arg(long, value_name = "NAME")]
    thread: Option<String>,
    /// Print a function's instructions with what was measured of each, of a measurement that has
    /// the disassembly. May be given several times.
    #[arg(long, value_name = "FUNCTION")]
    annotate: Vec<String>,
    /// Print samples by thread and handler, then by function, as a tree.
    #[arg(long)]
    tree: bool,
    /// Draw the tree as areas.
    #[arg(long)]
    treemap: bool,
    #[command(flatten)]
    result: OutputArgs,
    #[command(flatten)]
    log: ArchiveArgs,
    /// The metadata of a stream of events, if it is not beside it.
    #[arg(long, value_name = "FILE", help_heading = "Traces of events")]
    metadata: Option<PathBuf>,
    /// What events of other names mean: a table as strobe's own, whose entries go before those.
    #[arg(long, value_name = "FILE", help_heading = "Traces of events")]
    meanings: Option<PathBuf>,
    /// What was published of the same samples or allocations, to be compared.
    #[arg(long, value_name = "FILE", help_heading = "Archives")]
    published: Option<PathBuf>,
    /// Blocks of more bytes than this are big.
    #[arg(long, value_name = "BYTES", default_value_t = 1024, help_heading = "Archives")]
    big_above: u64,
    /// Measure only from this mark on, each time it comes: a mark or region of the kit for the
    /// target by name or number, a variable of it with its value (`mode=3`), or a write to a
    /// stimulus port (`port:5`, `port:5=0x10`).
    #[arg(long, value_name = "MARK", help_heading = "Trace pin")]
    from: Option<String>,
    /// Measure up to this mark; of a region it is the end. Without --from the first part begins
    /// with the recording.
    #[arg(long, value_name = "MARK", help_heading = "Trace pin")]
    to: Option<String>,
    /// The core's clock, as 168MHz.
    #[arg(long, value_name = "HZ", value_parser = traced::hertz, help_heading = "Trace pin")]
    clock: Option<u32>,
    #[command(flatten)]
    options: traced::Options,
}

impl Args {
    /// Registers the files that are read and written.
    pub fn files(&self, named: &mut files::FileSet) {
        let others = [&self.elf, &self.symbols, &self.metadata, &self.meanings, &self.published];
        named.reads(others.into_iter().flatten().chain([&self.path]));
        self.options.files(named);
        self.result.files(named);
    }

    /// An option that was given and that a measurement has no use for.
    fn stream_only_option(&self) -> Option<&'static str> {
        let given = [
            (self.elf.is_some(), "--elf"),
            (self.symbols.is_some(), "--symbols"),
            (self.meanings.is_some(), "--meanings"),
            (self.published.is_some(), "--published"),
            (self.from.is_some(), "--from"),
            (self.to.is_some(), "--to"),
            (self.clock.is_some(), "--clock"),
        ];
        let given = given.into_iter().find(|(given, _)| *given).map(|(_, option)| option);
        given.or_else(|| self.options.given())
    }

    /// How to understand a stream.
    fn stream(&self) -> traced::Options {
        traced::Options { clock: self.clock, ..self.options.clone() }
    }
}

/// A profile that another profiler has written.
fn profile(args: &Args) -> anyhow::Result<ExitCode> {
    let text = files::text(&args.path, &files::Kind::PROFILE)?;
    let name = input::file_name(&args.path);
    let measurement = strobe_experiment::profile::measurement(&text, &name, crate::bench::TOOL)
        .map_err(|e| exit::data(format!("{}: {e}", args.path.display())))?;
    args.result.measurement(&measurement, &args.result.selection())?;
    Ok(ExitCode::SUCCESS)
}

/// What a file is.
#[derive(Clone, Copy, clap::ValueEnum)]
pub enum Kind {
    /// A recording made by `strobe record`.
    Recording,
    /// The bytes of a trace pin.
    Swo,
    /// Frames of the kit for the target alone, as a serial port brought them.
    Kit,
    /// A logic analyser's capture of the pin.
    Capture,
    /// A trace in Common Trace Format: its directory, or one stream beside its metadata.
    Ctf,
    /// Packets of a trace pin as JSON, of micro-ROS' tools of 2019.
    Samples,
    /// The text of their traced allocator, or the call tree that they made of it.
    Allocations,
    /// A profile of another profiler: SBCL's sb-sprof, calls with a compiler's notes.
    Profile,
}

/// Reads and reports.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    args.log.ready()?;
    if args.kind.is_none()
        && args.metadata.is_none()
        && let Some(measurement) = measurement::read(&args.path)?
    {
        if let Some(option) = args.stream_only_option() {
            let file = args.path.display();
            let text = format!("{option} is for streams, and {file} is a measurement");
            return Err(exit::usage(text));
        }
        return measured(args, measurement);
    }
    let kind = match args.kind {
        Some(kind) => kind,
        None => detect::kind(&args.path, args.metadata.is_some())?,
    };
    let of_a_pin = matches!(kind, Kind::Recording | Kind::Swo | Kind::Capture);
    if !of_a_pin && (args.from.is_some() || args.to.is_some()) {
        return Err(exit::usage("--from and --to are for streams of a trace pin"));
    }
    let firmware = archive::names(args)?;
    let code = match kind {
        Kind::Ctf => trace(args, firmware.as_ref()),
        Kind::Samples => archive::samples(args, firmware.as_ref()),
        Kind::Allocations => archive::allocations(args, firmware.as_ref()),
        Kind::Profile => profile(args),
        Kind::Recording | Kind::Swo | Kind::Kit | Kind::Capture => {
            if args.published.is_some() {
                let text = "--published is for lists of samples and of allocations";
                return Err(exit::usage(text));
            }
            let kind = match kind {
                Kind::Recording => traced::Kind::Recording,
                Kind::Capture => traced::Kind::Capture,
                Kind::Kit => traced::Kind::Kit,
                _ => traced::Kind::Raw,
            };
            let marks = (args.from.clone(), args.to.clone());
            let options = traced::Options { marks, ..args.stream() };
            let record = traced::record(&args.path, kind, firmware.as_ref(), &options)?;
            if args.kind.is_none() && kind == traced::Kind::Raw {
                detect::is_trace(&args.path, &record)?;
            }
            measured(args, record.measurement())?;
            Ok(exit::code_for_stream(&record))
        }
    }?;
    Ok(if interrupt::happened() { exit::INTERRUPTED.into() } else { code })
}

/// A measurement, whoever wrote it.
fn measured(args: &Args, measurement: Measurement) -> anyhow::Result<ExitCode> {
    let measurement = show::part_of(measurement, args.thread.as_deref())?;
    show::annotatable(&measurement, &args.annotate)?;
    let trees = [("--tree", args.tree), ("--treemap", args.treemap)];
    show::profiled(&measurement, args.by, trees)?;
    let mut selection = show::selection(&args.result, args.by, args.tree, args.annotate.clone());
    selection.treemap = args.treemap;
    args.result.measurement(&measurement, &selection)?;
    args.log.add(&measurement)?;
    Ok(ExitCode::SUCCESS)
}

/// A trace of events.
fn trace(args: &Args, firmware: Option<&Firmware>) -> anyhow::Result<ExitCode> {
    let others = (args.metadata.as_deref(), args.meanings.as_deref());
    measured(args, of_events(&args.path, others, firmware)?)
}

/// The measurement of a trace of events; `others` are its metadata and a table of what events mean.
///
/// # Errors
/// When it cannot be read.
pub fn of_events(
    path: &Path,
    others: (Option<&Path>, Option<&Path>),
    firmware: Option<&Firmware>,
) -> anyhow::Result<Measurement> {
    let opened = events::open(path, others.0, others.1)?;
    let names: &dyn source::Names = firmware.map_or(&source::NoNames, |firmware| firmware);
    let (mut measurement, line) = opened.measurement(names);
    measurement.push(ids::section::TIMELINE, "time line", Content::Timeline(Box::new(line)));
    Ok(measurement)
}
