//! How instructions reach memory and devices: fast, which is RAM alone, or with care, at exact
//! cycles.

use super::DATA;
use super::cpu::Cpu;
use super::exec::Port;
use crate::kernel::bus::Bus;
use crate::kernel::device::Size;
use crate::kernel::memory::Memory;
use crate::kernel::observe::Access;
use strobe_isa::avr::insn::{Insn, Special};

/// An access that the fast port leaves to the careful one.
pub(super) struct Miss;

/// RAM and program memory, nothing else.
pub(super) struct FastPort<'a> {
    pub(super) flash: &'a Memory,
    pub(super) ram: &'a mut Memory,
}

impl Port for FastPort<'_> {
    type Stop = Miss;

    #[inline(always)]
    fn load(&mut self, _: &mut Cpu, address: u16) -> Result<u8, Miss> {
        let at = (DATA + u32::from(address)).wrapping_sub(self.ram.base) as usize;
        self.ram.data.get(at).copied().ok_or(Miss)
    }

    #[inline(always)]
    fn store(&mut self, _: &mut Cpu, address: u16, value: u8) -> Result<(), Miss> {
        let at = (DATA + u32::from(address)).wrapping_sub(self.ram.base) as usize;
        *self.ram.data.get_mut(at).ok_or(Miss)? = value;
        Ok(())
    }

    #[inline(always)]
    fn store_bit(&mut self, _: u16, _: u8, _: bool) -> Result<(), Miss> {
        Err(Miss)
    }

    #[inline(always)]
    fn program(&mut self, address: u32) -> u8 {
        program(self.flash, address)
    }

    #[inline(always)]
    fn other(&mut self, _: Insn) -> Result<(), Miss> {
        Err(Miss)
    }
}

fn program(flash: &Memory, address: u32) -> u8 {
    let mask = flash.data.len().wrapping_sub(1);
    flash.data.get(address as usize & mask).copied().unwrap_or(0xff)
}

/// Nothing stops the careful port.
pub(super) enum Never {}

/// Everything, at its exact cycle.
///
/// A read sees the state during the instruction's last cycle; a write takes effect at its end, as
/// the edges of a pin do.
pub(super) struct CarefulPort<'a> {
    pub(super) bus: &'a mut Bus,
    pub(super) pc: u32,
    /// Cycle at which the instruction ends.
    pub(super) end: u64,
    pub(super) log: Option<&'a mut Vec<Access>>,
}

impl CarefulPort<'_> {
    fn note(&mut self, address: u16, write: bool, value: u8) {
        let (pc, cycle) = (self.pc, self.end - u64::from(!write));
        if let Some(log) = &mut self.log {
            log.push(Access {
                pc,
                address: DATA + u32::from(address),
                size: Size::Byte,
                write,
                value: u32::from(value),
                cycle,
            });
        }
    }

    fn beyond(&mut self) {
        let end = self.bus.ram.base - DATA + self.bus.ram.data.len() as u32;
        let pc = self.pc;
        self.bus.warnings.add_once("beyond-ram", || format!(
            "the code reached behind the end of RAM ({end:#06x} and above), first at {pc:#07x}: \
             that reads as zero and keeps nothing"
        ));
    }
}

impl Port for CarefulPort<'_> {
    type Stop = Never;

    fn load(&mut self, cpu: &mut Cpu, address: u16) -> Result<u8, Never> {
        let value = if let Some(value) = self.bus.ram.read(DATA + u32::from(address), Size::Byte) {
            value as u8
        } else if let Some(&register) = cpu.r.get(usize::from(address)) {
            register
        } else if let Some(special) = Special::at(address, cpu.arch) {
            cpu.special(special)
        } else if DATA + u32::from(address) < self.bus.ram.base {
            (self.bus.now, self.bus.pc) = (self.end - 1, self.pc);
            self.bus.io_read(address)
        } else {
            self.beyond();
            0
        };
        self.note(address, false, value);
        Ok(value)
    }

    fn store(&mut self, cpu: &mut Cpu, address: u16, value: u8) -> Result<(), Never> {
        let byte = u32::from(value);
        if self.bus.ram.write(DATA + u32::from(address), Size::Byte, byte).is_some() {
        } else if let Some(register) = cpu.r.get_mut(usize::from(address)) {
            *register = value;
        } else if let Some(special) = Special::at(address, cpu.arch) {
            cpu.set_special(special, value);
        } else if DATA + u32::from(address) < self.bus.ram.base {
            (self.bus.now, self.bus.pc) = (self.end, self.pc);
            self.bus.io_write(address, value);
        } else {
            self.beyond();
        }
        self.note(address, true, value);
        Ok(())
    }

    fn store_bit(&mut self, address: u16, bit: u8, level: bool) -> Result<(), Never> {
        (self.bus.now, self.bus.pc) = (self.end, self.pc);
        self.bus.io_set_bit(address, bit, level);
        self.note(address, true, u8::from(level) << (bit & 7));
        Ok(())
    }

    fn program(&mut self, address: u32) -> u8 {
        program(&self.bus.flash, address)
    }

    fn other(&mut self, insn: Insn) -> Result<(), Never> {
        (self.bus.now, self.bus.pc) = (self.end, self.pc);
        match insn {
            Insn::Wdr => self.bus.watchdog_reset(),
            Insn::Spm { .. } => {
                let pc = self.pc;
                self.bus.warnings.add_once("flash-write", || {
                    format!(
                        "SPM was ignored (flash programming is not modelled), first at {pc:#07x}"
                    )
                });
            }
            // Without a debugger BREAK does nothing.
            _ => {}
        }
        Ok(())
    }
}
