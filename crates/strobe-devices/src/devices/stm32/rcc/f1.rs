//! The controller of low- to high-density STM32F1 parts (RM0008 section 7.3). The USB prescaler is
//! not modelled.

use serde::Deserialize;

use super::sources::Source;
use super::{Controller, Family, Layout, Oscillators, StartUp, Tree, tree};
use strobe_sim::kernel::device::{Context, Create, OptionError};

const CFGR_PLLSRC: u32 = 1 << 16;
const CFGR_PLLXTPRE: u32 = 1 << 17;
/// PLLSRC, PLLXTPRE, PLLMUL: fixed while the PLL runs.
const CFGR_PLL: u32 = 0x003f_0000;
const CFGR_WRITABLE: u32 = 0x077f_fff3;

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

pub(super) struct F1 {
    max_hz: u32,
    max_apb1_hz: u32,
}

impl Family for F1 {
    const LAYOUT: Layout = Layout {
        cfgr: 0x04,
        cir: 0x08,
        bdcr: 0x20,
        csr: 0x24,
        // AHBENR (SRAMEN, FLITFEN at reset), APB2ENR, APB1ENR.
        enables: &[(0x14, 0x14), (0x18, 0), (0x1c, 0)],
        // APB2RSTR, APB1RSTR.
        resets: &[0x0c, 0x10],
        // HSION, HSITRIM, HSEON, HSEBYP, CSSON, PLLON.
        cr_writable: 0x010d_00f9,
        bdcr_writable: 0x8305,
        power_on: 0,
        sources: 5,
        outputs: (7 << 24, "the clock output MCO is"),
    };

    fn new(cx: &mut Create) -> Result<(Self, Oscillators), OptionError> {
        let Options { hsi_hz, hse_hz, lse, max_hz, max_apb1_hz, startup_us } = cx.options()?;
        Ok((F1 { max_hz, max_apb1_hz }, Oscillators { hsi_hz, hse_hz, lse, startup_us }))
    }

    fn pll_source(&self, cfgr: u32) -> Source {
        if cfgr & CFGR_PLLSRC != 0 { Source::Hse } else { Source::Hsi }
    }

    fn written_cfgr(&mut self, common: &Controller, value: u32, cx: &mut Context) -> u32 {
        let value = value & CFGR_WRITABLE;
        let fixed = if common.pll_is_on() { CFGR_PLL } else { 0 };
        if (value ^ common.cfgr) & fixed != 0 {
            cx.warn_of("write-without-effect", super::PLL_RUNS);
        }
        common.cfgr & fixed | value & !fixed
    }

    fn tree(&self, common: &Controller) -> Tree {
        let source = self.pll_source(common.cfgr);
        let is_halved = source == Source::Hsi || common.cfgr & CFGR_PLLXTPRE != 0;
        let input = common.oscillator_hz(source) / if is_halved { 2 } else { 1 };
        let sysclk = common.sysclk(input.saturating_mul(tree::pll_multiplier(common.cfgr)));
        let core = (sysclk / tree::ahb_divider(common.cfgr)).max(1);
        let apb = [8, 11].map(|shift| tree::apb_divider(common.cfgr, shift));
        Tree {
            sysclk,
            core,
            apb,
            timers: apb.map(tree::timer_divider),
            kernel: None,
            limits: vec![
                ("the core clock", core, self.max_hz),
                ("the APB1 clock", core / apb[0], self.max_apb1_hz),
            ],
        }
    }
}

#[cfg(test)]
mod tests;
