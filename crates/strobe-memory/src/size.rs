//! What fills flash and RAM, from the image: each byte of each loaded segment has one holder.
//!
//! `items.rs` gives bytes to symbols, padding and rests of sections; `regions.rs` knows which
//! addresses are flash and which are RAM; `map.rs` reads the linker's map, which knows objects and
//! archive members; `layers.rs` groups what was found by rules; `graph.rs` has who refers to whom,
//! from which `support.rs` finds what formatting, floating point and the like cost and who needs
//! them, and `why.rs` why a symbol is there; `heap.rs` has what the same layers allocate;
//! `measurement.rs` makes a measurement of it.

mod graph;
mod heap;
mod items;
mod layers;
mod map;
mod measurement;
mod patterns;
mod profile;
mod regions;
mod repeats;
mod support;
mod support_tables;
#[cfg(test)]
mod tests;
mod things;
mod why;

pub use heap::heap_by_layer;
pub use layers::{Layers, RulesError};
pub use map::{LinkerMap, MapError};
pub use regions::{Kind, Region};
pub use why::{WhyError, why};

use strobe_model::measurement::Measurement;
use strobe_symbols::Firmware;

/// What beside the image is known.
#[derive(Debug, Default)]
pub struct Settings {
    /// The linker's map.
    pub map: Option<LinkerMap>,
    /// The memories of the chip, if known; else they are the map's, or inferred from the image.
    pub regions: Vec<Region>,
    /// The rules by which bytes belong to layers.
    pub layers: Layers,
}

/// Measures an image; `name` is its file's.
pub fn measure(firmware: &Firmware, name: &str, settings: &Settings) -> Measurement {
    let regions = regions::Regions::new(firmware, settings);
    measurement::Image::new(firmware, name, settings, &regions).measurement()
}
