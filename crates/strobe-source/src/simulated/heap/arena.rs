//! How broken up the memory of a heap is: the largest free piece against all that is free, from a
//! map of its blocks.

use std::collections::BTreeMap;

use super::allocators::{Area, Found};
use super::replay::{Block, Shadow};

/// Moments of the run that are looked at.
const SAMPLES: u32 = 64;

/// Between two blocks, less than this is no free piece but what allocators round up to.
const LEAST_PIECE: u32 = 8;

/// The memory of a heap at a moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Sample {
    /// Cycles since reset.
    pub cycle: u64,
    /// The moment's number.
    pub order: u32,
    /// Bytes of the memory.
    pub all: u64,
    /// Bytes of it that are in no block and no block's header.
    pub free: u64,
    /// Bytes of the largest free piece.
    pub largest: u64,
    /// Free pieces.
    pub pieces: u64,
}

impl Sample {
    /// The part of what is free that is not in the largest piece.
    pub fn fragmentation(&self) -> Option<f64> {
        (self.free > 0).then(|| 1.0 - self.largest as f64 / self.free as f64)
    }
}

/// The memory of heaps over time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FragmentationSeries {
    /// Names of the heaps in it.
    pub name: String,
    /// Moments over the run, in their order; among them the peak and the end.
    pub samples: Vec<Sample>,
    /// Why there are none.
    pub unknown: Option<String>,
}

/// A heap's memory over the run, of each piece of memory that is known.
pub fn courses(found: &Found, shadow: &Shadow) -> Vec<FragmentationSeries> {
    let mut out = Vec::new();
    let mut areas: Vec<&Area> = Vec::new();
    for heap in &found.heaps {
        if !areas.contains(&&heap.area) {
            areas.push(&heap.area);
        }
    }
    // Of allocators that are built on another one the memory is that one's.
    let known: Vec<(u32, u32)> =
        areas.iter().flat_map(|area| memory(shadow, area, u32::MAX, found.base)).collect();
    let is_elsewhere = |block: &Block| {
        let at = block.pointer.wrapping_add(found.base);
        !known.iter().any(|(begin, end)| (*begin..*end).contains(&at))
    };
    for area in areas {
        let members: Vec<usize> =
            (0..found.heaps.len()).filter(|&i| found.heaps[i].area == *area).collect();
        // A heap without blocks has nothing to show.
        let mut blocks = shadow.blocks.iter().filter(|block| members.contains(&block.heap));
        let shows = match area {
            Area::Unknown(_) => blocks.any(is_elsewhere),
            Area::Fixed(..) | Area::HeapExtension(_) | Area::Reaching(_) => blocks.next().is_some(),
        };
        if !shows {
            continue;
        }
        let mut names: Vec<&str> = members.iter().map(|&i| found.heaps[i].name.as_str()).collect();
        names.dedup();
        let name = names.join(", ");
        let nothing = matches!(area, Area::HeapExtension(_))
            && memory(shadow, area, u32::MAX, found.base).is_empty();
        out.push(match area {
            Area::Unknown(why) => FragmentationSeries {
                name,
                unknown: Some(why.clone()),
                ..FragmentationSeries::default()
            },
            _ if nothing => {
                let why = "no call was seen that takes memory from the system, or gives it any";
                let why = why.to_owned();
                FragmentationSeries { name, unknown: Some(why), ..FragmentationSeries::default() }
            }
            _ => FragmentationSeries { name, samples: samples(found, shadow, area), unknown: None },
        });
    }
    out
}

fn samples(found: &Found, shadow: &Shadow, area: &Area) -> Vec<Sample> {
    let moments = shadow.moments.max(1);
    let mut orders: Vec<u32> = (1..=SAMPLES)
        .map(|n| (u64::from(moments) * u64::from(n) / u64::from(SAMPLES)) as u32)
        .chain([shadow.peak.order])
        .collect();
    orders.sort_unstable();
    orders.dedup();
    let mut deaths: Vec<(u32, u32)> =
        (0u32..).zip(&shadow.blocks).filter_map(|(i, block)| Some((block.gone?.at.1, i))).collect();
    deaths.sort_unstable();
    let mut births = (0u32..).zip(&shadow.blocks).peekable();
    let mut deaths = deaths.into_iter().peekable();
    let header = found.heaps.iter().filter(|heap| heap.area == *area).map(|heap| heap.header);
    let header = header.max().unwrap_or(0);
    let mut live: BTreeMap<u32, u32> = BTreeMap::new();
    let mut out = Vec::new();
    for order in orders {
        // In the order of moments, a death before a birth of the same one.
        loop {
            let born = births.peek().map(|(_, b)| b.born.1).filter(|o| *o <= order);
            let died = deaths.peek().map(|(o, _)| *o).filter(|o| *o <= order);
            match (born, died) {
                (None, None) => break,
                (Some(born), died) if died.is_none_or(|died| born < died) => {
                    if let Some((i, block)) = births.next() {
                        live.insert(block.pointer, i);
                    }
                }
                _ => {
                    if let Some((_, i)) = deaths.next()
                        && let Some(block) = shadow.blocks.get(i as usize)
                        && live.get(&block.pointer) == Some(&i)
                    {
                        live.remove(&block.pointer);
                    }
                }
            }
        }
        let mut memory = memory(shadow, area, order, found.base);
        let blocks = live.values().filter_map(|&i| shadow.blocks.get(i as usize));
        if let Area::Reaching(begin) = *area {
            let last = blocks.clone().map(|block| span(block, found.base).1).max();
            memory = vec![(begin, last.unwrap_or(begin).max(begin))];
        }
        let cycle = cycle_of(shadow, order);
        out.push(Sample { cycle, order, ..sample(&memory, blocks, header, found.base) });
    }
    out
}

/// The cycle of the last change up to a moment.
fn cycle_of(shadow: &Shadow, order: u32) -> u64 {
    let upto = shadow.levels.partition_point(|level| level.order <= order);
    upto.checked_sub(1).and_then(|at| shadow.levels.get(at)).map_or(0, |level| level.cycle)
}

/// Ranges of memory, sorted and apart.
fn memory(shadow: &Shadow, area: &Area, order: u32, base: u32) -> Vec<(u32, u32)> {
    let own = match *area {
        Area::Fixed(begin, end) => return vec![(begin, end)],
        Area::Reaching(begin) => return vec![(begin, u32::MAX)],
        Area::Unknown(_) => return Vec::new(),
        Area::HeapExtension(heap) => heap,
    };
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for grown in shadow.grown.iter().take_while(|grown| grown.order <= order) {
        match grown.heap {
            None => ranges.clear(),
            Some(heap) if heap == own => {
                ranges.push((grown.begin.wrapping_add(base), grown.end.wrapping_add(base)));
            }
            Some(_) => {}
        }
    }
    ranges.sort_unstable();
    let mut out: Vec<(u32, u32)> = Vec::new();
    for (begin, end) in ranges {
        match out.last_mut() {
            Some(last) if begin <= last.1 => last.1 = last.1.max(end),
            _ => out.push((begin, end)),
        }
    }
    out
}

/// A block's memory, without its header.
fn span(block: &Block, base: u32) -> (u32, u32) {
    let begin = block.pointer.wrapping_add(base);
    (begin, begin.saturating_add(block.usable.unwrap_or(block.size)))
}

fn sample<'a>(
    memory: &[(u32, u32)],
    blocks: impl Iterator<Item = &'a Block>,
    header: u32,
    base: u32,
) -> Sample {
    let mut sample = Sample::default();
    let mut blocks = blocks.map(|block| {
        let (begin, end) = span(block, base);
        (begin.saturating_sub(header), end)
    });
    let mut next = blocks.next();
    for &(begin, end) in memory {
        sample.all += u64::from(end - begin);
        let mut at = begin;
        let mut piece = |from: u32, to: u32| {
            let bytes = to.saturating_sub(from);
            if bytes >= LEAST_PIECE {
                sample.free += u64::from(bytes);
                sample.largest = sample.largest.max(u64::from(bytes));
                sample.pieces += 1;
            }
        };
        while let Some((from, to)) = next.filter(|(from, _)| *from < end) {
            if to > begin {
                piece(at, from);
                at = at.max(to);
            }
            next = blocks.next();
        }
        piece(at, end);
    }
    sample
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(pointer: u32, size: u32) -> Block {
        let (usable, gone) = (Some(size), None);
        Block { pointer, size, usable, heap: 0, made_by: 0, born: (0, 0), gone }
    }

    #[test]
    fn free_pieces_are_what_lies_between_blocks() {
        let blocks = [block(0x104, 28), block(0x140, 16), block(0x160, 32)];
        let s = sample(&[(0x100, 0x200)], blocks.iter(), 4, 0);
        assert_eq!((s.all, s.pieces), (256, 3));
        // 0x120..0x13c, 0x150..0x15c, 0x180..0x200
        assert_eq!((s.free, s.largest), (28 + 12 + 128, 128));
        assert!((s.fragmentation().unwrap() - 40.0 / 168.0).abs() < 1e-9);
    }

    #[test]
    fn blocks_elsewhere_do_not_count() {
        let blocks = [block(0x10, 16), block(0x108, 8), block(0x300, 8)];
        let s = sample(&[(0x100, 0x200), (0x400, 0x480)], blocks.iter(), 8, 0);
        assert_eq!((s.all, s.free, s.largest, s.pieces), (384, 240 + 128, 240, 2));
        assert_eq!(sample(&[], [].iter(), 8, 0), Sample::default());
    }
}
