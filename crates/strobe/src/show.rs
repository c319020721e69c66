//! How a measurement is shown, alike in every command: whose part, what rows stand for, what else.

use strobe_analyse::attribution::{self, restricted};
use strobe_model::measurement::{Measurement, ids};
use strobe_report::text::{Selection, Tree};

use crate::exit;
use crate::output::OutputArgs;
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
pub fn selection(wanted: &OutputArgs, by: By, tree: bool, annotate: Vec<String>) -> Selection {
    let tree = tree.then(Tree::default);
    Selection { by: by.into(), tree, annotate, ..wanted.selection() }
}

/// It, its parts, and theirs.
fn with_parts(measurement: &Measurement) -> Vec<&Measurement> {
    let mut all = vec![measurement];
    let mut at = 0;
    while let Some(&one) = all.get(at) {
        all.extend(one.parts.iter().map(|part| &part.measurement));
        at += 1;
    }
    all
}

/// Whether what is asked of a profile can be shown.
///
/// # Errors
/// Where the measurement has none, and the option would be without effect.
pub fn profiled(measurement: &Measurement, by: By, trees: [(&str, bool); 2]) -> anyhow::Result<()> {
    let rows = match by {
        By::Function => None,
        By::Line => Some("--by line"),
        By::Address => Some("--by address"),
        By::File => Some("--by file"),
        By::Thread => Some("--by thread"),
    };
    let tree = trees.into_iter().find_map(|(name, given)| given.then_some(name));
    let Some(option) = rows.or(tree) else { return Ok(()) };
    if with_parts(measurement).iter().any(|m| m.profiles().next().is_some()) {
        return Ok(());
    }
    Err(exit::usage(format!("{option} is about profiles, and the measurement has none")))
}

/// Whether functions can be printed by instructions.
///
/// # Errors
/// Where the measurement has no disassembly with it, or no such function.
pub fn annotatable(measurement: &Measurement, functions: &[String]) -> anyhow::Result<()> {
    if functions.is_empty() {
        return Ok(());
    }
    let all = with_parts(measurement);
    let listed = |name: &String| {
        let column = |m: &&Measurement| {
            m.table(ids::section::DISASSEMBLY)?.column(ids::column::FUNCTION).cloned()
        };
        let columns = all.iter().filter_map(column);
        columns.flat_map(|column| column.cells).any(|cell| cell.text() == Some(name.as_str()))
    };
    let known = |name: &String| {
        let mut profiles = all.iter().flat_map(|m| m.profiles());
        listed(name) || profiles.any(|profile| profile.functions.name.contains(name))
    };
    if !all.iter().any(|m| m.table(ids::section::DISASSEMBLY).is_some()) {
        return Err(exit::usage(
            "--annotate: the measurement has no disassembly with it; `strobe run --attach \
             disassembly` puts it there",
        ));
    }
    match functions.iter().find(|name| !known(name)) {
        Some(name) => Err(exit::usage(format!("--annotate: there is no function {name} in it"))),
        None => Ok(()),
    }
}

/// The part of a measurement that belongs to a thread or interrupt; without a name, all of it.
///
/// # Errors
/// When nobody of that name has run.
pub fn part_of(measurement: Measurement, name: Option<&str>) -> anyhow::Result<Measurement> {
    let Some(name) = name else { return Ok(measurement) };
    restricted(&measurement, name).ok_or_else(|| {
        let labels = measurement.profiles().flat_map(|profile| &profile.labels);
        // Others are no threads: sections of an image, states of a heap's blocks.
        let labels = labels.filter(|label| ["thread", "handler"].contains(&label.key.as_str()));
        let mut known: Vec<&str> = labels.map(|label| label.value.as_str()).collect();
        known.dedup();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        exit::usage(format!("no thread or interrupt {name} has run; there were {known}"))
    })
}
