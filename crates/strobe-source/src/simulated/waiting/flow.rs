//! Where the flow of a function goes from each of its instructions, and the loops in it.
//!
//! A loop is what can be come back to: the strongly connected instructions, which are not always
//! neighbours. Compilers put the way out of a loop between its instructions, and rarely taken
//! parts of its body far behind.

use std::collections::BTreeSet;

use petgraph::algo::kosaraju_scc;
use petgraph::graph::{DiGraph, NodeIndex};
use strobe_symbols::{Instruction, Machine};

/// Loops within loops that are looked into.
const NESTED: usize = 8;

/// Ways round of one loop that are looked at.
const MOST_PARTS: usize = 8;

/// A loop: numbers of its instructions in their function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Loop {
    /// In the order of a turn: from where it is entered to the end, and on from its beginning.
    pub turn: Vec<usize>,
    /// Where it is entered.
    entries: BTreeSet<usize>,
    /// It is one way round of a loop with several that begin alike: a loop within a loop, or one
    /// that does something else in some turns.
    pub part: bool,
}

impl Loop {
    /// Whether each turn comes through all of its instructions.
    pub(super) fn has_one_way(&self, flow: &Flow) -> bool {
        self.turn.iter().all(|&at| self.always_passes(flow, at))
    }

    /// The loops within a turn: what can be come back to there before the next turn begins.
    pub(super) fn inner(&self, flow: &Flow) -> Vec<Loop> {
        let body: BTreeSet<usize> = self.turn.iter().copied().collect();
        flow.connected(&body, &self.entries).map(|inside| flow.entered(&inside)).collect()
    }

    /// Whether each turn comes through one of these instructions of it.
    pub(super) fn passes_one_of(&self, flow: &Flow, these: &BTreeSet<usize>) -> bool {
        let comes_round = |&entry: &usize| {
            !these.contains(&entry) && self.comes_round(flow, entry, |at| these.contains(&at))
        };
        !self.entries.iter().any(comes_round)
    }

    pub(super) fn has_one_entry(&self) -> bool {
        self.entries.len() == 1
    }

    /// Whether the flow may come to an instruction of it from elsewhere.
    pub(super) fn is_entered_at(&self, at: usize) -> bool {
        self.entries.contains(&at)
    }

    /// The same loop with turns that begin elsewhere: where it is entered and, if there is one way
    /// round, wherever that jumps to.
    pub(super) fn turns(&self, flow: &Flow) -> Vec<Loop> {
        let jumped = |at: &usize| flow.previous[*at].iter().any(|from| from + 1 != *at);
        let most = if self.has_one_way(flow) { self.turn.len() } else { 0 };
        let begins = (1..most).filter(|&n| jumped(&self.turn[n]));
        let turned = |n: usize| {
            let mut turn = self.turn.clone();
            turn.rotate_left(n);
            Loop { turn, ..self.clone() }
        };
        std::iter::once(0).chain(begins).map(turned).collect()
    }
}

/// The flow of one function.
pub(super) struct Flow {
    /// Of each instruction those that may be next.
    next: Vec<Vec<usize>>,
    /// Those that it may be the next of.
    previous: Vec<Vec<usize>>,
}

/// Conditions of instructions and branches.
pub(super) const CONDITIONS: [&str; 16] = [
    "eq", "ne", "hs", "cs", "lo", "cc", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le",
];

/// A mnemonic without its condition and whether it has one.
pub(super) fn unconditional(name: &str) -> (&str, bool) {
    let condition = name.get(name.len().saturating_sub(2)..).unwrap_or_default();
    match CONDITIONS.contains(&condition) {
        true => (&name[..name.len() - 2], true),
        false => (name, false),
    }
}

impl Flow {
    /// The flow of a function of these instructions.
    pub(super) fn of(code: &[Instruction], machine: Machine) -> Flow {
        let at = |address: u32| code.binary_search_by_key(&address, |one| one.address).ok();
        let next = |(number, one): (usize, &Instruction)| {
            let (falls, jumps, skips) = match machine {
                Machine::Avr => avr(one),
                _ => arm(one),
            };
            let target = one.target.as_ref().filter(|_| jumps);
            let mut out: Vec<usize> =
                target.and_then(|to| at(to.address & !1)).into_iter().collect();
            out.extend((number + 1..=number + 2).take(usize::from(falls) + usize::from(skips)));
            out.retain(|&to| to < code.len());
            out
        };
        let next: Vec<Vec<usize>> = code.iter().enumerate().map(next).collect();
        let mut previous = vec![Vec::new(); next.len()];
        for (from, all) in next.iter().enumerate() {
            all.iter().for_each(|&to| previous[to].push(from));
        }
        Flow { next, previous }
    }

    /// The instructions that may be next.
    pub(super) fn next(&self, at: usize) -> &[usize] {
        &self.next[at]
    }

    /// The instructions that may have been before.
    pub(super) fn previous(&self, at: usize) -> &[usize] {
        &self.previous[at]
    }

    /// The loops, each behind the one around it.
    pub(super) fn loops(&self) -> Vec<Loop> {
        let mut out = Vec::new();
        let all: BTreeSet<usize> = (0..self.next.len()).collect();
        let mut open = vec![(all, BTreeSet::new(), 0)];
        while let Some((inside, closed, depth)) = open.pop() {
            for body in self.connected(&inside, &closed) {
                let found = self.entered(&body);
                if depth < NESTED {
                    let closed = closed.union(&found.entries).copied().collect();
                    open.push((body, closed, depth + 1));
                }
                let parts = self.parts(&found);
                out.push(found);
                out.extend(parts);
            }
        }
        out
    }

    /// The ways round of a loop by each of the jumps back to where it is entered, if there are
    /// several.
    fn parts(&self, of: &Loop) -> Vec<Loop> {
        let body: BTreeSet<usize> = of.turn.iter().copied().collect();
        let mut entries = of.entries.iter();
        let (Some(&entry), None) = (entries.next(), entries.next()) else { return Vec::new() };
        let inside =
            |at: usize| self.previous[at].iter().copied().filter(|from| body.contains(from));
        let back: Vec<usize> = inside(entry).collect();
        if back.len() < 2 {
            return Vec::new();
        }
        let way = |&from: &usize| {
            let (mut way, mut open) = (BTreeSet::from([entry]), vec![from]);
            while let Some(at) = open.pop() {
                if way.insert(at) {
                    open.extend(inside(at));
                }
            }
            let turn = way.range(entry..).chain(way.range(..entry)).copied().collect();
            Loop { turn, entries: of.entries.clone(), part: true }
        };
        back.iter().take(MOST_PARTS).map(way).collect()
    }

    /// What is strongly connected in there without jumps to those that are closed.
    fn connected(
        &self,
        inside: &BTreeSet<usize>,
        closed: &BTreeSet<usize>,
    ) -> impl Iterator<Item = BTreeSet<usize>> + use<> {
        let numbers: Vec<usize> = inside.iter().copied().collect();
        let place = |number: usize| numbers.binary_search(&number).ok().map(NodeIndex::new);
        let mut graph: DiGraph<usize, ()> = DiGraph::new();
        for &number in &numbers {
            graph.add_node(number);
        }
        for (from, &number) in numbers.iter().enumerate() {
            for &to in self.next[number].iter().filter(|to| !closed.contains(to)) {
                if let Some(to) = place(to) {
                    graph.add_edge(NodeIndex::new(from), to, ());
                }
            }
        }
        let is_loop = |nodes: &Vec<NodeIndex>| match nodes.as_slice() {
            [one] => graph.contains_edge(*one, *one),
            _ => true,
        };
        let found: Vec<BTreeSet<usize>> = (kosaraju_scc(&graph).iter())
            .filter(|nodes| is_loop(nodes))
            .map(|nodes| nodes.iter().map(|&node| graph[node]).collect())
            .collect();
        found.into_iter()
    }

    fn entered(&self, body: &BTreeSet<usize>) -> Loop {
        let is_entry =
            |at: &&usize| **at == 0 || self.previous[**at].iter().any(|from| !body.contains(from));
        let mut entries: BTreeSet<usize> = body.iter().filter(is_entry).copied().collect();
        if entries.is_empty() {
            // Nothing that is known leads there: a jump by a table does.
            entries.extend(body.first());
        }
        let from = entries.first().copied().unwrap_or_default();
        let turn = body.range(from..).chain(body.range(..from)).copied().collect();
        Loop { turn, entries, part: false }
    }
}

impl Loop {
    /// Whether each turn, from an entry to one again, comes through this instruction of it.
    pub(super) fn always_passes(&self, flow: &Flow, through: usize) -> bool {
        if self.entries.contains(&through) {
            return self.entries.len() == 1;
        }
        !self.entries.iter().any(|&entry| self.comes_round(flow, entry, |at| at == through))
    }

    /// Whether each turn comes through one of these instructions of it.
    pub(super) fn always_passes_one(&self, flow: &Flow, of: &BTreeSet<usize>) -> bool {
        !self.entries.iter().any(|&entry| self.comes_round(flow, entry, |at| of.contains(&at)))
    }

    /// Whether a way leads from behind one instruction of it to another in the same turn.
    pub(super) fn leads_on(&self, flow: &Flow, from: usize, to: usize) -> bool {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(at) = open.pop() {
            for &next in flow.next[at].iter().filter(|next| self.turn.contains(next)) {
                if next == to {
                    return true;
                }
                if !self.entries.contains(&next) && seen.insert(next) {
                    open.push(next);
                }
            }
        }
        false
    }

    /// Whether a way leads from behind this instruction of it to an entry without any of those
    /// that are `closed`.
    pub(super) fn comes_round(
        &self,
        flow: &Flow,
        from: usize,
        closed: impl Fn(usize) -> bool,
    ) -> bool {
        let body: BTreeSet<usize> = self.turn.iter().copied().collect();
        let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(at) = open.pop() {
            for &to in flow.next[at].iter().filter(|to| body.contains(to)) {
                if self.entries.contains(&to) {
                    return true;
                }
                if !closed(to) && seen.insert(to) {
                    open.push(to);
                }
            }
        }
        false
    }
}

/// Whether the flow may go on behind an instruction, whether it may jump to its target, and whether
/// it may skip one.
fn arm(one: &Instruction) -> (bool, bool, bool) {
    let name = one.mnemonic.trim_end_matches(".w").trim_end_matches(".n");
    let (plain, conditional) = match name {
        "bls" | "blo" | "blt" | "ble" => ("b", true),
        // Not conditions: `bics` has one, but jumps nowhere.
        "bl" | "blx" => return (true, false, false),
        _ => unconditional(name),
    };
    let leaves = matches!(plain, "bx" | "tbb" | "tbh" | "udf")
        || one.operands.contains("pc") && (plain.starts_with("pop") || plain.starts_with("ldm"))
        || one.operands.starts_with("pc,");
    match plain {
        "b" => (conditional, true, false),
        "cbz" | "cbnz" => (true, true, false),
        _ => (conditional || !leaves, false, false),
    }
}

fn avr(one: &Instruction) -> (bool, bool, bool) {
    match one.mnemonic.as_str() {
        "rjmp" | "jmp" => (false, true, false),
        "ret" | "reti" | "ijmp" | "eijmp" => (false, false, false),
        "sbrs" | "sbrc" | "sbis" | "sbic" | "cpse" => (true, false, true),
        name if name.starts_with("br") && name != "break" => (true, true, false),
        _ => (true, false, false),
    }
}

#[cfg(test)]
mod tests {
    use strobe_symbols::Reference;

    use super::*;

    /// Instructions of two bytes, by mnemonic and the number of what they jump to.
    fn flow(machine: Machine, code: &[(&str, Option<usize>)]) -> Flow {
        let one = |(number, &(mnemonic, to)): (usize, &(&str, Option<usize>))| Instruction {
            address: number as u32 * 2,
            size: 2,
            halfwords: [0; 2],
            mnemonic: mnemonic.to_owned(),
            operands: if mnemonic == "bx" { "lr".to_owned() } else { String::new() },
            target: to.map(|to| Reference { address: to as u32 * 2, symbol: None }),
            literal: None,
        };
        let code: Vec<Instruction> = code.iter().enumerate().map(one).collect();
        Flow::of(&code, machine)
    }

    fn turns(flow: &Flow) -> Vec<Vec<usize>> {
        flow.loops().into_iter().map(|one| one.turn).collect()
    }

    #[test]
    fn a_turn_begins_where_the_loop_is_entered_and_leaves_out_the_way_out() {
        // As compilers write `while`: the condition behind the body.
        let around = [("b", Some(3)), ("adds", None), ("adds", None), ("cmp", None)];
        let code = [&around[..], &[("bne.w", Some(1)), ("bx", None)]].concat();
        assert_eq!(turns(&flow(Machine::Arm, &code)), [[3, 4, 1, 2]]);
        // A return in the middle, and a part of the body behind the return.
        let code = [
            ("ldr", None),
            ("bls", Some(3)),
            ("bx", None),
            ("cmp", None),
            ("bhi", Some(6)),
            ("b", Some(0)),
            ("movs", None),
            ("b", Some(0)),
        ];
        assert_eq!(turns(&flow(Machine::Arm, &code))[0], [0, 1, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn loops_within_loops_come_behind_them() {
        let code = [("movs", None), ("subs", None), ("bne", Some(1)), ("subs", None)];
        let code = [&code[..], &[("bne", Some(0)), ("bx", None)]].concat();
        let flow = flow(Machine::Arm, &code);
        assert_eq!(turns(&flow), [vec![0, 1, 2, 3, 4], vec![1, 2]]);
        let outer = &flow.loops()[0];
        assert!(outer.always_passes(&flow, 3) && outer.always_passes(&flow, 0));
    }

    #[test]
    fn loops_that_begin_alike_are_parts_of_one() {
        // ldr; bpl back; str; bne back
        let code = [("ldr", None), ("bpl", Some(0)), ("str", None), ("bne", Some(0))];
        let found = flow(Machine::Arm, &[&code[..], &[("bx", None)]].concat()).loops();
        let found: Vec<_> = found.into_iter().map(|one| (one.turn, one.part)).collect();
        assert_eq!(
            found,
            [(vec![0, 1, 2, 3], false), (vec![0, 1], true), (vec![0, 1, 2, 3], true)]
        );
    }

    #[test]
    fn a_turn_may_have_loops_of_its_own() {
        // ldr; over: subs; bne over; cmp; bne back
        let code = [("ldr", None), ("subs", None), ("bne", Some(1)), ("cmp", None)];
        let arm = flow(Machine::Arm, &[&code[..], &[("bne", Some(0)), ("bx", None)]].concat());
        let outer = &arm.loops()[0];
        let inner: Vec<Vec<usize>> = outer.inner(&arm).into_iter().map(|one| one.turn).collect();
        assert_eq!(inner, [[1, 2]]);
        assert!(outer.passes_one_of(&arm, &BTreeSet::from([2, 3])) && outer.is_entered_at(0));
        assert!(!outer.passes_one_of(&arm, &BTreeSet::from([5])));
    }

    #[test]
    fn what_may_be_jumped_over_is_not_always_passed() {
        let code = [("ldr", None), ("bpl", Some(3)), ("adds", None), ("subs", None)];
        let code = [&code[..], &[("bne", Some(0)), ("bx", None)]].concat();
        let arm = flow(Machine::Arm, &code);
        let found = &arm.loops()[0];
        let always: Vec<bool> = (0..5).map(|at| found.always_passes(&arm, at)).collect();
        assert_eq!(always, [true, true, false, true, true]);
        // The way that leaves out the addition leads there in the next turn only.
        assert!(found.leads_on(&arm, 1, 2) && !found.leads_on(&arm, 3, 2));
        // Behind the addition, only the subtraction is on each way round.
        assert!(
            !found.comes_round(&arm, 2, |at| at == 3) && found.comes_round(&arm, 3, |at| at == 2)
        );
        // SBRC skips one.
        let code = [("in", None), ("sbrc", None), ("inc", None), ("rjmp", Some(0))];
        let avr = flow(Machine::Avr, &code);
        assert!(!avr.loops()[0].always_passes(&avr, 2));
    }
}
