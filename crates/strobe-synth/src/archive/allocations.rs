//! The text of a traced allocator with faults of the line, and the call tree that a tool derived
//! from it.

use std::collections::BTreeMap;

use super::{Function, csv, firmware};
use crate::Rng;

/// A text of allocations and its expected results.
#[derive(Debug, Clone, Default)]
pub struct AllocationArchive {
    /// The text, with some invalid UTF-8.
    pub text: Vec<u8>,
    /// The firmware's functions.
    pub functions: String,
    /// The published call tree: JSON with some invalid UTF-8.
    pub tree: Vec<u8>,
    /// Allocations that can be parsed.
    pub count: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Allocations of more than 1024 bytes.
    pub big_count: u64,
    /// Their bytes.
    pub big_bytes: u64,
    /// Allocations that failed.
    pub failed: u64,
    /// Callers.
    pub frames: u64,
    /// Callers whose line is damaged.
    pub damaged_frames: u64,
    /// Undamaged callers outside the firmware.
    pub astray_frames: u64,
    /// Allocations that have a caller of either kind.
    pub doubtful: u64,
    /// Heads of allocations that cannot be parsed.
    pub damaged_heads: u64,
    /// Lines outside any allocation.
    pub before: u64,
    /// Messages of the unwinder.
    pub remarks: u64,
    /// Bytes of the text that are not UTF-8.
    pub not_utf8: u64,
    /// Bytes of the tree that are not UTF-8.
    pub tree_not_utf8: u64,
    /// Allocations by chain of callers, `ADDRESS NAME` each, the outermost first: count and bytes
    /// of those that end there or continue.
    pub chains: BTreeMap<Vec<Vec<u8>>, (u64, u64)>,
    /// Callers in the tree that the tool invented where the unwinder printed a message.
    pub made_up: u64,
}

/// A chain of callers, as lines.
type Chain = Vec<Vec<u8>>;

struct Model {
    rng: Rng,
    functions: Vec<Function>,
    archive: AllocationArchive,
    /// Sizes by chain, as in the tool's tree.
    published: BTreeMap<Chain, BTreeMap<u64, u64>>,
}

impl Model {
    fn line(&mut self, line: &[u8]) {
        self.archive.text.extend_from_slice(line);
        self.archive.text.push(b'\n');
    }

    /// A caller's line as the target prints it, at a place in a function.
    fn caller(&mut self, n: usize, offset: u32) -> Vec<u8> {
        let function = &self.functions[n];
        format!("0x{:08X} {}", function.address + offset, function.name).into_bytes()
    }

    /// One of the chains of the firmware.
    fn chain(&mut self) -> Chain {
        let last = self.functions.len() - 1;
        let first = self.rng.below(4) as usize;
        let mut chain = vec![self.caller(0, 4)];
        for level in 1..2 + self.rng.below(4) as usize {
            let n = (first * 7 + level * 11 + self.rng.below(2) as usize) % last;
            chain.push(self.caller(n, 6));
        }
        chain.push(self.caller(last, 10));
        chain
    }

    /// May damage a line; returns whether it is damaged, and whether it points outside.
    fn spoil(&mut self, line: &mut Vec<u8>) -> (bool, bool) {
        match self.rng.below(150) {
            // A character of the name is lost.
            0 => {
                let at = 11 + self.rng.below(line.len() as u32 - 11) as usize;
                line[at] = 0xf1;
                self.archive.not_utf8 += 1;
                (true, false)
            }
            // Characters of the address are lost.
            1 => {
                line.drain(4..6);
                (true, false)
            }
            // The line ends after the address.
            2 => {
                line.truncate(10);
                (true, false)
            }
            // The unwinder has interpreted another word as a return address.
            3 => {
                *line = format!("0x{:08X} unknown", 0x206c_0000 | self.rng.below(0x1_0000))
                    .into_bytes();
                (false, true)
            }
            _ => (false, false),
        }
    }

    fn allocation(&mut self) {
        let shift = self.rng.below(9);
        let size = 8 + 16 * (1 + u64::from(self.rng.below(1 << shift)));
        let failed = self.rng.one_in(60);
        let address = if failed { 0 } else { 0x2000_9000 + 16 * self.rng.below(0x1000) };
        self.line(format!("alloc {size} 0x{address:08X}").as_bytes());
        let mut chain = self.chain();
        let (mut damaged, mut astray) = (0, 0);
        for line in &mut chain {
            let (is_damaged, is_astray) = self.spoil(line);
            damaged += u64::from(is_damaged);
            astray += u64::from(is_astray);
            self.line(line);
            if line.len() == 10 {
                // For an address without a name the tool invents an empty name.
                line.push(b' ');
            }
        }
        let remark = self.rng.one_in(8);
        if remark {
            self.line(b"0x00000000 <reached end of unwind table>");
        }
        let archive = &mut self.archive;
        archive.count += 1;
        archive.bytes += size;
        archive.big_count += u64::from(size > 1024);
        archive.big_bytes += if size > 1024 { size } else { 0 };
        archive.failed += u64::from(failed);
        archive.frames += chain.len() as u64;
        archive.damaged_frames += damaged;
        archive.astray_frames += astray;
        archive.doubtful += u64::from(damaged + astray > 0);
        archive.remarks += u64::from(remark);
        for depth in 1..=chain.len() {
            let (count, bytes) = archive.chains.entry(chain[..depth].to_vec()).or_default();
            (*count, *bytes) = (*count + 1, *bytes + size);
        }
        if remark {
            // The tool interprets the message as a caller, with the name that it read before.
            let name = chain.last().and_then(|line| line.get(11..)).unwrap_or_default();
            chain.push([b"0x00000000 ", name].concat());
        }
        for depth in 1..=chain.len() {
            *self.published.entry(chain[..depth].to_vec()).or_default().entry(size).or_default() +=
                1;
        }
    }

    /// An allocation whose head arrives damaged, and its callers, which then belong to none.
    fn beheaded(&mut self) {
        let head = self.rng.pick(&["alloc 4x 0x20009470", "alloc 40 0x200094", "alloc"]);
        self.line(head.as_bytes());
        self.archive.damaged_heads += 1;
        for line in self.chain() {
            self.line(&line);
            self.archive.before += 1;
        }
    }
}

/// An archive of so many allocations.
pub fn allocations(seed: u64, allocations: u32) -> AllocationArchive {
    let mut rng = Rng::new(seed);
    let functions = firmware(&mut rng, 60);
    let archive = AllocationArchive { functions: csv(&functions), ..AllocationArchive::default() };
    let mut model = Model { rng, functions, archive, published: BTreeMap::new() };
    model.line(b"NuttShell (NSH)");
    model.line(b"0x080008F8 __start");
    model.archive.before += 2;
    for _ in 0..allocations {
        if model.rng.one_in(90) {
            model.beheaded();
        }
        model.allocation();
    }
    let mut archive = model.archive;
    let chains: Vec<&Chain> = model.published.keys().collect();
    archive.made_up =
        chains.iter().filter(|chain| !archive.chains.contains_key(**chain)).count() as u64;
    archive.tree = tree(&model.published);
    archive.tree_not_utf8 = archive.tree.iter().filter(|byte| **byte == 0xf1).count() as u64;
    archive
}

/// Nested nodes: each chain is inside the one that it continues, and follows it in order.
fn tree(published: &BTreeMap<Chain, BTreeMap<u64, u64>>) -> Vec<u8> {
    let mut out = b"{".to_vec();
    let mut open = 0;
    for (chain, sizes) in published {
        out.extend(std::iter::repeat_n(b'}', open - (chain.len() - 1)));
        if open > 0 {
            out.push(b',');
        }
        let key = chain.last().map_or(&b""[..], Vec::as_slice);
        let function = key.get(11..).unwrap_or_default();
        let blocks: Vec<String> = sizes
            .iter()
            .map(|(size, count)| format!("{{\"count\":\t{count}, \"size\":\t{size}}}"))
            .collect();
        let count: u64 = sizes.values().sum();
        let rest = format!(
            "\",\n\t\"line\":\t64,\n\t\"count\":\t{count},\n\t\"allocated-blks\":\t[{}]\n",
            blocks.join(", ")
        );
        let parts = [
            b"\n\"",
            key,
            b"\":\t{\n\t\"file\":\t\"??\",\n\t\"function\":\t\"",
            function,
            rest.as_bytes(),
        ];
        out.extend(parts.concat());
        open = chain.len();
    }
    out.extend(std::iter::repeat_n(b'}', open + 1));
    out
}
