//! A board with only the devices under test, for their tests.

use crate::boards::Board;
use strobe_sim::kernel::bus::Bus;
use strobe_sim::kernel::device::Size;

/// An 8 MHz board with 1 KiB of flash and 4 KiB of RAM.
const BARE: &str = "
name = 'rig'
description = 'devices under test'
clock_hz = 8_000_000
core = { model = 'cortex-m0', multiplier_cycles = 1, irq_lines = 32, cpuid = 0x410c_c200 }

[[memory]]
name = 'flash'
kind = 'flash'
base = 0x0800_0000
size = 0x400
alias = 0
[[memory]]
name = 'ram'
kind = 'ram'
base = 0x2000_0000
size = 0x1000
";

/// Where the rig's RAM starts.
pub(crate) const RAM: u32 = 0x2000_0000;

/// A device on the peripheral bus, as a board file lists it; `options` are lines of TOML.
pub(crate) fn apb_device(
    (name, model): (&str, &str),
    base: u32,
    irq: &[u16],
    options: &str,
) -> String {
    format!(
        "[[device]]\nname = '{name}'\nmodel = '{model}'\nbase = {base}\nsize = 0x400\nbus = 'apb'\n\
         irq = {irq:?}\n[device.options]\n{options}\n"
    )
}

pub(crate) struct Rig {
    pub(crate) bus: Bus,
    /// Registers lie in an AVR's data space.
    pub(crate) is_avr: bool,
}

impl Rig {
    /// A bare board with these devices (and anything else a board file may hold, further memories
    /// for one).
    pub(crate) fn new(devices: &str) -> Rig {
        let board = Board::parse(&format!("{BARE}{devices}")).expect("the test's board file");
        Rig { bus: board.build().expect("it has been parsed"), is_avr: false }
    }

    /// One of the boards that come with the project.
    pub(crate) fn builtin(name: &str) -> Rig {
        let board = Board::builtin(name).expect("comes with the project");
        Rig { bus: board.build().expect("builds"), is_avr: board.avr_core().is_some() }
    }

    pub(crate) fn read(&mut self, address: u32, size: Size) -> u32 {
        self.bus.read(address, size).expect("no bus fault")
    }

    pub(crate) fn write(&mut self, address: u32, size: Size, value: u32) {
        self.bus.write(address, size, value).expect("no bus fault");
    }

    pub(crate) fn read32(&mut self, address: u32) -> u32 {
        self.read(address, Size::Word)
    }

    pub(crate) fn write32(&mut self, address: u32, value: u32) {
        self.write(address, Size::Word, value);
    }

    /// Sets bits of a register by reading and writing it, as firmware does.
    pub(crate) fn set_bits(&mut self, address: u32, bits: u32) {
        let old = self.read32(address);
        self.write32(address, old | bits);
    }

    /// Lets time pass, with the events in it.
    pub(crate) fn advance(&mut self, cycles: u64) {
        let to = self.bus.now + cycles;
        self.bus.run_events(to);
    }

    /// Lets time pass up to `cycle`.
    pub(crate) fn run_to(&mut self, cycle: u64) {
        assert!(cycle >= self.bus.now, "time goes forward");
        self.bus.run_events(cycle);
    }

    /// Lets time pass until interrupt `number` is requested; `None` if it is not by `limit`.
    pub(crate) fn run_to_irq(&mut self, number: u32, limit: u64) -> Option<u64> {
        while !self.irq(number) {
            if self.bus.next_due > limit {
                return None;
            }
            self.run_to(self.bus.next_due);
        }
        Some(self.bus.now)
    }

    /// Records the edges of a wire from now on.
    pub(crate) fn watch(&mut self, signal: &str) {
        let id = self.bus.signals.intern(signal);
        self.bus.signals.mark_pin(id);
        self.bus.outputs.record_edges = true;
    }

    /// The edges of a watched wire so far, as (cycle, level).
    pub(crate) fn edges(&self, signal: &str) -> Vec<(u64, bool)> {
        let id = self.bus.signals.find(signal).expect("a wire of the board");
        let edges = &self.bus.outputs.edges;
        assert!(edges.is_sorted_by_key(|e| e.cycle), "time goes forward");
        edges.iter().filter(|e| e.pin == id).map(|e| (e.cycle, e.level)).collect()
    }

    pub(crate) fn irq(&self, number: u32) -> bool {
        self.bus.interrupts.levels[number as usize / 32] >> (number % 32) & 1 != 0
    }

    pub(crate) fn level(&self, signal: &str) -> bool {
        self.bus.signals.find(signal).is_some_and(|id| self.bus.signals.level(id))
    }

    /// Sets a wire as the device that owns it would.
    pub(crate) fn set(&mut self, signal: &str, level: bool) {
        let id = self.bus.signals.intern(signal);
        self.bus.set_signal(id, level);
        self.bus.settle();
    }

    pub(crate) fn drive(&mut self, pin: &str, level: Option<bool>) {
        let id = self.bus.signals.find(pin).expect("a pin of the board");
        self.bus.drive_pin(id, level);
    }

    pub(crate) fn warnings(&self) -> String {
        self.bus.warnings.iter().map(|(text, _)| format!("{text}\n")).collect()
    }
}
