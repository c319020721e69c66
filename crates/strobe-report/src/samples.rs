//! Records built by hand, one for each way a report can go. For tests only.

mod build;
mod cycles;
mod faults;
pub(crate) mod measurements;
mod odd;
mod runs;
mod threads;
mod traced;

use strobe_model::Record;

pub(crate) use cycles::{cycles, explained, explained_with_run};
pub(crate) use faults::faulted;
pub(crate) use odd::zero;
pub(crate) use runs::{exact, modelled};
pub(crate) use threads::threaded;
pub(crate) use traced::sampled;

use faults::faulted_with_status;
use odd::{largest, long_names, without_symbols};
use runs::{unmodelled, windowed};
use traced::{replayed, traced};

/// Those of simulated runs, which reports of records are for.
pub(crate) fn runs() -> Vec<(&'static str, Record)> {
    records().into_iter().filter(|(_, record)| record.traced.is_none()).collect()
}

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
