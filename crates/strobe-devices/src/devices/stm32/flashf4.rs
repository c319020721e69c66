//! Flash memory interface registers of STM32F405/407 (RM0090 section 3): wait states, prefetch, the
//! two caches of the ART accelerator, the locks.
//!
//! Erasing and programming are not modelled; a firmware that tries is reported and its polling
//! ends.

use serde::Deserialize;

use super::flash_ctl::{self, KEYS, Lock};
use crate::devices::common::register::{bit, merge, part};
use strobe_sim::kernel::device::{Context, Create, Device, OptionError, Reading, Size};
use strobe_sim::kernel::flash::FlashCaches;

const ACR: u32 = 0x00;
const KEYR: u32 = 0x04;
const OPTKEYR: u32 = 0x08;
const SR: u32 = 0x0c;
const CR: u32 = 0x10;
const OPTCR: u32 = 0x14;

const ACR_PRFTEN: u32 = 8;
const ACR_ICEN: u32 = 9;
const ACR_DCEN: u32 = 10;
const ACR_ICRST: u32 = 11;
const ACR_DCRST: u32 = 12;
/// LATENCY, PRFTEN, ICEN, DCEN, ICRST, DCRST.
const ACR_WRITABLE: u32 = 0x1f07;
const SR_EOP: u32 = 1 << 0;
/// EOP and the error flags are cleared by writing 1; OPERR, WRPERR, PGAERR, PGPERR, PGSERR.
const SR_CLEARABLE: u32 = SR_EOP | 0xf2;
const CR_STRT: u32 = 1 << 16;
const CR_EOPIE: u32 = 1 << 24;
const CR_LOCK: u32 = 1 << 31;
/// PG, SER, MER, SNB, PSIZE, EOPIE, ERRIE.
const CR_WRITABLE: u32 = 0x0300_037f;
const OPTCR_LOCK: u32 = 1 << 0;
const OPTCR_STRT: u32 = 1 << 1;
/// As delivered: no protection, no brown-out reset above the power-on level.
const OPTCR_RESET: u32 = 0x0fff_aaec;

const OPTION_KEYS: [u32; 2] = [0x0819_2a3b, 0x4c5d_6e7f];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    /// Highest core clock by number of wait states, in hertz.
    max_hz: Vec<u32>,
}

struct FlashController {
    options: Options,
    acr: u32,
    sr: u32,
    cr: u32,
    optcr: u32,
    keys: Lock,
    option_keys: Lock,
}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let options: Options = cx.options()?;
    flash_ctl::check_limits(&options.max_hz)?;
    Ok(Box::new(FlashController {
        options,
        acr: 0,
        sr: 0,
        cr: 0,
        optcr: OPTCR_RESET,
        keys: Lock::Closed,
        option_keys: Lock::Closed,
    }))
}

impl FlashController {
    fn wait_states(&self) -> u8 {
        (self.acr & 7) as u8
    }

    fn apply(&self, cx: &mut Context) {
        let caches =
            FlashCaches { instructions: bit(self.acr, ACR_ICEN), data: bit(self.acr, ACR_DCEN) };
        cx.set_flash(self.wait_states(), bit(self.acr, ACR_PRFTEN), caches);
        flash_ctl::check_speed(&self.options.max_hz, self.wait_states(), cx);
    }

    /// 3.9.1: what resets a cache can be written only while that cache is off.
    fn write_access_control(&mut self, value: u32, cx: &mut Context) {
        let locked = |enable: u32, reset: u32| if bit(self.acr, enable) { 1 << reset } else { 0 };
        let locked = locked(ACR_ICEN, ACR_ICRST) | locked(ACR_DCEN, ACR_DCRST);
        self.acr = value & ACR_WRITABLE & !locked | self.acr & locked;
        let (instructions, data) = (bit(self.acr, ACR_ICRST), bit(self.acr, ACR_DCRST));
        cx.empty_flash_caches(FlashCaches { instructions, data });
        self.apply(cx);
    }

    fn write_control(&mut self, value: u32, cx: &mut Context) {
        if self.keys != Lock::Open {
            return;
        }
        self.cr = value & CR_WRITABLE;
        if value & CR_STRT != 0 {
            cx.warn_of(
                "not-modelled",
                "flash erasing and programming are not modelled: the contents stayed",
            );
            // 3.9.4: the flag is set only if its interrupt is enabled.
            self.sr |= if value & CR_EOPIE != 0 { SR_EOP } else { 0 };
        }
        if value & CR_LOCK != 0 {
            self.keys = Lock::Closed;
        }
    }

    fn write_options(&mut self, value: u32, cx: &mut Context) {
        if self.option_keys != Lock::Open {
            return;
        }
        self.optcr = value & 0x0fff_ffec;
        if value & OPTCR_STRT != 0 {
            cx.warn_of(
                "not-modelled",
                "programming option bytes is not modelled: they are back after a reset",
            );
        }
        if value & OPTCR_LOCK != 0 {
            self.option_keys = Lock::Closed;
        }
    }

    fn word(&self, register: u32) -> Option<u32> {
        let locked = |lock: Lock, flag: u32| if lock == Lock::Open { 0 } else { flag };
        Some(match register {
            ACR => self.acr,
            KEYR | OPTKEYR => 0,
            SR => self.sr,
            CR => self.cr | locked(self.keys, CR_LOCK),
            OPTCR => self.optcr | locked(self.option_keys, OPTCR_LOCK),
            _ => return None,
        })
    }
}

impl Device for FlashController {
    fn read(&mut self, offset: u32, size: Size, _cx: &mut Context) -> Option<u32> {
        Some(part(self.word(offset & !3)?, offset, size))
    }

    fn reading(&mut self, _: u32, _: Size, _: &mut Context) -> Reading {
        Reading::FIXED
    }

    fn write(&mut self, offset: u32, size: Size, value: u32, cx: &mut Context) -> Option<()> {
        let merged = merge(self.word(offset & !3)?, offset, size, value);
        match offset & !3 {
            ACR => {
                self.write_access_control(merged, cx);
            }
            KEYR if self.keys != Lock::Open => self.keys = self.keys.key(value, KEYS),
            OPTKEYR if self.option_keys != Lock::Open => {
                self.option_keys = self.option_keys.key(value, OPTION_KEYS);
            }
            SR => self.sr &= !(merge(0, offset, size, value) & SR_CLEARABLE),
            CR => self.write_control(merged, cx),
            OPTCR => self.write_options(merged, cx),
            _ => {}
        }
        cx.interrupt(0, self.cr & CR_EOPIE != 0 && self.sr & SR_EOP != 0);
        Some(())
    }

    fn clock_changed(&mut self, cx: &mut Context) {
        flash_ctl::check_speed(&self.options.max_hz, self.wait_states(), cx);
    }

    fn reset(&mut self, cx: &mut Context) {
        (self.acr, self.sr, self.cr, self.optcr) = (0, 0, 0, OPTCR_RESET);
        (self.keys, self.option_keys) = (Lock::Closed, Lock::Closed);
        self.apply(cx);
        cx.empty_flash_caches(FlashCaches { instructions: true, data: true });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::Rig;

    const BASE: u32 = 0x4002_3c00;

    fn rig() -> Rig {
        Rig::new(
            "[[device]]\nname = 'FLASH'\nmodel = 'stm32f4-flash'\nbase = 0x4002_3c00\n\
             size = 0x400\n\
             bus = 'ahb'\nirq = [4]\noptions = { max_hz = [30_000_000, 60_000_000] }\n\
             [[flash.timing]]\nwait_states = 0\norigin = 'test'\nwhy = 'test'\n\
             [[flash.timing]]\nwait_states = 5\nicache = true\norigin = 'test'\nwhy = 'test'\n\
             aligned_target = { low = 0, likely = 0.5, high = 5 }\n\
             [[flash.timing]]\nwait_states = 5\nicache = false\norigin = 'test'\nwhy = 'test'\n\
             aligned_target = { low = 5, likely = 5, high = 5 }",
        )
    }

    /// RM0090 3.9.1.
    #[test]
    fn wait_states_and_caches_select_the_timing() {
        let mut rig = rig();
        assert_eq!(rig.bus.flash_state, (0, false));
        rig.write32(BASE + ACR, 0xffff_ffff);
        assert_eq!(rig.read32(BASE + ACR), ACR_WRITABLE);
        assert_eq!(rig.bus.flash_state, (7, true));
        assert!(rig.warnings().contains("no timing for 7 wait states with prefetch on and both"));
        rig.write32(BASE + ACR, 5);
        assert_eq!(rig.bus.flash_interface.timing.aligned_target.likely, 10);
        rig.write32(BASE + ACR, 5 | 1 << ACR_ICEN | 1 << ACR_DCEN);
        assert_eq!(rig.bus.flash_interface.timing.aligned_target.likely, 1);
        assert_eq!(rig.bus.flash_caches, FlashCaches { instructions: true, data: true });
        rig.bus.reset();
        assert_eq!(
            (rig.bus.flash_state, rig.bus.flash_interface.timing.is_zero()),
            ((0, false), true)
        );
    }

    /// RM0090 3.9.1: ICRST and DCRST "can be written only when the cache is disabled".
    #[test]
    fn a_cache_that_is_on_cannot_be_reset() {
        let mut rig = rig();
        let (on, reset) = (1 << ACR_ICEN, 1 << ACR_ICRST | 1 << ACR_DCRST);
        rig.write32(BASE + ACR, on);
        rig.write32(BASE + ACR, on | reset);
        assert_eq!(rig.read32(BASE + ACR), on | 1 << ACR_DCRST);
        rig.write32(BASE + ACR, 0);
        rig.write32(BASE + ACR, reset);
        assert_eq!(rig.read32(BASE + ACR), reset);
    }

    #[test]
    fn too_few_wait_states_are_reported() {
        let mut rig = rig();
        rig.bus.clocks.set_core_hz(0, 60_000_000);
        rig.write32(BASE + ACR, 1);
        assert!(!rig.warnings().contains("wait states are for"));
        rig.write32(BASE + ACR, 0);
        assert!(rig.warnings().contains("0 wait states are for up to 30,000,000 Hz"));
    }

    /// RM0090 3.6.1 and 3.9.
    #[test]
    fn keys_unlock_control_and_option_registers() {
        let mut rig = rig();
        assert_eq!((rig.read32(BASE + CR), rig.read32(BASE + OPTCR)), (CR_LOCK, 0x0fff_aaed));
        rig.write32(BASE + CR, 1);
        assert_eq!(rig.read32(BASE + CR), CR_LOCK);
        KEYS.iter().for_each(|&key| rig.write32(BASE + KEYR, key));
        rig.write32(BASE + CR, CR_EOPIE | CR_STRT | 2);
        assert_eq!((rig.read32(BASE + SR), rig.irq(4)), (SR_EOP, true));
        assert!(rig.warnings().contains("not modelled"));
        rig.write32(BASE + SR, SR_EOP);
        assert!(!rig.irq(4));
        rig.write32(BASE + CR, CR_LOCK);
        assert_eq!(rig.read32(BASE + CR), CR_LOCK);
        OPTION_KEYS.iter().for_each(|&key| rig.write32(BASE + OPTKEYR, key));
        rig.write32(BASE + OPTCR, 0x0ffe_aaec);
        assert_eq!(rig.read32(BASE + OPTCR), 0x0ffe_aaec);
        rig.write32(BASE + OPTKEYR, 1);
        assert_eq!(rig.read32(BASE + OPTCR) & 1, 0, "an open lock takes no keys");
    }
}
