//! An EEPROM on the I2C bus, of the 24C family (as Microchip DS20001203, AT24C256): bytes behind a
//! counter of addresses.
//!
//! Options: pins `sda` and `scl`; `address`, seven bits, 0x50 if not given; `size` in bytes and
//! `page`, powers of two; `write_us`, how long a write takes, during which the part does not
//! answer. Up to 2 KiB the upper address bits are in the device address, above that the memory
//! address has two bytes. Its contents can be put in as a medium.

use serde::Deserialize;

use strobe_sim::kernel::device::{Context, Create, Device, MediaSlot, MediumError, OptionError};
use strobe_sim::kernel::signal::SignalId;

/// The largest part of the family has 128 KiB; here the address has two bytes.
const LARGEST: usize = 1 << 16;

/// The largest part with a memory address of one byte.
const LARGEST_SHORT: usize = 2048;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    sda: String,
    scl: String,
    #[serde(default = "address")]
    address: u8,
    #[serde(default = "size")]
    size: usize,
    #[serde(default = "page")]
    page: usize,
    #[serde(default = "write_us")]
    write_us: u32,
}

fn address() -> u8 {
    0x50
}

fn size() -> usize {
    32 << 10
}

fn page() -> usize {
    64
}

fn write_us() -> u32 {
    5000
}

/// What the bits on the bus are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Of no concern, up to the next START.
    Idle,
    /// The device's address.
    Address,
    /// So many bytes of the memory address are still to come.
    Pointer(u8),
    /// Data to be written.
    Write,
    /// Data that is read.
    Read,
}

struct Eeprom {
    sda: SignalId,
    scl: SignalId,
    address: u8,
    page: usize,
    write_us: u32,
    memory: Vec<u8>,
    pointer: usize,
    state: State,
    /// Rises of SCL since the byte began, nine to a byte.
    clocks: u8,
    shift: u8,
    wrote: bool,
    /// Writing goes on up to then.
    busy_until: u64,
}

pub(super) fn create(cx: &mut Create) -> Result<Box<dyn Device>, OptionError> {
    let options: Options = cx.options()?;
    if !options.size.is_power_of_two() || options.size < 128 || options.size > LARGEST {
        return Err(OptionError::invalid("size", format!("a power of two from 128 to {LARGEST}")));
    }
    if !options.page.is_power_of_two() || options.page > options.size {
        return Err(OptionError::invalid("page", "a power of two, at most the size"));
    }
    if options.address > 0x7f {
        return Err(OptionError::invalid("address", "seven bits, without the one for reading"));
    }
    let (sda, scl) = (cx.pin(&options.sda)?, cx.pin(&options.scl)?);
    if sda == scl {
        return Err(OptionError::SharedPin { first: "sda", second: "scl" });
    }
    cx.listen(sda);
    cx.listen(scl);
    Ok(Box::new(Eeprom {
        sda,
        scl,
        address: options.address,
        page: options.page,
        write_us: options.write_us,
        memory: vec![0xff; options.size],
        pointer: 0,
        state: State::Idle,
        clocks: 0,
        shift: 0,
        wrote: false,
        busy_until: 0,
    }))
}

impl Eeprom {
    fn is_short(&self) -> bool {
        self.memory.len() <= LARGEST_SHORT
    }

    /// SDA changes while SCL is high: falling begins, rising ends.
    fn begin_or_end(&mut self, level: bool, cx: &mut Context) {
        let ends = level && std::mem::take(&mut self.wrote);
        if ends {
            self.busy_until = cx.nanoseconds() + u64::from(self.write_us) * 1000;
        }
        self.state = if level { State::Idle } else { State::Address };
        (self.clocks, self.shift) = (0, 0);
        cx.drive(self.sda, None);
    }

    fn clock_rises(&mut self, cx: &Context) {
        let level = cx.level(self.sda);
        self.clocks += 1;
        match (self.state, self.clocks) {
            (State::Read, 9) if level => self.state = State::Idle,
            (State::Read, _) | (_, 9) => {}
            _ => self.shift = self.shift << 1 | u8::from(level),
        }
    }

    fn clock_falls(&mut self, cx: &mut Context) {
        if self.state == State::Idle {
            cx.drive(self.sda, None);
            return;
        }
        if self.clocks == 8 && self.state != State::Read {
            let acknowledges = self.take_byte(cx);
            cx.drive(self.sda, acknowledges.then_some(false));
            return;
        }
        if self.clocks == 9 {
            self.clocks = 0;
            self.next_byte();
        }
        // Of a byte that is read each bit follows a fall; the ninth is the reader's.
        let gives = self.state == State::Read && self.clocks < 8;
        let low = gives && self.shift << self.clocks & 0x80 == 0;
        cx.drive(self.sda, low.then_some(false));
    }

    fn next_byte(&mut self) {
        if self.state == State::Read {
            self.shift = self.memory[self.pointer];
            self.pointer = (self.pointer + 1) % self.memory.len();
        } else {
            self.shift = 0;
        }
    }

    /// A whole byte has come; returns whether it is acknowledged.
    fn take_byte(&mut self, cx: &Context) -> bool {
        let size = self.memory.len();
        match self.state {
            State::Address => return self.is_addressed(cx),
            State::Pointer(left) => {
                self.pointer = (self.pointer << 8 | usize::from(self.shift)) % size;
                self.state = if left > 1 { State::Pointer(left - 1) } else { State::Write };
            }
            State::Write => {
                self.memory[self.pointer] = self.shift;
                // The counter stays in its page.
                let inside = self.page - 1;
                self.pointer = self.pointer & !inside | (self.pointer + 1) & inside;
                self.wrote = true;
            }
            State::Idle | State::Read => return false,
        }
        true
    }

    fn is_addressed(&mut self, cx: &Context) -> bool {
        let (address, reads) = (self.shift >> 1, self.shift & 1 != 0);
        let blocks = if self.is_short() { (self.memory.len() / 256).max(1) as u8 } else { 1 };
        let is_busy = cx.nanoseconds() < self.busy_until;
        if is_busy || (address ^ self.address) & !(blocks - 1) != 0 {
            self.state = State::Idle;
            return false;
        }
        let block = usize::from(address & (blocks - 1));
        self.state = match (reads, self.is_short()) {
            (true, _) => State::Read,
            (false, true) => State::Pointer(1),
            (false, false) => State::Pointer(2),
        };
        if blocks > 1 && !reads {
            self.pointer = block;
        }
        true
    }
}

impl Device for Eeprom {
    fn signal(&mut self, id: SignalId, level: bool, cx: &mut Context) {
        match (id == self.scl, level) {
            (true, true) => self.clock_rises(cx),
            (true, false) => self.clock_falls(cx),
            (false, _) if cx.level(self.scl) => self.begin_or_end(level, cx),
            _ => {}
        }
    }

    fn reset(&mut self, cx: &mut Context) {
        (self.state, self.clocks, self.shift, self.wrote) = (State::Idle, 0, 0, false);
        cx.drive(self.sda, None);
    }

    fn media_slot(&mut self) -> Option<&mut dyn MediaSlot> {
        Some(self)
    }
}

impl MediaSlot for Eeprom {
    fn insert(&mut self, medium: Vec<u8>) -> Result<(), MediumError> {
        if medium.len() > self.memory.len() {
            let (given, size) = (medium.len(), self.memory.len());
            return Err(MediumError::TooLarge { given, part: "EEPROM", size });
        }
        self.memory[..medium.len()].copy_from_slice(&medium);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::boards::{Board, PartEntry};
    use crate::rig::Rig;

    const TWDR: u16 = 0xbb;
    const TWCR: u16 = 0xbc;

    fn uno(options: &str) -> Rig {
        #[derive(serde::Deserialize)]
        struct Parts {
            part: Vec<PartEntry>,
        }
        let part = format!(
            "[[part]]\nname = 'E'\nmodel = 'i2c-eeprom'\noptions = {{ sda = 'A4', scl = 'A5', \
             {options} }}"
        );
        let parts: Parts = toml::from_str(&part).unwrap();
        let board = Board::builtin("arduino-uno").unwrap().with_parts(parts.part).unwrap();
        let mut rig = Rig { bus: board.build().unwrap(), is_avr: true };
        rig.bus.io_write(0xb8, 12);
        rig
    }

    /// START, these bytes; returns the last status.
    fn send(rig: &mut Rig, bytes: &[u8]) -> u8 {
        let mut status = go(rig, 0xa5);
        for &byte in bytes {
            rig.bus.io_write(TWDR, byte);
            status = go(rig, 0x85);
            if status == 0x20 {
                break;
            }
        }
        status
    }

    fn go(rig: &mut Rig, control: u8) -> u8 {
        rig.bus.io_write(TWCR, control);
        rig.bus.settle();
        rig.run_to_irq(24, rig.bus.now + 100_000).expect("an interrupt");
        rig.bus.io_read(0xb9)
    }

    fn stop(rig: &mut Rig) {
        rig.bus.io_write(TWCR, 0x94);
        rig.advance(1000);
    }

    fn receive(rig: &mut Rig, count: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        for n in 1..=count {
            go(rig, if n < count { 0xc5 } else { 0x85 });
            bytes.push(rig.bus.io_read(TWDR));
        }
        bytes
    }

    #[test]
    fn written_bytes_read_back_after_the_write_time() {
        let mut rig = uno("size = 4096, page = 32");
        assert_eq!(send(&mut rig, &[0xa0, 0x01, 0x1e, 1, 2, 3, 4]), 0x28);
        stop(&mut rig);
        assert_eq!(send(&mut rig, &[0xa0]), 0x20, "it writes and does not answer");
        stop(&mut rig);
        rig.advance(16 * 5000);
        // The page ends at 0x120: the last two bytes went to its beginning.
        assert_eq!(send(&mut rig, &[0xa0, 0x01, 0x1e]), 0x28);
        assert_eq!(send(&mut rig, &[0xa1]), 0x40, "repeated START");
        assert_eq!(receive(&mut rig, 4), [1, 2, 0xff, 0xff]);
        stop(&mut rig);
        send(&mut rig, &[0xa0, 0x01, 0x00]);
        send(&mut rig, &[0xa1]);
        assert_eq!(receive(&mut rig, 3), [3, 4, 0xff]);
    }

    #[test]
    fn small_ones_have_address_bits_in_the_device_address() {
        let mut rig = uno("size = 1024, page = 16");
        send(&mut rig, &[0xa4, 0x10, 0x77]);
        stop(&mut rig);
        rig.advance(16 * 5000);
        send(&mut rig, &[0xa4, 0x10]);
        send(&mut rig, &[0xa5]);
        assert_eq!(receive(&mut rig, 1), [0x77]);
        stop(&mut rig);
        assert_eq!(send(&mut rig, &[0xa8]), 0x20, "another's address");
    }

    #[test]
    fn contents_can_be_put_in() {
        let mut rig = uno("size = 256");
        let id = rig.bus.device_named("E").unwrap();
        let mut device = rig.bus.slots[id.0 as usize].device.take().unwrap();
        let error = device.media_slot().unwrap().insert(vec![0; 257]).unwrap_err();
        assert!(error.to_string().contains("257 bytes, the EEPROM 256"));
        device.media_slot().unwrap().insert(vec![9, 8, 7]).unwrap();
        rig.bus.slots[id.0 as usize].device = Some(device);
        send(&mut rig, &[0xa0, 0]);
        send(&mut rig, &[0xa1]);
        assert_eq!(receive(&mut rig, 4), [9, 8, 7, 0xff]);
    }
}
