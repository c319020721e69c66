//! The controller of STM32F405/407 (RM0090 section 7). Spread spectrum and the clocks that LPENR
//! stops in sleep are not modelled.

use serde::Deserialize;

use super::sources::Source;
use super::{Controller, Family, Layout, Oscillators, StartUp, Tree, tree};
use crate::devices::common::register::bit;
use crate::devices::stm32::PLL48;
use strobe_sim::kernel::device::{Context, Create, OptionError};

mod pll;

use pll::Pll;

const PLLCFGR: u32 = 0x04;
const SSCGR: u32 = 0x80;
const PLLI2SCFGR: u32 = 0x84;
/// PLLSAICFGR and DCKCFGR of later parts, reserved here: libraries for the whole family write them.
const LATER: std::ops::RangeInclusive<u32> = 0x88..=0x8c;

const CR_PLLON: u32 = 1 << 24;
const CR_PLLI2SON: u32 = 1 << 26;
const PLLCFGR_SRC_HSE: u32 = 1 << 22;
/// PLLQ, PLLSRC, PLLP, PLLN, PLLM.
const PLLCFGR_WRITABLE: u32 = 0x0f43_7fff;
const PLLCFGR_RESET: u32 = 0x2400_3010;
const PLLI2SCFGR_RESET: u32 = 0x2000_3000;
const CFGR_SWS: u32 = 0b11 << 2;

/// AHB1LPENR, AHB2LPENR, AHB3LPENR, APB1LPENR, APB2LPENR, with their reset values: whether a clock
/// runs on in sleep. Kept, without effect: in sleep the model leaves every clock as it is.
const LOW_POWER: [(u32, u32); 5] = [
    (0x50, 0x7e67_91ff),
    (0x54, 0x0000_00f1),
    (0x58, 0x0000_0001),
    (0x60, 0x36fe_c9ff),
    (0x64, 0x0007_5f33),
];

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
    /// Highest clocks of APB1 and APB2, in hertz.
    max_apb_hz: [u32; 2],
    /// Start-up times.
    startup_us: StartUp,
}

pub(super) struct F4 {
    max_hz: u32,
    max_apb_hz: [u32; 2],
    pllcfgr: u32,
    plli2scfgr: u32,
    sscgr: u32,
    /// By [`LOW_POWER`].
    low_power: [u32; 5],
}

impl F4 {
    fn pll(&self, common: &Controller) -> Pll {
        Pll::new(self.pllcfgr, common.oscillator_hz(self.pll_source(common.cfgr)))
    }

    /// 7.3.2: the settings are fixed while the PLL is on, PLLM and PLLSRC while either is.
    fn write_pllcfgr(&mut self, common: &Controller, value: u32, cx: &mut Context) {
        if common.cr & (CR_PLLON | CR_PLLI2SON) == 0 {
            self.pllcfgr = value & PLLCFGR_WRITABLE | PLLCFGR_RESET & !PLLCFGR_WRITABLE;
        } else if (value ^ self.pllcfgr) & PLLCFGR_WRITABLE != 0 {
            cx.warn_of("write-without-effect", super::PLL_RUNS);
        }
    }
}

fn low_power(register: u32) -> Option<usize> {
    LOW_POWER.iter().position(|(at, _)| *at == register)
}

impl Family for F4 {
    const LAYOUT: Layout = Layout {
        cfgr: 0x08,
        cir: 0x0c,
        bdcr: 0x70,
        csr: 0x74,
        // AHB1ENR (CCMDATARAMEN at reset), AHB2ENR, AHB3ENR, APB1ENR, APB2ENR.
        enables: &[(0x30, 0x0010_0000), (0x34, 0), (0x38, 0), (0x40, 0), (0x44, 0)],
        // AHB1RSTR, AHB2RSTR, AHB3RSTR, APB1RSTR, APB2RSTR.
        resets: &[0x10, 0x14, 0x18, 0x20, 0x24],
        // HSION, HSITRIM, HSEON, HSEBYP, CSSON, PLLON, PLLI2SON.
        cr_writable: 0x050d_00f9,
        bdcr_writable: 0x8305,
        // Brown-out.
        power_on: 1 << 25,
        sources: 6,
        outputs: (0xff60_0000, "the clock outputs MCO1 and MCO2 are"),
    };

    fn new(cx: &mut Create) -> Result<(Self, Oscillators), OptionError> {
        let Options { hsi_hz, hse_hz, lse, max_hz, max_apb_hz, startup_us } = cx.options()?;
        let mut family =
            F4 { max_hz, max_apb_hz, pllcfgr: 0, plli2scfgr: 0, sscgr: 0, low_power: [0; 5] };
        family.reset();
        Ok((family, Oscillators { hsi_hz, hse_hz, lse, startup_us }))
    }

    fn pll_source(&self, _: u32) -> Source {
        if self.pllcfgr & PLLCFGR_SRC_HSE != 0 { Source::Hse } else { Source::Hsi }
    }

    /// A PLL locks once its input is there.
    fn own_source(&self, common: &Controller) -> (bool, u32) {
        let is_fed = common.is_ready(self.pll_source(common.cfgr));
        (common.cr & CR_PLLI2SON != 0 && is_fed, common.oscillators.startup_us.pll)
    }

    fn written_cfgr(&mut self, _: &Controller, value: u32, _: &mut Context) -> u32 {
        value & !CFGR_SWS
    }

    fn tree(&self, common: &Controller) -> Tree {
        let pll = self.pll(common);
        let sysclk = common.sysclk(pll.system);
        let core = (sysclk / tree::ahb_divider(common.cfgr)).max(1);
        let apb = [10, 13].map(|shift| tree::apb_divider(common.cfgr, shift));
        let [max_apb1, max_apb2] = self.max_apb_hz;
        Tree {
            sysclk,
            core,
            apb,
            timers: apb.map(tree::timer_divider),
            kernel: Some((PLL48, common.is_ready(Source::Pll).then_some(pll.fast))),
            limits: vec![
                ("the core clock", core, self.max_hz),
                ("the APB1 clock", core / apb[0], max_apb1),
                ("the APB2 clock", core / apb[1], max_apb2),
            ],
        }
    }

    fn fault(&self, common: &Controller) -> Option<String> {
        self.pll(common).fault().filter(|_| common.is_ready(Source::Pll))
    }

    fn own_flags(&self, common: &Controller) -> u32 {
        common.flag(Source::Own, 27)
    }

    fn word(&self, _: &Controller, register: u32) -> Option<u32> {
        match register {
            PLLCFGR => Some(self.pllcfgr),
            SSCGR => Some(self.sscgr),
            PLLI2SCFGR => Some(self.plli2scfgr),
            _ if LATER.contains(&register) => Some(0),
            _ => low_power(register).map(|at| self.low_power[at]),
        }
    }

    fn write(&mut self, common: &mut Controller, register: u32, value: u32, cx: &mut Context) {
        match (register, low_power(register)) {
            (_, Some(at)) => self.low_power[at] = value,
            (PLLCFGR, _) => self.write_pllcfgr(common, value, cx),
            (SSCGR, _) => {
                self.sscgr = value;
                if bit(value, 31) {
                    let text = "RCC: spread spectrum is not modelled: the PLL's clock is steady";
                    cx.warn_of("not-modelled", text);
                }
            }
            (PLLI2SCFGR, _) => self.plli2scfgr = value,
            _ => {}
        }
    }

    fn reset(&mut self) {
        (self.pllcfgr, self.plli2scfgr, self.sscgr) = (PLLCFGR_RESET, PLLI2SCFGR_RESET, 0);
        self.low_power = LOW_POWER.map(|(_, value)| value);
    }
}

#[cfg(test)]
mod tests;
