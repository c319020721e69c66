//! Bytes that are sent to serial devices, all known before the run begins.
//!
//! The devices take them from here as a line brings them: one after the other at its speed, once
//! the receiver is on.

use strobe_devices::machine::Machine;
use strobe_model::measurement::Finding;
use strobe_sim::observe::Observer;

use super::settings::SerialInput;

/// What is still to be sent to one device.
pub(super) struct Script {
    input: SerialInput,
    /// Bytes that the device has been handed.
    handed: usize,
    /// Bytes that it can hold before they are on the line.
    capacity: Option<usize>,
}

impl Script {
    pub(super) fn new(input: &SerialInput) -> Self {
        Script { input: input.clone(), handed: 0, capacity: None }
    }

    /// When there is something to do next, in nanoseconds since reset; `None` if all is handed
    /// over.
    pub(super) fn next(&self) -> Option<u64> {
        (self.handed < self.input.bytes.len()).then_some(self.input.not_before_nanoseconds)
    }

    /// Hands over what the device has room for.
    pub(super) fn serve<O: Observer>(&mut self, machine: &mut Machine<O>) {
        let now = machine.bus().clocks.nanoseconds_at(machine.cycles());
        let Some(id) = machine.bus().device_named(&self.input.device) else { return };
        let room = machine.bus().host_room(id);
        self.capacity.get_or_insert(room);
        if now < self.input.not_before_nanoseconds {
            return;
        }
        let bytes = self.input.bytes[self.handed..].iter().take(room);
        self.handed += bytes.len();
        bytes.for_each(|&byte| machine.host_byte(id, byte));
    }

    /// What never came off the line.
    pub(super) fn left<O: Observer>(&self, machine: &Machine<O>) -> Option<Finding> {
        let id = machine.bus().device_named(&self.input.device)?;
        let waiting =
            self.capacity.map_or(0, |all| all.saturating_sub(machine.bus().host_room(id)));
        let left = self.input.bytes.len() - self.handed + waiting;
        let text = format!(
            "bytes for {} were still to arrive when the run ended, of {} in all: they come at the \
             line's speed, while the \
             firmware has the receiver on",
            self.input.device,
            self.input.bytes.len()
        );
        (left > 0).then(|| Finding::warning("input-left", text).times(left as u64))
    }
}
