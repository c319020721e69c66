//! Reset and clock control of STM32F405/407 (RM0090 section 7).
//!
//! Ready flags come after the oscillators' start-up times, which are board data, so that polling
//! loops take as long as on silicon. Clock outputs (MCO), the clock security system, spread
//! spectrum and the clocks that LPENR stops in sleep are not modelled.

use strobe_model::number::hertz;

use super::rcc::shared::{self, CR_HSEBYP, CR_HSEON, CR_HSION, CR_PLLON, Sources};
use crate::devices::common::register::{bit, merge, part};
use strobe_sim::kernel::device::{Context, Create, Device, Reading, ResetCause, Size};
use strobe_sim::kernel::signal::SignalId;

mod gates;
mod options;
mod tree;

use gates::{Role, Words};
use options::Options;
use tree::{Pll, Source};

const CR: u32 = 0x00;
const PLLCFGR: u32 = 0x04;
const CFGR: u32 = 0x08;
const CIR: u32 = 0x0c;
const BDCR: u32 = 0x70;
const CSR: u32 = 0x74;
const SSCGR: u32 = 0x80;
const PLLI2SCFGR: u32 = 0x84;
/// PLLSAICFGR and DCKCFGR of later parts, reserved here: libraries for the whole family write them.
const LATER: std::ops::RangeInclusive<u32> = 0x88..=0x8c;

const CR_PLLI2SON: u32 = 1 << 26;
/// HSION, HSITRIM, HSEON, HSEBYP, CSSON, PLLON, PLLI2SON.
const CR_WRITABLE: u32 = 0x050d_00f9;
/// HSION, HSITRIM = 16.
const CR_RESET: u32 = 0x81;
const PLLCFGR_SRC_HSE: u32 = 1 << 22;
/// PLLQ, PLLSRC, PLLP, PLLN, PLLM.
const PLLCFGR_WRITABLE: u32 = 0x0f43_7fff;
const PLLCFGR_RESET: u32 = 0x2400_3010;
const PLLI2SCFGR_RESET: u32 = 0x2000_3000;
const CFGR_SWS_SHIFT: u32 = 2;
const CFGR_MCO: u32 = 0xff60_0000;
const BDCR_WRITABLE: u32 = 0x8305;
/// Reset flag: brown-out.
const CSR_BORRSTF: u32 = 1 << 25;

struct Rcc {
    options: Options,
    backup_writable: SignalId,
    /// By [`Source`].
    sources: Sources<6>,
    /// The source that drives the system clock: CFGR.SWS.
    system: Source,
    cr: u32,
    pllcfgr: u32,
    cfgr: u32,
    resets: Words,
    enables: Words,
    low_power: Words,
    bdcr: u32,
    csr: u32,
    sscgr: u32,
    plli2scfgr: u32,
}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, String> {
    let options: Options = cx.options()?;
    if options.hsi_hz == 0 {
        return Err("hsi_hz must be more than 0".to_owned());
    }
    Ok(Box::new(Rcc {
        options,
        backup_writable: cx.signal(super::BACKUP_WRITABLE),
        sources: Sources::new(),
        system: Source::Hsi,
        cr: CR_RESET,
        pllcfgr: PLLCFGR_RESET,
        cfgr: 0,
        resets: [0; 5],
        enables: [0; 5],
        low_power: gates::LOW_POWER_RESET,
        bdcr: 0,
        csr: 0,
        sscgr: 0,
        plli2scfgr: PLLI2SCFGR_RESET,
    }))
}

impl Rcc {
    fn is_ready(&self, source: Source) -> bool {
        self.sources.is_ready(source as usize)
    }

    fn flag(&self, source: Source, at: u32) -> u32 {
        u32::from(self.is_ready(source)) << at
    }

    fn pll_source(&self) -> Source {
        if self.pllcfgr & PLLCFGR_SRC_HSE != 0 { Source::Hse } else { Source::Hsi }
    }

    fn pll(&self) -> Pll {
        let from_crystal = self.pll_source() == Source::Hse;
        Pll::new(self.pllcfgr, if from_crystal { self.options.hse_hz } else { self.options.hsi_hz })
    }

    /// Whether a source is switched on, and how long it takes to start, in nanoseconds.
    fn wanted(&self, source: Source) -> (bool, u64) {
        let t = &self.options.startup_us;
        // A PLL locks once its input is there.
        let pll = |on: u32| (self.cr & on != 0 && self.is_ready(self.pll_source()), t.pll);
        let (on, us) = match source {
            Source::Lsi => (self.csr & 1 != 0, t.lsi),
            Source::Lse => (self.bdcr & 1 != 0 && self.options.lse, t.lse),
            Source::Hsi => (self.cr & CR_HSION != 0, t.hsi),
            Source::Hse => {
                // An external clock needs no crystal to start.
                let us = if self.cr & CR_HSEBYP != 0 { 0 } else { t.hse };
                (self.cr & CR_HSEON != 0 && self.options.hse_hz > 0, us)
            }
            Source::Pll => pll(CR_PLLON),
            Source::PllI2s => pll(CR_PLLI2SON),
        };
        (on, u64::from(us) * 1_000)
    }

    /// Brings everything up to date after a write or when time has come.
    fn update(&mut self, cx: &mut Context) {
        let now = cx.clocks().nanoseconds_at(cx.now());
        for source in Source::ALL {
            let wanted = self.wanted(source);
            self.sources.switch(source as usize, wanted, now);
        }
        if let Some(wish) = tree::system_source(self.cfgr).filter(|&s| self.is_ready(s)) {
            self.system = wish;
        }
        cx.interrupt(0, self.sources.interrupts());
        self.set_clocks(cx);
        self.sources.schedule(cx);
    }

    fn set_clocks(&self, cx: &mut Context) {
        let pll = self.pll();
        let sysclk = match self.system {
            Source::Hse => self.options.hse_hz,
            Source::Pll => pll.system,
            _ => self.options.hsi_hz,
        };
        let core = (sysclk / tree::ahb_divider(self.cfgr)).max(1);
        let apb = tree::apb_dividers(self.cfgr);
        let timers = apb.map(tree::timer_divider);
        let fast = self.is_ready(Source::Pll).then_some(pll.fast);
        let clocks = cx.clocks();
        let same = clocks.core_hz() == core
            && clocks.sysclk_hz == sysclk
            && [clocks.apb_divider, clocks.apb2_divider] == apb
            && [clocks.timer_divider, clocks.apb2_timer_divider] == timers
            && clocks.kernel_hz(super::PLL48) == fast.map(|hz| hz.max(1));
        if same {
            return;
        }
        cx.change_clocks(|cycle, clocks| {
            clocks.set_core_hz(cycle, core);
            clocks.sysclk_hz = sysclk;
            [clocks.apb_divider, clocks.apb2_divider] = apb;
            [clocks.timer_divider, clocks.apb2_timer_divider] = timers;
            clocks.set_kernel_hz(super::PLL48, fast);
        });
        self.check_limits(core, apb, cx);
    }

    fn check_limits(&self, core: u32, apb: [u32; 2], cx: &mut Context) {
        let [apb1, apb2] = apb.map(|divider| core / divider);
        let [max_apb1, max_apb2] = self.options.max_apb_hz;
        let all = [
            ("core", core, self.options.max_hz),
            ("APB1", apb1, max_apb1),
            ("APB2", apb2, max_apb2),
        ];
        for (what, hz, max) in all.into_iter().filter(|(_, hz, max)| hz > max) {
            cx.warn_of(
                "clock-too-fast",
                format!(
                    "the {what} clock ran at {}, the part is for up to {}",
                    hertz(hz),
                    hertz(max)
                ),
            );
        }
        if let Some(fault) = self.pll().fault().filter(|_| self.is_ready(Source::Pll)) {
            cx.warn(format!("RCC: {fault}"));
        }
    }

    /// 7.3.1: what drives the system clock cannot be switched off.
    fn write_cr(&mut self, value: u32) {
        let is_pll = self.system == Source::Pll;
        let root = if is_pll { self.pll_source() } else { self.system };
        let needed = shared::needed(is_pll, root == Source::Hse);
        self.cr = value & CR_WRITABLE | needed;
    }

    /// 7.3.2: the settings are fixed while the PLL is on, PLLM and PLLSRC while either is.
    fn write_pllcfgr(&mut self, value: u32, cx: &mut Context) {
        if self.cr & (CR_PLLON | CR_PLLI2SON) == 0 {
            self.pllcfgr = value & PLLCFGR_WRITABLE | PLLCFGR_RESET & !PLLCFGR_WRITABLE;
        } else if (value ^ self.pllcfgr) & PLLCFGR_WRITABLE != 0 {
            cx.warn_of(
                "write-without-effect",
                "RCC: the PLL's settings were written while it ran, which has no effect",
            );
        }
    }

    fn write_cfgr(&mut self, value: u32, cx: &mut Context) {
        self.cfgr = value & !(0b11 << CFGR_SWS_SHIFT);
        if self.cfgr & CFGR_MCO != 0 {
            cx.warn_of("not-modelled", "RCC: the clock outputs MCO1 and MCO2 are not modelled");
        }
    }

    fn write_enables(&mut self, word: usize, value: u32, cx: &mut Context) {
        let old = std::mem::replace(&mut self.enables[word], value);
        shared::switch_gates(gates::enable_offset(word), old, value, cx);
    }

    fn write_resets(&mut self, register: u32, word: usize, value: u32, cx: &mut Context) {
        let old = std::mem::replace(&mut self.resets[word], value);
        shared::reset_devices(register, old, value, cx);
    }

    fn word(&self, register: u32) -> Option<u32> {
        if let Some((role, word)) = gates::locate(register) {
            return Some(match role {
                Role::Reset => self.resets[word],
                Role::Enable => self.enables[word],
                Role::LowPower => self.low_power[word],
            });
        }
        Some(match register {
            CR => {
                let plls = self.flag(Source::Pll, 25) | self.flag(Source::PllI2s, 27);
                self.cr | self.flag(Source::Hsi, 1) | self.flag(Source::Hse, 17) | plls
            }
            PLLCFGR => self.pllcfgr,
            CFGR => {
                let codes = [Source::Hsi, Source::Hse, Source::Pll];
                let code = codes.iter().position(|&s| s == self.system).unwrap_or(0) as u32;
                self.cfgr | code << CFGR_SWS_SHIFT
            }
            CIR => self.sources.cir,
            BDCR => self.bdcr | self.flag(Source::Lse, 1),
            CSR => self.csr | self.flag(Source::Lsi, 1),
            SSCGR => self.sscgr,
            PLLI2SCFGR => self.plli2scfgr,
            _ if LATER.contains(&register) => 0,
            _ => return None,
        })
    }

    fn write_word(&mut self, register: u32, value: u32, cx: &mut Context) {
        match (register, gates::locate(register)) {
            (_, Some((Role::Reset, word))) => self.write_resets(register, word, value, cx),
            (_, Some((Role::Enable, word))) => self.write_enables(word, value, cx),
            (_, Some((Role::LowPower, word))) => self.low_power[word] = value,
            (CR, _) => self.write_cr(value),
            (PLLCFGR, _) => self.write_pllcfgr(value, cx),
            (CFGR, _) => self.write_cfgr(value, cx),
            (CIR, _) => self.sources.write_cir(value),
            (BDCR, _) => {
                shared::write_bdcr(&mut self.bdcr, value, BDCR_WRITABLE, self.backup_writable, cx)
            }
            (CSR, _) => self.csr = shared::written_csr(self.csr, value),
            (SSCGR, _) => {
                self.sscgr = value;
                if bit(value, 31) {
                    cx.warn_of(
                        "not-modelled",
                        "RCC: spread spectrum is not modelled: the PLL's clock is steady",
                    );
                }
            }
            (PLLI2SCFGR, _) => self.plli2scfgr = value,
            _ => {}
        }
    }
}

impl Device for Rcc {
    fn read(&mut self, offset: u32, size: Size, _cx: &mut Context) -> Option<u32> {
        Some(part(self.word(offset & !3)?, offset, size))
    }

    fn reading(&mut self, _: u32, _: Size, _: &mut Context) -> Reading {
        Reading::FIXED
    }

    fn write(&mut self, offset: u32, size: Size, value: u32, cx: &mut Context) -> Option<()> {
        let register = offset & !3;
        let value = merge(self.word(register)?, offset, size, value);
        self.write_word(register, value, cx);
        self.update(cx);
        Some(())
    }

    fn event(&mut self, cx: &mut Context) {
        self.update(cx);
    }

    fn clock_changed(&mut self, cx: &mut Context) {
        self.sources.schedule(cx);
    }

    fn reset(&mut self, cx: &mut Context) {
        (self.cr, self.pllcfgr, self.plli2scfgr) = (CR_RESET, PLLCFGR_RESET, PLLI2SCFGR_RESET);
        (self.cfgr, self.sources.cir, self.sscgr) = (0, 0, 0);
        (self.resets, self.low_power) = ([0; 5], gates::LOW_POWER_RESET);
        self.csr = shared::reset_csr(self.csr, cx.reset_cause(), CSR_BORRSTF);
        if cx.reset_cause() == ResetCause::PowerOn {
            self.bdcr = 0;
            self.sources.all_off();
        }
        // The core does not start before its clock does.
        self.system = Source::Hsi;
        self.sources.force_ready(Source::Hsi as usize);
        for (word, value) in gates::ENABLE_RESET.into_iter().enumerate() {
            self.write_enables(word, value, cx);
        }
        self.update(cx);
    }
}

#[cfg(test)]
mod tests;
