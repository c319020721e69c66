//! Runs of instructions, decoded once: straight-line code up to the first change of flow.
//!
//! Everything about a block that does not depend on data is worked out when it is decoded, above
//! all its cycles, so that running it costs one addition and, if anybody counts, one increment.

mod build;
mod waits;

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use super::jit::Compiled;
use super::timing::{Cost, Timing};
use crate::kernel::bus::Bus;
use crate::kernel::flash::{HalfCycles, bounds};
use crate::kernel::observe::code::{Code, Instruction};
use strobe_isa::thumb::insn::Insn;
use strobe_model::Bounds;

pub(crate) use self::waits::{in_flash, jump_wait};
pub use crate::kernel::observe::code::BlockId;

/// Targets kept of a jump by a table.
const MOST_OF_TABLE: usize = 64;

/// Targets kept of another computed jump, the latest: more are rarely in one region.
const MOST_OTHERS: usize = 12;

/// What is known of one instruction in its block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Meta {
    /// Halfwords from the block's start.
    pub offset: u16,
    /// Bytes.
    pub size: u8,
    /// Zero-wait-state cycles.
    pub cost: Cost,
    /// Waits that this instruction always has: its literal lies in flash, or it accesses data
    /// while code comes over the same bus. The likely figure is whole cycles.
    pub data_wait: HalfCycles,
    /// Cycles that it waits where RAM answers late at first.
    pub first_wait: u8,
}

/// What arriving at a block by a jump to a computed address costs.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Arrival {
    /// Waits for flash or the system bus.
    pub(crate) wait: HalfCycles,
    /// Further cycles of the refill ([`Timing::refill_at`]).
    pub(crate) late: u8,
}

/// A block.
#[derive(Debug, Clone)]
pub struct Block {
    /// Address of the first instruction.
    pub start: u32,
    /// Address after the last instruction.
    pub end: u32,
    /// The instructions; the last one may change the flow.
    pub insns: Box<[Insn]>,
    /// What goes with each instruction.
    pub meta: Box<[Meta]>,
    /// Instructions before a last one that ends the block (all of them if none does).
    pub(crate) body: u32,
    /// Zero-wait-state cycles when the flow goes on at `end`.
    pub(crate) cycles: u32,
    /// The most the block can take; the fast path runs it only if nothing can happen before that.
    pub(crate) worst: u32,
    /// Further cycles when the last instruction jumps.
    pub(crate) refill: u32,
    /// Cost of the jump's target in flash, when the target is known.
    pub(crate) target_wait: HalfCycles,
    /// Address of the last instruction.
    pub(crate) last_at: u32,
    /// Where the direct jump goes; `end` if there is none.
    pub(crate) jump_to: u32,
    /// The last instruction is a call.
    pub(crate) calls: bool,
    /// The last instruction jumps by a table.
    pub(crate) by_table: bool,
    /// The direct branch goes to another function (or past this one's end): observers must know.
    pub(crate) leaves_function: bool,
    /// Going on at `end` enters another function.
    pub(crate) falls_into_function: bool,
    /// The direct jump may change the running function: a call, or out of the function.
    pub(crate) is_transfer: bool,
    /// What a computed jump to the block costs.
    pub(crate) arrival: Arrival,
    /// Cycles that [`Arrival::late`] has cost the jump at the block's end and that no observer
    /// knows of yet.
    pub(crate) late: u64,
    /// Where computed jumps from here have gone, as far as kept: those of a table inside the
    /// function, calls and returns anywhere.
    pub(crate) computed: Vec<BlockId>,
    /// The function that the block lies in, by number, and whether that begins here.
    pub(crate) function: (u32, bool),
    /// Successors found so far: after `end`, and the direct jump's target.
    pub(crate) next: BlockId,
    pub(crate) target: BlockId,
    /// See [`Block::is_idle_loop`].
    pub(crate) idle: bool,
    /// A stop was asked for at the block's first instruction.
    pub(crate) stop_here: bool,
    /// Runs in the interpreter since it was last looked at for compiling.
    #[cfg_attr(not(feature = "compiler"), expect(dead_code, reason = "nothing gets hot"))]
    pub(crate) heat: u32,
    /// Compiled regions that it is part of.
    #[cfg_attr(not(feature = "compiler"), expect(dead_code, reason = "nothing is compiled"))]
    pub(crate) regions: u8,
    /// Its compiled code, if it can be entered here.
    pub(super) compiled: Option<Compiled>,
    /// ITSTATE before each instruction and behind the last; empty if it is zero throughout.
    pub(crate) it: Box<[u8]>,
    /// No conditions and no time that depends on operands: every run does and costs the same.
    pub(crate) plain: bool,
    /// An instruction writes the stack pointer.
    pub(crate) moves_stack: bool,
    /// A multiplication's time depends on its operands, which only the interpreter looks at.
    #[cfg_attr(not(feature = "compiler"), expect(dead_code, reason = "nothing is compiled"))]
    pub(crate) multiplies_long: bool,
}

impl Meta {
    /// Waits of a literal in flash, in whole cycles.
    pub fn literal_bounds(&self) -> Bounds {
        bounds(self.data_wait, self.data_wait.likely / 2)
    }

    /// Cycles when the instruction does not jump, literal wait included.
    pub(crate) fn straight(&self) -> u32 {
        self.cost.straight() + self.data_wait.likely / 2
    }
}

impl Block {
    /// The block as observers see it.
    pub(crate) fn code(&self) -> Code {
        let instruction = |meta: &Meta| Instruction {
            offset: meta.offset,
            cost: meta.cost,
            data_wait: meta.literal_bounds(),
        };
        let instructions = self.meta.iter().map(instruction).collect();
        Code { start: self.start, instructions, idle: self.is_idle_loop() }
    }

    /// Whether the block does nothing but jump to itself: only an interrupt leads out of it.
    pub fn is_idle_loop(&self) -> bool {
        let (last, body) = match self.insns.split_last() {
            Some((last, body)) => (*last, body),
            None => return false,
        };
        matches!(last, Insn::B { target } if target == self.start)
            && body.iter().all(|i| *i == Insn::Nop)
    }

    /// Whether a computed jump from this block to `target` stays inside a function, so that nobody
    /// who follows the flow need know: what a `switch` becomes. Returns and calls are never
    /// among them.
    #[inline]
    pub(crate) fn jumps_inside(&self, target: &Block) -> bool {
        self.by_table && target.function == (self.function.0, false)
    }

    /// ITSTATE before instruction `at`, or behind the last.
    pub(crate) fn it_at(&self, at: usize) -> u8 {
        self.it.get(at).copied().unwrap_or(0)
    }

    /// The address of instruction `at`.
    pub fn address(&self, at: usize) -> u32 {
        self.start + u32::from(self.meta[at].offset) * 2
    }

    /// Cycles of some instructions, without waits.
    pub(crate) fn cycles_of(&self, run: Range<usize>) -> u32 {
        self.meta[run].iter().map(Meta::straight).sum()
    }
}

/// No block.
pub(crate) const NONE: BlockId = BlockId::MAX;

/// All blocks decoded so far, found by address.
#[derive(Debug, Default)]
pub(crate) struct Blocks {
    pub(crate) all: Vec<Block>,
    flash: Vec<BlockId>,
    ram: Vec<BlockId>,
    /// Those in aliases and further memories.
    elsewhere: HashMap<u32, BlockId>,
    /// Blocks that begin inside an IT block, by address and ITSTATE: rare.
    inside_it: BTreeMap<(u32, u8), BlockId>,
    generation: u32,
    /// Addresses at which every block must begin, sorted: function starts (from symbols).
    entries: Vec<u32>,
    /// Addresses at which to stop, sorted.
    stops: Vec<u32>,
}

impl Blocks {
    /// States where functions begin; blocks do not run across such an address.
    pub(crate) fn set_entries(&mut self, mut entries: Vec<u32>) {
        entries.sort_unstable();
        entries.dedup();
        self.entries = entries;
        self.clear();
    }

    /// Sets the addresses at which running stops.
    pub(crate) fn set_stops(&mut self, mut stops: Vec<u32>) {
        stops.sort_unstable();
        stops.dedup();
        self.stops = stops;
        self.clear();
    }

    /// Forgets everything decoded.
    pub(crate) fn clear(&mut self) {
        self.all.clear();
        self.flash.clear();
        self.ram.clear();
        self.elsewhere.clear();
        self.inside_it.clear();
    }

    /// Whether what was decoded still holds; if not it is forgotten and the caller must reject it.
    pub(crate) fn is_stale(&self, bus: &Bus) -> bool {
        self.generation != bus.code.generation
    }

    pub(crate) fn refresh(&mut self, bus: &Bus) {
        self.clear();
        self.generation = bus.code.generation;
    }

    /// Whether code was decoded from anywhere but the main memories at their own addresses.
    pub(crate) fn run_elsewhere(&self) -> bool {
        !self.elsewhere.is_empty()
    }

    /// The block that starts at `pc`, if it is decoded. `pc` is even.
    #[inline(always)]
    pub(crate) fn lookup(&self, pc: u32, bus: &Bus) -> BlockId {
        let at = (pc.wrapping_sub(bus.flash.base) / 2) as usize;
        if let Some(&id) = self.flash.get(at) {
            return id;
        }
        let at = (pc.wrapping_sub(bus.ram.base) / 2) as usize;
        match self.ram.get(at) {
            Some(&id) => id,
            None if self.elsewhere.is_empty() => NONE,
            None => self.lookup_elsewhere(pc),
        }
    }

    #[cold]
    fn lookup_elsewhere(&self, pc: u32) -> BlockId {
        self.elsewhere.get(&pc).copied().unwrap_or(NONE)
    }

    /// The block that starts at `pc` with an ITSTATE that is not zero, if it is decoded.
    pub(crate) fn lookup_inside_it(&self, pc: u32, it: u8) -> BlockId {
        self.inside_it.get(&(pc, it)).copied().unwrap_or(NONE)
    }

    /// A computed jump went from one block to another.
    #[inline(always)]
    pub(crate) fn note_computed(&mut self, from: BlockId, to: BlockId) {
        let known = &self.all[from as usize].computed;
        if !known.contains(&to) {
            self.add_computed(from, to);
        }
    }

    fn add_computed(&mut self, from: BlockId, to: BlockId) {
        let block = &mut self.all[from as usize];
        if block.by_table && block.computed.len() == MOST_OF_TABLE {
            return;
        }
        if !block.by_table && block.computed.len() == MOST_OTHERS {
            block.computed.remove(0);
        }
        block.computed.push(to);
    }

    /// Number of the function that `address` lies in, counting from its entry; 0 before the first.
    fn function(&self, address: u32) -> usize {
        self.entries.partition_point(|&e| e <= address)
    }

    /// Decodes the block at `pc`, `it` being ITSTATE there; `None` when no instruction can be
    /// fetched.
    pub(crate) fn decode(
        &mut self,
        pc: u32,
        it: u8,
        bus: &Bus,
        timing: &Timing,
    ) -> Option<BlockId> {
        let block = self.build(pc, it, bus, timing)?;
        let id = self.all.len() as BlockId;
        self.all.push(block);
        if it == 0 {
            self.index(pc, bus, id);
        } else {
            self.inside_it.insert((pc, it), id);
        }
        Some(id)
    }

    fn index(&mut self, pc: u32, bus: &Bus, id: BlockId) {
        for (memory, table) in [(&bus.flash, &mut self.flash), (&bus.ram, &mut self.ram)] {
            if memory.contains(pc) {
                if table.is_empty() {
                    table.resize(memory.data.len().div_ceil(2), NONE);
                }
                table[(pc.wrapping_sub(memory.base) / 2) as usize] = id;
                return;
            }
        }
        self.elsewhere.insert(pc, id);
    }
}

/// LDRT, STRT and their kind, by their encoding: they access memory as if unprivileged (DDI 0403,
/// A7.7), and do otherwise what ordinary loads and stores do.
pub(crate) fn acts_unprivileged(first: u32, second: u32) -> bool {
    first & 0xfe80 == 0xf800 && second & 0x0f00 == 0x0e00
}

/// ITSTATE behind an instruction (ITAdvance, A7.3.3 of DDI 0403).
pub fn next_it(it: u8, insn: Insn) -> u8 {
    match insn {
        Insn::It { state } => state,
        _ if it & 7 == 0 => 0,
        _ => it & 0xe0 | it << 1 & 0x1f,
    }
}

#[cfg(test)]
mod tests;
