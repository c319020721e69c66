//! The end of a function, instruction by instruction, for unwinding from within it.
//!
//! GCC describes no epilogues of Thumb-1 functions, and the exception index tables describe none at
//! all: between the instruction that frees a frame and the return, tables find the caller in the
//! wrong place. What is left of a function then is a few instructions without a choice, so they are
//! carried out; what they compute is not. Anything else (a store, a call, a condition) and there is
//! no answer here.

use crate::constants::thumb_expand_imm;
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
    fn half(&self, at: u32) -> Option<u32> {
        self.firmware.half_at(at).map(u32::from)
    }

    fn step(&mut self, at: u32) -> Option<Next> {
        let n = self.half(at)?;
        if n >> 11 >= 0b11101 {
            return self.wide(at, n, self.half(at.wrapping_add(2))?);
        }
        let low = |shift: u32| (n >> shift & 7) as usize;
        let next = Some(Next::At(at.wrapping_add(2)));
        match n >> 8 {
            // NOP.
            _ if matches!(n, 0xbf00 | 0x46c0) => next,
            // MOV of a low register.
            0x00 if n >> 6 == 0 => {
                self.moves(low(0), low(3));
                next
            }
            // Shifts, additions, other arithmetic on low registers, REV and its kin.
            0x00..=0x1f | 0x40..=0x43 | 0xba => self.result(low(0)).and(next),
            // LDR from the stack.
            0x98..=0x9f => self.load(low(8), (n & 0xff) * 4).and(next),
            // MOV and SUB of a number.
            0x20..=0x27 | 0x38..=0x3f => self.result(low(8)).and(next),
            // ADD of a number to a frame pointer.
            0x30..=0x37 => {
                self.core[low(8)] = self.core[low(8)].wrapping_add(n & 0xff);
                next
            }
            0x46 => {
                let (to, from) = (low(0) | (n >> 4 & 8) as usize, (n >> 3 & 15) as usize);
                match (to, from) {
                    (_, PC) => None,
                    (SP, _) if self.is_result[from] => None,
                    (PC, _) => self.jump(from),
                    _ => {
                        self.moves(to, from);
                        next
                    }
                }
            }
            0x47 if n >> 7 & 1 == 0 => self.jump((n >> 3 & 15) as usize),
            0xb0 if n >> 7 & 1 == 0 => {
                self.core[SP] = self.core[SP].wrapping_add((n & 0x7f) * 4);
                next
            }
            0xbc | 0xbd => self.pop(n & 0xff | (n >> 8 & 1) << PC, at.wrapping_add(2)),
            0xe0..=0xe7 => self.branch(at, ((n << 21) as i32 >> 20) as u32),
            _ => None,
        }
    }

    fn wide(&mut self, at: u32, first: u32, second: u32) -> Option<Next> {
        let next = at.wrapping_add(4);
        match (first, second) {
            // POP.W, and LDR from the stack with the increment.
            (0xe8bd, list) if list & 1 << SP == 0 => self.pop(list, next),
            (0xf85d, load) if load & 0xfff == 0xb04 => self.pop(1 << (load >> 12), next),
            // LDRD of two registers from the stack, the second form with the increment.
            (0xe9dd | 0xe8fd, load) => {
                let bytes = (load & 0xff) * 4;
                let at = if first == 0xe9dd { bytes } else { 0 };
                self.load((load >> 12) as usize, at)?;
                self.load((load >> 8 & 15) as usize, at + 4)?;
                let freed = if first == 0xe9dd { 0 } else { bytes };
                self.core[SP] = self.core[SP].wrapping_add(freed);
                Some(Next::At(next))
            }
            // Arithmetic with a shifted register, CLZ and its kin.
            _ if matches!(first >> 9, 0x75) || first & 0xfff0 == 0xfab0 => {
                self.result((second >> 8 & 15) as usize)?;
                Some(Next::At(next))
            }
            // ADD.W and ADDW to the stack pointer.
            (0xf10d | 0xf50d | 0xf20d | 0xf60d, add) if add & 0x8f00 == 0x0d00 => {
                let number = (first >> 10 & 1) << 11 | (add >> 12 & 7) << 8 | add & 0xff;
                let number = if first & 0x0200 == 0 { thumb_expand_imm(number) } else { number };
                self.core[SP] = self.core[SP].wrapping_add(number);
                Some(Next::At(next))
            }
            // VPOP.
            (0xecbd | 0xecfd, list) if list & 0x0e00 == 0x0a00 => {
                self.core[SP] = self.core[SP].wrapping_add((list & 0xff) * 4);
                Some(Next::At(next))
            }
            _ if first & 0xf800 == 0xf000 && second & 0xd000 == 0x9000 => {
                let (s, j1, j2) = (first >> 10 & 1, second >> 13 & 1, second >> 11 & 1);
                let (i1, i2) = (!(j1 ^ s) & 1, !(j2 ^ s) & 1);
                let low = (first & 0x3ff) << 12 | (second & 0x7ff) << 1;
                let offset = s << 24 | i1 << 23 | i2 << 22 | low;
                self.branch(at, ((offset << 7) as i32 >> 7) as u32)
            }
            _ => None,
        }
    }

    /// A jump within the function is followed; one out of it is a call in place of the return.
    fn branch(&mut self, at: u32, offset: u32) -> Option<Next> {
        let target = at.wrapping_add(4).wrapping_add(offset);
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
        let to = match register == LR || self.is_popped[register] {
            true => self.core[register],
            false => self.core[LR],
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

    /// A register is loaded from so many bytes above the stack pointer.
    fn load(&mut self, register: usize, offset: u32) -> Option<()> {
        if register == SP || register == PC {
            return None;
        }
        self.core[register] = (self.read)(self.core[SP].wrapping_add(offset))?;
        self.is_popped[register] = true;
        self.is_result[register] = false;
        Some(())
    }

    fn pop(&mut self, list: u32, next: u32) -> Option<Next> {
        for register in (0..16).filter(|register| list >> register & 1 == 1) {
            self.core[register] = (self.read)(self.core[SP])?;
            self.is_popped[register] = true;
            self.is_result[register] = false;
            self.core[SP] = self.core[SP].wrapping_add(4);
        }
        Some(match list >> PC & 1 {
            1 => Next::Back(self.core[PC]),
            _ => Next::At(next),
        })
    }
}
