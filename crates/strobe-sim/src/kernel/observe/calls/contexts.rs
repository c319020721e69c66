//! Threads and runs of handlers, each with the calls that are open in it: the one that runs, those
//! that handlers have interrupted, and the threads that wait.

use super::{CallTree, NodeKind, now_of};
use crate::kernel::bus::Bus;
use crate::kernel::observe::heap::Open;
use crate::kernel::observe::per_call::Opened;
use crate::kernel::observe::schedule::Who;
use crate::kernel::observe::{Moment, Transfer};

/// Calls that are open at once in one of them; deeper ones are cut and counted.
pub(super) const MAX_DEPTH: usize = 4096;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) return_address: u32,
    pub(super) sp: u32,
    /// The caller's node.
    pub(super) node: u32,
}

/// What a handler has had a thread run before it goes on.
#[derive(Debug, Clone, Copy)]
pub(super) struct SavedContext {
    /// Where the frame is among the thread's.
    pub(super) depth: usize,
    pub(super) frame: Frame,
    /// When the handler's exception became pending.
    pub(super) pended_at: u64,
}

/// A thread or a run of a handler.
#[derive(Debug, Clone, Default)]
pub(super) struct Context {
    pub(super) root: u32,
    pub(super) frames: Vec<Frame>,
    pub(super) current: u32,
    /// Program counter and stack pointer when it was interrupted.
    pub(super) resume: (u32, u32),
    /// The node that a switch helper was jumped to from, while the helper runs.
    pub(super) helped: Option<u32>,
    /// Where a handler has had the thread run something else.
    pub(super) diverted: Option<SavedContext>,
    pub(super) opened: Opened,
    /// Calls of allocators that have not returned.
    pub(super) allocating: Vec<Open>,
}

impl CallTree {
    /// Who runs.
    pub fn who(&self) -> Who {
        match self.nodes[self.running.root as usize].kind {
            NodeKind::Exception(e) => Who::Handler(e),
            _ => Who::Thread(self.threads.current() as u32),
        }
    }

    /// Return addresses of the calls that are open now, innermost first; with `interrupted`, of the
    /// code that the running handler interrupted. Where that code was itself a handler, `None`
    /// stands for the step from it to what it interrupted.
    pub fn backtrace(&self, interrupted: bool) -> Vec<Option<u32>> {
        let mut out = Vec::new();
        let mut contexts = self.interrupted.iter().rev();
        let mut next = if interrupted { contexts.next() } else { Some(&self.running) };
        while let Some(context) = next {
            out.extend(context.frames.iter().rev().map(|f| Some(f.return_address)));
            let is_handler =
                matches!(self.nodes[context.root as usize].kind, NodeKind::Exception(_));
            next = if is_handler { contexts.next() } else { None };
            if let Some(context) = next {
                out.extend([None, Some(context.resume.0)]);
            }
        }
        out
    }

    /// When the exception became pending whose handler has had the running thread do what it does.
    pub(super) fn open_diversion(&self) -> Option<u64> {
        let SavedContext { depth, frame, pended_at } = self.running.diverted?;
        (self.running.frames.get(depth) == Some(&frame)).then_some(pended_at)
    }

    pub(super) fn park(&mut self, thread: usize, context: Context) {
        if self.parked.len() <= thread {
            self.parked.resize_with(thread + 1, Default::default);
        }
        self.parked[thread] = Some(context);
    }

    /// Goes on with a thread: with its calls as they were, or with none if it is new.
    pub(super) fn unpark(&mut self, thread: usize) {
        let parked = self.parked.get_mut(thread).and_then(Option::take);
        self.running = parked.unwrap_or_else(|| {
            let root = self.add_node(NodeKind::Thread(thread as u32), None);
            self.nodes[root as usize].calls = 1;
            Context { root, current: root, ..Context::default() }
        });
    }

    /// Another thread has been given the stack of one that has ended: its calls will not return.
    pub(super) fn begins_anew(&mut self, now: Moment) {
        if let Some(heap) = &mut self.heap {
            heap.abandoned(0, now.cycle, &mut self.running.allocating);
        }
        self.chosen.cut(&mut self.running.opened);
        self.running.frames.clear();
        self.running.current = self.running.root;
    }

    /// From reset again: no call is open, no handler runs.
    pub(super) fn reset(&mut self, t: &Transfer, bus: &Bus) {
        if let Some(heap) = &mut self.heap {
            let others = self.interrupted.iter_mut().chain(self.parked.iter_mut().flatten());
            let contexts = others.chain([&mut self.running]);
            contexts.for_each(|context| heap.abandoned(0, t.now, &mut context.allocating));
            heap.reset(t.now);
        }
        self.chosen.cut(&mut self.running.opened);
        self.interrupted.drain(..).for_each(|mut context| self.chosen.cut(&mut context.opened));
        self.parked.iter_mut().flatten().for_each(|context| {
            self.chosen.cut(&mut context.opened);
            context.frames.clear();
            context.current = context.root;
            context.resume = (0, 0);
        });
        self.threads.reset(t.sp);
        let now = now_of(t);
        self.schedule.reset(now.cycle, now.asleep, t.from, &bus.clocks);
        self.running = Context::default();
        let kind = self.kind_at(t.to);
        self.enter(0, kind);
    }
}
