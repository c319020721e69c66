//! Sets of core registers.

use super::insn::{NO_REG, Reg};

/// The stack pointer.
pub const SP: Reg = 13;
/// The link register.
pub const LR: Reg = 14;
/// The program counter, in lists of registers that are loaded.
pub const PC: Reg = 15;

/// A set of core registers: bit `n` is register `n`, bit 15 the program counter.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Registers(pub u16);

impl Registers {
    /// None.
    pub const NONE: Registers = Registers(0);

    /// These registers; [`NO_REG`] is none of them.
    pub fn of<const N: usize>(registers: [Reg; N]) -> Self {
        let all = registers.iter().filter(|r| **r != NO_REG);
        Registers(all.fold(0, |set, r| set | 1 << (r & 15)))
    }

    /// Whether a register is one of them.
    pub fn contains(self, register: Reg) -> bool {
        self.0 >> (register & 15) & 1 == 1
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// How many they are.
    pub fn count(self) -> u32 {
        self.0.count_ones()
    }

    /// These and others.
    #[must_use]
    pub fn with(self, others: Registers) -> Self {
        Registers(self.0 | others.0)
    }

    /// These without others.
    #[must_use]
    pub fn without(self, others: Registers) -> Self {
        Registers(self.0 & !others.0)
    }

    /// The registers, from the lowest on.
    pub fn iter(self) -> impl Iterator<Item = Reg> {
        (0..16).filter(move |register| self.contains(*register))
    }
}
