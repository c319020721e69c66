//! The careful port: every access at its exact cycle, to memory, devices and the private peripheral
//! bus, with its waits and with what may forbid it.

use strobe_model::{Bounds, Cause};

use crate::cores::arm::block::in_flash;
use crate::cores::arm::exec::{Port, Work};
use crate::cores::arm::fault::{Fault, FaultAccess};
use crate::cores::arm::mpu::{Purpose, Rights};
use crate::cores::arm::several::{Several, TransferAborted};
use crate::cores::arm::system::{Caller, LostStore, System};
use crate::cores::arm::timing::Timing;
use crate::cores::arm::trace::{self, Spent};
use crate::cores::arm::turns::{MemoryAccess, Place, Recording};
use crate::kernel::bus::Bus;
use crate::kernel::device::{Reading, Size};
use crate::kernel::flash::{HalfCycleCarry, bounds};
use crate::kernel::memory::MemoryKind;
use crate::kernel::model::Model;
use crate::kernel::observe::{Access, Wait};

/// Everything, at its exact cycle.
pub(crate) struct CarefulPort<'a> {
    pub(crate) bus: &'a mut Bus,
    pub(crate) system: &'a mut System,
    pub(crate) timing: &'a Timing,
    pub(crate) carry: &'a mut HalfCycleCarry,
    /// Cycle at which the instruction started.
    pub(crate) start: u64,
    pub(crate) model: Model,
    pub(crate) pc: u32,
    pub(crate) caller: Caller,
    pub(crate) rights: Rights,
    /// Each access must be allowed first.
    pub(crate) checks: bool,
    /// The access under way, for the report if it fails.
    pub(crate) last: Option<FaultAccess>,
    pub(crate) data_wait: Wait,
    /// Cycles that the first access waits where RAM answers late; 0 once it has.
    pub(crate) first_wait: u8,
    pub(crate) contention: u64,
    /// Cycles that accesses through the single-cycle I/O port save.
    pub(crate) saved: u32,
    /// Cycles that the operands' values cost.
    pub(crate) spent: Bounds,
    /// Further transfers of an unaligned access, a cycle each.
    pub(crate) split: u32,
    /// Of a transfer of several registers.
    pub(crate) several: Several,
    pub(crate) log: Option<&'a mut Vec<Access>>,
    /// The turn of a loop that is being recorded.
    pub(crate) turn: Option<&'a mut Recording>,
    /// A register was read, of a device or of the core.
    pub(crate) read_register: bool,
}

/// A wait of nothing.
pub(crate) const NO_WAIT: Wait = Wait { cause: Cause::DataWait, low: 0, likely: 0, high: 0 };

/// System control space and the rest of the private peripheral bus.
const PPB: std::ops::Range<u32> = 0xe000_0000..0xe010_0000;
const SCS: std::ops::Range<u32> = 0xe000_e000..0xe000_f000;

impl CarefulPort<'_> {
    /// Works out when the access happens and lets devices catch up to then.
    fn arrive(&mut self, address: u32, transfer: u32) {
        let address = self.system.bit_band.behind(address);
        if self.timing.on_io_port(address) {
            self.saved += 1;
        }
        let mut time = self.time(transfer);
        if time < self.bus.masters.contended_until {
            let wait = self.bus.contention(address, time - 1);
            let wait = self.model.of(Bounds { low: 0, likely: wait, high: 2 * wait }).likely;
            self.contention += wait;
            time += wait;
        }
        if self.first_wait > 0 && self.bus.first_wait.is_at(address) {
            let cycles = i64::from(std::mem::take(&mut self.first_wait));
            self.data_wait.low += cycles;
            self.data_wait.likely += cycles;
            self.data_wait.high += cycles;
            time += cycles as u64;
        }
        if let Some(wait) = self.wait_for(address) {
            self.data_wait.low += wait.low;
            self.data_wait.likely += wait.likely;
            self.data_wait.high += wait.high;
            time += wait.likely as u64;
        }
        if self.bus.next_due <= time {
            self.bus.run_events(time);
        }
        self.bus.now = time;
        self.bus.pc = self.pc;
    }

    /// The end of the data phase of a transfer, as known so far.
    fn time(&self, transfer: u32) -> u64 {
        let transfer = u64::from(transfer - self.several.skip) + u64::from(self.split);
        let base = self.start + 2 + transfer + self.contention;
        base + self.data_wait.likely as u64 - u64::from(self.saved)
    }

    fn wait_for(&mut self, address: u32) -> Option<Wait> {
        if self.bus.is_register(address) && !PPB.contains(&address) {
            let (cause, wait) = self.bus.device_wait(address)?;
            return Some(Wait::of(cause, wait));
        }
        let real = self.bus.unalias(address);
        let (cause, b) =
            if self.bus.flash_interface.accelerator.is_on() && self.bus.flash.contains(real) {
                (Cause::DataWait, self.bus.flash_interface.accelerator.read(real))
            } else if in_flash(address, self.bus) {
                let cost = self.bus.flash_interface.timing.data_read;
                (Cause::DataWait, bounds(cost, self.carry.take(cost)))
            } else if PPB.contains(&address) || self.bus.is_ram(address) {
                return None;
            } else {
                self.bus.device_wait(address)?
            };
        Some(Wait { cause, low: b.low as i64, likely: b.likely as i64, high: b.high as i64 })
    }

    fn access(&mut self, address: u32, size: Size, write: bool, value: u32) {
        let (pc, cycle) = (self.pc, self.bus.now);
        if self.system.debug.trace.watches() {
            let seen = trace::Seen { pc, address, bytes: size.bytes(), write, value };
            self.system.debug.trace.accessed(&seen, cycle);
        }
        if let Some(log) = &mut self.log {
            log.push(Access { pc, address, size, write, value, cycle });
        }
        if self.turn.is_some() {
            let place = self.place(address, size, write);
            // One piece of memory has one address there.
            let address = if place == Place::Ram { self.bus.unalias(address) } else { address };
            let access = MemoryAccess { address, size, write, value, cycle, place };
            self.turn.iter_mut().for_each(|turn| turn.access(access));
        }
    }

    /// What an access that has just happened has reached.
    fn place(&mut self, address: u32, size: Size, write: bool) -> Place {
        let unknown = Place::Register(Reading::Unknown);
        if let Some(memory) = self.bus.memory_at(address) {
            let is_ram = memory.writable && memory.kind == MemoryKind::Ram;
            return if is_ram { Place::Ram } else { Place::Constant };
        }
        if write || self.system.bit_band.behind(address) != address {
            return unknown;
        }
        if SCS.contains(&address) {
            return Place::Register(self.system.reading(address, size));
        }
        if PPB.contains(&address) && !self.is_device(address) {
            return Place::Register(self.system.debug.reading(address, size, self.bus.now));
        }
        if self.bus.is_modelled(address) {
            Place::Register(self.bus.reading(address, size))
        } else {
            Place::Unmodelled
        }
    }

    /// Other private peripherals (DWT, FPB, ROM table) belong to the debugger on ARMv6-M.
    fn note_ppb(&mut self, address: u32) {
        self.bus.warnings.add(
            "debug-register",
            format!(
                "debug register {address:#010x} read or written by the firmware: it reads as zero \
             here, and \
             the core itself cannot reach it on silicon"
            ),
        );
    }

    /// Whether a private peripheral is the chip maker's, and on the board.
    fn is_device(&self, address: u32) -> bool {
        self.system.arch().v7m && self.bus.device_at(address).is_some()
    }

    fn read_debug(&mut self, address: u32, size: Size) -> u32 {
        if !self.system.arch().v7m {
            self.note_ppb(address);
            return 0;
        }
        self.note_time();
        let word = self.system.debug.read(address & !3, self.bus.now);
        if word.is_none() {
            self.note_unmodelled(address);
        }
        word.unwrap_or(0) >> (8 * (address & 3)) & size.mask()
    }

    /// What the trace reports of the cycles so far belongs to this instruction.
    fn note_time(&mut self) {
        self.system.debug.trace.spend(self.bus.now, Spent::At(self.pc));
    }

    fn write_debug(&mut self, address: u32, size: Size, value: u32) {
        if !self.system.arch().v7m {
            return self.note_ppb(address);
        }
        self.note_time();
        // When something is due may change.
        self.bus.attention |= trace::decides_what_is_due(address);
        let privileged = self.rights.privileged;
        let write = trace::Write::new(address, size, value, privileged);
        if self.system.debug.write(&write, self.bus.now).is_none() {
            self.note_unmodelled(address);
        }
        if let Some(what) = self.system.debug.asked.take() {
            self.bus.warnings.add("not-modelled", format!("{what}: not modelled"));
        }
    }

    /// The firmware has written a private peripheral of the chip's maker: it may be the one that
    /// lets the trace pin out.
    fn look_at_pin(&mut self, address: u32) {
        let Some(gate) = self.system.trace_gate.filter(|gate| gate.address == address & !3) else {
            return;
        };
        let value = self.bus.read(gate.address, Size::Word).unwrap_or(0);
        self.system.debug.trace.set_pin(gate.is_open(value), self.bus.now);
    }

    fn note_unmodelled(&mut self, address: u32) {
        let page = address & !0xfff;
        self.bus.warnings.add("not-modelled", format!(
            "debug registers at {page:#010x} are not modelled: they read as zero and ignore writes"
        ));
    }

    /// Whether memory protection and privilege allow an access.
    fn check(&mut self, address: u32, size: Size, purpose: Purpose) -> Result<(), Fault> {
        self.last = Some(FaultAccess { address, size, write: purpose == Purpose::Store });
        if !self.checks {
            return Ok(());
        }
        let write = purpose == Purpose::Store;
        if PPB.contains(&address)
            && !self.rights.privileged
            && !self.system.is_for_everybody(address, write)
        {
            return Err(Fault::Unprivileged { address });
        }
        if self.system.mpu.permission(address, self.rights).allows(purpose) {
            Ok(())
        } else {
            Err(Fault::Protected { address, purpose })
        }
    }

    /// Nothing answers a load: a fault, unless the handler only probes.
    fn lost_load(&mut self, address: u32) -> Result<u32, Fault> {
        if self.system.arch().v7m && self.rights.unprotected && self.system.ignores_bus_faults() {
            self.system.note_ignored(address);
            return Ok(0);
        }
        Err(Fault::Bus { address })
    }

    /// Nothing answers a store. One that the write buffer took is noticed later.
    fn lost_store(&mut self, address: u32, size: Size) -> Result<(), Fault> {
        let system = &mut self.system;
        if !system.arch().v7m {
            return Err(Fault::Bus { address });
        }
        if !system.buffers_nothing() && system.mpu.buffers(address, self.rights) {
            let (pc, due) = (self.pc, self.bus.now + 1);
            system.lost_store.get_or_insert(LostStore { address, size, pc, due });
            self.bus.attention = true;
            return Ok(());
        }
        self.lost_load(address).map(|_| ())
    }
}

impl CarefulPort<'_> {
    /// An unaligned access as the aligned ones that the core makes of it; each but the last adds a
    /// cycle (DDI 0337, load and store timings).
    fn parts(
        &self,
        address: u32,
        size: Size,
    ) -> Result<impl Iterator<Item = (u32, Size)> + use<>, TransferAborted> {
        if self.system.traps_unaligned() {
            return Err(Fault::Unaligned { address }.into());
        }
        let mut offset = 0;
        Ok(std::iter::from_fn(move || {
            let left = size.bytes() - offset;
            let at = address.wrapping_add(offset);
            let part = match left {
                0 => return None,
                1 => Size::Byte,
                _ if at & 1 != 0 => Size::Byte,
                _ => Size::Half,
            };
            offset += part.bytes();
            Some((offset - part.bytes(), part))
        }))
    }

    fn load_unaligned(
        &mut self,
        address: u32,
        size: Size,
        transfer: u32,
    ) -> Result<u32, TransferAborted> {
        let mut value = 0;
        for (i, (offset, part)) in self.parts(address, size)?.enumerate() {
            self.split += u32::from(i > 0);
            value |= self.load(address.wrapping_add(offset), part, transfer)? << (8 * offset);
        }
        Ok(value)
    }

    fn store_unaligned(
        &mut self,
        address: u32,
        size: Size,
        value: u32,
        transfer: u32,
    ) -> Result<(), TransferAborted> {
        for (i, (offset, part)) in self.parts(address, size)?.enumerate() {
            self.split += u32::from(i > 0);
            let value = value >> (8 * offset) & part.mask();
            self.store(address.wrapping_add(offset), part, value, transfer)?;
        }
        Ok(())
    }
}

impl Port for CarefulPort<'_> {
    type Stop = TransferAborted;
    const EXCEPTION_RETURNS: bool = true;

    fn refuse(&mut self, fault: Fault) -> TransferAborted {
        fault.into()
    }

    fn divide_by_zero(&mut self) -> Result<(), TransferAborted> {
        let traps = self.system.traps_division_by_zero();
        if traps { Err(Fault::DivideByZero.into()) } else { Ok(()) }
    }

    fn spend(&mut self, work: Work) {
        self.spent = self.timing.extra(work);
    }

    fn load(&mut self, address: u32, size: Size, transfer: u32) -> Result<u32, TransferAborted> {
        if address & (size.bytes() - 1) != 0 {
            return self.load_unaligned(address, size, transfer);
        }
        if let Some(kept) = self.several.kept(transfer) {
            return Ok(kept);
        }
        self.go_on(transfer)?;
        self.check(address, size, Purpose::Load)?;
        self.arrive(address, transfer);
        let value = if SCS.contains(&address) {
            self.note_time();
            // A read itself lets nothing happen, and a line that has changed asks for attention.
            self.bus.attention |= self.system.due() <= self.bus.now;
            self.system.update_lines(&self.bus.interrupts);
            self.system.read(address, size, self.bus.now, self.caller)
        } else if PPB.contains(&address) && !self.is_device(address) {
            self.read_debug(address, size)
        } else {
            match self.system.bit_band.read(self.bus, address, size) {
                Ok(value) => value,
                Err(fault) => self.lost_load(fault.address)?,
            }
        };
        if self.bus.changes_by_itself(address) || PPB.contains(&address) {
            self.bus.readers.note(self.pc, address);
            self.read_register = true;
        }
        self.access(address, size, false, value);
        self.several.note(transfer, value);
        Ok(value)
    }

    fn literal(&mut self, address: u32) -> Result<u32, TransferAborted> {
        // The wait for a literal in flash is part of the block's own cycles.
        self.check(address, Size::Word, Purpose::Load)?;
        self.bus.pc = self.pc;
        let read = self.bus.peek(address, Size::Word);
        let real = self.bus.unalias(address);
        if self.bus.flash_interface.accelerator.is_on() && self.bus.flash.contains(real) {
            let wait = Wait::of(Cause::DataWait, self.bus.flash_interface.accelerator.read(real));
            self.data_wait.low += wait.low;
            self.data_wait.likely += wait.likely;
            self.data_wait.high += wait.high;
        }
        self.bus.now = self.start + 2;
        let value = match read {
            Some(value) => value,
            None => self.load(address, Size::Word, 0)?,
        };
        self.access(address, Size::Word, false, value);
        Ok(value)
    }

    fn store(
        &mut self,
        address: u32,
        size: Size,
        value: u32,
        transfer: u32,
    ) -> Result<(), TransferAborted> {
        if address & (size.bytes() - 1) != 0 {
            return self.store_unaligned(address, size, value, transfer);
        }
        if self.several.kept(transfer).is_some() {
            return Ok(());
        }
        self.go_on(transfer)?;
        self.check(address, size, Purpose::Store)?;
        self.arrive(address, transfer);
        if SCS.contains(&address) {
            self.note_time();
            self.bus.attention = true;
            self.system.update_lines(&self.bus.interrupts);
            self.system.write(address, size, value, self.bus.now);
        } else if PPB.contains(&address) && !self.is_device(address) {
            self.write_debug(address, size, value);
        } else {
            match self.system.bit_band.write(self.bus, address, size, value) {
                Ok(()) if PPB.contains(&address) => self.look_at_pin(address),
                Ok(()) => {}
                Err(fault) => self.lost_store(fault.address, size)?,
            }
        }
        self.access(address, size, true, value & size.mask());
        self.several.note(transfer, value);
        Ok(())
    }
}
