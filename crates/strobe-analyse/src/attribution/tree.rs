//! The call tree: every chain of callers with what it has by itself and with everything below it.
//!
//! Idle time is kept apart from work. Where call chains do not know what was idle and locations do,
//! what a function has of it is divided among its nodes in proportion, and the result is marked as
//! modelled.

use foldhash::{HashMap, HashMapExt};
use strobe_model::measurement::{Profile, Samples};

use super::{Amount, Columns, Sums, is_unbounded, names};

/// What a node of the call tree stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// A label: a thread, a handler. Always a root.
    Label(u32),
    /// A function, called by the node above; `None` for code outside every known one.
    Function(Option<u32>),
    /// What has neither label nor place in the code. Always a root.
    Nowhere,
}

/// What a node, or a node and everything below it, has of the measure.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NodeSum {
    /// What is not idle.
    pub busy: i64,
    /// The same with its ends; all three are the same where call chains do not know them.
    pub bounds: Amount,
    /// What is idle.
    pub idle: i64,
    /// Bounds, or a division of idle time among callers, have a part in it.
    pub modelled: bool,
}

impl NodeSum {
    /// Adds those of another node.
    pub fn add(&mut self, other: &NodeSum) {
        self.busy = self.busy.saturating_add(other.busy);
        self.bounds += other.bounds;
        self.idle = self.idle.saturating_add(other.idle);
        self.modelled |= other.modelled && other.busy > 0;
    }
}

/// A node of the call tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// What it stands for.
    pub place: Place,
    /// The caller; it comes before the node.
    pub parent: Option<usize>,
    /// By itself.
    pub own: NodeSum,
    /// With everything below it.
    pub all: NodeSum,
    /// Every measure of the profile by itself, in their order; `None` for one that call chains do
    /// not know.
    pub others: Vec<Option<Amount>>,
}

/// The call tree, callers before those they call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tree {
    /// The nodes.
    pub nodes: Vec<Node>,
}

impl Tree {
    /// The children of every node, and last the roots.
    pub fn children(&self) -> Vec<Vec<usize>> {
        let mut children = vec![Vec::new(); self.nodes.len() + 1];
        for (i, node) in self.nodes.iter().enumerate() {
            children[node.parent.unwrap_or(self.nodes.len())].push(i);
        }
        children
    }

    /// What a node is called.
    pub fn name(&self, profile: &Profile, node: usize) -> String {
        match self.nodes[node].place {
            Place::Label(label) => names::label_name(profile, label),
            Place::Function(function) => profile.function_name(function).to_owned(),
            Place::Nowhere => "(nowhere)".to_owned(),
        }
    }

    /// Visits every node after its parent, with whether no node above it is of the same place.
    pub(super) fn walk(&self, mut visit: impl FnMut(usize, bool)) {
        let mut children = self.children();
        let mut above: HashMap<Place, u32> = HashMap::new();
        let mut is_seen = vec![false; self.nodes.len()];
        let mut stack = children.pop().unwrap_or_default();
        while let Some(&node) = stack.last() {
            let times = above.entry(self.nodes[node].place).or_default();
            if !std::mem::replace(&mut is_seen[node], true) {
                let is_outermost = *times == 0;
                *times += 1;
                visit(node, is_outermost);
                stack.append(&mut children[node]);
            } else {
                *times = times.saturating_sub(1);
                stack.pop();
            }
        }
    }
}

/// The call tree of a measure; `None` where call chains do not have it. Calls of one function from
/// one chain are one node, from wherever in the caller they were made.
pub fn tree(profile: &Profile, measure: &str) -> Option<Tree> {
    let columns = Columns::of(profile, measure, &profile.chains)?;
    let mut nodes =
        Nodes { profile, places: HashMap::new(), stacks: HashMap::new(), nodes: Vec::new() };
    let mut sums: Vec<Sums> = Vec::new();
    for i in 0..profile.chains.len() {
        let node = nodes.of(profile.chains.at[i], profile.chains.label(i));
        sums.resize_with(nodes.nodes.len(), || columns.zero());
        columns.add(i, &mut sums[node]);
    }
    let mut nodes = nodes.nodes;
    let functions = Functions::of(profile, measure, &nodes, &sums);
    let is_unbounded = profile.measure(measure).is_some_and(|m| is_unbounded(profile, m));
    for (node, sums) in nodes.iter_mut().zip(sums) {
        let function = match node.place {
            Place::Function(function) => functions.as_ref().and_then(|f| f.0.get(&function)),
            Place::Label(_) | Place::Nowhere => None,
        };
        node.own = own(&sums, function, &columns);
        node.own.modelled |= is_unbounded && node.own.busy > 0;
        node.all = node.own;
        node.others = sums.others;
    }
    for i in (0..nodes.len()).rev() {
        let below = nodes[i].all;
        let Some(parent) = nodes[i].parent else { continue };
        nodes[parent].all.add(&below);
    }
    Some(Tree { nodes })
}

fn own(sums: &Sums, function: Option<&Function>, columns: &Columns) -> NodeSum {
    let all = sums.all.value;
    let of_function = function.is_some_and(|f| f.modelled) && !columns.has_ends();
    let modelled = !sums.busy().is_exact() || of_function;
    match function {
        Some(function) if !columns.knows_idle() => {
            let idle = proportion(function.idle, all, function.node_values);
            let divided = function.idle > 0 && function.nodes > 1 && idle < all;
            let busy = all.saturating_sub(idle);
            let bounds = Amount::exact(busy);
            NodeSum { busy, bounds, idle, modelled: modelled || divided }
        }
        _ => {
            let (busy, idle) = (all.saturating_sub(sums.idle.value), sums.idle.value);
            let bounds = Amount { value: busy, ..sums.busy() };
            NodeSum { busy, bounds, idle, modelled }
        }
    }
}

/// `amount * of / all`, from nothing to `of`.
fn proportion(amount: i64, of: i64, all: i64) -> i64 {
    let share = i128::from(amount) * i128::from(of) / i128::from(all.max(1));
    i64::try_from(share).unwrap_or(i64::MAX).min(of).max(0)
}

/// Nodes under construction.
struct Nodes<'a> {
    profile: &'a Profile,
    places: HashMap<(Option<usize>, Place), usize>,
    /// Chains that have their node already, by label.
    stacks: HashMap<(Option<u32>, u32), usize>,
    nodes: Vec<Node>,
}

impl Nodes<'_> {
    /// The node at which a chain of a label ends.
    fn of(&mut self, stack: Option<u32>, label: Option<u32>) -> usize {
        let mut missing = Vec::new();
        let mut at = stack;
        let mut node = None;
        while let Some(stack) = at {
            node = self.stacks.get(&(label, stack)).copied();
            if node.is_some() {
                break;
            }
            missing.push(stack);
            let parent = self.profile.stacks.parent.get(stack as usize).copied().flatten();
            // Callers come before; other orders are not followed.
            at = parent.filter(|parent| *parent < stack);
        }
        let mut node = match (node, label, stack) {
            (Some(node), ..) => Some(node),
            (None, Some(label), _) => Some(self.node(None, Place::Label(label))),
            (None, None, Some(_)) => None,
            (None, None, None) => Some(self.node(None, Place::Nowhere)),
        };
        for stack in missing.into_iter().rev() {
            let location = self.profile.stacks.location.get(stack as usize);
            let function = location.and_then(|location| self.profile.function_at(*location));
            let next = self.node(node, Place::Function(function));
            self.stacks.insert((label, stack), next);
            node = Some(next);
        }
        node.unwrap_or_default()
    }

    fn node(&mut self, parent: Option<usize>, place: Place) -> usize {
        let nodes = &mut self.nodes;
        *self.places.entry((parent, place)).or_insert_with(|| {
            let (own, all) = (NodeSum::default(), NodeSum::default());
            nodes.push(Node { place, parent, own, all, others: Vec::new() });
            nodes.len() - 1
        })
    }
}

/// What locations know of one function, and how many nodes share it.
#[derive(Default)]
struct Function {
    idle: i64,
    modelled: bool,
    nodes: u64,
    node_values: i64,
}

/// What locations know and call chains do not, by function.
struct Functions(HashMap<Option<u32>, Function>);

impl Functions {
    fn of(profile: &Profile, measure: &str, nodes: &[Node], sums: &[Sums]) -> Option<Self> {
        let leaves: &Samples = &profile.leaves;
        let columns = Columns::of(profile, measure, leaves)?;
        let mut functions: HashMap<Option<u32>, Function> = HashMap::new();
        for i in 0..leaves.len() {
            let Some(location) = leaves.at[i] else { continue };
            let sum = functions.entry(profile.function_at(location)).or_default();
            sum.idle = sum.idle.saturating_add(columns.idle(i).value);
            sum.modelled |= !Amount::of(columns.all, i).is_exact();
        }
        for (node, sums) in nodes.iter().zip(sums) {
            let Place::Function(function) = node.place else { continue };
            let Some(sum) = functions.get_mut(&function) else { continue };
            sum.nodes += 1;
            sum.node_values = sum.node_values.saturating_add(sums.all.value);
        }
        Some(Functions(functions))
    }
}
