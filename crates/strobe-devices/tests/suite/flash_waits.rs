//! Interrupt latency where flash has wait states, on a board that has a flash controller.

use std::sync::atomic::AtomicBool;

use strobe_devices::board::Board;
use strobe_model::Cause;
use strobe_sim::bus::Bus;
use strobe_sim::cortexm::Machine;
use strobe_sim::observe::{Observer, Transfer, TransferKind, Wait};

/// Keeps every exception entry.
#[derive(Default)]
struct Entries(Vec<Transfer>);

impl Observer for Entries {
    const FLOW: bool = true;
    fn transfer(&mut self, transfer: &Transfer, _: &Bus) {
        if let TransferKind::ExceptionEntry { .. } = transfer.kind {
            self.0.push(*transfer);
        }
    }
}

/// Keeps what was waited on top of the tables, and at which instruction.
#[derive(Default)]
struct Waits(Vec<(u32, Wait)>);

impl Observer for Waits {
    const COUNTS: bool = true;
    fn wait(&mut self, pc: u32, wait: Wait) {
        self.0.push((pc, wait));
    }
}

/// With a wait state the vector and the handler's first instruction come later, by a modelled
/// figure.
#[test]
fn flash_with_wait_states_delays_a_handler() {
    const CODE: u32 = 0x0800_0100;
    const HANDLER: u32 = 0x0800_0140;
    let board = Board::builtin("stm32f070cb").expect("comes with the project");
    let mut bus = board.build().expect("builds");
    let vector = |n| match n {
        0 => 0x2000_1000,
        1 => CODE | 1,
        _ => HANDLER | 1,
    };
    let vectors: Vec<u8> = (0..48u32).map(vector).flat_map(u32::to_le_bytes).collect();
    // ldr r0, =FLASH_ACR; movs r1, #0x11; str r1, [r0]; ldr r0, =ICSR; ldr r1, =PENDSVSET; str r1,
    // [r0]; b .
    let code = [0x4803u16, 0x2111, 0x6001, 0x4803, 0x4903, 0x6001, 0xe7fe, 0xbf00];
    let pool = [0x4002_2000u32, 0xe000_ed04, 1 << 28].map(u32::to_le_bytes).concat();
    let code: Vec<u8> = code.iter().flat_map(|half| half.to_le_bytes()).chain(pool).collect();
    // nop; bx lr
    for (at, bytes) in
        [(0x0800_0000, &vectors), (CODE, &code), (HANDLER, &vec![0, 0xbf, 0x70, 0x47])]
    {
        bus.load(at, bytes).expect("flash");
    }
    let mut machine =
        Machine::new(bus, &board.arm_core().unwrap(), (Waits::default(), Entries::default()));
    machine.reset().expect("a vector table");
    machine.run(200, &AtomicBool::new(false));
    let (waits, entries) = &machine.observer;
    let latency = entries.0.iter().find_map(|t| match t.kind {
        TransferKind::ExceptionEntry { pended_at, cost, .. } => Some((t.now - pended_at, cost)),
        _ => None,
    });
    assert_eq!(latency, Some((18, 18)), "16, the vector's word, and an aligned target");
    let modelled = |pc: u32, cause: Cause| {
        let found = waits.0.iter().find(|(at, wait)| *at == pc && wait.cause == cause);
        found.map(|(_, wait)| (wait.low, wait.likely, wait.high))
    };
    assert_eq!(modelled(HANDLER, Cause::DataWait), Some((0, 1, 2)));
    assert_eq!(modelled(HANDLER, Cause::FetchWait), Some((0, 1, 2)));
    assert_eq!(modelled(HANDLER + 2, Cause::FetchWait), Some((0, 1, 2)), "back to an aligned word");
}
