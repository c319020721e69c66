//! Takes a board file and does with the board whatever firmware could. Shared with the fuzz target,
//! which includes this file.

use std::sync::atomic::AtomicBool;

use strobe_devices::board::Board;
use strobe_sim::avr;
use strobe_sim::bus::Bus;
use strobe_sim::cortexm::Machine;
use strobe_sim::device::Size;
use strobe_sim::kernel::core::Core as _;

/// How long each board runs, in cycles.
const RUN: u64 = 100_000;

/// Parses the text and, if it is a board, builds it, touches every place that the text names, and
/// runs a loop on it. Must never panic or hang.
pub(crate) fn exercise(text: &str) {
    let Ok(board) = Board::parse(text) else { return };
    let mut bus = board.build().expect("a board that parses builds");
    let _ = (board.name(), board.description(), board.clock_hz(), bus.streams().count());
    for states in 0..=u8::MAX {
        let _ = board.flash_timing_at(states, states % 2 == 0);
    }
    // A vector table whose every entry is the loop behind it, as far as there is memory.
    if let Some(options) = board.avr_core() {
        return exercise_avr(bus, &options);
    }
    let Some(options) = board.arm_core() else { return };
    let stack = bus.ram.base.wrapping_add(bus.ram.data.len() as u32);
    let entry = options.vectors.wrapping_add(0xc0) | 1;
    let words = [stack].into_iter().chain([entry; 47]).flat_map(u32::to_le_bytes);
    // nop; adds r0, #1; b back
    let image: Vec<u8> = words.chain([0x00, 0xbf, 0x01, 0x30, 0xfc, 0xe7]).collect();
    let loaded = bus.load(options.vectors, &image);
    let mut machine = Machine::new(bus, &options, ());
    machine.record_pins(true);
    if loaded.is_err() || machine.reset().is_err() {
        return;
    }
    let places = places(text);
    let go = AtomicBool::new(false);
    for (n, &place) in places.iter().enumerate() {
        for offset in (0..0x60).step_by(4) {
            let (at, bus) = (place.wrapping_add(offset), &mut machine.bus);
            for size in [Size::Word, Size::Half, Size::Byte] {
                let _ = bus.read(at, size);
            }
            let _ = bus.write(at, Size::Word, u32::MAX >> (n % 3 * 8));
            let _ = bus.write(at + 1, Size::Byte, 0x55);
            let _ = bus.write(at + 2, Size::Half, 0xaaaa);
            let _ =
                (bus.device_at(at).is_some(), bus.place_of(at).is_some(), bus.peek(at, Size::Word));
        }
        machine.run(machine.cycles() + 100, &go);
    }
    let limit = machine.cycles() + RUN;
    for _ in 0..100 {
        machine.run(limit, &go);
    }
    // An instruction and an exception's entry may run over it.
    assert!(machine.cycles() < limit + 10_000, "{} of {limit}", machine.cycles());
    let _ = (machine.bus.unclocked().count(), machine.bus.unmodelled.touched().count());
}

/// Reads and writes every register of an AVR, over and over, with what interrupts make of it.
fn exercise_avr(mut bus: Bus, options: &avr::CoreOptions) {
    // ldi r26, 0x20; ldi r27, 0; st X+, r16; inc r16; ld r17, X; sbrs r27, 1; rjmp to the store;
    // rjmp to the start
    let code = [0xe2a0u16, 0xe0b0, 0x930d, 0x9503, 0x911c, 0xffb1, 0xcffb, 0xcff8];
    let image: Vec<u8> = code.into_iter().flat_map(u16::to_le_bytes).collect();
    let loaded = bus.load(0, &image);
    let mut machine = avr::Machine::new(bus, options, ());
    machine.record_pins(true);
    if loaded.is_err() || machine.reset().is_err() {
        return;
    }
    let go = AtomicBool::new(false);
    for _ in 0..100 {
        if matches!(machine.run(RUN, &go), avr::Stop::Lockup(_)) {
            break;
        }
    }
    // Starting an oscillator may run over it.
    assert!(machine.cycles() < RUN + (2 << 20), "{} of {RUN}", machine.cycles());
    let _ = (machine.bus.unclocked().count(), machine.bus.unmodelled.touched().count());
}

/// The numbers in the text that are called `base`, `address` or `alias`.
fn places(text: &str) -> Vec<u32> {
    let Ok(table) = text.parse::<toml::Table>() else { return Vec::new() };
    let mut found = Vec::new();
    let mut todo: Vec<&toml::Value> = table.values().collect();
    while let Some(value) = todo.pop() {
        match value {
            toml::Value::Array(items) => todo.extend(items),
            toml::Value::Table(table) => {
                let named = ["base", "address", "alias"].iter().filter_map(|key| table.get(*key));
                found.extend(named.filter_map(|v| u32::try_from(v.as_integer()?).ok()));
                todo.extend(table.values());
            }
            _ => {}
        }
    }
    found.truncate(64);
    found
}
