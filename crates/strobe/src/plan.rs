//! `strobe plan`: what a trace pin can carry, and the registers and scripts that set it up.

use std::path::PathBuf;
use std::process::ExitCode;

use strobe_link::trace::script;
use strobe_report::text::Selection;
use strobe_source::plan::measurement;
use strobe_source::plan::report::Verdict;

use crate::output::OutputArgs;
use crate::{exit, files, input, trace_options};

const EXAMPLES: &str = "\
Examples:
  strobe plan --clock 168MHz --baud 2M                        sample as often as fits
  strobe plan --clock 168MHz --baud 115200 --period 16384     refused: four fifths would be lost
  strobe plan --clock 64MHz --baud 1M --exceptions=2000 --timestamps 1 --registers
  strobe plan --clock 168MHz --baud 2M --elf fw.elf --watch pxCurrentTCB=2000 \\
    --target stm32f4 --script openocd

Exit codes: 0 it fits, 69 it loses packets all the time (0 with --insist), 64 wrong arguments, 65
unusable firmware or plan, 66 cannot be read, 74 cannot be written";

/// Plan what a trace pin (SWO) carries: required and available bytes, loss, registers, scripts.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(flatten)]
    trace: trace_options::Options,
    /// The firmware, whose variables can be watched by name.
    #[arg(long, value_name = "FIRMWARE")]
    elf: Option<PathBuf>,
    /// Accept a plan that loses packets.
    #[arg(long)]
    insist: bool,
    /// List the registers with their fields.
    #[arg(long)]
    registers: bool,
    /// Print what sets the hardware up, for another tool, instead of the plan.
    #[arg(long, value_enum, conflicts_with = "registers")]
    script: Option<Script>,
    #[command(flatten)]
    result: OutputArgs,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Script {
    /// A script for OpenOCD 0.11 and later.
    Openocd,
    /// Commands for GDB.
    Gdb,
    /// A shell script that calls probe-rs.
    ProbeRs,
}

impl Args {
    /// Registers the files that are read and written.
    pub fn files(&self, named: &mut files::FileSet) {
        named.reads(&self.elf);
        self.result.files(named);
    }
}

/// Plans and prints.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let firmware = args.elf.as_deref().map(input::firmware).transpose()?;
    let plan = args.trace.wanted(firmware.as_ref(), None)?.plan()?;
    let refused = plan.verdict == Verdict::Loses && !args.insist;
    match args.script {
        // What would lose nearly everything is not written out to be used.
        Some(_) if refused => {}
        Some(Script::Openocd) => args.result.write(script::openocd(&plan.set_up()).as_bytes())?,
        Some(Script::Gdb) => args.result.write(script::gdb(&plan.set_up()).as_bytes())?,
        Some(Script::ProbeRs) => args.result.write(script::probe_rs(&plan.set_up()).as_bytes())?,
        None => args.result.measurement(&measurement(&plan), &selection(args))?,
    }
    if refused {
        return Err(exit::does_not_fit(loses(&plan)));
    }
    Ok(ExitCode::SUCCESS)
}

/// Registers and their fields are shown on request.
fn selection(args: &Args) -> Selection {
    let mut selection = args.result.selection();
    if !args.registers {
        selection.without.extend(["registers", "fields"].map(str::to_owned));
    }
    selection
}

/// Why a plan is refused.
pub fn loses(plan: &strobe_source::plan::report::PlanReport) -> String {
    let percent = |ppm: u64| (ppm + 5000) / 10_000;
    let loss = plan.loss_ppm;
    let instead = match plan.proposals.first() {
        Some(proposal) => format!("; {} would fit", proposal.change),
        None => String::new(),
    };
    format!(
        "this plan loses about {} % of what is traced ({} to {} %): {} bytes/s are needed, the pin \
         carries {}{instead}; \
         with --insist it is done all the same",
        percent(loss.likely),
        percent(loss.low),
        percent(loss.high),
        plan.required.likely,
        plan.available,
    )
}
