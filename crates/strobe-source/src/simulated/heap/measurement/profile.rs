//! Blocks and bytes by call chain, apart by thread and handler.

use rustc_hash::FxHashMap as HashMap;
use strobe_model::measurement::ids;
use strobe_model::measurement::{Content, Kind, Measure, Part, Section, Unit, Values};
use strobe_sim::observe::schedule::Who;

use super::places::Stacks;
use super::{Amount, Seen, section};
use crate::simulated::heap::replay::FreeKind;

/// What is kept of a chain.
#[derive(Debug, Clone, Copy, Default)]
struct Of {
    peak: Amount,
    live: Amount,
    freed: Amount,
    other: Amount,
}

impl Of {
    fn all(&self) -> Amount {
        Amount {
            bytes: self.live.bytes + self.freed.bytes + self.other.bytes,
            blocks: self.live.blocks + self.freed.blocks + self.other.blocks,
        }
    }
}

type Figure = fn(&Of) -> u64;

/// The measures: id, title, whole, value.
const MEASURES: [(&str, &str, Option<&str>, Figure); 10] = [
    ("peak-bytes", "bytes at the peak", None, |of| of.peak.bytes),
    ("peak-blocks", "blocks at the peak", None, |of| of.peak.blocks),
    ("bytes", "bytes allocated", None, |of| of.all().bytes),
    ("live-bytes", "bytes live at the end", Some("bytes"), |of| of.live.bytes),
    ("freed-bytes", "bytes freed", Some("bytes"), |of| of.freed.bytes),
    ("gone-bytes", "bytes gone without a free", Some("bytes"), |of| of.other.bytes),
    ("blocks", "blocks allocated", None, |of| of.all().blocks),
    ("live-blocks", "blocks live at the end", Some("blocks"), |of| of.live.blocks),
    ("freed-blocks", "blocks freed", Some("blocks"), |of| of.freed.blocks),
    ("gone-blocks", "blocks gone without a free", Some("blocks"), |of| of.other.blocks),
];

/// The section.
pub(super) fn profile(seen: &Seen) -> Option<Section> {
    let mut by_chain: HashMap<(u32, Who), Of> = HashMap::default();
    let mut order = Vec::new();
    for block in &seen.shadow.blocks {
        let Some(call) = seen.call(block.made_by) else { continue };
        let of = by_chain.entry((call.chain, call.who)).or_insert_with(|| {
            order.push((call.chain, call.who));
            Of::default()
        });
        if block.is_live(seen.shadow.peak.order) {
            of.peak.add(block);
        }
        match block.how() {
            None => of.live.add(block),
            Some(FreeKind::Freed) => of.freed.add(block),
            Some(FreeKind::Reset | FreeKind::Replaced | FreeKind::Collected) => of.other.add(block),
        }
    }
    if order.is_empty() {
        return None;
    }
    let mut profile = Stacks::new(seen).of_chains(&order);
    for (id, title, whole, figure) in MEASURES {
        let is_bytes = id.ends_with("bytes");
        profile.measures.push(Measure {
            id: id.to_owned(),
            title: title.to_owned(),
            unit: if is_bytes { Unit::BYTES } else { Unit::COUNT },
            kind: if seen.is_whole() { Kind::Exact } else { Kind::AtLeast },
            part: whole.map(|of| Part {
                of: of.to_owned(),
                letter: None,
                idle: false,
                meaning: None,
                advice: None,
            }),
        });
        let kept = order.iter().filter_map(|key| by_chain.get(key));
        let values = kept.map(|of| i64::try_from(figure(of)).unwrap_or(i64::MAX));
        let values =
            Values { measure: id.to_owned(), values: values.collect(), ..Values::default() };
        profile.chains.values.push(values);
    }
    let title = "heap by call chain";
    Some(section(ids::section::HEAP_PROFILE, title, Content::Profile(Box::new(profile))))
}
