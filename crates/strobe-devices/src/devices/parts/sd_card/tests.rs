//! A card byte by byte and bit by bit, against the specification.

use proptest::prelude::*;

use super::card::{Card, Delays};
use super::medium::{Medium, crc7, crc16};
use crate::boards::{Board, PartEntry};
use strobe_sim::kernel::bus::Bus;

const DELAYS: Delays = Delays { start: 1000, access: 100, next: 10 };

/// Blocks that hold their own numbers.
fn image(blocks: u8) -> Vec<u8> {
    (0..blocks).flat_map(|block| [block; 512]).collect()
}

fn command(number: u8, argument: u32) -> [u8; 6] {
    let [a, b, c, d] = argument.to_be_bytes();
    let five = [0x40 | number, a, b, c, d];
    [five[0], a, b, c, d, crc7(&five) << 1 | 1]
}

/// A host that gives a byte one nanosecond.
struct Host {
    card: Card,
    now: u64,
}

impl Host {
    fn new(high_capacity: bool) -> Self {
        let card = Card::new(image(4), high_capacity, DELAYS).unwrap();
        Self { card, now: 0 }
    }

    fn exchange(&mut self, byte: u8) -> u8 {
        self.now += 1;
        self.card.exchange(byte, self.now)
    }

    fn exchange_all(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| {
            self.exchange(byte);
        });
    }

    /// The response's bytes, of which there must be `length`.
    fn send(&mut self, number: u8, argument: u32, length: usize) -> Vec<u8> {
        let last = command(number, argument).map(|byte| self.exchange(byte))[5];
        let first = if last == 0xff { self.first() } else { last };
        std::iter::once(first).chain((1..length).map(|_| self.exchange(0xff))).collect()
    }

    /// The next byte that is not only the line at rest; a card may take eight to answer.
    fn first(&mut self) -> u8 {
        (0..8).map(|_| self.exchange(0xff)).find(|&byte| byte != 0xff).unwrap_or(0xff)
    }

    fn begin(high_capacity: bool) -> Self {
        let mut host = Self::new(high_capacity);
        assert_eq!(host.send(0, 0, 1), [0x01]);
        assert_eq!(host.send(8, 0x1aa, 5), [0x01, 0, 0, 1, 0xaa]);
        assert_eq!(host.send(55, 0, 1), [0x01]);
        assert_eq!(host.send(41, 1 << 30, 1), [0x01], "it has only begun");
        host.now += DELAYS.start;
        assert_eq!(host.send(55, 0, 1), [0x01]);
        assert_eq!(host.send(41, 1 << 30, 1), [0x00]);
        assert_eq!(host.card.take_complaint(), None);
        host
    }

    /// A data packet of that many bytes, whose check sum must be right.
    fn data(&mut self, length: usize) -> Vec<u8> {
        let waited = (0..300).find(|_| self.exchange(0xff) == 0xfe);
        assert!(waited.is_some(), "no data token");
        let data: Vec<u8> = (0..length).map(|_| self.exchange(0xff)).collect();
        let sum = [self.exchange(0xff), self.exchange(0xff)];
        assert_eq!(u16::from_be_bytes(sum), crc16(&data));
        data
    }
}

/// The specification's own examples (4.5): CMD0, CMD17 with argument 0 and its response, 512 bytes
/// of 0xff.
#[test]
fn check_sums_are_the_specifications() {
    assert_eq!(command(0, 0)[5], 0x95);
    assert_eq!(crc7(&[0x51, 0, 0, 0, 0]), 0b010_1010);
    assert_eq!(crc7(&[0x11, 0, 0, 9, 0]), 0b011_0011);
    assert_eq!(crc16(&[0xff; 512]), 0x7fa1);
}

#[test]
fn a_card_starts_and_reads_blocks() {
    let mut host = Host::begin(true);
    assert_eq!(host.send(58, 0, 5), [0, 0xc0, 0xff, 0x80, 0], "ready, addresses of blocks");
    assert_eq!(host.send(17, 2, 1), [0]);
    assert_eq!(host.data(512), [2; 512]);
    assert_eq!(host.send(13, 0, 2), [0, 0]);
    assert_eq!(host.send(16, 512, 1), [0]);
    assert_eq!(host.card.take_complaint(), None);
}

#[test]
fn byte_addresses_are_for_small_cards() {
    let mut host = Host::begin(false);
    assert_eq!(host.send(58, 0, 5)[1], 0x80);
    assert_eq!(host.send(17, 2 * 512, 1), [0]);
    assert_eq!(host.data(512), [2; 512]);
    assert_eq!(host.send(17, 5, 1), [0x40]);
    assert!(host.card.take_complaint().unwrap().contains("no block's address"));
}

#[test]
fn several_blocks_come_until_they_are_stopped() {
    let mut host = Host::begin(true);
    assert_eq!(host.send(18, 1, 1), [0]);
    assert_eq!(host.data(512), [1; 512]);
    assert_eq!(host.data(512), [2; 512]);
    // In the middle of the third: during the command data go on, the byte behind it means nothing.
    (0..20).for_each(|_| {
        host.exchange(0xff);
    });
    let during = command(12, 0).map(|byte| host.exchange(byte));
    assert_eq!(during[..5], [3; 5]);
    host.exchange(0xff);
    assert_eq!(host.first(), 0);
    assert_eq!((0..100).map(|_| host.exchange(0xff)).find(|&byte| byte != 0xff), None);
}

#[test]
fn reads_end_where_the_card_does() {
    let mut host = Host::begin(true);
    // 2 KiB of image make a card of 512 KiB, which is empty behind them.
    assert_eq!(host.send(18, 1023, 1), [0]);
    assert_eq!(host.data(512), [0; 512]);
    host.now += DELAYS.next;
    assert_eq!(host.first(), 0x08, "the error token of what is out of range");
    assert_eq!(host.send(17, 1024, 1), [0x40]);
}

#[test]
fn registers_hold_the_capacity() {
    let mut host = Host::begin(true);
    assert_eq!(host.send(9, 0, 1), [0]);
    let csd = host.data(16);
    assert_eq!(csd[0] >> 6, 1);
    assert_eq!(csd[7..10], [0, 0, 0], "C_SIZE: 512 KiB");
    assert_eq!(csd[15], crc7(&csd[..15]) << 1 | 1);
    assert_eq!(host.send(10, 0, 1), [0]);
    assert_eq!(host.data(16)[1..8], *b"SBSTROB");
    // Version 1.0: blocks = (C_SIZE + 1) * 2 ^ (C_SIZE_MULT + 2), of 2 ^ READ_BL_LEN bytes.
    for steps in [1u64, 3, 100, 2048, 4096] {
        let size = (steps << 19) as usize;
        let csd = Medium::new(vec![0; size], false).unwrap().csd();
        let number = u128::from_be_bytes(csd);
        let field = |low: u32, bits: u32| (number >> low) as u64 & ((1 << bits) - 1);
        let blocks = (field(62, 12) + 1) << (field(47, 3) + 2);
        assert_eq!(blocks << field(80, 4), size as u64, "{steps} times 512 KiB");
    }
}

#[test]
fn card_errors_are_answered_and_reported() {
    let mut host = Host::new(true);
    let complaint = |host: &mut Host| host.card.take_complaint().unwrap_or_default();
    // Before CMD0 nothing is answered.
    assert_eq!(host.send(17, 0, 1), [0xff]);
    assert!(complaint(&mut host).contains("CMD17 before CMD0"));
    assert_eq!(host.send(0, 0, 1), [0x01]);
    assert_eq!(host.send(17, 0, 1), [0x05], "idle, illegal");
    assert!(complaint(&mut host).contains("CMD17 is refused"));
    // A host that does not know of high capacity waits for ever.
    host.send(55, 0, 1);
    assert_eq!(host.send(41, 0, 1), [0x01]);
    assert!(complaint(&mut host).contains("ACMD41 without HCS"));
    // CMD8's check sum counts always.
    let mut wrong = command(8, 0x1aa);
    wrong[5] ^= 2;
    host.exchange_all(&wrong);
    assert_eq!(host.first(), 0x09);
    // The others' only with CMD59.
    let mut host = Host::begin(true);
    let wrong = [0x40 | 13, 0, 0, 0, 0, 0xff];
    host.exchange_all(&wrong);
    assert_eq!(host.first(), 0);
    host.send(59, 1, 1);
    host.exchange_all(&wrong);
    assert_eq!(host.first(), 0x08);
    assert!(complaint(&mut host).contains("CMD13 with a wrong check sum"));
}

#[test]
fn writes_are_answered_as_failed() {
    let mut host = Host::begin(true);
    assert_eq!(host.send(24, 1, 1), [0]);
    assert!(host.card.take_complaint().unwrap().contains("writing is not modelled"));
    host.exchange(0xfe);
    // Data that look like a command are none.
    let answers: Vec<u8> = (0..514).map(|_| host.exchange(0x51)).collect();
    assert_eq!(answers[513] & 0x1f, 0x0d);
    assert_eq!(host.send(17, 1, 1), [0]);
    assert_eq!(host.data(512), [1; 512], "as it was");
}

#[test]
fn images_that_no_card_could_hold_are_refused() {
    assert!(Card::new(Vec::new(), true, DELAYS).is_err_and(|e| e.to_string().contains("empty")));
    assert!(
        Medium::new(vec![0; (2 << 30) + 1], false).is_err_and(|e| e.to_string().contains("2 GiB"))
    );
}

/// On the pins, in SPI mode 0 with `half` cycles of 62.5 ns between edges.
struct Pins {
    bus: Bus,
    half: u64,
    port: u8,
}

const CS: u8 = 2;
const MOSI: u8 = 3;
const SCLK: u8 = 5;

impl Pins {
    const OPTIONS: &str = "sclk = 'PB5', mosi = 'PB3', miso = 'PB4', cs = 'PB2', start_us = 1";

    fn new(image: Option<Vec<u8>>) -> Self {
        let entry = format!("name = 'SD'\nmodel = 'sd-card'\noptions = {{ {} }}", Self::OPTIONS);
        let entry: PartEntry = toml::from_str(&entry).unwrap();
        let board = Board::builtin("arduino-uno").unwrap().with_parts([entry]).unwrap();
        let mut bus = board.build().unwrap();
        let card = bus.device_named("SD").unwrap();
        if let Some(image) = image {
            bus.insert(card, image).unwrap();
        }
        // CS high, then CS, MOSI and SCLK as outputs, a pull-up at MISO.
        bus.io_write(0x25, 0x14);
        bus.io_write(0x24, 0x2c);
        Self { bus, half: 64, port: 0x14 }
    }

    /// By the port's register: the port would put back what others do to its pins.
    fn set(&mut self, pin: u8, level: bool) {
        self.port = self.port & !(1 << pin) | u8::from(level) << pin;
        self.bus.io_write(0x25, self.port);
    }

    fn exchange(&mut self, byte: u8) -> u8 {
        let miso = self.bus.signals.find("PB4").unwrap();
        (0..8).rev().fold(0, |value, bit| {
            self.set(MOSI, byte >> bit & 1 != 0);
            self.bus.now += self.half;
            let level = self.bus.signals.level(miso);
            self.set(SCLK, true);
            self.bus.now += self.half;
            self.set(SCLK, false);
            value << 1 | u8::from(level)
        })
    }

    fn exchange_all(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| {
            self.exchange(byte);
        });
    }

    fn send(&mut self, number: u8, argument: u32) -> u8 {
        self.exchange_all(&command(number, argument));
        (0..8).map(|_| self.exchange(0xff)).find(|&byte| byte != 0xff).unwrap_or(0xff)
    }

    fn warnings(&self) -> String {
        self.bus.warnings.iter().map(|(text, _)| format!("{text}\n")).collect()
    }
}

#[test]
fn bits_enter_on_rising_and_leave_on_falling_edges() {
    let mut pins = Pins::new(Some(image(2)));
    (0..10).for_each(|_| assert_eq!(pins.exchange(0xff), 0xff));
    pins.set(CS, false);
    assert_eq!(pins.send(0, 0), 1);
    pins.send(55, 0);
    pins.send(41, 1 << 30);
    pins.send(55, 0);
    assert_eq!(pins.send(41, 1 << 30), 0);
    pins.half = 1;
    assert_eq!(pins.send(17, 1), 0);
    let token = (0..1000).find(|_| pins.exchange(0xff) == 0xfe);
    assert!(token.is_some());
    assert!((0..512).all(|_| pins.exchange(0xff) == 1));
    pins.set(CS, true);
    assert_eq!(pins.bus.signals.external(pins.bus.signals.find("PB4").unwrap()), None);
    assert_eq!(pins.warnings(), "");
}

#[test]
fn a_hurried_start_is_reported() {
    let mut pins = Pins::new(Some(image(2)));
    pins.set(CS, false);
    assert!(pins.warnings().contains("SD: selected after 0 clocks; a card wants 74 first"));
    pins.half = 1;
    pins.send(0, 0);
    assert!(
        pins.warnings().contains("SD: the clock is faster than 400 kHz before the card is ready")
    );
}

#[test]
fn an_empty_socket_answers_nothing() {
    let mut pins = Pins::new(None);
    pins.set(CS, false);
    assert_eq!(pins.send(0, 0), 0xff);
    assert_eq!(pins.warnings(), "");
}

proptest! {
    #[test]
    fn no_bytes_make_a_card_panic(
        ready in any::<bool>(),
        bytes in prop::collection::vec(prop_oneof![any::<u8>(), 0x40u8..0x80, Just(0xfe)], 0..2000),
    ) {
        let mut host = if ready { Host::begin(true) } else { Host::new(false) };
        for byte in bytes {
            host.exchange(byte);
            if byte == 0x13 {
                host.card.deselect();
            }
        }
    }
}
