//! Files in which others have kept what trace pins told: lists of samples, texts and trees of allocations, tables of functions.
//!
//! They come from micro-ROS' benchmarking tools of 2019, and are read as they are: bytes that are no UTF-8 are replaced, lines that fit nothing
//! are kept and counted. What the values mean is for others to say.
//!
//! - [`samples`]: packets as JSON, of which samples of the program counter are taken.
//! - [`profile`]: a profile that was published, hits by function and address.
//! - [`allocations`]: what a traced allocator printed, and the call tree that was published of it.
//! - [`symbols`]: functions as comma-separated values.

pub mod allocations;
pub mod profile;
pub mod samples;
pub mod symbols;

/// A file that is not what it should be.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// JSON with a fault in it.
    #[error("not JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// Something is missing that makes it what it should be.
    #[error("{0}")]
    Lacks(&'static str),
    /// A line cannot be understood.
    #[error("line {line}: expected {wanted}, found `{found}`")]
    Line {
        /// From 1.
        line: usize,
        /// What should be there.
        wanted: &'static str,
        /// What is there, or its beginning.
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
