//! Statistics of every command that judges samples: values in, intervals and verdicts out.
//!
//! [`wilson`] bounds a share that was counted on samples.

mod proportion;

pub use proportion::wilson;
