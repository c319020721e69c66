//! Reference results from other programs, to check the simulator against. For tests and benchmarks,
//! not for users.
//!
//! - [`Trace`] runs one of QEMU's Cortex-M machines and yields the registers before every
//!   instruction.
//! - [`compare`] runs anything that can stop anywhere ([`Stepper`]) in lockstep with such a trace.
//! - [`Simavr`](simavr::Simavr) does the same for AVR parts with simavr.
//! - [`count`] sums the manual's cycle table over a trace, by its own decoding.
//!
//! An oracle must be independent of the code under test: this crate must not depend on the
//! simulator.
//!
//! ```no_run
//! use std::{path::Path, time::Duration};
//! use strobe_oracle::{Stepper, Trace, compare};
//!
//! fn prove(mut core: impl Stepper) -> Result<(), Box<dyn std::error::Error>> {
//!     let elf = Path::new("firmware.elf");
//!     let trace = Trace::start(elf, Duration::from_secs(60))?;
//!     let agreed = compare(&mut core, trace)?;
//!     println!("{} instructions agree", agreed.instructions);
//!     Ok(())
//! }
//! ```

pub mod count;
mod dump;
mod lockstep;
mod program;
pub mod qemu;
pub mod simavr;
mod state;

pub use dump::{DumpError, DumpReader};
pub use lockstep::{Agreement, Disagreement, Step, Stepper, Stop, compare};
pub use program::{Program, ProgramError};
pub use qemu::{Trace, TraceError};
pub use state::{CpuState, FpState};
