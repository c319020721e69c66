//! What passes between a board and the host while it runs: bytes, frames, pictures, edges, and what
//! a debugger reads.
//!
//! The board runs in pieces; between two of them the host is served, so a piece is as long as
//! nobody notices.

use strobe_sim::device::Direction;

use super::Run;
use crate::simulated::debugger::Memory;
use crate::simulated::script::Script;
use crate::simulated::settings::Limit;
use crate::simulated::{Host, Progress, trace};

/// Cycles between two looks at serial ports and the progress bar.
const CHUNK: u64 = 1 << 22;

/// Frames that a controller takes from the host at one look.
const MOST_FRAMES: usize = 16;

/// So often in a simulated second the board looks whether somebody has typed.
const LOOKS_PER_SECOND: u64 = 64;

impl Run {
    /// Cycles until the next look at serial ports and memory.
    pub(super) fn chunk(&self, host: &mut dyn Host) -> u64 {
        let chunk = self.chunk_of_serial_ports(host);
        let Some(every) = host.debugger().map(|debugger| debugger.every_nanoseconds()) else {
            return chunk;
        };
        let (clocks, now) = (&self.machine.bus().clocks, self.machine.cycles());
        let next = clocks.cycle_at_nanoseconds(clocks.nanoseconds_at(now).saturating_add(every));
        chunk.min(next.saturating_sub(now)).max(1)
    }

    fn chunk_of_serial_ports(&self, host: &dyn Host) -> u64 {
        let while_typing = u64::from(self.machine.bus().clocks.core_hz()) / LOOKS_PER_SECOND;
        let next = self.scripts.iter().filter_map(Script::next).min();
        let shows = self.machine.bus().parts().next().is_some();
        if host.expects_input() || next.is_some() || shows {
            // Bytes that may only be sent later begin at their time.
            let (clocks, now) = (&self.machine.bus().clocks, self.machine.cycles());
            let wait = next.map_or(0, |at| clocks.cycle_at_nanoseconds(at).saturating_sub(now));
            return match wait {
                0 => while_typing.clamp(1, CHUNK),
                wait => wait.min(while_typing).clamp(1, CHUNK),
            };
        }
        CHUNK
    }

    /// How far the run has come.
    fn progress(&self) -> Progress {
        let cycles = self.machine.cycles();
        let nanoseconds = self.machine.bus().clocks.nanoseconds_at(cycles);
        Progress { cycles, nanoseconds, limit: self.end() }
    }

    /// Moves frames between Ethernet controllers and the host.
    fn exchange_frames(&mut self, host: &mut dyn Host) {
        let bus = self.machine.bus_mut();
        let networks: Vec<_> = bus.networks().map(|(id, name)| (id, name.to_owned())).collect();
        for (id, name) in networks {
            for frame in bus.take_frames(id) {
                host.frame_output(&name, &frame);
            }
            // What is left comes next time: more would only overrun the controller's buffer.
            for _ in 0..MOST_FRAMES {
                let Some(frame) = host.frame_input(&name) else { break };
                bus.host_frame(id, frame);
            }
        }
    }

    /// Hands on what parts have shown.
    fn show_pictures(&mut self, host: &mut dyn Host) {
        for shown in self.machine.bus_mut().take_pictures() {
            let bus = self.machine.bus();
            let nanoseconds = bus.clocks.nanoseconds_at(shown.cycle);
            host.picture(bus.device_name(shown.part), nanoseconds, &shown.picture);
        }
    }

    /// Moves bytes between serial devices and the host.
    pub(in crate::simulated) fn serve(&mut self, host: &mut dyn Host) {
        for frame in self.machine.observer_mut().1.1.take_frames() {
            let bus = self.machine.bus();
            if frame.direction == Direction::Transmit && bus.is_stream(frame.device) {
                let name = bus.device_name(frame.device);
                host.serial_output(name, &[frame.value as u8]);
            }
        }
        if let (Some(recording), Some(recorder)) = (&mut self.recording, host.recorder()) {
            recording.serve(&mut self.machine, recorder);
        }
        if let Some(pin) = host.trace_pin() {
            trace::serve(self.machine.observer_mut().1.1.take_trace(), pin);
        }
        if let Some(debugger) = host.debugger() {
            let now = self.machine.cycles();
            let nanoseconds = self.machine.bus().clocks.nanoseconds_at(now);
            debugger.look(&mut Memory(&mut self.machine), nanoseconds);
        }
        let bus = self.machine.bus();
        let room = |name: &str| bus.device_named(name).map_or(0, |id| bus.host_room(id));
        for (name, byte) in host.serial_input(&room) {
            if let Some(id) = self.machine.bus().device_named(&name) {
                self.machine.host_byte(id, byte);
            }
        }
        self.scripts.iter_mut().for_each(|script| script.serve(&mut self.machine));
        self.exchange_frames(host);
        self.show_pictures(host);
        self.expect_input(host);
        if host.expects_input() {
            let bus = self.machine.bus();
            host.keep_pace(bus.clocks.nanoseconds_at(self.machine.cycles()));
        }
        host.progress(&self.progress());
    }
}

impl Run {
    /// Lets the board sleep on as long as anything may still come in.
    pub(super) fn expect_input(&mut self, host: &dyn Host) {
        let scripted = self.scripts.iter().any(|script| script.next().is_some());
        self.machine.bus_mut().expects_input = goes_on_asleep(self.limit, host) || scripted;
    }
}

/// Whether a board that nothing is left to wake runs on: input may still come, or the user asked
/// for a certain time.
pub(super) fn goes_on_asleep(limit: Option<Limit>, host: &dyn Host) -> bool {
    limit.is_some() || host.expects_input()
}
