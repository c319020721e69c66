//! Where code begins to run: at reset, at exceptions, at the functions that threads are made of.

use std::collections::BTreeMap;

use strobe_symbols::{CodeKind, Firmware, Machine};

use super::annotations::Resolved;
use crate::callgraph::{Call, Graph, Target};

/// What an entry point is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Code from reset.
    Reset,
    /// A handler.
    Handler,
    /// A thread.
    Thread,
}

/// An entry point.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) kind: Kind,
    pub(crate) address: u32,
    /// Of handlers: their exceptions.
    pub(crate) vectors: Vec<String>,
    /// Of a handler: its priority is fixed (NMI and HardFault).
    pub(super) is_fixed: bool,
    /// Of threads: the stack's size, and how it is known.
    pub(super) stack: Option<(u32, String)>,
    /// Of threads: only the name of what is called with it makes it one.
    pub(super) is_guess: bool,
    /// Of threads: functions of the system that come before it on its stack, outermost first.
    pub(super) through: Vec<u32>,
}

/// Names that vector tables have.
const TABLES: [&str; 12] = [
    "__isr_vector",
    "g_pfnVectors",
    "__Vectors",
    "__vectors",
    "_vector_table",
    "__vector_table",
    "vector_table",
    "_vectors",
    "vectors",
    "__interrupt_vector",
    "exception_vectors",
    "__VECTOR_TABLE",
];

/// Names of sections that hold only one.
const SECTIONS: [&str; 6] =
    [".isr_vector", ".vectors", ".vector_table", ".intvecs", "rom_start", ".interrupts"];

/// Where the data space of an AVR begins in its ELF file.
const DATA: u32 = 0x80_0000;

/// Vectors of an ARMv7-M table: 16 exceptions and 496 interrupts.
const MOST_VECTORS: u32 = 512;

/// A function that makes threads: the arguments that hold the thread's function and its stack's
/// size, and how many bytes a unit of that size has.
struct Creation {
    name: &'static str,
    entry: usize,
    size: Option<(usize, u32)>,
    /// The type of what is in the same memory: the thread's own structure, above its stack.
    within: Option<&'static str>,
}

/// Functions that make threads, whose arguments are constants as a rule.
const CREATIONS: [Creation; 13] = [
    Creation { name: "xTaskCreate", entry: 0, size: Some((2, 4)), within: None },
    Creation { name: "xTaskCreateStatic", entry: 0, size: Some((2, 4)), within: None },
    Creation { name: "xTaskGenericCreate", entry: 0, size: Some((2, 4)), within: None },
    Creation { name: "osThreadNew", entry: 0, size: None, within: None },
    Creation { name: "tx_thread_create", entry: 2, size: None, within: None },
    Creation { name: "_tx_thread_create", entry: 2, size: None, within: None },
    Creation { name: "_txe_thread_create", entry: 2, size: None, within: None },
    Creation { name: "k_thread_create", entry: 3, size: Some((2, 1)), within: None },
    Creation { name: "z_impl_k_thread_create", entry: 3, size: Some((2, 1)), within: None },
    Creation { name: "task_create", entry: 3, size: Some((2, 1)), within: None },
    Creation { name: "kthread_create", entry: 3, size: Some((2, 1)), within: None },
    Creation { name: "pthread_create", entry: 2, size: None, within: None },
    Creation { name: "chThdCreateStatic", entry: 3, size: Some((1, 1)), within: Some("thread_t") },
];

/// Functions of ChibiOS's ports that handlers have an interrupted thread run, on its stack, by a
/// frame that they put below the interrupted one's.
const AFTER_HANDLERS: [&str; 4] = [
    "__port_switch_from_isr",
    "__port_exit_from_isr",
    "_port_switch_from_isr",
    "_port_exit_from_isr",
];

/// What names of functions have that make threads in other systems.
const THREAD_WORDS: [&str; 2] = ["thread", "task"];
const MAKING_WORDS: [&str; 5] = ["create", "spawn", "new", "start", "add"];

/// The vector table of an Arm image, or what stands for it.
#[derive(Debug, Default)]
pub(crate) struct Vectors {
    /// The end of the stack that code from reset has.
    pub(super) stack: Option<u32>,
    /// Reset and handlers.
    pub(crate) entries: Vec<Entry>,
}

/// What is entered from outside.
pub(crate) fn vectors(firmware: &Firmware) -> Vectors {
    match firmware.machine() {
        Machine::Avr => avr(firmware),
        _ => arm(firmware),
    }
}

pub(super) fn entry(kind: Kind, address: u32) -> Entry {
    let (vectors, through) = (Vec::new(), Vec::new());
    Entry { kind, address, vectors, is_fixed: false, stack: None, is_guess: false, through }
}

fn arm(firmware: &Firmware) -> Vectors {
    let Some((table, length)) = table(firmware) else {
        let main = firmware.symbol_if_any("main").filter(|main| main.function.is_some());
        let start = main.map_or(firmware.entry() & !1, |main| main.address);
        return Vectors { stack: None, entries: vec![entry(Kind::Reset, start)] };
    };
    let mut handlers: BTreeMap<u32, Entry> = BTreeMap::new();
    for number in 2..length {
        let Some(address) = firmware.word_at(table + 4 * number) else { break };
        if address == 0 {
            continue;
        }
        if !is_handler(firmware, address) {
            break;
        }
        let handler = handlers.entry(address & !1);
        let handler = handler.or_insert_with_key(|address| entry(Kind::Handler, *address));
        handler.vectors.push(exception(number));
        handler.is_fixed |= number < 4;
    }
    let reset = firmware.word_at(table + 4).unwrap_or_default();
    let mut entries = vec![entry(Kind::Reset, reset & !1)];
    entries.extend(handlers.into_values());
    Vectors { stack: firmware.word_at(table).filter(|stack| *stack != 0), entries }
}

/// The vector table and its words.
pub(crate) fn table(firmware: &Firmware) -> Option<(u32, u32)> {
    let named = TABLES.iter().filter_map(|name| firmware.symbol_if_any(name));
    let named = named.map(|symbol| (symbol.address, symbol.size));
    let sections = firmware.sections().iter();
    let sections = sections.filter(|section| SECTIONS.contains(&section.name.as_str()));
    let sections = sections.map(|section| (section.start, section.size));
    let lowest = firmware.segments().iter().filter(|s| !s.data().is_empty());
    let lowest = lowest.map(|segment| (segment.run_address, 0)).min();
    let mut candidates = named.chain(sections).chain(lowest);
    let fits = |(at, _): &(u32, u32)| {
        let reset = at.checked_add(4).and_then(|at| firmware.word_at(at));
        at % 4 == 0 && reset.is_some_and(|reset| is_handler(firmware, reset))
    };
    let (at, size) = candidates.find(fits)?;
    Some((at, if size == 0 { MOST_VECTORS } else { (size / 4).min(MOST_VECTORS) }))
}

/// Whether a word is the address of code with the Thumb bit: of a function, where these are known.
fn is_handler(firmware: &Firmware, word: u32) -> bool {
    let starts = |id| firmware.function(id).start == word & !1;
    word & 1 == 1
        && firmware.code_kind(word & !1) == Some(CodeKind::Thumb)
        && firmware.function_at(word).is_none_or(starts)
}

fn exception(number: u32) -> String {
    match number {
        2 => "NMI".to_owned(),
        3 => "HardFault".to_owned(),
        4 => "MemManage".to_owned(),
        5 => "BusFault".to_owned(),
        6 => "UsageFault".to_owned(),
        11 => "SVCall".to_owned(),
        12 => "DebugMonitor".to_owned(),
        14 => "PendSV".to_owned(),
        15 => "SysTick".to_owned(),
        0..=15 => format!("exception {number}"),
        _ => format!("IRQ{}", number - 16),
    }
}

/// avr-libc calls handlers `__vector_N`; the image begins with the jump to the code from reset.
fn avr(firmware: &Firmware) -> Vectors {
    let mut entries = vec![entry(Kind::Reset, 0)];
    for function in firmware.functions() {
        let numbers = function.linkage_names().filter_map(|name| {
            let number = name.strip_prefix("__vector_")?;
            number.bytes().all(|c| c.is_ascii_digit()).then(|| format!("vector {number}"))
        });
        let vectors: Vec<String> = numbers.collect();
        if !vectors.is_empty() {
            entries.push(Entry { vectors, ..entry(Kind::Handler, function.start) });
        }
    }
    // The first free byte, in the data space; what is in use begins above it.
    let stack = firmware.symbol_if_any("__stack").map(|symbol| DATA | symbol.address & 0xffff);
    let stack = stack.map(|stack| stack + 1);
    Vectors { stack, entries }
}

/// Functions of threads: annotated ones, and those that a function which makes threads is called
/// with.
pub(super) fn threads(firmware: &Firmware, graph: &Graph, resolved: &Resolved) -> Vec<Entry> {
    let mut found: BTreeMap<u32, Entry> = BTreeMap::new();
    let makers: BTreeMap<u32, (&Creation, Option<u32>)> = CREATIONS
        .iter()
        .filter_map(|creation| {
            let address = firmware.symbol_if_any(creation.name)?.address;
            let bytes = |name| {
                let types = firmware.types();
                types.bytes(types.named(name).ok()?)
            };
            Some((address, (creation, creation.within.and_then(bytes))))
        })
        .collect();
    let is_made = |address: u32| graph.functions.contains_key(&address);
    let calls = graph.functions.values().flat_map(|function| &function.calls);
    let created = calls.filter_map(|((_, to, _), call)| {
        let Target::Known(to) = to else { return None };
        match makers.get(to) {
            Some((maker, within)) => Some((known(maker, call, *within)?, false)),
            None if makes_threads(firmware, *to) => Some((guessed(firmware, call)?, true)),
            None => None,
        }
    });
    // A function that calls one that makes threads with what it was called with has no constants.
    let defined = defined(firmware).map(|made| (made, false));
    let made = created.chain(defined).filter(|((address, _), _)| is_made(*address));
    for ((address, stack), is_guess) in made {
        let new = || Entry { is_guess, ..entry(Kind::Thread, address) };
        let thread = found.entry(address).or_insert_with(new);
        thread.is_guess &= is_guess;
        // Of several threads of one function, the smallest stack is the one to look at.
        let is_smaller =
            |(size, _): &(u32, String)| thread.stack.as_ref().is_none_or(|(known, _)| size < known);
        if let Some(stack) = stack.filter(is_smaller) {
            thread.stack = Some(stack);
        }
    }
    for thread in &resolved.threads {
        let known = found.entry(thread.entry).or_insert_with(|| entry(Kind::Thread, thread.entry));
        known.is_guess = false;
        known.stack = thread.stack.clone().or(known.stack.take());
    }
    found.into_values().collect()
}

/// What handlers have threads run on their own stacks.
pub(super) fn after_handlers(firmware: &Firmware) -> impl Iterator<Item = u32> {
    AFTER_HANDLERS.iter().filter_map(|name| Some(firmware.symbol_if_any(name)?.address & !1))
}

type Made = (u32, Option<(u32, String)>);

fn known(maker: &Creation, call: &Call, within: Option<u32>) -> Option<Made> {
    let address = call.arguments[maker.entry]? & !1;
    let given = maker.size.and_then(|(at, unit)| call.arguments[at]?.checked_mul(unit));
    let source = format!("given to {}", maker.name);
    let size = given.map(|given| match (maker.within, within) {
        (Some(name), Some(bytes)) => {
            (given.saturating_sub(aligned(given, bytes)), format!("{source}, less {name}"))
        }
        _ => (given, source),
    });
    Some((address, size))
}

/// The bytes that a structure takes at the end of memory. Systems align it as stacks are, to 8
/// bytes, or to the 32 of a region of a memory protection unit: then the size of the memory is a
/// multiple of that, too.
fn aligned(memory: u32, bytes: u32) -> u32 {
    let to = if memory.is_multiple_of(32) { 32 } else { 8 };
    bytes.checked_next_multiple_of(to).unwrap_or(bytes)
}

/// Threads that Zephyr's K_THREAD_DEFINE defines: each has a `struct _static_thread_data`, which
/// begins with the thread, its stack, the stack's size and its function
/// (`include/zephyr/kernel.h`).
fn defined(firmware: &Firmware) -> impl Iterator<Item = Made> {
    const DATA_OF: &str = "_k_thread_data_";
    let symbols = firmware.data_symbols().iter();
    symbols.filter(|symbol| symbol.name.starts_with(DATA_OF)).filter_map(|symbol| {
        let word = |number: u32| firmware.word_at(symbol.address.checked_add(4 * number)?);
        let (size, function) = (word(2)?, word(3).filter(|word| is_handler(firmware, *word))?);
        let name = symbol.name.trim_start_matches(DATA_OF);
        let stack = (size > 0).then(|| (size, format!("K_THREAD_DEFINE of {name}")));
        Some((function & !1, stack))
    })
}

/// Whether a function's name is that of one that makes threads.
fn makes_threads(firmware: &Firmware, address: u32) -> bool {
    let Some(id) = firmware.function_at(address) else { return false };
    let function = firmware.function(id);
    let name = function.name.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    function.start == address && has(&THREAD_WORDS) && has(&MAKING_WORDS)
}

/// The function and the variable with a stack's name among the arguments.
fn guessed(firmware: &Firmware, call: &Call) -> Option<Made> {
    let arguments = || call.arguments.into_iter().flatten();
    let address = arguments().find(|word| is_handler(firmware, *word))? & !1;
    let mut symbols = arguments().filter_map(|word| firmware.data_symbol_at(word));
    let stack = symbols.find(|symbol| symbol.name.to_ascii_lowercase().contains("stack"));
    Some((address, stack.map(|stack| (stack.size, format!("variable {}", stack.name)))))
}

#[cfg(test)]
mod tests {
    use super::aligned;

    #[test]
    fn a_structure_is_aligned_as_stacks_are() {
        assert_eq!((aligned(544, 84), aligned(552, 84)), (96, 88));
        assert_eq!(aligned(8, u32::MAX), u32::MAX);
    }
}
