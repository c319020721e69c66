//! `strobe cycles`: one function, every instruction, its cycles and why.

use std::path::PathBuf;
use std::process::ExitCode;

use strobe_model::measurement::Severity;
use strobe_source::cycles::{self, FlashState, Request};

use crate::output::OutputArgs;
use crate::simulate::{Run, Threads};
use crate::source::Sources;
use crate::{board, exit, files, input, simulate};

/// Explain a function: every instruction with its cycles and why, by block and loop iteration.
#[derive(clap::Args)]
#[command(after_help = exit::HELP)]
pub struct Args {
    /// The firmware, an ELF file.
    firmware: PathBuf,
    /// The function: its name, as `strobe run` prints it or as the linker knows it.
    function: String,
    /// Run the firmware as well, and show what each instruction really took.
    #[arg(long)]
    run: bool,
    /// Flash wait states that the figures are for; by default none, with --run those the firmware
    /// has set at the end.
    #[arg(long, value_name = "N", conflicts_with = "run")]
    wait_states: Option<u8>,
    /// With wait states: the prefetch buffer is off.
    #[arg(long, requires = "wait_states")]
    no_prefetch: bool,
    /// Where to look for source files, if they are not where they were compiled.
    #[arg(long, value_name = "DIR")]
    source: Vec<PathBuf>,
    #[command(flatten)]
    result: OutputArgs,
    #[command(flatten)]
    simulation: simulate::Options,
}

impl Args {
    /// Registers the files that are read and written.
    pub fn files(&self, named: &mut files::FileSet) {
        named.reads([&self.firmware]);
        self.simulation.files(named);
        self.result.files(named);
    }
}

/// Explains and prints.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let firmware = input::firmware(&args.firmware)?;
    let choice = board::choose(&args.simulation.setup.board, &firmware)?;
    let function = input::function(&firmware, &args.function)?;
    let mut sources = Sources::new(&args.source);
    sources.register(&firmware)?;
    let mut flash = FlashState {
        wait_states: args.wait_states.unwrap_or(0),
        prefetch: args.wait_states.is_some_and(|n| n > 0) && !args.no_prefetch,
    };
    if choice.board.flash_timing_at(flash.wait_states, flash.prefetch).is_none()
        && flash.wait_states > 0
    {
        let board = choice.board.name();
        return Err(exit::usage(match choice.board.accelerator() {
            Some(_) => format!(
                "what wait states cost on board {board} depends on what its flash interface holds: \
                 see what a run \
                 waits with --run"
            ),
            None => format!("board {board} has no timing for {} wait states", flash.wait_states),
        }));
    }
    let done = if args.run {
        let settings = simulate::settings(&args.simulation, Threads::default())?;
        let subject = (args.firmware.as_path(), &firmware);
        Some(Run::new(subject, &choice, &args.simulation.setup, settings).bounded()?)
    } else {
        None
    };
    if let Some(done) = &done {
        flash = done.flash;
    }
    let clock = done.as_ref().and_then(|d| d.record.subject.clock.last());
    let mut report = cycles::explain(&Request {
        firmware: &firmware,
        function,
        board: &choice.board,
        flash,
        clock_hz: clock.map(|c| c.hz),
        run: done.as_ref().map(|d| &d.record),
        bounding_runs: done.as_ref().and_then(|d| d.bounding_runs.as_ref()),
    })?;
    for instruction in &mut report.instructions {
        if let Some(line) = &mut instruction.source {
            line.text = sources.text(&line.file, line.line);
        }
    }
    let mut selection = args.result.selection_of(0);
    // Each instruction's are behind it.
    selection.without.push("causes".to_owned());
    let mut measurement = cycles::measurement(&report);
    if let Some(done) = &done {
        let run = done.measurement();
        // How long it was and how it ended is that of the run.
        measurement.window = run.window;
        let findings = run.findings.into_iter();
        measurement.findings.extend(findings.filter(|f| f.severity == Severity::Warning));
    }
    args.result.measurement(&measurement, &selection)?;
    Ok(done.map_or(ExitCode::SUCCESS, |d| exit::code_for(&d.record)))
}
