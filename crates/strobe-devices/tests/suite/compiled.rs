//! Compiled code against the interpreter: the same cycles, waits, counts, calls and pin edges, to
//! the last one, on real firmware with and without wait states. (That both do what the core does is
//! proved against QEMU in `lockstep`.)

use std::sync::atomic::AtomicBool;

use strobe_devices::board::Board;
use strobe_model::Cause;
use strobe_oracle::Program;
use strobe_sim::bus::Bus;
use strobe_sim::cortexm::timing::{CoreKind, Timing};
use strobe_sim::cortexm::{CoreOptions, Machine, Stop};
use strobe_sim::device::Size;
use strobe_sim::kernel::core::Core as _;
use strobe_sim::memory::{Memory, MemoryKind};
use strobe_sim::observe::Moment;
use strobe_sim::observe::calls::{CallTree, NodeKind};
use strobe_sim::observe::counts::{AddressCount, Counts, Leeway, Share};
use strobe_sim::observe::pins::PinLog;
use strobe_sim::observe::schedule::Who;
use strobe_synth::{Core, Options, Rng, Sequence};

pub(crate) const FIRMWARE: [(&str, &str); 22] = [
    ("stm32f070cb", "threads"),
    ("stm32f070cb", "loop-0ws"),
    ("stm32f070cb", "loop-48mhz"),
    ("stm32f070cb", "loop-48mhz-noprefetch"),
    ("stm32f070cb", "blink"),
    ("stm32f070cb", "stepper"),
    ("stm32f070cb", "hello-uart"),
    ("cortex-m0", "generic-c"),
    ("cortex-m0", "crc-rs"),
    ("cortex-m0plus", "x25519-c"),
    // Jumps through a table: with wait states for the target, with wide instructions there,
    // through caches.
    ("stm32f070cb", "calculator"),
    ("cortex-m3", "calculator-m3"),
    ("cortex-m4f", "calculator-m4f"),
    ("accelerated 705", "calculator-m3"),
    ("accelerated 005", "calculator-m4f"),
    // Five wait states with prefetch and both caches, without prefetch, without each cache; seven
    // with nothing.
    ("accelerated 705", "x25519-c-m3"),
    ("accelerated 705", "generic-c-m3"),
    ("accelerated 705", "numbers-m4f"),
    ("accelerated 605", "generic-c-m3"),
    ("accelerated 505", "numbers-m4f"),
    ("accelerated 305", "x25519-c-m3"),
    ("accelerated 007", "numbers-m4f"),
];

/// Firmware on [`LATE`].
const ON_LATE: [(&str, &str); 3] =
    [("late", "numbers-m4f"), ("late", "generic-c-m3"), ("late", "x25519-c-m3")];

/// A Cortex-M4F most of whose RAM answers late at first.
const LATE: &str = "
    base = 'cortex-m4f'
    name = 'late'
    description = 'waits for RAM'

    [[memory]]
    name = 'ram'
    banks = [{ from = 0x2000_0100, first_wait = 2 }]
";

/// A Cortex-M4F behind the flash accelerator of an STM32F4, whose FLASH_ACR the tests set.
pub(crate) const ACCELERATED: &str = "
    base = 'cortex-m4f'
    name = 'accelerated'
    description = 'wait states'

    [flash.accelerator]
    line_bytes = 16
    buffer_lines = 1
    instruction_lines = 64
    data_lines = 8
    ahead = 3
    origin = 'RM0090 3.5.2'
    why = 'lines'

    [[device]]
    name = 'FLASH'
    model = 'stm32f4-flash'
    base = 0x4002_3c00
    size = 0x400
    bus = 'ahb'
    irq = [4]
    options = { max_hz = [100_000_000] }
";

/// Everything that a run shows.
#[derive(Debug, PartialEq)]
struct Seen {
    registers: [u32; 16],
    apsr: u32,
    cycles: u64,
    instructions: u64,
    counts: Vec<(u32, AddressCount)>,
    leeway: Vec<Leeway>,
    /// Kind, parent, calls, cycles and instructions of each node.
    tree: Vec<String>,
    /// Cycles and cycles asleep of each thread and handler: by the tree, by the schedule, by the
    /// counts.
    by_tree: Vec<(Who, u64, u64)>,
    by_schedule: Vec<(Who, u64, u64)>,
    by_counts: Vec<(Who, u64, u64)>,
    edges: String,
}

/// Runs a firmware, looking up every `chunk` cycles.
fn run(board: &str, firmware: &str, compile_after: Option<u32>, chunk: u64) -> Seen {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../firmware/prebuilt");
    let elf = std::fs::read(format!("{root}/{firmware}.elf")).expect("bundled firmware");
    let (board, acr) = match board.strip_prefix("accelerated ") {
        None if board == "late" => (Board::parse(LATE).expect("a board"), None),
        None => (Board::builtin(board).expect("a bundled board"), None),
        Some(acr) => (Board::parse(ACCELERATED).expect("a board"), Some(acr)),
    };
    let acr = acr.map(|acr| u32::from_str_radix(acr, 16).expect("a number"));
    let mut bus = board.build().expect("a good board");
    let program = Program::from_elf(&elf).expect("an ELF program");
    for (address, bytes) in program.image() {
        bus.load(address, bytes).expect("the firmware fits");
    }
    let pins = ["PB8", "PA5"].iter().filter_map(|name| bus.signals.find(name)).collect();
    let functions = functions(&elf);
    let tree = CallTree::new(&bus, &functions);
    let watch = (Counts::new(&bus), (tree, PinLog::new(pins)));
    let mut machine = Machine::new(bus, &board.arm_core().unwrap(), watch);
    machine.record_pins(true);
    machine.set_compile_after(compile_after);
    machine.set_function_entries(functions.iter().map(|f| f.0).collect());
    machine.reset().expect("a vector table");
    if let Some(acr) = acr {
        machine.bus.write(0x4002_3c00, Size::Word, acr).expect("FLASH_ACR");
    }
    let (pc, sp) = (machine.cpu.pc, machine.cpu.msp());
    machine.observer.1.0.start(pc, sp);
    machine.distinguish();
    const LIMIT: u64 = 3_000_000;
    while machine.cycles() < LIMIT {
        let limit = (machine.cycles() + chunk).min(LIMIT);
        if machine.run(limit, &AtomicBool::new(false)) != Stop::Limit {
            break;
        }
    }
    let (cycles, instructions) = (machine.cycles(), machine.instructions());
    let (asleep, pc) = (machine.asleep(), machine.cpu.pc);
    let (counts, (tree, log)) = &mut machine.observer;
    tree.finish(Moment { cycle: cycles, asleep, instructions }, pc, &machine.bus.clocks);
    let total = counts.finish();
    Seen {
        by_tree: by_tree(tree),
        by_schedule: by_schedule(tree),
        by_counts: by_counts(counts),
        registers: machine.cpu.registers(),
        apsr: machine.cpu.apsr(),
        cycles,
        instructions,
        counts: total,
        leeway: Cause::ALL.iter().map(|&cause| counts.leeway(cause)).collect(),
        tree: tree.nodes().iter().map(|n| format!("{n:?}")).collect(),
        edges: format!("{log:?}"),
    }
}

type Shares = Vec<(Who, u64, u64)>;

fn ran(mut shares: Shares) -> Shares {
    shares.retain(|(_, cycles, _)| *cycles > 0);
    shares.sort_unstable();
    shares
}

fn by_tree(tree: &CallTree) -> Shares {
    let mut sums: Vec<(u64, u64)> = tree.nodes().iter().map(|n| (n.cycles, n.asleep)).collect();
    let mut out = Vec::new();
    for (i, node) in tree.nodes().iter().enumerate().rev() {
        match (node.parent, node.kind) {
            (Some(parent), _) => {
                sums[parent as usize].0 += sums[i].0;
                sums[parent as usize].1 += sums[i].1;
            }
            (None, NodeKind::Exception(e)) => out.push((Who::Handler(e), sums[i].0, sums[i].1)),
            (None, NodeKind::Thread(t)) => out.push((Who::Thread(t), sums[i].0, sums[i].1)),
            (None, kind) => panic!("{kind:?} is no root"),
        }
    }
    ran(out)
}

fn by_schedule(tree: &CallTree) -> Shares {
    let threads = (0..).zip(tree.schedule.threads());
    let threads = threads.map(|(i, t)| (Who::Thread(i), t.cycles, t.asleep));
    let handlers = tree.schedule.handlers().iter();
    let handlers = handlers.map(|h| (Who::Handler(h.exception), h.cycles, h.asleep));
    ran(threads.chain(handlers).collect())
}

fn by_counts(counts: &Counts) -> Shares {
    let sum = |share: Share| {
        let cycles = || share.counts.iter().map(|(_, count)| count.cycles);
        let total = cycles().map(|cycles| cycles.total()).sum();
        (share.who, total, cycles().map(|cycles| cycles[Cause::Asleep]).sum())
    };
    ran(counts.apart().map(sum).collect())
}

/// The functions of the symbol table, sorted and disjoint.
pub(crate) fn functions(elf: &[u8]) -> Vec<(u32, u32)> {
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
    for (board, firmware) in FIRMWARE.into_iter().chain(ON_LATE) {
        let interpreted = run(board, firmware, None, 1 << 24);
        assert!(interpreted.instructions > 100, "{firmware}");
        assert_eq!(interpreted.by_tree, interpreted.by_schedule, "{firmware}");
        assert_eq!(interpreted.by_tree, interpreted.by_counts, "{firmware}");
        let shares: u64 = interpreted.by_tree.iter().map(|(_, cycles, _)| cycles).sum();
        assert_eq!(shares, interpreted.cycles, "{firmware}: every cycle is somebody's");
        for (compile_after, chunk) in [(1, 1 << 24), (2, 997), (50, 1 << 24)] {
            let compiled = run(board, firmware, Some(compile_after), chunk);
            assert!(
                compiled == interpreted,
                "{firmware} compiled after {compile_after} runs, looking up every {chunk} cycles: \
                 {} cycles {} instructions, {} {} interpreted",
                compiled.cycles,
                compiled.instructions,
                interpreted.cycles,
                interpreted.instructions,
            );
        }
    }
}

/// Writes `movs r0, #i; bx lr` to RAM for i below 200, calls it ten times each, and sums what it
/// returns in R6; a word next to the code is written, too. Then BKPT.
const SELF_MODIFYING: [u16; 28] = [
    // ldr r4, =0x20000000; movs r5, #0; movs r6, #0; ldr r7, =0x2000
    0x4c0a, 0x2500, 0x2600, 0x4f0a,
    // loop: movs r1, r7; orrs r1, r5; strh r1, [r4]; ldr r1, =0x4770; strh r1, [r4, #2]; str r6,
    // [r4, #8]
    0x0039, 0x4329, 0x8021, 0x4909, 0x8061, 0x60a6,
    // movs r1, #1; orrs r1, r4; movs r2, #10
    0x2101, 0x4321, 0x220a, // again: blx r1; adds r6, r6, r0; subs r2, #1; bne again
    0x4788, 0x1836, 0x3a01, 0xd1fb, // adds r5, #1; cmp r5, #200; bne loop; bkpt; nop
    0x3501, 0x2dc8, 0xd1ef, 0xbe00, 0x46c0, // the literals
    0x0000, 0x2000, 0x2000, 0x0000, 0x4770, 0x0000,
];

#[test]
fn compiled_code_follows_changes_of_code_in_ram() {
    let run = |compile_after| {
        let mut bus = Board::builtin("cortex-m0").unwrap().build().unwrap();
        let head = [0x2000_1000u32, 0x101].map(u32::to_le_bytes).concat();
        bus.load(0, &head).unwrap();
        let code: Vec<u8> = SELF_MODIFYING.iter().flat_map(|h| h.to_le_bytes()).collect();
        bus.load(0x100, &code).unwrap();
        let options = Board::builtin("cortex-m0").unwrap().arm_core().unwrap();
        let mut machine = Machine::new(bus, &options, ());
        machine.set_compile_after(compile_after);
        machine.reset().unwrap();
        let stop = machine.run(1_000_000, &AtomicBool::new(false));
        assert!(matches!(stop, Stop::HardFault(_)), "{stop:?}");
        (machine.cpu.registers(), machine.cycles(), machine.instructions())
    };
    let interpreted = run(None);
    assert_eq!(interpreted.0[6], 10 * (0..200).sum::<u32>());
    assert_eq!(run(Some(1)), interpreted);
    assert_eq!(run(Some(4)), interpreted);
}

/// Adds 250 to a word in the main RAM, then 500 to one in another, in the same loop.
const IN_TWO_MEMORIES: [u16; 14] = [
    // movs r6, #3; movs r0, #0x20; lsls r0, r0, #24; again: movs r4, #250
    0x2603, 0x2020, 0x0600, 0x24fa,
    // loop: ldr r3, [r0]; adds r3, #1; str r3, [r0]; subs r4, #1; bne loop
    0x6803, 0x3301, 0x6003, 0x3c01, 0xd1fa,
    // movs r0, #0x21; lsls r0, r0, #24; subs r6, #1; bne again; bkpt
    0x2021, 0x0600, 0x3e01, 0xd1f5, 0xbe00,
];

#[test]
fn code_is_compiled_again_for_further_memories() {
    let run = |compile_after| {
        let board = Board::builtin("mps2-an386").unwrap();
        let mut bus = board.build().unwrap();
        let head = [0x2000_1000u32, 0x9].map(u32::to_le_bytes).concat();
        let code: Vec<u8> = IN_TWO_MEMORIES.iter().flat_map(|h| h.to_le_bytes()).collect();
        bus.load(0, &head).unwrap();
        bus.load(8, &code).unwrap();
        let mut machine = Machine::new(bus, &board.arm_core().unwrap(), ());
        machine.set_compile_after(compile_after);
        machine.reset().unwrap();
        let stop = machine.run(1_000_000, &AtomicBool::new(false));
        assert!(matches!(stop, Stop::HardFault(_)), "{stop:?}");
        let seen = (machine.cpu.registers(), machine.cycles(), machine.instructions());
        (seen, machine.compiled_instructions())
    };
    let (interpreted, _) = run(None);
    assert_eq!(interpreted.0[3], 500);
    let (compiled, instructions) = run(Some(4));
    assert_eq!(compiled, interpreted);
    assert!(instructions >= 10, "the loop's five, twice: {instructions}");
}

/// Blocks of the long function, two for each comparison.
const COMPARISONS: usize = 1500;

/// A function of many blocks in one loop, then BKPT.
fn long_function() -> Vec<u8> {
    // movs r5, #40; movs r2, #13 (where the loop begins)
    let mut code = vec![0x2528, 0x220d];
    // cmp r0, #1; bne over the addition; adds r1, #1
    (0..COMPARISONS).for_each(|_| code.extend([0x2801u16, 0xd100, 0x3101]));
    // subs r5, #1; beq over the jump; bx r2; bkpt
    code.extend([0x3d01, 0xd000, 0x4710, 0xbe00]);
    code.into_iter().flat_map(u16::to_le_bytes).collect()
}

#[test]
fn a_long_function_is_compiled_in_linear_time() {
    let run = |compile_after| {
        let board = Board::builtin("cortex-m0").unwrap();
        let mut bus = board.build().unwrap();
        let head = [0x2000_1000u32, 0x9].map(u32::to_le_bytes).concat();
        bus.load(0, &head).unwrap();
        bus.load(8, &long_function()).unwrap();
        let mut machine = Machine::new(bus, &board.arm_core().unwrap(), ());
        machine.set_compile_after(compile_after);
        machine.reset().unwrap();
        let stop = machine.run(10_000_000, &AtomicBool::new(false));
        assert!(matches!(stop, Stop::HardFault(_)), "{stop:?}");
        let seen = (machine.cpu.registers(), machine.cycles(), machine.instructions());
        (seen, machine.compiled_instructions())
    };
    let (interpreted, _) = run(None);
    let (compiled, instructions) = run(Some(4));
    assert_eq!(compiled, interpreted);
    assert!(instructions >= 2 * COMPARISONS, "{instructions}");
    assert!(instructions <= 3 * 3 * COMPARISONS, "{instructions}");
}

/// A core with large memories and a program of its own.
fn generated(elf: &[u8], kind: CoreKind, compile_after: Option<u32>) -> Machine<()> {
    let flash = Memory::new("flash", MemoryKind::Flash, 0, 4 << 20);
    let ram = Memory::new("ram", MemoryKind::Ram, 0x2000_0000, 4 << 20);
    let mut bus = Bus::new(flash, ram, 16_000_000);
    for (address, bytes) in Program::from_elf(elf).expect("an ELF program").image() {
        bus.load(address, bytes).expect("the program fits");
    }
    let board = Board::builtin("cortex-m3").expect("a bundled board");
    let options = CoreOptions { timing: Timing::new(kind), ..board.arm_core().unwrap() };
    let mut machine = Machine::new(bus, &options, ());
    machine.set_compile_after(compile_after);
    machine.reset().expect("a vector table");
    machine
}

/// Programs that cover every encoding, compared every few hundred cycles: registers, flags,
/// floating point, cycles.
#[test]
fn generated_programs_agree_all_the_way() {
    let cores = [(Core::V7m, CoreKind::CortexM3), (Core::V7emFp, CoreKind::CortexM4f)];
    for (core, kind, seed) in cores.iter().flat_map(|&(c, k)| (0..18).map(move |seed| (c, k, seed)))
    {
        let options =
            Options { core, snippets: 1500, exceptions: seed % 3 > 0, faults: seed % 3 > 1 };
        let elf = Sequence::generate(seed, &options).elf();
        let mut interpreted = generated(&elf, kind, None);
        let mut compiled = generated(&elf, kind, Some(2));
        let never = AtomicBool::new(false);
        let mut rng = Rng::new(seed);
        let mut limit = 0;
        while limit < 1_000_000 {
            limit += 1 + u64::from(rng.below(400));
            let stops = [&mut interpreted, &mut compiled].map(|m| m.run(limit, &never));
            let [a, b] = [&interpreted, &compiled].map(|m| {
                let fp = (m.cpu.fp.s, m.cpu.fp.fpscr());
                (m.cpu.registers(), m.cpu.xpsr(), fp, m.instructions(), m.cycles())
            });
            assert_eq!(a, b, "seed {seed} on {kind:?}, by cycle {limit}");
            assert_eq!(stops[0], stops[1], "seed {seed} on {kind:?}, by cycle {limit}");
            if !matches!(stops[0], Stop::Limit | Stop::HardFault(_)) {
                break;
            }
        }
        assert!(interpreted.instructions() > 1000, "seed {seed} on {kind:?}");
    }
}
