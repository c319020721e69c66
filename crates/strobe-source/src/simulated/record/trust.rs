//! How far the cycles of a run can be trusted: which causes were modelled, and why.

use crate::simulated::run_record::ModelledCause;
use strobe_devices::board::Board;
use strobe_model::{Cause, CauseCycles};
use strobe_sim::bus::Bus;

use crate::simulated::drive::Run;

/// Which causes were modelled, and why.
pub(super) fn of(run: &Run, board: &Board, by_cause: &CauseCycles) -> Vec<ModelledCause> {
    let counts = &run.machine.observer().0;
    let v7m = board.arm_core().is_some_and(|core| core.timing.kind.architecture().v7m);
    let waits = board.accelerator().is_some() && run.machine.bus().flash_state.0 > 0;
    Cause::ALL
        .into_iter()
        .filter_map(|cause| {
            let likely = by_cause[cause];
            let cycles = counts.leeway(cause).around(likely);
            // Even where everything was in the cache, that is the model's word.
            let overlaps = matches!(cause, Cause::Execute | Cause::Refill | Cause::LoadStore);
            let modelled = cause == Cause::FetchWait && waits || v7m && overlaps && likely > 0;
            (!cycles.is_exact() || modelled).then(|| ModelledCause {
                cause,
                cycles,
                why: why(cause, run, board, v7m),
            })
        })
        .collect()
}

/// Why the cycles of a cause are not exact.
fn why(cause: Cause, run: &Run, board: &Board, v7m: bool) -> String {
    match cause {
        Cause::FetchWait | Cause::DataWait => why_waits(run.machine.bus(), board, v7m),
        Cause::Contention => "which bus master wins each slot is not documented".to_owned(),
        Cause::ExceptionEntry if v7m => {
            "no manual gives a figure for a late arrival or for vectors that lie beside the stack"
                .to_owned()
        }
        Cause::ExceptionExit if v7m => {
            "Arm's figures for leaving a handler differ by what they count".to_owned()
        }
        Cause::Execute | Cause::Refill | Cause::LoadStore if v7m => {
            "how neighbouring instructions overlap is only partly documented; these bounds leave \
             out how far the model is off for that (docs/accuracy.md)"
                .to_owned()
        }
        Cause::ExceptionEntry => "the manual gives no figure for tail-chaining".to_owned(),
        Cause::ExceptionExit => "the manual gives no figure for leaving a handler".to_owned(),
        Cause::Asleep => {
            "the core sleeps until something with a time of its own wakes it: what it \
             took before is not exact, and the rest is what it sleeps"
                .to_owned()
        }
        Cause::Execute | Cause::Refill | Cause::LoadStore => {
            "waits are modelled, and how often code runs depends on them: turns of loops that \
             wait, and how far the run gets before it ends"
                .to_owned()
        }
    }
}

/// Why those of waits for memory are not.
fn why_waits(bus: &Bus, board: &Board, v7m: bool) -> String {
    let (wait_states, prefetch) = bus.flash_state;
    if bus.runs_code_in_ram() && wait_states == 0 && v7m {
        return "code in RAM is fetched over the system bus, where data is in its way".to_owned();
    }
    if let Some(entry) = board.accelerator().filter(|_| wait_states > 0) {
        return entry.why.clone();
    }
    board.flash_timing_with(wait_states, prefetch, bus.flash_caches).map_or_else(
        || "accesses through the peripheral bridge wait; no manual states how long".to_owned(),
        |entry| entry.why.clone(),
    )
}
