//! Busy waiting (table `waiting`, `run --idle`): loops whose nature is known by construction, on
//! both cores; what works is never called a wait.

mod on_an_avr;
mod work;

use strobe_model::measurement::{Cell, Measurement};
use strobe_synth::{ElfBuilder, Symbol};

use crate::common::{figures, measured, prebuilt, strobe};

/// Where code begins behind the vectors.
const CODE: u32 = 0xc0;

/// Stands for `ldr REGISTER, =POOL[N]`; there is no such instruction.
pub(super) const fn load(register: u16, n: u16) -> u16 {
    0xde00 | register << 4 | n
}

/// A Cortex-M3 program of `main`, a function `other` from a byte of the code on, which is SysTick's
/// handler too, and a variable `ticks`.
pub(super) fn arm(code: &[u16], other: u32, pool: &[u32]) -> Vec<u8> {
    let end = code.len() as u32 * 2;
    with_functions(code, &[("main", 0, other), ("other", other, end - other)], pool)
}

/// The same with functions by their names, first bytes and bytes, the second being the handler.
pub(super) fn with_functions(
    code: &[u16],
    functions: &[(&str, u32, u32)],
    pool: &[u32],
) -> Vec<u8> {
    at(0, code, functions, pool)
}

/// The same in flash from `base` on.
pub(super) fn at(base: u32, code: &[u16], functions: &[(&str, u32, u32)], pool: &[u32]) -> Vec<u8> {
    builder(base, code, functions, pool).build()
}

/// The same, for further sections.
pub(super) fn builder(
    base: u32,
    code: &[u16],
    functions: &[(&str, u32, u32)],
    pool: &[u32],
) -> ElfBuilder {
    let first = base + CODE;
    let mut words = vec![first | 1; CODE as usize / 4];
    words[0] = 0x2000_1000;
    words[15] = (first + functions[1].1) | 1;
    let mut image: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let behind = (code.len() * 2).next_multiple_of(4);
    for (at, &half) in code.iter().enumerate() {
        let literal = behind + 4 * usize::from(half & 0xf) - ((at * 2) & !3) - 4;
        let is_load = half >> 8 == 0xde;
        let load = 0x4800 | (half >> 4 & 7) << 8 | (literal as u16 / 4);
        image.extend(if is_load { load } else { half }.to_le_bytes());
    }
    image.resize(image.len().next_multiple_of(4), 0);
    image.extend(pool.iter().flat_map(|word| word.to_le_bytes()));
    let mut elf = ElfBuilder::new();
    elf.entry = first | 1;
    elf.code(base, &image);
    for &(name, at, size) in functions {
        elf.function(name, first + at, size);
    }
    let (name, value, kind) = ("ticks".into(), 0x2000_0010, 1);
    elf.symbol(Symbol { name, value, size: 4, kind, global: true, section: 0xfff1 });
    elf
}

pub(super) fn run(elf: &[u8], arguments: &[&str]) -> Measurement {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("firmware.elf");
    std::fs::write(&path, elf).unwrap();
    let path = path.display().to_string();
    let (code, measurement) = measured(&[&["run", &path], arguments].concat());
    assert_eq!(code, 0, "{:?}", measurement.findings);
    measurement
}

/// Of each wait what for, and its cycles.
pub(super) fn waits(measurement: &Measurement) -> Vec<(String, u64)> {
    let Some(table) = measurement.table("waiting") else { return Vec::new() };
    let column = |id: &str| table.column(id).unwrap_or_else(|| panic!("no column {id}"));
    let texts = column("waits-for").cells.iter().map(|cell| match cell {
        Cell::Text(text) => text.to_string(),
        other => panic!("{other:?}"),
    });
    let cycles = column("cycles").cells.iter().map(|cell| match cell.number() {
        Some(number) => number.as_u64(),
        None => panic!("{cell:?}"),
    });
    texts.zip(cycles).collect()
}

pub(super) const BOARD: [&str; 4] = ["--board", "cortex-m3", "--until", "100000c"];

/// SysTick counts a variable every 1,000 cycles while `main` waits.
pub(super) fn ticking(wait: &[u16]) -> Vec<u8> {
    let mut code = vec![
        load(0, 0),
        load(1, 1), // SYST, 999
        0x6041,
        0x2100,
        0x6081, // str r1, [r0, #4]; movs r1, #0; str r1, [r0, #8]
        0x2107,
        0x6001,     // movs r1, #7; str r1, [r0]
        load(2, 2), // ticks
    ];
    code.extend(wait);
    code.push(0xe7fe); // b .
    let handler = code.len() as u32 * 2;
    // ldr r1, [r0]; adds r1, #1; str r1, [r0]; bx lr
    code.extend([load(0, 2), 0x6801, 0x3101, 0x6001, 0x4770]);
    arm(&code, handler, &[0xe000_e010, 999, 0x2000_0010])
}

#[test]
fn loop_on_a_handlers_variable_is_a_wait() {
    // ldr r3, [r2]; cmp r3, #50 or #49; bne, blo, blt, bls, ble
    for (compared, branch) in
        [(0x2b32, 0xd1fc), (0x2b32, 0xd3fc), (0x2b32, 0xdbfc), (0x2b31, 0xd9fc), (0x2b31, 0xddfc)]
    {
        let ran = run(&ticking(&[0x6813, compared, branch]), &BOARD);
        let found = waits(&ran);
        assert_eq!(found.len(), 1, "{branch:#x}: {found:?}");
        assert_eq!(found[0].0, "variable ticks");
        // Fifty ticks of 1,000 cycles, without the handlers'.
        assert!((45_000..50_500).contains(&found[0].1), "{branch:#x}: {found:?}");
        assert_eq!(figures::total(&ran, "waiting"), found[0].1);
    }
}

#[test]
fn a_loop_on_a_peripheral_is_a_wait() {
    // ldr r3, [r0, #8]; cmp r3, #0 never equals r2's address: bne on r3 != r2
    let ran = run(&ticking(&[0x6883, 0x4293, 0xd1fc]), &BOARD);
    let found = waits(&ran);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].0, "SysTick's counter");
}

/// The way out lies between the instructions of the loop, as compilers put it that save space.
#[test]
fn a_loop_may_be_left_in_its_middle() {
    // ldr r3, [r2]; cmp r3, #50; bne over; b .; over: adds r1, #1; b back
    let ran = run(&ticking(&[0x6813, 0x2b32, 0xd100, 0xe7fe, 0x3101, 0xe7f9]), &BOARD);
    let found = waits(&ran);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].0, "variable ticks");
    assert!((45_000..50_500).contains(&found[0].1), "{found:?}");
}

/// Part of the loop lies behind the branch that mostly goes back: the most of what is read.
#[test]
fn code_after_the_back_branch_belongs_to_the_loop() {
    // movs r5, #200; movs r4, #0; back: ldr r3, [r0, #8]; subs r5, #1; beq out; cmp r3, r4;
    // bls back; adds r4, r3, #0; b back; out: nop
    let most = [0x25c8, 0x2400, 0x6883, 0x3d01, 0xd003, 0x42a3, 0xd9fa, 0x1c1c, 0xe7f8, 0xbf00];
    assert_eq!(waits(&run(&ticking(&most), &BOARD)), []);
}

/// A loop that waits, and the one around it, which stores, begin with the same instruction.
#[test]
fn wait_may_begin_where_its_outer_loop_begins() {
    // movs r5, #5; back: ldr r3, [r2]; cmp r3, #9; blo back; movs r3, #0; str r3, [r2];
    // subs r5, #1; bne back
    let code = [0x2505, 0x6813, 0x2b09, 0xd3fc, 0x2300, 0x6013, 0x3d01, 0xd1f8];
    let found = waits(&run(&ticking(&code), &BOARD));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].0, "variable ticks");
    // Five times nine ticks of 1,000 cycles.
    assert!((40_000..45_500).contains(&found[0].1), "{found:?}");
}

/// Which register it is, only the run shows: it comes in as an argument, and two loops read it.
#[test]
fn two_loops_name_a_register_passed_as_argument() {
    let code = [
        load(0, 0),
        load(1, 1), // SYST, 999
        0x6041,
        0x2100,
        0x6081, // str r1, [r0, #4]; movs r1, #0; str r1, [r0, #8]
        0x2105,
        0x6001,     // movs r1, #5; str r1, [r0]
        load(2, 2), // 500
        0xf000,
        0xf801, // bl other
        0xe7fe, // b .
        0x6883,
        0x4293,
        0xd8fc, // other: ldr r3, [r0, #8]; cmp r3, r2; bhi
        0x6883,
        0x4293,
        0xd9fc, // ldr r3, [r0, #8]; cmp r3, r2; bls
        0x4770,
    ];
    let found = waits(&run(&arm(&code, 22, &[0xe000_e010, 999, 500]), &BOARD));
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found.iter().all(|(what, _)| what == "SysTick's counter"), "{found:?}");
    assert!(found.iter().all(|(_, cycles)| (450..550).contains(cycles)), "{found:?}");
}

#[test]
fn counting_is_a_wait_and_summing_is_none() {
    // subs r1, #1; bne: a delay.
    let ran = run(&arm(&[load(1, 0), 0x3901, 0xd1fd, 0xe7fe, 0x4770], 8, &[10_000]), &BOARD);
    let found = waits(&ran);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].0, "nothing: it counts");
    assert!(found[0].1 >= 3 * 10_000, "{found:?}");
    for (delay, pool) in [
        // Entered where the counter is stored: str r3, [sp, #4]; ldr; cmp r3, r0; bcc; and behind
        // what follows the loop: ldr; adds r3, #1; b.
        (
            vec![
                load(0, 0),
                0x2300,
                0xb082,
                0x9301,
                0x9b01,
                0x4283,
                0xd300,
                0xe7fe,
                0x9b01,
                0x3301,
                0xe7f7,
                0x4770,
            ],
            4000,
        ),
        // The same of a byte: strb.w, ldrb.w, cmp r3, #199, bls, ldrb.w, adds, uxtb, b.
        (
            vec![
                0x2300, 0xb082, 0xf88d, 0x3007, 0xf89d, 0x3007, 0x2bc7, 0xd900, 0xe7fe, 0xf89d,
                0x3007, 0x3301, 0xb2db, 0xe7f3, 0x4770,
            ],
            0,
        ),
        // Through another register: mov r8, r8; mov r0, r3; subs r3, r0, #1; cmp r0, #0; bne.
        (vec![load(0, 0), 0xe001, 0x46c0, 0x4618, 0x1e43, 0x2800, 0xd1fa, 0xe7fe, 0x4770], 4000),
    ] {
        let other = 2 * (delay.len() as u32 - 1);
        let found = waits(&run(&arm(&delay, other, &[pool]), &BOARD));
        assert_eq!(found.len(), 1, "{delay:04x?} {found:?}");
        assert_eq!(found[0].0, "nothing: it counts");
    }
    for work in [
        // adds r0, r1; subs r1, #1; bne: a sum.
        vec![load(1, 0), 0x1840, 0x3901, 0xd1fc, 0xe7fe, 0x4770],
        // ldr r3, [r1]; subs r1, #4; bne: a walk through memory down to 0.
        vec![load(1, 0), 0x680b, 0x3904, 0xd1fc, 0xe7fe, 0x4770],
        // lsls r0, #1; subs r1, #1; bne: a shift.
        vec![load(1, 0), 0x0040, 0x3901, 0xd1fc, 0xe7fe, 0x4770],
    ] {
        let ran = run(&arm(&work, 10, &[4000]), &BOARD);
        assert_eq!(waits(&ran), [], "{work:04x?}");
        assert!(ran.totals.iter().all(|total| total.id != "waiting"));
    }
}

/// A function that the user names counts as waiting, with what is in it.
#[test]
fn a_named_function_is_a_wait() {
    // main calls other, which sums, and stays.
    let code = [
        0xf000,
        0xf801, // bl other
        0xe7fe, // b .
        load(1, 0),
        0x1840,
        0x3901,
        0xd1fc,
        0x4770, // ldr r1, =4000; the sum; bx lr
    ];
    let elf = arm(&code, 6, &[4000]);
    assert_eq!(waits(&run(&elf, &BOARD)), []);
    let named = run(&elf, &[&BOARD[..], &["--idle", "other"]].concat());
    let found = waits(&named);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].1 >= 4 * 4000, "{found:?}");
    let meaning = figures::profile(&named).parts("cycles").find(|(m, _)| m.id == "execute");
    let advice = meaning.and_then(|(_, part)| part.advice.clone()).unwrap_or_default();
    assert!(advice.contains("spent waiting"), "{advice}");
}

/// One AVR function, which begins at reset.
pub(super) fn avr(code: &[u16]) -> Vec<u8> {
    let image: Vec<u8> = code.iter().flat_map(|half| half.to_le_bytes()).collect();
    let mut elf = ElfBuilder::new();
    elf.machine = 83;
    elf.code(0, &image);
    let (name, kind, section) = ("main".into(), 2, 0xfff1);
    let size = image.len() as u32;
    elf.symbol(Symbol { name, value: 0, size, kind, global: true, section });
    elf.build()
}

/// Two of its four loops wait for a thousandth of the run or less.
#[test]
fn measurements_have_all_loops_and_reports_those_that_matter() {
    let path = prebuilt("trace-itself");
    let run = ["run", &path, "--until", "100ms"];
    let (_, measurement) = measured(&run);
    let found = waits(&measurement);
    assert!(found.len() > 2, "{found:?}");
    assert!(found[0].0.starts_with("ITM stimulus port "), "{found:?}");
    let sum: u64 = found.iter().map(|(_, cycles)| cycles).sum();
    assert_eq!(figures::total(&measurement, "waiting"), sum);
    let fields = ["--fields", "waiting", "--quiet"];
    let few = strobe(&[&run[..], &fields].concat()).stdout;
    assert!(few.contains("more row") && few.contains("--top 0 shows all"), "{few}");
    let all = strobe(&[&run[..], &fields, &["--top", "0"]].concat()).stdout;
    assert!(!all.contains("more row"), "{all}");
}
