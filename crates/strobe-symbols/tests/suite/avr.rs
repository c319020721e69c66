//! AVR programs: functions, lines and instructions, compared with avr-objdump.

use std::path::{Path, PathBuf};
use std::process::Command;

use strobe_symbols::{Firmware, Function, FunctionSource, Item, Machine};

fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../firmware/prebuilt").join(name)
}

fn firmware(name: &str) -> Firmware {
    Firmware::parse(std::fs::read(path(name)).expect("a prebuilt program")).expect("parses")
}

/// Mnemonic and operands of each address, from objdump.
fn judged(name: &str) -> Vec<(u32, String)> {
    let output = Command::new("avr-objdump").args(["-d", "-z"]).arg(path(name)).output();
    let text = String::from_utf8(output.expect("avr-objdump runs").stdout).expect("ASCII");
    let line = |line: &str| {
        let mut columns = line.split('\t');
        let address = columns.next()?.trim().strip_suffix(':')?;
        let mut text = columns.nth(1)?.trim().to_owned();
        if let Some(operands) = columns.next() {
            text += &format!(" {}", operands.trim());
        }
        // Relative targets are in a comment.
        let comment = columns.next().and_then(|c| c.split_whitespace().nth(1)).unwrap_or("");
        if let Some((mnemonic, _)) = text.split_once(" .") {
            text = format!("{mnemonic} {comment}");
        }
        if text == "jmp 0" {
            text = "jmp 0x0".to_owned();
        }
        // Instructions of other AVR families, as constants may be decoded.
        if ["xch", "las", "lac", "lat", "des"].iter().any(|other| text.starts_with(other)) {
            return None;
        }
        Some((u32::from_str_radix(address, 16).ok()?, text.to_lowercase()))
    };
    text.lines().filter_map(line).collect()
}

#[test]
fn instructions_match_objdump() {
    for name in ["work-avr.elf", "work-avr-2560.elf", "loop-avr.elf"] {
        let judged = judged(name);
        assert!(judged.len() > 40, "{name}: avr-objdump printed little");
        let firmware = firmware(name);
        let end = judged.last().map_or(0, |(address, _)| address + 4);
        let ours: Vec<(u32, String)> = firmware
            .listing(0..end)
            .map(|item| match item {
                Item::Instruction(i) => {
                    (i.address, format!("{} {}", i.mnemonic, i.operands).trim().to_lowercase())
                }
                Item::Data(data) => (data.address, format!(".word {:#06x}", data.value)),
            })
            .collect();
        let differ: Vec<_> = judged.iter().filter(|one| !ours.contains(one)).collect();
        assert!(
            differ.is_empty(),
            "{name}: {} differ: {:?}",
            differ.len(),
            &differ[..differ.len().min(12)]
        );
    }
}

#[test]
fn functions_have_names_lines_and_separate_sizes() {
    let firmware = firmware("work-avr.elf");
    assert_eq!(firmware.machine(), Machine::Avr);
    let sqrt = firmware.symbol("sqrt").expect("of avr-libc").address;
    let function = firmware.function(firmware.function_at(sqrt + 8).expect("a function"));
    assert_eq!(function.name, "sqrt");
    let sorts = firmware.symbol("sorts").expect("a function").address;
    let frames = firmware.frames(sorts);
    let frame = frames.outermost().expect("debug information");
    assert_eq!(frame.name, Some("sorts"));
    assert!(frame.file.is_some_and(|file| file.ends_with("firmware/work-avr/main.c")));
    assert!(frame.line.is_some());
    // Labels without a size may be inside a function.
    let sized = |f: &&Function| f.source == FunctionSource::Symbol;
    let functions: Vec<&Function> = firmware.functions().iter().filter(sized).collect();
    assert!(functions.windows(2).all(|pair| pair[0].end() <= u64::from(pair[1].start)));
}
