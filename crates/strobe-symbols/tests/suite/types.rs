//! Offsets of members, compared with those of the compiler.

use std::path::PathBuf;
use std::process::Command;

use crate::common::build::{fixture, run};
use strobe_symbols::{Firmware, Route, Step, TypeError, Types, Value};

/// The fixture compiled with these flags.
fn build(compiler: &[&str], flags: &[&str]) -> Firmware {
    let directory = tempfile::tempdir().expect("a directory");
    let elf = directory.path().join("types.elf");
    let objects: Vec<PathBuf> = ["types.c", "util_types.c"]
        .map(|source| {
            let object = directory.path().join(source).with_extension("o");
            let mut command = Command::new(compiler[0]);
            command.args(&compiler[1..]).args(flags).args(["-c", "-o"]).arg(&object);
            run(command.arg(fixture(source)));
            object
        })
        .into();
    let mut link = Command::new(compiler[0]);
    link.args(&compiler[1..]).args(flags).args(["-nostdlib", "-Wl,-e,start", "-o"]).arg(&elf);
    run(link.args(["-Wl,-Ttext=0x08000000", "-Wl,-Tdata=0x20000000"]).args(objects));
    Firmware::parse(std::fs::read(elf).expect("the ELF file")).expect("a firmware image")
}

const GCC: &[&str] = &["arm-none-eabi-gcc", "-mcpu=cortex-m0", "-mthumb"];
const CLANG: &[&str] =
    &["clang-14", "--target=armv6m-none-eabi", "-ffreestanding", "-fshort-enums", "-fuse-ld=lld"];

fn every_build() -> Vec<(String, Firmware)> {
    let gcc = [
        &["-g", "-O2"][..],
        &["-gdwarf-2", "-O0"],
        &["-gdwarf-4", "-fdebug-types-section"],
        &["-gdwarf-5", "-fdebug-types-section"],
        &["-g", "-flto", "-O1", "-fno-toplevel-reorder"],
    ];
    let gcc = gcc.map(|flags| (format!("gcc {flags:?}"), build(GCC, flags)));
    let clang = [&["-g"][..], &["-gdwarf-5", "-O1"]];
    let clang = clang.map(|flags| (format!("clang {flags:?}"), build(CLANG, flags)));
    gcc.into_iter().chain(clang).collect()
}

/// The values that the compiler has put into `expected`.
fn expected(firmware: &Firmware, index: u32) -> u32 {
    let at = firmware.symbol("expected").expect("the table").address;
    firmware.word_at(at + 4 * index).expect("a constant")
}

fn offset(route: Result<Route, TypeError>) -> u32 {
    let route = route.unwrap_or_else(|error| panic!("{error}"));
    match route.steps[..] {
        [] => 0,
        [Step::Add(offset)] => offset,
        ref steps => panic!("{steps:?}"),
    }
}

#[test]
fn members_are_where_the_compiler_puts_them() {
    for (name, firmware) in every_build() {
        let types = firmware.types();
        let block = types.named("block_t").expect("a type");
        let member = |path| types.member(block, path);
        for (index, path) in [
            (0, "base.prio"),
            (1, "base.state"),
            (2, "lists[2].end.container"),
            (3, "name"),
            (4, "label"),
            (7, "colour"),
        ] {
            assert_eq!(offset(member(path)), expected(&firmware, index), "{path}, {name}");
        }
        assert_eq!(offset(member("lists[1]")) - offset(member("lists")), expected(&firmware, 6));
        let element = member("lists[1]").expect("an element").target;
        assert_eq!(types.bytes(element), Some(expected(&firmware, 6)), "{name}");
        let value = |path| member(path).expect("a member").value;
        assert_eq!(value("base.prio"), Value::Number { bytes: 1, signed: true }, "{name}");
        assert_eq!(value("name"), Value::Text { bytes: 12 });
        assert_eq!(value("label"), Value::Pointer { to_text: true });
        assert_eq!(value("lists"), Value::Other);
        let enumeration = Value::Number { bytes: expected(&firmware, 8), signed: false };
        assert_eq!(value("colour"), enumeration, "{name}");
        assert_eq!(types.enumerator("BLUE"), Some(16));
    }
}

#[test]
fn variables_lead_through_pointers_to_types() {
    for (name, firmware) in every_build() {
        let types = firmware.types();
        let at = |symbol: &str| firmware.symbol(symbol).expect(symbol).address;
        let route = types.variable("kernel.cpus[1].current");
        let route = route.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(
            route.steps,
            [Step::Add(at("kernel") + expected(&firmware, 5))],
            "{name}: the pointer itself is not followed"
        );
        assert_eq!(offset(types.member(route.target, "name")), expected(&firmware, 3));
        let through = types.variable("kernel.cpus[1].current->lists[0].count").expect("a path");
        let lists = offset(types.member(route.target, "lists"));
        let pointer = at("kernel") + expected(&firmware, 5);
        assert_eq!(through.steps, [Step::Add(pointer), Step::Load, Step::Add(lists)], "{name}");
        assert_eq!(offset(types.variable("ready[3]")), at("ready") + 3 * expected(&firmware, 6));
        // Only the other unit has its definition.
        let hidden = types.variable("hidden.b").expect("a path");
        assert_eq!(hidden.steps, [Step::Add(at("hidden")), Step::Load, Step::Add(4)], "{name}");
    }
}

#[test]
fn missing_variables_and_members_are_named() {
    let firmware = build(GCC, &["-g"]);
    let types = firmware.types();
    let wrong = |path| types.variable(path).expect_err(path).to_string();
    let first = types.named("block").expect("a structure");
    let messages = [
        wrong("nothing.there"),
        wrong("twice"),
        wrong("first.nam"),
        wrong("first.name.length"),
        wrong("first.lists[3]"),
        wrong("first.base.flag"),
        wrong("first..name"),
        types.named("gone").expect_err("no such type").to_string(),
        types.member(first, "base[0]").expect_err("no array").to_string(),
    ];
    assert_eq!(
        messages,
        [
            "the debug information describes no variable nothing",
            "there are 2 variables twice",
            "block_t has no member nam",
            "first.name is an array, so `.length` does not apply",
            "first.lists has 3 elements, none with index 3",
            "first.base.flag is a bit field, which is not supported",
            "`first..name` is not a path such as `variable.member[0].member`",
            "the debug information describes no type gone",
            "block.base is a structure, so `[0]` does not apply",
        ]
    );
}

#[test]
fn without_debug_information_there_are_no_types() {
    let firmware = build(GCC, &["-O1"]);
    assert!(firmware.types().is_empty());
    assert!(matches!(firmware.types().variable("kernel"), Err(TypeError::NoVariable { .. })));
}

/// Every lookup in damaged debug information ends, and none panics.
#[test]
fn damage_is_no_more_than_an_error() {
    let directory = tempfile::tempdir().expect("a directory");
    let object = directory.path().join("types.o");
    let mut command = Command::new(GCC[0]);
    command.args(&GCC[1..]).args(["-g", "-nostdlib", "-Wl,-e,use_types", "-o"]).arg(&object);
    run(command.arg(fixture("types.c")));
    let sound = std::fs::read(object).expect("the ELF file");
    let mut state = 1u32;
    let mut random = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as usize
    };
    for _ in 0..2000 {
        let mut bytes = sound.clone();
        for _ in 0..1 + random() % 8 {
            let at = 52 + random() % (bytes.len() - 52);
            bytes[at] = random() as u8;
        }
        let Ok(firmware) = Firmware::parse(bytes) else { continue };
        follow_everything(&firmware.types());
    }
}

fn follow_everything(types: &Types<'_>) {
    for path in ["kernel.cpus[1].current.name", "first.lists[2].end.next.next", "current.inner[1]"]
    {
        let _ = types.variable(path);
    }
    for name in ["block", "block_t", "base", "kernel", "list"] {
        if let Ok(of) = types.named(name) {
            for member in ["name", "prio", "lists[1].end", "cpus[0].current.base.prio"] {
                let _ = types.member(of, member);
            }
        }
    }
}
