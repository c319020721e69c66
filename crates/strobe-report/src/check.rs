//! What others read of a check of budgets: test reports, annotations, summaries.

pub mod github;
pub mod junit;
pub mod markdown;

#[cfg(test)]
mod tests;
