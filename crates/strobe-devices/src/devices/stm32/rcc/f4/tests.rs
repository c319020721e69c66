//! Clock control, register by register (RM0090 7.2 and 7.3).

use super::*;
use crate::devices::stm32::rcc::{
    CR, CR_HSEBYP, CR_HSEON, CR_HSION, CSR_PINRSTF, CSR_RMVF, CSR_WWDGRSTF,
};
use crate::rig::Rig;
use strobe_sim::kernel::device::ResetCause;

const CFGR: u32 = 0x08;
const CIR: u32 = 0x0c;
const BDCR: u32 = 0x70;
const CSR: u32 = 0x74;

const BASE: u32 = 0x4002_3800;
const APB1ENR: u32 = 0x40;

const BOARD: &str = "
[[device]]
name = 'RCC'
model = 'stm32f4-rcc'
base = 0x4002_3800
size = 0x400
bus = 'ahb'
irq = [5]
[device.options]
hsi_hz = 16_000_000
hse_hz = 8_000_000
max_hz = 168_000_000
max_apb_hz = [42_000_000, 84_000_000]
startup_us = { hsi = 2, hse = 2000, lsi = 15, lse = 2_000_000, pll = 200 }
[[device]]
name = 'PWR'
model = 'stm32-pwr'
base = 0x4000_7000
size = 0x400
bus = 'apb'
gate = { register = 0x40, bit = 28 }
gate_name = 'RCC_APB1ENR.PWREN'
reset = { register = 0x20, bit = 28 }
options = { cr_reset = 0x4000, cr_writable = 0x43f3, csr_writable = 0x300, backup_regulator = true }
";

fn rig() -> Rig {
    Rig::new(BOARD)
}

fn on(rig: &mut Rig, enable: u32, ready: u32) {
    rig.set_bits(BASE + CR, enable);
    while rig.read32(BASE + CR) & ready == 0 {
        let next = rig.bus.next_due;
        rig.run_to(next);
    }
}

/// What libraries do for 168 MHz from the crystal.
fn pll_168(rig: &mut Rig) {
    on(rig, CR_HSEON, 1 << 17);
    rig.write32(BASE + PLLCFGR, 7 << 24 | 1 << 22 | 336 << 6 | 8);
    on(rig, CR_PLLON, 1 << 25);
    rig.write32(BASE + CFGR, 5 << 10 | 4 << 13);
    rig.set_bits(BASE + CFGR, 2);
}

#[test]
fn reset_values() {
    let mut rig = rig();
    for (register, value) in [
        (CR, 0x83),
        (PLLCFGR, 0x2400_3010),
        (CFGR, 0),
        (CIR, 0),
        (0x30, 0x0010_0000),
        (APB1ENR, 0),
        (0x50, 0x7e67_91ff),
        (0x54, 0xf1),
        (0x58, 1),
        (0x60, 0x36fe_c9ff),
        (0x64, 0x0007_5f33),
        (BDCR, 0),
        (CSR, 0x0e00_0000),
        (SSCGR, 0),
        (PLLI2SCFGR, 0x2000_3000),
    ] {
        assert_eq!(rig.read32(BASE + register), value, "register {register:#x}");
    }
}

#[test]
fn the_crystal_and_the_pll_give_168_mhz() {
    let mut rig = rig();
    let start = rig.bus.now;
    pll_168(&mut rig);
    // The rig runs at 8 MHz until the controller's reset sets 16 MHz, then 2000 us and 200 us.
    assert_eq!(rig.bus.now - start, 2_200 * 16);
    assert_eq!(rig.read32(BASE + CFGR) & 0xf, 0b1010);
    let clocks = &rig.bus.clocks;
    assert_eq!((clocks.core_hz(), clocks.sysclk_hz), (168_000_000, 168_000_000));
    assert_eq!((clocks.apb_divider, clocks.apb2_divider), (4, 2));
    assert_eq!((clocks.timer_divider, clocks.apb2_timer_divider), (2, 1));
    assert_eq!(clocks.kernel_hz("PLL48"), Some(48_000_000));
    assert_eq!(rig.warnings(), "");
}

#[test]
fn clock_in_use_cannot_be_stopped_or_changed() {
    let mut rig = rig();
    pll_168(&mut rig);
    rig.write32(BASE + CR, 0);
    let left = rig.read32(BASE + CR);
    assert_eq!(left & (CR_HSEON | CR_PLLON | CR_HSION), CR_HSEON | CR_PLLON);
    rig.write32(BASE + PLLCFGR, 0x2400_3010);
    assert_eq!(rig.bus.clocks.core_hz(), 168_000_000);
    assert!(rig.warnings().contains("written while it ran"));
    rig.write32(BASE + CFGR, 0);
    assert_eq!(rig.bus.clocks.core_hz(), 168_000_000, "HSI is off: the switch waits for it");
    on(&mut rig, CR_HSION, 2);
    assert_eq!(rig.bus.clocks.core_hz(), 16_000_000);
}

#[test]
fn limits_are_reported() {
    let mut rig = rig();
    pll_168(&mut rig);
    rig.write32(BASE + CFGR, 4 << 10 | 2);
    let warnings = rig.warnings();
    assert!(
        warnings.contains("APB1 clock ran at 84,000,000 Hz, the part is for up to 42,000,000 Hz")
    );
    assert!(warnings.contains("APB2 clock ran at 168,000,000 Hz"), "{warnings}");
}

#[test]
fn without_a_crystal_nothing_is_ever_ready() {
    let mut rig = Rig::new(&BOARD.replace("hse_hz = 8_000_000", "hse_hz = 0"));
    rig.set_bits(BASE + CR, CR_HSEON);
    rig.write32(BASE + PLLCFGR, PLLCFGR_RESET | PLLCFGR_SRC_HSE);
    rig.set_bits(BASE + CR, CR_PLLON);
    rig.advance(1_000_000_000);
    assert_eq!(rig.read32(BASE + CR) & (1 << 17 | 1 << 25), 0);
    // Bypassed, a clock of the board is there at once.
    let mut rig = self::rig();
    rig.set_bits(BASE + CR, CR_HSEBYP | CR_HSEON);
    assert_ne!(rig.read32(BASE + CR) & 1 << 17, 0);
}

#[test]
fn gates_resets_and_the_backup_domain() {
    let mut rig = rig();
    rig.write32(0x4000_7000, 0x100);
    assert_eq!(rig.bus.unclocked().next().unwrap().enable, "RCC_APB1ENR.PWREN");
    rig.write32(BASE + BDCR, 1);
    assert!(rig.warnings().contains("PWR_CR.DBP"));
    rig.write32(BASE + APB1ENR, 1 << 28);
    assert_eq!(rig.read32(0x4000_7000), 0x4000);
    rig.write32(0x4000_7000, 0x4100);
    rig.write32(BASE + BDCR, 0x8201);
    assert_eq!(rig.read32(BASE + BDCR), 0x8201, "no 32 kHz crystal: never ready");
    rig.write32(0x4000_7004, 0x200);
    assert_eq!(rig.read32(0x4000_7004), 0x208, "the backup regulator");
    rig.write32(BASE + 0x20, 1 << 28);
    assert_eq!(rig.read32(0x4000_7000), 0x4000);
}

#[test]
fn ready_clock_interrupts_until_cleared() {
    let mut rig = rig();
    rig.write32(BASE + CIR, 1 << 13);
    rig.set_bits(BASE + CR, CR_PLLI2SON);
    rig.advance(200 * 16 - 1);
    assert!(!rig.irq(5));
    rig.advance(1);
    assert!(rig.irq(5));
    assert_ne!(rig.read32(BASE + CR) & 1 << 27, 0);
    rig.write32(BASE + CIR, 1 << 13 | 1 << 21);
    assert!(!rig.irq(5));
}

#[test]
fn a_reset_leaves_its_cause() {
    let mut rig = rig();
    pll_168(&mut rig);
    rig.write32(BASE + CSR, CSR_RMVF);
    assert_eq!(rig.read32(BASE + CSR), 0);
    rig.bus.requests.reset = Some(ResetCause::WindowWatchdog);
    rig.bus.reset();
    assert_eq!(rig.read32(BASE + CSR), CSR_WWDGRSTF | CSR_PINRSTF);
    assert_eq!(rig.bus.clocks.core_hz(), 16_000_000);
    assert_eq!(rig.read32(BASE + PLLCFGR), 0x2400_3010);
}
