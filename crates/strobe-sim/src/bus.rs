//! The bus: which memory or device answers an address, and everything devices share.
//!
//! Memories are on the fast path and know nothing of time. Devices are on the slow path: each access
//! happens at an exact cycle, and whatever it changes (interrupt lines, timed events, flash settings)
//! raises `attention` so that the core leaves its block of decoded instructions at once.

use std::collections::VecDeque;
use std::ops::Range;

use strobe_model::{Bounds, Cause};

mod bit_band;
mod host;
pub(crate) mod io;

use crate::clock::{Clocks, Gate};
use crate::device::part::Shown;
use crate::device::{Context, Device, DeviceId, ResetCause, SerialFrame, Size};
use crate::flash::accelerator::Accelerator;
use crate::flash::{FlashCaches, FlashTiming};
use crate::memory::{BusFault, Memory, MemoryKind};
use crate::signal::{PinEdge, SignalId, Signals};
use crate::unmodelled::Unmodelled;
use crate::warnings::Warnings;

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

/// Number of [`Slave`]s; the banks of RAM beyond them are told apart by number.
const SLAVES: usize = 5;

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
    /// The model; absent while it is being called.
    pub(crate) device: Option<Box<dyn Device>>,
    /// Accesses while the clock gate was closed, and the program counter of the first.
    pub(crate) unclocked: u64,
    pub(crate) unclocked_pc: u32,
}

/// A device that firmware used while its clock was off, which reads as zero and ignores writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unclocked<'a> {
    /// The device's name.
    pub device: &'a str,
    /// The enable bit that would have helped, as the manual names it; may be empty.
    pub enable: &'a str,
    /// Accesses.
    pub accesses: u64,
    /// Program counter of the first.
    pub first_pc: u32,
}

/// Interrupt request lines that a core may have (ARMv7-M; an ARMv6-M has at most 32).
pub(crate) const IRQS: usize = 240;
/// Words for that many levels.
pub(crate) const IRQ_WORDS: usize = IRQS.div_ceil(32);

/// Flash behaviour at one setting of the flash controller.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FlashSetting {
    pub(crate) wait_states: u8,
    pub(crate) prefetch: bool,
    pub(crate) caches: FlashCaches,
    pub(crate) timing: FlashTiming,
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

/// The peripheral region of the ARMv6-M memory map (B3.1): unlisted addresses in it are unmodelled
/// registers, not faults.
const PERIPHERALS: Range<u32> = 0x4000_0000..0x6000_0000;

/// The address behind alias windows (alias base, size, target base).
pub(crate) fn unalias(aliases: &[(u32, u32, u32)], address: u32) -> u32 {
    let window = aliases.iter().find(|&&(base, size, _)| address.wrapping_sub(base) < size);
    window.map_or(address, |&(base, _, target)| target + (address - base))
}

/// The range that holds both; an empty one adds nothing.
fn around(a: &Range<u32>, b: &Range<u32>) -> Range<u32> {
    match (a.is_empty(), b.is_empty()) {
        (true, _) => b.clone(),
        (_, true) => a.clone(),
        _ => a.start.min(b.start)..a.end.max(b.end),
    }
}

/// How far a load relative to the program counter reaches (ARMv7-M, LDR literal).
const LITERAL_REACH: u32 = 4096;

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
    pub(crate) fn add(&mut self, slot: Slot) {
        self.slots.push(slot);
        self.dues.push(u64::MAX);
    }

    pub(crate) fn unalias(&self, address: u32) -> u32 {
        unalias(&self.aliases, address)
    }

    /// The memory that holds `address`, after aliases.
    pub fn memory_at(&self, address: u32) -> Option<&Memory> {
        let address = self.unalias(address);
        [&self.flash, &self.ram].into_iter().chain(&self.more).find(|m| m.contains(address))
    }

    /// Whether a memory's own addresses, and not those of an alias, include this one.
    pub fn is_at_home(&self, address: u32) -> bool {
        [&self.flash, &self.ram].into_iter().chain(&self.more).any(|m| m.contains(address))
    }

    /// Puts bytes into memory, flash included, as a programmer does. Bytes outside any memory are an
    /// error that names the first such address.
    pub fn load(&mut self, address: u32, bytes: &[u8]) -> Result<(), BusFault> {
        let address = self.unalias(address);
        let fault = BusFault { address };
        let memory = [&mut self.flash, &mut self.ram]
            .into_iter()
            .chain(&mut self.more)
            .find(|m| m.contains(address))
            .ok_or(fault)?;
        let at = (address - memory.base) as usize;
        let room = memory.data.len() - at;
        let end = BusFault { address: address.wrapping_add(room as u32) };
        memory.data.get_mut(at..at + bytes.len()).ok_or(end)?.copy_from_slice(bytes);
        Ok(())
    }

    /// Reads memory without side effects; devices do not answer.
    pub fn peek(&self, address: u32, size: Size) -> Option<u32> {
        let address = self.unalias(address);
        self.memory_at(address)?.read(address, size)
    }

    fn slot_at(&self, address: u32) -> Option<usize> {
        self.slots.iter().position(|s| address.wrapping_sub(s.base) < s.size)
    }

    /// A naturally aligned read by a bus master at `self.now`. Device events due by then happen first.
    pub fn read(&mut self, address: u32, size: Size) -> Result<u32, BusFault> {
        let address = self.unalias(address);
        if let Some(value) = self.memory_at(address).and_then(|m| m.read(address, size)) {
            return Ok(value);
        }
        let Some(at) = self.slot_at(address) else { return self.read_unmodelled(address, size) };
        self.run_events(self.now);
        if !self.clocked(at) {
            return Ok(0);
        }
        let offset = address - self.slots[at].base;
        let answer = self.call(at, |device, cx| device.read(offset, size, cx)).flatten();
        self.settle();
        match answer {
            Some(value) => Ok(value & size.mask()),
            None => Ok(self.unmodelled_word(address) >> (8 * (address & 3)) & size.mask()),
        }
    }

    /// A naturally aligned write by a bus master at `self.now`. Device events due by then happen first.
    pub fn write(&mut self, address: u32, size: Size, value: u32) -> Result<(), BusFault> {
        let address = self.unalias(address);
        let value = value & size.mask();
        let memory = [&mut self.ram, &mut self.flash]
            .into_iter()
            .chain(&mut self.more)
            .find(|m| m.contains(address));
        if let Some(memory) = memory.filter(|m| m.writable) {
            return memory.write(address, size, value).ok_or(BusFault { address });
        }
        if self.memory_at(address).is_some() {
            self.warnings.add(format!(
                "a write to flash at {address:#010x} was ignored (flash programming is not modelled)"
            ));
            return Ok(());
        }
        self.unmodelled.note_write(self.now);
        let Some(at) = self.slot_at(address) else {
            return self.write_unmodelled(address, size, value);
        };
        self.run_events(self.now);
        if !self.clocked(at) {
            return Ok(());
        }
        let offset = address - self.slots[at].base;
        let answer = self.call(at, |device, cx| device.write(offset, size, value, cx)).flatten();
        self.settle();
        if answer.is_none() {
            self.set_unmodelled(address, size, value);
        }
        Ok(())
    }

    fn clocked(&mut self, at: usize) -> bool {
        if self.gate_open(DeviceId(at as u8)) {
            return true;
        }
        let slot = &mut self.slots[at];
        if slot.unclocked == 0 {
            slot.unclocked_pc = self.pc;
        }
        slot.unclocked += 1;
        self.answer_unclocked
    }

    /// Whether the clock controller lets a device's clock through.
    pub(crate) fn gate_open(&self, id: DeviceId) -> bool {
        self.slots[id.0 as usize].gate.is_none_or(|gate| self.clocks.gate_open(gate))
    }

    fn note_strict(&mut self, address: u32) {
        if self.strict && self.strict_hit.is_none() {
            self.strict_hit = Some((address, self.pc));
            self.attention = true;
        }
    }

    /// Whether unlisted addresses there are registers that nobody modelled, and no fault.
    fn has_registers(&self, address: u32) -> bool {
        PERIPHERALS.contains(&address) || self.unmodelled.known(address & !3).is_some()
    }

    fn read_unmodelled(&mut self, address: u32, size: Size) -> Result<u32, BusFault> {
        if !self.has_registers(address) {
            return Err(BusFault { address });
        }
        Ok(self.unmodelled_word(address) >> (8 * (address & 3)) & size.mask())
    }

    fn unmodelled_word(&mut self, address: u32) -> u32 {
        self.note_strict(address);
        self.unmodelled.read(address & !3, self.pc, self.now)
    }

    fn write_unmodelled(&mut self, address: u32, size: Size, value: u32) -> Result<(), BusFault> {
        if !self.has_registers(address) {
            return Err(BusFault { address });
        }
        self.set_unmodelled(address, size, value);
        Ok(())
    }

    fn set_unmodelled(&mut self, address: u32, size: Size, value: u32) {
        self.note_strict(address);
        let shift = 8 * (address & 3);
        self.unmodelled.write(address & !3, size.mask() << shift, value << shift, self.pc);
    }

    /// Calls a device unless it is already being called (a master that reaches itself).
    fn call<R>(
        &mut self,
        at: usize,
        f: impl FnOnce(&mut dyn Device, &mut Context) -> R,
    ) -> Option<R> {
        let mut device = self.slots[at].device.take()?;
        let mut cx = Context { bus: self, id: DeviceId(at as u8) };
        let result = f(device.as_mut(), &mut cx);
        self.slots[at].device = Some(device);
        Some(result)
    }

    /// Tells listeners of changed signals and clocks until all is quiet.
    pub(crate) fn settle(&mut self) {
        // A board file can wire devices in a ring; real wires would oscillate, we stop and say so.
        for _ in 0..1000 {
            if std::mem::take(&mut self.clocks_dirty) {
                self.attention = true;
                (0..self.slots.len()).for_each(|at| {
                    self.call(at, |device, cx| device.clock_changed(cx));
                });
            }
            if let Some((register, bit)) = self.resets.pop() {
                self.reset_slots(Gate { register, bit });
                continue;
            }
            if let Some((pin, level)) = self.signals.take_driven() {
                self.tell_driven(pin, level);
                continue;
            }
            if let Some(id) = self.signals.take_held_changed() {
                self.tell_listeners(id, |device, cx| device.held(id, cx));
                continue;
            }
            let Some(id) = self.signals.take_changed() else { return };
            let level = self.signals.level(id);
            self.tell_listeners(id, |device, cx| device.signal(id, level, cx));
        }
        self.signals.forget_changed();
        self.warnings.add("signals did not settle: the board wires devices in a ring".to_owned());
    }

    fn tell_listeners(&mut self, id: SignalId, tell: impl Fn(&mut dyn Device, &mut Context)) {
        for i in 0..self.signals.listeners(id).len() {
            let at = self.signals.listeners(id)[i] as usize;
            // A device that drives the wire itself while being called hears of it afterwards.
            self.call(at, &tell);
        }
    }

    fn reset_slots(&mut self, bit: Gate) {
        let hit: Vec<usize> =
            (0..self.slots.len()).filter(|&at| self.slots[at].reset == Some(bit)).collect();
        for at in hit {
            self.reset_slot(at);
        }
    }

    fn reset_slot(&mut self, at: usize) {
        let id = DeviceId(at as u8);
        self.set_due(id, u64::MAX);
        (0..self.slots[at].irqs.len()).for_each(|line| self.set_irq(id, line, false));
        self.call(at, |device, cx| device.reset(cx));
    }

    /// Reset for the requested cause (power-on if nobody asked): every device back to its reset state;
    /// memories keep their contents.
    pub(crate) fn reset(&mut self) {
        self.last_reset = self.reset_request.take().unwrap_or(ResetCause::PowerOn);
        let power_on = self.last_reset == ResetCause::PowerOn;
        // What is beside the chip does not notice that the chip is reset.
        let slots = 0..self.slots.len();
        let hit: Vec<usize> = slots.filter(|&at| power_on || !self.slots[at].is_part).collect();
        hit.into_iter().for_each(|at| self.reset_slot(at));
        self.settle();
    }

    /// Runs every device event due at or before `now`.
    pub(crate) fn run_events(&mut self, now: u64) {
        self.now = now;
        while self.next_due <= now {
            let due = self.next_due;
            let Some(at) = self.dues.iter().position(|&d| d == due) else { break };
            // An event is handled at its own cycle, so that what it records is not late.
            self.now = due;
            self.dues[at] = u64::MAX;
            self.call(at, |device, cx| device.event(cx));
            self.settle();
            self.recompute_due();
        }
        self.now = now;
    }

    fn recompute_due(&mut self) {
        self.next_due = self.dues.iter().copied().min().unwrap_or(u64::MAX);
    }

    pub(crate) fn set_due(&mut self, id: DeviceId, cycle: u64) {
        // An event in the past would stop time; the earliest is now.
        let due = &mut self.dues[id.0 as usize];
        if *due == cycle {
            return;
        }
        *due = cycle.max(self.now);
        self.recompute_due();
        self.attention = true;
    }

    pub(crate) fn set_irq(&mut self, id: DeviceId, line: usize, level: bool) {
        let Some(entry) = self.slots[id.0 as usize].irqs.get_mut(line) else { return };
        if entry.1 == level {
            return;
        }
        entry.1 = level;
        let number = entry.0;
        // Several devices may share a line: it is high while any of them asks.
        let high = self.slots.iter().flat_map(|s| &s.irqs).any(|&(n, on)| n == number && on);
        let (word, bit) = (number as usize / 32, 1u32 << (number % 32));
        if usize::from(number) < IRQS {
            if high && self.irq_levels[word] & bit == 0 {
                self.irq_since[usize::from(number)] = self.now;
            }
            if high {
                self.irq_levels[word] |= bit;
            } else {
                self.irq_levels[word] &= !bit;
            }
            self.attention = true;
        }
    }

    pub(crate) fn set_signal(&mut self, id: SignalId, level: bool) {
        let pin_changed = self.signals.set(id, level);
        if pin_changed && self.record_edges {
            self.edges.push(PinEdge { cycle: self.now, pin: id, level, slack: (0, 0) });
        }
        if pin_changed && self.stop_edges.contains(&(id, level)) {
            self.edges_met.push_back((id, level));
            self.attention = true;
        }
    }

    pub(crate) fn request_reset(&mut self, register: u16, bit: u8) {
        self.resets.push((register, bit));
    }

    pub(crate) fn set_flash(&mut self, wait_states: u8, prefetch: bool, caches: FlashCaches) {
        self.flash_state = (wait_states, prefetch);
        self.flash_caches = caches;
        let wanted = (wait_states, prefetch, caches);
        let found = self
            .flash_settings
            .iter()
            .find(|s| (s.wait_states, s.prefetch, s.caches) == wanted)
            .map(|s| s.timing);
        let priced = found.is_some() || self.accelerator.exists();
        if !priced && !self.flash_settings.is_empty() {
            self.warnings.add(format!(
                "the board file gives no timing for {wait_states} wait states with prefetch {}{caches}: cycles are counted without flash waits",
                if prefetch { "on" } else { "off" }
            ));
        }
        let timing = found.unwrap_or_default();
        let other = self.accelerator.set(wait_states, prefetch, caches);
        if other || timing != self.flash_timing {
            self.flash_timing = timing;
            self.flash_reads_wait = timing.data_read.high > 0;
            self.generation += 1;
            self.attention = true;
        }
    }

    /// The flash's caches lose what they hold.
    pub(crate) fn empty_flash_caches(&mut self, caches: FlashCaches) {
        if caches != FlashCaches::default() {
            self.accelerator.empty(caches);
        }
    }

    pub(crate) fn slave_of(&self, address: u32) -> Slave {
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
        if port >= self.busy_until.len() {
            self.busy_until.resize(port + 1, 0);
        }
        let busy = &mut self.busy_until[port];
        *busy = self.now.max(*busy) + u64::from(cycles);
        self.contended_until = self.contended_until.max(*busy);
        self.attention = true;
    }

    /// Cycles that a core access starting at `now` waits for another master of its slave.
    pub(crate) fn contention(&self, address: u32, now: u64) -> u64 {
        let busy = self.busy_until.get(self.port_of(address)).copied();
        busy.unwrap_or(0).saturating_sub(now)
    }

    /// Core cycles per clock of the bus that a slave is on.
    pub(crate) fn divider_of(&self, slave: Slave) -> u32 {
        match slave {
            Slave::Flash | Slave::Ram | Slave::Ahb => 1,
            Slave::Apb => self.clocks.apb_divider.max(1),
            Slave::Apb2 => self.clocks.apb2_divider.max(1),
        }
    }

    /// Cycles that a core data access to a device waits, and why. Memories: see [`FlashTiming`].
    pub(crate) fn device_wait(&self, address: u32) -> Option<(Cause, Bounds)> {
        let slave = self.slave_of(address);
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

    /// Whether an aligned store to `address` must be looked at: it may change decoded code, or is watched.
    #[inline(always)]
    pub(crate) fn needs_care(&self, address: u32) -> bool {
        let Range { start, end } = self.careful_stores;
        address.wrapping_sub(start) < end.wrapping_sub(start)
    }

    /// Stores to these words are watched, and no others. Returns whether that is new.
    pub(crate) fn watch_stores(&mut self, words: Range<u32>) -> bool {
        let is_new = self.watched != words;
        self.watched = words;
        self.careful_stores = around(&self.code_range, &self.watched);
        is_new
    }

    /// No code from RAM is decoded any more.
    pub(crate) fn forget_code_in_ram(&mut self) {
        self.code_range = 0..0;
        self.careful_stores = self.watched.clone();
    }

    /// A store may have changed decoded code.
    pub(crate) fn code_written(&mut self, address: u32) {
        if self.code_range.is_empty() && self.writable_code.is_empty() {
            return;
        }
        let word = self.unalias(address) & !3;
        if self.code_range.contains(&word) || self.writable_code.contains(&word) {
            self.generation += 1;
            self.attention = true;
        }
    }

    /// Code was decoded from flash that firmware can write. What lies around it may be literals, which
    /// decoded code takes for constants.
    pub(crate) fn note_writable_code(&mut self, from: u32, to: u32) {
        let from = from.saturating_sub(LITERAL_REACH) & !3;
        let to = to.saturating_add(LITERAL_REACH);
        self.writable_code = around(&self.writable_code, &(from..to));
    }

    /// Code was decoded from RAM. Returns whether stores must be looked at where they had not to be.
    pub(crate) fn note_code_in_ram(&mut self, from: u32, to: u32) -> bool {
        let (from, to) = (from & !3, to.saturating_add(3) & !3);
        let range = around(&self.code_range, &(from..to));
        let grows = range != self.code_range;
        self.code_range = range;
        self.careful_stores = around(&self.code_range, &self.watched);
        grows
    }

    /// Whether code runs, or has run, from RAM.
    pub fn runs_code_in_ram(&self) -> bool {
        !self.code_range.is_empty()
    }

    /// Whether RAM answers there.
    pub(crate) fn is_ram(&self, address: u32) -> bool {
        self.ram.contains(address) || self.more_ram().any(|(_, memory)| memory.contains(address))
    }

    /// RAM besides the main one, with its place among the further memories.
    pub(crate) fn more_ram(&self) -> impl Iterator<Item = (usize, &Memory)> {
        self.more.iter().enumerate().filter(|(_, memory)| memory.kind == MemoryKind::Ram)
    }

    /// A device's name on the board.
    pub fn device_name(&self, id: DeviceId) -> &str {
        &self.slots[id.0 as usize].name
    }

    /// What an access through the peripheral bridge waits, in cycles of the peripheral bus.
    pub fn apb_wait(&self) -> Bounds {
        self.apb_wait
    }

    /// What the data sheet calls an interrupt, where the board file tells it (AVR).
    pub fn irq_name(&self, number: u16) -> Option<&str> {
        let at = usize::from(number).checked_sub(1)?;
        self.vector_names.get(at).map(String::as_str)
    }

    /// Names of the devices that can raise an interrupt, joined with slashes.
    pub fn irq_owners(&self, number: u16) -> Option<String> {
        let owners: Vec<&str> = self
            .slots
            .iter()
            .filter(|s| s.irqs.iter().any(|&(n, _)| n == number))
            .map(|s| s.name.as_str())
            .collect();
        if owners.is_empty() {
            return self.unmodelled.svd()?.interrupts.get(&number).cloned();
        }
        Some(owners.join("/"))
    }

    /// Name of the device at an address.
    pub fn device_at(&self, address: u32) -> Option<&str> {
        match self.slot_at(address) {
            Some(at) => Some(&self.slots[at].name),
            None => self.unmodelled.svd()?.peripheral_at(address).map(|p| p.name.as_str()),
        }
    }

    /// Name of the register at an address with its peripheral's, as `RCC.CR`, where an SVD file tells it.
    pub fn register_at(&self, address: u32) -> Option<&str> {
        self.unmodelled.known(address & !3).map(|known| known.name.as_str())
    }

    /// Whether an SVD file describes the chip.
    pub fn has_svd(&self) -> bool {
        self.unmodelled.svd().is_some()
    }

    /// The device of that name.
    pub fn device_named(&self, name: &str) -> Option<DeviceId> {
        let at = self.slots.iter().position(|s| s.name.eq_ignore_ascii_case(name))?;
        Some(DeviceId(at as u8))
    }

    /// Whether devices answer although their clock is off, which no chip's do.
    pub fn answers_unclocked(&self) -> bool {
        self.answer_unclocked
    }

    /// Devices that were accessed while their clock was off.
    pub fn unclocked(&self) -> impl Iterator<Item = Unclocked<'_>> + '_ {
        self.slots.iter().filter(|s| s.unclocked > 0).map(|s| Unclocked {
            device: &s.name,
            enable: &s.gate_name,
            accesses: s.unclocked,
            first_pc: s.unclocked_pc,
        })
    }

    /// The device at `address` and the offset in it, for naming registers.
    pub fn place_of(&self, address: u32) -> Option<(&str, u32)> {
        let slot = &self.slots[self.slot_at(address)?];
        Some((&slot.name, address - slot.base))
    }

    /// The outside world drives a pin, or (`None`) lets go of it.
    pub fn drive_pin(&mut self, pin: SignalId, level: Option<bool>) {
        self.tell_driven(pin, level);
        self.settle();
    }

    fn tell_driven(&mut self, pin: SignalId, level: Option<bool>) {
        self.signals.drive(pin, level);
        (0..self.slots.len()).for_each(|at| {
            self.call(at, |device, cx| device.driven(pin, cx));
        });
    }

    /// The alias window at `base` shows the memory at `target` from now on.
    pub(crate) fn remap(&mut self, base: u32, target: u32) {
        let size = self.memory_at(target).map_or(0, |m| m.data.len() as u32);
        let Some(alias) = self.aliases.iter_mut().find(|a| a.0 == base) else { return };
        if *alias != (base, size, target) {
            *alias = (base, size, target);
            self.generation += 1;
            self.attention = true;
        }
    }
}
