//! Flash memory interface registers (RM0360 section 3): wait states, prefetch, the lock.
//!
//! Erasing and programming are not modelled; a firmware that tries is reported and its polling
//! ends.

use serde::Deserialize;
use strobe_model::number::hertz;

use crate::devices::common::register::{bit, merge, part};
use strobe_sim::kernel::device::{Context, Create, Device, OptionError, Reading, Size};
use strobe_sim::kernel::flash::FlashCaches;

const ACR: u32 = 0x00;
const KEYR: u32 = 0x04;
const OPTKEYR: u32 = 0x08;
const SR: u32 = 0x0c;
const CR: u32 = 0x10;
const AR: u32 = 0x14;
const OBR: u32 = 0x1c;
const WRPR: u32 = 0x20;

const ACR_PRFTBE: u32 = 1 << 4;
const ACR_PRFTBS: u32 = 1 << 5;
/// LATENCY, PRFTBE.
const ACR_WRITABLE: u32 = ACR_PRFTBE | 7;
const SR_EOP: u32 = 1 << 5;
/// PGERR, WRPRTERR and EOP are cleared by writing 1.
const SR_CLEARABLE: u32 = SR_EOP | 1 << 4 | 1 << 2;
const CR_STRT: u32 = 1 << 6;
const CR_LOCK: u32 = 1 << 7;
const CR_OPTWRE: u32 = 1 << 9;
/// PG, PER, MER, OPTPG, OPTER, ERRIE, EOPIE.
const CR_WRITABLE: u32 = 0x1437;

pub(super) const KEYS: [u32; 2] = [0x4567_0123, 0xcdef_89ab];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    /// Highest core clock by number of wait states, in hertz.
    max_hz: Vec<u32>,
    /// ACR at reset.
    #[serde(default)]
    acr_reset: u32,
    /// What the option byte register shows.
    obr: u32,
}

struct FlashController {
    options: Options,
    acr: u32,
    sr: u32,
    cr: u32,
    ar: u32,
    keys: Lock,
    option_keys: Lock,
}

/// Two keys in order open a lock; a wrong one jams it until reset (3.2.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lock {
    Closed,
    Half,
    Open,
    Jammed,
}

impl Lock {
    /// The lock after `key` was written, which `keys` open.
    pub(super) fn key(self, key: u32, keys: [u32; 2]) -> Lock {
        match self {
            Lock::Closed if key == keys[0] => Lock::Half,
            Lock::Half if key == keys[1] => Lock::Open,
            _ => Lock::Jammed,
        }
    }
}

/// Whether a board file's `max_hz` can be.
pub(super) fn check_limits(max_hz: &[u32]) -> Result<(), OptionError> {
    if max_hz.is_empty() || max_hz.len() > 8 {
        return Err(OptionError::invalid(
            "max_hz",
            "one entry per number of wait states, 1 to 8 of them",
        ));
    }
    Ok(())
}

/// Too few wait states read garbage on silicon; the simulation reads right and reports it (3.5.1).
/// `max_hz` is the highest core clock by number of wait states.
pub(super) fn check_speed(max_hz: &[u32], wait_states: u8, cx: &mut Context) {
    let hz = cx.clocks().core_hz();
    if let Some(&limit) = max_hz.get(usize::from(wait_states)).filter(|&&limit| hz > limit) {
        let text = format!(
            "flash: {wait_states} wait states are for up to {}, the core ran at {}: real flash \
             would return wrong data",
            hertz(limit),
            hertz(hz)
        );
        cx.warn_of("too-few-wait-states", text);
    }
}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let options: Options = cx.options()?;
    check_limits(&options.max_hz)?;
    let (keys, option_keys) = (Lock::Closed, Lock::Closed);
    let device = FlashController { options, acr: 0, sr: 0, cr: 0, ar: 0, keys, option_keys };
    Ok(Box::new(device))
}

impl FlashController {
    fn wait_states(&self) -> u8 {
        (self.acr & 7) as u8
    }

    fn apply(&self, cx: &mut Context) {
        let prefetch = self.acr & ACR_PRFTBE != 0;
        cx.set_flash(self.wait_states(), prefetch, FlashCaches::default());
        check_speed(&self.options.max_hz, self.wait_states(), cx);
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
            self.sr |= SR_EOP;
        }
        if value & CR_LOCK != 0 {
            (self.keys, self.option_keys) = (Lock::Closed, Lock::Closed);
        }
    }

    fn control(&self) -> u32 {
        let lock = if self.keys == Lock::Open { 0 } else { CR_LOCK };
        let options = if self.option_keys == Lock::Open { CR_OPTWRE } else { 0 };
        self.cr | lock | options
    }
}

impl Device for FlashController {
    fn read(&mut self, offset: u32, size: Size, _cx: &mut Context) -> Option<u32> {
        let word = match offset & !3 {
            ACR => self.acr | if bit(self.acr, 4) { ACR_PRFTBS } else { 0 },
            KEYR | OPTKEYR => 0,
            SR => self.sr,
            CR => self.control(),
            AR => self.ar,
            OBR => self.options.obr,
            WRPR => u32::MAX,
            _ => return None,
        };
        Some(part(word, offset, size))
    }

    fn reading(&mut self, _: u32, _: Size, _: &mut Context) -> Reading {
        Reading::FIXED
    }

    fn write(&mut self, offset: u32, size: Size, value: u32, cx: &mut Context) -> Option<()> {
        match offset & !3 {
            ACR => {
                self.acr = merge(self.acr, offset, size, value) & ACR_WRITABLE;
                self.apply(cx);
            }
            KEYR if self.keys != Lock::Open => self.keys = self.keys.key(value, KEYS),
            OPTKEYR if self.keys == Lock::Open && self.option_keys != Lock::Open => {
                self.option_keys = self.option_keys.key(value, KEYS);
            }
            SR => self.sr &= !(merge(0, offset, size, value) & SR_CLEARABLE),
            CR => self.write_control(merge(self.control(), offset, size, value), cx),
            AR => self.ar = merge(self.ar, offset, size, value),
            KEYR | OPTKEYR | OBR | WRPR => {}
            _ => return None,
        }
        Some(())
    }

    fn clock_changed(&mut self, cx: &mut Context) {
        check_speed(&self.options.max_hz, self.wait_states(), cx);
    }

    fn reset(&mut self, cx: &mut Context) {
        self.acr = self.options.acr_reset & ACR_WRITABLE;
        (self.sr, self.cr, self.ar) = (0, 0, 0);
        (self.keys, self.option_keys) = (Lock::Closed, Lock::Closed);
        self.apply(cx);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::Rig;

    const BASE: u32 = 0x4002_2000;

    fn rig() -> Rig {
        Rig::new(
            "[[device]]\nname = 'FLASH'\nmodel = 'stm32-flash'\nbase = 0x4002_2000\nsize = 0x400\n\
             bus = 'ahb'\noptions = { max_hz = [24_000_000, 48_000_000], obr = 0x03ff_fff2 }\n\
             [[flash.timing]]\nwait_states = 0\norigin = 'test'\nwhy = 'test'\n\
             [[flash.timing]]\nwait_states = 1\norigin = 'test'\nwhy = 'test'\n\
             aligned_target = { low = 1, likely = 1.5, high = 2 }",
        )
    }

    /// RM0360 3.5.1.
    #[test]
    fn wait_states_and_prefetch_reach_the_bus() {
        let mut rig = rig();
        assert_eq!(rig.bus.flash_state, (0, false));
        assert!(rig.bus.flash_interface.timing.is_zero());
        rig.write32(BASE + ACR, 0x11);
        assert_eq!(rig.read32(BASE + ACR), 0x31, "the status bit follows");
        assert_eq!(rig.bus.flash_state, (1, true));
        assert_eq!(rig.bus.flash_interface.timing.aligned_target.likely, 3);
        rig.bus.reset();
        assert_eq!(rig.bus.flash_state, (0, false));
    }

    #[test]
    fn too_few_wait_states_are_reported() {
        let mut rig = rig();
        rig.write32(BASE + ACR, 1);
        rig.bus.clocks.set_core_hz(0, 48_000_000);
        rig.write32(BASE + ACR, 1);
        assert_eq!(rig.warnings(), "");
        rig.write32(BASE + ACR, 0);
        assert!(rig.warnings().contains("0 wait states are for up to 24,000,000 Hz"));
    }

    /// RM0360 3.2.2: unlocking, and a wrong sequence that locks until reset.
    #[test]
    fn two_keys_unlock() {
        let mut rig = rig();
        KEYS.iter().for_each(|&key| rig.write32(BASE + KEYR, key));
        assert_eq!(rig.read32(BASE + CR), 0);
        rig.write32(BASE + CR, 2);
        rig.write32(BASE + CR, 2 | CR_STRT);
        assert_eq!(rig.read32(BASE + SR), SR_EOP);
        assert!(rig.warnings().contains("not modelled"));
        rig.write32(BASE + CR, CR_LOCK);
        assert_eq!(rig.read32(BASE + CR), CR_LOCK);
        rig.write32(BASE + KEYR, 1);
        KEYS.iter().for_each(|&key| rig.write32(BASE + KEYR, key));
        assert_eq!(rig.read32(BASE + CR), CR_LOCK, "jammed");
    }
}
