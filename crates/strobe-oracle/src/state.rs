//! The registers both sides must agree on.

use std::fmt::{self, Display, Formatter};

/// Core registers and program status before an instruction executes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuState {
    /// R0 to R15. R13 is the stack pointer in use, R15 the address of the next instruction, without Thumb bit.
    pub r: [u32; 16],
    /// xPSR: flags in bits 31:28, the Thumb bit 24, the exception number in bits 5:0 (B1.4.2).
    pub xpsr: u32,
}

impl CpuState {
    /// The address of the next instruction.
    pub fn pc(&self) -> u32 {
        self.r[15]
    }

    /// The number of the exception being handled; 0 in thread mode.
    pub fn exception(&self) -> u32 {
        self.xpsr & 0x3f
    }

    /// The names of the registers that differ, xPSR by its parts.
    pub fn differences(&self, other: &CpuState) -> Vec<String> {
        const PSR: [(&str, u32); 6] =
            [("N", 31), ("Z", 30), ("C", 29), ("V", 28), ("T", 24), ("exception", 0)];
        let mut names: Vec<String> =
            (0..16).filter(|&n| self.r[n] != other.r[n]).map(|n| format!("r{n}")).collect();
        let changed = self.xpsr ^ other.xpsr;
        let mut unnamed = changed;
        for (name, bit) in PSR {
            let mask = if bit == 0 { 0x3f } else { 1 << bit };
            if changed & mask != 0 {
                names.push(name.to_owned());
            }
            unnamed &= !mask;
        }
        if unnamed != 0 {
            names.push(format!("xpsr bits {unnamed:#x}"));
        }
        names
    }
}

impl Display for CpuState {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (n, value) in self.r.iter().enumerate() {
            let end = if n % 4 == 3 { '\n' } else { ' ' };
            write!(f, "{:>3} {value:08x}{end}", format!("r{n}"))?;
        }
        let flag = |bit: u32, name: char| if self.xpsr >> bit & 1 == 1 { name } else { '-' };
        let flags: String = [(31, 'N'), (30, 'Z'), (29, 'C'), (28, 'V'), (24, 'T')]
            .map(|(b, n)| flag(b, n))
            .iter()
            .collect();
        write!(f, "psr {:08x} {flags} exception {}", self.xpsr, self.exception())
    }
}
