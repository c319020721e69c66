//! The ELF writer against the `object` crate's reader, and its overridden fields.

use object::{Object, ObjectSection, ObjectSegment, ObjectSymbol};
use strobe_synth::{ElfBuilder, Section, Segment, Symbol};

fn sample() -> ElfBuilder {
    let mut elf = ElfBuilder::new();
    elf.entry = 0x41;
    elf.code(0, &[1, 2, 3, 4, 5]);
    elf.segment(Segment {
        virtual_address: 0x2000_0000,
        physical_address: 0x100,
        data: vec![9, 8],
        memory_size: Some(64),
        flags: 6,
        ..Segment::default()
    });
    elf.section(Section {
        name: ".text".into(),
        kind: 1,
        flags: 6,
        data: vec![1, 2, 3],
        align: 2,
        ..Section::default()
    });
    elf.function("main", 0x40, 12);
    elf.symbol(Symbol { name: "$t".into(), section: 1, ..Symbol::default() });
    elf
}

#[test]
fn object_reads_back_what_was_built() {
    let bytes = sample().build();
    let file = object::File::parse(&*bytes).expect("a sound file");
    assert_eq!(file.architecture(), object::Architecture::Arm);
    assert_eq!(file.entry(), 0x41);
    let segments: Vec<_> = file
        .segments()
        .map(|s| (s.address(), s.size(), s.data().expect("data").to_vec()))
        .collect();
    assert_eq!(segments[0], (0, 5, vec![1, 2, 3, 4, 5]));
    assert_eq!(segments[1], (0x2000_0000, 64, vec![9, 8]));
    let text = file.section_by_name(".text").expect("the section");
    assert_eq!(text.data().expect("data"), [1, 2, 3]);
    let symbols: Vec<_> = file
        .symbols()
        .map(|s| (s.name().expect("a name").to_owned(), s.address(), s.size(), s.is_global()))
        .collect();
    assert_eq!(symbols, [("$t".into(), 0, 0, false), ("main".into(), 0x41, 12, true)]);
}

#[test]
fn every_field_can_be_overridden() {
    let mut elf = sample();
    elf.machine = 83;
    elf.section_count = Some(0xfff0);
    elf.segment_table_offset = Some(0xffff_fff0);
    let bytes = elf.build();
    assert_eq!(bytes[18..20], 83u16.to_le_bytes());
    assert_eq!(bytes[48..50], 0xfff0u16.to_le_bytes());
    assert_eq!(bytes[28..32], 0xffff_fff0u32.to_le_bytes());

    let huge =
        Segment { memory_size: Some(u32::MAX), file_size: Some(u32::MAX), ..Segment::default() };
    let bytes = ElfBuilder::new().segment(huge).build();
    assert_eq!(bytes[52 + 16..52 + 24], [0xff; 8]);
}
