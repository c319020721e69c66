//! What Stroboscope works out from what it measured: values in, values out.
//!
//! Nothing here opens a file, looks at a clock or knows an instrument. [`compare`] puts two measurements side by
//! side, [`figures`] finds every number by name, [`statistics`] says how sure
//! a figure from samples is, [`pairing`] whether two recordings of the same pins agree.

pub mod compare;
pub mod figures;
pub mod pairing;
pub mod statistics;
