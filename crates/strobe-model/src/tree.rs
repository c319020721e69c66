//! Sums over the call tree, sleep kept apart from work.
//!
//! The simulator knows of each node how much of it was sleep. Of a record that does not have that,
//! samples give sleep per function: where a function that sleeps has several nodes, its sleep is
//! divided in proportion and the result is marked as modelled.

use std::collections::{HashMap, HashSet};

use crate::{Cause, Place, Profile};

/// What a node, or a node and everything below it, adds up to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NodeSum {
    /// Cycles in which the core did something.
    pub busy: u64,
    /// Cycles asleep or idle.
    pub idle: u64,
    /// Models or a division of sleep among callers have a part in it.
    pub modelled: bool,
}

/// Places on the way from a root to a node.
#[derive(Debug, Default)]
pub(crate) struct Ancestors<'a>(HashMap<&'a Place, u32>);

impl Ancestors<'_> {
    pub(crate) fn contains(&self, place: &Place) -> bool {
        self.0.get(place).is_some_and(|n| *n > 0)
    }
}

/// One function's samples.
#[derive(Default, Clone, Copy)]
struct Sampled {
    idle: u64,
    modelled: bool,
    nodes: u64,
    node_cycles: u64,
}

impl Profile {
    /// Each node by itself.
    pub fn nodes(&self) -> Vec<NodeSum> {
        let mut functions: HashMap<Option<u32>, Sampled> = HashMap::new();
        for sample in &self.addresses {
            let sum = functions.entry(sample.function).or_default();
            sum.idle = sum.idle.saturating_add(sample.cycles[Cause::Asleep]);
        }
        for node in &self.tree {
            if let Some(sum) = function(&node.place).and_then(|f| functions.get_mut(&f)) {
                sum.nodes += 1;
                sum.node_cycles = sum.node_cycles.saturating_add(node.self_cycles);
            }
        }
        let one = |node: &crate::TreeNode| {
            let cycles = node.self_cycles;
            let sampled = function(&node.place).and_then(|f| functions.get(&f));
            if let Some(idle) = node.self_idle {
                let modelled = sampled.is_some_and(|sum| sum.modelled);
                return NodeSum { busy: cycles.saturating_sub(idle), idle, modelled };
            }
            match sampled {
                Some(sum) => {
                    let idle = part(sum.idle, cycles, sum.node_cycles);
                    let divided = sum.idle > 0 && sum.nodes > 1 && idle < cycles;
                    NodeSum { busy: cycles - idle, idle, modelled: sum.modelled || divided }
                }
                None => NodeSum { busy: cycles, idle: 0, modelled: false },
            }
        };
        self.tree.iter().map(one).collect()
    }

    /// Each node with everything below it.
    pub fn subtrees(&self) -> Vec<NodeSum> {
        let mut sums = self.nodes();
        for (i, node) in self.tree.iter().enumerate().rev() {
            // Parents come before their children; a record with another order is not followed.
            if let Some(parent) = node.parent.map(|p| p as usize).filter(|p| *p < i) {
                let NodeSum { busy, idle, modelled } = sums[i];
                let sum = &mut sums[parent];
                sum.busy = sum.busy.saturating_add(busy);
                sum.idle = sum.idle.saturating_add(idle);
                sum.modelled |= modelled && busy > 0;
            }
        }
        sums
    }

    /// The children of every node, and last the roots.
    pub fn children(&self) -> Vec<Vec<usize>> {
        let mut children = vec![Vec::new(); self.tree.len() + 1];
        for (i, node) in self.tree.iter().enumerate() {
            let parent = node.parent.map(|p| p as usize).filter(|p| *p < i);
            children[parent.unwrap_or(self.tree.len())].push(i);
        }
        children
    }

    /// Visits every node after its parent, with the places above it.
    pub(crate) fn walk_tree<'a>(&'a self, mut visit: impl FnMut(usize, &Ancestors<'a>)) {
        let mut children = self.children();
        let mut ancestors = Ancestors::default();
        let mut seen = HashSet::new();
        let mut stack = children.pop().unwrap_or_default();
        while let Some(&node) = stack.last() {
            let place = &self.tree[node].place;
            if seen.insert(node) {
                visit(node, &ancestors);
                *ancestors.0.entry(place).or_default() += 1;
                stack.append(&mut children[node]);
            } else {
                stack.pop();
                *ancestors.0.entry(place).or_default() -= 1;
            }
        }
    }
}

fn function(place: &Place) -> Option<Option<u32>> {
    match place {
        Place::Function(f) => Some(Some(*f)),
        Place::Unknown => Some(None),
        Place::Thread(_) | Place::Exception(_) => None,
    }
}

/// `amount * of / all`, never more than `of`.
fn part(amount: u64, of: u64, all: u64) -> u64 {
    let share = u128::from(amount) * u128::from(of) / u128::from(all.max(1));
    u64::try_from(share).unwrap_or(u64::MAX).min(of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AddressSample, By, CauseCycles, Function, TreeNode};

    fn node(place: Place, parent: Option<u32>, self_cycles: u64) -> TreeNode {
        TreeNode { place, parent, calls: 1, self_cycles, self_idle: None, self_instructions: 0 }
    }

    fn sample(function: u32, busy: u64, idle: u64) -> AddressSample {
        let mut cycles = CauseCycles::of(Cause::Execute, busy);
        cycles[Cause::Asleep] = idle;
        AddressSample {
            address: function * 2,
            count: 1,
            idle: 0,
            jumped: 0,
            cycles,
            function: Some(function),
            frames: Vec::new(),
        }
    }

    fn profile() -> Profile {
        let name = |name: &str, address: &str| Function {
            name: name.into(),
            address: Some(address.into()),
            file: None,
        };
        Profile {
            functions: vec![name("main", "0x0"), name("f", "0x2"), name("f", "0x4")],
            addresses: vec![sample(0, 10, 100), sample(1, 30, 0), sample(2, 5, 0)],
            tree: vec![
                node(Place::Thread("main".into()), None, 0),
                node(Place::Function(0), Some(0), 110),
                node(Place::Function(1), Some(1), 10),
                node(Place::Function(1), Some(2), 20),
                node(Place::Function(2), Some(3), 5),
            ],
            ..Profile::default()
        }
    }

    #[test]
    fn sleep_is_not_work() {
        let sums = profile().subtrees();
        assert_eq!(sums[0], NodeSum { busy: 45, idle: 100, modelled: false });
        assert_eq!(sums[3], NodeSum { busy: 25, idle: 0, modelled: false });
    }

    #[test]
    fn recursion_counts_once_and_namesakes_are_kept_apart() {
        let rows = profile().rows(By::Function);
        let seen: Vec<_> = rows
            .iter()
            .map(|r| (r.name.as_str(), r.busy(), r.called.unwrap_or_default().inclusive))
            .collect();
        assert_eq!(seen, [("f [0x2]", 30, 35), ("main", 10, 45), ("f [0x4]", 5, 5)]);
    }

    #[test]
    fn sleep_among_several_callers_is_divided_and_reports_it() {
        let mut profile = profile();
        profile.addresses[1].cycles[Cause::Asleep] = 12;
        let nodes = profile.nodes();
        assert_eq!(nodes[2], NodeSum { busy: 6, idle: 4, modelled: true });
        assert_eq!(nodes[3], NodeSum { busy: 12, idle: 8, modelled: true });
    }

    #[test]
    fn sleep_that_is_known_by_node_is_not_divided() {
        let mut profile = profile();
        profile.addresses[1].cycles[Cause::Asleep] = 12;
        profile.tree[2].self_idle = Some(1);
        profile.tree[3].self_idle = Some(11);
        let nodes = profile.nodes();
        assert_eq!(nodes[2], NodeSum { busy: 9, idle: 1, modelled: false });
        assert_eq!(nodes[3], NodeSum { busy: 9, idle: 11, modelled: false });
    }

    #[test]
    fn a_parent_that_comes_later_makes_a_root_not_a_loop() {
        let mut profile = profile();
        profile.tree[1].parent = Some(4);
        let mut visited = 0;
        profile.walk_tree(|_, _| visited += 1);
        assert_eq!(visited, 5);
    }
}
