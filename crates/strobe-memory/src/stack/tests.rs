//! Bounds hold for code built by hand, with and without annotations; any bytes end.

use proptest::prelude::*;
use strobe_model::measurement::{Cell, Measurement, Trust};
use strobe_symbols::Firmware;
use strobe_synth::{ElfBuilder, Symbol};

use super::{Analysis, AnnotationError, Annotations, Measured, join, measure};

const AT: u32 = 0x0800_0000;

struct Function {
    name: &'static str,
    code: &'static [u16],
}

/// A vector table (stack, reset, NMI at the last function), then functions one after the other, 16
/// bytes apart.
fn image(functions: &[Function]) -> Firmware {
    let mut elf = ElfBuilder::new();
    let base = AT + 16;
    let start = |index: usize| base + 16 * index as u32;
    let last = start(functions.len() - 1);
    let words = [0x2000_0100, base | 1, last | 1, 0];
    let mut bytes: Vec<u8> = words.iter().flat_map(|word: &u32| word.to_le_bytes()).collect();
    for (index, function) in functions.iter().enumerate() {
        bytes.extend(function.code.iter().flat_map(|half| half.to_le_bytes()));
        bytes.resize((start(index) - AT) as usize + 16, 0xbf);
        elf.function(function.name, start(index), 2 * function.code.len() as u32);
    }
    elf.code(AT, &bytes);
    Firmware::parse(elf.build()).unwrap()
}

/// main: push {r4, lr}; bl leaf; blx r4; pop. leaf: sub sp, #32; add; bx lr. ring: push {r4, lr};
/// bl ring; pop. nmi: push {r0-r3}; pop; bx lr.
fn program() -> Firmware {
    image(&[
        Function { name: "main", code: &[0xb510, 0xf000, 0xf805, 0x47a0, 0xbd10] },
        Function { name: "leaf", code: &[0xb088, 0xb008, 0x4770] },
        Function { name: "ring", code: &[0xb510, 0xf7ff, 0xfffd, 0xbd10] },
        Function { name: "nmi", code: &[0xb40f, 0xbc0f, 0x4770] },
    ])
}

fn measured(text: &str) -> Result<Measurement, AnnotationError> {
    let measurement = measure(&program(), "image.elf", &Annotations::parse(text)?)?;
    measurement.check().unwrap();
    Ok(measurement)
}

fn cell<'a>(m: &'a Measurement, table: &str, column: &str, row: usize) -> &'a Cell {
    &m.table(table).unwrap().column(column).unwrap().cells[row]
}

fn is(cell: &Cell, bytes: u64, is_bound: bool) -> bool {
    let trust = if is_bound { Trust::AtMost } else { Trust::AtLeast };
    *cell == Cell::Figure { value: Some(bytes.into()), trust }
}

#[test]
fn unknown_calls_make_worst_cases_lower_bounds() {
    let m = measured("").unwrap();
    assert!(is(cell(&m, "entry-points", "worst", 0), 40, false), "{m:?}");
    assert_eq!(cell(&m, "unknown-calls", "what", 0).text(), Some("indirect call"));
    assert_eq!(cell(&m, "unknown-calls", "reached", 0).text(), Some("main"));
    assert!(is(cell(&m, "entry-points", "worst", 1), 16, true));
    assert_eq!(cell(&m, "recursion", "functions", 0).text(), Some("ring"));
    let codes: Vec<&str> = m.findings.iter().map(|f| f.code.as_str()).collect();
    assert_eq!(codes, ["unknown-calls", "recursion"]);
}

/// Threads that nothing creates while the firmware runs.
#[test]
fn threads_of_zephyr_are_found_where_they_are_defined() {
    let mut elf = ElfBuilder::new();
    let words = [0x2000_0100, (AT + 16) | 1, 0, 0];
    let mut bytes: Vec<u8> = words.iter().flat_map(|word: &u32| word.to_le_bytes()).collect();
    // main: bx lr. blink: sub sp, #32; add sp, #32; bx lr.
    let code = [0x4770_u16, 0xbf00, 0xb088, 0xb008, 0x4770, 0xbf00];
    bytes.extend(code.iter().flat_map(|half| half.to_le_bytes()));
    elf.function("main", AT + 16, 2);
    elf.function("blink", AT + 20, 6);
    bytes.resize(64, 0);
    let data = [0x2000_0000_u32, 0x2000_0040, 256, (AT + 20) | 1];
    bytes.extend(data.iter().flat_map(|word| word.to_le_bytes()));
    elf.code(AT, &bytes);
    elf.symbol(Symbol {
        name: "_k_thread_data_blinker".to_owned(),
        value: AT + 64,
        size: 16,
        kind: 1,
        global: true,
        section: 0xfff1,
    });
    let firmware = Firmware::parse(elf.build()).unwrap();
    let m = measure(&firmware, "zephyr.elf", &Annotations::default()).unwrap();
    assert_eq!(cell(&m, "stacks", "stack", 1).text(), Some("blink"));
    assert_eq!(cell(&m, "stacks", "size", 1).number().unwrap().as_u64(), 256);
    assert!(is(cell(&m, "stacks", "worst", 1), 32, true), "{m:?}");
}

/// An AVR's processor shuts interrupts out when it enters a handler: only one that lets them in
/// again is interrupted.
#[test]
fn avr_handlers_nest_where_they_enable_interrupts() {
    let (push, pop, sei, reti) = (0x920f_u16, 0x900f_u16, 0x9478_u16, 0x9518_u16);
    let shut = |bytes: usize| [vec![push; bytes], vec![pop; bytes], vec![reti]].concat();
    let open = vec![sei, push, pop, reti];
    let functions = [("__vectors", vec![0xcfff]), ("__vector_1", shut(4)), ("__vector_2", shut(7))];
    let worst = |third: Vec<u16>| {
        let functions = functions.iter().cloned().chain([("__vector_3", third)]);
        let mut elf = ElfBuilder::new();
        elf.machine = 83;
        let mut bytes = Vec::new();
        for (name, code) in functions {
            elf.function(name, bytes.len() as u32, 2 * code.len() as u32);
            bytes.extend(code.iter().flat_map(|half| half.to_le_bytes()));
        }
        elf.code(0, &bytes);
        let firmware = Firmware::parse(elf.build()).unwrap();
        let m = measure(&firmware, "avr.elf", &Annotations::default()).unwrap();
        cell(&m, "stacks", "worst", 0).clone()
    };
    // Each with its return address.
    assert!(is(&worst(shut(1)), 7 + 2, true), "{:?}", worst(shut(1)));
    assert!(is(&worst(open.clone()), (1 + 2) + (7 + 2), true), "{:?}", worst(open));
}

/// PendSV: mrs r0, psp; stmdb r0!, {r4-r11}; msr psp, r0; bx lr.
#[test]
fn a_thread_has_room_for_what_a_switch_saves() {
    let firmware = image(&[
        Function { name: "main", code: &[0x4770] },
        Function { name: "leaf", code: &[0xb088, 0xb008, 0x4770] },
        Function {
            name: "switch",
            code: &[0xf3ef, 0x8009, 0xe920, 0x0ff0, 0xf380, 0x8809, 0x4770],
        },
    ]);
    let threads = Annotations::parse("threads.leaf.stack = 200\n").unwrap();
    let m = measure(&firmware, "image.elf", &threads).unwrap();
    assert!(is(cell(&m, "stacks", "worst", 1), 32 + 36 + 32, true), "{m:?}");
    let title = &m.sections.iter().find(|section| section.id == "stacks").unwrap().title;
    assert!(title.contains("an exception adds 36 bytes, a switch of threads 32 more"), "{title}");
}

/// What a thread runs after a handler is on its stack, and may be interrupted itself.
#[test]
fn thread_stack_has_room_for_code_after_handlers() {
    let firmware = image(&[
        Function { name: "main", code: &[0x4770] },
        Function { name: "leaf", code: &[0xb088, 0xb008, 0x4770] },
        Function { name: "__port_switch_from_isr", code: &[0xb570, 0xbd70] },
        // mrs r0, psp; msr psp, r0; bx lr
        Function { name: "handler", code: &[0xf3ef, 0x8009, 0xf380, 0x8809, 0x4770] },
    ]);
    let threads = Annotations::parse("threads.leaf.stack = 200\n").unwrap();
    let m = measure(&firmware, "image.elf", &threads).unwrap();
    assert!(is(cell(&m, "stacks", "worst", 1), 32 + 36 + 16 + 36, true), "{m:?}");
    let title = &m.sections.iter().find(|section| section.id == "stacks").unwrap().title;
    assert!(title.contains("an exception adds 36 bytes, a switch of threads 52 more"), "{title}");
}

#[test]
fn annotations_close_the_graph() {
    let text = "calls.main = [\"ring\"]\nrecursion.ring = 5\n";
    let m = measured(text).unwrap();
    // Five of ring inside one another, below main.
    assert!(is(cell(&m, "entry-points", "worst", 0), 8 + 5 * 8, true), "{m:?}");
    // And the handler with its frame.
    assert!(is(cell(&m, "stacks", "worst", 0), 48 + 36 + 16, true));
    let chain = cell(&m, "entry-points", "chain", 0).text().unwrap().to_owned();
    assert_eq!(chain, "main 8 > ring and what it calls in a ring 32 > ring 8");
    let profile = m.profiles().next().unwrap();
    assert_eq!(profile.leaves.of("stack").unwrap().sum(), 48 + 16);
    assert_eq!(profile.chains.of("stack").unwrap().sum(), 48 + 16);
    // By the address of the call too.
    let site = measured("calls.0x08000016 = [\"leaf\"]\n").unwrap();
    assert!(is(cell(&site, "entry-points", "worst", 0), 40, true));
}

#[test]
fn annotations_that_do_not_fit_are_refused_by_name() {
    let cases = [
        (
            "calls.man = [\"leaf\"]",
            "[calls] man: no symbol \"man\" in the firmware; did you mean main?",
        ),
        ("calls.leaf = [\"main\"]", "[calls] leaf: the function has no indirect call"),
        ("calls.main = []", "[calls] main: no targets are listed"),
        (
            "calls.0x08000010 = [\"leaf\"]",
            "[calls] 0x08000010: there is no indirect call at this address",
        ),
        ("recursion.main = 3", "[recursion] main: the function never calls itself"),
        ("recursion.ring = 0", "[recursion] ring: a function that runs is active once"),
        ("dynamic.leaf = 8", "[dynamic] leaf: the function allocates nothing dynamically"),
        (
            "threads.leaf.stack = \"nothing\"",
            "[threads] nothing: no symbol \"nothing\" in the firmware; `strobe size FIRMWARE \
             --top 0` lists its names",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(measured(text).unwrap_err().to_string(), expected, "{text}");
    }
    assert!(Annotations::parse("stacks = 3").is_err());
}

#[test]
fn threads_have_stacks_and_margins() {
    let m = measured("threads.leaf.stack = 100\n").unwrap();
    assert_eq!(cell(&m, "stacks", "stack", 1).text(), Some("leaf"));
    // Handlers use the same stack where there is no process stack.
    assert!(is(cell(&m, "stacks", "worst", 1), 32 + 36 + 16, true));
    assert_eq!(cell(&m, "stacks", "margin", 1).number().unwrap().as_f64(), 16.0);
}

/// Two functions may share a name, as those of Rust that differ in a hash alone.
#[test]
fn threads_of_one_name_are_distinguished() {
    let workers = ["_ZN1a6worker17h0000000000000001E", "_ZN1a6worker17h0000000000000002E"];
    let code = |name| Function { name, code: &[0xb088, 0xb008, 0x4770] };
    let firmware = image(&["main", workers[0], workers[1], "nmi"].map(code));
    let text = workers.map(|name| format!("threads.{name}.stack = 64\n")).concat();
    let m = measure(&firmware, "image.elf", &Annotations::parse(&text).unwrap()).unwrap();
    m.check().unwrap();
    let names = [1, 2].map(|row| cell(&m, "stacks", "stack", row).text().unwrap().to_owned());
    assert_eq!(names, [32, 48].map(|at| format!("a::worker at {:#010x}", AT + at)));
}

#[test]
fn measured_stands_beside_static() {
    let mut m = measured("threads.leaf.stack = 100\n").unwrap();
    let of = |name: &str, entry, is_main, bytes| Measured {
        name: name.to_owned(),
        entry,
        is_main,
        bytes,
        size: None,
        is_most: false,
        low: 0x2000_0100 - bytes as u32,
        is_exact: true,
        chain: String::new(),
        cycle: 0,
    };
    let stacks =
        [of("main", None, true, 56), of("leaf", Some(AT + 32), false, 90), of("x", None, false, 4)];
    join(&mut m, &stacks);
    m.check().unwrap();
    let gap = |row| cell(&m, "stacks", "gap", row).number().map(|n| n.as_f64());
    assert_eq!([gap(0), gap(1), gap(2)], [Some(40.0 + 36.0 + 16.0 - 56.0), Some(-6.0), None]);
    // The first is a lower bound, which may be exceeded.
    let exceeds: Vec<_> = m.findings.iter().filter(|f| f.code == "measured-exceeds").collect();
    assert!(exceeds.len() == 1 && exceeds[0].text.contains("leaf"), "{exceeds:?}");
}

/// The system aligns a thread's stack within what it was given, and a heap may grow towards the
/// stack from reset: of two sizes the smaller one counts.
#[test]
fn a_size_that_was_smaller_in_the_run_counts() {
    let join_sizes = |main: (u32, u64), leaf: u64| {
        let mut m = measured("threads.leaf.stack = 100\n").unwrap();
        let of = |name: &str, entry: Option<u32>, (top, size): (u32, u64)| Measured {
            name: name.to_owned(),
            entry,
            is_main: entry.is_none(),
            bytes: 16,
            size: Some(size),
            is_most: false,
            low: top - 16,
            is_exact: true,
            chain: String::new(),
            cycle: 0,
        };
        let leaf = of("leaf", Some(AT + 32), (0x2000_1000, leaf));
        join(&mut m, &[of("main", None, main), leaf]);
        m.check().unwrap();
        let number = |column, row| cell(&m, "stacks", column, row).number().map(|n| n.as_f64());
        let found = [0, 1].map(|row| (number("size", row), number("margin", row)));
        let sources = [0, 1].map(|row| cell(&m, "stacks", "source", row).text() == Some("the run"));
        let small = m.findings.iter().filter(|f| f.code == "stack-too-small").count();
        (found, sources, small)
    };
    // The image knows no size of the stack from reset here. Leaf takes 84 bytes, main 92.
    let (sizes, sources, small) = join_sizes((0x2000_0100, 256), 92);
    assert_eq!(sizes, [(Some(256.0), Some(164.0)), (Some(92.0), Some(8.0))]);
    assert_eq!((sources, small), ([true, true], 0));
    // Start-up code has set the stack pointer 16 bytes lower than the image's top.
    let (sizes, sources, small) = join_sizes((0x2000_00f0, 64), 80);
    assert_eq!(sizes, [(Some(80.0), Some(-12.0)), (Some(80.0), Some(-4.0))]);
    assert_eq!((sources, small), ([true, true], 2));
    let (sizes, sources, _) = join_sizes((0x2000_0100, 256), 104);
    assert_eq!((sizes[1], sources[1]), ((Some(100.0), Some(16.0)), false));
}

/// What the system has on a thread's stack before the thread's own function counts, and what the
/// same place calls is a thread too.
#[test]
fn frames_of_thread_starters_count_for_threads() {
    let firmware = image(&[
        Function { name: "main", code: &[0xbf00, 0x4770] },
        Function { name: "leaf", code: &[0xb088, 0xb008, 0x4770] },
        Function { name: "other", code: &[0xb40f, 0xbc0f, 0x4770] },
        // push {r4, lr}; blx r4; pop {r4, pc}
        Function { name: "start", code: &[0xb510, 0x47a0, 0xbd10] },
        // push {r0-r4, lr}; bl start; pop {r0-r4, pc}: the first function of both threads
        Function { name: "first", code: &[0xb51f, 0xf7ff, 0xfff5, 0xbd1f] },
        Function { name: "nmi", code: &[0x4770] },
    ]);
    let [leaf, other, start, first] = [1, 2, 3, 4].map(|index| AT + 16 + 16 * index);
    let annotations = Annotations::parse("threads.leaf.stack = 100\n").unwrap();
    let mut analysis = Analysis::new(&firmware, &annotations).unwrap();
    let path = |to| vec![vec![first], vec![first, start], vec![first, start, to]];
    assert_eq!(analysis.entry_of(&path(leaf)), None);
    analysis.observe(&[path(leaf), path(other)]);
    assert_eq!(analysis.entry_of(&path(leaf)), Some(leaf));
    assert_eq!(analysis.entry_of(&path(other)), Some(other));
    // One that is itself known to be a thread's function is the system's if it calls two others.
    let text = "threads.leaf.stack = 100\nthreads.other.stack = 100\nthreads.start.stack = 100\n";
    let annotations = Annotations::parse(text).unwrap();
    for (paths, is_system) in [(vec![path(leaf)], false), (vec![path(leaf), path(other)], true)] {
        let mut analysis = Analysis::new(&firmware, &annotations).unwrap();
        analysis.observe(&paths);
        // Else the thread is what the run began with.
        let expected = if is_system { leaf } else { first };
        assert_eq!(analysis.entry_of(&path(leaf)), Some(expected));
    }
    let mut m = analysis.measurement("image.elf");
    m.check().unwrap();
    let of = |name: &str, entry, bytes| Measured {
        name: name.to_owned(),
        entry: Some(entry),
        is_main: false,
        bytes,
        size: Some(70),
        is_most: false,
        low: 0,
        is_exact: true,
        chain: String::new(),
        cycle: 0,
    };
    join(&mut m, &[of("leaf", leaf, 64), of("other", other, 48)]);
    m.check().unwrap();
    // No process stack: the handler, its frame of 36 bytes, is on each.
    assert!(is(cell(&m, "stacks", "worst", 1), 24 + 8 + 32 + 36, true));
    assert!(is(cell(&m, "stacks", "worst", 2), 24 + 8 + 16 + 36, true));
    let number = |column, row| cell(&m, "stacks", column, row).number().map(|n| n.as_f64());
    assert_eq!([1, 2].map(|row| number("gap", row)), [Some(36.0), Some(36.0)]);
    // The run supplies the size that the image does not know, and a smaller one.
    assert_eq!([1, 2].map(|row| number("size", row)), [Some(70.0), Some(70.0)]);
    assert_eq!([1, 2].map(|row| number("margin", row)), [Some(-30.0), Some(-14.0)]);
    assert_eq!(m.findings.iter().filter(|f| f.code == "stack-too-small").count(), 2);
    let chain = cell(&m, "entry-points", "chain", 2).text().unwrap();
    assert_eq!(chain, "first 24 > start 8 > leaf 32");
}

/// The system's function calls the thread's by a pointer, and one that ends with a jump to another:
/// that one is no thread, though it seems to be called from the same place.
#[test]
fn jump_target_of_known_function_is_not_a_thread() {
    let firmware = image(&[
        Function { name: "main", code: &[0xbf00, 0x4770] },
        Function { name: "leaf", code: &[0xb088, 0xb008, 0x4770] },
        // push {r4, lr}; blx r4; bl exit; pop {r4, pc}
        Function { name: "start", code: &[0xb510, 0x47a0, 0xf000, 0xf804, 0xbd10] },
        // exit: b switch
        Function { name: "exit", code: &[0xe006] },
        Function { name: "switch", code: &[0xb40f, 0xbc0f, 0x4770] },
        Function { name: "nmi", code: &[0x4770] },
    ]);
    let [leaf, start, switch] = [1, 2, 4].map(|index| AT + 16 + 16 * index);
    let annotations = Annotations::parse("threads.leaf.stack = 100\n").unwrap();
    let mut analysis = Analysis::new(&firmware, &annotations).unwrap();
    let path = |to| vec![vec![start], vec![start, to]];
    analysis.observe(&[path(leaf), path(switch)]);
    assert_eq!(analysis.entry_of(&path(leaf)), Some(leaf));
    // Else the thread is what the run began with.
    assert_eq!(analysis.entry_of(&path(switch)), Some(start));
}

proptest! {
    /// Whatever the code and its symbols are: the measurement is whole, and the chains that are
    /// shown add up to the worst cases that are shown.
    #[test]
    fn chains_add_up_in_any_image(
        code in prop::collection::vec(any::<u16>(), 16..400),
        symbols in prop::collection::vec((0u32..800, 0u32..200), 0..12),
    ) {
        let mut elf = ElfBuilder::new();
        let words = [0x2000_0100, (AT + 16) | 1, (AT + 32) | 1, 0];
        let mut bytes: Vec<u8> = words.iter().flat_map(|word: &u32| word.to_le_bytes()).collect();
        bytes.extend(code.iter().flat_map(|half| half.to_le_bytes()));
        elf.code(AT, &bytes);
        for (index, (at, size)) in symbols.into_iter().enumerate() {
            elf.function(&format!("f{index}"), AT + 16 + (at & !1), size);
        }
        let firmware = Firmware::parse(elf.build()).unwrap();
        let m = measure(&firmware, "image.elf", &Annotations::default()).unwrap();
        prop_assert!(m.check().is_ok());
        let worst = &m.table("entry-points").unwrap().column("worst").unwrap().cells;
        let sum: u64 = worst.iter().filter_map(|cell| Some(cell.number()?.as_u64())).sum();
        let profile = m.profiles().next().unwrap();
        prop_assert_eq!(profile.chains.of("stack").unwrap().sum() as u64, sum);
        prop_assert_eq!(profile.leaves.of("stack").unwrap().sum() as u64, sum);
    }
}
