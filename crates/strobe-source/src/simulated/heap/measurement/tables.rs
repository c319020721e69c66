//! Tables of heaps: by call site, thread, allocator and size; leaks, the biggest, the repeated and
//! the failed.

use std::collections::HashMap;

use strobe_model::measurement::{
    Cell, Column, Content, Distribution, Distributions, Number, Section, Spread, Table, Unit,
};
use strobe_sim::observe::schedule::Who;

use super::places::{Place, Places};
use super::{Amount, Seen, section};
use crate::measuring::{count, unknown};
use crate::simulated::heap::allocators::Role;
use crate::simulated::heap::arena::Course;
use crate::simulated::heap::growth::Growth;
use crate::simulated::heap::replay::{Block, How};

/// Rows of tables of single blocks.
const MOST_ROWS: usize = 100;

/// Blocks of one size from one place, from which on they are listed as repeated.
const REPEATED: u64 = 10;

/// What a call site did.
#[derive(Debug, Clone)]
pub(super) struct Site {
    pub place: Place,
    /// Its blocks, as indices.
    pub blocks: Vec<u32>,
    pub all: Amount,
    pub live: Amount,
    pub peak: Amount,
    pub growth: Growth,
    pub failed: u64,
    /// One of its chains.
    pub chain: u32,
    lifetimes: Spread,
}

/// All call sites, those with the most bytes at the peak first.
pub(super) struct Sites {
    pub all: Vec<Site>,
}

fn bytes(id: &str, title: &str) -> Column {
    Column::figure(id, title, Unit::BYTES)
}

fn nanoseconds(id: &str, title: &str) -> Column {
    Column::figure(id, title, Unit::NANOSECONDS)
}

fn rounded(figure: Option<f64>) -> Cell {
    figure.map_or(Cell::Empty, |figure| Cell::Exact(Number::from(figure.round() as u64)))
}

impl Sites {
    pub fn new(seen: &Seen, places: &mut Places) -> Self {
        let mut by_place: HashMap<Place, usize> = HashMap::new();
        let mut by_chain: HashMap<u32, usize> = HashMap::new();
        let mut all: Vec<Site> = Vec::new();
        let mut site_of = |chain: u32, all: &mut Vec<Site>| {
            *by_chain.entry(chain).or_insert_with(|| {
                let mut place = places.site(chain);
                // Several calls of one line are one site; without lines each is its own.
                if place.line.is_some() {
                    place.address = 0;
                }
                *by_place.entry(place.clone()).or_insert_with(|| {
                    all.push(Site::new(place, chain));
                    all.len() - 1
                })
            })
        };
        for (index, block) in (0u32..).zip(&seen.shadow.blocks) {
            let Some(call) = seen.call(block.made_by) else { continue };
            let at = site_of(call.chain, &mut all);
            let site = &mut all[at];
            site.blocks.push(index);
            site.all.add(block);
            if block.gone.is_none() {
                site.live.add(block);
            }
            if block.is_live(seen.shadow.peak.order) {
                site.peak.add(block);
            }
            if block.how() == Some(How::Freed) {
                site.lifetimes.add(seen.age(block));
            }
        }
        for failure in &seen.shadow.failures {
            let Some(call) = seen.call(failure.call) else { continue };
            let at = site_of(call.chain, &mut all);
            all[at].failed += 1;
        }
        for site in &mut all {
            let blocks = site.blocks.iter().filter_map(|&block| seen.block(block));
            site.growth = Growth::of(blocks, seen.end);
        }
        all.sort_by_key(|site| std::cmp::Reverse((site.peak.bytes, site.all.bytes)));
        Sites { all }
    }

    /// Those that keep growing.
    pub fn leaks(&self) -> impl Iterator<Item = &Site> {
        self.all.iter().filter(|site| site.growth.is_leak())
    }

    pub fn table(&self, seen: &Seen) -> Option<Section> {
        let all = Amount::of(seen.shadow.blocks.iter());
        let live = Amount::of(seen.shadow.blocks.iter().filter(|block| block.gone.is_none()));
        let peak = seen.shadow.peak.bytes;
        let mut table = Table::new(vec![
            bytes("peak", "at the peak").of(peak),
            count("peak-blocks", "blocks").worth(1),
            bytes("live", "live at end"),
            count("live-blocks", "blocks"),
            bytes("bytes", "allocated"),
            count("blocks", "blocks"),
            nanoseconds("lifetime", "mean lifetime").worth(2),
            count("failed", "failed").worth(3),
            Column::text("state", "state").worth(4),
            Column::text("function", "function"),
            Column::text("line", "line"),
        ]);
        let any_failed = !seen.shadow.failures.is_empty();
        for site in &self.all {
            table.row([
                site.peak.bytes.into(),
                site.peak.blocks.into(),
                site.live.bytes.into(),
                site.live.blocks.into(),
                site.all.bytes.into(),
                site.all.blocks.into(),
                rounded(site.lifetimes.mean()),
                if any_failed { site.failed.into() } else { Cell::Empty },
                site.state(seen).into(),
                site.place.function.as_str().into(),
                site.place.short().into(),
            ]);
        }
        table.footer.push(vec![
            peak.into(),
            seen.shadow.peak.blocks.into(),
            live.bytes.into(),
            live.blocks.into(),
            all.bytes.into(),
            all.blocks.into(),
            Cell::Empty,
            if any_failed { (seen.shadow.failures.len() as u64).into() } else { Cell::Empty },
            Cell::Empty,
            "all".into(),
            Cell::Empty,
        ]);
        let title = "heap by call site: bytes as asked for";
        let rows = !table.is_empty();
        rows.then(|| section("heap-sites", title, Content::Table(table)))
    }
}

impl Site {
    fn new(place: Place, chain: u32) -> Self {
        Site {
            place,
            blocks: Vec::new(),
            all: Amount::default(),
            live: Amount::default(),
            peak: Amount::default(),
            growth: Growth::default(),
            failed: 0,
            chain,
            lifetimes: Spread::default(),
        }
    }

    /// What became of its blocks, in a word or two.
    fn state(&self, seen: &Seen) -> &'static str {
        match (seen.is_whole(), self.growth.is_leak(), self.live.blocks) {
            (false, ..) => "unknown",
            (true, true, _) => "leaks",
            (true, false, 0) => "freed",
            (true, false, n) if n == self.all.blocks => "never freed",
            (true, false, _) => "partly live",
        }
    }
}

/// Calls by function.
pub(super) fn calls(seen: &Seen) -> Section {
    let mut table = Table::new(vec![
        Column::text("function", "function"),
        count("calls", "calls"),
        Column::text("does", "does"),
        Column::text("allocator", "allocator"),
    ]);
    for (known, calls) in seen.found.functions.iter().zip(&seen.shadow.calls) {
        let heap = seen.found.heaps.get(known.heap).map_or("", |heap| heap.name.as_str());
        let does = match known.role {
            Role::Allocate { .. } => "allocates",
            Role::Free { .. } => "frees",
            Role::Reallocate { .. } => "resizes",
            Role::Grow { .. } => "takes memory from the system",
        };
        if *calls > 0 {
            table.row([known.name.as_str().into(), (*calls).into(), does.into(), heap.into()]);
        }
    }
    let mut section = section("heap-calls", "allocators' functions called", Content::Table(table));
    let shadow = seen.shadow;
    if shadow.nested > 0 {
        let n = shadow.nested;
        section.notes.push(format!(
            "Further {n} calls were made within these by the allocators themselves; they are part \
             of the call around them."
        ));
    }
    let (resized, same) = shadow.resized;
    if resized > 0 {
        section.notes.push(format!(
            "Blocks resized: {resized}, {same} of them where they were. Each counts as a block \
             freed and one allocated."
        ));
    }
    if shadow.null_frees > 0 {
        let n = shadow.null_frees;
        section.notes.push(format!("Frees of no block (NULL), which do nothing: {n}."));
    }
    if shadow.unfinished > 0 {
        let n = shadow.unfinished;
        section.notes.push(format!(
            "Calls that did not return before the run ended or their stack was cut: {n}."
        ));
    }
    section
}

/// Places that leak.
pub(super) fn leaks(seen: &Seen, sites: &Sites) -> Option<Section> {
    let mut table = Table::new(vec![
        bytes("growth", "grown by"),
        count("middle", "blocks in the middle"),
        count("end", "blocks at the end"),
        bytes("live", "live at end"),
        nanoseconds("oldest", "oldest"),
        Column::text("function", "function"),
        Column::text("line", "line"),
    ]);
    for site in sites.leaks() {
        let blocks = site.blocks.iter().filter_map(|&block| seen.block(block));
        let live = blocks.filter(|block| block.gone.is_none());
        let Growth { blocks: course, bytes } = site.growth;
        table.row([
            bytes.1.saturating_sub(bytes.0).into(),
            course[0].into(),
            course[course.len() - 1].into(),
            site.live.bytes.into(),
            live.map(|block| seen.age(block)).max().map_or(Cell::Empty, Cell::from),
            site.place.function.as_str().into(),
            site.place.short().into(),
        ]);
    }
    let rows = seen.is_whole() && !table.is_empty();
    let title = "leaks: places whose live blocks grew all through the second half of the run";
    rows.then(|| section("heap-leaks", title, Content::Table(table)))
}

/// By thread and handler.
pub(super) fn threads(seen: &Seen) -> Option<Section> {
    #[derive(Default, Clone, Copy)]
    struct Of {
        all: Amount,
        live: Amount,
        peak: Amount,
        freed: u64,
        freed_of_others: u64,
        failed: u64,
    }
    let mut all: Vec<(Who, Of)> = Vec::new();
    let mut of = |who: Who, change: &dyn Fn(&mut Of)| {
        let at = all.iter().position(|(known, _)| *known == who).unwrap_or_else(|| {
            all.push((who, Of::default()));
            all.len() - 1
        });
        change(&mut all[at].1);
    };
    for block in &seen.shadow.blocks {
        let Some(maker) = seen.maker(block) else { continue };
        of(maker, &|of| {
            of.all.add(block);
            if block.gone.is_none() {
                of.live.add(block);
            }
            if block.is_live(seen.shadow.peak.order) {
                of.peak.add(block);
            }
        });
        let by = block.gone.filter(|gone| gone.how == How::Freed).and_then(|gone| gone.by);
        if let Some(freer) = by.and_then(|by| seen.call(by)).map(|call| call.who) {
            of(freer, &|of| {
                of.freed += 1;
                of.freed_of_others += u64::from(freer != maker);
            });
        }
    }
    for call in seen.shadow.failures.iter().filter_map(|failure| seen.call(failure.call)) {
        of(call.who, &|of| of.failed += 1);
    }
    let whole = Amount::of(seen.shadow.blocks.iter());
    let mut table = Table::new(vec![
        Column::text("kind", "kind").worth(1),
        Column::text("thread", "thread"),
        bytes("peak", "at the peak").of(seen.shadow.peak.bytes),
        bytes("live", "live at end"),
        count("live-blocks", "blocks"),
        bytes("bytes", "allocated").of(whole.bytes),
        count("blocks", "blocks"),
        count("freed", "freed"),
        count("freed-of-others", "of others").worth(2),
        count("failed", "failed").worth(1),
    ]);
    all.sort_by_key(|(_, of)| std::cmp::Reverse((of.peak.bytes, of.all.bytes)));
    for (who, of) in all {
        let (kind, name) = seen.who(who);
        table.row([
            kind.into(),
            name.into(),
            of.peak.bytes.into(),
            of.live.bytes.into(),
            of.live.blocks.into(),
            of.all.bytes.into(),
            of.all.blocks.into(),
            of.freed.into(),
            of.freed_of_others.into(),
            of.failed.into(),
        ]);
    }
    let rows = !table.is_empty();
    rows.then(|| section("heap-threads", "heap by thread and handler", Content::Table(table)))
}

/// By allocator.
pub(super) fn heaps(seen: &Seen) -> Option<Section> {
    let mut table = Table::new(vec![
        Column::text("allocator", "allocator"),
        bytes("peak", "at the peak"),
        bytes("live", "live at end"),
        bytes("bytes", "allocated"),
        count("blocks", "blocks"),
        bytes("overhead", "rounding up, at the peak"),
    ]);
    for (index, heap) in seen.found.heaps.iter().enumerate() {
        let own = || seen.shadow.blocks.iter().filter(move |block| block.heap == index);
        if own().next().is_none() {
            continue;
        }
        let peak = || own().filter(|block| block.is_live(seen.shadow.peak.order));
        let extra = |block: &Block| Some(u64::from(block.usable?.saturating_sub(block.size)));
        let overhead: Option<u64> = peak().map(extra).sum();
        table.row([
            heap.name.as_str().into(),
            Amount::of(peak()).bytes.into(),
            Amount::of(own().filter(|block| block.gone.is_none())).bytes.into(),
            Amount::of(own()).bytes.into(),
            Amount::of(own()).blocks.into(),
            overhead
                .map_or_else(|| unknown("the usable size of its blocks is not known"), Cell::from),
        ]);
    }
    let rows = !table.is_empty();
    rows.then(|| section("heap-allocators", "heap by allocator", Content::Table(table)))
}

/// Blocks by size, in powers of two.
pub(super) fn sizes(seen: &Seen) -> Option<Section> {
    let mut bins: Vec<(Amount, Amount, Amount)> = Vec::new();
    let mut spread = Spread::default();
    for block in &seen.shadow.blocks {
        spread.add(u64::from(block.size));
        let bin = (u32::BITS - block.size.saturating_sub(1).leading_zeros()) as usize;
        let bin = if block.size == 0 { 0 } else { bin };
        if bins.len() <= bin {
            bins.resize(bin + 1, Default::default());
        }
        bins[bin].0.add(block);
        if block.is_live(seen.shadow.peak.order) {
            bins[bin].1.add(block);
        }
        if block.gone.is_none() {
            bins[bin].2.add(block);
        }
    }
    let whole = Amount::of(seen.shadow.blocks.iter());
    let mut table = Table::new(vec![
        bytes("from", "from"),
        bytes("to", "to"),
        count("blocks", "blocks").of(whole.blocks),
        bytes("bytes", "bytes").of(whole.bytes),
        count("peak-blocks", "blocks at the peak"),
        count("live-blocks", "live at end"),
    ]);
    for (bin, (all, peak, live)) in bins.iter().enumerate() {
        let to = 1u64 << bin;
        let from = if bin == 0 { 0 } else { to / 2 + 1 };
        if all.blocks > 0 {
            table.row([
                from.into(),
                to.into(),
                all.blocks.into(),
                all.bytes.into(),
                peak.blocks.into(),
                live.blocks.into(),
            ]);
        }
    }
    let (mean, deviation) = (spread.mean()?, spread.deviation()?);
    let mut section = section("heap-sizes", "blocks by size", Content::Table(table));
    section.notes.push(format!(
        "Mean {mean:.1} bytes, standard deviation {deviation:.1}, of {} blocks.",
        whole.blocks
    ));
    Some(section)
}

/// How sizes and lifetimes spread.
pub(super) fn spreads(seen: &Seen) -> Option<Section> {
    let (mut sizes, mut freed, mut live) =
        (Spread::default(), Spread::default(), Spread::default());
    for block in &seen.shadow.blocks {
        sizes.add(u64::from(block.size));
        match block.how() {
            None => live.add(seen.age(block)),
            Some(How::Freed) => freed.add(seen.age(block)),
            Some(How::Reset | How::Replaced) => {}
        }
    }
    let all = [
        ("size", Unit::BYTES, sizes),
        ("lifetime of freed blocks", Unit::NANOSECONDS, freed),
        ("age of live blocks", Unit::NANOSECONDS, live),
    ];
    let all = all.into_iter().filter(|(_, _, spread)| spread.count() > 0);
    let distributions: Vec<_> =
        all.map(|(name, unit, spread)| Distribution::exact(name, unit, spread)).collect();
    let any = !distributions.is_empty();
    any.then(|| {
        let content = Content::Distributions(Distributions { distributions });
        section("heap-spreads", "blocks: sizes and lifetimes", content)
    })
}

/// Blocks of one size that one place allocates again and again.
pub(super) fn repeated(seen: &Seen, sites: &Sites) -> Option<Section> {
    let mut rows: Vec<(u64, u64, u64, u32, &Site)> = Vec::new();
    for site in &sites.all {
        let mut by_size: HashMap<u32, (u64, u64)> = HashMap::new();
        for block in site.blocks.iter().filter_map(|&block| seen.block(block)) {
            let of = by_size.entry(block.size).or_default();
            of.0 += 1;
            of.1 += u64::from(block.how() == Some(How::Freed));
        }
        let many = by_size.into_iter().filter(|(_, (blocks, _))| *blocks >= REPEATED);
        rows.extend(
            many.map(|(size, (blocks, freed))| {
                (blocks * u64::from(size), blocks, freed, size, site)
            }),
        );
    }
    rows.sort_by(|a, b| (b.0, b.1, b.3).cmp(&(a.0, a.1, a.3)));
    let mut table = Table::new(vec![
        count("blocks", "blocks"),
        bytes("size", "of"),
        bytes("bytes", "bytes"),
        count("freed", "freed"),
        Column::text("function", "function"),
        Column::text("line", "line"),
    ]);
    for (all, blocks, freed, size, site) in rows.into_iter().take(MOST_ROWS) {
        table.row([
            blocks.into(),
            size.into(),
            all.into(),
            freed.into(),
            site.place.function.as_str().into(),
            site.place.short().into(),
        ]);
    }
    let any = !table.is_empty();
    let title = format!("repeated: {REPEATED} blocks or more of one size from one place");
    any.then(|| section("heap-repeated", title, Content::Table(table)))
}

fn single(seen: &Seen, places: &mut Places, blocks: Vec<&Block>) -> Table {
    let mut table = Table::new(vec![
        bytes("size", "size"),
        bytes("usable", "usable").worth(2),
        Column::address("address", "address").worth(3),
        Column::moment("at", "allocated at", Unit::NANOSECONDS),
        nanoseconds("age", "for"),
        Column::text("state", "state"),
        Column::text("thread", "thread").worth(1),
        Column::text("chain", "call chain"),
    ]);
    for block in blocks {
        let call = seen.call(block.made_by);
        let chain = call.map(|call| places.path(call.chain));
        table.row([
            block.size.into(),
            block.usable.map_or_else(
                || unknown("the allocator's structures are not known"),
                |usable| usable.into(),
            ),
            Cell::Address(strobe_model::measurement::Address(u64::from(block.pointer))),
            seen.nanoseconds(block.born.0).into(),
            seen.age(block).into(),
            if block.gone.is_none() { "live" } else { "freed" }.into(),
            seen.maker(block).map(|who| seen.who(who).1).into(),
            chain.into(),
        ]);
    }
    table
}

/// The biggest blocks, one of each call chain and size.
pub(super) fn biggest(seen: &Seen, places: &mut Places) -> Option<Section> {
    let mut known = std::collections::HashSet::new();
    let mut blocks: Vec<&Block> = seen.shadow.blocks.iter().collect();
    blocks.sort_by_key(|block| (std::cmp::Reverse(block.size), block.born));
    blocks.retain(|block| {
        known.len() < MOST_ROWS / 5
            && known.insert((block.size, seen.call(block.made_by).map(|call| call.chain)))
    });
    let table = single(seen, places, blocks);
    let any = !table.is_empty();
    let title = "the biggest blocks, one of each size and call chain";
    any.then(|| section("heap-biggest", title, Content::Table(table)))
}

/// Live blocks, the oldest first.
pub(super) fn live(seen: &Seen, places: &mut Places) -> Option<Section> {
    let mut blocks: Vec<&Block> =
        seen.shadow.blocks.iter().filter(|block| block.gone.is_none()).collect();
    let all = blocks.len();
    blocks.truncate(MOST_ROWS);
    let table = single(seen, places, blocks);
    let any = !table.is_empty();
    let title = match all > MOST_ROWS {
        true => format!("live at the end: the oldest {MOST_ROWS} of {all} blocks"),
        false => "live at the end, the oldest first".to_owned(),
    };
    any.then(|| section("heap-live", title, Content::Table(table)))
}

/// Calls without a block.
pub(super) fn failures(seen: &Seen, places: &mut Places) -> Option<Section> {
    let mut table = Table::new(vec![
        Column::moment("at", "at", Unit::NANOSECONDS),
        bytes("size", "size"),
        bytes("live", "live then"),
        Column::text("thread", "thread"),
        Column::text("chain", "call chain"),
    ]);
    for failure in seen.shadow.failures.iter().take(MOST_ROWS) {
        let Some(call) = seen.call(failure.call) else { continue };
        table.row([
            seen.nanoseconds(call.begin).into(),
            failure.size.map_or_else(|| unknown("more than there are addresses"), Cell::from),
            failure.live_bytes.into(),
            seen.who(call.who).1.into(),
            places.path(call.chain).into(),
        ]);
    }
    let any = !table.is_empty();
    any.then(|| section("heap-failures", "failed allocations", Content::Table(table)))
}

/// How broken up the memory is.
pub(super) fn fragmentation(seen: &Seen, courses: &[Course]) -> Option<Section> {
    let mut table = Table::new(vec![
        Column::text("allocator", "allocator"),
        Column::text("when", "when"),
        bytes("memory", "memory"),
        bytes("free", "free"),
        bytes("largest", "largest free"),
        count("pieces", "free pieces"),
        Column::figure("fragmentation", "fragmentation", Unit::PERCENT),
    ]);
    for course in courses {
        if let Some(why) = &course.unknown {
            let [memory, free, largest, pieces, part] = [const { () }; 5].map(|()| unknown(why));
            table.row([
                course.name.as_str().into(),
                "at the end".into(),
                memory,
                free,
                largest,
                pieces,
                part,
            ]);
            continue;
        }
        let peak = course.samples.iter().find(|s| s.order == seen.shadow.peak.order);
        let worst = course.samples.iter().filter(|sample| sample.free > 0);
        let worst = worst.max_by(|a, b| {
            let part = |s: &super::arena::Sample| s.fragmentation().unwrap_or(0.0);
            part(a).total_cmp(&part(b))
        });
        let rows =
            [("at the peak", peak), ("at worst", worst), ("at the end", course.samples.last())];
        for (when, sample) in rows {
            let Some(sample) = sample else { continue };
            let part = sample.fragmentation().map(|part| (part * 1000.0).round() / 10.0);
            table.row([
                course.name.as_str().into(),
                when.into(),
                sample.all.into(),
                sample.free.into(),
                sample.largest.into(),
                sample.pieces.into(),
                part.map_or(Cell::Empty, |part| Cell::Exact(Number::from(part))),
            ]);
        }
    }
    let title = "fragmentation: the part of the free memory that is not in its largest piece";
    let rows = !table.is_empty();
    rows.then(|| section("heap-fragmentation", title, Content::Table(table)))
}
