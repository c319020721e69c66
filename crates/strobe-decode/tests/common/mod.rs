//! What tests of traces share.

pub mod traces;
