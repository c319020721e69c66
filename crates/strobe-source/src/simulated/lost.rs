//! Interrupts that were asked for while the same request still waited: no handler ran for them.

use strobe_model::Warning;
use strobe_model::number::{counted, grouped};
use strobe_symbols::Instruction;

use super::drive::Run;
use super::record::exception_label;
use crate::names::{Names, outermost_at};

/// Exceptions that can be lost: SysTick and interrupts.
const EXCEPTIONS: std::ops::Range<u16> = 15..512;

/// Instructions back from where an interrupt came in to the one that let it in: on an AVR the one
/// behind SEI still runs.
const LET_IN: usize = 2;

/// One for each interrupt that lost requests, with its longest wait and the code that had the core
/// until then. One that was never entered still waited at the end.
pub(super) fn warnings(run: &Run, names: &Names) -> Vec<Warning> {
    let bus = run.machine.bus();
    let handlers = run.machine.observer().1.0.schedule.handlers();
    let mut out = Vec::new();
    for exception in EXCEPTIONS {
        let lost = run.machine.lost_requests(exception);
        if lost == 0 {
            continue;
        }
        let name = exception_label(bus, exception);
        let handler = handlers.iter().find(|handler| handler.exception == exception);
        let entries = handler.map_or(0, |handler| handler.latency.spread.count());
        let rest = match handler.and_then(|handler| handler.latency.max) {
            Some(max) => {
                let until = names.describe(max.pc).swap_remove(0);
                let masked = masked_from(names, max.pc).map(|from| {
                    format!(
                        "interrupts were masked from {} on, ",
                        names.describe(from).swap_remove(0)
                    )
                });
                format!(
                    "one handler ran for both ({} {}); the longest wait was {}, {}until {until}",
                    grouped(entries),
                    if entries == 1 { "entry" } else { "entries" },
                    counted(max.cycles, "cycle"),
                    masked.unwrap_or_default()
                )
            }
            None => {
                "its handler never ran, and the first request still waited at the end of the run"
                    .to_owned()
            }
        };
        let (was, each) = if lost == 1 { ("was", "it") } else { ("were", "each") };
        let text = format!(
            "{} of {name} {was} lost: {each} came while an earlier one was still waiting, and \
             {rest}",
            counted(lost, "request")
        );
        out.push(Warning::new("lost-interrupts", text).times(lost));
    }
    out
}

/// Where the masked section began that ended right before `pc`, if one did: the last instruction
/// before its end, in the same function, that masks.
fn masked_from(names: &Names, pc: u32) -> Option<u32> {
    let firmware = names.firmware();
    let function = outermost_at(firmware, pc)?;
    let before: Vec<Instruction> = firmware.instructions(function.start & !1..pc).collect();
    let ends = |one: &&Instruction| {
        let name = one.mnemonic.as_str();
        name.starts_with("cpsie") || name == "sei" || sets_mask(one)
    };
    let end = before.iter().rev().take(LET_IN).find(ends)?;
    let begins = |one: &&Instruction| {
        let name = one.mnemonic.as_str();
        name.starts_with("cpsid") || name == "cli" || sets_mask(one)
    };
    let earlier = before.iter().filter(|one| one.address < end.address);
    earlier.rev().find(begins).map(|one| one.address)
}

/// A write to a mask or to the status register, which may set or clear it.
fn sets_mask(one: &Instruction) -> bool {
    let masks = ["primask", "basepri", "faultmask"];
    let named = masks.iter().any(|mask| one.operands.to_lowercase().starts_with(mask));
    (one.mnemonic.starts_with("msr") && named)
        || (one.mnemonic == "out" && one.operands.starts_with("0x3f"))
}
