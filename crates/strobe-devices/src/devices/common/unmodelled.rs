//! A peripheral that nobody modelled yet but whose name, clock gate and place the board file knows.
//!
//! Its registers follow the rule for unmodelled ones, so the report can list `I2C1` instead of a
//! bare address, and firmware that forgot its clock is warned as with any other peripheral.

use serde::Deserialize;

use strobe_sim::kernel::device::{Context, Create, Device, OptionError, Size};

struct Placeholder;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let Options {} = cx.options()?;
    Ok(Box::new(Placeholder))
}

impl Device for Placeholder {
    fn read(&mut self, _offset: u32, _size: Size, _cx: &mut Context) -> Option<u32> {
        None
    }

    fn write(&mut self, _offset: u32, _size: Size, _value: u32, _cx: &mut Context) -> Option<()> {
        None
    }

    fn reset(&mut self, _cx: &mut Context) {}
}
