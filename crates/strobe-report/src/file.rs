//! The measurement's file: JSON, optionally compressed by gzip, versioned.

use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use serde::{Deserialize, Serialize};
use strobe_model::measurement::{InvalidMeasurement, Measurement, SCHEMA};

use crate::excerpt::Views;

/// The most that a file may have, compressed or not: what is larger is no measurement of ours, and
/// may be a bomb.
const MAX_BYTES: u64 = 1 << 30;

/// What gzip files begin with.
const GZIP: [u8; 2] = [0x1f, 0x8b];

/// What UTF-8 text may begin with, as editors of Windows write it.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// What UTF-16 text begins with, in either order of bytes.
const WIDE: [&[u8]; 2] = [b"\xff\xfe{\0", b"\xfe\xff\0{"];

/// A file that is no measurement.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Its compression is damaged.
    #[error("not readable as gzip: {0}")]
    Compression(io::Error),
    /// There is more of it than of any measurement.
    #[error("more than {} MiB; no measurement is that large", MAX_BYTES >> 20)]
    TooLarge,
    /// It is no text.
    #[error("not text: byte {0} is not UTF-8")]
    NotText(usize),
    /// It is text of another encoding, as a shell of Windows redirects it.
    #[error("UTF-16, and measurements are UTF-8: write it with -o FILE, not by redirecting")]
    Wide,
    /// It is no JSON, or has not the form that its schema demands.
    #[error("not a measurement: {0}")]
    Syntax(#[from] serde_json::Error),
    /// It has another schema.
    #[error("a {found}, which this version does not read; {advice}")]
    Schema {
        /// Its schema.
        found: String,
        /// What to do.
        advice: &'static str,
    },
    /// It contradicts itself.
    #[error("the measurement does not hold together: {0}")]
    InvalidMeasurement(#[from] InvalidMeasurement),
}

/// Whether a file that begins like this may be a measurement.
pub fn is_one(head: &[u8]) -> bool {
    if head.starts_with(&GZIP) || WIDE.iter().any(|wide| head.starts_with(wide)) {
        return true;
    }
    let head = head.strip_prefix(MARK).unwrap_or(head);
    let word = b"\"strobe-";
    head.trim_ascii_start().starts_with(b"{") && head.windows(word.len()).any(|w| w == word)
}

/// Reads a file's bytes.
///
/// # Errors
/// When they are no measurement, one of a version that is not known, or one that contradicts
/// itself.
pub fn read(bytes: &[u8]) -> Result<Measurement, Error> {
    #[derive(Deserialize)]
    struct Named {
        schema: String,
    }
    let text = text(bytes, MAX_BYTES)?;
    let Named { schema } = serde_json::from_str(&text)?;
    if schema != "strobe-measurement/1" {
        return Err(Error::Schema { advice: advice(&schema), found: schema });
    }
    // By way of a value: read straight from the text, numbers in flattened parts would be lost
    // where another crate switches `arbitrary_precision` on.
    let value: serde_json::Value = serde_json::from_str(&text)?;
    drop(text);
    let measurement: Measurement = serde_json::from_value(value)?;
    measurement.check()?;
    Ok(measurement)
}

fn advice(schema: &str) -> &'static str {
    let version = schema.strip_prefix("strobe-measurement/").and_then(|v| v.parse::<u32>().ok());
    if version.is_some_and(|version| version > SCHEMA) {
        "a newer strobe wrote it: update this one"
    } else {
        "strobe reads strobe-measurement/1"
    }
}

/// The text, decompressed if need be.
fn text(bytes: &[u8], most: u64) -> Result<String, Error> {
    let mut whole = Vec::new();
    let bytes = if bytes.starts_with(&GZIP) {
        let mut decoder = MultiGzDecoder::new(bytes).take(most + 1);
        decoder.read_to_end(&mut whole).map_err(Error::Compression)?;
        &whole
    } else {
        bytes
    };
    if bytes.len() as u64 > most {
        return Err(Error::TooLarge);
    }
    if WIDE.iter().any(|wide| bytes.starts_with(wide)) {
        return Err(Error::Wide);
    }
    let bytes = bytes.strip_prefix(MARK).unwrap_or(bytes);
    let text = std::str::from_utf8(bytes).map_err(|error| Error::NotText(error.valid_up_to()))?;
    Ok(text.to_owned())
}

/// A measurement as it is written.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "strobe-measurement/1"))]
pub(crate) struct Document<'a> {
    #[serde(flatten)]
    measurement: &'a Measurement,
    /// Tables worked out from the rest, for scripts that do not want to; ignored on reading.
    views: Views,
}

impl<'a> Document<'a> {
    pub(crate) fn of(measurement: &'a Measurement) -> Self {
        Document { measurement, views: Views::of(measurement) }
    }
}

/// A measurement as JSON in one line, with its views and a newline at its end.
pub fn json(measurement: &Measurement) -> String {
    // Keys are strings and no part refuses to be written, so this cannot fail.
    let text = serde_json::to_string(&Document::of(measurement));
    text.unwrap_or_else(|error| unreachable!("plain values become JSON: {error}")) + "\n"
}

/// The same, compressed by gzip: the same measurement gives the same bytes.
///
/// # Errors
/// Those of `out`.
pub fn write_compressed(measurement: &Measurement, out: &mut dyn Write) -> io::Result<()> {
    let mut encoder = GzEncoder::new(out, Compression::default());
    encoder.write_all(json(measurement).as_bytes())?;
    encoder.finish()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use strobe_model::measurement::{
        Content, Ended, Instrument, Quantity, Subject, Text, Unit, Window,
    };

    use super::*;
    use crate::export::{Choice, FORMATS};
    use crate::text::{self as view, Selection, Tree};
    use crate::{Excerpt, Options, Style};

    fn measurement() -> Measurement {
        let subject = Subject { name: "app.elf".to_owned(), ..Subject::default() };
        let window = Window::untimed("nothing has a time", Ended::default());
        let mut made = Measurement::new(subject, Instrument::default(), window);
        made.push_total("cycles", "cycles", Quantity::exact(7u64, Unit::CYCLES));
        let lines = vec!["line".to_owned(); 1000];
        made.push("text", "text", Content::Text(Text { lines, skipped_bytes: 0 }));
        made
    }

    fn reread(bytes: &[u8]) -> Measurement {
        read(bytes).unwrap()
    }

    #[test]
    fn written_files_are_read_back() {
        let (made, mut packed) = (measurement(), Vec::new());
        write_compressed(&made, &mut packed).unwrap();
        assert!(is_one(&packed) && is_one(json(&made).as_bytes()));
        assert!(packed.len() * 10 < json(&made).len());
        assert_eq!(reread(&packed), made);
        assert_eq!(reread(json(&made).as_bytes()), made);
        // Cut anywhere it is refused, never read as something else.
        for end in (0..packed.len()).step_by(7) {
            assert!(read(&packed[..end]).is_err(), "{end}");
        }
    }

    #[test]
    fn other_forms_are_refused_by_name() {
        let error = |text: &str| read(text.as_bytes()).unwrap_err().to_string();
        assert!(error(r#"{"schema": "strobe-measurement/9"}"#).contains("update this one"));
        assert!(error(r#"{"schema": "strobe-measurement/0"}"#).contains("strobe reads"));
        assert!(error(r#"{"schema": "speedscope"}"#).contains("a speedscope, which"));
        assert!(error("{}").contains("missing field `schema`"));
        assert!(error("{\"schema\": \"strobe-measurement/1\"\n, 5}").contains("line 2"));
        assert_eq!(read(&[0xff, 0xfe]).unwrap_err().to_string(), "not text: byte 0 is not UTF-8");
    }

    #[test]
    fn contradictory_files_are_refused() {
        let mut twice = measurement();
        twice.sections.push(twice.sections[0].clone());
        let error = read(json(&twice).as_bytes()).unwrap_err().to_string();
        assert!(error.contains("sections: there are two of the name \"text\""), "{error}");
    }

    #[test]
    fn a_bomb_is_refused() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&[b' '; 4096]).unwrap();
        let bomb = encoder.finish().unwrap();
        assert!(matches!(text(&bomb, 4095), Err(Error::TooLarge)));
        assert_eq!(text(&bomb, 4096).unwrap().len(), 4096);
    }

    /// Numbers that a damaged or hostile file may have.
    const NUMBERS: [&str; 8] =
        ["0", "1", "7", "-1", "4294967295", "9223372036854775807", "1e308", "null"];

    proptest! {
        /// Numbers of a file replaced: it is refused, or shown, shortened and exported without a
        /// panic.
        #[test]
        fn damaged_ones_are_refused_or_shown(
            sample in any::<prop::sample::Index>(),
            damage in prop::collection::vec((any::<prop::sample::Index>(), 0..NUMBERS.len()), 1..4),
        ) {
            let all = crate::samples::measurements::all();
            let mut text = json(&all[sample.index(all.len())].1);
            for (place, number) in damage {
                let is_digit = |at: usize| text.as_bytes()[at].is_ascii_digit();
                let starts = |at: &usize| is_digit(*at) && !is_digit(*at - 1);
                let places: Vec<usize> = (1..text.len()).filter(starts).collect();
                let at = places[place.index(places.len())];
                let length = text[at..].bytes().take_while(u8::is_ascii_digit).count();
                text.replace_range(at..at + length, NUMBERS[number]);
            }
            let Ok(read) = read(text.as_bytes()) else { return Ok(()) };
            prop_assert_eq!(&reread(json(&read).as_bytes()), &read);
            let selection = Selection { tree: Some(Tree::default()), ..Selection::default() };
            for width in [60, 100] {
                let style = Style { width, colour: false };
                let options = Options { style, ..Options::default() };
                view::measurement(&read, &selection, &options, &mut Vec::new()).unwrap();
            }
            let excerpt = Excerpt { top: Some(2), ..Excerpt::default() };
            prop_assert_eq!(excerpt.of(&read).check(), Ok(()));
            for format in FORMATS {
                let _ = format.write(&read, &Choice::default(), &mut Vec::new());
            }
        }
    }
}
