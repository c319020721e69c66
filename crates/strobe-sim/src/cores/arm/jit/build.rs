//! A region as one host function: guest registers live in host registers between its blocks.
//!
//! The function is entered with a number that selects the block to begin at. Each block's end pays
//! its cycles and checks that the next block fits before the horizon.
//!
//! Memory has all registers at the end of each block and, at the latest, where the code leaves: a
//! block stores what it has changed. So an exit needs no value of every register, which would make
//! the code grow with the product of exits and registers, and the time to compile it with more.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    Block as Label, BlockArg, BlockCall, Function, InstBuilder, InstructionData, JumpTableData,
    MemFlagsData, Opcode, SigRef, Type, Value, ValueDef, types,
};
use cranelift_codegen::isa::{CallConv, TargetFrontendConfig};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Switch, Variable};

use super::code::{self, Exit, ExitKind, Frame};
use super::flags::{self, Flags};

use super::region::Plan;
use super::{Counters, Slot, Ways};
use crate::cores::arm::cpu::Cpu;
use crate::cores::arm::run::EXC_RETURN;
use crate::kernel::bus::Bus;
use crate::kernel::flash::HalfCycles;
use crate::kernel::flash::accelerator::JUMPED;
use crate::kernel::model::Model;
use crate::kernel::observe::StackWindow;
use strobe_isa::thumb::insn::{Insn, NO_REG};

/// Builds the function of a region.
pub(super) fn function(
    function: &mut Function,
    context: &mut FunctionBuilderContext,
    plan: &Plan,
    counters: &mut Counters,
    bus: &Bus,
    host: TargetFrontendConfig,
    ways: Ways,
) {
    let mut b = FunctionBuilder::new(function, context);
    let entry = b.create_block();
    b.append_block_params_for_function_params(entry);
    b.switch_to_block(entry);
    let &[cpu, frame, number] = b.block_params(entry) else { unreachable!("three parameters") };
    let load = |b: &mut FunctionBuilder, offset: usize| {
        b.ins().load(types::I64, trusted(), frame, offset as i32)
    };
    let ram = load(&mut b, offset_of!(Frame, ram));
    let flash = load(&mut b, offset_of!(Frame, flash));
    let slots = b.ins().iconst(types::I64, counters.slots.as_mut_ptr() as i64);
    let events = b.ins().iconst(types::I64, counters.events.as_mut_ptr() as i64);
    // What the region uses is known once it is built: the registers are loaded in a block built
    // last.
    let dispatch = b.create_block();
    b.ins().jump(dispatch, &[]);
    let exit = b.create_block();
    b.append_block_param(exit, types::I64);
    let labels = plan.blocks.iter().map(|_| b.create_block()).collect();
    let state = State::declare(&mut b);
    let flags = Flags::unchanged();
    let mut build = Build {
        b,
        plan,
        bus,
        state,
        flags,
        at: (0, 0),
        labels,
        exit,
        cpu,
        frame,
        ram,
        flash,
        slots,
        events,
        signatures: Vec::new(),
        call_convention: host.default_call_conv,
        fp_checked: false,
        waits_first: None,
        watches_stack: ways.watches_stack,
        reports: ways.reports,
        model: ways.model,
        reaches_further: ways.reaches_further,
        used: 0,
        unstored: 0,
        flag_tail: None,
    };
    (0..plan.blocks.len()).for_each(|at| build.block(at));
    build.leave();
    build.enter(dispatch, number);
    build.b.seal_all_blocks();
    build.b.finalize(host);
}

/// The machine's state as the function keeps it.
pub(super) struct State {
    pub(super) r: [Variable; 15],
    pub(super) budget: Variable,
    instructions: Variable,
    carry: Variable,
}

impl State {
    fn declare(b: &mut FunctionBuilder) -> Self {
        State {
            r: std::array::from_fn(|_| b.declare_var(types::I32)),
            budget: b.declare_var(types::I64),
            instructions: b.declare_var(types::I64),
            carry: b.declare_var(types::I32),
        }
    }
}

/// A function being built.
pub(super) struct Build<'a> {
    pub(super) b: FunctionBuilder<'a>,
    pub(super) plan: &'a Plan<'a>,
    pub(super) bus: &'a Bus,
    pub(super) state: State,
    /// Flags as known at this point of the block.
    pub(super) flags: Flags,
    /// Block and instruction being built.
    pub(super) at: (usize, usize),
    labels: Vec<Label>,
    exit: Label,
    pub(super) cpu: Value,
    pub(super) frame: Value,
    pub(super) ram: Value,
    pub(super) flash: Value,
    slots: Value,
    pub(super) events: Value,
    /// Signatures of the functions that are called, by the types of their arguments.
    pub(super) signatures: Vec<(Vec<Type>, SigRef)>,
    pub(super) call_convention: CallConv,
    /// The block has found the floating-point unit ready.
    pub(super) fp_checked: bool,
    /// Whether the instruction being built waits for RAM that answers late at first, a boolean.
    pub(super) waits_first: Option<Value>,
    /// The stack pointer stays in a window, or an instruction needs care.
    watches_stack: bool,
    /// What reports transfers.
    reports: Option<code::Reports>,
    /// Which of the three models the time line is.
    pub(super) model: Model,
    /// Accesses try RAM besides the main one, too.
    pub(super) reaches_further: bool,
    /// Registers read or written anywhere.
    used: u16,
    /// Registers that memory does not have yet.
    pub(super) unstored: u16,
    /// Where exits go that have the present flags to store.
    flag_tail: Option<Label>,
}

/// Registers that an exit may store itself. With more, they are stored before whatever may leave,
/// once and for all exits behind.
const MOST_UNSTORED: u32 = 3;

/// Access that cannot trap on the host.
pub(super) fn trusted() -> MemFlagsData {
    MemFlagsData::new().with_notrap()
}

impl Build<'_> {
    /// A register's value; an absent one reads as zero.
    pub(super) fn get(&mut self, r: u8) -> Value {
        if r == NO_REG {
            return self.constant(0);
        }
        self.used |= 1 << r;
        self.b.use_var(self.state.r[usize::from(r)])
    }

    /// Changes a register.
    pub(super) fn set(&mut self, r: u8, value: Value) {
        if r == 13 && self.watches_stack {
            self.check_stack(value);
        }
        self.used |= 1 << r;
        self.unstored |= 1 << r;
        self.b.def_var(self.state.r[usize::from(r)], value);
    }

    pub(super) fn constant(&mut self, value: u32) -> Value {
        self.b.ins().iconst(types::I32, i64::from(value))
    }

    /// The constant that a value is, if it is known to be one.
    pub(super) fn known(&self, value: Value) -> Option<u32> {
        let dfg = &self.b.func.dfg;
        let ValueDef::Result(inst, _) = dfg.value_def(value) else { return None };
        match dfg.insts[inst] {
            InstructionData::UnaryImm { opcode: Opcode::Iconst, imm } => Some(imm.bits() as u32),
            _ => None,
        }
    }

    /// A value of 32 bits and a constant.
    pub(super) fn plus(&mut self, value: Value, constant: i32) -> Value {
        match self.known(value) {
            Some(known) => self.constant(known.wrapping_add_signed(constant)),
            None if constant == 0 => value,
            None => self.b.ins().iadd_imm_s(value, i64::from(constant)),
        }
    }

    /// Stores registers of a set, as far as memory does not have them.
    pub(super) fn store_registers(&mut self, set: u16) {
        let lacking = set & self.unstored;
        self.unstored &= !lacking;
        for r in (0..15).filter(|r| lacking >> r & 1 != 0) {
            let value = self.b.use_var(self.state.r[r]);
            let offset = offset_of!(Cpu, r) + 4 * r;
            self.b.ins().store(trusted(), value, self.cpu, offset as i32);
        }
    }

    /// Before something that may leave.
    pub(super) fn store_many(&mut self) {
        if self.unstored.count_ones() > MOST_UNSTORED {
            self.store_registers(u16::MAX);
        }
    }

    /// The flags have changed: exits from here on have other ones to store.
    pub(super) fn forget_tails(&mut self) {
        self.flag_tail = None;
    }

    fn block(&mut self, number: usize) {
        self.b.switch_to_block(self.labels[number]);
        self.flags = Flags::unchanged();
        self.forget_tails();
        self.unstored = 0;
        self.fp_checked = false;
        let block = self.plan.blocks[number].block;
        for (at, &insn) in block.insns[..block.body as usize].iter().enumerate() {
            self.at = (number, at);
            match block.condition(at) {
                None => {
                    self.insn(insn);
                    self.pay_first_wait();
                }
                Some(condition) => self.conditional(condition, insn),
            }
        }
        let body = block.body as usize;
        self.at = (number, body);
        match (block.insns.get(body), block.condition(body)) {
            (None, _) => self.go_on(),
            (Some(&last), None) => self.jump(last, block.end),
            (Some(&last), Some(condition)) => {
                let passes = self.condition(condition);
                self.store_registers(u16::MAX);
                let [taken, straight] = [self.b.create_block(), self.b.create_block()];
                self.b.ins().brif(passes, taken, &[], straight, &[]);
                let flags = self.flags;
                self.b.switch_to_block(straight);
                self.skip();
                self.go_on();
                self.flags = flags;
                self.b.switch_to_block(taken);
                self.jump(last, block.end);
            }
        }
    }

    fn jump(&mut self, last: Insn, next: u32) {
        match last {
            Insn::BCond { condition, .. } => {
                let passes = self.condition(condition);
                self.branch(passes);
            }
            Insn::Cbz { n, nonzero, .. } => {
                let value = self.get(n);
                let code = if nonzero { IntCC::NotEqual } else { IntCC::Equal };
                let passes = self.b.ins().icmp_imm_s(code, value, 0);
                self.branch(passes);
            }
            Insn::B { .. } => self.jump_direct(),
            Insn::Bl { .. } => {
                let link = self.constant(next | 1);
                self.set(14, link);
                self.jump_direct();
            }
            Insn::Bx { m } => {
                let value = self.get(m);
                self.check_ordinary(value);
                self.jump_indirect(value);
            }
            Insn::Blx { m } => {
                let value = self.get(m);
                self.check_ordinary(value);
                let link = self.constant(next | 1);
                self.set(14, link);
                self.jump_indirect(value);
            }
            Insn::MovPc { m } => {
                let value = self.get(m);
                let value = self.b.ins().bor_imm_s(value, 1);
                self.check_ordinary(value);
                self.jump_indirect(value);
            }
            Insn::AddPc { m, value } => {
                let offset = self.get(m);
                let value = self.b.ins().iadd_imm_s(offset, i64::from(value));
                let value = self.b.ins().bor_imm_s(value, 1);
                self.check_ordinary(value);
                self.jump_indirect(value);
            }
            Insn::PopPc { list } => {
                let value = self.pop_pc(list);
                self.jump_indirect(value);
            }
            _ => {
                let value = self.loaded_target(last, next);
                self.jump_indirect(value);
            }
        }
    }

    /// The block goes on at its end.
    fn go_on(&mut self) {
        self.pay(offset_of!(Slot, straight), false);
        match self.plan.blocks[self.at.0].next {
            Some(to) => {
                let arrived = self
                    .bus
                    .flash_interface
                    .accelerator
                    .cycles_at_end(self.plan.blocks[self.at.0].id);
                self.continue_at(to, arrived);
            }
            None => self.leave_with(ExitKind::Next),
        }
    }

    /// The block takes its direct jump.
    fn jump_direct(&mut self) {
        self.pay(offset_of!(Slot, jumped), true);
        let member = &self.plan.blocks[self.at.0];
        match member.target {
            Some(to) => {
                self.wait_for_target(member.block.target_wait);
                self.report_direct(to);
                self.continue_at(to, JUMPED);
            }
            None => self.leave_with(ExitKind::Direct),
        }
    }

    fn branch(&mut self, passes: Value) {
        self.store_registers(u16::MAX);
        let member = &self.plan.blocks[self.at.0];
        let needed = |to: Option<usize>| {
            to.map_or(flags::ALL, |to| flags::needed(self.plan.blocks[to].block))
        };
        let both = needed(member.next) & needed(member.target);
        self.keep_flags(both);
        let [taken, straight] = [self.b.create_block(), self.b.create_block()];
        self.b.ins().brif(passes, taken, &[], straight, &[]);
        let flags = self.flags;
        self.b.switch_to_block(taken);
        self.jump_direct();
        self.flags = flags;
        self.b.switch_to_block(straight);
        self.go_on();
    }

    /// The block jumps to a value that is no exception return.
    fn jump_indirect(&mut self, value: Value) {
        self.pay_first_wait();
        self.pay(offset_of!(Slot, jumped), true);
        self.jump_inside(value);
        let offset = offset_of!(Frame, value) as i32;
        self.b.ins().store(trusted(), value, self.frame, offset);
        self.leave_with(ExitKind::Indirect);
    }

    /// Goes on where a computed jump goes, if that is a block of the region, and behind this
    /// otherwise.
    fn jump_inside(&mut self, value: Value) {
        let plan = self.plan;
        let member = &plan.blocks[self.at.0];
        let targets = &member.computed;
        if targets.is_empty() {
            return;
        }
        let outside = self.b.create_block();
        let arrivals: Vec<Label> = targets.iter().map(|_| self.b.create_block()).collect();
        let starts = targets.iter().map(|&to| plan.blocks[to].block.start);
        let places: Vec<(u32, Label)> = starts.zip(arrivals.iter().copied()).collect();
        if member.block.by_table {
            self.jump_by_table(value, &places, outside);
        } else {
            // Bit 0 is set, or the place is none that is decoded.
            let mut switch = Switch::new();
            places
                .iter()
                .for_each(|&(start, label)| switch.set_entry(u128::from(start | 1), label));
            switch.emit(&mut self.b, value, outside);
        }
        let flags = self.flags;
        for (&to, arrival) in targets.iter().zip(arrivals) {
            self.flags = flags;
            self.b.switch_to_block(arrival);
            self.pay_for_arrival(to);
            self.report_indirect(to);
            self.continue_at(to, JUMPED);
        }
        self.flags = flags;
        self.b.switch_to_block(outside);
    }

    /// Jumps to one of some places, which lie close together, or to `outside`.
    fn jump_by_table(&mut self, value: Value, places: &[(u32, Label)], outside: Label) {
        let starts = places.iter().map(|&(start, _)| start);
        let (Some(first), Some(last)) = (starts.clone().min(), starts.max()) else { return };
        let mut table = vec![outside; ((last - first) / 2 + 1) as usize];
        for &(start, arrival) in places {
            table[((start - first) / 2) as usize] = arrival;
        }
        // Bit 0 is set, or the place is none that is decoded.
        let index = self.b.ins().iadd_imm_s(value, -i64::from(first | 1));
        let index = self.b.ins().rotr_imm_u(index, 1);
        let call = |label: Label, b: &mut FunctionBuilder| {
            BlockCall::new(label, [], &mut b.func.dfg.value_lists)
        };
        let default = call(outside, &mut self.b);
        let table: Vec<BlockCall> = table.into_iter().map(|l| call(l, &mut self.b)).collect();
        let table = self.b.create_jump_table(JumpTableData::new(default, &table));
        self.b.ins().br_table(index, table);
    }

    /// `Machine::report_direct`, for a jump to a block of the region that has been paid for.
    fn report_direct(&mut self, to: usize) {
        let block = self.plan.blocks[self.at.0].block;
        let Some(reports) = self.reports else { return };
        if block.calls {
            self.report(reports.call, to);
        } else if block.leaves_function {
            self.report(reports.direct, to);
        }
    }

    /// The same for a jump to a computed address.
    fn report_indirect(&mut self, to: usize) {
        let (block, target) = (self.plan.blocks[self.at.0].block, self.plan.blocks[to].block);
        let Some(reports) = self.reports else { return };
        if !block.jumps_inside(target) {
            self.report(if block.calls { reports.call } else { reports.indirect }, to);
        }
    }

    /// Reports the jump of the block to another one. Memory has all registers.
    fn report(&mut self, report: code::Report, to: usize) {
        let block = self.plan.blocks[self.at.0].block;
        let from = self.constant(block.last_at);
        let (end, to) = (block.end, self.plan.blocks[to].block.start);
        let [to, end] = [to, end].map(|address| self.constant(address));
        let budget = self.b.use_var(self.state.budget);
        let instructions = self.b.use_var(self.state.instructions);
        let function = self.b.ins().iconst(types::I64, report as usize as i64);
        let takes = [types::I64, types::I32, types::I32, types::I64, types::I64, types::I32];
        let signature = self.signature(&takes, None);
        let arguments = [self.frame, from, to, budget, instructions, end];
        self.b.ins().call_indirect(signature, function, &arguments);
    }

    /// The host address of a further memory.
    pub(super) fn further_memory(&mut self, at: usize) -> Value {
        let offset = offset_of!(Frame, more) + at * size_of::<*mut u8>();
        self.b.ins().load(types::I64, trusted(), self.frame, offset as i32)
    }

    /// A jump to this value or above may be an exception return, which needs care.
    pub(super) fn check_ordinary(&mut self, value: Value) {
        let ordinary =
            self.b.ins().icmp_imm_u(IntCC::UnsignedLessThan, value, i64::from(EXC_RETURN));
        self.or_miss(ordinary);
    }

    /// A stack pointer outside the window needs care. Whatever else the instruction has done by
    /// then, it does again.
    fn check_stack(&mut self, sp: Value) {
        let mut part = |offset: usize| {
            let offset = (offset_of!(Frame, stack) + offset) as i32;
            self.b.ins().load(types::I32, trusted(), self.frame, offset)
        };
        let (low, span) = (part(offset_of!(StackWindow, low)), part(offset_of!(StackWindow, span)));
        let above = self.b.ins().isub(sp, low);
        let inside = self.b.ins().icmp(IntCC::UnsignedLessThanOrEqual, above, span);
        self.or_miss(inside);
    }

    /// Goes on only if `holds`; otherwise the instruction being built needs care.
    pub(super) fn or_miss(&mut self, holds: Value) {
        self.store_many();
        let on = self.b.create_block();
        self.go_to_or_miss(holds, on, &[]);
        self.b.switch_to_block(on);
    }

    /// Goes to a block if `holds`; otherwise the instruction being built needs care. Afterwards
    /// no block is being filled.
    pub(super) fn go_to_or_miss(&mut self, holds: Value, to: Label, arguments: &[BlockArg]) {
        if self.is_stored() {
            let word = [BlockArg::Value(self.exit_word(ExitKind::Miss))];
            self.b.ins().brif(holds, to, arguments, self.exit, &word);
            return;
        }
        let miss = self.b.create_block();
        self.b.ins().brif(holds, to, arguments, miss, &[]);
        self.b.switch_to_block(miss);
        self.miss();
    }

    /// Whether memory has all registers and flags.
    fn is_stored(&self) -> bool {
        self.unstored == 0 && self.flags_are_stored()
    }

    fn exit_word(&mut self, kind: ExitKind) -> Value {
        let exit = Exit { kind, block: self.at.0, at: self.at.1 };
        self.b.ins().iconst(types::I64, exit.pack())
    }

    /// Leaves before the instruction being built. The block being filled must be a cold one.
    pub(super) fn miss(&mut self) {
        if let Some(here) = self.b.current_block() {
            self.b.set_cold_block(here);
        }
        self.leave_with(ExitKind::Miss);
    }

    /// Counts the block's run and its cycles and instructions.
    fn pay(&mut self, counter: usize, jumps: bool) {
        self.store_registers(u16::MAX);
        let block = self.plan.blocks[self.at.0].block;
        self.add_to(self.slots, self.at.0 * size_of::<Slot>() + counter, 1);
        let cycles = block.cycles + if jumps { block.refill } else { 0 };
        let budget = self.b.use_var(self.state.budget);
        let budget = self.b.ins().iadd_imm_s(budget, -i64::from(cycles));
        self.b.def_var(self.state.budget, budget);
        let instructions = self.b.use_var(self.state.instructions);
        let instructions = self.b.ins().iadd_imm_s(instructions, block.insns.len() as i64);
        self.b.def_var(self.state.instructions, instructions);
    }

    /// Adds a constant to a 64-bit number in memory.
    pub(super) fn add_to(&mut self, base: Value, offset: usize, constant: i64) {
        if constant != 0 {
            let sum = self.b.ins().load(types::I64, trusted(), base, offset as i32);
            let sum = self.b.ins().iadd_imm_s(sum, constant);
            self.b.ins().store(trusted(), sum, base, offset as i32);
        }
    }

    pub(super) fn add_value_to(&mut self, base: Value, offset: usize, value: Value) {
        let sum = self.b.ins().load(types::I64, trusted(), base, offset as i32);
        let sum = self.b.ins().iadd(sum, value);
        self.b.ins().store(trusted(), sum, base, offset as i32);
    }

    /// Cycles that the jump's target in flash costs: `HalfCycleCarry::take`.
    pub(super) fn target_wait(&mut self, wait: HalfCycles) -> Value {
        let carry = self.b.use_var(self.state.carry);
        let halves = self.b.ins().iadd_imm_s(carry, i64::from(wait.likely));
        let carry = self.b.ins().band_imm_u(halves, 1);
        self.b.def_var(self.state.carry, carry);
        let cycles = self.b.ins().ushr_imm_u(halves, 1);
        self.b.ins().uextend(types::I64, cycles)
    }

    /// Waits for the target of the block's direct jump.
    fn wait_for_target(&mut self, wait: HalfCycles) {
        if wait.is_zero() {
            return;
        }
        let cycles = self.target_wait(wait);
        let budget = self.b.use_var(self.state.budget);
        let budget = self.b.ins().isub(budget, cycles);
        self.b.def_var(self.state.budget, budget);
        let slot = self.at.0 * size_of::<Slot>() + offset_of!(Slot, waited);
        self.add_value_to(self.slots, slot, cycles);
    }

    /// Goes on with another block of the region, if it fits before the horizon. `arrived`: cycles
    /// in the line of flash before it, if the core comes from there.
    fn continue_at(&mut self, to: usize, arrived: u32) {
        let block = self.plan.blocks[to].block;
        let budget = self.b.use_var(self.state.budget);
        let fits = IntCC::SignedGreaterThanOrEqual;
        let fits = self.b.ins().icmp_imm_s(fits, budget, i64::from(block.worst));
        let from = self.at;
        if self.is_stored() && !self.bus.flash_interface.accelerator.is_on() {
            self.at = (to, 0);
            let word = [BlockArg::Value(self.exit_word(ExitKind::Horizon))];
            self.b.ins().brif(fits, self.labels[to], &[], self.exit, &word);
            self.at = from;
            return;
        }
        let [on, late] = [self.b.create_block(), self.b.create_block()];
        self.b.ins().brif(fits, on, &[], late, &[]);
        let flags = self.flags;
        self.b.switch_to_block(late);
        self.b.set_cold_block(late);
        self.arrive(arrived);
        self.at = (to, 0);
        self.leave_with(ExitKind::Horizon);
        self.at = from;
        self.flags = flags;
        self.b.switch_to_block(on);
        self.keep_flags(flags::needed(block));
        self.fetch(self.plan.blocks[to].id, arrived);
        self.b.ins().jump(self.labels[to], &[]);
    }

    /// Leaves with everything stored.
    fn leave_with(&mut self, kind: ExitKind) {
        let unstored = self.unstored;
        self.store_registers(u16::MAX);
        self.unstored = unstored;
        let word = self.exit_word(kind);
        if self.flags_are_stored() {
            self.b.ins().jump(self.exit, &[BlockArg::Value(word)]);
            return;
        }
        let known = self.flag_tail;
        let tail = known.unwrap_or_else(|| self.b.create_block());
        self.b.ins().jump(tail, &[BlockArg::Value(word)]);
        if known.is_none() {
            self.build_flag_tail(tail);
        }
    }

    /// Stores the flags and leaves.
    fn build_flag_tail(&mut self, tail: Label) {
        let word = self.b.append_block_param(tail, types::I64);
        self.b.switch_to_block(tail);
        self.b.set_cold_block(tail);
        let flags = self.flags;
        self.keep_flags(flags::ALL);
        self.flags = flags;
        self.b.ins().jump(self.exit, &[BlockArg::Value(word)]);
        self.flag_tail = Some(tail);
    }

    /// The one exit.
    fn leave(&mut self) {
        self.b.switch_to_block(self.exit);
        let word = self.b.block_params(self.exit)[0];
        for (offset, variable, _) in self.figures() {
            let value = self.b.use_var(variable);
            self.b.ins().store(trusted(), value, self.frame, offset);
        }
        self.b.ins().return_(&[word]);
    }

    /// Loads what the region uses and goes to the entry asked for.
    fn enter(&mut self, dispatch: Label, number: Value) {
        self.b.switch_to_block(dispatch);
        for r in (0..15).filter(|r| self.used >> r & 1 != 0) {
            let offset = (offset_of!(Cpu, r) + 4 * r) as i32;
            let value = self.b.ins().load(types::I32, trusted(), self.cpu, offset);
            self.b.def_var(self.state.r[r], value);
        }
        for (offset, variable, ty) in self.figures() {
            let value = self.b.ins().load(ty, trusted(), self.frame, offset);
            self.b.def_var(variable, value);
        }
        let nowhere = self.b.create_block();
        let mut switch = Switch::new();
        for (entry, &at) in self.plan.entries.iter().enumerate() {
            switch.set_entry(entry as u128, self.labels[at]);
        }
        switch.emit(&mut self.b, number, nowhere);
        self.b.switch_to_block(nowhere);
        self.b.set_cold_block(nowhere);
        self.flags = Flags::unchanged();
        self.unstored = 0;
        self.at = (0, 0);
        self.leave_with(ExitKind::Horizon);
    }

    /// Where the frame has what the code counts: offset, variable, type.
    fn figures(&self) -> [(i32, Variable, Type); 3] {
        let State { budget, instructions, carry, .. } = self.state;
        [
            (offset_of!(Frame, budget) as i32, budget, types::I64),
            (offset_of!(Frame, instructions) as i32, instructions, types::I64),
            (offset_of!(Frame, carry) as i32, carry, types::I32),
        ]
    }
}
