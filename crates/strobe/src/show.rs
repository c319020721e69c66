//! How a measurement is shown, alike in every command: whose part, what rows stand for, what else.

use strobe_analyse::attribution::{self, restricted};
use strobe_model::measurement::Measurement;
use strobe_report::text::{Selection, Tree};

use crate::exit;
use crate::output::Wanted;
use crate::run::By;

impl From<By> for attribution::By {
    fn from(by: By) -> Self {
        match by {
            By::Function => attribution::By::Function,
            By::Line => attribution::By::Line,
            By::Address => attribution::By::Address,
            By::File => attribution::By::File,
            By::Thread => attribution::By::Label(["thread", "handler"].map(str::to_owned).into()),
        }
    }
}

/// What of a measurement is shown as text.
pub fn selection(wanted: &Wanted, by: By, tree: bool, annotate: Vec<String>) -> Selection {
    let tree = tree.then(Tree::default);
    Selection { by: by.into(), tree, annotate, ..wanted.selection() }
}

/// The part of a measurement that belongs to a thread or interrupt; without a name, all of it.
///
/// # Errors
/// When nobody of that name has run.
pub fn part_of(measurement: Measurement, name: Option<&str>) -> anyhow::Result<Measurement> {
    let Some(name) = name else { return Ok(measurement) };
    restricted(&measurement, name).ok_or_else(|| {
        let labels = measurement.profiles().flat_map(|profile| &profile.labels);
        let mut known: Vec<&str> = labels.map(|label| label.value.as_str()).collect();
        known.dedup();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        exit::usage(format!("no thread or interrupt {name} has run; there were {known}"))
    })
}
