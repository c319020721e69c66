//! Power reduction (PRR, PRR0 and PRR1; ATmega328P data sheet, 10.11.3): a one stops the clock of a
//! peripheral.
//!
//! Gates of a board file name the register by its number, 0 or 1, and the bit.

use serde::Deserialize;

use strobe_sim::kernel::clock::Gate;
use strobe_sim::kernel::device::{
    ByteRegisters, Context, Create, Device, OptionError, Reading, Size,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    /// Bits that exist in each register.
    masks: Vec<u8>,
}

struct Power {
    masks: Vec<u8>,
    values: Vec<u8>,
}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let Options { masks } = cx.options()?;
    if masks.is_empty() || masks.len() > 2 {
        return Err(OptionError::invalid("masks", "one for each register, one or two"));
    }
    let values = vec![0; masks.len()];
    Ok(Box::new(Power { masks, values }))
}

impl Power {
    fn set(&mut self, at: usize, value: u8, cx: &mut Context) {
        self.values[at] = value;
        for bit in (0..8u8).filter(|bit| self.masks[at] >> bit & 1 != 0) {
            let gate = Gate { register: at as u16, bit };
            cx.set_gate(gate, value >> bit & 1 == 0);
        }
    }
}

impl Device for Power {
    fn read(&mut self, register: u32, _: Size, _: &mut Context) -> Option<u32> {
        self.values.get(register as usize).map(|&value| u32::from(value))
    }

    fn reading(&mut self, _: u32, _: Size, _: &mut Context) -> Reading {
        Reading::FIXED
    }

    fn write(&mut self, register: u32, _: Size, value: u32, cx: &mut Context) -> Option<()> {
        let at = register as usize;
        let mask = *self.masks.get(at)?;
        self.set(at, value as u8 & mask, cx);
        Some(())
    }

    fn reset(&mut self, cx: &mut Context) {
        (0..self.masks.len()).for_each(|at| self.set(at, 0, cx));
    }

    fn byte_registers(&mut self) -> Option<&mut dyn ByteRegisters> {
        Some(self)
    }
}

impl ByteRegisters for Power {
    fn names(&self) -> &'static [&'static str] {
        &["PRR0", "PRR1"]
    }
}
