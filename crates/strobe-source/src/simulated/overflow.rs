//! Where stacks should end, by the firmware's symbols, and the finding about one that went further.

use strobe_model::measurement::Finding;
use strobe_sim::bus::Bus;
use strobe_sim::observe::calls::CallTree;
use strobe_sim::observe::overflow::{Floor, Overflow};
use strobe_symbols::{DATA_ENDS, Firmware};

use crate::names::{Names, outermost_at};

/// What the `_sbrk` of C libraries and vendors' projects call the end of what they have given to
/// the heap.
const HEAP_ENDS: [&str; 5] =
    ["heap_end", "__sbrk_heap_end", "current_heap_end", "heap_next", "_heap_break"];

/// A stack has at least this many bytes, so what ends nearer to its top is not below it but around
/// it.
const LEAST_STACK: u32 = 64;

/// Parts of a call chain that are named.
const MOST_NAMES: usize = 24;

/// Functions that call each other in a ring.
const LONGEST_CYCLE: usize = 4;

/// Where the stack that begins below `sp` at reset should end: at the start of the variable that it
/// is in, or at the end of those below it and of the heap.
pub(super) fn floors(firmware: &Firmware, bus: &Bus, sp: u32) -> Vec<Floor> {
    let Some(top) = sp.checked_sub(1) else { return Vec::new() };
    if let Some(around) = firmware.data_symbol_at(top) {
        return vec![Floor::At(around.address)];
    }
    let Some(memory) = bus.memory_at(top) else { return Vec::new() };
    let below = |at: &u32| (memory.base + 1..=sp.saturating_sub(LEAST_STACK)).contains(at);
    let symbols = firmware.data_symbols();
    let variables = symbols.iter().map(|s| s.address.saturating_add(s.size));
    let marks = DATA_ENDS.iter().filter_map(|name| Some(firmware.symbol_if_any(name)?.address));
    let data = variables.chain(marks).filter(below).max().map(Floor::At);
    // A static variable of a function has a number behind its name; `end` by itself is the
    // linker's.
    let is_heap_end = |name: &str| match name.split_once('.') {
        Some((name, _)) => name == "end" || HEAP_ENDS.contains(&name),
        None => HEAP_ENDS.contains(&name),
    };
    let heap = symbols.iter().find(|s| s.size == 4 && is_heap_end(&s.name));
    // Registers below RAM are overwritten by a stack as variables are.
    let below = firmware.machine().conventions().below_ram;
    let data = data.or(below.map(|_| Floor::At(memory.base)));
    data.into_iter().chain(heap.map(|s| Floor::Pointer(s.address))).collect()
}

/// A warning for each stack that went below its end; `threads` are the names by number.
pub(super) fn warnings(
    firmware: &Firmware,
    calls: &CallTree,
    names: &Names,
    threads: &[&str],
) -> Vec<Finding> {
    let low = |number: usize| {
        let marked = calls.marks.as_ref().and_then(|marks| marks.of(number)).map(|mark| mark.sp);
        let seen = calls.threads.all().get(number).map(|thread| thread.low);
        marked.into_iter().chain(seen).min().unwrap_or(0)
    };
    let one = |overflow: &Overflow| {
        let thread = threads.get(overflow.thread).copied().unwrap_or_default();
        let text = format!(
            "the stack of thread {thread} has overflowed: at cycle {} its pointer was {:#010x}, \
             below {:#010x}, where {}; \
             it reached down to {:#010x}, and nothing protects what is there. It went there at \
             {}, the \
             calls to it are {}",
            overflow.cycle,
            overflow.sp,
            overflow.limit,
            end(firmware, overflow),
            low(overflow.thread),
            names.describe(overflow.pc).swap_remove(0),
            chain(firmware, overflow)
        );
        Finding::warning("stack-overflow", text)
    };
    calls.overflows.iter().map(one).collect()
}

/// What a stack has run into.
fn end(firmware: &Firmware, overflow: &Overflow) -> String {
    let at = match overflow.floor {
        Floor::Pointer(_) => return "the heap ends".to_owned(),
        Floor::At(at) => at,
    };
    let is_there = |name: &&&str| firmware.symbol_if_any(name).is_some_and(|s| s.address == at);
    let below = firmware.data_symbol_at(at.wrapping_sub(1));
    let below_ram = firmware.machine().conventions().below_ram;
    match (below, DATA_ENDS.iter().find(is_there), below_ram) {
        // A heap, with this stack's block in it.
        (Some(around), ..) if u64::from(around.address) + u64::from(around.size) > at.into() => {
            format!("its own memory in {} begins", around.name)
        }
        (Some(below), ..) => format!("the variable {} ends", below.name),
        (None, _, Some(below)) => format!("RAM begins: below are {below}"),
        (None, Some(name), None) => format!("the firmware's variables end ({name})"),
        (None, None, None) => "its own memory begins".to_owned(),
    }
}

/// `inner (3 times) < outer < main`, innermost first. Functions that call each other in turn are
/// shown once, too.
fn chain(firmware: &Firmware, overflow: &Overflow) -> String {
    let name = |address: u32| {
        outermost_at(firmware, address).map_or("(no symbol)", |function| function.name.as_str())
    };
    // A return address points behind its call.
    let callers = overflow.callers.iter().map(|at| at.wrapping_sub(2));
    let names: Vec<&str> = std::iter::once(overflow.pc).chain(callers).map(name).collect();
    let mut shown = Vec::new();
    let mut at = 0;
    while at < names.len() && shown.len() < MOST_NAMES {
        let rest = &names[at..];
        let times = |length: usize| {
            rest.chunks(length).take_while(|chunk| *chunk == &rest[..length]).count()
        };
        let lengths = 1..=LONGEST_CYCLE.min(rest.len());
        let (length, times) =
            lengths.map(|n| (n, times(n))).find(|&(_, times)| times > 1).unwrap_or((1, 1));
        let group = rest[..length].join(" < ");
        shown.push(match (length, times) {
            (_, 1) => group,
            (1, _) => format!("{group} ({times} times)"),
            _ => format!("[{group}] ({times} times)"),
        });
        at += length * times;
    }
    let more = if at < names.len() { " < ..." } else { "" };
    shown.join(" < ") + more
}
