//! Commands of the host side by side: what each takes, and whether they differ.
//!
//! [`host`] runs one command under a supervisor, which measures it and leaves no process behind,
//! whatever happens. [`mod@bench`] runs variants in rounds, each round in a random order, and
//! decides as samples arrive (`strobe_analyse::statistics`); [`judge`] has what the rounds show.
//! [`mod@file`] reads an experiment's description with its [`placeholders`], [`experiment`] carries
//! it out, and [`claim`] is what it holds somebody's figures against. [`agents`] are loaded into
//! the runtime of a variant, [`profile`] reads what other instruments write about one, and
//! [`samples`] keeps the raw values. All of it ends in a measurement, which [`measurement`] makes.
//!
//! Unlike other crates this one starts processes, looks at the clock and keeps files of its own:
//! it is a source, the far end of the pipeline. It prints nothing.

pub mod agents;
mod answer;
pub mod bench;
pub mod claim;
mod counts;
mod events;
pub mod experiment;
pub mod file;
pub mod host;
pub mod judge;
mod lock;
pub mod measurement;
mod pictures;
pub mod placeholders;
pub mod profile;
pub mod samples;
mod settings;
