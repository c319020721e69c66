//! What Stroboscope works out from what it measured: values in, values out.
//!
//! Nothing here opens a file, looks at a clock or knows an instrument. [`attribution`] adds up a
//! profile by function, line, address, file, label and call chain; [`statistics`] says how sure a
//! figure from samples is.

pub mod attribution;
pub mod statistics;
