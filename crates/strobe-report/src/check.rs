//! What others read of a check of budgets: test reports, annotations, summaries.

pub mod github;
pub mod junit;
pub mod line;
pub mod markdown;
pub mod reason;

#[cfg(test)]
mod tests;
