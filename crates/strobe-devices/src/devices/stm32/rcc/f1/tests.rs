//! Clock control, register by register (RM0008 7.2 and 7.3).

use super::*;
use crate::devices::stm32::rcc::{CR, CR_HSEON, CR_PLLON, CSR_PINRSTF, CSR_RMVF, CSR_SFTRSTF};
use crate::rig::Rig;
use strobe_sim::kernel::device::ResetCause;

const CFGR: u32 = 0x04;
const CIR: u32 = 0x08;
const APB1RSTR: u32 = 0x10;
const AHBENR: u32 = 0x14;
const APB2ENR: u32 = 0x18;
const APB1ENR: u32 = 0x1c;
const BDCR: u32 = 0x20;
const CSR: u32 = 0x24;

const BASE: u32 = 0x4002_1000;

fn rig() -> Rig {
    Rig::new(
        "[[device]]\nname = 'RCC'\nmodel = 'stm32f1-rcc'\nbase = 0x4002_1000\nsize = 0x400\n\
         bus = 'ahb'\n\
         irq = [5]\n[device.options]\nhsi_hz = 8_000_000\nhse_hz = 8_000_000\nmax_hz = 72_000_000\n\
         max_apb1_hz = 36_000_000\n\
         startup_us = { hsi = 2, hse = 2000, lsi = 80, lse = 3_000_000, pll = 200 }\n\
         [[device]]\nname = 'PWR'\nmodel = 'stm32-pwr'\nbase = 0x4000_7000\nsize = 0x400\n\
         bus = 'apb'\n\
         gate = { register = 0x1c, bit = 28 }\nreset = { register = 0x10, bit = 28 }",
    )
}

/// What libraries do for 72 MHz from the crystal.
fn to_72(rig: &mut Rig) {
    rig.set_bits(BASE + CR, CR_HSEON);
    rig.advance(2_000 * 8);
    rig.write32(BASE + CFGR, CFGR_PLLSRC | 7 << 18 | 4 << 8);
    rig.set_bits(BASE + CR, CR_PLLON);
    rig.advance(200 * 8);
    rig.set_bits(BASE + CFGR, 2);
}

#[test]
fn reset_values() {
    let mut rig = rig();
    for (register, value) in
        [(CR, 0x83), (CFGR, 0), (AHBENR, 0x14), (APB2ENR, 0), (CSR, 0x0c00_0000)]
    {
        assert_eq!(rig.read32(BASE + register), value, "register {register:#x}");
    }
}

#[test]
fn seventy_two_megahertz() {
    let mut rig = rig();
    to_72(&mut rig);
    let clocks = &rig.bus.clocks;
    assert_eq!(clocks.core_hz(), 72_000_000);
    assert_eq!((clocks.apb_divider, clocks.apb2_divider), (2, 1));
    assert_eq!((clocks.timer_divider, clocks.apb2_timer_divider), (1, 1));
    assert_eq!(rig.read32(BASE + CFGR) >> 2 & 3, 2);
    assert_eq!(rig.warnings(), "");
}

#[test]
fn the_internal_oscillator_reaches_64_and_apb1_its_limit() {
    let mut rig = rig();
    rig.write32(BASE + CFGR, 14 << 18);
    rig.set_bits(BASE + CR, CR_PLLON);
    rig.advance(200 * 8);
    rig.set_bits(BASE + CFGR, 2);
    assert_eq!(rig.bus.clocks.core_hz(), 64_000_000);
    assert!(rig.warnings().contains("APB1 clock ran at 64,000,000 Hz"), "{}", rig.warnings());
}

#[test]
fn the_pll_keeps_its_settings_while_it_runs() {
    let mut rig = rig();
    to_72(&mut rig);
    rig.write32(BASE + CFGR, CFGR_PLLSRC | CFGR_PLLXTPRE | 7 << 18 | 4 << 8 | 2);
    assert_eq!(rig.bus.clocks.core_hz(), 72_000_000);
    assert!(rig.warnings().contains("while it ran"));
    rig.write32(BASE + CR, 0);
    assert_eq!(rig.read32(BASE + CR) & (CR_PLLON | CR_HSEON), CR_PLLON | CR_HSEON);
}

#[test]
fn gates_resets_and_the_backup_domain() {
    let mut rig = rig();
    rig.write32(BASE + BDCR, 1);
    assert!(rig.warnings().contains("PWR_CR.DBP"));
    rig.write32(0x4000_7000, 0x100);
    assert_eq!(rig.read32(0x4000_7000), 0, "its clock is off");
    rig.write32(BASE + APB1ENR, 1 << 28);
    rig.write32(0x4000_7000, 0x100);
    rig.write32(BASE + BDCR, 1);
    assert_eq!(rig.read32(BASE + BDCR), 1, "the crystal is not there");
    rig.write32(BASE + APB1RSTR, 1 << 28);
    assert_eq!(rig.read32(0x4000_7000), 0);
}

#[test]
fn ready_interrupts_and_reset_causes() {
    let mut rig = rig();
    rig.write32(BASE + CIR, 1 << 8);
    rig.write32(BASE + CSR, CSR_RMVF | 1);
    rig.advance(80 * 8);
    assert_eq!(rig.read32(BASE + CSR) & 3, 3);
    assert!(rig.irq(5));
    rig.write32(BASE + CIR, 1 << 8 | 1 << 16);
    assert!(!rig.irq(5));
    rig.bus.requests.reset = Some(ResetCause::Software);
    rig.bus.reset();
    assert_eq!(rig.read32(BASE + CSR), CSR_SFTRSTF | CSR_PINRSTF);
}
