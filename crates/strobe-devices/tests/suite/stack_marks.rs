//! High-water marks that whole blocks and compiled code leave behind against those of a run in
//! which every single move of the stack pointer is looked at: the same, to the byte.

use std::sync::atomic::AtomicBool;

use strobe_devices::board::Board;
use strobe_devices::machine::{Machine, Stop};
use strobe_oracle::Program;
use strobe_sim::bus::Bus;
use strobe_sim::observe::calls::{CallTree, NodeKind};
use strobe_sim::observe::deepest::{HANDLERS, Marks};
use strobe_sim::observe::{Observer, StackWindow};

use super::compiled::{ACCELERATED, FIRMWARE, functions};

/// Has every stack pointer reported, to itself and to whoever it is composed with.
struct Every;

impl Observer for Every {
    fn follows_stack(&self) -> bool {
        true
    }
    fn stack_window(&self) -> StackWindow {
        StackWindow::NONE
    }
}

/// Stack pointer and top of each thread's deepest moment, and the instructions that ran.
type Seen = (Vec<Option<(u32, u32)>>, u64);

fn machine<O: Observer>(board: &str, firmware: &str, watch: impl Fn(CallTree) -> O) -> Machine<O> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../firmware/prebuilt");
    let elf = std::fs::read(format!("{root}/{firmware}.elf")).expect("bundled firmware");
    let board = if board.starts_with("accelerated") {
        Board::parse(ACCELERATED).expect("a board")
    } else {
        Board::builtin(board).expect("a bundled board")
    };
    let mut bus: Bus = board.build().expect("a good board");
    let program = Program::from_elf(&elf).expect("an ELF program");
    for (address, bytes) in program.image() {
        bus.load(address, bytes).expect("the firmware fits");
    }
    let functions = functions(&elf);
    let mut tree = CallTree::new(&bus, &functions);
    tree.marks = Some(Marks::default());
    let mut machine = Machine::new(&board, bus, watch(tree)).expect("a core");
    machine.set_function_entries(functions.iter().map(|f| f.0).collect());
    machine.reset().expect("a vector table");
    machine
}

fn run<O: Observer>(
    mut machine: Machine<O>,
    chunk: u64,
    tree: impl Fn(&mut O) -> &mut CallTree,
) -> Seen {
    let (pc, sp) = (machine.pc(), machine.sp());
    tree(machine.observer_mut()).start(pc, sp);
    const LIMIT: u64 = 3_000_000;
    while machine.cycles() < LIMIT {
        let limit = (machine.cycles() + chunk).min(LIMIT);
        if !matches!(machine.run(limit, &AtomicBool::new(false)), Stop::Limit) {
            break;
        }
    }
    let instructions = machine.instructions();
    let tree = tree(machine.observer_mut());
    let marks = tree.marks.as_ref().expect("marks are kept");
    let of = |thread| marks.of(thread).map(|deepest| (deepest.sp, deepest.top));
    ((0..tree.threads.all().len()).map(of).collect(), instructions)
}

#[test]
fn marks_are_those_of_every_move() {
    let avr = [("arduino-uno", "work-avr"), ("arduino-uno", "peripherals-avr")];
    let mut deepest = 0;
    for (board, firmware) in FIRMWARE.into_iter().chain(avr) {
        let every = machine(board, firmware, |tree| (Every, tree));
        let every = run(every, u64::MAX, |watch| &mut watch.1);
        for chunk in [u64::MAX, 10_007] {
            let fast = run(machine(board, firmware, |tree| tree), chunk, |tree| tree);
            assert_eq!(fast, every, "{firmware} on {board}");
        }
        let mut interpreted = machine(board, firmware, |tree| tree);
        interpreted.interpret();
        assert_eq!(run(interpreted, u64::MAX, |tree| tree), every, "{firmware} on {board}");
        deepest += every.0.iter().flatten().map(|(sp, top)| top - sp).max().unwrap_or(0);
    }
    assert!(deepest > 3000, "{deepest}");
}

/// `ldr sp, [r0], #4` moves two registers: it must not be run twice where the stack pointer leaves
/// what is known.
#[test]
fn a_stack_pointer_loaded_with_writeback_is_loaded_once() {
    let code: [u16; 16] = [
        0x4803, 0x4904, // ldr r0, =0x20000100; ldr r1, =0x20000800
        0x6001, 0xbf00, // str r1, [r0]; nop
        0xf850, 0xdb04, // ldr sp, [r0], #4
        0x6008, 0xe7fe, // str r0, [r1]; b .
        0x0100, 0x2000, 0x0800, 0x2000, 0, 0, 0, 0,
    ];
    let board = Board::builtin("lm3s6965evb").expect("a bundled board");
    let mut bus: Bus = board.build().expect("a good board");
    let vectors = [0x2000_1000_u32, 9].into_iter().flat_map(u32::to_le_bytes);
    let image: Vec<u8> = vectors.chain(code.into_iter().flat_map(u16::to_le_bytes)).collect();
    bus.load(0, &image).expect("it fits");
    let mut tree = CallTree::new(&bus, &[(8, 16)]);
    tree.marks = Some(Marks::default());
    let mut machine = Machine::new(&board, bus, tree).expect("a core");
    machine.reset().expect("a vector table");
    let (pc, sp) = (machine.pc(), machine.sp());
    machine.observer_mut().start(pc, sp);
    machine.run(1000, &AtomicBool::new(false));
    assert_eq!(machine.sp(), 0x2000_0800);
    assert_eq!(machine.debugger_read(0x2000_0800).ok(), Some(0x2000_0104), "one word on");
}

/// Start-up code that leaves its stack to the handlers, and a thread that takes over by hand, on a
/// stack further up: neither's figures hold what is the other's.
#[test]
fn each_stack_has_its_own_bytes_alone() {
    let code: [u16; 36] = [
        0x480e, 0xf380, 0x8809, // reset: ldr r0, =0x20000800; msr psp, r0
        0x2002, 0xf380, 0x8814, 0xf3bf, 0x8f6f, // movs r0, #2; msr control, r0; isb
        0xf000, 0xf801, 0xe7fe, // bl main; b .
        0xb5f0, 0x4909,
        0x4a0a, // main: push {r4-r7, lr}; ldr r1, =0x20000a00; ldr r2, =thread
        0xf000, 0xf800, // bl switch
        0xb510, 0x468d, 0xbf00, 0x4710, // switch: push {r4, lr}; mov sp, r1; nop; bx r2
        0xb570, 0xf000, 0xf802, // thread: push {r4-r6, lr}; bl leaf
        0xdf00, 0xe7fe, // svc 0; b .
        0xb510, 0xbd10, // leaf: push {r4, lr}; pop {r4, pc}
        0xb5f0, 0xbdf0, 0x0000, // svc: push {r4-r7, lr}; pop {r4-r7, pc}
        0x0800, 0x2000, 0x0a00, 0x2000, 0x0069, 0x0000,
    ];
    let functions = [(0x40, 0x56), (0x56, 0x60), (0x60, 0x68), (0x68, 0x72), (0x72, 0x76)];
    let board = Board::builtin("lm3s6965evb").expect("a bundled board");
    let mut bus: Bus = board.build().expect("a good board");
    let mut vectors = [0u32; 16];
    (vectors[0], vectors[1], vectors[11]) = (0x2000_0400, 0x41, 0x77);
    let image: Vec<u8> = vectors.into_iter().flat_map(u32::to_le_bytes).collect();
    let code = code.into_iter().flat_map(u16::to_le_bytes);
    bus.load(0, &image.into_iter().chain(code).collect::<Vec<u8>>()).expect("it fits");
    let mut tree = CallTree::new(&bus, &functions);
    tree.marks = Some(Marks::default());
    let mut machine = Machine::new(&board, bus, tree).expect("a core");
    machine.reset().expect("a vector table");
    let (pc, sp) = (machine.pc(), machine.sp());
    machine.observer_mut().start(pc, sp);
    machine.run(1000, &AtomicBool::new(false));
    let tree = machine.observer();
    let marks = tree.marks.as_ref().expect("marks are kept");
    let of = |thread| marks.of(thread).map(|deepest| (deepest.sp, deepest.top));
    assert_eq!(tree.threads.all().len(), 2);
    assert_eq!(of(0), Some((0x2000_0800 - 28, 0x2000_0800)), "main");
    // Its own four words, and the frame of the exception.
    assert_eq!(of(1), Some((0x2000_0a00 - 16 - 32, 0x2000_0a00)), "the thread");
    assert_eq!(of(HANDLERS), Some((0x2000_0400 - 20, 0x2000_0400)), "handlers");
}

/// A handler puts a frame below the interrupted one's, and what that leads to gives the core to
/// another thread: the interrupted one has been preempted, and what it runs is under what was
/// interrupted.
#[test]
fn a_thread_that_a_handler_makes_switch_is_preempted() {
    let code: [u16; 32] = [
        0x480b, 0x21c8, 0x6041, 0x6081, // reset: r0 = SysTick; r1 = 200; RVR, CVR = r1
        0x2107, 0x6001, 0xb510, 0xf000, 0xf800, // CSR = 7; push {r4, lr}; bl busy
        0xbf00, 0xe7fd, // busy: nop; b busy
        0xb088, 0x4806, 0x9006, // tick: sub sp, #32; ldr r0, =after; str r0, [sp, #24]
        0x2001, 0x0600, 0x9007, 0x4770, // r0 = 1 << 24; str r0, [sp, #28]; bx lr
        0x4904, 0x4a05, 0x468d, 0x4710, // after: r1, r2 = stack, thread; mov sp, r1; bx r2
        0xe7fe, 0xbf00, // thread: b .
        0xe010, 0xe000, 0x0064, 0x0000, 0x0a00, 0x2000, 0x006d, 0x0000,
    ];
    let functions = [(0x40, 0x52), (0x52, 0x56), (0x56, 0x64), (0x64, 0x6c), (0x6c, 0x70)];
    let board = Board::builtin("lm3s6965evb").expect("a bundled board");
    let mut bus: Bus = board.build().expect("a good board");
    let mut vectors = [0u32; 16];
    (vectors[0], vectors[1], vectors[15]) = (0x2000_1000, 0x41, 0x57);
    let image: Vec<u8> = vectors.into_iter().flat_map(u32::to_le_bytes).collect();
    let code = code.into_iter().flat_map(u16::to_le_bytes);
    bus.load(0, &image.into_iter().chain(code).collect::<Vec<u8>>()).expect("it fits");
    let mut tree = CallTree::new(&bus, &functions);
    tree.marks = Some(Marks::default());
    let mut machine = Machine::new(&board, bus, tree).expect("a core");
    machine.reset().expect("a vector table");
    let (pc, sp) = (machine.pc(), machine.sp());
    machine.observer_mut().start(pc, sp);
    machine.run(300, &AtomicBool::new(false));
    let tree = machine.observer();
    let runs = tree.schedule.threads();
    assert_eq!((runs.len(), runs[0].gave_up, runs[0].preempted), (2, 0, 1));
    let nodes = tree.nodes();
    let after = nodes.iter().find(|node| node.kind == NodeKind::Function(3)).expect("it ran");
    let above = &nodes[after.parent.expect("an interrupted function") as usize];
    assert_eq!((after.diverted, above.kind), (true, NodeKind::Function(1)));
    let marks = tree.marks.as_ref().expect("marks are kept");
    // What was pushed, the exception's frame; the handler's own, which it left, below that.
    let of = |thread| marks.of(thread).map(|deepest| (deepest.sp, deepest.top));
    assert_eq!(of(0), Some((0x2000_1000 - 8 - 32 - 32, 0x2000_1000)));
}
