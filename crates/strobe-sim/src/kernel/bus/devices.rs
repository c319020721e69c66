//! What devices do to each other: events at their cycles, interrupt lines, wires, clocks and
//! resets.
//!
//! A device changes the board while it is called; the others hear of it when the call is over.

use super::{Bus, IRQS};
use crate::kernel::clock::Gate;
use crate::kernel::device::{Context, Device, DeviceId, ResetCause};
use crate::kernel::signal::{PinEdge, SignalId};

fn least(cycles: &[u64]) -> u64 {
    let mut least = u64::MAX;
    for &cycle in cycles {
        least = least.min(cycle);
    }
    least
}

impl Bus {
    /// Calls a device unless it is already being called (a master that reaches itself).
    pub(super) fn call<R>(
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

    /// Notifies listeners of changed signals and clocks until all is quiet.
    pub fn settle(&mut self) {
        // A board file can wire devices in a ring; real wires would oscillate, we stop and report
        // it.
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
                self.notify_driven(pin, level);
                continue;
            }
            if let Some(id) = self.signals.take_held_changed() {
                self.notify_listeners(id, |device, cx| {
                    device.pin_watch().into_iter().for_each(|watch| watch.held(id, cx));
                });
                continue;
            }
            let Some(id) = self.signals.take_changed() else { return };
            let level = self.signals.level(id);
            self.notify_listeners(id, |device, cx| device.signal(id, level, cx));
        }
        self.signals.forget_changed();
        self.warnings.add(
            "unsettled-signals",
            "signals did not settle: the board wires devices in a ring".to_owned(),
        );
    }

    fn notify_listeners(&mut self, id: SignalId, notify: impl Fn(&mut dyn Device, &mut Context)) {
        for i in 0..self.signals.listeners(id).len() {
            let at = self.signals.listeners(id)[i] as usize;
            // A device that drives the wire itself while being called hears of it afterwards.
            self.call(at, &notify);
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
        self.set_due(id, u64::MAX, u64::MAX);
        (0..self.slots[at].irqs.len()).for_each(|line| self.set_irq(id, line, false));
        self.call(at, |device, cx| device.reset(cx));
    }

    /// Reset for the requested cause (power-on if nobody asked): every device back to its reset
    /// state; memories keep their contents.
    pub fn reset(&mut self) {
        self.last_reset = self.requests.reset.take().unwrap_or(ResetCause::PowerOn);
        let power_on = self.last_reset == ResetCause::PowerOn;
        // What is beside the chip does not notice that the chip is reset.
        let slots = 0..self.slots.len();
        let hit: Vec<usize> = slots.filter(|&at| power_on || !self.slots[at].is_part).collect();
        hit.into_iter().for_each(|at| self.reset_slot(at));
        self.settle();
    }

    /// Runs every device event due at or before `now`.
    pub fn run_events(&mut self, now: u64) {
        self.now = now;
        while self.next_due <= now {
            let due = self.next_due;
            let Some(at) = self.dues.iter().position(|&d| d == due) else { break };
            // An event is handled at its own cycle, so that what it records is not late.
            self.now = due;
            let (attention, change) = (self.attention, self.changes[at]);
            let is_quiet = change > due && !self.edges_matter();
            self.events += u64::from(!is_quiet);
            self.dues[at] = u64::MAX;
            self.changes[at] = if change > due { change } else { u64::MAX };
            self.call(at, |device, cx| device.event(cx));
            self.settle();
            self.next_due = least(&self.dues);
            if change <= due || self.dues[at] == u64::MAX {
                self.changes[at] = self.changes[at].max(self.dues[at]);
                self.next_change = least(&self.changes);
            }
            if is_quiet {
                self.attention = attention;
            }
        }
        self.now = now;
    }

    /// Runs the events up to `now` that do nothing but set wires, as far as no other is due before
    /// them: for those who look at pins while the core stands still.
    pub(crate) fn run_quiet_events(&mut self, now: u64) {
        if !self.edges_matter() {
            let before = self.now;
            while self.next_due <= now && self.next_due < self.next_change {
                self.run_events(self.next_due);
            }
            self.now = self.now.max(before);
        }
    }

    /// The cycle of the next event that the core could notice. Others before that may be handled
    /// when the core next looks: they happen at their own cycles all the same.
    pub fn next_notable(&self) -> u64 {
        if self.edges_matter() { self.next_due } else { self.next_change }
    }

    /// Whether more could come of a pin's edge than a recording and what ports read: it may stop
    /// the run, ask for an interrupt, or reach somebody beside the chip.
    pub(crate) fn edges_matter(&self) -> bool {
        let outputs = &self.outputs;
        outputs.has_parts || !outputs.stop_edges.is_empty() || !outputs.heard_by.is_empty()
    }

    /// When another device than this one next sets wires alone: ports may read something else then.
    pub(super) fn next_edge_elsewhere(&self, at: usize) -> u64 {
        let all = self.dues.iter().zip(&self.changes).enumerate();
        let edges = all.filter(|(other, (due, change))| *other != at && due < change);
        edges.map(|(_, (due, _))| *due).min().unwrap_or(u64::MAX)
    }

    /// A device asks for an event at `cycle`, and for no other before that: those before `change`
    /// do nothing but set wires.
    pub(crate) fn set_due(&mut self, id: DeviceId, cycle: u64, change: u64) {
        let at = id.0 as usize;
        let (due, changes) = (self.dues[at], self.changes[at]);
        if (due, changes) == (cycle, change) {
            return;
        }
        // An event in the past would stop time; the earliest is now.
        self.dues[at] = cycle.max(self.now);
        self.changes[at] = change.max(self.now);
        if self.dues[at] <= self.next_due {
            self.next_due = self.dues[at];
        } else if due == self.next_due {
            self.next_due = least(&self.dues);
        }
        if self.changes[at] <= self.next_change {
            self.next_change = self.changes[at];
        } else if changes == self.next_change {
            self.next_change = least(&self.changes);
        }
        self.attention = true;
    }

    /// A device's flag was set `times` times although it was set: that many handlers will not run.
    pub(crate) fn lose_requests(&mut self, id: DeviceId, line: usize, times: u64) {
        let entry = self.slots.get(id.0 as usize).and_then(|slot| slot.irqs.get(line));
        let number = entry.map(|entry| usize::from(entry.0));
        if let Some(lost) = number.and_then(|number| self.interrupts.lost.get_mut(number)) {
            *lost += times;
        }
    }

    /// Requests of an interrupt that nobody wanted until now are none.
    pub(crate) fn forget_lost(&mut self, irq: u16) {
        if let Some(lost) = self.interrupts.lost.get_mut(usize::from(irq)) {
            *lost = 0;
        }
    }

    pub(crate) fn set_irq(&mut self, id: DeviceId, line: usize, level: bool) {
        let Some(entry) = self.slots[id.0 as usize].irqs.get_mut(line) else { return };
        if entry.1 == level {
            return;
        }
        entry.1 = level;
        let number = entry.0;
        // Several devices may share a line: it is high while any of them asks.
        let high =
            level || self.slots.iter().flat_map(|s| &s.irqs).any(|&(n, on)| n == number && on);
        let (word, bit) = (number as usize / 32, 1u32 << (number % 32));
        if usize::from(number) < IRQS {
            if high && self.interrupts.levels[word] & bit == 0 {
                self.interrupts.since[usize::from(number)] = self.now;
            }
            if high {
                self.interrupts.levels[word] |= bit;
            } else {
                self.interrupts.levels[word] &= !bit;
            }
            self.attention = true;
        }
    }

    /// Sets a wire as the device that owns it does.
    pub fn set_signal(&mut self, id: SignalId, level: bool) {
        let pin_changed = self.signals.set(id, level);
        if pin_changed && self.outputs.record_edges {
            self.outputs.edges.push(PinEdge { cycle: self.now, pin: id, level });
        }
        if pin_changed && self.outputs.stop_edges.contains(&(id, level)) {
            self.outputs.edges_met.push_back((id, level));
            self.attention = true;
        }
    }

    pub(crate) fn request_reset(&mut self, register: u16, bit: u8) {
        self.resets.push((register, bit));
    }

    /// The outside world drives a pin, or (`None`) lets go of it.
    pub fn drive_pin(&mut self, pin: SignalId, level: Option<bool>) {
        self.notify_driven(pin, level);
        self.settle();
    }

    fn notify_driven(&mut self, pin: SignalId, level: Option<bool>) {
        self.signals.drive(pin, level);
        (0..self.slots.len()).for_each(|at| {
            self.call(at, |device, cx| {
                device.driven_pins()?.driven(pin, cx);
                Some(())
            });
        });
    }
}
