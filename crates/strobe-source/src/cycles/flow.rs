//! A function's control flow: blocks, loops, and the cheapest and dearest ways through.

use std::ops::Range;

use crate::cycles::report::{CausedCycles, CycleRange};

/// One instruction with its price.
pub(crate) struct Step {
    pub address: u32,
    pub end: u32,
    /// Where it goes if it jumps, if that is known before.
    pub target: Option<u32>,
    /// It may jump or not.
    pub conditional: bool,
    /// What it jumps to comes back.
    pub calls: bool,
    /// The next instruction may come after it.
    pub falls_through: bool,
    /// Cycles without jumping.
    pub straight: CycleRange,
    pub always: Vec<CausedCycles>,
    pub sometimes: Vec<CausedCycles>,
    /// What jumping adds; empty for instructions that do not.
    pub jump: Vec<CausedCycles>,
    /// What decides its cycles besides the parts' conditions, or what comes on top.
    pub note: Option<String>,
}

impl Step {
    pub fn jump_cost(&self) -> CycleRange {
        self.jump.iter().fold(CycleRange::exact(0), |sum, part| sum.plus(part.cycles))
    }

    /// Cycles whichever way it goes.
    pub fn cycles(&self) -> CycleRange {
        let jumping = self.straight.plus(self.jump_cost());
        if self.conditional { self.straight.or(jumping) } else { jumping }
    }

    /// It jumps to an address that only the run knows.
    pub fn goes_anywhere(&self) -> bool {
        !self.jump.is_empty() && self.target.is_none()
    }
}

/// Instructions `first..=last` that run together.
pub(crate) struct Block {
    pub first: usize,
    pub last: usize,
    /// Cycles of one pass, whichever way it is left.
    pub cycles: CycleRange,
    /// (block, cycles up to its start when leaving this way).
    successors: Vec<(usize, CycleRange)>,
    /// Cycles when the function is left here: by return, tail call, or for ever.
    leaves: Option<CycleRange>,
}

/// A natural loop.
pub(crate) struct Loop {
    pub header: usize,
    /// Block with the branch back.
    pub latch: usize,
    pub body: Vec<usize>,
    pub depth: u32,
    pub per_iteration: CycleRange,
}

/// The flow graph.
pub(crate) struct Flow {
    pub blocks: Vec<Block>,
    pub loops: Vec<Loop>,
    /// Blocks in reverse post-order.
    order: Vec<usize>,
    position: Vec<usize>,
}

/// Loops found in one function; code with more is generated and not read by people.
const MAX_LOOPS: usize = 512;

impl Flow {
    pub fn new(steps: &[Step], range: Range<u32>) -> Self {
        let blocks = blocks(steps, &range);
        let order = reverse_post_order(&blocks);
        let mut position = vec![usize::MAX; blocks.len()];
        order.iter().enumerate().for_each(|(at, &block)| position[block] = at);
        let mut flow = Flow { blocks, loops: Vec::new(), order, position };
        flow.find_loops();
        flow
    }

    /// From entry to leaving the function, each loop passed once.
    pub fn once_through(&self, steps: &[Step]) -> Option<CycleRange> {
        if steps.is_empty() {
            return None;
        }
        let inside: Vec<bool> = vec![true; self.blocks.len()];
        let reached = self.reach(0, &inside);
        let ends = self.blocks.iter().zip(&reached).filter_map(|(block, at)| {
            let (least, most) = (*at)?;
            let leaves = block.leaves?;
            Some((least.plus(leaves), most.plus(leaves)))
        });
        ends.reduce(|a, b| (least(a.0, b.0), most(a.1, b.1))).map(|(a, b)| a.or(b))
    }

    /// Least and most cycles from the start of `from` to the start of each block inside, going
    /// forward only.
    fn reach(&self, from: usize, inside: &[bool]) -> Vec<Option<(CycleRange, CycleRange)>> {
        let mut reached = vec![None; self.blocks.len()];
        reached[from] = Some((CycleRange::exact(0), CycleRange::exact(0)));
        let start = self.position[from];
        for &block in self.order.get(start..).unwrap_or_default() {
            let Some((low, high)) = reached[block] else { continue };
            for &(next, cost) in &self.blocks[block].successors {
                if !inside[next] || self.position[next] <= self.position[block] {
                    continue;
                }
                let (a, b) = (low.plus(cost), high.plus(cost));
                reached[next] = Some(match reached[next] {
                    None => (a, b),
                    Some((x, y)) => (least(x, a), most(y, b)),
                });
            }
        }
        reached
    }

    fn find_loops(&mut self) {
        let predecessors = self.predecessors();
        let mut found: Vec<Loop> = Vec::new();
        for (latch, block) in self.blocks.iter().enumerate() {
            for &(header, cost) in &block.successors {
                let backward = self.position[header] <= self.position[latch];
                if !backward || self.position[latch] == usize::MAX || found.len() >= MAX_LOOPS {
                    continue;
                }
                let Some(body) = body(header, latch, &predecessors) else { continue };
                let mut inside = vec![false; self.blocks.len()];
                body.iter().for_each(|&b| inside[b] = true);
                let Some((low, high)) = self.reach(header, &inside)[latch] else { continue };
                let per_iteration = low.plus(cost).or(high.plus(cost));
                found.push(Loop { header, latch, body, depth: 0, per_iteration });
            }
        }
        for i in 0..found.len() {
            let around = found.iter().filter(|o| {
                o.body.len() > found[i].body.len() && o.body.contains(&found[i].header)
            });
            found[i].depth = around.count() as u32;
        }
        found.sort_by_key(|l| (self.blocks[l.header].first, l.depth));
        self.loops = found;
    }

    fn predecessors(&self) -> Vec<Vec<usize>> {
        let mut all = vec![Vec::new(); self.blocks.len()];
        for (from, block) in self.blocks.iter().enumerate() {
            block.successors.iter().for_each(|&(to, _)| all[to].push(from));
        }
        all
    }
}

/// The blocks from which `latch` is reached without passing `header`; `None` when the entry is
/// among them: then the header does not lead every iteration and this is no natural loop.
fn body(header: usize, latch: usize, predecessors: &[Vec<usize>]) -> Option<Vec<usize>> {
    let mut body = vec![header];
    let mut todo = vec![latch];
    while let Some(block) = todo.pop() {
        if body.contains(&block) {
            continue;
        }
        if block == 0 {
            return None;
        }
        body.push(block);
        todo.extend(&predecessors[block]);
    }
    body.sort_unstable();
    Some(body)
}

fn blocks(steps: &[Step], range: &Range<u32>) -> Vec<Block> {
    let index = |address: u32| steps.binary_search_by_key(&address, |s| s.address).ok();
    let mut leader = vec![false; steps.len()];
    if let Some(first) = leader.first_mut() {
        *first = true;
    }
    for (i, step) in steps.iter().enumerate() {
        if !step.calls
            && let Some(target) = step.target.filter(|t| range.contains(t)).and_then(index)
        {
            leader[target] = true;
        }
        let gap = steps.get(i + 1).is_some_and(|next| next.address != step.end);
        let ends = (!step.jump.is_empty() && !step.calls) || !step.falls_through || gap;
        if ends && i + 1 < steps.len() {
            leader[i + 1] = true;
        }
    }
    let firsts: Vec<usize> = (0..steps.len()).filter(|&i| leader[i]).collect();
    let block_at = |address: u32| firsts.binary_search(&index(address)?).ok();
    let build = |(n, &first): (usize, &usize)| {
        let last = firsts.get(n + 1).map_or(steps.len(), |&next| next) - 1;
        // Calls inside a block jump, too: whether or not the callee is looked at, they refill.
        let before =
            steps[first..last].iter().fold(CycleRange::exact(0), |n, s| n.plus(s.cycles()));
        let step = &steps[last];
        let straight = before.plus(step.straight);
        let jumping = straight.plus(step.jump_cost());
        let mut successors = Vec::new();
        let mut leaves = None;
        if !step.calls && !step.jump.is_empty() {
            match step.target.filter(|t| range.contains(t)).and_then(block_at) {
                Some(target) => successors.push((target, jumping)),
                None => leaves = Some(jumping),
            }
        }
        if step.falls_through {
            let cost = if step.calls { jumping } else { straight };
            match block_at(step.end) {
                Some(next) => successors.push((next, cost)),
                None => leaves = Some(cost),
            }
        }
        Block { first, last, cycles: before.plus(step.cycles()), successors, leaves }
    };
    firsts.iter().enumerate().map(build).collect()
}

fn reverse_post_order(blocks: &[Block]) -> Vec<usize> {
    let mut seen = vec![false; blocks.len()];
    let mut order = Vec::new();
    if blocks.is_empty() {
        return order;
    }
    // (block, successors already visited): an explicit stack, since functions may be very long.
    let mut stack = vec![(0usize, 0usize)];
    seen[0] = true;
    while let Some((block, at)) = stack.pop() {
        match blocks[block].successors.get(at) {
            None => order.push(block),
            Some(&(next, _)) => {
                stack.push((block, at + 1));
                if !std::mem::replace(&mut seen[next], true) {
                    stack.push((next, 0));
                }
            }
        }
    }
    order.reverse();
    order
}

fn least(a: CycleRange, b: CycleRange) -> CycleRange {
    if (b.min, b.max) < (a.min, a.max) { b } else { a }
}

fn most(a: CycleRange, b: CycleRange) -> CycleRange {
    if (b.max, b.min) > (a.max, a.min) { b } else { a }
}
