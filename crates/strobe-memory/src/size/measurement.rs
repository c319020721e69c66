//! What fills the memories as a measurement: totals, balances, tables by section, file, layer and
//! archive, and the profile by symbol.

use std::borrow::Cow;
use std::collections::BTreeMap;

use foldhash::HashMap;
use strobe_model::measurement::ids;

use strobe_model::measurement::{
    Balance, Cell, Column, Content, Coverage, Ended, Fact, Finding, Instrument, Loss, Measurement,
    Parts, Quantity, Severity, Subject, Table, Unit, Window,
};
use strobe_symbols::Firmware;

use super::graph::Graph;
use super::items::{self, Bytes, Holder, Item};
use super::regions::{Kind, Regions};
use super::{Settings, profile, support, support_tables, things};

/// What is known of an image before it is put into tables.
pub(super) struct Image<'a> {
    firmware: &'a Firmware,
    name: &'a str,
    settings: &'a Settings,
    regions: &'a Regions,
    items: Vec<Item<'a>>,
    /// Who refers to whom, of an image with symbols.
    pub(super) graph: Option<Graph<'a>>,
}

impl<'a> Image<'a> {
    pub(super) fn new(
        firmware: &'a Firmware,
        name: &'a str,
        settings: &'a Settings,
        regions: &'a Regions,
    ) -> Self {
        let items = items::items(firmware, regions, settings);
        let has_symbols = !firmware.functions().is_empty();
        let graph = has_symbols.then(|| Graph::new(firmware, regions, &settings.layers, &items));
        Image { firmware, name, settings, regions, items, graph }
    }

    pub(super) fn measurement(&self) -> Measurement {
        let Image { firmware, settings, regions, .. } = *self;
        let items = self.items.as_slice();
        let subject = subject(firmware, self.name);
        let mut measurement = Measurement::new(subject, instrument(settings), window());
        let mut all = Bytes::default();
        items.iter().for_each(|item| all += item.bytes);
        totals(&mut measurement, all);
        balances(&mut measurement, all, items);
        by_region(&mut measurement, regions, firmware, items);
        by_section(&mut measurement, firmware, items, all);
        groups(&mut measurement, firmware, settings, items, all);
        let content = Content::Profile(Box::new(profile::profile(firmware, items)));
        measurement.push(ids::section::PROFILE, "by symbol", content);
        things::inlined(&mut measurement, firmware, items);
        things::constants(&mut measurement, self.graph.as_ref(), items, all);
        things::repeated(&mut measurement, firmware, items);
        if let Some(graph) = &self.graph {
            let reached = Quantity::exact(graph.reached().flash, Unit::BYTES);
            let title = "flash that entry points lead to, by references";
            measurement.push_total("reached", title, reached);
            let families = support::families(graph);
            if let Some(table) = support_tables::table(graph, &families, all) {
                let title = "what the language and the library bring along; families overlap";
                measurement.push("support", title, Content::Table(table));
            }
            support_tables::findings(&mut measurement, graph, &families, all);
        }
        findings(&mut measurement, firmware, items);
        measurement
    }
}

/// Tables whose rows add up to everything.
fn groups(
    measurement: &mut Measurement,
    firmware: &Firmware,
    settings: &Settings,
    items: &[Item],
    all: Bytes,
) {
    group(measurement, "layers", "layer", items, all, |item| Some(item.layer.into()));
    group(measurement, "directories", "directory", items, all, |item| {
        Some(directory(item.file.as_deref()?).into())
    });
    group(measurement, "files", "file", items, all, |item| Some(item.file.as_deref()?.into()));
    if is_rust(firmware) {
        group(measurement, "crates", "crate", items, all, |item| rust_crate(item).map(Cow::from));
    }
    if settings.map.is_some() {
        group(measurement, "archives", "archive or object", items, all, |item| {
            archive(item).map(Cow::from)
        });
        group(measurement, "members", "archive member", items, all, |item| {
            let (archive, member) = item.object.as_deref()?.strip_suffix(')')?.split_once('(')?;
            Some(format!("{}({member})", archive.rsplit(['/', '\\']).next()?).into())
        });
    }
}

fn subject(firmware: &Firmware, name: &str) -> Subject {
    let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
    let machine = firmware.machine().conventions().name;
    let mut facts = vec![Fact::text("machine", machine)];
    facts.extend(firmware.producers().first().map(|producer| Fact::text("compiler", producer)));
    Subject {
        kind: "firmware".to_owned(),
        name: name.to_owned(),
        sha256: Some(hex(&firmware.sha256())),
        build_id: firmware.build_id().map(hex),
        facts,
        ..Subject::default()
    }
}

fn instrument(settings: &Settings) -> Instrument {
    let tool = format!("strobe {}", env!("CARGO_PKG_VERSION"));
    let mut instrument =
        Instrument { kind: "image sizes".to_owned(), tool, ..Instrument::default() };
    if settings.map.is_some() {
        instrument.settings.insert("objects".to_owned(), "from the linker's map".to_owned());
    }
    instrument
}

fn window() -> Window {
    Window::untimed("an image has no time", Ended::default())
}

fn totals(measurement: &mut Measurement, all: Bytes) {
    let totals = [
        ("flash", "flash", all.flash),
        ("ram", "RAM", all.ram),
        ("copied", "copied from flash to RAM, counted in both", all.copied),
        ("other", "elsewhere (EEPROM, fuses)", all.other),
    ];
    for (id, title, bytes) in totals {
        if bytes > 0 || matches!(id, "flash" | "ram") {
            measurement.push_total(id, title, Quantity::exact(bytes, Unit::BYTES));
        }
    }
    let seen = Quantity::exact(all.sum(), Unit::BYTES);
    let lost = Some(Quantity::exact(0_u64, Unit::BYTES));
    measurement.coverage = Coverage { whole: None, seen: Some(seen), lost, overhead: None };
}

/// The bytes of one memory.
type Of = fn(Bytes) -> u64;

fn balances(measurement: &mut Measurement, all: Bytes, items: &[Item]) {
    let kinds: [(&str, Of); 3] = [
        ("bytes of flash", |bytes| bytes.flash),
        ("bytes of RAM", |bytes| bytes.ram),
        ("bytes elsewhere", |bytes| bytes.other),
    ];
    for (what, of) in kinds {
        let taken = of(all);
        if taken == 0 {
            continue;
        }
        let mut unattributed: BTreeMap<&str, u64> = BTreeMap::new();
        for item in items.iter().filter(|item| !item.is_attributed && of(item.bytes) > 0) {
            let why = match item.holder {
                Holder::Padding => "padding",
                Holder::NoSection => "in no section",
                _ => "no symbol",
            };
            *unattributed.entry(why).or_default() += of(item.bytes);
        }
        let parts = Parts {
            what: what.to_owned(),
            unit: Unit::BYTES,
            taken_as: "in the image".to_owned(),
            attributed_as: String::new(),
            taken,
            attributed: items.iter().filter(|i| i.is_attributed).map(|i| of(i.bytes)).sum(),
            unattributed: unattributed.into_iter().map(|(why, n)| (why.to_owned(), n)).collect(),
            idle: 0,
            lost: Loss::Known(0),
        };
        match Balance::new(parts) {
            Ok(balance) => measurement.balances.push(balance),
            Err(error) => {
                let finding = Finding::new(Severity::Fault, "unbalanced", error.to_string());
                measurement.findings.push(finding);
            }
        }
    }
}

pub(super) fn bytes(id: &str, title: &str) -> Column {
    Column::figure(id, title, Unit::BYTES)
}

fn some(bytes: u64) -> Cell {
    if bytes == 0 { Cell::Empty } else { bytes.into() }
}

fn by_region(
    measurement: &mut Measurement,
    regions: &Regions,
    firmware: &Firmware,
    items: &[Item],
) {
    if regions.known.is_empty() {
        return;
    }
    let mut table = Table::new(vec![
        Column::text("region", "memory"),
        Column::text(ids::column::KIND, "kind"),
        bytes("size", "size"),
        bytes("used", "used"),
        bytes("free", "free"),
        Column::figure("share", "used of it", Unit::PERCENT),
    ]);
    let mut overfull = Vec::new();
    for region in &regions.known {
        let size = region.range.end - region.range.start;
        let used = used(region.range.clone(), region.kind, firmware, items);
        let kind = match region.kind {
            Kind::Flash => "flash",
            Kind::Ram => "RAM",
            Kind::Other => "other",
        };
        let share = (used as f64 * 1000.0 / size.max(1) as f64).round() / 10.0;
        table.row([
            region.name.as_str().into(),
            kind.into(),
            size.into(),
            used.into(),
            size.saturating_sub(used).into(),
            share.into(),
        ]);
        if used > size {
            overfull.push(format!("{} has {size} bytes and {used} are placed there", region.name));
        }
    }
    measurement.push(ids::section::REGIONS, "memories of the chip", Content::Table(table));
    for text in overfull {
        measurement.findings.push(Finding::new(Severity::Fault, "overfull", text));
    }
}

/// Bytes that are stored or placed in a range of addresses.
fn used(range: std::ops::Range<u64>, kind: Kind, firmware: &Firmware, items: &[Item]) -> u64 {
    let overlap = |start: u64, length: u64| {
        let end = start.saturating_add(length).min(range.end);
        end.saturating_sub(start.max(range.start))
    };
    match kind {
        Kind::Ram => items.iter().map(|item| overlap(item.address, item.bytes.ram)).sum(),
        _ => {
            let segments = firmware.segments().iter();
            segments.map(|s| overlap(u64::from(s.load_address.0), s.data().len() as u64)).sum()
        }
    }
}

fn by_section(measurement: &mut Measurement, firmware: &Firmware, items: &[Item], all: Bytes) {
    let mut table = Table::new(vec![
        Column::text("section", "section"),
        Column::address(ids::column::ADDRESS, "address"),
        bytes("size", "size"),
        bytes("flash", "flash").of(all.flash),
        bytes("ram", "RAM").of(all.ram),
        bytes("unattributed", "unattributed").worth(2),
    ]);
    let mut sums: BTreeMap<Option<usize>, (Bytes, u64)> = BTreeMap::new();
    for item in items {
        let (sum, unattributed) = sums.entry(item.section).or_default();
        *sum += item.bytes;
        if !item.is_attributed {
            *unattributed += item.bytes.flash.max(item.bytes.ram).max(item.bytes.other);
        }
    }
    for (at, section) in firmware.sections().iter().enumerate() {
        let (sum, unattributed) = sums.get(&Some(at)).copied().unwrap_or_default();
        table.row([
            section.name.as_str().into(),
            strobe_model::measurement::Address(section.start.into()).into(),
            section.size.into(),
            some(sum.flash),
            some(sum.ram),
            some(unattributed),
        ]);
    }
    if let Some((sum, unattributed)) = sums.get(&None) {
        table.row([
            "(in no section)".into(),
            Cell::Empty,
            Cell::Empty,
            some(sum.flash),
            some(sum.ram),
            some(*unattributed),
        ]);
    }
    table.footer.push(vec![
        "all".into(),
        Cell::Empty,
        Cell::Empty,
        all.flash.into(),
        all.ram.into(),
        some(sums.values().map(|(_, unattributed)| unattributed).sum()),
    ]);
    measurement.push("sections", "by section", Content::Table(table));
}

/// A table of groups that adds up to everything; items that belong to none have a row.
fn group<'a>(
    measurement: &mut Measurement,
    id: &str,
    title: &str,
    items: &'a [Item<'a>],
    all: Bytes,
    of: impl Fn(&'a Item<'a>) -> Option<Cow<'a, str>>,
) {
    let mut groups: HashMap<Cow<'a, str>, (Bytes, u64)> = HashMap::default();
    let mut none = (Bytes::default(), 0);
    for item in items {
        let sum = match of(item) {
            Some(name) => groups.entry(name).or_default(),
            None => &mut none,
        };
        sum.0 += item.bytes;
        sum.1 += 1;
    }
    if groups.is_empty() {
        return;
    }
    let mut groups: Vec<(Cow<'a, str>, (Bytes, u64))> = groups.into_iter().collect();
    groups.sort_by(|(a, (x, _)), (b, (y, _))| (y.flash + y.ram, a).cmp(&(x.flash + x.ram, b)));
    let mut table = Table::new(vec![
        bytes("flash", "flash").of(all.flash),
        bytes("ram", "RAM").of(all.ram),
        Column::figure("symbols", "symbols", Unit::COUNT).worth(2),
        Column::text("name", title),
    ]);
    for (name, (sum, count)) in &groups {
        table.row([some(sum.flash), some(sum.ram), (*count).into(), name.as_ref().into()]);
    }
    if none.1 > 0 {
        table.row([some(none.0.flash), some(none.0.ram), none.1.into(), "(not known)".into()]);
    }
    let count = Cell::from(items.len());
    table.footer.push(vec![all.flash.into(), all.ram.into(), count, "all".into()]);
    measurement.push(id, format!("by {title}"), Content::Table(table));
}

/// The directory of a file; files without one are together.
fn directory(file: &str) -> String {
    match file.rsplit_once(['/', '\\']) {
        Some((directory, _)) => format!("{directory}/"),
        None => "./".to_owned(),
    }
}

/// Whether any of it is Rust.
pub(super) fn is_rust(firmware: &Firmware) -> bool {
    firmware.producers().iter().any(|producer| producer.contains("rustc"))
}

/// The archive that an item is from, or its object.
pub(super) fn archive(item: &Item) -> Option<String> {
    let object = item.object.as_deref()?;
    let archive = object.strip_suffix(')').and_then(|o| o.split_once('('));
    let file = archive.map_or(object, |(archive, _)| archive);
    Some(file.rsplit(['/', '\\']).next().unwrap_or(file).to_owned())
}

/// The crate that a file or a name belongs to.
pub(super) fn rust_crate(item: &Item) -> Option<String> {
    let library = ["core/src/", "alloc/src/", "std/src/"];
    if let Some(file) = &item.file {
        if let Some(name) = library.iter().find(|prefix| file.starts_with(*prefix)) {
            return name.split('/').next().map(str::to_owned);
        }
        let head = file.split('/').next()?;
        let (name, version) = head.rsplit_once('-').unwrap_or_default();
        if version.starts_with(|c: char| c.is_ascii_digit()) && version.contains('.') {
            return Some(name.replace('-', "_"));
        }
    }
    // `<core::fmt::Formatter as ...>::write_str`, `core::panicking::panic`.
    let name = item.name.trim_start_matches(['<', '&', '*']);
    let (head, _) = name.split_once("::")?;
    let is_name = !head.is_empty() && head.chars().all(|c| c.is_alphanumeric() || c == '_');
    is_name.then(|| head.to_owned())
}

fn findings(measurement: &mut Measurement, firmware: &Firmware, items: &[Item]) {
    let mut note = |code: &str, text: String| {
        measurement.findings.push(Finding::new(Severity::Note, code, text));
    };
    if firmware.functions().is_empty() {
        let text = "the image has no symbols: bytes are known by section only; give the ELF file \
                    before it was stripped";
        note("no-symbols", text.to_owned());
    } else if items.iter().all(|item| item.file.is_none()) {
        let none = "the image has no debug information: files are not known; compile with -g, \
                    which takes no flash";
        let unusable = firmware.unusable_debug_information();
        let text = unusable
            .map_or(none.to_owned(), |why| format!("files and inlined calls are not known: {why}"));
        note("no-files", text);
    }
    for warning in firmware.warnings() {
        let text = warning.to_string();
        measurement.findings.push(Finding::new(Severity::Warning, "image", text));
    }
}
