//! The bus: which memory or device answers an address, and everything devices share.
//!
//! Memories are on the fast path and know nothing of time. Devices are on the slow path: each
//! access happens at an exact cycle, and whatever it changes (interrupt lines, timed events, flash
//! settings) raises `attention` so that the core leaves its block of decoded instructions at once.

use std::collections::BTreeMap;

use strobe_model::Bounds;

mod access;
mod code;
mod devices;
mod host;
pub mod io;
mod names;
mod places;
mod readers;
mod waits;

pub(crate) use self::access::{Polls, unalias};
pub use self::host::Outputs;
pub use self::names::Unclocked;
pub use self::waits::{FirstWait, FlashInterface, FlashSetting, Slave};

use crate::kernel::clock::{Clocks, Gate};
use crate::kernel::core::Requests;
use crate::kernel::device::{Device, ResetCause, Sender, SerialEnd, Size};
use crate::kernel::flash::FlashCaches;
use crate::kernel::memory::Memory;
use crate::kernel::signal::Signals;
use crate::kernel::unmodelled::Poll;
use crate::kernel::unmodelled::Unmodelled;
use crate::kernel::warnings::Warnings;

/// One device in its place on the bus.
pub struct Slot {
    /// The device's name on the board, as `USART1`.
    pub name: String,
    /// First address of its registers.
    pub base: u32,
    /// Bytes of address space that they take.
    pub size: u32,
    /// The bus that it is on.
    pub slave: Slave,
    /// The enable bit of its clock, if it has one.
    pub gate: Option<Gate>,
    /// The gate's enable bit as the manual names it, for the warning.
    pub gate_name: String,
    /// Its reset bit, if it has one.
    pub reset: Option<Gate>,
    /// Interrupt numbers and their levels, in the board file's order.
    pub irqs: Vec<(u16, bool)>,
    /// It is no device of the chip but something beside it.
    pub is_part: bool,
    /// It is an Ethernet controller; set when it is put on the bus.
    pub is_network: bool,
    /// The model; absent while it is being called.
    pub device: Option<Box<dyn Device>>,
    /// Accesses while the clock gate was closed.
    pub unclocked: u64,
    /// The program counter of the first of them.
    pub unclocked_pc: u32,
}

impl Slot {
    /// The device's end of a stream of bytes, if it is one.
    fn serial_end(&self) -> Option<&dyn SerialEnd> {
        self.device.as_ref()?.serial_end()
    }

    /// The device as one that sends on its own.
    fn sender(&self) -> Option<&dyn Sender> {
        self.device.as_ref()?.sender()
    }
}

/// Interrupt request lines that a core may have (ARMv7-M; an ARMv6-M has at most 32).
pub const IRQS: usize = 240;
/// Words for that many levels.
pub const IRQ_WORDS: usize = IRQS.div_ceil(32);

/// The interrupt request lines.
pub struct Interrupts {
    /// The levels, one bit for each line.
    pub levels: [u32; IRQ_WORDS],
    /// Requests that came while the same one was still asked for.
    pub lost: [u64; IRQS],
    /// Cycle of each line's last rising edge.
    pub since: [u64; IRQS],
    /// What the data sheet calls them, from 1 on, where the board file gives it.
    pub names: Vec<String>,
}

impl Default for Interrupts {
    fn default() -> Self {
        Interrupts { levels: [0; IRQ_WORDS], lost: [0; IRQS], since: [0; IRQS], names: Vec::new() }
    }
}

/// The memories, devices and wires of a board.
pub struct Bus {
    /// Memory that holds the vector table at reset (flash on real parts).
    pub flash: Memory,
    /// The main RAM.
    pub ram: Memory,
    /// Further memories.
    pub more: Vec<Memory>,
    /// (alias base, size, target base): a window that shows another region, as boot memory at 0.
    pub aliases: Vec<(u32, u32, u32)>,
    /// The devices, in the order of adding.
    pub slots: Vec<Slot>,
    /// Where their registers are.
    places: places::Places,
    /// Registers of one byte, where the core has them.
    pub io: io::IoMap,
    /// All wires.
    pub signals: Signals,
    /// The clock tree.
    pub clocks: Clocks,
    /// The cycle at which the current access or event happens.
    pub now: u64,
    /// Address of the instruction that makes the current access.
    pub pc: u32,
    /// When each device wants its event; by itself, because it is looked through at each of them.
    dues: Vec<u64>,
    /// Before which cycle each device's events do nothing but set wires.
    changes: Vec<u64>,
    /// The cycle of the next event of a device.
    pub next_due: u64,
    /// The least of all devices' changes.
    next_change: u64,
    /// Events of devices so far, but for those that nobody could notice.
    pub events: u64,
    /// The interrupt request lines.
    pub interrupts: Interrupts,
    /// The modelled register that was read last, and how often it was since it changed.
    pub(crate) awaited: (u32, Poll),
    /// The model of the device that was read last has the register.
    answered: bool,
    /// Others that were read for long without a change, until the firmware went on.
    given_up: BTreeMap<u32, Poll>,
    /// What devices ask of the core.
    pub requests: Requests,
    pub(crate) attention: bool,
    /// The clock tree has changed since devices were notified.
    pub clocks_dirty: bool,
    /// Why the board was last reset.
    pub(crate) last_reset: ResetCause,
    /// Devices answer although their clock is off.
    pub answer_unclocked: bool,
    resets: Vec<(u16, u8)>,
    /// What accesses to flash cost.
    pub flash_interface: waits::FlashInterface,
    /// (wait states, prefetch on) as the firmware has set them.
    pub flash_state: (u8, bool),
    /// Caches of the flash interface as the firmware has set them.
    pub flash_caches: FlashCaches,
    /// The core fetches code from RAM over the bus that its data takes (an ARMv7-M's system bus).
    pub system_bus: bool,
    /// Where decoded code lies in memory that can change.
    pub(crate) code: code::CodeWatch,
    /// What bus masters besides the core hold.
    pub(crate) masters: waits::Masters,
    /// Writes to memory by the core and other masters, if somebody wants to know of all of them.
    written: Option<Vec<(u32, Size)>>,
    /// Cycles of the peripheral bus that an access through its bridge waits.
    pub apb_wait: Bounds,
    /// RAM that answers the core late at first.
    pub first_wait: FirstWait,
    /// Which code of the core has read which registers.
    pub(crate) readers: readers::Readers,
    /// What nobody modelled.
    pub unmodelled: Unmodelled,
    /// Unmodelled registers are an error.
    pub strict: bool,
    /// First unmodelled access, when strict.
    pub(crate) strict_hit: Option<(u32, u32)>,
    /// What the user should know.
    pub warnings: Warnings,
    /// What has reached the outside, for whoever watches.
    pub outputs: host::Outputs,
    /// Something outside (a terminal) may still send: sleep has an end even with nothing due.
    pub expects_input: bool,
    /// A change of the core's clock ends a run as its limit does: a limit that was worked out from
    /// a time is another cycle then.
    pub stops_at_clock: bool,
    /// There was one since the core looked.
    pub(crate) clock_changed: bool,
}

impl Bus {
    /// A bus with two memories and no devices.
    pub fn new(flash: Memory, ram: Memory, clock_hz: u32) -> Self {
        Bus {
            flash,
            ram,
            more: Vec::new(),
            aliases: Vec::new(),
            slots: Vec::new(),
            places: places::Places::default(),
            io: io::IoMap::default(),
            signals: Signals::default(),
            clocks: Clocks::new(clock_hz),
            now: 0,
            pc: 0,
            dues: Vec::new(),
            changes: Vec::new(),
            next_due: u64::MAX,
            next_change: u64::MAX,
            events: 0,
            interrupts: Interrupts::default(),
            awaited: (0, Poll::default()),
            answered: false,
            given_up: BTreeMap::new(),
            requests: Requests::default(),
            attention: false,
            clocks_dirty: false,
            last_reset: ResetCause::PowerOn,
            answer_unclocked: false,
            resets: Vec::new(),
            flash_interface: waits::FlashInterface::default(),
            flash_state: (0, false),
            flash_caches: FlashCaches::default(),
            system_bus: false,
            code: code::CodeWatch::default(),
            masters: waits::Masters::default(),
            written: None,
            apb_wait: Bounds::exact(0),
            first_wait: FirstWait::default(),
            readers: readers::Readers::default(),
            unmodelled: Unmodelled::default(),
            strict: false,
            strict_hit: None,
            warnings: Warnings::default(),
            outputs: host::Outputs::default(),
            expects_input: false,
            stops_at_clock: false,
            clock_changed: false,
        }
    }

    /// Keeps from now on which memory is written, by whichever master, until it is taken.
    pub fn keep_writes(&mut self) {
        self.written = Some(Vec::new());
    }

    /// What was written since this was last asked for, in its order, if it is kept.
    pub(crate) fn take_writes(&mut self) -> Vec<(u32, Size)> {
        self.written.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Adds a device; its number is its place in the order of adding.
    pub fn add(&mut self, mut slot: Slot) {
        let device = slot.device.as_mut();
        self.outputs.has_parts |= slot.is_part;
        slot.is_network = device.is_some_and(|device| device.network_end().is_some());
        self.places.add(slot.base, slot.size, self.slots.len());
        self.slots.push(slot);
        self.dues.push(u64::MAX);
        self.changes.push(u64::MAX);
    }
}
