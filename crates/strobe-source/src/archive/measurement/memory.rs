//! Memory: high-water marks of stacks, and what became of the heap's blocks.

use std::collections::HashMap;

use strobe_model::HeapSeen;
use strobe_model::measurement::{
    Address, Cell, Column, Content, Distributions, Finding, Kind, Label, Measure, Measurement,
    Profile, Quantity, Severity, Table, Trust, Unit, Values,
};

use super::events::About;
use crate::measuring::{count, distributions};

const UNCERTAIN: &str = "events were lost, so blocks shown as in use may have been freed";

/// Adds the sections.
pub(super) fn push(measurement: &mut Measurement, about: &About) {
    stacks(measurement, about);
    if let Some(heap) = &about.report.heap {
        let heap = Heap { about, heap };
        heap.totals(measurement);
        measurement.push("heap", "heap", Content::Table(heap.summary()));
        if !heap.heap.sites.is_empty() {
            let profile = Content::Profile(Box::new(heap.profile()));
            measurement.push("heap-profile", "heap: blocks by call chain", profile);
            let sites = Content::Table(heap.sites());
            measurement.push("heap-sites", "heap: where blocks come from", sites);
        }
        let ages = [("freed blocks".to_owned(), heap.heap.ages.as_ref())];
        let distributions = distributions(&Unit::NANOSECONDS, ages);
        if !distributions.is_empty() {
            let content = Content::Distributions(Distributions { distributions });
            measurement.push("heap-ages", "heap: how long blocks were in use", content);
        }
    }
}

fn stacks(measurement: &mut Measurement, about: &About) {
    if about.report.stacks.is_empty() {
        return;
    }
    let mut table = Table::new(vec![
        Column::text("thread", "thread"),
        Column::figure("used", "high-water mark", Unit::BYTES),
        count("samples", "samples"),
        Column::moment("at", "at", Unit::NANOSECONDS),
        Column::text("function", "in"),
        Column::address("address", "address").worth(0),
    ]);
    for stack in &about.report.stacks {
        let place = format!("{:#010x}", stack.peak_function);
        table.row([
            about.thread(stack.id, stack.name.as_deref()).into(),
            // Between two samples it may have been deeper.
            Quantity::at_least(stack.peak_bytes, Unit::BYTES).into(),
            stack.samples.into(),
            about.since(stack.peak_ns),
            stack.peak_name.clone().unwrap_or(place).into(),
            Address(stack.peak_function.into()).into(),
        ]);
    }
    measurement.push("stacks", "stack high-water marks", Content::Table(table));
}

struct Heap<'a> {
    about: &'a About<'a>,
    heap: &'a HeapSeen,
}

impl Heap<'_> {
    /// What was seen to happen.
    fn seen(&self, n: u64, unit: Unit) -> Quantity {
        if self.heap.uncertain { Quantity::at_least(n, unit) } else { Quantity::exact(n, unit) }
    }

    /// What is left of what was seen.
    fn left(&self, n: u64) -> Cell {
        let most = Cell::Figure { value: Some(n.into()), trust: Trust::AtMost };
        if self.heap.uncertain { most } else { n.into() }
    }

    fn totals(&self, measurement: &mut Measurement) {
        let heap = self.heap;
        let bytes = self.seen(heap.total_bytes, Unit::BYTES);
        let blocks = self.seen(heap.allocations, Unit::COUNT);
        measurement.push_total("heap-allocated", "heap: bytes allocated", bytes);
        measurement.push_total("heap-allocations", "heap: allocations", blocks);
        let why = UNCERTAIN;
        let live = match heap.uncertain {
            true => Quantity::new(Some(heap.live_bytes.into()), Unit::BYTES, Trust::AtMost).ok(),
            false => None,
        };
        let live = live.unwrap_or_else(|| Quantity::exact(heap.live_bytes, Unit::BYTES));
        measurement.push_total("heap-live", "heap: bytes in use at the end", live);
        let peak = Quantity::exact(heap.peak_bytes, Unit::BYTES);
        measurement.push_total("heap-peak", "heap: most bytes in use", peak);
        if heap.uncertain {
            let finding = Finding::new(Severity::Warning, "heap-uncertain", why);
            measurement.findings.push(finding);
        }
    }

    fn summary(&self) -> Table {
        let heap = self.heap;
        let mut table = Table::new(vec![
            Column::text("what", ""),
            count("blocks", "blocks"),
            Column::figure("bytes", "bytes", Unit::BYTES),
            Column::moment("at", "at", Unit::NANOSECONDS),
        ]);
        let blocks = |n: u64| Cell::from(self.seen(n, Unit::COUNT));
        let bytes = |n: u64| Cell::from(self.seen(n, Unit::BYTES));
        let rows = [
            ("allocated", blocks(heap.allocations), bytes(heap.total_bytes), Cell::Empty),
            ("requested", Cell::Empty, heap.requested_bytes.map(bytes).into(), Cell::Empty),
            ("failed", blocks(heap.failed), Cell::Empty, Cell::Empty),
            ("freed", blocks(heap.frees), Cell::Empty, Cell::Empty),
            ("freed, allocation not seen", blocks(heap.unknown_frees), Cell::Empty, Cell::Empty),
            ("allocated again, free not seen", blocks(heap.replaced), Cell::Empty, Cell::Empty),
            ("in use at the end", self.left(heap.live), self.left(heap.live_bytes), Cell::Empty),
            ("peak", Cell::Empty, heap.peak_bytes.into(), self.about.since(heap.peak_ns)),
        ];
        for (what, blocks, bytes, at) in rows {
            table.row([what.into(), blocks, bytes, at]);
        }
        table
    }

    fn sites(&self) -> Table {
        let heap = self.heap;
        let mut table = Table::new(vec![
            count("live", "in use"),
            Column::figure("live-bytes", "bytes in use", Unit::BYTES).of(heap.live_bytes),
            count("allocations", "allocated"),
            Column::figure("bytes", "bytes allocated", Unit::BYTES).of(heap.total_bytes),
            Column::text("thread", "thread"),
            Column::text("callers", "called by"),
        ]);
        for site in &heap.sites {
            let names = site.names.iter().chain(std::iter::repeat(&None));
            let callers = site.callers.iter().zip(names);
            let callers = callers.map(|(at, name)| name.as_ref().unwrap_or(at).as_str());
            table.row([
                self.left(site.live),
                self.left(site.live_bytes),
                self.seen(site.allocations, Unit::COUNT).into(),
                self.seen(site.bytes, Unit::BYTES).into(),
                site.thread.map(|thread| self.about.thread(thread, None)).into(),
                callers.collect::<Vec<_>>().join(" < ").into(),
            ]);
        }
        let live = [heap.live, heap.live_bytes].map(|n| self.left(n));
        let taken = [heap.allocations, heap.total_bytes].map(Cell::from);
        let sums = live.into_iter().chain(taken).chain([Cell::Empty, "all".into()]);
        table.footer.push(sums.collect());
        table
    }

    fn measures(&self) -> Vec<Measure> {
        let measure = |id: &str, title: &str, unit, kind| Measure {
            id: id.to_owned(),
            title: title.to_owned(),
            unit,
            kind,
            part: None,
        };
        let (seen, left) = match self.heap.uncertain {
            true => (Kind::AtLeast, Kind::Modelled { why: UNCERTAIN.to_owned() }),
            false => (Kind::Exact, Kind::Exact),
        };
        vec![
            measure("live-bytes", "bytes in use at the end", Unit::BYTES, left.clone()),
            measure("live-blocks", "blocks in use at the end", Unit::COUNT, left),
            measure("bytes", "bytes allocated", Unit::BYTES, seen.clone()),
            measure("blocks", "blocks allocated", Unit::COUNT, seen),
        ]
    }

    fn profile(&self) -> Profile {
        let mut chains = Chains::default();
        chains.profile.measures = self.measures();
        let mut columns: [Vec<i64>; 4] = Default::default();
        for site in &self.heap.sites {
            let names = site.names.iter().map(Option::as_deref).chain(std::iter::repeat(None));
            let frames: Vec<_> = site.callers.iter().map(String::as_str).zip(names).collect();
            let at = chains.stack(&frames);
            let label = site.thread.map(|thread| self.about.thread(thread, None));
            let label = label.map(|name| chains.label(name));
            chains.profile.chains.at.push(at);
            chains.profile.chains.label.push(label);
            let values = [site.live_bytes, site.live, site.bytes, site.allocations];
            for (column, value) in columns.iter_mut().zip(values) {
                column.push(i64::try_from(value).unwrap_or(i64::MAX));
            }
        }
        let mut profile = chains.profile;
        for (measure, values) in profile.measures.iter().zip(columns) {
            let bounded = matches!(measure.kind, Kind::Modelled { .. });
            let (low, high) = match bounded {
                true => (vec![0; values.len()], values.clone()),
                false => Default::default(),
            };
            let measure = measure.id.clone();
            profile.chains.values.push(Values { measure, values, low, high });
        }
        profile
    }
}

/// Call chains under construction.
#[derive(Default)]
struct Chains {
    profile: Profile,
    functions: HashMap<String, u32>,
    locations: HashMap<String, u32>,
    stacks: HashMap<(Option<u32>, u32), u32>,
    labels: HashMap<String, u32>,
}

impl Chains {
    /// The stack of some return addresses, the innermost first.
    fn stack(&mut self, frames: &[(&str, Option<&str>)]) -> Option<u32> {
        frames.iter().rev().fold(None, |caller, (address, name)| {
            let location = self.location(address, *name);
            let stacks = &mut self.profile.stacks;
            let next = stacks.location.len() as u32;
            let stack = *self.stacks.entry((caller, location)).or_insert(next);
            if stack == next {
                stacks.parent.push(caller);
                stacks.location.push(location);
            }
            Some(stack)
        })
    }

    fn location(&mut self, address: &str, name: Option<&str>) -> u32 {
        if let Some(found) = self.locations.get(address) {
            return *found;
        }
        let function = name.map(|name| {
            let functions = &mut self.profile.functions;
            let next = functions.name.len() as u32;
            let function = *self.functions.entry(name.to_owned()).or_insert(next);
            if function == next {
                functions.name.push(name.to_owned());
                functions.address.push(None);
                functions.file.push(None);
            }
            function
        });
        let locations = &mut self.profile.locations;
        locations.address.push(address.parse::<Address>().ok());
        locations.function.push(function);
        locations.frame.push(None);
        let location = locations.address.len() as u32 - 1;
        self.locations.insert(address.to_owned(), location);
        location
    }

    fn label(&mut self, value: String) -> u32 {
        let next = self.labels.len() as u32;
        let label = *self.labels.entry(value.clone()).or_insert(next);
        if label == next {
            self.profile.labels.push(Label { key: "thread".to_owned(), value });
        }
        label
    }
}
