//! Measurements built by hand, one for each way a report can go. For tests only.

pub(crate) mod measurements;
