//! Reading files: regular ones, up to a limit, each registered as an input.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use super::ledger;
use crate::{exit, interrupt, terminal};

/// How long a pipe may wait for its writer before that is stated, and how soon a signal ends it.
const WRITER: Duration = Duration::from_millis(200);

/// A kind of file, for limits and messages.
#[derive(Clone, Copy)]
pub struct Kind {
    /// Before its name in messages, as `rig file `; empty if the name speaks for itself.
    pub called: &'static str,
    /// What to give instead of what is no such file.
    pub wanted: &'static str,
    /// Far above any real one, far below what hurts.
    pub most_bytes: u64,
}

impl Kind {
    /// Firmware: ELF or Intel HEX.
    pub const FIRMWARE: Kind = Kind::new("", "the firmware's ELF file", 1 << 30);
    /// The image of a memory card and its like.
    pub const MEDIUM: Kind = Kind::new("", "an image", 1 << 30);
    /// What describes a board.
    pub const BOARD: Kind = Kind::new("board file ", "a board file", 4 << 20);
    /// What describes a rig.
    pub const RIG: Kind = Kind::new("rig file ", "a rig file", 4 << 20);
    /// What describes an operating system.
    pub const RTOS: Kind = Kind::new("RTOS description ", "a description", 4 << 20);
    /// What describes memory allocators.
    pub const ALLOCATORS: Kind = Kind::new("allocators ", "a table of allocators", 4 << 20);
    /// What describes a chip; some have tens of megabytes.
    pub const SVD: Kind = Kind::new("", "an SVD file", 64 << 20);
    /// Values of an analog channel.
    pub const VALUES: Kind = Kind::new("", "a file of values", 64 << 20);
    /// Streams of a trace and what describes them, lists of samples and of allocations.
    pub const STREAM: Kind = Kind::new("", "a file", 4 << 30);
    /// A linker's map; those of large programs have tens of megabytes.
    pub const MAP: Kind = Kind::new("", "a linker's map", 256 << 20);
    /// Rules for layers.
    pub const LAYERS: Kind = Kind::new("rules ", "a file of rules", 4 << 20);
    /// Budgets.
    pub const BUDGETS: Kind = Kind::new("budgets ", "a strobe.toml", 4 << 20);
    /// Figures to compare with.
    pub const BASELINE: Kind = Kind::new("the baseline ", "a baseline", 4 << 20);
    /// What a user knows of calls and stacks.
    pub const ANNOTATIONS: Kind = Kind::new("annotations ", "a file of annotations", 4 << 20);
    /// A copy of a board's memory.
    pub const MEMORY: Kind = Kind::new("", "a copy of a memory", 64 << 20);
    /// What describes an experiment.
    pub const EXPERIMENT: Kind = Kind::new("", "an experiment.toml", 4 << 20);
    /// What another profiler has written.
    pub const PROFILE: Kind = Kind::new("", "a profile", 64 << 20);
    /// A measurement.
    pub const MEASUREMENT: Kind = Kind::new("", "a measurement", 1 << 30);
    /// A file of an archive of measurements.
    pub const ARCHIVE: Kind = Kind::new("", "an archive's file", 64 << 30);
    /// Bytes for a serial device: a minute and a half at 115,200 baud.
    pub const SERIAL_INPUT: Kind = Kind::new("", "a file", 1 << 20);
    /// Source text.
    pub const SOURCE: Kind = Kind::new("", "a source file", 16 << 20);
    /// What is read piece by piece, however long it is.
    pub const PIECEWISE: Kind = Kind::new("", "a file", u64::MAX);
    /// A capture.
    pub const CAPTURE: Kind = Kind::new("", "a capture file", u64::MAX);
    /// A firmware or a capture.
    pub const RECORDED: Kind = Kind::new("", "a firmware or a capture", u64::MAX);

    const fn new(called: &'static str, wanted: &'static str, most_bytes: u64) -> Kind {
        Kind { called, wanted, most_bytes }
    }

    /// The same with another limit.
    #[must_use]
    pub fn at_most(self, most_bytes: u64) -> Kind {
        Kind { most_bytes, ..self }
    }
}

/// Opens a regular file.
///
/// # Errors
/// What cannot be opened, or is a directory, is no input (66). What is no regular file has no end
/// that anybody knows and may never answer: unusable (65), and so is what is longer than its kind
/// may be. What this run writes is no input either (64).
pub fn open(path: &Path, kind: &Kind) -> anyhow::Result<File> {
    let shown = path.display();
    let unreadable =
        |e: io::Error| exit::no_input(format!("cannot read {}{shown}: {e}", kind.called));
    // Before it is opened: a pipe without a writer would wait for one.
    let metadata = std::fs::metadata(path).map_err(unreadable)?;
    if metadata.is_dir() {
        return Err(exit::no_input(format!("{shown} is a directory; give {}", kind.wanted)));
    }
    if !metadata.is_file() {
        let what = what(&metadata);
        return Err(exit::data(format!(
            "{}{shown} is {what}, whose end nobody knows; give {} that is a regular file",
            kind.called, kind.wanted
        )));
    }
    if metadata.len() > kind.most_bytes {
        return Err(too_long(path, kind, &format!("has {} bytes", metadata.len())));
    }
    ledger::opens(path, &metadata)?;
    File::open(path).map_err(unreadable)
}

/// The folders in a folder, in order of their names.
///
/// # Errors
/// If it cannot be read (66).
pub fn folders(path: &Path) -> anyhow::Result<Vec<std::path::PathBuf>> {
    let unreadable = |e: io::Error| exit::no_input(format!("cannot read {}: {e}", path.display()));
    let entries = std::fs::read_dir(path).map_err(unreadable)?;
    let mut folders: Vec<_> =
        entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    Ok(folders)
}

/// All files below a folder, as paths from there, in order; not those whose names begin with `.` or
/// `_`, which engines pass over as well.
///
/// # Errors
/// If the folder cannot be read, or is none (66).
pub fn below(directory: &Path) -> anyhow::Result<Vec<std::path::PathBuf>> {
    /// Folders in folders: links may lead in a ring.
    const DEEPEST: usize = 8;
    let mut found = Vec::new();
    let mut left = vec![(directory.to_owned(), 0)];
    while let Some((folder, depth)) = left.pop() {
        let unreadable =
            |e: io::Error| exit::no_input(format!("cannot read {}: {e}", folder.display()));
        for entry in std::fs::read_dir(&folder).map_err(unreadable)?.flatten() {
            let path = entry.path();
            let name = entry.file_name();
            if [b'.', b'_'].iter().any(|first| name.as_encoded_bytes().first() == Some(first)) {
                continue;
            }
            if path.is_dir() {
                if depth < DEEPEST {
                    left.push((path, depth + 1));
                }
            } else if let Ok(relative) = path.strip_prefix(directory) {
                found.push(relative.to_owned());
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Reads a whole file.
///
/// # Errors
/// Those of [`open`].
pub fn bytes(path: &Path, kind: &Kind) -> anyhow::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = kind.most_bytes.saturating_add(1);
    let read = open(path, kind)?.take(most).read_to_end(&mut bytes);
    read.map_err(|e| {
        exit::no_input(format!("cannot read {}{}: {e}", kind.called, path.display()))
    })?;
    // It may have grown, and files of the kernel have no length before they are read.
    if bytes.len() as u64 > kind.most_bytes {
        return Err(too_long(path, kind, "has more"));
    }
    Ok(bytes)
}

/// Reads a whole text.
///
/// # Errors
/// Those of [`open`]; and unusable (65) is what is not UTF-8.
pub fn text(path: &Path, kind: &Kind) -> anyhow::Result<String> {
    String::from_utf8(bytes(path, kind)?).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        let (called, shown) = (kind.called, path.display());
        exit::data(format!("{called}{shown}: byte {at} is no UTF-8, which the file must be"))
    })
}

/// The first bytes of a file.
///
/// # Errors
/// Those of [`open`].
pub fn head(path: &Path, kind: &Kind, length: u64) -> anyhow::Result<Vec<u8>> {
    let mut head = Vec::new();
    open(path, kind)?
        .take(length)
        .read_to_end(&mut head)
        .map_err(|e| exit::no_input(format!("cannot read {}: {e}", path.display())))?;
    Ok(head)
}

/// Whether it is a directory.
///
/// # Errors
/// If there is nothing.
pub fn is_directory(path: &Path) -> anyhow::Result<bool> {
    let metadata = std::fs::metadata(path);
    let metadata =
        metadata.map_err(|e| exit::no_input(format!("cannot read {}: {e}", path.display())))?;
    Ok(metadata.is_dir())
}

/// Opens what bytes come from as they come, a pipe or a device as well: a source to record. A named
/// pipe is waited for until somebody writes to it.
///
/// # Errors
/// If it cannot be opened (66), or is an output (64); if a signal ends the wait (130).
pub fn stream(path: &Path) -> anyhow::Result<File> {
    let unreadable = |e: io::Error| exit::no_input(format!("cannot read {}: {e}", path.display()));
    let metadata = std::fs::metadata(path).map_err(unreadable)?;
    if metadata.is_dir() {
        return Err(exit::no_input(format!("{} is a directory", path.display())));
    }
    ledger::opens(path, &metadata)?;
    if what(&metadata) == PIPE { pipe(path) } else { File::open(path).map_err(unreadable) }
}

/// Opens a named pipe, which the system does once somebody writes to it. Nothing but the end of the
/// process ends a thread that waits for that, so it is another one than whoever heeds signals.
fn pipe(path: &Path) -> anyhow::Result<File> {
    let shown = path.display();
    let unreadable = |e: io::Error| exit::no_input(format!("cannot read {shown}: {e}"));
    let (sender, receiver) = mpsc::channel();
    let opened = path.to_owned();
    let open = move || {
        // Nobody is there any more once a signal has ended the wait.
        let _ = sender.send(File::open(opened));
    };
    // From here on, signals set a flag and end nothing by themselves.
    let stop = interrupt::on_interrupt();
    std::thread::Builder::new().spawn(open).map_err(unreadable)?;
    let mut is_stated = false;
    loop {
        match receiver.recv_timeout(WRITER) {
            Ok(file) => return file.map_err(unreadable),
            Err(RecvTimeoutError::Disconnected) => {
                return Err(exit::no_input(format!("cannot read {shown}")));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
        if stop.load(Ordering::Relaxed) {
            let by = interrupt::by();
            return Err(exit::interrupted(format!("stopped by {by} before {shown} had a writer")));
        }
        if !std::mem::replace(&mut is_stated, true) {
            terminal::message(&format!("strobe: {shown} is a pipe, waiting for a writer"));
        }
    }
}

fn too_long(path: &Path, kind: &Kind, has: &str) -> anyhow::Error {
    let (called, shown, most) = (kind.called, path.display(), kind.most_bytes);
    exit::data(format!("{called}{shown} {has}; at most {most} bytes are read"))
}

/// What a pipe is called.
const PIPE: &str = "a pipe";

#[cfg(unix)]
fn what(metadata: &Metadata) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    let kind = metadata.file_type();
    if kind.is_fifo() {
        PIPE
    } else if kind.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

#[cfg(not(unix))]
fn what(_: &Metadata) -> &'static str {
    "no file"
}
