//! Into handlers and out of them, with all that their returns may lead to: what was interrupted,
//! another thread, or a function that the handler has the thread run first.

use super::contexts::{Context, Frame, MAX_DEPTH, SavedContext};
use super::stacks::Arrival;
use super::{CachedStep, CallTree, NodeKind, now_of};
use crate::kernel::bus::Bus;
use crate::kernel::observe::schedule::Entry;
use crate::kernel::observe::{Moment, StackWindow, Transfer, TransferKind};

/// Handlers inside one another; deeper ones are cut and counted.
const MAX_NESTED: usize = 512;

impl CallTree {
    /// Control went into a handler, out of one, or to the reset vector.
    #[cold]
    pub(super) fn left(&mut self, t: &Transfer, bus: &Bus) {
        self.turn.abandon();
        let now = now_of(t);
        let mut way_in = 0;
        match t.kind {
            TransferKind::ExceptionEntry { exception, interrupted_sp, after, cost, .. } => {
                // Entry belongs to the handler, not to whoever happened to be interrupted.
                let begin = t.now - cost;
                way_in = cost;
                let left = Moment { cycle: begin, ..now };
                self.charge(left);
                // Between two stacks, in the middle of a switch by hand?
                let from_thread = self.interrupted.is_empty() && after.is_none();
                if from_thread && self.threads.is_elsewhere(interrupted_sp) {
                    let (sp, pc) = (interrupted_sp, t.from);
                    self.moved(Arrival { sp, pc, to: None, calls: false }, left, bus);
                }
                self.exception_entry(t, exception, interrupted_sp, after);
                let caller = self.interrupted.last().filter(|_| after.is_none());
                let caller = caller.and_then(|context| Some(context.frames.last()?.return_address));
                if let Some(entry) = Entry::of(t, caller) {
                    self.schedule.enter(&entry, &self.threads, bus);
                }
            }
            TransferKind::ExceptionReturn { .. } => {
                self.charge(now);
                self.exception_return(t, bus);
            }
            _ => {
                self.charge(now);
                self.reset(t, bus);
            }
        }
        if !self.chosen.all.is_empty() {
            self.follow_in(now, t.from, way_in);
        }
        self.window.0 = StackWindow::NONE;
    }

    fn exception_entry(&mut self, t: &Transfer, exception: u16, sp: u32, after: Option<u16>) {
        let root = self.handler_root(exception);
        if after.is_some() {
            self.handler_ends(t);
            // What has been charged ends before the way in of the next one.
            self.chosen.close_all(&mut self.running.opened, self.last_cycle);
        }
        let handler = Context { root, current: root, ..Context::default() };
        let mut before = std::mem::replace(&mut self.running, handler);
        if after.is_none() {
            if self.interrupted.is_empty() {
                self.threads.interrupted(sp);
            }
            before.resume = (t.from, sp);
            if self.interrupted.len() < MAX_NESTED {
                self.interrupted.push(before);
            } else {
                self.cut += 1;
            }
        }
        if self.active {
            self.nodes[root as usize].calls += 1;
        }
        let kind = self.kind_at(t.to);
        self.enter(root, kind);
    }

    fn handler_root(&mut self, exception: u16) -> u32 {
        if let Some(&(root, _)) = self.handlers.iter().find(|(_, e)| *e == exception) {
            return root;
        }
        let root = self.add_node(NodeKind::Exception(exception), None);
        self.handlers.push((root, exception));
        root
    }

    /// What the running handler has called will not return.
    #[inline]
    fn handler_ends(&mut self, t: &Transfer) {
        if let Some(heap) = &mut self.heap {
            heap.abandoned(0, t.now, &mut self.running.allocating);
        }
    }

    /// Goes on with what was interrupted or, from the last handler, with another thread.
    fn exception_return(&mut self, t: &Transfer, bus: &Bus) {
        let Some(context) = self.interrupted.pop() else { return };
        self.handler_ends(t);
        let (pc, now) = (context.resume.0, now_of(t));
        self.chosen.close_all(&mut self.running.opened, now.cycle);
        if !self.interrupted.is_empty() {
            self.running = context;
            self.schedule.back_to_handler(now.cycle, now.asleep, &self.threads, bus);
            return;
        }
        let before = self.threads.current();
        let to = self.threads.resumed(t.sp, bus);
        let resume = (t.to, t.sp);
        if to == before {
            self.running = context;
        } else {
            self.park(before, context);
            self.unpark(to);
            self.confirm_overflows(to, false);
        }
        self.schedule.back_to_thread(now.cycle, now.asleep, pc, &self.threads, bus);
        if to == before && self.running.resume.1 > t.sp {
            self.divert(t);
        } else if self.running.resume != resume {
            self.jump(t, bus);
        }
    }

    /// A handler has put a frame of its own below the interrupted one's, so that the thread runs a
    /// function first: what was interrupted goes on after it.
    fn divert(&mut self, t: &Transfer) {
        let Context { frames, current, resume, .. } = &mut self.running;
        if frames.len() >= MAX_DEPTH {
            self.cut += 1;
            return;
        }
        let frame = Frame { return_address: resume.0, sp: resume.1, node: *current };
        let (node, depth) = (*current, frames.len());
        frames.push(frame);
        if let Some(pended_at) = self.schedule.asked_by_handler()
            && self.open_diversion().is_none()
        {
            self.running.diverted = Some(SavedContext { depth, frame, pended_at });
        }
        let child = self.callee(node, CachedStep::NOWHERE, t.to);
        self.nodes[child as usize].diverted = true;
        self.entered(child);
    }
}
