//! Reset and clock control of low- to high-density STM32F1 parts (RM0008 section 7.3).
//!
//! Ready flags come after the oscillators' start-up times, which are board data. Clock outputs
//! (MCO), the clock security system and the USB prescaler are not modelled.

use serde::Deserialize;
use strobe_model::number::hertz;

use crate::devices::common::register::{merge, part};
use crate::devices::stm32::BACKUP_WRITABLE;
use crate::devices::stm32::rcc::oscillator::Source;
use crate::devices::stm32::rcc::shared::{self, CR_HSEBYP, CR_HSEON, CR_HSION, CR_PLLON, Sources};
use crate::devices::stm32::rcc::tree;
use strobe_sim::kernel::device::{Context, Create, Device, Reading, ResetCause, Size};
use strobe_sim::kernel::signal::SignalId;

const CR: u32 = 0x00;
const CFGR: u32 = 0x04;
const CIR: u32 = 0x08;
const APB2RSTR: u32 = 0x0c;
const APB1RSTR: u32 = 0x10;
const AHBENR: u32 = 0x14;
const APB2ENR: u32 = 0x18;
const APB1ENR: u32 = 0x1c;
const BDCR: u32 = 0x20;
const CSR: u32 = 0x24;

/// HSION, HSITRIM, HSEON, HSEBYP, CSSON, PLLON.
const CR_WRITABLE: u32 = 0x010d_00f9;
/// HSION, HSITRIM = 16.
const CR_RESET: u32 = 0x81;
const CFGR_PLLSRC: u32 = 1 << 16;
const CFGR_PLLXTPRE: u32 = 1 << 17;
/// PLLSRC, PLLXTPRE, PLLMUL: fixed while the PLL runs.
const CFGR_PLL: u32 = 0x003f_0000;
const CFGR_MCO: u32 = 7 << 24;
const CFGR_WRITABLE: u32 = 0x077f_fff3;
const CFGR_SWS_SHIFT: u32 = 2;
const BDCR_WRITABLE: u32 = 0x8305;
/// SRAMEN, FLITFEN.
const AHBENR_RESET: u32 = 0x14;

/// The clock sources that there are, in the order of their bits in CIR.
const SOURCES: [Source; 5] = [Source::Lsi, Source::Lse, Source::Hsi, Source::Hse, Source::Pll];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    /// Internal oscillator, in hertz.
    hsi_hz: u32,
    /// Crystal or external clock on the board, in hertz; 0 if there is none.
    #[serde(default)]
    hse_hz: u32,
    /// Whether the board has a 32768 Hz crystal.
    #[serde(default)]
    lse: bool,
    /// Highest core clock and highest clock of APB1, in hertz.
    max_hz: u32,
    max_apb1_hz: u32,
    /// Start-up times.
    startup_us: StartUp,
}

/// Start-up times, in microseconds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StartUp {
    hsi: u32,
    hse: u32,
    lsi: u32,
    lse: u32,
    pll: u32,
}

struct Rcc {
    options: Options,
    backup_writable: SignalId,
    /// By [`SOURCES`].
    sources: Sources<5>,
    /// The source that drives the system clock: CFGR.SWS.
    system: Source,
    cr: u32,
    cfgr: u32,
    /// APB2, APB1.
    resets: [u32; 2],
    /// AHB, APB2, APB1.
    enables: [u32; 3],
    bdcr: u32,
    csr: u32,
}

pub(in crate::devices::stm32) fn create(cx: &mut Create) -> Result<Box<dyn Device>, String> {
    let options: Options = cx.options()?;
    if options.hsi_hz == 0 {
        return Err("hsi_hz must be more than 0".to_owned());
    }
    Ok(Box::new(Rcc {
        options,
        backup_writable: cx.signal(BACKUP_WRITABLE),
        sources: Sources::new(),
        system: Source::Hsi,
        cr: CR_RESET,
        cfgr: 0,
        resets: [0; 2],
        enables: [0; 3],
        bdcr: 0,
        csr: 0,
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
        if self.cfgr & CFGR_PLLSRC != 0 { Source::Hse } else { Source::Hsi }
    }

    /// Whether a source is switched on, and how long it takes to start, in nanoseconds.
    fn wanted(&self, source: Source) -> (bool, u64) {
        let t = &self.options.startup_us;
        let (on, us) = match source {
            Source::Lsi => (self.csr & 1 != 0, t.lsi),
            Source::Lse => (self.bdcr & 1 != 0 && self.options.lse, t.lse),
            Source::Hse => {
                // An external clock needs no crystal to start.
                let us = if self.cr & CR_HSEBYP != 0 { 0 } else { t.hse };
                (self.cr & CR_HSEON != 0 && self.options.hse_hz > 0, us)
            }
            // The PLL locks once its input is there.
            Source::Pll => (self.cr & CR_PLLON != 0 && self.is_ready(self.pll_source()), t.pll),
            _ => (self.cr & CR_HSION != 0, t.hsi),
        };
        (on, u64::from(us) * 1_000)
    }

    /// The frequency of a source of the system clock, in hertz.
    fn hz(&self, source: Source) -> u32 {
        match source {
            Source::Hse => self.options.hse_hz,
            Source::Pll => {
                let halved = self.cfgr & CFGR_PLLXTPRE != 0;
                let input = match self.pll_source() {
                    Source::Hse if halved => self.options.hse_hz / 2,
                    Source::Hse => self.options.hse_hz,
                    _ => self.options.hsi_hz / 2,
                };
                input.saturating_mul(tree::pll_multiplier(self.cfgr))
            }
            _ => self.options.hsi_hz,
        }
    }

    /// Brings everything up to date after a write or when time has come.
    fn update(&mut self, cx: &mut Context) {
        let now = cx.clocks().nanoseconds_at(cx.now());
        for source in SOURCES {
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
        let sysclk = self.hz(self.system);
        let core = (sysclk / tree::ahb_divider(self.cfgr)).max(1);
        // PPRE1 is where later families have their only prescaler, PPRE2 three bits up.
        let apb = [tree::apb_divider(self.cfgr), tree::apb_divider(self.cfgr >> 3)];
        // 7.2: timers run at twice the bus clock if that is divided.
        let timers = apb.map(|divider| (divider / 2).max(1));
        let clocks = cx.clocks();
        let same = (clocks.core_hz(), clocks.sysclk_hz) == (core, sysclk)
            && [clocks.apb_divider, clocks.apb2_divider] == apb;
        if same {
            return;
        }
        cx.change_clocks(|cycle, clocks| {
            clocks.set_core_hz(cycle, core);
            clocks.sysclk_hz = sysclk;
            [clocks.apb_divider, clocks.apb2_divider] = apb;
            [clocks.timer_divider, clocks.apb2_timer_divider] = timers;
        });
        let limits = [
            ("core", core, self.options.max_hz),
            ("APB1", core / apb[0], self.options.max_apb1_hz),
        ];
        for (what, hz, max) in limits.into_iter().filter(|(_, hz, max)| hz > max) {
            cx.warn_of(
                "clock-too-fast",
                format!(
                    "the {what} clock ran at {}, the part is for up to {}",
                    hertz(hz),
                    hertz(max)
                ),
            );
        }
    }

    /// 7.3.1: what drives the system clock cannot be switched off.
    fn write_cr(&mut self, value: u32) {
        let is_pll = self.system == Source::Pll;
        let root = if is_pll { self.pll_source() } else { self.system };
        let needed = shared::needed(is_pll, root == Source::Hse);
        self.cr = value & CR_WRITABLE | needed;
    }

    fn write_cfgr(&mut self, value: u32, cx: &mut Context) {
        let value = value & CFGR_WRITABLE;
        let fixed = if self.cr & CR_PLLON != 0 { CFGR_PLL } else { 0 };
        if (value ^ self.cfgr) & fixed != 0 {
            cx.warn_of(
                "write-without-effect",
                "RCC: the PLL's settings were written while it ran, which has no effect",
            );
        }
        self.cfgr = self.cfgr & fixed | value & !fixed;
        if self.cfgr & CFGR_MCO != 0 {
            cx.warn_of("not-modelled", "RCC: the clock output MCO is not modelled");
        }
    }

    fn write_enables(&mut self, register: u32, value: u32, cx: &mut Context) {
        let enables = &mut self.enables[((register - AHBENR) / 4) as usize];
        shared::switch_gates(register, std::mem::replace(enables, value), value, cx);
    }

    fn write_resets(&mut self, register: u32, value: u32, cx: &mut Context) {
        let resets = &mut self.resets[((register - APB2RSTR) / 4) as usize];
        shared::reset_devices(register, std::mem::replace(resets, value), value, cx);
    }

    fn word(&self, register: u32) -> Option<u32> {
        Some(match register {
            CR => {
                let internal = self.flag(Source::Hsi, 1) | self.flag(Source::Hse, 17);
                self.cr | internal | self.flag(Source::Pll, 25)
            }
            CFGR => {
                let codes = [Source::Hsi, Source::Hse, Source::Pll];
                let code = codes.iter().position(|&s| s == self.system).unwrap_or(0) as u32;
                self.cfgr | code << CFGR_SWS_SHIFT
            }
            CIR => self.sources.cir,
            APB2RSTR | APB1RSTR => self.resets[((register - APB2RSTR) / 4) as usize],
            AHBENR | APB2ENR | APB1ENR => self.enables[((register - AHBENR) / 4) as usize],
            BDCR => self.bdcr | self.flag(Source::Lse, 1),
            CSR => self.csr | self.flag(Source::Lsi, 1),
            _ => return None,
        })
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
        match register {
            CR => self.write_cr(value),
            CFGR => self.write_cfgr(value, cx),
            CIR => self.sources.write_cir(value),
            APB2RSTR | APB1RSTR => self.write_resets(register, value, cx),
            AHBENR | APB2ENR | APB1ENR => self.write_enables(register, value, cx),
            BDCR => {
                shared::write_bdcr(&mut self.bdcr, value, BDCR_WRITABLE, self.backup_writable, cx)
            }
            _ => self.csr = shared::written_csr(self.csr, value),
        }
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
        (self.cr, self.cfgr, self.sources.cir, self.resets) = (CR_RESET, 0, 0, [0; 2]);
        self.csr = shared::reset_csr(self.csr, cx.reset_cause(), 0);
        if cx.reset_cause() == ResetCause::PowerOn {
            self.bdcr = 0;
            self.sources.all_off();
        }
        // The core does not start before its clock does.
        self.system = Source::Hsi;
        self.sources.force_ready(Source::Hsi as usize);
        for (register, value) in [(AHBENR, AHBENR_RESET), (APB2ENR, 0), (APB1ENR, 0)] {
            self.write_enables(register, value, cx);
        }
        self.update(cx);
    }
}

#[cfg(test)]
mod tests;
