//! Files: round trips, other versions and columns, and every kind of damage.

use std::sync::Arc;

use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use proptest::prelude::*;
use strobe_archive::{Bytes, Figure, KEY, MESSAGE, Origin, Unusable, VERSION, open, write};

fn read(bytes: Vec<u8>) -> Result<(Vec<(Origin, Figure)>, u64), Unusable> {
    let mut all = Vec::new();
    let file = open(Bytes::from(bytes))?;
    let left_out = file.each(|row| all.push((row.origin(), row.owned())))?;
    Ok((all, left_out))
}

fn sample() -> Vec<(Origin, Vec<Figure>)> {
    let origin = |n: i64| Origin {
        measurement: format!("m{n}"),
        time: n * 1_000_000,
        commit: (n > 0).then(|| "52c94de6".to_owned()),
        subject: "app.elf".to_owned(),
        instrument: "simulated board".to_owned(),
        ..Origin::default()
    };
    let figure = |n: i64| Figure {
        section: "profile".to_owned(),
        item: (n % 3 > 0).then(|| format!("function_{n}")),
        figure: "cycles".to_owned(),
        unit: "cycles".to_owned(),
        value: (n % 5 > 0).then_some(n as f64 * 1.5),
        low: Some(-1.0),
        trust: "modelled".to_owned(),
        n: (n % 2 > 0).then_some(n),
        ..Figure::default()
    };
    vec![(origin(0), (0..5000).map(figure).collect()), (origin(1), (0..3).map(figure).collect())]
}

#[test]
fn written_files_are_read_back() {
    let sample = sample();
    let (all, left_out) = read(write(&sample, "strobe").unwrap()).unwrap();
    let expected: Vec<(Origin, Figure)> = sample
        .into_iter()
        .flat_map(|(origin, figures)| figures.into_iter().map(move |f| (origin.clone(), f)))
        .collect();
    assert_eq!(all, expected);
    assert_eq!(left_out, 0);
    assert_eq!(read(write(&[], "strobe").unwrap()), Ok((Vec::new(), 0)));
}

/// A file with that schema and version, without rows.
fn empty(message: &str, version: Option<&str>) -> Vec<u8> {
    let schema = Arc::new(parse_message_type(message).unwrap());
    let key = version.map(|version| vec![KeyValue::new(KEY.to_owned(), version.to_owned())]);
    let properties = WriterProperties::builder().set_key_value_metadata(key).build();
    let mut bytes = Vec::new();
    SerializedFileWriter::new(&mut bytes, schema, Arc::new(properties)).unwrap().close().unwrap();
    bytes
}

#[test]
fn others_files_are_refused_with_the_reason() {
    let why = |bytes: Vec<u8>| read(bytes).unwrap_err().to_string();
    let text = why(empty(MESSAGE, Some("2")));
    assert!(text.contains("version 2") && text.contains("reads version 1"), "{text}");
    assert!(why(empty(MESSAGE, None)).contains("lacks the key"));
    let fewer = MESSAGE.replace("OPTIONAL DOUBLE value;", "");
    assert!(why(empty(&fewer, Some(VERSION))).contains("`value` is missing"));
    for other in ["OPTIONAL INT64 value;", "REPEATED DOUBLE value;", "REQUIRED DOUBLE value;"] {
        let other = MESSAGE.replace("OPTIONAL DOUBLE value;", other);
        assert!(why(empty(&other, Some(VERSION))).contains("`value` is of another type"));
    }
    let more = MESSAGE.replace("OPTIONAL DOUBLE low;", "OPTIONAL DOUBLE low; OPTIONAL INT32 mood;");
    let file = open(Bytes::from(empty(&more, Some(VERSION)))).unwrap();
    assert_eq!(file.foreign(), ["mood"]);
}

#[test]
fn half_a_file_is_damaged() {
    let whole = write(&sample(), "strobe").unwrap();
    for length in [0, 1, 4, 8, 100, whole.len() / 2, whole.len() - 1] {
        let error = read(whole[..length].to_vec()).unwrap_err();
        assert!(matches!(error, Unusable::Damaged(_)), "{length}: {error}");
    }
    assert!(matches!(read(b"PAR1 but no Parquet PAR1".to_vec()), Err(Unusable::Damaged(_))));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// Whatever was changed, there is an answer: rows, or an error.
    #[test]
    fn changed_bytes_never_end_the_reader(
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let sample: Vec<_> =
            sample().into_iter().map(|(o, f)| (o, f.into_iter().take(40).collect())).collect();
        let mut bytes = write(&sample, "strobe").unwrap();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let _ = read(bytes);
    }
}
