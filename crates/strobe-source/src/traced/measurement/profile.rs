//! Samples by place and by who had the core, as a profile of one measure: how many there are.
//!
//! Estimates and their intervals are worked out from the numbers by whoever shows them.

use std::collections::{BTreeMap, HashMap};
use strobe_model::measurement::ids;

use crate::code_profile::Who;
use crate::code_profile::{AddressSample, Frame};
use crate::traced::record::StreamRecord;
use crate::traced::totals::Traced;
use strobe_model::Cause;
use strobe_model::measurement::{
    Address, Content, Frames, Functions, Kind, Label, Locations, Measure, Measurement, Part,
    Profile, Samples, Stacks, Unit, Values,
};

/// Values of a place: all samples, and of them those that count as idle.
type Counts = (u64, u64);

/// The profile.
pub(super) fn section(record: &StreamRecord, traced: &Traced, out: &mut Measurement) {
    let by_who = !record.profile.shares.is_empty();
    let profile = profile(record, traced);
    let section = out.push(ids::section::PROFILE, "samples", Content::Profile(Box::new(profile)));
    section.notes.push(
        "Intervals are Wilson's, 95 %: of samples taken independently, about one share in twenty \
         lies outside. Code that runs in step with \
         the sampling period can be off by more."
            .to_owned(),
    );
    if !by_who {
        section.notes.push(
            "Threads and handlers are not distinguished: there is neither exception trace nor a \
             watched pointer to the current thread."
                .to_owned(),
        );
    } else if traced.exceptions.is_empty() {
        section.notes.push(
            "Without exception trace, samples of handlers count for the thread that they \
             interrupted."
                .to_owned(),
        );
    }
}

fn profile(record: &StreamRecord, traced: &Traced) -> Profile {
    let from = &record.profile;
    let mut labels = Labels::default();
    let mut frames = FrameTable::default();
    let locate = |sample: &AddressSample| frames.chain(sample);
    let innermost: Vec<Option<u32>> = from.addresses.iter().map(locate).collect();
    let functions = Functions {
        name: from.functions.iter().map(|f| f.name.clone()).collect(),
        address: from.functions.iter().map(|f| f.address.as_ref()?.parse().ok()).collect(),
        file: from.functions.iter().map(|f| f.file).collect(),
        ..Functions::default()
    };
    let address = from.addresses.iter().map(|s| Some(Address(s.address.into())));
    let mut locations = Locations {
        address: address.collect(),
        function: from.addresses.iter().map(|s| s.function).collect(),
        frame: innermost,
    };
    let leaves = leaves(record, traced, &mut labels);
    let (stacks, chains) = chains(&leaves, &mut locations);
    Profile {
        measures: measures(traced),
        files: from.files.clone(),
        functions,
        frames: frames.frames,
        locations,
        stacks,
        labels: labels.0,
        leaves: samples(leaves),
        chains: samples(chains),
        merged_calls: 0,
    }
}

fn measures(traced: &Traced) -> Vec<Measure> {
    let period = traced.sampling.period_cycles;
    let kind = Kind::Sampled { period, period_unit: period.map(|_| Unit::CYCLES) };
    let measure = |id: &str, part: Option<Part>| Measure {
        id: id.to_owned(),
        title: id.to_owned(),
        unit: Unit::SAMPLES,
        kind: kind.clone(),
        part,
    };
    let part =
        |idle| Part { of: "samples".to_owned(), letter: None, idle, meaning: None, advice: None };
    vec![
        measure(ids::measure::SAMPLES, None),
        measure("awake", Some(part(false))),
        measure(ids::measure::ASLEEP, Some(part(true))),
    ]
}

/// Samples by location and label.
fn leaves(record: &StreamRecord, traced: &Traced, labels: &mut Labels) -> Places {
    let mut places = Places::new();
    let mut rest: Vec<Counts> =
        record.profile.addresses.iter().map(|s| (s.count, s.cycles[Cause::Asleep])).collect();
    for share in &record.profile.shares {
        let label = labels.who(share.who, traced);
        for part in &share.addresses {
            let idle = part.cycles[Cause::Asleep];
            add(&mut places, (Some(part.sample), label), (part.count, idle));
            if let Some((all, asleep)) = rest.get_mut(part.sample as usize) {
                *all = all.saturating_sub(part.count);
                *asleep = asleep.saturating_sub(idle);
            }
        }
    }
    for (location, counts) in (0u32..).zip(rest) {
        add(&mut places, (Some(location), None), counts);
    }
    // What has no address: of a core asleep, where tracing is not allowed, and what there was no
    // room for.
    let sampling = &traced.sampling;
    let known: u64 = record.profile.addresses.iter().map(|s| s.count).sum();
    let states = [
        ("asleep", sampling.asleep, sampling.asleep),
        ("tracing prohibited", sampling.prohibited, 0),
        ("at too many addresses to list", sampling.awake.saturating_sub(known), 0),
    ];
    for (state, all, idle) in states.into_iter().filter(|(_, all, _)| *all > 0) {
        let label = labels.add("state", state);
        add(&mut places, (None, Some(label)), (all, idle));
    }
    places
}

/// Samples by location (or stack) and label.
type Places = BTreeMap<(Option<u32>, Option<u32>), Counts>;

fn add(places: &mut Places, at: (Option<u32>, Option<u32>), (all, idle): Counts) {
    if all > 0 {
        let counts = places.entry(at).or_default();
        counts.0 += all;
        counts.1 += idle;
    }
}

/// The same by function: a sample knows no callers, so each chain is a function by itself.
fn chains(leaves: &Places, locations: &mut Locations) -> (Stacks, Places) {
    let mut stack_of: BTreeMap<Option<u32>, u32> = BTreeMap::new();
    let (mut stacks, mut chains) = (Stacks::default(), Places::new());
    for ((location, label), counts) in leaves {
        let stack = location.map(|location| {
            let function = locations.function[location as usize];
            *stack_of.entry(function).or_insert_with(|| {
                stacks.parent.push(None);
                stacks.location.push(locations.address.len() as u32);
                locations.address.push(None);
                locations.function.push(function);
                locations.frame.push(None);
                stacks.location.len() as u32 - 1
            })
        });
        add(&mut chains, (stack, *label), *counts);
    }
    (stacks, chains)
}

fn samples(places: Places) -> Samples {
    let numbers = |of: fn(&Counts) -> u64| {
        let all = places.values().map(|counts| i64::try_from(of(counts)).unwrap_or(i64::MAX));
        all.collect()
    };
    let values = |measure: &str, of| Values {
        measure: measure.to_owned(),
        values: numbers(of),
        ..Values::default()
    };
    let has_labels = places.keys().any(|(_, label)| label.is_some());
    let label = places.keys().map(|(_, label)| *label).filter(|_| has_labels);
    Samples {
        at: places.keys().map(|(at, _)| *at).collect(),
        label: label.collect(),
        values: vec![
            values(ids::measure::SAMPLES, |(all, _)| *all),
            values("awake", |(all, idle)| all - idle),
            values(ids::measure::ASLEEP, |(_, idle)| *idle),
        ],
    }
}

#[derive(Default)]
struct Labels(Vec<Label>);

impl Labels {
    fn add(&mut self, key: &str, value: &str) -> u32 {
        let label = Label { key: key.to_owned(), value: value.to_owned() };
        let at = self.0.iter().position(|known| *known == label);
        at.unwrap_or_else(|| {
            self.0.push(label);
            self.0.len() - 1
        }) as u32
    }

    fn who(&mut self, who: Who, traced: &Traced) -> Option<u32> {
        match who {
            Who::Thread(n) => {
                let thread = traced.threads.get(n as usize)?;
                Some(self.add("thread", &thread.name))
            }
            Who::Interrupt(n) => {
                let exception = traced.exceptions.iter().find(|e| e.number == n)?;
                Some(self.add("handler", &exception.name))
            }
        }
    }
}

/// Frames, an entry for each that differs.
#[derive(Default)]
struct FrameTable {
    frames: Frames,
    known: HashMap<(Frame, Option<u32>), u32>,
}

impl FrameTable {
    /// Adds the frames of an address, the outermost first; gives the innermost.
    fn chain(&mut self, sample: &AddressSample) -> Option<u32> {
        let mut outer = None;
        for frame in sample.frames.iter().rev() {
            let at = *self.known.entry((*frame, outer)).or_insert_with(|| {
                self.frames.function.push(frame.function);
                self.frames.file.push(frame.file);
                self.frames.line.push(frame.line);
                self.frames.outer.push(outer);
                self.frames.function.len() as u32 - 1
            });
            outer = Some(at);
        }
        outer
    }
}
