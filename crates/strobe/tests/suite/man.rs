//! Manual pages: one for each subcommand, with its options, and such that a formatter has nothing
//! to complain of.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use crate::common::strobe;

/// The subcommands, as `--help` lists them, each followed by its own ones: `experiment`,
/// `experiment run`.
fn subcommands() -> Vec<String> {
    let of = |above: &str, name: &str| format!("{above} {name}").trim().to_owned();
    let below = |above: &str| {
        let names = listed(&strobe(&[words(above), vec!["--help"]].concat()).stdout);
        names.into_iter().map(|name| of(above, &name)).collect::<Vec<_>>()
    };
    let own = |name: String| std::iter::once(name.clone()).chain(below(&name));
    below("").into_iter().flat_map(own).collect()
}

fn words(name: &str) -> Vec<&str> {
    name.split_whitespace().collect()
}

/// The subcommands in a text of `--help`.
fn listed(help: &str) -> Vec<String> {
    let Some((_, list)) = help.split_once("Commands:\n") else { return Vec::new() };
    let lines = list.lines().take_while(|line| !line.is_empty());
    // Wrapped lines are indented deeper.
    let first = lines.filter_map(|line| line.strip_prefix("  ").filter(|l| !l.starts_with(' ')));
    let names = first.filter_map(|line| line.split_whitespace().next());
    // `help` explains the others.
    names.filter(|name| *name != "help").map(str::to_owned).collect()
}

/// What the pages are formatted with, and whatever it warns of.
fn formatted(page: &Path) -> (String, String) {
    let output = Command::new("groff")
        .args(["-man", "-ww", "-Tutf8", "-P-cbou", "-rLL=300n"])
        .arg(page)
        .output()
        .expect("groff, of the package groff-base");
    let [out, error] =
        [output.stdout, output.stderr].map(|t| String::from_utf8_lossy(&t).into_owned());
    assert!(output.status.success(), "{}: {error}", page.display());
    (out, error)
}

/// The words of a text that are long options.
fn long_options(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    words.filter(|word| word.starts_with("--") && word.len() > 2).map(str::to_owned).collect()
}

#[test]
fn every_subcommand_has_a_page_that_formats_without_warnings() {
    let folder = tempfile::tempdir().expect("a folder");
    let to = folder.path().join("man1");
    let ran = strobe(&["man", "--out", &to.display().to_string()]);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""));
    let subcommands = subcommands();
    for name in ["run", "experiment", "experiment run"] {
        assert!(subcommands.contains(&name.to_owned()), "{subcommands:?}");
    }
    let pages = std::fs::read_dir(&to).expect("the pages").count();
    assert_eq!(pages, subcommands.len() + 1);
    for name in &subcommands {
        let page = to.join(format!("strobe-{}.1", name.replace(' ', "-")));
        let (text, warnings) = formatted(&page);
        assert_eq!(warnings, "", "{}", page.display());
        for section in ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "SEE ALSO"] {
            assert!(text.lines().any(|line| line == section), "no {section} in {text}");
        }
        let help = strobe(&[words(name), vec!["--help"]].concat()).stdout;
        let missing: Vec<_> =
            long_options(&help).difference(&long_options(&text)).cloned().collect();
        assert!(missing.is_empty(), "{} lacks {missing:?}", page.display());
    }
    let (text, warnings) = formatted(&to.join("strobe.1"));
    assert_eq!(warnings, "");
    assert!(text.lines().any(|line| line == "EXIT STATUS"), "{text}");
    let footer = text.lines().last().expect("a footer");
    assert_eq!(words(footer)[..2], ["strobe", env!("CARGO_PKG_VERSION")], "{footer}");
    for name in &subcommands {
        let names = words(name);
        let (last, above) = names.split_last().expect("a name");
        let parent = [&["strobe"][..], above].concat().join("-");
        let (text, _) = formatted(&to.join(format!("{parent}.1")));
        assert!(text.contains(&format!("{parent}-{last}(1)")), "{name} is not in {parent}.1");
    }
}

#[test]
fn one_page_goes_to_standard_output() {
    let page = strobe(&["man", "cycles"]);
    assert!(page.stdout.contains(".TH strobe-cycles 1 "), "{}", page.stdout);
    assert!(strobe(&["man"]).stdout.contains(".TH strobe 1 "));
    for words in [&["experiment", "run"][..], &["experiment-run"]] {
        let page = strobe(&[&["man"][..], words].concat()).stdout;
        assert!(page.contains(".TH strobe-experiment-run 1 "), "{page}");
        assert!(page.contains("strobe(1), strobe\\-experiment(1)"), "{page}");
    }
    let unknown = strobe(&["man", "nothing"]);
    assert_eq!((unknown.code, unknown.stdout.as_str()), (64, ""));
}
