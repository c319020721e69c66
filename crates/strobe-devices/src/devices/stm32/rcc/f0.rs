//! The controller of STM32F0 parts (RM0360 section 7).

use serde::Deserialize;

use super::sources::Source;
use super::{Controller, Family, Layout, Oscillators, StartUp, Tree, tree};
use strobe_sim::kernel::device::{Context, Create, OptionError};

const CFGR2: u32 = 0x2c;
const CFGR3: u32 = 0x30;
const CR2: u32 = 0x34;

/// PLLSRC, PLLXTPRE, PLLMUL: fixed while the PLL runs.
const CFGR_PLL: u32 = 0x003f_8000;
/// SWS is read-only.
const CFGR_SWS: u32 = 0b11 << 2;
/// HSI14ON, HSI14DIS, HSI14TRIM.
const CR2_WRITABLE: u32 = 0xfd;
const CR2_RESET: u32 = 0x80;

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
    /// Highest core clock, in hertz.
    max_hz: u32,
    /// Start-up times.
    startup_us: StartUpTimes,
}

/// Start-up times, in microseconds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StartUpTimes {
    hsi: u32,
    hse: u32,
    hsi14: u32,
    lsi: u32,
    lse: u32,
    pll: u32,
}

pub(super) struct F0 {
    max_hz: u32,
    /// Microseconds that HSI14 takes to start.
    hsi14_us: u32,
    cfgr2: u32,
    cfgr3: u32,
    cr2: u32,
}

/// What feeds the PLL, and by what it is divided: CFGR.PLLSRC and CFGR2.PREDIV.
fn pll_input(cfgr: u32, cfgr2: u32) -> (Source, u32) {
    let prediv = (cfgr2 & 0xf) + 1;
    match cfgr >> 15 & 3 {
        0 => (Source::Hsi, 2),
        1 => (Source::Hsi, prediv),
        _ => (Source::Hse, prediv),
    }
}

impl F0 {
    /// 7.4.13, USART1SW: the port's own clock, unless it runs from its bus. A source that is off
    /// stands nearly still.
    fn usart1_hz(&self, common: &Controller, sysclk: u32) -> Option<u32> {
        let source = |source, hz| if common.is_ready(source) { hz } else { 1 };
        match self.cfgr3 & 3 {
            0 => None,
            1 => Some(sysclk),
            2 => Some(source(Source::Lse, 32_768)),
            _ => Some(source(Source::Hsi, common.oscillators.hsi_hz)),
        }
    }
}

impl Family for F0 {
    const LAYOUT: Layout = Layout {
        cfgr: 0x04,
        cir: 0x08,
        bdcr: 0x20,
        csr: 0x24,
        // AHBENR (SRAMEN, FLITFEN at reset), APB2ENR, APB1ENR.
        enables: &[(0x14, 0x14), (0x18, 0), (0x1c, 0)],
        // AHBRSTR, APB2RSTR, APB1RSTR.
        resets: &[0x28, 0x0c, 0x10],
        // HSION, HSITRIM, HSEON, HSEBYP, CSSON, PLLON.
        cr_writable: 0x010d_00f9,
        bdcr_writable: 0x831d,
        power_on: 0,
        sources: 6,
        outputs: (0xf << 24, "the clock output MCO is"),
    };

    fn new(cx: &mut Create) -> Result<(Self, Oscillators), OptionError> {
        let Options { hsi_hz, hse_hz, lse, max_hz, startup_us } = cx.options()?;
        let StartUpTimes { hsi, hse, hsi14, lsi, lse: crystal, pll } = startup_us;
        let startup_us = StartUp { hsi, hse, lsi, lse: crystal, pll };
        let family = F0 { max_hz, hsi14_us: hsi14, cfgr2: 0, cfgr3: 0, cr2: 0 };
        Ok((family, Oscillators { hsi_hz, hse_hz, lse, startup_us }))
    }

    fn pll_source(&self, cfgr: u32) -> Source {
        pll_input(cfgr, self.cfgr2).0
    }

    fn own_source(&self, _: &Controller) -> (bool, u32) {
        (self.cr2 & 1 != 0, self.hsi14_us)
    }

    fn written_cfgr(&mut self, common: &Controller, value: u32, cx: &mut Context) -> u32 {
        let mut fixed = CFGR_SWS;
        if common.pll_is_on() {
            fixed |= CFGR_PLL;
            if (value ^ common.cfgr) & CFGR_PLL != 0 {
                cx.warn_of("write-without-effect", super::PLL_RUNS);
            }
        }
        let cfgr = common.cfgr & fixed | value & !fixed;
        // PLLXTPRE is the lowest bit of PREDIV under an older name.
        self.cfgr2 = self.cfgr2 & !1 | cfgr >> 17 & 1;
        cfgr
    }

    fn tree(&self, common: &Controller) -> Tree {
        let (input, divider) = pll_input(common.cfgr, self.cfgr2);
        let multiplier = tree::pll_multiplier(common.cfgr);
        let pll = (common.oscillator_hz(input) / divider).saturating_mul(multiplier);
        let sysclk = common.sysclk(pll);
        let apb = tree::apb_divider(common.cfgr, 8);
        Tree {
            sysclk,
            core: sysclk / tree::ahb_divider(common.cfgr),
            // There is one bus; the other's dividers stay as they are.
            apb: [apb, 1],
            timers: [tree::timer_divider(apb), 1],
            kernel: Some(("USART1", self.usart1_hz(common, sysclk))),
            limits: vec![("the clock", sysclk, self.max_hz)],
        }
    }

    fn word(&self, common: &Controller, register: u32) -> Option<u32> {
        match register {
            CFGR2 => Some(self.cfgr2),
            CFGR3 => Some(self.cfgr3),
            CR2 => Some(self.cr2 | common.flag(Source::Own, 1)),
            _ => None,
        }
    }

    fn write(&mut self, common: &mut Controller, register: u32, value: u32, _: &mut Context) {
        match register {
            CFGR2 if !common.pll_is_on() => {
                self.cfgr2 = value & 0xf;
                common.cfgr = common.cfgr & !(1 << 17) | (value & 1) << 17;
            }
            CFGR3 => self.cfgr3 = value,
            CR2 => self.cr2 = value & CR2_WRITABLE,
            _ => {}
        }
    }

    fn reset(&mut self) {
        (self.cfgr2, self.cfgr3, self.cr2) = (0, 0, CR2_RESET);
    }
}

#[cfg(test)]
mod tests;
