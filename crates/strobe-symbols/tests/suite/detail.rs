//! Less information gives less detail with advice on how to get more; the image stays the same.

use std::path::Path;

use crate::common::build::Workshop;
use crate::common::judge::compare;
use object::{Object as _, ObjectSection as _};
use strobe_symbols::{Detail, Firmware, FunctionSource, Missing};

fn parse(path: &Path) -> Firmware {
    Firmware::parse(std::fs::read(path).expect("the ELF file")).expect("a firmware image")
}

/// The loaded bytes must not depend on symbols.
fn loads(firmware: &Firmware) -> Vec<(u32, u32, Vec<u8>)> {
    firmware
        .segments()
        .iter()
        .map(|s| (s.load_address.0, s.run_address, s.data().to_vec()))
        .collect()
}

/// A copy of an ELF file with some bytes changed.
fn patched(
    elf: &Path,
    name: &str,
    workshop: &Workshop,
    patch: impl FnOnce(&mut Vec<u8>),
) -> std::path::PathBuf {
    let mut bytes = std::fs::read(elf).expect("the ELF file");
    patch(&mut bytes);
    let path = workshop.path(name);
    std::fs::write(&path, bytes).expect("a patched file");
    path
}

#[test]
fn full_debug_information_leaves_nothing_to_wish_for() {
    let workshop = Workshop::new();
    let firmware = parse(&workshop.gcc("full.elf", &["-g", "-O2"]));
    assert_eq!(firmware.detail(), Detail::Lines);
    assert_eq!(firmware.detail_note(), "");
    assert!(firmware.warnings().is_empty(), "{:?}", firmware.warnings());
    // Whoever reads lines finds them in these files.
    let files: Vec<&str> = firmware.source_files().collect();
    let frames = firmware.functions().iter().flat_map(|f| firmware.frames(f.start).frames);
    let named: Vec<&str> = frames.filter_map(|frame| frame.file).collect();
    assert!(!named.is_empty());
    assert!(named.iter().all(|file| files.contains(file)), "{named:?} {files:?}");
}

#[test]
fn without_dwarf_functions_remain() {
    let workshop = Workshop::new();
    let full = workshop.gcc("full.elf", &["-g", "-O2"]);
    let stripped = workshop.objcopy(&full, "stripped.elf", &["--strip-debug"]);
    let (full, firmware) = (parse(&full), parse(&stripped));
    assert_eq!(firmware.detail(), Detail::Functions);
    assert!(firmware.detail_note().contains("-g"), "{}", firmware.detail_note());
    assert_eq!(loads(&firmware), loads(&full));
    let starts = |firmware: &Firmware| {
        firmware.functions().iter().map(|f| (f.start, f.size)).collect::<Vec<_>>()
    };
    assert_eq!(starts(&firmware), starts(&full));
    compare(&stripped);
}

#[test]
fn compiled_without_debug_information_local_functions_have_a_file() {
    let workshop = Workshop::new();
    let plain = workshop.gcc("plain.elf", &["-O2"]);
    // llvm-symbolizer agrees on results of the symbol table alone, the file names of local
    // functions included.
    compare(&plain);
    let firmware = parse(&plain);
    let fold = firmware.symbol("fold").expect("a local function");
    assert_eq!(firmware.frames(fold.address).frames[0].file, Some("util.c"));
}

#[test]
fn without_symbols_addresses_remain() {
    let workshop = Workshop::new();
    let full = workshop.gcc("full.elf", &["-g", "-O2"]);
    let stripped = workshop.objcopy(&full, "stripped.elf", &["--strip-all"]);
    let (full, firmware) = (parse(&full), parse(&stripped));
    assert_eq!(firmware.detail(), Detail::Addresses);
    assert!(firmware.detail_note().contains("stripped"), "{}", firmware.detail_note());
    assert_eq!(loads(&firmware), loads(&full));
    assert!(firmware.functions().is_empty() && !firmware.has_mapping_symbols());
    let main = full.symbol("main").expect("main").address;
    assert_eq!(firmware.frames(main).missing, Some(Missing::NoSymbol));
    assert_eq!(firmware.frames(0x2000_0000).missing, Some(Missing::Data));
    assert_eq!(firmware.frames(0x4000_0000).missing, Some(Missing::OutsideImage));
    compare(&stripped);
}

#[test]
fn without_sections_segments_remain() {
    let workshop = Workshop::new();
    let full = workshop.gcc("full.elf", &["-g", "-O2"]);
    let bare = patched(&full, "bare.elf", &workshop, |bytes| {
        bytes[32..36].fill(0); // e_shoff
        bytes[48..52].fill(0); // e_shnum, e_shstrndx
    });
    let (full, firmware) = (parse(&full), parse(&bare));
    assert_eq!(firmware.detail(), Detail::Addresses);
    assert_eq!(loads(&firmware), loads(&full));
    assert_eq!(firmware.build_id(), full.build_id());
    assert!(firmware.code_ranges().count() > 0, "executable segments count as code");
}

#[test]
fn dwarf_alone_names_functions_too() {
    let workshop = Workshop::new();
    // Clang, since GNU as leaves the Thumb bit in the bounds of assembly functions, which
    // llvm-symbolizer does not clear.
    let full = workshop.clang("full.elf", &["-g", "-O2"]);
    let nameless = patched(&full, "nameless.elf", &workshop, |bytes| {
        let file = object::File::parse(&bytes[..]).expect("an ELF file");
        let index = file.section_by_name(".symtab").expect("symbols").index().0;
        let table = u32::from_le_bytes(bytes[32..36].try_into().expect("four bytes")) as usize;
        bytes[table + 40 * index + 4..][..4].fill(0); // sh_type
    });
    let firmware = parse(&nameless);
    assert_eq!(firmware.detail(), Detail::Lines);
    let main = firmware.symbol("main").expect("main").function.expect("a function");
    assert_eq!(firmware.function(main).source, FunctionSource::Dwarf);
    assert!(firmware.symbol("board::Blink::run").is_ok());
    compare(&nameless);
}

#[test]
fn other_obstacles_are_named() {
    let workshop = Workshop::new();
    let full = workshop.gcc("full.elf", &["-g", "-O2"]);
    let compressed =
        parse(&workshop.objcopy(&full, "compressed.elf", &["--compress-debug-sections"]));
    assert_eq!(compressed.detail(), Detail::Lines, "{}", compressed.detail_note());
    let older = ["--compress-debug-sections=zlib-gnu"];
    let older_path = workshop.objcopy(&full, "older.elf", &older);
    let older = parse(&older_path);
    assert_eq!(older.detail(), Detail::Lines, "{}", older.detail_note());
    assert_eq!(
        (older.unusable_debug_information(), older.warnings()),
        (None, parse(&full).warnings())
    );
    let damaged = parse(&patched(&older_path, "damaged.elf", &workshop, |bytes| {
        let magic = |at: &usize| bytes[*at..].starts_with(b"ZLIB");
        let starts: Vec<usize> = (0..bytes.len() - 4).filter(magic).collect();
        starts.iter().for_each(|at| bytes[at + 11] ^= 1);
    }));
    assert!(damaged.unusable_debug_information().is_some_and(|why| why.contains("-gz")));
    let warnings = damaged.warnings();
    let of_it = warnings.iter().find(|warning| warning.section.contains(".zdebug_info"));
    assert!(of_it.is_some_and(|w| w.detail.contains("cannot be unpacked")), "{warnings:?}");

    let stripped = workshop.objcopy(&full, "stripped.elf", &["--strip-debug"]);
    let stab = format!("--add-section=.stab={}", stripped.display());
    let stabs = parse(&workshop.objcopy(&stripped, "stabs.elf", &[&stab]));
    assert!(stabs.detail_note().contains("-gdwarf-4"), "{}", stabs.detail_note());
    // As avr-gcc links it: STABS of the program, a little DWARF of the library.
    let remove = ["--remove-section=.debug_abbrev", &stab];
    let both = parse(&workshop.objcopy(&full, "both.elf", &remove));
    assert!(both.detail_note().contains("-gdwarf-4"), "{}", both.detail_note());

    let split = parse(&workshop.gcc("split.elf", &["-g", "-O2", "-gsplit-dwarf"]));
    assert_eq!(split.detail(), Detail::Lines);
    assert!(split.detail_note().contains("-gsplit-dwarf"), "{}", split.detail_note());
}
