//! Files that claim what they do not have: each is refused by what it claims, before anything is
//! reserved for it.

use std::sync::Arc;

use parquet::file::metadata::{ColumnChunkMetaDataBuilder, ParquetMetaData, ParquetMetaDataWriter};
use parquet::file::reader::{FileReader, SerializedFileReader};
use strobe_archive::{Bytes, Figure, KEY, MESSAGE, Origin, Unusable, VERSION, open, write};

/// A length of 2^31 - 1, as headers have it.
const HUGE: i64 = 0x7fff_ffff;

fn file() -> Vec<u8> {
    let figure = Figure { figure: "cycles".into(), value: Some(1.0), ..Figure::default() };
    write(&[(Origin::default(), vec![figure])], "strobe").unwrap()
}

fn read(bytes: &[u8]) -> Result<u64, Unusable> {
    let mut rows = 0;
    open(Bytes::copy_from_slice(bytes))?.each(|_| rows += 1)?;
    Ok(rows)
}

fn why(bytes: &[u8]) -> String {
    read(bytes).unwrap_err().to_string()
}

/// The footer's length, from the last bytes.
fn footer(bytes: &[u8]) -> usize {
    let at = bytes.len() - 8;
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
}

/// The file's columns and pages, with another footer behind them.
fn with_footer(footer_bytes: &[u8]) -> Vec<u8> {
    let whole = file();
    let mut bytes = whole[..whole.len() - 8 - footer(&whole)].to_vec();
    bytes.extend(footer_bytes);
    bytes.extend(u32::try_from(footer_bytes.len()).unwrap().to_le_bytes());
    bytes.extend(b"PAR1");
    bytes
}

/// The file with other bytes as its first column, whose description is changed.
fn with_column(
    pages: &[u8],
    change: impl FnOnce(ColumnChunkMetaDataBuilder) -> ColumnChunkMetaDataBuilder,
) -> Vec<u8> {
    let whole = file();
    let reader = SerializedFileReader::new(Bytes::from(whole.clone())).unwrap();
    let metadata: ParquetMetaData = reader.metadata().clone();
    let mut bytes = whole[..whole.len() - 8 - footer(&whole)].to_vec();
    let at = i64::try_from(bytes.len()).unwrap();
    bytes.extend(pages);
    let group = metadata.row_group(0).clone();
    let mut columns = group.columns().to_vec();
    let first = columns[0].clone().into_builder();
    let first = first.set_data_page_offset(at).set_dictionary_page_offset(None);
    let first = first.set_total_compressed_size(pages.len() as i64);
    columns[0] = change(first).build().unwrap();
    let group = group.into_builder().set_column_metadata(columns).build().unwrap();
    let metadata = metadata.into_builder().set_row_groups(vec![group]).build();
    ParquetMetaDataWriter::new(&mut bytes, &metadata).finish().unwrap();
    bytes
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// Fields of 32 bits, each the next after the last.
fn numbers(all: &[i64]) -> Vec<u8> {
    let field = |n: &i64| [vec![0x15], varint(((n << 1) ^ (n >> 63)) as u64)].concat();
    all.iter().flat_map(field).collect()
}

/// A page: its kind, its sizes without and with compression, the field of its kind's header with
/// what is in it, its content.
fn page(sizes: [i64; 3], kind: u8, header: &[i64], content: &[u8]) -> Vec<u8> {
    let field = vec![(kind - 3) << 4 | 0xc];
    [numbers(&sizes), field, numbers(header), vec![0, 0], content.to_vec()].concat()
}

#[test]
fn whole_file_is_accepted_and_any_part_refused() {
    let whole = file();
    assert_eq!(read(&whole), Ok(1));
    for length in 0..whole.len() {
        let read = read(&whole[..length]);
        assert!(matches!(read, Err(Unusable::Damaged(_))), "{length}: {read:?}");
    }
}

#[test]
fn pages_of_sizes_that_are_not_there_are_refused() {
    let content = [0u8; 10];
    let plain = [1, 0, 3, 3];
    let of = |sizes, header: &[i64]| why(&with_column(&page(sizes, 5, header, &content), |c| c));
    assert!(of([0, HUGE, 10], &plain).contains("a page of 10 bytes becomes 2147483647"));
    assert!(of([0, 10, HUGE], &plain).contains("a page of 2147483647 bytes, where 10 are left"));
    assert!(of([0, 10, -1], &plain).contains("where 10 are left"));
    assert!(of([0, -1, 10], &plain).contains("becomes"));
    let rows = of([0, 10, 10], &[HUGE, 0, 3, 3]);
    assert!(rows.contains("measurement: its pages have 2147483647 values"), "{rows}");
    // Without a page, with half a header, with bytes that are none.
    assert!(why(&with_column(&[], |c| c)).contains("have 0 values"));
    let half = page([0, 10, 10], 5, &plain, &[]);
    assert!(why(&with_column(&half[..6], |c| c)).contains("claims more than there is"));
    let deep = [&[0x6c][..], &[0x1c; 100]].concat();
    assert!(why(&with_column(&deep, |c| c)).contains("nested too deeply"));
    // Its kind as a structure, where a number is.
    let other = why(&with_column(&[0x1c; 100], |c| c));
    assert!(other.contains("field 1 is a structure, where Parquet has an i32 (byte "), "{other}");
    let beyond = with_column(&half, |column| column.set_total_compressed_size(1 << 40));
    assert!(why(&beyond).contains("1099511627776 bytes at byte"), "{}", why(&beyond));
}

#[test]
fn dictionaries_and_encodings_are_those_that_are_read() {
    let dictionary = page([2, 10, 10], 7, &[HUGE, 0], &[0; 10]);
    let text = why(&with_column(&dictionary, |c| c));
    assert!(text.contains("a dictionary of 2147483647 values in 10 bytes"), "{text}");
    let less = page([2, 10, 10], 7, &[-1, 0], &[0; 10]);
    assert!(why(&with_column(&less, |c| c)).contains("a dictionary of -1 values"));
    // DELTA_LENGTH_BYTE_ARRAY in a page of either version, whose own count is in its content.
    for delta in [
        page([0, 9, 9], 5, &[1, 6, 3, 3], &[0xff; 9]),
        page([3, 9, 9], 8, &[1, 0, 1, 6, 2, 0], &[0xff; 9]),
    ] {
        let error = read(&with_column(&delta, |c| c)).unwrap_err();
        assert!(matches!(error, Unusable::Foreign(_)), "{error}");
        assert!(error.to_string().contains("encoding 6 of Parquet"), "{error}");
    }
}

#[test]
fn ends_that_claim_more_than_there_is_are_refused() {
    let whole = file();
    let end = &whole[whole.len() - 8 - footer(&whole)..whole.len() - 8];
    // Field 4 is the list of groups, of which there is one; 2 that of columns.
    let at = end.windows(2).rposition(|pair| pair == [0x19, 0x1c]).unwrap();
    let huge = [0xfc, 0xff, 0xff, 0xff, 0xff, 0x07];
    let groups = [&end[..=at], &huge, &end[at + 2..]].concat();
    assert!(why(&with_footer(&groups)).contains("its end claims more than there is"));
    let columns = [&[0x15, 0x02, 0x19][..], &huge, &[0; 100]].concat();
    assert!(why(&with_footer(&columns)).contains("its end claims more than there is"));
    let text = [&[0x68][..], &varint(1 << 40), &[0; 100]].concat();
    assert!(why(&with_footer(&text)).contains("its end claims more than there is"));
}

#[test]
fn rows_without_bytes_and_nested_columns_are_refused() {
    let whole = file();
    let reader = SerializedFileReader::new(Bytes::from(whole.clone())).unwrap();
    let metadata = reader.metadata().clone();
    let group = metadata.row_group(0).clone().into_builder().set_num_rows(1 << 40);
    let metadata = metadata.into_builder().set_row_groups(vec![group.build().unwrap()]).build();
    let mut bytes = whole[..whole.len() - 8 - footer(&whole)].to_vec();
    ParquetMetaDataWriter::new(&mut bytes, &metadata).finish().unwrap();
    assert!(why(&bytes).contains("1099511627776 rows in"), "{}", why(&bytes));

    let deep = (0..1000).fold("OPTIONAL INT32 x;".to_owned(), |inner, n| {
        format!("OPTIONAL GROUP g{n} {{ {inner} }}")
    });
    let message = MESSAGE.replace("OPTIONAL DOUBLE low;", &format!("OPTIONAL DOUBLE low; {deep}"));
    let schema = parquet::schema::parser::parse_message_type(&message).unwrap();
    let key = parquet::file::metadata::KeyValue::new(KEY.to_owned(), VERSION.to_owned());
    let properties = parquet::file::properties::WriterProperties::builder()
        .set_key_value_metadata(Some(vec![key]))
        .build();
    let mut bytes = Vec::new();
    let (schema, properties) = (Arc::new(schema), Arc::new(properties));
    let file = parquet::file::writer::SerializedFileWriter::new(&mut bytes, schema, properties);
    file.unwrap().close().unwrap();
    assert!(why(&bytes).contains("its columns are in 1001 groups"), "{}", why(&bytes));
}

/// The library reads fields by their numbers and not by the types that they have in the file. Here
/// field 1 is a truth, which has no byte, and all behind it is read out of step: a list of 2^31 - 1
/// truths was gone through, one by one (found by fuzzing).
#[test]
fn fields_of_wrong_types_are_refused_before_reading() {
    const FOUND: [u8; 85] = [
        0x84, 0x84, 0x84, 0x84, 0x84, 0x84, 0x84, 0x84, 0x84, 0x84, 0x84, 0x41, 0x12, 0x30, 0x84,
        0x84, 0x84, 0x84, 0x84, 0x9b, 0x84, 0x30, 0x84, 0x01, 0x84, 0x23, 0xf9, 0xf1, 0xf3, 0xf9,
        0xf9, 0xf9, 0x07, 0x00, 0x00, 0x00, 0x50, 0x41, 0x52, 0x31, 0x02, 0x02, 0x22, 0x02, 0x02,
        0x02, 0x02, 0x02, 0x02, 0x02, 0x02, 0xd3, 0xd3, 0xd3, 0xd3, 0xd3, 0xd3, 0x36, 0x2c, 0x2c,
        0x2c, 0x2c, 0xca, 0xd3, 0xd3, 0x2c, 0x2c, 0x2c, 0x7b, 0x7b, 0x72, 0x84, 0x84, 0x84, 0x50,
        0x00, 0x30, 0x41, 0x00, 0x00, 0x00, 0x50, 0x41, 0x52, 0x31,
    ];
    let error = why(&FOUND);
    let expected = "field 1 is a truth, where Parquet has an i32 (byte 12); copy it again";
    assert!(error.contains(expected), "{error}");
    // The same claim where the library skips what it does not know.
    let unknown =
        [&[0x15, 0x02, 0x19, 0x0c, 0xc9, 0xf1][..], &varint(HUGE as u64), &[0; 9]].concat();
    let error = why(&with_footer(&unknown));
    assert!(error.contains("a list is of no type that Parquet has"), "{error}");
}
