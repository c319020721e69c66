//! One run of QEMU, followed by two simulated cores and two counts of cycles at once.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::Duration;

use strobe_oracle::count::{Count, Table, sum};
use strobe_oracle::{CpuState, Program, Trace, TraceError, compare, qemu};
use strobe_sim::cortexm::timing::CoreKind;

use super::machine::{Core, Stride};

/// Enough for a hundred million instructions on a slow machine.
const DEADLINE: Duration = Duration::from_secs(3600);

/// A program on which both cores agree with QEMU from reset to exit.
pub(crate) struct Proof {
    pub(crate) instructions: u64,
    pub(crate) exit_code: i32,
    /// Its cycles as simulated.
    pub(crate) cycles: u64,
    /// Its cycles as counted independently by each of the core's [`tables`].
    pub(crate) counts: Vec<Count>,
}

/// QEMU's machine for a core.
fn machine(kind: CoreKind) -> qemu::Machine {
    match kind {
        CoreKind::CortexM0 | CoreKind::CortexM0plus => qemu::Machine::Microbit,
        CoreKind::CortexM3 => qemu::Machine::Mps2An385,
        CoreKind::CortexM4 | CoreKind::CortexM4f => qemu::Machine::Mps2An386,
    }
}

/// Cycle tables to count by: those of the Cortex-M0 and the Cortex-M0+, which run the same
/// programs.
fn tables(kind: CoreKind) -> &'static [Table] {
    match kind {
        CoreKind::CortexM0 => &[Table::CORTEX_M0, Table::CORTEX_M0_PLUS],
        _ => &[],
    }
}

/// A part of the trace, or why it broke off.
type Part = Result<Arc<[CpuState]>, Arc<TraceError>>;

/// States per part: few enough to stay in the cache.
const PART: usize = 4096;

/// Proves a program for the Cortex-M0 or panics with the first difference.
pub(crate) fn prove(name: &str, elf: &Path) -> Proof {
    prove_on(CoreKind::CortexM0, name, elf)
}

/// Proves a program for a core or panics with the first difference.
pub(crate) fn prove_on(kind: CoreKind, name: &str, elf: &Path) -> Proof {
    let bytes = std::fs::read(elf).unwrap_or_else(|error| panic!("{}: {error}", elf.display()));
    let trace =
        Trace::start_on(machine(kind), elf, DEADLINE).expect("qemu-system-arm is installed");
    let program = Program::from_elf(&bytes).expect("an ELF program");
    let follow = &|stride: Stride, parts: Receiver<Part>| {
        let mut core = Core::load(&bytes, kind, stride);
        let case = format!("{name}, {stride:?}");
        let agreement = compare(&mut core, states(parts)).unwrap_or_else(|e| panic!("{case}: {e}"));
        (agreement, core.exit_code(), core.cycles())
    };
    let count = &|table: Table, parts: Receiver<Part>| {
        sum(&table, &program, states(parts)).unwrap_or_else(|e| panic!("{name}: {e}"))
    };
    std::thread::scope(|scope| {
        let mut senders = Vec::new();
        let mut parts = || {
            let (sender, parts) = sync_channel(8);
            senders.push(sender);
            parts
        };
        let [single, strided] =
            [Stride::One, Stride::Random { seed: 1, up_to: 400 }].map(|stride| {
                let parts = parts();
                scope.spawn(move || follow(stride, parts))
            });
        let counters = tables(kind).iter().map(|&table| {
            let parts = parts();
            scope.spawn(move || count(table, parts))
        });
        let counters: Vec<_> = counters.collect();
        let exit_code = share(trace, &senders);
        drop(senders);
        let [single, strided] = [single, strided].map(joined);
        let counts = counters.into_iter().map(joined).collect();
        let instructions = single.0.instructions;
        let compared = single.0.compared;
        // An IT that folds takes no cycle of its own: it and its predecessor are one step.
        let folds = kind.architecture().v7m && 10 * compared > 9 * instructions;
        assert!(compared == instructions || folds, "{name}: not stepped one by one");
        assert_eq!(strided.0.instructions, instructions, "{name}");
        assert!(strided.0.compared < instructions, "{name}: no strides");
        assert_eq!((single.1, strided.1), (Some(exit_code), Some(exit_code)), "{name}: exit codes");
        assert_eq!(single.2, strided.2, "{name}: cycles depend on the way through the core");
        Proof { instructions, exit_code, cycles: strided.2, counts }
    })
}

fn joined<T>(thread: std::thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Hands a trace to all followers, and returns the exit code at its end.
fn share(mut trace: Trace, followers: &[SyncSender<Part>]) -> i32 {
    // A follower that has gone found a difference; the trace goes on for the others, who may find
    // it as well.
    let send = |part: Part| {
        let reached: Vec<bool> = followers.iter().map(|f| f.send(part.clone()).is_ok()).collect();
        reached.contains(&true)
    };
    let mut part = Vec::with_capacity(PART);
    for state in &mut trace {
        match state {
            Ok(state) => part.push(state),
            Err(error) => {
                send(Err(Arc::new(error)));
                return NO_EXIT;
            }
        }
        if part.len() == PART && !send(Ok(part.drain(..).collect())) {
            return NO_EXIT;
        }
    }
    send(Ok(part.into()));
    trace.exit_code().unwrap_or(NO_EXIT)
}

/// No exit code of a program, which is 0 to 255.
const NO_EXIT: i32 = -1;

fn states(parts: Receiver<Part>) -> impl Iterator<Item = Result<CpuState, Arc<TraceError>>> {
    parts.into_iter().flat_map(|part| {
        let (states, error) = match part {
            Ok(states) => (Some(states), None),
            Err(error) => (None, Some(Err(error))),
        };
        let states = states.into_iter().flat_map(|s| (0..s.len()).map(move |i| Ok(s[i])));
        states.chain(error)
    })
}
