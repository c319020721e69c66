//! What the flash accelerator makes compiled code wait: looked up where a block begins and where
//! data is read, as the interpreter does. Nothing of this is built where there is none or it is
//! off.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};

use super::build::{Build, trusted};
use super::code::{self, Frame};
use crate::cores::arm::block::BlockId;
use crate::kernel::flash::accelerator::Accelerator;

impl Build<'_> {
    fn accelerator(&mut self) -> Value {
        let offset = offset_of!(Frame, accelerator) as i32;
        self.b.ins().load(types::I64, trusted(), self.frame, offset)
    }

    /// Keeps how the next block is arrived at.
    pub(super) fn arrive(&mut self, arrived: u32) {
        if self.bus.flash_interface.accelerator.is_on() {
            let arrived = self.constant(arrived);
            let accelerator = self.accelerator();
            let offset = offset_of!(Accelerator, arrived) as i32;
            self.b.ins().store(trusted(), arrived, accelerator, offset);
        }
    }

    /// A block begins: `Machine::fetch`, unless all its lines were there since the last one was
    /// brought in.
    pub(super) fn fetch(&mut self, id: BlockId, arrived: u32) {
        if !self.bus.flash_interface.accelerator.is_on() {
            return;
        }
        let accelerator = self.accelerator();
        let epoch = offset_of!(Accelerator, epoch) as i32;
        let epoch = self.b.ins().load(types::I64, trusted(), accelerator, epoch);
        let stamps = offset_of!(Frame, stamps) as i32;
        let stamps = self.b.ins().load(types::I64, trusted(), self.frame, stamps);
        let stamp = self.b.ins().load(types::I64, trusted(), stamps, 8 * id as i32);
        let found = self.b.ins().icmp(IntCC::Equal, stamp, epoch);
        let [on, look] = [self.b.create_block(), self.b.create_block()];
        self.b.ins().brif(found, on, &[], look, &[]);
        self.b.switch_to_block(look);
        self.b.set_cold_block(look);
        let [block, arrived] = [id, arrived].map(|number| self.constant(number));
        let function = self.b.ins().iconst(types::I64, code::FETCH as usize as i64);
        let takes = [types::I64, types::I32, types::I32];
        self.call_and_wait(function, &takes, &[self.frame, block, arrived]);
        self.b.ins().jump(on, &[]);
        self.b.switch_to_block(on);
    }

    /// The instruction being built reads data at an address in flash, `offset` from its start.
    pub(super) fn read_flash(&mut self, address: Value, offset: Value, bytes: u32) {
        if !self.bus.flash_interface.accelerator.is_on() {
            return;
        }
        let on = self.b.create_block();
        if bytes <= 4 {
            // The line read last has nothing to wait for.
            let shift = i64::from(self.bus.flash_interface.accelerator.line_shift());
            let line = self.b.ins().ushr_imm_u(offset, shift);
            let accelerator = self.accelerator();
            let latest = offset_of!(Accelerator, latest_data) as i32;
            let latest = self.b.ins().load(types::I32, trusted(), accelerator, latest);
            let found = self.b.ins().icmp(IntCC::Equal, line, latest);
            let look = self.b.create_block();
            self.b.ins().brif(found, on, &[], look, &[]);
            self.b.switch_to_block(look);
        }
        let (block, at) = self.at;
        let pc = self.constant(self.plan.blocks[block].block.address(at));
        let bytes = self.constant(bytes);
        let function = self.b.ins().iconst(types::I64, code::READ as usize as i64);
        let takes = [types::I64, types::I32, types::I32, types::I32];
        self.call_and_wait(function, &takes, &[self.frame, pc, address, bytes]);
        self.b.ins().jump(on, &[]);
        self.b.switch_to_block(on);
    }

    /// Calls a function that returns cycles, and takes as many.
    fn call_and_wait(&mut self, function: Value, takes: &[types::Type], arguments: &[Value]) {
        let signature = self.signature(takes, Some(types::I64));
        let call = self.b.ins().call_indirect(signature, function, arguments);
        let cycles = self.b.inst_results(call)[0];
        let budget = self.b.use_var(self.state.budget);
        let budget = self.b.ins().isub(budget, cycles);
        self.b.def_var(self.state.budget, budget);
    }
}
