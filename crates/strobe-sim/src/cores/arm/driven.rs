//! The core as those see it who drive a board.

use crate::kernel::clock::Clocks;
use std::sync::atomic::AtomicBool;

use super::core::Machine;
use super::fault::FaultReport;
use super::run::Stop;
use crate::kernel::bus::Bus;
use crate::kernel::core::Core;
use crate::kernel::memory::BusFault;
use crate::kernel::model::Model;
use crate::kernel::observe::{Observer, TransferKind};
use crate::kernel::semihost::Console;

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
        self.cpu.msp()
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

    fn set_model(&mut self, model: Model) {
        self.model = model;
        self.bus.set_model(model);
    }

    fn distinguish(&mut self) {
        self.take_counts();
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
        let (from, return_address) = (self.cpu.pc, back & !1);
        self.cpu.r[0] = argument;
        self.cpu.r[14] = return_address | 1;
        self.cpu.pc = function & !1;
        self.cpu.it = 0;
        self.cpu.resume_at = 0;
        self.resume = None;
        self.bus.flash_interface.accelerator.jumped();
        self.report_transfer(TransferKind::Call { return_address }, from);
    }

    fn finish_sending(&mut self, limit: u64) {
        self.bus.finish_sending(limit);
        self.finish_trace(limit);
        self.drain();
    }

    fn debugger_write(&mut self, address: u32, value: u32) -> Result<(), BusFault> {
        Machine::debugger_write(self, address, value)
    }

    fn debugger_read(&mut self, address: u32) -> Result<u32, BusFault> {
        Machine::debugger_read(self, address)
    }

    fn set_console(&mut self, console: Box<dyn Console>) {
        self.semihost.console = console;
    }

    fn interpret(&mut self) {
        self.set_compile_after(None);
    }

    fn execute_waits(&mut self) {
        self.set_skip_waiting(false);
    }
}
