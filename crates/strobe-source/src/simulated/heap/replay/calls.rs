//! What calls of allocators mean for the heaps, by their functions' roles, as they begin and end.

use strobe_sim::observe::heap::{Call, End};
use strobe_sim::observe::schedule::Who;

use super::{Block, Change, Failure, FreeKind, HeapExtension, MisuseKind, Replay};
use crate::simulated::heap::allocators::Role;

impl Replay {
    pub(super) fn begin(&mut self, index: u32, call: &Call) {
        self.now.cycle = call.begin;
        let Some(role) = self.role(call) else { return };
        if call.outer.is_some() {
            self.out.nested += u64::from(!role.is_upkeep());
            if let Role::Free { pointer, .. } = role {
                self.inner_free(index, self.argument(call, pointer));
            }
            return;
        }
        if let Some(calls) = self.out.calls.get_mut(call.function as usize) {
            *calls += 1;
        }
        if matches!(call.who, Who::Handler(_)) && !role.is_upkeep() {
            self.misuse(MisuseKind::InHandler, index, 0, None);
        }
        match role {
            Role::Free { pointer, .. } => match self.argument(call, pointer) {
                0 => self.out.null_frees += 1,
                pointer => {
                    if let Some(block) = self.take(index, call, pointer) {
                        self.die(block, FreeKind::Freed, Some(index));
                    }
                }
            },
            Role::Reallocate { pointer, .. } => {
                let pointer = self.argument(call, pointer);
                if pointer != 0
                    && self.halves(index).frees
                    && let Some(block) = self.take(index, call, pointer)
                {
                    self.resizing.insert(index, block);
                }
            }
            Role::Allocate { .. } | Role::Passes => {}
            Role::Grow { .. } | Role::Give { .. } | Role::Own => {}
        }
    }

    /// A block that is freed inside another call is freed all the same, as by a handler of `new`
    /// that makes room.
    fn inner_free(&mut self, index: u32, pointer: u32) {
        // What the outer call frees or resizes is not among the live blocks any more.
        let block = self.live.iter_mut().find_map(|live| live.remove(&pointer));
        if let Some(block) = block {
            self.die(block, FreeKind::Freed, Some(index));
        }
    }

    pub(super) fn end(&mut self, index: u32, call: &Call) {
        let (result, usable, cycle) = match call.end {
            End::Returned { result, usable, cycle } => (result & self.found.mask, usable, cycle),
            End::Abandoned { cycle } => {
                self.now.cycle = cycle;
                if call.outer.is_none() {
                    self.out.unfinished += 1;
                    self.restore(index);
                }
                return;
            }
            End::Open => return,
        };
        self.now.cycle = cycle;
        let Some(role) = self.role(call) else { return };
        let is_inner = call.outer.is_some();
        match role {
            Role::Grow { by } => self.grow(call, result, call.arguments[usize::from(by & 3)]),
            Role::Give { memory, size } => {
                let begin = self.argument(call, memory);
                self.get(call, begin, begin.saturating_add(self.argument(call, size)));
            }
            _ if is_inner => {
                if let Some(usable) = usable {
                    self.inner.insert(result, usable);
                }
            }
            Role::Own | Role::Passes => {}
            Role::Free { .. } => self.inner.clear(),
            Role::Allocate { size, count } => {
                let size = self.size(call, size, count);
                self.allocated(index, call, size, result, usable);
            }
            Role::Reallocate { size, count, .. } => {
                let size = self.size(call, Some(size), count);
                self.reallocated(index, call, size, result, usable);
            }
        }
    }

    fn reallocated(
        &mut self,
        index: u32,
        call: &Call,
        size: Option<u32>,
        result: u32,
        usable: Option<u32>,
    ) {
        let old = self.resizing.remove(&index);
        match (old, result) {
            (None, _) => {}
            (Some(block), 0) if size != Some(0) => {
                // It failed, and the block is still there.
                self.revive(block);
            }
            // With no bytes it frees, and resizes nothing.
            (Some(block), 0) => {
                self.die(block, FreeKind::Freed, Some(index));
                return;
            }
            (Some(block), result) => {
                self.out.resized.0 += 1;
                let is_same =
                    self.out.blocks.get(block as usize).map(|b| b.pointer) == Some(result);
                self.out.resized.1 += u64::from(is_same);
                self.die(block, FreeKind::Freed, Some(index));
            }
        }
        if !self.halves(index).allocates {
            return;
        }
        self.allocated(index, call, size, result, usable);
        if let Some(Change::Born(_, from)) = self.changes.as_mut().and_then(|all| all.last_mut()) {
            *from = old;
        }
    }

    fn allocated(
        &mut self,
        index: u32,
        call: &Call,
        size: Option<u32>,
        result: u32,
        usable: Option<u32>,
    ) {
        let inner = self.inner.remove(&result);
        self.inner.clear();
        if result == 0 {
            // Of nothing an allocator may return nothing.
            let is_unknown = matches!(self.role(call), Some(Role::Allocate { size: None, .. }));
            if size != Some(0) || is_unknown {
                self.out.failures.push(Failure { call: index, size, live_bytes: self.now.bytes });
            }
            return;
        }
        if size.is_none() {
            self.misuse(MisuseKind::Wraps, index, result, None);
        }
        let size = size.unwrap_or(0);
        let heap = self.heap(call);
        self.make_room(index, heap, result, size);
        self.born(Block {
            pointer: result,
            size,
            usable: usable.or(inner).filter(|usable| *usable >= size),
            heap,
            made_by: index,
            born: (self.now.cycle, self.now.order),
            gone: None,
        });
    }

    fn grow(&mut self, call: &Call, result: u32, by: u32) {
        let by = match self.found.mask {
            0xffff => i32::from(by as u16 as i16),
            _ => by as i32,
        };
        // -1 is no memory.
        if result != self.found.mask && by != 0 {
            let end = result.saturating_add_signed(by);
            self.get(call, result.min(end), result.max(end));
        }
    }

    /// A heap has got memory. What a function that it was given to has passed on to another one,
    /// without its own structures, is it.
    fn get(&mut self, call: &Call, begin: u32, end: u32) {
        let heap = self.heap(call);
        let since_reset = self.out.grown.iter().rev().take_while(|known| known.heap.is_some());
        let mut own = since_reset.filter(|known| known.heap == Some(heap));
        if begin < end && !own.any(|known| begin <= known.begin && known.end <= end) {
            self.out.grown.push(HeapExtension {
                order: self.now.order,
                begin,
                end,
                heap: Some(heap),
            });
        }
    }
}
