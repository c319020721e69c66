//! Reading measurements that a command has written, compressed or not.

use std::path::Path;

use strobe_model::measurement::Measurement;
use strobe_report::file;

use crate::exit;
use crate::files::{self, Kind};

/// Within its first bytes a measurement names its schema.
const HEAD: u64 = 256;

/// Whether a file looks like a measurement, by its first bytes.
///
/// # Errors
/// When it cannot be read.
pub fn is_one(path: &Path) -> anyhow::Result<bool> {
    if files::is_directory(path)? {
        return Ok(false);
    }
    Ok(file::is_one(&files::head(path, &Kind::PIECEWISE, HEAD)?))
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
    let bytes = files::bytes(path, &Kind::MEASUREMENT)?;
    let wrong = |e: file::Error| exit::data(format!("{}: {e}", path.display()));
    Ok(Some(file::read(&bytes).map_err(wrong)?))
}

/// The part that was asked for, or all of it.
///
/// # Errors
/// When there is none of that name.
pub fn part(path: &Path, of: Measurement, name: Option<&str>) -> anyhow::Result<Measurement> {
    let Some(name) = name else { return Ok(of) };
    of.part(name).cloned().ok_or_else(|| {
        let names = of.part_names();
        let has = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        let shown = path.display();
        exit::usage(format!("{shown}: there is no part `{name}`; parts are: {has}"))
    })
}
