//! Memory: high-water marks of stacks, and what became of the heap's blocks.

use std::collections::HashMap;

use strobe_model::measurement::{
    Address, Cell, Column, Content, Distributions, Finding, Kind, Label, Measure, Measurement,
    Profile, Quantity, Severity, Table, Unit, Values,
};
use strobe_model::{HeapSeen, HeapSite};

use super::events::About;
use crate::measuring::{count, distributions};

const UNCERTAIN: &str = "events were lost, allocations or frees among them perhaps";

const UNSEEN: &str = "blocks were allocated again whose free is not in the trace";

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

/// `poll < 0x08000200`.
fn callers(site: &HeapSite) -> String {
    let names = site.names.iter().chain(std::iter::repeat(&None));
    let callers = site.callers.iter().zip(names);
    let callers = callers.map(|(at, name)| name.as_ref().unwrap_or(at).as_str());
    callers.collect::<Vec<_>>().join(" < ")
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
    fn left(&self, n: u64, unit: Unit) -> Cell {
        self.known(n, unit).into()
    }

    /// What means nothing where events are missing.
    fn known(&self, n: u64, unit: Unit) -> Quantity {
        match self.heap.uncertain {
            true => Quantity::unknown(unit, UNCERTAIN),
            false => Quantity::exact(n, unit),
        }
    }

    /// Blocks were allocated again whose free was not seen.
    fn misses_frees(&self) -> bool {
        !self.heap.uncertain && self.heap.replaced > 0
    }

    /// As those of a simulated run.
    fn totals(&self, measurement: &mut Measurement) {
        let heap = self.heap;
        let leaks = heap.sites.iter().filter(|site| site.leak.is_some()).count() as u64;
        let leaks = match self.misses_frees() {
            true => Quantity::unknown(Unit::COUNT, UNSEEN),
            false => self.known(leaks, Unit::COUNT),
        };
        let (bytes, count) = (Unit::BYTES, Unit::COUNT);
        let totals = [
            ("heap-peak", "heap peak", self.known(heap.peak_bytes, bytes.clone())),
            ("heap-live", "live at the end", self.known(heap.live_bytes, bytes.clone())),
            ("heap-live-blocks", "blocks live", self.known(heap.live, count.clone())),
            ("heap-bytes", "allocated in all", self.seen(heap.total_bytes, bytes)),
            ("heap-blocks", "allocations", self.seen(heap.allocations, count.clone())),
            ("heap-freed-blocks", "blocks freed", self.seen(heap.frees, count.clone())),
            ("heap-leaks", "places that leak", leaks),
            ("heap-failed", "failed allocations", self.seen(heap.failed, count)),
        ];
        for (id, title, quantity) in totals {
            measurement.push_total(id, title, quantity);
        }
        if heap.uncertain {
            let text = format!("{UNCERTAIN}: what is live, the peak and leaks are unknown");
            measurement.findings.push(Finding::new(Severity::Warning, "heap-uncertain", text));
        }
        self.leaks(measurement);
    }

    fn leaks(&self, measurement: &mut Measurement) {
        if self.misses_frees() {
            return;
        }
        let mut table = Table::new(vec![
            count("middle", "blocks in the middle"),
            count("end", "blocks at the end"),
            Column::figure("live", "live at end", Unit::BYTES),
            Column::text("callers", "called by"),
        ]);
        for site in &self.heap.sites {
            let Some((middle, end)) = site.leak else { continue };
            let callers = callers(site);
            let text = format!(
                "a leak: {middle} live blocks in the middle of the trace and {end} at its end, {} \
                 bytes, of {callers}",
                site.live_bytes
            );
            measurement.findings.push(Finding::new(Severity::Warning, "leak", text));
            table.row([middle.into(), end.into(), site.live_bytes.into(), callers.into()]);
        }
        if !table.is_empty() {
            let title =
                "leaks: places whose live blocks grew all through the second half of the trace";
            measurement.push("heap-leaks", title, Content::Table(table));
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
            (
                "in use at the end",
                self.left(heap.live, Unit::COUNT),
                self.left(heap.live_bytes, Unit::BYTES),
                Cell::Empty,
            ),
            (
                "peak",
                Cell::Empty,
                self.left(heap.peak_bytes, Unit::BYTES),
                if heap.uncertain { Cell::Empty } else { self.about.since(heap.peak_ns) },
            ),
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
            table.row([
                self.left(site.live, Unit::COUNT),
                self.left(site.live_bytes, Unit::BYTES),
                self.seen(site.allocations, Unit::COUNT).into(),
                self.seen(site.bytes, Unit::BYTES).into(),
                site.thread.map(|thread| self.about.thread(thread, None)).into(),
                callers(site).into(),
            ]);
        }
        let live = [self.left(heap.live, Unit::COUNT), self.left(heap.live_bytes, Unit::BYTES)];
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
