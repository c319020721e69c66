//! The instrumentation trace macrocell (DDI 0403E, C1.7): stimulus ports, timestamps, and the order
//! in which packets go out.
//!
//! It knows the cycle and what the pin does, not who executes what.

use super::fifo::{Bytes, DEPTHS, Depths, Source};
use super::packet::Packet;
use super::stamps::{Line, LocalClock, Stamps};

/// Bits of ITM_TCR.
mod tcr {
    pub(super) const ITMENA: u32 = 1;
    pub(super) const TSENA: u32 = 1 << 1;
    pub(super) const SYNCENA: u32 = 1 << 2;
    /// Called DWTENA by the Cortex-M3's manual.
    pub(super) const TXENA: u32 = 1 << 3;
    pub(super) const SWOENA: u32 = 1 << 4;
    pub(super) const BUSY: u32 = 1 << 23;
    pub(super) const WRITABLE: u32 = 0x007f_0f1f;
}

/// What unlocks the registers from TER on.
const KEY: u32 = 0xc5ac_ce55;

/// The unit.
#[derive(Debug, Clone)]
pub(crate) struct Itm {
    pub(crate) depths: Depths,
    /// Trace is on (DEMCR.TRCENA).
    on: bool,
    unlocked: bool,
    control: u32,
    enabled: u32,
    privilege: u32,
    software: Source,
    hardware: Source,
    /// A synchronisation packet is to go out.
    synchronise: bool,
    stamps: Stamps,
    pub(crate) output: Bytes,
}

impl Default for Itm {
    fn default() -> Self {
        Itm {
            depths: DEPTHS,
            on: false,
            unlocked: false,
            control: 0,
            enabled: 0,
            privilege: 0,
            software: Source::default(),
            hardware: Source::default(),
            synchronise: false,
            stamps: Stamps::default(),
            output: Bytes::default(),
        }
    }
}

impl Itm {
    fn is_on(&self) -> bool {
        self.on && self.control & tcr::ITMENA != 0
    }

    /// Whether time changes anything: packets wait, or timestamps may come due.
    pub(crate) fn is_active(&self) -> bool {
        self.is_on() || self.is_busy()
    }

    /// Packets wait.
    pub(crate) fn is_busy(&self) -> bool {
        self.synchronise
            || !self.software.is_empty()
            || !self.hardware.is_empty()
            || !self.output.is_empty()
    }

    /// The trace stream's number in the formatter's frames (TraceBusID).
    pub(crate) fn stream(&self) -> u8 {
        (self.control >> 16 & 0x7f) as u8
    }

    /// DEMCR.TRCENA changes.
    pub(crate) fn set_on(&mut self, on: bool, now: u64) {
        self.change(now, |itm| itm.on = on);
    }

    fn change(&mut self, now: u64, change: impl FnOnce(&mut Self)) {
        let before = (self.is_on(), self.stamps_locally(), self.local_clock());
        change(self);
        if before != (self.is_on(), self.stamps_locally(), self.local_clock()) {
            self.stamps.restart(now);
        }
    }

    fn local_clock(&self) -> LocalClock {
        let prescale = [1, 4, 16, 64][(self.control >> 8 & 3) as usize];
        LocalClock { prescale, by_line: self.control & tcr::SWOENA != 0 }
    }

    /// Reads a register; `None` where there is none.
    pub(crate) fn read(&self, offset: u32) -> Option<u32> {
        Some(match offset {
            0..=0x7c => {
                let on = self.is_on() && self.enabled >> (offset / 4) & 1 != 0;
                u32::from(on && self.software.has_room(self.depths.software_packets))
            }
            0xe00 => self.enabled,
            0xe40 => self.privilege,
            0xe80 => self.control | if self.is_busy() { tcr::BUSY } else { 0 },
            0xfb0 => 0,
            // LSR: there is a lock, and it holds.
            0xfb4 => 1 | u32::from(!self.unlocked) << 1,
            _ => return None,
        })
    }

    /// Writes a register but the ports; `None` where there is none.
    pub(crate) fn write(&mut self, offset: u32, value: u32, now: u64) -> Option<()> {
        match offset {
            0xfb0 => self.unlocked = value == KEY,
            0xfb4 => {}
            0xe00 | 0xe40 | 0xe80 if !self.on || !self.unlocked => {}
            0xe00 => self.enabled = value,
            0xe40 => self.privilege = value & 15,
            0xe80 => self.change(now, |itm| itm.control = value & tcr::WRITABLE),
            _ => return None,
        }
        Some(())
    }

    /// Writes so many bytes to a stimulus port.
    pub(crate) fn write_port(
        &mut self,
        port: u32,
        value: u32,
        bytes: u32,
        privileged: bool,
        now: u64,
    ) {
        let allowed = privileged || self.privilege >> (port / 8) & 1 == 0;
        if allowed && self.is_on() && self.enabled >> port & 1 != 0 {
            let packet = Packet::software(port, value, bytes);
            self.software.push(packet, now, self.depths.software_packets);
        }
    }

    /// Takes a packet of the DWT. Without TXENA it is discarded.
    pub(crate) fn take(&mut self, packet: Packet, at: u64) {
        if self.is_on() && self.control & tcr::TXENA != 0 {
            self.hardware.push(packet, at, self.depths.hardware_packets);
        }
    }

    /// The DWT's heartbeat.
    pub(crate) fn synchronise(&mut self) {
        if self.is_on() && self.control & tcr::SYNCENA != 0 {
            self.synchronise = true;
        }
    }

    /// Which bits of the count a change of asks for a global timestamp, from bit 7 or 13 on
    /// (GTSFREQ).
    fn global_bit(&self) -> Option<u32> {
        match self.control >> 10 & 3 {
            1 if self.is_on() => Some(7),
            2 if self.is_on() => Some(13),
            _ => None,
        }
    }

    fn stamps_locally(&self) -> bool {
        self.is_on() && self.control & tcr::TSENA != 0
    }

    /// The next cycle at which the unit does something by itself.
    pub(crate) fn due(&self) -> u64 {
        let wraps =
            if self.stamps_locally() { self.stamps.wraps_at(self.local_clock()) } else { u64::MAX };
        self.global_bit().map_or(u64::MAX, |bit| self.stamps.asks_at(bit)).min(wraps)
    }

    /// Does what is due.
    pub(crate) fn tick(&mut self, now: u64) {
        let clock = self.local_clock();
        if self.stamps_locally() && self.stamps.wraps_at(clock) <= now {
            self.stamps.wrapped(clock);
            self.hardware.overflow(now);
        }
        if self.global_bit().is_some_and(|bit| self.stamps.asks_at(bit) <= now) {
            self.stamps.ask(now);
        }
    }

    /// Puts into the output what fits, in the order of the manual (DDI 0337, ITM functional
    /// description): software, DWT, timestamps, and synchronisation before all, which must not
    /// wait for a pause that never comes.
    pub(crate) fn arbitrate(&mut self, now: u64, line: Line) {
        while let Some(packet) = self.next(now, line) {
            if !self.output.fits(&packet.0, self.depths.output_bytes) {
                return;
            }
            self.output.push(&packet.0);
            self.sent(packet.1, now);
        }
    }

    fn next(&self, now: u64, line: Line) -> Option<(Packet, From)> {
        if self.synchronise {
            return Some((Packet::SYNC, From::Synchronisation));
        }
        let software = self.software.first().map(|waiting| (waiting.packet, From::Software));
        let hardware = || self.hardware.first().map(|waiting| (waiting.packet, From::Hardware));
        if let Some(packet) = software.or_else(hardware) {
            return Some(packet);
        }
        let local = || self.stamps.local(now, self.local_clock(), line);
        if self.stamps_locally()
            && let Some(packet) = local()
        {
            return Some((packet, From::Local));
        }
        Some((self.stamps.global(now)?, From::Global))
    }

    fn sent(&mut self, from: From, now: u64) {
        let source = match from {
            From::Synchronisation => {
                self.synchronise = false;
                return self.stamps.synchronise();
            }
            From::Local => return self.stamps.sent_local(now),
            From::Global => return self.stamps.sent_global(now),
            From::Software => &mut self.software,
            From::Hardware => &mut self.hardware,
        };
        let Some(waiting) = source.first().copied() else { return };
        source.pop();
        if waiting.is_data {
            self.stamps.note(waiting.at, now);
            // GTSFREQ 3: after every packet, where nothing else waits.
            let quiet = self.software.is_empty() && self.hardware.is_empty();
            if self.control >> 10 & 3 == 3 && quiet {
                self.stamps.ask(now);
            }
        }
    }
}

/// What a packet is of.
#[derive(Debug, Clone, Copy)]
enum From {
    Synchronisation,
    Software,
    Hardware,
    Local,
    Global,
}
