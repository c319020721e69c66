//! The deepest chains as a profile: bytes of stack by function, and by call chain from each entry
//! point.

use std::collections::{BTreeMap, HashMap};

use strobe_model::measurement::{Address, Kind, Label, Measure, Profile, Samples, Unit, Values};

use super::Analysis;

pub(super) fn profile(analysis: &Analysis<'_>) -> Profile {
    let mut out = Profile::default();
    let measure = "stack".to_owned();
    let title = "bytes of stack in the deepest chain";
    out.measures.push(Measure::new(&measure, title, Unit::BYTES, Kind::Exact));
    let mut locations: BTreeMap<u32, u32> = BTreeMap::new();
    let mut stacks: HashMap<(Option<u32>, u32), u32> = HashMap::new();
    let (mut leaves, mut chains) = (Rows::default(), Rows::default());
    for (label, entry) in (0..).zip(&analysis.entries) {
        let value = analysis.name(entry.address);
        out.labels.push(Label { key: "entry".to_owned(), value });
        let mut parent = None;
        for link in analysis.deepest(entry).chain {
            let location = *locations.entry(link.function).or_insert_with(|| {
                out.functions.name.push(analysis.name(link.function));
                out.functions.address.push(Some(Address(link.function.into())));
                out.functions.file.push(None);
                let function = out.functions.name.len() as u32 - 1;
                out.locations.address.push(Some(Address(link.function.into())));
                out.locations.function.push(Some(function));
                out.locations.frame.push(None);
                function
            });
            let stack = *stacks.entry((parent, location)).or_insert_with(|| {
                out.stacks.parent.push(parent);
                out.stacks.location.push(location);
                out.stacks.location.len() as u32 - 1
            });
            let bytes = i64::try_from(link.bytes).unwrap_or(i64::MAX);
            leaves.push(location, label, bytes);
            chains.push(stack, label, bytes);
            parent = Some(stack);
        }
    }
    out.leaves = leaves.samples(&measure);
    out.chains = chains.samples(&measure);
    out
}

#[derive(Default)]
struct Rows {
    at: Vec<Option<u32>>,
    label: Vec<Option<u32>>,
    values: Vec<i64>,
}

impl Rows {
    fn push(&mut self, at: u32, label: u32, bytes: i64) {
        self.at.push(Some(at));
        self.label.push(Some(label));
        self.values.push(bytes);
    }

    fn samples(self, measure: &str) -> Samples {
        let values =
            Values { measure: measure.to_owned(), values: self.values, ..Values::default() };
        Samples { values: vec![values], at: self.at, label: self.label }
    }
}
