//! Allocations without frees as a measurement: by size, by call chain, what is damaged, and what
//! was published of them.

use std::collections::HashMap;
use strobe_model::measurement::ids;

use crate::archive::allocations::report::{AllocationNode, AllocationsReport, PublishedTree};
use strobe_model::measurement::{
    Address, Cell, Column, Content, Coverage, Ended, Fact, Finding, Kind, Loss, Measure,
    Measurement, Parts, Profile, Quantity, Severity, Subject, Table, Unit, Values, Window,
};

use crate::measuring::{balance, count, instrument, notes};

const NO_FREES: &str = "frees are not in it";

const UNCOUNTED: &str = "nothing in the text counts what was lost on its way";

/// What was added up of allocations.
pub fn allocations(report: &AllocationsReport) -> Measurement {
    let facts = vec![Fact::text("format", &report.format)];
    let (kind, name) = ("trace".to_owned(), report.file.clone());
    let subject = Subject { kind, name, facts, ..Subject::default() };
    let mut instrument = instrument("allocation trace");
    let above = report.big_above.to_string();
    instrument.settings.insert("big above (bytes)".to_owned(), above);
    let ended =
        Ended { kind: "end-of-file".to_owned(), text: "the file ends".to_owned(), code: None };
    let window = Window::untimed("allocations have no times", ended);
    let mut measurement = Measurement::new(subject, instrument, window);
    totals(&mut measurement, report);
    balances(&mut measurement, report);
    if !report.tree.is_empty() {
        let profile = Content::Profile(Box::new(profile(report)));
        measurement.push(ids::section::PROFILE, "allocations by call chain", profile);
    }
    sizes(&mut measurement, report);
    damage(&mut measurement, report);
    if let Some(published) = &report.published {
        beside(&mut measurement, report, published);
    }
    notes(&mut measurement, Severity::Warning, "allocations", &report.notes);
    measurement
}

/// What was counted. There was more if the beginning of an allocation cannot be read.
fn counted(report: &AllocationsReport, n: u64, unit: Unit) -> Quantity {
    match report.damage.heads {
        0 => Quantity::exact(n, unit),
        _ => Quantity::at_least(n, unit),
    }
}

fn totals(measurement: &mut Measurement, report: &AllocationsReport) {
    let totals = [
        ("bytes", "bytes allocated", report.bytes, Unit::BYTES),
        ("blocks", "blocks allocated", report.count, Unit::COUNT),
        ("failed", "failed allocations", report.failed, Unit::COUNT),
        ("big-blocks", "big blocks", report.big_count, Unit::COUNT),
        ("big-bytes", "bytes of big blocks", report.big_bytes, Unit::BYTES),
    ];
    for (id, title, n, unit) in totals {
        measurement.push_total(id, title, counted(report, n, unit));
    }
    let unknown = [
        ("heap-peak", "heap peak", Unit::BYTES),
        ("heap-live", "live at the end", Unit::BYTES),
        ("heap-leaks", "places that leak", Unit::COUNT),
    ];
    for (id, title, unit) in unknown {
        measurement.push_total(id, title, Quantity::unknown(unit, NO_FREES));
    }
    measurement.coverage = Coverage {
        whole: None,
        seen: Some(Quantity::exact(report.count, Unit::COUNT)),
        lost: Some(match report.damage.heads {
            0 => Quantity::unknown(Unit::COUNT, UNCOUNTED),
            heads => Quantity::at_least(heads, Unit::COUNT),
        }),
        overhead: None,
    };
}

fn balances(measurement: &mut Measurement, report: &AllocationsReport) {
    let roots = || report.tree.iter().filter(|node| node.parent.is_none());
    let with_caller = [
        ("blocks", Unit::COUNT, report.count, roots().map(|n| n.count).sum::<u64>()),
        ("bytes", Unit::BYTES, report.bytes, roots().map(|n| n.bytes).fold(0, u64::saturating_add)),
    ];
    for (what, unit, taken, attributed) in with_caller {
        let attributed = attributed.min(taken);
        let parts = Parts {
            what: what.to_owned(),
            unit,
            taken_as: "allocated".to_owned(),
            attributed_as: String::new(),
            taken,
            attributed,
            unattributed: vec![("no caller".to_owned(), taken - attributed)],
            idle: 0,
            lost: Loss::Unknown(UNCOUNTED.to_owned()),
        };
        balance(measurement, parts);
    }
}

/// The name by the firmware's symbols, or as the target printed it.
fn name(node: &AllocationNode) -> &str {
    node.symbol.as_deref().unwrap_or(&node.name)
}

fn profile(report: &AllocationsReport) -> Profile {
    let kind = if report.damage.heads > 0 { Kind::AtLeast } else { Kind::Exact };
    let measure = |id: &str, title: &str, unit| Measure::new(id, title, unit, kind.clone());
    let mut profile = Profile {
        measures: vec![
            measure("bytes", "bytes allocated", Unit::BYTES),
            measure("blocks", "blocks allocated", Unit::COUNT),
        ],
        ..Profile::default()
    };
    let mut below = vec![0u64; report.tree.len()];
    for node in &report.tree {
        if let Some(sum) = node.parent.and_then(|parent| below.get_mut(parent as usize)) {
            *sum = sum.saturating_add(node.bytes);
        }
    }
    let mut functions: HashMap<&str, u32> = HashMap::new();
    let mut locations: HashMap<(&str, &str), u32> = HashMap::new();
    let (mut bytes, mut blocks) = (Vec::new(), Vec::new());
    for ((at, node), below) in (0u32..).zip(&report.tree).zip(below) {
        let location = *locations.entry((&node.address, name(node))).or_insert_with(|| {
            let function = *functions.entry(name(node)).or_insert_with(|| {
                profile.functions.name.push(name(node).to_owned());
                profile.functions.address.push(None);
                profile.functions.file.push(None);
                profile.functions.name.len() as u32 - 1
            });
            profile.locations.address.push(node.address.parse::<Address>().ok());
            profile.locations.function.push(Some(function));
            profile.locations.frame.push(None);
            profile.locations.address.len() as u32 - 1
        });
        profile.stacks.parent.push(node.parent.filter(|parent| *parent < at));
        profile.stacks.location.push(location);
        let own_bytes = node.bytes.saturating_sub(below);
        if node.own == 0 && own_bytes == 0 {
            continue;
        }
        profile.chains.at.push(Some(at));
        bytes.push(i64::try_from(own_bytes).unwrap_or(i64::MAX));
        blocks.push(i64::try_from(node.own).unwrap_or(i64::MAX));
    }
    for (measure, values) in [("bytes", bytes), ("blocks", blocks)] {
        let measure = measure.to_owned();
        profile.chains.values.push(Values { measure, values, ..Values::default() });
    }
    profile
}

fn sizes(measurement: &mut Measurement, report: &AllocationsReport) {
    let mut table = Table::new(vec![
        Column::figure("size", "size", Unit::BYTES),
        count("blocks", "blocks"),
        Column::figure(ids::column::BYTES, "bytes", Unit::BYTES).of(report.bytes),
        count("places", "places"),
        Column::text(ids::column::PLACE, "most of them by"),
    ]);
    let (big, mut small): (Vec<_>, Vec<_>) =
        report.sizes.iter().partition(|class| class.size > report.big_above);
    small.sort_by(|a, b| b.bytes.cmp(&a.bytes).then(b.size.cmp(&a.size)));
    for class in big.into_iter().chain(small) {
        table.row([
            class.size.into(),
            class.count.into(),
            class.bytes.into(),
            class.places.into(),
            class.place.as_str().into(),
        ]);
    }
    let (count, bytes) = (report.count.into(), report.bytes.into());
    table.footer.push(vec![Cell::Empty, count, bytes, Cell::Empty, "all".into()]);
    let title = "by size: the big ones, then the most bytes";
    measurement.push("sizes", title, Content::Table(table));
}

fn damage(measurement: &mut Measurement, report: &AllocationsReport) {
    let damage = &report.damage;
    let mut table = Table::new(vec![
        Column::text(ids::column::WHAT, "damage"),
        count("count", "count"),
        count("of", "of"),
    ]);
    let all = Some(damage.all_frames);
    let rows = [
        ("callers damaged", Some(damage.frames), all),
        ("callers in no function", damage.astray, all),
        ("allocations with such a caller", Some(damage.allocations), Some(report.count)),
        ("unreadable first lines of allocations", Some(damage.heads), None),
        ("lines before the first allocation", Some(damage.before), None),
        ("remarks of the unwinder in place of a caller", Some(damage.remarks), None),
        ("bytes that are no UTF-8", Some(damage.not_utf8), None),
    ];
    for (what, count, of) in rows {
        let count = count.map_or_else(
            || crate::measuring::unknown("the firmware's functions are not known"),
            Cell::from,
        );
        table.row([what.into(), count, of.into()]);
    }
    measurement.push("damage", "damage", Content::Table(table));
    let mut odd = Table::new(vec![
        Column::text("caller", "caller"),
        Column::address(ids::column::ADDRESS, "address"),
        Column::text("printed", "printed as"),
        Column::text("state", "state"),
        count("blocks", "blocks"),
    ]);
    for node in report.tree.iter().filter(|node| node.damaged || node.symbol.is_some()) {
        odd.row([
            name(node).into(),
            node.address.parse::<Address>().ok().into(),
            node.name.as_str().into(),
            node.damaged.then_some("damaged").into(),
            node.count.into(),
        ]);
    }
    if !odd.is_empty() {
        let title = "callers that are damaged, or have another name in the symbols";
        measurement.push("odd-callers", title, Content::Table(odd));
    }
}

/// What was published beside it.
fn beside(measurement: &mut Measurement, report: &AllocationsReport, published: &PublishedTree) {
    measurement.subject.facts.push(Fact::text("published", &published.file));
    let mut table = Table::new(vec![
        Column::text(ids::column::WHAT, ""),
        count("blocks", "blocks"),
        Column::figure(ids::column::BYTES, "bytes", Unit::BYTES),
        count("callers", "callers"),
        count("same", "with the same count and bytes"),
        count("differ", "that differ"),
    ]);
    table.row([
        "here".into(),
        report.count.into(),
        report.bytes.into(),
        report.tree.len().into(),
        Cell::Empty,
        Cell::Empty,
    ]);
    table.row([
        "published".into(),
        published.count.into(),
        published.bytes.into(),
        published.nodes.into(),
        published.same.into(),
        published.all_differ.into(),
    ]);
    measurement.push("published", format!("published: {}", published.file), Content::Table(table));
    let mut differ = Table::new(vec![
        Column::text("callers", "callers"),
        count("here", "here"),
        count("published", "published"),
    ]);
    for (path, ours, theirs) in &published.differ {
        differ.row([path.as_str().into(), (*ours).into(), (*theirs).into()]);
    }
    if !differ.is_empty() {
        let section =
            measurement.push("differences", "callers that differ", Content::Table(differ));
        section.notes.push(format!("{} in all", published.all_differ));
    }
    let findings = [
        ("published-differs", "callers that differ from the published ones", published.all_differ),
        (
            "published-renamed",
            "published callers with another function's file and line, looked up without regard to \
             inlining or at the return address",
            published.renamed,
        ),
        ("published-not-utf8", "bytes of the published tree that are no UTF-8", published.not_utf8),
    ];
    for (code, what, count) in findings.into_iter().filter(|(_, _, count)| *count > 0) {
        let finding = Finding::new(Severity::Warning, code, format!("{what}: {count}"));
        measurement.findings.push(Finding { count, ..finding });
    }
}
