//! Blocks as they come and go, the level of the heaps after each, and misuses of them.

use strobe_sim::observe::heap::Call;

use super::{Block, Change, FreeKind, FreedBlock, MOST_MISUSES, Misuse, MisuseKind, Replay};
use crate::simulated::heap::allocators::Role;

impl Replay {
    /// Takes the block at a pointer off the live ones; without one, that is a misuse.
    pub(super) fn take(&mut self, index: u32, call: &Call, pointer: u32) -> Option<u32> {
        let own = self.heap(call);
        if let Some(block) = self.live.get_mut(own).and_then(|live| live.remove(&pointer)) {
            return Some(block);
        }
        if let Some(block) = self.live.iter_mut().find_map(|live| live.remove(&pointer)) {
            self.misuse(MisuseKind::Mismatch, index, pointer, Some(block));
            return Some(block);
        }
        let inside = self.live.iter().find_map(|live| {
            let (_, block) = live.range(..pointer).next_back()?;
            let around = self.out.blocks.get(*block as usize)?;
            (pointer - around.pointer < around.size).then_some(*block)
        });
        let (kind, block) = match (inside, self.last.get(&pointer)) {
            (Some(block), _) => (MisuseKind::InnerFree, Some(block)),
            (None, Some(block)) => (MisuseKind::DoubleFree, Some(*block)),
            // A pool gets its blocks by freeing them.
            (None, None) if matches!(self.role(call), Some(Role::Free { adds: true, .. })) => {
                return None;
            }
            (None, None) => (MisuseKind::WildFree, None),
        };
        self.misuse(kind, index, pointer, block);
        None
    }

    /// Blocks that lie where a new one does are not there any more.
    pub(super) fn make_room(&mut self, index: u32, heap: usize, pointer: u32, size: u32) {
        let end = pointer.saturating_add(size.max(1));
        let Some(live) = self.live.get(heap) else { return };
        let mut there: Vec<(u32, u32)> = Vec::new();
        for (at, block) in live.range(..end).rev() {
            let Some(old) = self.out.blocks.get(*block as usize) else { break };
            if at.saturating_add(old.size.max(1)) <= pointer {
                break;
            }
            there.push((*at, *block));
        }
        let collects = self.found.heaps.get(heap).is_some_and(|heap| heap.collects);
        for (at, block) in there {
            if !collects {
                self.misuse(MisuseKind::Overlap, index, pointer, Some(block));
            }
            if let Some(live) = self.live.get_mut(heap) {
                live.remove(&at);
            }
            let how = if collects { FreeKind::Collected } else { FreeKind::Replaced };
            self.die(block, how, Some(index));
        }
    }

    /// A block is there.
    pub(super) fn born(&mut self, block: Block) {
        let number = u32::try_from(self.out.blocks.len()).unwrap_or(u32::MAX);
        self.out.blocks.push(block);
        if let Some(live) = self.live.get_mut(block.heap) {
            live.insert(block.pointer, number);
        }
        self.last.insert(block.pointer, number);
        self.changes.iter_mut().for_each(|all| all.push(Change::Born(number, None)));
        self.now.bytes += u64::from(block.size);
        self.now.blocks += 1;
        self.level();
    }

    pub(super) fn die(&mut self, block: u32, how: FreeKind, by: Option<u32>) {
        let at = (self.now.cycle, self.now.order);
        let Some(old) = self.out.blocks.get_mut(block as usize) else { return };
        old.gone = Some(FreedBlock { at, how, by });
        self.changes.iter_mut().for_each(|all| all.push(Change::FreedBlock(block)));
        self.now.bytes -= u64::from(old.size);
        self.now.blocks -= 1;
        self.level();
    }

    pub(super) fn revive(&mut self, block: u32) {
        let Some(old) = self.out.blocks.get(block as usize) else { return };
        if let Some(live) = self.live.get_mut(old.heap) {
            live.insert(old.pointer, block);
        }
    }

    pub(super) fn restore(&mut self, index: u32) {
        if let Some(block) = self.resizing.remove(&index) {
            self.revive(block);
        }
    }

    fn level(&mut self) {
        match self.out.levels.last_mut() {
            Some(last) if last.order == self.now.order => *last = self.now,
            _ => self.out.levels.push(self.now),
        }
        if self.now.bytes > self.out.peak.bytes
            || self.now.bytes == self.out.peak.bytes && self.out.peak.blocks == 0
        {
            self.out.peak = self.now;
        }
    }

    pub(super) fn misuse(&mut self, kind: MisuseKind, call: u32, pointer: u32, block: Option<u32>) {
        let count = self.out.misuse_counts.entry(kind).or_default();
        *count += 1;
        if *count <= MOST_MISUSES {
            self.out.misuses.push(Misuse { kind, call, pointer, block });
        }
    }
}
