//! Sums are the image's, whatever symbols, sections and maps state.

use proptest::prelude::*;
use strobe_model::measurement::{Measurement, Profile};
use strobe_symbols::Firmware;
use strobe_synth::{ElfBuilder, Section, Segment, Symbol};

use super::{LinkerMap, MapError, Settings, measure};

const FLASH: u32 = 0x0800_0000;
const RAM: u32 = 0x2000_0000;
const TEXT: u32 = 2 | 4;
const DATA: u32 = 2 | 1;

fn section(name: &str, flags: u32, address: u32, data: Vec<u8>) -> Section {
    Section { name: name.to_owned(), kind: 1, flags, address, data, align: 4, ..Section::default() }
}

fn object(name: &str, value: u32, size: u32, section: u16) -> Symbol {
    Symbol { name: name.to_owned(), value, size, kind: 1, global: true, section }
}

/// Two functions with two bytes between them, a constant, an initialised variable behind the code
/// in flash, a variable that starts as zero.
fn image() -> Vec<u8> {
    let mut code = vec![0x55; 64];
    code[30] = 0;
    code[31] = 0;
    let mut elf = ElfBuilder::new();
    let segment = |at, load, data: &[u8], memory, flags| Segment {
        virtual_address: at,
        physical_address: load,
        data: data.to_vec(),
        memory_size: Some(memory),
        flags,
        ..Segment::default()
    };
    elf.segment(segment(FLASH, FLASH, &code, 64, 5));
    elf.segment(segment(RAM, FLASH + 64, &[7; 8], 8, 6));
    elf.segment(segment(RAM + 8, RAM + 8, &[], 100, 6));
    elf.section(section(".text", TEXT, FLASH, code));
    elf.section(section(".data", DATA, RAM, vec![7; 8]));
    let bss = Section { kind: 8, size: Some(100), ..section(".bss", DATA, RAM + 8, Vec::new()) };
    elf.section(bss);
    let thumb = Symbol { value: FLASH, section: 1, name: "$t".to_owned(), ..Symbol::default() };
    elf.symbol(thumb);
    elf.function("first", FLASH, 30);
    elf.function("second", FLASH + 32, 20);
    elf.symbol(object("table", FLASH + 52, 8, 1));
    elf.symbol(object("copied", RAM, 4, 2));
    elf.symbol(object("zeroed", RAM + 8, 96, 3));
    elf.build()
}

fn measured(bytes: Vec<u8>, settings: &Settings) -> Measurement {
    let measurement = measure(&Firmware::parse(bytes).unwrap(), "image.elf", settings);
    measurement.check().unwrap();
    measurement
}

fn total(measurement: &Measurement, id: &str) -> u64 {
    measurement.total(id).and_then(|quantity| quantity.value()).unwrap().as_u64()
}

fn profile(measurement: &Measurement) -> &Profile {
    measurement.profiles().next().unwrap()
}

/// Bytes of a measure by name of the function or variable.
fn bytes(measurement: &Measurement, measure: &str, name: &str) -> i64 {
    let profile = profile(measurement);
    let values = &profile.leaves.of(measure).unwrap().values;
    let location = |at: &Option<u32>| profile.function_at(at.unwrap());
    let places = profile.leaves.at.iter().map(location);
    let named = places.zip(values).filter(|(f, _)| profile.function_name(*f) == name);
    named.map(|(_, value)| value).sum()
}

#[test]
fn every_byte_has_one_holder() {
    let m = measured(image(), &Settings::default());
    assert_eq!((total(&m, "flash"), total(&m, "ram"), total(&m, "copied")), (72, 108, 8));
    let flash = |name| bytes(&m, "flash", name);
    assert_eq!([flash("first"), flash("second"), flash("table")], [30, 20, 8]);
    assert_eq!((flash("(padding in .text)"), flash("(.text, no symbol)")), (2, 4));
    // What is copied takes both memories.
    assert_eq!((flash("copied"), bytes(&m, "ram", "copied")), (4, 4));
    assert_eq!((flash("zeroed"), bytes(&m, "ram", "zeroed")), (0, 96));
    let parts = m.balances.iter().map(|balance| balance.parts());
    let parts: Vec<_> = parts.map(|p| (p.taken, p.attributed, p.unattributed.len())).collect();
    // Not attributed: what follows the last symbols of .text and .data, and padding.
    assert_eq!(parts, [(72, 62, 2), (108, 100, 2)]);
    assert!(!m.findings.iter().any(|f| f.code == "unbalanced"), "{:?}", m.findings);
}

const MAP: &str = "\
Memory Configuration

Name             Origin             Length             Attributes
FLASH            0x0000000008000000 0x0000000000000100 xr
RAM              0x0000000020000000 0x0000000000000080 xrw
*default*        0x0000000000000000 0xffffffffffffffff

Linker script and memory map

.text           0x0000000008000000       0x40
 .text.first    0x0000000008000000       0x1e build/main.o
 *fill*         0x000000000800001e        0x2 
 .text.a_name_that_is_too_long_for_its_column
                0x0000000008000020       0x1c /opt/lib/libc.a(printf.o)
 .rodata.str    0x000000000800003c        0x4 /opt/lib/libc.a(printf.o)
.data           0x0000000020000000        0x8 load address 0x0000000008000040
 .data          0x0000000020000000        0x8 build/main.o
";

#[test]
fn the_linkers_map_names_what_has_no_symbol() {
    let map = LinkerMap::parse(MAP).unwrap();
    let m = measured(image(), &Settings { map: Some(map), ..Settings::default() });
    assert_eq!(bytes(&m, "flash", "(.text of libc.a(printf.o), no symbol)"), 4);
    let table = m.table("members").unwrap();
    assert_eq!(table.column("name").unwrap().cells[0].text(), Some("libc.a(printf.o)"));
    assert_eq!(table.column("flash").unwrap().cells[0].number().unwrap().as_u64(), 32);
    let layers = m.table("layers").unwrap();
    let rows = layers.column("name").unwrap().cells.iter().map(|cell| cell.text().unwrap());
    assert!(rows.clone().any(|row| row == "C library"), "{:?}", rows.collect::<Vec<_>>());
    let regions = m.table("regions").unwrap();
    let used = |row: usize| regions.column("used").unwrap().cells[row].number().unwrap().as_u64();
    assert_eq!((used(0), used(1)), (72, 108));
}

/// Maps list debug information from address 0 on, where the flash of many chips begins.
#[test]
fn unloaded_sections_have_no_address() {
    let mut elf = ElfBuilder::new();
    elf.segment(Segment { data: vec![0x55; 64], flags: 5, ..Segment::default() });
    elf.section(section(".text", TEXT, 0, vec![0x55; 64]));
    elf.section(section(".comment", 0, 0, vec![1; 48]));
    let gnu = "Linker script and memory map\n\n.text           0x00000000       0x40\n \
               .text          0x00000000       0x40 build/main.o\n\n\
               .comment        0x00000000       0x30\n .comment       0x00000000       0x20 \
               build/late.o\n .comment       0x00000020       0x10 build/later.o\n";
    let lld = "     VMA      LMA     Size Align Out     In      Symbol\n\
               \x20      0        0       40     4 .text\n\
               \x20      0        0       40     4         build/main.o:(.text)\n\
               \x20      0        0       30     1 .comment\n\
               \x20      0        0       30     1         build/late.o:(.comment)\n";
    for text in [gnu, lld] {
        let map = Some(LinkerMap::parse(text).unwrap());
        let m = measured(elf.build(), &Settings { map, ..Settings::default() });
        assert_eq!(bytes(&m, "flash", "(.text of main.o, no symbol)"), 64, "{text}");
    }
}

#[test]
fn maps_of_lld_are_read_and_others_refused() {
    let lld = "     VMA      LMA     Size Align Out     In      Symbol
 8000000  8000000       1e     4 .text
 8000000  8000000       1e     4         build/main.o:(.text.first)
 8000000  8000000       1e     1                 first
 8000020  8000020       20     4         lib/libc.a(printf.o):(.text.second)
";
    let map = LinkerMap::parse(lld).unwrap();
    assert_eq!(map.at(0x0800_0004).unwrap().object.as_deref(), Some("build/main.o"));
    assert_eq!(map.at(0x0800_0020).unwrap().archive(), Some(("libc.a", "printf.o")));
    assert!(matches!(LinkerMap::parse("int main() {}"), Err(MapError::Empty)));
}

#[test]
fn code_without_symbols_is_in_its_section() {
    let mut elf = ElfBuilder::new();
    elf.code(FLASH, &[1; 40]);
    let m = measured(elf.build(), &Settings::default());
    assert_eq!(total(&m, "flash"), 40);
    assert!(m.findings.iter().any(|finding| finding.code == "no-symbols"));
}

proptest! {
    /// Whatever symbols and sections overlap: all bytes of the segments are there, once.
    #[test]
    fn sums_are_the_images(
        code in 1usize..300,
        data in 0usize..60,
        zeroed in 0u32..60,
        symbols in prop::collection::vec((0u32..320, 0u32..80, any::<bool>()), 0..20),
        cut in 0u32..320,
    ) {
        let mut elf = ElfBuilder::new();
        let text = vec![0x11; code];
        elf.segment(Segment {
            virtual_address: FLASH,
            physical_address: FLASH,
            data: text.clone(),
            flags: 5,
            ..Segment::default()
        });
        let memory = data as u32 + zeroed;
        elf.segment(Segment {
            virtual_address: RAM,
            physical_address: FLASH + 0x1000,
            data: vec![3; data],
            memory_size: Some(memory),
            flags: 6,
            ..Segment::default()
        });
        let first = (cut as usize).min(code);
        elf.section(section(".text", TEXT, FLASH, text[..first].to_vec()));
        elf.section(section(".rodata", 2, FLASH + first as u32, text[first..].to_vec()));
        for (i, (at, size, is_code)) in symbols.into_iter().enumerate() {
            let name = format!("symbol{i}");
            if is_code {
                elf.function(&name, FLASH + (at & !1), size)
            } else {
                elf.symbol(object(&name, FLASH + at, size, 1))
            };
        }
        let m = measured(elf.build(), &Settings::default());
        prop_assert_eq!(total(&m, "flash"), (code + data) as u64);
        prop_assert_eq!(total(&m, "ram"), if memory > 0 { u64::from(memory) } else { 0 });
        let profile = profile(&m);
        for samples in [&profile.leaves, &profile.chains] {
            prop_assert_eq!(samples.of("flash").unwrap().sum() as u64, total(&m, "flash"));
            prop_assert_eq!(samples.of("ram").unwrap().sum() as u64, total(&m, "ram"));
        }
        prop_assert!(m.findings.iter().all(|finding| finding.code != "unbalanced"));
    }

    /// Any text is read or refused.
    #[test]
    fn maps_never_panic(text in "[ .*a-z0-9x()/\n:-]{0,400}") {
        let _ = LinkerMap::parse(&format!("Linker script and memory map\n{text}"));
        let _ = LinkerMap::parse(&format!("VMA LMA Size Align\n{text}"));
    }
}

/// Two segments that are loaded to one place in turns, each with a section of its own.
fn overlays() -> Vec<u8> {
    let mut elf = ElfBuilder::new();
    let segment = |at, load, data: &[u8]| Segment {
        virtual_address: at,
        physical_address: load,
        data: data.to_vec(),
        flags: 5,
        ..Segment::default()
    };
    elf.segment(segment(FLASH, FLASH, &[0x55; 32]));
    elf.segment(segment(RAM, FLASH + 32, &[1; 24]));
    elf.segment(segment(RAM, FLASH + 56, &[2; 28]));
    elf.section(section(".text", TEXT, FLASH, vec![0x55; 32]));
    elf.function("main", FLASH, 32);
    elf.build()
}

/// Both are stored, and their memory is there once.
#[test]
fn overlays_take_their_memory_once() {
    let measurement = measured(overlays(), &Settings::default());
    let total = |id: &str| measurement.total(id).and_then(|total| total.value()).unwrap().as_u64();
    assert_eq!((total("flash"), total("ram"), total("copied")), (84, 28, 28));
}

/// Without section headers and symbols all is one item, and copied is what is stored.
#[test]
fn copied_data_is_recognised_without_sections() {
    let mut elf = ElfBuilder::new();
    let segment = |at, load, data: &[u8], memory| Segment {
        virtual_address: at,
        physical_address: load,
        data: data.to_vec(),
        memory_size: Some(memory),
        flags: 6,
        ..Segment::default()
    };
    elf.segment(segment(FLASH, FLASH, &[0x55; 64], 64));
    elf.segment(segment(RAM, FLASH + 64, &[7; 8], 108));
    let measurement = measured(elf.build(), &Settings::default());
    let total = |id: &str| measurement.total(id).and_then(|total| total.value()).unwrap().as_u64();
    assert_eq!((total("flash"), total("ram"), total("copied")), (72, 108, 8));
}

/// The halfwords of a BL to an address behind it.
fn bl(from: u32, to: u32) -> [u16; 2] {
    let offset = to - (from + 4);
    [0xf000 | (offset >> 12) as u16, 0xf800 | (offset >> 1 & 0x7ff) as u16]
}

/// main calls a function, which calls `_dtoa_r` and `__aeabi_dadd`; main may call the latter, too.
fn printing(printf: &str, is_double: bool) -> Measurement {
    const SIZE: u32 = 1200;
    let [main, print, dtoa, double] = [16, 32, 48, 48 + SIZE].map(|at| FLASH + at);
    let own = if is_double { bl(main + 6, double) } else { [0xbf00; 2] };
    let long = [vec![0xbf00_u16; SIZE as usize / 2 - 1], vec![0x4770]].concat();
    // push {lr}; bl; bl; pop {pc}; nop; nop
    let caller = |[a, b]: [u16; 2], [c, d]: [u16; 2]| [0xb500, a, b, c, d, 0xbd00, 0xbf00, 0xbf00];
    let code = [
        vec![0x0100, 0x2000, (main & 0xffff) as u16 | 1, (main >> 16) as u16, 0, 0, 0, 0],
        caller(bl(main + 2, print), own).to_vec(),
        caller(bl(print + 2, dtoa), bl(print + 6, double)).to_vec(),
        long.clone(),
        long,
    ];
    let code: Vec<u8> = code.concat().into_iter().flat_map(u16::to_le_bytes).collect();
    let mut elf = ElfBuilder::new();
    elf.code(FLASH, &code);
    elf.section(section(".text", TEXT, FLASH, code));
    for (name, value) in [("$d", FLASH), ("$t", main)] {
        elf.symbol(Symbol { value, section: 1, name: name.to_owned(), ..Symbol::default() });
    }
    let functions = [("main", main, 12), (printf, print, 12), ("_dtoa_r", dtoa, SIZE)];
    for (name, at, size) in functions.into_iter().chain([("__aeabi_dadd", double, SIZE)]) {
        elf.function(name, at, size);
    }
    measured(elf.build(), &Settings::default())
}

/// The option for floating point is newlib-nano's alone, and printf's own arithmetic is no fault of
/// the program's constants.
#[test]
fn advice_fits_the_library_and_who_needs_it() {
    let advice = |m: &Measurement, code: &str| {
        let finding = m.findings.iter().find(|finding| finding.code == code);
        finding.and_then(|finding| finding.advice.clone()).unwrap()
    };
    let newlib = printing("_vfprintf_r", false);
    let formatting = advice(&newlib, "pulls-in-float-formatting");
    assert!(formatting.contains("nano.specs"), "{formatting}");
    let double = advice(&newlib, "pulls-in-soft-double");
    assert!(!double.contains("1.0f") && double.contains("--why"), "{double}");
    let nano = printing("_printf_float", true);
    let formatting = advice(&nano, "pulls-in-float-formatting");
    assert!(formatting.contains("-u _printf_float`") && !formatting.contains("nano.specs"));
    let double = advice(&nano, "pulls-in-soft-double");
    assert!(double.contains("1.0f"), "{double}");
}
