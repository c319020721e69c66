//! From budgets and measurements to lines with verdicts.

use std::collections::BTreeMap;
use std::path::Path;

use strobe_analyse::budget::{
    Figure, Judged, Line, Reason, Share, Stored, Verdict, adds_up, changes, contributors, judge,
};
use strobe_model::measurement::{CORE_TIMING, Finding, Measurement, Severity};
use strobe_report::check::reason;

use super::baseline::{Accepted, Baseline, Entry};
use super::config::{Config, Firmware};
use super::entry::Budget;
use super::error::StepError;
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
    Revision(All),
}

/// What a figure was.
#[derive(Default)]
struct Before {
    stored: Option<Stored>,
    functions: BTreeMap<String, i64>,
    /// All functions are there, not the largest only.
    complete: bool,
}

impl Before {
    /// Functions that are not as they were: where none of the stored ones changed, the change is
    /// among these.
    fn others(&self, now: &[Share]) -> Vec<Share> {
        let others = now.iter().filter(|of| self.functions.get(&of.name) != Some(&of.value));
        others.cloned().collect()
    }
}

/// The measurements of all firmwares.
pub type All = BTreeMap<String, Result<Measured, StepError>>;

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
) -> Result<(Figure, &'a Measurement), Reason> {
    let measurement = of_budget(firmware, budget, all).map_err(unmeasured)?;
    let wrong = measure::nothing_there(firmware, budget, directory)
        .or_else(|| measure::wrong_mark(budget, measurement));
    if let Some(why) = wrong {
        return Err(unmeasured(why));
    }
    let found = budget.selector.find(measurement).map_err(Reason::Missing)?;
    Ok((found, measurement))
}

/// The measurement that has a budget's figure.
fn of_budget<'a>(
    firmware: &Firmware,
    budget: &Budget,
    all: &'a All,
) -> Result<&'a Measurement, StepError> {
    let measured = all.get(&firmware.name).ok_or(StepError::NotMeasured)?;
    let measured = measured.as_ref().map_err(Clone::clone)?;
    measured.get(&budget.from).ok_or(StepError::NotMeasured)?.as_ref().map_err(Clone::clone)
}

/// Why a budget is not judged.
fn unmeasured(error: StepError) -> Reason {
    Reason::Unmeasured(error.to_string())
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
        Err(error) if is_relative(budget) => {
            // What is known of today is known all the same.
            let value = Some(figure.quantity.clone());
            let broken = Judged::broken(unmeasured(error));
            return (Judged { value, ..broken }, Vec::new());
        }
        Err(_) => Before::default(),
    };
    let judged = judge(figure, &budget.limits, before.stored.as_ref());
    if judged.verdict == Verdict::Held {
        return (judged, Vec::new());
    }
    let now = contributors(measurement, &budget.selector);
    let mut functions = Vec::new();
    if before.stored.is_some() && adds_up(&budget.selector) {
        functions = changes(&now, &before.functions, before.complete);
        if functions.is_empty() {
            functions = before.others(&now);
        }
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
) -> Result<Before, StepError> {
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
            let old = of_budget(firmware, budget, all).map_err(of_revision)?;
            let figure = budget.selector.find(old);
            let figure = figure
                .map_err(|missing| of_revision(StepError::Missing(reason::missing(&missing))))?;
            let shares = contributors(old, &budget.selector);
            let functions = shares.into_iter().map(|share| (share.name, share.value)).collect();
            Ok(Before { stored: Stored::of(&figure.quantity), functions, complete: true })
        }
    }
}

fn of_revision(error: StepError) -> StepError {
    StepError::OfRevision(Box::new(error))
}

/// What would be accepted, and the lines of budgets that have no figure.
pub fn accepted(config: &Config, all: &All, directory: &Path) -> (Baseline, Vec<String>) {
    let mut missing = Vec::new();
    let mut firmwares = BTreeMap::new();
    for firmware in &config.firmware {
        let file = input::file_name(&firmware.elf);
        let mut accepted = Accepted { file, ..Accepted::default() };
        for budget in &firmware.budgets {
            match figure(firmware, budget, all, directory) {
                Err(why) => {
                    missing.push(format!("{}: {}", title(firmware, budget), reason::text(&why)))
                }
                Ok((figure, measurement)) => {
                    let shares = contributors(measurement, &budget.selector);
                    let board = measurement.subject.board.clone();
                    accepted.board = accepted.board.or(board);
                    match Entry::of(&figure.quantity, &shares) {
                        Some(entry) => drop(accepted.budget.insert(budget.name.clone(), entry)),
                        None => {
                            let title = title(firmware, budget);
                            missing.push(format!("{title}: its figure is not known"));
                        }
                    }
                }
            }
        }
        firmwares.insert(firmware.name.clone(), accepted);
    }
    (Baseline::new(firmwares), missing)
}

/// Firmware and budget.
fn title(firmware: &Firmware, budget: &Budget) -> String {
    format!("{}: {}", firmware.name, budget.name)
}
