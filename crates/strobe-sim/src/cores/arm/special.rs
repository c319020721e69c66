//! Special registers: MRS, MSR and CPS (DDI 0419, B4.2; DDI 0403, B5.2).

use super::cpu::Cpu;
use super::system::System;
use strobe_isa::thumb::arch::Architecture;

/// SYSm of the special registers (B5.1.1 of DDI 0403). 0 to 7 are combinations of APSR, IPSR and
/// EPSR.
mod sysm {
    pub(super) const MSP: u8 = 8;
    pub(super) const PSP: u8 = 9;
    pub(super) const PRIMASK: u8 = 16;
    pub(super) const BASEPRI: u8 = 17;
    pub(super) const BASEPRI_MAX: u8 = 18;
    pub(super) const FAULTMASK: u8 = 19;
    pub(super) const CONTROL: u8 = 20;
}

/// MRS. Without privilege everything but the flags and CONTROL reads as zero.
pub(super) fn read(cpu: &Cpu, arch: Architecture, register: u8) -> u32 {
    match register {
        0..=7 => {
            let ipsr = register & 1 != 0 && cpu.is_privileged();
            let ipsr = if ipsr { u32::from(cpu.ipsr) } else { 0 };
            // EPSR reads as zero; APSR is absent from 4-7.
            let apsr = if register & 4 == 0 { cpu.apsr() } else { 0 };
            apsr | ipsr
        }
        sysm::CONTROL => {
            u32::from(cpu.fpca) << 2 | u32::from(cpu.spsel) << 1 | u32::from(cpu.unprivileged)
        }
        _ if !cpu.is_privileged() => 0,
        sysm::MSP => cpu.msp(),
        sysm::PSP => cpu.psp(),
        sysm::PRIMASK => u32::from(cpu.primask),
        sysm::BASEPRI | sysm::BASEPRI_MAX if arch.v7m => u32::from(cpu.basepri),
        sysm::FAULTMASK if arch.v7m => u32::from(cpu.faultmask),
        _ => 0,
    }
}

/// Whether writing a register may change stacks or rights, and not only flags, masks and stack
/// pointers.
pub(super) fn changes_mode(register: u8) -> bool {
    register == sysm::CONTROL
}

/// MSR. Without privilege only the flags can be written; `mask` selects which.
pub(super) fn write(cpu: &mut Cpu, system: &System, register: u8, mask: u8, value: u32) {
    let v7m = system.arch().v7m;
    match register {
        0..=3 => {
            if mask & 2 != 0 {
                cpu.set_nzcvq(value);
            }
            if mask & 1 != 0 {
                cpu.set_ge(value);
            }
        }
        _ if !cpu.is_privileged() => {}
        sysm::MSP => cpu.set_msp(value),
        sysm::PSP => cpu.set_psp(value),
        sysm::PRIMASK => cpu.primask = value & 1 != 0,
        sysm::BASEPRI if v7m => cpu.basepri = value as u8 & system.nvic.priority_mask(),
        sysm::BASEPRI_MAX if v7m => {
            // Only raises the priority.
            let base = value as u8 & system.nvic.priority_mask();
            if base != 0 && (base < cpu.basepri || cpu.basepri == 0) {
                cpu.basepri = base;
            }
        }
        sysm::FAULTMASK if v7m => set_faultmask(cpu, system, value & 1 != 0),
        sysm::CONTROL => {
            // SPSEL can only be written in thread mode.
            if cpu.ipsr == 0 {
                cpu.set_mode(0, value & 2 != 0);
            }
            if v7m {
                cpu.unprivileged = value & 1 != 0;
                cpu.fpca = system.arch().fp && value & 4 != 0;
                cpu.fp_ready = false;
            }
        }
        _ => {}
    }
}

/// CPS. `masks`: bit 0 FAULTMASK, bit 1 PRIMASK.
pub(super) fn change_masks(cpu: &mut Cpu, system: &System, on: bool, masks: u8) {
    if !cpu.is_privileged() {
        return;
    }
    if masks & 2 != 0 {
        cpu.primask = on;
    }
    if masks & 1 != 0 {
        set_faultmask(cpu, system, on);
    }
}

/// Handlers of HardFault and NMI priority cannot set it.
fn set_faultmask(cpu: &mut Cpu, system: &System, on: bool) {
    if !on || system.nvic.active_priority() > -1 {
        cpu.faultmask = on;
    }
}
