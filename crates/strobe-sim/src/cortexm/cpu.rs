//! The programmer's registers (DDI 0419, B1.4): core registers, flags, masks, the two stack pointers.

/// Program status bits of xPSR.
pub const N: u32 = 1 << 31;
/// Zero flag in xPSR.
pub const Z: u32 = 1 << 30;
/// Carry flag in xPSR.
pub const C: u32 = 1 << 29;
/// Overflow flag in xPSR.
pub const V: u32 = 1 << 28;
/// Thumb bit in xPSR (EPSR.T).
pub const T: u32 = 1 << 24;

/// Registers of an ARMv6-M core.
///
/// The flags are kept as the values that decide them, which is cheaper to set on every instruction:
/// N is bit 31 of `n`, Z means `z == 0`, C is `c` (0 or 1), V is bit 31 of `v`.
#[derive(Debug, Clone, Default)]
pub struct Cpu {
    /// R0-R12, SP, LR; entry 15 is not used while instructions run (see [`Cpu::pc`]).
    pub r: [u32; 16],
    /// Address of the next instruction.
    pub pc: u32,
    pub(crate) n: u32,
    pub(crate) z: u32,
    pub(crate) c: u32,
    pub(crate) v: u32,
    /// EPSR.T: clear only after a jump to an even address; the next instruction then faults.
    pub thumb: bool,
    /// The stack pointer not in use now.
    pub(crate) other_sp: u32,
    /// PRIMASK.PM: only NMI and HardFault can happen.
    pub primask: bool,
    /// CONTROL.SPSEL: thread mode uses the process stack.
    pub spsel: bool,
    /// CONTROL.nPRIV, where the core has the unprivileged/privileged extension.
    pub unprivileged: bool,
    /// Number of the exception being handled; 0 in thread mode.
    pub ipsr: u16,
}

impl Cpu {
    /// APSR, IPSR and EPSR combined.
    pub fn xpsr(&self) -> u32 {
        let thumb = if self.thumb { T } else { 0 };
        self.apsr() | thumb | u32::from(self.ipsr)
    }

    /// The flags in their APSR places.
    pub fn apsr(&self) -> u32 {
        let z = if self.z == 0 { Z } else { 0 };
        self.n & N | z | self.c << 29 | self.v >> 31 << 28
    }

    /// Sets the flags from their APSR places.
    pub fn set_apsr(&mut self, value: u32) {
        self.n = value & N;
        self.z = !value & Z;
        self.c = value >> 29 & 1;
        self.v = value << 3;
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
