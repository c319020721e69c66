//! `cargo xtask simulate`: the bare simulated core without observers, as a separate process for
//! `cargo xtask bench`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, bail};
use strobe_devices::board::Board;
use strobe_devices::machine::{Machine, Stop};
use strobe_oracle::Program;

/// Run a program on a simulated core without any profile and print the instructions
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A program for a bare core that ends by semihosting or, on an AVR, asleep forever
    elf: PathBuf,
    /// The board
    #[arg(long, default_value = "cortex-m0")]
    board: String,
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let bytes =
        std::fs::read(&args.elf).with_context(|| format!("cannot read {}", args.elf.display()))?;
    let board = Board::builtin(&args.board)?;
    let mut bus = board.build()?;
    for (address, piece) in Program::from_elf(&bytes)?.image() {
        bus.load(address, piece)?;
    }
    let mut machine = Machine::new(&board, bus, ()).context("the board has no core")?;
    machine.reset()?;
    let code = match machine.run(u64::MAX, &AtomicBool::new(false)) {
        Stop::Exit(code) => code as u8,
        Stop::SleepsForever => 0,
        stop => bail!("the program did not run to its end: {stop:?}"),
    };
    println!("instructions {}", machine.instructions());
    Ok(ExitCode::from(code))
}
