//! Reset and clock control of STM32 parts: what the controllers of all families share. A
//! [`Family`] states where its registers are and computes its clock tree.
//!
//! Ready flags come after the oscillators' start-up times, which are board data, so that polling
//! loops take as long as on silicon. Clock outputs (MCO) and the clock security system are not
//! modelled.

use serde::Deserialize;
use strobe_model::number::hertz;

use crate::devices::common::register::{bit, merge, part};
use strobe_sim::kernel::clock::Gate;
use strobe_sim::kernel::device::{Context, Create, Device, OptionError, Reading, ResetCause, Size};
use strobe_sim::kernel::signal::SignalId;

mod f0;
mod f1;
mod f4;
mod sources;
mod tree;

use sources::{Source, Sources};

/// Clock control, at the same place in all families.
const CR: u32 = 0x00;
const CR_HSION: u32 = 1 << 0;
const CR_HSEON: u32 = 1 << 16;
const CR_HSEBYP: u32 = 1 << 18;
const CR_PLLON: u32 = 1 << 24;
/// HSION, HSITRIM = 16.
const CR_RESET: u32 = 0x81;
const CFGR_SWS_SHIFT: u32 = 2;
const BDCR_BDRST: u32 = 1 << 16;
const CSR_LSION: u32 = 1 << 0;
const CSR_RMVF: u32 = 1 << 24;
/// Reset flags: by pin (the internal resets drive it too), power-on, software, watchdogs.
const CSR_PINRSTF: u32 = 1 << 26;
const CSR_PORRSTF: u32 = 1 << 27;
const CSR_SFTRSTF: u32 = 1 << 28;
const CSR_IWDGRSTF: u32 = 1 << 29;
const CSR_WWDGRSTF: u32 = 1 << 30;

const PLL_RUNS: &str = "RCC: the PLL's settings were written while it ran, which has no effect";

/// Where a family's registers are, and which of their bits exist.
struct Layout {
    cfgr: u32,
    cir: u32,
    bdcr: u32,
    csr: u32,
    /// Enable registers, with their values at reset.
    enables: &'static [(u32, u32)],
    resets: &'static [u32],
    cr_writable: u32,
    bdcr_writable: u32,
    /// Reset flags that power-on sets beside PORRSTF.
    power_on: u32,
    /// Clock sources, each with a bit of CIR.
    sources: usize,
    /// CFGR's clock outputs, with what a warning calls them.
    outputs: (u32, &'static str),
}

/// What a family's controller has of its own.
trait Family: Send + 'static {
    const LAYOUT: Layout;

    /// The family's state and the board's oscillators.
    fn new(cx: &mut Create) -> Result<(Self, Oscillators), OptionError>
    where
        Self: Sized;

    /// What feeds the PLL.
    fn pll_source(&self, cfgr: u32) -> Source;

    /// Whether the source that only this family has is on, and how many microseconds it takes to
    /// start.
    fn own_source(&self, _common: &Controller) -> (bool, u32) {
        (false, 0)
    }

    /// CFGR after `value` was written; some fields are fixed while the PLL runs.
    fn written_cfgr(&mut self, common: &Controller, value: u32, cx: &mut Context) -> u32;

    /// The clocks that follow from all settings.
    fn tree(&self, common: &Controller) -> Tree;

    /// What the manual forbids of the clocks, in words.
    fn fault(&self, _common: &Controller) -> Option<String> {
        None
    }

    /// CR's ready flags of sources that only this family has.
    fn own_flags(&self, _common: &Controller) -> u32 {
        0
    }

    /// A register that only this family has.
    fn word(&self, _common: &Controller, _register: u32) -> Option<u32> {
        None
    }

    /// Writes such a register; CFGR may change with it (CFGR2 of an F0 mirrors PREDIV's bit 0).
    fn write(&mut self, _common: &mut Controller, _register: u32, _value: u32, _cx: &mut Context) {}

    /// Registers that only this family has are as after a reset.
    fn reset(&mut self) {}
}

/// The oscillators of a board.
struct Oscillators {
    /// Internal oscillator, in hertz.
    hsi_hz: u32,
    /// Crystal or external clock on the board, in hertz; 0 if there is none.
    hse_hz: u32,
    /// Whether the board has a 32768 Hz crystal.
    lse: bool,
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

/// The clocks of a chip. Each pair is of APB1 and APB2; where there is one APB, the second is 1.
struct Tree {
    sysclk: u32,
    core: u32,
    /// Core cycles of a bus clock.
    apb: [u32; 2],
    /// Core cycles of a clock of the bus's timers.
    timers: [u32; 2],
    /// The clock of a device that need not run from its bus, in hertz; `None` inside if it does.
    kernel: Option<(&'static str, Option<u32>)>,
    /// Clocks with their names and limits, in hertz.
    limits: Vec<(&'static str, u32, u32)>,
}

/// The state that all families have.
struct Controller {
    oscillators: Oscillators,
    backup_writable: SignalId,
    /// By [`Source`].
    sources: Sources,
    /// The source that drives the system clock: CFGR.SWS.
    system: Source,
    cr: u32,
    cfgr: u32,
    /// In the layout's order.
    resets: Vec<u32>,
    enables: Vec<u32>,
    bdcr: u32,
    csr: u32,
}

impl Controller {
    fn is_ready(&self, source: Source) -> bool {
        self.sources.is_ready(source)
    }

    fn flag(&self, source: Source, at: u32) -> u32 {
        u32::from(self.is_ready(source)) << at
    }

    fn pll_is_on(&self) -> bool {
        self.cr & CR_PLLON != 0
    }

    /// The frequency of an oscillator, in hertz.
    fn oscillator_hz(&self, source: Source) -> u32 {
        if source == Source::Hse { self.oscillators.hse_hz } else { self.oscillators.hsi_hz }
    }

    /// The system clock, if the PLL has this frequency.
    fn sysclk(&self, pll: u32) -> u32 {
        if self.system == Source::Pll { pll } else { self.oscillator_hz(self.system) }
    }

    fn write_bdcr(&mut self, value: u32, writable: u32, cx: &mut Context) {
        if cx.level(self.backup_writable) {
            self.bdcr = if value & BDCR_BDRST != 0 { BDCR_BDRST } else { value & writable };
        } else if value & writable != self.bdcr {
            cx.warn_of(
                "write-without-effect",
                "RCC_BDCR was written while PWR_CR.DBP protected it: the write had no effect",
            );
        }
    }

    /// RMVF clears the reset flags, LSION is kept.
    fn write_csr(&mut self, value: u32) {
        let flags = if value & CSR_RMVF != 0 { 0 } else { self.csr & !CSR_LSION };
        self.csr = flags | value & CSR_LSION;
    }

    fn reset_csr(&mut self, cause: ResetCause, power_on: u32) {
        let (kept, flag) = match cause {
            ResetCause::PowerOn => (0, CSR_PORRSTF | power_on),
            ResetCause::Software => (self.csr, CSR_SFTRSTF),
            ResetCause::IndependentWatchdog => (self.csr, CSR_IWDGRSTF),
            // The STM32s have only these two watchdogs; a reset by another counts as the window's.
            ResetCause::WindowWatchdog | ResetCause::Watchdog => (self.csr, CSR_WWDGRSTF),
        };
        self.csr = kept & !CSR_LSION | flag | CSR_PINRSTF;
    }
}

struct Rcc<F> {
    common: Controller,
    family: F,
}

fn create<F: Family>(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let (family, oscillators) = F::new(cx)?;
    if oscillators.hsi_hz == 0 {
        return Err(OptionError::limit("hsi_hz", "must be more than 0"));
    }
    let common = Controller {
        oscillators,
        backup_writable: cx.signal(super::BACKUP_WRITABLE),
        sources: Sources::new(F::LAYOUT.sources),
        system: Source::Hsi,
        cr: CR_RESET,
        cfgr: 0,
        resets: vec![0; F::LAYOUT.resets.len()],
        enables: vec![0; F::LAYOUT.enables.len()],
        bdcr: 0,
        csr: 0,
    };
    Ok(Box::new(Rcc { common, family }))
}

/// The controller of an STM32F0.
pub(super) fn create_f0(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    create::<f0::F0>(cx)
}

/// The controller of an STM32F1.
pub(super) fn create_f1(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    create::<f1::F1>(cx)
}

/// The controller of an STM32F4.
pub(super) fn create_f4(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    create::<f4::F4>(cx)
}

/// Index of an enable register.
fn enable_index<F: Family>(register: u32) -> Option<usize> {
    F::LAYOUT.enables.iter().position(|(at, _)| *at == register)
}

/// Index of a reset register.
fn reset_index<F: Family>(register: u32) -> Option<usize> {
    F::LAYOUT.resets.iter().position(|at| *at == register)
}

impl<F: Family> Rcc<F> {
    /// Whether a source is switched on, and how long it takes to start, in nanoseconds.
    fn wanted(&self, source: Source) -> (bool, u64) {
        let common = &self.common;
        let Oscillators { hse_hz, lse, startup_us: t, .. } = &common.oscillators;
        let (on, us) = match source {
            Source::Lsi => (common.csr & CSR_LSION != 0, t.lsi),
            Source::Lse => (common.bdcr & 1 != 0 && *lse, t.lse),
            Source::Hsi => (common.cr & CR_HSION != 0, t.hsi),
            Source::Hse => {
                // An external clock needs no crystal to start.
                let us = if common.cr & CR_HSEBYP != 0 { 0 } else { t.hse };
                (common.cr & CR_HSEON != 0 && *hse_hz > 0, us)
            }
            // The PLL locks once its input is there.
            Source::Pll => (common.pll_is_on() && common.is_ready(self.pll_source()), t.pll),
            Source::Own => self.family.own_source(common),
        };
        (on, u64::from(us) * 1_000)
    }

    fn pll_source(&self) -> Source {
        self.family.pll_source(self.common.cfgr)
    }

    /// Brings everything up to date after a write or when time has come.
    fn update(&mut self, cx: &mut Context) {
        let now = cx.clocks().nanoseconds_at(cx.now());
        for source in Source::ALL.into_iter().take(F::LAYOUT.sources) {
            let wanted = self.wanted(source);
            self.common.sources.switch(source, wanted, now);
        }
        let chosen = tree::system_source(self.common.cfgr);
        if let Some(chosen) = chosen.filter(|source| self.common.is_ready(*source)) {
            self.common.system = chosen;
        }
        cx.interrupt(0, self.common.sources.interrupts());
        self.set_clocks(cx);
        self.common.sources.schedule(cx);
    }

    fn set_clocks(&self, cx: &mut Context) {
        let Tree { sysclk, core, apb, timers, kernel, limits } = self.family.tree(&self.common);
        let clocks = cx.clocks();
        // A clock that is off stands nearly still.
        let is_kernel_same =
            kernel.is_none_or(|(name, hz)| clocks.kernel_hz(name) == hz.map(|hz| hz.max(1)));
        let same = (clocks.core_hz(), clocks.sysclk_hz) == (core.max(1), sysclk)
            && [clocks.apb_divider, clocks.apb2_divider] == apb
            && [clocks.timer_divider, clocks.apb2_timer_divider] == timers
            && is_kernel_same;
        if same {
            return;
        }
        cx.change_clocks(|cycle, clocks| {
            clocks.set_core_hz(cycle, core);
            clocks.sysclk_hz = sysclk;
            [clocks.apb_divider, clocks.apb2_divider] = apb;
            [clocks.timer_divider, clocks.apb2_timer_divider] = timers;
            if let Some((name, hz)) = kernel {
                clocks.set_kernel_hz(name, hz);
            }
        });
        for (name, hz, max) in limits.into_iter().filter(|(_, hz, max)| hz > max) {
            let (hz, max) = (hertz(hz), hertz(max));
            cx.warn_of(
                "clock-too-fast",
                format!("{name} ran at {hz}, the part is for up to {max}"),
            );
        }
        if let Some(fault) = self.family.fault(&self.common) {
            cx.warn(format!("RCC: {fault}"));
        }
    }

    /// What drives the system clock cannot be switched off.
    fn write_cr(&mut self, value: u32) {
        let is_pll = self.common.system == Source::Pll;
        let root = if is_pll { self.pll_source() } else { self.common.system };
        let root = if root == Source::Hse { CR_HSEON } else { CR_HSION };
        let needed = if is_pll { CR_PLLON | root } else { root };
        self.common.cr = value & F::LAYOUT.cr_writable | needed;
    }

    fn write_cfgr(&mut self, value: u32, cx: &mut Context) {
        self.common.cfgr = self.family.written_cfgr(&self.common, value, cx);
        let (outputs, name) = F::LAYOUT.outputs;
        if self.common.cfgr & outputs != 0 {
            cx.warn_of("not-modelled", format!("RCC: {name} not modelled"));
        }
    }

    fn write_enables(&mut self, at: usize, value: u32, cx: &mut Context) {
        let old = std::mem::replace(&mut self.common.enables[at], value);
        for number in (0..32u8).filter(|&n| bit(old ^ value, n.into())) {
            let gate = Gate { register: F::LAYOUT.enables[at].0 as u16, bit: number };
            cx.set_gate(gate, bit(value, number.into()));
        }
    }

    /// A reset lasts, but happens when its bit is set.
    fn write_resets(&mut self, at: usize, value: u32, cx: &mut Context) {
        let old = std::mem::replace(&mut self.common.resets[at], value);
        for number in (0..32u8).filter(|&n| bit(value & !old, n.into())) {
            cx.reset_devices(F::LAYOUT.resets[at] as u16, number);
        }
    }

    fn word(&self, register: u32) -> Option<u32> {
        let (common, layout) = (&self.common, &F::LAYOUT);
        if let Some(at) = enable_index::<F>(register) {
            return Some(common.enables[at]);
        }
        if let Some(at) = reset_index::<F>(register) {
            return Some(common.resets[at]);
        }
        Some(match register {
            CR => {
                let oscillators = common.flag(Source::Hsi, 1) | common.flag(Source::Hse, 17);
                let plls = common.flag(Source::Pll, 25) | self.family.own_flags(common);
                common.cr | oscillators | plls
            }
            _ if register == layout.cfgr => {
                common.cfgr | tree::system_code(common.system) << CFGR_SWS_SHIFT
            }
            _ if register == layout.cir => common.sources.cir,
            _ if register == layout.bdcr => common.bdcr | common.flag(Source::Lse, 1),
            _ if register == layout.csr => common.csr | common.flag(Source::Lsi, 1),
            _ => return self.family.word(common, register),
        })
    }

    fn write_word(&mut self, register: u32, value: u32, cx: &mut Context) {
        let layout = &F::LAYOUT;
        match (register, enable_index::<F>(register), reset_index::<F>(register)) {
            (_, Some(at), _) => self.write_enables(at, value, cx),
            (_, _, Some(at)) => self.write_resets(at, value, cx),
            (CR, ..) => self.write_cr(value),
            _ if register == layout.cfgr => self.write_cfgr(value, cx),
            _ if register == layout.cir => self.common.sources.write_cir(value),
            _ if register == layout.bdcr => {
                self.common.write_bdcr(value, layout.bdcr_writable, cx);
            }
            _ if register == layout.csr => self.common.write_csr(value),
            _ => self.family.write(&mut self.common, register, value, cx),
        }
    }
}

impl<F: Family> Device for Rcc<F> {
    fn read(&mut self, offset: u32, size: Size, _cx: &mut Context) -> Option<u32> {
        Some(part(self.word(offset & !3)?, offset, size))
    }

    fn reading(&mut self, _: u32, _: Size, _: &mut Context) -> Reading {
        // Ready flags change by events only.
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
        self.common.sources.schedule(cx);
    }

    fn reset(&mut self, cx: &mut Context) {
        let common = &mut self.common;
        (common.cr, common.cfgr, common.sources.cir) = (CR_RESET, 0, 0);
        common.resets.fill(0);
        common.reset_csr(cx.reset_cause(), F::LAYOUT.power_on);
        if cx.reset_cause() == ResetCause::PowerOn {
            common.bdcr = 0;
            common.sources.all_off();
        }
        // The core does not start before its clock does.
        common.system = Source::Hsi;
        common.sources.force_ready(Source::Hsi);
        self.family.reset();
        for (at, (_, value)) in F::LAYOUT.enables.iter().enumerate() {
            self.write_enables(at, *value, cx);
        }
        self.update(cx);
    }
}
