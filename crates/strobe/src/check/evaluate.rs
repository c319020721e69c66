//! From budgets and measurements to lines with verdicts.

use std::collections::BTreeMap;
use std::path::Path;

use strobe_analyse::budget::{
    Figure, Judged, Line, Share, Stored, adds_up, changes, contributors, judge,
};
use strobe_model::measurement::{CORE_TIMING, Finding, Measurement, Severity};

use super::baseline::{Accepted, Baseline, Entry};
use super::config::{Config, Firmware};
use super::entry::Budget;
use super::measure::{self, Measured};
use crate::input;

/// Functions that are named for a figure that is not held.
const NAMED: usize = 5;

/// What relative limits count from.
pub enum Base {
    /// Nothing is stored.
    None,
    /// What was accepted.
    Accepted(Baseline),
    /// Another revision's measurements, by firmware.
    Revision(BTreeMap<String, Result<Measured, String>>),
}

/// What a figure was.
#[derive(Default)]
struct Before {
    stored: Option<Stored>,
    functions: BTreeMap<String, i64>,
    /// All functions are there, not the largest only.
    complete: bool,
}

/// The measurements of all firmwares.
pub type All = BTreeMap<String, Result<Measured, String>>;

/// Builds and measures all firmwares in that directory.
pub fn measured(config: &Config, directory: &Path) -> All {
    let one = |firmware: &Firmware| (firmware.name.clone(), measure::measure(firmware, directory));
    config.firmware.iter().map(one).collect()
}

/// Where the timing of a core is inferred: limits are held against the model's cycles.
pub fn timings(all: &All) -> Vec<Finding> {
    let mut out = Vec::new();
    for (firmware, measured) in all {
        let mut runs = measured.iter().flat_map(BTreeMap::values).flatten();
        let band = runs.find_map(|run| {
            let fact = run.subject.facts.iter().find(|fact| fact.name == CORE_TIMING)?;
            fact.figure.as_ref()?.trust().bounds()
        });
        let Some((low, high)) = band else { continue };
        let text = format!(
            "{firmware}: limits are held against the model's cycles; of each 100 that the core \
             works, a chip takes {} to {} (docs/accuracy.md)",
            low.as_f64(),
            high.as_f64()
        );
        out.push(Finding::new(Severity::Note, "core-timing", text));
    }
    out
}

/// Holds all budgets against their figures.
pub fn lines(config: &Config, all: &All, base: &Base, directory: &Path) -> Vec<Line> {
    let mut lines = Vec::new();
    for firmware in &config.firmware {
        for budget in &firmware.budgets {
            let (judged, functions) = match figure(firmware, budget, all, directory) {
                Ok((figure, measurement)) => judged(firmware, budget, &figure, measurement, base),
                Err(reason) => (Judged::broken(reason), Vec::new()),
            };
            lines.push(Line {
                firmware: firmware.name.clone(),
                name: budget.name.clone(),
                limits: budget.limits.clone(),
                judged,
                functions,
            });
        }
    }
    lines
}

/// A budget's figure, with the measurement that it is from.
fn figure<'a>(
    firmware: &Firmware,
    budget: &Budget,
    all: &'a All,
    directory: &Path,
) -> Result<(Figure, &'a Measurement), String> {
    let none = || "it was not measured".to_owned();
    let measured = all.get(&firmware.name).ok_or_else(none)?.as_ref().map_err(Clone::clone)?;
    let measurement =
        measured.get(&budget.from).ok_or_else(none)?.as_ref().map_err(Clone::clone)?;
    if let Some(why) = measure::nothing_there(firmware, budget, directory) {
        return Err(why);
    }
    if let Some(why) = measure::wrong_mark(budget, measurement) {
        return Err(why);
    }
    let found = budget.selector.find(measurement).map_err(|missing| missing.to_string())?;
    Ok((found, measurement))
}

fn judged(
    firmware: &Firmware,
    budget: &Budget,
    figure: &Figure,
    measurement: &Measurement,
    base: &Base,
) -> (Judged, Vec<Share>) {
    let before = match before(firmware, budget, measurement, base) {
        Ok(before) => before,
        // Only relative limits need what is stored.
        Err(reason) if is_relative(budget) => {
            // What is known of today is known all the same.
            let value = figure.quantity.clone();
            return (Judged { value, ..Judged::broken(reason) }, Vec::new());
        }
        Err(_) => Before::default(),
    };
    let judged = judge(figure, &budget.limits, before.stored.as_ref());
    if judged.verdict == strobe_analyse::budget::Verdict::Held {
        return (judged, Vec::new());
    }
    let now = contributors(measurement, &budget.selector);
    let is_known = before.stored.is_some() && adds_up(&budget.selector);
    let mut functions = match is_known {
        true => changes(&now, &before.functions, before.complete),
        false => Vec::new(),
    };
    if functions.is_empty() {
        // What is as it was is not what changed, which is not among the stored ones then.
        let is_as_before = |share: &Share| before.functions.get(&share.name) == Some(&share.value);
        let others = || now.iter().filter(|share| !is_as_before(share)).cloned().collect();
        functions = if is_known { others() } else { Vec::new() };
    }
    if functions.is_empty() {
        functions = now;
    }
    functions.truncate(NAMED);
    (judged, functions)
}

fn is_relative(budget: &Budget) -> bool {
    [&budget.limits.least, &budget.limits.most].into_iter().flatten().any(|limit| limit.relative)
}

fn before(
    firmware: &Firmware,
    budget: &Budget,
    measurement: &Measurement,
    base: &Base,
) -> Result<Before, String> {
    match base {
        Base::None => Ok(Before::default()),
        Base::Accepted(baseline) => {
            let Some(accepted) = baseline.firmware.get(&firmware.name) else {
                return Ok(Before::default());
            };
            if let Some(why) = accepted.mismatch(&input::file_name(&firmware.elf), measurement) {
                return Err(why);
            }
            let Some(entry) = accepted.budget.get(&budget.name) else {
                return Ok(Before::default());
            };
            let (stored, functions) = (Some(entry.stored()), entry.functions.clone());
            Ok(Before { stored, functions, complete: false })
        }
        Base::Revision(all) => {
            let there = |e: String| format!("of the other revision: {e}");
            let none = || there("it was not measured".to_owned());
            let measured = all.get(&firmware.name).ok_or_else(none)?;
            let measured = measured.as_ref().map_err(|e| there(e.clone()))?;
            let old = measured.get(&budget.from).ok_or_else(none)?;
            let old = old.as_ref().map_err(|e| there(e.clone()))?;
            let figure = budget.selector.find(old).map_err(|e| there(e.to_string()))?;
            let shares = contributors(old, &budget.selector);
            let functions = shares.into_iter().map(|share| (share.name, share.value)).collect();
            Ok(Before { stored: Stored::of(&figure.quantity), functions, complete: true })
        }
    }
}

/// What would be accepted, and the lines of budgets that have no figure.
pub fn accepted(config: &Config, all: &All, directory: &Path) -> (Baseline, Vec<String>) {
    let mut missing = Vec::new();
    let mut firmwares = BTreeMap::new();
    for firmware in &config.firmware {
        let file = input::file_name(&firmware.elf);
        let mut accepted = Accepted { file, ..Accepted::default() };
        for budget in &firmware.budgets {
            let name = || format!("{}: {}", firmware.name, budget.name);
            match figure(firmware, budget, all, directory) {
                Err(reason) => missing.push(format!("{}: {reason}", name())),
                Ok((figure, measurement)) => {
                    let shares = contributors(measurement, &budget.selector);
                    let board = measurement.subject.board.clone();
                    accepted.board = accepted.board.or(board);
                    match Entry::of(&figure.quantity, &shares) {
                        Some(entry) => drop(accepted.budget.insert(budget.name.clone(), entry)),
                        None => missing.push(format!("{}: its figure is not known", name())),
                    }
                }
            }
        }
        firmwares.insert(firmware.name.clone(), accepted);
    }
    (Baseline::new(firmwares), missing)
}
