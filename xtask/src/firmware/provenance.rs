//! `firmware/prebuilt/PROVENANCE.toml`: the compiler and the sources of each prebuilt ELF.
//!
//! It allows a checkout to be verified without the compiler: the hashes show an ELF that was
//! replaced or a source that was edited without a rebuild.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::build::{self, Places};
use super::manifest::{CToolchain, Manifest, Program};

const HEADER: &str = "\
# Written by `cargo xtask firmware --bless`; do not edit.
# Paths are relative to the repository, hashes are SHA-256.

";

/// The identity of a tool chain: a version line or a hash per part.
pub(crate) type Toolchain = BTreeMap<String, String>;

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Provenance {
    pub(crate) toolchain: BTreeMap<String, Toolchain>,
    pub(crate) program: BTreeMap<String, Record>,
}

/// The origin of one ELF.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Record {
    command: String,
    elf: String,
    inputs: BTreeMap<String, String>,
}

impl Provenance {
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| {
            format!("reading {}: `cargo xtask firmware --bless` writes it", path.display())
        })?;
        toml::from_str(&text).with_context(|| format!("in {}", path.display()))
    }

    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        let text = format!("{HEADER}{}", toml::to_string(self)?);
        std::fs::write(path, text).with_context(|| format!("writing {}", path.display()))
    }
}

impl Record {
    pub(crate) fn of(
        manifest: &Manifest,
        program: &Program,
        places: &Places,
        elf: &[u8],
    ) -> Result<Self> {
        let mut inputs = BTreeMap::new();
        for path in build::inputs(manifest, program, places)? {
            let hash = hash_file(&places.root.join(&path))?;
            inputs.insert(path, hash);
        }
        let command = build::command(manifest, program)?.to_string();
        Ok(Self { command, elf: hash(elf), inputs })
    }

    /// The disagreements with the checkout; needs no compiler.
    pub(crate) fn disagreements(&self, root: &Path, command: &str, elf: &[u8]) -> Vec<String> {
        let mut found = Vec::new();
        if hash(elf) != self.elf {
            found.push("the prebuilt ELF is not the one its provenance describes".into());
        }
        if command != self.command {
            found.push("firmware.toml builds it with another command than recorded".into());
        }
        for (path, recorded) in &self.inputs {
            match hash_file(&root.join(path)) {
                Ok(now) if now == *recorded => {}
                Ok(_) => found.push(format!("{path} was edited since")),
                Err(error) => found.push(format!("{error:#}")),
            }
        }
        found
    }
}

/// The C compiler, linker and libraries installed here.
pub(crate) fn c_toolchain(c: &CToolchain) -> Result<Toolchain> {
    let hint = || format!("{} is missing: {}", c.compiler, c.install);
    let ask = |argument: &str| {
        let flags = c.flags.iter().filter(|flag| flag.starts_with("-m"));
        first_line(Command::new(&c.compiler).args(flags).arg(argument)).with_context(hint)
    };
    let mut toolchain = Toolchain::from([("compiler".into(), ask("--version")?)]);
    let linker = ask("-print-prog-name=ld")?;
    toolchain.insert("linker".into(), first_line(Command::new(linker).arg("--version"))?);
    for library in &c.libraries {
        let path = ask(&format!("-print-file-name={library}"))?;
        let hash = hash_file(Path::new(&path)).with_context(|| c.install.clone())?;
        toolchain.insert(library.clone(), hash);
    }
    Ok(toolchain)
}

/// The Rust compiler that this repository's tool chain file selects.
pub(crate) fn rust_toolchain(manifest: &Manifest, root: &Path) -> Result<Toolchain> {
    let version = first_line(Command::new("rustc").arg("--version").current_dir(root))
        .with_context(|| manifest.rust.install.clone())?;
    Ok(Toolchain::from([("compiler".into(), version)]))
}

fn first_line(command: &mut Command) -> Result<String> {
    let output = command.output().with_context(|| format!("starting {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().next().unwrap_or_default().to_owned())
}

fn hash_file(path: &Path) -> Result<String> {
    Ok(hash(&std::fs::read(path).with_context(|| format!("reading {}", path.display()))?))
}

fn hash(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edited_source_and_a_replaced_elf_show() {
        let directory = tempfile::tempdir().expect("a directory");
        let source = directory.path().join("main.c");
        std::fs::write(&source, "int main;").expect("a file");
        let record = Record {
            command: "cc main.c".into(),
            elf: hash(b"elf"),
            inputs: BTreeMap::from([("main.c".into(), hash(b"int main;"))]),
        };
        let disagreements = |command, elf| record.disagreements(directory.path(), command, elf);
        assert_eq!(disagreements("cc main.c", b"elf"), Vec::<String>::new());
        assert_eq!(disagreements("cc main.c", b"fle").len(), 1);
        assert_eq!(disagreements("cc -O2 main.c", b"elf").len(), 1);

        std::fs::write(&source, "int main();").expect("a file");
        assert_eq!(disagreements("cc main.c", b"elf"), ["main.c was edited since"]);
        std::fs::remove_file(&source).expect("removed");
        assert!(disagreements("cc main.c", b"elf")[0].starts_with("reading "));
    }
}
