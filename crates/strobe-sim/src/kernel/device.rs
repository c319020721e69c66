//! What a peripheral model is to the bus, and what it may ask of the rest of the board.
//!
//! A device sees register accesses, its own timed events and changes of the signals it listens to.
//! It speaks only through [`Context`], never to another device.

use std::collections::BTreeMap;

use self::analog::Analog;
use self::ethernet::Backend;
use self::part::Edge;
use crate::kernel::signal::{SignalId, Signals};

pub use self::context::Context;

pub mod analog;
mod context;
pub mod ethernet;
pub mod part;

/// Width of an access, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Size {
    /// 8 bits.
    Byte = 1,
    /// 16 bits.
    Half = 2,
    /// 32 bits.
    Word = 4,
}

impl Size {
    /// Bytes.
    pub fn bytes(self) -> u32 {
        self as u32
    }

    /// All value bits set.
    pub fn mask(self) -> u32 {
        match self {
            Size::Byte => 0xff,
            Size::Half => 0xffff,
            Size::Word => 0xffff_ffff,
        }
    }
}

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
/// Registers are addressed by byte offset from the device's base. `read` and `write` get the access as
/// the core made it (`offset` may be inside a word for narrow sizes); `None` says that no such register
/// is modelled, and the bus then applies the rule for unmodelled registers (last value, counted, listed).
pub trait Device: Send {
    /// The register's value for this access, right aligned; may have side effects.
    fn read(&mut self, offset: u32, size: Size, cx: &mut Context) -> Option<u32> {
        let _ = (offset, size, cx);
        None
    }

    /// Writes a register.
    fn write(&mut self, offset: u32, size: Size, value: u32, cx: &mut Context) -> Option<()> {
        let _ = (offset, size, value, cx);
        None
    }

    /// Names of an AVR device's registers, as the data sheet has them and board files use them: `offset` is then the
    /// place in this list.
    fn registers(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether other devices of an AVR may have bits of their own in that register.
    fn shares_register(&self, offset: u32) -> bool {
        let _ = offset;
        false
    }

    /// SBI or CBI on an AVR: one bit of a register changes, where the hardware does not do more than that. Registers in
    /// which writing a one does something must do it for this bit alone.
    fn set_bit(&mut self, offset: u32, bit: u8, level: bool, cx: &mut Context) -> Option<()> {
        let old = self.read(offset, Size::Byte, cx)?;
        let mask = 1 << bit;
        self.write(offset, Size::Byte, old & !mask | u32::from(level) << bit, cx)
    }

    /// The core enters the handler of interrupt line `line`; AVR flags are cleared by that.
    fn interrupt_taken(&mut self, line: usize, cx: &mut Context) {
        let _ = (line, cx);
    }

    /// The core goes to sleep or has woken up (AVR).
    fn core_sleeps(&mut self, asleep: bool, cx: &mut Context) {
        let _ = (asleep, cx);
    }

    /// The fuses are programmed so before the run (AVR): low, high and extended byte. Returns what that means for the
    /// device, in words.
    fn fuses(&mut self, fuses: &[u8], cx: &mut Context) -> Option<String> {
        let _ = (fuses, cx);
        None
    }

    /// What comes in at an analog channel from now on; returns whether the device has it.
    fn analog(&mut self, channel: usize, input: &Analog, cx: &mut Context) -> bool {
        let _ = (channel, input, cx);
        false
    }

    /// The core has executed WDR (AVR).
    fn watchdog_reset(&mut self, cx: &mut Context) {
        let _ = cx;
    }

    /// Whether the device may reset the board although the core asks for nothing more: a watchdog that runs.
    fn may_reset(&self) -> bool {
        false
    }

    /// The cycle asked for with [`Context::wake_at`] has come.
    fn event(&mut self, cx: &mut Context) {
        let _ = cx;
    }

    /// A signal that the device listens to has changed to `level`.
    fn signal(&mut self, id: SignalId, level: bool, cx: &mut Context) {
        let _ = (id, level, cx);
    }

    /// The chip begins to hold a pin that the device listens to, or lets go of it; comes before [`Device::signal`].
    fn held(&mut self, id: SignalId, cx: &mut Context) {
        let _ = (id, cx);
    }

    /// The outside world drives `pin` or lets go of it ([`Context::external`]); for the port that owns it.
    fn driven(&mut self, pin: SignalId, cx: &mut Context) {
        let _ = (pin, cx);
    }

    /// A byte arrives from the host side of a serial interface (terminal, file, pseudo-terminal).
    fn host_byte(&mut self, byte: u8, cx: &mut Context) {
        let _ = (byte, cx);
    }

    /// Whether the device is one end of a stream of bytes, whose other end the host can be (a terminal).
    fn is_stream(&self) -> bool {
        false
    }

    /// Whether the device has accepted something that it has not sent yet.
    fn is_sending(&self) -> bool {
        false
    }

    /// How many bytes from the host the device can take without losing any.
    fn host_room(&self) -> usize {
        0
    }

    /// A medium is put in: the contents of a memory card. `Err` says what is wrong with it.
    fn insert(&mut self, medium: Vec<u8>) -> Result<(), String> {
        let _ = medium;
        Err("nothing can be put into it".to_owned())
    }

    /// What the wires of a cable have done since the last call.
    fn take_edges(&mut self) -> Vec<Edge> {
        Vec::new()
    }

    /// What the wires of a cable are going to do.
    fn edges_come(&mut self, edges: &[Edge], cx: &mut Context) {
        let _ = (edges, cx);
    }

    /// Whether the device is an Ethernet controller.
    fn is_network(&self) -> bool {
        false
    }

    /// Says what is at the other end of an Ethernet controller's cable, instead of what the board file says.
    fn connect(&mut self, backend: Backend) {
        let _ = backend;
    }

    /// The frames that an Ethernet controller has sent to the host since the last call, without check sequences.
    fn take_frames(&mut self) -> Vec<Vec<u8>> {
        Vec::new()
    }

    /// A frame without its check sequence comes in from the host.
    fn host_frame(&mut self, frame: Vec<u8>, cx: &mut Context) {
        let _ = (frame, cx);
    }

    /// The core or a bus clock changed frequency, or a clock gate opened or closed.
    fn clock_changed(&mut self, cx: &mut Context) {
        let _ = cx;
    }

    /// Back to the reset state (system reset or the clock controller's reset bit).
    fn reset(&mut self, cx: &mut Context);
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
    pub fn options<T: serde::de::DeserializeOwned>(&self) -> Result<T, String> {
        self.options.clone().try_into().map_err(|e: toml::de::Error| e.message().to_owned())
    }

    /// The wire of that name, made on first use.
    pub fn signal(&mut self, name: &str) -> SignalId {
        self.signals.intern(name)
    }

    /// The pin of that name, the chip's or the circuit board's; for parts, which are made after all ports.
    pub fn pin(&mut self, name: &str) -> Result<SignalId, String> {
        let own = self.pins.get(name).map_or(name, String::as_str);
        let found = self.signals.find(own).filter(|&id| self.signals.is_pin(id));
        found.ok_or_else(|| format!("the chip has no pin {name}"))
    }

    /// Has [`Device::signal`] called on every change of `signal`.
    pub fn listen(&mut self, signal: SignalId) {
        self.signals.listen(signal, self.id.0);
    }
}

/// Makes one model, or says what is wrong with its options.
pub type Maker = fn(&mut Create) -> Result<Box<dyn Device>, String>;
