//! Handlers that interrupt threads and one another, with entries and exits that are lost.

use std::collections::BTreeMap;

use super::{Marks, Number, Stream, Tracer};

/// The interrupts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Interrupts {
    /// By number.
    pub handlers: BTreeMap<u32, Handlers>,
    /// Maximum nesting of handlers.
    pub nesting: u32,
    /// The measurement marks.
    pub marks: Marks,
}

/// An interrupt's handlers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Handlers {
    /// Inclusive durations of the handlers with both events in the stream, in nanoseconds.
    pub durations: Vec<u64>,
    /// Entries without an exit.
    pub unmatched_enters: u64,
    /// Exits without an entry.
    pub unmatched_exits: u64,
}

/// Handlers with their priorities, the highest last: each may interrupt those before it.
///
/// Lost events are chosen so that the pairing stays unambiguous: exits of the lowest, which
/// interrupts nothing, and of the last but one where the handler that it interrupted continues to
/// its own exit; entries of the highest.
const LINES: [u32; 5] = [87, 15, 3, 83, 77];

struct Model {
    tracer: Tracer,
    truth: Interrupts,
    losses: bool,
}

impl Model {
    /// Runs a handler, interrupted by higher ones. `exits` is whether the exit of the handler it
    /// interrupts is in the stream. Returns whether its own exit is lost.
    fn handle(&mut self, line: usize, depth: u32, exits: bool) -> bool {
        let (number, highest) = (LINES[line], LINES.len() - 1);
        self.truth.nesting = self.truth.nesting.max(depth);
        let lost = self.losses && self.tracer.rng.one_in(15);
        let enter_lost = lost && line == highest;
        let exit_lost = lost && (line == 0 || line == highest - 1 && depth > 1 && exits);
        if !enter_lost {
            self.tracer.event("isr_enter", &[("irq", Number(number))]);
        }
        let from = self.tracer.now;
        self.tracer.wait(12_000);
        while line < highest && self.tracer.rng.one_in(6) {
            let higher = line + 1 + self.tracer.rng.below((highest - line) as u32) as usize;
            let torn = self.handle(higher, depth + 1, !exit_lost);
            self.tracer.wait(2000);
            if torn {
                break;
            }
        }
        if !exit_lost {
            self.tracer.event("isr_exit", &[("irq", Number(number))]);
        }
        let time = self.tracer.now - from;
        let seen = self.truth.handlers.entry(number).or_default();
        match (enter_lost, exit_lost) {
            (true, _) => seen.unmatched_exits += 1,
            (_, true) => seen.unmatched_enters += 1,
            _ => seen.durations.push(time),
        }
        exit_lost
    }

    /// Writes a mark `times` times.
    fn mark(&mut self, name: &str, times: u32) {
        for _ in 0..times {
            self.tracer.wait(1000);
            self.tracer.event(name, &[]);
        }
        let marks = &mut self.truth.marks;
        let sort = if name == "measurement_start" { &mut marks.starts } else { &mut marks.stops };
        *sort += u64::from(times);
    }
}

/// A stream of at least so many handlers, with or without losses.
pub fn interrupts(seed: u64, handlers: u32, losses: bool) -> Stream<Interrupts> {
    let tracer = Tracer::new(seed, if losses { 103 } else { 1 });
    let mut model = Model { tracer, truth: Interrupts::default(), losses };
    for _ in 0..3 {
        model.mark("measurement_start", 1);
        let from = model.tracer.now;
        // Begin marks repeated during the measurement.
        let repeated = model.tracer.rng.below(40);
        model.mark("measurement_start", repeated);
        for _ in 0..handlers / 3 {
            model.tracer.wait(400_000);
            let line = model.tracer.rng.below(LINES.len() as u32) as usize;
            model.handle(line, 1, false);
        }
        model.mark("measurement_stop", 1);
        model.truth.marks.total_ns += model.tracer.now - from;
        let again = 1 + model.tracer.rng.below(4);
        model.mark("measurement_stop", again);
        model.truth.marks.repeated += u64::from(repeated + again);
    }
    model.tracer.finish(3, model.truth)
}
