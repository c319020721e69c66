//! Which files this process reads and writes, by device and inode: hard links and symbolic links
//! have other names and are the same file.

use std::collections::{HashMap, hash_map};
use std::ffi::OsString;
use std::fs::Metadata;
use std::path::{Path, PathBuf};

use crate::exit;

/// A file, whatever its name.
#[cfg(unix)]
type Id = (u64, u64);
#[cfg(not(unix))]
type Id = PathBuf;

/// Links from one name to the next that are followed; Linux follows 40.
const MOST_LINKS: usize = 40;

/// What is known of a file.
#[derive(Clone)]
struct Entry {
    /// The name that it was given.
    name: PathBuf,
    use_: Use,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Read,
    /// An argument names it; it is not open yet.
    WillBeWritten,
    Written,
    /// A process that this one starts writes it, for others that may read it.
    WrittenByOthers,
    /// Standard output was given it. `-o /dev/stdout` and an option may write it as well.
    StandardOutput,
}

#[derive(Default)]
struct Ledger {
    by_id: HashMap<Id, Entry>,
    /// Files that did not exist, by their directory and name.
    by_place: HashMap<(Id, OsString), Entry>,
}

#[cfg(not(test))]
fn with<T>(what: impl FnOnce(&mut Ledger) -> T) -> T {
    use std::sync::{LazyLock, Mutex, PoisonError};
    static LEDGER: LazyLock<Mutex<Ledger>> = LazyLock::new(Mutex::default);
    what(&mut LEDGER.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Each test is a process of its own as far as files go: inodes of deleted files are used again.
#[cfg(test)]
fn with<T>(what: impl FnOnce(&mut Ledger) -> T) -> T {
    thread_local! {
        static LEDGER: std::cell::RefCell<Ledger> = std::cell::RefCell::default();
    }
    LEDGER.with_borrow_mut(what)
}

/// Registers a file that is read, or the files of a directory. What does not exist is nothing to
/// protect: whoever opens it reports that.
pub fn reads(path: &Path) {
    let Ok(metadata) = std::fs::metadata(path) else { return };
    if !metadata.is_dir() {
        return reads_open(path, &metadata);
    }
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    let files = entries.map(|entry| entry.path()).filter(|path| path.is_file());
    files.filter(|file| !is_new_output(file)).for_each(|file| {
        if let Ok(metadata) = std::fs::metadata(&file) {
            reads_open(&file, &metadata);
        }
    });
}

/// The same for a file whose metadata is known.
fn reads_open(path: &Path, metadata: &Metadata) {
    let Some(id) = id(path, metadata) else { return };
    let entry = Entry { name: path.to_owned(), use_: Use::Read };
    with(|ledger| {
        ledger.by_id.entry(id).or_insert(entry);
    });
}

/// Registers a file that is now opened to be read.
///
/// # Errors
/// If it is an output, announced or written.
pub fn opens(path: &Path, metadata: &Metadata) -> anyhow::Result<()> {
    let Some(id) = id(path, metadata) else { return Ok(()) };
    with(|ledger| enter_read(ledger.by_id.entry(id), path))
}

/// Registers a file, or those of a directory, that is read later, by this process or one that it
/// starts; also one that has yet to be made.
///
/// # Errors
/// If it is an output, announced or written.
pub fn will_read(path: &Path) -> anyhow::Result<()> {
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => {
            let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
            let files = entries.map(|entry| entry.path()).filter(|path| path.is_file());
            files.into_iter().try_for_each(|file| match std::fs::metadata(&file) {
                Ok(metadata) => opens(&file, &metadata),
                Err(_) => Ok(()),
            })
        }
        Ok(metadata) => opens(path, &metadata),
        Err(_) => match place(path) {
            Some(place) => with(|ledger| enter_read(ledger.by_place.entry(place), path)),
            None => Ok(()),
        },
    }
}

/// Enters an input, unless it is an output.
fn enter_read<K>(slot: hash_map::Entry<'_, K, Entry>, path: &Path) -> anyhow::Result<()> {
    let mut slot = match slot {
        hash_map::Entry::Vacant(slot) => {
            slot.insert(Entry { name: path.to_owned(), use_: Use::Read });
            return Ok(());
        }
        hash_map::Entry::Occupied(slot) => slot,
    };
    if matches!(slot.get().use_, Use::Read | Use::WrittenByOthers) {
        return Ok(());
    }
    let (shown, other) = (path.display(), slot.get().name.display());
    let text = format!(
        "{shown} is read, and {other} would be written, which is the same file; name another output"
    );
    // Whoever wants to read it may go on without. It must not be written then either.
    if slot.get().use_ == Use::WillBeWritten {
        slot.get_mut().use_ = Use::Read;
    }
    Err(exit::usage(text))
}

/// Registers standard output, if that is a file: no input may be.
///
/// # Errors
/// If it is read.
#[cfg(unix)]
pub fn standard_output() -> anyhow::Result<()> {
    let own = crate::terminal::standard_output();
    match own.and_then(|fd| std::fs::File::from(fd).metadata()) {
        Ok(metadata) => standard_output_is(&metadata),
        // Nobody listens.
        Err(_) => Ok(()),
    }
}

/// Elsewhere nothing shows which file it is.
///
/// # Errors
/// Never.
#[cfg(not(unix))]
pub fn standard_output() -> anyhow::Result<()> {
    Ok(())
}

/// Whether a file is standard output, and empty: a shell has made it for that, and whoever lists
/// the directory that it is in has nothing to read in it.
#[cfg(unix)]
pub fn is_new_output(path: &Path) -> bool {
    let own = crate::terminal::standard_output();
    match (own.and_then(|fd| std::fs::File::from(fd).metadata()), std::fs::metadata(path)) {
        (Ok(own), Ok(metadata)) => is_empty_and(&own, path, &metadata),
        _ => false,
    }
}

/// Elsewhere nothing shows it.
#[cfg(not(unix))]
pub fn is_new_output(_: &Path) -> bool {
    false
}

/// Whether a file is that output, and empty.
#[cfg(unix)]
fn is_empty_and(output: &Metadata, path: &Path, metadata: &Metadata) -> bool {
    let known = id(path, metadata);
    metadata.len() == 0 && known.is_some() && known == id(path, output)
}

#[cfg(unix)]
fn standard_output_is(metadata: &Metadata) -> anyhow::Result<()> {
    let name = Path::new("standard output");
    let Some(id) = id(name, metadata) else { return Ok(()) };
    let entry = Entry { name: name.to_owned(), use_: Use::StandardOutput };
    let known = with(|ledger| enter(ledger.by_id.entry(id), entry));
    known.map_or(Ok(()), |known| Err(exit::usage(refusal("", name, &known))))
}

/// Registers a file that an option names as an output.
///
/// # Errors
/// If it is read, or named by another option.
pub fn will_write(option: &str, path: &Path) -> anyhow::Result<()> {
    register(option, path, Use::WillBeWritten)
}

/// Registers a file that a process writes which this one starts.
///
/// # Errors
/// If this process reads or writes it.
pub fn others_write(option: &str, path: &Path) -> anyhow::Result<()> {
    register(option, path, Use::WrittenByOthers)
}

/// Registers a file that is opened now to be written, and has not been touched.
///
/// # Errors
/// If it is read or written already.
pub fn writes(path: &Path) -> anyhow::Result<()> {
    register("", path, Use::Written)
}

/// Registers the file that a name has now, which is being written.
pub fn is_open(path: &Path) {
    let Ok(metadata) = std::fs::metadata(path) else { return };
    let Some(id) = id(path, &metadata) else { return };
    let entry = Entry { name: path.to_owned(), use_: Use::Written };
    with(|ledger| ledger.by_id.insert(id, entry));
}

fn register(option: &str, path: &Path, use_: Use) -> anyhow::Result<()> {
    let entry = Entry { name: path.to_owned(), use_ };
    let known = match std::fs::metadata(path) {
        Ok(metadata) => {
            let Some(id) = id(path, &metadata) else { return Ok(()) };
            with(|ledger| enter(ledger.by_id.entry(id), entry))
        }
        Err(_) => {
            let Some(place) = place(path) else { return Ok(()) };
            with(|ledger| enter(ledger.by_place.entry(place), entry))
        }
    };
    known.map_or(Ok(()), |known| Err(exit::usage(refusal(option, path, &known))))
}

/// Enters an output, unless the file is in another's use: then that is returned.
fn enter<K>(slot: hash_map::Entry<'_, K, Entry>, entry: Entry) -> Option<Entry> {
    match slot {
        hash_map::Entry::Vacant(slot) => {
            slot.insert(entry);
            None
        }
        hash_map::Entry::Occupied(mut slot) => {
            let may = match (slot.get().use_, entry.use_) {
                // What an argument announced is now opened.
                (Use::WillBeWritten, Use::Written) | (Use::StandardOutput, _) => true,
                // One after another: they are started so.
                (known, new) => known == Use::WrittenByOthers && new == known,
            };
            if may {
                slot.insert(entry);
            }
            (!may).then(|| slot.get().clone())
        }
    }
}

fn refusal(option: &str, path: &Path, known: &Entry) -> String {
    let option = if option.is_empty() { String::new() } else { format!("{option} ") };
    let (shown, other) = (path.display(), known.name.display());
    let is = if path == known.name {
        String::new()
    } else {
        format!(" is the same file as {other}, and it")
    };
    match known.use_ {
        Use::Read => format!(
            "{option}{shown}{is} would be overwritten, and {other} is read; name another output"
        ),
        _ => format!(
            "{option}{shown}{is} would be written twice, for {other} as well; name another output"
        ),
    }
}

/// Which file it is; none for what is no file but a way to somebody: terminals, pipes, `/dev/null`.
#[cfg(unix)]
fn id(_: &Path, metadata: &Metadata) -> Option<Id> {
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    let kind = metadata.file_type();
    let is_way = kind.is_char_device() || kind.is_fifo() || kind.is_socket();
    (!is_way).then(|| (metadata.dev(), metadata.ino()))
}

#[cfg(not(unix))]
fn id(path: &Path, _: &Metadata) -> Option<Id> {
    path.canonicalize().ok()
}

/// Where a file would be made: its directory and its name there.
fn place(path: &Path) -> Option<(Id, OsString)> {
    let path = end_of_links(path);
    let directory = match path.parent()? {
        empty if empty.as_os_str().is_empty() => Path::new("."),
        parent => parent,
    };
    let metadata = std::fs::metadata(directory).ok()?;
    Some((id(directory, &metadata)?, path.file_name()?.to_owned()))
}

/// What a name stands for in the end, even if there is nothing.
pub fn end_of_links(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(next) = std::fs::read_link(&path) else { break };
        let base = path.parent().unwrap_or(Path::new(""));
        path = base.join(next);
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_refused_for_reading_is_not_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let source = folder.path().join("main.c");
        std::fs::write(&source, "int main;").expect("a file");
        will_write("-o", &source).expect("nobody's");
        let metadata = std::fs::metadata(&source).expect("a file");
        assert!(opens(&source, &metadata).is_err());
        let error = writes(&source).expect_err("it is an input").to_string();
        assert!(error.contains("main.c is read"), "{error}");
        let built = folder.path().join("built.elf");
        will_read(&built).expect("it is made later");
        assert!(will_write("-o", &built).is_err());
    }

    #[test]
    fn files_of_other_processes_are_reusable_only_by_them() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("in"), "content").expect("a file");
        reads(&at("in"));
        assert!(others_write("--uart", &at("in")).is_err());
        for _ in 0..2 {
            others_write("--uart", &at("log")).expect("one after another");
        }
        will_read(&at("log")).expect("the next one reads it");
        assert!(will_write("-o", &at("log")).is_err());
    }

    #[test]
    fn standard_output_may_be_an_output_but_not_input() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        for name in ["in", "log", "later"] {
            std::fs::write(at(name), "content").expect("a file");
        }
        let metadata = |name: &str| std::fs::metadata(at(name)).expect("a file");
        reads(&at("in"));
        let error = standard_output_is(&metadata("in")).expect_err("it is read").to_string();
        assert!(error.contains("in is read"), "{error}");
        standard_output_is(&metadata("log")).expect("nobody's");
        will_write("--markdown", &at("log")).expect("the same text goes there");
        writes(&at("log")).expect("that was announced");
        standard_output_is(&metadata("later")).expect("nobody's");
        let error = opens(&at("later"), &metadata("later")).expect_err("it is written").to_string();
        assert!(error.contains("standard output would be written"), "{error}");
    }

    #[test]
    fn an_empty_standard_output_is_nothing_to_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        for (name, content) in [("new", ""), ("log", "content"), ("other", "")] {
            std::fs::write(at(name), content).expect("a file");
        }
        let metadata = |name: &str| std::fs::metadata(at(name)).expect("a file");
        let is = |output, name| is_empty_and(&metadata(output), &at(name), &metadata(name));
        assert_eq!((is("new", "new"), is("new", "other"), is("log", "log")), (true, false, false));
    }

    #[test]
    fn an_output_is_neither_an_input_nor_another_output() {
        let folder = tempfile::tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("in"), "content").expect("a file");
        std::fs::hard_link(at("in"), at("hard")).expect("a link");
        std::os::unix::fs::symlink("in", at("soft")).expect("a link");
        std::os::unix::fs::symlink("new", at("dangling")).expect("a link");
        reads(&at("in"));
        for name in ["in", "hard", "soft", "./in"] {
            let error = will_write("-o", &at(name)).expect_err(name).to_string();
            assert!(error.contains("-o ") && error.contains("in is read"), "{error}");
        }
        will_write("-o", &at("new")).expect("nobody's");
        assert!(will_write("--swo", &at("dangling")).is_err(), "the same file, not made yet");
        writes(&at("new")).expect("that was announced");
        will_write("-o", Path::new("/dev/null")).expect("takes all");
        will_write("--swo", Path::new("/dev/null")).expect("takes all");
    }
}
