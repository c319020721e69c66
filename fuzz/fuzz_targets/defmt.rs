//! Any bytes from the `defmt` channel of a real firmware, and from that of a synthetic firmware
//! that nests texts, shows them twice and has counts without elements: no panic, every byte
//! accounted for, the same result whole and in pieces.
//!
//! `cargo +nightly fuzz run -s none defmt -- -max_len=4096 -rss_limit_mb=1024 -timeout=10`
#![no_main]

use std::sync::LazyLock;

use strobe_source::defmt::message::Decoded;
use strobe_source::defmt::{Log, Table};
use strobe_symbols::Firmware;
use strobe_synth::{ElfBuilder, Section, Symbol};

fn read(elf: Vec<u8>) -> Table {
    let firmware = Firmware::parse(elf).expect("an ELF file");
    Table::read(&firmware).expect("readable").expect("a table")
}

/// Tag and text, by number from 1.
const TEXTS: [(&str, &str); 14] = [
    ("defmt_info", "{=u8} {=str} {=[u8]:a} {=bool} {=char} {=f32} {=i128:#x}"),
    ("defmt_info", "{=?} {=?:iso8601ms} {=?:x}"),
    ("defmt_info", "{=[?]} {=[?; 3]:a}"),
    ("defmt_info", "{=__internal_FormatSequence} {=__internal_Display} {=istr}"),
    ("defmt_println", "{0=0..4} {0=60..70:b} {1=u64:us} {2=[u8; 5]:cbor} {=isize}"),
    ("defmt_prim", "{=u8}"),
    ("defmt_derived", "None|Some({=?})"),
    ("defmt_derived", "{0=?} {0=?}"),
    ("defmt_derived", "Nothing"),
    ("defmt_derived", "A {=u16}|B {=[?]}|C"),
    ("defmt_derived", "{=u64} {=isize} {=[u8]}"),
    ("defmt_str", "known"),
    ("defmt_derived", "{=u8}|{=u16}"),
    ("defmt_timestamp", "{=u32:tms} {=u64:iso8601s}"),
];

fn made_up(encoding: &str) -> Table {
    let mut elf = ElfBuilder::new();
    elf.code(0, &[0; 64]);
    elf.section(Section { name: ".defmt".to_owned(), kind: 1, ..Section::default() });
    let mut symbol = |name: String, value, section| {
        elf.symbol(Symbol { name, value, section, size: 1, kind: 1, global: true });
    };
    symbol("_defmt_version_ = 4".to_owned(), 0, 0xfff1);
    symbol(format!("_defmt_encoding_ = {encoding}"), 0, 0xfff1);
    for ((tag, text), number) in TEXTS.iter().zip(1..) {
        let name = format!(
            r#"{{"package":"p","tag":"{tag}","data":"{text}",{}}}"#,
            r#""disambiguator":"1","crate_name":"p""#
        );
        symbol(name, number, 1);
    }
    read(elf.build())
}

static TABLES: LazyLock<[Table; 3]> = LazyLock::new(|| {
    let real = include_bytes!("../../firmware/prebuilt/log-rs.elf").to_vec();
    [read(real), made_up("rzcobs"), made_up("raw")]
});

fn decoded<'a>(table: &Table, pieces: impl Iterator<Item = &'a [u8]>) -> Decoded {
    let (mut log, mut all) = (Log::new(table.clone()), 0);
    for piece in pieces {
        log.push(piece);
        all += piece.len() as u64;
    }
    let decoded = log.finish();
    let frames = decoded.message_bytes + decoded.malformed_bytes + decoded.trailing_bytes;
    assert_eq!(all, frames + decoded.separator_bytes);
    decoded
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let [how, bytes @ ..] = bytes else { return };
    let size = 1 + usize::from(how / 3);
    let table = &TABLES[usize::from(how % 3)];
    assert_eq!(decoded(table, std::iter::once(bytes)), decoded(table, bytes.chunks(size)));
    if how % 3 == 1 {
        // Random bytes are hardly ever an encoded frame: so they are encoded here.
        let frame = [&rzcobs::encode(bytes)[..], &[0]].concat();
        assert_eq!(decoded(table, std::iter::once(&frame[..])), decoded(table, frame.chunks(size)));
    }
});
