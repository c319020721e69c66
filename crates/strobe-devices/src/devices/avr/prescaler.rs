//! Resets of the timers' prescalers (GTCCR; ATmega328P data sheet, 17.4.1). Wires: those of the
//! board file's `resets`.

use serde::Deserialize;

use strobe_sim::kernel::device::{
    ByteRegisters, Context, Create, Device, OptionError, Reading, Size,
};
use strobe_sim::kernel::signal::SignalId;

/// Timer/counter synchronisation mode: the resets stay on.
const TSM: u32 = 1 << 7;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    /// Wires that the bits drive, from bit 0 on.
    resets: Vec<String>,
}

struct Prescaler {
    resets: Vec<SignalId>,
    value: u32,
}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let Options { resets } = cx.options()?;
    if resets.len() > 7 {
        return Err(OptionError::invalid("resets", "at most seven"));
    }
    let resets = resets.iter().map(|name| cx.signal(name)).collect();
    Ok(Box::new(Prescaler { resets, value: 0 }))
}

impl Prescaler {
    fn mask(&self) -> u32 {
        TSM | ((1 << self.resets.len()) - 1)
    }

    fn show(&self, cx: &mut Context) {
        for (bit, &wire) in self.resets.iter().enumerate() {
            cx.set_signal(wire, self.value >> bit & 1 != 0);
        }
    }
}

impl Device for Prescaler {
    fn read(&mut self, _: u32, _: Size, _: &mut Context) -> Option<u32> {
        Some(self.value)
    }

    fn reading(&mut self, _: u32, _: Size, _: &mut Context) -> Reading {
        Reading::FIXED
    }

    fn write(&mut self, _: u32, _: Size, value: u32, cx: &mut Context) -> Option<()> {
        self.value = value & self.mask();
        self.show(cx);
        // Without TSM hardware clears the bits at once.
        if value & TSM == 0 {
            self.value = 0;
            self.show(cx);
        }
        Some(())
    }

    fn reset(&mut self, cx: &mut Context) {
        self.value = 0;
        self.show(cx);
    }

    fn byte_registers(&mut self) -> Option<&mut dyn ByteRegisters> {
        Some(self)
    }
}

impl ByteRegisters for Prescaler {
    fn names(&self) -> &'static [&'static str] {
        &["GTCCR"]
    }

    fn is_shared(&self, _: u32) -> bool {
        true
    }
}
