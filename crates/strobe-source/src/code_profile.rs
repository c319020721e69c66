//! Code that ran, by address: cycles or samples, with the names to read them.
//!
//! What the simulated board and the trace pin collect alike; each makes the profile of its
//! measurement from it.

use strobe_model::{Cause, CauseCycles};

/// A thread, by index into the instrument's list of threads, or an interrupt, by exception number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Who {
    /// A thread.
    Thread(u32),
    /// An exception's handler.
    Interrupt(u16),
}

/// Samples and the tables they refer to by index.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CodeProfile {
    /// Functions.
    pub functions: Vec<Function>,
    /// Source files.
    pub files: Vec<String>,
    /// One entry per instruction address that ran, in address order.
    pub addresses: Vec<AddressSample>,
    /// The call tree; parents come before their children.
    pub tree: Vec<TreeNode>,
    /// Calls that were too deep or too many to be kept apart in the tree.
    pub tree_cut: u64,
    /// The addresses' samples by thread and interrupt, if they were distinguished.
    pub shares: Vec<Share>,
}

/// What one thread or interrupt has of the samples.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    /// Who.
    pub who: Who,
    /// Its part of each address where it has one.
    pub addresses: Vec<AddressShare>,
}

/// A part of an address's samples.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressShare {
    /// The address, by index.
    pub sample: u32,
    /// Times executed.
    pub count: u64,
    /// Of these, in empty loops that only an interrupt ends.
    pub idle: u64,
    /// Times it changed the flow.
    pub jumped: u64,
    /// Cycles by cause, likely figures.
    pub cycles: CauseCycles,
}

/// A function.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Function {
    /// Demangled name.
    pub name: String,
    /// First address, as hex; absent for functions that exist only inlined.
    pub address: Option<String>,
    /// File of its definition, by index.
    pub file: Option<u32>,
}

/// What one instruction address saw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddressSample {
    /// Program counter.
    pub address: u32,
    /// Times executed.
    pub count: u64,
    /// Of these, in empty loops that only an interrupt ends.
    pub idle: u64,
    /// Times it changed the flow.
    pub jumped: u64,
    /// Cycles by cause, likely figures.
    pub cycles: CauseCycles,
    /// The physical function (what the linker placed there).
    pub function: Option<u32>,
    /// Source frames, innermost (inlined) first.
    pub frames: Vec<Frame>,
}

/// One source-level frame of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Frame {
    /// Function, by index.
    pub function: u32,
    /// File, by index.
    pub file: Option<u32>,
    /// Line, from 1.
    pub line: Option<u32>,
}

/// What a tree node stands for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Place {
    /// The code from reset, or a thread.
    Thread(String),
    /// An exception's handler.
    Exception(String),
    /// A function, by index.
    Function(u32),
    /// Code outside every known function.
    Unknown,
}

/// A node of the call tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeNode {
    /// What it stands for.
    pub place: Place,
    /// The caller's node.
    pub parent: Option<u32>,
    /// Times entered.
    pub calls: u64,
    /// Cycles in the function itself, asleep included.
    pub self_cycles: u64,
    /// Of these, asleep or idle.
    pub self_idle: u64,
    /// Instructions of the function itself.
    pub self_instructions: u64,
}

/// Where nothing but idle time was spent, every execution is idle.
fn idle_count(idle: u64, count: u64, cycles: &CauseCycles) -> u64 {
    if cycles.busy() == 0 && cycles[Cause::Asleep] > 0 { count } else { idle.min(count) }
}

impl AddressSample {
    /// Executions in empty loops that only an interrupt ends.
    pub fn idle_count(&self) -> u64 {
        idle_count(self.idle, self.count, &self.cycles)
    }
}

impl AddressShare {
    /// Executions in empty loops that only an interrupt ends.
    pub fn idle_count(&self) -> u64 {
        idle_count(self.idle, self.count, &self.cycles)
    }
}

impl CodeProfile {
    /// A function's name, or what stands for code without one.
    pub fn function_name(&self, function: Option<u32>) -> String {
        let known = function.and_then(|f| self.functions.get(f as usize));
        known.map_or_else(|| "(no symbol)".to_owned(), |f| f.name.clone())
    }
}
