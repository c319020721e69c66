//! Opening traces of events, for `strobe report` and `strobe export`: metadata, streams, the table
//! of meanings.

use std::path::{Path, PathBuf};

use strobe_decode::ctf::{self, Trace};
use strobe_model::measurement::{Finding, Measurement, Severity, Timeline};
use strobe_source::archive::measurement::events_with_timeline;
use strobe_source::archive::{Meanings, Names, Source, Stream};

use crate::files::{self, Kind};
use crate::{exit, input};

/// The most that the streams of a trace may have together: they are read as a whole.
const MAX_BYTES: u64 = 4 << 30;
/// The most that a metadata or a table may have.
const MAX_TEXT: u64 = 64 << 20;

/// Names under which metadata lies beside its streams.
const METADATA: [&str; 2] = ["metadata", "metadata.tsdl"];

/// A trace in memory.
pub struct Opened {
    /// The file or directory.
    pub file: String,
    trace: Trace,
    streams: Vec<(String, Vec<u8>)>,
    /// What lies in the directory and is not read, each a sentence.
    left_out: Vec<String>,
    options: ctf::Options,
    /// What events mean.
    pub meanings: Meanings,
}

impl Opened {
    /// Does something with it.
    pub fn with<T>(&self, what: impl FnOnce(&Source) -> T) -> T {
        let streams: Vec<Stream> =
            self.streams.iter().map(|(file, bytes)| Stream { file, bytes }).collect();
        let options = &self.options;
        what(&Source { file: &self.file, trace: &self.trace, streams: &streams, options })
    }

    /// Its measurement and its time line, with names of code from a firmware if there is one.
    pub fn measurement(&self, names: &dyn Names) -> (Measurement, Timeline) {
        let (mut measurement, line) =
            self.with(|source| events_with_timeline(source, &self.meanings, names));
        let warning = |text: &String| Finding::new(Severity::Warning, "left-out", text);
        measurement.findings.extend(self.left_out.iter().map(warning));
        (measurement, line)
    }
}

/// Reads the file, which must not be larger than that.
pub fn read(path: &Path, most: u64) -> anyhow::Result<Vec<u8>> {
    files::bytes(path, &Kind::STREAM.at_most(most))
}

/// The metadata beside a stream, if there is one.
pub fn metadata_beside(path: &Path) -> Option<PathBuf> {
    let folder = if path.is_dir() { path } else { path.parent()? };
    METADATA.iter().map(|name| folder.join(name)).find(|path| path.is_file())
}

/// Opens a trace: a directory, or one stream, with the metadata given or beside it.
pub fn open(
    path: &Path,
    metadata: Option<&Path>,
    meanings: Option<&Path>,
) -> anyhow::Result<Opened> {
    let described = match metadata.map(Path::to_owned).or_else(|| metadata_beside(path)) {
        Some(found) => found,
        None => {
            return Err(exit::data(format!(
                "{}: no metadata beside it, without which a stream of events cannot be read; give \
                 it with --metadata FILE",
                path.display()
            )));
        }
    };
    let text = read(&described, MAX_TEXT)?;
    let trace =
        Trace::parse(&text).map_err(|e| exit::data(format!("{}: {e}", described.display())))?;
    let (files, left_out) = if path.is_dir() {
        (streams(path, &described)?, left_out(path)?)
    } else {
        (vec![path.to_owned()], Vec::new())
    };
    let mut left = MAX_BYTES;
    let mut streams = Vec::new();
    for file in files {
        let bytes = read(&file, left)?;
        is_of_this(&trace, &bytes, &file, &described)?;
        left -= bytes.len() as u64;
        streams.push((input::file_name(&file), bytes));
    }
    let table = meanings.map(|path| read(path, MAX_TEXT)).transpose()?;
    let table = table.as_deref().map(String::from_utf8_lossy);
    let wrong = |e| exit::data(format!("{}: {e}", meanings.unwrap_or(Path::new("")).display()));
    Ok(Opened {
        file: input::file_name(path),
        trace,
        streams,
        left_out,
        options: ctf::Options { payload_only: true, ..ctf::Options::default() },
        meanings: Meanings::new(table.as_deref()).map_err(wrong)?,
    })
}

/// Whether a stream is one of the trace that the metadata describes.
fn is_of_this(trace: &Trace, bytes: &[u8], file: &Path, metadata: &Path) -> anyhow::Result<()> {
    let first = ctf::Reader::new(trace, bytes, &ctf::Options::default()).next();
    let Some(ctf::Item::Undecodable(ctf::Undecodable { why, .. })) = first else { return Ok(()) };
    let ctf::DecodeError::Uuid { found, wanted } = why else { return Ok(()) };
    Err(exit::data(format!(
        "{} is a stream of another trace, {found}: {} describes {wanted}. Put each trace into a \
         directory of its own, or give the \
         stream alone with --metadata FILE",
        file.display(),
        metadata.display()
    )))
}

/// What a directory has besides its streams that somebody may miss: traces of their own further
/// down, and what is no regular file.
fn left_out(folder: &Path) -> anyhow::Result<Vec<String>> {
    let below = files::below(folder)?;
    let of_file = |path: &PathBuf| {
        let shown = path.display();
        let inner = path.parent().filter(|inner| !inner.as_os_str().is_empty());
        match inner {
            Some(inner) if path.file_name().is_some_and(|name| name == METADATA[0]) => {
                Some(format!(
                    "{} is a trace of its own and not in this report: give it by itself",
                    inner.display()
                ))
            }
            None if !folder.join(path).is_file() => {
                Some(format!("{shown} is a device, a pipe or a broken link, and was not read"))
            }
            None if files::is_new_output(&folder.join(path)) => {
                Some(format!("{shown} is standard output, and was not read"))
            }
            _ => None,
        }
    };
    Ok(below.iter().filter_map(of_file).collect())
}

/// The streams of a directory: every file in it but the metadata and hidden ones, as CTF has it
/// (section 5), and what a shell has made there for the report.
fn streams(folder: &Path, metadata: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let shown = folder.display();
    let entries = std::fs::read_dir(folder)
        .map_err(|e| exit::no_input(format!("cannot read {shown}: {e}")))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|path| {
        let hidden = input::file_name(path).starts_with('.');
        path.is_file() && !hidden && path != metadata && !files::is_new_output(path)
    });
    // Only then are they streams of one trace.
    if !folder.join(METADATA[0]).is_file() {
        let one = files.iter().find(|path| path.extension().is_some_and(|e| e == "bin"));
        let example =
            one.or(files.first()).map_or(String::new(), |f| format!(", as {}", f.display()));
        return Err(exit::usage(format!(
            "{shown} is no trace but a folder with streams: it has no file `metadata`; give one of \
             them{example}"
        )));
    }
    files.sort();
    Ok(files)
}
