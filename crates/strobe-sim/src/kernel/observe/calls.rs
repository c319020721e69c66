//! The exact call tree, from a shadow of every stack.
//!
//! Calls push, returns pop. What is neither (tail calls, longjmp, handlers, switches to another
//! thread's stack) is recognised from the stack pointer and from where functions begin, with no
//! help from the firmware and no unwinding tables. Each thread and each handler is a root of the
//! tree; whose stack is whose is found out in [`threads`](super::threads), and
//! [`schedule`](super::schedule) receives who runs.

mod contexts;
mod exceptions;
mod flow;
mod nodes;
mod stacks;
mod turns;

use std::collections::BTreeMap;

use self::contexts::Context;
use self::nodes::{CachedStep, HOPS};
pub use self::nodes::{Node, NodeKind};
use self::turns::Turn;
use super::counts::AddressTable;
use super::deepest::Marks;
use super::heap::Allocators;
use super::overflow::{Overflow, Pending};
use super::per_call::{Chosen, PerCall};
use super::schedule::{Schedule, Who};
use super::threads::Threads;
use super::{Access, Moment, Observer, StackPoint, StackWindow, Transfer, TransferKind};
use crate::kernel::bus::Bus;
use crate::kernel::clock::Clocks;

/// Builds the call tree while the board runs.
#[derive(Debug)]
pub struct CallTree {
    nodes: Vec<Node>,
    function_at: AddressTable<u32>,
    entries: Vec<u32>,
    /// Call instructions and jumps by a pointer to another function, each with where it has always
    /// led, if that is one place.
    pub sites: BTreeMap<u32, Option<u32>>,
    /// By `nodes::hop`; looking a callee up by its address and among its siblings takes longer.
    hops: Box<[CachedStep]>,
    /// Starts of switch helpers, sorted.
    helpers: Vec<u32>,
    running: Context,
    /// What the running handler interrupted, innermost last; the first is a thread.
    interrupted: Vec<Context>,
    /// The threads that do not run, by number.
    parked: Vec<Option<Context>>,
    handlers: Vec<(u32, u16)>,
    last_cycle: u64,
    last_instruction: u64,
    last_asleep: u64,
    active: bool,
    chosen: Chosen,
    /// Calls that were too deep or too many to keep apart.
    pub cut: u64,
    /// The threads seen.
    pub threads: Threads,
    /// Stacks that went below their end.
    pub overflows: Vec<Overflow>,
    /// Those that may have been.
    pending: Vec<Pending>,
    /// The deepest moment of each stack, if they are to be kept.
    pub marks: Option<Marks>,
    /// The firmware's memory allocators, if their calls are to be kept.
    pub heap: Option<Box<Allocators>>,
    /// Stack pointers that are known to the marks, and the thread that ran then.
    window: (StackWindow, usize),
    /// The turn of a loop under way.
    turn: Turn,
    /// Who ran when.
    pub schedule: Schedule,
}

impl CallTree {
    /// A tree for code whose functions are the ranges `[start, end)`, sorted and disjoint.
    pub fn new(bus: &Bus, functions: &[(u32, u32)]) -> Self {
        let mut function_at = AddressTable::<u32>::new(bus);
        for (index, &(start, end)) in (1u32..).zip(functions) {
            // A symbol may claim a huge size; only what lies in memory counts.
            let end = end.min(start.saturating_add(1 << 24));
            (start & !1..end).step_by(2).take_while(|&a| bus.memory_at(a).is_some()).for_each(
                |a| {
                    *function_at.at(a) = index;
                },
            );
        }
        let mut tree = CallTree {
            nodes: Vec::new(),
            function_at,
            entries: functions.iter().map(|f| f.0 & !1).collect(),
            sites: BTreeMap::new(),
            hops: vec![CachedStep::UNSEEN; HOPS].into(),
            helpers: Vec::new(),
            running: Context::default(),
            interrupted: Vec::new(),
            parked: Vec::new(),
            handlers: Vec::new(),
            last_cycle: 0,
            last_instruction: 0,
            last_asleep: 0,
            active: true,
            chosen: Chosen::default(),
            cut: 0,
            threads: Threads::new(),
            overflows: Vec::new(),
            pending: Vec::new(),
            marks: None,
            heap: None,
            window: (StackWindow::NONE, 0),
            turn: Turn::default(),
            schedule: Schedule::default(),
        };
        tree.add_node(NodeKind::Thread(0), None);
        tree.nodes[0].calls = 1;
        tree
    }

    /// Keeps the deepest moment of each stack from here on, whatever it was before.
    pub fn mark_anew(&mut self) {
        self.marks = Some(Marks::default());
        self.window = (StackWindow::NONE, self.threads.current());
    }

    /// States where functions begin that a compiler jumps to, not calls, in the middle of a
    /// `switch`, and that jump on to one of its cases: they are shown as called.
    pub fn know_helpers(&mut self, mut starts: Vec<u32>) {
        starts.sort_unstable();
        self.helpers = starts;
    }

    /// Keeps what each call of these functions costs, given by index into the list given to
    /// [`CallTree::new`]; call it before the run. No more than [`MOST`](super::per_call::MOST).
    /// `with_spans` keeps when each call was, too.
    pub fn choose(&mut self, functions: &[u32], with_spans: bool) {
        self.chosen = Chosen::new(functions, self.active, with_spans);
    }

    /// The calls of the chosen functions, in their order.
    pub fn per_call(&self) -> &[PerCall] {
        &self.chosen.all
    }

    /// The board stands at `pc` before its first instruction: the tree starts there.
    pub fn start(&mut self, pc: u32, sp: u32) {
        self.threads.reset(sp);
        let kind = self.kind_at(pc);
        self.running.current = self.child(0, kind);
        self.nodes[self.running.current as usize].calls += 1;
        self.follow(Moment::default(), pc);
    }

    /// Switches counting on or off: a measuring window that begins or ends now.
    pub fn set_active(&mut self, active: bool, now: Moment, clocks: &Clocks) {
        self.charge(now);
        self.schedule.set_active(active, now.cycle, now.asleep, clocks);
        self.chosen.set_active(active, now, &mut self.running.opened);
        self.active = active;
    }

    /// Charges what has run up to now, where the core stands at `pc`, and ends what is under way;
    /// call it once, before reading the nodes or the schedule.
    pub fn finish(&mut self, now: Moment, pc: u32, clocks: &Clocks) {
        let active = self.active;
        self.set_active(active, now, clocks);
        self.schedule.finish(pc);
        self.chosen.cut(&mut self.running.opened);
        let others = self.interrupted.iter_mut().chain(self.parked.iter_mut().flatten());
        others.for_each(|context| self.chosen.cut(&mut context.opened));
    }
}

#[inline(always)]
fn now_of(t: &Transfer) -> Moment {
    Moment { cycle: t.now, asleep: t.asleep, instructions: t.instructions }
}

impl Observer for CallTree {
    const FLOW: bool = true;

    // Whoever reports a transfer knows its kind, so that only one of these is left there.
    #[inline(always)]
    fn transfer(&mut self, t: &Transfer, bus: &Bus) {
        match t.kind {
            TransferKind::Call { return_address } => self.called(t, return_address, bus),
            TransferKind::Indirect | TransferKind::Direct => self.jumped(t, bus),
            _ => self.left(t, bus),
        }
    }

    #[inline(always)]
    fn wants_arguments(&self) -> bool {
        self.heap.is_some()
    }

    #[inline(always)]
    fn follows_stack(&self) -> bool {
        self.marks.is_some()
    }

    #[inline(always)]
    fn stack_window(&self) -> StackWindow {
        self.window.0
    }

    fn stack(&mut self, point: StackPoint, bus: &Bus) {
        self.reached(&point, bus);
    }

    #[inline(always)]
    fn follows_accesses(&self) -> bool {
        self.heap.as_ref().is_some_and(|heap| heap.inspector.is_some())
    }

    fn access(&mut self, access: &Access, bus: &mut Bus) {
        let who = self.who();
        let Some(heap) = &mut self.heap else { return };
        let Context { frames, allocating, current, .. } = &self.running;
        let callers = frames.iter().map(|f| f.return_address);
        heap.accessed(access, (who, *current), callers, allocating, bus);
    }

    fn who(&self) -> Option<Who> {
        Some(CallTree::who(self))
    }

    fn begin_turn(&mut self, now: Moment) {
        self.note_turn(now);
    }

    fn end_turn(&mut self, now: Moment) -> bool {
        self.close_turn(now)
    }

    fn repeat_turn(&mut self, times: u64, now: Moment) {
        self.multiply_turn(times, now);
    }
}
