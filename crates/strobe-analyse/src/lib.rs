//! What Stroboscope works out from what it measured: values in, values out.
//!
//! Nothing here opens a file, looks at a clock or knows an instrument. [`attribution`] adds up a
//! profile by function, line, address, file, label and call chain; [`budget`] holds figures against
//! limits; [`compare`] puts two measurements side by side; [`envelope`] bounds one by two others;
//! [`evidence`] has notes follow a table whose figures they state; [`figures`] finds every number
//! by name; [`naming`] has what rows of tables are of; [`statistics`] gives the interval of a
//! figure from samples; [`paint`] reads how far a stack was used.

pub mod attribution;
mod bands;
pub mod budget;
pub mod compare;
pub mod envelope;
pub mod evidence;
pub mod figures;
pub mod naming;
pub mod paint;
pub mod statistics;
