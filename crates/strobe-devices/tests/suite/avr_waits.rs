//! Turns of loops that an AVR skips against turns that it executes: the same registers, memory,
//! cycles, counts, calls, pin edges and reads of registers, on real firmware and on random loops.

mod loops;

use std::sync::atomic::AtomicBool;

use proptest::prelude::*;
use strobe_devices::board::Board;
use strobe_oracle::Program;
use strobe_sim::avr::cpu::Cpu;
use strobe_sim::avr::{Machine, Stop};
use strobe_sim::kernel::core::Core as _;
use strobe_sim::observe::Moment;
use strobe_sim::observe::calls::CallTree;
use strobe_sim::observe::counts::{AddressCount, Counts};
use strobe_sim::observe::pins::PinLog;

use crate::compiled::functions;

const FIRMWARE: [(&str, &str); 7] = [
    ("arduino-uno", "work-avr"),
    ("arduino-uno", "peripherals-avr"),
    ("arduino-uno", "benched-avr"),
    ("arduino-uno", "heap-avr"),
    ("arduino-uno", "kit-avr-bytes"),
    ("arduino-uno", "loop-avr"),
    ("arduino-mega", "work-avr-2560"),
];

/// Everything that a run shows.
#[derive(Debug, PartialEq)]
struct Seen {
    cpu: Cpu,
    ram: Vec<u8>,
    moment: Moment,
    counts: Vec<(u32, AddressCount)>,
    tree: Vec<String>,
    edges: String,
    unmodelled: String,
}

/// How a program is run.
#[derive(Clone, Copy)]
struct How {
    executes_waits: bool,
    limit: u64,
    /// The core is looked at as often.
    chunk: u64,
}

/// Runs a program. Returns what it shows, and how many turns were skipped.
fn run(board: &str, elf: &[u8], how: How) -> (Seen, u64) {
    let program = Program::from_elf(elf).expect("an ELF program");
    let image: Vec<(u32, Vec<u8>)> = program.image().map(|(at, b)| (at, b.to_vec())).collect();
    run_image(board, &image, &functions(elf), how)
}

fn run_image(
    board: &str,
    image: &[(u32, Vec<u8>)],
    functions: &[(u32, u32)],
    how: How,
) -> (Seen, u64) {
    let board = Board::builtin(board).expect("a bundled board");
    let mut bus = board.build().expect("a good board");
    for (address, bytes) in image {
        bus.load(*address, bytes).expect("the firmware fits");
    }
    let pins = ["PB5", "PD3"].iter().filter_map(|name| bus.signals.find(name)).collect();
    let tree = CallTree::new(&bus, functions);
    let watch = (Counts::new(&bus), (tree, PinLog::new(pins)));
    let mut machine = Machine::new(bus, &board.avr_core().expect("an AVR"), watch);
    machine.record_pins(true);
    machine.set_function_entries(functions.iter().map(|f| f.0).collect());
    if how.executes_waits {
        machine.execute_waits();
    }
    machine.reset().expect("no vector table");
    let (pc, sp) = (machine.cpu.pc, machine.stack_top());
    machine.observer.1.0.start(pc, sp);
    machine.distinguish();
    while machine.cycles() < how.limit {
        let limit = (machine.cycles() + how.chunk).min(how.limit);
        if machine.run(limit, &AtomicBool::new(false)) != Stop::Limit {
            break;
        }
    }
    let moment = Moment {
        cycle: machine.cycles(),
        asleep: machine.asleep(),
        instructions: machine.instructions(),
    };
    let skipped = machine.skipped_turns();
    let (counts, (tree, log)) = &mut machine.observer;
    tree.finish(moment, machine.cpu.pc, &machine.bus.clocks);
    let seen = Seen {
        counts: counts.finish(),
        tree: tree.nodes().iter().map(|n| format!("{n:?}")).collect(),
        edges: format!("{log:?}"),
        cpu: machine.cpu.clone(),
        ram: machine.bus.ram.data.to_vec(),
        moment,
        unmodelled: format!("{:?}", machine.bus.unmodelled.touched().collect::<Vec<_>>()),
    };
    (seen, skipped)
}

/// The first difference, in few words.
fn difference(a: &Seen, b: &Seen) -> String {
    let ram = a.ram.iter().zip(&b.ram).position(|(a, b)| a != b);
    let count = a.counts.iter().zip(&b.counts).find(|(a, b)| a != b);
    let node = a.tree.iter().zip(&b.tree).find(|(a, b)| a != b);
    format!(
        "{:?} {:?}\n{:?} {:?}\nRAM {ram:x?}\n{count:x?}\n{node:?}\nedges differ: {}\n{}\n{}",
        a.moment,
        a.cpu,
        b.moment,
        b.cpu,
        a.edges != b.edges,
        a.unmodelled,
        b.unmodelled,
    )
}

#[test]
fn firmware_shows_the_same_with_skipped_turns() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../firmware/prebuilt");
    for (board, firmware) in FIRMWARE {
        let elf = std::fs::read(format!("{root}/{firmware}.elf")).expect("bundled firmware");
        let how = How { executes_waits: true, limit: 8_000_000, chunk: 1 << 24 };
        let (executed, none) = run(board, &elf, how);
        assert_eq!(none, 0);
        for chunk in [1 << 24, 9973] {
            let (skipped, _) = run(board, &elf, How { executes_waits: false, chunk, ..how });
            assert!(skipped == executed, "{firmware}: {}", difference(&skipped, &executed));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn random_loops_show_the_same(program in loops::program(), chunk in 500u64..60_000) {
        let image = [(0, program.code())];
        let functions = [(0, 0x80), (0x80, 0x100), (0x100, 0x400)];
        let how = How { executes_waits: true, limit: 150_000, chunk: 1 << 24 };
        let (executed, _) = run_image("arduino-uno", &image, &functions, how);
        let how = How { executes_waits: false, chunk, ..how };
        let (skipped, _) = run_image("arduino-uno", &image, &functions, how);
        prop_assert!(skipped == executed, "{}", difference(&skipped, &executed));
    }
}

/// Each kind of loop that waits skips nearly all of its turns.
#[test]
fn waits_are_skipped() {
    for (name, program, least) in loops::waits() {
        let how = How { executes_waits: false, limit: 4_000_000, chunk: 1 << 24 };
        let image = [(0, program.code())];
        let (seen, skipped) = run_image("arduino-uno", &image, &[(0, 0x400)], how);
        assert!(skipped > least, "{name}: {skipped} turns of {:?}", seen.moment);
        let how = How { executes_waits: true, ..how };
        let (executed, _) = run_image("arduino-uno", &image, &[(0, 0x400)], how);
        assert!(seen == executed, "{name}: {}", difference(&seen, &executed));
    }
}
