//! The call tree: cycles by chain of callers, from an exact shadow of the stack.

use std::io::{self, Write};

use strobe_model::{NodeSum, Place, Record};

use super::Tree;
use super::layout::{heading, item};
use crate::Options;
use crate::figure::Marks;
use crate::number::{counted, share};
use crate::paint::Paint;
use crate::table::Table;

/// Deeper levels are not indented further: the names need the room.
const MAX_INDENT: usize = 40;

/// The call tree, children with most cycles first. The roots add up to all busy cycles. Nothing is
/// printed where there are no functions to tell apart.
///
/// # Errors
/// Those of `out`.
pub fn tree(
    record: &Record,
    tree: &Tree,
    options: &Options,
    out: &mut dyn Write,
) -> io::Result<()> {
    let profile = &record.profile;
    if profile.tree.is_empty() || profile.functions.is_empty() {
        return Ok(());
    }
    let mut walk = Walk::new(record, *tree);
    let title = format!(
        "call tree: inclusive cycles with all calls, shares are of {} busy cycles",
        walk.marks.modelled(walk.modelled).figure(walk.busy)
    );
    heading(&title, options, out)?;
    let mut table = Table::new()
        .number("inclusive")
        .number("share")
        .number("self")
        .number("idle")
        .number("calls")
        .text("");
    walk.lines(&mut table);
    table.rule();
    let idle = walk.idle;
    let total = NodeSum { busy: walk.busy, idle, modelled: walk.modelled };
    walk.sum(&total, "all roots", Paint::Strong, &mut table);
    table.write(options.style, out)?;
    if profile.tree_cut > 0 {
        let text = format!(
            "{} too deep or too many to be kept apart; their cycles count for the caller",
            counted(profile.tree_cut, "call")
                + if profile.tree_cut == 1 { " was" } else { " were" }
        );
        item("! ", &text, Paint::Warn, options, out)?;
    }
    Ok(())
}

/// What is still to be printed.
enum Step {
    Node(usize, usize),
    /// Nodes at a depth that are not worth a line each.
    Others(Vec<usize>, usize),
}

struct Walk<'a> {
    record: &'a Record,
    marks: Marks,
    options: Tree,
    nodes: Vec<NodeSum>,
    subtrees: Vec<NodeSum>,
    children: Vec<Vec<usize>>,
    busy: u64,
    idle: u64,
    modelled: bool,
}

impl<'a> Walk<'a> {
    fn new(record: &'a Record, options: Tree) -> Self {
        let profile = &record.profile;
        let (nodes, subtrees) = (profile.nodes(), profile.subtrees());
        let mut children = profile.children();
        for list in &mut children {
            list.sort_by_key(|&i| (std::cmp::Reverse((subtrees[i].busy, subtrees[i].idle)), i));
        }
        let roots = children.last().cloned().unwrap_or_default();
        let sum = |value: fn(&NodeSum) -> u64| {
            roots.iter().fold(0u64, |sum, &i| sum.saturating_add(value(&subtrees[i])))
        };
        let (busy, idle) = (sum(|s| s.busy), sum(|s| s.idle));
        let modelled = roots.iter().any(|&i| subtrees[i].modelled);
        let marks = Marks::of(&record.trust);
        Walk { record, marks, options, nodes, subtrees, children, busy, idle, modelled }
    }

    fn lines(&mut self, table: &mut Table) {
        let roots = self.children.pop().unwrap_or_default();
        let mut stack = Vec::new();
        self.push(&roots, 0, &mut stack);
        while let Some(step) = stack.pop() {
            match step {
                Step::Others(nodes, depth) => self.others(&nodes, depth, table),
                Step::Node(node, depth) => {
                    let children = std::mem::take(&mut self.children[node]);
                    let deeper = depth >= self.options.depth && !children.is_empty();
                    self.node(node, depth, deeper, table);
                    if !deeper {
                        self.push(&children, depth + 1, &mut stack);
                    }
                }
            }
        }
    }

    /// Puts nodes on the stack so that the biggest comes off first and the small ones last,
    /// together.
    fn push(&self, nodes: &[usize], depth: usize, stack: &mut Vec<Step>) {
        let least = self.busy as f64 * self.options.min_percent / 100.0;
        let (big, small): (Vec<usize>, Vec<usize>) = nodes.iter().partition(|&&i| {
            let sum = &self.subtrees[i];
            sum.busy as f64 >= least && sum.busy > 0 || sum.idle > 0
        });
        match small.as_slice() {
            [] => {}
            [only] => stack.push(Step::Node(*only, depth)),
            _ => stack.push(Step::Others(small, depth)),
        }
        stack.extend(big.into_iter().rev().map(|i| Step::Node(i, depth)));
    }

    fn node(&self, node: usize, depth: usize, deeper: bool, table: &mut Table) {
        let (own, sum) = (&self.nodes[node], &self.subtrees[node]);
        let mut name = self.name(&self.record.profile.tree[node].place);
        if deeper {
            name += " (deeper calls not shown)";
        }
        let paint = if depth == 0 { Paint::Strong } else { Paint::Plain };
        let cells = vec![
            self.marks.modelled(sum.modelled).figure(sum.busy).into(),
            share(sum.busy, self.busy).into(),
            self.marks.modelled(own.modelled).figure(own.busy).into(),
            self.idle(sum).into(),
            self.marks.count(self.record.profile.tree[node].calls).into(),
            format!("{}{name}", indent(depth)).into(),
        ];
        table.painted(cells, paint);
    }

    fn others(&self, nodes: &[usize], depth: usize, table: &mut Table) {
        let mut sum = NodeSum::default();
        for &i in nodes {
            sum.busy = sum.busy.saturating_add(self.subtrees[i].busy);
            sum.modelled |= self.subtrees[i].modelled;
        }
        let name = format!("{}{} others", indent(depth), nodes.len());
        self.sum(&sum, &name, Paint::Faint, table);
    }

    fn sum(&self, sum: &NodeSum, name: &str, paint: Paint, table: &mut Table) {
        let mark = self.marks.modelled(sum.modelled);
        let cells = vec![
            mark.figure(sum.busy).into(),
            share(sum.busy, self.busy).into(),
            "".into(),
            self.idle(sum).into(),
            "".into(),
            name.into(),
        ];
        table.painted(cells, paint);
    }

    fn idle(&self, sum: &NodeSum) -> String {
        if sum.idle > 0 { self.marks.general.figure(sum.idle) } else { String::new() }
    }

    fn name(&self, place: &Place) -> String {
        match place {
            Place::Thread(name) => format!("thread {name}"),
            Place::Exception(name) => format!("interrupt {name}"),
            Place::Function(f) => self.record.profile.function_name(Some(*f)),
            Place::Unknown => self.record.profile.function_name(None),
        }
    }
}

fn indent(depth: usize) -> String {
    " ".repeat((2 * depth).min(MAX_INDENT))
}
