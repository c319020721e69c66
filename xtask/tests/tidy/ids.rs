//! Names of sections, totals, columns and measures are asked for by their constants
//! (`strobe_model::measurement::ids`), so that one that is renamed does not compile.

use std::path::Path;

use super::{entries, read, root, rust_files};

/// How a name is asked for by its text.
const LOOKUPS: [&str; 9] = [
    ".section(\"",
    ".table(\"",
    ".total(\"",
    ".column(\"",
    ".measure(\"",
    "section.id == \"",
    "section.id != \"",
    "column.id == \"",
    "measure.id == \"",
];

/// Whether a file is compiled for tests alone: its module, or one that it is in, is declared so.
/// Tests state names as texts: they hold what files have.
fn is_test(path: &Path) -> bool {
    let (Some(folder), Some(name)) = (path.parent(), path.file_stem()) else { return false };
    let parent =
        if folder.ends_with("src") { folder.join("lib.rs") } else { folder.with_extension("rs") };
    if parent == path || !parent.exists() {
        return false;
    }
    let declared = format!("#[cfg(test)]\nmod {};", name.to_string_lossy());
    read(&parent).contains(&declared) || is_test(&parent)
}

/// Whether a line asks for a name by its text. Names of sections of ELF files begin with a point.
fn asks_by_text(line: &str) -> bool {
    let is_comment = line.trim_start().starts_with("//");
    !is_comment
        && LOOKUPS.iter().any(|lookup| {
            let mut found = line.match_indices(lookup);
            found.any(|(at, _)| {
                !line[at + lookup.len()..].starts_with('.') && !line[..at].ends_with('.')
            })
        })
}

#[test]
fn names_are_asked_for_by_constants() {
    let mut found = Vec::new();
    for directory in entries(&root().join("crates")) {
        for path in rust_files(&directory.join("src")).into_iter().filter(|path| !is_test(path)) {
            let text = read(&path);
            let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
            for (number, line) in (1..).zip(code.lines()).filter(|(_, line)| asks_by_text(line)) {
                found.push(format!("{}:{number}: {}", path.display(), line.trim()));
            }
        }
    }
    assert!(found.is_empty(), "use strobe_model::measurement::ids:\n{}", found.join("\n"));
}
