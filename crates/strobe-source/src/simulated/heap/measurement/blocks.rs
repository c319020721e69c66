//! Tables of single blocks and calls: the biggest, the live, the failed; and of free memory.

use rustc_hash::FxHashMap as HashMap;
use strobe_model::measurement::ids;
use strobe_model::measurement::{Address, Cell, Column, Content, Number, Section, Table, Unit};

use super::places::Places;
use super::tables::{bytes, nanoseconds};
use super::{Seen, section};
use crate::measuring::{count, unknown};
use crate::simulated::heap::arena::{FragmentationSeries, Sample};
use crate::simulated::heap::replay::Block;

/// Rows of tables of single blocks.
const MOST_ROWS: usize = 100;

fn single(seen: &Seen, places: &mut Places, blocks: Vec<&Block>) -> Table {
    let mut table = Table::new(vec![
        bytes("size", "size"),
        bytes("usable", "usable").worth(2),
        Column::address(ids::column::ADDRESS, "address").worth(3),
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
            Cell::Address(Address(u64::from(block.pointer))),
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
    // They come in the order of their births: the first of each kind stays.
    let mut first: HashMap<(u32, Option<u32>), &Block> = HashMap::default();
    for block in &seen.shadow.blocks {
        let chain = seen.call(block.made_by).map(|call| call.chain);
        first.entry((block.size, chain)).or_insert(block);
    }
    let mut blocks: Vec<&Block> = first.into_values().collect();
    blocks.sort_unstable_by_key(|block| (std::cmp::Reverse(block.size), block.born));
    blocks.truncate(MOST_ROWS / 5);
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
    let title = if all > MOST_ROWS {
        format!("live at the end: the oldest {MOST_ROWS} of {all} blocks")
    } else {
        "live at the end, the oldest first".to_owned()
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
pub(super) fn fragmentation(seen: &Seen, courses: &[FragmentationSeries]) -> Option<Section> {
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
            let name = course.name.as_str().into();
            let nothing = || unknown(why);
            let [memory, free, largest] = [nothing(), nothing(), nothing()];
            let end = "at the end".into();
            table.row([name, end, memory, free, largest, nothing(), nothing()]);
            continue;
        }
        let peak = course.samples.iter().find(|s| s.order == seen.shadow.peak.order);
        let worst = course.samples.iter().filter(|sample| sample.free > 0);
        let worst = worst.max_by(|a, b| {
            let part = |s: &Sample| s.fragmentation().unwrap_or(0.0);
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
