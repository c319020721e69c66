//! Clock control, register by register (RM0360 7.2 to 7.4).

use super::*;
use crate::devices::stm32::rcc::{
    CR, CR_HSEBYP, CR_HSEON, CR_HSION, CR_PLLON, CSR_IWDGRSTF, CSR_PINRSTF, CSR_RMVF,
};
use crate::rig::Rig;
use strobe_sim::kernel::device::ResetCause;

const CFGR: u32 = 0x04;
const CIR: u32 = 0x08;
const APB1RSTR: u32 = 0x10;
const AHBENR: u32 = 0x14;
const APB1ENR: u32 = 0x1c;
const BDCR: u32 = 0x20;
const CSR: u32 = 0x24;

const BASE: u32 = 0x4002_1000;

const BOARD: &str = "
[[device]]
name = 'RCC'
model = 'stm32-rcc'
base = 0x4002_1000
size = 0x400
bus = 'ahb'
irq = [4]
[device.options]
hsi_hz = 8_000_000
hse_hz = 12_000_000
max_hz = 48_000_000
startup_us = { hsi = 2, hse = 2000, hsi14 = 2, lsi = 85, lse = 2_000_000, pll = 200 }
[[device]]
name = 'PWR'
model = 'stm32-pwr'
base = 0x4000_7000
size = 0x400
bus = 'apb'
gate = { register = 0x1c, bit = 28 }
gate_name = 'RCC_APB1ENR.PWREN'
reset = { register = 0x10, bit = 28 }
";

fn rig() -> Rig {
    Rig::new(BOARD)
}

/// What libraries do for 48 MHz from the internal oscillator.
fn pll_48(rig: &mut Rig) {
    rig.write32(BASE + CFGR, 10 << 18);
    rig.set_bits(BASE + CR, CR_PLLON);
    rig.advance(200 * 8);
    rig.set_bits(BASE + CFGR, 2);
}

#[test]
fn reset_values() {
    let mut rig = rig();
    for (register, value) in [
        (CR, 0x83),
        (CFGR, 0),
        (CIR, 0),
        (AHBENR, 0x14),
        (APB1ENR, 0),
        (CSR, 0x0c00_0000),
        (CFGR2, 0),
        (CR2, 0x80),
    ] {
        assert_eq!(rig.read32(BASE + register), value, "register {register:#x}");
    }
}

#[test]
fn the_pll_locks_and_takes_over() {
    let mut rig = rig();
    rig.write32(BASE + CFGR, 10 << 18);
    rig.set_bits(BASE + CR, CR_PLLON);
    rig.set_bits(BASE + CFGR, 2);
    rig.advance(1_599);
    assert_eq!(rig.read32(BASE + CR) >> 25 & 1, 0);
    assert_eq!(rig.bus.clocks.core_hz(), 8_000_000, "7.2.6: not before it is ready");
    rig.advance(1);
    assert_eq!(rig.read32(BASE + CR) >> 25 & 1, 1);
    assert_eq!(rig.read32(BASE + CFGR) >> 2 & 3, 2);
    assert_eq!(rig.bus.clocks.core_hz(), 48_000_000);
    let last = *rig.bus.clocks.history().last().unwrap();
    assert_eq!((last.cycle, last.hz), (1_600, 48_000_000));
}

#[test]
fn source_of_the_system_clock_stays_on() {
    let mut rig = rig();
    pll_48(&mut rig);
    rig.write32(BASE + CR, 0);
    assert_eq!(rig.read32(BASE + CR) & (CR_PLLON | CR_HSION), CR_PLLON | CR_HSION);
    rig.write32(BASE + CFGR, 12 << 18 | 2);
    assert_eq!(rig.bus.clocks.core_hz(), 48_000_000, "PLLMUL is fixed while it runs");
    assert!(rig.warnings().contains("PLL's settings were written while it ran"));
}

#[test]
fn crystal_and_bypass() {
    let mut rig = rig();
    rig.write32(BASE + CFGR2, 1);
    assert_eq!(rig.read32(BASE + CFGR) >> 17 & 1, 1, "PLLXTPRE mirrors PREDIV");
    rig.set_bits(BASE + CR, CR_HSEON);
    rig.advance(16_000 - 1);
    assert_eq!(rig.read32(BASE + CR) >> 17 & 1, 0);
    rig.advance(1);
    assert_eq!(rig.read32(BASE + CR) >> 17 & 1, 1);
    // 12 MHz / 2 * 6
    rig.write32(BASE + CFGR, 1 << 16 | 1 << 17 | 4 << 18);
    rig.set_bits(BASE + CR, CR_PLLON);
    rig.advance(1_600);
    rig.set_bits(BASE + CFGR, 2);
    assert_eq!(rig.bus.clocks.core_hz(), 36_000_000);

    let mut rig = self::rig();
    rig.set_bits(BASE + CR, CR_HSEON | CR_HSEBYP);
    rig.advance(1);
    rig.write32(BASE + CFGR, 1);
    assert_eq!(rig.bus.clocks.core_hz(), 12_000_000);
}

#[test]
fn prescalers_reach_core_buses_and_timers() {
    let mut rig = rig();
    rig.write32(BASE + CFGR, 9 << 4 | 5 << 8);
    let clocks = &rig.bus.clocks;
    assert_eq!((clocks.core_hz(), clocks.sysclk_hz), (2_000_000, 8_000_000));
    assert_eq!((clocks.apb_divider, clocks.timer_divider), (4, 2));
}

#[test]
fn a_serial_port_can_have_its_own_clock() {
    let mut rig = rig();
    pll_48(&mut rig);
    for (selector, hz) in [(0, None), (1, Some(48_000_000)), (3, Some(8_000_000)), (2, Some(1))] {
        rig.write32(BASE + CFGR3, selector);
        assert_eq!(rig.bus.clocks.kernel_hz("USART1"), hz, "USART1SW = {selector}");
    }
    assert_eq!(rig.bus.clocks.core_hz(), 48_000_000);
}

#[test]
fn too_fast_is_reported() {
    let mut rig = rig();
    rig.write32(BASE + CFGR, 14 << 18);
    rig.set_bits(BASE + CR, CR_PLLON);
    rig.advance(1_600);
    rig.set_bits(BASE + CFGR, 2);
    assert!(rig.warnings().contains("ran at 64,000,000 Hz, the part is for up to 48,000,000 Hz"));
}

/// A peripheral without clock reads zero and ignores writes.
#[test]
fn gates_switch_peripherals() {
    let mut rig = rig();
    rig.bus.pc = 0x0800_0124;
    rig.write32(0x4000_7000, 0x100);
    assert_eq!(rig.read32(0x4000_7000), 0);
    let unclocked: Vec<_> = rig.bus.unclocked().collect();
    assert_eq!(unclocked.len(), 1);
    assert_eq!((unclocked[0].device, unclocked[0].enable), ("PWR", "RCC_APB1ENR.PWREN"));
    assert_eq!((unclocked[0].accesses, unclocked[0].first_pc), (2, 0x0800_0124));
    rig.write32(BASE + APB1ENR, 1 << 28);
    rig.write32(0x4000_7000, 0x100);
    assert_eq!(rig.read32(0x4000_7000), 0x100);
    rig.write32(BASE + APB1ENR, 0);
    assert_eq!(rig.read32(0x4000_7000), 0);
}

#[test]
fn reset_bits_reset_their_peripheral() {
    let mut rig = rig();
    rig.write32(BASE + APB1ENR, 1 << 28);
    rig.write32(0x4000_7000, 0x100);
    rig.write32(BASE + APB1RSTR, 1 << 28);
    rig.write32(BASE + APB1RSTR, 0);
    assert_eq!(rig.read32(0x4000_7000), 0);
}

#[test]
fn ready_clock_interrupts_until_cleared() {
    let mut rig = rig();
    rig.write32(BASE + CIR, 1 << 8);
    rig.write32(BASE + CSR, 1);
    rig.advance(85 * 8);
    assert_eq!(rig.read32(BASE + CSR) & 3, 3);
    assert!(rig.irq(4));
    rig.write32(BASE + CIR, 1 << 8 | 1 << 16);
    assert!(!rig.irq(4));
}

#[test]
fn the_backup_domain_is_protected() {
    let mut rig = rig();
    rig.write32(BASE + BDCR, 1);
    assert_eq!(rig.read32(BASE + BDCR), 0);
    assert!(rig.warnings().contains("PWR_CR.DBP"));
    rig.write32(BASE + APB1ENR, 1 << 28);
    rig.write32(0x4000_7000, 0x100);
    rig.write32(BASE + BDCR, 1);
    assert_eq!(rig.read32(BASE + BDCR), 1);
}

#[test]
fn a_reset_leaves_its_cause() {
    let mut rig = rig();
    pll_48(&mut rig);
    rig.write32(BASE + CSR, CSR_RMVF);
    assert_eq!(rig.read32(BASE + CSR), 0);
    rig.bus.requests.reset = Some(ResetCause::IndependentWatchdog);
    rig.bus.reset();
    assert_eq!(rig.read32(BASE + CSR), CSR_IWDGRSTF | CSR_PINRSTF);
    assert_eq!(rig.bus.clocks.core_hz(), 8_000_000);
    assert_eq!(rig.read32(BASE + CFGR), 0);
}

#[test]
fn the_plls_source_is_chosen_and_divided() {
    assert_eq!(pll_input(0, 5), (Source::Hsi, 2));
    assert_eq!(pll_input(1 << 15, 5), (Source::Hsi, 6));
    assert_eq!(pll_input(1 << 16, 0), (Source::Hse, 1));
}
