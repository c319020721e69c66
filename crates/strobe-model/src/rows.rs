//! The flat views: a profile's cycles by function, source line or address.

use std::collections::{BTreeMap, HashMap};

use crate::{AddressSample, CauseCycles, Frame, Place, Profile};

/// What a flat view groups by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum By {
    /// Physical function.
    Function,
    /// Source line, innermost inlined frame.
    Line,
    /// Instruction address.
    Address,
    /// Source file, innermost inlined frame.
    File,
}

/// What one row of a flat view stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Spot {
    /// A function, by index; `None` for code outside every known function.
    Function(Option<u32>),
    /// A source line: file by index, line from 1.
    Line(u32, u32),
    /// The part of a function that no line is known for.
    NoLine(Option<u32>),
    /// An instruction.
    Address(u32),
    /// A source file, by index; `None` where none is known.
    File(Option<u32>),
}

/// One row of a flat view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// What it stands for.
    pub spot: Spot,
    /// Function, `file:line` or address.
    pub name: String,
    /// Cycles spent there, by cause.
    pub cycles: CauseCycles,
    /// Instructions executed there.
    pub instructions: u64,
    /// Of these, in empty loops that only an interrupt ends.
    pub idle_instructions: u64,
    /// What was called from there; by function only, where the call tree knows it.
    pub called: Option<Called>,
}

/// A function with everything it called.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Called {
    /// Times called.
    pub calls: u64,
    /// Cycles there and in everything called from there, without those asleep.
    pub inclusive: u64,
    /// Models or a division of sleep among callers have a part in `inclusive`.
    pub modelled: bool,
}

impl Row {
    /// The cycles in which the core did something.
    pub fn busy(&self) -> u64 {
        self.cycles.busy()
    }
}

impl Profile {
    /// The flat view, most busy cycles first, then most idle ones, then in name order. Its cycles
    /// add up to all samples'.
    pub fn rows(&self, by: By) -> Vec<Row> {
        let mut rows: BTreeMap<Spot, Row> = BTreeMap::new();
        for sample in &self.addresses {
            let spot = spot(sample, by);
            let row = rows.entry(spot).or_insert_with(|| Row {
                spot,
                name: self.spot_name(spot),
                cycles: CauseCycles::ZERO,
                instructions: 0,
                idle_instructions: 0,
                called: None,
            });
            row.cycles += sample.cycles;
            row.instructions = row.instructions.saturating_add(sample.count);
            row.idle_instructions = row.idle_instructions.saturating_add(sample.idle_count());
        }
        if by == By::Function {
            for (function, called) in self.called() {
                if let Some(row) = rows.get_mut(&Spot::Function(function)) {
                    row.called = Some(called);
                }
            }
        }
        let mut rows: Vec<Row> = rows.into_values().collect();
        self.distinguish(&mut rows);
        let key = |row: &Row| (row.cycles.busy(), row.cycles.total());
        rows.sort_by(|a, b| key(b).cmp(&key(a)).then_with(|| a.name.cmp(&b.name)));
        rows
    }

    fn spot_name(&self, spot: Spot) -> String {
        match spot {
            Spot::Function(function) => self.function_name(function),
            Spot::Line(file, line) => format!("{}:{line}", self.file_name(file)),
            Spot::NoLine(function) => format!("{} (no line)", self.function_name(function)),
            Spot::Address(address) => format!("{address:#010x}"),
            Spot::File(Some(file)) => self.file_name(file).to_owned(),
            Spot::File(None) => "(no file)".to_owned(),
        }
    }

    /// Two static functions of one name are two rows: their files, else their addresses, show which
    /// is which.
    fn distinguish(&self, rows: &mut [Row]) {
        let mut seen: HashMap<String, u32> = HashMap::new();
        rows.iter().for_each(|row| *seen.entry(row.name.clone()).or_default() += 1);
        for row in rows.iter_mut().filter(|row| seen[&row.name] > 1) {
            let (Spot::Function(Some(f)) | Spot::NoLine(Some(f))) = row.spot else { continue };
            let Some(function) = self.functions.get(f as usize) else { continue };
            let file = function.file.map(|file| self.file_name(file));
            if let Some(place) = file.or(function.address.as_deref()) {
                row.name = format!("{} [{place}]", row.name);
            }
        }
    }

    /// Functions with calls and inclusive cycles. Recursion counts once: only the outermost node of
    /// a function in a chain adds its subtree.
    fn called(&self) -> HashMap<Option<u32>, Called> {
        let sums = self.subtrees();
        let mut out: HashMap<Option<u32>, Called> = HashMap::new();
        self.walk_tree(|node, ancestors| {
            let function = match self.tree[node].place {
                Place::Function(f) => Some(f),
                Place::Unknown => None,
                Place::Thread(_) | Place::Exception(_) => return,
            };
            let called = out.entry(function).or_default();
            called.calls = called.calls.saturating_add(self.tree[node].calls);
            if !ancestors.contains(&self.tree[node].place) {
                called.inclusive = called.inclusive.saturating_add(sums[node].busy);
                called.modelled |= sums[node].modelled;
            }
        });
        out
    }
}

fn spot(sample: &AddressSample, by: By) -> Spot {
    match by {
        By::Address => Spot::Address(sample.address),
        By::Function => Spot::Function(sample.function),
        By::Line => match sample.frames.first() {
            Some(Frame { file: Some(file), line: Some(line), .. }) => Spot::Line(*file, *line),
            _ => Spot::NoLine(sample.function),
        },
        By::File => Spot::File(sample.frames.first().and_then(|frame| frame.file)),
    }
}
