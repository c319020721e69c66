//! Registers of boards as the bus finds them, and reads of them that wait for something.

use strobe_devices::board::Board;
use strobe_sim::device::Size;

const CLOCKS: u32 = 0x4002_1014;
const MODES: u32 = 0x4800_0000;
const INPUTS: u32 = 0x4800_0010;
const OUTPUTS: u32 = 0x4800_0014;

/// How many waits were given up when a register is read for long, another one is by a handler,
/// which may move a pin, and the first one is so many cycles later.
fn given_up(moves: bool, later: u64) -> usize {
    let mut bus = Board::builtin("stm32f070cb").unwrap().build().unwrap();
    bus.write(CLOCKS, Size::Word, 1 << 17).unwrap();
    bus.write(MODES, Size::Word, 1 << 10).unwrap();
    for _ in 0..20_000 {
        bus.now += 10;
        assert_eq!(bus.read(INPUTS, Size::Word).unwrap() & 1 << 5, 0);
    }
    bus.read(OUTPUTS, Size::Word).unwrap();
    if moves {
        bus.write(OUTPUTS, Size::Word, 1 << 5).unwrap();
    }
    bus.now += later;
    let read = bus.read(INPUTS, Size::Word).unwrap();
    assert_eq!(read & 1 << 5 != 0, moves);
    bus.given_up(bus.now + 1_000_000).count()
}

#[test]
fn a_poll_ended_by_a_handler_is_no_endless_wait() {
    assert_eq!(given_up(true, 100), 0);
    assert_eq!(given_up(false, 100), 1);
    assert_eq!(given_up(true, 1_000_000), 1, "the firmware did something else");
}

/// On boards whose peripherals lie in several regions: the bus finds what a search finds.
#[test]
fn every_register_belongs_to_its_device() {
    for board in ["stm32f070cb", "stm32f103", "stm32f407", "mps2-an385", "lm3s6965evb"] {
        let bus = Board::builtin(board).unwrap().build().unwrap();
        for at in 0..bus.slots.len() {
            let (base, size) = (bus.slots[at].base, bus.slots[at].size);
            for address in (base..base + size).step_by(64).chain([base + size]) {
                let search = bus.slots.iter().find(|s| address.wrapping_sub(s.base) < s.size);
                let search = search.map(|slot| slot.name.as_str());
                assert_eq!(bus.device_at(address), search, "{address:#x} of {board}");
            }
        }
    }
}
