//! Names, for programs, of sections, headline figures, columns and measures that more than their
//! maker refers to: builders give them, views, comparisons, budgets and the archive ask for them.
//!
//! What only its builder names stays there. Names are part of `strobe-measurement/1`:
//! docs/measurement.md lists what each section holds.

/// Sections.
#[allow(missing_docs)] // The names say it; docs/measurement.md describes them.
pub mod section {
    pub const ARCHIVES: &str = "archives";
    pub const BASELINE: &str = "baseline";
    pub const BENCHMARKS: &str = "benchmarks";
    pub const CALLS: &str = "calls";
    pub const CAUSES: &str = "causes";
    pub const CLAIMS: &str = "claims";
    pub const CRATES: &str = "crates";
    pub const DIRECTORIES: &str = "directories";
    pub const DISASSEMBLY: &str = "disassembly";
    pub const DURATIONS: &str = "durations";
    pub const EDGES: &str = "edges";
    pub const EXACT: &str = "exact";
    pub const FIELDS: &str = "fields";
    pub const FILES: &str = "files";
    pub const FRAMES: &str = "frames";
    pub const HEAP_IN_CALLS: &str = "heap-in-calls";
    pub const HEAP_IN_WINDOWS: &str = "heap-in-windows";
    pub const HEAP_LAYERS: &str = "heap-layers";
    pub const HEAP_LEAKS: &str = "heap-leaks";
    pub const HEAP_PROFILE: &str = "heap-profile";
    pub const HEAP_SPREADS: &str = "heap-spreads";
    pub const HEAP_THREADS: &str = "heap-threads";
    pub const HEAP_WINDOW_SITES: &str = "heap-window-sites";
    pub const INTERRUPTS: &str = "interrupts";
    pub const KIT_DURATIONS: &str = "kit-durations";
    pub const LATENCIES: &str = "latencies";
    pub const LAYERS: &str = "layers";
    pub const PINS: &str = "pins";
    pub const PROFILE: &str = "profile";
    pub const REGIONS: &str = "regions";
    pub const REGISTERS: &str = "registers";
    pub const SECTIONS: &str = "sections";
    pub const SETTINGS: &str = "settings";
    pub const SOURCE: &str = "source";
    pub const STACKS: &str = "stacks";
    pub const STACK_VARIABLES: &str = "stack-variables";
    pub const SYMBOLS: &str = "symbols";
    pub const THREADS: &str = "threads";
    pub const TIMELINE: &str = "timeline";
    pub const TOTALS_NANOSECONDS: &str = "totals-nanoseconds";
    pub const VERDICT: &str = "verdict";
    pub const VERDICTS: &str = "verdicts";
    pub const WAITING: &str = "waiting";
    pub const WAKE_UPS: &str = "wake-ups";
    pub const WAKE_UP_TIMES: &str = "wake-up-times";
    pub const WATCHED: &str = "watched";
    pub const WINDOWS: &str = "windows";
    pub const WORDS: &str = "words";
    pub const WORST_CASES: &str = "worst-cases";
}

/// Headline figures.
#[allow(missing_docs)] // The names say it; docs/measurement.md describes them.
pub mod total {
    pub const CYCLES: &str = "cycles";
    pub const DEEPEST_STACK: &str = "deepest-stack";
    pub const HEAP_BLOCKS: &str = "heap-blocks";
    pub const HEAP_FAILED: &str = "heap-failed";
    pub const HEAP_LEAKS: &str = "heap-leaks";
    pub const HEAP_LIVE: &str = "heap-live";
    pub const HEAP_PEAK: &str = "heap-peak";
    pub const IDLE: &str = "idle";
    pub const INSTRUCTIONS: &str = "instructions";
    pub const SAMPLES: &str = "samples";
    pub const WAITING: &str = "waiting";
}

/// Columns of tables.
#[allow(missing_docs)] // The names say it; docs/measurement.md describes them.
pub mod column {
    pub const A: &str = "a";
    pub const ADDRESS: &str = "address";
    pub const BENCHMARK: &str = "benchmark";
    pub const BYTES: &str = "bytes";
    pub const CAUSE: &str = "cause";
    pub const COUNT: &str = "count";
    pub const DOUBT: &str = "doubt";
    pub const CYCLES: &str = "cycles";
    pub const ENTRY: &str = "entry";
    pub const FILE: &str = "file";
    pub const FIRMWARE: &str = "firmware";
    pub const FUNCTION: &str = "function";
    pub const HANDLER: &str = "handler";
    pub const INPUT: &str = "input";
    pub const KIND: &str = "kind";
    pub const LEVEL: &str = "level";
    pub const LINE: &str = "line";
    pub const LOST: &str = "lost";
    pub const MAX: &str = "max";
    pub const MEASURE: &str = "measure";
    pub const MESSAGE: &str = "message";
    pub const PAINTED: &str = "painted";
    pub const PLACE: &str = "place";
    pub const RATIO: &str = "ratio";
    pub const SELF_DIFFERENCE: &str = "self-difference";
    pub const SHARE_DIFFERENCE: &str = "share-difference";
    pub const SIDE: &str = "side";
    pub const STACK: &str = "stack";
    pub const TIME: &str = "time";
    pub const TOP: &str = "top";
    pub const VARIABLE: &str = "variable";
    pub const WHAT: &str = "what";
}

/// Measures of profiles.
#[allow(missing_docs)] // The names say it; docs/measurement.md describes them.
pub mod measure {
    pub const ASLEEP: &str = "asleep";
    pub const CALLS: &str = "calls";
    pub const CYCLES: &str = "cycles";
    pub const EXECUTIONS: &str = "executions";
    pub const EXECUTIONS_BUSY: &str = "executions-busy";
    pub const SAMPLES: &str = "samples";
}

/// How names begin that go on with a unit, a number or what they are of.
pub mod prefix {
    /// Totals of both sides of a comparison; the unit follows.
    pub const TOTALS: &str = "totals-";
    /// Sections and totals of the heap.
    pub const HEAP: &str = "heap-";
    /// All of them, `heap` itself included.
    pub const HEAP_ANY: &str = "heap";
    /// The text or the messages of a stimulus port; its number follows.
    pub const PORT: &str = "port-";
}

/// How names end that begin with what they are of.
pub mod suffix {
    /// A comparison's functions, behind the section.
    pub const FUNCTIONS: &str = "-functions";
    /// A profile beside the first one.
    pub const PROFILE: &str = "-profile";
    /// Of a function's calls those with what it calls, behind the function.
    pub const WITH_CALLEES: &str = "with callees";
}

/// Codes of findings that views know.
pub mod finding {
    /// Modelled figures have no bounds.
    pub const NO_BOUNDS: &str = "no-bounds";
}
