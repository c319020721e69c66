//! Sleep control (ATmega328P data sheet, chapter 10): whether SLEEP does anything. The register is SMCR or, on small parts,
//! MCUCR, whose other bits are kept.
//!
//! All sleep modes are taken for idle: every clock goes on.

use serde::Deserialize;

use crate::device::{Context, Create, Device, Size};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    /// Bit number of SE.
    enable_bit: u8,
}

struct Sleep {
    enable: u32,
    value: u32,
}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, String> {
    let Options { enable_bit } = cx.options()?;
    if enable_bit > 7 {
        return Err("enable_bit is a bit number, 0 to 7".to_owned());
    }
    Ok(Box::new(Sleep { enable: 1 << enable_bit, value: 0 }))
}

impl Device for Sleep {
    fn registers(&self) -> &'static [&'static str] {
        &["CONTROL"]
    }

    fn read(&mut self, _: u32, _: Size, _: &mut Context) -> Option<u32> {
        Some(self.value)
    }

    fn write(&mut self, _: u32, _: Size, value: u32, cx: &mut Context) -> Option<()> {
        self.value = value;
        cx.enable_sleep(value & self.enable != 0);
        Some(())
    }

    fn reset(&mut self, cx: &mut Context) {
        self.value = 0;
        cx.enable_sleep(false);
    }
}
