//! What fills flash and RAM, from the image: each byte of each loaded segment has one holder.
//!
//! `items.rs` gives bytes to symbols, padding and rests of sections; `regions.rs` knows which
//! addresses are flash and which are RAM; `map.rs` reads the linker's map, which knows objects and
//! archive members; `layers.rs` groups what was found by rules; `measurement.rs` makes a
//! measurement of it.

mod items;
mod layers;
mod map;
mod measurement;
mod profile;
mod regions;
mod repeats;
#[cfg(test)]
mod tests;

pub use layers::{Layers, RulesError};
pub use map::{LinkerMap, MapError};
pub use regions::{Kind, Region};

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
    let items = items::items(firmware, &regions, settings);
    measurement::measurement(firmware, name, settings, &regions, &items)
}
