//! The notices that the licences of all compiled-in crates require, in one text.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::build::{FEATURES, MANIFEST, cargo, output};

/// Prefixes of the names of files with a licence or a notice.
const NAMES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "COPYRIGHT"];

/// Every crate in a build for the target, with its licence and the texts in its package.
pub(super) fn collect(root: &Path, triple: &str) -> Result<String> {
    let folders = folders(root)?;
    let mut list = String::new();
    let mut texts: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let linked = linked(root, triple)?;
    for (package, licence) in &linked {
        // Our own have the licences of the archive.
        let Some(folder) = folders.get(package) else { continue };
        list += &format!("{package}: {licence}\n");
        for notice in notices(folder)? {
            texts.entry(notice).or_default().push(package);
        }
    }
    if list.is_empty() {
        bail!("cargo tree lists no dependencies");
    }
    let mut text = format!(
        "strobe contains these crates, each under its own licence. Their sources are at \
         https://crates.io.\n\n{list}"
    );
    for (notice, packages) in texts {
        let line = "-".repeat(100);
        text += &format!("\n{line}\n{}:\n\n{notice}\n", packages.join(", "));
    }
    Ok(text)
}

/// The packages that strobe is linked with, as `name version`, and their licences.
fn linked(root: &Path, triple: &str) -> Result<BTreeSet<(String, String)>> {
    let mut command = cargo(root);
    command.args(["tree", "--locked", "--manifest-path", MANIFEST, FEATURES, "--target", triple]);
    command.args(["--edges", "normal,no-proc-macro", "--prefix", "none", "--format", "{p}|{l}"]);
    let text = output(&mut command)?;
    let package = |line: &str| {
        let (package, licence) = line.split_once('|')?;
        // `name v1.2.3`, and more where the source is not the registry.
        let mut words = package.split(' ');
        let (name, version) = (words.next()?, words.next()?.strip_prefix('v')?);
        Some((format!("{name} {version}"), licence.trim_end_matches(" (*)").to_owned()))
    };
    Ok(text.lines().filter_map(package).collect())
}

/// Source directories of the packages from the registry, by `name version`.
fn folders(root: &Path) -> Result<BTreeMap<String, PathBuf>> {
    let mut command = cargo(root);
    command.args(["metadata", "--format-version", "1", "--locked"]);
    let metadata: Value = serde_json::from_str(&output(&mut command)?)?;
    let packages = metadata["packages"].as_array().context("cargo metadata lists no packages")?;
    let folder = |package: &Value| {
        package["source"].as_str()?;
        let manifest = Path::new(package["manifest_path"].as_str()?);
        let name = format!("{} {}", package["name"].as_str()?, package["version"].as_str()?);
        Some((name, manifest.parent()?.to_owned()))
    };
    Ok(packages.iter().filter_map(folder).collect())
}

/// The texts in a package's folder.
fn notices(folder: &Path) -> Result<Vec<String>> {
    let mut notices = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
        if path.is_file() && NAMES.iter().any(|begin| name.starts_with(begin)) {
            let bytes = std::fs::read(&path)?;
            notices
                .push(String::from_utf8_lossy(&bytes).replace("\r\n", "\n").trim_end().to_owned());
        }
    }
    notices.sort();
    Ok(notices)
}
