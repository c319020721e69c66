//! Turns what was measured into what a person or a machine reads.
//!
//! [`text`] writes tables for a terminal or a log, [`mod@file`] writes and reads the versioned
//! form, [`export`] writes for viewers of others. Build servers read [`mod@bench`] and [`check`]
//! (test reports by [`junit`], summaries); [`picture`] writes what displays showed. All start from
//! one plain value, the measurement (`strobe_model::measurement`), and none knows a simulator, a
//! probe or an ELF file; what only those know (disassembly, source text) the measurement brings.
//!
//! Rules that every report here keeps: a percentage stands beside its count; a modelled number is
//! marked `~` and its bounds and reason are printed; tables add up to the total printed beneath
//! them; sleep is idle time, not hot code; what was lost or not modelled is said.
//!
//! ```
//! use strobe_model::measurement::{
//!     Ended, Instrument, Measurement, Quantity, Subject, Unit, Window,
//! };
//! use strobe_report::{Options, text};
//!
//! let subject = Subject { name: "minimal.elf".into(), ..Subject::default() };
//! let window = Window::untimed("nobody looked at the clock", Ended::default());
//! let mut measurement = Measurement::new(subject, Instrument::default(), window);
//! measurement.push_total("cycles", "cycles", Quantity::exact(3u64, Unit::CYCLES));
//! let mut out = Vec::new();
//! text::measurement(&measurement, &Default::default(), &Options::default(), &mut out)?;
//! assert!(String::from_utf8(out)?.starts_with("minimal.elf\n"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod bench;
pub mod check;
pub mod comparison;
mod excerpt;
pub mod export;
pub mod file;
pub mod junit;
mod markdown;
mod number;
mod options;
mod paint;
pub mod pairing;
pub mod picture;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod schema;
mod table;
pub mod text;
mod view;
pub mod visible;
mod words;

pub use excerpt::Excerpt;
pub use number::grouped;
pub use options::{Options, Style};
