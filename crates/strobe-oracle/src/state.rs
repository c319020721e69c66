//! The registers that must agree.

use std::fmt::{self, Display, Formatter};

/// Core registers and program status before an instruction executes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuState {
    /// R0 to R15. R13 is the stack pointer in use, R15 the address of the next instruction,
    /// without Thumb bit.
    pub r: [u32; 16],
    /// xPSR: flags in bits 31:28, the Thumb bit 24, the exception number in the low bits; on
    /// ARMv7-M also Q (27), GE (19:16) and IT (26:25, 15:10) (B1.4.2).
    pub xpsr: u32,
    /// The floating-point unit's registers, if there is one.
    pub fp: Option<FpState>,
}

/// Registers of a floating-point unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FpState {
    /// S0 to S31.
    pub s: [u32; 32],
    /// Flags, modes and cumulative exceptions.
    pub fpscr: u32,
}

impl CpuState {
    /// The address of the next instruction.
    pub fn pc(&self) -> u32 {
        self.r[15]
    }

    /// The number of the exception being handled; 0 in thread mode.
    pub fn exception(&self) -> u32 {
        self.xpsr & 0x1ff
    }

    /// The names of the registers that differ, xPSR by its parts.
    pub fn differences(&self, other: &CpuState) -> Vec<String> {
        const PSR: [(&str, u32); 9] = [
            ("N", 1 << 31),
            ("Z", 1 << 30),
            ("C", 1 << 29),
            ("V", 1 << 28),
            ("Q", 1 << 27),
            ("GE", 0xf_0000),
            ("IT", 0x0600_fc00),
            ("T", 1 << 24),
            ("exception", 0x1ff),
        ];
        let mut names: Vec<String> =
            (0..16).filter(|&n| self.r[n] != other.r[n]).map(|n| format!("r{n}")).collect();
        let changed = self.xpsr ^ other.xpsr;
        let mut unnamed = changed;
        for (name, mask) in PSR {
            if changed & mask != 0 {
                names.push(name.to_owned());
            }
            unnamed &= !mask;
        }
        if unnamed != 0 {
            names.push(format!("xpsr bits {unnamed:#x}"));
        }
        match (&self.fp, &other.fp) {
            (Some(a), Some(b)) => {
                names.extend((0..32).filter(|&n| a.s[n] != b.s[n]).map(|n| format!("s{n}")));
                if a.fpscr != b.fpscr {
                    names.push(format!("fpscr bits {:#x}", a.fpscr ^ b.fpscr));
                }
            }
            (None, None) => {}
            _ => names.push("presence of a floating-point unit".to_owned()),
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
        write!(f, "psr {:08x} {flags} exception {}", self.xpsr, self.exception())?;
        let Some(fp) = &self.fp else { return Ok(()) };
        for (n, value) in fp.s.iter().enumerate() {
            let start = if n % 8 == 0 { '\n' } else { ' ' };
            write!(f, "{start}{:>3} {value:08x}", format!("s{n}"))?;
        }
        write!(f, "\nfpscr {:08x}", fp.fpscr)
    }
}
