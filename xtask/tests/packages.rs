//! The packages of the published crates are complete: each compiles from its own files alone, and
//! has the metadata that a registry shows.
//!
//! Nothing is built here: `cargo package --workspace` does that before a release (CONTRIBUTING.md).

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is in the repository").to_owned()
}

fn table(path: &Path) -> toml::Table {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    text.parse().unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The folders and manifests of the published crates.
fn published() -> Vec<(PathBuf, toml::Table)> {
    let folders = fs::read_dir(root().join("crates")).expect("crates/");
    let folders = folders.map(|entry| entry.expect("a directory entry").path());
    let manifests = folders.map(|folder| (table(&folder.join("Cargo.toml")), folder));
    let published = manifests.filter(|(manifest, _)| {
        manifest["package"].get("publish").and_then(toml::Value::as_bool) != Some(false)
    });
    let published: Vec<_> = published.map(|(manifest, folder)| (folder, manifest)).collect();
    assert!(published.len() >= 7, "only {} crates are published", published.len());
    published
}

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
        let path = entry.expect("a directory entry").path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

/// The path without `.` and `..`, as a compiler resolves it.
fn resolved(path: &Path) -> PathBuf {
    let mut resolved = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                assert!(resolved.pop(), "{}: above the root", path.display());
            }
            Component::CurDir => {}
            part => resolved.push(part),
        }
    }
    resolved
}

/// Files that the sources of a crate include besides modules.
fn included(folder: &Path) -> Vec<PathBuf> {
    let mut included = Vec::new();
    for file in rust_files(&folder.join("src")) {
        let text = fs::read_to_string(&file).expect("UTF-8");
        for word in ["include_str!(", "include_bytes!(", "include!("] {
            for rest in text.split(word).skip(1) {
                let path =
                    rest.trim_start().strip_prefix('"').and_then(|rest| rest.split_once('"'));
                let (path, _) = path.unwrap_or_else(|| panic!("{}: no path", file.display()));
                included.push(resolved(&file.parent().expect("a folder").join(path)));
            }
        }
    }
    included
}

#[test]
fn no_crate_takes_in_files_of_others() {
    let mut seen = 0;
    for (folder, _) in published() {
        for path in included(&folder) {
            assert!(
                path.starts_with(&folder),
                "{} includes {}, which is not in its package",
                folder.display(),
                path.display()
            );
            seen += 1;
        }
    }
    assert!(seen > 20, "only {seen} included files were seen");
}

/// The files of a crate's package, as cargo lists them.
fn packaged(manifest: &Path) -> BTreeSet<PathBuf> {
    let output = Command::new(env!("CARGO"))
        .args(["package", "--list", "--allow-dirty", "--offline", "--quiet", "--manifest-path"])
        .arg(manifest)
        .output()
        .expect("cargo runs");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {error}", manifest.display());
    String::from_utf8(output.stdout).expect("UTF-8").lines().map(PathBuf::from).collect()
}

#[test]
fn packages_have_what_their_crates_need() {
    for (folder, _) in published() {
        let packaged = packaged(&folder.join("Cargo.toml"));
        let notices = ["LICENSE-APACHE", "LICENSE-MIT", "README.md"].map(|file| folder.join(file));
        let needed = [rust_files(&folder.join("src")), included(&folder), notices.to_vec()];
        for path in needed.concat() {
            let path = path.strip_prefix(&folder).expect("it is in the crate");
            assert!(
                packaged.contains(path),
                "{}: `include` in Cargo.toml omits {}",
                folder.display(),
                path.display()
            );
        }
    }
}

#[test]
fn published_crates_have_registry_metadata() {
    for (folder, manifest) in published() {
        let package = manifest["package"].as_table().expect("a table");
        let fields = "description version license repository rust-version readme keywords \
                      categories include";
        for field in fields.split(' ') {
            assert!(package.contains_key(field), "{}: no {field}", folder.display());
        }
        let words = |field: &str| -> Vec<String> {
            let words = package[field].as_array().expect("a list").iter();
            words.map(|word| word.as_str().expect("a string").to_owned()).collect()
        };
        // The limits of crates.io.
        for field in ["keywords", "categories"] {
            assert!(words(field).len() <= 5, "{}: more than 5 {field}", folder.display());
        }
        assert!(words("keywords").iter().all(|word| word.len() <= 20), "{}", folder.display());
    }
}

#[test]
fn published_crates_depend_on_published_ones_by_version() {
    let workspace = table(&root().join("Cargo.toml"));
    let version = &workspace["workspace"]["package"]["version"];
    let known = workspace["workspace"]["dependencies"].as_table().expect("a table");
    for (folder, manifest) in published() {
        let dependencies = manifest.get("dependencies").and_then(toml::Value::as_table);
        for name in dependencies.into_iter().flat_map(toml::Table::keys) {
            let dependency = &known[name];
            let needs_version = dependency.get("path").is_some();
            assert!(
                !needs_version || dependency.get("version") == Some(version),
                "{}: {name} needs the version {version} beside its path",
                folder.display()
            );
        }
    }
}
