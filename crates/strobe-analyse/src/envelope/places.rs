//! Profiles: each place and each call chain has what it has in the three runs, so that sums are
//! those of the runs.

use std::collections::HashMap;

use strobe_model::measurement::{Address, Kind, Profile, Samples, Unit, Values};

use super::is_cycles;

/// A label's key and value.
type Label<'a> = Option<(&'a str, &'a str)>;
/// What a sample is of: its label, its function, and its address.
type Key<'a> = (Label<'a>, Option<&'a str>, Option<Address>);

pub(super) fn enclose(own: &mut Profile, others: [&Profile; 2], why: &str) {
    let ids: Vec<String> =
        own.measures.iter().filter(|m| varies(&m.unit)).map(|m| m.id.clone()).collect();
    let index = Index::of(own);
    let leaves =
        all_ends(&own.leaves, &ids, |measure| others.map(|other| index.values(other, measure)));
    let paths = Paths::of(own);
    let ways = others.map(|other| paths.ways(other));
    let chains = all_ends(&own.chains, &ids, |measure| {
        [0, 1].map(|at| paths.values(others[at], &ways[at], measure))
    });
    drop((index, paths));
    let mut differ = put(&mut own.leaves, leaves);
    differ.extend(put(&mut own.chains, chains));
    for measure in own.measures.iter_mut().filter(|measure| measure.kind == Kind::Exact) {
        if differ.contains(&measure.id) {
            measure.kind = Kind::Modelled { why: why.to_owned() };
        }
    }
}

/// Whether the models differ in it: in cycles, and in how often what waits in a loop goes round.
fn varies(unit: &Unit) -> bool {
    is_cycles(unit) || [Unit::INSTRUCTIONS, Unit::COUNT].contains(unit)
}

/// Of some values of the samples, by their place, what they are in the two other runs.
type Ends = Vec<(usize, [Vec<i64>; 2])>;

fn all_ends(samples: &Samples, ids: &[String], of: impl Fn(&str) -> [Vec<i64>; 2]) -> Ends {
    let values = samples.values.iter().enumerate();
    let values = values.filter(|(_, values)| ids.contains(&values.measure));
    values.map(|(at, values)| (at, of(&values.measure))).collect()
}

/// Gives values their ends, and returns the measures in which the runs differ.
fn put(samples: &mut Samples, ends: Ends) -> Vec<String> {
    let mut out = Vec::new();
    for (at, [low, high]) in ends {
        let values = &mut samples.values[at];
        let differ = low != values.values || high != values.values;
        (values.low, values.high) = if differ { (low, high) } else { (Vec::new(), Vec::new()) };
        if differ {
            out.push(values.measure.clone());
        }
    }
    out
}

/// The samples of a profile by what they are of.
struct Index<'a> {
    samples: usize,
    exact: HashMap<Key<'a>, usize>,
    /// The first sample of each function, for places of it that did not run here.
    functions: HashMap<(Label<'a>, Option<&'a str>), usize>,
}

fn keys<'a>(profile: &'a Profile, samples: &'a Samples) -> impl Iterator<Item = Key<'a>> {
    (0..samples.len()).map(move |sample| {
        let label = samples.label(sample).and_then(|at| profile.labels.get(at as usize));
        let label = label.map(|label| (label.key.as_str(), label.value.as_str()));
        let location = samples.at[sample];
        let function = location.and_then(|at| profile.function_at(at));
        let function = function.map(|_| profile.function_name(function));
        let address = location.and_then(|at| *profile.locations.address.get(at as usize)?);
        (label, function, address)
    })
}

impl<'a> Index<'a> {
    fn of(profile: &'a Profile) -> Self {
        let (mut exact, mut functions) = (HashMap::new(), HashMap::new());
        for (at, key) in keys(profile, &profile.leaves).enumerate() {
            exact.entry(key).or_insert(at);
            functions.entry((key.0, key.1)).or_insert(at);
        }
        Index { samples: profile.leaves.len(), exact, functions }
    }

    /// What another profile has at these samples. What ran there alone counts at its function's
    /// first sample; of functions that did not run here there is no row that could have it.
    fn values(&self, other: &Profile, measure: &str) -> Vec<i64> {
        let mut out = vec![0i64; self.samples];
        let Some(Values { values, .. }) = other.leaves.of(measure) else { return out };
        for (key, value) in keys(other, &other.leaves).zip(values) {
            let of_function = || self.functions.get(&(key.0, key.1));
            if let Some(at) = self.exact.get(&key).or_else(of_function) {
                out[*at] = out[*at].saturating_add(*value);
            }
        }
        out
    }
}

/// A node of the call tree, by its number here.
type Node = usize;

/// The call chains of a profile, by labels and functions' names.
struct Paths<'a> {
    samples: usize,
    roots: HashMap<Label<'a>, Node>,
    /// By what is called from where.
    called: HashMap<(Node, Option<&'a str>), Node>,
    parents: Vec<Option<Node>>,
    /// The first sample of each node.
    first: Vec<Option<usize>>,
}

impl<'a> Paths<'a> {
    fn of(profile: &'a Profile) -> Self {
        let mut out = Paths {
            samples: profile.chains.len(),
            roots: HashMap::new(),
            called: HashMap::new(),
            parents: Vec::new(),
            first: Vec::new(),
        };
        let nodes = walk(profile, &mut |parent, label, function| {
            let next = out.parents.len();
            let node = match parent {
                None => *out.roots.entry(label).or_insert(next),
                Some(parent) => *out.called.entry((parent, function)).or_insert(next),
            };
            if node == next {
                out.parents.push(parent);
                out.first.push(None);
            }
            Some(node)
        });
        for (sample, node) in nodes.into_iter().enumerate() {
            if let Some(node) = node {
                out.first[node].get_or_insert(sample);
            }
        }
        out
    }

    /// Of each call chain of another profile the sample that it belongs to here: its own, or that
    /// of the nearest caller which has one.
    fn ways(&self, other: &Profile) -> Vec<Option<usize>> {
        let nodes = walk(other, &mut |parent, label, function| match parent {
            None => self.roots.get(&label).copied(),
            Some(parent) => Some(self.called.get(&(parent, function)).copied().unwrap_or(parent)),
        });
        let sample = |node: Option<Node>| {
            let mut callers = std::iter::successors(node, |node| self.parents[*node]);
            callers.find_map(|node| self.first[node])
        };
        nodes.into_iter().map(sample).collect()
    }

    fn values(&self, other: &Profile, ways: &[Option<usize>], measure: &str) -> Vec<i64> {
        let mut out = vec![0i64; self.samples];
        let Some(Values { values, .. }) = other.chains.of(measure) else { return out };
        for (way, value) in ways.iter().zip(values) {
            if let Some(at) = way {
                out[*at] = out[*at].saturating_add(*value);
            }
        }
        out
    }
}

/// The node of each call chain. `step` finds a node by its caller's, or else the root of a label,
/// and the name of what is called.
fn walk<'a>(
    profile: &'a Profile,
    step: &mut impl FnMut(Option<Node>, Label<'a>, Option<&'a str>) -> Option<Node>,
) -> Vec<Option<Node>> {
    let chains = &profile.chains;
    let mut known: HashMap<(Option<u32>, u32), Option<Node>> = HashMap::new();
    let mut one = |sample: usize| {
        let label = chains.label(sample);
        let name = label.and_then(|at| profile.labels.get(at as usize));
        let name = name.map(|label| (label.key.as_str(), label.value.as_str()));
        let mut missing = Vec::new();
        let mut at = chains.at[sample];
        let mut node = None;
        while let Some(stack) = at {
            node = known.get(&(label, stack)).copied();
            if node.is_some() {
                break;
            }
            missing.push(stack);
            let parent = profile.stacks.parent.get(stack as usize).copied().flatten();
            // Callers come before; other orders are not followed.
            at = parent.filter(|parent| *parent < stack);
        }
        let mut node = node.unwrap_or_else(|| step(None, name, None));
        for stack in missing.into_iter().rev() {
            let location = profile.stacks.location.get(stack as usize);
            let function = location.and_then(|location| profile.function_at(*location));
            let function = function.map(|_| profile.function_name(function));
            node = node.and_then(|node| step(Some(node), name, function));
            known.insert((label, stack), node);
        }
        node
    };
    (0..chains.len()).map(&mut one).collect()
}
