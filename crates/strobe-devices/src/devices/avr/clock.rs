//! The system clock prescaler (CLKPR; ATmega328P data sheet, 9.12.2). What clock the fuses choose
//! is the board file's, unless the firmware brings fuses: `clock_hz` is the core's at reset,
//! `divide_by_8` means that the fuse CKDIV8 is part of that, `sources` are the oscillators that
//! CKSEL chooses from (9.2; in the low byte, as CKDIV8 is).

use serde::Deserialize;
use strobe_model::number::hertz;

use strobe_sim::kernel::device::{
    ByteRegisters, Context, Create, Device, Fuses, OptionError, Reading, Size,
};

const CLKPCE: u8 = 1 << 7;
/// Cycles within which the new value must follow CLKPCE.
const WINDOW: u64 = 4;
/// In the fuses' low byte; fuses are programmed where they are zero.
const CKDIV8: u8 = 1 << 7;
/// CLKPS with the fuse programmed: divide by 8.
const BY_8: u8 = 3;
/// CLKPS of the largest divisor, 256.
const MOST: u8 = 8;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    #[serde(default)]
    divide_by_8: bool,
    #[serde(default)]
    sources: Vec<ClockSource>,
}

/// An oscillator.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ClockSource {
    name: String,
    /// Values of CKSEL.
    select: Vec<u8>,
    /// Its frequency; without one, what the circuit board has there, if anything.
    hz: Option<u32>,
}

struct Clkpr {
    sources: Vec<ClockSource>,
    initial: u8,
    /// The oscillator's frequency, from the first reset on.
    oscillator_hz: Option<u32>,
    select: u8,
    open_until: Option<u64>,
}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let Options { divide_by_8, sources } = cx.options()?;
    let initial = if divide_by_8 { BY_8 } else { 0 };
    Ok(Box::new(Clkpr { sources, initial, oscillator_hz: None, select: initial, open_until: None }))
}

impl Clkpr {
    fn apply(&self, cx: &mut Context) {
        let Some(oscillator_hz) = self.oscillator_hz else { return };
        let hz = (oscillator_hz >> self.select).max(1);
        if hz != cx.clocks().core_hz() {
            cx.change_clocks(|now, clocks| clocks.set_core_hz(now, hz));
        }
    }
}

impl Device for Clkpr {
    fn read(&mut self, _: u32, _: Size, cx: &mut Context) -> Option<u32> {
        let open = self.open_until.is_some_and(|until| cx.now() <= until);
        Some(u32::from(self.select | if open { CLKPCE } else { 0 }))
    }

    fn reading(&mut self, _: u32, _: Size, cx: &mut Context) -> Reading {
        super::until_closed(self.open_until, cx)
    }

    fn write(&mut self, _: u32, _: Size, value: u32, cx: &mut Context) -> Option<()> {
        let value = value as u8;
        if value == CLKPCE {
            self.open_until = Some(cx.now() + WINDOW);
        } else if value & CLKPCE == 0
            && self.open_until.take().is_some_and(|until| cx.now() <= until)
        {
            self.select = (value & 0xf).min(MOST);
            self.apply(cx);
        }
        Some(())
    }

    fn reset(&mut self, cx: &mut Context) {
        let hz = cx.clocks().core_hz();
        self.oscillator_hz.get_or_insert(hz.saturating_mul(1 << self.initial));
        (self.select, self.open_until) = (self.initial, None);
        self.apply(cx);
    }

    fn byte_registers(&mut self) -> Option<&mut dyn ByteRegisters> {
        Some(self)
    }

    fn fuses(&mut self) -> Option<&mut dyn Fuses> {
        Some(self)
    }
}

impl ByteRegisters for Clkpr {
    fn names(&self) -> &'static [&'static str] {
        &["CLKPR"]
    }
}

impl Fuses for Clkpr {
    fn program(&mut self, fuses: &[u8], cx: &mut Context) -> Option<String> {
        let low = *fuses.first()?;
        let source = self.sources.iter().find(|source| source.select.contains(&(low & 0xf)));
        let own = self.oscillator_hz?;
        self.initial = if low & CKDIV8 == 0 { BY_8 } else { 0 };
        let (name, hz) = match source {
            Some(source) => (source.name.clone(), source.hz.unwrap_or(own)),
            None => ("a clock that this board has not, its own stays".to_owned(), own),
        };
        self.oscillator_hz = Some(hz);
        self.reset(cx);
        let divided = if self.initial == BY_8 { " divided by 8" } else { "" };
        Some(format!("{name}, {}{divided} (CKSEL, CKDIV8)", hertz(hz)))
    }
}
