//! One function explained from the manual's tables: what each instruction costs and why, with block
//! and loop sums, and with what a run saw beside them when there was one.

mod arm;
mod avr;
mod flow;
mod measurement;
pub mod report;
mod seen;
#[cfg(test)]
mod tests;

use std::ops::Range;

use crate::code_profile::AddressSample;
use crate::cycles::report::{
    BlockCycles, CausedCycles, CycleRange, CyclesReport, FunctionCycles, InstructionCycles,
    LoopCycles, RunCycles, SourceLine,
};
use crate::simulated::run_record::RunRecord;
use strobe_devices::board::{Board, BoardError};
use strobe_model::{Bounds, Cause};
use strobe_symbols::{Firmware, Function, Instruction};

use flow::{Flow, Step};

use crate::simulated::bounding_runs;

pub use measurement::measurement;

/// How the flash is set.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FlashState {
    /// Wait states.
    pub wait_states: u8,
    /// Prefetch buffer on.
    pub prefetch: bool,
}

/// The function and what it is to be explained for.
pub struct Request<'a> {
    /// The image.
    pub firmware: &'a Firmware,
    /// The function.
    pub function: &'a Function,
    /// The board.
    pub board: &'a Board,
    /// Flash setting that the static figures hold for.
    pub flash: FlashState,
    /// Core clock, where known.
    pub clock_hz: Option<u32>,
    /// What a run saw.
    pub run: Option<&'a RunRecord>,
    /// The same run in the low and in the high model, where these were made.
    pub bounding_runs: Option<&'a [RunRecord; 2]>,
}

/// Explains a function.
///
/// # Errors
/// When the board description cannot be built.
pub fn explain(request: &Request) -> Result<CyclesReport, BoardError> {
    let pricer = Pricer::new(request)?;
    let function = request.function;
    let end = u32::try_from(function.end()).unwrap_or(u32::MAX);
    let listing: Vec<Instruction> = request.firmware.instructions(function.start..end).collect();
    let steps = pricer.steps(&listing);
    let flow = Flow::new(&steps, function.start..end);
    let instructions =
        listing.iter().zip(&steps).map(|(i, step)| instruction(request, i, step)).collect();
    let once_through = flow.once_through(&steps);
    let entry = run_of(request, function.start..function.start + 1);
    Ok(CyclesReport {
        function: function.name.clone(),
        address: function.start,
        size_bytes: function.size,
        board: request.board.name().to_owned(),
        core: request.board.core_name().to_owned(),
        clock_hz: request.clock_hz,
        conditions: vec![pricer.condition(request)],
        blocks: blocks(request, &steps, &flow),
        loops: loops(request, &steps, &flow),
        totals: FunctionCycles {
            instructions: steps.len() as u64,
            once_through,
            run: run_of(request, function.start..end).map(|run| RunCycles {
                count: entry.map_or(0, |e| e.count),
                jumped: 0,
                ..run
            }),
        },
        instructions,
        notes: pricer.notes(request, &steps),
    })
}

/// Prices instructions for one board.
enum Pricer {
    Arm(arm::Pricer),
    Avr(avr::Pricer),
}

impl Pricer {
    fn new(request: &Request) -> Result<Self, BoardError> {
        Ok(match (request.board.arm_core(), request.board.avr_core()) {
            (Some(core), _) => Pricer::Arm(arm::Pricer::new(request, core.timing)?),
            (None, Some(core)) => Pricer::Avr(avr::Pricer::new(request, core.kind)?),
            (None, None) => {
                let problem = "the board has no core".into();
                return Err(BoardError::Value { key: "core".to_owned(), problem });
            }
        })
    }

    /// What the figures hold for.
    fn condition(&self, request: &Request) -> String {
        match self {
            Pricer::Arm(_) => arm::condition(request.flash),
            Pricer::Avr(pricer) => pricer.condition(),
        }
    }

    /// What instructions do and cost.
    fn steps(&self, listing: &[Instruction]) -> Vec<Step> {
        match self {
            Pricer::Arm(pricer) => pricer.steps(listing),
            Pricer::Avr(pricer) => listing.iter().map(|i| pricer.step(i)).collect(),
        }
    }

    /// What the reader should know.
    fn notes(&self, request: &Request, steps: &[Step]) -> Vec<String> {
        let mut notes = match self {
            Pricer::Arm(pricer) => pricer.notes(request, steps),
            Pricer::Avr(_) => avr::notes(),
        };
        notes.push(
            "Calls count only the call itself, not what the callee takes; loops are passed once in \
             the \
             function's total."
                .to_owned(),
        );
        notes.extend(request.firmware.warnings().iter().map(ToString::to_string));
        notes
    }
}

/// A part of an instruction's cycles that it always takes.
fn caused(cause: Cause, cycles: u64) -> CausedCycles {
    CausedCycles { cause, cycles: CycleRange::exact(cycles), when: None }
}

/// The parts that a table gives, without those that are zero.
fn parts(execute: u8, fetch: u8, load_store: u8) -> Vec<CausedCycles> {
    [(Cause::Execute, execute), (Cause::FetchWait, fetch), (Cause::LoadStore, load_store)]
        .into_iter()
        .filter(|(_, cycles)| *cycles > 0)
        .map(|(cause, cycles)| caused(cause, u64::from(cycles)))
        .collect()
}

fn instruction(request: &Request, i: &Instruction, step: &Step) -> InstructionCycles {
    let mut causes = step.always.clone();
    causes.extend(step.sometimes.iter().cloned());
    causes.extend(step.jump.iter().cloned());
    InstructionCycles {
        address: i.address,
        bytes: i.encoding(),
        text: i.to_string(),
        source: source(request.firmware, i.address),
        cycles: step.cycles(),
        causes,
        note: step.note.clone(),
        run: run_of(request, i.address..step.end),
    }
}

fn source(firmware: &Firmware, address: u32) -> Option<SourceLine> {
    let found = firmware.frames(address);
    let frame = found.innermost()?;
    let inlined = frame.inlined.then(|| frame.name.unwrap_or("?").to_owned());
    Some(SourceLine { file: frame.file?.to_owned(), line: frame.line?, text: None, inlined })
}

/// What the run saw of the instructions in a range of addresses: sums, with the first one's count.
fn run_of(request: &Request, range: Range<u32>) -> Option<RunCycles> {
    let run = request.run?;
    let mut sum = RunCycles::default();
    for sample in within(run, &range) {
        if sum.count == 0 {
            sum.count = sample.count;
        }
        sum.jumped = sample.jumped;
        sum.by_cause += sample.cycles;
    }
    let likely = sum.by_cause.total();
    sum.cycles = Bounds::exact(likely);
    if let Some(runs) = request.bounding_runs {
        for cycles in runs.each_ref().map(|run| cycles_within(run, &range)) {
            let Bounds { low, high, .. } = sum.cycles;
            sum.cycles = Bounds { low: low.min(cycles), likely, high: high.max(cycles) };
        }
    }
    sum.is_unbounded = request.bounding_runs.is_none() && bounding_runs::differ(run);
    Some(sum)
}

/// What a run saw of a range of addresses, in their order.
fn within<'a>(run: &'a RunRecord, range: &Range<u32>) -> impl Iterator<Item = &'a AddressSample> {
    let samples = &run.profile.addresses;
    let from = samples.partition_point(|sample| sample.address < range.start);
    let end = range.end;
    samples[from..].iter().take_while(move |sample| sample.address < end)
}

/// Cycles of a range of addresses.
fn cycles_within(run: &RunRecord, range: &Range<u32>) -> u64 {
    within(run, range).map(|sample| sample.cycles.total()).fold(0, u64::saturating_add)
}

fn blocks(request: &Request, steps: &[Step], flow: &Flow) -> Vec<BlockCycles> {
    let describe = |block: &flow::Block| {
        let (first, last) = (&steps[block.first], &steps[block.last]);
        BlockCycles {
            first: first.address,
            last: last.address,
            cycles: block.cycles,
            run: run_of(request, first.address..last.end),
        }
    };
    flow.blocks.iter().map(describe).collect()
}

fn loops(request: &Request, steps: &[Step], flow: &Flow) -> Vec<LoopCycles> {
    let describe = |l: &flow::Loop| {
        let header = &steps[flow.blocks[l.header].first];
        let run = request.run.map(|_| {
            let mut sum = RunCycles::default();
            for &block in &l.body {
                let block = &flow.blocks[block];
                let (first, last) = (&steps[block.first], &steps[block.last]);
                if let Some(run) = run_of(request, first.address..last.end) {
                    sum.cycles += run.cycles;
                    sum.by_cause += run.by_cause;
                    sum.is_unbounded |= run.is_unbounded;
                }
            }
            let at = run_of(request, header.address..header.end).unwrap_or_default();
            let back = &steps[flow.blocks[l.latch].last];
            let jumped = run_of(request, back.address..back.end).map_or(0, |run| run.jumped);
            RunCycles { count: at.count, jumped, ..sum }
        });
        LoopCycles {
            header: header.address,
            back_edge: steps[flow.blocks[l.latch].last].address,
            depth: l.depth,
            per_iteration: l.per_iteration,
            run,
        }
    };
    flow.loops.iter().map(describe).collect()
}
