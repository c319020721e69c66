//! Turns what was measured into what a person or a machine reads.
//!
//! [`text`] writes tables for a terminal or a log, [`json`] writes and reads the versioned form,
//! [`export`] writes time lines for viewers. Both start from plain values (`strobe_model`), and
//! neither knows a simulator, a probe or an ELF file; what only those know (disassembly, source
//! text) the caller brings.
//!
//! Rules that every report here keeps: a percentage stands beside its count; a modelled number is
//! marked `~` and its bounds and reason are printed; tables add up to the total printed beneath
//! them; sleep is idle time, not hot code; what was lost or not modelled is said.
//!
//! ```
//! use strobe_report::{Options, text};
//! # let json = include_str!("../tests/minimal.json");
//! let record = strobe_report::json::parse(json)?;
//! let mut out = Vec::new();
//! text::summary(&record, &Options::default(), &mut out)?;
//! assert!(String::from_utf8(out)?.starts_with("minimal.elf on "));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod excerpt;
pub mod export;
mod figure;
pub mod file;
pub mod json;
mod number;
mod options;
mod paint;
pub mod picture;
#[cfg(test)]
mod samples;
mod table;
pub mod text;
mod view;
pub mod visible;
mod words;

pub use excerpt::Excerpt;
pub use number::grouped;
pub use options::{Options, Style};
