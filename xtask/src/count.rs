//! `cargo xtask count`: the reference cycle count for strobe, by QEMU and the manual's table alone.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use strobe_oracle::count::{Table, sum};
use strobe_oracle::{Program, Trace};

/// Sum the manual's cycle table over the instructions that QEMU executes
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A program that ends by itself on QEMU's microbit, without interrupts
    elf: PathBuf,
    #[arg(long, value_enum, default_value_t = Core::M0)]
    core: Core,
    /// The chip has the 32-cycle multiplier
    #[arg(long)]
    small_multiplier: bool,
    /// Give up after this many seconds
    #[arg(long, default_value_t = 600, value_name = "SECONDS")]
    deadline: u64,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Core {
    /// Cortex-M0
    M0,
    /// Cortex-M0+
    M0plus,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let bytes =
        std::fs::read(&args.elf).with_context(|| format!("cannot read {}", args.elf.display()))?;
    let program = Program::from_elf(&bytes)?;
    let table = match args.core {
        Core::M0 => Table::CORTEX_M0,
        Core::M0plus => Table::CORTEX_M0_PLUS,
    };
    let table = if args.small_multiplier { table.with_small_multiplier() } else { table };
    let trace = Trace::start(&args.elf, Duration::from_secs(args.deadline))?;
    let count = sum(&table, &program, trace)?;
    println!("instructions {}", count.instructions);
    println!("cycles {}", count.cycles);
    println!("instructions without a figure in the table {}", count.without_figure);
    Ok(())
}
