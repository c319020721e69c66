//! Whatever firmware writes where, no device panics, and no state it reaches does later.

use proptest::prelude::*;

use crate::rig::Rig;
use strobe_sim::kernel::bus::Bus;
use strobe_sim::kernel::device::Size;

#[derive(Debug, Clone)]
enum Step {
    Read(usize, u32, Size),
    Write(usize, u32, Size, u32),
    Advance(u64),
    Drive(usize, Option<bool>),
    Host(usize, u8),
    Reset,
}

fn size() -> impl Strategy<Value = Size> {
    prop_oneof![Just(Size::Byte), Just(Size::Half), Just(Size::Word)]
}

/// Values that enable things are likelier than uniform ones.
fn value() -> impl Strategy<Value = u32> {
    prop_oneof![any::<u32>(), 0..0x100u32, (0..32u32).prop_map(|n| 1 << n), Just(u32::MAX)]
}

fn step() -> impl Strategy<Value = Step> {
    let register = || prop_oneof![4 => 0..0x60u32, 1 => 0..0x1000u32];
    prop_oneof![
        4 => (any::<usize>(), register(), size()).prop_map(|(d, r, s)| Step::Read(d, r, s)),
        8 => (any::<usize>(), register(), size(), value())
            .prop_map(|(d, r, s, v)| Step::Write(d, r, s, v)),
        2 => prop_oneof![0..2_000u64, 0..1_000_000u64].prop_map(Step::Advance),
        1 => (any::<usize>(), any::<Option<bool>>()).prop_map(|(p, l)| Step::Drive(p, l)),
        1 => (any::<usize>(), any::<u8>()).prop_map(|(d, b)| Step::Host(d, b)),
        1 => Just(Step::Reset),
    ]
}

/// Address of a register of the n-th device, aligned for the access.
fn address(bus: &Bus, device: usize, register: u32, size: Size) -> u32 {
    let slot = &bus.slots[device % bus.slots.len()];
    slot.base + register % slot.size / size.bytes() * size.bytes()
}

/// A register of an AVR.
fn io_address(register: u32) -> u16 {
    0x20 + (register % 0x1e0) as u16
}

fn run(rig: &mut Rig, step: &Step) {
    match *step {
        Step::Read(_, register, _) if rig.is_avr => {
            rig.bus.io_read(io_address(register));
        }
        Step::Write(_, register, _, value) if rig.is_avr => match value % 3 {
            0 => rig.bus.io_set_bit(io_address(register), value as u8 >> 2 & 7, value & 32 != 0),
            _ => rig.bus.io_write(io_address(register), value as u8),
        },
        Step::Read(device, register, size) => {
            let at = address(&rig.bus, device, register, size);
            rig.read(at, size);
        }
        Step::Write(device, register, size, value) => {
            let at = address(&rig.bus, device, register, size);
            rig.write(at, size, value);
        }
        Step::Advance(cycles) => rig.advance(cycles),
        Step::Drive(pin, level) => {
            let pins: Vec<_> = rig.bus.signals.pins().collect();
            rig.bus.drive_pin(pins[pin % pins.len()], level);
        }
        Step::Host(device, byte) => {
            let id = strobe_sim::kernel::device::DeviceId((device % rig.bus.slots.len()) as u8);
            rig.bus.host_byte(id, byte);
        }
        Step::Reset => rig.bus.reset(),
    }
}

/// A board with its registers that enable clocks.
pub(super) type Subject = (&'static str, &'static [u32]);

/// Between them they have every model.
pub(super) const BOARDS: [Subject; 9] = [
    ("arduino-mega", &[]),
    ("arduino-uno", &[]),
    ("atmega16u2", &[]),
    ("attiny85", &[]),
    ("lm3s6965evb", &[0x400f_e100, 0x400f_e104, 0x400f_e108]),
    ("mps2-an385", &[]),
    ("stm32f070cb", &[0x4002_1014, 0x4002_1018, 0x4002_101c]),
    ("stm32f103", &[0x4002_1014, 0x4002_1018, 0x4002_101c]),
    ("stm32f407", &[0x4002_3830, 0x4002_3834, 0x4002_3838, 0x4002_3840, 0x4002_3844]),
];

/// With all clocks on, so that the accesses arrive.
pub(super) fn clocked((board, enables): Subject) -> Rig {
    let mut rig = Rig::builtin(board);
    enables.iter().for_each(|&enable| rig.write32(enable, u32::MAX));
    rig
}

#[test]
fn every_model_is_on_some_board() {
    let boards = BOARDS.map(|(board, _)| crate::boards::Board::builtin_text(board).unwrap());
    for (model, _) in crate::devices::models() {
        let entry = format!("model = \"{model}\"");
        assert!(boards.iter().any(|text| text.contains(&entry)), "{model}");
    }
}

/// What the fuzzer found once.
#[test]
fn first_register_of_every_device_reads_as_byte() {
    for board in BOARDS {
        let mut rig = clocked(board);
        for device in 0..rig.bus.slots.len() {
            run(&mut rig, &Step::Read(device, 0, Size::Byte));
        }
    }
}

proptest! {
    #[test]
    fn random_accesses_never_panic(
        board in prop::sample::select(&BOARDS),
        steps in prop::collection::vec(step(), 1..200),
    ) {
        let mut rig = clocked(board);
        steps.iter().for_each(|step| run(&mut rig, step));
        prop_assert!(rig.bus.next_due >= rig.bus.now);
    }

    /// A device of its own, so that all steps meet it.
    #[test]
    fn random_accesses_to_one_device_never_panic(
        board in prop::sample::select(&BOARDS),
        device in any::<usize>(),
        steps in prop::collection::vec(step(), 1..200),
    ) {
        let mut rig = clocked(board);
        for step in steps {
            let step = match step {
                Step::Read(_, register, size) => Step::Read(device, register, size),
                Step::Write(_, register, size, value) => Step::Write(device, register, size, value),
                other => other,
            };
            run(&mut rig, &step);
        }
    }
}
