//! Arithmetic with flags (DDI 0419, A2.2.1 and the pseudocode of each instruction).

use super::cpu::Cpu;
use super::insn::Condition;

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

    /// Shift amounts come from the bottom byte of a register; 0 leaves C alone, 33 and more clear it.
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
        let (n, z, v) = ((self.n as i32) < 0, self.z == 0, (self.v as i32) < 0);
        let c = self.c != 0;
        match condition {
            Condition::Eq => z,
            Condition::Ne => !z,
            Condition::Cs => c,
            Condition::Cc => !c,
            Condition::Mi => n,
            Condition::Pl => !n,
            Condition::Vs => v,
            Condition::Vc => !v,
            Condition::Hi => c && !z,
            Condition::Ls => !c || z,
            Condition::Ge => n == v,
            Condition::Lt => n != v,
            Condition::Gt => !z && n == v,
            Condition::Le => z || n != v,
        }
    }
}
