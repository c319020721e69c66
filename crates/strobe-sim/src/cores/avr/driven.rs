//! The core as those see it who drive a board.

use crate::kernel::clock::Clocks;
use std::sync::atomic::AtomicBool;

use super::exec::push_pc;
use super::port::CarefulPort;
use super::{DATA, FaultReport, Machine, Stop};
use crate::kernel::bus::Bus;
use crate::kernel::core::Core;
use crate::kernel::memory::BusFault;
use crate::kernel::observe::Observer;

impl<O: Observer> Core<O> for Machine<O> {
    type Report = FaultReport;

    fn reset(&mut self) -> Result<(), BusFault> {
        Machine::reset(self)
    }

    fn run(&mut self, limit: u64, interrupted: &AtomicBool) -> Stop {
        Machine::run(self, limit, interrupted)
    }

    fn bus(&self) -> &Bus {
        &self.bus
    }

    fn bus_mut(&mut self) -> &mut Bus {
        &mut self.bus
    }

    fn observer(&self) -> &O {
        &self.observer
    }

    fn observer_mut(&mut self) -> &mut O {
        &mut self.observer
    }

    fn observer_and_clocks(&mut self) -> (&mut O, &Clocks) {
        (&mut self.observer, &self.bus.clocks)
    }

    fn pc(&self) -> u32 {
        self.cpu.pc
    }

    fn sp(&self) -> u32 {
        self.stack_top()
    }

    fn deepest_stack(&self) -> Option<u32> {
        Some(DATA + u32::from(self.cpu.deepest) + 1)
    }

    fn cycles(&self) -> u64 {
        self.now
    }

    fn asleep(&self) -> u64 {
        self.asleep
    }

    fn instructions(&self) -> u64 {
        self.instructions
    }

    fn execute_waits(&mut self) {
        self.turns.disabled = true;
    }

    fn distinguish(&mut self) {
        self.belongs_to = self.observer.who();
        if let Some(who) = self.belongs_to {
            self.observer.belongs_to(who);
        }
    }

    fn set_function_entries(&mut self, entries: Vec<u32>) {
        self.forget_code();
        self.blocks.set_entries(entries);
    }

    fn set_stops(&mut self, stops: Vec<u32>) {
        Machine::set_stops(self, stops);
    }

    fn call(&mut self, function: u32, argument: u32, back: u32) {
        let (from, end) = (self.cpu.pc, self.now);
        self.cpu.r[22..26].copy_from_slice(&argument.to_le_bytes());
        let mut port = CarefulPort { bus: &mut self.bus, pc: from, end, log: None };
        match push_pc(&mut self.cpu, &mut port, back) {
            Ok(()) => {}
            Err(never) => match never {},
        }
        self.cpu.pc = function & self.arch.pc_mask;
        self.resume = None;
        self.report_call(from, back);
    }

    fn finish_sending(&mut self, limit: u64) {
        self.bus.finish_sending(limit);
        self.drain();
    }
}
