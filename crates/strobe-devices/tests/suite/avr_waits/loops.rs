//! Programs that are loops: random ones, and one of each kind that waits.

use proptest::collection::vec;
use proptest::prelude::*;
use strobe_synth::AvrForm;

/// Where the handler of Timer0's overflow is (vector 16).
const OVERFLOW: usize = 16 * 4;
/// A function: it saves and restores a register.
const FUNCTION: usize = 0x80;
const MAIN: usize = 0x100;

/// Code before a loop, and its body.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) before: Vec<String>,
    pub(super) body: Vec<String>,
    /// The flag and level with which the loop is left; none for an endless one.
    pub(super) leaves: Option<(u8, bool)>,
}

/// One instruction, `"sbi a=11 b=1"`.
fn words(text: &str) -> Vec<u16> {
    let (names, operands): (Vec<&str>, Vec<&str>) =
        text.split(' ').partition(|word| !word.contains('='));
    let operand = |word: &&str| {
        let (field, value) = word.split_once('=').expect("a field");
        (field.chars().next().expect("a letter"), value.parse::<i32>().expect("a number") as u32)
    };
    let operands: Vec<_> = operands.iter().map(operand).collect();
    AvrForm::named(&names.join(" ")).encode(&operands)
}

fn assemble(program: &[String]) -> Vec<u16> {
    program.iter().flat_map(|text| words(text)).collect()
}

fn lines(text: &str) -> Vec<String> {
    text.split("; ").map(str::to_owned).collect()
}

impl Program {
    fn new(before: &str, body: &str, leaves: Option<(u8, bool)>) -> Program {
        Program { before: lines(before), body: lines(body), leaves }
    }

    /// The whole program memory.
    pub(super) fn code(&self) -> Vec<u8> {
        let mut code = vec![0u16; 0x200];
        let mut put = |at: usize, words: &[u16]| {
            code[at / 2..at / 2 + words.len()].copy_from_slice(words);
        };
        put(0, &assemble(&lines(&format!("jmp k={}", MAIN / 2))));
        put(OVERFLOW, &assemble(&lines(&format!("jmp k={}", 0xc0 / 2))));
        let handler = "push d=24; in d=24 a=63; push d=24; lds d=24 a=512; inc d=24; \
                       sts a=512 d=24; pop d=24; out a=63 d=24; pop d=24; reti";
        put(0xc0, &assemble(&lines(handler)));
        put(FUNCTION, &assemble(&lines("push d=20; ldi d=4 k=7; nop; pop d=20; ret")));
        let mut main = assemble(&self.before);
        let head = main.len();
        main.extend(assemble(&self.body));
        if let Some((flag, level)) = self.leaves {
            // Over a jump back, which may be long.
            let name = if level { "brbs" } else { "brbc" };
            main.extend(words(&format!("{name} s={flag} k=1")));
        }
        let back = head as i32 - (main.len() as i32 + 1);
        main.extend(words(&format!("rjmp k={back}")));
        // A change that shows, and all over again.
        main.extend(words("sbi a=3 b=5"));
        let again = -(main.len() as i32 + 1);
        main.extend(words(&format!("rjmp k={again}")));
        put(MAIN, &main);
        code.into_iter().flat_map(u16::to_le_bytes).collect()
    }
}

/// Registers of an immediate operand, less 16.
fn upper() -> impl Strategy<Value = u32> {
    0u32..15
}

/// Instructions that may be skipped: each of one word.
fn single() -> BoxedStrategy<String> {
    let two = prop::sample::select(vec![
        "mov", "add", "adc", "sub", "sbc", "and", "or", "eor", "cp", "cpc",
    ]);
    let one = prop::sample::select(vec!["inc", "dec", "com", "neg", "swap", "lsr", "asr", "ror"]);
    let constant = prop::sample::select(vec!["ldi", "subi", "sbci", "cpi", "andi", "ori"]);
    prop_oneof![
        Just("nop".to_owned()),
        (two, 14u32..32, 14u32..32).prop_map(|(n, d, r)| format!("{n} d={d} r={r}")),
        (one, 14u32..32).prop_map(|(n, d)| format!("{n} d={d}")),
        (constant, upper(), 0u32..256).prop_map(|(n, d, k)| format!("{n} d={d} k={k}")),
        (0u32..4, 0u32..5).prop_map(|(d, k)| format!("sbiw d={d} k={k}")),
        (0u32..4, 0u32..5).prop_map(|(d, k)| format!("adiw d={d} k={k}")),
        (7u32..16, 7u32..16).prop_map(|(d, r)| format!("movw d={d} r={r}")),
        (14u32..32, 0u32..8).prop_map(|(d, b)| format!("bst d={d} b={b}")),
        (14u32..32, 0u32..8).prop_map(|(d, b)| format!("bld d={d} b={b}")),
        // TCNT0, TIFR0, PINB, SREG.
        (16u32..32, prop::sample::select(vec![38u32, 21, 3, 63]))
            .prop_map(|(d, a)| format!("in d={d} a={a}")),
        (14u32..32, 16u32..32).prop_map(|(d, r)| format!("mul d={d} r={r}")),
    ]
    .boxed()
}

/// A number of several bytes less or more by a constant.
fn chain() -> BoxedStrategy<Vec<String>> {
    (upper(), 1u32..5, prop::sample::select(vec![1u32, 255, 2, 7, 0]), any::<bool>())
        .prop_map(|(d, bytes, k, signed)| {
            let above = if signed && k > 127 { 255 } else { 0 };
            (0..bytes)
                .map(|at| match at {
                    0 => format!("subi d={d} k={k}"),
                    at => format!("sbci d={} k={above}", (d + at).min(15)),
                })
                .collect()
        })
        .boxed()
}

/// Numbers of several bytes compared, added or shifted.
fn wide() -> BoxedStrategy<Vec<String>> {
    let names = vec![("cp", "cpc"), ("add", "adc"), ("sub", "sbc")];
    (prop::sample::select(names), 16u32..29, 14u32..29, 1u32..4, any::<bool>())
        .prop_map(|((first, next), d, r, bytes, doubles)| {
            let r = if doubles && first == "add" { d } else { r };
            let name = |at| if at == 0 { first } else { next };
            (0..bytes).map(|at| format!("{} d={} r={}", name(at), d + at, r + at)).collect()
        })
        .boxed()
}

/// A counter in RAM.
fn counter() -> BoxedStrategy<Vec<String>> {
    (16u32..30, 0u32..3, 1u32..3, any::<bool>())
        .prop_map(|(d, at, bytes, down)| {
            let a = 0x200 + 4 * at;
            let step = |n: u32| {
                let name = if n == 0 { "subi" } else { "sbci" };
                let k = if !down { 255 } else { u32::from(n == 0) };
                format!("{name} d={} k={k}", d + n - 16)
            };
            let loads = (0..bytes).map(|n| format!("lds d={} a={}", d + n, a + n));
            let stores = (0..bytes).map(|n| format!("sts a={} d={}", a + n, d + n));
            loads.chain((0..bytes).map(step)).chain(stores).collect()
        })
        .boxed()
}

/// A few instructions.
fn item() -> BoxedStrategy<Vec<String>> {
    let register =
        prop::sample::select(vec![0x84u32, 0x85, 0xc0, 0x7a, 0x7b, 0x200, 0x204, 0xc3, 0x46]);
    prop_oneof![
        4 => single().prop_map(|one| vec![one]),
        3 => chain(),
        3 => wide(),
        2 => counter(),
        2 => (0u32..8, any::<bool>(), single()).prop_map(|(s, set, one)| {
            vec![format!("{} s={s} k=1", if set { "brbs" } else { "brbc" }), one]
        }),
        1 => (14u32..32, 0u32..8, any::<bool>(), single()).prop_map(|(d, b, set, one)| {
            vec![format!("{} d={d} b={b}", if set { "sbrs" } else { "sbrc" }), one]
        }),
        1 => (0u32..8, single()).prop_map(|(b, one)| vec![format!("sbis a=21 b={b}"), one]),
        1 => (16u32..32, register).prop_map(|(d, a)| vec![format!("lds d={d} a={a}")]),
        1 => (16u32..32, 0u32..16).prop_map(|(d, q)| vec![format!("ldd y d={d} q={q}")]),
        1 => (16u32..32, 0u32..16).prop_map(|(d, q)| vec![format!("std y d={d} q={q}")]),
        1 => (16u32..32, single()).prop_map(|(d, one)| {
            vec![format!("push d={d}"), one, format!("pop d={d}")]
        }),
        1 => (16u32..28, single()).prop_map(|(d, one)| {
            vec![format!("in d={d} a=63"), "bclr s=7".into(), one, format!("out a=63 d={d}")]
        }),
        1 => Just(vec![format!("call k={}", FUNCTION / 2)]),
    ]
    .boxed()
}

/// A random loop, with Timer0 at one of its clocks, and with or without its interrupt.
pub(super) fn program() -> impl Strategy<Value = Program> {
    let before = (vec((upper(), 0u32..256), 0..6), 0u32..6, 0u32..2, 0u32..4, 0u32..3);
    let leaves = prop::option::weighted(0.8, (0u8..3, any::<bool>()));
    (before, vec(item(), 1..7), leaves).prop_map(|(before, body, leaves)| {
        let (constants, clock, mask, wide_clock, serial) = before;
        let mut all = lines("ldi d=12 k=0; ldi d=13 k=2");
        all.push(format!("ldi d=0 k={clock}"));
        all.push("out a=37 d=16".to_owned());
        all.push(format!("ldi d=0 k={wide_clock}"));
        all.push("sts a=129 d=16".to_owned());
        all.push(format!("ldi d=0 k={mask}"));
        all.extend(lines("sts a=110 d=16; bset s=7"));
        all.extend(
            (serial == 0)
                .then(|| lines("ldi d=0 k=8; sts a=193 d=16; sts a=198 d=16"))
                .into_iter()
                .flatten(),
        );
        all.extend(constants.into_iter().map(|(d, k)| format!("ldi d={d} k={k}")));
        Program { before: all, body: body.concat(), leaves }
    })
}

/// One loop of each kind that waits, and turns that it skips in 4,000,000 cycles.
pub(super) fn waits() -> Vec<(&'static str, Program, u64)> {
    let zero = Some((1, true));
    vec![
        (
            "delay of 24 bits",
            Program::new(
                "ldi d=0 k=255; ldi d=1 k=255; ldi d=2 k=30",
                "subi d=0 k=1; sbci d=1 k=0; sbci d=2 k=0",
                zero,
            ),
            660_000,
        ),
        (
            "delay of 16 bits",
            Program::new("ldi d=8 k=255; ldi d=9 k=255", "sbiw d=0 k=1", zero),
            750_000,
        ),
        (
            "counter up to a limit",
            Program::new(
                "ldi d=8 k=0; ldi d=9 k=0; ldi d=2 k=0; ldi d=3 k=250",
                "adiw d=0 k=1; cp d=24 r=18; cpc d=25 r=19",
                zero,
            ),
            550_000,
        ),
        (
            "counter in RAM",
            Program::new(
                "ldi d=0 k=0",
                "lds d=24 a=528; lds d=25 a=529; sbiw d=0 k=1; sts a=529 d=25; sts a=528 d=24",
                zero,
            ),
            300_000,
        ),
        (
            "flag of a timer",
            Program::new("ldi d=0 k=5; sts a=129 d=16", "sbis a=22 b=0; nop", None),
            600_000,
        ),
        (
            "RAM that a handler changes",
            Program::new(
                "ldi d=0 k=3; out a=37 d=16; ldi d=0 k=1; sts a=110 d=16; bset s=7; lds d=20 a=512",
                "lds d=24 a=512; cp d=24 r=20",
                Some((1, false)),
            ),
            500_000,
        ),
        (
            "flag with a timeout",
            Program::new(
                "ldi d=8 k=255; ldi d=9 k=255; ldi d=10 k=10",
                "in d=18 a=9; subi d=8 k=1; sbci d=9 k=0; sbci d=10 k=0",
                zero,
            ),
            500_000,
        ),
        (
            "counter of a timer",
            Program::new(
                "ldi d=0 k=5; sts a=129 d=16; ldi d=2 k=200",
                "lds d=24 a=132; cp d=24 r=18",
                Some((0, false)),
            ),
            400_000,
        ),
        (
            "time in a call",
            Program::new(
                "ldi d=0 k=5; out a=37 d=16",
                "call k=64; in d=24 a=38; cpi d=8 k=250",
                Some((0, false)),
            ),
            100_000,
        ),
        (
            "register without a model",
            Program::new("nop", "lds d=24 a=195; andi d=8 k=1", Some((1, false))),
            500_000,
        ),
        (
            "masked reads",
            Program::new(
                "ldi d=0 k=5; out a=37 d=16; ldi d=0 k=1; sts a=110 d=16; bset s=7",
                "in d=25 a=63; bclr s=7; lds d=24 a=512; out a=63 d=25; cpi d=8 k=99",
                zero,
            ),
            300_000,
        ),
    ]
}
