//! AVR instructions, as far as they concern the stack pointer and control flow: what else they
//! write becomes unknown.
//!
//! A frame is made by copying the stack pointer into Y byte by byte, subtracting from it with a
//! borrow between the bytes, and writing it back, so bytes of stack addresses are followed.

use strobe_isa::avr::insn::{Insn, Special};
use strobe_isa::avr::{self, Access, Place};
use strobe_symbols::Firmware;

use super::step::{Flow, Step, To};
use super::walk::{Interpreter, Known};

/// A register's value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Byte {
    #[default]
    Unknown,
    Const(u8),
    /// The low byte of the stack pointer at entry minus so many bytes.
    Low(i32),
    /// The high byte of it.
    High(i32),
    /// Loaded from memory.
    Loaded,
}

/// The register that is zero between instructions of C.
const ZERO: usize = 1;

/// The pointer Z, by its low register.
const Z: usize = 30;

/// The state before an instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct State {
    pub(super) depth: i32,
    registers: [Byte; 32],
    /// The depth that a subtraction from a low byte has led to; the high byte follows.
    borrow: Option<i32>,
    /// What was last written to SPH, and not yet to SPL.
    high: Option<Byte>,
    is_dynamic: bool,
    /// Bytes on top of the stack that PUSH has put there.
    pushed: i32,
    /// The depth at which the stack pointer was stored in memory: whoever loads another one then
    /// goes on with another thread.
    parked: Option<i32>,
}

impl Known for State {
    fn entry() -> Self {
        let mut registers = [Byte::Unknown; 32];
        // avr-gcc keeps a zero there, but for products, after which it clears it again.
        registers[ZERO] = Byte::Const(0);
        State {
            depth: 0,
            registers,
            borrow: None,
            high: None,
            is_dynamic: false,
            pushed: 0,
            parked: None,
        }
    }

    fn depth(&self) -> i32 {
        self.depth
    }

    /// What a called function may have changed is unknown (avr-gcc's ABI).
    fn after_call(&mut self) {
        for register in (18..28).chain([0, 30, 31]) {
            self.registers[register] = Byte::Unknown;
        }
        self.registers[ZERO] = Byte::Const(0);
        self.borrow = None;
    }

    fn join(&mut self, other: &State) -> bool {
        let before = self.clone();
        self.depth = self.depth.max(other.depth);
        self.is_dynamic |= other.is_dynamic;
        self.pushed = self.pushed.min(other.pushed);
        for (own, theirs) in self.registers.iter_mut().zip(&other.registers) {
            if own != theirs {
                *own = Byte::Unknown;
            }
        }
        if self.borrow != other.borrow {
            self.borrow = None;
        }
        if self.high != other.high {
            self.high = None;
        }
        if self.parked != other.parked {
            self.parked = None;
        }
        *self != before
    }
}

impl State {
    /// Where Z points, which is in words.
    fn z(&self) -> To {
        match (self.registers[Z], self.registers[Z + 1]) {
            (Byte::Const(low), Byte::Const(high)) => {
                To::Known(2 * u32::from(u16::from_le_bytes([low, high])))
            }
            _ => To::Unknown,
        }
    }

    fn set(&mut self, register: u8, value: Byte) {
        self.registers[usize::from(register)] = value;
    }

    fn get(&self, register: u8) -> Byte {
        self.registers[usize::from(register)]
    }
}

/// Reads and interprets AVR instructions.
pub(super) struct Avr<'a> {
    pub(super) firmware: &'a Firmware,
    /// Bytes that a call pushes.
    pub(super) return_bytes: i32,
    /// Bytes by which the function may move its stack pointer beyond the steps seen in its code.
    pub(super) dynamic_bound: i32,
}

impl Interpreter for Avr<'_> {
    type State = State;

    fn step(&self, at: u32, state: &mut State) -> Option<Step> {
        let (insn, size) = self.firmware.avr_at(at)?;
        let mut step = Step { lets_in: insn == Insn::Sei, ..Step::next(size) };
        step.flow = match insn.flow() {
            avr::Flow::Next => {
                step.is_dynamic = self.data(insn, state);
                Flow::Next
            }
            avr::Flow::Return => self.back(state),
            avr::Flow::Branch(target) => Flow::Branch(target),
            avr::Flow::Jump(target) => Flow::Jump(To::Known(target)),
            avr::Flow::JumpZ => Flow::Jump(state.z()),
            avr::Flow::CallZ => Flow::Call(state.z()),
            // RCALL of the next instruction makes room for two or three bytes.
            avr::Flow::Call(target) if size == 2 && target == at.wrapping_add(2) => {
                state.depth = state.depth.saturating_add(self.return_bytes);
                state.pushed = 0;
                Flow::Next
            }
            avr::Flow::Call(target) => Flow::Call(To::Known(target)),
            // Flash that is erased.
            avr::Flow::Stop if insn == (Insn::Invalid { opcode: 0xffff }) => Flow::Stop,
            // An instruction of other AVRs.
            avr::Flow::Stop => Flow::Next,
        };
        Some(step)
    }

    fn size_at(&self, at: u32) -> u32 {
        self.firmware.avr_at(at).map_or(2, |(_, size)| size)
    }
}

impl Avr<'_> {
    /// RET and RETI: with an address of its own on top, a function goes where that leads, as by a
    /// table, and not to its caller.
    fn back(&self, state: &mut State) -> Flow {
        if state.pushed < self.return_bytes {
            return Flow::Return;
        }
        state.depth = state.depth.saturating_sub(self.return_bytes);
        Flow::Jump(To::Unknown)
    }

    /// Whether the stack pointer moves by an unknown number.
    fn data(&self, insn: Insn, state: &mut State) -> bool {
        use Insn::*;
        match insn {
            Movw { d, r } => {
                state.set(d, state.get(r));
                state.set(d + 1, state.get(r + 1));
            }
            Mov { d, r } => state.set(d, state.get(r)),
            Ldi { d, k } => state.set(d, Byte::Const(k)),
            Eor { d, r } if d == r => state.set(d, Byte::Const(0)),
            Add { d, r } => add(d, r, false, state),
            Adc { d, r } => add(d, r, true, state),
            Sub { d, r } => subtract(d, state.get(r), false, state),
            Sbc { d, r } => subtract(d, state.get(r), true, state),
            Subi { d, k } => subtract(d, Byte::Const(k), false, state),
            Sbci { d, k } => subtract(d, Byte::Const(k), true, state),
            Adiw { d, k } => lower_pair(d, -i32::from(k), state),
            Sbiw { d, k } => lower_pair(d, k.into(), state),
            Get { d, from: Special::Spl } => state.set(d, Byte::Low(state.depth)),
            Get { d, from: Special::Sph } => state.set(d, Byte::High(state.depth)),
            Set { to: Special::Sph, r } => state.high = Some(state.get(r)),
            Set { to: Special::Spl, r } => return self.set_stack(state.get(r), state),
            // Products are in R0 and R1, of which the latter is zero again when it matters.
            Mul { .. } | Muls { .. } | Mulsu { .. } | Fmul { .. } => {}
            Fmuls { .. } | Fmulsu { .. } => {}
            Cp { .. }
            | Cpi { .. }
            | Com { .. }
            | Neg { .. }
            | Asr { .. }
            | Lsr { .. }
            | Ror { .. } => {
                insn.writes().iter().for_each(|register| state.set(register, Byte::Unknown));
                state.borrow = None;
            }
            _ => {
                insn.writes().iter().for_each(|register| state.set(register, Byte::Unknown));
                insn.access().into_iter().for_each(|access| transfer(access, state));
            }
        }
        false
    }

    fn set_stack(&self, low: Byte, state: &mut State) -> bool {
        state.pushed = 0;
        match (low, state.high.take()) {
            (Byte::Low(low), Some(Byte::High(depth))) if (low - depth) % 256 == 0 => {
                state.depth = depth;
            }
            // Parts with little memory have no SPH.
            (Byte::Low(depth), None) => state.depth = depth,
            // Start-up code: a stack begins.
            (Byte::Const(_), _) => {}
            // A switch of threads: the other one has left its stack here as well.
            (Byte::Loaded, _) if state.parked == Some(state.depth) => {}
            _ => {
                if !state.is_dynamic {
                    state.depth = state.depth.saturating_add(self.dynamic_bound);
                }
                state.is_dynamic = true;
                return true;
            }
        }
        false
    }
}

/// Adds a register, if it has a constant.
fn add(register: u8, other: u8, has_carry: bool, state: &mut State) {
    let borrow = state.borrow.take();
    match state.get(other) {
        Byte::Const(c) => change(register, -i32::from(c), has_carry, borrow, state),
        _ => state.set(register, Byte::Unknown),
    }
}

fn subtract(register: u8, other: Byte, has_carry: bool, state: &mut State) {
    let borrow = state.borrow.take();
    match other {
        Byte::Const(c) => change(register, c.into(), has_carry, borrow, state),
        _ => state.set(register, Byte::Unknown),
    }
}

/// A stack address in two registers goes down.
fn lower_pair(low: u8, by: i32, state: &mut State) {
    state.borrow = None;
    let (bottom, top) = match (state.get(low), state.get(low + 1)) {
        (Byte::Low(_), Byte::High(depth)) => {
            (Byte::Low(depth.wrapping_add(by)), Byte::High(depth.wrapping_add(by)))
        }
        _ => (Byte::Unknown, Byte::Unknown),
    };
    state.set(low, bottom);
    state.set(low + 1, top);
}

/// Loads and stores; the registers that they change are unknown already.
fn transfer(access: Access, state: &mut State) {
    match (access.place, access.loads, access.stores) {
        (Place::Stack, None, _) => {
            state.depth = state.depth.saturating_add(1);
            state.pushed += 1;
        }
        (Place::Stack, Some(_), _) => {
            state.depth = state.depth.saturating_sub(1);
            state.pushed = (state.pushed - 1).max(0);
        }
        (_, Some(register), _) => state.set(register, Byte::Loaded),
        (_, None, Some(register)) => {
            if let Byte::Low(depth) = state.get(register) {
                state.parked = Some(depth);
            }
        }
        (_, None, None) => {}
    }
}

/// Subtracts a constant from a byte of an address; from the high one, what the low one borrowed as
/// well.
fn change(register: u8, by: i32, has_carry: bool, borrow: Option<i32>, state: &mut State) {
    let value = match (state.get(register), has_carry, borrow) {
        (Byte::Low(depth), false, _) => {
            let depth = depth.wrapping_add(by);
            state.borrow = Some(depth);
            Byte::Low(depth)
        }
        (Byte::High(_), true, Some(low)) => Byte::High(i32::from(low.wrapping_add(by << 8) as i16)),
        (Byte::Const(c), false, _) => Byte::Const(c.wrapping_sub(by as u8)),
        _ => Byte::Unknown,
    };
    state.set(register, value);
}
