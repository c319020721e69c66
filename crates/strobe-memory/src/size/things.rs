//! Single things that take flash: what was inlined, large constants with who needs them, and what
//! is there more than once.

use std::collections::{BTreeMap, BTreeSet};

use strobe_model::measurement::{
    Cell, Column, Content, Finding, Measurement, Severity, Table, Unit,
};
use strobe_model::number::grouped;
use strobe_symbols::{Firmware, short_path};

use super::graph::Graph;
use super::items::{Bytes, Holder, Item};
use super::measurement::bytes;
use super::repeats;

/// Rows of a table.
const MOST_ROWS: usize = 200;

/// Functions that were inlined: what their copies take together.
pub(super) fn inlined(measurement: &mut Measurement, firmware: &Firmware, items: &[Item]) {
    if !firmware.has_inlined_code() {
        return;
    }
    let mut found: BTreeMap<(String, Option<String>), (u64, BTreeSet<u32>)> = BTreeMap::new();
    let mut whole = 0;
    for item in items.iter().filter(|item| item.bytes.flash > 0) {
        let Holder::Function(id) = item.holder else { continue };
        let function = &firmware.functions()[id as usize];
        for (range, frames) in firmware.code_pieces(u64::from(function.start)..function.end()) {
            let Some(inner) = frames.innermost().filter(|frame| frame.inlined) else { continue };
            let name = inner.name.unwrap_or("(no name)").to_owned();
            let (bytes, into) = found.entry((name, inner.file.map(short_path))).or_default();
            *bytes += range.end - range.start;
            whole += range.end - range.start;
            into.insert(id);
        }
    }
    let mut found: Vec<_> = found.into_iter().collect();
    found.sort_by(|(a, (x, _)), (b, (y, _))| (y, a).cmp(&(x, b)));
    let mut table = Table::new(vec![
        bytes("flash", "flash").of(whole),
        Column::figure("into", "into functions", Unit::COUNT),
        Column::text("name", "inlined function"),
        Column::text("file", "file").worth(2),
    ]);
    for ((name, file), (bytes, into)) in found.iter().take(MOST_ROWS) {
        table.row([
            (*bytes).into(),
            into.len().into(),
            name.as_str().into(),
            file.as_deref().into(),
        ]);
    }
    let rest: u64 = found.iter().skip(MOST_ROWS).map(|(_, (bytes, _))| bytes).sum();
    if table.is_empty() {
        return;
    }
    if rest > 0 {
        table.footer.push(vec![rest.into(), Cell::Empty, "others".into(), Cell::Empty]);
    }
    table.footer.push(vec![whole.into(), Cell::Empty, "all inlined code".into(), Cell::Empty]);
    let title = "code that was inlined, by the function that it comes from";
    measurement.push("inlined", title, Content::Table(table));
}

/// A constant is worth a row from here on.
const LARGE: u64 = 256;

/// Constants together are worth a finding from this share of flash on, in percent; what is there
/// more than once, too.
const SHARE: u64 = 10;
const REPEATED_SHARE: u64 = 2;

pub(super) fn constants(
    measurement: &mut Measurement,
    graph: Option<&Graph<'_>>,
    items: &[Item],
    all: Bytes,
) {
    let is_large = |item: &&Item| {
        matches!(item.holder, Holder::Data(_)) && item.bytes.flash >= LARGE && item.bytes.ram == 0
    };
    let mut large: Vec<&Item> = items.iter().filter(is_large).collect();
    large.sort_by(|a, b| (b.bytes.flash, &a.name).cmp(&(a.bytes.flash, &b.name)));
    let mut table = Table::new(vec![
        bytes("flash", "flash").of(all.flash),
        Column::text("name", "constant"),
        Column::text("needed_by", "needed by"),
        Column::text("file", "file").worth(2),
    ]);
    for item in large.iter().take(MOST_ROWS) {
        let file = item.file.as_deref();
        let by = graph.and_then(|graph| needed_by(graph, item));
        table.row([item.bytes.flash.into(), item.name.as_ref().into(), by.into(), file.into()]);
    }
    if table.is_empty() {
        return;
    }
    let title = format!("constants of {LARGE} bytes and more");
    measurement.push("constants", title, Content::Table(table));
    let sum: u64 = large.iter().map(|item| item.bytes.flash).sum();
    if sum * 100 < all.flash * SHARE {
        return;
    }
    let largest = large[0];
    let by = graph.and_then(|graph| needed_by(graph, largest));
    let by = by.map_or(String::new(), |by| format!(", needed by {by}"));
    let text = format!(
        "large constants: {} bytes of flash in {}; the largest is {} with {}{by}",
        grouped(sum),
        large.len(),
        largest.name,
        grouped(largest.bytes.flash),
    );
    let advice = Some("--by constant lists them".to_owned());
    let finding = Finding::new(Severity::Note, "large-constants", text);
    measurement.findings.push(Finding { advice, ..finding });
}

/// The first symbols that refer to an item.
fn needed_by(graph: &Graph<'_>, item: &Item) -> Option<String> {
    let node = graph.references.at(item.address)?;
    let edges: Vec<_> = graph.references.to(node).collect();
    let names: Vec<String> = edges.iter().take(2).map(|edge| graph.name(edge.from)).collect();
    let more = match edges.len() {
        0 => return None,
        count @ 3.. => format!(" and {} more", count - 2),
        _ => String::new(),
    };
    Some(format!("{}{more}", names.join(", ")))
}

pub(super) fn repeated(measurement: &mut Measurement, firmware: &Firmware, items: &[Item]) {
    let repeats = repeats::repeats(firmware, items);
    let mut table = Table::new(vec![
        bytes("wasted", "could be saved"),
        bytes("size", "size of each"),
        Column::figure("copies", "copies", Unit::COUNT),
        Column::text("names", "names"),
    ]);
    for repeat in repeats.iter().take(MOST_ROWS) {
        let names = repeat.names.join(", ");
        table.row([
            repeat.wasted().into(),
            repeat.size.into(),
            repeat.names.len().into(),
            names.into(),
        ]);
    }
    let Some(first) = repeats.first() else { return };
    measurement.push("duplicates", "the same bytes more than once", Content::Table(table));
    let wasted: u64 = repeats.iter().map(repeats::Repeat::wasted).sum();
    let flash: u64 = items.iter().map(|item| item.bytes.flash).sum();
    if wasted * 100 >= flash * REPEATED_SHARE {
        let text = format!(
            "duplicates: {} bytes of flash hold what is there already, first of all {}",
            grouped(wasted),
            first.names.join(", "),
        );
        let advice = Some("--by duplicate lists them".to_owned());
        let finding = Finding::new(Severity::Note, "duplicates", text);
        measurement.findings.push(Finding { advice, ..finding });
    }
}
