//! The call tree: a measure by chain of callers.

use std::io::{self, Write};
use strobe_model::measurement::ids;

use strobe_analyse::attribution::{self, NodeSum, Tree as Nodes};
use strobe_analyse::statistics::wilson;
use strobe_model::measurement::{Kind, Measure, Profile};

use super::Page;
use super::causes::figure_of;
use super::figure::{amount_spread, interval, share, times};
use crate::number::counted;
use crate::paint::Paint;
use crate::table::{MATTERS, Table};
use crate::text::layout::{heading, item};

/// How much of the tree to show.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tree {
    /// Levels below the roots; deeper ones are summed up in their callers' inclusive figures.
    pub depth: usize,
    /// Chains with less than this percentage of what is not idle are summed up in one line.
    pub min_percent: f64,
}

impl Default for Tree {
    fn default() -> Self {
        Tree { depth: 24, min_percent: 0.5 }
    }
}

/// Deeper levels are not indented further: the names need the room.
const MAX_INDENT: usize = 40;

/// The call tree, children with most first; the roots add up to everything. Nothing where chains or
/// functions are not known.
pub(super) fn write(
    tree: Tree,
    profile: &Profile,
    measure: &Measure,
    page: &Page,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Some(nodes) = attribution::tree(profile, &measure.id) else { return Ok(()) };
    if nodes.nodes.is_empty() || profile.functions.name.is_empty() {
        return Ok(());
    }
    let mut walk = Walk::new(profile, measure, &nodes, tree);
    let busy = if walk.total.idle > 0 { "busy " } else { "" };
    let title = format!(
        "call tree: inclusive {} with all calls, shares are of {} {busy}{}{}",
        measure.title,
        walk.figure(walk.total.busy, walk.total.modelled),
        measure.title,
        if walk.sampled() { ", with 95 % confidence" } else { "" }
    );
    heading(&title, page.options, out)?;
    let mut table = Table::new().narrowing().number("inclusive").number("share");
    table = table
        .number(if walk.sampled() { "interval" } else { "bounds" })
        .optional(MATTERS + 2)
        .number("self")
        .optional(MATTERS + 1)
        .number("idle")
        .number("calls");
    table = table.optional(MATTERS).text("");
    walk.lines(&mut table);
    table.rule();
    walk.sum(&walk.total, "all roots", Paint::Strong, &mut table);
    table.write(page.options.style, out)?;
    if profile.merged_calls > 0 {
        let were = if profile.merged_calls == 1 { "was" } else { "were" };
        let text = format!(
            "{} {were} too deep or too many to be kept apart; their {} count for the caller",
            counted(profile.merged_calls, "call"),
            measure.title
        );
        item("! ", &text, Paint::Warn, page.options, out)?;
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
    profile: &'a Profile,
    measure: &'a Measure,
    nodes: &'a Nodes,
    options: Tree,
    children: Vec<Vec<usize>>,
    total: NodeSum,
    /// The measure of calls, by index.
    calls: Option<usize>,
}

impl<'a> Walk<'a> {
    fn new(profile: &'a Profile, measure: &'a Measure, nodes: &'a Nodes, options: Tree) -> Self {
        let mut children = nodes.children();
        for list in &mut children {
            list.sort_by_key(|&i| {
                let NodeSum { busy, idle, .. } = nodes.nodes[i].all;
                (std::cmp::Reverse((busy, idle)), i)
            });
        }
        let mut total = NodeSum::default();
        for &root in children.last().into_iter().flatten() {
            total.add(&nodes.nodes[root].all);
        }
        let calls = profile.measures.iter().position(|measure| measure.id == ids::measure::CALLS);
        Walk { profile, measure, nodes, options, children, total, calls }
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
        let least = self.total.busy as f64 * self.options.min_percent / 100.0;
        let (big, small): (Vec<usize>, Vec<usize>) = nodes.iter().partition(|&&i| {
            let sum = &self.nodes.nodes[i].all;
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
        let (own, sum) = (&self.nodes.nodes[node].own, &self.nodes.nodes[node].all);
        let name = self.nodes.name(self.profile, node);
        let name = if deeper { format!("{name} (deeper calls not shown)") } else { name };
        let calls = self.calls.and_then(|i| self.nodes.nodes[node].others.get(i).copied()?);
        let calls = calls.map(times).unwrap_or_default();
        let paint = if depth == 0 { Paint::Strong } else { Paint::Plain };
        let cells = vec![
            self.figure(sum.busy, sum.modelled).into(),
            share(sum.busy, self.total.busy).into(),
            self.spread(sum).into(),
            self.figure(own.busy, own.modelled).into(),
            self.idle(sum).into(),
            calls.into(),
            format!("{}{name}", indent(depth)).into(),
        ];
        table.painted(cells, paint);
    }

    fn others(&self, nodes: &[usize], depth: usize, table: &mut Table) {
        let mut sum = NodeSum::default();
        nodes.iter().for_each(|&i| sum.add(&self.nodes.nodes[i].all));
        let name = format!("{}{} others", indent(depth), nodes.len());
        self.sum(&sum, &name, Paint::Faint, table);
    }

    fn sum(&self, sum: &NodeSum, name: &str, paint: Paint, table: &mut Table) {
        let cells = vec![
            self.figure(sum.busy, sum.modelled).into(),
            share(sum.busy, self.total.busy).into(),
            self.spread(sum).into(),
            "".into(),
            self.idle(sum).into(),
            "".into(),
            name.into(),
        ];
        table.painted(cells, paint);
    }

    /// Whether values are counts of samples, whose shares lie in intervals.
    fn sampled(&self) -> bool {
        matches!(self.measure.kind, Kind::Sampled { .. })
    }

    /// Bounds of the figure, or the interval in which the true share lies.
    fn spread(&self, sum: &NodeSum) -> String {
        let count = |n: i64| u64::try_from(n).unwrap_or(0);
        match self.sampled() {
            true if (1..self.total.busy).contains(&sum.busy) => {
                interval(wilson(count(self.total.busy), count(sum.busy)))
            }
            true => String::new(),
            false => amount_spread(sum.bounds.ordered()),
        }
    }

    fn figure(&self, value: i64, modelled: bool) -> String {
        figure_of(self.measure, value, modelled)
    }

    /// How long the core is idle depends on how long everything else took.
    fn idle(&self, sum: &NodeSum) -> String {
        let modelled = matches!(self.measure.kind, Kind::Modelled { .. });
        if sum.idle > 0 {
            self.figure(sum.idle, modelled && self.total.modelled)
        } else {
            String::new()
        }
    }
}

fn indent(depth: usize) -> String {
    " ".repeat((2 * depth).min(MAX_INDENT))
}
