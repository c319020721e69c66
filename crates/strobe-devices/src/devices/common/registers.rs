//! Registers without behaviour: identification codes, configuration that has no effect in a
//! simulation.

use serde::Deserialize;

use super::register::{merge, part};
use strobe_sim::kernel::device::{Context, Create, Device, OptionError, Reading, ResetCause, Size};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    register: Vec<Register>,
}

/// One 32-bit register.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Register {
    offset: u32,
    #[serde(default)]
    reset: u32,
    /// Bits that firmware can change.
    #[serde(default)]
    writable: u32,
    /// It changes back at power-on only.
    #[serde(default)]
    survives_reset: bool,
    #[serde(skip)]
    value: u32,
}

struct Registers(Vec<Register>);

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let Options { register } = cx.options()?;
    if let Some(odd) = register.iter().find(|r| r.offset % 4 != 0) {
        return Err(OptionError::limit(
            "register.offset",
            format!("{:#x} is not a multiple of 4", odd.offset),
        ));
    }
    Ok(Box::new(Registers(register)))
}

impl Registers {
    fn at(&mut self, offset: u32) -> Option<&mut Register> {
        self.0.iter_mut().find(|r| r.offset == offset & !3)
    }
}

impl Device for Registers {
    fn read(&mut self, offset: u32, size: Size, _cx: &mut Context) -> Option<u32> {
        Some(part(self.at(offset)?.value, offset, size))
    }

    fn reading(&mut self, _: u32, _: Size, _: &mut Context) -> Reading {
        Reading::FIXED
    }

    fn write(&mut self, offset: u32, size: Size, value: u32, _cx: &mut Context) -> Option<()> {
        let register = self.at(offset)?;
        let new = merge(register.value, offset, size, value);
        register.value = register.value & !register.writable | new & register.writable;
        Some(())
    }

    fn reset(&mut self, cx: &mut Context) {
        let power_on = cx.reset_cause() == ResetCause::PowerOn;
        let all = self.0.iter_mut().filter(|r| power_on || !r.survives_reset);
        all.for_each(|r| r.value = r.reset);
    }
}
