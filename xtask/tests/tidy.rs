//! The rules of ARCHITECTURE.md that can be checked from the sources.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

#[path = "tidy/codes.rs"]
mod codes;
#[path = "tidy/ids.rs"]
mod ids;
#[path = "tidy/wording.rs"]
mod wording;

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

/// The same as ARCHITECTURE.md has it, in the first and last columns of the table with that head.
fn documented(head: &str) -> Crates {
    let text = read(&root().join("ARCHITECTURE.md"));
    let (_, table) = text.split_once(head).expect("the table");
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
    let documented = documented("| crate | is | depends on |\n");
    assert_eq!(dependencies(), documented, "manifests (left), ARCHITECTURE.md (right)");
}

/// The code of a file without its inline tests and comments.
fn library(text: &str) -> impl Iterator<Item = &str> {
    let library = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    library.lines().filter(|line| !line.trim_start().starts_with("//"))
}

/// The module of a file, as `kernel::bus` is of `kernel/bus.rs`.
fn module_of(file: &Path) -> Vec<String> {
    let parts = file.with_extension("");
    parts.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect()
}

/// What a line of the module refers to in its crate, from the crate's root on.
fn references(line: &str, module: &[String]) -> Vec<Vec<String>> {
    let words = line.split(|c: char| !c.is_alphanumeric() && !"_:".contains(c));
    words
        .filter(|word| word.contains("::"))
        .filter_map(|word| {
            let mut path: Vec<&str> = word.trim_end_matches(':').split("::").collect();
            let climbs = path.iter().take_while(|part| **part == "super").count();
            // Layers of the simulator below the crate's own lie in another one.
            let is_absolute = matches!(path.first(), Some(&("crate" | "strobe_sim")));
            if climbs == 0 && !is_absolute {
                return None;
            }
            let kept = if is_absolute { 0 } else { module.len().saturating_sub(climbs) };
            path.drain(..climbs.max(1));
            let outer = module[..kept].iter().cloned();
            let path: Vec<String> = outer.chain(path.into_iter().map(str::to_owned)).collect();
            // A list from the root on, whose layers are not on the way.
            Some(if path.is_empty() { vec!["crate".to_owned()] } else { path })
        })
        .collect()
}

/// Cores do not know each other, nor do vendors' devices, but for what is there for all of them.
fn is_a_neighbour(module: &[String], path: &[String]) -> bool {
    let (Some(layer), Some(own), Some(other)) = (module.first(), module.get(1), path.get(1)) else {
        return false;
    };
    let has_neighbours = layer == "cores" || layer == "devices";
    let is_common = other == "common" && layer == "devices";
    has_neighbours && path.first() == Some(layer) && own != other && !is_common
}

/// The crates of the simulator, whose modules at the root are its layers.
const SIMULATOR: [&str; 2] = ["strobe-sim", "strobe-devices"];

/// The simulator's layers by name with those that each refers to, and references to a neighbour.
fn simulator_layers() -> (Crates, Vec<String>) {
    let (mut layers, mut neighbours) = (Crates::new(), Vec::new());
    for name in SIMULATOR {
        add_layers(&root().join("crates").join(name).join("src"), &mut layers, &mut neighbours);
    }
    (layers, neighbours)
}

/// The same of one crate's sources.
fn add_layers(source: &Path, layers: &mut Crates, neighbours: &mut Vec<String>) {
    let files = rust_files(source);
    let tests = test_folders(&files);
    for file in files {
        let module = module_of(file.strip_prefix(source).expect("it was found there"));
        let is_test = is_in(&file, &tests);
        let Some(layer) = module.first().filter(|name| !is_test && *name != "lib") else {
            continue;
        };
        let used = layers.entry(layer.clone()).or_default();
        for line in library(&read(&file)) {
            for path in references(line, &module) {
                used.extend(path.first().filter(|other| *other != layer).cloned());
                if is_a_neighbour(&module, &path) {
                    neighbours.push(format!("{}: {}", file.display(), line.trim()));
                }
            }
        }
    }
}

/// Lower layers know nothing of higher ones; names that the crate has for its callers are no
/// layers.
#[test]
fn the_simulators_layers_lead_one_way() {
    let (layers, neighbours) = simulator_layers();
    let documented = documented("| layer | is | imports |\n");
    assert_eq!(layers, documented, "sources (left), ARCHITECTURE.md (right)");
    assert_eq!(neighbours, Vec::<String>::new(), "cores and vendors do not know each other");
    // In the table's order a layer knows only those above it.
    let ranks = ["kernel", "cores", "devices", "boards", "machine"];
    let rank = |name: &String| ranks.iter().position(|layer| layer == name);
    for (layer, used) in &layers {
        assert!(used.iter().all(|other| rank(other) < rank(layer)), "{layer}: {used:?}");
    }
}

#[test]
fn references_to_other_layers_are_seen() {
    let module = |path: &str| module_of(Path::new(path));
    let first = |line: &str, file: &str| -> Vec<String> {
        references(line, &module(file)).into_iter().map(|path| path.join("::")).collect()
    };
    let bus = "kernel/bus/io.rs";
    assert_eq!(first("use crate::cores::avr::DATA;", bus), ["cores::avr::DATA"]);
    assert_eq!(first("let at = crate::boards::Board::new(super::IRQS);", bus).len(), 2);
    assert_eq!(first("use super::super::super::devices::models;", bus), ["devices::models"]);
    assert_eq!(first("use super::Bus;", bus), ["kernel::bus::Bus"]);
    assert_eq!(first("use crate::{cores, boards};", bus), ["crate"]);
    assert_eq!(first("use strobe_sim::kernel::bus::Bus;", "boards.rs"), ["kernel::bus::Bus"]);
    assert!(first("pub(crate) fn new(x: &mut std::fmt::Formatter) {", bus).is_empty());
    let names = |line: &str, file: &str| {
        references(line, &module(file)).iter().any(|path| is_a_neighbour(&module(file), path))
    };
    assert!(names("use crate::devices::stm32::Foo;", "devices/ti/gpio.rs"));
    assert!(names("use super::super::stm32::Foo;", "devices/ti/gpio.rs"));
    assert!(names("use crate::cores::arm;", "cores/avr/run.rs"));
    assert!(!names("use crate::devices::common::serial::Line;", "devices/ti/gpio.rs"));
    assert!(!names("use crate::kernel::bus::Bus;", "devices/ti/gpio.rs"));
}

#[test]
fn every_file_states_first_why_it_exists() {
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
    let tests = test_folders(&files);
    let mut found = Vec::new();
    for path in files {
        if is_in(&path, &tests) {
            continue;
        }
        let text = read(&path);
        for line in library(&text) {
            if words.iter().any(|word| line.contains(word)) {
                found.push(format!("{}: {}", path.display(), line.trim()));
            }
        }
    }
    found
}

/// Where the modules lie that are for tests alone, without the ending of their files.
fn test_folders(files: &[PathBuf]) -> BTreeSet<PathBuf> {
    let of_file = |path: &PathBuf| {
        let is_root = path.file_stem().is_some_and(|stem| stem == "lib" || stem == "main");
        let folder = if is_root { path.with_file_name("") } else { path.with_extension("") };
        test_modules(&read(path)).into_iter().map(move |name| folder.join(name))
    };
    files.iter().flat_map(of_file).collect()
}

/// Whether a file is one of those modules, or below one.
fn is_in(path: &Path, folders: &BTreeSet<PathBuf>) -> bool {
    path.with_extension("").ancestors().any(|module| folders.contains(module))
}

/// The modules in files of their own that a file declares for tests alone.
fn test_modules(text: &str) -> Vec<String> {
    let after_cfg = text.split("#[cfg(test)]\n").skip(1).filter_map(|rest| rest.lines().next());
    let declared = after_cfg.filter_map(|line| line.trim().strip_suffix(';')?.split_once("mod "));
    declared.map(|(_, name)| name.to_owned()).collect()
}

#[test]
fn libraries_neither_print_nor_read_environment_or_clock() {
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
    let silent =
        ["strobe-model", "strobe-decode", "strobe-symbols", "strobe-source", "strobe-report"];
    for name in silent.iter().chain(&SIMULATOR) {
        assert_eq!(lines_with(name, &forbidden), Vec::<String>::new());
    }
    // A control: the command does open files, so the check must find it.
    assert!(!lines_with("strobe", &["std::fs"]).is_empty());
}

/// What opens, makes, replaces or removes a file.
const FILES: [&str; 12] = [
    "File::open",
    "File::create",
    "File::options",
    "OpenOptions",
    "fs::read(",
    "fs::read_to_string",
    "fs::write",
    "fs::rename",
    "fs::copy",
    "fs::remove",
    "fs::hard_link",
    ".persist(",
];

/// No output is an input, because one module opens them all; and limits hold because it reads them.
#[test]
fn files_are_opened_in_one_place() {
    let mut found = lines_with("strobe", &FILES);
    let place = "crates/strobe/src/files";
    // A control: the check finds what it looks for.
    assert!(found.iter().any(|line| line.contains(place)));
    // `AtomicFile` is of that module, and what the system reports of this process is no file of
    // the user's.
    let allowed = [place, "AtomicFile::create", "/proc/self/status"];
    found.retain(|line| !allowed.iter().any(|word| line.contains(word)));
    assert_eq!(found, Vec::<String>::new(), "crates/strobe/src/files.rs opens files");
    let mut found = lines_with("strobe-link", &FILES);
    found.extend(lines_with("strobe-source", &FILES));
    // Serial adapters and terminals: devices, which are neither made nor emptied.
    let devices = ["trace/serial.rs", "serial/pty.rs", "network/"];
    found.retain(|line| !devices.iter().any(|device| line.contains(device)));
    assert_eq!(found, Vec::<String>::new(), "the command opens files, and hands them over");
}

/// What is printed goes through one place, so that no terminal obeys a name.
#[test]
fn the_command_prints_in_one_place() {
    let print = ["println!(", "print!(", "io::stdout()", "io::stderr()", ".print()"];
    let mut found = lines_with("strobe", &print);
    let places = [
        "src/terminal.rs",
        // The firmware's own output, by `visible::Stream`.
        "src/host.rs",
        "src/serial_ports.rs",
        // Whether there is a terminal, for the progress bar.
        "is_terminal()",
        "AutoStream::choice",
        // The bytes of a recording.
        "Ok(Box::new(io::stdout()))",
        // Help and version, and errors whose arguments have been looked at.
        "match error.print()",
    ];
    found.retain(|line| !places.iter().any(|place| line.contains(place)));
    assert_eq!(found, Vec::<String>::new(), "crates/strobe/src/terminal.rs prints");
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

/// `scripts/fuzz` reads there how each target is run, on one line or wrapped.
#[test]
fn fuzz_targets_state_how_they_are_run() {
    let targets = entries(&root().join("fuzz/fuzz_targets"));
    assert!(targets.len() > 10, "hardly any targets: {targets:?}");
    for path in targets {
        let text = read(&path);
        let words = text.lines().filter_map(|line| line.strip_prefix("//! "));
        let words = words.collect::<Vec<_>>().join(" ");
        let command = words.split("`cargo +nightly fuzz run ").nth(1).unwrap_or_default();
        let command = command.split('`').next().unwrap_or_default();
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let is_whole = command.contains(" -- ") && command.split(' ').any(|word| word == name);
        assert!(is_whole, "{}: {command:?}", path.display());
    }
}
