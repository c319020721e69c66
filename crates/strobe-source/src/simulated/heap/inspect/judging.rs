//! Whether an access is right, by what is known of its bytes.

use strobe_sim::observe::Access;

use super::{FaultKind, Inspection};
use crate::simulated::heap::bytes::Byte;

/// Bytes behind a block in which an access is its overrun rather than one to what was freed there.
const JUST_BEHIND: u32 = 16;

impl Inspection {
    /// The bytes that an access reads or writes, and how many.
    pub(super) fn bytes_of(&self, access: &Access) -> ([Byte; 4], usize) {
        let n = (access.size.bytes() as usize).min(4);
        let mut bytes = [Byte::default(); 4];
        for (at, byte) in (0u32..).zip(&mut bytes[..n]) {
            *byte = self.bytes.get(access.address.wrapping_add(at));
        }
        (bytes, n)
    }

    /// The second word of a pair that one instruction reads, in one doubleword with the first one,
    /// of which bytes are in a block and written.
    fn completes_pair(&self, access: &Access) -> bool {
        self.last.is_some_and(|last| {
            let pair = last.pc == access.pc && !last.write && last.address ^ access.address == 4;
            let (bytes, n) = self.bytes_of(&last);
            pair && bytes[..n].iter().any(|byte| byte.is(Byte::LIVE) && byte.is(Byte::WRITTEN))
        })
    }

    /// What is wrong with an access, and the block that it has to do with.
    pub(super) fn judge(
        &self,
        access: &Access,
        bytes: &[Byte],
    ) -> Option<(FaultKind, Option<u32>)> {
        let first = |flags: u32| bytes.iter().find(|byte| byte.is(flags));
        let is_inside = bytes.iter().any(|byte| byte.is(Byte::LIVE));
        if let Some(freed) = first(Byte::FREED).filter(|_| access.write || !is_inside) {
            let freed = freed.block();
            return Some(match freed.and_then(|freed| self.overrun(access, freed)) {
                Some(live) => (FaultKind::OutOfBounds, Some(live)),
                None => (FaultKind::AfterFree, freed),
            });
        }
        let beside = first(Byte::EDGE | Byte::GAP);
        if let Some(beside) = beside
            && (access.write || !is_inside && !self.completes_pair(access))
        {
            let inside = first(Byte::LIVE).and_then(|byte| byte.block());
            let pointer = access.address.wrapping_sub(self.found.base);
            let nearest = || self.replay.block_before(pointer).filter(|_| !beside.is(Byte::EDGE));
            let block = inside.or_else(nearest).or(beside.block());
            return Some((FaultKind::OutOfBounds, block));
        }
        let unwritten = bytes.iter().all(|byte| byte.is_unwritten());
        if !access.write && unwritten && !self.completes_pair(access) {
            return Some((FaultKind::Unwritten, bytes.first().and_then(|byte| byte.block())));
        }
        None
    }

    /// The live block over whose end an access to a freed block's memory runs: it ends right there,
    /// and the freed one has lost its begin to another, so that few pointers to it can be left.
    fn overrun(&self, access: &Access, freed: u32) -> Option<u32> {
        let begin = self.bytes.get(self.range(freed).start);
        if begin.is(Byte::FREED) && begin.block() == Some(freed) {
            return None;
        }
        let live = self.replay.block_before(access.address.wrapping_sub(self.found.base))?;
        let behind = access.address.checked_sub(self.range(live).end)?;
        (behind < JUST_BEHIND).then_some(live)
    }
}
