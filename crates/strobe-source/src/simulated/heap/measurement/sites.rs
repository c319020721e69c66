//! Call sites: what each allocated, whether it leaks, which blocks it allocates again and again.

use rustc_hash::FxHashMap as HashMap;
use strobe_model::measurement::ids;
use strobe_model::measurement::{Cell, Column, Content, Number, Section, Spread, Table};

use super::places::{Place, Places};
use super::tables::{bytes, nanoseconds};
use super::{Amount, BlockFates, Seen, section};
use crate::growth::Growth;
use crate::measuring::count;
use crate::simulated::heap::replay::{Block, FreeKind};

/// Rows of the table of repeated blocks.
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
    /// A garbage collector frees its blocks.
    pub collected: bool,
    /// One of its chains.
    pub chain: u32,
    lifetimes: Spread,
}

/// All call sites, those with the most bytes at the peak first.
pub(super) struct Sites {
    pub all: Vec<Site>,
}
fn rounded(figure: Option<f64>) -> Cell {
    figure.map_or(Cell::Empty, |figure| Cell::Exact(Number::from(figure.round() as u64)))
}

impl Sites {
    pub fn new(seen: &Seen, places: &mut Places) -> Self {
        let mut by_place: HashMap<Place, usize> = HashMap::default();
        let mut by_chain: HashMap<u32, usize> = HashMap::default();
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
            site.collected |= seen.is_collected(block);
            if block.gone.is_none() {
                site.live.add(block);
            }
            if block.is_live(seen.shadow.peak.order) {
                site.peak.add(block);
            }
            if block.how() == Some(FreeKind::Freed) {
                site.lifetimes.add(seen.age(block));
            }
        }
        for failure in &seen.shadow.failures {
            let Some(call) = seen.call(failure.call) else { continue };
            let at = site_of(call.chain, &mut all);
            all[at].failed += 1;
        }
        for site in all.iter_mut().filter(|site| !site.collected) {
            let blocks = site.blocks.iter().filter_map(|&block| seen.block(block));
            site.growth = Growth::of(blocks.map(Block::life), seen.end);
        }
        all.sort_by_key(|site| std::cmp::Reverse((site.peak.bytes, site.all.bytes)));
        Sites { all }
    }

    /// Those that keep growing.
    pub fn leaks(&self) -> impl Iterator<Item = &Site> {
        self.all.iter().filter(|site| site.growth.is_leak())
    }

    pub fn table(&self, seen: &Seen, fates: &BlockFates) -> Option<Section> {
        let BlockFates { all, live, .. } = *fates;
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
            Column::text(ids::column::FUNCTION, "function"),
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
            collected: false,
            chain,
            lifetimes: Spread::default(),
        }
    }

    /// What became of its blocks, in a word or two.
    fn state(&self, seen: &Seen) -> &'static str {
        if self.collected {
            return "collected";
        }
        match (seen.is_whole(), self.growth.is_leak(), self.live.blocks) {
            (false, ..) => "unknown",
            (true, true, _) => "leaks",
            (true, false, 0) if self.all.blocks == 0 => "failed",
            (true, false, 0) => "freed",
            (true, false, n) if n == self.all.blocks => "never freed",
            (true, false, _) => "partly live",
        }
    }
}

/// Places that leak.
pub(super) fn leaks(seen: &Seen, sites: &Sites) -> Option<Section> {
    let mut table = Table::new(vec![
        bytes("growth", "grown by"),
        count("middle", "blocks in the middle"),
        count("end", "blocks at the end"),
        bytes("live", "live at end"),
        nanoseconds("oldest", "oldest"),
        Column::text(ids::column::FUNCTION, "function"),
        Column::text("line", "line"),
    ]);
    for site in sites.leaks() {
        let blocks = site.blocks.iter().filter_map(|&block| seen.block(block));
        let live = blocks.filter(|block| block.gone.is_none());
        let (course, bytes) = (site.growth.blocks, site.growth.bytes);
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
    rows.then(|| section(ids::section::HEAP_LEAKS, title, Content::Table(table)))
}

/// Blocks of one size that one place allocates again and again.
pub(super) fn repeated(seen: &Seen, sites: &Sites) -> Option<Section> {
    let mut rows: Vec<(u64, u64, u64, u32, &Site)> = Vec::new();
    for site in &sites.all {
        let mut by_size: HashMap<u32, (u64, u64)> = HashMap::default();
        for block in site.blocks.iter().filter_map(|&block| seen.block(block)) {
            let of = by_size.entry(block.size).or_default();
            of.0 += 1;
            of.1 += u64::from(block.how() == Some(FreeKind::Freed));
        }
        let many = by_size.into_iter().filter(|(_, (blocks, _))| *blocks >= REPEATED);
        rows.extend(
            many.map(|(size, (blocks, freed))| {
                (blocks * u64::from(size), blocks, freed, size, site)
            }),
        );
    }
    rows.sort_by_key(|row| std::cmp::Reverse((row.0, row.1, row.3)));
    let mut table = Table::new(vec![
        count("blocks", "blocks"),
        bytes("size", "of"),
        bytes("bytes", "bytes"),
        count("freed", "freed"),
        Column::text(ids::column::FUNCTION, "function"),
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
