//! Hot blocks as host code.
//!
//! Blocks that run often are gathered into regions (blocks that jump to one another inside a
//! function) and compiled with Cranelift. The compiled code does what the fast path does, no more:
//! RAM and flash only, and nothing but the core changes anything until the horizon. Whatever else
//! comes up (a device, a call or return, a block outside the region, the horizon) it leaves to the
//! caller, with the registers, cycles and instructions exactly as the interpreter would have them
//! at that point. The interpreter stays the reference: a host that Cranelift does not know runs
//! everything there, as does a build without the feature `compiler` (`jit/without.rs`).

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
mod transfer;
mod vary;
mod wide;

use self::code::{Code, Frame};
use self::region::{Otherwise, Place};
use super::block::{BlockId, Blocks};
use super::core::Machine;
use super::fast::{Left, late};
use super::run::End;
use crate::kernel::bus::Bus;
use crate::kernel::flash::HalfCycles;
use crate::kernel::observe::{Observer, Wait};
use strobe_model::Cause;

/// Runs of a block before it is compiled: compiling costs as much as some ten thousand of them.
const HOT: u32 = 4000;

/// Of these, as many must its neighbours have seen to come along.
const WARM: u32 = 8;

/// Compiled instructions at most; what is hot after that stays interpreted.
const MOST_INSTRUCTIONS: usize = 1 << 18;

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

/// A region: its blocks, its code and what that has counted.
struct Region {
    blocks: Vec<BlockId>,
    /// For each block: its jump stays inside, so that the code pays for the target's wait.
    inside: Vec<bool>,
    slots: Box<[Slot]>,
    places: Vec<Place>,
    /// For each of the places.
    events: Box<[Event]>,
    code: Code,
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
    /// Compiled code leaves before the stack pointer does what an observer wants to know.
    watches_stack: bool,
}

impl Default for Jit {
    fn default() -> Self {
        Jit {
            threshold: Some(HOT),
            compiler: None,
            regions: Vec::new(),
            instructions: 0,
            watches_stack: false,
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
        self.watches_stack = watched;
    }

    /// Forgets all code; the counts must have been taken before.
    pub(super) fn clear(&mut self) {
        self.regions.clear();
        self.compiler = None;
        self.instructions = 0;
    }

    /// Compiles the region around a block that has become hot, if that can be done.
    fn compile(&mut self, blocks: &mut Blocks, bus: &Bus, hot: BlockId, warm: u32) {
        if self.instructions > MOST_INSTRUCTIONS {
            return;
        }
        if self.compiler.is_none() {
            self.compiler = code::Compiler::new();
        }
        let Some(compiler) = &mut self.compiler else {
            self.threshold = None;
            return;
        };
        let watches_stack = self.watches_stack;
        let Some(plan) = region::plan(blocks, bus, hot, warm) else { return };
        let Some(code) = compiler.compile(|function, context, host| {
            build::function(function, context, &plan, bus, host, watches_stack);
        }) else {
            self.threshold = None;
            return;
        };
        let region = self.regions.len() as u32;
        self.instructions += plan.blocks.iter().map(|b| b.block.insns.len()).sum::<usize>();
        let ids: Vec<BlockId> = plan.blocks.iter().map(|b| b.id).collect();
        let inside = plan.blocks.iter().map(|b| b.target.is_some()).collect();
        let slots = vec![Slot::default(); plan.blocks.len()].into();
        let events = vec![Event::default(); plan.events.len()].into();
        let places = plan.events;
        for (entry, at) in (0..).zip(plan.entries) {
            blocks.all[ids[at] as usize].compiled = Some(Compiled { region, entry });
        }
        self.regions.push(Region { blocks: ids, inside, slots, places, events, code });
    }
}

impl<O: Observer> Machine<O> {
    /// After how many runs a block is compiled to host code; `None` interprets everything. The
    /// figures are the same either way.
    pub fn set_compile_after(&mut self, runs: Option<u32>) {
        self.jit.threshold = runs;
    }

    /// A block has run once more in the interpreter: compiles it when that is often enough.
    #[inline(always)]
    pub(super) fn warm(&mut self, id: BlockId) {
        let Some(threshold) = self.jit.threshold else { return };
        let block = &mut self.blocks.all[id as usize];
        block.heat += 1;
        if block.heat >= threshold {
            block.heat = 0;
            let warm = threshold.div_ceil(HOT / WARM);
            self.jit.compile(&mut self.blocks, &self.bus, id, warm);
        }
    }

    /// Runs compiled code from a block on that fits before the horizon.
    pub(super) fn run_compiled(&mut self, at: Compiled) -> Left {
        let region = &mut self.jit.regions[at.region as usize];
        let mut more = [std::ptr::null_mut(); MOST_MEMORIES];
        for (at, memory) in more.iter_mut().zip(&mut self.bus.more) {
            *at = memory.data.as_mut_ptr();
        }
        let mut frame = Frame {
            budget: (self.horizon - self.now) as i64,
            instructions: self.instructions,
            slack: &raw mut self.slack,
            carry: self.carry.carry,
            value: 0,
            ram: self.bus.ram.data.as_mut_ptr(),
            more,
            flash: self.bus.flash.data.as_ptr(),
            slots: region.slots.as_mut_ptr(),
            events: region.events.as_mut_ptr(),
            stamps: self.bus.flash_interface.accelerator.stamps.as_ptr(),
            accelerator: &raw mut self.bus.flash_interface.accelerator,
            stack: self.observer.stack_window(),
        };
        let exit = region.code.run(&mut self.cpu, &mut frame, at.entry);
        self.now = self.horizon.wrapping_add_signed(-frame.budget);
        self.instructions = frame.instructions;
        self.carry.carry = frame.carry;
        let id = region.blocks[exit.block];
        match exit.kind {
            code::ExitKind::Horizon => Left::Horizon(id),
            code::ExitKind::Next => Left::Ended(id, End::Next),
            code::ExitKind::Direct => Left::Ended(id, End::Direct),
            code::ExitKind::Indirect => Left::Ended(id, End::Indirect(frame.value)),
            code::ExitKind::Miss => {
                // What this run did otherwise is settled already.
                self.deviations.clear();
                Left::Miss(id, exit.at)
            }
        }
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
        self.blocks.all.iter_mut().for_each(|block| block.compiled = None);
    }

    /// Hands the observer what compiled code has counted.
    pub(super) fn take_counts(&mut self) {
        self.take_waits();
        for region in &mut self.jit.regions {
            for (at, &id) in region.blocks.iter().enumerate() {
                let slot = std::mem::take(&mut region.slots[at]);
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
            for (event, place) in region.events.iter_mut().zip(&region.places) {
                let Event { count, likely } = std::mem::take(event);
                if count == 0 {
                    continue;
                }
                let id = region.blocks[place.block];
                let wait = match place.otherwise {
                    Otherwise::Skipped => {
                        self.observer.skipped(id, place.at, count);
                        continue;
                    }
                    Otherwise::Longer(most) => {
                        let high = (count * u64::from(most)) as i64;
                        Wait { cause: Cause::Execute, low: 0, likely: likely as i64, high }
                    }
                    Otherwise::WaitsFirst(cycles) => {
                        let cycles = (count * u64::from(cycles)) as i64;
                        Wait { cause: Cause::DataWait, low: cycles, likely: cycles, high: cycles }
                    }
                    Otherwise::Arrives(target) => {
                        let target = &self.blocks.all[region.blocks[target] as usize];
                        waits(target.arrival.wait, count, likely)
                    }
                    Otherwise::ArrivesLate => late(likely),
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
