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
    /// Waits for data in flash, or in RAM that answers late at first, likewise.
    waited: Vec<(usize, Bounds)>,
}

impl Deviations {
    fn wait(&mut self, at: usize, port: &mut FastPort, first: u8) {
        if std::mem::take(&mut port.first_waits) {
            port.waited += Bounds::exact(first.into());
        }
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

/// Runs a block's instructions from one on; `Err` is the one for the careful path, also one that
/// takes the stack pointer out of its window. ITSTATE is right there, and behind the block.
pub(super) fn run(
    cpu: &mut Cpu,
    port: &mut FastPort,
    (block, from): (&Block, usize),
    deviations: &mut Deviations,
    stack: StackWindow,
) -> Result<End, usize> {
    deviations.clear();
    let body = block.body as usize;
    for (at, &insn) in block.insns.iter().enumerate().skip(from) {
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
            deviations.wait(at, port, block.meta[at].first_wait);
            cpu.it = block.it_at(at + 1);
            return Ok(end);
        }
        exec(cpu, port, insn).map_err(|_| at)?;
        stay(cpu, stack, sp).ok_or(at)?;
        deviations.wait(at, port, block.meta[at].first_wait);
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use crate::cores::arm::timing::{CoreKind, Timing};
    use crate::cores::arm::{CoreOptions, Machine};
    use crate::kernel::bus::{Bus, FirstWait};
    use crate::kernel::memory::{Memory, MemoryKind};

    /// A Cortex-M4F whose RAM answers late at first from its second 4 KiB on.
    fn late_ram() -> (Bus, CoreOptions) {
        let flash = Memory::new("flash", MemoryKind::Flash, 0, 0x1000);
        let mut ram = Memory::new("ram", MemoryKind::Ram, 0x2000_0000, 0x40_0000);
        ram.banks = vec![0x2000_1000];
        let mut bus = Bus::new(flash, ram, 25_000_000);
        bus.first_wait = FirstWait { start: 0x2000_1000, length: 0x3f_f000, cycles: 1 };
        bus.system_bus = true;
        let options = CoreOptions {
            timing: Timing::new(CoreKind::CortexM4f),
            irq_lines: 32,
            priority_bits: 8,
            mpu_regions: 8,
            cpuid: 0x410f_c241,
            systick_reference_divider: 0,
            systick_calibration: 0,
            vtor_mask: 0xffff_ff80,
            bit_band: true,
            vectors: 0,
            trace_gate: None,
        };
        (bus, options)
    }

    /// Cycles of code that ends in a branch to itself, with the stack at `sp` and R4 there, run in
    /// steps of so many.
    fn cycles(sp: u32, code: &[u16], step: u64) -> u64 {
        let (mut bus, options) = late_ram();
        bus.load(0, &[sp, 0x101].map(u32::to_le_bytes).concat()).expect("flash");
        let code = code.iter().chain(&[0xe7fe]).flat_map(|half| half.to_le_bytes());
        let code: Vec<u8> = code.collect();
        bus.load(0x100, &code).expect("flash");
        let mut machine = Machine::new(bus, &options, ());
        machine.reset().expect("a vector table");
        machine.cpu.r[4] = sp - 0x20;
        let end = 0x100 + code.len() as u32 - 2;
        let (never, mut limit) = (AtomicBool::new(false), 0);
        while machine.cpu.pc != end {
            limit += step;
            machine.run(limit, &never);
        }
        machine.cycles() - machine.asleep()
    }

    /// What the stack in a bank that answers late costs more than in one that does not.
    fn late(code: &[u16]) -> u64 {
        let more = |step| cycles(0x2000_2000, code, step) - cycles(0x2000_1000, code, step);
        let each = more(1);
        assert_eq!(more(1000), each, "in one go and by single steps");
        each
    }

    #[test]
    fn the_first_word_is_waited_for() {
        // ldr r0, [r4]; adds r1, #1. str r0, [r4].
        assert_eq!(late(&[0x6820, 0x3101]), 1);
        assert_eq!(late(&[0x6020, 0x3101]), 0);
        // str r0, [r4]; str r1, [r4, #4]; str r2, [r4, #8]: the second waits for the first.
        assert_eq!(late(&[0x6020, 0x6061]), 1);
        assert_eq!(late(&[0x6020, 0x6061, 0x60a2]), 1);
        // ... and so does a load there; behind two stores it follows on a bus that is theirs.
        assert_eq!(late(&[0x6020, 0x6861]), 1);
        assert_eq!(late(&[0x6020, 0x6061, 0x68a2]), 1);
        // ldr r0, [r4]; str r1, [r4, #4]; str r2, [r4, #8]: the load has waited for all three.
        assert_eq!(late(&[0x6820, 0x6061, 0x60a2]), 1);
        // str r0, [r4]; adds r1, #1; str r0, [r4]: the buffer is empty again.
        assert_eq!(late(&[0x6020, 0x3101, 0x6020]), 0);
        // push {r0, r1}; nop; pop {r0, r1}.
        assert_eq!(late(&[0xb403, 0xbf00, 0xbc03]), 2);
        // ldr r0, [r4]; ldr r1, [r4, #4]; ldr r2, [r4, #8]: only the first.
        assert_eq!(late(&[0x6820, 0x6861, 0x68a2]), 1);
        // strd r0, r1, [r4]; ldrd r0, r1, [r4].
        assert_eq!(late(&[0xe9c4, 0x0100, 0xe9d4, 0x0100]), 2);
        // cmp r0, r0; ite eq; ldreq r1, [r4]; ldrne r2, [r4]: the second does not execute.
        assert_eq!(late(&[0x4280, 0xbf0c, 0x6821, 0x6822]), 1);
    }
}
