//! A bus with a few devices on it, as the tests of single models need it.

use crate::bus::{Bus, Slave, Slot};
use crate::device::{Create, DeviceId, Size, models};
use crate::memory::{Memory, MemoryKind};

/// Where the bench's RAM starts.
pub(super) const RAM: u32 = 0x2000_0000;

/// Memories, devices and a clock that the test moves.
pub(super) struct Bench {
    pub(super) bus: Bus,
}

impl Bench {
    /// 4 KiB of flash, 16 KiB of RAM, no devices.
    pub(super) fn new() -> Self {
        let flash = Memory::new("flash", MemoryKind::Flash, 0x0800_0000, 4096);
        let ram = Memory::new("ram", MemoryKind::Ram, RAM, 16384);
        let mut bus = Bus::new(flash, ram, 8_000_000);
        bus.record_edges = true;
        Bench { bus }
    }

    /// Adds a device with its options as TOML text.
    pub(super) fn add(
        &mut self,
        (name, model): (&str, &str),
        base: u32,
        irqs: &[u16],
        options: &str,
    ) -> DeviceId {
        let id = DeviceId(self.bus.slots.len() as u8);
        let options = options.parse().expect("options are TOML");
        let mut create = Create { name, options: &options, signals: &mut self.bus.signals, id };
        let (_, make) = models().find(|(known, _)| *known == model).expect("a known model");
        let device = make(&mut create).expect("good options");
        self.bus.slots.push(Slot {
            name: name.to_owned(),
            base,
            size: 0x400,
            slave: Slave::Apb,
            gate: None,
            gate_name: String::new(),
            reset: None,
            irqs: irqs.iter().map(|&n| (n, false)).collect(),
            device: Some(device),
            due: u64::MAX,
            unclocked: 0,
            unclocked_pc: 0,
        });
        self.bus.reset();
        id
    }

    /// Lets time pass up to `cycle`.
    pub(super) fn run_to(&mut self, cycle: u64) {
        assert!(cycle >= self.bus.now, "time goes forward");
        self.bus.run_events(cycle);
    }

    /// Lets time pass until interrupt `n` is requested, at most up to `limit`.
    pub(super) fn run_to_irq(&mut self, n: u16, limit: u64) -> Option<u64> {
        while !self.irq(n) {
            if self.bus.next_due > limit {
                return None;
            }
            self.run_to(self.bus.next_due);
        }
        Some(self.bus.now)
    }

    pub(super) fn irq(&self, n: u16) -> bool {
        self.bus.irq_levels[n as usize / 32] >> (n % 32) & 1 != 0
    }

    pub(super) fn write(&mut self, address: u32, value: u32) {
        self.bus.write(address, Size::Word, value).expect("mapped");
    }

    pub(super) fn read(&mut self, address: u32) -> u32 {
        self.bus.read(address, Size::Word).expect("mapped")
    }

    /// Records the edges of a signal.
    pub(super) fn watch(&mut self, signal: &str) {
        let id = self.bus.signals.intern(signal);
        self.bus.signals.mark_pin(id);
    }

    /// Sets a signal from outside.
    pub(super) fn drive(&mut self, signal: &str, level: bool) {
        let id = self.bus.signals.intern(signal);
        self.bus.set_signal(id, level);
        self.bus.settle();
    }

    pub(super) fn level(&self, signal: &str) -> bool {
        self.bus.signals.level(self.bus.signals.find(signal).expect("a known signal"))
    }

    /// The edges of a watched signal so far, as (cycle, level).
    pub(super) fn edges(&self, signal: &str) -> Vec<(u64, bool)> {
        let id = self.bus.signals.find(signal).expect("a known signal");
        let edges = &self.bus.edges;
        assert!(edges.is_sorted_by_key(|e| e.cycle), "time goes forward");
        edges.iter().filter(|e| e.pin == id).map(|e| (e.cycle, e.level)).collect()
    }
}
