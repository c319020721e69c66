//! The 16-bit Thumb encodings, as far as they concern the stack pointer and control flow (ARMv7-M
//! manual, A5.2): what else they write becomes unknown.

use strobe_symbols::{CodeKind, Firmware};

use super::state::{LR, PC, SP, State, Value};
use super::step::{Flow, Step, To};

/// Reads and interprets Thumb instructions.
pub(super) struct Thumb<'a> {
    pub(super) firmware: &'a Firmware,
    /// Bytes by which the function may move its stack pointer beyond the steps seen in its code.
    pub(super) dynamic_bound: i32,
}

/// Values of EXC_RETURN and above are no code (ARMv7-M manual, B1.5.8).
const FIRST_EXCEPTION_RETURN: u32 = 0xf000_0000;

impl Thumb<'_> {
    pub(super) fn halfword(&self, at: u32) -> Option<u16> {
        self.firmware.half_at(at)
    }

    /// Interprets the instruction at an address; `None` where there is none.
    pub(super) fn step(&self, at: u32, state: &mut State) -> Option<Step> {
        let first = self.halfword(at)?;
        let is_in_it = state.conditional > 0;
        let mut before = is_in_it.then(|| state.clone());
        let mut step = match first >> 11 {
            0b11101..=0b11111 => self.wide(at, first, self.halfword(at.wrapping_add(2))?, state),
            _ => self.narrow(at, first, state),
        };
        if let Some(before) = &mut before {
            // It may as well have done nothing.
            before.conditional -= 1;
            state.conditional = before.conditional;
            state.join(before);
            step.may_be_skipped = true;
        }
        Some(step)
    }

    fn narrow(&self, at: u32, code: u16, state: &mut State) -> Step {
        let n = u32::from(code);
        let low = |shift: u32| (n >> shift & 7) as usize;
        let flow = match n >> 12 {
            0b0000..=0b0011 => {
                arithmetic(n, state);
                Flow::Next
            }
            0b0100 => return self.registers(at, n, state),
            0b0101..=0b1000 => {
                self.load_store(n, state);
                Flow::Next
            }
            0b1001 => {
                let depth = state.depth.wrapping_sub((n & 0xff) as i32 * 4);
                match n >> 11 & 1 {
                    0 => state.store(depth, state.get(low(8))),
                    _ => state.set(low(8), state.load(depth)),
                }
                Flow::Next
            }
            0b1010 => {
                let offset = (n & 0xff) * 4;
                let value = match n >> 11 & 1 {
                    0 => Value::Const((at.wrapping_add(4) & !3).wrapping_add(offset)),
                    _ => Value::Stack(state.depth.wrapping_sub(offset as i32)),
                };
                state.set(low(8), value);
                Flow::Next
            }
            0b1011 => miscellaneous(at, n, state),
            0b1100 => {
                multiple(n, low(8), state);
                Flow::Next
            }
            0b1101 => match n >> 8 & 15 {
                14 => Flow::Stop,
                15 => {
                    state.after_call();
                    Flow::Next
                }
                _ => Flow::Branch(relative(at, sign(n & 0xff, 8) * 2)),
            },
            // The unconditional branch; the rest of these are 32-bit encodings.
            _ => Flow::Jump(To::Known(relative(at, sign(n & 0x7ff, 11) * 2))),
        };
        Step { flow, ..Step::next(2) }
    }

    /// Data processing, high registers, BX, literals.
    fn registers(&self, at: u32, n: u32, state: &mut State) -> Step {
        let next = Step::next(2);
        let (low, from) = ((n & 7) as usize, (n >> 3 & 15) as usize);
        let high = low | (n >> 4 & 8) as usize;
        match n >> 8 & 15 {
            0b0000..=0b0011 => {
                let value = match (n >> 6 & 15, state.get(low), state.get((n >> 3 & 7) as usize)) {
                    (8 | 10 | 11, own, _) => own,
                    (9, _, Value::Const(c)) => Value::Const(c.wrapping_neg()),
                    (14, Value::Stack(depth), Value::Const(mask)) => aligned(depth, mask),
                    _ => Value::Unknown,
                };
                state.set(low, value);
                next
            }
            0b0100 => {
                let (own, other) = (state.get(high), state.get(from));
                let value = add(own, other);
                match high {
                    PC => Step { flow: Flow::Computed, ..next },
                    _ => self.assign(high, value, state, next),
                }
            }
            0b0101 => next,
            0b0110 => match (high, from) {
                (PC, _) => {
                    let flow = match jump(state.get(from), from) {
                        // Compilers leave functions with BX.
                        Flow::Jump(To::Unknown) => Flow::Computed,
                        flow => flow,
                    };
                    Step { flow, ..next }
                }
                (_, PC) => self.assign(high, Value::Const(at.wrapping_add(4)), state, next),
                _ => self.assign(high, state.get(from), state, next),
            },
            0b0111 => {
                let flow = match (n >> 7 & 1, from, jump(state.get(from), from)) {
                    (0, PC, _) => Flow::Jump(To::Known(at.wrapping_add(4) & !3)),
                    (0, _, flow) => flow,
                    (_, _, Flow::Jump(to)) => Flow::Call(to),
                    _ => Flow::Call(To::Unknown),
                };
                Step { flow, ..next }
            }
            _ => {
                let address = (at.wrapping_add(4) & !3).wrapping_add((n & 0xff) * 4);
                let value = self.firmware.word_at(address).map_or(Value::Unknown, Value::Const);
                state.set((n >> 8 & 7) as usize, value);
                next
            }
        }
    }

    /// Loads and stores of 0101 to 1000.
    fn load_store(&self, n: u32, state: &mut State) {
        let (to, base) = ((n & 7) as usize, state.get((n >> 3 & 7) as usize));
        let value = match n >> 11 {
            0b01010 | 0b01011 => match n >> 9 & 7 {
                0..=2 => return,
                4 => self.element(base, state.get((n >> 6 & 7) as usize)),
                _ => Value::Unknown,
            },
            0b01100 => {
                match base {
                    Value::Stack(depth) => {
                        state.store(depth.wrapping_sub((n >> 6 & 31) as i32 * 4), state.get(to));
                    }
                    _ => {
                        let offset = Value::Const((n >> 6 & 31) * 4);
                        state.store_away(add(base, offset), state.get(to));
                    }
                }
                return;
            }
            0b01101 => self.word(base, (n >> 6 & 31) * 4, state),
            0b01111 | 0b10001 => Value::Unknown,
            _ => return,
        };
        state.set(to, value);
    }

    /// A word loaded from a known address: only constants are known.
    pub(super) fn word(&self, base: Value, offset: u32, state: &State) -> Value {
        match base {
            Value::Stack(depth) => state.load(depth.wrapping_sub(offset as i32)),
            Value::Const(base) => match self.constant(base.wrapping_add(offset)) {
                Some(word) => Value::Const(word),
                None => Value::Loaded,
            },
            _ => Value::Loaded,
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
    pub(super) fn element(&self, base: Value, index: Value) -> Value {
        match (base, index) {
            (Value::Const(base), _) | (_, Value::Const(base)) if self.constant(base).is_some() => {
                Value::Element(base)
            }
            _ => Value::Unknown,
        }
    }

    /// Writes any register but the program counter; the stack pointer's depth follows.
    pub(super) fn assign(&self, to: usize, value: Value, state: &mut State, step: Step) -> Step {
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
pub(super) fn jump(value: Value, register: usize) -> Flow {
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

/// Shifts, additions, moves and comparisons of low registers (A5.2.1).
fn arithmetic(n: u32, state: &mut State) {
    let low = |shift: u32| (n >> shift & 7) as usize;
    let constant = |value: u32| Value::Const(value);
    let (to, value) = match n >> 11 {
        0b00000 => match (state.get(low(3)), n >> 6 & 31) {
            (value, 0) => (low(0), value),
            (Value::Const(c), by) => (low(0), constant(c << by)),
            _ => (low(0), Value::Unknown),
        },
        0b00011 => {
            let other = match n >> 10 & 1 {
                0 => state.get(low(6)),
                _ => constant(n >> 6 & 7),
            };
            let (own, minus) = (state.get(low(3)), n >> 9 & 1 == 1);
            (low(0), if minus { subtract(own, other) } else { add(own, other) })
        }
        0b00100 => (low(8), constant(n & 0xff)),
        0b00101 => return,
        0b00110 => (low(8), add(state.get(low(8)), constant(n & 0xff))),
        0b00111 => (low(8), subtract(state.get(low(8)), constant(n & 0xff))),
        _ => (low(0), Value::Unknown),
    };
    state.set(to, value);
}

/// LDM and STM, which move their base up.
fn multiple(n: u32, base: usize, state: &mut State) {
    let is_load = n >> 11 & 1 == 1;
    let moved = match state.get(base) {
        from @ Value::Process(_) => add(from, Value::Const(4 * (n & 0xff).count_ones())),
        _ => Value::Unknown,
    };
    if !is_load {
        state.save_at(state.get(base));
    }
    state.set(base, moved);
    if is_load {
        (0..8).filter(|r| n >> r & 1 == 1).for_each(|r| state.set(r, Value::Unknown));
    }
}

/// PUSH, POP, SP arithmetic, CBZ, IT and the rest of 1011 (A5.2.5).
fn miscellaneous(at: u32, n: u32, state: &mut State) -> Flow {
    let list = n & 0xff;
    match n >> 8 & 15 {
        0b0000 => {
            let bytes = (n & 0x7f) as i32 * 4;
            let sign = if n >> 7 & 1 == 1 { 1 } else { -1 };
            state.depth = state.depth.saturating_add(sign * bytes);
        }
        0b0100 | 0b0101 => push(list | (n >> 8 & 1) << LR, state),
        0b1100 | 0b1101 => return pop(list | (n >> 8 & 1) << PC, state),
        0b0001 | 0b0011 | 0b1001 | 0b1011 => {
            let offset = (n >> 2 & 0x3e) | (n >> 3 & 0x40);
            return Flow::Branch(relative(at, offset as i32));
        }
        0b0010 | 0b1010 => state.set((n & 7) as usize, Value::Unknown),
        // IT makes as many instructions conditional as its mask has places before its last one.
        0b1111 if n & 15 != 0 => state.conditional = 4 - (n & 15).trailing_zeros() as u8,
        _ => {}
    }
    Flow::Next
}

/// Registers go onto the stack, the lowest at the lowest address.
pub(super) fn push(list: u32, state: &mut State) {
    let count = list.count_ones() as i32;
    state.depth = state.depth.saturating_add(4 * count);
    let registers = (0..16).filter(|r| list >> r & 1 == 1);
    for (place, register) in (0..).zip(registers) {
        state.store(state.depth.wrapping_sub(4 * place), state.get(register));
    }
}

/// Registers come off the stack; the program counter among them is a return, or a jump to what was
/// put there before.
pub(super) fn pop(list: u32, state: &mut State) -> Flow {
    let depth = state.depth;
    let mut flow = Flow::Next;
    let registers = (0..16).filter(|r| list >> r & 1 == 1);
    for (place, register) in (0..).zip(registers) {
        let value = state.load(depth.wrapping_sub(4 * place));
        match register {
            PC => {
                flow = match value {
                    Value::Const(_) | Value::Element(_) | Value::Behind => jump(value, PC),
                    _ => Flow::Return,
                }
            }
            _ => state.set(register, value),
        }
    }
    state.depth = depth.saturating_sub(4 * list.count_ones() as i32);
    flow
}

pub(super) fn add(a: Value, b: Value) -> Value {
    match (a, b) {
        (Value::Const(a), Value::Const(b)) => Value::Const(a.wrapping_add(b)),
        (Value::Stack(depth), Value::Const(c)) | (Value::Const(c), Value::Stack(depth)) => {
            Value::Stack(depth.wrapping_sub(c as i32))
        }
        (Value::Process(below), Value::Const(c)) | (Value::Const(c), Value::Process(below)) => {
            Value::Process(below.wrapping_sub(c as i32))
        }
        _ => Value::Unknown,
    }
}

pub(super) fn subtract(a: Value, b: Value) -> Value {
    match (a, b) {
        (Value::Const(a), Value::Const(b)) => Value::Const(a.wrapping_sub(b)),
        (Value::Stack(depth), Value::Const(c)) => Value::Stack(depth.wrapping_add(c as i32)),
        (Value::Process(below), Value::Const(c)) => Value::Process(below.wrapping_add(c as i32)),
        _ => Value::Unknown,
    }
}

/// A stack address whose lowest bits are cleared: at most that much further down.
pub(super) fn aligned(depth: i32, mask: u32) -> Value {
    match mask {
        0..=255 if (mask + 1).is_power_of_two() => Value::Stack(depth.wrapping_add(mask as i32)),
        _ => Value::Unknown,
    }
}

/// The number in the lowest `bits`, with its sign.
pub(super) fn sign(value: u32, bits: u32) -> i32 {
    (value << (32 - bits)) as i32 >> (32 - bits)
}

pub(super) fn relative(at: u32, offset: i32) -> u32 {
    at.wrapping_add(4).wrapping_add_signed(offset)
}
