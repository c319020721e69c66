//! A card as bytes that go in and come out at the same time: commands, responses, data tokens
//! (chapter 7 of the specification). It knows no pins.

use std::collections::VecDeque;

use super::medium::{BLOCK, Medium, crc7, crc16};
use strobe_sim::kernel::device::MediumError;

/// Bits of the response R1 (7.3.2.1).
const IDLE: u8 = 0x01;
const ILLEGAL: u8 = 0x04;
const CRC_ERROR: u8 = 0x08;
const PARAMETER: u8 = 0x40;

/// Tokens (7.3.3).
const START_BLOCK: u8 = 0xfe;
const START_SEVERAL: u8 = 0xfc;
const STOP_SEVERAL: u8 = 0xfd;
const WRITE_ERROR: u8 = 0x0d;
const OUT_OF_RANGE: u8 = 0x08;

/// How long a card takes, in nanoseconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Delays {
    /// From the first ACMD41 until it is ready.
    pub(super) start: u64,
    /// Before the first block of a read.
    pub(super) access: u64,
    /// Before each further one.
    pub(super) next: u64,
}

/// What goes on beside commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Work {
    Nothing,
    /// The block of that number comes not before the given time.
    Reading {
        block: u64,
        several: bool,
        ready: u64,
    },
    /// The host wants to write: waits for the token of a block, then swallows what is left of it.
    Writing {
        several: bool,
        left: usize,
    },
}

pub(super) struct Card {
    medium: Medium,
    delays: Delays,
    /// It has been put into SPI mode by CMD0.
    serial: bool,
    idle: bool,
    /// When it will be ready; from the first ACMD41 on.
    starts: Option<u64>,
    checks: bool,
    /// CMD55 came: the next command is one of the application's.
    application: bool,
    command: Vec<u8>,
    out: VecDeque<u8>,
    work: Work,
    complaint: Option<String>,
}

impl Card {
    pub(super) fn new(
        image: Vec<u8>,
        high_capacity: bool,
        delays: Delays,
    ) -> Result<Self, MediumError> {
        Ok(Self {
            medium: Medium::new(image, high_capacity)?,
            delays,
            serial: false,
            idle: true,
            starts: None,
            checks: false,
            application: false,
            command: Vec::with_capacity(6),
            out: VecDeque::new(),
            work: Work::Nothing,
            complaint: None,
        })
    }

    pub(super) fn power_on(&mut self) {
        (self.serial, self.application) = (false, false);
        self.restart();
        self.deselect();
    }

    /// CMD0.
    fn restart(&mut self) {
        (self.idle, self.starts, self.checks) = (true, None, false);
        self.work = Work::Nothing;
        self.out.clear();
    }

    /// CS goes high: a command that was begun and what was to be sent are forgotten.
    pub(super) fn deselect(&mut self) {
        self.command.clear();
        self.out.clear();
        self.work = Work::Nothing;
    }

    pub(super) fn is_ready(&self) -> bool {
        !self.idle
    }

    /// Complaints about the firmware since the last call.
    pub(super) fn take_complaint(&mut self) -> Option<String> {
        self.complaint.take()
    }

    /// A byte came in at `now`; returns the one that goes out next.
    pub(super) fn exchange(&mut self, byte: u8, now: u64) -> u8 {
        if let Work::Writing { several, left } = self.work {
            self.swallow(byte, several, left);
        } else if !self.command.is_empty() || byte & 0xc0 == 0x40 {
            self.command.push(byte);
            if self.command.len() == 6 {
                self.execute(now);
                self.command.clear();
            }
        }
        if self.out.is_empty() {
            self.read_on(now);
        }
        self.out.pop_front().unwrap_or(0xff)
    }

    /// The next block of a read, once it is there.
    fn read_on(&mut self, now: u64) {
        let Work::Reading { block, several, ready } = self.work else { return };
        if now < ready {
            return;
        }
        if block >= self.medium.blocks() {
            self.out.push_back(OUT_OF_RANGE);
            self.work = Work::Nothing;
            return;
        }
        let data = self.medium.block(block);
        self.send(&data);
        let next = Work::Reading { block: block + 1, several, ready: now + self.delays.next };
        self.work = if several { next } else { Work::Nothing };
    }

    /// A data packet (7.3.3.2).
    fn send(&mut self, data: &[u8]) {
        self.out.push_back(START_BLOCK);
        self.out.extend(data);
        self.out.extend(crc16(data).to_be_bytes());
    }

    /// Bytes of a write, each block of which is answered as failed.
    fn swallow(&mut self, byte: u8, several: bool, left: usize) {
        let work = |left| Work::Writing { several, left };
        self.work = match (left, byte) {
            (0, START_BLOCK) if !several => work(BLOCK + 2),
            (0, START_SEVERAL) if several => work(BLOCK + 2),
            (0, STOP_SEVERAL) if several => Work::Nothing,
            (0, _) => work(0),
            (1, _) => {
                self.out.push_back(WRITE_ERROR);
                if several { work(0) } else { Work::Nothing }
            }
            _ => work(left - 1),
        };
    }

    fn execute(&mut self, now: u64) {
        let Ok([head, a, b, c, d, end]) = <[u8; 6]>::try_from(self.command.as_slice()) else {
            return;
        };
        let number = head & 0x3f;
        let argument = u32::from_be_bytes([a, b, c, d]);
        let application = std::mem::take(&mut self.application);
        let right = crc7(&self.command[..5]) << 1 | 1 == end;
        if !self.serial {
            // A card that is not in SPI mode yet understands CMD0 alone, and that with its check
            // sum.
            if number == 0 && right {
                self.serial = true;
            } else {
                self.complain(format!("CMD{number} before CMD0 with its check sum: no answer"));
                return;
            }
        }
        if !right && (self.checks || matches!(number, 0 | 8)) {
            self.complain(format!("CMD{number} with a wrong check sum"));
            return self.answer(CRC_ERROR, &[]);
        }
        self.obey(number, argument, application, now);
    }

    fn obey(&mut self, number: u8, argument: u32, application: bool, now: u64) {
        match (application, number) {
            (_, 0) => {
                self.restart();
                self.answer(0, &[]);
            }
            (true, 41) => self.start(argument >> 30 & 1 != 0, now),
            // Voltage range and check pattern come back (R7, 7.3.2.6).
            (_, 8) => {
                let [.., voltage, pattern] = argument.to_be_bytes();
                self.answer(0, &[0, 0, voltage & 0xf, pattern]);
            }
            (_, 55) => {
                self.application = true;
                self.answer(0, &[]);
            }
            (_, 58) => self.operating_conditions(),
            (_, 59) => {
                self.checks = argument & 1 != 0;
                self.answer(0, &[]);
            }
            _ if self.idle => self.refuse(number),
            (_, 9) => self.register(self.medium.csd()),
            (_, 10) => self.register(self.medium.cid()),
            (_, 12) => self.stop(),
            (_, 13) => self.answer(0, &[0]),
            (_, 16) if argument as usize == BLOCK => self.answer(0, &[]),
            (_, 16) => {
                self.complain(format!("CMD16 {argument}: blocks of 512 bytes are all there are"));
                self.answer(PARAMETER, &[]);
            }
            (_, 17) => self.read(argument, false, now),
            (_, 18) => self.read(argument, true, now),
            (_, 24) => self.write(false),
            (_, 25) => self.write(true),
            _ => self.refuse(number),
        }
    }

    /// R1 after the one byte that a card takes to answer, with what else belongs to the response.
    fn answer(&mut self, error: u8, more: &[u8]) {
        self.out.clear();
        let idle = if self.idle { IDLE } else { 0 };
        self.out.extend([0xff, error | idle]);
        self.out.extend(more);
    }

    fn complain(&mut self, text: String) {
        self.complaint.get_or_insert(text);
    }

    fn refuse(&mut self, number: u8) {
        self.complain(format!("CMD{number} is refused as illegal here"));
        self.answer(ILLEGAL, &[]);
    }

    /// ACMD41. A card with block addresses never gets ready for a host that does not know of them
    /// (4.2.3).
    fn start(&mut self, host_knows: bool, now: u64) {
        if self.medium.is_high_capacity() && !host_knows {
            self.complain("ACMD41 without HCS: a high-capacity card never gets ready".to_owned());
        } else {
            let ready = *self.starts.get_or_insert(now + self.delays.start);
            self.idle &= now < ready;
        }
        self.answer(0, &[]);
    }

    /// CMD58: the OCR (5.1), 2.7 to 3.6 V.
    fn operating_conditions(&mut self) {
        let up = if self.idle { 0 } else { 0x80 };
        let blocks = if !self.idle && self.medium.is_high_capacity() { 0x40 } else { 0 };
        self.answer(0, &[up | blocks, 0xff, 0x80, 0]);
    }

    fn register(&mut self, contents: [u8; 16]) {
        self.answer(0, &[]);
        self.send(&contents);
    }

    fn read(&mut self, address: u32, several: bool, now: u64) {
        let blocks = self.medium.is_high_capacity();
        let block = u64::from(address) / if blocks { 1 } else { BLOCK as u64 };
        let crooked = !blocks && !(address as usize).is_multiple_of(BLOCK);
        if crooked || block >= self.medium.blocks() {
            let last = self.medium.blocks() - 1;
            self.complain(format!(
                "read of {address:#x}, which is no block's address; the last block is {last}"
            ));
            return self.answer(PARAMETER, &[]);
        }
        self.answer(0, &[]);
        self.work = Work::Reading { block, several, ready: now + self.delays.access };
    }

    /// CMD12: the byte behind the command means nothing, then R1 (7.2.3, figure 7-4).
    fn stop(&mut self) {
        self.work = Work::Nothing;
        self.answer(0, &[]);
        self.out.push_front(0xff);
    }

    fn write(&mut self, several: bool) {
        self.complain("writing is not modelled: each block is answered as failed".to_owned());
        self.answer(0, &[]);
        self.work = Work::Writing { several, left: 0 };
    }
}
