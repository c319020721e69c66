//! Compiled code against the interpreter: the same cycles, bounds, counts, calls and pin edges, to the
//! last one, on real firmware with and without wait states. (That both do what the core does is proved
//! against QEMU in `lockstep`.)

use std::sync::atomic::AtomicBool;

use strobe_model::{Bounds, Cause};
use strobe_oracle::Program;
use strobe_sim::board::Board;
use strobe_sim::cortexm::Machine;
use strobe_sim::observe::calls::CallTree;
use strobe_sim::observe::counts::{AddressCount, Counts};
use strobe_sim::observe::pins::PinLog;

const FIRMWARE: [(&str, &str); 9] = [
    ("stm32f070cb", "loop-0ws"),
    ("stm32f070cb", "loop-48mhz"),
    ("stm32f070cb", "loop-48mhz-noprefetch"),
    ("stm32f070cb", "blink"),
    ("stm32f070cb", "stepper"),
    ("stm32f070cb", "hello-uart"),
    ("cortex-m0", "generic-c"),
    ("cortex-m0", "crc-rs"),
    ("cortex-m0plus", "x25519-c"),
];

/// Everything that a run shows.
#[derive(Debug, PartialEq)]
struct Seen {
    registers: [u32; 16],
    apsr: u32,
    bounds: Bounds,
    instructions: u64,
    counts: Vec<(u32, AddressCount)>,
    slack: Vec<(u64, u64)>,
    /// Kind, parent, calls, cycles and instructions of each node.
    tree: Vec<String>,
    edges: String,
}

/// Runs a firmware, looking up every `chunk` cycles.
fn run(board: &str, firmware: &str, compile_after: Option<u32>, chunk: u64) -> Seen {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../firmware/prebuilt");
    let elf = std::fs::read(format!("{root}/{firmware}.elf")).expect("bundled firmware");
    let board = Board::builtin(board).expect("a bundled board");
    let mut bus = board.build().expect("a good board");
    let program = Program::from_elf(&elf).expect("an ELF program");
    for (address, bytes) in program.image() {
        bus.load(address, bytes).expect("the firmware fits");
    }
    let pins = ["PB8", "PA5"].iter().filter_map(|name| bus.signals.find(name)).collect();
    let functions = functions(&elf);
    let tree = CallTree::new(&bus, &functions);
    let watch = (Counts::new(&bus), (tree, PinLog::new(pins)));
    let mut machine = Machine::new(bus, &board.core_options(), watch);
    machine.record_pins(true);
    machine.set_compile_after(compile_after);
    machine.set_function_entries(functions.iter().map(|f| f.0).collect());
    machine.reset().expect("a vector table");
    let pc = machine.cpu.pc;
    machine.observer.1.0.start(pc, 0, 0);
    const LIMIT: u64 = 3_000_000;
    while machine.cycles() < LIMIT {
        let limit = (machine.cycles() + chunk).min(LIMIT);
        if machine.run(limit, &AtomicBool::new(false)) != strobe_sim::cortexm::Stop::Limit {
            break;
        }
    }
    let (bounds, instructions) = (machine.cycle_bounds(), machine.instructions());
    let (counts, (tree, log)) = &mut machine.observer;
    Seen {
        registers: machine.cpu.registers(),
        apsr: machine.cpu.apsr(),
        bounds,
        instructions,
        counts: counts.finish(),
        slack: Cause::ALL.iter().map(|&cause| counts.slack(cause)).collect(),
        tree: tree.finish(bounds.likely, instructions).iter().map(|n| format!("{n:?}")).collect(),
        edges: format!("{log:?}"),
    }
}

/// The functions of the symbol table, sorted and disjoint.
fn functions(elf: &[u8]) -> Vec<(u32, u32)> {
    use object::{Object, ObjectSymbol, SymbolKind};
    let file = object::File::parse(elf).expect("an ELF file");
    let text = file.symbols().filter(|s| s.kind() == SymbolKind::Text && s.size() > 0);
    let mut all: Vec<(u32, u32)> =
        text.map(|s| (s.address() as u32 & !1, (s.address() + s.size()) as u32 & !1)).collect();
    all.sort_unstable();
    all.dedup_by(|b, a| b.0 < a.1);
    all
}

#[test]
fn compiled_code_and_interpreter_see_the_same() {
    for (board, firmware) in FIRMWARE {
        let interpreted = run(board, firmware, None, 1 << 24);
        assert!(interpreted.instructions > 100, "{firmware}");
        for (compile_after, chunk) in [(1, 1 << 24), (2, 997), (50, 1 << 24)] {
            let compiled = run(board, firmware, Some(compile_after), chunk);
            assert!(
                compiled == interpreted,
                "{firmware} compiled after {compile_after} runs, looking up every {chunk} cycles: \
                 {:?} {} instructions, {:?} {} interpreted",
                compiled.bounds,
                compiled.instructions,
                interpreted.bounds,
                interpreted.instructions,
            );
        }
    }
}
