//! What a file is, by its first bytes and what lies beside it.

use std::path::Path;

use strobe_decode::archive::allocations;
use strobe_decode::kit;
use strobe_source::traced::NONSENSE_PERCENT;
use strobe_source::traced::StreamRecord;

use super::Kind;
use crate::{events, exit, files};

/// So much of a file is looked at.
const HEAD: u64 = 1 << 16;

/// What a recording of `strobe record` begins with.
const RECORDING: &[u8] = strobe_decode::container::MAGIC;

/// What an ELF file begins with.
const ELF: &[u8] = b"\x7fELF";

/// Finds out. What has no other sign is taken for the bytes of a trace pin.
pub fn kind(path: &Path, has_metadata: bool) -> anyhow::Result<Kind> {
    if has_metadata {
        return Ok(Kind::Ctf);
    }
    if files::is_directory(path)? {
        return match events::metadata_beside(path) {
            Some(_) => Ok(Kind::Ctf),
            None => Err(exit::no_input(format!(
                "{} is a directory without a file `metadata`; give a recording, a stream or a \
                 trace",
                path.display()
            ))),
        };
    }
    let head = files::head(path, &files::Kind::PIECEWISE, HEAD)?;
    let kind = by_bytes(path, &head);
    let readable = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    if matches!(kind, Kind::Swo) && !head.is_empty() && head.iter().all(readable) {
        return Err(exit::data(format!(
            "{}: unrecognised format (text); force it with --as",
            path.display()
        )));
    }
    Ok(kind)
}

/// What is a file of heap events or allocations by its first bytes: a trace of events, a text, or
/// a recording of the kit's records; none if it is something else.
///
/// # Errors
/// If it cannot be read.
pub fn of_heaps(path: &Path) -> anyhow::Result<Option<Kind>> {
    if files::is_directory(path)? {
        if events::metadata_beside(path).is_none() {
            return Err(exit::no_input(format!(
                "{} is a directory without a file `metadata`; give a firmware, a recording or a \
                 trace",
                path.display()
            )));
        }
        return Ok(Some(Kind::Ctf));
    }
    let head = files::head(path, &files::Kind::PIECEWISE, HEAD)?;
    if head.starts_with(ELF) {
        return Ok(None);
    }
    Ok(match by_bytes(path, &head) {
        kind @ (Kind::Ctf | Kind::Allocations | Kind::Recording) => Some(kind),
        Kind::Swo if kit::is_likely(&head) => Some(Kind::Kit),
        _ => None,
    })
}

fn by_bytes(path: &Path, head: &[u8]) -> Kind {
    let has = |word: &[u8]| head.windows(word.len()).any(|bytes| bytes == word);
    if head.starts_with(RECORDING) {
        return Kind::Recording;
    }
    if head.trim_ascii_start().starts_with(b"{") {
        if has(b"\"packet\"") {
            return Kind::Samples;
        }
        if has(b"\"allocated-blks\"") {
            return Kind::Allocations;
        }
    }
    let is_capture = |extension| path.extension().is_some_and(|e| e == extension);
    if head.starts_with(b"PK\x03\x04") || ["sr", "vcd"].into_iter().any(is_capture) {
        return Kind::Capture;
    }
    if strobe_experiment::profile::is_profile(&String::from_utf8_lossy(head)) {
        return Kind::Profile;
    }
    if allocations::is_text(head) {
        return Kind::Allocations;
    }
    if events::metadata_beside(path).is_some() { Kind::Ctf } else { Kind::Swo }
}

/// Whether what was taken for the bytes of a trace pin, having no other sign, makes sense as such.
///
/// # Errors
/// If it does not.
pub fn is_trace(path: &Path, record: &StreamRecord) -> anyhow::Result<()> {
    let percent = record.traced.nonsense_percent();
    if percent < NONSENSE_PERCENT {
        return Ok(());
    }
    let named = record.warnings.iter().find(|warning| warning.code == "instruction-trace");
    if let Some(named) = named {
        return Err(exit::data(format!("{}: {}", path.display(), named.text)));
    }
    Err(exit::data(format!(
        "{}: unrecognised format: interpreted as the bytes of a trace pin, {percent} % of it is \
         undecodable; force it with --as swo",
        path.display()
    )))
}
