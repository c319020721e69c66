//! Two-wire interface, I2C (ATmega328P data sheet, chapter 21).
//!
//! Wires: `<name>_SDA` and `<name>_SCL`, each with `_ON` and `_OUT` while it is pulled low, `_IN`
//! and `_PULL` while it is let go of: both lines are open drain, and the resistors that pull them
//! up are taken to be there. The pins `sda` and `scl` of the board file are listened to: a slave
//! that holds SCL low is waited for, another master that pulls SDA low wins the bus.
//!
//! A bit takes 16 + 2 TWBR 4^TWPS cycles (21.5.2); the first half of it SCL is low, and SDA changes
//! in the middle of that. A master that has lost the bus to one that calls this chip's own address
//! does not hear the call; sleep is not woken from by one.

use std::collections::VecDeque;

use serde::Deserialize;

use self::line::Line;
use self::master::{Job, Move};
use self::slave::Slave;

use crate::devices::avr::standstill::Standstill;
use strobe_sim::kernel::device::{
    ByteRegisters, Context, Create, Device, OptionError, Reading, Sender, Size,
};
use strobe_sim::kernel::signal::SignalId;

mod line;
mod master;
mod slave;
#[cfg(test)]
mod tests;

const TWBR: u32 = 0;
const TWSR: u32 = 1;
const TWAR: u32 = 2;
const TWDR: u32 = 3;
const TWCR: u32 = 4;
const TWAMR: u32 = 5;

const TWINT: u8 = 1 << 7;
const TWEA: u8 = 1 << 6;
const TWSTA: u8 = 1 << 5;
const TWSTO: u8 = 1 << 4;
const TWWC: u8 = 1 << 3;
const TWEN: u8 = 1 << 2;
const TWIE: u8 = 1;

/// Status codes (tables 21-3 and 21-4).
mod status {
    pub(super) const START: u8 = 0x08;
    pub(super) const REPEATED_START: u8 = 0x10;
    pub(super) const ADDRESS_WRITE: u8 = 0x18;
    pub(super) const DATA_SENT: u8 = 0x28;
    pub(super) const LOST: u8 = 0x38;
    pub(super) const ADDRESS_READ: u8 = 0x40;
    pub(super) const DATA_READ: u8 = 0x50;
    pub(super) const NOTHING: u8 = 0xf8;
    /// What is added where there was no acknowledge.
    pub(super) const REFUSED: u8 = 0x08;
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    sda: String,
    scl: String,
}

struct Twi {
    sda: Line,
    scl: Line,
    rate: u8,
    prescaler: u8,
    status: u8,
    address: u8,
    address_mask: u8,
    data: u8,
    control: u8,
    flag: bool,
    /// This chip has sent START and not yet STOP.
    owner: bool,
    /// Somebody else has.
    busy: bool,
    /// The next byte is data from the slave.
    reads: bool,
    job: Option<Job>,
    moves: VecDeque<(u64, Move)>,
    /// SCL was let go of and has not risen yet.
    waits_for_clock: bool,
    /// Bits seen while SCL was high, the last one lowest.
    seen: u16,
    due: Option<u64>,
    slave: Slave,
    standstill: Standstill,
}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let Options { sda, scl } = cx.options()?;
    if sda == scl {
        return Err(OptionError::SharedPin { first: "sda", second: "scl" });
    }
    let (sda, scl) = (Line::new(cx, &sda, "SDA"), Line::new(cx, &scl, "SCL"));
    Ok(Box::new(Twi {
        sda,
        scl,
        rate: 0,
        prescaler: 0,
        status: status::NOTHING,
        address: 0xfe,
        address_mask: 0,
        data: 0xff,
        control: 0,
        flag: false,
        owner: false,
        busy: false,
        reads: false,
        job: None,
        moves: VecDeque::new(),
        waits_for_clock: false,
        seen: 0,
        due: None,
        slave: Slave::default(),
        standstill: Standstill::default(),
    }))
}

impl Twi {
    fn enabled(&self) -> bool {
        self.control & TWEN != 0
    }

    /// Cycles of a bit.
    fn period(&self) -> u64 {
        16 + 2 * (u64::from(self.rate) << (2 * self.prescaler))
    }

    /// Begins what TWCR asks for, unless something is under way or the flag holds everything up.
    fn act(&mut self, cx: &mut Context) {
        if !self.enabled() || self.flag || self.job.is_some() {
            return;
        }
        self.slave_goes_on();
        let (start, stop) = (self.control & TWSTA != 0, self.control & TWSTO != 0);
        if !self.owner {
            // Without a bus to give up this resets the slave, which is idle here.
            self.control &= !TWSTO;
            if start && !self.busy && !self.slave.is_addressed() {
                self.begin(Job::Start { repeated: false }, cx);
            }
            return;
        }
        let job = match (stop, start) {
            (true, _) => Job::Stop,
            (_, true) => Job::Start { repeated: true },
            _ if matches!(self.status, status::START | status::REPEATED_START) => Job::Address,
            _ if self.reads => Job::Receive,
            _ => Job::Send,
        };
        self.begin(job, cx);
    }

    fn let_go(&mut self) {
        (self.sda.free, self.scl.free) = (true, true);
        (self.owner, self.job, self.due) = (false, None, None);
        self.waits_for_clock = false;
        self.slave = Slave::default();
        self.moves.clear();
    }

    fn raise(&mut self, code: u8, cx: &mut Context) {
        self.status = code;
        self.flag = true;
        (self.job, self.due) = (None, None);
        self.show(cx);
    }

    fn show(&self, cx: &mut Context) {
        self.sda.show(self.enabled(), cx);
        self.scl.show(self.enabled(), cx);
        cx.interrupt(0, self.flag && self.control & TWIE != 0);
        cx.wake_at(self.due.filter(|_| !self.standstill.is_on()).unwrap_or(u64::MAX));
    }

    fn set_control(&mut self, value: u8, cx: &mut Context) {
        self.control = self.control & TWWC | value & (TWEA | TWSTA | TWSTO | TWEN | TWIE);
        if !self.enabled() {
            self.let_go();
            self.busy = false;
        }
        if value & TWINT != 0 {
            self.flag = false;
        }
        self.act(cx);
    }

    /// What others do between START and STOP, which change SDA while SCL is high.
    fn watch(&mut self, level: bool, cx: &mut Context) {
        if !cx.level(self.scl.pin) {
            return;
        }
        self.busy = !level;
        self.slave_begins_or_ends(level, cx);
        if level {
            self.act(cx);
        }
    }
}

impl Device for Twi {
    fn read(&mut self, register: u32, _: Size, _: &mut Context) -> Option<u32> {
        Some(u32::from(match register {
            TWBR => self.rate,
            TWSR => self.status | self.prescaler,
            TWAR => self.address,
            TWDR => self.data,
            TWCR => self.control | if self.flag { TWINT } else { 0 },
            TWAMR => self.address_mask,
            _ => return None,
        }))
    }

    fn reading(&mut self, _: u32, _: Size, _: &mut Context) -> Reading {
        Reading::FIXED
    }

    fn write(&mut self, register: u32, _: Size, value: u32, cx: &mut Context) -> Option<()> {
        let value = value as u8;
        match register {
            TWBR => self.rate = value,
            TWSR => self.prescaler = value & 3,
            TWAR => self.address = value,
            // While something is under way the byte stays, and the collision is reported (21.9.2).
            TWDR if !self.flag && self.enabled() => self.control |= TWWC,
            TWDR => {
                self.control &= !TWWC;
                self.data = value;
            }
            TWCR => self.set_control(value, cx),
            TWAMR => self.address_mask = value & 0xfe,
            _ => return None,
        }
        self.show(cx);
        Some(())
    }

    fn event(&mut self, cx: &mut Context) {
        if self.due.is_some_and(|due| due <= cx.now()) {
            self.go_on(cx);
        }
        self.show(cx);
    }

    fn signal(&mut self, id: SignalId, level: bool, cx: &mut Context) {
        if !self.enabled() {
            return;
        }
        if id == self.scl.pin && level && self.waits_for_clock {
            self.clock_rises(cx);
        } else if self.owner || self.job.is_some() {
            return;
        } else if id == self.sda.pin {
            self.watch(level, cx);
        } else if id == self.scl.pin {
            self.slave_clock(level, cx);
        }
        self.show(cx);
    }

    fn clock_changed(&mut self, cx: &mut Context) {
        let runs = cx.clocked() && cx.clocks().io_runs();
        let Some(gap) = self.standstill.change(runs, cx.now()) else { return };
        self.due = self.due.map(|due| due + gap);
        self.show(cx);
    }

    fn reset(&mut self, cx: &mut Context) {
        self.let_go();
        (self.rate, self.prescaler, self.status) = (0, 0, status::NOTHING);
        (self.address, self.address_mask, self.data) = (0xfe, 0, 0xff);
        (self.control, self.flag, self.busy, self.reads) = (0, false, false, false);
        self.show(cx);
    }

    fn byte_registers(&mut self) -> Option<&mut dyn ByteRegisters> {
        Some(self)
    }

    fn sender(&self) -> Option<&dyn Sender> {
        Some(self)
    }
}

impl ByteRegisters for Twi {
    fn names(&self) -> &'static [&'static str] {
        &["TWBR", "TWSR", "TWAR", "TWDR", "TWCR", "TWAMR"]
    }
}

impl Sender for Twi {
    fn is_sending(&self) -> bool {
        self.job.is_some() && !self.standstill.is_on()
    }
}
