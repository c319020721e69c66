//! The flat views: the values of a profile by function, source line, address, file or label.

use foldhash::HashMap;
use strobe_model::measurement::{Address, Kind, Profile, Samples};

use super::tree::{Place, tree};
use super::{Amount, Columns, Sums, add_known, names};
use crate::statistics::wilson;

/// What a flat view groups by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum By {
    /// Physical function.
    Function,
    /// Source line, innermost inlined frame.
    Line,
    /// Instruction address.
    Address,
    /// Source file, innermost inlined frame.
    File,
    /// Label with one of these keys (`thread`, `handler`); with any where there are none.
    Label(Vec<String>),
}

/// What one row of a flat view stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RowPlace {
    /// A function, by index; `None` for code outside every known one.
    Function(Option<u32>),
    /// A source line: file by index, line from 1.
    Line(u32, u32),
    /// The part of a function that no line is known for.
    NoLine(Option<u32>),
    /// An instruction.
    Address(Address),
    /// The part of a function that no address is known for.
    NoAddress(Option<u32>),
    /// A source file, by index; `None` where none is known.
    File(Option<u32>),
    /// A label, by index; `None` for samples without one.
    Label(Option<u32>),
    /// What has no place in the code (or no label of the keys), as samples of a core asleep, by
    /// what its label states.
    Nowhere(Option<u32>),
}

/// One row of a flat view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// What it stands for.
    pub spot: RowPlace,
    /// Function, `file:line`, address, file or label; no two rows share one.
    pub name: String,
    /// What was measured there. Measures that only call chains have are known by function and by
    /// label.
    pub sums: Sums,
    /// What is not idle there and in everything called from there; by function only, where call
    /// chains know it.
    pub inclusive: Option<Amount>,
    /// Bounds or a division of sleep among callers have a part in `inclusive`.
    pub inclusive_modelled: bool,
}

/// A flat view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flat {
    /// Most of the measure that is not idle first, then most of what is, then in the order of
    /// names.
    pub rows: Vec<Row>,
    /// All rows together.
    pub total: Sums,
    /// Values are counts of samples.
    pub sampled: bool,
}

impl Flat {
    /// Where the true share of a row lies with 95 % confidence, from 0 to 1; `None` unless values
    /// are counts of samples.
    pub fn interval(&self, value: i64) -> Option<(f64, f64)> {
        let count = |n: i64| u64::try_from(n).unwrap_or(0);
        self.sampled.then(|| wilson(count(self.total.all.value), count(value)))
    }
}

/// The flat view of a measure. Its rows add up to all samples; `None` where no sample has the
/// measure.
pub fn rows(profile: &Profile, measure: &str, by: &By) -> Option<Flat> {
    let (samples, at_chain) = base(profile, measure, by)?;
    let columns = Columns::of(profile, measure, samples)?;
    let row = |spot| Row {
        spot,
        name: names::name(profile, &spot),
        sums: columns.zero(),
        inclusive: None,
        inclusive_modelled: false,
    };
    let mut rows: Vec<Row> = Vec::new();
    let mut row_of: HashMap<RowPlace, usize> = HashMap::default();
    for i in 0..samples.len() {
        let location = if at_chain { innermost(profile, samples.at[i]) } else { samples.at[i] };
        let spot = spot(profile, location, samples.label(i), by);
        let at = *row_of.entry(spot).or_insert_with(|| {
            rows.push(row(spot));
            rows.len() - 1
        });
        columns.add(i, &mut rows[at].sums);
    }
    let known: Vec<bool> = columns.others.iter().map(Option::is_some).collect();
    match by {
        By::Function => called(profile, measure, &mut rows, &row_of, &known),
        By::Label(_) if !at_chain => labelled(profile, by, &mut rows, &row_of, &known),
        By::Label(_) | By::Line | By::Address | By::File => {}
    }
    let key = |row: &Row| (row.sums.busy().value, row.sums.all.value);
    let order = |a: &Row, b: &Row| (key(b), &a.name, a.spot).cmp(&(key(a), &b.name, b.spot));
    drop(row_of);
    rows.sort_unstable_by(order);
    names::set_apart(profile, &mut rows);
    let total = total(profile, measure, by)?;
    let kind = profile.measure(measure).map(|measure| &measure.kind);
    Some(Flat { rows, total, sampled: matches!(kind, Some(Kind::Sampled { .. })) })
}

/// All rows of a flat view together, without the work of naming and sorting them.
pub fn total(profile: &Profile, measure: &str, by: &By) -> Option<Sums> {
    let (samples, at_chain) = base(profile, measure, by)?;
    let columns = Columns::of(profile, measure, samples)?;
    let mut total = columns.zero();
    (0..samples.len()).for_each(|i| columns.add(i, &mut total));
    let has_tree = profile.chains.of(measure).is_some();
    let takes_chains = match by {
        By::Function => has_tree,
        By::Label(_) => !at_chain,
        By::Line | By::Address | By::File => false,
    };
    let chains = profile.measures.iter().map(|measure| profile.chains.of(&measure.id));
    let unknown = columns.others.iter().map(|known| known.is_none() && takes_chains);
    for (i, (values, is_unknown)) in chains.zip(unknown).enumerate() {
        for sample in 0..values.filter(|_| is_unknown).map_or(0, |values| values.values.len()) {
            add_known(&mut total.others[i], values.map(|values| Amount::of(values, sample)));
        }
    }
    Some(total)
}

/// The samples to group, and whether they are call chains: values by location where there are any,
/// but what distinguishes labels for those.
fn base<'a>(profile: &'a Profile, measure: &str, by: &By) -> Option<(&'a Samples, bool)> {
    let (leaves, chains) = (&profile.leaves, &profile.chains);
    let has = |samples: &Samples| samples.of(measure).is_some();
    let by_chain = match by {
        By::Label(_) => leaves.label.is_empty() && !chains.label.is_empty() && has(chains),
        By::Function | By::Line | By::Address | By::File => false,
    };
    match (has(leaves) && !by_chain, has(chains)) {
        (true, _) => Some((leaves, false)),
        (false, true) => Some((chains, true)),
        (false, false) => None,
    }
}

/// The location where a call chain ends.
fn innermost(profile: &Profile, stack: Option<u32>) -> Option<u32> {
    profile.stacks.location.get(stack? as usize).copied()
}

fn spot(profile: &Profile, location: Option<u32>, label: Option<u32>, by: &By) -> RowPlace {
    if let By::Label(keys) = by {
        return label_spot(profile, label, keys);
    }
    let Some(location) = location else { return RowPlace::Nowhere(label) };
    let function = profile.function_at(location);
    let frame = profile.frames_at(location).next();
    let file = frame.and_then(|frame| profile.frames.file.get(frame).copied().flatten());
    let line = frame.and_then(|frame| profile.frames.line.get(frame).copied().flatten());
    match by {
        By::Function | By::Label(_) => RowPlace::Function(function),
        By::File => RowPlace::File(file.or_else(|| {
            // Code without lines, and data, are in the file of what holds them.
            let function = function.filter(|_| frame.is_none())?;
            profile.functions.file.get(function as usize).copied().flatten()
        })),
        By::Line => match (file, line) {
            (Some(file), Some(line)) => RowPlace::Line(file, line),
            _ => RowPlace::NoLine(function),
        },
        By::Address => match profile.locations.address.get(location as usize).copied().flatten() {
            Some(address) => RowPlace::Address(address),
            None => RowPlace::NoAddress(function),
        },
    }
}

fn label_spot(profile: &Profile, label: Option<u32>, keys: &[String]) -> RowPlace {
    let known = label.and_then(|at| profile.labels.get(at as usize));
    match known {
        Some(known) if !keys.is_empty() && !keys.contains(&known.key) => RowPlace::Nowhere(label),
        Some(_) => RowPlace::Label(label),
        None => RowPlace::Label(None),
    }
}

/// Inclusive values and what only call chains know, by function. Recursion counts once: only the
/// outermost node of a function in a chain adds its subtree.
fn called(
    profile: &Profile,
    measure: &str,
    rows: &mut [Row],
    at: &HashMap<RowPlace, usize>,
    known: &[bool],
) {
    let Some(tree) = tree(profile, measure) else { return };
    tree.walk(|node, is_outermost| {
        let node = &tree.nodes[node];
        let Place::Function(function) = node.place else { return };
        let Some(row) = at.get(&RowPlace::Function(function)).map(|i| &mut rows[*i]) else {
            return;
        };
        for (i, value) in node.others.iter().enumerate().filter(|(i, _)| !known[*i]) {
            add_known(&mut row.sums.others[i], *value);
        }
        let inclusive = row.inclusive.get_or_insert_default();
        if is_outermost {
            *inclusive += node.all.bounds;
            row.inclusive_modelled |= node.all.modelled;
        }
    });
}

/// What only call chains know, by label.
fn labelled(
    profile: &Profile,
    by: &By,
    rows: &mut [Row],
    at: &HashMap<RowPlace, usize>,
    known: &[bool],
) {
    let chains = &profile.chains;
    for (m, measure) in profile.measures.iter().enumerate().filter(|(m, _)| !known[*m]) {
        let Some(values) = chains.of(&measure.id) else { continue };
        for i in 0..values.values.len() {
            let spot = spot(profile, None, chains.label(i), by);
            if let Some(row) = at.get(&spot) {
                add_known(&mut rows[*row].sums.others[m], Some(Amount::of(values, i)));
            }
        }
    }
}
