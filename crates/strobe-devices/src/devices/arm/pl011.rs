//! The PrimeCell UART PL011 (DDI 0183), also of Stellaris parts (LM3S6965 data sheet, section 12):
//! FIFOs of sixteen, frames of five to eight bits, parity, one or two stop bits.
//!
//! The line is modelled in whole frames at the programmed rate, without a wire; parity and framing
//! errors do not happen. Not modelled, and reported when firmware asks for it: IrDA, modem flow
//! control, breaks. Interrupt lines: one.
//!
//! With `forgiving`, firmware that only ever ran on an emulator prints here too: bytes leave
//! although the UART or its transmitter is off, has no baud rate or has a full FIFO, and the report
//! states that the hardware would lose them.

mod fifo;
#[cfg(test)]
mod tests;

use serde::Deserialize;

use super::identity::Identity;
use crate::devices::common::register::{bit, merge, part};
use crate::devices::common::serial::{Line, earliest};
use fifo::Inbox;
use strobe_sim::kernel::device::{
    Context, Create, Device, Direction, OptionError, Reading, Sender, SerialEnd, Size,
};

const DR: u32 = 0x00;
const RSR: u32 = 0x04;
const FR: u32 = 0x18;
const ILPR: u32 = 0x20;
const IBRD: u32 = 0x24;
const FBRD: u32 = 0x28;
const LCRH: u32 = 0x2c;
const CR: u32 = 0x30;
const IFLS: u32 = 0x34;
const IMSC: u32 = 0x38;
const RIS: u32 = 0x3c;
const MIS: u32 = 0x40;
const ICR: u32 = 0x44;

/// Flags of FR.
mod fr {
    pub(super) const BUSY: u32 = 1 << 3;
    pub(super) const RX_EMPTY: u32 = 1 << 4;
    pub(super) const TX_FULL: u32 = 1 << 5;
    pub(super) const RX_FULL: u32 = 1 << 6;
    pub(super) const TX_EMPTY: u32 = 1 << 7;
}

/// Bit numbers in CR.
mod cr {
    pub(super) const ENABLE: u32 = 0;
    pub(super) const IRDA: u32 = 1;
    pub(super) const LOOPBACK: u32 = 7;
    pub(super) const TX: u32 = 8;
    pub(super) const RX: u32 = 9;
    /// Both halves are on.
    pub(super) const RESET: u32 = 0x300;
}

/// Bit numbers in LCRH.
mod lcrh {
    pub(super) const BREAK: u32 = 0;
    pub(super) const PARITY: u32 = 1;
    pub(super) const TWO_STOP_BITS: u32 = 3;
    pub(super) const FIFOS: u32 = 4;
    pub(super) const LENGTH: u32 = 5;
}

/// Interrupts in IMSC, RIS, MIS and ICR.
mod interrupt {
    pub(super) const RX: u32 = 1 << 4;
    pub(super) const TX: u32 = 1 << 5;
    pub(super) const TIMEOUT: u32 = 1 << 6;
    pub(super) const OVERRUN: u32 = 1 << 10;
    pub(super) const ALL: u32 = 0x7ff;
}

/// Modes that are not modelled: (register, bits, name).
const UNMODELLED: &[(u32, u32, &str)] = &[
    (CR, 1 << cr::IRDA, "IrDA mode"),
    (CR, 0b11 << 14, "hardware flow control"),
    (LCRH, 1 << lcrh::BREAK, "sending a break"),
];

/// Frames a FIFO holds; without FIFOs it is one.
const FIFO: usize = 16;
/// Both levels at half.
const IFLS_RESET: u32 = 0b01_0010;

#[derive(Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    /// Prints what the hardware would lose.
    #[serde(default)]
    forgiving: bool,
    /// PID4 to PID7, PID0 to PID3, CID0 to CID3.
    identity: Option<Identity>,
}

struct Pl011 {
    options: Options,
    tx: Line,
    rx: Line,
    inbox: Inbox,
    ilpr: u32,
    ibrd: u32,
    fbrd: u32,
    /// In force since LCRH was last written (3.3.6), in 64ths.
    divisor: u32,
    lcrh: u32,
    cr: u32,
    ifls: u32,
    imsc: u32,
    ris: u32,
}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    Ok(Box::new(Pl011::new(cx.options()?)))
}

/// How many of sixteen an IFLS field means.
fn level(field: u32) -> usize {
    [2, 4, 8, 12, 14, 14, 14, 14][(field & 7) as usize]
}

impl Pl011 {
    fn new(options: Options) -> Self {
        Pl011 {
            options,
            tx: Line::default(),
            rx: Line::default(),
            inbox: Inbox::default(),
            ilpr: 0,
            ibrd: 0,
            fbrd: 0,
            divisor: 0,
            lcrh: 0,
            cr: cr::RESET,
            ifls: IFLS_RESET,
            imsc: 0,
            ris: 0,
        }
    }

    fn depth(&self) -> usize {
        if bit(self.lcrh, lcrh::FIFOS) { FIFO } else { 1 }
    }

    fn half_is_on(&self, half: u32) -> bool {
        bit(self.cr, cr::ENABLE) && bit(self.cr, half)
    }

    /// Core cycles of `bits` bits; `None` while the baud rate generator stands still.
    fn bits(&self, bits: u32, cx: &Context) -> Option<u64> {
        let divisor = if self.options.forgiving { self.divisor.max(64) } else { self.divisor };
        // A bit is 16 divisors, a divisor unit a 64th of a clock.
        let clocks = (u64::from(bits) * u64::from(divisor)).div_ceil(4);
        (divisor > 0).then(|| clocks * u64::from(cx.bus_divider()))
    }

    fn frame_bits(&self) -> u32 {
        let data = 5 + (self.lcrh >> lcrh::LENGTH & 3);
        let parity = u32::from(bit(self.lcrh, lcrh::PARITY));
        1 + data + parity + 1 + u32::from(bit(self.lcrh, lcrh::TWO_STOP_BITS))
    }

    fn flags(&self) -> u32 {
        let when = |condition: bool, flag: u32| if condition { flag } else { 0 };
        when(self.tx.is_busy(), fr::BUSY)
            | when(self.inbox.len() == 0, fr::RX_EMPTY)
            | when(self.tx.waiting() >= self.depth(), fr::TX_FULL)
            | when(self.inbox.len() >= self.depth(), fr::RX_FULL)
            | when(self.tx.waiting() == 0, fr::TX_EMPTY)
    }

    fn send(&mut self, byte: u8, cx: &mut Context) {
        let forgiving = self.options.forgiving;
        let fate = if forgiving { "the hardware would lose it" } else { "it is lost" };
        let full = self.tx.waiting() >= self.depth();
        let why = if full {
            Some("while its FIFO was full")
        } else if !self.half_is_on(cr::TX) {
            Some("while it was switched off")
        } else if self.divisor == 0 {
            Some("before its baud rate was set")
        } else {
            None
        };
        if let Some(why) = why {
            let held = if forgiving || full { fate } else { "it waits" };
            cx.warn_of("data-lost", format!("{}: a byte was written {why}: {held}", cx.name()));
        }
        if (!full || forgiving) && !self.tx.push(byte) {
            cx.warn_of(
                "data-lost",
                format!("{}: too many bytes wait to be sent: bytes were lost", cx.name()),
            );
        }
        // 3.3.10: filling the FIFO beyond its level takes the interrupt back.
        if self.tx.waiting() > self.tx_level() {
            self.ris &= !interrupt::TX;
        }
    }

    /// The transmit interrupt comes when no more than this wait.
    fn tx_level(&self) -> usize {
        if self.depth() == 1 { 0 } else { FIFO - level(self.ifls).max(2) }.min(FIFO)
    }

    fn rx_level(&self) -> usize {
        if self.depth() == 1 { 1 } else { level(self.ifls >> 3) }
    }

    fn run(&mut self, cx: &mut Context) {
        let now = cx.now();
        if let Some(byte) = self.tx.finish(now) {
            if bit(self.cr, cr::LOOPBACK) {
                self.receive(byte, cx);
            } else {
                cx.serial_frame(Direction::Transmit, byte.into());
            }
        }
        if let Some(byte) = self.rx.finish(now) {
            cx.serial_frame(Direction::Receive, byte.into());
            self.receive(byte, cx);
        }
        if self.inbox.take_timeout(now) {
            self.ris |= interrupt::TIMEOUT;
        }
        let Some(frame) = self.bits(self.frame_bits(), cx) else { return };
        if self.options.forgiving || self.half_is_on(cr::TX) {
            let before = self.tx.waiting();
            self.tx.start(now, frame);
            if before > self.tx_level() && self.tx.waiting() <= self.tx_level() {
                self.ris |= interrupt::TX;
            }
        }
        if self.half_is_on(cr::RX) {
            self.rx.start(now, frame);
        }
    }

    fn receive(&mut self, byte: u8, cx: &mut Context) {
        // The data's width is LCRH.WLEN's.
        let byte = byte & (0xff >> (3 - (self.lcrh >> lcrh::LENGTH & 3)));
        let silence = self.bits(32, cx).unwrap_or(u64::MAX);
        let timeout = cx.now().saturating_add(silence);
        if !self.inbox.push(byte, self.depth(), timeout) {
            self.ris |= interrupt::OVERRUN;
            cx.warn_overrun();
        }
        if self.inbox.len() >= self.rx_level() {
            self.ris |= interrupt::RX;
        }
    }

    fn take(&mut self) -> u32 {
        let value = self.inbox.pop();
        if self.inbox.len() < self.rx_level() {
            self.ris &= !interrupt::RX;
        }
        if self.inbox.len() == 0 {
            self.ris &= !interrupt::TIMEOUT;
        }
        value
    }

    fn publish(&self, cx: &mut Context) {
        cx.interrupt(0, self.ris & self.imsc != 0);
        match earliest([self.tx.due(), self.rx.due(), self.inbox.timeout()]) {
            Some(cycle) => cx.wake_at(cycle),
            None => cx.sleep(),
        }
    }

    fn word(&self, register: u32) -> Option<u32> {
        Some(match register {
            FR => self.flags(),
            RSR => self.inbox.overrun(),
            ILPR => self.ilpr,
            IBRD => self.ibrd,
            FBRD => self.fbrd,
            LCRH => self.lcrh,
            CR => self.cr,
            IFLS => self.ifls,
            IMSC => self.imsc,
            RIS => self.ris,
            MIS => self.ris & self.imsc,
            DR | ICR => 0,
            _ => return self.options.identity?.register(register),
        })
    }

    fn write_word(&mut self, register: u32, value: u32, cx: &mut Context) {
        for (_, _, mode) in UNMODELLED.iter().filter(|(r, b, _)| *r == register && value & b != 0) {
            cx.warn_of("not-modelled", format!("{}: {mode} is not modelled", cx.name()));
        }
        match register {
            DR => self.send(value as u8, cx),
            RSR => self.inbox.clear_overrun(),
            ILPR => self.ilpr = value & 0xff,
            IBRD => self.ibrd = value & 0xffff,
            FBRD => self.fbrd = value & 0x3f,
            LCRH => {
                self.lcrh = value & 0xff;
                self.divisor = self.ibrd << 6 | self.fbrd;
                if !bit(value, lcrh::FIFOS) {
                    self.inbox.shrink();
                }
            }
            CR => self.cr = value & 0xff87,
            IFLS => self.ifls = value & 0x3f,
            IMSC => self.imsc = value & interrupt::ALL,
            ICR => self.ris &= !value,
            _ => {}
        }
    }
}

impl Device for Pl011 {
    fn read(&mut self, offset: u32, size: Size, cx: &mut Context) -> Option<u32> {
        let register = offset & !3;
        let word = if register == DR { self.take() } else { self.word(register)? };
        if register == DR {
            self.publish(cx);
        }
        Some(part(word, offset, size))
    }

    fn reading(&mut self, offset: u32, _: Size, _: &mut Context) -> Reading {
        match offset & !3 {
            DR if self.inbox.len() > 0 => Reading::Unknown,
            // An empty FIFO shows the byte that was taken last.
            _ => Reading::FIXED,
        }
    }

    fn write(&mut self, offset: u32, size: Size, value: u32, cx: &mut Context) -> Option<()> {
        let register = offset & !3;
        let value = merge(self.word(register)?, offset, size, value);
        self.write_word(register, value, cx);
        self.run(cx);
        self.publish(cx);
        Some(())
    }

    fn event(&mut self, cx: &mut Context) {
        self.run(cx);
        self.publish(cx);
    }

    fn reset(&mut self, cx: &mut Context) {
        // What the host has sent is still on its way.
        let rx = std::mem::take(&mut self.rx);
        *self = Pl011 { rx, ..Pl011::new(self.options) };
        self.publish(cx);
    }

    fn serial_end(&self) -> Option<&dyn SerialEnd> {
        Some(self)
    }

    fn serial_end_mut(&mut self) -> Option<&mut dyn SerialEnd> {
        Some(self)
    }

    fn sender(&self) -> Option<&dyn Sender> {
        Some(self)
    }
}

impl SerialEnd for Pl011 {
    fn host_byte(&mut self, byte: u8, cx: &mut Context) {
        if !self.rx.push(byte) {
            cx.warn_host_ahead();
        }
        self.event(cx);
    }

    fn host_room(&self) -> usize {
        self.rx.room()
    }
}

impl Sender for Pl011 {
    fn is_sending(&self) -> bool {
        self.tx.is_busy()
    }
}
