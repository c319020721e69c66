//! How large stacks are, by the symbols of the image.

use strobe_symbols::{DATA_ENDS, Firmware};

/// Symbols whose value is the size of the stack from reset.
const SIZES: [&str; 9] = [
    "_Min_Stack_Size",
    "__stack_size",
    "__STACK_SIZE",
    "__stack_size__",
    "_stack_size",
    "Stack_Size",
    "__StackSize",
    "STACK_SIZE",
    "__main_stack_size__",
];

/// Symbols at the lowest address of the stack from reset.
const LIMITS: [&str; 9] = [
    "__StackLimit",
    "__stack_limit",
    "__stack_limit__",
    "_sstack",
    "__stack_start__",
    "__stack_bottom",
    "_stack_bottom",
    "__main_stack_start",
    "__main_stack_base__",
];

/// More is not RAM of a microcontroller.
const MOST_BYTES: u32 = 16 << 20;

/// A stack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Size {
    pub(super) bytes: u32,
    /// How it is known.
    pub(super) source: String,
    /// What lies below.
    pub(super) below: Option<String>,
}

/// The stack that begins below `top`.
pub(super) fn main_stack(firmware: &Firmware, top: u32) -> Option<Size> {
    let size = |bytes: u32, source: String| {
        let low = top.checked_sub(bytes)?;
        let below = low.checked_sub(1).and_then(|at| firmware.data_symbol_at(at));
        let below = below.map(|symbol| symbol.name.clone());
        (1..=MOST_BYTES).contains(&bytes).then_some(Size { bytes, source, below })
    };
    if let Some(around) = firmware.data_symbol_at(top.checked_sub(1)?) {
        return size(top - around.address, format!("variable {}", around.name));
    }
    let value = |name: &&str| Some((firmware.symbol_if_any(name)?.address, name.to_string()));
    if let Some((bytes, name)) = SIZES.iter().find_map(value).filter(|(bytes, _)| *bytes < top) {
        return size(bytes, format!("symbol {name}"));
    }
    let limits = LIMITS.iter().filter_map(value).filter(|(at, _)| *at < top);
    if let Some((at, name)) = limits.max() {
        return size(top - at, format!("symbol {name}"));
    }
    let symbols = firmware.data_symbols().iter();
    let ends = symbols.map(|s| (s.address.saturating_add(s.size), s.name.clone()));
    let ends = ends.chain(DATA_ENDS.iter().filter_map(value));
    let (at, name) = ends.filter(|(at, _)| *at < top && top - at <= MOST_BYTES).max()?;
    size(top - at, format!("down to the last variable ({name})"))
}

/// Variables that are stacks by their name and their size.
pub(super) fn arrays(firmware: &Firmware) -> Vec<(&str, u32, u32)> {
    let symbols = firmware.data_symbols().iter();
    let stacks = symbols.filter(|symbol| symbol.size >= 64 && is_stack(&symbol.name));
    stacks.map(|symbol| (symbol.name.as_str(), symbol.address, symbol.size)).collect()
}

/// ChibiOS calls stacks working areas: `waThread1`, `ch_idle_thread_wa`.
fn is_stack(name: &str) -> bool {
    let is_area = |rest: &str| rest.starts_with(|first: char| first.is_ascii_uppercase());
    name.to_ascii_lowercase().contains("stack")
        || name.ends_with("_wa")
        || name.strip_prefix("wa").is_some_and(is_area)
}
