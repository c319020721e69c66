//! Thumb instructions, as far as they concern the stack pointer and control flow: what else they
//! write becomes unknown.

use strobe_isa::thumb::insn::{Insn, NO_REG, Reg};
use strobe_isa::thumb::op::{DataOp, Shift, Width};
use strobe_isa::thumb::registers::{LR, PC, SP};
use strobe_isa::thumb::{self, Access, Address, Code, Transfers, is_wide};
use strobe_symbols::{CodeKind, Firmware, FunctionSource};

use super::state::{State, Value};
use super::step::{Flow, Step, To};
use super::walk::{Interpreter, Known};

/// Reads and interprets Thumb instructions.
pub(super) struct Thumb<'a> {
    pub(super) firmware: &'a Firmware,
    /// Bytes by which the function may move its stack pointer beyond the steps seen in its code.
    pub(super) dynamic_bound: i32,
}

/// Values of EXC_RETURN and above are no code (ARMv7-M manual, B1.5.8).
const FIRST_EXCEPTION_RETURN: u32 = 0xf000_0000;

/// The numbers of the stack pointers as special registers (B5.1.1).
const MSP: u8 = 8;
const PSP: u8 = 9;

impl Interpreter for Thumb<'_> {
    type State = State;

    fn step(&self, at: u32, state: &mut State) -> Option<Step> {
        let code = self.firmware.thumb_at(at)?;
        let before = (state.conditional > 0).then(|| state.clone());
        let mut step = self.interpret(at, code, state);
        if let Some(mut before) = before {
            // It may as well have done nothing.
            before.conditional -= 1;
            state.conditional = before.conditional;
            state.join(&before);
            step.may_be_skipped = true;
        }
        Some(step)
    }

    fn size_at(&self, at: u32) -> u32 {
        if self.firmware.half_at(at).is_some_and(is_wide) { 4 } else { 2 }
    }
}

impl Thumb<'_> {
    fn interpret(&self, at: u32, code: Code, state: &mut State) -> Step {
        let flow = self.flow(at, code, state);
        let step = Step { flow, is_floating: code.is_fp(), ..Step::next(code.size) };
        match code.insn {
            _ if matches!(flow, Flow::Call(_) | Flow::Link(_)) => step,
            Insn::Svc { .. } => {
                state.after_call();
                step
            }
            // It makes as many instructions conditional as its mask has places before its last one.
            Insn::It { state: mask } => {
                state.conditional = 4 - (mask & 15).trailing_zeros() as u8;
                step
            }
            // Of the main stack pointer, what was taken from the stack pointer moves it. With
            // anything else another stack begins, as with a constant.
            Insn::Msr { n, sysm: MSP, .. } => match state.get(n) {
                value @ Value::Stack(_) => self.assign(SP, value, state, step),
                _ => step,
            },
            Insn::Msr { sysm: PSP, .. } => Step { is_process: true, ..step },
            insn => {
                if let Some((register, value)) = result(insn, state) {
                    return self.assign(register, value, state, step);
                }
                let Some(access) = insn.access() else {
                    state.forget(code.writes());
                    return step;
                };
                if let Insn::StoreExclusive { d, .. } = insn {
                    state.set(d, Value::Unknown);
                }
                self.transfer(access, state, step)
            }
        }
    }

    /// Where control goes on; loads of the program counter are for [`Self::transfer`].
    fn flow(&self, at: u32, code: Code, state: &mut State) -> Flow {
        match code.insn.flow() {
            thumb::Flow::Next | thumb::Flow::Load => Flow::Next,
            thumb::Flow::Branch(target) => Flow::Branch(target),
            thumb::Flow::Jump(target) => Flow::Jump(To::Known(target)),
            thumb::Flow::Call(target) if self.is_within(at, target) => {
                state.set(LR, Value::Behind);
                Flow::Link(target)
            }
            thumb::Flow::Call(target) => Flow::Call(To::Known(target)),
            thumb::Flow::CallRegister(m) => match jump(state.get(m), m) {
                Flow::Jump(to) => Flow::Call(to),
                _ => Flow::Call(To::Unknown),
            },
            thumb::Flow::JumpRegister(m) => match (jump(state.get(m), m), code.insn) {
                // Compilers leave functions with BX.
                (Flow::Jump(To::Unknown), Insn::MovPc { .. }) => Flow::Computed,
                (flow, _) => flow,
            },
            thumb::Flow::Table { base: PC, half, .. } => Flow::Offsets(1 + u32::from(half)),
            thumb::Flow::Table { .. } | thumb::Flow::JumpSum { .. } => Flow::Computed,
            thumb::Flow::Stop if code.is_udf() => Flow::Stop,
            // An instruction of a later core.
            thumb::Flow::Stop => Flow::Next,
        }
    }

    /// A BL to within its own function is a jump. Where B reaches 2 KiB (ARMv6-M), compilers jump
    /// further by BL, with the link register saved; assembly may come back from there. Where a
    /// function without a size ends is a guess, so that others may be in it.
    fn is_within(&self, at: u32, target: u32) -> bool {
        let id = self.firmware.function_at(at);
        let Some(function) = id.map(|id| self.firmware.function(id)) else { return false };
        self.firmware.function_at(target) == id
            && function.start != target
            && function.source != FunctionSource::UnsizedSymbol
    }

    /// Loads and stores, and a base that moves.
    fn transfer(&self, access: Access, state: &mut State, mut step: Step) -> Step {
        let address = address(access, state);
        let moved = access.writeback.map(|(base, by)| (base, state.get(base).plus(by)));
        if access.is_store {
            store(access, address, state);
        } else {
            let unknown = match access.address {
                Address::Index { base, index, .. } => {
                    self.element(state.get(base), state.get(index))
                }
                _ => Value::Loaded,
            };
            for (register, place) in access.transfers.places() {
                let value = match (access.width, access.address) {
                    (Width::Word, Address::Literal(at)) => self.literal(at.wrapping_add(place)),
                    (Width::Word, _) => self.word(address.plus(place as i32), unknown, state),
                    _ => Value::Unknown,
                };
                match register {
                    PC => step.flow = returns(access, value),
                    register => step = self.assign(register, value, state, step),
                }
            }
        }
        match moved {
            Some((base, value)) => self.assign(base, value, state, step),
            None => step,
        }
    }

    /// A literal is a constant wherever it is.
    fn literal(&self, address: u32) -> Value {
        self.firmware.word_at(address).map_or(Value::Unknown, Value::Const)
    }

    /// A word loaded from an address: only constants are known, or what the address itself shows.
    fn word(&self, address: Value, unknown: Value, state: &State) -> Value {
        match address {
            Value::Stack(depth) => state.load(depth),
            Value::Const(at) => self.constant(at).map_or(unknown, Value::Const),
            _ => unknown,
        }
    }

    fn constant(&self, address: u32) -> Option<u32> {
        let holds = |range: std::ops::Range<u64>| range.contains(&u64::from(address));
        let mut segments = self.firmware.segments().iter();
        let segment = segments.find(|segment| holds(segment.run_range()))?;
        // Some linker scripts make one segment of code and data, writable.
        let is_code = || self.firmware.code_kind(address & !3) == Some(CodeKind::Thumb);
        (!segment.permissions.write || is_code()).then(|| self.firmware.word_at(address))?
    }

    /// A word loaded from a table, at an offset that is not known.
    fn element(&self, base: Value, index: Value) -> Value {
        match (base, index) {
            (Value::Const(base), _) | (_, Value::Const(base)) if self.constant(base).is_some() => {
                Value::Element(base)
            }
            _ => Value::Unknown,
        }
    }

    /// Writes any register but the program counter; the stack pointer's depth follows.
    fn assign(&self, to: Reg, value: Value, state: &mut State, step: Step) -> Step {
        if to != SP {
            state.set(to, value);
            return step;
        }
        match value {
            Value::Stack(depth) => state.depth = depth,
            // Another stack begins, as start-up code does: what was used of the first still counts.
            Value::Const(_) => {}
            value if state.is_switch(value) => {}
            _ => {
                if !state.is_dynamic {
                    state.depth = state.depth.saturating_add(self.dynamic_bound);
                }
                state.is_dynamic = true;
                return Step { is_dynamic: true, ..step };
            }
        }
        step
    }
}

/// Where a write of a register's value to the program counter leads.
fn jump(value: Value, register: Reg) -> Flow {
    match value {
        Value::Const(c) if c >= FIRST_EXCEPTION_RETURN => Flow::Return,
        Value::Const(c) => Flow::Jump(To::Known(c & !1)),
        Value::Element(table) => Flow::Jump(To::Table(table)),
        Value::Return => Flow::Return,
        Value::Behind => Flow::Back,
        _ if register == LR => Flow::Return,
        _ => Flow::Jump(To::Unknown),
    }
}

/// Where a load of the program counter leads: from the stack back, or to what was put there before.
fn returns(access: Access, value: Value) -> Flow {
    match (access.address, access.transfers, value) {
        (
            Address::Offset { base: SP, .. },
            _,
            Value::Const(_) | Value::Element(_) | Value::Behind,
        ) => jump(value, PC),
        // What loads a saved program counter goes back to whoever saved it.
        (Address::Offset { base: SP, .. }, ..) | (_, Transfers::List(_), _) => Flow::Return,
        (Address::Index { .. }, _, Value::Unknown) => Flow::Computed,
        _ => jump(value, PC),
    }
}

/// The address of the first transfer.
fn address(access: Access, state: &State) -> Value {
    match access.address {
        Address::Offset { base, offset } => state.get(base).plus(offset),
        Address::Index { base, index, by: 0 } => state.get(base).add(state.get(index)),
        Address::Index { .. } => Value::Unknown,
        Address::Literal(at) => Value::Const(at),
    }
}

/// Words go onto the stack or elsewhere; of what is no word, only the place counts.
fn store(access: Access, address: Value, state: &mut State) {
    let words = match access.transfers {
        Transfers::Float { words, .. } => words,
        _ => 0,
    };
    let unknown = (0..words).map(|word| (NO_REG, 4 * u32::from(word)));
    for (register, place) in access.transfers.places().chain(unknown) {
        let value = match access.width {
            Width::Word => state.get(register),
            _ => Value::Unknown,
        };
        match address.plus(place as i32) {
            Value::Stack(depth) => state.store(depth, value),
            away => state.store_away(away, value),
        }
    }
}

/// The register that an instruction computes, and its value as far as it is known.
fn result(insn: Insn, state: &State) -> Option<(Reg, Value)> {
    use Insn::*;
    let get = |register| state.get(register);
    let constant = |number: u32| Value::Const(number);
    Some(match insn {
        LslImm { d, m, imm } => (d, shifted(get(m), Shift::Lsl, imm)),
        MovImm { d, imm } => (d, constant(imm.into())),
        MovConst { d, value } => (d, constant(value)),
        MovHi { d, m } => (d, get(m)),
        AddReg { d, n, m } => (d, get(n).add(get(m))),
        SubReg { d, n, m } => (d, get(n).subtract(get(m))),
        AddImm { d, n, imm } => (d, get(n).plus(imm.into())),
        SubImm { d, n, imm } => (d, get(n).plus(-i32::from(imm))),
        AddHi { d, m } => (d, get(d).add(get(m))),
        AddConst { d, value } => (d, get(d).add(constant(value))),
        AddSpImm { d, imm } => (d, get(SP).plus(imm.into())),
        AdjustSp { imm } => (SP, get(SP).plus(imm.into())),
        Rsb { d, n } => (d, constant(0).subtract(get(n))),
        And { d, m } => (d, operation(DataOp::And, get(d), get(m))),
        Bic { d, m } => (d, operation(DataOp::Bic, get(d), get(m))),
        Mvn { d, m } => (d, operation(DataOp::Mvn, Value::Unknown, get(m))),
        DataImm { op, d, n, value }
        | DataImmS { op, d, n, value }
        | DataImmSc { op, d, n, value } => (d, operation(op, get(n), constant(value))),
        DataReg { op, d, n, m, shift, by, .. } => {
            (d, operation(op, get(n), shifted(get(m), shift, by)))
        }
        Movt { d, imm } => match get(d) {
            Value::Const(low) => (d, constant(low & 0xffff | u32::from(imm) << 16)),
            _ => (d, Value::Unknown),
        },
        // BFC: of the stack pointer's copy, from bit 0, it aligns.
        Bfi { d, n: NO_REG, lsb: 0, width } => (d, get(d).aligned(u32::MAX >> (32 - width))),
        // Code that reads the main stack pointer runs on it.
        Mrs { d, sysm: MSP } => (d, get(SP)),
        Mrs { d, sysm: PSP } => (d, Value::Process(0)),
        _ => return None,
    })
}

fn shifted(value: Value, shift: Shift, by: u8) -> Value {
    match (value, shift) {
        (value, Shift::Lsl) if by == 0 => value,
        (Value::Const(number), Shift::Lsl) => Value::Const(number << by),
        _ => Value::Unknown,
    }
}

fn operation(op: DataOp, own: Value, other: Value) -> Value {
    match (op, other) {
        (DataOp::Add, _) => own.add(other),
        (DataOp::Sub, _) => own.subtract(other),
        (DataOp::Rsb, _) => other.subtract(own),
        (DataOp::Mov, _) => other,
        (DataOp::Mvn, Value::Const(number)) => Value::Const(!number),
        (DataOp::And, Value::Const(mask)) => own.aligned(!mask),
        (DataOp::Bic, Value::Const(mask)) => own.aligned(mask),
        _ => Value::Unknown,
    }
}
