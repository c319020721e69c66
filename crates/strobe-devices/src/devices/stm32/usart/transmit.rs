//! The transmitter: data register, shift register and line (RM0360, "Transmitter").
//!
//! The manual does not state how a write is aligned to the bit clock; here a frame begins with the
//! write when the line is free, and with the end of the last stop bit otherwise.

use super::format::{Baud, Format, Frame};

/// What is on the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Item {
    /// The idle frame after TE is set.
    Idle,
    /// A break.
    Break,
    /// Data as written to TDR.
    Data(u16),
}

#[derive(Debug, Clone, Copy)]
struct Sending {
    item: Item,
    frame: Frame,
    start: u64,
}

/// The transmitting half of a USART.
#[derive(Debug, Default)]
pub(super) struct Transmitter {
    enabled: bool,
    /// The data register, while full.
    data: Option<u16>,
    idle_due: bool,
    break_due: bool,
    sending: Option<Sending>,
}

impl Transmitter {
    /// TXE: the data register can be written.
    pub(super) fn is_ready(&self) -> bool {
        self.data.is_none()
    }

    /// TEACK: the transmitter is on.
    pub(super) fn is_on(&self) -> bool {
        self.enabled || self.sending.is_some()
    }

    /// SBKF: a break is asked for or on the line.
    pub(super) fn is_breaking(&self) -> bool {
        self.break_due || self.sending.is_some_and(|s| s.item == Item::Break)
    }

    /// Whether nothing waits to be sent.
    pub(super) fn is_drained(&self) -> bool {
        self.data.is_none() && !self.break_due
    }

    /// TE with UE. Switched on, it sends an idle frame first; switched off, it completes its frame.
    pub(super) fn enable(&mut self, on: bool) {
        self.idle_due |= on && !self.enabled;
        self.idle_due &= on;
        self.enabled = on;
    }

    /// A write to TDR; a value not yet taken is lost.
    pub(super) fn write(&mut self, data: u16) {
        self.data = Some(data);
    }

    /// SBKRQ.
    pub(super) fn request_break(&mut self) {
        self.break_due = true;
    }

    /// Puts the next thing on the line if it is free.
    pub(super) fn start(&mut self, format: Format, now: u64) {
        if !self.enabled || self.sending.is_some() {
            return;
        }
        let (item, frame) = if std::mem::take(&mut self.idle_due) {
            (Item::Idle, format.idle_frame())
        } else if std::mem::take(&mut self.break_due) {
            (Item::Break, format.break_frame())
        } else if let Some(data) = self.data.take() {
            (Item::Data(format.data(data)), format.data_frame(data))
        } else {
            return;
        };
        self.sending = Some(Sending { item, frame, start: now });
    }

    /// Takes what has been sent completely by `now` off the line.
    pub(super) fn finish(&mut self, baud: Baud, now: u64) -> Option<Item> {
        let sent = self.sending.filter(|s| now >= baud.after(s.start, s.frame.halves()))?;
        self.sending = None;
        Some(sent.item)
    }

    /// The level of the line; high when idle.
    pub(super) fn level(&self, baud: Baud, now: u64) -> bool {
        self.sending.is_none_or(|s| s.frame.level(baud.halves(s.start, now)))
    }

    /// The cycle of the next change of level within the frame.
    pub(super) fn next_edge(&self, baud: Baud, now: u64) -> Option<u64> {
        let s = self.sending?;
        Some(baud.after(s.start, s.frame.next_edge(baud.halves(s.start, now))?))
    }

    /// The cycle at which the frame ends.
    pub(super) fn end(&self, baud: Baud) -> Option<u64> {
        let s = self.sending?;
        Some(baud.after(s.start, s.frame.halves()))
    }

    /// The bit clock changes from `from` to `to`.
    pub(super) fn rescale(&mut self, from: Baud, to: Baud, now: u64) {
        if let Some(sending) = &mut self.sending {
            sending.start = from.rescale(to, sending.start, now);
        }
    }
}
