//! The trace pin of whole firmware: compiled, interpreted and stepped runs send the same bytes at
//! the same cycles, and the samples among them are of the instruction that was executing.

use std::sync::atomic::AtomicBool;

use strobe_devices::board::Board;
use strobe_oracle::Program;
use strobe_sim::cortexm::{Machine, Stop};
use strobe_sim::observe::{Observer, Retired, TraceByte};

/// What somebody outside writes: DEMCR, TPIU (ACPR, SPPR, FFCR), ITM (LAR, TCR), and DWT_CTRL last.
const fn programme(acpr: u32, tcr: u32, ctrl: u32) -> [(u32, u32); 7] {
    [
        (0xe000_edfc, 0x0100_0000),
        (0xe004_0010, acpr),
        (0xe004_00f0, 2),
        (0xe004_0304, 0x100),
        (0xe000_0fb0, 0xc5ac_ce55),
        (0xe000_0e80, tcr),
        (0xe000_1000, ctrl),
    ]
}

/// Samples alone.
const PLAIN: u32 = 0x1_0009;
/// With timestamps, divided by 64.
const STAMPED: u32 = 0x1_030b;

/// CYCCNTENA and PCSAMPLENA; POSTPRESET is bits 4 to 1, POSTINIT bits 8 to 5, CYCTAP bit 9.
const SAMPLES: u32 = 1 | 1 << 12;
const EXCEPTIONS: u32 = 1 << 16;

#[derive(Default)]
struct Pin(Vec<(u64, u8)>);

impl Observer for Pin {
    fn trace(&mut self, byte: &TraceByte) {
        self.0.push((byte.cycle, byte.value));
    }
}

/// The same, and each instruction.
#[derive(Default)]
struct Steps {
    pin: Pin,
    retired: Vec<(u64, u32, u32)>,
}

impl Observer for Steps {
    const EACH: bool = true;
    fn trace(&mut self, byte: &TraceByte) {
        self.pin.trace(byte);
    }
    fn instruction(&mut self, retired: &Retired) {
        self.retired.push((retired.start, retired.pc, retired.cycles));
    }
}

fn run<O: Observer>(
    board: &str,
    firmware: &str,
    writes: &[(u32, u32)],
    observer: O,
    compile_after: Option<u32>,
    chunk: u64,
) -> Machine<O> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../firmware/prebuilt");
    let elf = std::fs::read(format!("{root}/{firmware}.elf")).expect("bundled firmware");
    let board = Board::builtin(board).expect("a bundled board");
    let mut bus = board.build().expect("a good board");
    for (address, bytes) in Program::from_elf(&elf).expect("an ELF program").image() {
        bus.load(address, bytes).expect("the firmware fits");
    }
    let mut machine = Machine::new(bus, &board.arm_core().unwrap(), observer);
    machine.set_compile_after(compile_after);
    machine.reset().expect("a vector table");
    for &(address, value) in writes {
        machine.debugger_write(address, value).expect("a register");
    }
    const LIMIT: u64 = 2_000_000;
    while machine.cycles() < LIMIT {
        let limit = (machine.cycles() + chunk).min(LIMIT);
        if machine.run(limit, &AtomicBool::new(false)) != Stop::Limit {
            break;
        }
    }
    machine
}

const FIRMWARE: [(&str, &str); 6] = [
    ("cortex-m3", "generic-c-m3"),
    ("cortex-m3", "calculator-m3"),
    ("cortex-m3", "x25519-c-m3"),
    ("cortex-m4f", "numbers-m4f"),
    ("mps2-an386", "tour-mps2"),
    ("lm3s6965evb", "tour-lm3s6965"),
];

#[test]
fn all_ways_through_the_code_send_the_same() {
    let settings = [
        // A sample each 16,384 cycles; each 1024, in another phase; each 192 with exceptions, over
        // a link that is too slow.
        (15, PLAIN, SAMPLES | 1 << 9 | 15 << 1),
        (3, STAMPED, SAMPLES | 1 << 9 | 7 << 5),
        (20, STAMPED, SAMPLES | EXCEPTIONS | 2 << 1 | 1 << 5),
    ];
    for (board, firmware) in FIRMWARE {
        for (acpr, tcr, ctrl) in settings {
            let writes = programme(acpr, tcr, ctrl);
            let stepped = run(board, firmware, &writes, Steps::default(), None, 1 << 24);
            let expected = &stepped.observer.pin.0;
            assert!(!expected.is_empty(), "{firmware}");
            for (compile_after, chunk) in
                [(None, 1 << 24), (None, 997), (Some(1), 1 << 24), (Some(20), 10_007)]
            {
                let other = run(board, firmware, &writes, Pin::default(), compile_after, chunk);
                assert!(
                    other.observer.0 == *expected && other.cycles() == stepped.cycles(),
                    "{firmware} {ctrl:#x}, compiled after {compile_after:?}, every {chunk} cycles"
                );
            }
        }
    }
}

/// Watched memory, at the lower end of the RAM: stores of 256 bytes and what did them; the same
/// with loads; a profiling counter as well.
#[test]
fn comparators_see_the_same_whichever_way() {
    let watch = |function| [(0xe000_1020, 0x2000_0000), (0xe000_1024, 8), (0xe000_1028, function)];
    let mut with_values = 0;
    for (board, firmware) in FIRMWARE {
        for (function, ctrl) in [(15, SAMPLES | 1 << 9), (2, 0), (13, 1 << 20)] {
            let base = programme(3, STAMPED, 1 | ctrl);
            let writes: Vec<(u32, u32)> = base.into_iter().chain(watch(function)).collect();
            let stepped = run(board, firmware, &writes, Steps::default(), None, 1 << 24);
            let expected = &stepped.observer.pin.0;
            with_values += u32::from(expected.iter().any(|byte| byte.1 & 0xf4 == 0x84));
            for (compile_after, chunk) in [(None, 1 << 24), (Some(1), 997), (Some(20), 1 << 24)] {
                let other = run(board, firmware, &writes, Pin::default(), compile_after, chunk);
                assert!(
                    other.observer.0 == *expected && other.cycles() == stepped.cycles(),
                    "{firmware} {function}, compiled after {compile_after:?}, every {chunk} cycles"
                );
            }
        }
    }
    // One of the programs has no data there.
    assert!(with_values >= 15, "{with_values} runs");
}

/// With nothing lost, sample n was taken at a known cycle: it names the instruction that the
/// observer saw then.
#[test]
fn samples_are_of_the_instruction_at_their_cycle() {
    for (board, firmware) in FIRMWARE {
        let writes = programme(0, PLAIN, SAMPLES);
        let machine = run(board, firmware, &writes, Steps::default(), None, 1 << 24);
        let Steps { pin, retired } = &machine.observer;
        let bytes: Vec<u8> = pin.0.iter().map(|&(_, byte)| byte).collect();
        let (mut at, mut cycle, mut checked, mut late) = (0, 0, 0, 0);
        while at + 5 <= bytes.len() {
            cycle += 64;
            if bytes[at] == 0x15 {
                at += 2;
                continue;
            }
            assert_eq!(bytes[at], 0x17, "{firmware}: a sample at byte {at}");
            let pc = u32::from_le_bytes(bytes[at + 1..at + 5].try_into().expect("four"));
            at += 5;
            let before = retired.partition_point(|&(start, ..)| start <= cycle);
            let Some(&(start, executing, cycles)) = before.checked_sub(1).map(|n| &retired[n])
            else {
                continue;
            };
            // What leads into handlers and out of them is not seen as an instruction or as part of
            // one, and idle loops are skipped.
            if cycle < start + u64::from(cycles) && cycles <= 6 {
                // A store that the trace is brought up to date for takes the sample at its end.
                let last = before.checked_sub(2).map(|n| retired[n].1);
                if start == cycle && last == Some(pc) && pc != executing {
                    late += 1;
                    continue;
                }
                assert_eq!(pc, executing, "{firmware}: sample at cycle {cycle}");
                checked += 1;
            }
        }
        assert!(checked > 20, "{firmware}: {checked} samples");
        assert!(late <= 1, "{firmware}: {late} samples of the instruction before");
    }
}

/// A link that always keeps up brings a sample each period, asleep or awake.
#[test]
fn no_sample_is_missing() {
    for (board, firmware) in FIRMWARE {
        let writes = programme(0, PLAIN, SAMPLES | 1 << 1);
        let machine = run(board, firmware, &writes, Pin::default(), Some(1), 1 << 24);
        let bytes = machine.observer.0.iter().map(|&(_, byte)| byte);
        let bytes: Vec<u8> = bytes.collect();
        let (mut at, mut samples) = (0, 0);
        while at < bytes.len() {
            at += if bytes[at] == 0x15 { 2 } else { 5 };
            samples += 1;
        }
        // POSTINIT is 0: the first comes at 64, the others each 128 cycles.
        assert_eq!(samples, (machine.cycles() + 63) / 128, "{firmware}");
    }
}
