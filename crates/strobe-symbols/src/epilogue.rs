//! The end of a function, instruction by instruction, for unwinding from within it.
//!
//! GCC describes no epilogues of Thumb-1 functions, and the exception index tables describe none at
//! all: between the instruction that frees a frame and the return, tables find the caller in the
//! wrong place. What is left of a function then is a few instructions without a choice, so they are
//! carried out; what they compute is not. Anything else (a store, a call, a condition) and there is
//! no answer here.

use strobe_isa::thumb::insn::Insn;
use strobe_isa::thumb::op::{DataOp, Width};
use strobe_isa::thumb::{Access, Address, Flow};

use crate::firmware::Firmware;

const SP: usize = 13;
const LR: usize = 14;
const PC: usize = 15;
/// Instructions of an epilogue, with the moves around it, at most.
const MOST_STEPS: usize = 24;

/// Follows what is left of the function; the registers become the caller's, with the return
/// address in PC. `None`, and the registers as they were, if that is no epilogue.
pub(crate) fn follow(
    firmware: &Firmware,
    registers: &mut [u32; 16],
    read: &mut impl FnMut(u32) -> Option<u32>,
) -> Option<u32> {
    let mut walk =
        Walk { firmware, core: *registers, is_popped: [false; 16], is_result: [false; 16], read };
    let mut at = walk.core[PC] & !1;
    for _ in 0..MOST_STEPS {
        match walk.step(at)? {
            Next::At(next) => at = next,
            Next::Back(to) => {
                // What the caller expects to find must be there.
                if walk.is_result[4..12].contains(&true) {
                    return None;
                }
                *registers = walk.core;
                registers[PC] = to;
                return Some(to);
            }
        }
    }
    None
}

enum Next {
    /// Control goes on here.
    At(u32),
    /// The function returns there, or whoever it has jumped to does.
    Back(u32),
}

struct Walk<'a, R> {
    firmware: &'a Firmware,
    core: [u32; 16],
    /// Registers that have come off the stack.
    is_popped: [bool; 16],
    /// Registers that hold results, which nothing here computes.
    is_result: [bool; 16],
    read: &'a mut R,
}

impl<R: FnMut(u32) -> Option<u32>> Walk<'_, R> {
    fn step(&mut self, at: u32) -> Option<Next> {
        let code = self.firmware.thumb_at(at)?;
        if let Some(access) = code.insn.access() {
            self.load(access)?;
        }
        match code.insn.flow() {
            Flow::Next => {
                if code.insn.access().is_none() {
                    self.compute(code.insn)?;
                }
                Some(Next::At(at.wrapping_add(code.size)))
            }
            Flow::Load => Some(Next::Back(self.core[PC])),
            Flow::Jump(target) => self.branch(at, target),
            Flow::JumpRegister(register) => self.jump(register.into()),
            _ => None,
        }
    }

    /// What changes registers only.
    fn compute(&mut self, insn: Insn) -> Option<()> {
        match insn {
            Insn::LslImm { d, m, imm: 0 } => self.moves(d.into(), m.into()),
            Insn::MovHi { d: 13, m } if self.is_result[usize::from(m)] => return None,
            Insn::MovHi { d, m } => self.moves(d.into(), m.into()),
            Insn::AdjustSp { imm: imm @ 0.. } => self.add(SP, imm as u32),
            Insn::DataImm { op: DataOp::Add, d: 13, n: 13, value } => self.add(SP, value),
            // To a frame pointer.
            Insn::AddImm { d, n, imm } if d == n => self.add(d.into(), imm.into()),
            // A condition, or what changes the processor's state.
            Insn::It { .. } => return None,
            other if other.ends_block() => return None,
            other => other.writes().iter().try_for_each(|register| self.result(register.into()))?,
        }
        Some(())
    }

    fn add(&mut self, register: usize, number: u32) {
        self.core[register] = self.core[register].wrapping_add(number);
    }

    /// A jump within the function is followed; one out of it is a call in place of the return.
    fn branch(&mut self, at: u32, target: u32) -> Option<Next> {
        let here = self.firmware.function_at(at);
        let there = self.firmware.function_at(target);
        let begins = |id| self.firmware.function(id).start == target;
        match here.is_some() && here == there {
            true if target > at => Some(Next::At(target)),
            true => None,
            false => there.is_some_and(begins).then_some(Next::Back(self.core[LR])),
        }
    }

    /// BX or MOV to PC: back, if the register has the return address, else to another function that
    /// returns for this one.
    fn jump(&mut self, register: usize) -> Option<Next> {
        // Computed: a jump table.
        if self.is_result[register] {
            return None;
        }
        let to = if register == LR || self.is_popped[register] {
            self.core[register]
        } else {
            self.core[LR]
        };
        Some(Next::Back(to))
    }

    fn moves(&mut self, to: usize, from: usize) {
        self.core[to] = self.core[from];
        self.is_popped[to] = self.is_popped[from];
        self.is_result[to] = self.is_result[from];
    }

    /// A register gets a result: which, does not matter, unless somebody needs it.
    fn result(&mut self, register: usize) -> Option<()> {
        if register >= SP {
            return None;
        }
        self.is_result[register] = true;
        self.is_popped[register] = false;
        Some(())
    }

    /// Words are loaded from the stack, which may be freed by that.
    fn load(&mut self, access: Access) -> Option<()> {
        let Access {
            is_store: false,
            address: Address::Offset { base: 13, offset },
            width: Width::Word,
            transfers,
            writeback,
            ..
        } = access
        else {
            return None;
        };
        let first = self.core[SP].wrapping_add_signed(offset);
        for (register, place) in transfers.places() {
            let register = usize::from(register);
            if register == SP {
                return None;
            }
            self.core[register] = (self.read)(first.wrapping_add(place))?;
            self.is_popped[register] = true;
            self.is_result[register] = false;
        }
        let by = writeback.map_or(0, |(_, by)| by);
        self.core[SP] = self.core[SP].wrapping_add_signed(by);
        // What is below the stack pointer is free, and not for loads.
        (by >= 0 && offset >= 0).then_some(())
    }
}
