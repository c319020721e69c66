//! What happens to the heap between marks: allocations in each window, and how live blocks grow
//! from its beginning to its end.

use strobe_model::measurement::ids;
use strobe_model::measurement::{Cell, Column, Content, Section, Table, Unit};

use super::sites::Sites;
use super::tables::bytes;
use super::{Amount, Seen, section};
use crate::measuring::count;
use crate::simulated::drive::MAX_SPANS;
use crate::simulated::heap::replay::Block;

/// Rows of the table of windows; the sums have all of them.
const MOST_ROWS: usize = 200;

const TITLE: &str = "heap in windows: from mark to mark";

/// What became of the blocks that were allocated in windows.
#[derive(Debug, Clone, Copy, Default)]
struct InWindows {
    allocated: Amount,
    /// Still there at the end of the window that they were allocated in.
    left: Amount,
}

impl InWindows {
    fn add(&mut self, block: &Block, end: u64) {
        self.allocated.add(block);
        if is_live_at(block, end) {
            self.left.add(block);
        }
    }
}

fn is_live_at(block: &Block, cycle: u64) -> bool {
    block.born.0 < cycle && block.gone.is_none_or(|gone| gone.at.0 >= cycle)
}

/// The window that a cycle is in; windows are in order and do not overlap.
fn window_at(windows: &[(u64, u64)], cycle: u64) -> Option<usize> {
    let next = windows.partition_point(|(begin, _)| *begin <= cycle);
    let at = next.checked_sub(1)?;
    (cycle < windows.get(at)?.1).then_some(at)
}

/// Window by window.
pub(super) fn windows(seen: &Seen) -> Option<Section> {
    let windows = seen.windows?;
    let mut rows = vec![(Amount::default(), Amount::default()); windows.len()];
    for block in &seen.shadow.blocks {
        if let Some(at) = window_at(windows, block.born.0) {
            rows[at].0.add(block);
        }
        if let Some(at) = block.gone.and_then(|gone| window_at(windows, gone.at.0)) {
            rows[at].1.add(block);
        }
    }
    let mut table = Table::new(vec![
        count("window", "window"),
        Column::moment("begin", "begin", Unit::NANOSECONDS),
        Column::moment("end", "end", Unit::NANOSECONDS),
        bytes("bytes", "allocated"),
        count("blocks", "blocks"),
        bytes("freed", "freed"),
        count("freed-blocks", "blocks"),
        bytes("live-begin", "live at begin"),
        bytes("live-end", "live at end"),
    ]);
    let (mut allocated, mut freed) = (Amount::default(), Amount::default());
    for (n, ((begin, end), (born, gone))) in windows.iter().zip(&rows).enumerate() {
        for (sum, part) in [(&mut allocated, born), (&mut freed, gone)] {
            sum.bytes += part.bytes;
            sum.blocks += part.blocks;
        }
        if n < MOST_ROWS {
            table.row([
                (n as u64 + 1).into(),
                seen.nanoseconds(*begin).into(),
                seen.nanoseconds(*end).into(),
                born.bytes.into(),
                born.blocks.into(),
                gone.bytes.into(),
                gone.blocks.into(),
                live_bytes(seen, *begin).into(),
                live_bytes(seen, *end).into(),
            ]);
        }
    }
    let ends = windows.first().zip(windows.last());
    let (first, last) = ends.map_or((0, 0), |(first, last)| (first.0, last.1));
    table.footer.push(vec![
        Cell::Empty,
        seen.nanoseconds(first).into(),
        seen.nanoseconds(last).into(),
        allocated.bytes.into(),
        allocated.blocks.into(),
        freed.bytes.into(),
        freed.blocks.into(),
        live_bytes(seen, first).into(),
        live_bytes(seen, last).into(),
    ]);
    let mut out = section("heap-windows", TITLE, Content::Table(table));
    if windows.len() > MOST_ROWS {
        out.notes.push(format!("The first {MOST_ROWS} windows; the sums are of all."));
    }
    if windows.len() == MAX_SPANS {
        out.notes.push(format!("Windows behind the first {MAX_SPANS} are not in it."));
    }
    Some(out)
}

/// Live bytes at a cycle: the last level before it.
fn live_bytes(seen: &Seen, cycle: u64) -> u64 {
    let levels = &seen.shadow.levels;
    let next = levels.partition_point(|level| level.cycle < cycle);
    next.checked_sub(1).and_then(|at| levels.get(at)).map_or(0, |level| level.bytes)
}

/// By call site.
pub(super) fn by_site(seen: &Seen, sites: &Sites) -> Option<Section> {
    let windows = seen.windows?;
    let mut table = Table::new(vec![
        bytes("bytes", "allocated"),
        count("blocks", "blocks"),
        bytes("left", "left at the end of their window"),
        count("left-blocks", "blocks"),
        Column::text(ids::column::FUNCTION, "function"),
        Column::text("line", "line"),
    ]);
    let mut rows: Vec<_> = sites.all.iter().map(|site| (InWindows::default(), site)).collect();
    for (sum, site) in &mut rows {
        for block in site.blocks.iter().filter_map(|&block| seen.block(block)) {
            if let Some(at) = window_at(windows, block.born.0) {
                sum.add(block, windows[at].1);
            }
        }
    }
    rows.retain(|(sum, _)| sum.allocated.blocks > 0);
    rows.sort_by_key(|(sum, _)| std::cmp::Reverse((sum.left.bytes, sum.allocated.bytes)));
    for (sum, site) in rows {
        table.row([
            sum.allocated.bytes.into(),
            sum.allocated.blocks.into(),
            sum.left.bytes.into(),
            sum.left.blocks.into(),
            site.place.function.as_str().into(),
            site.place.short().into(),
        ]);
    }
    let any = !table.is_empty();
    let title = "allocated in windows, by call site: what is left when the window ends";
    any.then(|| section(ids::section::HEAP_WINDOW_SITES, title, Content::Table(table)))
}
