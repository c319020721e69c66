//! The programmer's registers (DDI 0419 and DDI 0403, B1.4): core registers, flags, masks, the two
//! stack pointers, and on ARMv7-M the IT state and the floating-point unit.

use super::fp::Fpu;
use strobe_isa::thumb::arch::Architecture;

/// Program status bits of xPSR.
pub const N: u32 = 1 << 31;
/// Zero flag in xPSR.
pub const Z: u32 = 1 << 30;
/// Carry flag in xPSR.
pub const C: u32 = 1 << 29;
/// Overflow flag in xPSR.
pub const V: u32 = 1 << 28;
/// Saturation flag in xPSR.
pub const Q: u32 = 1 << 27;
/// Thumb bit in xPSR (EPSR.T).
pub const T: u32 = 1 << 24;

/// Registers of a core.
///
/// The flags are kept as the values that decide them, which is cheaper to set on every instruction:
/// N is bit 31 of `n`, Z means `z == 0`, C is `c` (0 or 1), V is bit 31 of `v`.
#[derive(Debug, Clone)]
pub struct Cpu {
    /// R0-R12, SP, LR; entry 15 is zero, which an absent operand reads (the PC is [`Cpu::pc`]).
    pub r: [u32; 16],
    /// Address of the next instruction.
    pub pc: u32,
    pub(crate) n: u32,
    pub(crate) z: u32,
    pub(crate) c: u32,
    pub(crate) v: u32,
    /// APSR.Q: something saturated.
    pub(crate) q: bool,
    /// APSR.GE, four bits.
    pub(crate) ge: u8,
    /// Bits of APSR that exist.
    apsr_bits: u32,
    /// EPSR.IT: the condition and what is left of the IT block, from the next instruction on; 0
    /// outside.
    pub it: u8,
    /// EPSR.ICI: a transfer of several registers that an exception interrupted goes on with this
    /// one; 0 if there is none.
    pub(crate) resume_at: u8,
    /// EPSR.T: clear only after a jump to an even address; the next instruction then faults.
    pub thumb: bool,
    /// The stack pointer not in use now.
    pub(crate) other_sp: u32,
    /// PRIMASK.PM: only NMI and HardFault can happen.
    pub primask: bool,
    /// FAULTMASK.FM: only NMI can happen.
    pub faultmask: bool,
    /// BASEPRI: only exceptions with a priority below this number can happen; 0 for all.
    pub basepri: u8,
    /// CONTROL.SPSEL: thread mode uses the process stack.
    pub spsel: bool,
    /// CONTROL.FPCA: the running code has a floating-point context.
    pub fpca: bool,
    /// CONTROL.nPRIV, where the core has the unprivileged/privileged extension.
    pub unprivileged: bool,
    /// Number of the exception being handled; 0 in thread mode.
    pub ipsr: u16,
    /// A LDREX waits for its STREX: the local monitor, which on these cores covers all of memory.
    pub(crate) exclusive: bool,
    /// The floating-point unit.
    pub fp: Fpu,
    /// Floating-point instructions may run without a look at CPACR and the like. Cleared by
    /// whatever could change that; the next one goes the careful way and sets it again.
    pub(crate) fp_ready: bool,
}

impl Cpu {
    /// All zero.
    pub fn new(arch: Architecture) -> Self {
        Cpu {
            r: [0; 16],
            pc: 0,
            n: 0,
            z: 0,
            c: 0,
            v: 0,
            q: false,
            ge: 0,
            apsr_bits: arch.apsr_bits(),
            it: 0,
            resume_at: 0,
            thumb: false,
            other_sp: 0,
            primask: false,
            faultmask: false,
            basepri: 0,
            spsel: false,
            fpca: false,
            unprivileged: false,
            ipsr: 0,
            exclusive: false,
            fp: Fpu::default(),
            fp_ready: false,
        }
    }

    /// APSR, IPSR and EPSR combined.
    pub fn xpsr(&self) -> u32 {
        let thumb = if self.thumb { T } else { 0 };
        let it = u32::from(self.it | self.resume_at << 4);
        self.apsr() | it << 25 & 0x0600_0000 | it << 8 & 0xfc00 | thumb | u32::from(self.ipsr)
    }

    /// The flags in their APSR places.
    pub fn apsr(&self) -> u32 {
        let z = if self.z == 0 { Z } else { 0 };
        let q = if self.q { Q } else { 0 };
        self.n & N | z | self.c << 29 | self.v >> 31 << 28 | q | u32::from(self.ge) << 16
    }

    /// Sets the flags from their APSR places, as far as they exist.
    pub fn set_apsr(&mut self, value: u32) {
        self.set_nzcvq(value);
        self.set_ge(value);
    }

    pub(crate) fn set_nzcvq(&mut self, value: u32) {
        self.n = value & N;
        self.z = !value & Z;
        self.c = value >> 29 & 1;
        self.v = value << 3;
        self.q = value & self.apsr_bits & Q != 0;
    }

    pub(crate) fn set_ge(&mut self, value: u32) {
        self.ge = ((value & self.apsr_bits) >> 16 & 15) as u8;
    }

    /// Takes over EPSR from a stacked xPSR: Thumb and, if the core has them, IT or ICI, which share
    /// their bits.
    pub(crate) fn set_epsr(&mut self, xpsr: u32) {
        self.thumb = xpsr & T != 0;
        let it = (xpsr >> 25 & 3 | xpsr >> 8 & 0xfc) as u8;
        let it = if self.apsr_bits & Q != 0 { it } else { 0 };
        // The lower half of ITSTATE is never zero inside an IT block.
        (self.it, self.resume_at) = if it & 15 == 0 { (0, it >> 4) } else { (it, 0) };
    }

    /// Whether one of the mask registers keeps exceptions out.
    pub(super) fn is_masked(&self) -> bool {
        self.primask || self.faultmask || self.basepri != 0
    }

    /// Code that may change what is privileged: handlers always, threads unless CONTROL.nPRIV.
    pub fn is_privileged(&self) -> bool {
        self.ipsr != 0 || !self.unprivileged
    }

    /// The main stack pointer.
    pub fn msp(&self) -> u32 {
        if self.uses_psp() { self.other_sp } else { self.r[13] }
    }

    /// The process stack pointer.
    pub fn psp(&self) -> u32 {
        if self.uses_psp() { self.r[13] } else { self.other_sp }
    }

    /// Whether SP is the process stack pointer now.
    #[inline]
    pub fn uses_psp(&self) -> bool {
        self.spsel && self.ipsr == 0
    }

    pub(crate) fn set_msp(&mut self, value: u32) {
        let to = if self.uses_psp() { &mut self.other_sp } else { &mut self.r[13] };
        *to = value & !3;
    }

    pub(crate) fn set_psp(&mut self, value: u32) {
        let to = if self.uses_psp() { &mut self.r[13] } else { &mut self.other_sp };
        *to = value & !3;
    }

    /// Changes mode or stack selection, keeping both stack pointers right.
    pub(crate) fn set_mode(&mut self, ipsr: u16, spsel: bool) {
        let before = self.uses_psp();
        self.ipsr = ipsr;
        self.spsel = spsel;
        if self.uses_psp() != before {
            std::mem::swap(&mut self.r[13], &mut self.other_sp);
        }
    }

    /// R0-R15 as a debugger shows them.
    pub fn registers(&self) -> [u32; 16] {
        let mut r = self.r;
        r[15] = self.pc;
        r
    }
}
