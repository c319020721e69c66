//! Listings compared with GNU objdump: the same instructions, encodings, branch targets and
//! literals.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use crate::common::build::{Workshop, run};
use strobe_symbols::{Firmware, Instruction, Item};

/// One instruction in objdump's output.
struct Expected {
    encoding: String,
    mnemonic: String,
    /// The target address of branches, before the `<...>` notation.
    target: Option<u32>,
    /// The address that a PC-relative load reads.
    literal: Option<u32>,
}

fn objdump(elf: &Path) -> BTreeMap<u32, Expected> {
    let text = run(Command::new("arm-none-eabi-objdump").arg("-d").arg(elf));
    text.lines().filter_map(parse_line).collect()
}

/// Parses ` 8000330:\tf7ff fef0 \tbl\t8000114 <clock_to_48mhz>`.
fn parse_line(line: &str) -> Option<(u32, Expected)> {
    let mut fields = line.split('\t');
    let address = u32::from_str_radix(fields.next()?.trim().strip_suffix(':')?, 16).ok()?;
    let encoding = fields.next()?.trim().to_owned();
    let mnemonic = fields.next()?.trim().to_owned();
    let operands = fields.next().unwrap_or_default();
    let rest = fields.collect::<Vec<_>>().join(" ");
    if mnemonic.starts_with('.') {
        return None;
    }
    let hex = |text: &str| u32::from_str_radix(text, 16).ok();
    let target = operands
        .split_once(" <")
        .and_then(|(address, _)| hex(address.rsplit([' ', ',']).next()?));
    let literal = rest.split_once('(').and_then(|(_, rest)| hex(rest.split([' ', ')']).next()?));
    let literal = literal.filter(|_| operands.contains("[pc"));
    Some((address, Expected { encoding, mnemonic, target, literal }))
}

fn encoding(instruction: &Instruction) -> String {
    match instruction.size {
        2 => format!("{:04x}", instruction.halfwords[0]),
        _ => format!("{:04x} {:04x}", instruction.halfwords[0], instruction.halfwords[1]),
    }
}

fn agree(elf: &Path) {
    let firmware =
        Firmware::parse(std::fs::read(elf).expect("the ELF file")).expect("a firmware image");
    let expected = objdump(elf);
    let mut found = BTreeMap::new();
    for range in firmware.code_ranges() {
        for instruction in firmware.instructions(range.start as u32..range.end as u32) {
            found.insert(instruction.address, instruction);
        }
    }
    assert!(expected.len() > 200, "objdump found only {} instructions", expected.len());
    let (mut targets, mut literals) = (0, 0);
    for (address, expected) in &expected {
        let ours = found
            .get(address)
            .unwrap_or_else(|| panic!("{address:#x} {} is not listed", expected.mnemonic));
        assert_eq!(encoding(ours), expected.encoding, "{address:#x}");
        assert_eq!(
            ours.target.as_ref().map(|target| target.address),
            expected.target,
            "{address:#x} {ours}"
        );
        let literal = ours.literal.as_ref().map(|literal| literal.address);
        assert_eq!(literal, expected.literal, "{address:#x} {ours}");
        targets += usize::from(ours.target.is_some());
        literals +=
            usize::from(ours.literal.as_ref().is_some_and(|literal| literal.value.is_some()));
    }
    assert_eq!(found.len(), expected.len(), "instructions that objdump does not have");
    assert!(targets > 20 && literals > 5, "{targets} targets and {literals} literals compared");
}

#[test]
fn listings_agree_with_objdump() {
    let workshop = Workshop::new();
    agree(&workshop.gcc("gcc.elf", &["-g", "-O2"]));
    agree(&workshop.clang("clang.elf", &["-g", "-O2"]));
    agree(&workshop.rustc("rustc.elf", &["-g", "-Copt-level=3"]));
    agree(&workshop.newlib("newlib.elf", &["-g", "-O2"]));
}

#[test]
fn references_are_named() {
    let workshop = Workshop::new();
    let elf = workshop.gcc("a.elf", &["-g", "-O2"]);
    let firmware =
        Firmware::parse(std::fs::read(elf).expect("the ELF file")).expect("a firmware image");
    let function =
        |name: &str| firmware.function(firmware.symbol(name).expect(name).function.expect(name));
    let text = |name: &str| -> Vec<String> {
        let function = function(name);
        let show = |item: Item| match item {
            Item::Instruction(instruction) => instruction.to_string(),
            Item::Data(data) => data.to_string(),
        };
        firmware.listing(function.start..function.end() as u32).map(show).collect()
    };
    assert!(text("main").iter().any(|line| line.starts_with("bl ") && line.ends_with(" <delay>")));
    assert!(text("main").iter().any(|line| line.starts_with("ldr ") && line.ends_with(" <sink>")));
    let delay = text("delay");
    assert_eq!(
        delay[2],
        format!("bhs     #{:#x} <delay+0x2>", function("delay").start + 2),
        "{delay:?}"
    );
    assert!(delay[3].ends_with("=0xcafef00d"), "{delay:?}");
    assert_eq!(delay.last().expect("a literal"), ".word   0xcafef00d");
}

/// Register names as in the manuals, the fault report and this program's own texts.
#[test]
fn registers_have_their_numbers_as_names() {
    // mov r9, r8; mov r10, r9; mov r11, r10; mov r12, r11; mov sp, r12; mov lr, sp; push {r4, lr};
    // pop {r4, pc}
    let halfwords = [0x46c1u16, 0x46ca, 0x46d3, 0x46dc, 0x46e5, 0x46ee, 0xb510, 0xbd10];
    let code: Vec<u8> = halfwords.iter().flat_map(|half| half.to_le_bytes()).collect();
    let mut elf = strobe_synth::ElfBuilder::new();
    elf.code(0, &code);
    elf.function("moves", 0, code.len() as u32);
    let firmware = Firmware::parse(elf.build()).expect("a firmware image");
    let operands: Vec<String> =
        firmware.instructions(0..code.len() as u32).map(|i| i.operands).collect();
    let expected =
        ["r9, r8", "r10, r9", "r11, r10", "r12, r11", "sp, r12", "lr, sp", "{r4, lr}", "{r4, pc}"];
    assert_eq!(operands, expected);
}
