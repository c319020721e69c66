//! Tables of heaps by function, thread, allocator and size.

use strobe_model::measurement::ids;
use strobe_model::measurement::{
    Cell, Column, Content, Distribution, Distributions, Section, Spread, Table, Unit,
};
use strobe_sim::observe::schedule::Who;

use super::{Amount, BlockFates, Seen, section};
use crate::measuring::{count, unknown};
use crate::simulated::heap::allocators::Role;
use crate::simulated::heap::replay::FreeKind;

pub(super) fn bytes(id: &str, title: &str) -> Column {
    Column::figure(id, title, Unit::BYTES)
}

pub(super) fn nanoseconds(id: &str, title: &str) -> Column {
    Column::figure(id, title, Unit::NANOSECONDS)
}

/// Calls by function.
pub(super) fn calls(seen: &Seen) -> Section {
    let mut table = Table::new(vec![
        Column::text(ids::column::FUNCTION, "function"),
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
            Role::Give { .. } => "is given memory",
            Role::Own => "looks after itself",
            Role::Passes => "passes on",
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

/// What a thread or handler did with the heap.
#[derive(Default, Clone, Copy)]
struct Use {
    all: Amount,
    live: Amount,
    peak: Amount,
    freed: u64,
    freed_of_others: u64,
    failed: u64,
}

/// Threads and handlers that did anything, in the order of their first block or call.
fn uses(seen: &Seen) -> Vec<(Who, Use)> {
    let mut all: Vec<(Who, Use)> = Vec::new();
    let mut of = |who: Who, change: &dyn Fn(&mut Use)| {
        let at = all.iter().position(|(known, _)| *known == who).unwrap_or_else(|| {
            all.push((who, Use::default()));
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
        let by = block.gone.filter(|gone| gone.how == FreeKind::Freed).and_then(|gone| gone.by);
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
    all
}

/// By thread and handler.
pub(super) fn threads(seen: &Seen, fates: &BlockFates) -> Option<Section> {
    let whole = fates.all;
    let mut table = Table::new(vec![
        Column::text(ids::column::KIND, "kind").worth(1),
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
    let mut all = uses(seen);
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
    rows.then(|| {
        section(ids::section::HEAP_THREADS, "heap by thread and handler", Content::Table(table))
    })
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
        let (mut all, mut live, mut peak) = <(Amount, Amount, Amount)>::default();
        let mut overhead = Some(0);
        for block in seen.shadow.blocks.iter().filter(|block| block.heap == index) {
            all.add(block);
            if block.gone.is_none() {
                live.add(block);
            }
            if block.is_live(seen.shadow.peak.order) {
                peak.add(block);
                let extra = block.usable.map(|usable| u64::from(usable.saturating_sub(block.size)));
                overhead = overhead.zip(extra).map(|(sum, extra)| sum + extra);
            }
        }
        if all.blocks == 0 {
            continue;
        }
        table.row([
            heap.name.as_str().into(),
            peak.bytes.into(),
            live.bytes.into(),
            all.bytes.into(),
            all.blocks.into(),
            overhead
                .map_or_else(|| unknown("the usable size of its blocks is not known"), Cell::from),
        ]);
    }
    let rows = !table.is_empty();
    rows.then(|| section("heap-allocators", "heap by allocator", Content::Table(table)))
}

/// Blocks by size, in powers of two.
pub(super) fn sizes(seen: &Seen, fates: &BlockFates) -> Option<Section> {
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
    let whole = fates.all;
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
            Some(FreeKind::Freed) => freed.add(seen.age(block)),
            Some(FreeKind::Reset | FreeKind::Replaced | FreeKind::Collected) => {}
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
        section(ids::section::HEAP_SPREADS, "blocks: sizes and lifetimes", content)
    })
}
