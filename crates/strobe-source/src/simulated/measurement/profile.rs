//! The profile of a run: every address that ran, by thread and handler where they were kept apart,
//! and the call tree.

use std::collections::HashMap;
use strobe_model::measurement::ids;

use crate::code_profile::Who;
use crate::code_profile::{AddressSample, Place, TreeNode};
use crate::simulated::run_record::RunRecord;
use strobe_model::measurement::{
    Address, Content, Functions, Kind, Label, Measure, Part, Profile, Samples, Section, Unit,
    Values,
};
use strobe_model::{Cause, CauseCycles};

use super::causes::{self, CYCLES};
use super::{Model, address};

pub(super) fn section(record: &RunRecord, model: &Model) -> Option<Section> {
    if record.profile.addresses.is_empty() && record.profile.tree.is_empty() {
        return None;
    }
    let mut builder = Builder::default();
    let (out, notes) = builder.profile(record, model);
    let mut section =
        super::section(ids::section::PROFILE, "cycles by place", Content::Profile(Box::new(out)));
    section.notes = notes;
    Some(section)
}

/// What is known of instructions that ran, beside their cycles.
const EXECUTIONS: &str = "executions";
const BUSY_EXECUTIONS: &str = "executions-busy";
const IDLE_EXECUTIONS: &str = "executions-idle";
const TAKEN: &str = "taken";
const CALLS: &str = "calls";

#[derive(Default)]
struct Builder {
    out: Profile,
    labels: HashMap<Label, u32>,
    frames: HashMap<Frame, u32>,
}

/// Function, file, line, and the frame that it is inlined into.
type Frame = (u32, Option<u32>, Option<u32>, Option<u32>);

/// A part of an address's counts.
struct Leaf {
    location: u32,
    label: Option<u32>,
    count: u64,
    idle: u64,
    jumped: u64,
    cycles: CauseCycles,
}

impl Builder {
    fn profile(&mut self, record: &RunRecord, model: &Model) -> (Profile, Vec<String>) {
        let profile = &record.profile;
        self.out.measures = causes::measures(record, model);
        self.out.measures.extend(counts(record, model));
        self.out.files = profile.files.clone();
        self.out.functions = Functions {
            name: profile.functions.iter().map(|f| f.name.clone()).collect(),
            address: profile.functions.iter().map(|f| address(f.address.as_ref()?)).collect(),
            file: profile.functions.iter().map(|f| f.file).collect(),
            ..Functions::default()
        };
        self.out.merged_calls = profile.tree_cut;
        profile.addresses.iter().for_each(|sample| self.location(sample));
        let leaves = self.leaves(record);
        self.out.leaves = samples_of(&leaves);
        let notes = self.chains(&profile.tree);
        (std::mem::take(&mut self.out), notes)
    }

    fn location(&mut self, sample: &AddressSample) {
        let mut outer = None;
        for frame in sample.frames.iter().rev() {
            let key = (frame.function, frame.file, frame.line, outer);
            let frames = &mut self.out.frames;
            let next = frames.function.len() as u32;
            outer = Some(*self.frames.entry(key).or_insert_with(|| {
                frames.function.push(key.0);
                frames.file.push(key.1);
                frames.line.push(key.2);
                frames.outer.push(key.3);
                next
            }));
        }
        self.put_location(Some(Address(sample.address.into())), sample.function, outer);
    }

    fn put_location(
        &mut self,
        address: Option<Address>,
        function: Option<u32>,
        frame: Option<u32>,
    ) -> u32 {
        let locations = &mut self.out.locations;
        locations.address.push(address);
        locations.function.push(function);
        locations.frame.push(frame);
        locations.address.len() as u32 - 1
    }

    fn label(&mut self, key: &str, value: &str) -> u32 {
        let label = Label { key: key.to_owned(), value: value.to_owned() };
        let labels = &mut self.out.labels;
        *self.labels.entry(label).or_insert_with_key(|label| {
            labels.push(label.clone());
            labels.len() as u32 - 1
        })
    }

    /// Every address's counts: by thread and handler if they were kept apart and add up, else as
    /// they are.
    fn leaves(&mut self, record: &RunRecord) -> Vec<Leaf> {
        let profile = &record.profile;
        let mut apart = Vec::new();
        let mut sums = vec![(0u64, CauseCycles::ZERO); profile.addresses.len()];
        for share in &profile.shares {
            let key = if matches!(share.who, Who::Thread(_)) { "thread" } else { "handler" };
            let label = Some(self.label(key, &record.who(share.who)));
            for part in &share.addresses {
                let Some(sum) = sums.get_mut(part.sample as usize) else { continue };
                sum.0 = sum.0.saturating_add(part.count);
                sum.1 += part.cycles;
                apart.push(Leaf {
                    location: part.sample,
                    label,
                    count: part.count,
                    idle: part.idle_count(),
                    jumped: part.jumped,
                    cycles: part.cycles,
                });
            }
        }
        let whole = profile.addresses.iter().map(|sample| (sample.count, sample.cycles));
        if whole.eq(sums) {
            return apart;
        }
        let one = |(location, sample): (u32, &AddressSample)| Leaf {
            location,
            label: None,
            count: sample.count,
            idle: sample.idle_count(),
            jumped: sample.jumped,
            cycles: sample.cycles,
        };
        (0..).zip(&profile.addresses).map(one).collect()
    }

    /// The call tree. Measures of which it has another sum than the addresses are left out, with a
    /// note.
    fn chains(&mut self, tree: &[TreeNode]) -> Vec<String> {
        let mut functions: HashMap<Option<u32>, u32> = HashMap::new();
        // Of each node: its stack, and the label of its root.
        let mut places: Vec<(Option<u32>, Option<u32>)> = Vec::with_capacity(tree.len());
        let mut samples = Samples::default();
        let mut kept: Vec<&TreeNode> = Vec::new();
        for node in tree {
            let parent = node.parent.and_then(|parent| places.get(parent as usize).copied());
            let (stack, label) = parent.unwrap_or_default();
            let place = match &node.place {
                Place::Thread(name) => (None, Some(self.label("thread", name))),
                Place::Exception(name) => (None, Some(self.label("handler", name))),
                Place::Function(_) | Place::Unknown => {
                    let function = match node.place {
                        Place::Function(function) => Some(function),
                        _ => None,
                    };
                    let known = functions.get(&function).copied();
                    let location = known.unwrap_or_else(|| self.put_location(None, function, None));
                    functions.insert(function, location);
                    self.out.stacks.parent.push(stack);
                    self.out.stacks.location.push(location);
                    (Some(self.out.stacks.location.len() as u32 - 1), label)
                }
            };
            places.push(place);
            if [node.calls, node.self_cycles, node.self_instructions] != [0; 3] {
                samples.at.push(place.0);
                samples.label.push(place.1);
                kept.push(node);
            }
        }
        let mut notes = Vec::new();
        let mut put = |id: &str, values: Vec<i64>| {
            let values = Values { measure: id.to_owned(), values, ..Values::default() };
            match self.out.leaves.of(id).filter(|leaves| leaves.sum() != values.sum()) {
                None => samples.values.push(values),
                Some(leaves) => notes.push(format!(
                    "The call tree has {} {id}, the addresses {}: it is shown without them.",
                    values.sum(),
                    leaves.sum()
                )),
            }
        };
        put(CYCLES, kept.iter().map(|node| value(node.self_cycles)).collect());
        if kept.iter().all(|node| node.self_idle <= node.self_cycles) {
            let idle = kept.iter().map(|node| value(node.self_idle));
            put(Cause::Asleep.id(), idle.collect());
        }
        put(EXECUTIONS, kept.iter().map(|node| value(node.self_instructions)).collect());
        put(CALLS, kept.iter().map(|node| value(node.calls)).collect());
        self.out.chains = samples;
        notes
    }
}

/// What is counted beside cycles. Executions have parts where some are idle.
fn counts(record: &RunRecord, model: &Model) -> Vec<Measure> {
    let kind = if model.counts {
        Kind::Modelled { why: super::waits::TURNS.to_owned() }
    } else {
        Kind::Exact
    };
    let counted = |id: &str, title: &str, unit| Measure::new(id, title, unit, kind.clone());
    let part = |id: &str, title: &str, idle: bool, meaning: &str| {
        let (letter, advice) = (None, None);
        let (of, meaning) = (EXECUTIONS.to_owned(), Some(meaning.to_owned()));
        let part = Some(Part { of, letter, idle, meaning, advice });
        Measure { part, ..counted(id, title, Unit::INSTRUCTIONS) }
    };
    let mut out = vec![counted(EXECUTIONS, "executions", Unit::INSTRUCTIONS)];
    if record.profile.addresses.iter().any(|sample| sample.idle_count() > 0) {
        let idle = "Executed in empty loops that only an interrupt can leave.";
        out.push(part(BUSY_EXECUTIONS, "busy executions", false, "All other executions."));
        out.push(part(IDLE_EXECUTIONS, "idle executions", true, idle));
    }
    out.push(counted(TAKEN, "changes of flow", Unit::COUNT));
    out.push(counted(CALLS, "calls", Unit::COUNT));
    out
}

fn value(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

fn samples_of(leaves: &[Leaf]) -> Samples {
    let values = |id: &str, of: &dyn Fn(&Leaf) -> u64| Values {
        measure: id.to_owned(),
        values: leaves.iter().map(|leaf| value(of(leaf))).collect(),
        ..Values::default()
    };
    let mut all = vec![values(CYCLES, &|leaf| leaf.cycles.total())];
    let causes = Cause::ALL.into_iter();
    all.extend(causes.map(|cause| values(cause.id(), &|leaf| leaf.cycles[cause])));
    all.push(values(EXECUTIONS, &|leaf| leaf.count));
    if leaves.iter().any(|leaf| leaf.idle > 0) {
        all.push(values(BUSY_EXECUTIONS, &|leaf| leaf.count - leaf.idle));
        all.push(values(IDLE_EXECUTIONS, &|leaf| leaf.idle));
    }
    all.push(values(TAKEN, &|leaf| leaf.jumped));
    let labels = leaves.iter().any(|leaf| leaf.label.is_some());
    let label = if labels { leaves.iter().map(|leaf| leaf.label).collect() } else { Vec::new() };
    let at = leaves.iter().map(|leaf| Some(leaf.location)).collect();
    Samples { at, label, values: all }
}
