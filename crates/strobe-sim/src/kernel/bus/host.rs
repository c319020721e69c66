//! The board's ends of what reaches out to the host: serial lines, which end at a terminal or file,
//! and Ethernet.

use std::collections::VecDeque;

use super::{Bus, Slot};
use crate::kernel::device::analog::Analog;
use crate::kernel::device::ethernet::Backend;
use crate::kernel::device::part::{Edge, Shown};
use crate::kernel::device::{DeviceId, MediumError, SerialFrame, Shift};
use crate::kernel::signal::{PinEdge, SignalId};

/// What has reached the outside since somebody last looked.
#[derive(Debug, Default)]
pub struct Outputs {
    /// Frames on serial interfaces.
    pub frames: Vec<SerialFrame>,
    /// Edges of pins, if they are recorded.
    pub edges: Vec<PinEdge>,
    /// Edges of pins are recorded.
    pub record_edges: bool,
    /// Devices that make more of pins' edges than levels, as things are.
    pub heard_by: Vec<DeviceId>,
    /// There are parts beside the chip, which see pins.
    pub has_parts: bool,
    /// What parts show.
    pub pictures: Vec<Shown>,
    /// Edges at which to stop.
    pub stop_edges: Vec<(SignalId, bool)>,
    /// Those of them that there have been.
    pub edges_met: VecDeque<(SignalId, bool)>,
}

impl Bus {
    /// Whether the host can be the other end of a device, as a terminal is of a UART.
    pub fn is_stream(&self, id: DeviceId) -> bool {
        self.slots[id.0 as usize].serial_end().is_some()
    }

    /// The devices whose other end the host can be, in the board file's order.
    pub fn streams(&self) -> impl Iterator<Item = &str> + '_ {
        let streams = self.slots.iter().filter(|slot| slot.serial_end().is_some());
        streams.map(|slot| slot.name.as_str())
    }

    /// Lets serial devices send what they still hold, as they do on a board whose core a debugger
    /// has stopped; time goes on for all devices. Stops at `limit` at the latest.
    pub fn finish_sending(&mut self, limit: u64) {
        let sending = |slot: &Slot| slot.sender().is_some_and(|sender| sender.is_sending());
        while self.next_due <= limit && self.slots.iter().any(sending) {
            self.run_events(self.next_due);
        }
    }

    /// How many bytes from the host a serial device can take now.
    pub fn host_room(&self, id: DeviceId) -> usize {
        self.slots[id.0 as usize].serial_end().map_or(0, |end| end.host_room())
    }

    /// Hands a byte from the host to a serial device.
    pub fn host_byte(&mut self, id: DeviceId, byte: u8) {
        self.call(id.0 as usize, |device, cx| {
            device.serial_end_mut()?.host_byte(byte, cx);
            Some(())
        });
        self.settle();
    }

    /// The timers that can be shifted, in the board file's order.
    pub fn shifted_timers(&mut self) -> Vec<DeviceId> {
        let all = 0..self.slots.len();
        let is = |at: &usize| {
            self.call(*at, |device, _| device.shifted_timer().is_some()).unwrap_or(false)
        };
        all.filter(is).map(|at| DeviceId(at as u8)).collect()
    }

    /// Shifts a timer by `part` of `of` of what is left until its next interrupt.
    pub fn shift_timer(&mut self, id: DeviceId, part: u32, of: u32) -> Shift {
        let shifted = self
            .call(id.0 as usize, |device, cx| Some(device.shifted_timer()?.shift(part, of, cx)));
        self.settle();
        shifted.flatten().unwrap_or(Shift::Idle)
    }

    /// Lets timers count up to now: one whose interrupt waits does so when somebody looks, and at
    /// the end of a run nobody does.
    pub fn catch_up_timers(&mut self) {
        for at in 0..self.slots.len() {
            self.call(at, |device, cx| {
                if device.shifted_timer().is_some() {
                    device.event(cx);
                }
            });
        }
        self.settle();
    }

    /// Programs an AVR's fuses before a run: low, high and extended byte. Returns what they mean,
    /// in words.
    pub fn program_fuses(&mut self, fuses: &[u8]) -> Vec<String> {
        let slots = 0..self.slots.len();
        let reported = slots
            .filter_map(|at| self.call(at, |device, cx| device.fuses()?.program(fuses, cx))?);
        let reported = reported.collect();
        self.settle();
        reported
    }

    /// Sets what comes in at a channel such as `ADC0`: a device's name with the channel's number.
    /// Returns whether there is one.
    pub fn set_analog(&mut self, channel: &str, input: &Analog) -> bool {
        let device = channel.trim_end_matches(|c: char| c.is_ascii_digit());
        let Ok(number) = channel[device.len()..].parse() else { return false };
        let Some(id) = self.device_named(device) else { return false };
        let set = self.call(id.0 as usize, |device, cx| {
            Some(device.analog_input()?.set_input(number, input, cx))
        });
        set.flatten().unwrap_or(false)
    }

    /// The parts beside the chip, in the board file's order.
    pub fn parts(&self) -> impl Iterator<Item = (DeviceId, &str)> + '_ {
        let slots = self.slots.iter().enumerate().filter(|(_, slot)| slot.is_part);
        slots.map(|(at, slot)| (DeviceId(at as u8), slot.name.as_str()))
    }

    /// Puts a medium into a part; `Err` explains why that cannot be.
    pub fn insert(&mut self, id: DeviceId, medium: Vec<u8>) -> Result<(), MediumError> {
        let inserted = self.call(id.0 as usize, |device, _| match device.media_slot() {
            Some(slot) => slot.insert(medium),
            None => Err(MediumError::NoSlot),
        });
        inserted.unwrap_or(Ok(()))
    }

    /// What the wires of a cable have done since the last call.
    pub fn take_edges(&mut self, id: DeviceId) -> Vec<Edge> {
        let edges = self.call(id.0 as usize, |device, _| Some(device.cable_end()?.take_edges()));
        edges.flatten().unwrap_or_default()
    }

    /// Notifies a cable of what its wires are going to do.
    pub fn edges_come(&mut self, id: DeviceId, edges: &[Edge]) {
        self.call(id.0 as usize, |device, cx| {
            device.cable_end()?.edges_come(edges, cx);
            Some(())
        });
    }

    /// What parts have shown since the last call.
    pub fn take_pictures(&mut self) -> Vec<Shown> {
        std::mem::take(&mut self.outputs.pictures)
    }

    /// The Ethernet controllers, in the board file's order.
    pub fn networks(&self) -> impl Iterator<Item = (DeviceId, &str)> + '_ {
        let slots = self.slots.iter().enumerate().filter(|(_, slot)| slot.is_network);
        slots.map(|(at, slot)| (DeviceId(at as u8), slot.name.as_str()))
    }

    /// Connects the other end of an Ethernet controller's cable.
    pub fn connect(&mut self, id: DeviceId, backend: Backend) {
        self.call(id.0 as usize, |device, _| {
            device.network_end()?.connect(backend);
            Some(())
        });
    }

    /// The frames that an Ethernet controller has sent to the host since the last call.
    pub fn take_frames(&mut self, id: DeviceId) -> Vec<Vec<u8>> {
        let frames =
            self.call(id.0 as usize, |device, _| Some(device.network_end()?.take_frames()));
        frames.flatten().unwrap_or_default()
    }

    /// Hands a frame from the host, without check sequence, to an Ethernet controller.
    pub fn host_frame(&mut self, id: DeviceId, frame: Vec<u8>) {
        self.call(id.0 as usize, |device, cx| {
            device.network_end()?.host_frame(frame, cx);
            Some(())
        });
        self.settle();
    }
}
