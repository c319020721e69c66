//! Flags worked out only where somebody looks.
//!
//! Most flags are set again before anything reads them. Within a block each flag is kept as the
//! values it would be computed from; code for it is made where it is read or where the block is
//! left.

use std::mem::offset_of;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types};

use super::build::{Build, trusted};
use super::effect;
use crate::cores::arm::block::Block;
use crate::cores::arm::cpu::Cpu;
use strobe_isa::thumb::insn::Condition;

/// A set of flags, for the analysis.
pub(super) type Set = u8;
pub(super) const NZ: Set = 1;
pub(super) const CARRY: Set = 2;
pub(super) const OVERFLOW: Set = 4;
pub(super) const ALL: Set = NZ | CARRY | OVERFLOW;

/// What decides C.
#[derive(Clone, Copy)]
pub(super) enum Carry {
    /// As at the start of the block.
    Unchanged,
    /// 0 or 1.
    Value(Value),
    /// a - b: no borrow.
    Difference(Value, Value),
    /// a + b (+ carry) = result.
    Sum(Value, Value, Value),
    /// One bit of a value.
    Bit(Value, u8),
}

/// What decides V.
#[derive(Clone, Copy)]
pub(super) enum Overflow {
    /// As at the start of the block.
    Unchanged,
    /// a - b = result.
    Difference(Value, Value, Value),
    /// a + b (+ carry) = result.
    Sum(Value, Value, Value),
}

/// All four flags.
#[derive(Clone, Copy)]
pub(super) struct Flags {
    /// What decides N and Z; none if unchanged.
    nz: Option<Value>,
    c: Carry,
    v: Overflow,
    /// All flags come from this comparison.
    compared: Option<(Value, Value)>,
    /// Those that memory has.
    stored: Set,
}

impl Flags {
    /// As at the start of the block.
    pub(super) fn unchanged() -> Self {
        Flags { nz: None, c: Carry::Unchanged, v: Overflow::Unchanged, compared: None, stored: ALL }
    }
}

/// Which flags must be right when `block` begins: those not set again before it can be left.
pub(super) fn needed(block: &Block) -> Set {
    let mut set = 0;
    for (at, &insn) in block.insns[..block.body as usize].iter().enumerate() {
        let effect = effect::flags(insn);
        // A condition reads them all, and what depends on it may not set any.
        if effect.may_leave || effect.reads & !set != 0 || block.condition(at).is_some() {
            break;
        }
        set |= effect.writes;
    }
    ALL & !set
}

impl Build<'_> {
    /// Puts flags into memory, those in `set` at least.
    pub(super) fn keep_flags(&mut self, set: Set) {
        let lacking = set & !self.flags.stored;
        if let (Some(value), true) = (self.flags.nz, lacking & NZ != 0) {
            self.store_flag(offset_of!(Cpu, n), value);
            self.store_flag(offset_of!(Cpu, z), value);
        }
        if lacking & CARRY != 0 {
            let value = self.carry();
            self.store_flag(offset_of!(Cpu, c), value);
        }
        if lacking & OVERFLOW != 0 {
            let value = self.overflow();
            self.store_flag(offset_of!(Cpu, v), value);
        }
        self.flags.stored |= lacking;
    }

    /// Whether memory has all flags.
    pub(super) fn flags_are_stored(&self) -> bool {
        self.flags.stored == ALL
    }

    fn store_flag(&mut self, offset: usize, value: Value) {
        self.b.ins().store(trusted(), value, self.cpu, offset as i32);
    }

    fn load_flag(&mut self, offset: usize) -> Value {
        self.b.ins().load(types::I32, trusted(), self.cpu, offset as i32)
    }

    pub(super) fn set_nz(&mut self, result: Value) {
        self.flags.nz = Some(result);
        self.flags.compared = None;
        self.flags.stored &= !NZ;
        self.forget_tails();
    }

    pub(super) fn set_carry(&mut self, carry: Carry) {
        self.flags.c = carry;
        self.flags.compared = None;
        self.flags.stored &= !CARRY;
        self.forget_tails();
    }

    /// a + b + carry, setting all flags.
    pub(super) fn add(&mut self, a: Value, b: Value, carry: Option<Value>) -> Value {
        let mut result = self.b.ins().iadd(a, b);
        if let Some(carry) = carry {
            result = self.b.ins().iadd(result, carry);
        }
        self.flags = Flags {
            nz: Some(result),
            c: Carry::Sum(a, b, result),
            v: Overflow::Sum(a, b, result),
            compared: None,
            stored: 0,
        };
        self.forget_tails();
        result
    }

    /// a - b, setting all flags.
    pub(super) fn sub(&mut self, a: Value, b: Value) -> Value {
        let result = self.b.ins().isub(a, b);
        self.flags = Flags {
            nz: Some(result),
            c: Carry::Difference(a, b),
            v: Overflow::Difference(a, b, result),
            compared: Some((a, b)),
            stored: 0,
        };
        self.forget_tails();
        result
    }

    fn n(&mut self) -> Value {
        match self.flags.nz {
            Some(value) => value,
            None => self.load_flag(offset_of!(Cpu, n)),
        }
    }

    fn z(&mut self) -> Value {
        match self.flags.nz {
            Some(value) => value,
            None => self.load_flag(offset_of!(Cpu, z)),
        }
    }

    /// C as 0 or 1.
    pub(super) fn carry(&mut self) -> Value {
        match self.flags.c {
            Carry::Unchanged => self.load_flag(offset_of!(Cpu, c)),
            Carry::Value(value) => value,
            Carry::Difference(a, b) => {
                let carry = self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, a, b);
                self.b.ins().uextend(types::I32, carry)
            }
            Carry::Sum(a, b, result) => {
                // The carry out of the top bit: both have it, or one has and the sum has lost it.
                let both = self.b.ins().band(a, b);
                let either = self.b.ins().bor(a, b);
                let lost = self.b.ins().band_not(either, result);
                let top = self.b.ins().bor(both, lost);
                self.b.ins().ushr_imm_u(top, 31)
            }
            Carry::Bit(value, bit) => {
                let value = self.b.ins().ushr_imm_u(value, i64::from(bit));
                self.b.ins().band_imm_u(value, 1)
            }
        }
    }

    /// V in bit 31.
    fn overflow(&mut self) -> Value {
        match self.flags.v {
            Overflow::Unchanged => self.load_flag(offset_of!(Cpu, v)),
            Overflow::Difference(a, b, result) => {
                let signs = self.b.ins().bxor(a, b);
                let changed = self.b.ins().bxor(a, result);
                self.b.ins().band(signs, changed)
            }
            Overflow::Sum(a, b, result) => {
                let a = self.b.ins().bxor(a, result);
                let b = self.b.ins().bxor(b, result);
                self.b.ins().band(a, b)
            }
        }
    }

    /// Whether a condition passes, as a host boolean.
    pub(super) fn condition(&mut self, condition: Condition) -> Value {
        use Condition::*;
        if let Some((a, b)) = self.flags.compared
            && let Some(code) = comparison(condition)
        {
            return self.b.ins().icmp(code, a, b);
        }
        let zero = |build: &mut Self, value, code| build.b.ins().icmp_imm_s(code, value, 0);
        match condition {
            Eq | Ne => {
                let z = self.z();
                zero(self, z, if condition == Eq { IntCC::Equal } else { IntCC::NotEqual })
            }
            Cs | Cc => {
                let c = self.carry();
                zero(self, c, if condition == Cs { IntCC::NotEqual } else { IntCC::Equal })
            }
            Mi | Pl => {
                let n = self.n();
                zero(self, n, sign(condition == Mi))
            }
            Vs | Vc => {
                let v = self.overflow();
                zero(self, v, sign(condition == Vs))
            }
            Hi => {
                let (c, z) = (self.carry(), self.z());
                let c = zero(self, c, IntCC::NotEqual);
                let z = zero(self, z, IntCC::NotEqual);
                self.b.ins().band(c, z)
            }
            Ls => {
                let (c, z) = (self.carry(), self.z());
                let c = zero(self, c, IntCC::Equal);
                let z = zero(self, z, IntCC::Equal);
                self.b.ins().bor(c, z)
            }
            Ge | Lt => self.signed(condition == Lt),
            Gt => {
                let (ge, z) = (self.signed(false), self.z());
                let z = zero(self, z, IntCC::NotEqual);
                self.b.ins().band(ge, z)
            }
            Le => {
                let (lt, z) = (self.signed(true), self.z());
                let z = zero(self, z, IntCC::Equal);
                self.b.ins().bor(lt, z)
            }
        }
    }

    /// N != V, or N == V.
    fn signed(&mut self, less: bool) -> Value {
        let (n, v) = (self.n(), self.overflow());
        let differ = self.b.ins().bxor(n, v);
        self.b.ins().icmp_imm_s(sign(less), differ, 0)
    }
}

/// Bit 31 set, or clear.
fn sign(set: bool) -> IntCC {
    if set { IntCC::SignedLessThan } else { IntCC::SignedGreaterThanOrEqual }
}

/// A condition on a - b as a comparison of a and b.
fn comparison(condition: Condition) -> Option<IntCC> {
    use Condition::*;
    Some(match condition {
        Eq => IntCC::Equal,
        Ne => IntCC::NotEqual,
        Cs => IntCC::UnsignedGreaterThanOrEqual,
        Cc => IntCC::UnsignedLessThan,
        Hi => IntCC::UnsignedGreaterThan,
        Ls => IntCC::UnsignedLessThanOrEqual,
        Ge => IntCC::SignedGreaterThanOrEqual,
        Lt => IntCC::SignedLessThan,
        Gt => IntCC::SignedGreaterThan,
        Le => IntCC::SignedLessThanOrEqual,
        Mi | Pl | Vs | Vc => return None,
    })
}
