//! What an access waits for: the flash's settings, the peripheral bridges, other masters of the
//! bus.

use strobe_model::{Bounds, Cause};

use super::Bus;
use crate::kernel::flash::accelerator::Accelerator;
use crate::kernel::flash::{FlashCaches, FlashTiming};
use crate::kernel::memory::MemoryKind;
use crate::kernel::model::Model;

/// A bus slave, as far as waiting for it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Slave {
    /// Flash memory.
    Flash,
    /// Static RAM.
    Ram,
    /// A device on the core's own bus (AHB): no wait states.
    Ahb,
    /// A device behind the (first) peripheral bridge (APB, APB1).
    Apb,
    /// A device behind the second peripheral bridge (APB2).
    Apb2,
}

/// Number of [`Slave`]s; the banks of RAM beyond them are distinguished by number.
const SLAVES: usize = 5;

/// A bank of RAM for whose first word the core waits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FirstWait {
    /// First address.
    pub start: u32,
    /// Bytes; 0 if there is no such bank.
    pub length: u32,
    /// Cycles that the core waits for the first word.
    pub cycles: u8,
}

impl FirstWait {
    /// Whether an address lies there.
    #[inline(always)]
    pub(crate) fn is_at(self, address: u32) -> bool {
        address.wrapping_sub(self.start) < self.length
    }
}

/// What bus masters besides the core hold.
#[derive(Debug, Default)]
pub(crate) struct Masters {
    /// By [`Bus::port_of`]; grows on demand.
    busy_until: Vec<u64>,
    pub(crate) contended_until: u64,
}

/// Flash behaviour at one setting of the flash controller.
#[derive(Debug, Clone, Copy)]
pub struct FlashSetting {
    /// Wait states.
    pub wait_states: u8,
    /// Prefetch is on.
    pub prefetch: bool,
    /// The caches that are on.
    pub caches: FlashCaches,
    /// What accesses cost.
    pub timing: FlashTiming,
}

/// What accesses to flash cost.
#[derive(Default)]
pub struct FlashInterface {
    /// What the board file knows, by setting.
    pub settings: Vec<FlashSetting>,
    /// That of the present setting.
    pub timing: FlashTiming,
    /// Data reads cost waits at the present setting.
    pub reads_wait: bool,
    /// What stands between the core and flash with wait states, on parts that have it.
    pub accelerator: Accelerator,
}

impl Bus {
    /// Takes of every wait the figure of one model.
    pub(crate) fn set_model(&mut self, model: Model) {
        self.apb_wait = model.of(self.apb_wait);
        let flash = &mut self.flash_interface;
        flash.accelerator.set_model(model);
        let timings = flash.settings.iter_mut().map(|setting| &mut setting.timing);
        timings.chain([&mut flash.timing]).for_each(|timing| *timing = timing.in_model(model));
    }

    pub(crate) fn set_flash(&mut self, wait_states: u8, prefetch: bool, caches: FlashCaches) {
        self.flash_state = (wait_states, prefetch);
        self.flash_caches = caches;
        let wanted = (wait_states, prefetch, caches);
        let found = self
            .flash_interface
            .settings
            .iter()
            .find(|s| (s.wait_states, s.prefetch, s.caches) == wanted)
            .map(|s| s.timing);
        let priced = found.is_some() || self.flash_interface.accelerator.exists();
        if !priced && !self.flash_interface.settings.is_empty() {
            self.warnings.add(
                "no-flash-timing",
                format!(
                    "the board file gives no timing for {wait_states} wait states with prefetch \
                 {}{caches}: cycles are counted without flash waits",
                    if prefetch { "on" } else { "off" }
                ),
            );
        }
        let timing = found.unwrap_or_default();
        let other = self.flash_interface.accelerator.set(wait_states, prefetch, caches);
        if other || timing != self.flash_interface.timing {
            self.flash_interface.timing = timing;
            self.flash_interface.reads_wait = timing.data_read.high > 0;
            self.code.generation += 1;
            self.attention = true;
        }
    }

    /// The flash's caches lose what they hold.
    pub(crate) fn empty_flash_caches(&mut self, caches: FlashCaches) {
        if caches != FlashCaches::default() {
            self.flash_interface.accelerator.empty(caches);
        }
    }

    /// The slave behind an address.
    pub fn slave_of(&self, address: u32) -> Slave {
        let address = self.unalias(address);
        match self.memory_at(address).map(|m| m.kind) {
            Some(MemoryKind::Flash) => Slave::Flash,
            Some(MemoryKind::Ram) => Slave::Ram,
            None => self.slot_at(address).map_or(Slave::Apb, |at| self.slots[at].slave),
        }
    }

    /// The port of the bus matrix behind which an address lies: a slave, or a bank of RAM.
    fn port_of(&self, address: u32) -> usize {
        let address = self.unalias(address);
        let mut port = SLAVES;
        for memory in [&self.ram].into_iter().chain(&self.more) {
            if memory.contains(address) && memory.kind == MemoryKind::Ram {
                return port + memory.bank_of(address);
            }
            port += 1 + memory.banks.len();
        }
        self.slave_of(address) as usize
    }

    /// A bus master holds the slave behind `address` for `cycles` from now.
    pub(crate) fn occupy(&mut self, address: u32, cycles: u32) {
        let port = self.port_of(address);
        if port >= self.masters.busy_until.len() {
            self.masters.busy_until.resize(port + 1, 0);
        }
        let busy = &mut self.masters.busy_until[port];
        *busy = self.now.max(*busy) + u64::from(cycles);
        self.masters.contended_until = self.masters.contended_until.max(*busy);
        self.attention = true;
    }

    /// Cycles that a core access starting at `now` waits for another master of its slave.
    pub fn contention(&self, address: u32, now: u64) -> u64 {
        let busy = self.masters.busy_until.get(self.port_of(address)).copied();
        busy.unwrap_or(0).saturating_sub(now)
    }

    /// Core cycles per clock of the bus that a slave is on.
    pub fn divider_of(&self, slave: Slave) -> u32 {
        match slave {
            Slave::Flash | Slave::Ram | Slave::Ahb => 1,
            Slave::Apb => self.clocks.apb_divider.max(1),
            Slave::Apb2 => self.clocks.apb2_divider.max(1),
        }
    }

    /// Cycles that a core data access to a device waits, and why. Memories: see [`FlashTiming`].
    pub(crate) fn device_wait(&self, address: u32) -> Option<(Cause, Bounds)> {
        let slave = match self.places.find(address) {
            Some(at) => self.slots[at].slave,
            None => self.slave_of(address),
        };
        (matches!(slave, Slave::Apb | Slave::Apb2) && self.apb_wait.high > 0).then(|| {
            let times = u64::from(self.divider_of(slave));
            let wait = Bounds {
                low: self.apb_wait.low * times,
                likely: self.apb_wait.likely * times,
                high: self.apb_wait.high * times,
            };
            (Cause::DataWait, wait)
        })
    }

    /// What an access through the peripheral bridge waits, in cycles of the peripheral bus.
    pub fn apb_wait(&self) -> Bounds {
        self.apb_wait
    }
}
