//! System control of Stellaris parts (LM3S6965 data sheet, section 5): identification, clocks,
//! clock gates and resets of peripherals.
//!
//! The PLL takes its time to lock; until then the system runs from its oscillator, whatever
//! BYPASS is. Sleep and deep-sleep clock gating, brown-out and LDO control keep what is written and
//! do nothing.

mod clock;
#[cfg(test)]
mod tests;

use serde::Deserialize;
use strobe_model::number::hertz;

use crate::devices::common::register::{bit, merge, part};
use clock::Setting;
use strobe_sim::kernel::clock::Gate;
use strobe_sim::kernel::device::{Context, Create, Device, OptionError, Reading, ResetCause, Size};

const DID0: u32 = 0x000;
const DID1: u32 = 0x004;
const DC0: u32 = 0x008;
const DC1: u32 = 0x010;
const DC4: u32 = 0x01c;
const PBORCTL: u32 = 0x030;
const LDOPCTL: u32 = 0x034;
/// Software reset, three registers.
const SRCR: std::ops::Range<u32> = 0x040..0x04c;
const RIS: u32 = 0x050;
const IMC: u32 = 0x054;
const MISC: u32 = 0x058;
const RESC: u32 = 0x05c;
const RCC: u32 = 0x060;
const PLLCFG: u32 = 0x064;
const RCC2: u32 = 0x070;
/// Clock gating in run mode, three registers.
const RCGC: std::ops::Range<u32> = 0x100..0x10c;
/// Clock gating in sleep and deep sleep.
const SCGC: std::ops::Range<u32> = 0x110..0x11c;
const DCGC: std::ops::Range<u32> = 0x120..0x12c;
const DSLPCLKCFG: u32 = 0x144;

/// RIS, IMC, MISC: the PLL has locked.
const PLL_LOCKED: u32 = 1 << 6;
/// RESC: power-on, watchdog, software.
const RESC_POR: u32 = 1 << 1;
const RESC_WDT: u32 = 1 << 3;
const RESC_SW: u32 = 1 << 4;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    /// DID0 and DID1.
    did: [u32; 2],
    /// DC0 to DC4.
    dc: [u32; 5],
    /// RCGC0 to RCGC2 at reset, also those of sleep and deep sleep.
    gates_reset: [u32; 3],
    /// The main crystal, in hertz.
    crystal_hz: u32,
    /// Highest core clock, in hertz.
    max_hz: u32,
    /// How long the PLL takes to lock, in microseconds.
    pll_lock_us: u32,
}

struct Sysctl {
    options: Options,
    setting: Setting,
    /// When the PLL locks, in nanoseconds of simulated time.
    locking: Option<u64>,
    locked: bool,
    raw: u32,
    mask: u32,
    causes: u32,
    /// RCGC, SCGC, DCGC.
    gates: [[u32; 3]; 3],
    resets: [u32; 3],
    pborctl: u32,
    ldopctl: u32,
    deep_sleep: u32,
}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let options: Options = cx.options()?;
    if options.crystal_hz == 0 {
        return Err(OptionError::limit("crystal_hz", "must be more than 0"));
    }
    Ok(Box::new(Sysctl {
        options,
        setting: Setting::RESET,
        locking: None,
        locked: false,
        raw: 0,
        mask: 0,
        causes: 0,
        gates: [[0; 3]; 3],
        resets: [0; 3],
        pborctl: 0,
        ldopctl: 0,
        deep_sleep: 0,
    }))
}

/// Which of three registers in a row an offset means.
fn index(range: &std::ops::Range<u32>, register: u32) -> Option<usize> {
    range.contains(&register).then(|| ((register - range.start) / 4) as usize)
}

/// Which of nine clock gating registers an offset means, as (mode, number).
fn gate_index(register: u32) -> Option<(usize, usize)> {
    let modes = [RCGC, SCGC, DCGC];
    modes.iter().enumerate().find_map(|(mode, range)| Some((mode, index(range, register)?)))
}

impl Sysctl {
    /// The PLL was written to: it starts to lock, goes on, or is off.
    fn power_pll(&mut self, cx: &Context) {
        if !self.setting.pll_on() {
            (self.locking, self.locked) = (None, false);
        } else if self.locking.is_none() && !self.locked {
            let now = cx.clocks().nanoseconds_at(cx.now());
            self.locking = Some(now + u64::from(self.options.pll_lock_us) * 1_000);
        }
    }

    /// Brings everything up to date after a write or when time has come.
    fn update(&mut self, cx: &mut Context) {
        // One nanosecond is lost to rounding between cycles and time.
        let now = cx.clocks().nanoseconds_at(cx.now()) + 1;
        if self.locking.is_some_and(|at| at <= now) {
            (self.locking, self.locked) = (None, true);
            self.raw |= PLL_LOCKED;
        }
        cx.interrupt(0, self.raw & self.mask != 0);
        let hz = self.setting.core_hz(self.options.crystal_hz, self.locked);
        if hz != cx.clocks().core_hz() {
            cx.change_clocks(|cycle, clocks| {
                clocks.set_core_hz(cycle, hz);
                clocks.sysclk_hz = hz;
            });
            let max = self.options.max_hz;
            if hz > max {
                cx.warn_of(
                    "clock-too-fast",
                    format!("the clock ran at {}, the part is for up to {}", hertz(hz), hertz(max)),
                );
            }
        }
        match self.locking {
            Some(ns) => cx.wake_at(cx.clocks().cycle_at_nanoseconds(ns)),
            None => cx.sleep(),
        }
    }

    fn write_setting(&mut self, cx: &mut Context) {
        self.power_pll(cx);
        if self.setting.wants_pll() {
            let (configured, is) = (self.setting.crystal_hz(), self.options.crystal_hz);
            if self.setting.pll_has_crystal() && configured != Some(is) {
                cx.warn(format!(
                    "RCC.XTAL selects {}, but the board's crystal has {}: the PLL is off by as \
                     much",
                    configured.map_or("no known frequency".to_owned(), hertz),
                    hertz(is)
                ));
            }
            if !self.setting.pll_on() {
                cx.warn(
                    "RCC: the PLL was selected while it is off: the system stays on its oscillator",
                );
            }
        }
    }

    fn write_gates(&mut self, (mode, number): (usize, usize), value: u32, cx: &mut Context) {
        let changed = self.gates[mode][number] ^ value;
        self.gates[mode][number] = value;
        if mode == 0 {
            for n in (0..32).filter(|&n| bit(changed, n)) {
                let register = RCGC.start as u16 + 4 * number as u16;
                cx.set_gate(Gate { register, bit: n as u8 }, bit(value, n));
            }
        }
    }

    fn write_resets(&mut self, number: usize, value: u32, cx: &mut Context) {
        let set = value & !self.resets[number];
        self.resets[number] = value;
        for n in (0..32).filter(|&n| bit(set, n)) {
            cx.reset_devices(SRCR.start as u16 + 4 * number as u16, n as u8);
        }
    }

    fn word(&self, register: u32) -> Option<u32> {
        if let Some((mode, number)) = gate_index(register) {
            return Some(self.gates[mode][number]);
        }
        if let Some(number) = index(&SRCR, register) {
            return Some(self.resets[number]);
        }
        Some(match register {
            DID0 => self.options.did[0],
            DID1 => self.options.did[1],
            DC0 => self.options.dc[0],
            DC1..=DC4 => self.options.dc[((register - DC1) / 4 + 1) as usize],
            PBORCTL => self.pborctl,
            LDOPCTL => self.ldopctl,
            RIS => self.raw,
            IMC => self.mask,
            MISC => self.raw & self.mask,
            RESC => self.causes,
            RCC => self.setting.rcc,
            PLLCFG => self.setting.pll_configuration(),
            RCC2 => self.setting.rcc2,
            DSLPCLKCFG => self.deep_sleep,
            _ => return None,
        })
    }
}

impl Device for Sysctl {
    fn read(&mut self, offset: u32, size: Size, _cx: &mut Context) -> Option<u32> {
        Some(part(self.word(offset & !3)?, offset, size))
    }

    fn reading(&mut self, _: u32, _: Size, _: &mut Context) -> Reading {
        Reading::FIXED
    }

    fn write(&mut self, offset: u32, size: Size, value: u32, cx: &mut Context) -> Option<()> {
        let register = offset & !3;
        let value = merge(self.word(register)?, offset, size, value);
        match register {
            PBORCTL => self.pborctl = value & 2,
            LDOPCTL => self.ldopctl = value & 0x3f,
            IMC => self.mask = value & 0x42,
            MISC => self.raw &= !value,
            RESC => self.causes = value & 0x3f,
            RCC => {
                self.setting.rcc = value & clock::RCC_WRITABLE;
                self.write_setting(cx);
            }
            RCC2 => {
                self.setting.rcc2 = value & clock::RCC2_WRITABLE;
                self.write_setting(cx);
            }
            DSLPCLKCFG => self.deep_sleep = value,
            _ => match (gate_index(register), index(&SRCR, register)) {
                (Some(at), _) => self.write_gates(at, value, cx),
                (_, Some(number)) => self.write_resets(number, value, cx),
                _ => {}
            },
        }
        self.update(cx);
        Some(())
    }

    fn event(&mut self, cx: &mut Context) {
        self.update(cx);
    }

    fn clock_changed(&mut self, cx: &mut Context) {
        if let Some(ns) = self.locking {
            cx.wake_at(cx.clocks().cycle_at_nanoseconds(ns));
        }
    }

    fn reset(&mut self, cx: &mut Context) {
        self.causes |= match cx.reset_cause() {
            ResetCause::PowerOn => RESC_POR,
            ResetCause::Software => RESC_SW,
            ResetCause::IndependentWatchdog | ResetCause::WindowWatchdog | ResetCause::Watchdog => {
                RESC_WDT
            }
        };
        self.setting = Setting::RESET;
        (self.locking, self.locked) = (None, false);
        (self.raw, self.mask, self.deep_sleep, self.ldopctl) = (0, 0, 0x0780_0000, 0);
        (self.pborctl, self.resets) = (2, [0; 3]);
        for (number, value) in self.options.gates_reset.into_iter().enumerate() {
            (0..3).for_each(|mode| self.write_gates((mode, number), value, cx));
        }
        self.update(cx);
    }
}
