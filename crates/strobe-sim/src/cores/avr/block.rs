//! Runs of instructions, decoded once: straight-line code up to the first change of flow.
//!
//! Cycles depend on nothing but the instructions and whether the last one jumps, so running a block
//! costs one addition and, if anybody counts, one increment. Program memory does not change while a
//! board runs.

use super::Architecture;
use super::{lean, timing, turns};
use crate::kernel::device::Size;
use crate::kernel::memory::Memory;
use crate::kernel::observe::StackWindow;
use crate::kernel::observe::code::{BlockId, Code, Cost, Instruction};
use strobe_isa::avr::decode::decode;
use strobe_isa::avr::insn::Insn;
use strobe_model::Bounds;

/// Longest block, in instructions: bounds the time until events are looked at.
const MAX_INSTRUCTIONS: usize = 64;

/// No block.
pub(super) const NONE: BlockId = BlockId::MAX;

/// What is known of one instruction in its block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Meta {
    /// Words from the block's start.
    pub(super) offset: u16,
    /// Cycles of the instructions before it.
    pub(super) before: u16,
    pub(super) cost: Cost,
}

/// A block.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) start: u32,
    /// Address after the last instruction.
    pub(super) end: u32,
    pub(super) insns: Box<[Insn]>,
    /// The same for the fast path.
    pub(super) lean: Box<[Insn]>,
    pub(super) meta: Box<[Meta]>,
    /// Instructions before a last one that ends the block (all of them if none does).
    pub(super) body: u32,
    /// Cycles when the flow goes on at `end`.
    pub(super) cycles: u32,
    /// The most it can take; the fast path runs it only if nothing can happen before that.
    pub(super) worst: u32,
    /// Further cycles when the last instruction jumps.
    pub(super) refill: u32,
    /// Going on at `end` enters another function.
    pub(super) falls_into_function: bool,
    /// The direct jump may change the running function: a call, or out of the function.
    pub(super) is_transfer: bool,
    /// Successors found so far: after `end`, and the direct jump's target.
    pub(super) next: BlockId,
    pub(super) target: BlockId,
    /// It jumps to where it or an earlier block begins, and is no call.
    pub(super) jumps_back: bool,
    /// Such jumps until the loop is tried next ([`super::turns`]), and how often that was in vain.
    pub(super) heat: u32,
    pub(super) failures: u32,
    /// It does nothing but jump to itself.
    pub(super) idle: bool,
    /// A stop was asked for at its first instruction.
    pub(super) stop_here: bool,
    /// How far below and above the first one the stack pointer gets, unless it is written.
    pub(super) stack: (u32, u32),
    /// The stack pointer is written.
    pub(super) writes_stack: bool,
}

impl Block {
    /// Whether the stack pointer, `sp` at its beginning, stays in a window.
    #[inline(always)]
    pub(super) fn stays_in(&self, window: StackWindow, sp: u32) -> bool {
        let (below, above) = self.stack;
        !self.writes_stack
            && window.contains(sp.wrapping_sub(below))
            && window.contains(sp.wrapping_add(above))
    }

    /// The address of instruction `at`.
    pub(super) fn address(&self, at: usize) -> u32 {
        self.start + u32::from(self.meta[at].offset) * 2
    }

    /// The block as observers see it.
    pub(super) fn code(&self) -> Code {
        let data_wait = Bounds::exact(0);
        let instruction = |m: &Meta| Instruction { offset: m.offset, cost: m.cost, data_wait };
        let instructions = self.meta.iter().map(instruction).collect();
        Code { start: self.start, instructions, idle: self.idle }
    }

    fn is_idle_loop(&self) -> bool {
        let Some((last, body)) = self.insns.split_last() else { return false };
        matches!(last, Insn::Jmp { target } if *target == self.start)
            && body.iter().all(|i| *i == Insn::Nop)
    }
}

/// All blocks decoded so far, found by address.
#[derive(Debug, Default)]
pub(super) struct Blocks {
    pub(super) all: Vec<Block>,
    by_word: Vec<BlockId>,
    /// Addresses at which every block must begin, sorted: function starts (from symbols).
    entries: Vec<u32>,
    /// Addresses at which to stop, sorted.
    stops: Vec<u32>,
}

fn sorted(mut addresses: Vec<u32>) -> Vec<u32> {
    addresses.sort_unstable();
    addresses.dedup();
    addresses
}

impl Blocks {
    /// States where functions begin; blocks do not run across such an address.
    pub(super) fn set_entries(&mut self, entries: Vec<u32>) {
        self.entries = sorted(entries);
        self.clear();
    }

    /// Sets the addresses at which running stops.
    pub(super) fn set_stops(&mut self, stops: Vec<u32>) {
        self.stops = sorted(stops);
        self.clear();
    }

    fn clear(&mut self) {
        self.all.clear();
        self.by_word.clear();
    }

    /// The block that starts at `pc`, if it is decoded. `pc` is even.
    #[inline(always)]
    pub(super) fn lookup(&self, pc: u32) -> BlockId {
        self.by_word.get((pc / 2) as usize).copied().unwrap_or(NONE)
    }

    /// Decodes the block at `pc`.
    pub(super) fn decode(&mut self, pc: u32, flash: &Memory, arch: Architecture) -> BlockId {
        let block = self.build(pc, flash, arch);
        let id = self.all.len() as BlockId;
        self.all.push(block);
        if self.by_word.is_empty() {
            self.by_word.resize(flash.data.len().div_ceil(2), NONE);
        }
        if let Some(place) = self.by_word.get_mut((pc / 2) as usize) {
            *place = id;
        }
        id
    }

    /// Number of the function that `address` lies in, counting from its entry; 0 before the first.
    fn function(&self, address: u32) -> usize {
        self.entries.partition_point(|&e| e <= address)
    }

    fn build(&self, pc: u32, flash: &Memory, arch: Architecture) -> Block {
        let word = |at: u32| flash.read(at & arch.pc_mask, Size::Half).unwrap_or(0xffff) as u16;
        let (mut insns, mut meta) = (Vec::new(), Vec::new());
        let (mut at, mut cycles) = (pc, 0);
        loop {
            let (insn, size) = decode(arch, at, word(at), word(at.wrapping_add(2)));
            let next = at.wrapping_add(size);
            let cost = timing::cost(arch, insn, size, next);
            meta.push(Meta { offset: ((at - pc) / 2) as u16, before: cycles as u16, cost });
            insns.push(insn);
            cycles += cost.straight();
            at = next;
            let boundary =
                self.entries.binary_search(&at).is_ok() || self.stops.binary_search(&at).is_ok();
            let full = insns.len() >= MAX_INSTRUCTIONS || at > arch.pc_mask;
            if insn.ends_block() || full || boundary {
                break;
            }
        }
        let last = insns[insns.len() - 1];
        let refill = meta.last().map_or(0, |m| u32::from(m.cost.refill));
        let here = self.function(pc);
        let leaves = last.target().is_some_and(|t| self.function(t) != here);
        // Behind the end of flash comes its beginning.
        let end = at & arch.pc_mask;
        let (mut moved, mut stack) = (0, (0, 0));
        for insn in &insns {
            moved += insn.moves_stack(i32::from(arch.pc_bytes()));
            stack = (stack.0.max(-moved), stack.1.max(moved));
        }
        let mut block = Block {
            start: pc,
            stack: (stack.0 as u32, stack.1 as u32),
            writes_stack: insns.iter().any(|i| i.writes_stack()),
            end,
            body: insns.len() as u32 - u32::from(last.ends_block()),
            lean: lean::lean(&insns),
            insns: insns.into(),
            meta: meta.into(),
            cycles,
            worst: cycles + refill,
            refill,
            falls_into_function: self.function(end) != here,
            is_transfer: leaves || last.calls(),
            jumps_back: !last.calls() && last.target().is_some_and(|target| target <= pc),
            heat: turns::FIRST_TRY,
            failures: 0,
            next: NONE,
            target: NONE,
            idle: false,
            stop_here: self.stops.binary_search(&pc).is_ok(),
        };
        block.idle = block.is_idle_loop();
        if block.idle || block.stop_here || matches!(last, Insn::Invalid { .. }) {
            // These always go through the main loop.
            block.worst = u32::MAX;
        }
        block
    }
}
