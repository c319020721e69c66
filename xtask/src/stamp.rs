//! Detects whether build results are up to date: hashes of inputs and results, in a file beside the
//! results.
//!
//! Building third-party programs takes minutes, and neither they nor the compilers change between
//! two runs of the tests. Modification times do not work: a fresh checkout has new ones.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The name of the stamp file in a directory of results.
const FILE: &str = "stamp.json";

/// The inputs of a directory of results, and its contents.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Stamp {
    inputs: String,
    outputs: BTreeMap<String, String>,
    /// The results were also run and printed the expected output.
    checked: bool,
}

impl Stamp {
    /// The stamp of the current contents of `directory`, made from `inputs`.
    pub(crate) fn of(directory: &Path, inputs: String, checked: bool) -> Result<Self> {
        let mut outputs = BTreeMap::new();
        for path in files(directory)? {
            let name = path.strip_prefix(directory)?.to_string_lossy().into_owned();
            if name != FILE {
                outputs.insert(name, hash(&read(&path)?));
            }
        }
        Ok(Self { inputs, outputs, checked })
    }

    /// The stamp stored in `directory`; `None` if it is missing or invalid.
    pub(crate) fn kept(directory: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(directory.join(FILE)).ok()?).ok()
    }

    pub(crate) fn keep(&self, directory: &Path) -> Result<()> {
        let path = directory.join(FILE);
        fs::write(&path, serde_json::to_string_pretty(self)?)
            .with_context(|| format!("cannot write {}", path.display()))
    }

    /// Whether `directory` is unchanged and made from these inputs, and has been checked if
    /// `check` is set.
    pub(crate) fn holds(&self, directory: &Path, inputs: &str, check: bool) -> Result<bool> {
        if self.inputs != inputs || (check && !self.checked) {
            return Ok(false);
        }
        Ok(Self::of(directory, self.inputs.clone(), self.checked)? == *self)
    }

    /// The number of files.
    pub(crate) fn len(&self) -> usize {
        self.outputs.len()
    }
}

/// One hash of files and directories (without cargo's `target`) and of strings such as versions.
pub(crate) fn hash_inputs(paths: &[PathBuf], words: &[String]) -> Result<String> {
    let mut hasher = Sha256::new();
    for root in paths {
        let found = if root.is_dir() { files(root)? } else { vec![root.clone()] };
        for path in found {
            // Relative, so that a checkout elsewhere has the same hash.
            let name = path.strip_prefix(root)?.to_string_lossy().into_owned();
            hasher.update(format!("{name}\0{}\n", hash(&read(&path)?)));
        }
    }
    for word in words {
        hasher.update(format!("{word}\n"));
    }
    Ok(hex(&hasher.finalize()))
}

/// Every file below a directory, sorted.
fn files(directory: &Path) -> Result<Vec<PathBuf>> {
    let (mut found, mut pending) = (Vec::new(), vec![directory.to_owned()]);
    while let Some(directory) = pending.pop() {
        let entries = fs::read_dir(&directory)
            .with_context(|| format!("cannot list {}", directory.display()))?;
        for entry in entries {
            let entry = entry?;
            let path = entry.path();
            if !path.is_dir() {
                found.push(path);
            } else if entry.file_name() != "target" {
                pending.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

fn hash(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_on_either_side_ends_it() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let (source, results) = (folder.path().join("source"), folder.path().join("results"));
        fs::create_dir_all(source.join("target"))?;
        fs::create_dir(&results)?;
        fs::write(source.join("main.c"), "one")?;
        fs::write(results.join("main.elf"), "image")?;
        let inputs = || hash_inputs(std::slice::from_ref(&source), &["gcc 12".to_owned()]);
        assert!(Stamp::kept(&results).is_none());
        Stamp::of(&results, inputs()?, false)?.keep(&results)?;
        let holds = |check| match Stamp::kept(&results) {
            Some(stamp) => stamp.holds(&results, &inputs()?, check),
            None => Ok(false),
        };
        assert!(holds(false)?);
        assert!(!holds(true)?, "it was not checked");
        fs::write(source.join("target/object"), "anything")?;
        assert!(holds(false)?, "cargo's output is not an input");
        fs::write(source.join("main.c"), "two")?;
        assert!(!holds(false)?);
        fs::write(source.join("main.c"), "one")?;
        assert!(holds(false)?);
        fs::write(results.join("main.elf"), "another")?;
        assert!(!holds(false)?);
        Ok(())
    }
}
