//! Benchmarks of firmware: functions that the target kit marks, called on a simulated board after
//! start-up.
//!
//! Each input has a board of its own, which has run up to `main` and no further: so a row depends
//! neither on the others nor on which of them were chosen, and the same firmware gives the same
//! figures. Calls of one input follow each other on one board, so that what caches and allocators
//! remember shows.
//!
//! Where waits are modelled, everything is called once more in the low and in the high model, and
//! each figure has the bounds of the three: a benchmark that waits for a tick takes as long in all.

mod across;
mod growth;
mod measurement;
mod profile;

use std::sync::atomic::{AtomicBool, Ordering};

use crate::simulated::run_record::{EndReason, RunRecord};
use strobe_devices::board::Board;
use strobe_model::measurement::{Finding, Measurement, Severity};
use strobe_sim::model::Model;
use strobe_symbols::{Benchmark, Firmware};

pub use across::across;

use super::settings::{DEFAULT_LIMIT, HeapSettings, Settings};
use super::{Error, Quiet, bounding_runs, drive, heap, ready, record};

/// How benchmarks are run.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where start-up is over: a symbol or an address.
    pub after: String,
    /// How long start-up, and each call, may take, in nanoseconds of simulated time.
    pub timeout: u64,
    /// The benchmark and input whose profile goes with the figures.
    pub profile: Option<(String, Option<u32>)>,
}

impl Default for Options {
    fn default() -> Self {
        Options { after: "main".to_owned(), timeout: 1_000_000_000, profile: None }
    }
}

/// One call of a benchmark.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Call {
    cycles: u64,
    instructions: u64,
    stack: Option<u64>,
    /// Blocks and their bytes.
    allocated: Option<(u64, u64)>,
    interrupts: u64,
}

/// A benchmark with one input.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Row {
    name: String,
    /// None where the benchmark has none.
    input: Option<u32>,
    calls: Vec<Call>,
    /// Why it did not come to its end.
    failed: Option<String>,
}

/// Benchmarks of a firmware, as far as they have come.
pub struct Benched {
    /// The figures.
    pub measurement: Measurement,
    /// Benchmarks, with their inputs, that did not come to their end.
    pub failed: usize,
    /// Somebody stopped it: what had been measured until then is there.
    pub interrupted: bool,
    /// Modelled waits may be in it: a call is run again with their minima and maxima.
    is_modelled: bool,
}

/// Runs those of the firmware's benchmarks that are wanted, in the order of their names.
///
/// # Errors
/// When the board cannot be started; a benchmark that fails is a row with its reason.
pub fn bench(
    firmware: &Firmware,
    file: &str,
    board: &Board,
    options: &Options,
    wanted: &[&Benchmark],
    interrupted: &AtomicBool,
) -> Result<Benched, Error> {
    let heap = heap::find(firmware, None, false).is_ok();
    let one = |model: Model| {
        let bench = Bench { firmware, board, options, interrupted, heap, model, record: None };
        bench.all(file, wanted)
    };
    let mut likely = one(Model::Likely)?;
    if likely.is_modelled && !likely.interrupted {
        let whole = |model: Model| one(model).ok().filter(|benched| !benched.interrupted);
        enclose(&mut likely, bounding_runs::in_both(whole).as_ref());
        likely.interrupted = interrupted.load(Ordering::Relaxed);
    }
    Ok(likely)
}

/// Gives the figures the bounds that they have with those of the low and of the high model, if
/// there are any; what did not come to its end there has none.
fn enclose(likely: &mut Benched, others: Option<&[Benched; 2]>) {
    let mut are_all_enclosed = false;
    if let Some([low, high]) = others {
        bounding_runs::enclose(&mut likely.measurement, [&low.measurement, &high.measurement]);
        are_all_enclosed = [low, high].iter().all(|other| other.failed <= likely.failed);
    }
    if !are_all_enclosed {
        let finding = Finding::new(Severity::Note, bounding_runs::NO_BOUNDS, NOT_ALL);
        likely.measurement.findings.push(finding);
    }
}

const NOT_ALL: &str = "Not every call came to its end with the minimum and the maximum of each \
                       modelled wait: figures marked ~ have no bounds there.";

/// A row's own name.
fn label(name: &str, input: Option<u32>) -> String {
    match input {
        Some(input) => format!("{name}/{input}"),
        None => name.to_owned(),
    }
}

/// What all rows have in common.
struct Bench<'a> {
    firmware: &'a Firmware,
    board: &'a Board,
    options: &'a Options,
    interrupted: &'a AtomicBool,
    /// The firmware has memory allocators that are known.
    heap: bool,
    /// What the boards take of each wait.
    model: Model,
    /// What the first board was, and what was seen of its start-up.
    record: Option<RunRecord>,
}

impl Bench<'_> {
    /// All that are wanted.
    fn all(mut self, file: &str, wanted: &[&Benchmark]) -> Result<Benched, Error> {
        let (mut rows, mut profile) = (Vec::new(), Vec::new());
        let mut stopped = false;
        'all: for benchmark in wanted {
            let inputs = benchmark.inputs.iter().copied().map(Some);
            let none = benchmark.inputs.is_empty().then_some(None);
            for input in inputs.chain(none) {
                let row = self.row(benchmark, input)?;
                if self.interrupted.load(Ordering::Relaxed) {
                    stopped = true;
                    break 'all;
                }
                let asked = self.options.profile.as_ref();
                if asked.is_some_and(|(name, of)| *name == benchmark.name && *of == input)
                    && row.failed.is_none()
                {
                    profile = self.profile(benchmark, input)?;
                }
                rows.push(row);
            }
        }
        let failed = rows.iter().filter(|row| row.failed.is_some()).count();
        // What a call waits for is not counted by itself; only an AVR has no modelled wait.
        let is_modelled = self.board.arm_core().is_some();
        let found = measurement::Found {
            firmware: self.firmware,
            file,
            board: self.board,
            record: self.record.as_ref(),
            rows: &rows,
            is_modelled,
            watches_heap: self.heap,
            stopped,
        };
        let mut measurement = measurement::measurement(&found);
        measurement.sections.extend(profile);
        Ok(Benched { measurement, failed, interrupted: stopped, is_modelled })
    }

    fn row(&mut self, benchmark: &Benchmark, input: Option<u32>) -> Result<Row, Error> {
        let settings = Settings {
            until: Some(self.options.after.clone()),
            default_limit: Some(DEFAULT_LIMIT),
            limit: Some(super::Limit::Nanoseconds(self.options.timeout)),
            watch_stacks: true,
            heap: self.heap.then(HeapSettings::default),
            model: self.model,
            ..Settings::default()
        };
        let bus = ready(self.firmware, self.board, &settings)?;
        let mut run = drive::Run::new(self.firmware, self.board, &settings, bus, &mut Quiet)?;
        let started = run.drive(&mut Quiet, self.interrupted);
        let failed = match &started {
            EndReason::Reached { .. } => None,
            reason => {
                let why = self.why(reason);
                Some(format!("start-up did not reach {}: {why}", self.options.after))
            }
        };
        let mut row = Row { name: benchmark.name.clone(), input, calls: Vec::new(), failed };
        if row.failed.is_none() {
            self.calls(&mut run, benchmark, &mut row);
        }
        if self.record.is_none() {
            self.record = Some(record::make(self.firmware, self.board, &settings, run, started)?);
        }
        Ok(row)
    }

    fn calls(&self, run: &mut drive::Run, benchmark: &Benchmark, row: &mut Row) {
        let mut call = |function: u32| {
            let input = row.input.unwrap_or(0);
            let called =
                run.call(function, input, self.options.timeout, &mut Quiet, self.interrupted);
            called.map(|called| {
                let allocated = heap::allocated(run, called.at.0, called.at.1);
                (called, allocated)
            })
        };
        for _ in 0..benchmark.calls {
            if let Some(Err(reason)) = benchmark.setup.map(&mut call) {
                row.failed = Some(format!("its preparation: {}", self.why(&reason)));
                return;
            }
            match call(benchmark.function) {
                Ok((called, allocated)) => {
                    let drive::Called { cycles, instructions, stack, interrupts, .. } = called;
                    row.calls.push(Call { cycles, instructions, stack, allocated, interrupts });
                }
                Err(reason) => {
                    row.failed = Some(self.why(&reason));
                    return;
                }
            }
        }
    }

    /// Why something did not come to its end.
    fn why(&self, reason: &EndReason) -> String {
        match reason {
            EndReason::Limit | EndReason::DefaultLimit => {
                let milliseconds = self.options.timeout as f64 / 1e6;
                format!("not over after {milliseconds} ms of simulated time (--timeout)")
            }
            EndReason::Reached { place } => format!("it ended in {place}"),
            other => super::measurement::why_ended(other, self.firmware.machine()).text,
        }
    }
}
