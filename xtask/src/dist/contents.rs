//! The content of an archive: the program, readme, licences, manual pages and completions.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::build::{Builder, output};
use super::notices;
use super::target::Target;

/// A file of an archive.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct File {
    pub(super) bytes: Vec<u8>,
    pub(super) executable: bool,
}

/// Files, sorted by their path below the archive's folder.
pub(super) type Files = BTreeMap<String, File>;

const DOCUMENTS: [&str; 4] = ["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"];

/// Shells, and the file name of strobe's completion script for each.
const COMPLETIONS: [(&str, &str); 5] = [
    ("bash", "strobe.bash"),
    ("elvish", "strobe.elv"),
    ("fish", "strobe.fish"),
    ("powershell", "_strobe.ps1"),
    ("zsh", "_strobe"),
];

/// Collects the files. `own` is a strobe that runs here.
pub(super) fn collect(
    builder: &Builder,
    target: &Target,
    binary: &Path,
    own: &Path,
) -> Result<Files> {
    let mut files = Files::new();
    let mut add = |path: String, bytes: Vec<u8>| {
        files.insert(path, File { bytes, executable: false });
    };
    for name in DOCUMENTS {
        add(name.to_owned(), read(&builder.root.join(name))?);
    }
    add("THIRD-PARTY.txt".to_owned(), notices::collect(builder.root, target.triple)?.into_bytes());
    for (shell, name) in COMPLETIONS {
        let script = output(Command::new(own).args(["completions", shell]))?;
        add(format!("completions/{name}"), (script + "\n").into_bytes());
    }
    let pages = tempfile::tempdir().context("cannot create a folder for the manual")?;
    output(Command::new(own).args(["man", "--out"]).arg(pages.path()))?;
    for entry in std::fs::read_dir(pages.path())? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        add(format!("man/man1/{name}"), read(&path)?);
    }
    let program = File { bytes: read(binary)?, executable: true };
    files.insert(target.binary().to_owned(), program);
    Ok(files)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}
