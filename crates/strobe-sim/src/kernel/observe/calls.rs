//! The exact call tree, from a shadow of every stack.
//!
//! Calls push, returns pop. What is neither (tail calls, longjmp, handlers, switches to another
//! thread's stack) is recognised from the stack pointer and from where functions begin, with no
//! help from the firmware and no unwinding tables. Each thread and each handler is a root of the
//! tree; whose stack is whose is found out in [`threads`](super::threads), and
//! [`schedule`](super::schedule) receives who runs.

use super::counts::AddressTable;
use super::deepest::{Deepest, HANDLERS, Marks, News};
use super::heap::{Allocators, Entered, Open};
use super::overflow::{self, Overflow, Pending};
use super::per_call::{Call, Chosen, Opened, PerCall};
use super::schedule::{Entry, Schedule, Who};
use super::threads::{Crossed, Landed, Threads};
use super::{Access, Observer, StackPoint, StackWindow, Transfer, TransferKind};
use crate::kernel::bus::Bus;
use crate::kernel::clock::Clocks;

/// What a node of the tree stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NodeKind {
    /// A thread, by its number in [`Threads::all`]; the first is the code from reset.
    Thread(u32),
    /// A handler and what it calls.
    Exception(u16),
    /// A function, by index into the list given to [`CallTree::new`].
    Function(u32),
    /// Code outside every known function.
    Unknown,
}

/// A node: one function in one chain of callers.
#[derive(Debug, Clone)]
pub struct Node {
    /// What it stands for.
    pub kind: NodeKind,
    /// The caller's node; `None` for threads and exceptions.
    pub parent: Option<u32>,
    /// Times entered.
    pub calls: u64,
    /// Cycles in the function itself, sleep included.
    pub cycles: u64,
    /// Of these, asleep.
    pub asleep: u64,
    /// Instructions of the function itself.
    pub instructions: u64,
    /// The return of an exception has led here, by a frame that its handler made: nothing has
    /// called it.
    pub diverted: bool,
    children: Vec<(NodeKind, u32)>,
    /// The chosen functions that are on the chain up to here.
    chosen: u64,
    /// This one, if it is chosen.
    alone: u64,
    /// The same, if it is on the chain above as well.
    nested: u64,
}

/// A call that has been seen: from a node to an address is a child of that node.
#[derive(Debug, Clone, Copy)]
struct Hop {
    node: u32,
    to: u32,
    child: u32,
}

/// Calls that are found at once, whatever their callers; a power of two.
const HOPS: usize = 1 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Frame {
    return_address: u32,
    sp: u32,
    /// The caller's node.
    node: u32,
}

/// Where a thread has got to, with its stack pointer somewhere new.
#[derive(Debug, Clone, Copy)]
struct Arrival {
    sp: u32,
    /// The instruction that led there.
    pc: u32,
    /// The next one, unless an exception comes first.
    to: Option<u32>,
    /// It is a call.
    calls: bool,
}

/// What a handler has had a thread run before it goes on.
#[derive(Debug, Clone, Copy)]
struct Diverted {
    /// Where the frame is among the thread's.
    depth: usize,
    frame: Frame,
    /// When the handler's exception became pending.
    pended_at: u64,
}

/// A thread or a run of a handler.
#[derive(Debug, Clone, Default)]
struct Context {
    root: u32,
    frames: Vec<Frame>,
    current: u32,
    /// Program counter and stack pointer when it was interrupted.
    resume: (u32, u32),
    /// The node that a switch helper was jumped to from, while the helper runs.
    helped: Option<u32>,
    /// Where a handler has had the thread run something else.
    diverted: Option<Diverted>,
    opened: Opened,
    /// Calls of allocators that have not returned.
    allocating: Vec<Open>,
}

/// Bounds on memory: deeper or wider trees are cut and counted.
const MAX_DEPTH: usize = 4096;
const MAX_NODES: usize = 1 << 20;
const MAX_NESTED: usize = 512;

/// Builds the call tree while the board runs.
#[derive(Debug)]
pub struct CallTree {
    nodes: Vec<Node>,
    function_at: AddressTable<u32>,
    entries: Vec<u32>,
    /// By [`hop`]; looking a callee up by its address and among its siblings takes longer.
    hops: Box<[Hop]>,
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
    /// Who ran when.
    pub schedule: Schedule,
}

/// A moment of the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Now {
    /// Cycles since reset.
    pub cycle: u64,
    /// Of these, asleep.
    pub asleep: u64,
    /// Instructions since reset.
    pub instructions: u64,
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
            hops: vec![Hop { node: u32::MAX, to: 0, child: 0 }; HOPS].into(),
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

    /// Tells where functions begin that a compiler jumps to, not calls, in the middle of a
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

    /// Whose chain a node is part of.
    pub fn owner(&self, node: u32) -> Who {
        let mut at = node as usize;
        loop {
            match self.nodes[at].kind {
                NodeKind::Thread(thread) => return Who::Thread(thread),
                NodeKind::Exception(exception) => return Who::Handler(exception),
                NodeKind::Function(_) | NodeKind::Unknown => match self.nodes[at].parent {
                    Some(parent) => at = parent as usize,
                    None => return Who::Thread(0),
                },
            }
        }
    }

    /// The board stands at `pc` before its first instruction: the tree starts there.
    pub fn start(&mut self, pc: u32, sp: u32) {
        self.threads.reset(sp);
        let kind = self.kind_at(pc);
        self.running.current = self.child(0, kind);
        self.nodes[self.running.current as usize].calls += 1;
        self.follow(Now::default(), pc);
    }

    /// Switches counting on or off: a measuring window that begins or ends now.
    pub fn set_active(&mut self, active: bool, now: Now, clocks: &Clocks) {
        self.charge(now);
        self.schedule.set_active(active, now.cycle, now.asleep, clocks);
        self.chosen.set_active(active, now, &mut self.running.opened);
        self.active = active;
    }

    /// Charges what has run up to now, where the core stands at `pc`, and ends what is under way;
    /// call it once, before reading the nodes or the schedule.
    pub fn finish(&mut self, now: Now, pc: u32, clocks: &Clocks) {
        let active = self.active;
        self.set_active(active, now, clocks);
        self.schedule.finish(pc);
        self.chosen.cut(&mut self.running.opened);
        let others = self.interrupted.iter_mut().chain(self.parked.iter_mut().flatten());
        others.for_each(|context| self.chosen.cut(&mut context.opened));
    }

    /// The nodes; parents come before their children.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

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

    #[inline]
    fn charge(&mut self, now: Now) {
        if self.active {
            let node = &mut self.nodes[self.running.current as usize];
            node.cycles += now.cycle - self.last_cycle;
            node.asleep += now.asleep - self.last_asleep;
            node.instructions += now.instructions - self.last_instruction;
            self.running.opened.charge(now.cycle - self.last_cycle, node.alone);
        }
        self.last_cycle = now.cycle;
        self.last_asleep = now.asleep;
        self.last_instruction = now.instructions;
    }

    fn kind_at(&mut self, address: u32) -> NodeKind {
        match *self.function_at.at(address & !1) {
            0 => NodeKind::Unknown,
            index => NodeKind::Function(index - 1),
        }
    }

    fn child(&mut self, parent: u32, kind: NodeKind) -> u32 {
        let siblings = &self.nodes[parent as usize].children;
        if let Some(&(_, id)) = siblings.iter().find(|(k, _)| *k == kind) {
            return id;
        }
        if self.nodes.len() >= MAX_NODES {
            self.cut += 1;
            return parent;
        }
        let id = self.add_node(kind, Some(parent));
        self.nodes[parent as usize].children.push((kind, id));
        id
    }

    fn add_node(&mut self, kind: NodeKind, parent: Option<u32>) -> u32 {
        let id = self.nodes.len() as u32;
        let alone = match kind {
            NodeKind::Function(function) => self.chosen.bit(function),
            _ => 0,
        };
        let above = parent.map_or(0, |parent| self.nodes[parent as usize].chosen);
        self.nodes.push(Node {
            kind,
            parent,
            calls: 0,
            cycles: 0,
            asleep: 0,
            instructions: 0,
            diverted: false,
            children: Vec::new(),
            chosen: above | alone,
            alone,
            nested: above & alone,
        });
        id
    }

    fn enter(&mut self, parent: u32, kind: NodeKind) {
        let child = self.child(parent, kind);
        self.entered(child);
    }

    #[inline]
    fn entered(&mut self, child: u32) {
        self.running.current = child;
        if self.active {
            let node = &mut self.nodes[child as usize];
            node.calls += 1;
            if node.nested != 0 {
                self.chosen.nested(node.nested);
            }
        }
    }

    /// The node of what is called at an address from a node.
    #[inline]
    fn callee(&mut self, node: u32, to: u32) -> u32 {
        let hop = &self.hops[hop(node, to)];
        if hop.node == node && hop.to == to {
            return hop.child;
        }
        self.find_callee(node, to)
    }

    #[cold]
    fn find_callee(&mut self, node: u32, to: u32) -> u32 {
        let (kind, cut) = (self.kind_at(to), self.cut);
        let child = self.child(node, kind);
        // Each one that is cut is counted.
        if self.cut == cut {
            self.hops[hop(node, to)] = Hop { node, to, child };
        }
        child
    }

    /// The core has come to another node, from an address: calls of chosen functions begin or end.
    #[inline]
    fn follow(&mut self, now: Now, from: u32) {
        let mask = self.nodes[self.running.current as usize].chosen;
        let (node, begin) = (self.running.current, now.cycle);
        let call = Call { begin, from, node, with_callees: 0, alone: 0, elapsed: 0 };
        self.chosen.follow(&mut self.running.opened, mask, call);
    }

    fn call(&mut self, t: &Transfer, return_address: u32, bus: &Bus) {
        let node = self.running.current;
        if self.running.frames.len() >= MAX_DEPTH {
            self.cut += 1;
            let missed = self.heap.as_deref_mut().filter(|heap| heap.function_at(t.to).is_some());
            missed.into_iter().for_each(|heap| heap.log.missed += 1);
            return;
        }
        self.running.frames.push(Frame { return_address, sp: t.sp, node });
        let child = self.callee(node, t.to);
        self.entered(child);
        if self.heap.is_some() {
            self.allocates(t, 1, bus);
        }
    }

    /// An allocator may have been entered; the innermost `own` frames are its call's own.
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
    #[inline]
    fn popped(&mut self, t: &Transfer, returns: bool, bus: &Bus) {
        let Context { frames, allocating, .. } = &mut self.running;
        if allocating.last().is_none_or(|open| open.depth <= frames.len()) {
            return;
        }
        let Some(heap) = &mut self.heap else { return };
        match returns {
            true => heap.returned(frames.len(), t.arguments[0], t.now, bus, allocating),
            false => heap.abandoned(frames.len(), t.now, allocating),
        }
    }

    /// The innermost call returns, if it was made where control goes and the stack is as it was.
    #[inline]
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
    fn jump(&mut self, t: &Transfer, bus: &Bus) {
        // The ordinary return first: it is nearly all of them.
        if self.returned(t, bus) {
            return;
        }
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
        self.enter(parent, kind);
        if self.heap.is_some() {
            self.allocates(t, 0, bus);
        }
    }

    fn exception_entry(&mut self, t: &Transfer, exception: u16, sp: u32, after: Option<u16>) {
        let root = self.handler_root(exception);
        if after.is_some() {
            self.handler_ends(t);
            self.chosen.close_all(&mut self.running.opened, now_of(t).cycle);
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
            self.running.diverted = Some(Diverted { depth, frame, pended_at });
        }
        let child = self.callee(node, t.to);
        self.nodes[child as usize].diverted = true;
        self.entered(child);
    }

    /// When the exception became pending whose handler has had the running thread do what it does.
    fn open_diversion(&self) -> Option<u64> {
        let Diverted { depth, frame, pended_at } = self.running.diverted?;
        (self.running.frames.get(depth) == Some(&frame)).then_some(pended_at)
    }

    /// A thread's stack pointer is where it has not been: its stack has grown, or another thread
    /// has taken over.
    #[cold]
    fn moved(&mut self, arrival: Arrival, now: Now, bus: &Bus) {
        let Arrival { sp, pc, calls, to: target } = arrival;
        let before = self.threads.current();
        let to = self.threads.moved(sp, self.running.frames.is_empty(), calls, bus);
        if let Some(crossed) = self.threads.take_crossed() {
            self.note_overflow(crossed, sp, pc, now.cycle);
        }
        if to != before {
            let asked = self.open_diversion();
            self.running.diverted = None;
            let context = std::mem::take(&mut self.running);
            self.park(before, context);
            self.unpark(to);
            let frames = self.running.frames.last();
            let returns = frames.is_some_and(|f| Some(f.return_address) == target && f.sp == sp);
            let is_empty = self.threads.is_empty_at(sp);
            let is_anew = is_empty && !returns && !calls && target.is_some();
            if is_anew {
                self.begins_anew(now);
            }
            self.confirm_overflows(to, is_anew);
            let at = (now.cycle, now.asleep, pc);
            self.schedule.by_hand(at, asked, &self.threads, bus);
        }
    }

    /// Keeps what is new about a stack.
    #[cold]
    fn mark(&mut self, owner: usize, news: News, point: &StackPoint, bus: &Bus) {
        let in_handler = !self.interrupted.is_empty();
        let callers = self.backtrace(false);
        let Some(marks) = &mut self.marks else { return };
        let StackPoint { sp, pc, now: cycle, .. } = *point;
        let top = match news {
            News::Higher => return marks.raise(owner, sp),
            News::Anew => sp,
            News::Deepest { top } => top,
        };
        let callers = marks.on_stack(in_handler, callers);
        marks.note(owner, Deepest { sp, top, pc, cycle, callers });
        if owner == self.threads.current()
            && let Some(crossed) = self.threads.crosses(sp, bus)
        {
            self.note_overflow(crossed, sp, pc, cycle);
        }
    }

    /// The running thread's stack has gone below an end.
    #[cold]
    fn note_overflow(&mut self, crossed: Crossed, sp: u32, pc: u32, cycle: u64) {
        if self.overflows.len() + self.pending.len() >= overflow::MOST {
            return;
        }
        let Crossed { floor, at: limit, victim } = crossed;
        let thread = self.threads.current();
        let callers = self.running.frames.iter().rev().map(|f| f.return_address).collect();
        let overflow = Overflow { thread, floor, limit, sp, cycle, pc, callers };
        match victim {
            Some(victim) => self.pending.push(Pending { victim, overflow }),
            None => self.overflows.push(overflow),
        }
    }

    /// A thread has the core again: if it goes on where it stopped, what grew into its stack has
    /// overflowed; else its memory had been given away.
    #[inline]
    fn confirm_overflows(&mut self, to: usize, is_anew: bool) {
        if self.pending.is_empty() {
            return;
        }
        let goes_on = !is_anew && self.threads.landed() == Landed::WhereItStopped;
        let (of_this, others): (Vec<_>, Vec<_>) =
            self.pending.drain(..).partition(|pending| pending.victim == to);
        self.pending = others;
        if goes_on {
            self.overflows.extend(of_this.into_iter().map(|pending| pending.overflow));
        }
    }

    fn called(&mut self, t: &Transfer, return_address: u32, bus: &Bus) {
        self.arrived(t, true, bus);
        self.call(t, return_address, bus);
        self.stays(t);
    }

    fn jumped(&mut self, t: &Transfer, bus: &Bus) {
        self.arrived(t, false, bus);
        self.jump(t, bus);
        self.stays(t);
    }

    /// Control went elsewhere in the same thread or handler, unless its stack shows another.
    #[inline]
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
    #[inline]
    fn stays(&mut self, t: &Transfer) {
        if !self.chosen.all.is_empty() {
            self.follow(now_of(t), t.from);
        }
        if self.threads.current() != self.window.1 {
            self.window.0 = StackWindow::NONE;
        }
    }

    /// Control went into a handler, out of one, or to the reset vector.
    #[cold]
    fn left(&mut self, t: &Transfer, bus: &Bus) {
        let now = now_of(t);
        match t.kind {
            TransferKind::ExceptionEntry { exception, pended_at, interrupted_sp, after, cost } => {
                // Entry belongs to the handler, not to whoever happened to be interrupted.
                let begin = t.now - cost;
                let left = Now { cycle: begin, ..now };
                self.charge(left);
                // Between two stacks, in the middle of a switch by hand?
                let from_thread = self.interrupted.is_empty() && after.is_none();
                if from_thread && self.threads.is_elsewhere(interrupted_sp) {
                    let (sp, pc) = (interrupted_sp, t.from);
                    self.moved(Arrival { sp, pc, to: None, calls: false }, left, bus);
                }
                self.exception_entry(t, exception, interrupted_sp, after);
                let (from, asleep) = (t.from, t.asleep);
                let entry = Entry { exception, pended_at, after, from, begin, now: t.now, asleep };
                self.schedule.enter(&entry, &self.threads, bus);
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
            self.follow(now, t.from);
        }
        self.window.0 = StackWindow::NONE;
    }

    fn park(&mut self, thread: usize, context: Context) {
        if self.parked.len() <= thread {
            self.parked.resize_with(thread + 1, Default::default);
        }
        self.parked[thread] = Some(context);
    }

    /// Goes on with a thread: with its calls as they were, or with none if it is new.
    fn unpark(&mut self, thread: usize) {
        let parked = self.parked.get_mut(thread).and_then(Option::take);
        self.running = parked.unwrap_or_else(|| {
            let root = self.add_node(NodeKind::Thread(thread as u32), None);
            self.nodes[root as usize].calls = 1;
            Context { root, current: root, ..Context::default() }
        });
    }

    /// Another thread has been given the stack of one that has ended: its calls will not return.
    fn begins_anew(&mut self, now: Now) {
        if let Some(heap) = &mut self.heap {
            heap.abandoned(0, now.cycle, &mut self.running.allocating);
        }
        self.chosen.cut(&mut self.running.opened);
        self.running.frames.clear();
        self.running.current = self.running.root;
    }

    /// From reset again: no call is open, no handler runs.
    fn reset(&mut self, t: &Transfer, bus: &Bus) {
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

/// Where a call from a node to an address is among the hops.
#[inline]
fn hop(node: u32, to: u32) -> usize {
    (node.wrapping_mul(0x9e37_79b1) ^ to >> 1) as usize % HOPS
}

fn now_of(t: &Transfer) -> Now {
    Now { cycle: t.now, asleep: t.asleep, instructions: t.instructions }
}

trait SortedAddresses {
    fn contains_address(&self, address: u32) -> bool;
}

impl SortedAddresses for Vec<u32> {
    fn contains_address(&self, address: u32) -> bool {
        self.binary_search(&address).is_ok()
    }
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
    fn follows_stack(&self) -> bool {
        self.marks.is_some()
    }

    #[inline(always)]
    fn stack_window(&self) -> StackWindow {
        self.window.0
    }

    fn stack(&mut self, point: StackPoint, bus: &Bus) {
        let in_handler = !self.interrupted.is_empty();
        if !in_handler {
            self.threads.note_motion(point.motion, point.sp);
        }
        let Some(marks) = &mut self.marks else { return };
        let owner = marks.owner(&point, self.threads.current(), in_handler);
        // Between two stacks, in the middle of a switch, the next transfer decides.
        let news = marks.news(owner, point.sp);
        let reaches = news.is_some()
            && match owner {
                HANDLERS => marks.reaches_handlers(point.sp),
                _ => self.threads.reaches(owner, point.sp, in_handler, bus),
            };
        if let Some(news) = news.filter(|_| reaches) {
            if owner == 0 && !in_handler {
                marks.settle(point.stack);
            }
            self.mark(owner, news, &point, bus);
        }
        if let Some(marks) = &self.marks {
            let shared = self.threads.shared_below(owner);
            let known = marks.window(owner, point.sp).above(shared, point.sp);
            let foreign = match owner {
                HANDLERS => StackWindow::NONE,
                _ => self.threads.far_below(owner),
            };
            let is_foreign = known == StackWindow::NONE && in_handler && foreign.contains(point.sp);
            let window = if is_foreign { foreign } else { known };
            self.window = (window, self.threads.current());
        }
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
}
