//! Messages of made-up firmware, hostile ones among them.

use crate::defmt::message::Decoded;
use strobe_symbols::Firmware;
use strobe_synth::{ElfBuilder, Rng, Section, Symbol};

use super::{Error, Log, Table};

/// Number, tag and text.
type Text<'a> = (u32, &'a str, &'a str);

fn elf(version: &str, encoding: &str, texts: &[Text<'_>]) -> Vec<u8> {
    let mut elf = ElfBuilder::new();
    elf.code(0, &[0; 64]);
    let kind = 1;
    elf.section(Section { name: ".defmt".to_owned(), kind, ..Section::default() });
    let mut symbol = |name: String, value, section| {
        elf.symbol(Symbol { name, value, section, size: 1, kind: 1, global: true });
    };
    symbol(format!("_defmt_version_ = {version}"), 0, 0xfff1);
    symbol(format!("_defmt_encoding_ = {encoding}"), 0, 0xfff1);
    for (number, tag, text) in texts {
        let name = serde_json::json!({
            "package": "made-up", "tag": tag, "data": text,
            "disambiguator": "1", "crate_name": "made_up",
        });
        symbol(name.to_string(), *number, 1);
    }
    elf.build()
}

fn read(version: &str, encoding: &str, texts: &[Text<'_>]) -> Result<Option<Table>, Error> {
    Table::read(&Firmware::parse(elf(version, encoding, texts)).expect("an ELF file"))
}

fn table(encoding: &str, texts: &[Text<'_>]) -> Table {
    read("4", encoding, texts).expect("readable").expect("a table")
}

const TEXTS: [Text<'_>; 12] = [
    (1, "defmt_prim", "{=u8}"),
    (2, "defmt_info", "one {=u8}"),
    (3, "defmt_warn", "two {=u16:x} {=str}"),
    (4, "defmt_error", "{=[?]}"),
    (5, "defmt_derived", "None|Some({=?})"),
    (6, "defmt_debug", "{}"),
    (7, "defmt_derived", "Twice {0=?} {0=?}"),
    (8, "defmt_derived", "Nothing"),
    (9, "defmt_info", "{=isize:x} at {=u64:iso8601s}"),
    (10, "defmt_trace", "{=[u8]:cbor}"),
    (11, "defmt_println", "{=__internal_Display}"),
    (12, "defmt_str", "known"),
];

fn said(table: &Table, bytes: &[u8]) -> Decoded {
    let mut whole = Log::new(table.clone());
    whole.push(bytes);
    let mut pieces = Log::new(table.clone());
    bytes.chunks(3).for_each(|piece| pieces.push(piece));
    let whole = whole.finish();
    assert_eq!(whole, pieces.finish());
    let sum =
        whole.message_bytes + whole.separator_bytes + whole.malformed_bytes + whole.trailing_bytes;
    assert_eq!(sum, bytes.len() as u64);
    whole
}

fn texts(decoded: &Decoded) -> Vec<&str> {
    decoded.last.iter().map(|message| message.text.as_str()).collect()
}

/// Frames with their marks.
fn packed(frames: &[&[u8]]) -> Vec<u8> {
    let packed = frames.iter().map(|frame| [&rzcobs::encode(frame)[..], &[0]].concat());
    packed.collect::<Vec<_>>().concat()
}

const ONE: &[u8] = &[2, 0, 7];
const TWO: &[u8] = &[3, 0, 0x34, 0x12, 2, 0, 0, 0, b'h', b'i'];

#[test]
fn frames_without_marks_are_distinguished_by_their_lengths() {
    let table = table("raw", &TEXTS);
    let decoded = said(&table, &[ONE, TWO, ONE, &[3, 0, 1]].concat());
    assert_eq!(texts(&decoded), ["one 7", "two 1234 hi", "one 7"]);
    assert_eq!((decoded.messages, decoded.trailing_bytes, decoded.stopped), (3, 3, false));
    assert_eq!(decoded.levels, [("warn".to_owned(), 1), ("info".to_owned(), 2)]);
}

#[test]
fn nothing_is_understood_behind_a_malformed_frame_without_marks() {
    let table = table("raw", &TEXTS);
    let decoded = said(&table, &[ONE, &[99, 0], ONE].concat());
    assert_eq!((decoded.messages, decoded.malformed, decoded.malformed_bytes), (1, 1, 5));
    assert!(decoded.stopped);
    // A length that never comes.
    let endless = [&[3, 0, 1, 1, 0xff, 0xff, 0xff, 0xff][..], &[b'x'; 100_000]].concat();
    let decoded = said(&table, &endless);
    assert_eq!((decoded.messages, decoded.malformed_bytes, decoded.stopped), (0, 100_008, true));
}

#[test]
fn marks_are_where_it_goes_on() {
    let table = table("rzcobs", &TEXTS);
    let bytes = packed(&[ONE, &[99, 0, 1], TWO, &[2, 0], ONE, &[1, 0, 5]]);
    let decoded = said(&table, &[&bytes[..], &[1, 2]].concat());
    // The last frame is a part of messages only, and no message.
    assert_eq!(texts(&decoded), ["one 7", "two 1234 hi", "one 0", "one 7"]);
    assert_eq!((decoded.malformed, decoded.separator_bytes, decoded.trailing_bytes), (2, 6, 2));
    let long = [&vec![1; 200_000][..], &[0], &bytes].concat();
    let decoded = said(&table, &long);
    assert_eq!((decoded.messages, decoded.malformed), (4, 3));
    // More in a frame than its message has.
    let decoded = said(&table, &packed(&[&[2, 0, 7, 1], &[2, 0, 7, 0, 0]]));
    assert_eq!((decoded.messages, decoded.malformed), (1, 1));
}

#[test]
fn messages_with_a_loss_are_reported() {
    let table = table("rzcobs", &TEXTS);
    let (one, two) = (packed(&[ONE]), packed(&[TWO]));
    let mut log = Log::new(table);
    log.push(&one);
    log.push(&two[..3]);
    log.lost();
    log.push(&two[3..]);
    log.push(&one);
    log.lost();
    log.push(&[0]);
    log.push(&one);
    let decoded = log.finish();
    let doubtful: Vec<_> = decoded.last.iter().map(|message| message.doubtful).collect();
    assert_eq!((doubtful, decoded.doubtful), (vec![false, true, false, false], 1));

    let mut log = Log::new(self::table("raw", &TEXTS));
    log.push(&[ONE, &TWO[..4]].concat());
    log.lost();
    log.push(&[&TWO[4..], ONE].concat());
    let decoded = log.finish();
    assert_eq!((decoded.messages, decoded.doubtful), (3, 2));
}

#[test]
fn excessive_frames_do_not_reach_the_decoder() {
    let table = table("rzcobs", &TEXTS);
    let many = [4, 0, 0xff, 0xff, 0xff, 0xff, 8, 0];
    let deep = [&[6, 0][..], &[5, 0, 1].repeat(20_000)].concat();
    let wide = [&[6, 0][..], &[7, 0].repeat(30)].concat();
    let level = [6, 0, 2, 0, 7];
    let decoded = said(&table, &packed(&[&many, &deep, &wide, &level, ONE]));
    assert_eq!((texts(&decoded), decoded.malformed), (vec!["one 7"], 4));
    // A few of each are fine.
    let few = [4, 0, 3, 0, 0, 0, 8, 0];
    let shallow = [6, 0, 5, 0, 1, 5, 0, 1, 8, 0];
    let decoded = said(&table, &packed(&[&few, &shallow, &[6, 0, 7, 0, 8, 0]]));
    let all = ["[Nothing, Nothing, Nothing]", "Some(Some(Nothing))", "Twice Nothing Nothing"];
    assert_eq!(texts(&decoded), all);
}

#[test]
fn arguments_the_decoder_cannot_show_are_reported() {
    let table = table("rzcobs", &TEXTS);
    let date = [&[9, 0, 1, 0, 0, 0][..], &[0xff; 8]].concat();
    let cbor = [10, 0, 2, 0, 0, 0, 0x5f, 0xff];
    let shown = [&[11, 0][..], "text\u{e9}".as_bytes(), &[0xff]].concat();
    let decoded = said(&table, &packed(&[&date, &cbor, &shown]));
    let all = [
        "{=isize:x} at {=u64:iso8601s} [its arguments cannot be shown]",
        "{=[u8]:cbor} [its arguments cannot be shown]",
        "text\u{e9}",
    ];
    assert_eq!(texts(&decoded), all);
}

#[test]
fn much_is_counted_and_the_last_is_kept() {
    let table = table("rzcobs", &TEXTS);
    let mut log = Log::new(table);
    let long = [&[11, 0][..], &[b'x'; 10_000], &[0xff]].concat();
    let bytes = packed(&[ONE, &long, ONE]);
    (0..5000).for_each(|_| log.push(&bytes));
    let decoded = log.finish();
    assert_eq!((decoded.messages, decoded.malformed), (15_000, 0));
    assert!(decoded.last.len() < 300 && decoded.earlier + decoded.last.len() as u64 == 15_000);
    assert!(decoded.last.iter().any(|message| message.text.ends_with("x ...")));
}

#[test]
fn firmware_that_cannot_be_decoded_has_a_reason() {
    let Err(Error::Version { found, known }) = read("99", "rzcobs", &TEXTS) else {
        panic!("another version")
    };
    assert_eq!((found.as_str(), known.as_str()), ("99", "3 and 4"));
    assert!(read("4", "morse", &TEXTS).is_err());
    assert!(read("4", "raw", &[(1, "defmt_info", "a"), (1, "defmt_info", "b")]).is_ok());
    let plain = Firmware::parse(ElfBuilder::new().code(0, &[0; 64]).build()).expect("an ELF file");
    assert!(matches!(Table::read(&plain), Ok(None)));
    // Texts that ask for more than there is are in no message.
    let texts = [(1, "defmt_info", "{99999999999=u8}"), (2, "defmt_info", "{=u8:09999999}")];
    let decoded = said(&table("raw", &texts), &[1, 0, 0, 0]);
    assert_eq!((decoded.messages, decoded.malformed), (0, 1));
}

/// Names that share their bytes make work that grows with the square of the file.
#[test]
fn symbols_that_share_a_name_are_refused() {
    let long = "x".repeat(3000);
    let text = |n| (n, "defmt_info", if n == 49 { long.as_str() } else { "short" });
    let mut elf = elf("4", "raw", &(1..50).map(text).collect::<Vec<_>>());
    let word = |elf: &[u8], at: usize| u32::from_le_bytes(elf[at..at + 4].try_into().unwrap());
    let (headers, count) = (word(&elf, 32) as usize, usize::from(elf[48]));
    let table = (0..count).map(|n| headers + 40 * n).find(|at| word(&elf, at + 4) == 2);
    let table = table.expect("a symbol table");
    let (at, size) = (word(&elf, table + 16) as usize, word(&elf, table + 20) as usize);
    let last = elf[at + size - 16..][..4].to_vec();
    (at + 16..at + size).step_by(16).for_each(|at| elf[at..at + 4].copy_from_slice(&last));
    let firmware = Firmware::parse(elf).expect("an ELF file");
    assert!(Table::read(&firmware).expect_err("no table").to_string().contains("overlap"));
}

/// Frames by chance that begin as those of a message do, so that many are one.
#[test]
fn any_bytes_are_taken() {
    let mut rng = Rng::new(7);
    for encoding in ["raw", "rzcobs"] {
        let table = table(encoding, &TEXTS);
        let (mut messages, mut malformed) = (0, 0);
        for _ in 0..3000 {
            let message = [2, 3, 4, 6, 9, 10, 11][rng.below(7) as usize];
            let mut frame = vec![message, 0];
            for _ in 0..rng.below(30) {
                // Mostly numbers of texts and small counts.
                let byte = if rng.below(4) == 0 { rng.below(256) } else { rng.below(13) };
                frame.extend([byte as u8].iter().chain([0].iter().filter(|_| byte % 2 == 0)));
            }
            let sent = if encoding == "raw" { frame } else { packed(&[&frame]) };
            let decoded = said(&table, &sent);
            messages += decoded.messages;
            malformed += decoded.malformed;
        }
        assert!(messages > 100 && malformed > 100, "{encoding}: {messages} and {malformed}");
    }
}
