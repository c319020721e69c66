//! Reading measurements that a command has written, compressed or not.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use strobe_model::Record;
use strobe_model::measurement::Measurement;
use strobe_report::file::{self, Form};

use crate::exit;

/// The most that a file may have; what is compressed may have no more either.
const MAX_BYTES: u64 = 1 << 30;
/// Within its first bytes a measurement names its schema.
const HEAD: u64 = 256;

/// Whether a file looks like a measurement, by its first bytes.
///
/// # Errors
/// When it cannot be read.
pub fn is_one(path: &Path) -> anyhow::Result<bool> {
    let shown = path.display();
    let unreadable = |e: std::io::Error| exit::no_input(format!("cannot read {shown}: {e}"));
    if std::fs::metadata(path).map_err(unreadable)?.is_dir() {
        return Ok(false);
    }
    let mut head = Vec::new();
    let begin = File::open(path).map_err(unreadable)?;
    begin.take(HEAD).read_to_end(&mut head).map_err(unreadable)?;
    Ok(file::is_one(&head))
}

/// Reads a measurement; none where the file is something else.
///
/// # Errors
/// When the file cannot be read, or is a measurement that does not hold together or is of another
/// version.
pub fn read(path: &Path) -> anyhow::Result<Option<Measurement>> {
    if !is_one(path)? {
        return Ok(None);
    }
    let shown = path.display();
    let unreadable = |e: std::io::Error| exit::no_input(format!("cannot read {shown}: {e}"));
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    let wrong = |e: &dyn std::fmt::Display| exit::data(format!("{shown}: {e}"));
    match file::read(&bytes).map_err(|e| wrong(&e))? {
        Form::Measurement(measurement) => Ok(Some(*measurement)),
        Form::Record(text) => {
            let record: Record = serde_json::from_str(&text).map_err(|e| wrong(&e))?;
            let measurement = of(&record);
            measurement.check().map_err(|e| wrong(&e))?;
            Ok(Some(measurement))
        }
    }
}

/// What a simulated board or a trace pin measured.
pub fn of(record: &Record) -> Measurement {
    match record.traced {
        None => strobe_source::simulated::measurement(record),
        Some(_) => strobe_source::traced::measurement(record),
    }
}
