//! Archived results of other trace tools: lists of samples, texts and trees of allocations, tables
//! of functions.
//!
//! The formats are those of micro-ROS' benchmarking tools of 2019. Invalid UTF-8 is replaced;
//! unrecognised lines are kept and counted. This module does not interpret the values.
//!
//! - [`samples`]: packets as JSON, of which samples of the program counter are taken.
//! - [`profile`]: a published profile, hits by function and address.
//! - [`allocations`]: the output of a traced allocator, and the call tree published from it.
//! - [`symbols`]: functions as comma-separated values.

pub mod allocations;
pub mod profile;
pub mod samples;
pub mod symbols;

/// Why an archived file cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Invalid JSON.
    #[error("not JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// A part that the format requires is missing.
    #[error("{0}")]
    Lacks(&'static str),
    /// A line does not match the format.
    #[error("line {line}: expected {wanted}, found `{found}`")]
    Line {
        /// From 1.
        line: usize,
        /// The expected content.
        wanted: &'static str,
        /// The content found, or the beginning of it.
        found: String,
    },
}

/// `0x08000123`.
fn address(text: &str) -> Option<u32> {
    u32::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

/// The beginning of a line, for an error.
fn begun(line: &str) -> String {
    line.chars().take(60).collect()
}
