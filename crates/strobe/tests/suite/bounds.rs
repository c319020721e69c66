//! Bounds of what waits for a tick: in whichever model it works, it goes on when the tick comes.

use strobe_model::measurement::{Cell, Measurement, Trust};
use strobe_synth::Section;

use crate::common::{read, strobe};
use crate::waits::{builder, load};

const BASE: u32 = 0x0800_0000;
/// First bytes of what follows `main`.
const READY: u32 = 26;
const FINISH: u32 = 30;
const HANDLER: u32 = 32;
const TICK: u32 = 42;

/// A program for an STM32F103 whose benchmark `tick` reads a slow register 1,000 times and waits
/// for the next tick of SysTick, of which there is one every 20,000 cycles. `main` calls it, too.
fn ticking() -> Vec<u8> {
    let code = [
        load(0, 0),
        0x2102,
        0x6001, // ldr r0, =RCC_APB1ENR; movs r1, #2; str r1, [r0]: the timer's clock
        load(0, 1),
        0x2101,
        0x6001, // ldr r0, =TIM3; movs r1, #1; str r1, [r0]
        load(0, 2),
        load(1, 3),
        0x6041,
        0x2100,
        0x6081, // SYST_RVR = 19,999; SYST_CVR = 0
        0x2107,
        0x6001, // SYST_CSR = 7
        0xf000,
        0xf806, // ready: bl tick
        0xe7fe, // finish: b .
        load(0, 4),
        0x6801,
        0x3101,
        0x6001,
        0x4770, // other: ticks += 1; bx lr
        0xb510,
        load(0, 4),
        0x6801, // tick: push {r4, lr}; ldr r0, =ticks; ldr r1, [r0]
        load(2, 1),
        load(4, 5),
        0x6a53,
        0x3c01,
        0xd1fc, // ldr r3, [r2, #36]; subs r4, #1; bne
        0x6803,
        0x428b,
        0xd0fc, // ldr r3, [r0]; cmp r3, r1; beq
        0xbd10, // pop {r4, pc}
    ];
    let pool = [0x4002_101c, 0x4000_0400, 0xe000_e010, 19_999, 0x2000_0010, 1_000];
    let functions = [
        ("main", 0, READY),
        ("other", HANDLER, TICK - HANDLER),
        ("ready", READY, FINISH - READY),
        ("finish", FINISH, HANDLER - FINISH),
        ("tick", TICK, 24),
    ];
    let mut elf = builder(BASE, &code, &functions, &pool);
    // What firmware/kit/trace/strobe_bench.h writes of a benchmark without inputs.
    let function = (BASE + 0xc0 + TICK) | 1;
    let words = |words: &[u32]| -> Vec<u8> { words.iter().flat_map(|w| w.to_le_bytes()).collect() };
    let note = [words(&[7, 13, 0x101]), b"strobe\0\0".to_vec(), words(&[function, 0])];
    let data = [note.concat(), b"tick\0\0\0\0".to_vec()].concat();
    elf.section(Section {
        name: ".strobe_bench".to_owned(),
        kind: 7,
        data,
        align: 4,
        ..Section::default()
    });
    elf.build()
}

fn on_board(arguments: &[&str], more: &[&str]) -> Measurement {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ticking.elf").display().to_string();
    std::fs::write(&path, ticking()).unwrap();
    let board = ["--board", "stm32f103"];
    let json = ["--format", "json"];
    let ran = strobe(&[arguments, &[path.as_str()], &board, more, &json].concat());
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    read(&ran)
}

fn width(trust: &Trust) -> u64 {
    match trust {
        Trust::Exact => 0,
        Trust::Modelled { low, high, .. } => high.as_u64() - low.as_u64(),
        other => panic!("{other:?}"),
    }
}

/// A program for an STM32F103 that reads a slow register 200 times, and then reads where nothing
/// answers if that took more than 1,300 cycles: it does with the most of each wait alone.
fn hurried() -> Vec<u8> {
    let code = [
        load(0, 0),
        0x2102,
        0x6001, // ldr r0, =RCC_APB1ENR; movs r1, #2; str r1, [r0]: the timer's clock
        load(0, 1),
        load(1, 2),
        0x6041,
        0x2100,
        0x6081, // SYST_RVR = 0xffffff; SYST_CVR = 0
        0x2105,
        0x6001, // SYST_CSR = 5
        load(2, 3),
        0x23c8, // ldr r2, =TIM3; movs r3, #200
        0x6a51,
        0x3b01,
        0xd1fc, // ldr r1, [r2, #36]; subs r3, #1; bne
        0x6881,
        load(3, 4),
        0x4299, // ldr r1, [r0, #8]; ldr r3, =0xffffff - 1300; cmp r1, r3
        0xd200,
        0x6809, // bhs done; ldr r1, [r1]
        0xe7fe, // done: b .
    ];
    let pool = [0x4002_101c, 0xe000_e010, 0x00ff_ffff, 0x4000_0400, 0x00ff_ffff - 1_300];
    builder(BASE, &code, &[("main", 0, 40), ("done", 40, 2)], &pool).build()
}

/// Bounds that do not cover what another model comes to are not printed in silence.
#[test]
fn a_model_that_ends_otherwise_is_named() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("hurried.elf").display().to_string();
    std::fs::write(&path, hurried()).unwrap();
    let run = ["run", path.as_str(), "--board", "stm32f103", "--until", "1ms", "--format", "json"];
    let ran = strobe(&run);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let ran = read(&ran);
    let all: Vec<_> = ran.findings.iter().map(|f| (f.code.as_str(), f.text.as_str())).collect();
    let text = all.iter().find(|(code, _)| *code == "other-end-of-model").map(|(_, text)| *text);
    let words = "with the maximum of each wait the run ends otherwise: a fault";
    assert!(text.is_some_and(|text| text.starts_with(words)), "{all:?}");
    assert!(all.iter().any(|(code, _)| *code == "no-bounds"), "{all:?}");
}

/// What the reads before the wait take is in no figure of the call: the tick takes it up.
#[test]
fn tick_waiting_benchmark_takes_equal_time_per_model() {
    let benched = on_board(&["bench"], &["--after", "ready"]);
    let cycles = &benched.table("benchmarks").unwrap().column("cycles").unwrap().cells[0];
    let (value, trust) = match cycles {
        Cell::Exact(value) => (*value, Trust::Exact),
        Cell::Figure { value, trust } => (value.unwrap(), trust.clone()),
        other => panic!("{other:?}"),
    };
    assert!((19_900..20_200).contains(&value.as_u64()), "{value:?}");
    assert!(width(&trust) < 100, "{trust:?}");
}

/// The wait takes up what the reads before it leave open, which no single run shows.
#[test]
fn bounding_runs_bound_a_wait_for_a_variable() {
    let waiting = |bounds: &str| {
        let run = on_board(&["run"], &["--until", "finish", "--bounds", bounds]);
        let total = run.total("waiting").expect("it waits").clone();
        // Of a tick, without the reads before.
        assert!((13_500..14_500).contains(&total.value().unwrap().as_u64()), "{total:?}");
        total
    };
    let unbounded = waiting("none");
    assert!(matches!(unbounded.trust(), Trust::Modelled { .. }), "{unbounded:?}");
    assert_eq!(width(unbounded.trust()), 0, "its bounds are not known: {unbounded:?}");
    assert!(width(waiting("runs").trust()) > 100, "it takes up what the reads leave open");
}
