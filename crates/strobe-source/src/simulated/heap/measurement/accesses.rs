//! What was seen of every access: those that must not be, and how much of each block is used.

use strobe_model::measurement::ids;
use strobe_model::measurement::{
    Cell, Column, Content, Finding, Number, Quantity, Section, Severity, Table, Total, Unit,
};

use super::findings::{MOST, evidence, freed, made};
use super::places::{Place, Places};
use super::sites::Sites;
use super::tables::bytes;
use super::{Seen, section};
use crate::simulated::heap::inspect::{Fault, FaultKind, Inspection, Usage};
use crate::simulated::heap::replay::Block;

/// Rows of the table of blocks.
const MOST_ROWS: usize = 50;

/// Sums over blocks.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    size: u64,
    read: u64,
    written: u64,
    untouched: u64,
    unread: u64,
}

impl Sum {
    fn add(&mut self, size: u32, usage: Usage) {
        self.size += u64::from(size);
        self.read += usage.read;
        self.written += usage.written;
        self.untouched += u64::from(usage.untouched);
        self.unread += u64::from(usage.unread);
    }

    fn of(seen: &Seen, inspection: &Inspection, blocks: impl Iterator<Item = u32>) -> Self {
        let mut sum = Sum::default();
        for block in blocks {
            let size = seen.block(block).map_or(0, |block| block.size);
            sum.add(size, inspection.usage(block));
        }
        sum
    }

    fn cells(self) -> [Cell; 5] {
        let part = |n: u64| match self.size {
            0 => Cell::Empty,
            size => {
                let each = n as f64 / size as f64;
                Cell::Exact(Number::from((each * 100.0).round() / 100.0))
            }
        };
        [
            part(self.read),
            part(self.written),
            self.untouched.into(),
            self.unread.into(),
            self.size.into(),
        ]
    }
}

fn columns() -> Vec<Column> {
    vec![
        Column::figure("reads-per-byte", "reads per byte", Unit::RATIO),
        Column::figure("writes-per-byte", "writes per byte", Unit::RATIO),
        bytes("untouched", "never touched"),
        bytes("unread", "written, never read").worth(2),
        bytes("bytes", "allocated"),
    ]
}

fn whole(seen: &Seen, inspection: &Inspection) -> Sum {
    let all = u32::try_from(seen.shadow.blocks.len()).unwrap_or(u32::MAX);
    Sum::of(seen, inspection, 0..all)
}

/// Headline figures, where accesses were checked.
pub(super) fn totals(seen: &Seen) -> Vec<Total> {
    let Some(inspection) = seen.inspection else { return Vec::new() };
    let all = whole(seen, inspection);
    let total = |id: &str, title: &str, quantity| Total {
        id: id.to_owned(),
        title: title.to_owned(),
        quantity,
    };
    let faults: u64 = inspection.faults().map(|fault| fault.count).sum();
    let faults = Quantity::exact(faults + inspection.more, Unit::COUNT);
    vec![
        total("heap-untouched", "bytes never touched", Quantity::exact(all.untouched, Unit::BYTES)),
        total("heap-faults", "accesses at fault", faults),
    ]
}

/// How much of the blocks of each place is used.
pub(super) fn by_site(seen: &Seen, sites: &Sites) -> Option<Section> {
    let inspection = seen.inspection?;
    let mut table = Table::new(columns());
    table.columns.push(Column::text(ids::column::FUNCTION, "function"));
    table.columns.push(Column::text("line", "line"));
    let sums =
        sites.all.iter().map(|site| (site, Sum::of(seen, inspection, site.blocks.iter().copied())));
    let mut rows: Vec<_> = sums.filter(|(_, sum)| sum.size > 0).collect();
    rows.sort_by_key(|(_, sum)| std::cmp::Reverse((sum.untouched, sum.size)));
    for (site, sum) in rows {
        let [read, written, untouched, unread, size] = sum.cells();
        let (function, line) = (site.place.function.as_str().into(), site.place.short().into());
        table.row([read, written, untouched, unread, size, function, line]);
    }
    let all = whole(seen, inspection).cells().into_iter();
    table.footer.push(all.chain(["all".into(), Cell::Empty]).collect());
    let title = "use of the heap by call site: reads and writes of each byte allocated";
    let any = !table.is_empty();
    let mut section = any.then(|| section("heap-use", title, Content::Table(table)))?;
    section.notes.push(
        "Accesses by the core, those within the allocators left out; what peripherals read and \
         write by DMA is not counted."
            .to_owned(),
    );
    Some(section)
}

/// The blocks of which most is never touched.
pub(super) fn by_block(seen: &Seen, places: &mut Places) -> Option<Section> {
    let inspection = seen.inspection?;
    let mut table = Table::new(columns());
    table.columns.push(Column::text("chain", "call chain"));
    let all = (0u32..).zip(&seen.shadow.blocks);
    let mut rows: Vec<(&Block, Usage)> =
        all.map(|(at, block)| (block, inspection.usage(at))).collect();
    rows.sort_by_key(|(block, usage)| std::cmp::Reverse((usage.untouched, block.size)));
    for (block, usage) in rows.into_iter().take(MOST_ROWS) {
        let mut sum = Sum::default();
        sum.add(block.size, usage);
        let chain = seen.call(block.made_by).map(|call| places.path(call.chain));
        let [read, written, untouched, unread, size] = sum.cells();
        table.row([read, written, untouched, unread, size, chain.into()]);
    }
    let any = !table.is_empty();
    let title = "use of single blocks, those with the most bytes never touched first";
    any.then(|| section("heap-use-blocks", title, Content::Table(table)))
}

/// Accesses that must not be: by kind and instruction.
pub(super) fn findings(seen: &Seen, places: &mut Places) -> Vec<Finding> {
    let Some(inspection) = seen.inspection else { return Vec::new() };
    let mut out = Vec::new();
    for kind in [FaultKind::AfterFree, FaultKind::OutOfBounds, FaultKind::Unwritten] {
        // Instructions of one line are one place, for each place that calls its function: what a
        // library's memset does wrong is its caller's fault. Such a function goes over a block in
        // several lines.
        let mut all: Vec<((Place, Option<Place>), Fault)> = Vec::new();
        for fault in inspection.faults().filter(|fault| fault.kind == kind) {
            let line = |place: Place| match place.line {
                Some(_) => Place { address: 0, ..place },
                None => place,
            };
            let place = (line(places.site(fault.chain)), places.called_at(fault.chain).map(line));
            let is_one = |((site, called), first): &((Place, Option<Place>), Fault)| {
                let goes_over = called.is_some() && first.block == fault.block;
                *called == place.1
                    && (*site == place.0 || goes_over && site.function == place.0.function)
            };
            match all.iter_mut().find(|known| is_one(known)) {
                Some((_, first)) => first.count += fault.count,
                None => all.push((place, *fault)),
            }
        }
        out.extend(all.iter().take(2 * MOST).map(|(_, fault)| one(seen, places, fault)));
        let rest = all.get(2 * MOST..).unwrap_or_default();
        if let Some(last) = out.last_mut().filter(|_| !rest.is_empty()) {
            last.count += rest.iter().map(|(_, fault)| fault.count).sum::<u64>();
            last.text += &format!("; and at {} further places", rest.len());
        }
    }
    if inspection.more > 0 {
        let text = "further accesses at fault, by more instructions than are kept apart";
        let finding = Finding::new(Severity::Warning, "heap-faults", text.to_owned());
        out.push(Finding { count: inspection.more, ..finding });
    }
    out
}

fn one(seen: &Seen, places: &mut Places, fault: &Fault) -> Finding {
    let access = &fault.access;
    let (kind, name) = seen.who(fault.who);
    let verb = if access.write { "write" } else { "read" };
    let n = access.size.bytes();
    let bytes = if n == 1 { "1 byte".to_owned() } else { format!("{n} bytes") };
    let what = format!("{verb} of {bytes} at {:#010x}", access.address);
    let called = places.called_at(fault.chain).filter(|place| place.line.is_some());
    let called = called.map_or_else(String::new, |place| format!(", called at {}", place.spot()));
    let path = places.path(fault.chain);
    let when = format!("at cycle {}, by {kind} {name}: {path}{called}", access.cycle);
    let block = fault.block.and_then(|block| seen.block(block));
    let made = block.map(|block| made(seen, places, block));
    let made = made.unwrap_or_else(|| "not known".to_owned());
    let distance = block.map(|block| distance(seen, block, access.address, n));
    let distance = distance.unwrap_or_default();
    let (code, text) = match fault.kind {
        FaultKind::AfterFree => {
            let freed = freed(seen, places, block, "freed");
            (
                "use-after-free",
                format!("{what}, {distance} freed block, {when}; it was {made}{freed}"),
            )
        }
        FaultKind::OutOfBounds if block.is_none() => {
            ("heap-out-of-bounds", format!("{what}, in the heap's memory but in no block, {when}"))
        }
        FaultKind::OutOfBounds => {
            ("heap-out-of-bounds", format!("{what}, {distance} block, {when}; that is {made}"))
        }
        FaultKind::Unwritten => {
            let of = if block.is_some_and(|block| is_inside(seen, block, access.address)) {
                format!("{distance} block, that nothing has written")
            } else {
                "of a copy from a block where nothing had written".to_owned()
            };
            ("uninitialised-read", format!("{what}, {of}, {when}; the block is {made}"))
        }
    };
    Finding {
        count: fault.count,
        place: Some(places.site(fault.chain).shown()),
        evidence: evidence(seen, places, fault.chain, block.map(|block| (block, access.cycle))),
        ..Finding::new(Severity::Warning, code, text)
    }
}

fn is_inside(seen: &Seen, block: &Block, address: u32) -> bool {
    address.wrapping_sub(block.pointer.wrapping_add(seen.found.base)) < block.size
}

/// `8 bytes into a`, `2 bytes behind the end of a`, `4 bytes before a`.
fn distance(seen: &Seen, block: &Block, address: u32, size: u32) -> String {
    let begin = block.pointer.wrapping_add(seen.found.base);
    let end = begin.saturating_add(block.size);
    let bytes = |n: u32| if n == 1 { "1 byte".to_owned() } else { format!("{n} bytes") };
    match address {
        at if at < begin => format!("{} before a", bytes(begin - at)),
        at if at >= end => match at - end {
            0 => "right behind the end of a".to_owned(),
            n => format!("{} behind the end of a", bytes(n)),
        },
        at if at.saturating_add(size) > end => "across the end of a".to_owned(),
        at => format!("{} into a", bytes(at - begin)),
    }
}
