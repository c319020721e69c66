//! The registers that programs see.

use super::Architecture;
use strobe_isa::avr::insn::Special;

/// Carry.
pub const C: u8 = 1 << 0;
/// Zero.
pub const Z: u8 = 1 << 1;
/// Negative.
pub const N: u8 = 1 << 2;
/// Two's complement overflow.
pub const V: u8 = 1 << 3;
/// Sign: N eor V.
pub const S: u8 = 1 << 4;
/// Half carry.
pub const H: u8 = 1 << 5;
/// The bit that BST and BLD move.
pub const T: u8 = 1 << 6;
/// Interrupts are enabled.
pub const I: u8 = 1 << 7;

/// Registers of an AVR core.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cpu {
    /// R0 to R31.
    pub r: [u8; 32],
    /// Status register.
    pub sreg: u8,
    /// Stack pointer: the data address that the next PUSH writes.
    pub sp: u16,
    /// The lowest stack pointer so far, as PUSH, calls and interrupts left it, or a write of its
    /// low byte: compilers write that one last.
    pub deepest: u16,
    /// Which 64 KiB ELPM reads.
    pub rampz: u8,
    /// Upper bits of the target of EIJMP and EICALL.
    pub eind: u8,
    /// Program counter as a byte address.
    pub pc: u32,
    pub(super) arch: Architecture,
}

impl Cpu {
    /// A core at reset, its stack at the end of RAM.
    pub(super) fn new(arch: Architecture, ram_end: u16) -> Self {
        Cpu { r: [0; 32], sreg: 0, sp: ram_end, deepest: ram_end, rampz: 0, eind: 0, pc: 0, arch }
    }

    /// The register pair whose low half is `at`.
    #[inline(always)]
    pub(super) fn pair(&self, at: u8) -> u16 {
        let at = usize::from(at & 30);
        u16::from_le_bytes([self.r[at], self.r[at + 1]])
    }

    #[inline(always)]
    pub(super) fn set_pair(&mut self, at: u8, value: u16) {
        let at = usize::from(at & 30);
        [self.r[at], self.r[at + 1]] = value.to_le_bytes();
    }

    /// A register of the core in the I/O space.
    pub(super) fn special(&self, which: Special) -> u8 {
        match which {
            Special::Rampz => self.rampz,
            Special::Eind => self.eind,
            Special::Spl => self.sp as u8,
            Special::Sph => (self.sp >> 8) as u8,
            Special::Sreg => self.sreg,
        }
    }

    pub(super) fn set_special(&mut self, which: Special, value: u8) {
        match which {
            Special::Rampz => self.rampz = value,
            Special::Eind => self.eind = value,
            Special::Spl => {
                self.sp = self.sp & 0xff00 | u16::from(value);
                self.deepest = self.deepest.min(self.sp);
            }
            Special::Sph => self.sp = self.sp & 0x00ff | u16::from(value) << 8,
            Special::Sreg => self.sreg = value,
        }
    }
}
