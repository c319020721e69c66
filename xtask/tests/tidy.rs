//! The rules of ARCHITECTURE.md that can be checked from the sources.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

type Crates = BTreeMap<String, BTreeSet<String>>;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask is in the repository").to_owned()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(directory).unwrap_or_else(|e| panic!("{}: {e}", directory.display()));
    entries.map(|entry| entry.expect("a directory entry").path()).collect()
}

/// Every Rust file below a directory.
fn rust_files(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut directories = vec![directory.to_owned()];
    while let Some(directory) = directories.pop() {
        for path in entries(&directory) {
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files
}

/// The workspace dependencies of each crate, from the manifests.
fn dependencies() -> Crates {
    let crates = entries(&root().join("crates")).into_iter().chain([root().join("xtask")]);
    let parse = |directory: PathBuf| -> toml::Table {
        read(&directory.join("Cargo.toml")).parse().expect("a manifest")
    };
    let tables: Vec<toml::Table> = crates.map(parse).collect();
    let name = |table: &toml::Table| {
        table["package"]["name"].as_str().expect("a package has a name").to_owned()
    };
    let ours: BTreeSet<String> = tables.iter().map(name).collect();
    let depends = |table: &toml::Table| {
        let dependencies = table.get("dependencies").and_then(|d| d.as_table());
        let names = dependencies.into_iter().flat_map(|d| d.keys().cloned());
        names.filter(|name| ours.contains(name)).collect()
    };
    tables.iter().map(|table| (name(table), depends(table))).collect()
}

/// The same from the first and last columns of ARCHITECTURE.md's table of crates.
fn documented() -> Crates {
    let text = read(&root().join("ARCHITECTURE.md"));
    let (_, table) = text.split_once("| crate | is | depends on |\n").expect("the table of crates");
    let rows = table.lines().skip(1).take_while(|line| line.starts_with('|'));
    rows.map(|row| {
        let cells: Vec<&str> = row.split('|').collect();
        (quoted(cells[1]).into_iter().collect(), quoted(cells[3]))
    })
    .collect()
}

/// The words in backquotes.
fn quoted(cell: &str) -> BTreeSet<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

#[test]
fn crates_depend_on_each_other_as_documented() {
    assert_eq!(dependencies(), documented(), "manifests (left), ARCHITECTURE.md (right)");
}

#[test]
fn every_file_says_first_why_it_exists() {
    let mut files = rust_files(&root().join("crates"));
    files.extend(rust_files(&root().join("xtask")));
    assert!(files.len() > 50, "hardly any files under {}", root().display());
    files.retain(|path| !read(path).starts_with("//!"));
    assert!(files.is_empty(), "no comment `//!` at the top of {files:?}");
}

/// The lines of a crate's library with one of the words in their code; tests in it are exempt.
fn lines_with(name: &str, words: &[&str]) -> Vec<String> {
    let files = rust_files(&root().join("crates").join(name).join("src"));
    assert!(!files.is_empty(), "{name} has no sources");
    let tests: BTreeSet<String> = files.iter().flat_map(|path| test_modules(&read(path))).collect();
    let mut found = Vec::new();
    for path in files {
        if tests.contains(&path.file_stem().unwrap_or_default().to_string_lossy().into_owned()) {
            continue;
        }
        let text = read(&path);
        let library = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
        for line in library.lines().filter(|line| !line.trim_start().starts_with("//")) {
            if words.iter().any(|word| line.contains(word)) {
                found.push(format!("{}: {}", path.display(), line.trim()));
            }
        }
    }
    found
}

/// Modules in files of their own that are declared for tests only.
fn test_modules(text: &str) -> Vec<String> {
    let after_cfg = text.split("#[cfg(test)]\n").skip(1).filter_map(|rest| rest.lines().next());
    let declared = after_cfg.filter_map(|line| line.trim().strip_suffix(';')?.split_once("mod "));
    declared.map(|(_, name)| name.to_owned()).collect()
}

#[test]
fn libraries_neither_print_nor_look_around_nor_know_the_time() {
    let forbidden = [
        "print!(",
        "println!(",
        "stdout()",
        "stderr()",
        "std::fs",
        "std::env",
        "std::net",
        "std::process",
        "SystemTime",
        "Instant::",
    ];
    for name in ["strobe-model", "strobe-decode", "strobe-symbols", "strobe-sim", "strobe-report"] {
        assert_eq!(lines_with(name, &forbidden), Vec::<String>::new());
    }
    // Sources do I/O, but only in their host ports.
    let mut source = lines_with("strobe-source", &forbidden);
    let ends = ["strobe-source/src/serial", "strobe-source/src/trace"];
    source.retain(|found| !ends.iter().any(|end| found.contains(end)));
    assert_eq!(source, Vec::<String>::new());
    // A control: the command does open files, so the check must find it.
    assert!(!lines_with("strobe", &["std::fs"]).is_empty());
}

/// The seed of property tests comes from .cargo/config.toml, and that of everything else from the
/// test itself.
#[test]
fn no_test_draws_other_numbers_each_time() {
    let random =
        ["RngSeed::Random", "rng_seed:", "new_with_rng", "use rand", "rand::rng", "RandomState"];
    let mut files = rust_files(&root().join("crates"));
    files.extend(rust_files(&root().join("xtask/src")));
    files.retain(|path| random.iter().any(|word| read(path).contains(word)));
    assert!(files.is_empty(), "{random:?} in {files:?}");
}

/// The maximum depth of `..` in the paths of a text, each with the text before it on its line.
fn climbs(text: &str) -> Vec<(&str, usize)> {
    let mut found = Vec::new();
    for line in text.lines() {
        let mut from = 0;
        while let Some(at) = line[from..].find("../").map(|at| from + at) {
            let steps = line[at..].split('/').take_while(|part| part.starts_with("..")).count();
            found.push((&line[..at], steps));
            from = at + 3 * steps - 1;
        }
    }
    found
}

/// Paths in a file that leave the repository. Paths are relative to the file's folder or its
/// package's, both so many directories below the root.
fn outside(text: &str, folder_depth: usize, package_depth: Option<usize>) -> Vec<String> {
    let own = ["include_str!(\"", "include_bytes!(\"", "include!(\"", "#[path = \""];
    let leaves = |(before, steps): &(&str, usize)| {
        let from_folder = own.iter().any(|macro_name| before.ends_with(macro_name));
        let depth = package_depth.filter(|_| !from_folder).unwrap_or(folder_depth);
        *steps > depth
    };
    let climbing = climbs(text).into_iter().filter(leaves);
    let mut found: Vec<String> =
        climbing.map(|(before, steps)| format!("{before}{}", "../".repeat(steps))).collect();
    // Recordings are outside the repository.
    let named = concat!("shared", "/data");
    found.extend(text.lines().filter(|line| line.contains(named)).map(str::to_owned));
    found
}

/// A clone is complete: tests and build need no files outside it.
#[test]
fn nothing_refers_to_a_file_outside_the_repository() {
    let root = root();
    let mut paths = vec![root.join("Makefile")];
    let mut directories: Vec<PathBuf> =
        ["crates", "xtask", "scripts", "firmware"].iter().map(|name| root.join(name)).collect();
    let built = [root.join("firmware/build")];
    while let Some(directory) = directories.pop() {
        for path in entries(&directory) {
            let is_output = path.file_name().is_some_and(|name| name == "target");
            if is_output || built.contains(&path) {
                continue;
            }
            if path.is_dir() { directories.push(path) } else { paths.push(path) }
        }
    }
    assert!(paths.len() > 500, "hardly any files under {}", root.display());
    let mut found = Vec::new();
    for path in paths {
        let depth = |path: &Path| path.strip_prefix(&root).map_or(0, |p| p.components().count());
        let folder = path.parent().unwrap_or(&root);
        let package = folder.ancestors().find(|folder| folder.join("Cargo.toml").is_file());
        let is_rust = path.extension().is_some_and(|extension| extension == "rs");
        let package_depth = package.filter(|_| is_rust).map(depth);
        // Files that are not text refer to nothing.
        let Ok(text) = fs::read_to_string(&path) else { continue };
        let places = outside(&text, depth(folder), package_depth);
        found.extend(places.into_iter().map(|place| format!("{}: {place}", path.display())));
    }
    assert!(found.is_empty(), "paths that leave the repository: {found:#?}");
}

#[test]
fn paths_that_leave_the_repository_are_seen() {
    let up = |steps: usize| "../".repeat(steps);
    let cases = [
        (format!("join(\"{}boards\")", up(2)), 0),
        (format!("join(\"{}data\")", up(3)), 1),
        (format!("concat!(env!(\"X\"), \"/{}..\")", up(2)), 1),
        (format!("include_str!(\"{}boards/a.toml\")", up(4)), 0),
        (format!("include_str!(\"{}a.toml\")", up(5)), 1),
        (format!("a(\"../x\", \"{}y\")", up(3)), 1),
        (concat!("/srv/shared", "/data/x").to_owned(), 1),
        ("let all = &bytes[1..]; // 0..n / 2".to_owned(), 0),
    ];
    for (text, wanted) in cases {
        assert_eq!(outside(&text, 4, Some(2)).len(), wanted, "{text}");
    }
}
