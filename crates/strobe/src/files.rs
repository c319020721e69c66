//! Every file that a command reads or writes: the one place where files are opened.
//!
//! What is read is registered with the device and inode that it has, and so is what is written,
//! before anything is opened or truncated: no output may be an input, by whatever name, nor another
//! output. What is read must be a regular file within its limit; what is written as a whole is
//! written beside the old result and takes its place at the end.

mod ledger;
mod lock;
mod read;
mod recording;
mod write;

use std::path::{Path, PathBuf};

use crate::exit;

pub use ledger::{is_new_output, will_read};
pub use read::{Kind, below, bytes, folders, head, is_directory, open, stream, text};
pub use recording::Recording;
pub use write::{
    AtomicFile, append, cannot_write, commit_logs, folder, fresh, link, log, log_failed, replace,
    within, write,
};

/// The name that stands for standard output where `-o` is given it.
const STANDARD_OUTPUT: &str = "-";

/// The file that `-o` names; none if that is standard output.
pub fn of_output<P: AsRef<Path> + ?Sized>(path: &P) -> Option<&Path> {
    Some(path.as_ref()).filter(|path| *path != Path::new(STANDARD_OUTPUT))
}

/// What a command was asked to read and to write, by its arguments.
///
/// Files that are named elsewhere, as a rig's firmware, are registered when they are read, which
/// is before anything is written.
#[derive(Default)]
pub struct FileSet {
    inputs: Vec<PathBuf>,
    outputs: Vec<(String, PathBuf)>,
}

impl FileSet {
    /// Files that are read; with those in it if it is a directory.
    pub fn reads<P: AsRef<Path>>(&mut self, paths: impl IntoIterator<Item = P>) -> &mut Self {
        self.inputs.extend(paths.into_iter().map(|path| path.as_ref().to_owned()));
        self
    }

    /// The files of an archive of measurements; what else is in its folders is not read.
    pub fn reads_archive(&mut self, directory: &Path) -> &mut Self {
        let files = below(directory).unwrap_or_default();
        let parquet = files.iter().filter(|file| file.extension().is_some_and(|e| e == "parquet"));
        self.inputs.extend(parquet.map(|file| directory.join(file)));
        self
    }

    /// A file that is written, for that option.
    pub fn writes<P: AsRef<Path>>(
        &mut self,
        option: &str,
        paths: impl IntoIterator<Item = P>,
    ) -> &mut Self {
        let paths = paths.into_iter().map(|path| path.as_ref().to_owned());
        self.outputs.extend(paths.map(|path| (option.to_owned(), path)));
        self
    }

    /// The same files, named from that directory.
    #[must_use]
    pub fn within(self, directory: &Path) -> Self {
        let from_there = |path: PathBuf| directory.join(path);
        let outputs = self.outputs.into_iter();
        FileSet {
            inputs: self.inputs.into_iter().map(from_there).collect(),
            outputs: outputs.map(|(option, path)| (option, from_there(path))).collect(),
        }
    }

    /// The files of others as well.
    pub fn add(&mut self, others: FileSet) -> &mut Self {
        self.inputs.extend(others.inputs);
        self.outputs.extend(others.outputs);
        self
    }

    /// Registers all of them.
    ///
    /// # Errors
    /// If an output, standard output among them, is an input or another output, or bears the name
    /// of standard output (64); if another process writes it (74).
    pub fn register(self) -> anyhow::Result<()> {
        let standard = |(_, path): &&(String, PathBuf)| of_output(path).is_none();
        if let Some((option, _)) = self.outputs.iter().find(standard) {
            return Err(exit::usage(format!(
                "{option} -: only -o writes to standard output by that name; give ./- for a file \
                 of that name, or another one"
            )));
        }
        self.inputs.iter().for_each(|path| ledger::reads(path));
        ledger::standard_output()?;
        self.outputs.iter().try_for_each(|(option, path)| ledger::will_write(option, path))?;
        self.outputs.iter().try_for_each(|(_, path)| write::is_free(path))
    }

    /// Registers what processes read and write that this one starts, one after another: some may
    /// read what others have written.
    ///
    /// # Errors
    /// If they write what this one reads, or read or write what this one writes (64).
    pub fn register_for_others(self) -> anyhow::Result<()> {
        self.outputs.iter().try_for_each(|(option, path)| ledger::others_write(option, path))?;
        self.inputs.iter().try_for_each(|path| ledger::will_read(path))
    }
}
