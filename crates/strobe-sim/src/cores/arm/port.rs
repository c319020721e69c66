//! How instructions reach memory and devices: the two ports that they are executed with.

mod careful;

use strobe_model::Bounds;

pub(crate) use self::careful::{CarefulPort, NO_WAIT};

use super::exec::{Port, Work};
use super::fault::Fault;
use crate::kernel::bus::Bus;
use crate::kernel::device::Size;
use crate::kernel::memory::MemoryKind;

/// An access that the fast port leaves to the careful one.
pub(crate) struct Miss;

/// RAM, and flash when it never waits; nothing else, and not where code lies.
pub(crate) struct FastPort<'a> {
    pub(crate) bus: &'a mut Bus,
    /// What the last instruction's time depends on, if it does.
    pub(crate) spent: Option<Work>,
    /// What it waited for data in flash.
    pub(crate) waited: Bounds,
    /// It accessed RAM that answers late at first.
    pub(crate) first_waits: bool,
}

impl<'a> FastPort<'a> {
    pub(crate) fn new(bus: &'a mut Bus) -> Self {
        FastPort { bus, spent: None, waited: Bounds::exact(0), first_waits: false }
    }
}

impl Port for FastPort<'_> {
    type Stop = Miss;
    const EXCEPTION_RETURNS: bool = false;

    #[inline(always)]
    fn refuse(&mut self, _: Fault) -> Miss {
        Miss
    }

    fn divide_by_zero(&mut self) -> Result<(), Miss> {
        Err(Miss)
    }

    fn spend(&mut self, work: Work) {
        self.spent = Some(work);
    }

    #[inline(always)]
    fn load(&mut self, address: u32, size: Size, _: u32) -> Result<u32, Miss> {
        if address & (size.bytes() - 1) != 0 {
            return Err(Miss);
        }
        self.first_waits |= self.bus.first_wait.is_at(address);
        if let Some(value) = self.bus.ram.read(address, size) {
            return Ok(value);
        }
        if !self.bus.flash_interface.reads_wait
            && let Some(value) = self.bus.flash.read(address, size)
        {
            if self.bus.flash_interface.accelerator.is_on() {
                self.waited += self.bus.flash_interface.accelerator.read(address);
            }
            return Ok(value);
        }
        self.bus.more_ram().find_map(|(_, memory)| memory.read(address, size)).ok_or(Miss)
    }

    #[inline(always)]
    fn literal(&mut self, address: u32) -> Result<u32, Miss> {
        if let Some(value) = self.bus.flash.read(address, Size::Word) {
            if self.bus.flash_interface.accelerator.is_on() {
                self.waited += self.bus.flash_interface.accelerator.read(address);
            }
            return Ok(value);
        }
        self.bus.ram.read(address, Size::Word).ok_or(Miss)
    }

    #[inline(always)]
    fn store(&mut self, address: u32, size: Size, value: u32, _: u32) -> Result<(), Miss> {
        if address & (size.bytes() - 1) != 0 || self.bus.needs_care(address) {
            return Err(Miss);
        }
        self.first_waits |= self.bus.first_wait.is_at(address);
        if let Some(()) = self.bus.ram.write(address, size, value) {
            return Ok(());
        }
        let mut more = self.bus.more.iter_mut().filter(|memory| memory.kind == MemoryKind::Ram);
        more.find_map(|memory| memory.write(address, size, value)).ok_or(Miss)
    }
}
