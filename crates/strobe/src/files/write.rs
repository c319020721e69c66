//! Writing files: whole results beside the older one, whose place they take when they are complete;
//! logs as they grow.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use strobe_source::traced::Sink;
use tempfile::NamedTempFile;

use super::{ledger, lock};
use crate::exit;

/// A result that is written as a whole. Until [`AtomicFile::commit`] whatever was there before
/// stays as it was; a full disk or the end of the process costs no older result.
pub struct AtomicFile {
    /// As it was named.
    path: PathBuf,
    out: Out,
}

enum Out {
    /// A new file, which is to be at that place, where an older one may be, with its lock.
    Beside(io::BufWriter<NamedTempFile>, PathBuf, Option<File>),
    /// A device, a pipe, standard output by its name.
    Direct(io::BufWriter<File>),
}

impl AtomicFile {
    /// Begins a result.
    ///
    /// # Errors
    /// If it cannot be written there, or the file is an input or another output.
    pub fn create(path: &Path) -> anyhow::Result<AtomicFile> {
        ledger::writes(path)?;
        let out = begin(path).map_err(|e| cannot_write(path, &e))?;
        Ok(AtomicFile { path: path.to_owned(), out })
    }

    /// Puts the result in its place.
    ///
    /// # Errors
    /// If something of it could not be written; then the older result is still there.
    pub fn commit(self) -> anyhow::Result<()> {
        let path = self.path.clone();
        self.finish().map_err(|e| cannot_write(&path, &e))
    }

    fn finish(self) -> io::Result<()> {
        match self.out {
            Out::Direct(mut file) => file.flush()?,
            Out::Beside(out, place, older) => commit(out, &place, older)?,
        }
        ledger::is_open(&self.path);
        Ok(())
    }
}

impl Sink for AtomicFile {
    fn complete(self: Box<Self>) -> io::Result<()> {
        self.finish()
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.out {
            Out::Beside(out, ..) => out.write(bytes),
            Out::Direct(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.out {
            Out::Beside(out, ..) => out.flush(),
            Out::Direct(out) => out.flush(),
        }
    }
}

/// Makes a folder, with those above it, unless it is there.
///
/// # Errors
/// If it cannot be made (74).
pub fn folder(path: &Path) -> anyhow::Result<()> {
    std::fs::create_dir_all(path).map_err(|e| cannot_write(path, &e))
}

/// Writes a whole result.
///
/// # Errors
/// Those of [`AtomicFile::create`] and [`AtomicFile::commit`].
pub fn write(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let mut whole = AtomicFile::create(path)?;
    whole.write_all(bytes).map_err(|e| cannot_write(path, &e))?;
    whole.commit()
}

/// Writes a whole result under a name of ours into a folder that somebody named. A symbolic link
/// of that name gives way, as with install(1): nobody has named what it leads to.
///
/// # Errors
/// Those of [`write()`].
pub fn within(folder: &Path, name: &str, bytes: &[u8]) -> anyhow::Result<()> {
    let path = folder.join(name);
    if !std::fs::symlink_metadata(&path).is_ok_and(|found| found.is_symlink()) {
        return write(&path, bytes);
    }
    let placed = || -> io::Result<()> {
        let mut file = beside(&path, None)?;
        file.write_all(bytes)?;
        file.as_file().sync_data()?;
        file.persist(&path).map_err(|e| e.error)?;
        Ok(())
    };
    placed().map_err(|e| cannot_write(&path, &e))?;
    ledger::is_open(&path);
    Ok(())
}

/// Makes another name for a file, in a folder of our own.
///
/// # Errors
/// If the system makes none there.
pub fn link(file: &Path, link: &Path) -> io::Result<()> {
    #[cfg(unix)]
    return std::os::unix::fs::symlink(file, link);
    #[cfg(not(unix))]
    return std::fs::hard_link(file, link);
}

/// Writes a new file of that name, with a number behind it if there is one already, into a folder
/// that others may write to at the same time: it appears when it is whole, and replaces nothing.
/// Returns where it is.
///
/// # Errors
/// If it cannot be written.
pub fn fresh(directory: &Path, stem: &str, ending: &str, bytes: &[u8]) -> anyhow::Result<PathBuf> {
    folder(directory)?;
    let named = |number: u32| match number {
        1 => directory.join(format!("{stem}.{ending}")),
        _ => directory.join(format!("{stem}-{number}.{ending}")),
    };
    let written = || -> io::Result<PathBuf> {
        let mut file = beside(&named(1), None)?;
        file.write_all(bytes)?;
        // Its bytes are on the disk before its name is.
        file.as_file().sync_all()?;
        for number in 1..=u32::MAX {
            match file.persist_noclobber(named(number)) {
                Ok(_) => {
                    #[cfg(unix)]
                    File::open(directory)?.sync_all()?;
                    return Ok(named(number));
                }
                Err(e) if e.error.kind() == io::ErrorKind::AlreadyExists => file = e.file,
                Err(e) => return Err(e.error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    };
    written().map_err(|e| cannot_write(&named(1), &e))
}

/// Opens a file that grows while something runs and can be followed meanwhile; what was in it goes.
///
/// # Errors
/// If it cannot be written, or is an input or another output.
pub fn log(path: &Path) -> anyhow::Result<File> {
    ledger::writes(path)?;
    let file = emptied(path).map_err(|e| cannot_write(path, &e))?;
    ledger::is_open(path);
    Ok(file)
}

/// Replaces a file that this run has read, and whose content the new one is made of.
///
/// # Errors
/// If it cannot be written.
pub fn replace(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    let out = begin(path).map_err(|e| cannot_write(path, &e))?;
    let mut whole = AtomicFile { path: path.to_owned(), out };
    whole.write_all(bytes).map_err(|e| cannot_write(path, &e))?;
    whole.commit()
}

/// Adds to the end of a file, which may be others' as well: a summary that several steps write.
///
/// # Errors
/// If it cannot be written, or is an input or another output.
pub fn append(path: &Path, bytes: &[u8]) -> anyhow::Result<()> {
    ledger::writes(path)?;
    let appended = || {
        let mut file = OpenOptions::new().append(true).create(true).open(path)?;
        lock::take(&file)?;
        file.write_all(bytes)
    };
    appended().map_err(|e| cannot_write(path, &e))
}

/// Whether no other process writes a file now, if it is one, and it is no folder: that shall not be
/// found out when a long run is over.
///
/// # Errors
/// If one does, or it is a folder (74).
pub fn is_free(path: &Path) -> anyhow::Result<()> {
    let Ok(metadata) = std::fs::metadata(path) else { return Ok(()) };
    let is_folder = metadata.is_dir();
    if !is_folder && !metadata.is_file() {
        return Ok(());
    }
    match OpenOptions::new().write(true).open(path) {
        Ok(file) => lock::take(&file).map_err(|e| cannot_write(path, &e)),
        Err(e) if is_folder => Err(cannot_write(path, &e)),
        // What cannot be opened is reported by whoever writes it.
        Err(_) => Ok(()),
    }
}

/// A file that is to be replaced, with its lock. What may not be written to may not be replaced
/// either.
fn locked(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().write(true).open(path)?;
    lock::take(&file)?;
    Ok(file)
}

/// What could not be written of logs, while a run went on.
static FAILED: Mutex<Option<String>> = Mutex::new(None);

/// Notes that a log lacks something, so that the command ends as one whose output could not be
/// written.
pub fn log_failed(what: String) {
    if let Ok(mut failed) = FAILED.lock() {
        failed.get_or_insert(what);
    }
}

/// Whether every log is whole.
///
/// # Errors
/// If one could not be written.
pub fn commit_logs() -> anyhow::Result<()> {
    let failed = FAILED.lock().ok().and_then(|mut failed| failed.take());
    failed.map_or(Ok(()), |what| Err(exit::output(what)))
}

/// The error for a file that cannot be written.
pub fn cannot_write(path: &Path, error: &io::Error) -> anyhow::Error {
    exit::output(format!("cannot write {}: {error}", path.display()))
}

/// Opens a file and empties it, unless another process writes it.
fn emptied(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
    lock::take(&file)?;
    // Devices and pipes have no length.
    if file.metadata()?.is_file() {
        file.set_len(0)?;
    }
    Ok(file)
}

/// Opens what somebody has opened already, to go on behind what is there: whether that was emptied,
/// as by `>`, or not, as by `>>`, was up to them.
fn opened_again(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().append(true).open(path)?;
    lock::take(&file)?;
    Ok(file)
}

fn begin(path: &Path) -> io::Result<Out> {
    let direct = |path: &Path| Ok(Out::Direct(io::BufWriter::new(emptied(path)?)));
    if is_stream(path) {
        return Ok(Out::Direct(io::BufWriter::new(opened_again(path)?)));
    }
    if path.starts_with("/proc") {
        return direct(path);
    }
    let place = ledger::end_of_links(path);
    let (permissions, older) = match std::fs::metadata(path) {
        // A directory refuses by itself.
        Ok(metadata) if !metadata.is_file() => return direct(path),
        Ok(metadata) => (Some(metadata.permissions()), Some(locked(path)?)),
        Err(_) => (None, None),
    };
    match beside(&place, permissions.as_ref()) {
        Ok(file) => Ok(Out::Beside(io::BufWriter::new(file), place, older)),
        // The file may be written, its directory not.
        Err(e) if e.kind() == io::ErrorKind::PermissionDenied && permissions.is_some() => {
            drop(older);
            direct(path)
        }
        Err(e) => Err(e),
    }
}

/// Whether the name is one for what somebody has opened: `/dev/stdout`, `/dev/fd/3`,
/// `/proc/self/fd/1`.
fn is_stream(path: &Path) -> bool {
    let streams = ["/dev/stdin", "/dev/stdout", "/dev/stderr"];
    path.starts_with("/dev/fd")
        || path.starts_with("/proc") && path.parent().is_some_and(|at| at.ends_with("fd"))
        || streams.iter().any(|stream| path == Path::new(stream))
}

fn beside(place: &Path, permissions: Option<&Permissions>) -> io::Result<NamedTempFile> {
    let directory = match place.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    // The system's own words, if there is no such directory.
    std::fs::metadata(directory)?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(".strobe-").suffix(".part");
    #[cfg(unix)]
    let new = std::os::unix::fs::PermissionsExt::from_mode(0o666);
    // Of a new file, less what the user's mask takes away.
    #[cfg(unix)]
    builder.permissions(new);
    let file = builder.tempfile_in(directory).map_err(|e| io::Error::from(e.kind()))?;
    if let Some(permissions) = permissions {
        file.as_file().set_permissions(permissions.clone())?;
    }
    Ok(file)
}

fn commit(out: io::BufWriter<NamedTempFile>, place: &Path, older: Option<File>) -> io::Result<()> {
    let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    // Its bytes are on the disk before its name is.
    file.as_file().sync_data()?;
    // One that came meanwhile may be another process's.
    let older = match older {
        None if place.is_file() => Some(locked(place)?),
        older => older,
    };
    // Elsewhere what is open is not replaced.
    #[cfg(not(unix))]
    drop(older);
    file.persist(place).map_err(|e| e.error)?;
    #[cfg(unix)]
    drop(older);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_result_takes_its_place_when_it_is_whole() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("old"), "older").expect("a file");
        std::fs::set_permissions(at("old"), Permissions::from_mode(0o640)).expect("its mode");
        symlink("old", at("link")).expect("a link");
        let mut whole = AtomicFile::create(&at("link")).expect("it may be written");
        whole.write_all(b"new").expect("there is room");
        assert_eq!(std::fs::read(at("old")).expect("it stays"), b"older");
        whole.commit().expect("it takes its place");
        assert_eq!(std::fs::read(at("old")).expect("the new one"), b"new");
        assert!(std::fs::symlink_metadata(at("link")).expect("the link").is_symlink());
        assert_eq!(std::fs::metadata(at("old")).expect("its mode").mode() & 0o777, 0o640);
        drop(AtomicFile::create(&at("other")).expect("it may be written"));
        assert_eq!(std::fs::read_dir(folder.path()).expect("its files").count(), 2);
    }

    #[test]
    fn link_in_a_folder_is_replaced_by_a_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("notes"), "mine").expect("a file");
        symlink("notes", at("strobe.1")).expect("a link");
        symlink("nowhere", at("list.json")).expect("a link");
        for name in ["strobe.1", "list.json", "new"] {
            within(folder.path(), name, b"page").expect("it may be written");
            assert_eq!(std::fs::read(at(name)).expect("a file"), b"page");
            assert!(std::fs::symlink_metadata(at(name)).expect("a file").is_file(), "{name}");
        }
        assert_eq!(std::fs::read(at("notes")).expect("a file"), b"mine");
        assert_eq!(std::fs::read_dir(folder.path()).expect("its files").count(), 4);
    }

    #[test]
    fn a_fresh_file_replaces_none() {
        let folder = tempfile::tempdir().expect("a folder");
        let within = folder.path().join("a/b");
        let write = |bytes: &[u8]| fresh(&within, "part", "parquet", bytes).expect("a file");
        let (first, second) = (write(b"1"), write(b"2"));
        assert_eq!(first, within.join("part.parquet"));
        assert_eq!(second, within.join("part-2.parquet"));
        assert_eq!(std::fs::read(first).expect("the first"), b"1");
        assert_eq!(std::fs::read_dir(&within).expect("its files").count(), 2);
        let file = folder.path().join("file");
        std::fs::write(&file, "").expect("a file");
        assert!(fresh(&file, "part", "parquet", b"").is_err());
    }

    #[test]
    fn files_another_process_is_writing_stay_untouched() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("x.strobe");
        std::fs::write(&path, "recorded").expect("a file");
        // As another process would.
        let other = OpenOptions::new().write(true).open(&path).expect("the file");
        other.try_lock().expect("nobody's");
        let refused = [
            begin(&path).map(drop).map_err(|e| cannot_write(&path, &e)),
            emptied(&path).map(drop).map_err(|e| cannot_write(&path, &e)),
            append(&path, b"more"),
            replace(&path, b"new"),
            is_free(&path),
        ];
        for result in refused {
            let error = result.expect_err("it is written").to_string();
            assert!(error.contains("another process"), "{error}");
        }
        assert!(is_free(folder.path()).is_err(), "a folder is no file");
        assert!(is_free(&folder.path().join("new")).is_ok());
        assert_eq!(std::fs::read(&path).expect("the file"), b"recorded");
        drop(other);
        replace(&path, b"new").expect("nobody's");
        assert_eq!(std::fs::read_dir(folder.path()).expect("its files").count(), 1);
        // Begun by another process after the result was.
        let late = folder.path().join("late");
        let whole = AtomicFile::create(&late).expect("there is none yet");
        let other = File::create(&late).expect("a file");
        other.try_lock().expect("nobody's");
        assert!(whole.commit().is_err());
    }

    #[test]
    fn devices_are_written_as_they_are() {
        write(Path::new("/dev/null"), b"gone").expect("it takes all");
        let error = write(Path::new("/dev/full"), b"gone").expect_err("it takes nothing");
        assert!(error.to_string().starts_with("cannot write /dev/full: "), "{error}");
    }
}
