//! Interrupts that were asked for while the same request still waited: no handler ran for them.

use strobe_model::Warning;

use super::drive::Run;
use super::record::exception_label;
use crate::names::Names;

/// One for each interrupt that lost requests, with its longest wait and the code that had the core
/// until then.
pub(super) fn warnings(run: &Run, names: &Names) -> Vec<Warning> {
    let bus = run.machine.bus();
    let handlers = run.machine.observer().1.0.schedule.handlers();
    let mut out = Vec::new();
    for handler in handlers {
        let lost = run.machine.lost_requests(handler.exception);
        if lost == 0 {
            continue;
        }
        let name = exception_label(bus, handler.exception);
        let blocked = handler.latency.max.map(|max| {
            format!(
                "; the longest wait was {} cycles, until {}",
                max.cycles,
                names.describe(max.pc).swap_remove(0)
            )
        });
        let text = format!(
            "{lost} requests of {name} were lost: each came while an earlier one was still \
             waiting, and one handler \
             ran for both ({} entries){}",
            handler.latency.spread.count(),
            blocked.unwrap_or_default()
        );
        out.push(Warning { text, count: lost });
    }
    out
}
