//! What a device may ask of the rest of the board, and pass to it.
//!
//! All of it goes through the bus, and none to another device; what others must hear of they hear
//! when the call is over.

use super::part::{Picture, Shown};
use super::{DeviceId, Direction, ResetCause, SerialFrame, Size};
use crate::kernel::bus::{Bus, Slave};
use crate::kernel::clock::{Clocks, Gate};
use crate::kernel::flash::FlashCaches;
use crate::kernel::memory::BusFault;
use crate::kernel::signal::SignalId;

/// What a device may ask of the board while it handles an access or an event.
pub struct Context<'a> {
    pub(crate) bus: &'a mut Bus,
    pub(crate) id: DeviceId,
}

impl Context<'_> {
    /// This device.
    pub fn id(&self) -> DeviceId {
        self.id
    }

    /// This device's name on the board, as `USART1`.
    pub fn name(&self) -> &str {
        self.bus.device_name(self.id)
    }

    /// The core cycle at which the access or event happens.
    pub fn now(&self) -> u64 {
        self.bus.now
    }

    /// Asks for [`super::Device::event`] at `cycle` (at once if past); replaces an earlier wish.
    pub fn wake_at(&mut self, cycle: u64) {
        self.bus.set_due(self.id, cycle, cycle);
    }

    /// The same for the `next` edge on a line of the device's own. Until `change` its events move
    /// nothing but such lines: no register of its own, interrupt or request. Where nobody acts on
    /// edges, the core goes on meanwhile.
    pub fn wake_for_edge(&mut self, next: u64, change: u64) {
        self.bus.set_due(self.id, next.min(change), change);
    }

    /// Takes back a wish for an event.
    pub fn sleep(&mut self) {
        self.bus.set_due(self.id, u64::MAX, u64::MAX);
    }

    /// Sets the level of the device's interrupt line `line` (index into the board file's `irq`
    /// list).
    pub fn interrupt(&mut self, line: usize, level: bool) {
        self.bus.set_irq(self.id, line, level);
    }

    /// Reports that what asks for an interrupt happened `times` times more, although the line was
    /// asserted for it: these requests are lost.
    pub fn lose_requests(&mut self, line: usize, times: u64) {
        if times > 0 {
            self.bus.lose_requests(self.id, line, times);
        }
    }

    /// How many interrupt lines the board file gives the device.
    pub fn interrupt_lines(&self) -> usize {
        self.bus.slots[self.id.0 as usize].irqs.len()
    }

    /// Whether the device's own clock runs. A change is announced by
    /// [`super::Device::clock_changed`].
    pub fn clocked(&self) -> bool {
        self.bus.gate_open(self.id)
    }

    /// The device of that name, if the board has one.
    pub fn device(&self, name: &str) -> Option<DeviceId> {
        self.bus.device_named(name)
    }

    /// Whether a device has its clock.
    pub fn is_clocked(&self, device: DeviceId) -> bool {
        self.bus.gate_open(device)
    }

    /// Sets a signal's level; listeners are notified after this call returns to the bus.
    pub fn set_signal(&mut self, id: SignalId, level: bool) {
        self.bus.set_signal(id, level);
    }

    /// For a port: a pin's level, and whether the chip holds it there or (`held` false) somebody
    /// else may.
    pub fn set_pin(&mut self, id: SignalId, level: bool, held: bool) {
        self.bus.signals.hold(id, held);
        self.bus.set_signal(id, level);
    }

    /// Whether the chip holds a pin at its level.
    pub fn is_held(&self, id: SignalId) -> bool {
        self.bus.signals.is_held(id)
    }

    /// A signal's level.
    pub fn level(&self, id: SignalId) -> bool {
        self.bus.signals.level(id)
    }

    /// Whether anything would notice a change of the signal; what nobody sees need not be computed.
    pub fn is_observed(&self, id: SignalId) -> bool {
        self.bus.signals.is_observed(id)
    }

    /// The clock tree.
    pub fn clocks(&self) -> &Clocks {
        &self.bus.clocks
    }

    /// For a clock controller: changes the clock tree, then notifies all devices.
    pub fn change_clocks(&mut self, change: impl FnOnce(u64, &mut Clocks)) {
        let (now, before) = (self.bus.now, self.bus.clocks.core_hz());
        change(now, &mut self.bus.clocks);
        let hz = self.bus.clocks.core_hz();
        self.bus.clocks_dirty = true;
        if hz != before && self.bus.stops_at_clock {
            self.bus.clock_changed = true;
            self.bus.attention = true;
        }
    }

    /// For a clock controller: resets the devices whose reset bit is (register, bit).
    pub fn reset_devices(&mut self, register: u16, bit: u8) {
        self.bus.request_reset(register, bit);
    }

    /// For a flash controller: wait states, prefetch and caches as now programmed.
    pub fn set_flash(&mut self, wait_states: u8, prefetch: bool, caches: FlashCaches) {
        self.bus.set_flash(wait_states, prefetch, caches);
    }

    /// The flash's caches lose what they hold.
    pub fn empty_flash_caches(&mut self, caches: FlashCaches) {
        self.bus.empty_flash_caches(caches);
    }

    /// Core cycles per clock of the bus that this device is on.
    pub fn bus_divider(&self) -> u32 {
        self.bus.divider_of(self.slave())
    }

    /// Core cycles per kernel clock of a timer on this device's bus.
    pub fn timer_divider(&self) -> u32 {
        let clocks = &self.bus.clocks;
        let second = self.slave() == Slave::Apb2;
        if second { clocks.apb2_timer_divider } else { clocks.timer_divider }.max(1)
    }

    fn slave(&self) -> Slave {
        self.bus.slots[self.id.0 as usize].slave
    }

    /// For a bus master: whether memory that only the core reaches is at `address`.
    fn out_of_reach(&self, address: u32) -> bool {
        self.bus.memory_at(address).is_some_and(|memory| memory.core_only)
    }

    /// For a bus master: reads memory or a register as the DMA controller does.
    pub fn master_read(&mut self, address: u32, size: Size) -> Result<u32, BusFault> {
        if self.out_of_reach(address) {
            return Err(BusFault { address });
        }
        self.bus.read(address, size)
    }

    /// For a bus master: writes memory or a register as the DMA controller does.
    pub fn master_write(&mut self, address: u32, size: Size, value: u32) -> Result<(), BusFault> {
        if self.out_of_reach(address) {
            return Err(BusFault { address });
        }
        self.bus.write(address, size, value)?;
        self.bus.code_written(address);
        Ok(())
    }

    /// For a bus master: core cycles per clock of the bus that `address` is on.
    pub fn divider_of(&self, address: u32) -> u32 {
        self.bus.divider_of(self.bus.slave_of(address))
    }

    /// For a bus master: which slave answers `address`.
    pub fn slave_of(&self, address: u32) -> Slave {
        self.bus.slave_of(address)
    }

    /// For a bus master: wait states of a flash access as now programmed.
    pub fn flash_wait_states(&self) -> u8 {
        self.bus.flash_state.0
    }

    /// For a bus master: the slave behind `address` is taken for `cycles` from now on.
    pub fn occupy(&mut self, address: u32, cycles: u32) {
        self.bus.occupy(address, cycles);
    }

    /// Reports a frame that has passed a serial interface; sent bytes go to the interface's host
    /// end.
    pub fn serial_frame(&mut self, direction: Direction, value: u16) {
        let frame = SerialFrame { cycle: self.bus.now, device: self.id, direction, value };
        self.bus.outputs.frames.push(frame);
    }

    /// Raises the non-maskable interrupt.
    pub fn non_maskable_interrupt(&mut self) {
        self.bus.requests.nmi = true;
        self.bus.attention = true;
    }

    /// Asks for a system reset (watchdog, software).
    pub fn system_reset(&mut self, cause: ResetCause) {
        self.bus.requests.reset = Some(cause);
        self.bus.attention = true;
    }

    /// Why the board was last reset.
    pub fn reset_cause(&self) -> ResetCause {
        self.bus.last_reset
    }

    /// Sends an event to the core, which wakes it from WFE.
    pub fn send_event(&mut self) {
        self.bus.requests.event = true;
        self.bus.attention = true;
    }

    /// For a sleep control: whether the instruction for it puts the core to sleep.
    pub fn enable_sleep(&mut self, on: bool) {
        self.bus.requests.sleep_enabled = on;
    }

    /// For a sleep control: core cycles that the clock needs to start when the core wakes up.
    pub fn set_start_up(&mut self, cycles: u64) {
        self.bus.requests.start_up = cycles;
    }

    /// Whether anybody could notice when a pin changes: if not, edges that a device makes by itself
    /// may come together.
    pub fn sees_pins(&self) -> bool {
        self.bus.outputs.record_edges || self.bus.edges_matter()
    }

    /// For whoever makes more of pins' edges than levels, as external interrupts: whether it does
    /// as things are.
    pub fn hear_edges(&mut self, on: bool) {
        let (heard_by, id) = (&mut self.bus.outputs.heard_by, self.id);
        if heard_by.contains(&id) == on {
            return;
        }
        if on {
            heard_by.push(id);
        } else {
            heard_by.retain(|&other| other != id);
        }
        // Events that nobody could notice may be events now.
        self.bus.attention = true;
    }

    /// For a device that stops the core for a while.
    pub fn halt(&mut self, cycles: u64) {
        self.bus.requests.halted += cycles;
        self.bus.attention = true;
    }

    /// For an EEPROM beside the bus: the memory that its contents are in.
    pub fn memory_mut(&mut self, address: u32) -> Option<&mut u8> {
        let memory = self.bus.more.iter_mut().find(|memory| memory.contains(address))?;
        memory.data.get_mut((address - memory.base) as usize)
    }

    /// For a part: drives a pin from outside, or (`None`) lets go of it. The port hears of it after
    /// this call has returned to the bus.
    pub fn drive(&mut self, pin: SignalId, level: Option<bool>) {
        self.bus.signals.drive_later(pin, level);
    }

    /// For a part: what it shows from now on.
    pub fn show(&mut self, picture: Picture) {
        let (cycle, part) = (self.bus.now, self.id);
        self.bus.outputs.pictures.push(Shown { cycle, part, picture });
    }

    /// Simulated time since reset, in nanoseconds.
    pub fn nanoseconds(&self) -> u64 {
        self.bus.clocks.nanoseconds_at(self.bus.now)
    }

    /// What the world outside the chip does to a pin.
    pub fn external(&self, pin: SignalId) -> Option<bool> {
        self.bus.signals.external(pin)
    }

    /// For a clock controller: opens or closes a peripheral's clock gate.
    pub fn set_gate(&mut self, gate: Gate, open: bool) {
        self.change_clocks(|_, clocks| clocks.set_gate(gate, open));
    }

    /// For a system controller: the alias window at `base` shows the memory at `target` from now
    /// on.
    pub fn remap(&mut self, base: u32, target: u32) {
        self.bus.remap(base, target);
    }

    /// Warns of how the firmware uses a device, once per distinct text.
    pub fn warn(&mut self, text: impl Into<String>) {
        self.warn_of("device-use", text);
    }

    /// Warns of something that has a code of its own, once per distinct text.
    pub fn warn_of(&mut self, code: &'static str, text: impl Into<String>) {
        self.bus.warnings.add(code, text.into());
    }

    /// Counts a byte that a serial device had to drop.
    pub fn warn_overrun(&mut self) {
        let name = self.name();
        let text = format!(
            "{name}: bytes came in before the firmware took those before (overrun): they are lost"
        );
        self.warn_of("data-lost", text);
    }

    /// Counts a byte from the host that found no room in front of the line.
    pub fn warn_host_ahead(&mut self) {
        let name = self.name();
        let text = format!("{name}: the host sends faster than the line carries: bytes were lost");
        self.warn_of("data-lost", text);
    }
}
