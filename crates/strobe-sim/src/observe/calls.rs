//! The exact call tree, from a shadow of every stack.
//!
//! Calls push, returns pop. What is neither (tail calls, longjmp, handlers, switches to another thread's
//! stack) is recognised from the stack pointer and from where functions begin, with no help from the
//! firmware and no unwinding tables.

use super::counts::AddressTable;
use super::{Observer, Transfer, TransferKind};
use crate::bus::Bus;

/// What a node of the tree stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum NodeKind {
    /// Code from reset, or of the n-th further thread seen.
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
    /// Instructions of the function itself.
    pub instructions: u64,
    children: Vec<(NodeKind, u32)>,
}

#[derive(Debug, Clone, Copy)]
struct Frame {
    return_address: u32,
    sp: u32,
    /// The caller's node.
    node: u32,
}

#[derive(Debug, Clone)]
struct Context {
    root: u32,
    frames: Vec<Frame>,
    current: u32,
    resume: (u32, u32),
}

/// Exception numbers of ARMv7-M: 16 of the core's own and 240 interrupts.
const EXCEPTIONS: usize = 256;

/// What is known of one exception's runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExceptionCount {
    /// Times entered.
    pub count: u64,
    /// Of these, from another handler without unstacking.
    pub tail_chained: u64,
    /// Sum of cycles from pending to the handler's first instruction.
    pub latency_sum: u64,
    /// Shortest such time.
    pub latency_min: u64,
    /// Longest such time.
    pub latency_max: u64,
    /// The cycle at which the longest one ended.
    pub latency_max_at: u64,
}

/// Bounds on memory: deeper or wider trees are cut and counted.
const MAX_DEPTH: usize = 4096;
const MAX_NODES: usize = 1 << 20;
const MAX_CONTEXTS: usize = 4096;

/// Builds the call tree while the board runs.
#[derive(Debug)]
pub struct CallTree {
    nodes: Vec<Node>,
    function_at: AddressTable<u32>,
    entries: Vec<u32>,
    running: Context,
    suspended: Vec<Context>,
    handlers: Vec<(u32, u16)>,
    threads: u32,
    last_cycle: u64,
    last_instruction: u64,
    exceptions: [ExceptionCount; EXCEPTIONS],
    active: bool,
    /// Calls that were too deep or too many to keep apart.
    pub cut: u64,
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
        let root = Node {
            kind: NodeKind::Thread(0),
            parent: None,
            calls: 1,
            cycles: 0,
            instructions: 0,
            children: Vec::new(),
        };
        CallTree {
            nodes: vec![root],
            function_at,
            entries: functions.iter().map(|f| f.0 & !1).collect(),
            running: Context { root: 0, frames: Vec::new(), current: 0, resume: (0, 0) },
            suspended: Vec::new(),
            handlers: Vec::new(),
            threads: 1,
            last_cycle: 0,
            last_instruction: 0,
            exceptions: [ExceptionCount::default(); EXCEPTIONS],
            active: true,
            cut: 0,
        }
    }

    /// The board stands at `pc` before its first instruction: the tree starts there.
    pub fn start(&mut self, pc: u32, now: u64, instructions: u64) {
        self.charge(now, instructions);
        let kind = self.kind_at(pc);
        self.running.current = self.child(self.running.root, kind);
        self.nodes[self.running.current as usize].calls += 1;
    }

    /// Switches counting on or off: a measuring window that begins or ends now.
    pub fn set_active(&mut self, active: bool, now: u64, instructions: u64) {
        self.charge(now, instructions);
        self.active = active;
    }

    /// Charges what has run since the last transfer; call before reading the nodes.
    pub fn finish(&mut self, now: u64, instructions: u64) -> &[Node] {
        self.charge(now, instructions);
        &self.nodes
    }

    /// Counts per exception number.
    pub fn exceptions(&self) -> impl Iterator<Item = (u16, ExceptionCount)> + '_ {
        (0u16..).zip(self.exceptions).filter(|(_, e)| e.count > 0)
    }

    /// Return addresses of the calls that are open now, innermost first; with `interrupted`, of the code
    /// that the running handler interrupted. Where that code was itself a handler, `None` stands for the
    /// step from it to what it interrupted.
    pub fn backtrace(&self, interrupted: bool) -> Vec<Option<u32>> {
        let mut out = Vec::new();
        let mut contexts = self.suspended.iter().rev();
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
    fn charge(&mut self, now: u64, instructions: u64) {
        if self.active {
            let node = &mut self.nodes[self.running.current as usize];
            node.cycles += now - self.last_cycle;
            node.instructions += instructions - self.last_instruction;
        }
        self.last_cycle = now;
        self.last_instruction = instructions;
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
        self.nodes.push(Node {
            kind,
            parent,
            calls: 0,
            cycles: 0,
            instructions: 0,
            children: Vec::new(),
        });
        id
    }

    fn enter(&mut self, parent: u32, kind: NodeKind) {
        self.running.current = self.child(parent, kind);
        if self.active {
            self.nodes[self.running.current as usize].calls += 1;
        }
    }

    fn call(&mut self, t: &Transfer, return_address: u32) {
        let node = self.running.current;
        if self.running.frames.len() >= MAX_DEPTH {
            self.cut += 1;
            return;
        }
        self.running.frames.push(Frame { return_address, sp: t.sp, node });
        let kind = self.kind_at(t.to);
        self.enter(node, kind);
    }

    /// BX, POP {PC}, MOV PC or a direct branch out of the function.
    fn jump(&mut self, t: &Transfer) {
        // The ordinary return first: it is nearly all of them.
        if let Some(top) = self.running.frames.last()
            && top.return_address == t.to
            && top.sp == t.sp
        {
            self.running.current = top.node;
            self.running.frames.pop();
            return;
        }
        // Frames below the stack pointer are gone: longjmp, or a stack cut by hand.
        while self.running.frames.last().is_some_and(|top| top.sp < t.sp) {
            if let Some(frame) = self.running.frames.pop() {
                self.running.current = frame.node;
            }
        }
        let kind = self.kind_at(t.to);
        if kind == self.nodes[self.running.current as usize].kind {
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
            return;
        }
        // A tail call: the function that runs now is replaced, its caller stays.
        let parent = self.running.frames.last().map_or(self.running.root, |top| top.node);
        self.enter(parent, kind);
    }

    fn exception_entry(&mut self, t: &Transfer, exception: u16, sp: u32, after: Option<u16>) {
        if after.is_none() {
            self.running.resume = (t.from, sp);
            if self.suspended.len() < MAX_CONTEXTS {
                self.suspended.push(self.running.clone());
            } else {
                self.cut += 1;
            }
        }
        let root = self.handler_root(exception);
        if self.active {
            self.nodes[root as usize].calls += 1;
        }
        self.running = Context { root, frames: Vec::new(), current: root, resume: (0, 0) };
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

    /// Goes on with the context that was interrupted there; one never seen is a new thread.
    fn exception_return(&mut self, t: &Transfer) {
        let wanted = (t.to, t.sp);
        if let Some(at) = self.suspended.iter().rposition(|c| c.resume == wanted) {
            self.running = self.suspended.swap_remove(at);
            return;
        }
        let root = self.add_node(NodeKind::Thread(self.threads), None);
        self.nodes[root as usize].calls = 1;
        self.threads += 1;
        self.running = Context { root, frames: Vec::new(), current: root, resume: (0, 0) };
        let kind = self.kind_at(t.to);
        self.enter(root, kind);
    }

    fn count_exception(&mut self, t: &Transfer, exception: u16, pended_at: u64, chained: bool) {
        if !self.active {
            return;
        }
        let Some(e) = self.exceptions.get_mut(usize::from(exception)) else { return };
        let latency = t.now.saturating_sub(pended_at);
        e.latency_min = if e.count == 0 { latency } else { e.latency_min.min(latency) };
        if e.count == 0 || latency > e.latency_max {
            e.latency_max = latency;
            e.latency_max_at = t.now;
        }
        e.count += 1;
        e.tail_chained += u64::from(chained);
        e.latency_sum += latency;
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

impl Observer for CallTree {
    const FLOW: bool = true;

    fn transfer(&mut self, t: &Transfer) {
        match t.kind {
            TransferKind::Call { return_address } => {
                self.charge(t.now, t.instructions);
                self.call(t, return_address);
            }
            TransferKind::Indirect | TransferKind::Direct => {
                self.charge(t.now, t.instructions);
                self.jump(t);
            }
            TransferKind::ExceptionEntry { exception, pended_at, interrupted_sp, after, cost } => {
                // Entry belongs to the handler, not to whoever happened to be interrupted.
                self.charge(t.now - cost, t.instructions);
                self.exception_entry(t, exception, interrupted_sp, after);
                self.count_exception(t, exception, pended_at, after.is_some());
            }
            TransferKind::ExceptionReturn { .. } => {
                self.charge(t.now, t.instructions);
                self.exception_return(t);
            }
        }
    }
}
