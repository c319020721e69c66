//! Heaps of which blocks were sampled by their bytes: estimates by call site and call chain, each
//! with its interval. What was counted of all calls is exact.

use std::collections::HashMap;
use strobe_model::measurement::ids;

use strobe_analyse::statistics::bytes::{Estimate, estimate};
use strobe_model::measurement::{
    Cell, Column, Content, Finding, Kind, Measure, Number, Quantity, Section, Severity, Table,
    Total, Trust, Unit, Values,
};
use strobe_sim::observe::schedule::Who;

use super::places::{Places, Stacks};
use super::sites::{Site, Sites};
use super::tables::bytes;
use super::{Seen, section, sites};
use crate::measuring::count;
use crate::simulated::heap::Heaps;
use crate::simulated::heap::replay::Block;
use crate::simulated::heap::sampling::Sampler;

const PEAK: &str = "allocations are sampled, and the greatest of estimates is too great";

const COLLECTED: &str = "a garbage collector frees blocks without a call for each";

/// What is estimated of some blocks.
#[derive(Clone, Copy)]
enum Of {
    Bytes,
    Blocks,
}

impl Of {
    fn unit(self) -> Unit {
        match self {
            Of::Bytes => Unit::BYTES,
            Of::Blocks => Unit::COUNT,
        }
    }

    fn estimate<'a>(self, blocks: impl Iterator<Item = &'a Block>, sampler: &Sampler) -> Estimate {
        let has = |bytes: u32| match self {
            Of::Bytes => f64::from(bytes.max(1)),
            Of::Blocks => 1.0,
        };
        let least = (sampler.least, has(sampler.least));
        estimate(blocks.map(|block| (block.size, has(block.size))), sampler.distance, least)
    }
}

/// The measures: id, title, of what, whether of live blocks alone.
const MEASURES: [(&str, &str, Of, bool); 4] = [
    ("bytes", "bytes allocated", Of::Bytes, false),
    ("live-bytes", "bytes live at the end", Of::Bytes, true),
    ("blocks", "blocks allocated", Of::Blocks, false),
    ("live-blocks", "blocks live at the end", Of::Blocks, true),
];

/// The parts of a measurement.
pub(super) fn heaps(seen: &Seen, sampler: &Sampler) -> Heaps {
    let mut places = Places::new(seen);
    let sites = Sites::new(seen, &mut places);
    let mut out = Heaps { totals: totals(seen, sampler, &sites), ..Heaps::default() };
    let text = format!(
        "one byte in {} is sampled: {} of {} allocations were followed; intervals hold the truth \
         in 95 of 100 cases",
        sampler.distance,
        seen.shadow.blocks.len(),
        sampler.asked.0
    );
    out.findings.push(Finding::new(Severity::Note, "heap-sampled", text));
    out.findings.extend(super::findings::limits(seen));
    out.findings.extend(super::findings::leaks(seen, &places, &sites));
    let sections = [
        table(seen, sampler, &sites),
        sites::leaks(seen, &sites).map(|mut leaks| {
            leaks.notes.push("Blocks and bytes are those that were sampled.".to_owned());
            leaks
        }),
        profile(seen, sampler),
    ];
    out.sections.extend(sections.into_iter().flatten());
    out
}

fn quantity(estimate: Estimate, unit: Unit) -> Quantity {
    let whole = |x: f64| Number::from(x as u64);
    let (low, high) = (whole(estimate.low.floor()), whole(estimate.high.ceil()));
    let trust = Trust::Sampled { n: estimate.samples, low, high };
    let known = Quantity::new(Some(whole(estimate.value.round())), unit.clone(), trust);
    known.unwrap_or_else(|invalid| Quantity::unknown(unit, invalid.to_string()))
}

fn is_live(block: &&Block) -> bool {
    block.gone.is_none()
}

fn totals(seen: &Seen, sampler: &Sampler, sites: &Sites) -> Vec<Total> {
    let total = |id: &str, title: &str, quantity| Total {
        id: id.to_owned(),
        title: title.to_owned(),
        quantity,
    };
    let live = || seen.shadow.blocks.iter().filter(is_live);
    let of = |of: Of| match (seen.is_whole(), seen.collects()) {
        (true, false) => quantity(of.estimate(live(), sampler), of.unit()),
        // Whose memory a block has that is not followed, nobody knows.
        (true, true) => Quantity::unknown(of.unit(), COLLECTED),
        (false, _) => Quantity::unknown(of.unit(), seen.missed()),
    };
    let leaks = sites.leaks().count() as u64;
    vec![
        total("heap-peak", "heap peak", Quantity::unknown(Unit::BYTES, PEAK)),
        total("heap-live", "live at the end", of(Of::Bytes)),
        total("heap-live-blocks", "blocks live", of(Of::Blocks)),
        total("heap-asked-bytes", "asked for in all", seen.counted(sampler.asked.1, Unit::BYTES)),
        total("heap-calls", "calls that allocate", seen.counted(sampler.asked.0, Unit::COUNT)),
        // Places with few samples show no growth.
        total("heap-leaks", "places that leak", Quantity::at_least(leaks, Unit::COUNT)),
    ]
}

fn table(seen: &Seen, sampler: &Sampler, sites: &Sites) -> Option<Section> {
    let mut table = Table::new(vec![
        bytes("live", "live at end"),
        count("live-blocks", "blocks"),
        bytes("bytes", "allocated"),
        count("blocks", "blocks"),
        count("samples", "sampled").worth(1),
        Column::text(ids::column::FUNCTION, "function"),
        Column::text("line", "line"),
    ]);
    let mut rows: Vec<(f64, &Site, Vec<&Block>)> = sites
        .all
        .iter()
        .map(|site| {
            let blocks = site.blocks.iter().filter_map(|&block| seen.block(block));
            let blocks: Vec<&Block> = blocks.collect();
            (Of::Bytes.estimate(blocks.iter().copied(), sampler).value, site, blocks)
        })
        .collect();
    rows.sort_by(|a, b| b.0.total_cmp(&a.0));
    for (_, site, blocks) in rows {
        let live = || blocks.iter().copied().filter(is_live);
        let cell = |of: Of, estimate: Estimate| Cell::from(quantity(estimate, of.unit()));
        table.row([
            cell(Of::Bytes, Of::Bytes.estimate(live(), sampler)),
            cell(Of::Blocks, Of::Blocks.estimate(live(), sampler)),
            cell(Of::Bytes, Of::Bytes.estimate(blocks.iter().copied(), sampler)),
            cell(Of::Blocks, Of::Blocks.estimate(blocks.iter().copied(), sampler)),
            blocks.len().into(),
            site.place.function.as_str().into(),
            site.place.short().into(),
        ]);
    }
    let title = "heap by call site, estimated: bytes as asked for";
    let any = !table.is_empty();
    any.then(|| section("heap-sites", title, Content::Table(table)))
}

/// By call chain, apart by thread and handler.
fn profile(seen: &Seen, sampler: &Sampler) -> Option<Section> {
    let mut by_chain: HashMap<(u32, Who), Vec<&Block>> = HashMap::new();
    let mut order = Vec::new();
    for block in &seen.shadow.blocks {
        let Some(call) = seen.call(block.made_by) else { continue };
        let key = (call.chain, call.who);
        let blocks = by_chain.entry(key).or_insert_with(|| {
            order.push(key);
            Vec::new()
        });
        blocks.push(block);
    }
    if order.is_empty() {
        return None;
    }
    let mut profile = Stacks::new(seen).of_chains(&order);
    let kind = Kind::Modelled { why: format!("one byte in {} is sampled", sampler.distance) };
    for (id, title, of, live) in MEASURES {
        profile.measures.push(Measure::new(id, title, of.unit(), kind.clone()));
        let mut values = Values { measure: id.to_owned(), ..Values::default() };
        for blocks in order.iter().filter_map(|key| by_chain.get(key)) {
            let blocks = blocks.iter().copied().filter(|block| !live || is_live(block));
            let estimate = of.estimate(blocks, sampler);
            values.values.push(estimate.value.round() as i64);
            values.low.push(estimate.low.floor() as i64);
            values.high.push(estimate.high.ceil() as i64);
        }
        profile.chains.values.push(values);
    }
    let title = "heap by call chain, estimated";
    Some(section(ids::section::HEAP_PROFILE, title, Content::Profile(Box::new(profile))))
}
