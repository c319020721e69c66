//! What is around the chip, and how strict the simulation is.

use std::path::PathBuf;

use strobe_link::network;
use strobe_link::serial::{InputSpec, Source, Spec, Target};
use strobe_source::simulated::trace::RegisterWrite;

use super::PathFor;
use crate::{analog, files};

/// What is around the chip, and how strict the simulation is: the same in every command that
/// simulates.
#[derive(clap::Args, Clone, Default)]
#[command(next_help_heading = "Simulation")]
pub struct World {
    /// Join a serial device to the host: `USART1=pty`, `USART2=file:log.txt`, `USART1=stdout`,
    /// `=stderr`, `=null`; by default what devices send goes to standard error. Files and
    /// pseudo-terminals get the bytes; elsewhere control characters are shown as `\x1b`. With
    /// `pty`, where somebody may type, the board runs no faster than a real one.
    #[arg(long, value_name = "DEVICE=TARGET")]
    pub(super) uart: Vec<Spec>,
    /// Send a serial device bytes that are known before, the same at every run:
    /// `USART1=file:script.txt` or `USART1=stdin` (read to its end first). They arrive at the
    /// line's speed once the firmware switches its receiver on; what it does not take in time
    /// is overrun, as on a chip, and reported.
    #[arg(long, value_name = "DEVICE=SOURCE")]
    pub(super) uart_input: Vec<InputSpec>,
    /// Do not send them before this time, such as `500ms`, when a shell is up.
    #[arg(long, value_name = "TIME", requires = "uart_input")]
    pub(super) uart_input_after: Option<String>,
    /// What comes in at a channel of the analog to digital converter: `ADC0=512`, or
    /// `ADC0=file:samples.csv`, a value in each line (one for each conversion) or a time in
    /// seconds and the value from then on; by default the board file's.
    #[arg(long, value_name = "CHANNEL=VALUE|file:FILE")]
    pub(super) adc: Vec<analog::Spec>,
    /// An AVR's fuses as avrdude shows them, low, high and extended: `0xff,0xde,0xfd`. They choose
    /// the clock. By default those that the firmware brings (`.fuse`), if any, else the
    /// board file's.
    #[arg(
        long,
        value_name = "LOW[,HIGH[,EXTENDED]]",
        value_delimiter = ',',
        num_args = 1..,
        value_parser = fuse
    )]
    pub(super) fuses: Vec<u8>,
    /// Join an Ethernet controller to the host: `ETH=tap:strobe0`, a TAP interface of Linux; or
    /// `ETH=loopback`, a plug that returns each frame, or `ETH=none`; by default the
    /// board file's.
    #[arg(long, value_name = "DEVICE=TARGET")]
    pub(super) ethernet: Vec<network::Spec>,
    /// An access to a register that is not modelled ends the run; without this it keeps its last
    /// value and is listed in the report.
    #[arg(long)]
    pub(super) strict: bool,
    /// After a fault go on into the firmware's HardFault handler, instead of ending there.
    #[arg(long)]
    pub(super) run_on: bool,
    /// Where an operating system keeps its threads: a description as in crates/strobe-source/rtos,
    /// or `none` to distinguish threads by their stacks alone. FreeRTOS, NuttX, RIOT and Zephyr are
    /// recognised without.
    #[arg(long, value_name = "FILE|none")]
    pub(super) rtos: Option<String>,
    /// Do not compile hot code for the host: the same figures, several times more slowly.
    #[arg(long)]
    pub(super) interpret: bool,
    /// Execute every iteration of busy waits instead of skipping them: the same figures, much more
    /// slowly.
    #[arg(long)]
    pub(super) execute_waits: bool,
    /// Write a word to a register before the run, as a debugger does: `0xe0001000=0x40001e1f`.
    /// This is how the trace blocks of a Cortex-M3 or M4 are programmed from outside. May be
    /// given several times; the order counts.
    #[arg(long, value_name = "ADDRESS=VALUE")]
    pub(super) trace_write: Vec<RegisterWrite>,
    /// Bounds of modelled figures: `runs` makes two further runs, with the minimum and with the
    /// maximum of each modelled wait, side by side after the first; `none` makes no further run.
    /// Default: `runs`, but `none` with interactive input, and above 400 million instructions
    /// where the run has no given end or pins are recorded.
    #[arg(long, value_name = "FROM", value_enum)]
    pub(super) bounds: Option<BoundsFrom>,
    /// Do not show what the firmware prints.
    #[arg(long, short)]
    pub quiet: bool,
    /// Keep what displays and lamps beside the chip show: PNG files, and pictures.json, with the
    /// times of each.
    #[arg(long, value_name = "DIR")]
    pub pictures: Option<PathBuf>,
    /// Put a file into a part beside the chip: the image of a memory card, `card=card.img`.
    #[arg(long, value_name = "PART=FILE")]
    pub insert: Vec<PathFor>,
}

impl World {
    /// Whether bytes are sent to serial devices.
    pub fn has_serial_input(&self) -> bool {
        !self.uart_input.is_empty()
    }

    /// Registers the files that it names.
    pub fn files(&self, named: &mut files::FileSet) {
        for spec in &self.uart_input {
            if let Source::File(path) = &spec.source {
                named.reads([path]);
            }
        }
        named.reads(self.adc.iter().filter_map(analog::Spec::path));
        named.reads(self.rtos.iter().filter(|name| *name != "none"));
        named.reads(self.insert.iter().map(|insert| &insert.path));
        for spec in &self.uart {
            if let Target::File(path) = &spec.target {
                named.writes(&format!("--uart {}", spec.device), [path]);
            }
        }
    }

    /// Whether somebody types, or other machines send something.
    pub(super) fn is_open(&self) -> bool {
        self.uart.iter().any(|spec| spec.target == Target::Pty)
            || self.ethernet.iter().any(|spec| matches!(spec.target, network::Target::Tap(_)))
    }

    /// The same without what the firmware prints.
    #[must_use]
    pub fn silent(&self) -> Self {
        World { quiet: true, ..self.clone() }
    }
}

/// Where bounds of modelled figures are from.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum BoundsFrom {
    /// Runs of the low and the high model.
    Runs,
    /// No further runs, and no bounds.
    None,
}

/// A byte in any base: `0xde`, `222`, `0b11011110`.
fn fuse(text: &str) -> Result<u8, String> {
    let lower = text.to_ascii_lowercase();
    let parsed = match (lower.strip_prefix("0x"), lower.strip_prefix("0b")) {
        (Some(digits), _) => u8::from_str_radix(digits, 16),
        (_, Some(digits)) => u8::from_str_radix(digits, 2),
        _ => lower.parse(),
    };
    parsed.map_err(|_| "a byte, such as 0xff".to_owned())
}
