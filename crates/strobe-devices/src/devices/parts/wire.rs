//! A wire from one pin to another of the same chip: what the first is set to drives the second.

use serde::Deserialize;

use strobe_sim::kernel::device::{Context, Create, Device, OptionError};
use strobe_sim::kernel::signal::SignalId;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    from: String,
    to: String,
}

struct Wire {
    from: SignalId,
    to: SignalId,
}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let Options { from, to } = cx.options()?;
    let (from, to) = (cx.pin(&from)?, cx.pin(&to)?);
    if from == to {
        return Err(OptionError::Loop);
    }
    cx.listen(from);
    Ok(Box::new(Wire { from, to }))
}

impl Device for Wire {
    fn signal(&mut self, _: SignalId, level: bool, cx: &mut Context) {
        cx.drive(self.to, Some(level));
    }

    fn reset(&mut self, cx: &mut Context) {
        let level = cx.level(self.from);
        cx.drive(self.to, Some(level));
    }
}
