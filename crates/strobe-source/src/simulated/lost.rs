//! Interrupts that were asked for while the same request still waited: no handler ran for them.

use strobe_model::measurement::Finding;
use strobe_model::number::{counted, grouped};
use strobe_sim::bus::Bus;
use strobe_sim::observe::schedule::{LongestWait, Waits};

use super::drive::Run;
use super::record::exception_label;
use crate::names::{Names, outermost_at};

/// Exceptions that can be lost: SysTick and interrupts.
const EXCEPTIONS: std::ops::Range<u16> = 15..512;

/// One for each interrupt that lost requests, with its longest wait and the code that had the core
/// until then. One that was never entered still waited at the end.
pub(super) fn warnings(run: &Run, names: &Names) -> Vec<Finding> {
    let bus = run.machine.bus();
    let schedule = &run.machine.observer().1.0.schedule;
    let mut out = Vec::new();
    for exception in EXCEPTIONS {
        let lost = run.machine.lost_requests(exception);
        if lost == 0 {
            continue;
        }
        let name = exception_label(bus, exception);
        let rest = match schedule.waits(exception) {
            Waits { entries, longest: Some(longest) } => format!(
                "one handler ran for both ({} {}); the longest wait was {}, {}",
                grouped(entries),
                if entries == 1 { "entry" } else { "entries" },
                counted(longest.time.cycles, "cycle"),
                held_up(&longest, bus, names)
            ),
            _ => "its handler never ran, and the first request still waited at the end of the run"
                .to_owned(),
        };
        let (was, each) = if lost == 1 { ("was", "it") } else { ("were", "each") };
        let text = format!(
            "{} of {name} {was} lost: {each} came while an earlier one was still waiting, and \
             {rest}",
            counted(lost, "request")
        );
        out.push(Finding::warning("lost-interrupts", text).times(lost));
    }
    out
}

/// What a request waited for, and until where.
fn held_up(wait: &LongestWait, bus: &Bus, names: &Names) -> String {
    let place = |at: u32| names.describe(at).swap_remove(0);
    let pc = wait.time.pc;
    let mut out = String::new();
    if let Some(from) = wait.masked_from {
        out += &format!("it was masked from {} on, ", place(from));
    }
    if let Some(exception) = wait.behind {
        let also = if wait.masked_from.is_some() { "and it was " } else { "" };
        out += &format!("{also}behind the handler of {}, ", exception_label(bus, exception));
    }
    out += &format!("until {}", place(pc));
    // Of functions that mask and unmask for others, whoever called them is of interest.
    let function = |at: u32| outermost_at(names.firmware(), at).map(|function| function.start);
    let helps = wait.masked_from.is_some_and(|from| function(from) != function(pc));
    if let Some(caller) = wait.caller.filter(|_| helps) {
        // The call itself is right before where it returns to.
        out += &format!(", called at {}", place((caller & !1).wrapping_sub(2)));
    }
    out
}
