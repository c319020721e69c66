//! Which functions are behind a figure: the largest, and those that changed since a baseline.

use std::collections::BTreeMap;
use strobe_model::measurement::ids;

use strobe_model::measurement::{Cell, Content, Measurement, Profile, Table};

use super::Selector;
use super::lookup::is_called;
use crate::attribution::{By, Place, RowPlace, restricted, rows, tree};

/// A function's part of a figure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    /// The function.
    pub name: String,
    /// Its part, in the unit of the profile's measure.
    pub value: i64,
    /// What it was before, where that is known and another.
    pub before: Option<i64>,
}

/// The functions behind a figure, the largest first; of sizes all symbols. None where the
/// measurement does not know them.
pub fn contributors(measurement: &Measurement, selector: &Selector) -> Vec<Share> {
    if let Some(heap) = Heap::of(selector) {
        return heap.contributors(measurement);
    }
    if let Some(late) = late(selector) {
        return worst(measurement, late);
    }
    let part = owner(selector).and_then(|name| restricted(measurement, name));
    let of = part.as_ref().unwrap_or(measurement);
    let Some(profile) = of.profiles().next() else { return Vec::new() };
    let wanted = match selector {
        Selector::Cell { column, .. } | Selector::Any { column, .. } => Some(column.as_str()),
        Selector::Symbol { measure, .. } => Some(measure.as_str()),
        Selector::Total(id) => Some(id.as_str()),
        _ => None,
    };
    let named = wanted.and_then(|id| profile.measure(id)).or(profile.measures.first());
    let Some(measure) = named else { return Vec::new() };
    match selector {
        Selector::Function { name, inclusive: true } => below(profile, &measure.id, name),
        Selector::Function { name, .. } | Selector::Symbol { name, .. } => {
            all(profile, &measure.id).into_iter().filter(|share| share.name == *name).collect()
        }
        // `filter with callees`, `filter alone`: the calls of a function.
        Selector::Spread { section, name, .. } if section == ids::section::CALLS => {
            let name =
                name.strip_suffix(ids::suffix::WITH_CALLEES).map_or(name.as_str(), str::trim_end);
            below(profile, &measure.id, name)
        }
        Selector::Cell { section, row, .. } | Selector::Any { section, row, .. } => {
            match Group::of(section, row) {
                Some(group) => within(profile, &measure.id, |f| group.has(profile, f)),
                None => all(profile, &measure.id),
            }
        }
        _ => all(profile, &measure.id),
    }
}

/// Symbols that a table of sizes adds up in one row.
enum Group<'a> {
    File(&'a str),
    Directory(&'a str),
    Label(&'static str, &'a str),
}

impl<'a> Group<'a> {
    fn of(section: &str, row: &'a str) -> Option<Self> {
        Some(match section {
            ids::section::FILES => Group::File(row),
            ids::section::DIRECTORIES => Group::Directory(row),
            ids::section::LAYERS => Group::Label("layer", row),
            ids::section::CRATES => Group::Label("crate", row),
            ids::section::ARCHIVES => Group::Label("archive", row),
            _ => return None,
        })
    }

    fn has(&self, profile: &Profile, function: u32) -> bool {
        let at = function as usize;
        let file = || {
            let file = profile.functions.file.get(at).copied().flatten()?;
            profile.files.get(file as usize).map(String::as_str)
        };
        match self {
            Group::File(name) => file().is_some_and(|file| ends_with_path(file, name)),
            Group::Directory(name) => {
                file().is_some_and(|file| ends_with_path(directory(file), name))
            }
            Group::Label(key, value) => {
                let labels = profile.functions.labels.get(at).into_iter().flatten();
                let mut labels = labels.filter_map(|label| profile.labels.get(*label as usize));
                labels.any(|label| label.key == *key && label.value == *value)
            }
        }
    }
}

/// Whether a path is that one, or ends with its folders and name.
pub(super) fn ends_with_path(path: &str, end: &str) -> bool {
    let path = path.trim_end_matches(['/', '\\']);
    let end = end.trim_end_matches(['/', '\\']);
    let front = path.strip_suffix(end).filter(|_| !end.is_empty());
    front.is_some_and(|front| front.is_empty() || front.ends_with(['/', '\\']))
}

/// As the table of directories has it.
fn directory(file: &str) -> &str {
    file.rfind(['/', '\\']).map_or("./", |at| &file[..=at])
}

/// A figure of the heap: functions are those that allocate.
enum Heap<'a> {
    /// Of a function and what it calls, in a measure of the profile.
    Below(&'a str, &'a str),
    /// Of all, in a measure of the profile.
    All(&'a str),
    /// In windows, by a column of the table of call sites.
    Windows(&'a str),
    /// Places that leak.
    Leaks,
}

impl<'a> Heap<'a> {
    fn of(selector: &'a Selector) -> Option<Self> {
        Some(match selector {
            Selector::Below { section, measure, name } if section == ids::section::HEAP_PROFILE => {
                Heap::Below(name, measure)
            }
            Selector::Spread { section, name, .. } if section == ids::section::HEAP_IN_CALLS => {
                let (function, what) = name.rsplit_once(' ')?;
                Heap::Below(function, measure(what))
            }
            Selector::Spread { section, name, .. } if section == ids::section::HEAP_IN_WINDOWS => {
                match name.rsplit_once(' ')?.1 {
                    "blocks" => Heap::Windows("blocks"),
                    "left" => Heap::Windows("left"),
                    "peak" => Heap::All("peak-bytes"),
                    _ => Heap::Windows("bytes"),
                }
            }
            Selector::Total(id) => match id.strip_prefix(ids::prefix::HEAP)? {
                "peak" => Heap::All("peak-bytes"),
                "live" => Heap::All("live-bytes"),
                "leaks" => Heap::Leaks,
                id @ ("bytes" | "blocks" | "peak-blocks" | "live-blocks" | "freed-blocks") => {
                    Heap::All(id)
                }
                _ => return None,
            },
            _ => return None,
        })
    }

    fn contributors(&self, measurement: &Measurement) -> Vec<Share> {
        let profile =
            match measurement.section(ids::section::HEAP_PROFILE).map(|section| &section.content) {
                Some(Content::Profile(profile)) => Some(&**profile),
                _ => None,
            };
        let shares = match (self, profile) {
            (Heap::Below(name, measure), Some(profile)) => Some(below(profile, measure, name)),
            (Heap::All(measure), Some(profile)) => Some(all(profile, measure)),
            (Heap::Windows(column), _) => measurement
                .table(ids::section::HEAP_WINDOW_SITES)
                .map(|table| by_function(table, column)),
            (Heap::Leaks, _) => {
                measurement.table(ids::section::HEAP_LEAKS).map(|table| by_function(table, "live"))
            }
            _ => None,
        };
        shares.unwrap_or_default()
    }
}

/// The heap profile's measure of what calls do.
fn measure(what: &str) -> &'static str {
    match what {
        "blocks" => "blocks",
        "left" => "live-bytes",
        _ => "bytes",
    }
}

/// Rows of a table by their functions.
fn by_function(table: &Table, column: &str) -> Vec<Share> {
    let (Some(names), Some(values)) = (table.column(ids::column::FUNCTION), table.column(column))
    else {
        return Vec::new();
    };
    let mut sums: BTreeMap<String, i64> = BTreeMap::new();
    for (name, value) in names.cells.iter().zip(&values.cells) {
        if let (Some(name), Some(value)) = (name.text(), Cell::number(value)) {
            let sum = sums.entry(name.to_owned()).or_default();
            *sum = sum.saturating_add(value.as_f64() as i64);
        }
    }
    largest(sums)
}

/// The thread or interrupt that a figure is of.
fn owner(selector: &Selector) -> Option<&str> {
    match selector {
        Selector::LostInterrupts(name) => Some(name),
        Selector::Cell { section, row, .. }
            if section == ids::section::INTERRUPTS || section == ids::section::THREADS =>
        {
            Some(row)
        }
        Selector::Spread { section, name, .. } if section == ids::section::DURATIONS => {
            Some(name.split_once(' ').map_or(name, |(_, name)| name))
        }
        _ => None,
    }
}

/// Figures that are no sums over functions, but one time: how it is written around the name of the
/// interrupt or thread in the table of worst cases, and that name.
fn late(selector: &Selector) -> Option<(&'static str, &'static str, &str)> {
    let Selector::Spread { section, name, .. } = selector else { return None };
    match section.as_str() {
        "latencies" => Some(("longest latency of ", "", name)),
        "wake-ups" => Some(("latest run of thread ", " after wake-up", name)),
        _ => None,
    }
}

/// Whether the functions behind a figure add up to it, so that those that changed explain it.
pub fn adds_up(selector: &Selector) -> bool {
    late(selector).is_none()
}

/// The function that ran until the worst case ended: it, or what called it, held the other one
/// back. What takes long elsewhere has nothing to do with it.
fn worst(measurement: &Measurement, (before, behind, name): (&str, &str, &str)) -> Vec<Share> {
    let table = measurement.table(ids::section::WORST_CASES);
    let columns = table
        .and_then(|table| table.column(ids::column::WHAT).zip(table.column(ids::column::CYCLES)));
    let Some((whats, cycles)) = columns else { return Vec::new() };
    let rows = whats.cells.iter().zip(&cycles.cells);
    let mut found = rows.filter_map(|(text, cycles)| {
        let (what, place) = text.text()?.rsplit_once(", ")?;
        let of = what.strip_prefix(before)?.strip_suffix(behind)?;
        let function = place.strip_prefix("interrupted ").or(place.strip_prefix("took over from "));
        let share = Share {
            name: function?.to_owned(),
            value: cycles.number()?.as_f64() as i64,
            before: None,
        };
        is_called(of, name).then_some(share)
    });
    found.next().into_iter().collect()
}

fn all(profile: &Profile, measure: &str) -> Vec<Share> {
    shares(profile, measure, |_| true)
}

/// Of the functions that belong to it, by their index.
fn within(profile: &Profile, measure: &str, is_in: impl Fn(u32) -> bool) -> Vec<Share> {
    shares(profile, measure, |spot| matches!(spot, RowPlace::Function(Some(at)) if is_in(at)))
}

fn shares(profile: &Profile, measure: &str, is_in: impl Fn(RowPlace) -> bool) -> Vec<Share> {
    let Some(flat) = rows(profile, measure, &By::Function) else { return Vec::new() };
    let share = |row: crate::attribution::Row| Share {
        value: row.sums.busy().value,
        name: row.name,
        before: None,
    };
    let rows = flat.rows.into_iter().filter(|row| is_in(row.spot));
    rows.map(share).filter(|share| share.value != 0).collect()
}

/// What a function and its callees have while they do not sleep, by function.
pub(super) fn below(profile: &Profile, measure: &str, name: &str) -> Vec<Share> {
    let Some(tree) = tree(profile, measure) else { return Vec::new() };
    // Callers come before those they call: one pass knows which are within.
    let mut within = vec![false; tree.nodes.len()];
    let mut sums: BTreeMap<String, i64> = BTreeMap::new();
    for (at, node) in tree.nodes.iter().enumerate() {
        let own = tree.name(profile, at);
        let is_function = matches!(node.place, Place::Function(_));
        within[at] = is_function && own == name || node.parent.is_some_and(|p| within[p]);
        if within[at] {
            let sum = sums.entry(own).or_default();
            *sum = sum.saturating_add(node.own.busy);
        }
    }
    largest(sums)
}

/// The largest first.
fn largest(sums: BTreeMap<String, i64>) -> Vec<Share> {
    let shares = sums.into_iter().filter(|(_, value)| *value != 0);
    let mut shares: Vec<Share> =
        shares.map(|(name, value)| Share { name, value, before: None }).collect();
    shares.sort_by(|a, b| b.value.cmp(&a.value).then_with(|| a.name.cmp(&b.name)));
    shares
}

/// Those that changed with what they were: first those that grew, the most of them first, then
/// those that shrank. Functions that are new were 0 and those that are gone are 0. Of a
/// baseline that is not `complete`, one that is not among them is not known to be new.
pub fn changes(now: &[Share], before: &BTreeMap<String, i64>, complete: bool) -> Vec<Share> {
    let mut changed: Vec<Share> = Vec::new();
    for share in now {
        let was = before.get(&share.name).copied().or_else(|| complete.then_some(0));
        if was.is_some_and(|was| was != share.value) {
            changed.push(Share { before: was, ..share.clone() });
        }
    }
    for (name, was) in before {
        if !now.iter().any(|share| share.name == *name) {
            changed.push(Share { name: name.clone(), value: 0, before: Some(*was) });
        }
    }
    let grown = |share: &Share| share.value.saturating_sub(share.before.unwrap_or(share.value));
    changed.sort_by(|a, b| {
        let (x, y) = (grown(a), grown(b));
        let grew_first = (y > 0).cmp(&(x > 0));
        let most_first = y.unsigned_abs().cmp(&x.unsigned_abs());
        grew_first.then(most_first).then_with(|| a.name.cmp(&b.name))
    });
    changed
}
