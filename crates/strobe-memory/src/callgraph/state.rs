//! What is known of registers and stack between two instructions of a Thumb function.
//!
//! Everything is relative to the stack pointer at the function's entry: the depth is how many bytes
//! the stack pointer is below it. Only what affects the stack pointer, or about where
//! control goes, is kept; the rest is [`Value::Unknown`].

use strobe_isa::thumb::Registers;
use strobe_isa::thumb::insn::Reg;
use strobe_isa::thumb::registers::{LR, SP};

use super::walk::Known;

/// A register's value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Value {
    /// Anything.
    #[default]
    Unknown,
    /// A number.
    Const(u32),
    /// The stack pointer at entry, minus so many bytes.
    Stack(i32),
    /// The process stack pointer, minus so many bytes.
    Process(i32),
    /// A word loaded from somewhere else than the stack.
    Loaded,
    /// What was in LR at entry.
    Return,
    /// The address behind a BL to within the function.
    Behind,
    /// A word of a table of constants that begins here.
    Element(u32),
}

impl Value {
    pub(super) fn add(self, other: Value) -> Value {
        match (self, other) {
            (Value::Const(a), Value::Const(b)) => Value::Const(a.wrapping_add(b)),
            (Value::Stack(depth), Value::Const(c)) | (Value::Const(c), Value::Stack(depth)) => {
                Value::Stack(depth.saturating_sub(c as i32))
            }
            (Value::Process(below), Value::Const(c)) | (Value::Const(c), Value::Process(below)) => {
                Value::Process(below.wrapping_sub(c as i32))
            }
            _ => Value::Unknown,
        }
    }

    pub(super) fn subtract(self, other: Value) -> Value {
        match other {
            Value::Const(number) => self.add(Value::Const(number.wrapping_neg())),
            _ => Value::Unknown,
        }
    }

    /// The value and a number.
    pub(super) fn plus(self, number: i32) -> Value {
        self.add(Value::Const(number as u32))
    }

    /// A stack address whose lowest bits are cleared: at most that much further down.
    pub(super) fn aligned(self, mask: u32) -> Value {
        match (self, mask) {
            (Value::Stack(_), 0..=255) if (mask + 1).is_power_of_two() => self.plus(-(mask as i32)),
            _ => Value::Unknown,
        }
    }
}

/// Stored words that are remembered; a function saves fewer registers.
const MOST_SLOTS: usize = 32;

/// The state before an instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct State {
    /// Bytes that the stack pointer is below its value at entry.
    pub(super) depth: i32,
    /// R0 to R14; the stack pointer's is not used.
    registers: [Value; 15],
    /// Words stored on the stack, by depth of their address, sorted.
    slots: Vec<(i32, Value)>,
    /// Instructions that an IT before them makes conditional.
    pub(super) conditional: u8,
    /// The function has moved its stack pointer by an unknown number.
    pub(super) is_dynamic: bool,
    /// The depth at which the stack pointer was stored away from the stack: whoever loads another
    /// one then goes on with another thread.
    parked: Option<i32>,
    /// The most bytes below the process stack pointer at which something was stored.
    pub(super) saved: u32,
}

impl Known for State {
    fn entry() -> Self {
        let mut registers = [Value::Unknown; 15];
        registers[usize::from(LR)] = Value::Return;
        State {
            depth: 0,
            registers,
            slots: Vec::new(),
            conditional: 0,
            is_dynamic: false,
            parked: None,
            saved: 0,
        }
    }

    fn depth(&self) -> i32 {
        self.depth
    }

    fn saved(&self) -> u32 {
        self.saved
    }

    /// A call has come back: what it may have changed is unknown (AAPCS32, 6.1.1). Words that were
    /// stored above the stack pointer belong to this function.
    fn after_call(&mut self) {
        for register in [0, 1, 2, 3, 12, LR] {
            self.set(register, Value::Unknown);
        }
    }

    fn join(&mut self, other: &State) -> bool {
        let before = self.clone();
        self.depth = self.depth.max(other.depth);
        self.is_dynamic |= other.is_dynamic;
        self.conditional = self.conditional.max(other.conditional);
        self.saved = self.saved.max(other.saved);
        if self.parked != other.parked {
            self.parked = None;
        }
        for (own, theirs) in self.registers.iter_mut().zip(&other.registers) {
            *own = match (*own, *theirs) {
                (own, theirs) if own == theirs => own,
                // As of the depth, the larger counts: what a switch saves may depend on a flag.
                (Value::Process(own), Value::Process(theirs)) => Value::Process(own.max(theirs)),
                _ => Value::Unknown,
            };
        }
        self.slots.retain(|(depth, value)| other.load(*depth) == *value);
        *self != before
    }

    fn arguments(&self) -> [Option<u32>; 4] {
        [0, 1, 2, 3].map(|register| match self.get(register) {
            Value::Const(constant) => Some(constant),
            _ => None,
        })
    }
}

impl State {
    pub(super) fn get(&self, register: Reg) -> Value {
        match register {
            SP => Value::Stack(self.depth),
            _ => self.registers.get(usize::from(register)).copied().unwrap_or_default(),
        }
    }

    /// Sets a register that is not the stack pointer or the program counter.
    pub(super) fn set(&mut self, register: Reg, value: Value) {
        if register != SP
            && let Some(slot) = self.registers.get_mut(usize::from(register))
        {
            *slot = value;
        }
    }

    /// Registers get values that are not known.
    pub(super) fn forget(&mut self, registers: Registers) {
        registers.iter().for_each(|register| self.set(register, Value::Unknown));
    }

    /// A word is stored somewhere else than on the stack.
    pub(super) fn store_away(&mut self, address: Value, value: Value) {
        self.save_at(address);
        if value == Value::Stack(self.depth) {
            self.parked = Some(self.depth);
        }
    }

    /// Something is stored, of which this is the lowest address.
    pub(super) fn save_at(&mut self, address: Value) {
        if let Value::Process(below) = address {
            self.saved = self.saved.max(below.max(0) as u32);
        }
    }

    /// Whether a stack pointer loaded now is another thread's, who has left it here as well.
    pub(super) fn is_switch(&self, value: Value) -> bool {
        value == Value::Loaded && self.parked == Some(self.depth)
    }

    /// A word is stored at a depth.
    pub(super) fn store(&mut self, depth: i32, value: Value) {
        match self.slots.binary_search_by_key(&depth, |slot| slot.0) {
            Ok(at) => self.slots[at].1 = value,
            Err(_) if value == Value::Unknown || self.slots.len() == MOST_SLOTS => {}
            Err(at) => self.slots.insert(at, (depth, value)),
        }
    }

    pub(super) fn load(&self, depth: i32) -> Value {
        let found = self.slots.binary_search_by_key(&depth, |slot| slot.0);
        found.map_or(Value::Unknown, |at| self.slots[at].1)
    }
}
