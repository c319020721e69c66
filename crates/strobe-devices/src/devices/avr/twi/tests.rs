//! Bits, times and status codes of a master, with a slave that is driven by hand.

use crate::rig::Rig;

const TWBR: u16 = 0xb8;
const TWSR: u16 = 0xb9;
const TWDR: u16 = 0xbb;
const TWCR: u16 = 0xbc;
const TWI: u32 = 24;

/// TWINT, TWEN, TWIE.
const GO: u8 = 0x85;
const START: u8 = GO | 0x20;
const STOP: u8 = GO | 0x10;
const ACKNOWLEDGE: u8 = GO | 0x40;

/// An Uno at 100 kHz on the bus: 160 cycles a bit.
fn uno() -> Rig {
    let mut rig = Rig::builtin("arduino-uno");
    rig.watch("PC4");
    rig.watch("PC5");
    rig.bus.io_write(TWBR, 72);
    rig
}

/// Writes TWCR; returns the status after the interrupt.
fn command(rig: &mut Rig, control: u8) -> u8 {
    rig.bus.io_write(TWCR, control);
    rig.bus.settle();
    rig.run_to_irq(TWI, rig.bus.now + 100_000).expect("an interrupt");
    rig.bus.io_read(TWSR)
}

/// The same for a byte, of which a slave pulls these bits low, the highest first, then the
/// acknowledge.
fn byte(rig: &mut Rig, control: u8, low: u16) -> u8 {
    rig.bus.io_write(TWCR, control);
    rig.bus.settle();
    let begin = rig.bus.now;
    for bit in 0..9 {
        rig.run_to(begin + bit * 160 + 50);
        let pulls = low >> (8 - bit) & 1 != 0;
        rig.drive("PC4", pulls.then_some(false));
    }
    rig.run_to_irq(TWI, begin + 2000).expect("an interrupt");
    assert_eq!(rig.bus.now - begin, 9 * 160, "nine bits");
    rig.drive("PC4", None);
    rig.bus.io_read(TWSR)
}

fn send(rig: &mut Rig, value: u8, low: u16) -> u8 {
    rig.bus.io_write(TWDR, value);
    byte(rig, GO, low)
}

#[test]
fn a_write_has_its_edges_times_and_codes() {
    let mut rig = uno();
    assert_eq!(command(&mut rig, START), 0x08);
    assert!(!rig.level("PC4") && !rig.level("PC5"), "START, then SCL is held low");
    let falls = [rig.edges("PC4").last().unwrap().0, rig.edges("PC5").last().unwrap().0];
    assert_eq!(falls[1] - falls[0], 80, "half a bit");
    assert_eq!(send(&mut rig, 0xa0, 1), 0x18, "acknowledged");
    assert_eq!(send(&mut rig, 0x5a, 1), 0x28);
    assert_eq!(send(&mut rig, 0xff, 0), 0x30, "refused");
    rig.bus.io_write(TWCR, STOP);
    assert_eq!(rig.bus.io_read(TWCR) & 0x90, 0x10, "TWSTO until the bus is free");
    rig.advance(1000);
    assert_eq!(rig.bus.io_read(TWCR) & 0x90, 0, "and no interrupt");
    assert!(rig.level("PC4") && rig.level("PC5"));
    let (sda, scl) = (rig.edges("PC4"), rig.edges("PC5"));
    // Released by switching on, START, 27 bits, STOP.
    let rises: Vec<u64> = scl.iter().filter(|e| e.1).map(|e| e.0).collect();
    assert_eq!(rises.len(), 1 + 27 + 1);
    // SDA changes while SCL is low, but for START and STOP.
    let high = |at: u64| scl.iter().rev().find(|e| e.0 <= at).is_some_and(|e| e.1);
    assert_eq!(sda.iter().filter(|e| high(e.0)).count(), 3, "switching on, START, STOP: {sda:?}");
    assert_eq!(
        rig.bus.outputs.frames.iter().map(|f| f.value).collect::<Vec<_>>(),
        [0xa0, 0x5a, 0xff]
    );
}

#[test]
fn a_read_takes_bits_and_answers_them() {
    let mut rig = uno();
    command(&mut rig, START);
    assert_eq!(send(&mut rig, 0xa1, 1), 0x40);
    // 0x3c comes: the slave pulls the zeros low.
    assert_eq!(byte(&mut rig, ACKNOWLEDGE, 0b1_1000_0110), 0x50);
    assert_eq!(rig.bus.io_read(TWDR), 0x3c);
    assert_eq!(byte(&mut rig, GO, 0b0_1010_1010), 0x58, "the last one is not acknowledged");
    assert_eq!(rig.bus.io_read(TWDR), 0xaa);
    assert_eq!(command(&mut rig, START), 0x10, "repeated START");
    assert_eq!(send(&mut rig, 0x42, 0), 0x20, "nobody answers");
}

#[test]
fn prescaler_and_rate_set_the_bit_time() {
    for (rate, prescaler, period) in [(12, 0, 40), (72, 0, 160), (2, 1, 32), (1, 3, 144)] {
        let mut rig = uno();
        rig.bus.io_write(TWBR, rate);
        rig.bus.io_write(TWSR, prescaler);
        command(&mut rig, START);
        rig.bus.io_write(TWDR, 0x55);
        command(&mut rig, GO);
        let rises: Vec<u64> = rig.edges("PC5").iter().filter(|e| e.1).map(|e| e.0).collect();
        assert!(rises[1..].windows(2).all(|pair| pair[1] - pair[0] == period), "{rises:?}");
    }
}

#[test]
fn a_slave_may_hold_the_clock() {
    let mut rig = uno();
    command(&mut rig, START);
    rig.bus.io_write(TWDR, 0xa0);
    rig.bus.io_write(TWCR, GO);
    rig.drive("PC5", Some(false));
    let begin = rig.bus.now;
    rig.run_to(begin + 5000);
    assert!(!rig.irq(TWI));
    rig.drive("PC5", None);
    // The rest of the first bit's low half has long passed.
    assert_eq!(rig.run_to_irq(TWI, begin + 100_000), Some(begin + 5000 + 80 + 8 * 160));
}

#[test]
fn another_master_wins_and_the_bus_is_waited_for() {
    let mut rig = uno();
    command(&mut rig, START);
    // The other one sends a zero where this one sends a one.
    rig.bus.io_write(TWDR, 0xff);
    rig.bus.io_write(TWCR, GO);
    rig.drive("PC4", Some(false));
    rig.run_to_irq(TWI, 10_000).expect("reported within the first bit");
    assert_eq!(rig.bus.io_read(TWSR), 0x38);
    rig.bus.io_write(TWCR, START);
    rig.advance(10_000);
    assert!(!rig.irq(TWI), "the bus is taken");
    rig.drive("PC4", None);
    rig.run_to_irq(TWI, 100_000).expect("STOP frees it");
    assert_eq!(rig.bus.io_read(TWSR), 0x08);
}

#[test]
fn early_writes_are_reported() {
    let mut rig = uno();
    command(&mut rig, START);
    rig.bus.io_write(TWDR, 0xa0);
    rig.bus.io_write(TWCR, GO);
    rig.bus.io_write(TWDR, 0x11);
    assert_eq!(rig.bus.io_read(TWCR) & 8, 8, "TWWC");
    rig.run_to_irq(TWI, 100_000).expect("an interrupt");
    assert_eq!(rig.bus.outputs.frames[0].value, 0xa0);
}

/// Clocks one bit as another master does; returns SDA while SCL was high.
fn clock_bit(rig: &mut Rig, level: bool) -> bool {
    rig.drive("PC4", if level { None } else { Some(false) });
    rig.drive("PC5", None);
    assert!(rig.level("PC5"), "the slave holds SCL");
    let seen = rig.level("PC4");
    rig.drive("PC5", Some(false));
    seen
}

fn master_start(rig: &mut Rig) {
    rig.drive("PC4", None);
    rig.drive("PC5", None);
    rig.drive("PC4", Some(false));
    rig.drive("PC5", Some(false));
}

fn master_stop(rig: &mut Rig) {
    rig.drive("PC4", Some(false));
    rig.drive("PC5", None);
    rig.drive("PC4", None);
}

/// Sends a byte; returns whether it was acknowledged.
fn master_sends(rig: &mut Rig, byte: u8) -> bool {
    (0..8).rev().for_each(|bit| {
        clock_bit(rig, byte >> bit & 1 != 0);
    });
    !clock_bit(rig, true)
}

fn master_reads(rig: &mut Rig, acknowledge: bool) -> u8 {
    let byte = (0..8).fold(0, |byte, _| byte << 1 | u8::from(clock_bit(rig, true)));
    clock_bit(rig, !acknowledge);
    byte
}

/// A slave at address 0x21.
fn slave() -> Rig {
    let mut rig = Rig::builtin("arduino-uno");
    rig.bus.io_write(0xba, 0x42);
    rig.bus.io_write(TWCR, 0x45);
    rig.bus.settle();
    rig
}

fn status(rig: &mut Rig) -> u8 {
    assert!(rig.irq(TWI));
    rig.bus.io_read(TWSR)
}

#[test]
fn slave_holds_the_clock_until_bytes_are_read() {
    let mut rig = slave();
    master_start(&mut rig);
    assert!(!master_sends(&mut rig, 0x44), "another's address");
    master_start(&mut rig);
    assert!(master_sends(&mut rig, 0x42));
    assert_eq!(status(&mut rig), 0x60);
    rig.drive("PC5", None);
    assert!(!rig.level("PC5"), "held");
    rig.drive("PC5", Some(false));
    rig.bus.io_write(TWCR, 0xc5);
    assert!(master_sends(&mut rig, 0x5a));
    assert_eq!((status(&mut rig), rig.bus.io_read(TWDR)), (0x80, 0x5a));
    rig.bus.io_write(TWCR, 0x85);
    assert!(!master_sends(&mut rig, 0xa5), "not acknowledged without TWEA");
    assert_eq!((status(&mut rig), rig.bus.io_read(TWDR)), (0x88, 0xa5));
    rig.bus.io_write(TWCR, 0xc5);
    master_stop(&mut rig);
    // STOP ends a transfer that goes on.
    master_start(&mut rig);
    assert!(master_sends(&mut rig, 0x42));
    rig.bus.io_write(TWCR, 0xc5);
    master_stop(&mut rig);
    assert_eq!(status(&mut rig), 0xa0);
}

#[test]
fn a_slave_gives_bytes_until_the_master_has_enough() {
    let mut rig = slave();
    master_start(&mut rig);
    assert!(master_sends(&mut rig, 0x43));
    assert_eq!(status(&mut rig), 0xa8);
    for (byte, more, code) in [(0x96, true, 0xb8), (0x01, false, 0xc0)] {
        rig.bus.io_write(TWDR, byte);
        rig.bus.io_write(TWCR, 0xc5);
        assert_eq!(master_reads(&mut rig, more), byte);
        assert_eq!(status(&mut rig), code);
    }
    rig.bus.io_write(TWCR, 0xc5);
    master_stop(&mut rig);
    assert!(!rig.irq(TWI));
}
