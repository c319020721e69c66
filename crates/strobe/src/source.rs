//! Source text for annotated listings, read from the files that the debug information names.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use strobe_symbols::Firmware;

use crate::files::{self, Kind};

/// Names of source files that are looked for, at most: the largest programs have some thousands.
const MOST_FILES: usize = 100_000;

/// Source files by the name that the debug information gives them.
pub struct Sources {
    /// From where relative names are meant; empty for this process's own directory.
    base: PathBuf,
    roots: Vec<PathBuf>,
    files: HashMap<String, Option<Vec<String>>>,
}

impl Sources {
    /// Files are looked for as they are named, then under each of `roots` by ever shorter ends of
    /// the name.
    pub fn new(roots: &[PathBuf]) -> Self {
        Sources { base: PathBuf::new(), roots: roots.to_vec(), files: HashMap::new() }
    }

    /// The same as a process in that directory finds them.
    #[must_use]
    pub fn seen_from(self, directory: &Path) -> Self {
        let roots = self.roots.iter().map(|root| directory.join(root)).collect();
        Sources { base: directory.to_owned(), roots, ..self }
    }

    /// One line of a file, if it is to be had.
    pub fn text(&mut self, file: &str, line: u32) -> Option<String> {
        if !self.files.contains_key(file) {
            let lines = self.read(file);
            self.files.insert(file.to_owned(), lines);
        }
        let lines = self.files.get(file)?.as_ref()?;
        lines.get(line.checked_sub(1)? as usize).map(|text| text.trim_end().to_owned())
    }

    /// Registers the files that a firmware's code is from: they may be read when outputs have been
    /// begun.
    ///
    /// # Errors
    /// If one of them is an output.
    pub fn register(&self, firmware: &Firmware) -> anyhow::Result<()> {
        let files = firmware.source_files().take(MOST_FILES);
        files.filter_map(|file| self.find(file)).try_for_each(|found| files::will_read(&found))
    }

    /// Where a file is, if it is there.
    fn find(&self, file: &str) -> Option<PathBuf> {
        let ends = |root: &PathBuf| {
            let parts: Vec<_> = Path::new(file).iter().collect();
            let shorter = (0..parts.len()).map(move |i| parts[i..].iter().collect::<PathBuf>());
            let root = root.clone();
            shorter
                .filter(|end| end.is_relative())
                .map(move |end| root.join(end))
                .collect::<Vec<_>>()
        };
        let candidates =
            std::iter::once(self.base.join(file)).chain(self.roots.iter().flat_map(ends));
        candidates.into_iter().find(|path| {
            std::fs::metadata(path).is_ok_and(|m| m.is_file() && m.len() <= Kind::SOURCE.most_bytes)
        })
    }

    fn read(&self, file: &str) -> Option<Vec<String>> {
        let text = files::bytes(&self.find(file)?, &Kind::SOURCE).ok()?;
        Some(String::from_utf8_lossy(&text).lines().map(str::to_owned).collect())
    }
}
