//! What some devices can do beyond what all can: each ability is a small trait, which a device
//! hands out by the method of [`Device`](super::Device) for it.
//!
//! None of this is on the way of an ordinary access to a register.

use super::analog::Analog;
use super::ethernet::Backend;
use super::part::Edge;
use super::{Context, MediumError};
use crate::kernel::signal::SignalId;

/// Registers of one byte each, at addresses that the board file gives one by one: `offset` in the
/// methods of [`Device`](super::Device) is a register's place in this list.
pub trait ByteRegisters {
    /// The registers as the data sheet names them and board files use them.
    fn names(&self) -> &'static [&'static str];

    /// Whether other devices may have bits of their own in that register.
    fn is_shared(&self, offset: u32) -> bool {
        let _ = offset;
        false
    }
}

/// Notices what the core does, where the two are joined by more than interrupt lines.
pub trait CoreEvents {
    /// The core enters the handler of interrupt line `line`, which clears its flag.
    fn interrupt_taken(&mut self, line: usize, cx: &mut Context) {
        let _ = (line, cx);
    }

    /// The core goes to sleep or has woken up.
    fn core_sleeps(&mut self, asleep: bool, cx: &mut Context) {
        let _ = (asleep, cx);
    }

    /// The core has executed an instruction that resets the watchdog.
    fn watchdog_reset(&mut self, cx: &mut Context) {
        let _ = cx;
    }

    /// Whether the device may reset the board although the core asks for nothing more: a watchdog
    /// that runs.
    fn may_reset(&self) -> bool {
        false
    }
}

/// Depends on fuses, which are programmed before a run.
pub trait Fuses {
    /// The fuses: low, high and extended byte. Returns what they mean for the device, in words.
    fn program(&mut self, fuses: &[u8], cx: &mut Context) -> Option<String>;
}

/// Has analog channels.
pub trait AnalogInput {
    /// What comes in at a channel from now on; returns whether the device has it.
    fn set_input(&mut self, channel: usize, input: &Analog, cx: &mut Context) -> bool;
}

/// Owns pins of the chip that the outside world may drive, or looks at such pins.
pub trait DrivenPins {
    /// The outside world drives `pin` or lets go of it ([`Context::external`]); it may be another
    /// device's.
    fn driven(&mut self, pin: SignalId, cx: &mut Context);
}

/// Notices whether the chip holds the pins that the device listens to, besides their levels.
pub trait PinWatch {
    /// The chip begins to hold a pin, or lets go of it; comes before
    /// [`Device::signal`](super::Device::signal).
    fn held(&mut self, id: SignalId, cx: &mut Context);
}

/// One end of a stream of bytes, whose other end the host can be (a terminal, a file, a
/// pseudo-terminal).
pub trait SerialEnd {
    /// A byte arrives from the host.
    fn host_byte(&mut self, byte: u8, cx: &mut Context);

    /// How many bytes from the host the device can take without losing any.
    fn host_room(&self) -> usize;
}

/// Sends on its own what firmware has handed to it, also after the core has stopped.
pub trait Sender {
    /// Whether the device has accepted something that it has not sent yet.
    fn is_sending(&self) -> bool;
}

/// Takes a medium, as the slot of a memory card does.
pub trait MediaSlot {
    /// A medium with these contents is put in.
    ///
    /// # Errors
    /// What is wrong with it.
    fn insert(&mut self, medium: Vec<u8>) -> Result<(), MediumError>;
}

/// One end of the wires between two chips.
pub trait CableEnd {
    /// What the wires have done since the last call.
    fn take_edges(&mut self) -> Vec<Edge>;

    /// What the wires are going to do.
    fn edges_come(&mut self, edges: &[Edge], cx: &mut Context);
}

/// An Ethernet controller. Frames are without their check sequences.
pub trait NetworkEnd {
    /// Sets what is at the other end of the cable, instead of what the board file states.
    fn connect(&mut self, backend: Backend);

    /// The frames that were sent to the host since the last call.
    fn take_frames(&mut self) -> Vec<Vec<u8>>;

    /// A frame comes in from the host.
    fn host_frame(&mut self, frame: Vec<u8>, cx: &mut Context);
}

/// What became of the wish to shift a timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shift {
    /// It does not run, or asks for no interrupts.
    Idle,
    /// Its next interrupt comes so many core cycles earlier, and all later ones do.
    Earlier(u64),
    /// It is left as it is, for a shift would do more than that.
    Unfit(&'static str),
}

/// Counts towards interrupts of its own, and can be moved on: as if it had been started a little
/// earlier. Firmware that reads the count sees time jump forwards, and never back.
pub trait ShiftedTimer {
    /// Moves the count on by `part` of `of` of what is left until the next interrupt; none is left
    /// out and none comes at once.
    fn shift(&mut self, part: u32, of: u32, cx: &mut Context) -> Shift;
}

/// A part of what is left, in steps of the counter: less than all of it.
pub fn part_of(left: u64, part: u32, of: u32) -> u64 {
    let all = u128::from(left) * u128::from(part) / u128::from(of.max(1));
    u64::try_from(all).unwrap_or(u64::MAX).min(left.saturating_sub(1))
}
