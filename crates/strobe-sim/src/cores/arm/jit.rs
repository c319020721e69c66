//! Hot blocks as host code.
//!
//! Blocks that run often are gathered into regions (blocks of a function that jump to one another,
//! and those of the functions that it calls) and compiled with Cranelift. The compiled code does
//! what the fast path does, no more: RAM and flash only, and nothing but the core changes anything
//! until the horizon. Calls and returns inside a region it reports to the observer itself. Whatever
//! else comes up (a device, a block outside the region, the horizon) it leaves to the caller, with
//! the registers, cycles and instructions exactly as the interpreter would have them at that point.
//! The interpreter stays the reference: a host that Cranelift does not know runs everything there,
//! as does a build without the feature `compiler` (`jit/without.rs`).

mod build;
mod code;
mod effect;
mod flags;
mod float;
mod halves;
mod lanes;
mod lines;
mod memory;
mod ops;
mod region;
#[cfg(test)]
mod tests;
mod transfer;
mod vary;
mod wide;

use self::code::{Code, Frame, Reports};
use self::region::{Place, Variation};
use super::block::{BlockId, Blocks};
use super::core::Machine;
use super::fast::{BlockExit, late};
use super::run::End;
use crate::kernel::bus::Bus;
use crate::kernel::flash::HalfCycles;
use crate::kernel::model::Model;
use crate::kernel::observe::{Observer, StackWindow, TransferKind, Wait};
use strobe_model::Cause;

/// Runs of a block before it is compiled.
const HOT: u32 = 4000;

/// Times that compiled code is left at a call before it is compiled again with what is called.
const HOT_EXIT: u32 = 8000;

/// Of these, as many must its neighbours have seen to come along.
const WARM: u32 = 8;

/// Compiled instructions at most; what is hot after that stays interpreted.
const MOST_INSTRUCTIONS: usize = 1 << 18;

/// Instructions that may be compiled before anything is known to be worth it.
const ADVANCE: usize = 300;

/// What compiling one instruction costs, in instructions interpreted.
const COST: u64 = 6000;

/// Part of the time of interpreted instructions that compiling may take, whatever comes of it.
const SHARE: u64 = 16;

/// Of the time of interpreting it, what each compiled instruction saves: 3 / 4.
const SAVED: (u64, u64) = (3, 4);

/// Times that a region's instructions need care before anything is done about it.
const MANY_MISSES: u32 = 100;

/// Memories besides flash and RAM that compiled code reaches.
const MOST_MEMORIES: usize = 6;

/// What compiled code counts of one block.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
struct Slot {
    /// Runs that went on at the block's end.
    straight: u64,
    /// Runs that jumped.
    jumped: u64,
    /// Cycles waited for the targets of jumps inside the region, likely figure.
    waited: u64,
}

/// What compiled code counts of an instruction that does or costs something else from run to run.
#[derive(Debug, Clone, Copy, Default)]
#[repr(C)]
struct Event {
    /// Times that it did.
    count: u64,
    /// Cycles beyond the least, likely figure.
    likely: u64,
}

/// What the code of a region has counted: it has the addresses.
struct Counters {
    slots: Box<[Slot]>,
    /// For each of the region's places.
    events: Box<[Event]>,
}

/// A region: its blocks, its code and what that has counted.
struct Region {
    blocks: Vec<BlockId>,
    /// For each block: its jump stays inside, so that the code pays for the target's wait.
    inside: Vec<bool>,
    places: Vec<Place>,
    counters: Counters,
    code: Code,
    /// Times that an instruction needed care.
    misses: u32,
}

/// Where a block's compiled code is: region and entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Compiled {
    region: u32,
    entry: u32,
}

/// Everything compiled so far.
pub(crate) struct Jit {
    /// Runs before a block is compiled; none to interpret everything.
    threshold: Option<u32>,
    compiler: Option<code::Compiler>,
    regions: Vec<Region>,
    instructions: usize,
    /// Instructions executed by compiled code.
    executed: u64,
    /// Compiles what is hot even if that costs more than it can bring.
    at_any_cost: bool,
    frame: Frame,
    /// Instructions compiled so far, also those whose code is forgotten.
    spent: usize,
    ways: Ways,
}

/// What compiled code does only where somebody needs it.
#[derive(Clone, Copy, Default)]
struct Ways {
    /// It leaves before the stack pointer does what an observer wants to know.
    watches_stack: bool,
    /// It accesses RAM besides the main one. Most firmware has nothing there, and each further
    /// memory makes every access longer.
    reaches_further: bool,
    /// How it reports transfers, if somebody wants to know.
    reports: Option<Reports>,
    /// Which of the three models the time line is.
    model: Model,
}

impl Default for Jit {
    fn default() -> Self {
        Jit {
            threshold: Some(HOT),
            compiler: None,
            regions: Vec::new(),
            instructions: 0,
            executed: 0,
            at_any_cost: false,
            frame: Frame::default(),
            spent: 0,
            ways: Ways::default(),
        }
    }
}

impl Jit {
    /// Whether anything will be compiled.
    pub(super) fn is_on(&self) -> bool {
        self.threshold.is_some()
    }

    /// Whether the stack pointer is watched; to be set before anything is compiled.
    pub(super) fn watch_stack(&mut self, watched: bool) {
        self.ways.watches_stack = watched;
    }

    /// Forgets all code; the counts must have been taken before.
    pub(super) fn clear(&mut self) {
        self.regions.clear();
        self.compiler = None;
        self.instructions = 0;
    }

    /// How many instructions compiling may take on, `retired` having been executed in all. Both
    /// are counted and not timed, so that a run is the same each time.
    fn affordable(&self, retired: u64) -> usize {
        let room = MOST_INSTRUCTIONS.saturating_sub(self.instructions);
        if self.at_any_cost {
            return room;
        }
        let interpreted = retired.saturating_sub(self.executed);
        let earned = interpreted / SHARE + self.executed / SAVED.1 * SAVED.0;
        let affordable = (earned / COST) as usize + ADVANCE;
        affordable.saturating_sub(self.spent).min(room)
    }

    /// Compiles the region around a block that has become hot, if that can be done and is worth
    /// it.
    fn compile(&mut self, blocks: &mut Blocks, bus: &Bus, hot: Hot) {
        let most = self.affordable(hot.retired);
        if self.compiler.is_none() {
            self.compiler = code::Compiler::new();
        }
        let Some(compiler) = &mut self.compiler else {
            self.threshold = None;
            return;
        };
        let ways = self.ways;
        let Some(plan) = region::plan(blocks, bus, hot, most) else {
            if hot.again {
                // It is not tried again and again.
                let regions = &mut blocks.all[hot.block as usize].regions;
                *regions = regions.saturating_add(1);
            }
            return;
        };
        let slots = vec![Slot::default(); plan.blocks.len()].into();
        let events = vec![Event::default(); plan.events.len()].into();
        let mut counters = Counters { slots, events };
        let Some(code) = compiler.compile(|function, context, host| {
            build::function(function, context, &plan, &mut counters, bus, host, ways);
        }) else {
            self.threshold = None;
            return;
        };
        let region = self.regions.len() as u32;
        let instructions = plan.blocks.iter().map(|b| b.block.insns.len()).sum::<usize>();
        self.instructions += instructions;
        self.spent += instructions;
        let ids: Vec<BlockId> = plan.blocks.iter().map(|b| b.id).collect();
        let inside = plan.blocks.iter().map(|b| b.target.is_some()).collect();
        let places = plan.events;
        for (entry, at) in (0..).zip(plan.entries) {
            blocks.all[ids[at] as usize].compiled = Some(Compiled { region, entry });
        }
        for &id in &ids {
            let regions = &mut blocks.all[id as usize].regions;
            *regions = regions.saturating_add(1);
        }
        self.regions.push(Region { blocks: ids, inside, places, counters, code, misses: 0 });
    }
}

/// A block that has become hot.
#[derive(Debug, Clone, Copy)]
struct Hot {
    block: BlockId,
    /// Runs that its neighbours must have seen to come along.
    warm: u32,
    /// It is compiled already, without what it calls.
    again: bool,
    /// Instructions executed so far.
    retired: u64,
}

impl<O: Observer> Machine<O> {
    /// After how many runs a block is compiled to host code; `None` interprets everything. The
    /// figures are the same either way. What is hot by this number is compiled even if that costs
    /// more than it can bring.
    pub fn set_compile_after(&mut self, runs: Option<u32>) {
        self.jit.threshold = runs;
        self.jit.at_any_cost = true;
    }

    /// Instructions compiled so far, as often as they were.
    pub fn compiled_instructions(&self) -> usize {
        self.jit.spent
    }

    /// A block has run once more in the interpreter: compiles it when that is often enough.
    #[inline(always)]
    pub(super) fn warm(&mut self, id: BlockId) {
        let Some(threshold) = self.jit.threshold else { return };
        let block = &mut self.blocks.all[id as usize];
        block.heat += 1;
        if block.heat >= threshold {
            block.heat = 0;
            self.compile_around(id, false);
        }
    }

    #[cold]
    fn compile_around(&mut self, id: BlockId, again: bool) {
        let Some(threshold) = self.jit.threshold else { return };
        let warm = threshold.div_ceil(HOT / WARM);
        self.jit.ways.reaches_further |= self.points_further();
        self.jit.ways.reports = Reports::to::<O>();
        self.jit.ways.model = self.model;
        let hot = Hot { block: id, warm, again, retired: self.instructions };
        self.jit.compile(&mut self.blocks, &self.bus, hot);
    }

    /// Compiled code has been left at a call or a jump to another function: if that happens often,
    /// it is compiled again together with what is called.
    #[inline(always)]
    fn warm_exit(&mut self, id: BlockId) {
        let block = &mut self.blocks.all[id as usize];
        if block.is_transfer || block.calls {
            block.heat += 1;
            if block.heat >= HOT_EXIT {
                block.heat = WARM;
                self.compile_around(id, true);
            }
        }
    }

    /// Before a stretch of blocks: gives compiled code the places of the memories.
    pub(super) fn prepare_frame(&mut self) {
        let frame = &mut self.jit.frame;
        frame.ram = self.bus.ram.data.as_mut_ptr();
        frame.flash = self.bus.flash.data.as_ptr();
        for (at, memory) in frame.more.iter_mut().zip(&mut self.bus.more) {
            *at = memory.data.as_mut_ptr();
        }
    }

    /// Runs compiled code from a block on that fits before the horizon.
    pub(super) fn run_compiled(&mut self, at: Compiled) -> BlockExit {
        let before = self.instructions;
        let frame = &mut self.jit.frame;
        frame.budget = (self.horizon - self.now) as i64;
        frame.instructions = before;
        frame.carry = self.carry.carry;
        frame.stack = self.observer.stack_window();
        let exit = self.enter_compiled(at);
        let frame = &self.jit.frame;
        self.now = self.horizon.wrapping_add_signed(-frame.budget);
        self.jit.executed += frame.instructions - before;
        self.instructions = frame.instructions;
        self.carry.carry = frame.carry;
        let region = &mut self.jit.regions[at.region as usize];
        let id = region.blocks[exit.block];
        if matches!(exit.kind, code::ExitKind::Direct | code::ExitKind::Indirect) {
            self.warm_exit(id);
        }
        let region = &mut self.jit.regions[at.region as usize];
        match exit.kind {
            code::ExitKind::Horizon => BlockExit::Horizon(id),
            code::ExitKind::Next => BlockExit::Ended(id, End::Next),
            code::ExitKind::Direct => BlockExit::Ended(id, End::Direct),
            code::ExitKind::Indirect => BlockExit::Ended(id, End::Indirect(self.jit.frame.value)),
            code::ExitKind::Miss => {
                // What this run did otherwise is settled already.
                self.deviations.clear();
                region.misses += 1;
                if region.misses == MANY_MISSES {
                    self.look_further();
                }
                BlockExit::Miss(id, exit.at)
            }
        }
    }

    /// Reports a transfer inside compiled code, with the cycles left before the horizon. Returns
    /// where the stack pointer may go from here on.
    #[inline(always)]
    fn report_compiled(
        &mut self,
        kind: TransferKind,
        (from, to): (u32, u32),
        (budget, instructions): (i64, u64),
    ) -> StackWindow {
        self.cpu.pc = to;
        self.now = self.horizon.wrapping_add_signed(-budget);
        self.instructions = instructions;
        self.report_transfer(kind, from);
        self.observer.stack_window()
    }

    /// Code often leaves for what it cannot access: if that may be because there is RAM besides the
    /// main one, it is forgotten, and compiled with that.
    #[cold]
    fn look_further(&mut self) {
        if !self.jit.ways.reaches_further && self.points_further() {
            self.jit.ways.reaches_further = true;
            self.forget_compiled();
        }
    }

    /// Whether a register points to RAM besides the main one.
    fn points_further(&self) -> bool {
        let mut more = self.bus.more_ram();
        more.any(|(_, memory)| self.cpu.r[..15].iter().any(|&r| memory.contains(r)))
    }

    /// Forgets everything decoded and compiled, as the observer has to.
    pub(super) fn forget_code(&mut self) {
        self.turns.abandon();
        self.take_counts();
        self.bus.flash_interface.accelerator.forget_blocks();
        self.jit.clear();
        self.resume = None;
        self.observer.forget();
    }

    /// Goes back to the interpreter for everything decoded.
    pub(super) fn forget_compiled(&mut self) {
        self.take_counts();
        self.jit.clear();
        for block in &mut self.blocks.all {
            (block.compiled, block.regions) = (None, 0);
        }
    }

    /// Hands the observer what compiled code has counted.
    pub(super) fn take_counts(&mut self) {
        self.take_waits();
        for region in &mut self.jit.regions {
            for (at, &id) in region.blocks.iter().enumerate() {
                let slot = std::mem::take(&mut region.counters.slots[at]);
                if slot.straight > 0 {
                    self.observer.block(id, false, slot.straight);
                }
                if slot.jumped > 0 {
                    self.observer.block(id, true, slot.jumped);
                }
                let block = &self.blocks.all[id as usize];
                if region.inside[at] && slot.jumped > 0 && !block.target_wait.is_zero() {
                    let wait = waits(block.target_wait, slot.jumped, slot.waited);
                    self.observer.wait(block.address(block.body as usize), wait);
                }
            }
            for (event, place) in region.counters.events.iter_mut().zip(&region.places) {
                let Event { count, likely } = std::mem::take(event);
                if count == 0 {
                    continue;
                }
                let id = region.blocks[place.block];
                let wait = match place.otherwise {
                    Variation::Skipped => {
                        self.observer.skipped(id, place.at, count);
                        continue;
                    }
                    Variation::Longer(most) => {
                        let high = (count * u64::from(most)) as i64;
                        let wait =
                            Wait { cause: Cause::Execute, low: 0, likely: likely as i64, high };
                        wait.in_model(self.model)
                    }
                    Variation::WaitsFirst(cycles) => {
                        let cycles = (count * u64::from(cycles)) as i64;
                        Wait { cause: Cause::DataWait, low: cycles, likely: cycles, high: cycles }
                    }
                    Variation::Arrives(target) => {
                        let target = &self.blocks.all[region.blocks[target] as usize];
                        waits(target.arrival.wait, count, likely)
                    }
                    Variation::ArrivesLate => late(likely),
                };
                self.observer.wait(self.blocks.all[id as usize].address(place.at), wait);
            }
        }
    }
}

/// The sum of `times` waits of which `likely` cycles were taken.
fn waits(cost: HalfCycles, times: u64, likely: u64) -> Wait {
    let (low, high) = (cost.low / 2, cost.high.div_ceil(2));
    Wait {
        cause: Cause::FetchWait,
        low: (u64::from(low) * times) as i64,
        likely: likely as i64,
        high: (u64::from(high) * times) as i64,
    }
}
