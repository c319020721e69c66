//! Functions, names, variables and segments of firmware built by real compilers.

use std::path::Path;

use crate::common::build::{FLASH, Workshop, run};
use crate::common::handmade::elf;
use crate::common::judge::ask;
use strobe_symbols::{CodeKind, Firmware, FunctionSource, SymbolError};

fn parse(path: &Path) -> Firmware {
    Firmware::parse(std::fs::read(path).expect("the ELF file")).expect("a firmware image")
}

fn start_of(firmware: &Firmware, name: &str) -> u32 {
    firmware.symbol(name).unwrap_or_else(|error| panic!("{error}")).address
}

#[test]
fn an_alias_is_another_name_of_one_function() {
    let workshop = Workshop::new();
    let firmware = parse(&workshop.gcc("a.elf", &["-g", "-O2"]));
    let id = firmware.symbol("sum_alias").expect("the alias").function.expect("a function");
    let function = firmware.function(id);
    // The debug information knows which of the two the programmer wrote.
    assert_eq!(function.name, "sum_to");
    assert_eq!(function.aliases, ["sum_alias"]);
    assert_eq!(firmware.function_at(function.start | 1), Some(id), "the Thumb bit is ignored");
    let handler =
        firmware.symbol("HardFault_Handler").expect("an alias").function.expect("a function");
    assert_eq!(firmware.function(handler).name, "Default_Handler");
}

#[test]
fn assembly_without_sizes_reaches_to_the_next_symbol() {
    let workshop = Workshop::new();
    let firmware = parse(&workshop.gcc("a.elf", &["-g", "-O2"]));
    let function = |name: &str| {
        firmware.function(firmware.symbol(name).expect(name).function.expect("a function")).clone()
    };
    let reset = function("Reset_Handler");
    assert_eq!(reset.source, FunctionSource::UnsizedSymbol);
    // `clear_loop` is in a function without a size: the symbol table cannot distinguish it from a
    // function.
    assert_eq!(reset.end(), u64::from(start_of(&firmware, "clear_loop")));
    assert_eq!(function("clear_loop").end(), u64::from(start_of(&firmware, "Default_Handler")));
    let delay = function("delay");
    assert_eq!(delay.source, FunctionSource::Symbol);
    let again = firmware.symbol("delay_again").expect("a label");
    assert_eq!(again.function, None, "a label inside a function of known size");
    assert_eq!(
        firmware.describe(again.address),
        Some(format!("delay+{:#x}", again.address - delay.start))
    );
    assert_eq!(function("untyped_helper").source, FunctionSource::UnsizedSymbol);
    assert!(
        firmware.symbol("literal").is_ok_and(|literal| literal.function.is_none()),
        "data is no function"
    );
}

#[test]
fn names_are_found_the_way_people_write_them() {
    let workshop = Workshop::new();
    let firmware = parse(&workshop.gcc("a.elf", &["-g", "-O2"]));
    let run = start_of(&firmware, "_ZN5board5Blink3runEi");
    for name in ["board::Blink::run(int)", "board::Blink::run", "Blink::run", "run"] {
        assert_eq!(start_of(&firmware, name), run, "{name}");
    }
    assert_eq!(
        start_of(&firmware, "board::(anonymous namespace)::hidden"),
        start_of(&firmware, "hidden")
    );
    match firmware.symbol("checksun") {
        Err(SymbolError::NotFound { suggestions, .. }) => assert_eq!(suggestions[0], "checksum"),
        other => panic!("{other:?}"),
    }
    match firmware.symbol("local") {
        Err(error @ SymbolError::Ambiguous { .. }) => {
            assert!(error.to_string().contains("local at 0x0800"), "{error}")
        }
        // Inlined everywhere, there is no such function.
        Err(error) => {
            let error = firmware.explain(error).to_string();
            assert!(error.contains("inlined everywhere, into "), "{error}");
        }
        Ok(found) => panic!("{found:?}"),
    }
}

#[test]
fn local_functions_of_one_name_are_ambiguous() {
    let workshop = Workshop::new();
    let firmware = parse(&workshop.gcc("a.elf", &["-g", "-O0"]));
    let Err(SymbolError::Ambiguous { candidates, .. }) = firmware.symbol("local") else {
        panic!("eight of them")
    };
    assert_eq!(candidates.len(), 8);
    let (first, second) = (candidates[0].address, candidates[1].address);
    assert_ne!(firmware.frames(first).frames[0].file, firmware.frames(second).frames[0].file);
}

/// What a firmware may have or not is looked up without reasons, with the same result.
#[test]
fn optional_name_is_found_if_it_is_unique() {
    let workshop = Workshop::new();
    let firmware = parse(&workshop.gcc("a.elf", &["-g", "-O0"]));
    let mut names: Vec<&str> = firmware.functions().iter().map(|f| f.name.as_str()).collect();
    names.extend(["run", "Blink::run", "hidden", "Reset_Handler", "local", "checksun", ""]);
    for name in names {
        assert_eq!(firmware.symbol_if_any(name), firmware.symbol(name).ok(), "{name}");
    }
    assert!(firmware.symbol_if_any("Blink::run").is_some());
    assert_eq!(firmware.symbol_if_any("local"), None, "eight of them");
}

#[test]
fn rust_names_lose_their_hashes() {
    let workshop = Workshop::new();
    for flags in
        [&["-g", "-Copt-level=3"][..], &["-g", "-Copt-level=3", "-Csymbol-mangling-version=v0"]]
    {
        let firmware = parse(&workshop.rustc("rust.elf", flags));
        assert!(firmware.symbol("demo::inner::chain").is_ok(), "{flags:?}");
        assert!(firmware.symbol("inner::chain").is_ok());
        assert!(firmware.functions().iter().all(|f| !f.name.contains("17h")), "a hash in a name");
    }
}

/// Rust's first mangling has no types: they are in the debug information.
#[test]
fn generic_functions_are_named_by_their_types() {
    let workshop = Workshop::new();
    for flags in
        [&["-g", "-Copt-level=3"][..], &["-g", "-Copt-level=3", "-Csymbol-mangling-version=v0"]]
    {
        let firmware = parse(&workshop.rustc("rust.elf", flags));
        let mut names: Vec<&str> = firmware.functions().iter().map(|f| f.name.as_str()).collect();
        names.retain(|name| name.contains("weigh"));
        names.sort_unstable();
        let [short, long] = names[..] else { panic!("{names:?}") };
        assert!(short.contains("Slot<u16>") && long.contains("Slot<u8>"), "{names:?}");
        for name in names {
            assert_eq!(firmware.symbol(name).expect("its own name").name, name);
        }
        let Err(SymbolError::Ambiguous { candidates, .. }) = firmware.symbol("weigh") else {
            panic!("two of them")
        };
        assert_eq!(candidates.len(), 2);
    }
}

#[test]
fn variables_are_found_by_address() {
    let workshop = Workshop::new();
    let firmware = parse(&workshop.gcc("a.elf", &["-g", "-O2"]));
    let sink = firmware.symbol("sink").expect("a variable");
    assert_eq!((sink.function, sink.size), (None, 4));
    let numbers =
        firmware.data_symbols().iter().find(|symbol| symbol.name == "numbers").expect("the queue");
    assert_eq!(numbers.size, 40);
    assert_eq!(firmware.describe(numbers.address + 36), Some("numbers+0x24".to_owned()));
    assert_eq!(firmware.data_symbol_at(numbers.address + 39), Some(numbers));
    assert_ne!(firmware.data_symbol_at(numbers.address + 40), Some(numbers));
}

#[test]
fn segments_say_what_is_loaded_where() {
    let workshop = Workshop::new();
    let firmware = parse(&workshop.gcc("a.elf", &["-g", "-O2"]));
    let first = &firmware.segments()[0];
    assert_eq!((first.load_address.0, first.run_address), (FLASH, FLASH));
    let reset = u32::from_le_bytes(first.data()[4..8].try_into().expect("four bytes"));
    assert_eq!(reset, start_of(&firmware, "Reset_Handler") | 1);
    assert_eq!(firmware.entry(), reset);
    assert_eq!(firmware.word_at(FLASH + 4), Some(reset));
    assert_eq!(firmware.half_at(FLASH + 4), Some(reset as u16));
    assert_eq!(firmware.half_at(FLASH - 1), None);
    let data = firmware
        .segments()
        .iter()
        .find(|segment| segment.run_address == 0x2000_0000)
        .expect("variables");
    assert!(data.load_address.0 > FLASH && data.permissions.write, "{data:?}");
    assert!(data.memory_size as usize > data.data().len(), "zeroed variables have no bytes");
    assert_eq!(firmware.build_id().map(<[u8]>::len), Some(20));
}

/// GNU ld maps the file's own headers below the first section if it may round down to a page, and
/// some linkers leave the load addresses zero. Neither must be programmed.
#[test]
fn linkers_habits_are_straightened() {
    let mut bytes = elf(&[]);
    let words = |bytes: &mut [u8], at: usize, words: &[u32]| {
        bytes[at..at + 4 * words.len()]
            .copy_from_slice(&words.iter().flat_map(|w| w.to_le_bytes()).collect::<Vec<_>>());
    };
    // p_offset, p_vaddr, p_paddr, p_filesz, p_memsz: from the start of the file, 0x100 bytes before
    // the code.
    words(&mut bytes, 56, &[0, FLASH - 0x100, 0, 0x140, 0x140]);
    let firmware = Firmware::parse(bytes).expect("a firmware image");
    let segment = &firmware.segments()[0];
    assert_eq!(
        (segment.load_address.0, segment.run_address, segment.memory_size),
        (FLASH, FLASH, 64)
    );
    assert_eq!(segment.data(), [0x00, 0xbf].repeat(32));
}

#[test]
fn compilers_and_flags_are_known() {
    let workshop = Workshop::new();
    let gcc = parse(&workshop.gcc("gcc.elf", &["-g", "-O2"]));
    let producers = gcc.producers();
    assert!(
        producers.is_sorted()
            && producers.iter().any(|p| p.starts_with("GNU C17") && p.contains("-O2")),
        "{producers:?}"
    );
    let rust = parse(&workshop.rustc("rust.elf", &["-g"]));
    assert!(rust.producers().iter().any(|p| p.contains("rustc")), "{:?}", rust.producers());
}

#[test]
fn the_target_processor_is_known() {
    let workshop = Workshop::new();
    for elf in [workshop.gcc("gcc.elf", &["-O2"]), workshop.clang("clang.elf", &["-O2"])] {
        let firmware = parse(&elf);
        let target = firmware.build_target().expect("build attributes");
        assert!(target.architecture.is_some_and(|name| name.starts_with("ARMv6")), "{target:?}");
        assert_eq!(target.profile, Some('M'));
        assert!(target.cpu_name.is_some(), "{target:?}");
    }
}

/// GNU's demangler writes the names known from `nm -C` and gdb.
#[test]
fn cpp_names_agree_with_cxxfilt() {
    let workshop = Workshop::new();
    let firmware = parse(&workshop.gcc("a.elf", &["-g", "-O0"]));
    let mangled: Vec<&str> = firmware
        .functions()
        .iter()
        .flat_map(|f| f.linkage_names())
        .filter(|name| name.starts_with("_Z"))
        .collect();
    assert!(mangled.len() > 5, "{mangled:?}");
    let expected = run(std::process::Command::new("arm-none-eabi-c++filt").args(&mangled));
    for (name, expected) in mangled.iter().zip(expected.lines()) {
        // We omit the types of numbers in template arguments.
        assert_eq!(
            strobe_symbols::demangle(name),
            expected.replace("8u>", "8>").replace("4u>", "4>")
        );
    }
}

#[test]
fn mapping_symbols_separate_code_from_data() {
    let workshop = Workshop::new();
    let firmware = parse(&workshop.gcc("a.elf", &["-g", "-O2"]));
    let literal = start_of(&firmware, "literal");
    assert_eq!(firmware.code_kind(literal), Some(CodeKind::Data));
    assert_eq!(firmware.code_kind(literal - 4), Some(CodeKind::Thumb));
    assert_eq!(firmware.code_kind(FLASH), Some(CodeKind::Data), "the vector table");
    assert_eq!(firmware.code_kind(0xe000_ed00), None);
}

/// Linkers leave the debug information of discarded functions at address 0. Live code that is
/// linked there must not be confused with them: every answer must be that of the same code linked
/// elsewhere.
#[test]
fn discarded_code_at_zero_does_not_hide_live_code() {
    let workshop = Workshop::new();
    let mut misled = 0;
    for version in ["-gdwarf-2", "-gdwarf-4", "-gdwarf-5"] {
        let flags = [version, "-O2", "-ffunction-sections"];
        let there = parse(&workshop.gcc_at("a.elf", &flags, FLASH));
        let elf = workshop.gcc_at("a.elf", &flags, 0);
        let here = parse(&elf);
        let (mut compared, mut addresses) = (0, Vec::new());
        for range in there.code_ranges() {
            for address in (range.start as u32..range.end as u32).step_by(2) {
                let (there, here) = (there.frames(address), here.frames(address - FLASH));
                assert_eq!(there.frames, here.frames, "{version}, {address:#x}");
                compared += 1;
                addresses.push(address - FLASH);
            }
        }
        assert!(compared > 300, "only {compared} addresses compared");
        // A control: `llvm-symbolizer` does confuse them.
        let file = |address| {
            here.frames(address).frames.first().and_then(|frame| frame.file).unwrap_or("??")
        };
        let judged = ask(&elf, &addresses);
        misled +=
            addresses.iter().zip(&judged).filter(|(a, theirs)| theirs[0].file != file(**a)).count();
    }
    assert!(misled > 10, "the control found no discarded code");
}

/// A hundred thousand addresses of a program with the C library, many times over.
#[test]
fn a_million_lookups_are_answered_in_one_batch() {
    let workshop = Workshop::new();
    let firmware = parse(&workshop.newlib("newlib.elf", &["-g", "-O2"]));
    let code: Vec<u32> =
        firmware.code_ranges().flat_map(|r| (r.start as u32..r.end as u32).step_by(2)).collect();
    let addresses: Vec<u32> = (0..1_000_000_usize).map(|n| code[n * 7919 % code.len()]).collect();
    let started = std::time::Instant::now();
    let batch = firmware.frames_batch(&addresses);
    // About a second; printed and not asserted, because it depends on the machine and its load.
    eprintln!("1000000 lookups in {:?}", started.elapsed());
    assert_eq!(batch.indices.len(), addresses.len());
    assert!(batch.distinct.len() > 1000, "{} distinct answers", batch.distinct.len());
}

/// Words of arguments are where the parameters' locations have them when the function begins.
#[test]
fn arguments_of_changed_conventions_have_their_registers() {
    let workshop = Workshop::new();
    let elf = workshop.assembly("convention.elf", "convention.S");
    let firmware = Firmware::parse(std::fs::read(elf).expect("the file")).expect("an ELF file");
    let moved = firmware.symbol("moved").expect("a function").address;
    let found: Vec<_> = firmware.changed_conventions().into_iter().collect();
    assert_eq!(found, [(moved & !1, vec![None, Some(0), Some(1), Some(2)])]);
}
