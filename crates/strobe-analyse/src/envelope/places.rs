//! Profiles: each place has what it has in the three runs, so that sums are those of the runs.

use std::collections::HashMap;

use strobe_model::measurement::{Address, Kind, Profile, Samples, Values};

use super::is_cycles;

/// A label's key and value.
type Label<'a> = Option<(&'a str, &'a str)>;
/// What a sample is of: its label, its function, and its address.
type Key<'a> = (Label<'a>, Option<&'a str>, Option<Address>);

pub(super) fn enclose(own: &mut Profile, others: [&Profile; 2], why: &str) {
    let ids: Vec<String> =
        own.measures.iter().filter(|m| is_cycles(&m.unit)).map(|m| m.id.clone()).collect();
    let index = Index::of(own);
    let mut ends: Vec<(usize, [Vec<i64>; 2])> = Vec::new();
    for (at, values) in own.leaves.values.iter().enumerate() {
        if ids.contains(&values.measure) {
            ends.push((at, others.map(|other| index.values(other, &values.measure))));
        }
    }
    drop(index);
    for (at, [low, high]) in ends {
        let values = &mut own.leaves.values[at];
        let differ = low != values.values || high != values.values;
        let id = values.measure.clone();
        (values.low, values.high) = if differ { (low, high) } else { (Vec::new(), Vec::new()) };
        let measure = own.measures.iter_mut().find(|measure| measure.id == id);
        if let Some(measure) = measure.filter(|m| differ && m.kind == Kind::Exact) {
            measure.kind = Kind::Modelled { why: why.to_owned() };
        }
    }
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
