//! What a peripheral model is to the bus, and what it may ask of the rest of the board.
//!
//! A device sees register accesses, its own timed events and changes of the signals it listens to.
//! It speaks only through [`Context`], never to another device.

use std::collections::BTreeMap;

use crate::kernel::signal::{SignalId, Signals};

pub use self::capability::part_of;
pub use self::capability::{
    AnalogInput, ByteRegisters, CableEnd, CoreEvents, DrivenPins, Fuses, MediaSlot, NetworkEnd,
    PinWatch, Sender, SerialEnd, Shift, ShiftedTimer,
};
pub use self::context::Context;
pub use self::error::{MediumError, OptionError};
pub use self::reading::Reading;
pub use strobe_isa::Size;

pub mod analog;
mod capability;
mod context;
mod error;
pub mod ethernet;
pub mod part;
mod reading;

/// Which device on the bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DeviceId(pub u8);

/// Why a board was reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ResetCause {
    /// Power came up: the state at the start of a run.
    PowerOn,
    /// The firmware asked (SYSRESETREQ).
    Software,
    /// The independent watchdog ran out or was refreshed too early.
    IndependentWatchdog,
    /// A watchdog ran out a second time, its interrupt unanswered.
    Watchdog,
    /// The window watchdog ran out or was refreshed too early.
    WindowWatchdog,
}

impl std::fmt::Display for ResetCause {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            ResetCause::PowerOn => "power-on",
            ResetCause::Software => "software (SYSRESETREQ)",
            ResetCause::IndependentWatchdog => "independent watchdog",
            ResetCause::Watchdog => "watchdog",
            ResetCause::WindowWatchdog => "window watchdog",
        })
    }
}

/// Which way a byte crossed a serial interface, seen from the simulated chip.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Sent by the chip.
    Transmit,
    /// Received by the chip.
    Receive,
}

/// A frame on a serial interface (UART, SPI): stamped when its last bit has passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SerialFrame {
    /// Core cycles since reset.
    pub cycle: u64,
    /// The interface.
    pub device: DeviceId,
    /// Sent or received.
    pub direction: Direction,
    /// Data bits, right aligned.
    pub value: u16,
}

/// A peripheral model.
///
/// Registers are addressed by byte offset from the device's base. `read` and `write` get the access
/// as the core made it (`offset` may be inside a word for narrow sizes); `None` means that no such
/// register is modelled, and the bus then applies the rule for unmodelled registers (last value,
/// counted, listed).
pub trait Device: Send {
    /// The register's value for this access, right aligned; may have side effects.
    fn read(&mut self, offset: u32, size: Size, cx: &mut Context) -> Option<u32> {
        let _ = (offset, size, cx);
        None
    }

    /// What reading this register again shows; asked right after a [`Device::read`] of the same
    /// register at the same cycle that had an answer.
    fn reading(&mut self, offset: u32, size: Size, cx: &mut Context) -> Reading {
        let _ = (offset, size, cx);
        Reading::Unknown
    }

    /// Writes a register.
    fn write(&mut self, offset: u32, size: Size, value: u32, cx: &mut Context) -> Option<()> {
        let _ = (offset, size, value, cx);
        None
    }

    /// One bit of a register changes, as by an AVR's SBI and CBI, where the hardware does not do
    /// more than that. Registers in which writing a one does something must do it for this bit
    /// alone.
    fn set_bit(&mut self, offset: u32, bit: u8, level: bool, cx: &mut Context) -> Option<()> {
        let old = self.read(offset, Size::Byte, cx)?;
        let mask = 1 << bit;
        self.write(offset, Size::Byte, old & !mask | u32::from(level) << bit, cx)
    }

    /// The cycle asked for with [`Context::wake_at`] has come.
    fn event(&mut self, cx: &mut Context) {
        let _ = cx;
    }

    /// A signal that the device listens to has changed to `level`.
    fn signal(&mut self, id: SignalId, level: bool, cx: &mut Context) {
        let _ = (id, level, cx);
    }

    /// The core or a bus clock changed frequency, or a clock gate opened or closed.
    fn clock_changed(&mut self, cx: &mut Context) {
        let _ = cx;
    }

    /// Back to the reset state (system reset or the clock controller's reset bit).
    fn reset(&mut self, cx: &mut Context);

    // What only some devices have; each of them is a trait of its own.

    /// Registers of one byte at scattered addresses.
    fn byte_registers(&mut self) -> Option<&mut dyn ByteRegisters> {
        None
    }

    /// More from the core than accesses.
    fn core_events(&mut self) -> Option<&mut dyn CoreEvents> {
        None
    }

    /// Fuses.
    fn fuses(&mut self) -> Option<&mut dyn Fuses> {
        None
    }

    /// Analog channels.
    fn analog_input(&mut self) -> Option<&mut dyn AnalogInput> {
        None
    }

    /// Pins that the outside world drives.
    fn driven_pins(&mut self) -> Option<&mut dyn DrivenPins> {
        None
    }

    /// Notice of pins that the chip holds.
    fn pin_watch(&mut self) -> Option<&mut dyn PinWatch> {
        None
    }

    /// A stream of bytes to the host.
    fn serial_end(&self) -> Option<&dyn SerialEnd> {
        None
    }

    /// The same, to change it.
    fn serial_end_mut(&mut self) -> Option<&mut dyn SerialEnd> {
        None
    }

    /// Something to send after the run.
    fn sender(&self) -> Option<&dyn Sender> {
        None
    }

    /// A place for a medium.
    fn media_slot(&mut self) -> Option<&mut dyn MediaSlot> {
        None
    }

    /// Wires to another chip.
    fn cable_end(&mut self) -> Option<&mut dyn CableEnd> {
        None
    }

    /// Interrupts of a timer's own.
    fn shifted_timer(&mut self) -> Option<&mut dyn ShiftedTimer> {
        None
    }

    /// An Ethernet cable.
    fn network_end(&mut self) -> Option<&mut dyn NetworkEnd> {
        None
    }
}

/// What a model is made from: its entry in the board file and the board's wires.
pub struct Create<'a> {
    /// The device's name on the board, as `USART1`.
    pub name: &'a str,
    /// The model's own keys, as the board file gives them.
    pub options: &'a toml::Table,
    /// What the circuit board calls its pins.
    pub pins: &'a BTreeMap<String, String>,
    /// All wires of the board.
    pub signals: &'a mut Signals,
    /// Which device this will be.
    pub id: DeviceId,
}

impl Create<'_> {
    /// The model's options as its own type; that type should deny unknown fields.
    pub fn options<T: serde::de::DeserializeOwned>(&self) -> Result<T, OptionError> {
        self.options
            .clone()
            .try_into()
            .map_err(|e: toml::de::Error| OptionError::Parse { message: e.message().to_owned() })
    }

    /// The wire of that name, made on first use.
    pub fn signal(&mut self, name: &str) -> SignalId {
        self.signals.intern(name)
    }

    /// The pin of that name, the chip's or the circuit board's; for parts, which are made after all
    /// ports.
    pub fn pin(&mut self, name: &str) -> Result<SignalId, OptionError> {
        let own = self.pins.get(name).map_or(name, String::as_str);
        let found = self.signals.find(own).filter(|&id| self.signals.is_pin(id));
        found.ok_or_else(|| OptionError::UnknownPin { name: name.to_owned() })
    }

    /// Has [`Device::signal`] called on every change of `signal`.
    pub fn listen(&mut self, signal: SignalId) {
        self.signals.listen(signal, self.id.0);
    }
}

/// Makes one model, or explains what is wrong with its options.
pub type Maker = fn(&mut Create) -> Result<Box<dyn Device>, OptionError>;
