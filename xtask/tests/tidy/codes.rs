//! Programs filter findings by their codes, so docs/measurement.md names each code of a warning.

use std::collections::BTreeSet;

use super::{read, root, rust_files};

/// What takes a code first.
const TAKE_A_CODE: [&str; 4] = ["warn_of(", "warnings.add(", "add_once(", "Finding::warning("];

/// The codes in a source.
fn codes(source: &str) -> BTreeSet<&str> {
    let after = |call: &'static str| source.split(call).skip(1);
    let all = TAKE_A_CODE.into_iter().flat_map(after);
    all.filter_map(|rest| rest.trim_start().strip_prefix('"')?.split('"').next()).collect()
}

#[test]
fn codes_are_found_in_calls() {
    let source = "warn_of(\n \"a-b\", text) Finding::warning(\"c\", x) Finding::warning(code, x)";
    assert_eq!(codes(source), BTreeSet::from(["a-b", "c"]));
}

#[test]
fn codes_of_warnings_are_documented() {
    let page = read(&root().join("docs/measurement.md"));
    let sources: Vec<String> =
        rust_files(&root().join("crates")).iter().map(|path| read(path)).collect();
    let all: BTreeSet<&str> = sources.iter().flat_map(|source| codes(source)).collect();
    assert!(all.len() > 30, "the calls have other names now: {all:?}");
    let missing: Vec<&&str> = all.iter().filter(|c| !page.contains(&format!("`{c}`"))).collect();
    assert!(missing.is_empty(), "docs/measurement.md does not name {missing:?}");
}
