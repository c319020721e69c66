//! The bus: which memory or device answers an address, and everything devices share.
//!
//! Memories are on the fast path and know nothing of time. Devices are on the slow path: each access
//! happens at an exact cycle, and whatever it changes (interrupt lines, timed events, flash settings)
//! raises `attention` so that the core leaves its block of decoded instructions at once.

use std::collections::VecDeque;
use std::ops::Range;

use strobe_model::Bounds;

mod access;
mod bit_band;
mod code;
mod devices;
mod host;
pub(crate) mod io;
mod names;
mod waits;

pub(crate) use self::access::unalias;
pub use self::names::Unclocked;
pub(crate) use self::waits::FlashSetting;
pub use self::waits::Slave;

use crate::kernel::clock::{Clocks, Gate};
use crate::kernel::device::part::Shown;
use crate::kernel::device::{Device, ResetCause, Sender, SerialEnd, SerialFrame};
use crate::kernel::flash::accelerator::Accelerator;
use crate::kernel::flash::{FlashCaches, FlashTiming};
use crate::kernel::memory::Memory;
use crate::kernel::signal::{PinEdge, SignalId, Signals};
use crate::kernel::unmodelled::Unmodelled;
use crate::kernel::warnings::Warnings;

/// One device in its place on the bus.
pub(crate) struct Slot {
    pub(crate) name: String,
    pub(crate) base: u32,
    pub(crate) size: u32,
    pub(crate) slave: Slave,
    pub(crate) gate: Option<Gate>,
    /// The gate's enable bit as the manual names it, for the warning.
    pub(crate) gate_name: String,
    pub(crate) reset: Option<Gate>,
    /// Interrupt numbers and their levels, in the board file's order.
    pub(crate) irqs: Vec<(u16, bool)>,
    /// It is no device of the chip but something beside it.
    pub(crate) is_part: bool,
    /// It is an Ethernet controller; set when it is put on the bus.
    pub(crate) is_network: bool,
    /// The model; absent while it is being called.
    pub(crate) device: Option<Box<dyn Device>>,
    /// Accesses while the clock gate was closed, and the program counter of the first.
    pub(crate) unclocked: u64,
    pub(crate) unclocked_pc: u32,
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
pub(crate) const IRQS: usize = 240;
/// Words for that many levels.
pub(crate) const IRQ_WORDS: usize = IRQS.div_ceil(32);

/// The memories, devices and wires of a board.
pub struct Bus {
    /// Memory that holds the vector table at reset (flash on real parts).
    pub flash: Memory,
    /// The main RAM.
    pub ram: Memory,
    /// Further memories.
    pub more: Vec<Memory>,
    /// (alias base, size, target base): a window that shows another region, as boot memory at 0.
    pub(crate) aliases: Vec<(u32, u32, u32)>,
    pub(crate) slots: Vec<Slot>,
    /// Where an AVR's registers are.
    pub(crate) io: io::IoMap,
    /// What an AVR's data sheet calls the vectors, from 1 on.
    pub(crate) vector_names: Vec<String>,
    /// SLEEP puts an AVR to sleep.
    pub(crate) sleep_enabled: bool,
    /// Cycles that an AVR's clock needs to start when the core wakes up.
    pub(crate) start_up: u64,
    /// Cycles for which a device stops an AVR's core. The core takes them.
    pub(crate) halted: u64,
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
    pub(crate) next_due: u64,
    pub(crate) irq_levels: [u32; IRQ_WORDS],
    /// Cycle of each line's last rising edge.
    pub(crate) irq_since: [u64; IRQS],
    pub(crate) attention: bool,
    pub(crate) clocks_dirty: bool,
    pub(crate) reset_request: Option<ResetCause>,
    /// Why the board was last reset.
    pub(crate) last_reset: ResetCause,
    /// A device has sent an event, which wakes a core from WFE. The core takes it.
    pub(crate) event: bool,
    /// A device has raised the non-maskable interrupt. The core takes it.
    pub(crate) nmi: bool,
    /// The core sees the bit-band aliases.
    pub(crate) bit_band: bool,
    /// Devices answer although their clock is off.
    pub(crate) answer_unclocked: bool,
    resets: Vec<(u16, u8)>,
    pub(crate) flash_settings: Vec<FlashSetting>,
    pub(crate) flash_timing: FlashTiming,
    /// (wait states, prefetch on) as the firmware has set them.
    pub flash_state: (u8, bool),
    /// Caches of the flash interface as the firmware has set them.
    pub flash_caches: FlashCaches,
    /// What stands between the core and flash with wait states, on parts that have it.
    pub(crate) accelerator: Accelerator,
    /// The core fetches code from RAM over the bus that its data takes (an ARMv7-M's system bus).
    pub(crate) system_bus: bool,
    /// Counts changes of anything that decoded blocks depend on.
    pub(crate) generation: u32,
    pub(crate) apb_wait: Bounds,
    /// Data reads from flash cost waits at the present setting.
    pub(crate) flash_reads_wait: bool,
    /// Where code was decoded from RAM, in whole words. Empty at first.
    code_range: Range<u32>,
    /// Whose stores somebody watches, in whole words.
    watched: Range<u32>,
    /// What holds both: stores there must be looked at.
    pub(crate) careful_stores: Range<u32>,
    /// The same of flash that firmware can write.
    writable_code: Range<u32>,
    /// By [`Bus::port_of`]; grows on demand.
    busy_until: Vec<u64>,
    pub(crate) contended_until: u64,
    /// What nobody modelled.
    pub unmodelled: Unmodelled,
    /// Unmodelled registers are an error.
    pub strict: bool,
    /// First unmodelled access, when strict.
    pub(crate) strict_hit: Option<(u32, u32)>,
    /// What the user should know.
    pub warnings: Warnings,
    pub(crate) frames: Vec<SerialFrame>,
    pub(crate) edges: Vec<PinEdge>,
    pub(crate) record_edges: bool,
    /// Edges of pins may cause interrupts as things are.
    pub(crate) edges_interrupt: bool,
    pub(crate) pictures: Vec<Shown>,
    /// Edges at which to stop, and those of them that have come.
    pub(crate) stop_edges: Vec<(SignalId, bool)>,
    pub(crate) edges_met: VecDeque<(SignalId, bool)>,
    /// Something outside (a terminal) may still send: sleep has an end even with nothing due.
    pub expects_input: bool,
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
            io: io::IoMap::default(),
            vector_names: Vec::new(),
            sleep_enabled: false,
            start_up: 0,
            halted: 0,
            signals: Signals::default(),
            clocks: Clocks::new(clock_hz),
            now: 0,
            pc: 0,
            dues: Vec::new(),
            next_due: u64::MAX,
            irq_levels: [0; IRQ_WORDS],
            irq_since: [0; IRQS],
            attention: false,
            clocks_dirty: false,
            reset_request: None,
            last_reset: ResetCause::PowerOn,
            event: false,
            nmi: false,
            bit_band: false,
            answer_unclocked: false,
            resets: Vec::new(),
            flash_settings: Vec::new(),
            flash_timing: FlashTiming::default(),
            flash_state: (0, false),
            flash_caches: FlashCaches::default(),
            accelerator: Accelerator::default(),
            system_bus: false,
            generation: 0,
            apb_wait: Bounds::exact(0),
            flash_reads_wait: false,
            code_range: 0..0,
            watched: 0..0,
            careful_stores: 0..0,
            writable_code: 0..0,
            busy_until: Vec::new(),
            contended_until: 0,
            unmodelled: Unmodelled::default(),
            strict: false,
            strict_hit: None,
            warnings: Warnings::default(),
            frames: Vec::new(),
            edges: Vec::new(),
            record_edges: false,
            edges_interrupt: false,
            pictures: Vec::new(),
            stop_edges: Vec::new(),
            edges_met: VecDeque::new(),
            expects_input: false,
        }
    }

    /// Adds a device; its number is its place in the order of adding.
    pub(crate) fn add(&mut self, mut slot: Slot) {
        let device = slot.device.as_mut();
        slot.is_network = device.is_some_and(|device| device.network_end().is_some());
        self.slots.push(slot);
        self.dues.push(u64::MAX);
    }
}
