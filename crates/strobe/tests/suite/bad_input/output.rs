//! Output that nobody takes.

use std::fs;
use std::path::Path;

use insta::assert_snapshot;

use super::{Messages, assert_one_message, in_directory, message};
use crate::common::{command, prebuilt};

/// What `strobe run ... | head -1` does once head has its line.
#[test]
fn a_closed_pipe_is_no_error() {
    for format in ["text", "json"] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = command()
            .args(["run", &prebuilt("loop-0ws"), "--format", format])
            .stdout(writer)
            .stderr(std::process::Stdio::piped())
            .spawn()
            .and_then(|child| child.wait_with_output())
            .unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        assert_eq!(output.status.code(), Some(0));
    }
}

/// A log reader that went away must not cost the report or the exit code.
#[test]
fn a_closed_standard_error_is_no_error() {
    for (arguments, code) in [(["run", "shift"], 0), (["run", "missing"], 66)] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let file = match arguments[1] {
            "missing" => "missing.elf".to_owned(),
            name => prebuilt(name),
        };
        let output = command().args([arguments[0], &file]).stderr(writer).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
        assert_eq!(output.stdout.is_empty(), code != 0, "{arguments:?}");
    }
}

#[test]
fn results_that_cannot_be_written_are_an_error() {
    let mut messages = Messages::default();
    let directory = tempfile::tempdir().unwrap();
    let elf = prebuilt("loop-0ws");
    let of = |path| message(&in_directory(&directory, &["run", &elf, "-o", path]), 74);
    messages.add("in a missing directory", &of("missing/report.txt"));
    messages.add("a directory", &of("."));
    assert_snapshot!(messages.0);
    let full = Path::new("/dev/full");
    let out = fs::File::create(full).unwrap();
    let output = command().args(["run", &elf]).stdout(out).output().unwrap();
    assert_eq!(output.status.code(), Some(74));
    assert_one_message(&String::from_utf8_lossy(&output.stderr));
    let out = fs::File::create(full).unwrap();
    let help = command().arg("--help").stdout(out).output().unwrap();
    assert_eq!(help.status.code(), Some(74), "help is a result, too");
}
