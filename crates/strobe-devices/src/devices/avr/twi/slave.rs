//! The slave's half (21.7.3, 21.7.4): an address is answered, bytes are taken and given with
//! somebody else's SCL, which is held low while firmware has not answered the interrupt.

use super::{TWEA, Twi};
use strobe_sim::kernel::device::{Context, Direction};

/// Status codes (tables 21-5 and 21-6).
mod status {
    pub(super) const ADDRESSED_WRITE: u8 = 0x60;
    pub(super) const DATA: u8 = 0x80;
    /// What is added where all were called.
    pub(super) const GENERAL: u8 = 0x10;
    pub(super) const NOT_ACKNOWLEDGED: u8 = 0x08;
    pub(super) const ENDED: u8 = 0xa0;
    pub(super) const ADDRESSED_READ: u8 = 0xa8;
    pub(super) const SENT: u8 = 0xb8;
    pub(super) const SENT_LAST: u8 = 0xc0;
    pub(super) const SENT_LAST_OF_ALL: u8 = 0xc8;
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Of no concern, up to the next START.
    #[default]
    Idle,
    Address,
    Receive,
    Transmit,
}

#[derive(Debug, Default)]
pub(super) struct Slave {
    state: State,
    /// Rises of SCL since the byte began, of nine.
    bits: u8,
    shift: u8,
    /// SDA at the last rise.
    level: bool,
    /// The byte is acknowledged.
    acknowledges: bool,
    general: bool,
    /// The last byte that firmware wants to give.
    last: bool,
    /// SCL is held low.
    holds: bool,
}

impl Slave {
    /// Whether a master has the chip's attention.
    pub(super) fn is_addressed(&self) -> bool {
        matches!(self.state, State::Receive | State::Transmit)
    }
}

impl Twi {
    /// START, or a repeated one; `level` true is STOP.
    pub(super) fn slave_begins_or_ends(&mut self, level: bool, cx: &mut Context) {
        let was_receiving = self.slave.state == State::Receive;
        let state = if level { State::Idle } else { State::Address };
        self.slave = Slave { state, ..Slave::default() };
        (self.sda.free, self.scl.free) = (true, true);
        if was_receiving {
            self.raise(status::ENDED, cx);
        }
    }

    pub(super) fn slave_clock(&mut self, level: bool, cx: &mut Context) {
        if self.slave.state == State::Idle {
            return;
        }
        if level {
            self.slave_rises(cx);
        } else {
            self.slave_falls(cx);
            // What firmware has not seen yet must not be overrun.
            if self.flag && self.slave.state != State::Idle {
                (self.scl.free, self.slave.holds) = (false, true);
            }
        }
    }

    fn slave_rises(&mut self, cx: &Context) {
        self.slave.level = cx.level(self.sda.pin);
        self.slave.bits += 1;
        if self.slave.bits <= 8 && self.slave.state != State::Transmit {
            self.slave.shift = self.slave.shift << 1 | u8::from(self.slave.level);
        }
    }

    fn slave_falls(&mut self, cx: &mut Context) {
        match (self.slave.bits, self.slave.state) {
            (1..=7, State::Transmit) => self.put_bit(),
            (8, State::Transmit) => self.sda.free = true,
            (8, state) => {
                let wanted = self.control & TWEA != 0;
                let answers = state == State::Receive || self.is_my_address();
                self.slave.acknowledges = wanted && answers;
                self.sda.free = !self.slave.acknowledges;
            }
            (9, state) => {
                self.sda.free = true;
                self.slave.bits = 0;
                self.byte_passed(state, cx);
            }
            _ => {}
        }
    }

    fn put_bit(&mut self) {
        self.sda.free = self.slave.shift << self.slave.bits & 0x80 != 0;
    }

    fn is_my_address(&mut self) -> bool {
        let (called, all) = (self.slave.shift >> 1, self.slave.shift == 0);
        self.slave.general = all && self.address & 1 != 0;
        let differs = (called ^ self.address >> 1) & !(self.address_mask >> 1) & 0x7f;
        self.slave.general || !all && differs == 0
    }

    fn byte_passed(&mut self, state: State, cx: &mut Context) {
        let general = if self.slave.general { status::GENERAL } else { 0 };
        match state {
            State::Address if !self.slave.acknowledges => self.slave.state = State::Idle,
            State::Address => {
                let reads = self.slave.shift & 1 != 0;
                self.slave.state = if reads { State::Transmit } else { State::Receive };
                let code = if reads { status::ADDRESSED_READ } else { status::ADDRESSED_WRITE };
                self.raise(code + general, cx);
            }
            State::Receive => {
                self.data = self.slave.shift;
                cx.serial_frame(Direction::Receive, self.data.into());
                let refused = if self.slave.acknowledges { 0 } else { status::NOT_ACKNOWLEDGED };
                if refused != 0 {
                    self.slave.state = State::Idle;
                }
                self.raise(status::DATA + general + refused, cx);
            }
            State::Transmit => {
                cx.serial_frame(Direction::Transmit, self.data.into());
                let code = match (self.slave.level, self.slave.last) {
                    (true, _) => status::SENT_LAST,
                    (false, true) => status::SENT_LAST_OF_ALL,
                    (false, false) => status::SENT,
                };
                if code != status::SENT {
                    self.slave.state = State::Idle;
                }
                self.raise(code, cx);
            }
            State::Idle => {}
        }
    }

    /// Firmware has answered: the master may go on.
    pub(super) fn slave_goes_on(&mut self) {
        if !std::mem::take(&mut self.slave.holds) {
            return;
        }
        if self.slave.state == State::Transmit && self.slave.bits == 0 {
            self.slave.shift = self.data;
            self.slave.last = self.control & TWEA == 0;
            self.put_bit();
        }
        self.scl.free = true;
    }
}
