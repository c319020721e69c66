//! I2C controller of STM32F1, F2 and F4 (RM0090 section 27), as the master of its bus.
//!
//! Modelled: start, repeated start and stop, seven-bit addresses, transmission and reception with
//! their acknowledges (POS included), clock stretching while nobody serves the data register, event
//! and error interrupts, DMA requests, standard and fast clock. Who answers is board data
//! (`targets`); an address that nobody has is not acknowledged. Not modelled, and said so when
//! firmware asks for it: SMBus, packet error checking; silently absent are slave mode, a second
//! master, and the acknowledge that LAST takes back at the end of a reception by DMA. The wires'
//! levels are not driven: both idle high.

mod master;
mod target;

#[cfg(test)]
mod tests;

use master::Master;
use target::Target;

use crate::devices::common::register::{bit, merge, part};
use strobe_sim::kernel::device::{Context, Create, Device, Direction, OptionError, Reading, Size};
use strobe_sim::kernel::signal::SignalId;

const CR1: u32 = 0x00;
const CR2: u32 = 0x04;
const OAR1: u32 = 0x08;
const OAR2: u32 = 0x0c;
const DR: u32 = 0x10;
const SR1: u32 = 0x14;
const SR2: u32 = 0x18;
const CCR: u32 = 0x1c;
const TRISE: u32 = 0x20;

/// Bits of CR1.
mod cr1 {
    pub(super) const PE: u32 = 0;
    pub(super) const START: u32 = 8;
    pub(super) const STOP: u32 = 9;
    pub(super) const ACK: u32 = 10;
    pub(super) const POS: u32 = 11;
    pub(super) const SWRST: u32 = 15;
    pub(super) const WRITABLE: u32 = 0xbffb;
}

/// Bits of CR2.
mod cr2 {
    pub(super) const ITERREN: u32 = 8;
    pub(super) const ITEVTEN: u32 = 9;
    pub(super) const ITBUFEN: u32 = 10;
    pub(super) const DMAEN: u32 = 11;
    pub(super) const WRITABLE: u32 = 0x1f3f;
}

/// Flags in SR1.
mod sr1 {
    pub(super) const SB: u32 = 1 << 0;
    pub(super) const ADDR: u32 = 1 << 1;
    pub(super) const BTF: u32 = 1 << 2;
    pub(super) const RXNE: u32 = 1 << 6;
    pub(super) const TXE: u32 = 1 << 7;
    pub(super) const AF: u32 = 1 << 10;
    /// The error flags, which writing 0 clears.
    pub(super) const ERRORS: u32 = 0xdf00;
    /// What ITEVTEN lets interrupt: SB, ADDR, BTF, ADD10, STOPF.
    pub(super) const EVENTS: u32 = 0x1f;
}

/// Modes that are not modelled: bits of CR1 and their name.
const UNMODELLED: &[(u32, &str)] =
    &[(1 << 1, "SMBus mode"), (1 << 5 | 1 << 12, "packet error checking")];

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    /// What else is on the bus.
    #[serde(default)]
    targets: Vec<Target>,
}

struct I2c {
    cr1: u32,
    cr2: u32,
    oar: [u32; 2],
    ccr: u32,
    trise: u32,
    master: Master,
    /// SR1 as it was last read, the first half of what clears SB and ADDR.
    seen: u32,
    /// The last read of SR2 cleared ADDR, so the bus has gone on since.
    cleared: bool,
    tx_request: SignalId,
    rx_request: SignalId,
}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let Options { targets } = cx.options()?;
    targets.iter().try_for_each(Target::check)?;
    let name = cx.name;
    let mut wire = |suffix: &str| cx.signal(&format!("{name}_{suffix}"));
    Ok(Box::new(I2c {
        cr1: 0,
        cr2: 0,
        oar: [0; 2],
        ccr: 0,
        trise: 0,
        master: Master::new(targets),
        seen: 0,
        cleared: false,
        tx_request: wire("TX_DMA"),
        rx_request: wire("RX_DMA"),
    }))
}

impl I2c {
    /// One period of the clock on the wire, in core cycles (27.6.8).
    fn period(&self, cx: &Context) -> u64 {
        let clocks = match (bit(self.ccr, 15), bit(self.ccr, 14)) {
            (false, _) => 2,
            (true, false) => 3,
            (true, true) => 25,
        };
        clocks * u64::from(self.ccr & 0xfff).max(1) * u64::from(cx.bus_divider())
    }

    /// Lets everything happen that is due by now, and what can follow begin.
    fn run(&mut self, cx: &mut Context) {
        if !bit(self.cr1, cr1::PE) {
            return;
        }
        let period = self.period(cx);
        loop {
            let wish = master::PendingAction {
                start: bit(self.cr1, cr1::START),
                stop: bit(self.cr1, cr1::STOP),
                acknowledge: bit(self.cr1, cr1::ACK),
                position: bit(self.cr1, cr1::POS),
            };
            let Some(done) = self.master.step(wish, period, cx.now()) else { return };
            match done {
                master::Done::Started => self.cr1 &= !(1 << cr1::START),
                master::Done::Stopped => self.cr1 &= !(1 << cr1::STOP),
                master::Done::Sent(byte) => cx.serial_frame(Direction::Transmit, byte.into()),
                master::Done::Received(byte) => cx.serial_frame(Direction::Receive, byte.into()),
                master::Done::Began => {}
            }
        }
    }

    /// Shows the controller's state to the board and asks for the next event.
    fn publish(&mut self, cx: &mut Context) {
        let flags = self.master.flags;
        let enabled = |at: u32| bit(self.cr2, at);
        let buffer = enabled(cr2::ITBUFEN) && flags & (sr1::TXE | sr1::RXNE) != 0;
        cx.interrupt(0, enabled(cr2::ITEVTEN) && (flags & sr1::EVENTS != 0 || buffer));
        cx.interrupt(1, enabled(cr2::ITERREN) && flags & sr1::ERRORS != 0);
        let dma = enabled(cr2::DMAEN);
        cx.set_signal(self.tx_request, dma && flags & sr1::TXE != 0);
        cx.set_signal(self.rx_request, dma && flags & sr1::RXNE != 0);
        match self.master.until() {
            Some(cycle) => cx.wake_at(cycle),
            None => cx.sleep(),
        }
    }

    fn register(&self, register: u32) -> Option<u32> {
        Some(match register {
            CR1 => self.cr1,
            CR2 => self.cr2,
            OAR1 => self.oar[0],
            OAR2 => self.oar[1],
            DR => self.master.data.into(),
            SR1 => self.master.flags,
            SR2 => self.master.status(),
            CCR => self.ccr,
            TRISE => self.trise,
            _ => return None,
        })
    }

    fn write_cr1(&mut self, value: u32, cx: &mut Context) {
        for (_, mode) in UNMODELLED.iter().filter(|(bits, _)| value & bits != 0) {
            cx.warn_of("not-modelled", format!("{}: {mode} is not modelled", cx.name()));
        }
        self.cr1 = value & cr1::WRITABLE;
        if bit(value, cr1::SWRST) {
            (self.cr1, self.cr2, self.oar) = (1 << cr1::SWRST, 0, [0; 2]);
            (self.ccr, self.trise) = (0, 2);
        }
        // 27.6.1: without PE the bus is let go and the flags are cleared.
        if !bit(self.cr1, cr1::PE) {
            self.master.abandon();
            self.cr1 &= !(1 << cr1::START | 1 << cr1::STOP | 1 << cr1::ACK);
        }
    }

    fn write_register(&mut self, register: u32, value: u32, cx: &mut Context) {
        match register {
            CR1 => self.write_cr1(value, cx),
            CR2 => self.cr2 = value & cr2::WRITABLE,
            OAR1 => self.oar[0] = value & 0xffff,
            OAR2 => self.oar[1] = value & 0xff,
            DR => {
                let after_start = self.seen & sr1::SB != 0;
                self.master.write(value as u8, after_start, self.period(cx), cx.now());
            }
            SR1 => self.master.flags &= value | !sr1::ERRORS,
            CCR => self.ccr = value & 0xcfff,
            TRISE => self.trise = value & 0x3f,
            _ => {}
        }
    }
}

impl Device for I2c {
    fn read(&mut self, offset: u32, size: Size, cx: &mut Context) -> Option<u32> {
        let value = self.register(offset & !3)?;
        match offset & !3 {
            SR1 => self.seen = value,
            SR2 if self.seen & sr1::ADDR != 0 => {
                (self.seen, self.cleared) = (0, true);
                self.master.address_seen();
                self.run(cx);
                self.publish(cx);
            }
            SR2 => self.cleared = false,
            DR => {
                self.master.data_read();
                self.run(cx);
                self.publish(cx);
            }
            _ => {}
        }
        Some(part(value, offset, size))
    }

    fn reading(&mut self, offset: u32, _: Size, _: &mut Context) -> Reading {
        match offset & !3 {
            DR => Reading::Unknown,
            SR2 if self.cleared => Reading::Unknown,
            // Reading SR1 again, with the same flags, leaves the sequences where they are.
            _ => Reading::FIXED,
        }
    }

    fn write(&mut self, offset: u32, size: Size, value: u32, cx: &mut Context) -> Option<()> {
        let old = match offset & !3 {
            SR1 => u32::MAX,
            register => self.register(register)?,
        };
        self.write_register(offset & !3, merge(old, offset, size, value), cx);
        self.run(cx);
        self.publish(cx);
        Some(())
    }

    fn event(&mut self, cx: &mut Context) {
        self.run(cx);
        self.publish(cx);
    }

    fn reset(&mut self, cx: &mut Context) {
        (self.cr1, self.cr2, self.oar, self.ccr, self.trise, self.seen) = (0, 0, [0; 2], 0, 2, 0);
        self.master.abandon();
        self.publish(cx);
    }
}
