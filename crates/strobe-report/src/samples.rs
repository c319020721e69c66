//! Records built by hand, one for each way a report can go. For tests only.

mod archives;
mod build;
mod buses;
mod faults;
pub(crate) mod measurements;
mod odd;
mod pins;
mod plan;
mod runs;
mod threads;
mod traced;

use strobe_model::Record;

pub(crate) use archives::{allocations, events, no_events, published};
pub(crate) use buses::{i2c, uart};
pub(crate) use faults::faulted;
pub(crate) use odd::zero;
pub(crate) use pins::{against, pins, simulated_pins};
pub(crate) use plan::plan;
pub(crate) use runs::{exact, modelled};
pub(crate) use threads::threaded;
pub(crate) use traced::sampled;

use faults::faulted_with_status;
use odd::{largest, long_names, without_symbols};
use runs::{unmodelled, windowed};
use traced::{replayed, traced};

/// All of them.
pub(crate) fn records() -> Vec<(&'static str, Record)> {
    vec![
        ("exact", exact()),
        ("threaded", threaded()),
        ("modelled", modelled()),
        ("windowed", windowed()),
        ("faulted", faulted()),
        ("faulted_with_status", faulted_with_status()),
        ("unmodelled", unmodelled()),
        ("without_symbols", without_symbols()),
        ("long_names", long_names()),
        ("zero", zero()),
        ("largest", largest()),
        ("sampled", sampled()),
        ("traced", traced()),
        ("replayed", replayed()),
    ]
}
