//! Source text for annotated listings, read from the files that the debug information names.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::files::{self, Kind};

/// Source files by the name that the debug information gives them.
pub struct Sources {
    roots: Vec<PathBuf>,
    files: HashMap<String, Option<Vec<String>>>,
}

impl Sources {
    /// Files are looked for as they are named, then under each of `roots` by ever shorter ends of
    /// the name.
    pub fn new(roots: &[PathBuf]) -> Self {
        Sources { roots: roots.to_vec(), files: HashMap::new() }
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

    fn read(&self, file: &str) -> Option<Vec<String>> {
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
            std::iter::once(PathBuf::from(file)).chain(self.roots.iter().flat_map(ends));
        let found = candidates.into_iter().find(|path| {
            std::fs::metadata(path).is_ok_and(|m| m.is_file() && m.len() <= Kind::SOURCE.most_bytes)
        })?;
        let text = files::bytes(&found, &Kind::SOURCE).ok()?;
        Some(String::from_utf8_lossy(&text).lines().map(str::to_owned).collect())
    }
}
