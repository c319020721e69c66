//! `strobe export`: measurements, and what somebody recorded, for other programs.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use strobe_model::measurement::ids;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use strobe_model::measurement::{Content, Measurement};
use strobe_model::spelling;
use strobe_report::export::{self, Choice, Export, ExportError, FORMATS, InputKind, Output};
use strobe_source::archive::{Names, NoNames};
use strobe_source::simulated::{Settings, TimelineSettings};

use crate::files::{self, AtomicFile};
use crate::report::{Kind, detect};
use crate::{
    board, events, exit, input, interrupt, measurement, output, simulate, terminal, traced,
};

const EXAMPLES: &str = "\
Examples:
  strobe export firmware.elf --until 20ms --to flamegraph -o run.svg
  strobe export run.measurement --to pprof -o run.pb.gz
  strobe export run.measurement --to flamegraph -o run.svg
  strobe export bench.measurement --to charts -o bench.svg
  strobe export bench.measurement --to page -o bench.html
  strobe export rig.measurement --part ping --to pprof -o ping.pb.gz
  strobe export trace/ --to chrome -o trace.json
  strobe export run.strobe --elf firmware.elf --to chrome -o run.json
  strobe export isr.raw.bin --metadata metadata.tsdl --to ctf -o isr/";

/// Write a measurement's profile, time line or curves, or what somebody recorded, in the format of
/// another program.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// A measurement; a firmware, which is run; a trace of events (its directory, or one stream
    /// beside its metadata); a recording of a trace pin, its bytes, or a capture of it.
    path: PathBuf,
    /// What to write.
    #[arg(long, value_parser = format_parser(), value_name = "FORMAT")]
    to: &'static dyn Export,
    /// Where: a file, `-` for standard output, or for CTF a directory that does not exist yet.
    #[arg(long, short, value_name = "FILE|DIR")]
    output: Option<PathBuf>,
    /// The part of the measurement: a chip of a rig, a side of a comparison; a part of a part as
    /// `a/ping`.
    #[arg(long, value_name = "NAME")]
    part: Option<String>,
    /// The section of the measurement, if it has several profiles or time lines.
    #[arg(long, value_name = "ID")]
    section: Option<String>,
    /// The measure of a profile, as `cycles`: the only one, or the first one where the format has
    /// several.
    #[arg(long, value_name = "ID")]
    measure: Option<String>,
    /// Single places with their lines, even where call chains are known.
    #[arg(long)]
    by_place: bool,
    /// The firmware that ran, for names of functions.
    #[arg(long, value_name = "FILE")]
    elf: Option<PathBuf>,
    #[command(flatten)]
    setup: simulate::Setup,
    /// How much of the end of a run the time line has in full.
    #[arg(long, value_name = "TIME", default_value = "100ms", help_heading = "Simulation")]
    span: String,
    /// The metadata of a stream of events, if it is not beside it.
    #[arg(long, value_name = "FILE")]
    metadata: Option<PathBuf>,
    /// What events of other names mean: a table as strobe's own, whose entries go before those.
    #[arg(long, value_name = "FILE")]
    meanings: Option<PathBuf>,
    /// Input format [default: detect].
    #[arg(long = "as", value_enum, value_name = "KIND")]
    kind: Option<Kind>,
    #[command(flatten)]
    options: traced::Options,
}

impl Args {
    /// Registers the files that are read and written.
    pub fn files(&self, named: &mut files::FileSet) {
        let inputs =
            [Some(&self.path), self.elf.as_ref(), self.metadata.as_ref(), self.meanings.as_ref()];
        named.reads(inputs.into_iter().flatten());
        self.setup.files(named);
        if self.to.about().extension.is_some() {
            named.writes("-o", self.path());
        }
        self.options.files(named);
    }

    /// Where it is written; none for standard output.
    fn path(&self) -> Option<&Path> {
        self.output.as_deref().and_then(files::of_output)
    }

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
            Kind::Profile => {
                let text = "a profile is exported as a measurement: strobe report FILE -o \
                            FILE.measurement makes one";
                return Err(exit::usage(text));
            }
            Kind::Samples | Kind::Allocations => {
                let text = "samples and allocations without times are no time line";
                return Err(exit::usage(text));
            }
        })
    }
}

/// Names of formats, and what each is for.
fn format_parser() -> impl TypedValueParser<Value = &'static dyn Export> {
    let value = |format: &&'static dyn Export| {
        let about = format.about();
        PossibleValue::new(about.name).help(about.help).aliases(about.aliases)
    };
    PossibleValuesParser::new(FORMATS.iter().map(value))
        .try_map(|name| export::format(&name).ok_or("no format of that name"))
}

/// Reads and writes.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let about = args.to.about();
    if about.extension.is_none() && args.path().is_none() {
        let text = format!("{} is several files; name their directory with -o", about.name);
        return Err(exit::usage(text));
    }
    let measurement = match args.kind {
        None if args.metadata.is_none() => measurement::read(&args.path)?,
        _ => None,
    };
    let is_run = measurement.is_none() && args.is_firmware()?;
    // A trace pin's stream has a core clock as well.
    let of_stream = |option: &str| measurement.is_none() && option == "--clock";
    let foreign = args.setup.given().find(|option| !is_run && !of_stream(option));
    if let Some(option) = foreign {
        let file = args.path.display();
        return Err(exit::usage(format!("{option} is for firmware, and {file} is none")));
    }
    let (measurement, code) = match measurement {
        Some(measurement) => (measurement, ExitCode::SUCCESS),
        None if is_run => args.simulated()?,
        None => (args.recorded()?, ExitCode::SUCCESS),
    };
    let measurement = measurement::part(&args.path, measurement, args.part.as_deref())?;
    let choice = Choice {
        section: args.section.clone(),
        measure: args.measure.clone(),
        by_place: args.by_place,
    };
    let write = |out: &mut dyn Output| {
        args.to.write(&measurement, &choice, out).map_err(|e| failed(e, args, &measurement))
    };
    match (args.path(), about.extension) {
        (Some(folder), None) => {
            let mut folder = Folder::new(folder)?;
            write(&mut folder)?;
            folder.finish()?;
        }
        (to, _) => {
            let mut out = Vec::new();
            write(&mut out)?;
            // A file of text is looked at on a terminal as well.
            output::write(&terminal::safe(&out, false), to)?;
        }
    }
    Ok(code)
}

/// What is wrong is the file's, the choice's or the disk's.
fn failed(error: ExportError, args: &Args, of: &Measurement) -> anyhow::Error {
    let shown = args.path.display();
    let of_parts = if of.parts.is_empty() { "" } else { "; --part NAME exports one of these" };
    match error {
        ExportError::Io(e) => {
            let to = args.path().unwrap_or(Path::new("standard output"));
            exit::output(format!("cannot write {}: {e}", to.display()))
        }
        ExportError::NoSection { .. } | ExportError::NoMeasure { .. } => {
            exit::usage(format!("{shown}: {error}"))
        }
        ExportError::NothingToTake { .. } => {
            let how = if of_parts.is_empty() { how_to_time(args, of) } else { of_parts };
            let text = format!("{shown}: {error}{how}");
            // An option is missing, and nothing is wrong with the stream.
            if how.contains("--tick") { exit::usage(text) } else { exit::data(text) }
        }
        _ => exit::data(format!("{shown}: {error}{of_parts}")),
    }
}

/// How to get the time line that a format wants and a measurement lacks.
fn how_to_time(args: &Args, of: &Measurement) -> &'static str {
    let wants = args.to.about().takes == InputKind::Timeline && of.timelines().next().is_none();
    match of.instrument.kind.as_str() {
        "trace pin" if wants => {
            "; a time line needs local timestamps in the stream, the core's clock and the cycles \
             of a tick: --clock and --tick"
        }
        "simulated board" if wants => {
            "; strobe run --timeline -o FILE.measurement has one, and strobe export FIRMWARE"
        }
        _ => "",
    }
}

impl Args {
    fn is_firmware(&self) -> anyhow::Result<bool> {
        let is_file = std::fs::metadata(&self.path).is_ok_and(|metadata| metadata.is_file());
        Ok(self.kind.is_none() && is_file && input::is_firmware(&self.path)?)
    }

    /// What is no measurement yet: a recording, a trace of events.
    fn recorded(&self) -> anyhow::Result<Measurement> {
        let clock = self.setup.board.clock_hz();
        let options = traced::Options { clock, ..self.options.clone() };
        let firmware = self.elf.as_deref().map(input::firmware).transpose()?;
        let names: &dyn Names = firmware.as_ref().map_or(&NoNames, |firmware| firmware);
        let (mut measured, line) = match self.trace_pin()? {
            Some(kind) => {
                let (record, line) = traced::events(&self.path, kind, firmware.as_ref(), &options)?;
                if self.kind.is_none() && kind == traced::Kind::Raw {
                    detect::is_trace(&self.path, &record)?;
                }
                if interrupt::happened() {
                    return Err(exit::interrupted("stopped by the user; nothing is exported"));
                }
                (record.measurement(), line)
            }
            None => {
                let (metadata, meanings) = (self.metadata.as_deref(), self.meanings.as_deref());
                let opened = events::open(&self.path, metadata, meanings)?;
                let (measurement, line) = opened.measurement(names);
                (measurement, Some(line))
            }
        };
        if let Some(line) = line {
            // Before others, as that of watched variables alone: formats take the first one.
            measured.sections.retain(|section| section.id != ids::section::TIMELINE);
            measured.push(ids::section::TIMELINE, "time line", Content::Timeline(Box::new(line)));
            measured.sections.rotate_right(1);
        }
        Ok(measured)
    }

    /// The firmware, run as `strobe run` would, with a time line.
    fn simulated(&self) -> anyhow::Result<(Measurement, ExitCode)> {
        let firmware = input::firmware(&self.path)?;
        let choice = board::choose(&self.setup.board, &firmware)?;
        let span = spelling::time(&self.span).filter(|span| *span > 0);
        let span =
            span.ok_or_else(|| exit::usage(format!("--span {}: {}", self.span, spelling::TIME)))?;
        let timeline = Some(TimelineSettings { worst: false, nanoseconds: span });
        let settings =
            Settings { apart: true, timeline, ..simulate::common_settings(&self.setup)? };
        let run = simulate::Run::new((&self.path, &firmware), &choice, &self.setup, settings);
        let done = run.bounded()?;
        // Not every format has room for it.
        for finding in simulate::unreached(&done.record) {
            terminal::message(&format!("strobe: {}", finding.text));
        }
        Ok((done.measurement(), exit::code_for(&done.record)))
    }
}

/// A directory of its own.
struct Folder {
    path: PathBuf,
    file: Option<AtomicFile>,
}

impl Folder {
    fn new(path: &Path) -> anyhow::Result<Folder> {
        let shown = path.display();
        // Whatever else lies in it would be taken for a stream of the trace.
        if std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some()) {
            let text = format!("{shown} is not empty; give a directory of its own");
            return Err(exit::output(text));
        }
        Ok(Folder { path: path.to_owned(), file: None })
    }

    fn finish(self) -> anyhow::Result<()> {
        self.file.map_or(Ok(()), AtomicFile::commit)
    }
}

impl Output for Folder {
    fn file(&mut self, name: &str) -> io::Result<&mut dyn Write> {
        std::fs::create_dir_all(&self.path)?;
        self.file.take().map_or(Ok(()), AtomicFile::commit).map_err(io::Error::other)?;
        let whole = AtomicFile::create(&self.path.join(name)).map_err(io::Error::other)?;
        Ok(self.file.insert(whole))
    }
}
