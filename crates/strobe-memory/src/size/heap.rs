//! Heaps by layer: what the kernel, the libraries and the application allocate, by the rules that
//! [`size`](super) has for code.

use std::collections::BTreeMap;
use strobe_model::measurement::ids;

use strobe_analyse::attribution::{By, RowPlace, rows};
use strobe_model::measurement::{
    Cell, Column, Content, Kind, Measurement, Profile, Table, Trust, Unit,
};

use super::layers::{Layers, Origin};

/// The profile, and the table that the new one comes behind.
const PROFILE: &str = ids::section::HEAP_PROFILE;
const THREADS: &str = ids::section::HEAP_THREADS;

/// The figures: the profile's measure, and the column.
const FIGURES: [(&str, &str, &str); 4] = [
    ("peak-bytes", "peak", "at the peak"),
    ("live-bytes", "live", "live at end"),
    ("bytes", "bytes", "allocated"),
    ("blocks", "blocks", "blocks"),
];

/// Adds the table `heap-layers`: each block belongs to the layer of the function that asked the
/// allocator for it. A heap that was sampled has none.
pub fn heap_by_layer(measurement: &mut Measurement, layers: &Layers) {
    let sections = measurement.sections.iter();
    let profile =
        sections.filter(|section| section.id == PROFILE).find_map(|section| {
            match &section.content {
                Content::Profile(profile) => Some(profile),
                _ => None,
            }
        });
    let Some(table) = profile.and_then(|profile| table(profile, layers)) else { return };
    measurement.push(
        ids::section::HEAP_LAYERS,
        "heap by layer of who allocates",
        Content::Table(table),
    );
    let behind = measurement.sections.iter().position(|section| section.id == THREADS);
    if let Some(at) = behind
        && let Some(section) = measurement.sections.pop()
    {
        measurement.sections.insert(at + 1, section);
    }
}

fn table(profile: &Profile, layers: &Layers) -> Option<Table> {
    let mut sums: BTreeMap<String, [u64; 4]> = BTreeMap::new();
    let mut all = [0; 4];
    let mut is_exact = true;
    for (at, (id, ..)) in FIGURES.iter().enumerate() {
        is_exact &= match profile.measure(id)?.kind {
            Kind::Exact => true,
            Kind::AtLeast => false,
            Kind::Modelled { .. } | Kind::Sampled { .. } => return None,
        };
        for row in rows(profile, id, &By::Function)?.rows {
            let value = u64::try_from(row.sums.all.value).unwrap_or(0);
            sums.entry(layer(profile, row.spot, layers)).or_default()[at] += value;
            all[at] += value;
        }
    }
    let mut table = Table::new(
        FIGURES
            .iter()
            .zip(all)
            .map(|((_, id, title), all)| match *id {
                "blocks" => Column::figure(id, title, Unit::COUNT),
                _ => Column::figure(id, title, Unit::BYTES).of(all),
            })
            .chain([Column::text("layer", "layer")])
            .collect(),
    );
    let cell = |value: u64| {
        if is_exact {
            Cell::Exact(value.into())
        } else {
            Cell::Figure { value: Some(value.into()), trust: Trust::AtLeast }
        }
    };
    let mut layers: Vec<(String, [u64; 4])> = sums.into_iter().collect();
    layers.sort_by_key(|(_, figures)| std::cmp::Reverse(*figures));
    for (name, figures) in layers {
        let [peak, live, bytes, blocks] = figures.map(cell);
        table.row([peak, live, bytes, blocks, name.into()]);
    }
    table.footer.push(all.map(cell).into_iter().chain(["all".into()]).collect());
    Some(table)
}

/// The layer of a function, by its name and its file.
fn layer(profile: &Profile, spot: RowPlace, layers: &Layers) -> String {
    let RowPlace::Function(Some(function)) = spot else {
        return layers.of(Origin::default()).to_owned();
    };
    let function = function as usize;
    let name = profile.functions.name.get(function).map(String::as_str);
    let file = profile.functions.file.get(function).copied().flatten();
    let path = file.and_then(|file| profile.files.get(file as usize)).map(String::as_str);
    layers.of(Origin { path, symbols: [name, None], ..Origin::default() }).to_owned()
}
