//! What programs with peripherals do to pins and serial lines, beside simavr: the same bytes, and
//! edges at the same distances.
//!
//! Cycles are not equal here, for reasons that the manual gives: simavr enters a handler and wakes
//! up at once, where the core takes four cycles for each (ATmega328P data sheet, 7.7.1), and it
//! sends an SPI byte in 100 us whatever the prescaler is, without edges of SCK and MOSI.

use std::path::Path;

use strobe_devices::board::Board;
use strobe_devices::machine::Machine;
use strobe_oracle::simavr::{self, Seen};
use strobe_sim::device::Direction;
use strobe_sim::observe::pins::PinLog;

use super::programs::{image, image_of};

const HZ: u32 = 16_000_000;

/// What was seen of one side.
struct Outside {
    /// Of the pin asked for, beginning with the first rise.
    edges: Vec<(u64, bool)>,
    uart: Vec<u8>,
    spi: Vec<u8>,
}

fn ours(image: &[u8], pin: &str, cycles: u64) -> Outside {
    let board = Board::builtin("arduino-uno").expect("comes with the project");
    let mut bus = board.build().expect("builds");
    bus.load(0, image).expect("fits the flash");
    let pin = bus.signals.find(pin).expect("a pin of the board");
    let uart = bus.device_named("USART0").expect("a device of the board");
    let log = PinLog::new(vec![pin]);
    let mut machine = Machine::new(&board, bus, log).expect("an AVR");
    machine.record_pins(true);
    machine.reset().expect("cannot fail");
    machine.run(cycles, &Default::default());
    let edges = machine.observer_mut().edges().iter().map(|e| (e.cycle, e.level)).collect();
    let frames = machine.observer_mut().take_frames();
    let sent = frames.iter().filter(|frame| frame.direction == Direction::Transmit);
    let (uart, spi): (Vec<_>, Vec<_>) = sent.partition(|frame| frame.device == uart);
    let bytes = |frames: Vec<&strobe_sim::device::SerialFrame>| {
        frames.iter().map(|frame| frame.value as u8).collect()
    };
    Outside { edges: from_first_rise(edges), uart: bytes(uart), spi: bytes(spi) }
}

fn simavrs(image: &[u8], pin: (char, u8), cycles: u64) -> Outside {
    let seen = simavr::watch("atmega328p", image, HZ, cycles).expect("simavr runs");
    let mut outside = Outside { edges: Vec::new(), uart: Vec::new(), spi: Vec::new() };
    for (cycle, event) in seen {
        match event {
            Seen::Uart(byte) => outside.uart.push(byte),
            Seen::Spi(byte) => outside.spi.push(byte),
            Seen::Edge { port, bit, level } if (port, bit) == pin => {
                outside.edges.push((cycle, level));
            }
            Seen::Edge { .. } => {}
        }
    }
    outside.edges = from_first_rise(outside.edges);
    outside
}

/// simavr reports a pin's level when it becomes an output, too.
fn from_first_rise(edges: Vec<(u64, bool)>) -> Vec<(u64, bool)> {
    edges.into_iter().skip_while(|edge| !edge.1).collect()
}

fn distances(edges: &[(u64, bool)]) -> Vec<u64> {
    edges.windows(2).map(|pair| pair[1].0 - pair[0].0).collect()
}

#[test]
fn three_peripherals_send_and_toggle_as_on_simavr() {
    let image = image("peripherals-avr");
    let ours = ours(&image, "PB0", 400_000);
    let simavrs = simavrs(&image, ('B', 0), 400_000);
    assert_eq!(ours.spi, (0..32).collect::<Vec<u8>>());
    // simavr ends with the firmware, which then sleeps, the last byte still under way.
    assert_eq!(ours.spi[..31], simavrs.spi);
    assert_eq!(distances(&ours.edges), distances(&simavrs.edges));
    assert_eq!(ours.edges.len(), 32);
    let late = ours.edges[0].0 - simavrs.edges[0].0;
    // simavr also writes registers at the beginning of an instruction: the STS that starts the
    // timer takes two cycles.
    assert_eq!(late, 4 + 4 + 2, "waking up, the way into the handler, the timer's start");
}

/// An unmodified sketch: what `delay(1000)` makes of a second, as finely as it counts, and all that
/// it prints.
#[test]
fn an_arduino_sketch_blinks_and_prints_as_on_simavr() {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/subjects/arduino-blink.elf");
    let elf = std::fs::read(path).expect("built by `cargo xtask subjects`");
    let image = image_of(&elf);
    let ours = ours(&image, "PB5", 66_000_000);
    let simavrs = simavrs(&image, ('B', 5), 66_000_000);
    assert_eq!(String::from_utf8_lossy(&ours.uart), "blink\r\nmillis 1999\r\nmillis 3999\r\n");
    assert_eq!(ours.uart, simavrs.uart);
    let (a, b) = (distances(&ours.edges), distances(&simavrs.edges));
    assert_eq!((a.len(), b.len()), (4, 4));
    // micros() counts in steps of four microseconds; both ends of a wait fall into one.
    let near = a.iter().zip(&b).all(|(a, b)| a.abs_diff(*b) <= 2 * 64);
    assert!(near, "{a:?} here, {b:?} on simavr");
}
