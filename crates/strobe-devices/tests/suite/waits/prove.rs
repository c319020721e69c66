//! Runs a program twice, with its waits skipped and executed, and compares all that shows.

use std::sync::atomic::AtomicBool;

use strobe_devices::board::Board;
use strobe_model::Cause;
use strobe_sim::cortexm::{Machine, Stop};
use strobe_sim::kernel::core::Core as _;
use strobe_sim::observe::Moment;
use strobe_sim::observe::calls::CallTree;
use strobe_sim::observe::counts::Counts;
use strobe_sim::observe::pins::PinLog;
use strobe_synth::Rng;

use super::program::Program;

type Watch = (Counts, (CallTree, PinLog));

/// How a program is run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run {
    pub(crate) seed: u64,
    pub(crate) cycles: u64,
    /// Cycles of a chunk, at most.
    pub(crate) chunk: u32,
    pub(crate) compile_after: Option<u32>,
}

/// What shows at the end of each chunk.
#[derive(Debug, PartialEq)]
struct State {
    registers: [u32; 16],
    xpsr: u32,
    fp: ([u32; 32], u32),
    cycles: u64,
    instructions: u64,
    asleep: u64,
}

fn machine(board: &str, image: &[(u32, Vec<u8>)], run: Run, skips: bool) -> Machine<Watch> {
    let board = Board::builtin(board).expect("a bundled board");
    let mut bus = board.build().expect("a good board");
    for (address, bytes) in image {
        bus.load(*address, bytes).expect("flash is that large");
    }
    let code: Vec<(u32, u32)> = image.iter().map(|(at, b)| (*at, at + b.len() as u32)).collect();
    let pins = ["PA9"].iter().filter_map(|name| bus.signals.find(name)).collect();
    let watch = (Counts::new(&bus), (CallTree::new(&bus, &code[1..]), PinLog::new(pins)));
    let mut machine = Machine::new(bus, &board.arm_core().expect("an Arm core"), watch);
    machine.record_pins(true);
    machine.set_compile_after(run.compile_after);
    machine.set_skip_waiting(skips);
    machine.reset().expect("a vector table");
    let (pc, sp) = (machine.cpu.pc, machine.cpu.msp());
    machine.observer.1.0.start(pc, sp);
    machine
}

fn state(machine: &Machine<Watch>) -> State {
    State {
        registers: machine.cpu.registers(),
        xpsr: machine.cpu.xpsr(),
        fp: (machine.cpu.fp.s, machine.cpu.fp.fpscr()),
        cycles: machine.cycles(),
        instructions: machine.instructions(),
        asleep: machine.asleep(),
    }
}

/// What shows at the end of a run, by name.
fn end(machine: &mut Machine<Watch>) -> Vec<(&'static str, String)> {
    let instructions = machine.instructions();
    let (asleep, pc, cycles) = (machine.asleep(), machine.cpu.pc, machine.cycles());
    let bus = &machine.bus;
    let given_up: Vec<_> = bus.given_up(cycles).collect();
    let unmodelled: Vec<_> = bus.unmodelled.touched().collect();
    let mut shown = vec![
        ("given up", format!("{given_up:?}")),
        ("awaited", format!("{:?}", bus.awaited(cycles))),
        ("unmodelled", format!("{unmodelled:?}")),
        ("polled", format!("{:?}", bus.unmodelled.polled(cycles).collect::<Vec<_>>())),
    ];
    let (counts, (tree, log)) = &mut machine.observer;
    tree.finish(Moment { cycle: cycles, asleep, instructions }, pc, &machine.bus.clocks);
    let total: Vec<_> = counts.finish();
    let leeway: Vec<_> = Cause::ALL.iter().map(|&cause| counts.leeway(cause)).collect();
    shown.extend([
        ("counts", total.iter().map(|count| format!("{count:x?}\n")).collect()),
        ("leeway", format!("{leeway:?}")),
        ("tree", tree.nodes().iter().map(|node| format!("{node:?}\n")).collect()),
        ("pins", format!("{log:?}")),
    ]);
    shown
}

/// Cycles of a run: skipped, and all.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cycles {
    pub(crate) skipped: u64,
    pub(crate) all: u64,
}

/// Compares a skipped with an executed run.
pub(crate) fn prove(program: Program, run: Run) -> Cycles {
    let board = program.part.board;
    let (image, text) = program.finish();
    let mut machines = [true, false].map(|skips| machine(board, &image, run, skips));
    let never = AtomicBool::new(false);
    let mut rng = Rng::new(run.seed);
    let mut limit = 0;
    while limit < run.cycles {
        limit += 1 + u64::from(rng.below(run.chunk));
        let stops = machines.each_mut().map(|machine| machine.run(limit, &never));
        let [skipped, executed] = machines.each_ref().map(state);
        let same_ram = machines[0].bus.ram.data == machines[1].bus.ram.data;
        if skipped != executed || stops[0] != stops[1] || !same_ram {
            let other = differences(&mut machines);
            panic!(
                "on {board}, by cycle {limit}, {run:?}, RAM the same: {same_ram}\n{skipped:x?}\n\
                 {executed:x?}\n{stops:?}\n{other:#?}\n{text}"
            );
        }
        if stops[0] != Stop::Limit {
            break;
        }
    }
    let other = differences(&mut machines);
    assert!(other.is_empty(), "on {board}, {run:?}: {other:#?}\n{text}");
    assert_eq!(machines[1].skipped_cycles(), 0, "an executed run skips nothing");
    Cycles { skipped: machines[0].skipped_cycles(), all: machines[0].cycles() }
}

/// What shows at the end of both runs and is not the same, some of it.
fn differences(machines: &mut [Machine<Watch>; 2]) -> Vec<String> {
    let [skipped, executed] = machines.each_mut().map(end);
    let mut found = Vec::new();
    for ((what, skipped), (_, executed)) in skipped.iter().zip(&executed) {
        let pairs = skipped.lines().zip(executed.lines()).filter(|(a, b)| a != b);
        found.extend(pairs.take(8).map(|(a, b)| format!("{what}: {a}, executed {b}")));
        if skipped.lines().count() != executed.lines().count() {
            found.push(format!("{what}: other numbers of lines"));
        }
    }
    found
}
