//! Calls, matched by thread, and how deep stacks got.

use std::collections::{BTreeMap, HashMap};

use crate::archive::report::{FunctionSeen, FunctionsSeen, StackSeen};

use super::Names;
use super::calls::{Calls, Node};
use super::windows::length;

/// Calls of one thread inside one another are followed no deeper; embedded stacks are shallower.
const MAX_DEPTH: usize = 1 << 16;

/// A call that has begun.
#[derive(Debug, Clone, Copy)]
struct Open {
    function: u32,
    from: i64,
    node: Node,
    /// Time of the calls that it has made, as far as they have ended.
    below_ns: u64,
    /// No events are missing since it began: it has not ended, and begun again.
    whole: bool,
}

/// Calls so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Functions {
    open: HashMap<i64, Vec<Open>>,
    functions: BTreeMap<u32, FunctionSeen>,
    totals: FunctionsSeen,
    calls: Calls,
}

impl Functions {
    fn function(&mut self, address: u32) -> &mut FunctionSeen {
        self.functions
            .entry(address)
            .or_insert_with(|| FunctionSeen { address, ..FunctionSeen::default() })
    }

    /// A function begins.
    pub(super) fn enters(&mut self, at: i64, thread: i64, function: u32) {
        self.totals.enters += 1;
        self.function(function).enters += 1;
        let open = self.open.entry(thread).or_default();
        if open.len() < MAX_DEPTH {
            let caller = open.last().map(|open| open.node);
            let node = self.calls.called(thread, caller, function);
            open.push(Open { function, from: at, node, below_ns: 0, whole: true });
        } else {
            self.totals.unmatched_enters += 1;
        }
    }

    /// A function ends, and gives when it began. Those that it called have ended before it, seen or
    /// not.
    pub(super) fn exits(&mut self, at: i64, thread: i64, function: u32) -> Option<i64> {
        self.totals.exits += 1;
        self.function(function).exits += 1;
        let open = self.open.entry(thread).or_default();
        let Some(place) = open.iter().rposition(|open| open.function == function) else {
            self.totals.unmatched_exits += 1;
            return None;
        };
        let Open { from, node, whole, .. } = open[place];
        if !whole {
            self.totals.unmatched_enters += (open.len() - place) as u64;
            self.totals.unmatched_exits += 1;
            open.truncate(place);
            return None;
        }
        // What an unmatched call has made is time below the matched one all the same.
        let below = open[place..].iter().map(|open| open.below_ns).fold(0, u64::saturating_add);
        self.totals.unmatched_enters += (open.len() - place - 1) as u64;
        open.truncate(place);
        let time = length(from, at);
        if let Some(caller) = open.last_mut() {
            caller.below_ns = caller.below_ns.saturating_add(time);
        }
        self.calls.ended(node, time.saturating_sub(below));
        self.totals.calls += 1;
        let seen = self.function(function);
        seen.calls += 1;
        seen.total_ns = seen.total_ns.saturating_add(time);
        seen.max_ns = seen.max_ns.max(time);
        Some(from)
    }

    /// Events are missing, and exits perhaps among them. What has begun stays the caller of what
    /// begins next, and has no time.
    pub(super) fn lost(&mut self) {
        let open = self.open.values_mut().flatten();
        open.for_each(|open| open.whole = false);
    }

    /// The functions, and their calls by call chain.
    pub(super) fn finish(self, names: &dyn Names) -> (Option<FunctionsSeen>, Calls) {
        if self.functions.is_empty() {
            return (None, Calls::default());
        }
        let mut totals = self.totals;
        totals.unmatched_enters += self.open.values().map(|open| open.len() as u64).sum::<u64>();
        totals.functions = self.functions.into_values().collect();
        totals.entered_functions = totals.functions.iter().filter(|f| f.enters > 0).count() as u64;
        totals.functions.sort_by_key(|f| (std::cmp::Reverse(f.enters), f.address));
        totals.functions.iter_mut().for_each(|f| f.name = names.name(f.address));
        (Some(totals), self.calls)
    }
}

/// Stacks so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Stacks(BTreeMap<i64, StackSeen>);

impl Stacks {
    /// So many bytes are on a thread's stack.
    pub(super) fn depth(&mut self, at: i64, thread: i64, function: u32, bytes: u64) {
        let stack = self
            .0
            .entry(thread)
            .or_insert_with(|| StackSeen { id: thread, ..StackSeen::default() });
        stack.samples += 1;
        if bytes > stack.peak_bytes {
            (stack.peak_bytes, stack.peak_ns, stack.peak_function) = (bytes, Some(at), function);
        }
    }

    /// Deepest first.
    pub(super) fn finish(
        self,
        names: &dyn Names,
        thread: impl Fn(i64) -> Option<String>,
    ) -> Vec<StackSeen> {
        let mut all: Vec<StackSeen> = self.0.into_values().collect();
        all.sort_by_key(|stack| (std::cmp::Reverse(stack.peak_bytes), stack.id));
        for stack in &mut all {
            stack.name = thread(stack.id);
            stack.peak_name = names.name(stack.peak_function);
        }
        all
    }
}
