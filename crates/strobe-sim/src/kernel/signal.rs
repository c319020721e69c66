//! Named wires between devices: alternate functions, pins, DMA requests, triggers.
//!
//! Everything that one device passes to another is a level on a named signal (`USART1_TX`, `PB8`,
//! `SPI2_TX_DMA`), so that a board file can join devices without either knowing the other.

use std::collections::{HashMap, VecDeque};

/// A wire, as an index into [`Signals`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SignalId(pub u16);

/// A change of level on a pin, at the core cycle it happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PinEdge {
    /// Core cycles since reset.
    pub cycle: u64,
    /// The pin's signal.
    pub pin: SignalId,
    /// The new level.
    pub level: bool,
}

#[derive(Debug, Default)]
struct Wire {
    name: String,
    level: bool,
    external: Option<bool>,
    /// The chip holds the pin, at `level`.
    is_held: bool,
    is_pin: bool,
    listeners: Vec<u8>,
}

/// All wires of a board.
#[derive(Debug, Default)]
pub struct Signals {
    wires: Vec<Wire>,
    by_name: HashMap<String, SignalId>,
    changed: Vec<SignalId>,
    /// Pins that the chip has begun to hold or let go of, whose listeners do not know yet.
    held_changed: Vec<SignalId>,
    /// Pins that parts have begun to drive or let go of, whose ports do not know yet.
    driven: VecDeque<(SignalId, Option<bool>)>,
}

impl Signals {
    /// The wire of that name, made on first use.
    pub fn intern(&mut self, name: &str) -> SignalId {
        if let Some(&id) = self.by_name.get(name) {
            return id;
        }
        let id =
            SignalId(u16::try_from(self.wires.len()).expect("a board has under 65536 signals"));
        self.wires.push(Wire { name: name.to_owned(), ..Wire::default() });
        self.by_name.insert(name.to_owned(), id);
        id
    }

    /// The wire of that name, if any device or board file speaks of it.
    pub fn find(&self, name: &str) -> Option<SignalId> {
        self.by_name.get(name).copied()
    }

    /// The wire's name.
    pub fn name(&self, id: SignalId) -> &str {
        &self.wires[id.0 as usize].name
    }

    /// The wire's level now.
    pub fn level(&self, id: SignalId) -> bool {
        self.wires[id.0 as usize].level
    }

    /// The levels of all wires.
    pub fn levels(&self) -> impl Iterator<Item = bool> + '_ {
        self.wires.iter().map(|wire| wire.level)
    }

    /// Marks the wire as a package pin: its edges are recorded.
    pub fn mark_pin(&mut self, id: SignalId) {
        self.wires[id.0 as usize].is_pin = true;
    }

    /// Whether the wire is a package pin.
    pub fn is_pin(&self, id: SignalId) -> bool {
        self.wires[id.0 as usize].is_pin
    }

    /// All pins, in the order they were declared.
    pub fn pins(&self) -> impl Iterator<Item = SignalId> + '_ {
        (0u16..).zip(&self.wires).filter(|(_, w)| w.is_pin).map(|(i, _)| SignalId(i))
    }

    /// Notifies `device` of every change of level.
    pub(crate) fn listen(&mut self, id: SignalId, device: u8) {
        let listeners = &mut self.wires[id.0 as usize].listeners;
        if !listeners.contains(&device) {
            listeners.push(device);
        }
    }

    /// Whether the chip itself holds a pin at its level; if not, somebody else or a pull-up
    /// resistor does.
    pub fn is_held(&self, id: SignalId) -> bool {
        self.wires[id.0 as usize].is_held
    }

    /// Notes whether the chip holds a pin.
    pub(crate) fn hold(&mut self, id: SignalId, held: bool) {
        let wire = &mut self.wires[id.0 as usize];
        if wire.is_held != held && !wire.listeners.is_empty() {
            self.held_changed.push(id);
        }
        wire.is_held = held;
    }

    pub(crate) fn take_held_changed(&mut self) -> Option<SignalId> {
        self.held_changed.pop()
    }

    /// What the world outside the chip does to a pin: drive it, or (`None`) leave it alone.
    pub fn external(&self, id: SignalId) -> Option<bool> {
        self.wires[id.0 as usize].external
    }

    /// Drives a pin from outside; the port that owns it decides the level.
    pub(crate) fn drive(&mut self, id: SignalId, level: Option<bool>) {
        self.wires[id.0 as usize].external = level;
    }

    /// Notes that a part wants to drive a pin.
    pub(crate) fn drive_later(&mut self, id: SignalId, level: Option<bool>) {
        self.driven.push_back((id, level));
    }

    /// The next pin that a part wants otherwise than it is.
    pub(crate) fn take_driven(&mut self) -> Option<(SignalId, Option<bool>)> {
        loop {
            let (id, level) = self.driven.pop_front()?;
            if self.external(id) != level {
                return Some((id, level));
            }
        }
    }

    /// Whether a device listens to the wire or its edges are recorded.
    pub fn is_observed(&self, id: SignalId) -> bool {
        let wire = &self.wires[id.0 as usize];
        wire.is_pin || !wire.listeners.is_empty()
    }

    /// Sets a level; returns whether a pin changed.
    pub(crate) fn set(&mut self, id: SignalId, level: bool) -> bool {
        let wire = &mut self.wires[id.0 as usize];
        if wire.level == level {
            return false;
        }
        wire.level = level;
        if !wire.listeners.is_empty() {
            self.changed.push(id);
        }
        wire.is_pin
    }

    pub(crate) fn take_changed(&mut self) -> Option<SignalId> {
        if self.changed.is_empty() { None } else { Some(self.changed.remove(0)) }
    }

    pub(crate) fn forget_changed(&mut self) {
        self.changed.clear();
        self.held_changed.clear();
        self.driven.clear();
    }

    pub(crate) fn listeners(&self, id: SignalId) -> &[u8] {
        &self.wires[id.0 as usize].listeners
    }
}
