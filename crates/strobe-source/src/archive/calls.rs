//! Calls by call chain, with the time that each took by itself.

use std::collections::HashMap;

/// Call chains that are distinguished; beyond that a call counts for its caller.
const MAX_NODES: usize = 1 << 20;

/// A call chain, by its place among [`Calls::nodes`].
pub(super) type Node = u32;

/// Calls of a function by one chain of callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CallNode {
    /// The caller's chain, which comes before it.
    pub(super) caller: Option<Node>,
    /// The thread.
    pub(super) thread: i64,
    /// The function's address.
    pub(super) function: u32,
    /// Calls of which entry and exit are there.
    pub(super) calls: u64,
    /// Their time without that of the calls that they made.
    pub(super) self_ns: u64,
}

/// Calls by call chain.
#[derive(Debug, Clone, Default)]
pub(super) struct Calls {
    nodes: Vec<CallNode>,
    index: HashMap<(Option<Node>, i64, u32), Node>,
    merged: u64,
}

impl Calls {
    /// The chain of a call that begins.
    pub(super) fn called(&mut self, thread: i64, caller: Option<Node>, function: u32) -> Node {
        let key = (caller, thread, function);
        if let Some(node) = self.index.get(&key) {
            return *node;
        }
        if let Some(caller) = caller.filter(|_| self.nodes.len() >= MAX_NODES) {
            self.merged += 1;
            return caller;
        }
        let node = self.nodes.len() as Node;
        self.nodes.push(CallNode { caller, thread, function, calls: 0, self_ns: 0 });
        self.index.insert(key, node);
        node
    }

    /// A call has ended that took so much time by itself.
    pub(super) fn ended(&mut self, node: Node, self_ns: u64) {
        if let Some(node) = self.nodes.get_mut(node as usize) {
            node.calls += 1;
            node.self_ns = node.self_ns.saturating_add(self_ns);
        }
    }

    /// All chains, callers before what they call.
    pub(super) fn nodes(&self) -> &[CallNode] {
        &self.nodes
    }

    /// Calls that count for their callers, because there are too many chains.
    pub(super) fn merged(&self) -> u64 {
        self.merged
    }
}

#[cfg(test)]
mod tests {
    use super::super::NoNames;
    use super::super::functions::Functions;
    use super::*;

    #[test]
    fn time_belongs_to_the_innermost_call() {
        let mut functions = Functions::default();
        functions.enters(0, 1, 0xa);
        functions.enters(10, 1, 0xb);
        // Another thread, whose times are its own.
        functions.enters(12, 2, 0xb);
        functions.exits(15, 2, 0xb);
        functions.exits(30, 1, 0xb);
        // The exit of 0xc is lost; 0xd, which it called, took 4.
        functions.enters(40, 1, 0xc);
        functions.enters(41, 1, 0xd);
        functions.exits(45, 1, 0xd);
        functions.exits(100, 1, 0xa);
        let (_, calls) = functions.finish(&NoNames);
        let node = |caller, thread, function, calls, self_ns| CallNode {
            caller,
            thread,
            function,
            calls,
            self_ns,
        };
        let wanted = [
            node(None, 1, 0xa, 1, 100 - 20 - 4),
            node(Some(0), 1, 0xb, 1, 20),
            node(None, 2, 0xb, 1, 3),
            node(Some(0), 1, 0xc, 0, 0),
            node(Some(3), 1, 0xd, 1, 4),
        ];
        assert_eq!(calls.nodes(), wanted);
        assert_eq!(calls.merged(), 0);
    }
}
