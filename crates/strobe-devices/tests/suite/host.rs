//! Bytes from the host while the core sleeps.

use std::sync::atomic::AtomicBool;

use strobe_devices::board::Board;
use strobe_sim::cortexm::Machine;
use strobe_sim::device::{Direction, SerialFrame, Size};
use strobe_sim::kernel::core::Core as _;
use strobe_sim::observe::Observer;

const UART0: u32 = 0x4000_c000;

/// When frames have come in.
struct Arrivals(Vec<u64>);

impl Observer for Arrivals {
    fn frame(&mut self, frame: &SerialFrame) {
        if frame.direction == Direction::Receive {
            self.0.push(frame.cycle);
        }
    }
}

/// Devices had no event since the firmware set the port up, a million cycles ago: the line begins
/// to move now, and its bytes are a frame's time apart.
#[test]
fn typed_bytes_arrive_after_they_were_typed() {
    let mut bus = Board::builtin("lm3s6965evb").expect("comes with the project").build().unwrap();
    // WFI, and back to it.
    bus.load(0, &[0, 0, 1, 0x20, 9, 0, 0, 0, 0x30, 0xbf, 0xfd, 0xe7]).expect("flash is that large");
    bus.expects_input = true;
    let port = bus.device_named("UART0").expect("is on the board");
    let options =
        Board::builtin("lm3s6965evb").expect("comes with the project").arm_core().unwrap();
    let mut machine = Machine::new(bus, &options, Arrivals(Vec::new()));
    machine.reset().expect("there is a vector table");
    // A divisor of 10, eight bits, both directions: a frame takes 10 * 16 * 10 cycles.
    for (register, value) in [(0x24, 10), (0x2c, 0x70), (0x30, 0x301)] {
        machine.bus.write(UART0 + register, Size::Word, value).expect("a register");
    }
    let running = AtomicBool::new(false);
    machine.run(1_000_000, &running);
    let typed = machine.cycles();
    b"ps".iter().for_each(|&byte| machine.host_byte(port, byte));
    machine.run(2_000_000, &running);
    assert_eq!(machine.observer.0, [typed + 1_600, typed + 3_200]);
}
