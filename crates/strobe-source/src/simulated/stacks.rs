//! How deep each stack got in a run.

use std::collections::HashMap;

use crate::simulated::run_record::StackMark;
use strobe_analyse::paint;
use strobe_sim::bus::Bus;
use strobe_sim::observe::calls::{CallTree, Node, NodeKind};
use strobe_sim::observe::deepest::{Deepest, HANDLERS};
use strobe_symbols::Firmware;

use super::record::moment;
use super::{drive, overflow, scheduling};
use crate::names::{Names, outermost, outermost_at};

/// Functions of a chain that are named.
const MOST_NAMES: usize = 24;

/// Functions of a path from a thread's first one: systems put one to three before the thread's own.
const MOST_FIRST: usize = 4;
/// Paths of one thread.
const MOST_PATHS: usize = 64;

/// A stack's deepest moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StackUse {
    /// The thread, `main` for the code from reset, or `interrupts`.
    pub name: String,
    /// The first functions of the thread: each path of calls from its first one, four at most.
    pub first: Vec<Vec<u32>>,
    /// That of the code from reset, which handlers use too unless it is a process stack.
    pub is_main: bool,
    /// Bytes from its top.
    pub bytes: u64,
    /// All bytes of it, where its end is known.
    pub size: Option<u64>,
    /// The size is the most that it can be: other stacks are in the same variable.
    pub shares: bool,
    /// The lowest stack pointer.
    pub low: u32,
    /// The functions on it, outermost first.
    pub chain: String,
    /// Cycles since reset.
    pub cycle: u64,
    /// What it has run into, if it has gone below its end.
    pub overflow: Option<String>,
}

/// The deepest that the stack of a thread was, by its number, with what is left of its paint.
pub(super) fn mark(firmware: &Firmware, run: &drive::Run, number: usize) -> Option<StackMark> {
    let mark = deepest(firmware, run, number)?;
    let (threads, bus) = (&run.machine.observer().1.0.threads, run.machine.bus());
    // The memory of one that has ended is somebody else's.
    let floor = mark.floor.filter(|_| threads.is_there(number, bus));
    let top = mark.low.saturating_add(u32::try_from(mark.bytes).unwrap_or(u32::MAX));
    Some(StackMark { painted: floor.and_then(|floor| painted(bus, floor, top)), ..mark })
}

/// The same without looking for paint, which reads all of the stack.
fn deepest(firmware: &Firmware, run: &drive::Run, number: usize) -> Option<StackMark> {
    let calls = &run.machine.observer().1.0;
    let deepest = calls.marks.as_ref()?.of(number)?;
    let thread = calls.threads.all().get(number)?;
    let bus = run.machine.bus();
    let top = deepest.top.max(thread.top);
    Some(StackMark {
        bytes: u64::from(top.saturating_sub(deepest.sp)),
        low: deepest.sp,
        floor: calls.threads.floor(number, bus),
        shares: calls.threads.shares_its_memory(number, bus),
        painted: None,
        chain: chain(firmware, deepest),
        at: moment(bus, deepest.cycle),
    })
}

/// What the firmware itself would find: the bytes of a stack that it has painted and that are paint
/// no more.
fn painted(bus: &Bus, floor: u32, top: u32) -> Option<u64> {
    let floor = floor.checked_next_multiple_of(4)?;
    let unused = u32::try_from(paint::of_stack(bus.peek_words(floor..top))?.unused * 4).ok()?;
    Some(top.checked_sub(floor.checked_add(unused)?)?.into())
}

/// The deepest that the stack was which only handlers use.
pub(super) fn of_handlers(firmware: &Firmware, run: &drive::Run) -> Option<StackMark> {
    let deepest = run.machine.observer().1.0.marks.as_ref()?.of(HANDLERS)?;
    Some(StackMark {
        bytes: u64::from(deepest.top.saturating_sub(deepest.sp)),
        low: deepest.sp,
        floor: None,
        shares: false,
        painted: None,
        chain: chain(firmware, deepest),
        at: moment(run.machine.bus(), deepest.cycle),
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
        let Some(mark) = deepest(firmware, run, number) else { continue };
        let overflow = overflowed.iter().find(|(overflow, _)| overflow.thread == number);
        out.push(StackUse {
            name: if number == 0 { "main".to_owned() } else { name.clone() },
            first: first(firmware, calls, number),
            is_main: number == 0,
            bytes: mark.bytes,
            size: mark
                .floor
                .and_then(|floor| (mark.bytes + u64::from(mark.low)).checked_sub(floor.into())),
            shares: mark.shares,
            low: mark.low,
            chain: mark.chain,
            cycle: mark.at.cycle,
            overflow: overflow.map(|(_, warning)| warning.text.clone()),
        });
    }
    out.extend(of_handlers(firmware, run).map(|mark| StackUse {
        name: "interrupts".to_owned(),
        first: Vec::new(),
        is_main: false,
        bytes: mark.bytes,
        size: None,
        shares: false,
        low: mark.low,
        chain: mark.chain,
        cycle: mark.at.cycle,
        overflow: None,
    }));
    out
}

/// The paths of calls that a thread began with.
fn first(firmware: &Firmware, calls: &CallTree, thread: usize) -> Vec<Vec<u32>> {
    let nodes = calls.nodes();
    let is_root = |node: &Node| node.kind == NodeKind::Thread(thread as u32);
    let Some(root) = nodes.iter().position(is_root) else { return Vec::new() };
    let starts: Vec<u32> = outermost(firmware).map(|function| function.start).collect();
    // Callers come before what they call.
    let mut paths = HashMap::from([(root as u32, Vec::new())]);
    let mut found = Vec::new();
    for (number, node) in (0..).zip(nodes) {
        let NodeKind::Function(index) = node.kind else { continue };
        if node.diverted {
            continue;
        }
        let (Some(parent), Some(start)) = (node.parent, starts.get(index as usize)) else {
            continue;
        };
        let Some(above) = paths.get(&parent).filter(|path| path.len() < MOST_FIRST) else {
            continue;
        };
        let path: Vec<u32> = above.iter().chain([start]).copied().collect();
        found.push(path.clone());
        paths.insert(number, path);
        if found.len() == MOST_PATHS {
            break;
        }
    }
    found
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
