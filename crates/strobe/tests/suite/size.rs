//! `strobe size`, with binutils as the judge of sums.

use std::fs;
use std::process::Command;

use strobe_model::measurement::Measurement;

use crate::common::recorded::recorded;
use crate::common::{prebuilt, root, strobe, total};
use strobe_synth::{ElfBuilder, Section};

/// text + data, and data + bss, as binutils counts them.
fn binutils(path: &str, tool: &str) -> (u64, u64) {
    let output = Command::new(tool).arg(path).output().expect("binutils is installed");
    let text = String::from_utf8(output.stdout).unwrap();
    let row = text.lines().nth(1).unwrap_or_else(|| panic!("{path}: {text}"));
    let numbers: Vec<u64> = row.split_whitespace().take(3).map(|n| n.parse().unwrap()).collect();
    (numbers[0] + numbers[1], numbers[1] + numbers[2])
}

/// What lies between sections is stored as well, and binutils leaves it out.
fn between_sections(measurement: &Measurement, measure: &str) -> u64 {
    let profile = measurement.profiles().next().unwrap();
    let values = &profile.leaves.of(measure).unwrap().values;
    let names =
        profile.leaves.at.iter().map(|at| profile.function_name(profile.function_at(at.unwrap())));
    let gaps = names
        .zip(values)
        .filter(|(name, _)| ["(padding between sections)", "(in no section)"].contains(name));
    gaps.map(|(_, bytes)| *bytes as u64).sum()
}

#[test]
fn sums_are_those_of_binutils() {
    let mut judged = 0;
    for entry in fs::read_dir(root().join("firmware/prebuilt")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "elf") {
            continue;
        }
        let shown = path.display().to_string();
        let measurement = recorded(&["size", &shown]);
        let machine = measurement.subject.facts.iter().find(|fact| fact.name == "machine");
        let is_avr = machine.and_then(|fact| fact.text.as_deref()) == Some("AVR");
        let (flash, ram) = binutils(&shown, if is_avr { "avr-size" } else { "arm-none-eabi-size" });
        let ours = |id: &str| total(&measurement, id).as_u64() - between_sections(&measurement, id);
        assert_eq!((ours("flash"), ours("ram")), (flash, ram), "{shown}");
        judged += 1;
    }
    assert!(judged > 50, "{judged} images");
}

#[test]
fn rows_are_chosen_and_what_is_missing_is_explained() {
    let elf = prebuilt("threads");
    let shown = strobe(&["size", &elf, "--by", "file"]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    assert!(shown.stdout.contains("by file") && shown.stdout.contains("all"), "{}", shown.stdout);
    let missing = strobe(&["size", &elf, "--by", "archive"]);
    assert_eq!(missing.code, 64);
    assert!(missing.stderr.contains("--map"), "{}", missing.stderr);
    let tree = strobe(&["size", &elf, "--tree"]);
    assert!(tree.stdout.contains("SysTick_Handler"), "{}", tree.stdout);
    let map = root().join("README.md").display().to_string();
    let none = strobe(&["size", &elf, "--map", &map]);
    assert_eq!((none.code, none.stderr.contains("no linker map")), (65, true), "{}", none.stderr);
}

/// Debug sections that are there and cannot be unpacked are no missing `-g`, whichever command
/// needs them and whichever way they are compressed.
#[test]
fn debug_sections_that_cannot_be_unpacked_are_named() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join("firmware.elf").display().to_string();
    // 2 GiB of twelve bytes, behind both kinds of header.
    let flagged = [1u32, 1 << 31, 1, 0, 0, 0].iter().flat_map(|word| word.to_le_bytes()).collect();
    let old = [&b"ZLIB\0\0\0\0\x80\0\0\0"[..], &[0; 12]].concat();
    for (name, flags, data) in [(".debug_info", 0x800, flagged), (".zdebug_info", 0, old)] {
        let words = [0x2000_1000u32, 0x0800_0009];
        let mut image: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        // nop; bx lr
        image.extend([0x00, 0xbf, 0x70, 0x47]);
        let mut elf = ElfBuilder::new();
        elf.entry = words[1];
        elf.code(0x0800_0000, &image).function("main", 0x0800_0008, 4);
        elf.section(Section { name: name.into(), kind: 1, flags, data, ..Section::default() });
        std::fs::write(&path, elf.build()).expect("a file");
        let stated = |arguments: &[&str], code: i32| {
            let ran = strobe(arguments);
            let text = ran.stdout + &ran.stderr;
            assert_eq!(ran.code, code, "{arguments:?}: {text}");
            let words: Vec<&str> = text.split_whitespace().collect();
            let why = words.join(" ").contains("cannot be unpacked");
            assert!(why && !text.contains("no debug information"), "{arguments:?}: {text}");
        };
        stated(&["size", &path], 0);
        stated(&["size", &path, "--by", "file"], 64);
        stated(&["size", &path, "--by", "inlined"], 64);
        stated(&["stack", &path], 0);
        stated(&["cycles", &path, "main", "--board", "cortex-m3"], 0);
    }
}

#[test]
fn two_builds_are_compared_by_symbol() {
    let (old, new) = (prebuilt("trace-kit-off"), prebuilt("trace-kit"));
    let shown = strobe(&["size", &new, "--against", &old]);
    assert_eq!(shown.code, 0, "{}", shown.stderr);
    assert!(shown.stdout.contains("flash"), "{}", shown.stdout);
    let same = strobe(&["size", &new, "--against", &new, "--format", "measurement"]);
    assert_eq!(same.code, 0, "{}", same.stderr);
}

/// The directories that chains lead through are no functions, and what has no lines is in the file
/// of its symbol.
#[test]
fn directories_are_no_functions_of_a_comparison() {
    let (old, new) = (prebuilt("trace-kit-off"), prebuilt("trace-kit"));
    let compared = recorded(&["size", &new, "--against", &old]);
    let texts = |table: &str, column: &str| -> Vec<String> {
        let cells = &compared.table(table).unwrap().column(column).unwrap().cells;
        cells.iter().filter_map(|cell| Some(cell.text()?.to_owned())).collect()
    };
    let names = texts("profile-functions", "function");
    assert!(names.iter().any(|name| name == "main"), "{names:?}");
    let is_place = |name: &&String| name.ends_with('/') || name.contains("(no source file)");
    assert_eq!(names.iter().find(is_place), None);
    let files = texts("profile-files", "name");
    assert!(files.iter().any(|file| file.ends_with("strobe_trace.c")), "{files:?}");
    assert!(compared.table("profile-lines").is_none(), "sizes are of symbols");
}

#[test]
fn treemap_fills_the_report_and_names_large_items() {
    let ran = strobe(&["size", "--treemap", &prebuilt("floaty")]);
    let map = ran.stdout.split("treemap: ").nth(1).expect("a map");
    assert!(map.starts_with("21,560 bytes stored in flash;"), "{map}");
    for named in ["_dtoa_r", "3,856  17.9 %", "stdlib/  7,632", "others", "3 others  103  0.5 %"] {
        assert!(map.contains(named), "{map}");
    }
    let is_box = |line: &&str| line.starts_with(['│', '├', '╞', '┌', '╒', '└']);
    let lines: Vec<&str> = map.lines().filter(is_box).collect();
    assert!(lines.len() > 30, "{map}");
    for line in lines {
        assert_eq!(line.chars().count(), 100, "{line}");
    }
}

#[test]
fn a_measurement_that_was_stored_is_drawn_as_well() {
    let folder = tempfile::tempdir().unwrap();
    let stored = folder.path().join("size.measurement").display().to_string();
    strobe(&["size", &prebuilt("floaty"), "-o", &stored]);
    let ran = strobe(&["report", "--treemap", &stored]);
    assert!(ran.stdout.contains("treemap: 21,560 bytes"), "{}", ran.stdout);
}

/// Names that are longer than the line leave room for what has changed; what has not is one line.
#[test]
fn a_comparison_keeps_its_figures() {
    let [a, b] = ["threads-freertos", "threads-zephyr"].map(prebuilt);
    let ran = strobe(&["size", &b, "--against", &a]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    let tables: Vec<&str> = ran.stdout.split("\n\n").collect();
    let heads = tables.iter().filter(|table| table.starts_with("by "));
    // The sides themselves are behind the comparison.
    let heads: Vec<&str> = heads.filter_map(|table| table.lines().nth(1)).take(4).collect();
    assert_eq!(heads.len(), 4, "{}", ran.stdout);
    assert!(heads.iter().all(|head| head.contains("diff.")), "{heads:#?}");
    let ran = strobe(&["size", &a, "--against", &a]);
    assert!(ran.stdout.contains("the same in both; --top 0 shows all"), "{}", ran.stdout);
}
