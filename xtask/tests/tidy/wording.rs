//! Words and widths that CONTRIBUTING.md and the house style ask for, in sources and documents.
//!
//! Programs report, show, print and state; they do not speak. `firmware` is left
//! out: the digests of its sources are beside the prebuilt programs.

use std::path::{Path, PathBuf};

use super::{entries, read, root};

/// Where sources and documents are, beside the documents at the root.
const FOLDERS: [&str; 5] = ["crates", "xtask", "scripts", "docs", "fuzz/fuzz_targets"];

/// The changelog is history and stays as it is.
const DOCUMENTS: [&str; 4] = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"];

/// Columns of a line.
const WIDTH: usize = 100;

/// Words that a firmware engineer would not search for, in pieces so that this file has none.
const WORDS: [&str; 9] = [
    concat!("to", "ld"),
    concat!("te", "ll"),
    concat!("te", "lls"),
    concat!("To", "ld"),
    concat!("Te", "lls"),
    concat!("sa", "ys"),
    concat!("Sa", "ys"),
    concat!("Ca", "me"),
    concat!("Carr", "ies"),
];

const PHRASES: [&str; 2] = [concat!("what ", "came"), concat!("given ", "back")];

/// Every source and document, each with its path from the root.
fn texts() -> Vec<(PathBuf, String)> {
    let root = root();
    let mut folders: Vec<PathBuf> = FOLDERS.iter().map(|name| root.join(name)).collect();
    let mut files: Vec<PathBuf> = DOCUMENTS.iter().map(|name| root.join(name)).collect();
    while let Some(folder) = folders.pop() {
        for path in entries(&folder) {
            if path.is_dir() {
                folders.push(path);
            } else if is_text(&path) {
                files.push(path);
            }
        }
    }
    let named = |path: PathBuf| {
        let text = read(&path);
        (path.strip_prefix(&root).expect("it is below").to_owned(), text)
    };
    files.into_iter().map(named).collect()
}

/// Scripts have no extension.
fn is_text(path: &Path) -> bool {
    let in_scripts = path.parent().is_some_and(|folder| folder.ends_with("scripts"));
    match path.extension().and_then(|extension| extension.to_str()) {
        Some(extension) => ["rs", "md", "toml", "sh"].contains(&extension),
        None => in_scripts,
    }
}

/// The first of the words or phrases in a line.
fn unwanted(line: &str) -> Option<&'static str> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let words = line.split(|c| !is_part(c)).find_map(|word| WORDS.iter().find(|w| **w == word));
    words.or_else(|| PHRASES.iter().find(|phrase| line.contains(**phrase))).copied()
}

/// The lines of a file, by number from 1, that are too wide and could be narrower.
fn wide(path: &Path, text: &str) -> Vec<usize> {
    let is = |extension: &str| path.extension().is_some_and(|e| e == extension);
    if !(is("rs") || is("md") || is("toml")) {
        return Vec::new();
    }
    let mut in_sample = false;
    let mut found = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let start = line.trim_start();
        in_sample ^= is("md") && start.starts_with("```");
        // Tables, samples and the commands that print them have the width that they have.
        let of_document = in_sample || start.starts_with('|') || start.starts_with("<!--");
        // A value is one line.
        let of_table = !start.starts_with('#');
        let may = is("md") && of_document || is("toml") && of_table || line.contains("://");
        if line.chars().count() > WIDTH && !may {
            found.push(number);
        }
    }
    found
}

#[test]
fn sources_and_documents_use_the_words_of_the_field() {
    let texts = texts();
    assert!(texts.len() > 500, "hardly any files under {}", root().display());
    let of = |(path, text): &(PathBuf, String)| {
        let place = |(line, number)| {
            unwanted(line).map(|word| format!("{}:{number}: {word}", path.display()))
        };
        text.lines().zip(1..).filter_map(place).collect::<Vec<_>>()
    };
    let found: Vec<String> = texts.iter().flat_map(of).collect();
    assert!(found.is_empty(), "report, show, state, distinguish, free instead: {found:#?}");
}

#[test]
fn lines_have_at_most_100_columns() {
    let of = |(path, text): &(PathBuf, String)| {
        let place = |number| format!("{}:{number}", path.display());
        wide(path, text).into_iter().map(place).collect::<Vec<_>>()
    };
    let found: Vec<String> = texts().iter().flat_map(of).collect();
    assert!(found.is_empty(), "more than {WIDTH} columns: {found:#?}");
}

#[test]
fn unwanted_words_and_wide_lines_are_seen() {
    for word in WORDS.iter().chain(&PHRASES) {
        assert_eq!(unwanted(&format!("is ({word}, so")), Some(*word));
    }
    for word in WORDS {
        assert_eq!(unwanted(&format!("is_{word}_x {word}x")), None, "{word}");
    }
    assert_eq!(unwanted("reports what it states"), None);
    let long = "x".repeat(WIDTH + 1);
    let text = format!("{long}\n```\n{long}\n```\n| {long}\n{long} a://b\n{}", "é".repeat(WIDTH));
    assert_eq!(wide(Path::new("a.md"), &text), [1]);
    assert_eq!(wide(Path::new("a.rs"), &text), [1, 3, 5]);
    assert_eq!(wide(Path::new("a.toml"), &format!("a = \"{long}\"\n# {long}")), [2]);
    assert_eq!(wide(Path::new("a.snap"), &text), []);
}
