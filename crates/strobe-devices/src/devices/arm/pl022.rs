//! The PrimeCell synchronous serial port PL022 (DDI 0194) as bus master, also of Stellaris parts
//! (LM3S6965 data sheet, section 13): FIFOs of eight frames, frames of 4 to 16 bits, SPI and TI
//! formats.
//!
//! A frame is one event at its end, without wires. Nothing is on the bus, so that what arrives is
//! ones or zeros, as the circuit board holds the data input; in loopback mode it is what was sent.
//! Not modelled, and said so when firmware asks for it: slave mode, Microwire format, DMA requests.
//! Interrupt lines: one.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use serde::Deserialize;

use super::identity::Identity;
use crate::devices::common::register::{bit, merge, part};
use crate::devices::common::serial::earliest;
use strobe_sim::kernel::device::{Context, Create, Device, Direction, OptionError, Reading, Size};

const CR0: u32 = 0x00;
const CR1: u32 = 0x04;
const DR: u32 = 0x08;
const SR: u32 = 0x0c;
const CPSR: u32 = 0x10;
const IMSC: u32 = 0x14;
const RIS: u32 = 0x18;
const MIS: u32 = 0x1c;
const ICR: u32 = 0x20;
const DMACR: u32 = 0x24;

/// Bit numbers in CR1.
mod cr1 {
    pub(super) const LOOPBACK: u32 = 0;
    pub(super) const ENABLE: u32 = 1;
    pub(super) const SLAVE: u32 = 2;
}

/// Flags of SR.
mod sr {
    pub(super) const TX_EMPTY: u32 = 1 << 0;
    pub(super) const TX_NOT_FULL: u32 = 1 << 1;
    pub(super) const RX_NOT_EMPTY: u32 = 1 << 2;
    pub(super) const RX_FULL: u32 = 1 << 3;
    pub(super) const BUSY: u32 = 1 << 4;
}

/// Interrupts in IMSC, RIS, MIS; the first two in ICR.
mod interrupt {
    pub(super) const OVERRUN: u32 = 1 << 0;
    pub(super) const TIMEOUT: u32 = 1 << 1;
    pub(super) const RX: u32 = 1 << 2;
    pub(super) const TX: u32 = 1 << 3;
    pub(super) const CLEARED: u32 = OVERRUN | TIMEOUT;
}

/// Modes that are not modelled: (register, bits, their value, name).
const UNMODELLED: &[(u32, u32, u32, &str)] = &[
    (CR0, 3 << 4, 2 << 4, "Microwire format"),
    (CR1, 1 << cr1::SLAVE, 1 << cr1::SLAVE, "slave mode"),
    (DMACR, 1, 1, "receiving by DMA"),
    (DMACR, 2, 2, "sending by DMA"),
];

/// Frames a FIFO holds; interrupts come at half.
const FIFO: usize = 8;
/// Bit periods without a read after which what was received is reported (2.3.7).
const SILENCE: u64 = 32;

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Options {
    /// A resistor on the circuit board holds the data input high.
    pull_up: bool,
    /// PID4 to PID7, PID0 to PID3, CID0 to CID3.
    identity: Option<Identity>,
}

struct Pl022 {
    options: Options,
    cr0: u32,
    cr1: u32,
    cpsr: u32,
    imsc: u32,
    dmacr: u32,
    /// OVERRUN and TIMEOUT; the other two follow the FIFOs.
    raised: u32,
    tx: VecDeque<u16>,
    rx: VecDeque<u16>,
    /// The frame on the bus and the cycle of its end.
    on_bus: Option<(u16, u64)>,
    timeout: Option<u64>,
}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    Ok(Box::new(Pl022::new(cx.options()?)))
}

impl Pl022 {
    fn new(options: Options) -> Self {
        Pl022 {
            options,
            cr0: 0,
            cr1: 0,
            cpsr: 0,
            imsc: 0,
            dmacr: 0,
            raised: 0,
            tx: VecDeque::new(),
            rx: VecDeque::new(),
            on_bus: None,
            timeout: None,
        }
    }

    /// Core cycles of `n` bit periods; `None` while the prescaler stands still.
    fn bits(&self, n: u64, cx: &Context) -> Option<u64> {
        let clocks = u64::from(self.cpsr) * u64::from(1 + (self.cr0 >> 8 & 0xff));
        (clocks > 0).then(|| n * clocks * u64::from(cx.bus_divider()))
    }

    /// Bit periods of a frame. With SPI's first clock phase, and in TI's format, the select line
    /// moves for one period between frames (2.4.3, 2.4.5).
    fn periods(&self) -> u64 {
        let spi_second_phase = self.cr0 >> 4 & 3 == 0 && bit(self.cr0, 7);
        u64::from(self.cr0 & 0xf) + 1 + u64::from(!spi_second_phase)
    }

    /// What of a word is in a frame.
    fn frame_mask(&self) -> u16 {
        u16::MAX >> (15 - (self.cr0 & 0xf))
    }

    fn is_on(&self) -> bool {
        bit(self.cr1, cr1::ENABLE) && !bit(self.cr1, cr1::SLAVE)
    }

    fn status(&self) -> u32 {
        let when = |condition: bool, flag: u32| if condition { flag } else { 0 };
        when(self.tx.is_empty(), sr::TX_EMPTY)
            | when(self.tx.len() < FIFO, sr::TX_NOT_FULL)
            | when(!self.rx.is_empty(), sr::RX_NOT_EMPTY)
            | when(self.rx.len() >= FIFO, sr::RX_FULL)
            | when(self.on_bus.is_some() || !self.tx.is_empty(), sr::BUSY)
    }

    fn raw(&self) -> u32 {
        let when = |condition: bool, flag: u32| if condition { flag } else { 0 };
        self.raised
            | when(self.rx.len() >= FIFO / 2, interrupt::RX)
            | when(self.tx.len() <= FIFO / 2, interrupt::TX)
    }

    fn send(&mut self, word: u32, cx: &mut Context) {
        if self.tx.len() < FIFO {
            self.tx.push_back(word as u16);
        } else {
            cx.warn_of(
                "data-lost",
                format!("{}: a frame was written while its FIFO was full: it is lost", cx.name()),
            );
        }
    }

    /// Lets everything happen that is due by now.
    fn run(&mut self, cx: &mut Context) {
        let now = cx.now();
        if let Some((frame, _)) = self.on_bus.filter(|&(_, end)| end <= now) {
            self.on_bus = None;
            self.finish(frame, cx);
        }
        if self.timeout.is_some_and(|at| at <= now) {
            self.timeout = None;
            self.raised |= interrupt::TIMEOUT;
        }
        if self.on_bus.is_none()
            && self.is_on()
            && let Some(cycles) = self.bits(self.periods(), cx)
            && let Some(word) = self.tx.pop_front()
        {
            self.on_bus = Some((word & self.frame_mask(), now + cycles));
        }
    }

    fn finish(&mut self, frame: u16, cx: &mut Context) {
        cx.serial_frame(Direction::Transmit, frame);
        let nobody = if self.options.pull_up { self.frame_mask() } else { 0 };
        let received = if bit(self.cr1, cr1::LOOPBACK) { frame } else { nobody };
        if self.rx.len() < FIFO {
            self.rx.push_back(received);
        } else {
            self.raised |= interrupt::OVERRUN;
        }
        self.wait_for_reader(cx);
    }

    fn wait_for_reader(&mut self, cx: &Context) {
        let silence = self.bits(SILENCE, cx).filter(|_| !self.rx.is_empty());
        self.timeout = silence.map(|cycles| cx.now() + cycles);
    }

    fn take(&mut self, cx: &Context) -> u32 {
        let frame = self.rx.pop_front().unwrap_or(0);
        self.wait_for_reader(cx);
        if self.rx.is_empty() {
            self.raised &= !interrupt::TIMEOUT;
        }
        frame.into()
    }

    fn publish(&self, cx: &mut Context) {
        cx.interrupt(0, self.raw() & self.imsc != 0);
        match earliest([self.on_bus.map(|(_, end)| end), self.timeout]) {
            Some(cycle) => cx.wake_at(cycle),
            None => cx.sleep(),
        }
    }

    fn word(&self, register: u32) -> Option<u32> {
        Some(match register {
            CR0 => self.cr0,
            CR1 => self.cr1,
            SR => self.status(),
            CPSR => self.cpsr,
            IMSC => self.imsc,
            RIS => self.raw(),
            MIS => self.raw() & self.imsc,
            DMACR => self.dmacr,
            DR | ICR => 0,
            _ => return self.options.identity?.register(register),
        })
    }

    fn write_word(&mut self, register: u32, value: u32, cx: &mut Context) {
        let asked =
            |(r, bits, asked, _): &&(u32, u32, u32, &str)| *r == register && value & bits == *asked;
        for (_, _, _, mode) in UNMODELLED.iter().filter(asked) {
            cx.warn_of("not-modelled", format!("{}: {mode} is not modelled", cx.name()));
        }
        match register {
            CR0 => self.cr0 = value & 0xffff,
            CR1 => self.cr1 = value & 0xf,
            DR => self.send(value, cx),
            // The lowest bit is always clear (3.3.5).
            CPSR => self.cpsr = value & 0xfe,
            IMSC => self.imsc = value & 0xf,
            ICR => self.raised &= !(value & interrupt::CLEARED),
            DMACR => self.dmacr = value & 3,
            _ => {}
        }
    }
}

impl Device for Pl022 {
    fn read(&mut self, offset: u32, size: Size, cx: &mut Context) -> Option<u32> {
        let register = offset & !3;
        if register != DR {
            return Some(part(self.word(register)?, offset, size));
        }
        let frame = self.take(cx);
        self.publish(cx);
        Some(part(frame, offset, size))
    }

    fn reading(&mut self, offset: u32, _: Size, _: &mut Context) -> Reading {
        match offset & !3 {
            // Each read takes a frame and starts the timeout again.
            DR => Reading::Unknown,
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
        *self = Pl022::new(self.options);
        self.publish(cx);
    }
}
