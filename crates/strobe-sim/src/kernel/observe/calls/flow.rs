//! Calls, jumps and returns inside one thread or handler: what they push and pop.

use super::contexts::{Context, Frame, MAX_DEPTH};
use super::stacks::Arrival;
use super::{CallTree, now_of};
use crate::kernel::bus::Bus;
use crate::kernel::observe::heap::Entered;
use crate::kernel::observe::{StackWindow, Transfer, TransferKind};

impl CallTree {
    // These two and what they call for every transfer belong where it is reported: in memory, it
    // would be read back in larger pieces than it was written, for which the host waits longer than
    // for all else here.
    #[inline(always)]
    pub(super) fn called(&mut self, t: &Transfer, return_address: u32, bus: &Bus) {
        self.arrived(t, true, bus);
        self.call(t, return_address, bus);
        self.stays(t);
    }

    #[inline(always)]
    pub(super) fn jumped(&mut self, t: &Transfer, bus: &Bus) {
        self.arrived(t, false, bus);
        self.jump(t, bus);
        self.stays(t);
    }

    /// Control went elsewhere in the same thread or handler, unless its stack shows another.
    #[inline(always)]
    fn arrived(&mut self, t: &Transfer, calls: bool, bus: &Bus) {
        let now = now_of(t);
        self.charge(now);
        self.schedule.glance(t.now, &self.threads, bus);
        if self.threads.is_elsewhere(t.sp) {
            let arrival = Arrival { sp: t.sp, pc: t.from, to: Some(t.to), calls };
            self.moved(arrival, now, bus);
        }
    }

    /// After a transfer that keeps the stack, and with it what is known of it.
    #[inline(always)]
    fn stays(&mut self, t: &Transfer) {
        if !self.chosen.all.is_empty() {
            self.follow(now_of(t), t.from);
        }
        if self.threads.current() != self.window.1 {
            self.window.0 = StackWindow::NONE;
        }
    }

    #[inline(always)]
    fn call(&mut self, t: &Transfer, return_address: u32, bus: &Bus) {
        let node = self.running.current;
        // A call to what comes next anyway takes two bytes of the stack (`rcall .+0`): the function
        // has not called itself.
        if t.to == return_address && self.kind_at(t.to) == self.nodes[node as usize].kind {
            return;
        }
        if self.running.frames.len() >= MAX_DEPTH {
            return self.cut_call(t.to);
        }
        self.running.frames.push(Frame { return_address, sp: t.sp, node });
        let child = self.callee(node, t.from, t.to);
        self.entered(child);
        if self.heap.is_some() {
            self.allocates(t, 1, bus);
        }
    }

    /// A call that is too deep to be kept.
    #[cold]
    fn cut_call(&mut self, to: u32) {
        self.cut += 1;
        let missed = self.heap.as_deref_mut().filter(|heap| heap.function_at(to).is_some());
        missed.into_iter().for_each(|heap| heap.log.missed += 1);
    }

    /// An allocator may have been entered; the innermost `own` frames are its call's own.
    #[inline(never)]
    fn allocates(&mut self, t: &Transfer, own: usize, bus: &Bus) {
        let who = self.who();
        let Some(heap) = &mut self.heap else { return };
        let Some(function) = heap.function_at(t.to) else { return };
        let Context { frames, allocating, .. } = &mut self.running;
        let (depth, now) = (frames.len(), t.now);
        let entered = Entered { from: t.from, arguments: t.arguments, who, now, depth };
        let callers = frames[..depth.saturating_sub(own)].iter().map(|f| f.return_address);
        heap.begin(function, &entered, callers, allocating, bus);
    }

    /// Frames were popped: calls of allocators have returned or, if the stack was cut, will not.
    #[inline(always)]
    fn popped(&mut self, t: &Transfer, returns: bool, bus: &Bus) {
        let Context { frames, allocating, .. } = &mut self.running;
        if allocating.last().is_none_or(|open| open.depth <= frames.len()) {
            return;
        }
        let Some(heap) = &mut self.heap else { return };
        if returns {
            heap.returned(frames.len(), t.arguments[0], t.now, bus, allocating)
        } else {
            heap.abandoned(frames.len(), t.now, allocating)
        }
    }

    /// The innermost call returns, if it was made where control goes and the stack is as it was.
    #[inline(always)]
    fn returned(&mut self, t: &Transfer, bus: &Bus) -> bool {
        let Some(top) = self.running.frames.last() else { return false };
        let returns = top.return_address == t.to && top.sp == t.sp;
        if returns {
            self.running.current = top.node;
            self.running.frames.pop();
            self.popped(t, true, bus);
        }
        returns
    }

    /// Forgets the calls whose frames are below the stack pointer.
    fn cut_stack(&mut self, t: &Transfer, bus: &Bus) {
        while self.running.frames.last().is_some_and(|top| top.sp < t.sp) {
            if let Some(frame) = self.running.frames.pop() {
                self.running.current = frame.node;
            }
        }
        self.popped(t, false, bus);
    }

    /// BX, POP {PC}, MOV PC or a direct branch out of the function.
    #[inline(always)]
    pub(super) fn jump(&mut self, t: &Transfer, bus: &Bus) {
        // The ordinary return first: it is nearly all of them.
        if !self.returned(t, bus) {
            self.jump_elsewhere(t, bus);
        }
    }

    /// The same where it is not the return of the innermost call.
    #[inline(never)]
    fn jump_elsewhere(&mut self, t: &Transfer, bus: &Bus) {
        // Frames below the stack pointer are gone: longjmp, a stack cut by hand, or a BL that was a
        // jump. What they were called from may have returned with them.
        if self.running.frames.last().is_some_and(|top| top.sp < t.sp) {
            self.cut_stack(t, bus);
            if self.returned(t, bus) {
                return;
            }
        }
        let kind = self.kind_at(t.to);
        if let Some(node) = self.running.helped.take()
            && self.nodes[node as usize].kind == kind
        {
            self.running.current = node;
            return;
        }
        if kind == self.nodes[self.running.current as usize].kind {
            return;
        }
        if self.helpers.binary_search(&t.to).is_ok() {
            let node = self.running.current;
            self.running.helped = Some(node);
            self.enter(node, kind);
            return;
        }
        // Back into the caller, but not to where the call would return (switch helpers do that).
        if let Some(top) = self.running.frames.last().copied()
            && self.nodes[top.node as usize].kind == kind
            && top.sp == t.sp
            && !self.entries.contains_address(t.to)
        {
            self.running.frames.pop();
            self.running.current = top.node;
            self.popped(t, true, bus);
            return;
        }
        // A tail call: the function that runs now is replaced, its caller stays.
        let parent = self.running.frames.last().map_or(self.running.root, |top| top.node);
        let current = &self.nodes[self.running.current as usize];
        let jumped = current.chosen & !self.nodes[parent as usize].chosen;
        if self.active && jumped != 0 {
            self.chosen.jumped_on(jumped);
        }
        self.running.opened.jumped_on(self.running.frames.len(), jumped);
        if t.kind == TransferKind::Indirect {
            self.note(t.from, t.to);
        }
        self.enter(parent, kind);
        if self.heap.is_some() {
            self.allocates(t, 0, bus);
        }
    }
}

trait SortedAddresses {
    fn contains_address(&self, address: u32) -> bool;
}

impl SortedAddresses for Vec<u32> {
    fn contains_address(&self, address: u32) -> bool {
        self.binary_search(&address).is_ok()
    }
}
