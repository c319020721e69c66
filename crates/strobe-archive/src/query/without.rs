//! What stands in for SQL in a build without it.

use std::path::Path;

use crate::answer::{Answer, QueryError};

/// Whether this build has it.
pub const IS_THERE: bool = false;

/// Answers nothing.
///
/// # Errors
/// Always: how to get it.
pub fn run(_directory: &Path, _statement: &str) -> Result<Answer, QueryError> {
    Err(QueryError::Without)
}
