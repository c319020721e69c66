//! What became of a heap's blocks, as somebody recorded it: totals, leaks, call sites.

use std::collections::HashMap;
use strobe_model::measurement::ids;

use crate::archive::report::{HeapSeen, HeapSite};
use strobe_model::measurement::{
    Address, Cell, Column, Content, Distributions, Finding, Kind, Label, Measure, Measurement,
    Profile, Quantity, Severity, Table, Unit, Values,
};

use crate::measuring::{count, distributions};

const UNSEEN: &str = "blocks were allocated again whose free is not in the trace";

/// `poll < 0x08000200`.
fn callers(site: &HeapSite) -> String {
    let names = site.names.iter().chain(std::iter::repeat(&None));
    let callers = site.callers.iter().zip(names);
    let callers = callers.map(|(at, name)| name.as_ref().unwrap_or(at).as_str());
    callers.collect::<Vec<_>>().join(" < ")
}

/// What was seen of a heap, and how to show it.
pub(crate) struct HeapView<'a> {
    pub(crate) heap: &'a HeapSeen,
    /// What times are in.
    pub(crate) unit: Unit,
    /// A moment as a cell.
    pub(crate) since: &'a dyn Fn(Option<i64>) -> Cell,
    /// Who makes the calls.
    pub(crate) who: Callers<'a>,
    /// Why what is missing may matter.
    pub(crate) uncertain: &'a str,
}

/// How those who call an allocator are shown.
pub(crate) struct Callers<'a> {
    /// The column.
    pub(crate) title: &'a str,
    /// What kind of caller one is, and its name.
    pub(crate) name: &'a dyn Fn(i64) -> (&'static str, String),
    /// It is known as well who frees.
    pub(crate) have_frees: bool,
}

impl HeapView<'_> {
    /// Adds the sections.
    pub(crate) fn push(&self, measurement: &mut Measurement) {
        self.totals(measurement);
        measurement.push("heap", "heap", Content::Table(self.summary()));
        if !self.heap.sites.is_empty() {
            let profile = Content::Profile(Box::new(self.profile()));
            measurement.push(ids::section::HEAP_PROFILE, "heap: blocks by call chain", profile);
            let sites = Content::Table(self.sites());
            measurement.push("heap-sites", "heap: where blocks come from", sites);
        }
        if self.who.have_frees && self.heap.threads.len() > 1 {
            let threads = Content::Table(self.threads());
            measurement.push(ids::section::HEAP_THREADS, "heap by thread and handler", threads);
        }
        let ages = [("freed blocks".to_owned(), self.heap.ages.as_ref())];
        let distributions = distributions(&self.unit, ages);
        if !distributions.is_empty() {
            let content = Content::Distributions(Distributions { distributions });
            measurement.push("heap-ages", "heap: how long blocks were in use", content);
        }
    }

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
        if self.heap.uncertain {
            Quantity::unknown(unit, self.uncertain)
        } else {
            Quantity::exact(n, unit)
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
        let leaks = if self.misses_frees() {
            Quantity::unknown(Unit::COUNT, UNSEEN)
        } else {
            self.known(leaks, Unit::COUNT)
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
            let why = self.uncertain;
            let text = format!("{why}: what is live, the peak and leaks are unknown");
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
            measurement.push(ids::section::HEAP_LEAKS, title, Content::Table(table));
        }
    }

    fn summary(&self) -> Table {
        let heap = self.heap;
        let mut table = Table::new(vec![
            Column::text(ids::column::WHAT, ""),
            count("blocks", "blocks"),
            Column::figure(ids::column::BYTES, "bytes", Unit::BYTES),
            Column::moment("at", "at", self.unit.clone()),
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
                if heap.uncertain { Cell::Empty } else { (self.since)(heap.peak_ns) },
            ),
        ];
        for (what, blocks, bytes, at) in rows {
            table.row([what.into(), blocks, bytes, at]);
        }
        table
    }

    /// As those of a simulated run.
    fn threads(&self) -> Table {
        let mut table = Table::new(vec![
            Column::text(ids::column::KIND, "kind").worth(1),
            Column::text("thread", "thread"),
            Column::figure("peak", "at the peak", Unit::BYTES).of(self.heap.peak_bytes),
            Column::figure("live", "live at end", Unit::BYTES),
            count("live-blocks", "blocks"),
            Column::figure(ids::column::BYTES, "allocated", Unit::BYTES).of(self.heap.total_bytes),
            count("blocks", "blocks"),
            count("freed", "freed"),
            count("freed-of-others", "of others").worth(2),
            count("failed", "failed").worth(1),
        ]);
        for of in &self.heap.threads {
            let unknown = ("thread", "(unknown)".to_owned());
            let (kind, name) = of.thread.map_or(unknown, self.who.name);
            table.row([
                kind.into(),
                name.into(),
                self.left(of.peak_bytes, Unit::BYTES),
                self.left(of.live_bytes, Unit::BYTES),
                self.left(of.live, Unit::COUNT),
                self.seen(of.bytes, Unit::BYTES).into(),
                self.seen(of.allocations, Unit::COUNT).into(),
                self.seen(of.frees, Unit::COUNT).into(),
                // A block may have been freed and taken by another thread unseen.
                self.left(of.frees_of_others, Unit::COUNT),
                self.seen(of.failed, Unit::COUNT).into(),
            ]);
        }
        table
    }

    fn sites(&self) -> Table {
        let heap = self.heap;
        let mut table = Table::new(vec![
            count("live", "in use"),
            Column::figure("live-bytes", "bytes in use", Unit::BYTES).of(heap.live_bytes),
            count("allocations", "allocated"),
            Column::figure(ids::column::BYTES, "bytes allocated", Unit::BYTES).of(heap.total_bytes),
            Column::text(self.who.title, self.who.title),
            Column::text("callers", "called by"),
        ]);
        for site in &heap.sites {
            table.row([
                self.left(site.live, Unit::COUNT),
                self.left(site.live_bytes, Unit::BYTES),
                self.seen(site.allocations, Unit::COUNT).into(),
                self.seen(site.bytes, Unit::BYTES).into(),
                site.thread.map(|thread| (self.who.name)(thread).1).into(),
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
        let (seen, left) = if self.heap.uncertain {
            (Kind::AtLeast, Kind::Modelled { why: self.uncertain.to_owned() })
        } else {
            (Kind::Exact, Kind::Exact)
        };
        vec![
            Measure::new("live-bytes", "bytes in use at the end", Unit::BYTES, left.clone()),
            Measure::new("live-blocks", "blocks in use at the end", Unit::COUNT, left),
            Measure::new("bytes", "bytes allocated", Unit::BYTES, seen.clone()),
            Measure::new("blocks", "blocks allocated", Unit::COUNT, seen),
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
            let label = site.thread.map(|thread| (self.who.name)(thread));
            let label = label.map(|(kind, name)| chains.label(kind, name));
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
            let (low, high) =
                if bounded { (vec![0; values.len()], values.clone()) } else { Default::default() };
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
    labels: HashMap<(String, String), u32>,
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

    fn label(&mut self, key: &str, value: String) -> u32 {
        let next = self.labels.len() as u32;
        let label = *self.labels.entry((key.to_owned(), value.clone())).or_insert(next);
        if label == next {
            self.profile.labels.push(Label { key: key.to_owned(), value });
        }
        label
    }
}
