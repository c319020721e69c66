//! How a block is made: instructions read up to its end, and all that does not depend on data.

use super::super::neighbours::Placed;
use super::super::timing::Timing;
use super::waits::{data_wait, first_waits, jump_wait, worst_case};
use super::{Arrival, Block, Blocks, Meta, NONE, acts_unprivileged, next_it};
use crate::kernel::bus::Bus;
use crate::kernel::device::Size;
use crate::kernel::flash::HalfCycles;
use strobe_isa::thumb::arch::Architecture;
use strobe_isa::thumb::decode::decode;
use strobe_isa::thumb::insn::Insn;

/// Longest block, in instructions: bounds the time until events are looked at.
const MAX_INSTRUCTIONS: usize = 64;

/// Instructions one after the other.
struct Straight {
    insns: Vec<Insn>,
    /// The same with their places.
    code: Vec<Placed>,
    /// ITSTATE before each, and behind the last.
    its: Vec<u8>,
    /// Some ask for other rights than the code has.
    asks: bool,
    /// The address behind the last.
    end: u32,
}

impl Blocks {
    /// Reads instructions up to the first change of flow, or to where a block has to end.
    fn read(&self, pc: u32, mut it: u8, bus: &Bus, arch: Architecture) -> Straight {
        let mut read =
            Straight { insns: Vec::new(), code: Vec::new(), its: vec![it], asks: false, end: pc };
        while let Some(first) = bus.peek(read.end, Size::Half) {
            let at = read.end;
            let second = bus.peek(at.wrapping_add(2), Size::Half);
            let (insn, size) = decode(arch, at, first as u16, second.unwrap_or(0) as u16);
            if size == 4 && second.is_none() {
                break;
            }
            let insn = if it != 0 && size == 2 { insn.inside_it_block() } else { insn };
            let conditional = it != 0;
            it = next_it(it, insn);
            read.its.push(it);
            read.code.push(Placed { insn, address: at, size, conditional });
            read.insns.push(insn);
            read.asks |= size == 4 && acts_unprivileged(first, second.unwrap_or(0));
            let end = at.wrapping_add(size);
            read.end = end;
            let boundary =
                self.entries.binary_search(&end).is_ok() || self.stops.binary_search(&end).is_ok();
            // An IT block is not torn apart for being at the limit.
            let full = read.insns.len() >= MAX_INSTRUCTIONS && it == 0;
            if insn.ends_block() || full || boundary {
                break;
            }
        }
        read
    }

    /// The block at `pc`, `it` being ITSTATE there, with everything that can be known of it now;
    /// `None` when no instruction can be fetched.
    pub(super) fn build(&self, pc: u32, it: u8, bus: &Bus, timing: &Timing) -> Option<Block> {
        let arch = timing.kind.architecture();
        let Straight { insns, code, its, asks, end } = self.read(pc, it, bus, arch);
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
            end,
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
            last_at: code.last()?.address,
            jump_to: last.target().unwrap_or(end),
            calls: matches!(last, Insn::Bl { .. } | Insn::Blx { .. }),
            by_table: last.is_table_jump(),
            leaves_function: leaves,
            falls_into_function: self.function(end) != here,
            arrival: Arrival {
                wait: jump_wait(pc, bus),
                late: timing.refill_at(pc, bus.peek(pc, Size::Half)),
            },
            late: 0,
            computed: Vec::new(),
            function: (here as u32, self.entries.binary_search(&pc).is_ok()),
            insns: insns.into(),
            meta: meta.into(),
            is_transfer: leaves || matches!(last, Insn::Bl { .. }),
            next: NONE,
            target: NONE,
            idle: false,
            stop_here,
            heat: 0,
            regions: 0,
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
        Some(block)
    }
}
