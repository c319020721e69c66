//! Arithmetic with flags (DDI 0419, A2.2.1 and the pseudocode of each instruction).

use super::cpu::Cpu;
use strobe_isa::thumb::insn::Condition;

impl Cpu {
    #[inline(always)]
    pub(crate) fn set_nz(&mut self, result: u32) {
        self.n = result;
        self.z = result;
    }

    /// AddWithCarry, setting all flags.
    #[inline(always)]
    pub(crate) fn add(&mut self, a: u32, b: u32, carry: u32) -> u32 {
        let wide = u64::from(a) + u64::from(b) + u64::from(carry);
        let result = wide as u32;
        self.set_nz(result);
        self.c = (wide >> 32) as u32;
        self.v = (a ^ result) & (b ^ result);
        result
    }

    /// a - b, setting all flags; C means no borrow.
    #[inline(always)]
    pub(crate) fn sub(&mut self, a: u32, b: u32) -> u32 {
        let result = a.wrapping_sub(b);
        self.set_nz(result);
        self.c = u32::from(a >= b);
        self.v = (a ^ b) & (a ^ result);
        result
    }

    #[inline(always)]
    pub(crate) fn lsl_imm(&mut self, value: u32, by: u8) -> u32 {
        let by = u32::from(by);
        if by != 0 {
            self.c = value >> (32 - by) & 1;
        }
        let result = value << by;
        self.set_nz(result);
        result
    }

    /// `by` is 1-32.
    #[inline(always)]
    pub(crate) fn lsr_imm(&mut self, value: u32, by: u8) -> u32 {
        self.c = value >> (u32::from(by) - 1) & 1;
        let result = (u64::from(value) >> by) as u32;
        self.set_nz(result);
        result
    }

    /// `by` is 1-32.
    #[inline(always)]
    pub(crate) fn asr_imm(&mut self, value: u32, by: u8) -> u32 {
        self.c = ((value as i32) >> (u32::from(by) - 1)) as u32 & 1;
        let result = (i64::from(value as i32) >> by) as u32;
        self.set_nz(result);
        result
    }

    /// Shift amounts come from the bottom byte of a register; 0 leaves C alone, 33 and more clear
    /// it.
    pub(crate) fn lsl_reg(&mut self, value: u32, by: u32) -> u32 {
        let by = by & 0xff;
        let result = match by {
            0 => value,
            1..=31 => value << by,
            _ => 0,
        };
        match by {
            0 => {}
            1..=32 => self.c = value >> (32 - by) & 1,
            _ => self.c = 0,
        }
        self.set_nz(result);
        result
    }

    pub(crate) fn lsr_reg(&mut self, value: u32, by: u32) -> u32 {
        let by = by & 0xff;
        let result = match by {
            0 => value,
            1..=31 => value >> by,
            _ => 0,
        };
        match by {
            0 => {}
            1..=32 => self.c = value >> (by - 1) & 1,
            _ => self.c = 0,
        }
        self.set_nz(result);
        result
    }

    pub(crate) fn asr_reg(&mut self, value: u32, by: u32) -> u32 {
        let by = by & 0xff;
        if by != 0 {
            self.c = ((value as i32) >> (by - 1).min(31)) as u32 & 1;
        }
        let result = ((value as i32) >> by.min(31)) as u32;
        self.set_nz(result);
        result
    }

    pub(crate) fn ror_reg(&mut self, value: u32, by: u32) -> u32 {
        let by = by & 0xff;
        let result = value.rotate_right(by & 31);
        if by != 0 {
            self.c = result >> 31;
        }
        self.set_nz(result);
        result
    }

    #[inline(always)]
    pub(crate) fn passes(&self, condition: Condition) -> bool {
        PASSES[condition as usize] >> self.nzcv() & 1 != 0
    }

    #[inline(always)]
    fn nzcv(&self) -> u32 {
        (self.n >> 31) << 3 | u32::from(self.z == 0) << 2 | self.c << 1 | self.v >> 31
    }

    /// Whether the condition in an IT state passes; outside an IT block and for 14 (always) it
    /// does.
    #[inline(always)]
    pub(crate) fn passes_it(&self, it: u8) -> bool {
        match PASSES.get(usize::from(it >> 4)) {
            Some(passes) if it != 0 => passes >> self.nzcv() & 1 != 0,
            _ => true,
        }
    }
}

/// For each condition, bit NZCV shows whether it passes: a look-up predicts better than a switch.
const PASSES: [u16; 14] = {
    let mut table = [0u16; 14];
    let mut flags = 0;
    while flags < 16 {
        let (n, z, c, v) = (flags & 8 != 0, flags & 4 != 0, flags & 2 != 0, flags & 1 != 0);
        let pass = [
            z,
            !z,
            c,
            !c,
            n,
            !n,
            v,
            !v,
            c && !z,
            !c || z,
            n == v,
            n != v,
            !z && n == v,
            z || n != v,
        ];
        let mut condition = 0;
        while condition < 14 {
            table[condition] |= (pass[condition] as u16) << flags;
            condition += 1;
        }
        flags += 1;
    }
    table
};
