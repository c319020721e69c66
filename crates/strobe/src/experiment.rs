//! `strobe experiment`: comparisons that a directory describes, with what must be up meanwhile and
//! what must hold before a figure counts.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use strobe_experiment::experiment::{Error, Run};
use strobe_experiment::file::File;
use strobe_model::measurement::Measurement;
use strobe_report::export::Choice;

use crate::bench::{TOOL, Workplace};
use crate::files::{self, Kind};
use crate::log::ArchiveArgs;
use crate::output::OutputArgs;
use crate::{exit, input, interrupt, terminal};

const EXAMPLES: &str = "\
Examples:
  strobe experiment list
  strobe experiment run experiments/string-join
  strobe experiment run experiments/string-join --quick --expect
  strobe experiment new experiments/mine
  strobe experiment check experiments/mine

docs/experiments.md describes experiment.toml. Samples are kept in .strobe-experiment beside it, and
page.html, which has figures and pictures; a run that was interrupted goes on where it stopped.

Exit codes: 0 done, 1 a variant failed or an expectation does not hold, 65 unusable experiment, or
something of it does not build or get ready, 66 cannot be read, 69 programs are missing, 74 cannot
be written, 130 stopped";

/// The file that describes an experiment.
const FILE: &str = "experiment.toml";

/// Run comparisons that a directory describes: variants, services, sweeps, conditions.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Carry one out.
    Run(RunArgs),
    /// List those below a directory.
    List {
        /// The directory.
        #[arg(default_value = "experiments")]
        directory: PathBuf,
    },
    /// Begin a new one.
    New {
        /// Its directory.
        directory: PathBuf,
    },
    /// Whether a description can be used, and its programs are there.
    Check {
        /// Its directory.
        directory: PathBuf,
    },
}

#[derive(clap::Args)]
struct RunArgs {
    /// Its directory.
    directory: PathBuf,
    /// Less of everything: seconds instead of a minute, a shorter sweep.
    #[arg(long)]
    quick: bool,
    /// Fail if a count is not what the description expects. Times are not looked at.
    #[arg(long)]
    expect: bool,
    #[command(flatten)]
    result: OutputArgs,
    #[command(flatten)]
    log: ArchiveArgs,
}

impl Args {
    /// Registers the files that are read and written.
    pub fn files(&self, named: &mut files::FileSet) {
        match &self.action {
            Action::Run(args) => {
                named.reads([args.directory.join(FILE)]);
                args.result.files(named);
            }
            Action::Check { directory } => {
                named.reads([directory.join(FILE)]);
            }
            Action::New { directory } => {
                named.writes("DIRECTORY", [directory.join(FILE)]);
            }
            Action::List { .. } => {}
        }
    }
}

/// Does it.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    match &args.action {
        Action::Run(args) => carry_out(args),
        Action::List { directory } => list(directory),
        Action::New { directory } => new(directory),
        Action::Check { directory } => check(directory),
    }
}

fn read(directory: &Path) -> anyhow::Result<File> {
    let path = directory.join(FILE);
    let text = files::text(&path, &Kind::EXPERIMENT)?;
    File::parse(&text).map_err(|e| exit::data(format!("{}: {e}", path.display())))
}

fn carry_out(args: &RunArgs) -> anyhow::Result<ExitCode> {
    args.log.ready()?;
    let file = read(&args.directory)?;
    let folder = args.directory.canonicalize().map_err(|e| exit::no_input(e.to_string()))?;
    let kept = folder.join(".strobe-experiment");
    files::folder(&kept)?;
    let workplace = Workplace::new()?;
    let stop = interrupt::on_interrupt();
    let name = input::file_name(&folder);
    let run = Run {
        file: &file,
        name: &name,
        folder: &folder,
        kept: &kept,
        host: &workplace.host,
        quick: args.quick,
        stop: &stop,
        tool: TOOL,
    };
    programs(&run)?;
    let line = indicatif::ProgressBar::new_spinner();
    let result = run.carry_out(&mut |what| {
        line.set_message(what.to_owned());
        line.tick();
    });
    line.finish_and_clear();
    let measurement = result.map_err(|error| match error {
        Error::Stopped => exit::interrupted("stopped before the first round was over"),
        Error::Failed { .. } => exit::data(error.to_string()),
        Error::Io(..) => exit::output(error.to_string()),
    })?;
    args.result.measurement(&measurement, &args.result.selection())?;
    page(&measurement, &kept)?;
    args.log.add(&measurement)?;
    let has = |code: &str| measurement.findings.iter().any(|finding| finding.code == code);
    Ok(if interrupt::happened() {
        exit::INTERRUPTED.into()
    } else if has("failed") || args.expect && has("expectation") {
        exit::FAILED.into()
    } else {
        ExitCode::SUCCESS
    })
}

/// What people look at: figures and pictures as a page beside the samples.
fn page(measurement: &Measurement, kept: &Path) -> anyhow::Result<()> {
    const PAGE: &str = "page.html";
    let Some(format) = strobe_report::export::format("page") else { return Ok(()) };
    let mut page = Vec::new();
    format.write(measurement, &Choice::default(), &mut page)?;
    files::within(kept, PAGE, &page)?;
    terminal::message(&format!("strobe: the page is {}", kept.join(PAGE).display()));
    Ok(())
}

/// Whether everything is installed that it needs.
fn programs(run: &Run) -> anyhow::Result<()> {
    let missing = run.missing();
    if missing.is_empty() {
        return Ok(());
    }
    let how = match run.file.setup.as_str() {
        "" => String::new(),
        setup => format!("; install with: {setup}"),
    };
    Err(exit::does_not_fit(format!("{} needs {}{how}", run.name, missing.join(", "))))
}

fn list(directory: &Path) -> anyhow::Result<ExitCode> {
    let entries = files::folders(directory)?;
    let mut text = String::new();
    for folder in entries.into_iter().filter(|folder| folder.join(FILE).is_file()) {
        let question = match read(&folder) {
            Ok(file) => file.question,
            Err(error) => error.to_string(),
        };
        text.push_str(&format!("{:20}  {question}\n", input::file_name(&folder)));
    }
    terminal::result(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

const TEMPLATE: &str = r#"# Described in docs/experiments.md.
question = "Is sorting by numbers slower than sorting by text?"
needs = ["head", "seq", "sort"]
build = "seq 100000 -1 1 > {build}/numbers"

[sweep]
parameter = "lines"
values = [1000, 10000, 100000]

[[variant]]
name = "text"
run = "head -n {lines} {build}/numbers | sort"

[[variant]]
name = "numbers"
run = "head -n {lines} {build}/numbers | sort -n"
"#;

fn new(directory: &Path) -> anyhow::Result<ExitCode> {
    let path = directory.join(FILE);
    if path.exists() {
        return Err(exit::usage(format!("{} is there already", path.display())));
    }
    files::folder(directory)?;
    files::write(&path, TEMPLATE.as_bytes())?;
    terminal::result(format!("{}\n", path.display()).as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

fn check(directory: &Path) -> anyhow::Result<ExitCode> {
    let file = read(directory)?;
    let workplace = Workplace::new()?;
    let stop = interrupt::on_interrupt();
    let name = input::file_name(directory);
    let run = Run {
        file: &file,
        name: &name,
        folder: directory,
        kept: workplace.folder.path(),
        host: &workplace.host,
        quick: false,
        stop: &stop,
        tool: TOOL,
    };
    programs(&run)?;
    terminal::result(
        format!("{name}: {} variants, nothing missing\n", file.variant.len()).as_bytes(),
    )?;
    Ok(ExitCode::SUCCESS)
}
