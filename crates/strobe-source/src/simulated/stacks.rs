//! How deep each stack got in a run.

use strobe_model::StackMark;
use strobe_sim::observe::calls::{CallTree, NodeKind};
use strobe_sim::observe::deepest::Deepest;
use strobe_symbols::Firmware;

use super::record::moment;
use super::{drive, overflow, scheduling};
use crate::names::{Names, outermost, outermost_at};

/// Functions of a chain that are named.
const MOST_NAMES: usize = 24;

/// A stack's deepest moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StackUse {
    /// The thread, or `main` for the stack from reset.
    pub name: String,
    /// The first function of the thread.
    pub entry: Option<u32>,
    /// The stack from reset, which handlers use too unless threads use it.
    pub is_main: bool,
    /// Bytes from its top.
    pub bytes: u64,
    /// The lowest stack pointer.
    pub low: u32,
    /// The functions on it, outermost first.
    pub chain: String,
    /// Cycles since reset.
    pub cycle: u64,
    /// What it has run into, if it has gone below its end.
    pub overflow: Option<String>,
}

/// The deepest that the stack of a thread was, by its number.
pub(super) fn mark(firmware: &Firmware, run: &drive::Run, number: usize) -> Option<StackMark> {
    let calls = &run.machine.observer().1.0;
    let deepest = calls.marks.as_ref()?.of(number)?;
    let thread = calls.threads.all().get(number)?;
    let bus = run.machine.bus();
    Some(StackMark {
        bytes: u64::from(deepest.top.max(thread.top).saturating_sub(deepest.sp)),
        low: deepest.sp,
        floor: calls.threads.floor(number, bus),
        chain: chain(firmware, deepest),
        at: moment(bus, deepest.cycle),
    })
}

pub(super) fn used(firmware: &Firmware, run: &drive::Run) -> Vec<StackUse> {
    let calls = &run.machine.observer().1.0;
    if calls.marks.is_none() {
        return Vec::new();
    }
    let thread_names = scheduling::names(firmware, &calls.threads);
    let shown: Vec<&str> = thread_names.iter().map(String::as_str).collect();
    let overflows = overflow::warnings(firmware, calls, &Names::new(firmware), &shown);
    let overflowed: Vec<_> = calls.overflows.iter().zip(overflows).collect();
    let mut out = Vec::new();
    for (number, name) in thread_names.iter().enumerate() {
        let Some(mark) = mark(firmware, run, number) else { continue };
        let overflow = overflowed.iter().find(|(overflow, _)| overflow.thread == number);
        out.push(StackUse {
            name: if number == 0 { "main".to_owned() } else { name.clone() },
            entry: entry(firmware, calls, number),
            is_main: number == 0,
            bytes: mark.bytes,
            low: mark.low,
            chain: mark.chain,
            cycle: mark.at.cycle,
            overflow: overflow.map(|(_, warning)| warning.text.clone()),
        });
    }
    out
}

/// The first function that a thread called or began with.
fn entry(firmware: &Firmware, calls: &CallTree, thread: usize) -> Option<u32> {
    let thread = u32::try_from(thread).ok()?;
    let nodes = calls.nodes();
    let root = nodes.iter().position(|node| node.kind == NodeKind::Thread(thread))? as u32;
    let first = nodes.iter().find(|node| node.parent == Some(root))?;
    match first.kind {
        NodeKind::Function(index) => Some(outermost(firmware).nth(index as usize)?.start),
        _ => None,
    }
}

fn chain(firmware: &Firmware, deepest: &Deepest) -> String {
    let name = |at: u32| outermost_at(firmware, at).map_or("(no symbol)", |f| f.name.as_str());
    let mut names: Vec<&str> = vec![name(deepest.pc)];
    let mut interrupts = false;
    for caller in &deepest.callers {
        match caller {
            None => {
                names.push("(interrupt)");
                interrupts = true;
            }
            // What was interrupted is an instruction, the others are return addresses.
            Some(at) if std::mem::take(&mut interrupts) => names.push(name(*at)),
            Some(at) => names.push(name(at.wrapping_sub(2))),
        }
    }
    names.reverse();
    let more = if names.len() > MOST_NAMES { " > ..." } else { "" };
    names.truncate(MOST_NAMES);
    names.join(" > ") + more
}
