//! Registers that only keep what is written: GPIOR0 to 2 (ATmega328P data sheet, 8.6), and OSCCAL,
//! whose trimming of the internal oscillator is not modelled.

use serde::Deserialize;

use strobe_sim::kernel::device::{
    ByteRegisters, Context, Create, Device, OptionError, Reading, Size,
};

const REGISTERS: &[&str] = &["GPIOR0", "GPIOR1", "GPIOR2", "OSCCAL"];
const OSCCAL: usize = 3;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    /// The factory's calibration.
    #[serde(default)]
    oscillator: u8,
}

struct General {
    values: [u8; 4],
    oscillator: u8,
}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let Options { oscillator } = cx.options()?;
    Ok(Box::new(General { values: [0; 4], oscillator }))
}

impl Device for General {
    fn read(&mut self, register: u32, _: Size, _: &mut Context) -> Option<u32> {
        self.values.get(register as usize).map(|&value| u32::from(value))
    }

    fn reading(&mut self, _: u32, _: Size, _: &mut Context) -> Reading {
        Reading::FIXED
    }

    fn write(&mut self, register: u32, _: Size, value: u32, cx: &mut Context) -> Option<()> {
        let at = register as usize;
        *self.values.get_mut(at)? = value as u8;
        if at == OSCCAL && value as u8 != self.oscillator {
            cx.warn_of(
                "not-modelled",
                "OSCCAL was written: the oscillator's frequency does not follow (not modelled)",
            );
        }
        Some(())
    }

    fn reset(&mut self, _: &mut Context) {
        self.values = [0, 0, 0, self.oscillator];
    }

    fn byte_registers(&mut self) -> Option<&mut dyn ByteRegisters> {
        Some(self)
    }
}

impl ByteRegisters for General {
    fn names(&self) -> &'static [&'static str] {
        REGISTERS
    }
}
