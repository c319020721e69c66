//! The 32-bit Thumb encodings, as far as they concern the stack pointer and control flow (ARMv7-M
//! manual, A5.3): what else they write becomes unknown.

use strobe_symbols::FunctionSource;

use super::state::{LR, PC, SP, State, Value};
use super::step::{Flow, Step, To};
use super::thumb::{Thumb, add, aligned, jump, pop, push, relative, sign, subtract};

/// The numbers of the stack pointers as special registers (B5.1.1).
const MSP: u32 = 8;
const PSP: u32 = 9;

/// Fields that most encodings have.
#[derive(Clone, Copy)]
struct Fields {
    first: u32,
    second: u32,
    /// The first operand, bits 3:0 of the first halfword.
    n: usize,
    /// The destination of data processing, bits 11:8 of the second halfword.
    d: usize,
    /// The register loaded or stored, bits 15:12 of the second halfword.
    t: usize,
}

impl Thumb<'_> {
    pub(super) fn wide(&self, at: u32, first: u16, second: u16, state: &mut State) -> Step {
        let (first, second) = (u32::from(first), u32::from(second));
        let fields = Fields {
            first,
            second,
            n: (first & 15) as usize,
            d: (second >> 8 & 15) as usize,
            t: (second >> 12 & 15) as usize,
        };
        let next = Step::next(4);
        match first >> 9 & 0x3f {
            0b110100 if first & 0x40 == 0 => Step { flow: multiple(fields, state), ..next },
            0b110100 => self.pair(fields, state),
            0b110101 => self.shifted_register(fields, state),
            0b110110 | 0b110111 | 0b111110 | 0b111111 => self.coprocessor(fields, state),
            0b111000..=0b111011 if first & 0xfff0 == 0xf380 && second & 0xd000 == 0x8000 => {
                self.set_special(fields, state)
            }
            0b111000..=0b111011 if second >> 15 == 1 => {
                let step = branch(at, fields, state);
                self.within(at, step, state)
            }
            0b111000..=0b111011 => self.immediate(at, fields, state),
            0b111100 => self.single(at, fields, state),
            _ => {
                // Data processing with registers, multiplications. Long ones have two results.
                state.set(fields.d, Value::Unknown);
                if first & 0xff80 == 0xfb80 {
                    state.set(fields.t, Value::Unknown);
                }
                next
            }
        }
    }

    /// A BL to within its own function is a jump. Where B reaches 2 KiB (ARMv6-M), compilers jump
    /// further by BL, with the link register saved; assembly may come back from there. Where a
    /// function without a size ends is a guess, so that others may be in it.
    fn within(&self, at: u32, step: Step, state: &mut State) -> Step {
        let Flow::Call(To::Known(target)) = step.flow else { return step };
        let id = self.firmware.function_at(at);
        let Some(function) = id.map(|id| self.firmware.function(id)) else { return step };
        let is_within = self.firmware.function_at(target) == id && function.start != target;
        if !is_within || function.source == FunctionSource::UnsizedSymbol {
            return step;
        }
        state.set(LR, Value::Behind);
        Step { flow: Flow::Link(target), ..step }
    }

    /// MSR (B5.2.3): of the main stack pointer, what was taken from the stack pointer moves it.
    /// With anything else another stack begins, as with a constant.
    fn set_special(&self, f: Fields, state: &mut State) -> Step {
        let next = Step::next(4);
        match (f.second & 0xff, state.get(f.n)) {
            (MSP, value @ Value::Stack(_)) => self.assign(SP, value, state, next),
            (register, _) => Step { is_process: register == PSP, ..next },
        }
    }

    /// Loads and stores of two registers, exclusive ones, TBB and TBH (A5.3.6).
    fn pair(&self, f: Fields, state: &mut State) -> Step {
        let next = Step::next(4);
        if f.first & 0xfff0 == 0xe8d0 && f.second & 0xffe0 == 0xf000 {
            let width = 1 + (f.second >> 4 & 1);
            let flow = if f.n == PC { Flow::Offsets(width) } else { Flow::Computed };
            return Step { flow, ..next };
        }
        let (index, write) = (f.first >> 8 & 1 == 1, f.first >> 5 & 1 == 1);
        let is_load = f.first >> 4 & 1 == 1;
        if !index && !write {
            for register in [f.t, f.d, (f.second & 15) as usize] {
                state.set(register, Value::Unknown);
            }
            return next;
        }
        let offset = signed((f.second & 0xff) * 4, f.first >> 7 & 1 == 1);
        let base = state.get(f.n);
        let moved = add(base, Value::Const(offset as u32));
        let at = if index { moved } else { base };
        for (place, register) in [(0, f.t), (4, f.d)] {
            match at {
                _ if is_load => state.set(register, self.word(at, place, state)),
                Value::Stack(depth) => {
                    state.store(depth.wrapping_sub(place as i32), state.get(register));
                }
                _ => state.save_at(at),
            }
        }
        if write { self.assign(f.n, moved, state, next) } else { next }
    }

    /// Data processing of registers, one of them shifted (A5.3.11).
    fn shifted_register(&self, f: Fields, state: &mut State) -> Step {
        let next = Step::next(4);
        let (own, other) = (state.get(f.n), state.get((f.second & 15) as usize));
        let is_plain = f.second & 0x70f0 == 0;
        let value = match (f.first >> 5 & 15, is_plain) {
            (0b0000 | 0b0100 | 0b1000 | 0b1101, _) if f.d == PC => return next,
            (0b0010, true) if f.n == PC => other,
            (0b0001, true) => match (own, other) {
                (Value::Stack(depth), Value::Const(mask)) => aligned(depth, mask),
                _ => Value::Unknown,
            },
            (0b1000, true) => add(own, other),
            (0b1101, true) => subtract(own, other),
            _ => Value::Unknown,
        };
        self.assign(f.d, value, state, next)
    }

    /// Floating-point loads, stores and moves (A6.5 to A6.7).
    fn coprocessor(&self, f: Fields, state: &mut State) -> Step {
        let is_floating = matches!(f.second >> 8 & 15, 10 | 11);
        let next = Step { is_floating, ..Step::next(4) };
        let is_load = f.first >> 4 & 1 == 1;
        if f.first & 0xfe00 == 0xec00 {
            let (write, bytes) = (f.first >> 5 & 1 == 1, (f.second & 0xff) * 4);
            if f.first & 0x01a0 == 0 {
                // Two core registers from or to a coprocessor's.
                if is_load {
                    state.set(f.t, Value::Unknown);
                    state.set(f.n, Value::Unknown);
                }
            } else if write {
                let offset = signed(bytes, f.first >> 7 & 1 == 1);
                let moved = add(state.get(f.n), Value::Const(offset as u32));
                if !is_load {
                    state.save_at(if offset < 0 { moved } else { state.get(f.n) });
                }
                return self.assign(f.n, moved, state, next);
            }
        } else if f.first & 0x0f00 == 0x0e00 && is_load && f.second >> 4 & 1 == 1 {
            state.set(f.t, Value::Unknown);
        }
        next
    }

    /// Data processing with constants (A5.3.1 and A5.3.3).
    fn immediate(&self, at: u32, f: Fields, state: &mut State) -> Step {
        let next = Step::next(4);
        let short = (f.first >> 10 & 1) << 11 | f.second >> 4 & 0x700 | f.second & 0xff;
        let own = state.get(f.n);
        if f.first >> 9 & 1 == 1 {
            let value = self.plain_immediate(at, f, short, state);
            return self.assign(f.d, value, state, next);
        }
        let constant = thumb_expand_imm(short);
        let value = match f.first >> 5 & 15 {
            0b0000 | 0b0100 | 0b1000 | 0b1101 if f.d == PC => return next,
            0b0000 => match own {
                Value::Stack(depth) => aligned(depth, !constant),
                _ => Value::Unknown,
            },
            0b0001 => match own {
                Value::Stack(depth) => aligned(depth, constant),
                _ => Value::Unknown,
            },
            0b0010 if f.n == PC => Value::Const(constant),
            0b0011 if f.n == PC => Value::Const(!constant),
            0b1000 => add(own, Value::Const(constant)),
            0b1101 => subtract(own, Value::Const(constant)),
            0b1110 => match own {
                Value::Const(c) => Value::Const(constant.wrapping_sub(c)),
                _ => Value::Unknown,
            },
            _ => Value::Unknown,
        };
        self.assign(f.d, value, state, next)
    }

    fn plain_immediate(&self, at: u32, f: Fields, short: u32, state: &State) -> Value {
        let own = match f.n {
            PC => Value::Const(at.wrapping_add(4) & !3),
            n => state.get(n),
        };
        let long = (f.first & 15) << 12 | short;
        match f.first >> 4 & 31 {
            0b00000 => add(own, Value::Const(short)),
            0b01010 => subtract(own, Value::Const(short)),
            0b00100 => Value::Const(long),
            0b01100 => match state.get(f.d) {
                Value::Const(low) => Value::Const(low & 0xffff | long << 16),
                _ => Value::Unknown,
            },
            // BFC: of the stack pointer's copy, from bit 0, it aligns.
            0b10110 if f.n == PC => {
                let from = f.second >> 10 & 0x1c | f.second >> 6 & 3;
                match state.get(f.d) {
                    Value::Stack(depth) if from == 0 => {
                        aligned(depth, (2u32 << (f.second & 31)).wrapping_sub(1))
                    }
                    _ => Value::Unknown,
                }
            }
            _ => Value::Unknown,
        }
    }

    /// Loads and stores of one register (A5.3.7 to A5.3.10).
    fn single(&self, at: u32, f: Fields, state: &mut State) -> Step {
        let next = Step::next(4);
        let is_load = f.first >> 4 & 1 == 1;
        let is_word = f.first & 0x0160 == 0x0040;
        let base = match f.n {
            PC => Value::Const(at.wrapping_add(4) & !3),
            n => state.get(n),
        };
        let (mut address, mut moved) = (base, None);
        let mut is_element = false;
        if f.n == PC || f.first >> 7 & 1 == 1 {
            let up = f.n != PC || f.first >> 7 & 1 == 1;
            address = add(base, Value::Const(signed(f.second & 0xfff, up) as u32));
        } else if f.second >> 11 & 1 == 1 {
            let offset = signed(f.second & 0xff, f.second >> 9 & 1 == 1);
            let new = add(base, Value::Const(offset as u32));
            let index = f.second >> 10 & 1 == 1;
            if index {
                address = new;
            }
            moved = (!index || f.second >> 8 & 1 == 1).then_some(new);
        } else {
            is_element = true;
        }
        let (mut flow, mut next) = (Flow::Next, next);
        if is_load {
            let value = match (is_word, is_element) {
                (true, true) => self.element(base, state.get((f.second & 15) as usize)),
                (true, false) => match (f.n, address) {
                    // A literal is a constant wherever it is.
                    (PC, Value::Const(at)) => {
                        self.firmware.word_at(at).map_or(Value::Unknown, Value::Const)
                    }
                    _ => self.word(address, 0, state),
                },
                _ => Value::Unknown,
            };
            match f.t {
                // Of bytes and halfwords it is a hint to prefetch.
                PC if !is_word => {}
                PC if f.n == SP && value == Value::Unknown => flow = Flow::Return,
                PC if is_element && value == Value::Unknown => flow = Flow::Computed,
                PC => flow = jump(value, PC),
                t => next = self.assign(t, value, state, next),
            }
        } else if let (true, false, Value::Stack(depth)) = (is_word, is_element, address) {
            state.store(depth, state.get(f.t));
        } else if is_word {
            state.store_away(address, state.get(f.t));
        }
        let step = Step { flow, ..next };
        moved.map_or(step, |moved| self.assign(f.n, moved, state, step))
    }
}

/// Loads and stores of several registers (A5.3.5).
fn multiple(f: Fields, state: &mut State) -> Flow {
    let (write, is_load) = (f.first >> 5 & 1 == 1, f.first >> 4 & 1 == 1);
    let bytes = 4 * f.second.count_ones() as i32;
    let goes_up = f.first >> 7 & 3 == 1;
    match (f.n, write, is_load, goes_up) {
        (SP, true, true, true) => return pop(f.second, state),
        (SP, true, false, false) => {
            push(f.second, state);
            return Flow::Next;
        }
        _ => {}
    }
    if is_load {
        let registers = (0..PC).filter(|r| f.second >> r & 1 == 1);
        registers.for_each(|register| state.set(register, Value::Unknown));
    } else {
        let below = if goes_up { 0 } else { bytes as u32 };
        state.save_at(subtract(state.get(f.n), Value::Const(below)));
    }
    match (f.n, write) {
        (SP, true) => {
            let change = if goes_up { -bytes } else { bytes };
            state.depth = state.depth.saturating_add(change);
        }
        (n, true) => {
            let change = if goes_up { bytes } else { -bytes };
            state.set(n, add(state.get(n), Value::Const(change as u32)));
        }
        _ => {}
    }
    // What loads a saved program counter goes back to whoever saved it.
    if is_load && f.second >> PC & 1 == 1 { Flow::Return } else { Flow::Next }
}

/// Branches, calls, MRS and undefined instructions (A5.3.4).
fn branch(at: u32, f: Fields, state: &mut State) -> Step {
    let next = Step::next(4);
    let (s, j1, j2) = (f.first >> 10 & 1, f.second >> 13 & 1, f.second >> 11 & 1);
    let low = f.second & 0x7ff;
    let far = || {
        let (i1, i2) = (!(j1 ^ s) & 1, !(j2 ^ s) & 1);
        sign(s << 23 | i1 << 22 | i2 << 21 | (f.first & 0x3ff) << 11 | low, 24).wrapping_mul(2)
    };
    let flow = match f.second & 0x5000 {
        0x5000 => Flow::Call(To::Known(relative(at, far()))),
        // To Arm code, aligned to words.
        0x4000 => Flow::Call(To::Known(relative(at & !3, far()) & !3)),
        0x1000 => Flow::Jump(To::Known(relative(at, far()))),
        _ if f.first >> 6 & 15 < 14 => {
            let offset = s << 19 | j2 << 18 | j1 << 17 | (f.first & 0x3f) << 11 | low;
            Flow::Branch(relative(at, sign(offset, 20) * 2))
        }
        _ if f.first & 0xfff0 == 0xf7f0 => Flow::Stop,
        _ => {
            if f.first & 0xffe0 == 0xf3e0 {
                state.set(f.d, special(f.second, state));
            }
            Flow::Next
        }
    };
    Step { flow, ..next }
}

/// What MRS reads (B5.2.2). Code that reads the main stack pointer runs on it.
fn special(second: u32, state: &State) -> Value {
    match second & 0xff {
        MSP => Value::Stack(state.depth),
        PSP => Value::Process(0),
        _ => Value::Unknown,
    }
}

fn signed(bytes: u32, is_up: bool) -> i32 {
    if is_up { bytes as i32 } else { -(bytes as i32) }
}

/// The constant of a 12-bit modified immediate, of which only the low 12 bits count
/// (ThumbExpandImm, DDI 0403, A5.3.2).
fn thumb_expand_imm(code: u32) -> u32 {
    let (code, byte) = (code & 0xfff, code & 0xff);
    match code >> 8 {
        0 => byte,
        1 => byte << 16 | byte,
        2 => byte << 24 | byte << 8,
        3 => byte << 24 | byte << 16 | byte << 8 | byte,
        _ => (0x80 | byte & 0x7f).rotate_right(code >> 7),
    }
}
