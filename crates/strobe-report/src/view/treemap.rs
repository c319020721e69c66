//! The treemap: the rows of the call tree as areas, drawn with lines that a terminal has.

mod canvas;
mod layout;
#[cfg(test)]
mod tests;

use std::io::{self, Write};

use strobe_analyse::attribution::{self, NodeSum, Tree as Nodes};
use strobe_model::measurement::{Measure, Profile};

use self::canvas::Canvas;
use self::layout::{Area, MIN_CELLS, divide};
use super::Page;
use super::causes::figure_of;
use super::figure::share;
use crate::number::counted;
use crate::text::layout::{heading, item};

/// Lines of a map for each hundred columns: letters are about twice as high as wide.
const LINES_A_HUNDRED: usize = 34;
/// Columns of a map at least and at most.
const COLUMNS: std::ops::RangeInclusive<usize> = 40..=240;

/// The map of a measure. Nothing where chains or functions are not known.
pub(super) fn write(
    profile: &Profile,
    measure: &Measure,
    page: &Page,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Some(nodes) = attribution::tree(profile, &measure.id) else { return Ok(()) };
    if nodes.nodes.is_empty() || profile.functions.name.is_empty() {
        return Ok(());
    }
    let columns = page.options.style.width.clamp(*COLUMNS.start(), *COLUMNS.end()) - 1;
    let lines = (columns * LINES_A_HUNDRED).div_ceil(100);
    let mut map = Map::new(profile, measure, &nodes, Canvas::new(columns, lines));
    if map.total <= 0 {
        return Ok(());
    }
    let cell = map.total as f64 / (columns * lines) as f64;
    let title = format!(
        "treemap: {} {}; areas are true to a letter, which is about {}",
        figure_of(measure, map.total, map.modelled),
        measure.title,
        figure_of(measure, cell.round().max(1.0) as i64, false),
    );
    heading(&title, page.options, out)?;
    map.roots(Area { x: 0, y: 0, width: columns, height: lines });
    map.canvas.write(page.options.style, out)?;
    if map.gathered > 0 {
        let text =
            format!("{} too small for a place: they are `others`", counted(map.gathered, "row"));
        item("- ", &text, crate::paint::Paint::Faint, page.options, out)?;
    }
    Ok(())
}

/// What has an area of its own.
enum Part {
    /// A node with everything below it.
    Node(usize),
    /// What a node has beside its children.
    Own(usize),
    /// Several that are too small: how many, and their sum.
    Others(u64, NodeSum),
}

struct Map<'a> {
    profile: &'a Profile,
    measure: &'a Measure,
    nodes: &'a Nodes,
    children: Vec<Vec<usize>>,
    canvas: Canvas,
    total: i64,
    modelled: bool,
    /// Rows that stand together under *others*.
    gathered: u64,
}

impl<'a> Map<'a> {
    fn new(profile: &'a Profile, measure: &'a Measure, nodes: &'a Nodes, canvas: Canvas) -> Self {
        let children = nodes.children();
        let mut sum = NodeSum::default();
        for &root in children.last().into_iter().flatten() {
            sum.add(&nodes.nodes[root].all);
        }
        let (total, modelled) = (sum.busy, sum.modelled);
        Map { profile, measure, nodes, children, canvas, total, modelled, gathered: 0 }
    }

    /// Every root in a colour of its own, and everything below it in the same.
    fn roots(&mut self, area: Area) {
        let roots = self.children.pop().unwrap_or_default();
        let parts = self.parts(None, &roots, area);
        let mut waiting = Vec::new();
        for (colour, (part, _, area)) in parts.into_iter().enumerate() {
            waiting.push((part, area, colour));
        }
        // Depth is that of a file's chains: on a stack of our own.
        while let Some((part, area, colour)) = waiting.pop() {
            for (part, area) in self.part(&part, area, colour) {
                waiting.push((part, area, colour));
            }
        }
    }

    /// Draws a part, and returns what is to be drawn in it.
    fn part(&mut self, part: &Part, area: Area, colour: usize) -> Vec<(Part, Area)> {
        let name = match *part {
            Part::Node(node) => self.name(node),
            Part::Own(_) => "itself".to_owned(),
            Part::Others(rows, _) => format!("{rows} others"),
        };
        let sum = self.sum(part);
        let figure = figure_of(self.measure, sum.busy, sum.modelled);
        let figure = format!("{figure}  {}", share(sum.busy, self.total));
        let inside = match *part {
            Part::Node(node) => self.inside(self.bottom(node), area),
            _ => Vec::new(),
        };
        if inside.is_empty() {
            self.canvas.leaf(area, &name, &figure, colour);
        } else {
            self.canvas.group(area, &name, &figure, colour);
        }
        inside
    }

    /// The only child that a node has, if all that the node has is the child's.
    fn only_child(&self, node: usize) -> Option<usize> {
        let all = |i: usize| self.nodes.nodes[i].all.busy;
        let mut children = self.children[node].iter().copied().filter(|&child| all(child) > 0);
        let child = children.next()?;
        (children.next().is_none() && all(child) == all(node)).then_some(child)
    }

    /// The last of a chain of only children: one area shows all of them.
    fn bottom(&self, node: usize) -> usize {
        std::iter::successors(Some(node), |&node| self.only_child(node)).last().unwrap_or(node)
    }

    /// The names of a node and of its only children. A path stands for those that it begins with;
    /// what it has from the parent is left out.
    fn name(&self, node: usize) -> String {
        let chain = std::iter::successors(Some(node), |&node| self.only_child(node));
        let parent = self.nodes.nodes[node].parent;
        let above = parent.map(|parent| self.nodes.name(self.profile, parent)).unwrap_or_default();
        let mut names: Vec<String> = Vec::new();
        for name in chain.map(|node| self.nodes.name(self.profile, node)) {
            match names.last_mut() {
                Some(last) if name.starts_with(last.as_str()) => *last = name,
                _ => names.push(name),
            }
        }
        if let Some(rest) = names.first().and_then(|name| name.strip_prefix(&above))
            && above.ends_with('/')
            && !rest.is_empty()
        {
            names[0] = rest.to_owned();
        }
        names.join(" > ")
    }

    /// What a part has.
    fn sum<'b>(&'b self, part: &'b Part) -> &'b NodeSum {
        match part {
            Part::Node(node) => &self.nodes.nodes[*node].all,
            Part::Own(node) => &self.nodes.nodes[*node].own,
            Part::Others(_, sum) => sum,
        }
    }

    /// What a node's area is divided into: nothing where there is one thing, or no room.
    fn inside(&mut self, node: usize, area: Area) -> Vec<(Part, Area)> {
        let Some(room) = area.below_title() else { return Vec::new() };
        let children = std::mem::take(&mut self.children[node]);
        if children.is_empty() {
            return Vec::new();
        }
        let parts = self.parts(Some(node), &children, room);
        if let [(Part::Others(..), ..)] = parts.as_slice() {
            return Vec::new();
        }
        parts.into_iter().map(|(part, _, area)| (part, area)).collect()
    }

    /// Divides an area among a node and its children, the biggest first.
    fn parts(
        &mut self,
        node: Option<usize>,
        children: &[usize],
        area: Area,
    ) -> Vec<(Part, i64, Area)> {
        let own = node.map(|node| (Part::Own(node), self.nodes.nodes[node].own.busy));
        let below = children.iter().map(|&i| (Part::Node(i), self.nodes.nodes[i].all.busy));
        let mut parts: Vec<(Part, i64)> =
            own.into_iter().chain(below).filter(|(_, value)| *value > 0).collect();
        parts.sort_by_key(|(_, value)| std::cmp::Reverse(*value));
        let whole: i64 = parts.iter().map(|(_, value)| *value).fold(0, i64::saturating_add);
        let least = whole as f64 * MIN_CELLS as f64 / area.cells().max(1) as f64;
        let big = parts.iter().take_while(|(_, value)| *value as f64 >= least).count();
        // One that is too small stands for itself; it takes no more room than *1 others*.
        if parts.len() - big > 1 {
            let mut sum = NodeSum::default();
            let rest = parts.split_off(big);
            rest.iter().for_each(|(part, _)| sum.add(self.sum(part)));
            let rows = rest.len() as u64;
            self.gathered += rows;
            let value = sum.busy;
            parts.push((Part::Others(rows, sum), value));
        }
        let weights: Vec<i64> = parts.iter().map(|(_, value)| *value).collect();
        let areas = divide(&weights, area);
        // In a corner not even a letter may be left.
        self.gathered += areas.iter().filter(|area| area.is_none()).count() as u64;
        let both = parts.into_iter().zip(areas);
        both.filter_map(|((part, value), area)| Some((part, value, area?))).collect()
    }
}
