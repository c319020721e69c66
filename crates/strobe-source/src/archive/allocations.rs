//! Allocations one by one, added up by size and by caller, and beside the tree that was published
//! of them.

pub mod report;

use std::collections::{BTreeMap, HashMap};

use crate::archive::allocations::report::{
    AllocationNode, AllocationsReport, Damage, PublishedTree, SizeClass,
};
use strobe_decode::archive::allocations::{Allocation, Frame, Node, Text, Tree};

use super::Names;

/// Differences to a published tree that are listed.
const LISTED: usize = 20;

const PRINTED: &str = "sizes are as the target printed them; this allocator counts what it puts \
                       around a block twice, so what was asked for is \
                       at least 16 bytes less";
const ONLY_TAKEN: &str =
    "freed blocks are not in it: nothing here shows what was in use at any time";

/// What differs between kinds of files.
pub struct About<'a> {
    /// The file.
    pub file: &'a str,
    /// Blocks are big if they are larger than this.
    pub big_above: u64,
    /// Names of functions.
    pub names: &'a dyn Names,
    /// Whether `names` has any.
    pub has_names: bool,
}

/// Adds up a text.
pub fn of_text(about: &About, text: &Text, not_utf8: u64) -> AllocationsReport {
    let mut adding = Adding::default();
    for allocation in &text.allocations {
        adding.add(about, allocation);
    }
    adding.damage.heads = text.damaged_heads.len() as u64;
    adding.damage.before = text.before;
    adding.damage.remarks = text.remarks;
    adding.damage.not_utf8 = not_utf8;
    adding.report(about, "allocations as a traced allocator printed them")
}

/// Adds up a tree that somebody else has made.
pub fn of_tree(about: &About, tree: &Tree) -> AllocationsReport {
    let mut adding = Adding::default();
    for root in &tree.roots {
        adding.graft(about, root, None);
    }
    adding.damage.not_utf8 = tree.not_utf8;
    adding.report(about, "call tree of allocations")
}

#[derive(Default)]
struct Adding {
    nodes: Vec<AllocationNode>,
    /// Nodes by parent and `ADDRESS NAME`.
    index: HashMap<(Option<u32>, String), u32>,
    /// By size: how many, and how many by the node that made them.
    sizes: BTreeMap<u64, HashMap<Option<u32>, u64>>,
    failed: u64,
    damage: Damage,
}

/// As published trees name a caller.
fn key(frame: &Frame) -> String {
    match frame.address {
        Some(address) => format!("0x{address:08X} {}", frame.name),
        None => frame.name.clone(),
    }
}

impl Adding {
    fn node(&mut self, about: &About, parent: Option<u32>, frame: &Frame) -> u32 {
        let place = (parent, key(frame));
        if let Some(found) = self.index.get(&place) {
            return *found;
        }
        let new = self.nodes.len() as u32;
        // A return address is behind the call, which may be the last instruction of its function.
        let symbol = frame.address.and_then(|at| about.names.name((at & !1).saturating_sub(2)));
        self.nodes.push(AllocationNode {
            parent,
            address: frame.address.map_or_else(String::new, |at| format!("{at:#010x}")),
            name: frame.name.clone(),
            // Names are cut on the target.
            symbol: symbol.filter(|symbol| !symbol.starts_with(&frame.name)),
            damaged: frame.damaged,
            ..AllocationNode::default()
        });
        self.index.insert(place, new);
        new
    }

    fn add(&mut self, about: &About, allocation: &Allocation) {
        self.failed += u64::from(allocation.address == 0);
        let mut parent = None;
        let mut doubtful = false;
        for frame in &allocation.frames {
            doubtful |= self.judge(about, frame);
            let node = self.node(about, parent, frame);
            self.nodes[node as usize].count += 1;
            let bytes = &mut self.nodes[node as usize].bytes;
            *bytes = bytes.saturating_add(allocation.size);
            parent = Some(node);
        }
        if let Some(last) = parent {
            self.nodes[last as usize].own += 1;
        }
        self.damage.allocations += u64::from(doubtful);
        *self.sizes.entry(allocation.size).or_default().entry(parent).or_default() += 1;
    }

    /// Whether a caller is damaged or no code.
    fn judge(&mut self, about: &About, frame: &Frame) -> bool {
        self.damage.all_frames += 1;
        self.damage.frames += u64::from(frame.damaged);
        let is_code = |at: u32| about.names.name((at & !1).saturating_sub(2)).is_some();
        let astray = about.has_names && !frame.damaged && !frame.address.is_some_and(is_code);
        if about.has_names {
            *self.damage.astray.get_or_insert(0) += u64::from(astray);
        }
        frame.damaged || astray
    }

    /// Takes over a node of a tree with everything below it.
    fn graft(&mut self, about: &About, node: &Node, parent: Option<u32>) {
        let (at, name) = node.key.split_once(' ').unwrap_or(("", &node.key));
        let address = at.strip_prefix("0x").and_then(|at| u32::from_str_radix(at, 16).ok());
        let damaged = address.is_none() || name.contains('\u{fffd}');
        let frame = Frame { address, name: name.to_owned(), damaged };
        self.judge(about, &frame);
        let new = self.node(about, parent, &frame);
        let below: u64 = node.children.iter().map(|child| child.count).sum();
        let bytes = blocks(node).map(|(size, count)| size.saturating_mul(count));
        let all = &mut self.nodes[new as usize];
        (all.count, all.bytes) = (node.count, bytes.fold(0, u64::saturating_add));
        all.own = node.count.saturating_sub(below);
        let mut own: BTreeMap<u64, u64> = BTreeMap::new();
        blocks(node).for_each(|(size, count)| *own.entry(size).or_default() += count);
        for (size, count) in node.children.iter().flat_map(blocks) {
            let left = own.entry(size).or_default();
            *left = left.saturating_sub(count);
        }
        for (size, count) in own.into_iter().filter(|(_, count)| *count > 0) {
            *self.sizes.entry(size).or_default().entry(Some(new)).or_default() += count;
        }
        node.children.iter().for_each(|child| self.graft(about, child, Some(new)));
    }

    /// Names from the outermost to a node.
    fn path(&self, mut node: Option<u32>) -> String {
        let mut names = Vec::new();
        while let Some(at) = node {
            let found = &self.nodes[at as usize];
            names.push(found.symbol.as_deref().unwrap_or(&found.name));
            node = found.parent;
        }
        names.reverse();
        names.join(" > ")
    }

    fn report(self, about: &About, format: &str) -> AllocationsReport {
        let class = |(size, by): (&u64, &HashMap<Option<u32>, u64>)| {
            let count: u64 = by.values().sum();
            let most = by.iter().max_by_key(|(node, count)| (**count, std::cmp::Reverse(**node)));
            SizeClass {
                size: *size,
                count,
                bytes: size.saturating_mul(count),
                places: by.len() as u64,
                place: most.map_or_else(String::new, |(node, _)| self.path(*node)),
            }
        };
        let sizes: Vec<SizeClass> = self.sizes.iter().rev().map(class).collect();
        let sum = |pick: fn(&SizeClass) -> u64, above: Option<u64>| {
            let chosen = sizes.iter().filter(|s| above.is_none_or(|above| s.size > above));
            chosen.map(pick).fold(0, u64::saturating_add)
        };
        let (count, bytes) = (sum(|s| s.count, None), sum(|s| s.bytes, None));
        let big = Some(about.big_above);
        AllocationsReport {
            file: about.file.to_owned(),
            format: format.to_owned(),
            count,
            bytes,
            failed: self.failed,
            big_above: about.big_above,
            big_count: sum(|s| s.count, big),
            big_bytes: sum(|s| s.bytes, big),
            sizes,
            tree: self.nodes,
            damage: self.damage,
            published: None,
            notes: vec![PRINTED.to_owned(), ONLY_TAKEN.to_owned()],
        }
    }
}

fn blocks(node: &Node) -> impl Iterator<Item = (u64, u64)> {
    node.blocks.iter().copied()
}

/// Compares with a published tree.
pub fn beside(file: &str, report: &AllocationsReport, tree: &Tree) -> PublishedTree {
    let mut ours = BTreeMap::new();
    let mut paths: Vec<String> = Vec::new();
    for node in &report.tree {
        let own = match node.address.strip_prefix("0x") {
            Some(digits) => format!("0x{} {}", digits.to_uppercase(), node.name),
            None => node.name.clone(),
        };
        let path = match node.parent.and_then(|parent| paths.get(parent as usize)) {
            Some(parent) => format!("{parent} > {own}"),
            None => own,
        };
        ours.insert(path.clone(), (node.count, node.bytes));
        paths.push(path);
    }
    let mut compared = PublishedTree {
        file: file.to_owned(),
        not_utf8: tree.not_utf8,
        ..PublishedTree::default()
    };
    for root in &tree.roots {
        let bytes = blocks(root).map(|(size, count)| size.saturating_mul(count));
        compared.count += root.count;
        compared.bytes = compared.bytes.saturating_add(bytes.fold(0, u64::saturating_add));
        visit(root, "", true, &mut ours, &mut compared);
    }
    for (path, (count, _)) in &ours {
        let above = path.rsplit_once(" > ").map(|(above, _)| above);
        let is_topmost = above.is_none_or(|above| !ours.contains_key(above));
        differs(&mut compared, path, *count, 0, is_topmost);
    }
    compared
}

/// Compares a node and those below it; `listed` states whether the node above it is in both.
fn visit(
    node: &Node,
    above: &str,
    listed: bool,
    ours: &mut BTreeMap<String, (u64, u64)>,
    compared: &mut PublishedTree,
) {
    let path = if above.is_empty() { node.key.clone() } else { format!("{above} > {}", node.key) };
    compared.nodes += 1;
    let printed = node.key.split_once(' ').map_or("", |(_, name)| name);
    let is_named = !["unknown", ""].contains(&printed) && !printed.starts_with('<');
    compared.renamed += u64::from(is_named && !node.function.starts_with(printed));
    let bytes = blocks(node).map(|(size, count)| size.saturating_mul(count));
    let theirs = (node.count, bytes.fold(0, u64::saturating_add));
    let found = ours.remove(&path);
    if found == Some(theirs) {
        compared.same += 1;
    } else {
        differs(compared, &path, found.map_or(0, |found| found.0), node.count, listed);
    }
    let listed = listed && found.is_some();
    node.children.iter().for_each(|child| visit(child, &path, listed, ours, compared));
}

fn differs(compared: &mut PublishedTree, path: &str, ours: u64, theirs: u64, listed: bool) {
    compared.all_differ += 1;
    if listed && compared.differ.len() < LISTED {
        compared.differ.push((path.to_owned(), ours, theirs));
    }
}
