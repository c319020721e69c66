//! Reading measurements that a command has written, compressed or not.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use strobe_model::measurement::Measurement;

use crate::exit;

/// The most that a measurement may have, decompressed.
const MAX_BYTES: u64 = 4 << 30;
/// Within its first bytes, spaces aside, a measurement names its schema.
const HEAD: u64 = 256;
const SCHEMA: &[u8] = b"\"strobe-measurement/";

/// Reads a measurement; none where the file is something else.
///
/// # Errors
/// When the file cannot be read, or is a measurement that does not hold together or is of another version.
pub fn read(path: &Path) -> anyhow::Result<Option<Measurement>> {
    let shown = path.display();
    let unreadable = |e: std::io::Error| exit::no_input(format!("cannot read {shown}: {e}"));
    if std::fs::metadata(path).map_err(unreadable)?.is_dir() {
        return Ok(None);
    }
    let mut head = Vec::new();
    let begins = open(path).and_then(|file| file.take(HEAD).read_to_end(&mut head));
    // What is compressed and cut short, or not compressed at all, is no measurement either.
    if begins.is_err() || !is_measurement(&head) {
        return Ok(None);
    }
    let mut text = Vec::new();
    open(path)
        .and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut text))
        .map_err(unreadable)?;
    if text.len() as u64 > MAX_BYTES {
        return Err(exit::data(format!("{shown} has more than {MAX_BYTES} bytes")));
    }
    let wrong = |e: &dyn std::fmt::Display| exit::data(format!("{shown}: {e}"));
    let measurement: Measurement = serde_json::from_slice(&text).map_err(|e| wrong(&e))?;
    measurement.check().map_err(|e| wrong(&e))?;
    Ok(Some(measurement))
}

fn is_measurement(head: &[u8]) -> bool {
    let begins = head.trim_ascii_start().starts_with(b"{");
    begins && head.windows(SCHEMA.len()).any(|bytes| bytes == SCHEMA)
}

/// The file, decompressed if it has to be.
fn open(path: &Path) -> std::io::Result<Box<dyn Read>> {
    let mut magic = Vec::new();
    File::open(path)?.take(2).read_to_end(&mut magic)?;
    let file = std::io::BufReader::new(File::open(path)?);
    Ok(match magic.as_slice() {
        [0x1f, 0x8b] => Box::new(flate2::bufread::MultiGzDecoder::new(file)),
        _ => Box::new(file),
    })
}
