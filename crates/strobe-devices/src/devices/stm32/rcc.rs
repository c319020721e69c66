//! Reset and clock control (RM0360 section 7).
//!
//! Ready flags come after the oscillators' start-up times, which are board data, so that polling
//! loops take as long as on silicon. Clock outputs (MCO) and the clock security system are not
//! modelled.

use serde::Deserialize;
use strobe_model::number::hertz;

use crate::devices::common::register::{merge, part};
use strobe_sim::kernel::device::{Context, Create, Device, Reading, ResetCause, Size};
use strobe_sim::kernel::signal::SignalId;

pub(super) mod oscillator;
pub(super) mod shared;
pub(super) mod tree;

use oscillator::Source;
use shared::{CR_HSEBYP, CR_HSEON, CR_HSION, CR_PLLON, Sources};

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
const AHBRSTR: u32 = 0x28;
const CFGR2: u32 = 0x2c;
const CFGR3: u32 = 0x30;
const CR2: u32 = 0x34;

/// HSION, HSITRIM, HSEON, HSEBYP, CSSON, PLLON.
const CR_WRITABLE: u32 = 0x010d_00f9;
/// HSION, HSITRIM = 16.
const CR_RESET: u32 = 0x81;
/// PLLSRC, PLLXTPRE, PLLMUL: fixed while the PLL runs.
const CFGR_PLL: u32 = 0x003f_8000;
const CFGR_MCO: u32 = 0xf << 24;
const CFGR_SWS_SHIFT: u32 = 2;
const BDCR_WRITABLE: u32 = 0x831d;
/// HSI14ON, HSI14DIS, HSI14TRIM.
const CR2_WRITABLE: u32 = 0xfd;
const CR2_RESET: u32 = 0x80;
/// SRAMEN, FLITFEN.
const AHBENR_RESET: u32 = 0x14;

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
    startup_us: StartUp,
}

/// Start-up times, in microseconds.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StartUp {
    hsi: u32,
    hse: u32,
    hsi14: u32,
    lsi: u32,
    lse: u32,
    pll: u32,
}

struct Rcc {
    options: Options,
    backup_writable: SignalId,
    /// By [`Source`].
    sources: Sources<6>,
    /// The source that drives the system clock: CFGR.SWS.
    system: Source,
    cr: u32,
    cfgr: u32,
    resets: [u32; 3],
    enables: [u32; 3],
    bdcr: u32,
    csr: u32,
    cfgr2: u32,
    cfgr3: u32,
    cr2: u32,
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
        cfgr: 0,
        resets: [0; 3],
        enables: [0; 3],
        bdcr: 0,
        csr: 0,
        cfgr2: 0,
        cfgr3: 0,
        cr2: 0,
    }))
}

/// Index of a reset register in `resets`.
fn reset_index(register: u32) -> Option<usize> {
    [AHBRSTR, APB2RSTR, APB1RSTR].iter().position(|&r| r == register)
}

/// Index of an enable register in `enables`.
fn enable_index(register: u32) -> Option<usize> {
    [AHBENR, APB2ENR, APB1ENR].iter().position(|&r| r == register)
}

impl Rcc {
    fn is_ready(&self, source: Source) -> bool {
        self.sources.is_ready(source as usize)
    }

    fn flag(&self, source: Source, at: u32) -> u32 {
        u32::from(self.is_ready(source)) << at
    }

    fn pll_source(&self) -> Source {
        tree::pll_input(self.cfgr, self.cfgr2).0
    }

    /// Whether a source is switched on, and how long it takes to start, in nanoseconds.
    fn wanted(&self, source: Source) -> (bool, u64) {
        let t = &self.options.startup_us;
        let (on, us) = match source {
            Source::Lsi => (self.csr & 1 != 0, t.lsi),
            Source::Lse => (self.bdcr & 1 != 0 && self.options.lse, t.lse),
            Source::Hsi => (self.cr & CR_HSION != 0, t.hsi),
            // An external clock needs no crystal to start.
            Source::Hse if self.cr & CR_HSEBYP != 0 => {
                (self.cr & CR_HSEON != 0 && self.options.hse_hz > 0, 0)
            }
            Source::Hse => (self.cr & CR_HSEON != 0 && self.options.hse_hz > 0, t.hse),
            // The PLL locks once its input is there.
            Source::Pll => (self.cr & CR_PLLON != 0 && self.is_ready(self.pll_source()), t.pll),
            Source::Hsi14 => (self.cr2 & 1 != 0, t.hsi14),
        };
        (on, u64::from(us) * 1_000)
    }

    /// The frequency of a source of the system clock, in hertz.
    fn hz(&self, source: Source) -> u32 {
        match source {
            Source::Hse => self.options.hse_hz,
            Source::Pll => {
                let (input, divider) = tree::pll_input(self.cfgr, self.cfgr2);
                let input =
                    if input == Source::Hse { self.options.hse_hz } else { self.options.hsi_hz };
                (input / divider).saturating_mul(tree::pll_multiplier(self.cfgr))
            }
            _ => self.options.hsi_hz,
        }
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
        let sysclk = self.hz(self.system);
        let core = sysclk / tree::ahb_divider(self.cfgr);
        let apb = tree::apb_divider(self.cfgr);
        // 7.2: timers run at twice the bus clock if that is divided.
        let timer = (apb / 2).max(1);
        let usart1 = self.usart1_hz(sysclk);
        let clocks = cx.clocks();
        let now = (clocks.core_hz(), clocks.sysclk_hz, clocks.apb_divider, clocks.timer_divider);
        if now == (core.max(1), sysclk, apb, timer) && clocks.kernel_hz("USART1") == usart1 {
            return;
        }
        cx.change_clocks(|cycle, clocks| {
            clocks.set_core_hz(cycle, core);
            clocks.sysclk_hz = sysclk;
            clocks.apb_divider = apb;
            clocks.timer_divider = timer;
            clocks.set_kernel_hz("USART1", usart1);
        });
        let max = self.options.max_hz;
        if sysclk > max {
            cx.warn_of(
                "clock-too-fast",
                format!("the clock ran at {}, the part is for up to {}", hertz(sysclk), hertz(max)),
            );
        }
    }

    /// 7.4.13, USART1SW: the port's own clock, unless it runs from its bus. A source that is off
    /// stands nearly still.
    fn usart1_hz(&self, sysclk: u32) -> Option<u32> {
        let ready = |source: Source, hz: u32| if self.is_ready(source) { hz } else { 1 };
        match self.cfgr3 & 3 {
            0 => None,
            1 => Some(sysclk),
            2 => Some(ready(Source::Lse, 32_768)),
            _ => Some(ready(Source::Hsi, self.options.hsi_hz)),
        }
    }

    /// 7.4.1: what drives the system clock cannot be switched off.
    fn write_cr(&mut self, value: u32) {
        let is_pll = self.system == Source::Pll;
        let root = if is_pll { self.pll_source() } else { self.system };
        let needed = shared::needed(is_pll, root == Source::Hse);
        self.cr = value & CR_WRITABLE | needed;
    }

    fn write_cfgr(&mut self, value: u32, cx: &mut Context) {
        let mut fixed = 0b11 << CFGR_SWS_SHIFT;
        if self.cr & CR_PLLON != 0 {
            fixed |= CFGR_PLL;
            if (value ^ self.cfgr) & CFGR_PLL != 0 {
                cx.warn_of(
                    "write-without-effect",
                    "RCC: the PLL's settings were written while it ran, which has no effect",
                );
            }
        }
        self.cfgr = self.cfgr & fixed | value & !fixed;
        // PLLXTPRE is the lowest bit of PREDIV under an older name.
        self.cfgr2 = self.cfgr2 & !1 | self.cfgr >> 17 & 1;
        if self.cfgr & CFGR_MCO != 0 {
            cx.warn_of("not-modelled", "RCC: the clock output MCO is not modelled");
        }
    }

    fn write_cfgr2(&mut self, value: u32) {
        if self.cr & CR_PLLON == 0 {
            self.cfgr2 = value & 0xf;
            self.cfgr = self.cfgr & !(1 << 17) | (value & 1) << 17;
        }
    }

    fn write_enables(&mut self, register: u32, value: u32, cx: &mut Context) {
        let Some(at) = enable_index(register) else { return };
        let old = std::mem::replace(&mut self.enables[at], value);
        shared::switch_gates(register, old, value, cx);
    }

    fn write_resets(&mut self, register: u32, value: u32, cx: &mut Context) {
        let Some(at) = reset_index(register) else { return };
        let old = std::mem::replace(&mut self.resets[at], value);
        shared::reset_devices(register, old, value, cx);
    }

    fn word(&self, register: u32) -> Option<u32> {
        let system = match self.system {
            Source::Hse => 1,
            Source::Pll => 2,
            _ => 0,
        };
        Some(match register {
            CR => {
                let flags = self.flag(Source::Hsi, 1) | self.flag(Source::Hse, 17);
                self.cr | flags | self.flag(Source::Pll, 25)
            }
            CFGR => self.cfgr | system << CFGR_SWS_SHIFT,
            CIR => self.sources.cir,
            BDCR => self.bdcr | self.flag(Source::Lse, 1),
            CSR => self.csr | self.flag(Source::Lsi, 1),
            CFGR2 => self.cfgr2,
            CFGR3 => self.cfgr3,
            CR2 => self.cr2 | self.flag(Source::Hsi14, 1),
            _ => match (enable_index(register), reset_index(register)) {
                (Some(at), _) => self.enables[at],
                (_, Some(at)) => self.resets[at],
                _ => return None,
            },
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
            BDCR => {
                shared::write_bdcr(&mut self.bdcr, value, BDCR_WRITABLE, self.backup_writable, cx)
            }
            CSR => self.csr = shared::written_csr(self.csr, value),
            CFGR2 => self.write_cfgr2(value),
            CFGR3 => self.cfgr3 = value,
            CR2 => self.cr2 = value & CR2_WRITABLE,
            AHBENR | APB2ENR | APB1ENR => self.write_enables(register, value, cx),
            _ => self.write_resets(register, value, cx),
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
        self.cr = CR_RESET;
        (self.cfgr, self.cfgr2, self.cfgr3, self.sources.cir) = (0, 0, 0, 0);
        self.cr2 = CR2_RESET;
        self.resets = [0; 3];
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
