//! Which blocks are compiled together.

use std::collections::{BTreeSet, HashMap, VecDeque};

use super::effect;
use crate::cores::arm::block::{Block, BlockId, Blocks, NONE};
use crate::cores::arm::insn::{Condition, Insn};
use crate::cores::arm::timing::{MOST_FOR_OPERANDS, most_for_long_multiply};
use crate::kernel::bus::Bus;

/// Most blocks of a region.
const MOST_BLOCKS: usize = 96;
/// Most instructions of a region: compiling takes a little more than linear time.
const MOST_INSTRUCTIONS: usize = 1000;

/// A block in a region.
pub(super) struct Member<'a> {
    pub(super) id: BlockId,
    pub(super) block: &'a Block,
    /// Its successor at its end, if inside the region.
    pub(super) next: Option<usize>,
    /// Its direct jump's target, if inside the region.
    pub(super) target: Option<usize>,
    /// Targets of its computed jump inside the region.
    pub(super) computed: Vec<usize>,
}

/// A region to be compiled.
pub(super) struct Plan<'a> {
    /// In order of address.
    pub(super) blocks: Vec<Member<'a>>,
    /// Which of them can be entered from outside: entry number to block number.
    pub(super) entries: Vec<usize>,
    /// Instructions that do or cost something else from run to run.
    pub(super) events: Vec<Place>,
}

/// What an instruction may do otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Otherwise {
    /// Nothing, its condition having failed.
    Skipped,
    /// Take longer than the least, by so many cycles at most.
    Longer(u32),
    /// Wait so many cycles for RAM that answers late at first.
    WaitsFirst(u8),
    /// Wait for the target of its jump, that of the region's block with this number.
    Arrives(usize),
    /// Need another cycle because of where its jump goes.
    ArrivesLate,
}

/// An instruction of a region: block number and place in the block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) block: usize,
    pub(super) at: usize,
    pub(super) otherwise: Otherwise,
}

/// The region around a hot block: what it reaches by direct jumps inside its function, as far as
/// that has run `warm` times.
pub(super) fn plan<'a>(blocks: &'a Blocks, bus: &Bus, hot: BlockId, warm: u32) -> Option<Plan<'a>> {
    if !suits(&blocks.all[hot as usize], bus) {
        return None;
    }
    let mut members = BTreeSet::new();
    let mut instructions = 0;
    let mut queue = VecDeque::from([hot]);
    while let Some(id) = queue.pop_front() {
        let block = &blocks.all[id as usize];
        let full = members.len() == MOST_BLOCKS || instructions > MOST_INSTRUCTIONS;
        if full || !suits(block, bus) || !members.insert((block.start, id)) {
            continue;
        }
        instructions += block.insns.len();
        // After a call the function goes on: that block is not a successor, but part of the loop.
        let after_call = block.is_call().then(|| blocks.lookup(block.end, bus));
        let successors = [next(block), target(block), after_call];
        let successors = successors.into_iter().flatten().chain(block.inside.iter().copied());
        let known = successors.filter(|&id| id != NONE);
        queue.extend(known.filter(|&id| blocks.all[id as usize].is_warm(warm)));
    }
    let number: HashMap<BlockId, usize> =
        members.iter().enumerate().map(|(at, &(_, id))| (id, at)).collect();
    let inside = |id: Option<BlockId>| id.and_then(|id| number.get(&id).copied());
    let blocks: Vec<Member> = members
        .iter()
        .map(|&(_, id)| {
            let block = &blocks.all[id as usize];
            let computed = block.inside.iter().filter_map(|&id| inside(Some(id))).collect();
            let (next, target) = (inside(next(block)), inside(target(block)));
            Member { id, block, next, target, computed }
        })
        .collect();
    let entries = entries(&blocks, number[&hot]);
    let mut events: Vec<Place> =
        (0..).zip(&blocks).flat_map(|(number, member)| events(number, member.block)).collect();
    (0..blocks.len()).for_each(|number| events.extend(arrivals(number, &blocks)));
    Some(Plan { blocks, entries, events })
}

fn events(block: usize, decoded: &Block) -> impl Iterator<Item = Place> {
    let place = move |at, otherwise| Place { block, at, otherwise };
    decoded.insns.iter().enumerate().flat_map(move |(at, insn)| {
        let skipped = decoded.condition(at).is_some().then(|| place(at, Otherwise::Skipped));
        let longer = most_for_operands(decoded, *insn);
        let longer = longer.map(|most| place(at, Otherwise::Longer(most)));
        let first = decoded.meta[at].first_wait;
        let first = (first > 0).then(|| place(at, Otherwise::WaitsFirst(first)));
        skipped.into_iter().chain(longer).chain(first)
    })
}

/// What a block's computed jump may wait for inside the region.
fn arrivals(block: usize, blocks: &[Member]) -> impl Iterator<Item = Place> {
    let (from, at) = (&blocks[block], blocks[block].block.body as usize);
    let arrival = |to: usize| blocks[to].block.arrival;
    let waits = from.computed.iter().filter(move |&&to| !arrival(to).wait.is_zero());
    let waits = waits.map(|&to| Otherwise::Arrives(to));
    let late = from.computed.iter().any(|&to| arrival(to).late > 0);
    waits.chain(late.then_some(Otherwise::ArrivesLate)).map(move |otherwise| Place {
        block,
        at,
        otherwise,
    })
}

/// The most that an instruction's operands add to its time, if that depends on them.
pub(super) fn most_for_operands(block: &Block, insn: Insn) -> Option<u32> {
    match insn {
        Insn::Divide { .. } => Some(MOST_FOR_OPERANDS),
        Insn::LongMul { op, .. } if block.multiplies_long => Some(most_for_long_multiply(op)),
        _ => None,
    }
}

/// Where the region can be entered: at the hot block, after calls, and at the head of each loop.
fn entries(blocks: &[Member], hot: usize) -> Vec<usize> {
    let mut entries = BTreeSet::from([hot]);
    let ends: BTreeSet<u32> =
        blocks.iter().filter(|m| m.block.is_call()).map(|m| m.block.end).collect();
    for (at, member) in blocks.iter().enumerate() {
        if ends.contains(&member.block.start) {
            entries.insert(at);
        }
        entries.extend(member.target.filter(|&to| to <= at));
    }
    entries.into_iter().collect()
}

/// Whether a block can be compiled.
fn suits(block: &Block, bus: &Bus) -> bool {
    let ends = block.insns.get(block.body as usize).is_none_or(|&last| effect::is_jump(last));
    block.is_outside_it()
        && !block.stop_here
        && !block.idle
        && ends
        && block.insns[..block.body as usize].iter().all(|&i| effect::is_known(i, bus))
}

fn next(block: &Block) -> Option<BlockId> {
    let ends = block.insns.get(block.body as usize);
    let goes_on = ends.is_none_or(|last| matches!(last, Insn::BCond { .. } | Insn::Cbz { .. }))
        || block.condition(block.body as usize).is_some();
    (goes_on && !block.falls_into_function).then_some(block.next)
}

fn target(block: &Block) -> Option<BlockId> {
    (!block.is_transfer).then_some(block.target)
}

impl Block {
    /// The condition under which an instruction executes, if that is not always.
    pub(super) fn condition(&self, at: usize) -> Option<Condition> {
        match self.it_at(at) {
            0 => None,
            _ if self.insns.get(at).is_none_or(|i| i.is_unconditional()) => None,
            it => Condition::from_bits(u16::from(it >> 4)),
        }
    }

    /// Neither begins nor ends inside an IT block.
    fn is_outside_it(&self) -> bool {
        self.it_at(0) == 0 && self.it_at(self.insns.len()) == 0
    }

    fn is_call(&self) -> bool {
        matches!(self.insns.last(), Some(Insn::Bl { .. } | Insn::Blx { .. }))
    }

    fn is_warm(&self, warm: u32) -> bool {
        self.heat >= warm || self.compiled.is_some()
    }
}
