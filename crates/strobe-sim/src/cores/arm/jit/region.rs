//! Which blocks are compiled together.

use std::collections::{BTreeSet, HashMap, VecDeque};

use super::{Hot, effect};
use crate::cores::arm::block::{Block, BlockId, Blocks, NONE};
use crate::cores::arm::timing::{MOST_FOR_OPERANDS, most_for_long_multiply};
use crate::kernel::bus::Bus;
use strobe_isa::thumb::insn::{Condition, Insn};

/// Most blocks of a region.
const MOST_BLOCKS: usize = 160;
/// Most instructions of a region: compiling takes a little more than linear time.
const MOST_INSTRUCTIONS: usize = 1000;
/// A region that is cut short has at least room for so many instructions: of smaller ones, most
/// jumps would lead out.
const LEAST: usize = 100;
/// Most regions that a block is part of.
const MOST_REGIONS: u8 = 3;
/// The same where it calls what is not in the region, or can be entered in none of them.
const MOST_REGIONS_WITH_CALLS: u8 = 6;
/// Most instructions of a region that others have already.
const MOST_AGAIN: usize = 200;

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
pub(super) enum Variation {
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
    pub(super) otherwise: Variation,
}

/// The region around a hot block: what it reaches by direct jumps inside its function, as far as
/// that has run often enough; of `most` instructions at most.
pub(super) fn plan<'a>(blocks: &'a Blocks, bus: &Bus, hot: Hot, most: usize) -> Option<Plan<'a>> {
    let most = most.min(MOST_INSTRUCTIONS);
    let first = &blocks.all[hot.block as usize];
    // Where the flow keeps coming from outside, there must be an entry.
    let is_entry = first.compiled.is_some();
    let most_regions = if hot.again || !is_entry { MOST_REGIONS_WITH_CALLS } else { MOST_REGIONS };
    if !suits(first, bus) || first.insns.len() > most || first.regions >= most_regions {
        return None;
    }
    let growth = Growth { blocks, bus, hot, most };
    // What other regions have already comes along where all that belongs together fits, so that
    // loops around loops become one region. What does not fit is compiled once.
    let members = growth.members(true).or_else(|| growth.members(false))?.blocks;
    let has = |id: BlockId| members.contains(&(blocks.all[id as usize].start, id));
    if hot.again && !growth.called(first).any(has) {
        return None;
    }
    let number: HashMap<BlockId, usize> =
        members.iter().enumerate().map(|(at, &(_, id))| (id, at)).collect();
    let inside = |id: Option<BlockId>| id.and_then(|id| number.get(&id).copied());
    let members: Vec<Member> = members
        .iter()
        .map(|&(_, id)| {
            let block = &blocks.all[id as usize];
            let computed = block.computed.iter().filter_map(|&id| inside(Some(id))).collect();
            let (next, target) = (inside(next(block)), inside(target(block)));
            Member { id, block, next, target, computed }
        })
        .collect();
    let mut entries = entries(&members, number[&hot.block]);
    entries.extend(from_outside(blocks, &number));
    let mut events: Vec<Place> =
        (0..).zip(&members).flat_map(|(number, member)| events(number, member.block)).collect();
    (0..members.len()).for_each(|number| events.extend(arrivals(number, &members)));
    Some(Plan { blocks: members, entries: entries.into_iter().collect(), events })
}

/// Blocks on their way into a region.
#[derive(Default)]
struct Members {
    blocks: BTreeSet<(u32, BlockId)>,
    instructions: usize,
    /// Of these, those that other regions have already.
    others: usize,
}

impl Members {
    fn add(&mut self, more: Members) {
        self.blocks.extend(more.blocks);
        self.instructions += more.instructions;
        self.others += more.others;
    }
}

/// How the region around a hot block is found.
struct Growth<'a> {
    blocks: &'a Blocks,
    bus: &'a Bus,
    hot: Hot,
    most: usize,
}

impl Growth<'_> {
    /// The region's blocks by address. `again`: with those that are part of other regions, or
    /// nothing if not all fit.
    fn members(&self, again: bool) -> Option<Members> {
        let mut members = Members::default();
        let mut called = VecDeque::from([self.hot.block]);
        while let Some(id) = called.pop_front() {
            // The function first. What it calls comes along whole, wherever else it is compiled, or
            // not at all: from a part, the flow would soon lead out.
            let first = members.blocks.is_empty();
            let again = again || !first;
            let Some(more) = self.function(id, again, first, &members) else {
                if first {
                    return None;
                }
                continue;
            };
            for &(_, id) in &more.blocks {
                called.extend(self.called(&self.blocks.all[id as usize]));
            }
            members.add(more);
        }
        Some(members)
    }

    /// The blocks of a function from one on that are not members yet. If not all fit: as many as
    /// do, if `cut` and none of them is compiled yet, or nothing.
    fn function(&self, from: BlockId, again: bool, cut: bool, known: &Members) -> Option<Members> {
        let mut members = Members::default();
        let mut queue = VecDeque::from([from]);
        while let Some(id) = queue.pop_front() {
            let block = &self.blocks.all[id as usize];
            let at = (block.start, id);
            let is_known = members.blocks.contains(&at) || known.blocks.contains(&at);
            if is_known || !self.comes_along(id, again) {
                continue;
            }
            let instructions = known.instructions + members.instructions + block.insns.len();
            let other = if again && block.regions > 0 { block.insns.len() } else { 0 };
            let others = known.others + members.others + other;
            let most_again = if self.hot.again { MOST_INSTRUCTIONS } else { MOST_AGAIN };
            let fits = instructions <= self.most && others <= most_again;
            if known.blocks.len() + members.blocks.len() == MOST_BLOCKS || !fits {
                if again || !cut || self.most < LEAST {
                    return None;
                }
                continue;
            }
            members.blocks.insert(at);
            members.instructions += block.insns.len();
            members.others += other;
            queue.extend(self.successors(block));
        }
        Some(members)
    }

    fn comes_along(&self, id: BlockId, again: bool) -> bool {
        let block = &self.blocks.all[id as usize];
        let new = block.regions == 0 || again && block.regions < self.most_regions();
        id == self.hot.block || new && block.is_warm(self.hot.warm) && suits(block, self.bus)
    }

    fn most_regions(&self) -> u8 {
        if self.hot.again { MOST_REGIONS_WITH_CALLS } else { MOST_REGIONS }
    }

    fn successors(&self, block: &Block) -> impl Iterator<Item = BlockId> {
        // After a call the function goes on: that block is not a successor, but part of the loop.
        let after_call = block.is_call().then(|| self.blocks.lookup(block.end, self.bus));
        let target = target(block).filter(|_| !block.is_transfer);
        let direct = [next(block), target, after_call].into_iter().flatten();
        let computed = block.computed.iter().copied().filter(|_| block.by_table);
        direct.chain(computed).filter(|&id| id != NONE)
    }

    /// Where a block's call leads, or its jump out of the function. Returns lead nowhere: callers
    /// bring along what they call.
    fn called(&self, block: &Block) -> impl Iterator<Item = BlockId> {
        let direct = target(block).filter(|_| block.is_transfer);
        let computed = block.computed.iter().copied().filter(|_| block.calls);
        direct.into_iter().chain(computed).filter(|&id| id != NONE)
    }
}

fn events(block: usize, decoded: &Block) -> impl Iterator<Item = Place> {
    let place = move |at, otherwise| Place { block, at, otherwise };
    decoded.insns.iter().enumerate().flat_map(move |(at, insn)| {
        let skipped = decoded.condition(at).is_some().then(|| place(at, Variation::Skipped));
        let longer = most_for_operands(decoded, *insn);
        let longer = longer.map(|most| place(at, Variation::Longer(most)));
        let first = decoded.meta[at].first_wait;
        let first = (first > 0).then(|| place(at, Variation::WaitsFirst(first)));
        skipped.into_iter().chain(longer).chain(first)
    })
}

/// What a block's computed jump may wait for inside the region.
fn arrivals(block: usize, blocks: &[Member]) -> impl Iterator<Item = Place> {
    let (from, at) = (&blocks[block], blocks[block].block.body as usize);
    let arrival = |to: usize| blocks[to].block.arrival;
    let waits = from.computed.iter().filter(move |&&to| !arrival(to).wait.is_zero());
    let waits = waits.map(|&to| Variation::Arrives(to));
    let late = from.computed.iter().any(|&to| arrival(to).late > 0);
    waits.chain(late.then_some(Variation::ArrivesLate)).map(move |otherwise| Place {
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

/// Where the region can be entered: at the hot block, at the beginning of functions, after calls,
/// and at the head of each loop.
fn entries(blocks: &[Member], hot: usize) -> BTreeSet<usize> {
    let mut entries = BTreeSet::from([hot]);
    let ends: BTreeSet<u32> =
        blocks.iter().filter(|m| m.block.is_call()).map(|m| m.block.end).collect();
    for (at, member) in blocks.iter().enumerate() {
        if member.block.function.1 || ends.contains(&member.block.start) {
            entries.insert(at);
        }
        entries.extend(member.target.filter(|&to| to <= at));
    }
    entries
}

/// Blocks that other regions go on to.
fn from_outside<'a>(
    blocks: &'a Blocks,
    number: &'a HashMap<BlockId, usize>,
) -> impl Iterator<Item = usize> + 'a {
    let compiled = (0..).zip(&blocks.all).filter(|(_, block)| block.regions > 0);
    let outside = compiled.filter(|(id, _)| !number.contains_key(id));
    let successors = outside.flat_map(|(_, block)| [next(block), target(block)]);
    successors.flatten().filter_map(|id| number.get(&id).copied())
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
    Some(block.target)
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
