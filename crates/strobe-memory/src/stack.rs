//! How deep stacks can get, from the image alone: the worst case of every entry point.
//!
//! `callgraph.rs` knows what functions have on the stack when they call others. `entries.rs` finds
//! where code begins, `worst.rs` the deepest chain from there, `sizes.rs` how large the stacks are;
//! `started.rs` learns from a run by which functions of the system threads come to their own;
//! `annotations.rs` reads what machine code does not show; `measurement.rs` makes a measurement, to
//! which `measured.rs` adds what a run used and `painted.rs` what a board's memory shows.

mod annotations;
pub(crate) mod entries;
mod measured;
mod measurement;
pub mod painted;
mod profile;
mod sizes;
mod started;
#[cfg(test)]
mod tests;
mod worst;

pub use annotations::{AnnotationError, Annotations};
pub use measured::{Measured, join};

use strobe_model::measurement::Measurement;
use strobe_symbols::Firmware;

use self::annotations::{Resolved, contradiction};
use self::entries::{Entry, Kind};
use self::worst::Worst;
use crate::callgraph::Graph;

/// Everything that is known before it is put into tables.
pub struct Analysis<'a> {
    firmware: &'a Firmware,
    graph: Graph,
    resolved: Resolved,
    worst: Worst,
    /// Reset, handlers, threads.
    entries: Vec<Entry>,
    /// The stack pointer at reset.
    top: Option<u32>,
}

/// Measures an image; `name` is its file's.
pub fn measure(
    firmware: &Firmware,
    name: &str,
    annotations: &Annotations,
) -> Result<Measurement, AnnotationError> {
    Ok(Analysis::new(firmware, annotations)?.measurement(name))
}

/// Whether what is annotated is there.
fn fits(graph: &Graph, resolved: &Resolved, worst: &Worst) -> Result<(), AnnotationError> {
    let none = Resolved::default();
    let unknown = |at: u32| worst::unknown(graph, &none, at);
    for (at, (name, _)) in &resolved.callers {
        if unknown(*at).is_empty() {
            return Err(contradiction("calls", name, "the function has no indirect call"));
        }
    }
    for (at, (name, _)) in &resolved.sites {
        let mut sites = graph.functions.keys().flat_map(|function| unknown(*function));
        if !sites.any(|(site, _)| site == *at) {
            return Err(contradiction("calls", name, "there is no indirect call at this address"));
        }
    }
    for (at, (name, _)) in &resolved.recursion {
        if !worst.rings.iter().any(|ring| ring.members.contains(at)) {
            return Err(contradiction("recursion", name, "the function never calls itself"));
        }
    }
    for (at, (name, _)) in &resolved.dynamic {
        if graph.functions.get(at).is_none_or(|function| function.dynamic.is_empty()) {
            let why = "the function allocates nothing dynamically";
            return Err(contradiction("dynamic", name, why));
        }
    }
    Ok(())
}

/// Bytes of the frame that an exception's entry stacks, the word that aligns it included (ARMv6-M
/// and ARMv7-M manuals, B1.5.6: 8 words, or 26 with floating-point registers).
fn exception_frame(analysis: &Analysis<'_>) -> u64 {
    match analysis.graph.call_bytes {
        0 if analysis.graph.is_floating() => 104 + 4,
        0 => 32 + 4,
        // What pushes the return address of a call pushes that of a handler.
        bytes => u64::from(bytes),
    }
}

impl<'a> Analysis<'a> {
    /// Follows all code of an image.
    pub fn new(firmware: &'a Firmware, annotations: &Annotations) -> Result<Self, AnnotationError> {
        let resolved = annotations.resolve(firmware)?;
        let vectors = entries::vectors(firmware);
        let mut starts: Vec<u32> = vectors.entries.iter().map(|entry| entry.address).collect();
        starts.extend(resolved.threads.iter().map(|thread| thread.entry));
        let graph = Graph::new(firmware, &starts, &resolved.bounds());
        let worst = Worst::new(&graph, &resolved);
        fits(&graph, &resolved, &worst)?;
        let mut entries = vectors.entries;
        entries.extend(entries::threads(firmware, &graph, &resolved));
        entries.retain(|entry| graph.functions.contains_key(&entry.address));
        Ok(Analysis { firmware, graph, resolved, worst, entries, top: vectors.stack })
    }

    /// The measurement of an image; `name` is its file's.
    pub fn measurement(&self, name: &str) -> Measurement {
        measurement::measurement(self, name)
    }
}

impl Analysis<'_> {
    fn of(&self, kind: Kind) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(move |entry| entry.kind == kind)
    }

    fn name(&self, address: u32) -> String {
        let described = self.firmware.describe(address);
        described.unwrap_or_else(|| format!("{address:#010x}"))
    }

    /// Bytes that an exception puts on the stack of a thread that has one of its own: the frame,
    /// and what a switch to another thread saves below it.
    fn thread_frame(&self) -> u64 {
        exception_frame(self).saturating_add(self.switched())
    }

    /// What a switch of threads needs below an exception's frame. Where the thread runs it after
    /// the handler, it can be interrupted once more.
    fn switched(&self) -> u64 {
        let after = entries::after_handlers(self.firmware);
        let own = after.filter(|at| self.graph.functions.contains_key(at));
        let deepest = own.map(|at| self.worst.bytes(at)).max();
        let again = deepest.map_or(0, |deepest| deepest.saturating_add(exception_frame(self)));
        again.max(self.graph.saved().into())
    }

    /// What handlers add to the stack that they interrupt: one at a time, and all of them, each
    /// inside the others; whether that is a lower bound.
    fn interrupts(&self) -> (u64, u64, bool) {
        let frame = exception_frame(self);
        let bytes = |entry: &Entry| self.worst.bytes(entry.address).saturating_add(frame);
        let handlers = || self.of(Kind::Handler);
        let one = handlers().map(bytes).max().unwrap_or(0);
        let fixed = handlers().filter(|entry| entry.is_fixed).map(bytes);
        let mut others: Vec<u64> =
            handlers().filter(|entry| !entry.is_fixed && self.may_nest(entry)).map(bytes).collect();
        others.sort_unstable_by(|a, b| b.cmp(a));
        others.truncate(self.priorities());
        // What lets nothing in is the innermost.
        let innermost = handlers().filter(|entry| !self.may_nest(entry)).map(bytes).max();
        let all = fixed.chain(others).chain(innermost).fold(0_u64, u64::saturating_add);
        let is_open = handlers().any(|entry| self.worst.is_open(entry.address));
        (one, all, is_open)
    }

    /// Whether other handlers may interrupt one: on AVR only where code that it reaches lets them
    /// in.
    fn may_nest(&self, handler: &Entry) -> bool {
        let lets_in = |at: &u32| self.graph.functions.get(at).is_some_and(|f| f.lets_in);
        self.firmware.machine().conventions().handlers_nest
            || self.worst.is_open(handler.address)
            || self.worst.reached(handler.address).iter().any(lets_in)
    }

    /// How many handlers of priorities that can be set may be active at once: ARMv6-M has two bits
    /// of priority (B3.2.2), ARMv7-M up to eight.
    fn priorities(&self) -> usize {
        let target = self.firmware.build_target().and_then(|target| target.architecture);
        match target {
            Some("ARMv6-M" | "ARMv6S-M") => 4,
            _ => 256,
        }
    }
}
