//! The bus as its master drives it: conditions and bytes one after the other (RM0090 27.3.3).
//!
//! Knows neither registers nor the board: it receives what firmware wishes and the length of a
//! clock period, and returns what has happened.

use super::sr1;
use super::target::Target;

/// Clock periods of a byte with its acknowledge.
const BYTE_PERIODS: u64 = 9;

/// What happens on the bus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Nothing: no master.
    Free,
    /// A start or stop condition.
    Starting,
    Stopping,
    /// SB: the address is awaited.
    Started,
    /// The address is on the wire.
    Addressing(u8),
    /// ADDR: the firmware must look first.
    Addressed,
    /// A byte on its way out or in.
    Sending(u8),
    Receiving,
    /// The clock is held until firmware goes on.
    Held,
}

/// What CR1 asks for.
#[derive(Debug, Clone, Copy)]
pub(super) struct PendingAction {
    pub(super) start: bool,
    pub(super) stop: bool,
    pub(super) acknowledge: bool,
    /// POS: the acknowledge bit is for the byte after this one.
    pub(super) position: bool,
}

/// What has come to pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Done {
    /// Something has begun.
    Began,
    /// The start condition is over.
    Started,
    /// The stop condition is over.
    Stopped,
    /// A byte, the address included, has gone out.
    Sent(u8),
    /// A byte has come in.
    Received(u8),
}

/// The master's half of the controller.
pub(super) struct Master {
    pub(super) phase: Phase,
    until: u64,
    /// SR1.
    pub(super) flags: u32,
    /// DR.
    pub(super) data: u8,
    /// DR is full: a byte to send.
    waiting: bool,
    /// A byte received while DR was full.
    shift: Option<u8>,
    /// The last byte received was not acknowledged: the target sends no more.
    refused: bool,
    /// With POS, the acknowledge for the byte that is arriving.
    acknowledge: bool,
    transmits: bool,
    targets: Vec<Target>,
    selected: Option<usize>,
}

impl Master {
    pub(super) fn new(targets: Vec<Target>) -> Self {
        Master {
            phase: Phase::Free,
            until: 0,
            flags: 0,
            data: 0,
            waiting: false,
            shift: None,
            refused: false,
            acknowledge: false,
            transmits: false,
            targets,
            selected: None,
        }
    }

    /// Lets go of the bus at once.
    pub(super) fn abandon(&mut self) {
        *self = Master::new(std::mem::take(&mut self.targets));
    }

    /// SR2: MSL, BUSY, TRA.
    pub(super) fn status(&self) -> u32 {
        let master = !matches!(self.phase, Phase::Free | Phase::Starting);
        let busy = self.phase != Phase::Free;
        u32::from(master) | u32::from(busy) << 1 | u32::from(master && self.transmits) << 2
    }

    /// When the phase is over, if it is by itself.
    pub(super) fn until(&self) -> Option<u64> {
        use Phase::{Addressed, Free, Held, Started};
        (!matches!(self.phase, Free | Started | Addressed | Held)).then_some(self.until)
    }

    /// Goes on by one step; `None` once nothing more can happen by `now`.
    pub(super) fn step(&mut self, wish: PendingAction, period: u64, now: u64) -> Option<Done> {
        match self.phase {
            Phase::Free => self.begin(wish, period, now),
            Phase::Held | Phase::Addressed => self.resume(wish, period, now),
            Phase::Started => None,
            _ if now < self.until => None,
            Phase::Starting => {
                self.flags |= sr1::SB;
                self.enter(Phase::Started, Done::Started)
            }
            Phase::Stopping => {
                self.transmits = false;
                self.enter(Phase::Free, Done::Stopped)
            }
            Phase::Addressing(byte) => {
                self.addressed(byte, wish);
                Some(Done::Sent(byte))
            }
            Phase::Sending(byte) => {
                self.sent(byte);
                Some(Done::Sent(byte))
            }
            Phase::Receiving => Some(Done::Received(self.received(wish))),
        }
    }

    fn enter(&mut self, phase: Phase, done: Done) -> Option<Done> {
        self.phase = phase;
        Some(done)
    }

    fn take(&mut self, phase: Phase, cycles: u64, now: u64) -> Option<Done> {
        self.until = now + cycles;
        self.enter(phase, Done::Began)
    }

    fn begin(&mut self, wish: PendingAction, period: u64, now: u64) -> Option<Done> {
        match wish {
            PendingAction { start: true, .. } => self.take(Phase::Starting, period, now),
            // Nothing is there to stop.
            PendingAction { stop: true, .. } => Some(Done::Stopped),
            _ => None,
        }
    }

    /// Between two bytes: a condition that firmware wishes for, else the next byte if there can be
    /// one.
    fn resume(&mut self, wish: PendingAction, period: u64, now: u64) -> Option<Done> {
        if self.phase == Phase::Addressed {
            return None;
        }
        if wish.stop || wish.start {
            // 27.6.6: the conditions clear TXE, and BTF of a transmission.
            self.flags &= !(sr1::TXE | if self.transmits { sr1::BTF } else { 0 });
            (self.waiting, self.selected) = (false, None);
            let phase = if wish.stop { Phase::Stopping } else { Phase::Starting };
            return self.take(phase, period, now);
        }
        self.selected?;
        if self.transmits && self.waiting {
            self.waiting = false;
            self.flags |= sr1::TXE;
            self.flags &= !sr1::BTF;
            return self.take(Phase::Sending(self.data), BYTE_PERIODS * period, now);
        }
        let goes_on = !self.transmits && !self.refused && self.shift.is_none();
        if goes_on { self.take(Phase::Receiving, BYTE_PERIODS * period, now) } else { None }
    }

    fn addressed(&mut self, byte: u8, wish: PendingAction) {
        self.transmits = byte & 1 == 0;
        self.selected = self.targets.iter_mut().position(|target| target.select(byte));
        (self.refused, self.shift, self.acknowledge) = (false, None, wish.acknowledge);
        if self.selected.is_some() {
            self.flags |= sr1::ADDR;
            self.phase = Phase::Addressed;
        } else {
            self.flags |= sr1::AF;
            self.phase = Phase::Held;
        }
    }

    /// ADDR has been cleared by looking at both status registers.
    pub(super) fn address_seen(&mut self) {
        if self.phase == Phase::Addressed {
            self.flags &= !sr1::ADDR;
            self.flags |= if self.transmits && !self.waiting { sr1::TXE } else { 0 };
            self.phase = Phase::Held;
        }
    }

    fn sent(&mut self, byte: u8) {
        if let Some(target) = self.selected {
            self.targets[target].write(byte);
        }
        // 27.6.6: nothing in either register.
        self.flags |= if self.waiting { 0 } else { sr1::BTF };
        self.phase = Phase::Held;
    }

    fn received(&mut self, wish: PendingAction) -> u8 {
        let byte = self.selected.map_or(0xff, |target| self.targets[target].read());
        let acknowledged = if wish.position { self.acknowledge } else { wish.acknowledge };
        self.acknowledge = wish.acknowledge;
        self.refused = !acknowledged;
        if self.flags & sr1::RXNE == 0 {
            self.data = byte;
            self.flags |= sr1::RXNE;
        } else {
            self.shift = Some(byte);
            self.flags |= sr1::BTF;
        }
        self.phase = Phase::Held;
        byte
    }

    /// Firmware writes DR at `now`. If it has seen SB (`after_start`), this is the address.
    pub(super) fn write(&mut self, byte: u8, after_start: bool, period: u64, now: u64) {
        self.data = byte;
        if after_start && self.phase == Phase::Started {
            self.flags &= !sr1::SB;
            self.waiting = false;
            self.take(Phase::Addressing(byte), BYTE_PERIODS * period, now);
        } else {
            self.waiting = true;
            self.flags &= !(sr1::TXE | sr1::BTF);
        }
    }

    /// Firmware has read DR.
    pub(super) fn data_read(&mut self) {
        self.flags &= !(sr1::RXNE | if self.transmits { 0 } else { sr1::BTF });
        if let Some(byte) = self.shift.take() {
            self.data = byte;
            self.flags |= sr1::RXNE;
        }
    }
}
