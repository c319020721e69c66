//! Runs of instructions, decoded once: straight-line code up to the first change of flow.
//!
//! Everything about a block that does not depend on data is worked out when it is decoded, above
//! all its cycles, so that running it costs one addition and, if anybody counts, one increment.

use std::collections::{BTreeMap, HashMap};

use super::decode::decode;
use super::insn::Insn;
use super::jit::Compiled;
use super::neighbours::{self, Placed};
use super::timing::{Cost, MOST_FOR_OPERANDS, SYSTEM_BUS, Timing};
use crate::kernel::bus::Bus;
use crate::kernel::device::Size;
use crate::kernel::flash::{HalfCycles, bounds};
use crate::kernel::memory::MemoryKind;
use crate::kernel::observe::code::{Code, Instruction};
use strobe_model::Bounds;

pub use crate::kernel::observe::code::BlockId;

/// Longest block, in instructions: bounds the time until events are looked at.
const MAX_INSTRUCTIONS: usize = 64;

/// Targets kept of a computed jump.
const MOST_INSIDE: usize = 64;

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
    /// How much lower and higher the block's literal waits could be.
    pub(crate) slack: (u32, u32),
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
    /// Where computed jumps from here have gone inside the function, as far as kept.
    pub(crate) inside: Vec<BlockId>,
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

    /// How much lower and higher the literals before `at` could be.
    pub(crate) fn literal_slack(&self, at: usize) -> (u64, u64) {
        self.meta[..at]
            .iter()
            .map(Meta::literal_bounds)
            .fold((0, 0), |(low, high), b| (low + b.likely - b.low, high + b.high - b.likely))
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

    /// Cycles of the instructions before `at`, without waits.
    pub(crate) fn cycles_before(&self, at: usize) -> u32 {
        self.meta[..at].iter().map(Meta::straight).sum()
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

    /// A computed jump inside a function went from one block to another.
    pub(crate) fn note_inside(&mut self, from: BlockId, to: BlockId) {
        let known = &mut self.all[from as usize].inside;
        if known.len() < MOST_INSIDE && !known.contains(&to) {
            known.push(to);
        }
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

    fn build(&self, pc: u32, mut it: u8, bus: &Bus, timing: &Timing) -> Option<Block> {
        let arch = timing.kind.architecture();
        let mut insns = Vec::new();
        let mut code = Vec::new();
        let mut its = vec![it];
        let mut asks = false;
        let mut at = pc;
        while let Some(first) = bus.peek(at, Size::Half) {
            let second = bus.peek(at.wrapping_add(2), Size::Half);
            let (insn, size) = decode(arch, at, first as u16, second.unwrap_or(0) as u16);
            if size == 4 && second.is_none() {
                break;
            }
            let insn = if it != 0 && size == 2 { insn.inside_it_block() } else { insn };
            let conditional = it != 0;
            it = next_it(it, insn);
            its.push(it);
            code.push(Placed { insn, address: at, size, conditional });
            insns.push(insn);
            asks |= size == 4 && acts_unprivileged(first, second.unwrap_or(0));
            at = at.wrapping_add(size);
            let boundary =
                self.entries.binary_search(&at).is_ok() || self.stops.binary_search(&at).is_ok();
            // An IT block is not torn apart for being at the limit.
            let full = insns.len() >= MAX_INSTRUCTIONS && it == 0;
            if insn.ends_block() || full || boundary {
                break;
            }
        }
        let last = *insns.last()?;
        let mut costs = timing.costs(&code);
        if let (Some(target), Some(cost)) = (last.target(), costs.last_mut()) {
            cost.refill += timing.refill_early_at(target, bus.peek(target, Size::Half));
        }
        let first_waits = first_waits(&code, bus, timing);
        let meta: Vec<Meta> = (code.iter().zip(costs).zip(first_waits))
            .map(|((placed, cost), first_wait)| Meta {
                offset: (placed.address.wrapping_sub(pc) / 2) as u16,
                size: placed.size as u8,
                cost,
                data_wait: data_wait(*placed, bus, timing),
                first_wait,
            })
            .collect();
        let stop_here = self.stops.binary_search(&pc).is_ok();
        let cycles: u32 = meta.iter().map(Meta::straight).sum();
        let refill = u32::from(meta.last().map_or(0, |m| m.cost.refill));
        let here = self.function(pc);
        let conditional = its.iter().any(|&it| it != 0);
        let leaves = last.target().is_some_and(|t| self.function(t) != here);
        // Words that it may read from flash.
        let words = insns.iter().map(|&i| u32::from(timing.cost(i).load_store)).sum();
        let first_waits = meta.iter().map(|meta| u32::from(meta.first_wait)).sum::<u32>();
        let waits = first_waits > 0 || bus.flash_interface.accelerator.is_on() && words > 0;
        let insns_take_their_time = insns.iter().any(|&i| timing.varies(i));
        let multiplies_long =
            insns.iter().any(|&i| timing.varies(i) && !matches!(i, Insn::Divide { .. }));
        let moves_stack = insns.iter().any(|i| i.moves_stack());
        // An observer of the stack may have an instruction run again.
        let once = insns.iter().any(|i| i.loads_stack_once());
        let mut block = Block {
            start: pc,
            end: at,
            body: insns.len() as u32 - u32::from(last.ends_block()),
            cycles,
            // A block to stop at, or one that asks for other rights, never fits: it always goes
            // through the main loop.
            worst: if stop_here || asks || once {
                u32::MAX
            } else {
                worst_case(&insns, cycles + refill + first_waits, words, bus, timing)
            },
            refill,
            target_wait: last.target().map_or(HalfCycles::default(), |t| jump_wait(t, bus)),
            slack: (0, 0),
            last_at: code.last()?.address,
            jump_to: last.target().unwrap_or(at),
            calls: matches!(last, Insn::Bl { .. } | Insn::Blx { .. }),
            by_table: last.is_table_jump(),
            leaves_function: leaves,
            falls_into_function: self.function(at) != here,
            arrival: Arrival {
                wait: jump_wait(pc, bus),
                late: timing.refill_at(pc, bus.peek(pc, Size::Half)),
            },
            late: 0,
            inside: Vec::new(),
            function: (here as u32, self.entries.binary_search(&pc).is_ok()),
            insns: insns.into(),
            meta: meta.into(),
            is_transfer: leaves || matches!(last, Insn::Bl { .. }),
            next: NONE,
            target: NONE,
            idle: false,
            stop_here,
            heat: 0,
            compiled: None,
            plain: !conditional && !insns_take_their_time && !waits,
            multiplies_long,
            moves_stack,
            it: if conditional { its.into() } else { Box::default() },
        };
        block.idle = block.is_idle_loop();
        if block.idle {
            // Going round at once is the main loop's business.
            block.worst = u32::MAX;
        }
        let (low, high) = block.literal_slack(block.meta.len());
        block.slack = (low as u32, high as u32);
        Some(block)
    }
}

/// What a jump into RAM waits: the system bus adds a register stage to fetches (DDI 0337, system
/// bus interface), and data may have the bus.
const SYSTEM_BUS_JUMP: HalfCycles = HalfCycles { low: 0, likely: 2, high: 4 };

/// What a data access costs code in RAM, by the instruction's bytes: a fetch gives way to it.
/// 16-bit code leaves the bus free every other cycle, 32-bit code does not. From those rates; not
/// measured.
fn system_bus_wait(size: u32, words: u32, data_wait: HalfCycles) -> HalfCycles {
    let likely = if size == 4 { 2 * words } else { 0 };
    HalfCycles {
        low: data_wait.low,
        likely: data_wait.likely + likely,
        high: data_wait.high + 2 * words,
    }
}

/// What a jump to `target` waits for flash.
pub(crate) fn jump_wait(target: u32, bus: &Bus) -> HalfCycles {
    if bus.system_bus && target >= SYSTEM_BUS {
        return SYSTEM_BUS_JUMP;
    }
    if bus.flash_interface.timing.is_zero() || !in_flash(target, bus) {
        return HalfCycles::default();
    }
    bus.flash_interface.timing.jump(target)
}

pub(crate) fn in_flash(address: u32, bus: &Bus) -> bool {
    bus.flash.contains(address)
        || bus.memory_at(address).is_some_and(|m| m.kind == MemoryKind::Flash)
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

fn data_wait(placed: Placed, bus: &Bus, timing: &Timing) -> HalfCycles {
    let literal = literal_wait(placed.insn, bus);
    let words = u32::from(timing.cost(placed.insn).load_store);
    if bus.system_bus && placed.address >= SYSTEM_BUS && words > 0 {
        return system_bus_wait(placed.size, words, literal);
    }
    literal
}

/// Cycles that each instruction waits where RAM answers late at first.
fn first_waits(code: &[Placed], bus: &Bus, timing: &Timing) -> Vec<u8> {
    if bus.first_wait.length == 0 {
        return vec![0; code.len()];
    }
    let waits = neighbours::first_waits(timing.kind, code).into_iter();
    waits.map(|waits| if waits { bus.first_wait.cycles } else { 0 }).collect()
}

fn literal_wait(insn: Insn, bus: &Bus) -> HalfCycles {
    match insn {
        Insn::LdrLit { address, .. } if in_flash(address, bus) => {
            bus.flash_interface.timing.data_read
        }
        _ => HalfCycles::default(),
    }
}

/// An upper bound on a block's cycles whatever its accesses meet, bus contention aside (events that
/// start it end the fast path).
fn worst_case(insns: &[Insn], cycles: u32, words: u32, bus: &Bus, timing: &Timing) -> u32 {
    let divider = bus.clocks.apb_divider.max(bus.clocks.apb2_divider).max(1);
    let apb = (bus.apb_wait.high * u64::from(divider)) as u32;
    let per_access = bus.flash_interface.timing.data_read.high.div_ceil(2).max(apb);
    let lines = bus.flash_interface.accelerator.lines_in(4 * insns.len() as u32);
    let accelerator = bus.flash_interface.accelerator.worst(lines, words);
    let jump = bus
        .flash_interface
        .timing
        .unaligned_target
        .high
        .max(bus.flash_interface.timing.aligned_target.high);
    let each = |insn: &Insn| {
        let most = if timing.varies(*insn) { MOST_FOR_OPERANDS } else { 0 };
        insn.transfers() * per_access + most
    };
    let jump = jump.max(SYSTEM_BUS_JUMP.high);
    // The half cycle carried in may add one.
    cycles + insns.iter().map(each).sum::<u32>() + accelerator + jump.div_ceil(2) + 1
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use crate::boards::Board;
    use crate::cores::arm::{Machine, Stop};

    const BOARD: &str = "
        name = 'aliases'
        description = 'memories that appear twice'
        clock_hz = 1_000_000
        core = { model = 'cortex-m0', multiplier_cycles = 1, irq_lines = 0, cpuid = 0 }
        [[memory]]
        name = 'flash'
        kind = 'flash'
        base = 0x0800_0000
        size = 0x400
        alias = 0
        [[memory]]
        name = 'ram'
        kind = 'ram'
        base = 0x2000_0000
        size = 0x400
        alias = 0x1000_0000
    ";

    /// A machine that starts at `entry` with this code there.
    fn machine(entry: u32, code: &[u16]) -> Machine<()> {
        let board = Board::parse(BOARD).expect("a board");
        let mut bus = board.build().expect("builds");
        let vectors = [0x2000_0400, entry | 1].map(u32::to_le_bytes).concat();
        bus.load(0, &vectors).expect("flash");
        let code: Vec<u8> = code.iter().flat_map(|half| half.to_le_bytes()).collect();
        bus.load(entry, &code).expect("memory");
        let mut machine = Machine::new(bus, &board.arm_core().unwrap(), ());
        machine.reset().expect("a vector table");
        machine
    }

    /// Such code was decoded anew each time that it ran, until the host had no memory left.
    #[test]
    fn code_in_an_alias_is_decoded_once() {
        // adds r0, #1; b back
        let mut machine = machine(0x40, &[0x3001, 0xe7fd]);
        assert_eq!(machine.run(40_000, &AtomicBool::new(false)), Stop::Limit);
        assert_eq!((machine.cpu.r[0], machine.blocks.all.len()), (10_000, 1));
    }

    #[test]
    fn code_in_an_alias_of_ram_may_change_itself() {
        // strh r2, [r3] makes `adds r1, #1` of the `adds r0, #1` before it.
        let mut machine = machine(0x1000_0040, &[0x3001, 0x801a, 0xe7fc]);
        (machine.cpu.r[2], machine.cpu.r[3]) = (0x3101, 0x2000_0040);
        machine.run(600, &AtomicBool::new(false));
        assert_eq!((machine.cpu.r[0], machine.cpu.r[1]), (1, 99));
    }
}
