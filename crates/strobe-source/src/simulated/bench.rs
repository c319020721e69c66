//! Benchmarks of firmware: functions that the target kit marks, called on a simulated board after
//! start-up.
//!
//! Each input has a board of its own, which has run up to `main` and no further: so a row depends
//! neither on the others nor on which of them were chosen, and the same firmware gives the same
//! figures. Calls of one input follow each other on one board, so that what caches and allocators
//! remember shows.

mod across;
mod growth;
mod measurement;
mod profile;

use std::sync::atomic::AtomicBool;

use strobe_model::measurement::Measurement;
use strobe_model::{Bounds, EndReason, Record};
use strobe_sim::board::Board;
use strobe_symbols::{Benchmark, Firmware};

pub use across::across;

use super::settings::{DEFAULT_LIMIT, HeapSettings, Settings};
use super::{Error, Quiet, drive, heap, ready, record};

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
    cycles: Bounds,
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
    let mut bench = Bench {
        firmware,
        board,
        options,
        interrupted,
        heap: heap::find(firmware, None, false).is_ok(),
        record: None,
    };
    let (mut rows, mut profile) = (Vec::new(), Vec::new());
    let mut stopped = false;
    'all: for benchmark in wanted {
        let inputs = benchmark.inputs.iter().copied().map(Some);
        let none = benchmark.inputs.is_empty().then_some(None);
        for input in inputs.chain(none) {
            let row = bench.row(benchmark, input)?;
            if interrupted.load(std::sync::atomic::Ordering::Relaxed) {
                stopped = true;
                break 'all;
            }
            let asked = options.profile.as_ref();
            if asked.is_some_and(|(name, of)| *name == benchmark.name && *of == input)
                && row.failed.is_none()
            {
                profile = bench.profile(benchmark, input)?;
            }
            rows.push(row);
        }
    }
    let failed = rows.iter().filter(|row| row.failed.is_some()).count();
    let found = measurement::Found {
        firmware,
        file,
        board,
        record: bench.record.as_ref(),
        rows: &rows,
        watches_heap: bench.heap,
        stopped,
    };
    let mut measurement = measurement::measurement(&found);
    measurement.sections.extend(profile);
    Ok(Benched { measurement, failed, interrupted: stopped })
}

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
    /// What the first board was, and what was seen of its start-up.
    record: Option<Record>,
}

impl Bench<'_> {
    fn row(&mut self, benchmark: &Benchmark, input: Option<u32>) -> Result<Row, Error> {
        let settings = Settings {
            until: Some(self.options.after.clone()),
            default_limit: Some(DEFAULT_LIMIT),
            limit: Some(super::Limit::Nanoseconds(self.options.timeout)),
            watch_stacks: true,
            heap: self.heap.then(HeapSettings::default),
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
            other => super::measurement::why_ended(other, self.board.core_name()).text,
        }
    }
}
