//! Error: no built-in board fits a firmware.

use strobe_devices::board::BoardError;

/// No built-in board fits a firmware.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FitError {
    /// The description of a built-in board is wrong.
    #[error(transparent)]
    Board(#[from] BoardError),
    /// No simulated core has the instructions of the build.
    #[error(
        "the firmware is built for {built_for}, and no core that strobe simulates runs that{}\
         \n  --board names one all the same, where the code does without its new instructions",
        by_registers(.likely)
    )]
    Architecture {
        /// The architecture.
        built_for: &'static str,
        /// The likely chips by the registers that code uses, or empty.
        likely: String,
    },
    /// No board has the chip's memories and peripherals.
    #[error("no built-in board fits this firmware: it is built for {built_for}{evidence}{advice}")]
    NoBoard {
        /// The part or the architecture.
        built_for: String,
        /// Clauses with the other evidence, as `, programmed to 0x08000000..0x08001000`.
        evidence: String,
        /// What to try.
        advice: String,
    },
}

fn by_registers(likely: &str) -> String {
    match likely {
        "" => String::new(),
        likely => format!("; by its registers it is for {likely}"),
    }
}
