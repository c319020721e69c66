//! AVR instructions, as far as they concern the stack pointer and control flow (AVR instruction
//! set manual, DS40002198): what else they write becomes unknown.
//!
//! A frame is made by copying the stack pointer into Y byte by byte, subtracting from it with a
//! borrow between the bytes, and writing it back, so bytes of stack addresses are followed.

use strobe_symbols::Firmware;

use super::step::{Flow, Step, To};

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

/// I/O addresses of the stack pointer's bytes.
const SPL: u32 = 0x3d;
const SPH: u32 = 0x3e;

/// SEI, which is BSET 7.
const SEI: u32 = 0x9478;

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

impl State {
    pub(super) fn entry() -> Self {
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

    /// What a called function may have changed is unknown (avr-gcc's ABI).
    pub(super) fn after_call(&mut self) {
        for register in (18..28).chain([0, 30, 31]) {
            self.registers[register] = Byte::Unknown;
        }
        self.registers[ZERO] = Byte::Const(0);
        self.borrow = None;
    }

    pub(super) fn join(&mut self, other: &State) -> bool {
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

    /// The number in a pair of registers.
    fn pair(&self, low: usize) -> Option<u32> {
        match (self.registers[low], self.registers[low + 1]) {
            (Byte::Const(low), Byte::Const(high)) => Some(u32::from(high) << 8 | u32::from(low)),
            _ => None,
        }
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

impl Avr<'_> {
    fn word(&self, at: u32) -> Option<u32> {
        self.firmware.half_at(at).map(u32::from)
    }

    /// Interprets the instruction at an address; `None` where there is none.
    pub(super) fn step(&self, at: u32, state: &mut State) -> Option<Step> {
        let n = self.word(at)?;
        let size = if is_wide(n) { 4 } else { 2 };
        let mut step = Step::next(size);
        let far = |second: u32| ((n >> 3 & 0x3e | n & 1) << 16 | second) * 2;
        let near = |bits: u32, value: u32| {
            let words = (value << (32 - bits)) as i32 >> (32 - bits);
            at.wrapping_add(2).wrapping_add_signed(words * 2)
        };
        step.flow = match n {
            0x9508 | 0x9518 => self.back(state),
            SEI => {
                step.lets_in = true;
                state.borrow = None;
                Flow::Next
            }
            0x9409 | 0x9419 => Flow::Jump(z(state)),
            0x9509 | 0x9519 => Flow::Call(z(state)),
            0xffff => Flow::Stop,
            _ if n & 0xfe0e == 0x940c => Flow::Jump(To::Known(far(self.word(at + 2)?))),
            _ if n & 0xfe0e == 0x940e => Flow::Call(To::Known(far(self.word(at + 2)?))),
            _ => match n >> 12 {
                0xc => Flow::Jump(To::Known(near(12, n & 0xfff))),
                // A call of the next instruction makes room for two or three bytes.
                0xd if n & 0xfff == 0 => {
                    state.depth = state.depth.saturating_add(self.return_bytes);
                    state.pushed = 0;
                    Flow::Next
                }
                0xd => Flow::Call(To::Known(near(12, n & 0xfff))),
                0xf if n & 0x0800 == 0 => Flow::Branch(near(7, n >> 3 & 0x7f)),
                0xf if n & 0x0c00 == 0x0c00 => Flow::Skip,
                0x1 if n & 0xfc00 == 0x1000 => Flow::Skip,
                0x9 if n & 0xfd00 == 0x9900 => Flow::Skip,
                _ => {
                    step.is_dynamic = self.data(n, state);
                    Flow::Next
                }
            },
        };
        Some(step)
    }

    /// RET and RETI: with an address of its own on top, a function goes where that leads, as by a
    /// table, and not to its caller.
    fn back(&self, state: &mut State) -> Flow {
        if state.pushed < self.return_bytes {
            return Flow::Return;
        }
        state.depth = state.depth.saturating_sub(self.return_bytes);
        Flow::Jump(To::Unknown)
    }

    /// The size of the instruction at an address, for skips.
    pub(super) fn size_at(&self, at: u32) -> u32 {
        self.word(at).map_or(2, |n| if is_wide(n) { 4 } else { 2 })
    }

    /// Whether the stack pointer moves by an unknown number.
    fn data(&self, n: u32, state: &mut State) -> bool {
        let any = (n >> 4 & 31) as usize;
        let upper = 16 + (n >> 4 & 15) as usize;
        let k = n >> 4 & 0xf0 | n & 15;
        let borrow = state.borrow.take();
        match n >> 12 {
            0x0 if n & 0xff00 == 0x0100 => {
                let (to, from) = (2 * (n >> 4 & 15) as usize, 2 * (n & 15) as usize);
                state.registers[to] = state.registers[from];
                state.registers[to + 1] = state.registers[from + 1];
            }
            // CPC, and products, which are in R0 and R1.
            0x0 if n & 0xfc00 == 0x0400 || n & 0xfc00 == 0 => state.borrow = borrow,
            // CP.
            0x1 if n & 0xfc00 == 0x1400 => {}
            0x2 if n & 0xfc00 == 0x2c00 => {
                let from = (n & 15 | n >> 5 & 16) as usize;
                state.registers[any] = state.registers[from];
                state.borrow = borrow;
            }
            0x2 if n & 0xfc00 == 0x2400 && any == (n & 15 | n >> 5 & 16) as usize => {
                state.registers[any] = Byte::Const(0);
            }
            // SBC, ADD, SUB, ADC with another register.
            0x0 | 0x1 if n & 0x0800 != 0 => {
                let other = state.registers[(n & 15 | n >> 5 & 16) as usize];
                let is_sum = n & 0xfc00 == 0x0c00 || n & 0xfc00 == 0x1c00;
                let has_carry = n & 0xfc00 == 0x0800 || n & 0xfc00 == 0x1c00;
                match other {
                    Byte::Const(c) if is_sum => {
                        change(any, -i32::from(c), has_carry, borrow, state)
                    }
                    Byte::Const(c) => change(any, i32::from(c), has_carry, borrow, state),
                    _ => state.registers[any] = Byte::Unknown,
                }
            }
            0x0..=0x2 => state.registers[any] = Byte::Unknown,
            0x3 => {}
            0x4 => change(upper, k as i32, true, borrow, state),
            0x5 => change(upper, k as i32, false, borrow, state),
            0x6 | 0x7 => state.registers[upper] = Byte::Unknown,
            0x8 | 0xa => {
                if n & 0x0200 == 0 {
                    state.registers[any] = Byte::Unknown;
                }
                state.borrow = borrow;
            }
            0x9 => return self.nine(n, state, borrow),
            0xb => return self.in_out(n, state, borrow),
            0xe => {
                state.registers[upper] = Byte::Const(k as u8);
                state.borrow = borrow;
            }
            // BLD.
            0xf if n & 0xfe00 == 0xf800 => state.registers[any] = Byte::Unknown,
            _ => state.borrow = borrow,
        }
        false
    }

    /// PUSH, POP, loads, stores, ADIW and SBIW.
    fn nine(&self, n: u32, state: &mut State, borrow: Option<i32>) -> bool {
        let any = (n >> 4 & 31) as usize;
        match n >> 8 & 15 {
            0x2 | 0x3 if n & 15 == 15 => {
                state.depth = state.depth.saturating_add(1);
                state.pushed += 1;
            }
            0x0..=0x3 => {
                match (n & 0x0200 == 0, state.registers[any]) {
                    (false, Byte::Low(depth)) => state.parked = Some(depth),
                    (false, _) => {}
                    (true, _) if n & 0x020f == 15 => state.registers[any] = Byte::Unknown,
                    (true, _) => state.registers[any] = Byte::Loaded,
                }
                if n & 0x020f == 15 {
                    state.depth = state.depth.saturating_sub(1);
                    state.pushed = (state.pushed - 1).max(0);
                }
                let pointer = match n & 15 {
                    1 | 2 | 5 | 7 => Some(30),
                    9 | 10 => Some(28),
                    13 | 14 => Some(26),
                    _ => None,
                };
                if let Some(pointer) = pointer {
                    state.registers[pointer] = Byte::Unknown;
                    state.registers[pointer + 1] = Byte::Unknown;
                }
                state.borrow = borrow;
            }
            0x4 | 0x5 if n & 15 < 8 || n & 15 == 10 => state.registers[any] = Byte::Unknown,
            0x6 | 0x7 => {
                let low = 24 + 2 * (n >> 4 & 3) as usize;
                let k = (n >> 2 & 0x30 | n & 15) as i32;
                let by = if n & 0x0100 == 0 { -k } else { k };
                let pair = (state.registers[low], state.registers[low + 1]);
                (state.registers[low], state.registers[low + 1]) = match pair {
                    (Byte::Low(_), Byte::High(depth)) => {
                        (Byte::Low(depth.wrapping_add(by)), Byte::High(depth.wrapping_add(by)))
                    }
                    _ => (Byte::Unknown, Byte::Unknown),
                };
            }
            _ => state.borrow = borrow,
        }
        false
    }

    /// IN and OUT, of the stack pointer above all.
    fn in_out(&self, n: u32, state: &mut State, borrow: Option<i32>) -> bool {
        let (any, port) = ((n >> 4 & 31) as usize, n & 15 | n >> 5 & 0x30);
        state.borrow = borrow;
        if n & 0x0800 == 0 {
            state.registers[any] = match port {
                SPL => Byte::Low(state.depth),
                SPH => Byte::High(state.depth),
                _ => Byte::Unknown,
            };
            return false;
        }
        match port {
            SPH => {
                state.high = Some(state.registers[any]);
                false
            }
            SPL => self.set_stack(state.registers[any], state),
            _ => false,
        }
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

/// Subtracts a constant from a byte of an address; from the high one, what the low one borrowed as
/// well.
fn change(register: usize, by: i32, has_carry: bool, borrow: Option<i32>, state: &mut State) {
    state.registers[register] = match (state.registers[register], has_carry, borrow) {
        (Byte::Low(depth), false, _) => {
            let depth = depth.wrapping_add(by);
            state.borrow = Some(depth);
            Byte::Low(depth)
        }
        (Byte::High(_), true, Some(low)) => Byte::High(i32::from(low.wrapping_add(by << 8) as i16)),
        (Byte::Const(c), false, _) => Byte::Const(c.wrapping_sub(by as u8)),
        _ => Byte::Unknown,
    };
}

/// Where Z points, as a word address.
fn z(state: &State) -> To {
    state.pair(30).map_or(To::Unknown, |words| To::Known(words * 2))
}

/// LDS, STS, JMP and CALL have a second word.
fn is_wide(n: u32) -> bool {
    n & 0xfc0f == 0x9000 || n & 0xfe0c == 0x940c
}
