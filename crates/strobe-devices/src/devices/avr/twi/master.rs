//! The master's half: START, bytes and STOP as moves of the two lines, each some time after the one
//! before (21.3, 21.7.1, 21.7.2).

use super::{TWEA, TWSTO, Twi, status};
use strobe_sim::kernel::device::{Context, Direction};

/// What is being done to the lines.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Job {
    Start {
        repeated: bool,
    },
    /// Address and direction.
    Address,
    Send,
    Receive,
    Stop,
}

/// One move, some time after the one before it.
#[derive(Clone, Copy)]
pub(super) enum Move {
    Data(bool),
    Clock(bool),
}

impl Twi {
    pub(super) fn begin(&mut self, job: Job, cx: &mut Context) {
        let (half, quarter) = (self.period() / 2, self.period() / 4);
        let rest = half - quarter;
        self.job = Some(job);
        self.seen = 0;
        self.moves.clear();
        match job {
            Job::Start { repeated } => {
                if repeated {
                    self.moves.extend([(quarter, Move::Data(true)), (rest, Move::Clock(true))]);
                }
                self.moves.extend([(half, Move::Data(false)), (half, Move::Clock(false))]);
            }
            Job::Stop => self.moves.extend([
                (quarter, Move::Data(false)),
                (rest, Move::Clock(true)),
                (half, Move::Data(true)),
            ]),
            Job::Address | Job::Send | Job::Receive => {
                let bits = match job {
                    Job::Receive if self.control & TWEA != 0 => 0x1fe,
                    Job::Receive => 0x1ff,
                    _ => u16::from(self.data) << 1 | 1,
                };
                for bit in (0..9).rev() {
                    let level = bits >> bit & 1 != 0;
                    self.moves.extend([
                        (quarter, Move::Data(level)),
                        (rest, Move::Clock(true)),
                        (half, Move::Clock(false)),
                    ]);
                }
            }
        }
        self.schedule(cx);
    }

    fn schedule(&mut self, cx: &mut Context) {
        self.due = match self.moves.front() {
            Some(&(delay, _)) if !self.waits_for_clock => Some(cx.now() + delay),
            _ => None,
        };
    }

    /// Makes the next move; the one after it follows when its time, or SCL, has come.
    pub(super) fn go_on(&mut self, cx: &mut Context) {
        match self.moves.pop_front() {
            Some((_, Move::Data(level))) => self.sda.free = level,
            Some((_, Move::Clock(level))) => {
                self.scl.free = level;
                self.waits_for_clock = level;
            }
            None => return,
        }
        if self.moves.is_empty() && !self.waits_for_clock {
            self.finish(cx);
        } else {
            self.schedule(cx);
        }
    }

    /// SCL has risen: the bit on SDA counts.
    pub(super) fn clock_rises(&mut self, cx: &mut Context) {
        self.waits_for_clock = false;
        let level = cx.level(self.sda.pin);
        self.seen = self.seen << 1 | u16::from(level);
        let carries_bits = matches!(self.job, Some(Job::Address | Job::Send | Job::Receive));
        // Its own bits are those that it does not leave to the slave.
        let bits_left = self.moves.len() / 3;
        let is_own = match self.job {
            Some(Job::Receive) => bits_left == 0,
            _ => bits_left > 0,
        };
        if carries_bits && is_own && self.sda.free && !level {
            self.lose(cx);
        } else {
            self.schedule(cx);
        }
    }

    /// Another master holds SDA low where this one let go of it (21.8).
    fn lose(&mut self, cx: &mut Context) {
        self.let_go();
        self.busy = true;
        self.raise(status::LOST, cx);
    }

    fn finish(&mut self, cx: &mut Context) {
        let refused = if self.seen & 1 != 0 { status::REFUSED } else { 0 };
        match self.job.take() {
            None => {}
            Some(Job::Start { repeated }) => {
                self.owner = true;
                self.raise(if repeated { status::REPEATED_START } else { status::START }, cx);
            }
            Some(Job::Stop) => {
                self.let_go();
                self.control &= !TWSTO;
                self.status = status::NOTHING;
                self.act(cx);
            }
            Some(Job::Address) => {
                cx.serial_frame(Direction::Transmit, self.data.into());
                self.reads = self.data & 1 != 0;
                let code = if self.reads { status::ADDRESS_READ } else { status::ADDRESS_WRITE };
                self.raise(code + refused, cx);
            }
            Some(Job::Send) => {
                cx.serial_frame(Direction::Transmit, self.data.into());
                self.raise(status::DATA_SENT + refused, cx);
            }
            Some(Job::Receive) => {
                self.data = (self.seen >> 1) as u8;
                cx.serial_frame(Direction::Receive, self.data.into());
                self.raise(status::DATA_READ + refused, cx);
            }
        }
    }
}
