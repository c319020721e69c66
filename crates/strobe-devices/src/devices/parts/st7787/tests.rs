//! The display on an Arduino's pins, clocked by hand.

use crate::boards::{Board, PartEntry};
use strobe_sim::kernel::bus::Bus;

/// PORTB, DDRB and PINB of the Uno.
const PORTB: u16 = 0x25;
const DDRB: u16 = 0x24;
const PINB: u16 = 0x23;

/// Bits of PORTB.
const CS: u8 = 1 << 2;
const SDA: u8 = 1 << 3;
const SCL: u8 = 1 << 5;

/// Half a clock period in cycles of 16 MHz: long enough for reading.
const HALF: u64 = 2;

struct Wires {
    bus: Bus,
    port: u8,
}

impl Wires {
    fn new() -> Self {
        #[derive(serde::Deserialize)]
        struct Parts {
            part: Vec<PartEntry>,
        }
        let part = "[[part]]\nname = 'LCD'\nmodel = 'st7787'\n\
                    options = { cs = 'PB2', scl = 'PB5', sda = 'PB3' }";
        let parts: Parts = toml::from_str(part).unwrap();
        let board = Board::builtin("arduino-uno").unwrap().with_parts(parts.part).unwrap();
        let mut wires = Wires { bus: board.build().unwrap(), port: CS };
        wires.set(CS, 0);
        wires.bus.io_write(DDRB, CS | SDA | SCL);
        // The display needs 5 ms after power-on.
        wires.wait(100_000);
        wires
    }

    fn wait(&mut self, cycles: u64) {
        let now = self.bus.now + cycles;
        self.bus.run_events(now);
        self.bus.now = now;
    }

    fn set(&mut self, high: u8, low: u8) {
        self.port = (self.port | high) & !low;
        self.bus.io_write(PORTB, self.port);
        self.wait(HALF);
    }

    fn bit(&mut self, level: bool) {
        if level {
            self.set(SDA, SCL)
        } else {
            self.set(0, SDA | SCL)
        }
        self.set(SCL, 0);
    }

    fn word(&mut self, data: bool, byte: u8) {
        self.bit(data);
        (0..8).rev().for_each(|n| self.bit(byte >> n & 1 != 0));
    }

    fn write(&mut self, command: u8, data: &[u8]) {
        self.set(0, CS);
        self.word(false, command);
        data.iter().for_each(|byte| self.word(true, *byte));
        self.set(0, SCL);
        self.set(CS, 0);
    }

    /// A command that reads: what is on the line at each of so many clocks. The chip lets go of the
    /// line before the clock falls, or a clock too late.
    fn read(&mut self, command: u8, clocks: usize, late: bool) -> Vec<bool> {
        self.set(0, CS);
        self.word(false, command);
        if late {
            self.set(0, SCL);
        }
        self.bus.io_write(DDRB, CS | SCL);
        let mut bits = Vec::new();
        for _ in 0..clocks {
            self.set(0, SCL);
            self.set(SCL, 0);
            bits.push(self.bus.io_read(PINB) & SDA != 0);
        }
        self.set(0, SCL);
        self.set(CS, 0);
        self.bus.io_write(DDRB, CS | SDA | SCL);
        bits
    }

    fn warnings(&self) -> Vec<String> {
        self.bus.warnings.iter().map(|(text, _)| text.to_owned()).collect()
    }

    fn wake(&mut self) {
        self.write(0x11, &[]);
        self.wait(100_000);
        self.write(0x3a, &[0x05]);
        self.write(0x29, &[]);
    }
}

fn value(bits: &[bool]) -> u32 {
    bits.iter().fold(0, |value, bit| value << 1 | u32::from(*bit))
}

#[test]
fn a_window_is_filled_row_by_row_and_shown() {
    let mut wires = Wires::new();
    wires.wake();
    wires.write(0x2a, &[0, 238, 0, 239]);
    wires.write(0x2b, &[1, 0, 1, 1]);
    // Red, green, blue, white, and a fifth pixel that begins again.
    wires.write(0x2c, &[0xf8, 0, 0x07, 0xe0, 0, 0x1f, 0xff, 0xff, 0x84, 0x10]);
    wires.wait(300_000);
    let pictures = wires.bus.take_pictures();
    let picture = &pictures.last().unwrap().picture;
    assert_eq!((picture.width, picture.height), (240, 320));
    let pixel = |x: usize, y: usize| &picture.rgb[(y * 240 + x) * 3..][..3];
    assert_eq!(pixel(238, 256), [0x86, 0x82, 0x86]);
    assert_eq!(pixel(239, 256), [0, 255, 0]);
    assert_eq!((pixel(238, 257), pixel(239, 257)), (&[0, 0, 255][..], &[255, 255, 255][..]));
    assert_eq!(pixel(237, 256), [0, 0, 0]);
    // Nothing changes: nothing is shown.
    wires.wait(1_000_000);
    assert!(wires.bus.take_pictures().is_empty());
    assert_eq!(wires.warnings(), [""; 0]);
}

#[test]
fn one_pixel_is_read_back_after_nine_clocks() {
    let mut wires = Wires::new();
    wires.wake();
    wires.write(0x2a, &[0, 7, 0, 8]);
    wires.write(0x2b, &[0, 9, 0, 9]);
    wires.write(0x2c, &[0xf9, 0xaf, 0xff, 0xff]);
    let bits = wires.read(0x2e, 9 + 24 + 8, false);
    // 11111 001101 01111: six bits each, from the left.
    assert_eq!(value(&bits[9..33]), 0xfc << 16 | 0x34 << 8 | 0x78);
    // After one pixel, though the window has two, the line is nobody's.
    assert_eq!(value(&bits[33..]), 0);
    assert_eq!(wires.bus.signals.external(wires.bus.signals.find("PB3").unwrap()), None);
    let bits = wires.read(0x04, 25, false);
    assert_eq!(value(&bits[1..]), 0x4c_8077);
    assert_eq!(wires.warnings(), [""; 0]);
}

#[test]
fn who_lets_go_too_late_is_reported() {
    let mut wires = Wires::new();
    wires.wake();
    wires.read(0x2e, 9 + 24, true);
    let warnings = wires.warnings();
    assert!(warnings.iter().any(|w| w.contains("both drive the data line")), "{warnings:?}");
}

#[test]
fn columns_and_rows_can_be_reversed_and_exchanged() {
    for (access, x, y) in
        [(0x00, 3, 5), (0x40, 236, 5), (0x80, 3, 314), (0x20, 5, 3), (0xe0, 234, 316)]
    {
        let mut wires = Wires::new();
        wires.wake();
        wires.write(0x36, &[access | 0x08]);
        wires.write(0x2a, &[0, 3, 0, 3]);
        wires.write(0x2b, &[0, 5, 0, 5]);
        wires.write(0x2c, &[0xf8, 0]);
        wires.wait(300_000);
        let pictures = wires.bus.take_pictures();
        let rgb = &pictures.last().unwrap().picture.rgb;
        let lit: Vec<usize> = (0..240 * 320).filter(|n| rgb[3 * n..3 * n + 3] != [0; 3]).collect();
        assert_eq!(lit, [y * 240 + x], "{access:#x}");
        // Blue before red.
        assert_eq!(rgb[3 * lit[0]..][..3], [0, 0, 255]);
    }
}

#[test]
fn haste_and_what_is_not_modelled_are_reported() {
    let mut wires = Wires::new();
    wires.write(0x11, &[]);
    wires.write(0x29, &[]);
    wires.write(0x33, &[0; 6]);
    wires.write(0x3a, &[0x03]);
    wires.write(0x2a, &[0, 5, 1, 0]);
    let warnings = wires.warnings().join("\n");
    for wanted in ["29h came too early", "33h is not modelled", "pixel format 03h", "from 5 to 256"]
    {
        assert!(warnings.contains(wanted), "{wanted}: {warnings}");
    }
}
