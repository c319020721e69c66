//! `strobe compare`: two firmwares on two boards, side by side.

use std::path::PathBuf;
use std::process::ExitCode;

use strobe_model::EndReason;
use strobe_model::measurement::Measurement;
use strobe_report::text;
use strobe_source::{Attach, attach};

use crate::output::Wanted;
use crate::simulate::{self, Setup, Threads, World};
use crate::{board, exit, files, input, measurement};

/// Compare two measurements, or two firmwares, or one on two boards: cycles, time, instructions,
/// causes, functions, and which instructions took them.
///
/// An option given once is for both; given twice, first for A and then for B.
#[derive(clap::Args)]
#[command(after_help = EXAMPLE)]
pub struct Args {
    /// A: a firmware (an ELF file), which is simulated, or a measurement.
    a: PathBuf,
    /// B: a firmware or a measurement.
    b: PathBuf,
    /// Board: a name from `strobe boards` or a board file; by default the one the firmware is
    /// linked for.
    #[arg(long, value_name = "NAME|FILE", help_heading = "Simulation")]
    board: Vec<String>,
    /// Measure only from here on, each time it is reached: a symbol, an address (`0x8000123`), or
    /// a pin's edge (`PB8=1` or `PB8:rise`).
    #[arg(long, value_name = "PLACE", help_heading = "Simulation")]
    from: Vec<String>,
    /// Measure only up to here.
    #[arg(long, value_name = "PLACE", help_heading = "Simulation")]
    to: Vec<String>,
    /// End the run: after cycles (`1000000c`), simulated time (`20ms`), at a place, or when the
    /// firmware exits (`exit`).
    #[arg(long, value_name = "WHEN", help_heading = "Simulation")]
    until: Vec<String>,
    /// List pulse widths of a pin (`PB8`) or times between arrivals at a symbol, for both.
    #[arg(long, value_name = "PIN|SYMBOL", value_delimiter = ',', help_heading = "Simulation")]
    mark: Vec<String>,
    #[command(flatten)]
    described: board::Described,
    #[command(flatten)]
    world: World,
    #[command(flatten)]
    result: Wanted,
}

const EXAMPLE: &str = "\
Example: one pulse of a pin, on a 16 MHz AVR and on a 48 MHz Cortex-M0:
  strobe compare avr.elf arm.elf --board arduino-uno --board stm32f070cb \\
      --from PD1=1 --from PB8=1 --to PD1=0 --to PB8=0 --until 10ms";

/// Runs both and reports.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let [a, b] = [one(args, 0)?, one(args, 1)?];
    let compared = strobe_analyse::compare::compare(&a, &b);
    let selection = text::Selection { instructions: true, ..args.result.selection() };
    args.result.measurement(&compared, &selection)?;
    Ok(ExitCode::SUCCESS)
}

impl Args {
    /// Registers the files that are read and written.
    pub fn files(&self, named: &mut files::Named) {
        named.reads([&self.a, &self.b]);
        self.board.iter().for_each(|b| board::Which::named(Some(b.clone())).files(named));
        self.described.files(named);
        self.world.files(named);
        self.result.files(named);
    }
}

/// Runs A (0) or B (1).
fn one(args: &Args, number: usize) -> anyhow::Result<Measurement> {
    let path = [&args.a, &args.b][number];
    if let Some(measurement) = measurement::read(path)? {
        return Ok(measurement);
    }
    let pick = |name: &str, given: &[String]| match given {
        [] => Ok(None),
        [both] => Ok(Some(both.clone())),
        [_, _] => Ok(Some(given[number].clone())),
        _ => Err(exit::usage(format!(
            "--{name} was given {} times; there are two sides",
            given.len()
        ))),
    };
    let setup = Setup {
        board: board::Which::new(pick("board", &args.board)?, args.described.clone()),
        until: pick("until", &args.until)?.into_iter().collect(),
        world: args.world.silent(),
    };
    let (from, to) = (pick("from", &args.from)?, pick("to", &args.to)?);
    let options = simulate::Options::of(setup, from, to, args.mark.clone());
    let firmware = input::firmware(path)?;
    let choice = board::choose(&options.setup.board, &firmware)?;
    let done = simulate::simulate(path, &firmware, &choice, &options, Threads::default(), None)?;
    if done.record.window.end_reason == EndReason::Interrupted {
        let text = format!("{}: stopped by the user; nothing is compared", path.display());
        return Err(exit::interrupted(text));
    }
    if done.record.totals.cycles.likely == 0 {
        return Err(exit::never(format!(
            "{}: nothing was measured: the run ended before --from was reached; --until may be too \
             early",
            path.display()
        )));
    }
    let mut measurement = measurement::of(&done.record);
    // Which instructions took the cycles is a part of the comparison.
    attach(&mut measurement, &firmware, Attach { disassembly: true, ..Attach::default() });
    Ok(measurement)
}
