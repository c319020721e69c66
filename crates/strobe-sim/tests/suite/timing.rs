//! Cycles against the manuals: each instruction form on its own, interrupt entry, tail-chaining and
//! late arrival, the single-cycle I/O port.

mod exceptions;
mod probes;

use std::sync::atomic::AtomicBool;

use strobe_sim::bus::Bus;
use strobe_sim::cortexm::timing::{CoreKind, Timing};
use strobe_sim::cortexm::{CoreOptions, Machine, Stop};
use strobe_sim::memory::{Memory, MemoryKind};
use strobe_sim::observe::Observer;

/// Where test code starts.
const CODE: u32 = 0x100;
/// Where every exception vector points, by exception number.
fn handler(exception: u32) -> u32 {
    0x400 + 16 * exception
}

/// A machine with `code` at [`CODE`], NOPs around it, and handlers that return at once.
fn machine<O: Observer>(kind: CoreKind, code: &[u16], observer: O) -> Machine<O> {
    let mut timing = Timing::new(kind);
    if kind == CoreKind::CortexM0plus {
        timing.io_port.push(0x5000_0000..0x5000_1000);
    }
    let flash = Memory::new("flash", MemoryKind::Flash, 0, 4096);
    let ram = Memory::new("ram", MemoryKind::Ram, 0x2000_0000, 4096);
    let mut bus = Bus::new(flash, ram, 8_000_000);
    let nops = [0xbf00u16; 2048].map(u16::to_le_bytes).concat();
    bus.load(0, &nops).expect("flash is that large");
    let vectors = (0..48u32).map(|n| match n {
        0 => 0x2000_0800,
        1 => CODE | 1,
        n => handler(n) | 1,
    });
    let vectors: Vec<u8> = vectors.flat_map(u32::to_le_bytes).collect();
    bus.load(0, &vectors).expect("flash is that large");
    for n in 2..48 {
        // nop; bx lr
        bus.load(handler(n), &[0x00, 0xbf, 0x70, 0x47]).expect("flash is that large");
    }
    let code: Vec<u8> = code.iter().flat_map(|h| h.to_le_bytes()).collect();
    bus.load(CODE, &code).expect("flash is that large");
    let options = CoreOptions {
        timing,
        irq_lines: 32,
        priority_bits: 2,
        mpu_regions: 8,
        cpuid: 0x410c_c200,
        systick_reference_divider: 0,
        systick_calibration: 0,
        trace_gate: None,
        vtor_mask: 0,
        vectors: 0,
        bit_band: false,
    };
    let mut machine = Machine::new(bus, &options, observer);
    machine.reset().expect("there is a vector table");
    machine
}

/// Runs up to `cycles` cycles since reset.
fn run<O: Observer>(machine: &mut Machine<O>, cycles: u64) -> Stop {
    machine.run(cycles, &AtomicBool::new(false))
}
