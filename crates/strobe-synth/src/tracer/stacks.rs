//! Stacks whose depth is reported at every call.

use super::{Address, Number, Stream, Tracer};

/// A thread's stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stack {
    /// The thread.
    pub id: u32,
    /// Its name.
    pub name: &'static str,
    /// Number of reports.
    pub samples: u64,
    /// The high-water mark in bytes.
    pub peak_bytes: u64,
    /// When it was first reached.
    pub peak_ns: u64,
    /// The function that reported it first.
    pub peak_function: u32,
}

/// A stream of so many reports; the threads are in it with the deepest first.
pub fn stacks(seed: u64, reports: u32) -> Stream<Vec<Stack>> {
    let mut tracer = Tracer::new(seed, 17);
    let names = ["idle", "init", "publisher", "lpwork"];
    let mut depths = [96u32, 400, 2600, 300];
    let mut truth: Vec<Stack> = Vec::new();
    for (n, name) in names.into_iter().enumerate() {
        let id = 2 * n as u32;
        tracer.thread(id, name);
        truth.push(Stack { id, name, samples: 0, peak_bytes: 0, peak_ns: 0, peak_function: 0 });
    }
    for _ in 0..reports {
        tracer.wait(30_000);
        let thread = tracer.rng.pick(&[0, 1, 2, 2, 2, 2, 2, 3]);
        let change = 8 * tracer.rng.below(40);
        let most = [200, 1800, 12_600, 1500][thread];
        let depth = &mut depths[thread];
        *depth = if tracer.rng.one_in(2) {
            (*depth + change).min(most)
        } else {
            depth.saturating_sub(change)
        };
        let function = 0x0800_0401 + 0x94 * tracer.rng.below(300);
        tracer.event(
            "stack_usage",
            &[
                ("pid", Number(truth[thread].id)),
                ("func_ptr", Address(function)),
                ("usage_bytes", Number(*depth)),
            ],
        );
        let (now, depth, stack) = (tracer.now, u64::from(*depth), &mut truth[thread]);
        stack.samples += 1;
        if depth > stack.peak_bytes {
            (stack.peak_bytes, stack.peak_ns, stack.peak_function) = (depth, now, function);
        }
    }
    truth.sort_by_key(|stack| (std::cmp::Reverse(stack.peak_bytes), stack.id));
    tracer.finish(0, truth)
}
