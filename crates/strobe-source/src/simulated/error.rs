//! Errors of a run: the settings, the board or the image are wrong.

use strobe_devices::board::{BoardError, Problem};
use strobe_model::measurement::Unbalanced;
use strobe_model::spelling;
use strobe_sim::device::MediumError;
use strobe_symbols::SymbolError;

use super::heap::AllocatorsError;
use super::rtos::MissingSystem;
use super::vectors::VectorsError;

/// Why a run could not start or its record not be made.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The board description is at fault.
    #[error(transparent)]
    Board(#[from] BoardError),
    /// The image does not fit the board.
    #[error(
        "the firmware has {size} bytes to load at {address:#010x}, where board {board} has no \
         memory\n  \
         {advice}"
    )]
    DoesNotFit {
        /// First address without memory.
        address: u32,
        /// Bytes of the segment.
        size: usize,
        /// Board name.
        board: String,
        /// What to try.
        advice: String,
    },
    /// The board's core does not run the firmware's code.
    #[error(
        "the firmware is built for {built_for}, but board {board} has another core ({core})\n  \
         {advice}"
    )]
    WrongCore {
        /// The firmware's machine.
        built_for: &'static str,
        /// Board name.
        board: String,
        /// The board's core.
        core: String,
        /// What to try.
        advice: String,
    },
    /// The board has no core.
    #[error("board {board} has no core")]
    NoCore {
        /// Board name.
        board: String,
    },
    /// No usable vector table in the image.
    #[error("{error}\n  {advice}")]
    NoStart {
        /// Problem of the vector table.
        error: VectorsError,
        /// What to try.
        advice: String,
    },
    /// No usable vector table at reset.
    #[error(transparent)]
    Vectors(#[from] VectorsError),
    /// A symbol or place that the settings name.
    #[error(transparent)]
    Symbol(#[from] PlaceError),
    /// A pin that the settings name.
    #[error("board {board} has no pin {pin}")]
    Pin {
        /// As given.
        pin: String,
        /// Board name.
        board: String,
    },
    /// A serial port that the settings name.
    #[error("board {board} has no serial port {device}; {known}")]
    Serial {
        /// As given.
        device: String,
        /// Board name.
        board: String,
        /// What there is.
        known: String,
    },
    /// An Ethernet controller that the settings name.
    #[error("board {board} has no Ethernet controller {device}; {known}")]
    Network {
        /// As given.
        device: String,
        /// Board name.
        board: String,
        /// What there is.
        known: String,
    },
    /// A register that the trace settings write.
    #[error(
        "board {board} has no register at {address:#010x} for a debugger to write; the trace \
         blocks are those of a Cortex-M3 or M4"
    )]
    Register {
        /// Where nothing answers.
        address: u32,
        /// Board name.
        board: String,
    },
    /// A part that the settings name.
    #[error("board {board} has no part {part}; {known}")]
    Part {
        /// As given.
        part: String,
        /// Board name.
        board: String,
        /// What there is.
        known: String,
    },
    /// What was to be put into a part.
    #[error("part {part}: {problem}")]
    Medium {
        /// The part.
        part: String,
        /// Why it cannot be.
        problem: MediumError,
    },
    /// The wires of a rig.
    #[error(transparent)]
    Wires(#[from] WireError),
    /// An analog channel that the settings name.
    #[error(
        "board {board} has no analog channel {channel}; a converter's channels are ADC0, ADC1 and \
         so on"
    )]
    Analog {
        /// As given.
        channel: String,
        /// Board name.
        board: String,
    },
    /// Fuses for a board that has none.
    #[error("board {board} has no fuses: only AVRs have")]
    Fuses {
        /// Board name.
        board: String,
    },
    /// The operating system that the settings name.
    #[error(transparent)]
    Rtos(#[from] MissingSystem),
    /// There is no memory allocator to watch.
    #[error(transparent)]
    Allocators(#[from] AllocatorsError),
    /// Our own accounting is wrong: a defect, never the firmware's fault.
    #[error("{0}; this is a defect of strobe, please report it with the firmware")]
    Balance(#[from] Unbalanced),
}

/// Error in a symbol or place that the settings name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlaceError {
    /// The name does not resolve to one address.
    #[error(transparent)]
    Symbol(#[from] SymbolError),
    /// A pin with an unknown edge.
    #[error("{spot}: {word:?} is no edge; {}", spelling::EDGES)]
    Edge {
        /// As given.
        spot: String,
        /// The word after the pin.
        word: String,
    },
    /// A variable where code is expected.
    #[error(
        "{spot} is a variable, at {address:#010x}, which no run reaches: name code, such as the \
         function that changes it"
    )]
    Variable {
        /// As given.
        spot: String,
        /// Address of the variable.
        address: u32,
    },
    /// A function of `--calls` inside the code of another one.
    #[error(
        "--calls {name}: its code is also the end of {around}, and both are counted as one: \
         --calls {around} names them"
    )]
    SharedCode {
        /// As given.
        name: String,
        /// The function around it.
        around: String,
    },
    /// An address of `--calls` without a function.
    #[error("--calls {name}: no function begins at {address:#010x}")]
    NoFunctionStart {
        /// As given.
        name: String,
        /// Address of the symbol.
        address: u32,
    },
    /// Too many functions of `--calls`.
    #[error("--calls: {count} functions, of at most {limit}")]
    TooManyCalls {
        /// Functions given.
        count: usize,
        /// Functions possible.
        limit: usize,
    },
    /// A name of `--idle` that is not a function.
    #[error("--idle {name}: this is not a function")]
    IdleFunction {
        /// As given.
        name: String,
    },
}

/// Error in the wires of a rig.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WireError {
    /// Two wires to one pin.
    #[error("two wires end at pin {pin}")]
    SharedEnd {
        /// Name of the pin.
        pin: String,
    },
    /// A wire that the chip cannot have.
    #[error("a wire: {problem}")]
    Invalid {
        /// Problem of the part that has the chip's ends of the wires.
        problem: Problem,
    },
}
