//! Code and constants that are there more than once, byte for byte.

use foldhash::HashMap;
use strobe_symbols::Firmware;

use super::items::{Holder, Item};

/// Shorter ones are not worth a word: a linker that folds them saves next to nothing.
const SHORTEST: u64 = 16;

/// Items with the same bytes.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Repeat {
    /// Bytes of each.
    pub(super) size: u64,
    pub(super) names: Vec<String>,
}

impl Repeat {
    /// What all but one take.
    pub(super) fn wasted(&self) -> u64 {
        self.size * (self.names.len() as u64 - 1)
    }
}

/// Functions and constants stored in flash that are the same as others, most bytes first. Code
/// that refers to its own address differs from copy to copy and is not found.
pub(super) fn repeats(firmware: &Firmware, items: &[Item]) -> Vec<Repeat> {
    let mut same: HashMap<&[u8], Vec<&Item>> = HashMap::default();
    for item in items {
        let size = item.bytes.flash;
        let is_symbol = matches!(item.holder, Holder::Function(_) | Holder::Data(_));
        if !is_symbol || size < SHORTEST {
            continue;
        }
        let bytes = u32::try_from(item.address).ok();
        let bytes = bytes.and_then(|at| firmware.bytes_at(at, size as usize));
        let Some(bytes) = bytes.filter(|bytes| bytes.iter().any(|b| *b != 0 && *b != 0xff)) else {
            continue;
        };
        same.entry(bytes).or_default().push(item);
    }
    let groups = same.into_iter().filter(|(_, items)| items.len() > 1);
    let mut repeats: Vec<Repeat> = groups
        .map(|(bytes, items)| Repeat {
            size: bytes.len() as u64,
            names: items.iter().map(|item| item.name.to_string()).collect(),
        })
        .collect();
    repeats.sort_by(|a, b| (b.wasted(), &a.names).cmp(&(a.wasted(), &b.names)));
    repeats
}
