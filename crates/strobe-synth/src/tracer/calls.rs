//! Functions that report entry and exit, in several threads, with losses.

use std::collections::BTreeMap;

use super::{Address, Label, Number, Stream, Tracer};

/// The calls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Calls {
    /// Functions by address.
    pub functions: BTreeMap<u32, FunctionCalls>,
    /// Whole calls by thread.
    pub by_thread: BTreeMap<u32, u64>,
    /// Times in which the tracer was sending: begun, ended, and both.
    pub pauses: (u64, u64, u64),
}

/// A function's calls, as in the stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FunctionCalls {
    /// Entries in the stream.
    pub enters: u64,
    /// Exits in the stream.
    pub exits: u64,
    /// Calls with both events.
    pub calls: u64,
    /// Their inclusive time, in nanoseconds.
    pub total_ns: u64,
    /// The longest.
    pub max_ns: u64,
}

impl Calls {
    /// The sum over all functions.
    pub fn sum(&self, part: fn(&FunctionCalls) -> u64) -> u64 {
        self.functions.values().map(part).sum()
    }
}

const THREADS: [u32; 3] = [1, 4, 7];

/// Functions that call each other; `n` as a Thumb address.
fn function(n: u32) -> u32 {
    0x0800_0401 + n * 0x94
}

/// The model.
struct Model {
    tracer: Tracer,
    truth: Calls,
    /// Open calls, by thread.
    open: [Vec<(u32, u64)>; 3],
    /// The tracer has begun to send and not ended.
    pausing: bool,
}

impl Model {
    fn function(&mut self, at: u32) -> &mut FunctionCalls {
        self.truth.functions.entry(at).or_default()
    }

    fn emit(&mut self, thread: usize, function: u32, enters: bool) {
        let label = if enters { Label("FUNCTION_ENTER", 0) } else { Label("FUNCTION_EXIT", 1) };
        let fields =
            [("pid", Number(THREADS[thread])), ("func_ptr", Address(function)), ("fe", label)];
        self.tracer.event("function_usage", &fields);
        let seen = self.function(function);
        if enters { seen.enters += 1 } else { seen.exits += 1 }
    }

    fn enter(&mut self, thread: usize) {
        let function = function(self.tracer.rng.below(200));
        self.emit(thread, function, true);
        self.open[thread].push((function, self.tracer.now));
    }

    fn exit(&mut self, thread: usize) {
        let Some((function, from)) = self.open[thread].pop() else { return };
        self.emit(thread, function, false);
        let time = self.tracer.now - from;
        let seen = self.function(function);
        (seen.calls, seen.total_ns) = (seen.calls + 1, seen.total_ns + time);
        seen.max_ns = seen.max_ns.max(time);
        *self.truth.by_thread.entry(THREADS[thread]).or_default() += 1;
    }

    /// A call with one of its two events lost. These functions are called in no other way, so the
    /// result is unambiguous.
    fn torn(&mut self, thread: usize) {
        let n = self.tracer.rng.below(14);
        let enters = self.tracer.rng.one_in(2);
        self.emit(thread, function(if enters { 200 + n } else { 300 + n }), enters);
    }

    /// The tracer sends its buffer; sometimes one of the marks is missing.
    fn pause(&mut self) {
        let (start, stop) = match self.tracer.rng.below(20) {
            0 => (true, false),
            // After a begin mark without an end mark, it would be paired with that.
            1 if !self.pausing => (false, true),
            _ => (true, true),
        };
        if start {
            self.tracer.event("dump_start", &[]);
        }
        self.tracer.wait(90_000);
        if stop {
            self.tracer.event("dump_stop", &[]);
        }
        self.pausing = !stop;
        let (starts, stops, pairs) = &mut self.truth.pauses;
        *starts += u64::from(start);
        *stops += u64::from(stop);
        *pairs += u64::from(start && stop);
    }
}

/// A stream with at least so many events of functions.
pub fn calls(seed: u64, events: u64) -> Stream<Calls> {
    let mut tracer = Tracer::new(seed, 61);
    for (id, name) in THREADS.iter().zip(["init", "netd", "publisher"]) {
        tracer.thread(*id, name);
    }
    let mut model =
        Model { tracer, truth: Calls::default(), open: Default::default(), pausing: false };
    // Calls that had begun before the trace did.
    for n in 0..9 {
        model.tracer.wait(3000);
        model.emit(2, function(190 + n), false);
    }
    let mut thread = 2;
    while model.truth.sum(|f| f.enters + f.exits) < events {
        model.tracer.wait(20_000);
        if model.tracer.rng.one_in(60) {
            thread = model.tracer.rng.below(3) as usize;
        }
        match model.tracer.rng.below(200) {
            0 | 1 => model.torn(thread),
            2 | 3 => model.pause(),
            n if n % 2 == 0 && model.open[thread].len() < 12 => model.enter(thread),
            _ => model.exit(thread),
        }
    }
    model.tracer.finish(14, model.truth)
}
