//! Blocks that do not do and cost the same each time: with conditional instructions (IT), or with
//! instructions whose time depends on their operands.
//!
//! They are accounted for like any other block; what a run did otherwise is noted on the way and
//! settled behind it.

use strobe_model::{Bounds, Cause};

use super::block::{Block, BlockId};
use super::core::Machine;
use super::cpu::Cpu;
use super::exec::{Work, exec};
use super::fast::{jump, stay};
use super::port::FastPort;
use super::run::End;
use super::timing::SKIPPED;
use crate::kernel::observe::{Observer, StackWindow, Wait};

/// What a run of a block did beyond its fixed cost.
#[derive(Debug, Default)]
pub(crate) struct Deviations {
    /// Instructions whose condition failed, by their place.
    skipped: Vec<usize>,
    /// Times that depend on operands, by the instruction's place.
    spent: Vec<(usize, Work)>,
    /// Waits for data in flash, likewise.
    waited: Vec<(usize, Bounds)>,
}

impl Deviations {
    fn wait(&mut self, at: usize, port: &mut FastPort) {
        if port.waited.high > 0 {
            self.waited.push((at, std::mem::take(&mut port.waited)));
        }
    }

    /// Of a run that has done nothing otherwise so far.
    pub(super) fn clear(&mut self) {
        self.skipped.clear();
        self.spent.clear();
        self.waited.clear();
    }
}

/// Runs a block's instructions; `Err` is the one for the careful path: also one that takes the
/// stack pointer out of its window. ITSTATE is right there, and behind the block.
pub(super) fn run(
    cpu: &mut Cpu,
    port: &mut FastPort,
    block: &Block,
    deviations: &mut Deviations,
    stack: StackWindow,
) -> Result<End, usize> {
    deviations.clear();
    let body = block.body as usize;
    for (at, &insn) in block.insns.iter().enumerate() {
        let it = block.it_at(at);
        let sp = cpu.r[13];
        cpu.it = it;
        if it != 0 && !cpu.passes_it(it) && !insn.is_unconditional() {
            deviations.skipped.push(at);
            continue;
        }
        if at == body {
            let end = jump(cpu, port, insn, block.end).ok_or(at)?;
            stay(cpu, stack, sp).ok_or(at)?;
            deviations.wait(at, port);
            cpu.it = block.it_at(at + 1);
            return Ok(end);
        }
        exec(cpu, port, insn).map_err(|_| at)?;
        stay(cpu, stack, sp).ok_or(at)?;
        deviations.wait(at, port);
        if let Some(work) = port.spent.take() {
            deviations.spent.push((at, work));
        }
    }
    cpu.it = block.it_at(block.insns.len());
    Ok(End::Next)
}

impl<O: Observer> Machine<O> {
    /// Corrects time and counts, which have been those of a run in which everything was executed
    /// and took its least, by what [`run`] has noted.
    pub(super) fn settle(&mut self, id: BlockId) {
        let block = &self.blocks.all[id as usize];
        for &at in &self.deviations.skipped {
            let meta = &block.meta[at];
            self.now -= u64::from(meta.straight() - SKIPPED);
            let literal = meta.literal_bounds();
            self.slack.0 -= (literal.likely - literal.low) as i64;
            self.slack.1 -= (literal.high - literal.likely) as i64;
            if O::COUNTS {
                self.observer.skipped(id, at, 1);
            }
        }
        for i in 0..self.deviations.spent.len() {
            let (at, work) = self.deviations.spent[i];
            let pc = self.blocks.all[id as usize].address(at);
            self.add_wait(pc, Wait::of(Cause::Execute, self.timing.extra(work)));
        }
        for i in 0..self.deviations.waited.len() {
            let (at, wait) = self.deviations.waited[i];
            let pc = self.blocks.all[id as usize].address(at);
            self.add_wait(pc, Wait::of(Cause::DataWait, wait));
        }
    }
}
