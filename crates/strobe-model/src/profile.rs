//! The profile: cycles by address and by call chain, with the names to read them.
//!
//! Raw first: samples keep their addresses, and every view (by function, line or address) is worked
//! out from them.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use crate::{Bounds, CauseCycles};

/// Samples and the tables they refer to by index.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Profile {
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
}

/// A function.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Function {
    /// Demangled name.
    pub name: String,
    /// First address, as hex; absent for functions that exist only inlined.
    pub address: Option<String>,
    /// File of its definition, by index.
    pub file: Option<u32>,
}

/// What one instruction address saw.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddressSample {
    /// Program counter.
    pub address: u32,
    /// Times executed.
    pub count: u64,
    /// Times it changed the flow.
    pub jumped: u64,
    /// Cycles by cause, likely figures.
    pub cycles: CauseCycles,
    /// Total with bounds.
    pub bounds: Bounds,
    /// The physical function (what the linker placed there).
    pub function: Option<u32>,
    /// Source frames, innermost (inlined) first.
    pub frames: Vec<Frame>,
}

/// One source-level frame of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Frame {
    /// Function, by index.
    pub function: u32,
    /// File, by index.
    pub file: Option<u32>,
    /// Line, from 1.
    pub line: Option<u32>,
}

/// What a tree node stands for.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeNode {
    /// What it stands for.
    pub place: Place,
    /// The caller's node.
    pub parent: Option<u32>,
    /// Times entered.
    pub calls: u64,
    /// Cycles in the function itself.
    pub self_cycles: u64,
    /// Instructions of the function itself.
    pub self_instructions: u64,
}

/// One row of a flat view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Function, `file:line` or address.
    pub name: String,
    /// Cycles spent there, by cause.
    pub cycles: CauseCycles,
    /// Total with bounds.
    pub bounds: Bounds,
    /// Instructions executed there.
    pub instructions: u64,
    /// Cycles there and in everything called from there; by function only.
    pub inclusive: Option<u64>,
    /// Times called; by function only.
    pub calls: Option<u64>,
}

/// What a flat view groups by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum By {
    /// Physical function.
    Function,
    /// Source line, innermost inlined frame.
    Line,
    /// Instruction address.
    Address,
}

impl Profile {
    /// The flat view, most cycles first; ties in name order. Its cycles add up to all samples'.
    pub fn rows(&self, by: By) -> Vec<Row> {
        let mut rows: HashMap<String, Row> = HashMap::new();
        for sample in &self.addresses {
            let name = self.key(sample, by);
            let row = rows.entry(name).or_insert_with_key(|name| Row {
                name: name.clone(),
                cycles: CauseCycles::ZERO,
                bounds: Bounds::default(),
                instructions: 0,
                inclusive: None,
                calls: None,
            });
            row.cycles += sample.cycles;
            row.bounds += sample.bounds;
            row.instructions += sample.count;
        }
        if by == By::Function {
            for (name, inclusive, calls) in self.inclusive() {
                if let Some(row) = rows.get_mut(&name) {
                    row.inclusive = Some(inclusive);
                    row.calls = Some(calls);
                }
            }
        }
        let mut rows: Vec<Row> = rows.into_values().collect();
        rows.sort_by(|a, b| {
            b.cycles.total().cmp(&a.cycles.total()).then_with(|| a.name.cmp(&b.name))
        });
        rows
    }

    fn key(&self, sample: &AddressSample, by: By) -> String {
        match by {
            By::Address => format!("{:#010x}", sample.address),
            By::Function => self.function_name(sample.function),
            By::Line => match sample.frames.first() {
                Some(Frame { file: Some(file), line: Some(line), .. }) => {
                    format!("{}:{line}", self.files[*file as usize])
                }
                _ => format!("{} (no line)", self.function_name(sample.function)),
            },
        }
    }

    /// A function's name, or what to call code without one.
    pub fn function_name(&self, function: Option<u32>) -> String {
        let known = function.and_then(|f| self.functions.get(f as usize));
        known.map_or_else(|| "(no symbol)".to_owned(), |f| f.name.clone())
    }

    /// (function, inclusive cycles, calls). Recursion counts once: only the outermost node of a
    /// function in a chain adds its subtree.
    fn inclusive(&self) -> Vec<(String, u64, u64)> {
        let mut subtree: Vec<u64> = self.tree.iter().map(|n| n.self_cycles).collect();
        for (i, node) in self.tree.iter().enumerate().rev() {
            if let Some(parent) = node.parent {
                subtree[parent as usize] += subtree[i];
            }
        }
        let mut sums: HashMap<&Place, (u64, u64)> = HashMap::new();
        for (i, node) in self.tree.iter().enumerate() {
            let sum = sums.entry(&node.place).or_default();
            sum.1 += node.calls;
            if !self.has_ancestor(i, &node.place) {
                sum.0 += subtree[i];
            }
        }
        let named = sums.into_iter().filter_map(|(place, (cycles, calls))| match place {
            Place::Function(f) => Some((self.function_name(Some(*f)), cycles, calls)),
            Place::Unknown => Some((self.function_name(None), cycles, calls)),
            _ => None,
        });
        named.collect()
    }

    fn has_ancestor(&self, node: usize, place: &Place) -> bool {
        let mut at = self.tree[node].parent;
        while let Some(parent) = at {
            let parent = &self.tree[parent as usize];
            if parent.place == *place {
                return true;
            }
            at = parent.parent;
        }
        false
    }
}
