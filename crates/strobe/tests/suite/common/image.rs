//! Takes any bytes for a program, runs it for a bounded time with the full profile, and checks what
//! comes out. Shared with the fuzz target, which includes this file.

use std::sync::LazyLock;
use std::sync::atomic::AtomicBool;

use strobe_analyse::attribution::By;
use strobe_devices::board::Board;
use strobe_report::text::{Selection, Tree};
use strobe_report::{Options, file, text};
use strobe_source::simulated::run_record::{EndReason, RunRecord};
use strobe_source::simulated::{self, Limit, Quiet, Settings};
use strobe_symbols::Firmware;
use strobe_synth::ElfBuilder;

/// How long a program runs, in cycles.
const LIMIT: u64 = 20_000;
/// What the last instruction may run over it: a multiplication or a long transfer, then an
/// exception's entry.
const OVER: u64 = 200;
/// Vectors: the system exceptions and 32 interrupts.
const VECTORS: usize = 48;
/// Every so many bytes a function begins.
const FUNCTION: usize = 64;

/// Bare cores with little memory, because making it is most of the work; and the board with devices
/// and wait states.
static BOARDS: LazyLock<[Board; 4]> = LazyLock::new(|| {
    let small = |name, options| {
        let board = Board::builtin(name).expect("comes with the project");
        let text = format!(
            "name = 'small'\ndescription = 'small'\nclock_hz = 1_000_000\n\
             [core]\nmodel = '{name}'\n{options}\nirq_lines = 32\ncpuid = {}\n\
             [[memory]]\nname = 'flash'\nkind = 'flash'\nbase = 0\nsize = 0x4000\n\
             [[memory]]\nname = 'ram'\nkind = 'ram'\nbase = 0x2000_0000\nsize = 0x2000\n\
             [bus]\napb_wait = {{ low = 0, likely = 1, high = 2 }}\n",
            board.arm_core().expect("an Arm board").cpuid
        );
        Board::parse(&text).expect("a board")
    };
    let full = Board::builtin("stm32f070cb").expect("comes with the project");
    let slow = "multiplier_cycles = 32";
    let m4f = small("cortex-m4f", "priority_bits = 3");
    [small("cortex-m0", slow), small("cortex-m0plus", slow), full, m4f]
});

/// Runs the program that the bytes stand for: the first one decides how, the rest is code. Must
/// never panic, must stop at the limit, and everything counted must add up.
pub(crate) fn exercise(bytes: &[u8]) {
    let [how, code @ ..] = bytes else { return };
    let code = &code[..code.len().min(4096) & !1];
    let which = usize::from(how % 4);
    let (board, base) = (&BOARDS[which], if which == 2 { 0x0800_0000 } else { 0 });
    let firmware = Firmware::parse(elf(base, code, how & 4 != 0)).expect("a sound ELF file");
    let settings = Settings {
        limit: Some(Limit::Cycles(LIMIT)),
        from: (how & 8 != 0).then(|| format!("{:#x}", base + FIRST + 4)),
        to: (how & 16 != 0).then(|| format!("{:#x}", base + FIRST + 8)),
        marks: vec![format!("{:#x}", base + FIRST)],
        run_on_after_fault: how & 32 != 0,
        strict: how & 64 != 0,
        ..Settings::default()
    };
    let outcome = simulated::run(&firmware, board, &settings, &mut Quiet, &AtomicBool::new(false));
    let record = outcome.expect("it starts, and what it takes adds up").record;
    check(&record);
    show(&record);
}

/// Offset of the first instruction.
const FIRST: u32 = 4 * VECTORS as u32;

/// The code behind a vector table that leads into it at every function.
fn elf(base: u32, code: &[u8], symbols: bool) -> Vec<u8> {
    let first = base + FIRST;
    let functions = code.len().div_ceil(FUNCTION).max(1);
    let entry = |n: usize| first + (n % functions * FUNCTION) as u32 + 1;
    let words = (0..VECTORS).map(|n| if n == 0 { 0x2000_1000 } else { entry(n - 1) });
    let image: Vec<u8> = words.flat_map(u32::to_le_bytes).chain(code.iter().copied()).collect();
    let mut elf = ElfBuilder::new();
    elf.entry = entry(0);
    elf.code(base, &image);
    let sizes = code.chunks(FUNCTION).map(|chunk| chunk.len() as u32);
    for (n, size) in sizes.enumerate().filter(|_| symbols) {
        elf.function(&format!("f{n}"), entry(n) & !1, size);
    }
    elf.build()
}

fn check(record: &RunRecord) {
    let totals = &record.totals;
    let (run, taken) = (record.run_cycles, totals.cycles);
    assert!(run <= LIMIT + OVER, "ran for {run} cycles: {:?}", record.window.end_reason);
    assert!(taken <= run, "{taken} of {run}");
    if record.window.end_reason == EndReason::Limit {
        assert!(run >= LIMIT, "stopped at {run}");
    }
    assert_eq!(totals.by_cause.total(), taken, "by cause");
    let addresses = &record.profile.addresses;
    assert_eq!(addresses.iter().map(|a| a.cycles.total()).sum::<u64>(), taken, "by address");
    let ran: u64 = addresses.iter().map(|a| a.count).sum();
    assert_eq!(ran, totals.instructions, "instructions by address");
    let tree = &record.profile.tree;
    assert_eq!(tree.iter().map(|n| n.self_cycles).sum::<u64>(), taken, "call tree");
    let ran: u64 = tree.iter().map(|n| n.self_instructions).sum();
    assert_eq!(ran, totals.instructions, "instructions in the call tree");
}

/// What is measured holds together, can be shown, and comes back as it was written.
fn show(record: &RunRecord) {
    let measurement = simulated::measurement(record);
    measurement.check().expect("a measurement that holds together");
    for by in [By::Function, By::Line, By::Address] {
        let tree = Some(Tree::default());
        let selection = Selection { by, top: 5, tree, ..Selection::default() };
        let mut out = Vec::new();
        text::measurement(&measurement, &selection, &Options::default(), &mut out)
            .expect("memory takes everything");
    }
    match file::read(file::json(&measurement).as_bytes()) {
        Ok(again) => assert_eq!(again, measurement),
        other => panic!("what is written can be read: {other:?}"),
    }
}
