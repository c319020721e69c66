//! The samples of output in README.md and docs/ are what the program prints.
//!
//! A comment `<!-- sample: strobe ARGUMENTS -->` before a fenced block states which command, run in
//! the repository, prints that block. `make bless` writes the blocks anew.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const MARK: &str = "<!-- sample: strobe ";

#[test]
fn samples_in_the_documents_are_what_strobe_prints() {
    let bless = std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always");
    let mut samples = 0;
    for path in documents() {
        let text = fs::read_to_string(&path).expect("a text file");
        let (now, found) = with_present_output(&text);
        samples += found;
        if bless && now != text {
            fs::write(&path, &now).expect("the document can be written");
        } else if let Some((was, is)) = text.lines().zip(now.lines()).find(|(was, is)| was != is) {
            panic!(
                "{} shows\n    {was}\nwhere strobe prints\n    {is}\n`make bless` updates it",
                path.display()
            );
        } else {
            assert_eq!(text, now, "{}: `make bless` updates it", path.display());
        }
    }
    assert!(samples > 0, "no document has a sample");
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn documents() -> Vec<PathBuf> {
    let docs = fs::read_dir(root().join("docs"))
        .expect("docs/")
        .map(|entry| entry.expect("an entry").path());
    let mut documents: Vec<_> =
        docs.filter(|path| path.extension().is_some_and(|extension| extension == "md")).collect();
    documents.push(root().join("README.md"));
    documents.sort();
    documents
}

/// The document as it should be, and how many samples it has.
fn with_present_output(text: &str) -> (String, usize) {
    let mut now = String::new();
    let mut found = 0;
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        now += line;
        now.push('\n');
        let Some(arguments) = line.strip_prefix(MARK).and_then(|rest| rest.strip_suffix(" -->"))
        else {
            continue;
        };
        let fence = lines.next().filter(|fence| fence.starts_with("```"));
        now += fence.unwrap_or_else(|| panic!("no fenced block after {line}"));
        now.push('\n');
        lines
            .find(|line| *line == "```")
            .unwrap_or_else(|| panic!("no end of the block after {line}"));
        now += &output(arguments);
        now += "```\n";
        found += 1;
    }
    (now, found)
}

/// What the command prints as its result.
fn output(arguments: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_strobe"))
        .args(arguments.split(' '))
        .current_dir(root())
        .env_remove("COLUMNS")
        .env_remove("CLICOLOR_FORCE")
        .output()
        .expect("strobe starts");
    let messages = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "strobe {arguments}: {}\n{messages}", output.status);
    let text = String::from_utf8(output.stdout).expect("strobe prints UTF-8");
    assert!(!text.is_empty(), "strobe {arguments} prints nothing");
    if text.ends_with('\n') { text } else { text + "\n" }
}
