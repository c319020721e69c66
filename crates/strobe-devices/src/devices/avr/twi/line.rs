//! One of the two open-drain lines: what its port must do while this chip pulls it low, and while
//! it lets go.

use strobe_sim::kernel::device::{Context, Create};
use strobe_sim::kernel::signal::SignalId;

/// One of the two lines.
pub(super) struct Line {
    pub(super) pin: SignalId,
    level: SignalId,
    on: SignalId,
    output: SignalId,
    input: SignalId,
    pull: SignalId,
    /// This chip lets go of it.
    pub(super) free: bool,
}

impl Line {
    pub(super) fn new(cx: &mut Create, pin: &str, wire: &str) -> Self {
        let name = format!("{}_{wire}", cx.name);
        let pin = cx.signal(pin);
        cx.listen(pin);
        let mut part = |suffix: &str| cx.signal(&format!("{name}{suffix}"));
        Line {
            pin,
            level: part(""),
            on: part("_ON"),
            output: part("_OUT"),
            input: part("_IN"),
            pull: part("_PULL"),
            free: true,
        }
    }

    pub(super) fn show(&self, enabled: bool, cx: &mut Context) {
        cx.set_signal(self.level, false);
        cx.set_signal(self.on, enabled && !self.free);
        cx.set_signal(self.output, enabled && !self.free);
        cx.set_signal(self.input, enabled && self.free);
        cx.set_signal(self.pull, enabled && self.free);
    }
}
