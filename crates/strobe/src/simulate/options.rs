//! The options of a simulated run: how to simulate, and what to measure of it.

use std::path::PathBuf;

use strobe_source::simulated::Phase;

use super::World;
use crate::{board, files, host, serial_ports};

/// How to simulate, and what to measure of it.
#[derive(clap::Args, Default)]
#[command(next_help_heading = "Simulation")]
pub struct Options {
    /// The board and how it runs.
    #[command(flatten)]
    pub setup: Setup,
    /// Measure only from here on, each time it is reached: a symbol, an address (`0x8000123`), or
    /// a pin's edge (`PB8=1` or `PB8:rise`, `PB8=0` or `PB8:fall`, `PB8:any`).
    #[arg(long, value_name = "PLACE")]
    pub(super) from: Option<String>,
    /// Measure only up to here.
    #[arg(long, value_name = "PLACE")]
    pub(super) to: Option<String>,
    /// List pulse widths of a pin (`PB8`) or times between arrivals at a symbol. May be given
    /// several times, or with commas.
    #[arg(long, value_name = "PIN|SYMBOL", value_delimiter = ',')]
    pub(super) mark: Vec<String>,
    /// Measure each call of a function, from entry to return: how its cycles spread with and
    /// without callees, and the worst call. May be given several times.
    #[arg(long, value_name = "FUNCTION")]
    pub(super) calls: Vec<String>,
    /// A function that only waits: its cycles count as waiting, beside those of loops that are
    /// recognised as waits. May be given several times.
    #[arg(long, value_name = "FUNCTION")]
    pub(super) idle: Vec<String>,
    /// By how much interrupts are shifted.
    #[arg(skip)]
    pub phase: Option<Phase>,
}

impl Options {
    /// Registers the files that they name.
    pub fn files(&self, named: &mut files::FileSet) {
        self.setup.files(named);
    }

    /// One of two runs that are compared.
    pub fn of(setup: Setup, from: Option<String>, to: Option<String>, mark: Vec<String>) -> Self {
        Options { setup, from, to, mark, calls: Vec::new(), idle: Vec::new(), phase: None }
    }
}

/// How to simulate, whatever is measured.
#[derive(clap::Args, Default)]
#[command(next_help_heading = "Simulation")]
pub struct Setup {
    /// Which board.
    #[command(flatten)]
    pub board: board::BoardArgs,
    /// End the run: after cycles (`1000000c`), simulated time (`20ms`), at a place (a symbol, an
    /// address, a pin's edge), or only when the firmware exits (`exit`). A time and a symbol
    /// may both be given. In any case a run ends when the firmware exits, at a HardFault, and,
    /// unless a time is given, when nothing is left to wake a sleeping core; by default also
    /// after a second of simulated time, or after 10,000 million cycles if a place is given or the
    /// firmware can exit (semihosting).
    #[arg(long, value_name = "WHEN")]
    pub until: Vec<String>,
    /// What is around the chip.
    #[command(flatten)]
    pub world: World,
}

impl Setup {
    /// Registers the files that it names.
    pub fn files(&self, named: &mut files::FileSet) {
        self.board.files(named);
        self.world.files(named);
    }

    /// The options that were given: they make no sense without a firmware.
    pub fn given(&self) -> impl Iterator<Item = &'static str> {
        let given = [
            (!self.until.is_empty(), "--until"),
            (!self.world.uart.is_empty(), "--uart"),
            (!self.world.uart_input.is_empty(), "--uart-input"),
            (!self.world.adc.is_empty(), "--adc"),
            (!self.world.fuses.is_empty(), "--fuses"),
            (!self.world.ethernet.is_empty(), "--ethernet"),
            (!self.world.insert.is_empty(), "--insert"),
            (self.world.strict, "--strict"),
            (self.world.run_on, "--run-on"),
            (self.world.rtos.is_some(), "--rtos"),
            (self.world.interpret, "--interpret"),
            (self.world.execute_waits, "--execute-waits"),
            (self.world.bounds.is_some(), "--bounds"),
            (!self.world.trace_write.is_empty(), "--trace-write"),
            (self.world.pictures.is_some(), "--pictures"),
        ];
        let own = given.into_iter().filter(|(is, _)| *is).map(|(_, option)| option);
        self.board.given().chain(own)
    }

    /// The terminal with the ends of serial lines and cables that the options name.
    pub fn host<'a>(&self) -> anyhow::Result<host::Terminal<'a>> {
        let ports = self.world.uart.iter().map(serial_ports::port).collect::<Result<_, _>>()?;
        let plugs = self.world.ethernet.iter().map(serial_ports::plug);
        let plugs = plugs.collect::<anyhow::Result<Vec<_>>>()?.into_iter().flatten();
        Ok(host::Terminal::new(self.world.quiet, ports, plugs.collect()))
    }
}

/// A file for something with a name.
#[derive(Clone)]
pub struct PathFor {
    /// Whose.
    pub name: String,
    /// The file.
    pub path: PathBuf,
}

impl std::str::FromStr for PathFor {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((name, path)) if !name.is_empty() && !path.is_empty() => {
                Ok(PathFor { name: name.to_owned(), path: path.into() })
            }
            _ => Err("write it NAME=FILE".to_owned()),
        }
    }
}
