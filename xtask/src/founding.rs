//! `docs/founding.md` and the pages of the experiments, from one table: docs/founding.toml.
//!
//! A claim names the test or the experiment that gives our figure. One that is not there is an
//! error, so that no verdict outlives what it rests on.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

/// Writes docs/founding.md and the experiments' pages from docs/founding.toml.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Writes nothing: fails if a page is not what the table makes.
    #[arg(long)]
    check: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    document: Vec<Document>,
    claim: Vec<Claim>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    name: String,
    about: String,
}

/// What a founding document says, and what became of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Claim {
    /// Document and number of the claim, as `0.3`.
    row: String,
    /// E1 to E12, where a second look found an error.
    #[serde(default)]
    error: Option<String>,
    claim: String,
    said: String,
    ours: String,
    verdict: Verdict,
    #[serde(default)]
    why: Option<String>,
    /// `file.rs::function`, below the repository.
    #[serde(default)]
    tests: Vec<String>,
    #[serde(default)]
    experiment: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Verdict {
    Holds,
    InPart,
    Wrong,
    TurnsRound,
    NotClosed,
    NotMeasured,
}

impl Verdict {
    fn words(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::InPart => "holds in part",
            Verdict::Wrong => "wrong",
            Verdict::TurnsRound => "turns round",
            Verdict::NotClosed => "not closed",
            Verdict::NotMeasured => "not measured",
        }
    }
}

/// What an experiment says of itself.
#[derive(Debug, Deserialize)]
struct Experiment {
    question: String,
    #[serde(default)]
    setup: String,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("the repository")?;
    let mut stale = Vec::new();
    for (path, text) in pages(root)? {
        if fs::read_to_string(&path).ok().as_ref() == Some(&text) {
            continue;
        }
        if args.check {
            stale.push(path.display().to_string());
        } else {
            fs::write(&path, text).with_context(|| path.display().to_string())?;
        }
    }
    ensure!(stale.is_empty(), "stale: {}; run `cargo xtask founding`", stale.join(", "));
    Ok(())
}

/// All pages with their texts.
fn pages(root: &Path) -> Result<Vec<(PathBuf, String)>> {
    let path = root.join("docs/founding.toml");
    let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let table: Table = toml::from_str(&text).with_context(|| path.display().to_string())?;
    for claim in &table.claim {
        check(root, claim).with_context(|| format!("claim {}: {}", claim.row, claim.claim))?;
    }
    let mut pages = vec![(root.join("docs/founding.md"), founding(&table)?)];
    for (name, claims) in by_experiment(&table) {
        let folder = root.join("experiments").join(name);
        let text = fs::read_to_string(folder.join("experiment.toml"))?;
        let experiment: Experiment = toml::from_str(&text).with_context(|| name.to_owned())?;
        pages.push((folder.join("README.md"), page(name, &experiment, &claims)?));
    }
    Ok(pages)
}

/// Whether what a claim rests on is there.
fn check(root: &Path, claim: &Claim) -> Result<()> {
    if claim.tests.is_empty() && claim.experiment.is_none() {
        ensure!(claim.verdict == Verdict::NotMeasured, "rests on no test and no experiment");
    }
    for test in &claim.tests {
        let (file, function) = test.split_once("::").context("file.rs::function")?;
        let text = fs::read_to_string(root.join(file)).with_context(|| file.to_owned())?;
        ensure!(text.contains(&format!("fn {function}()")), "{file} has no test {function}");
    }
    if let Some(name) = &claim.experiment
        && !root.join("experiments").join(name).join("experiment.toml").is_file()
    {
        bail!("there is no experiment {name}");
    }
    Ok(())
}

fn by_experiment(table: &Table) -> BTreeMap<&str, Vec<&Claim>> {
    let mut all: BTreeMap<&str, Vec<&Claim>> = BTreeMap::new();
    for claim in &table.claim {
        if let Some(name) = &claim.experiment {
            all.entry(name).or_default().push(claim);
        }
    }
    all
}

fn founding(table: &Table) -> Result<String> {
    let mut out = String::from(
        "<!-- Made by `cargo xtask founding` from founding.toml. -->\n\n\
         # The founding documents, measured again\n\n\
         strobe began with five documents of people who measured instead of guessing. Each of \
         their claims\nthat has a figure is here with ours, which a test or an experiment of this \
         repository gives; those\nnumbered E1 to E12 are where a second look found an error. \
         Times depend on the machine and are\nnamed with what they were measured on; counts \
         repeat.\n",
    );
    let wrong = |verdict| table.claim.iter().filter(|claim| claim.verdict == verdict).count();
    let counts = [
        Verdict::Holds,
        Verdict::InPart,
        Verdict::Wrong,
        Verdict::TurnsRound,
        Verdict::NotClosed,
        Verdict::NotMeasured,
    ];
    let counts: Vec<String> =
        counts.iter().map(|v| format!("{} {}", wrong(*v), v.words())).collect();
    writeln!(out, "\n{} claims: {}.", table.claim.len(), counts.join(", "))?;
    for (n, document) in table.document.iter().enumerate() {
        writeln!(out, "\n## {}\n\n{}\n", document.name, wrapped(&document.about))?;
        writeln!(out, "| row | claim | they said | strobe measures | verdict | by |")?;
        writeln!(out, "| --- | --- | --- | --- | --- | --- |")?;
        let own = |claim: &&Claim| claim.row.split('.').next() == Some(n.to_string().as_str());
        for claim in table.claim.iter().filter(own) {
            let error = claim.error.as_ref().map_or_else(String::new, |e| format!(" ({e})"));
            let why = claim.why.as_ref().map_or_else(String::new, |why| format!(": {why}"));
            writeln!(
                out,
                "| {}{error} | {} | {} | {} | **{}**{why} | {} |",
                claim.row,
                claim.claim,
                claim.said,
                claim.ours,
                claim.verdict.words(),
                sources(claim).join(", ")
            )?;
        }
    }
    Ok(out)
}

/// A text in lines of at most 100 columns, where its words allow.
fn wrapped(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last_mut().filter(|line| line.len() + 1 + word.len() <= 100);
        match line {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) => *line += &format!(" {word}"),
            None => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}

fn sources(claim: &Claim) -> Vec<String> {
    let experiment = claim.experiment.iter().map(|name| format!("[{name}](../experiments/{name})"));
    let tests = claim.tests.iter().filter_map(|test| {
        let (file, function) = test.split_once("::")?;
        Some(format!("[{function}](../{file})"))
    });
    experiment.chain(tests).collect()
}

/// From an experiment's page, two folders below the root.
const FOUNDING: &str = concat!("../", "../docs/founding.md");

fn page(name: &str, experiment: &Experiment, claims: &[&Claim]) -> Result<String> {
    let mut title = name.replace('-', " ");
    if let Some(first) = title.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    let mut out = format!(
        "<!-- Made by `cargo xtask founding` from docs/founding.toml. -->\n\n# {title}\n\n{}\n",
        experiment.question
    );
    for claim in claims {
        let verdict = claim.verdict.words();
        let why = claim.why.as_ref().map_or_else(String::new, |why| format!(": {why}"));
        writeln!(
            out,
            "\n{} (row {} of [the founding documents]({FOUNDING}))\n",
            claim.claim, claim.row
        )?;
        writeln!(out, "- **Founding figure:** {}", claim.said)?;
        writeln!(out, "- **Ours:** {}", claim.ours)?;
        writeln!(out, "- **Verdict:** {verdict}{why}")?;
    }
    match experiment.setup.as_str() {
        "" => writeln!(out, "\nNothing needs to be installed.\n")?,
        setup => writeln!(out, "\nSet up with `{setup}`, then\n")?,
    }
    writeln!(out, "```\nstrobe experiment run experiments/{name}\n```")?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_that_rests_on_nothing_is_an_error() {
        let claim = |more: &str| -> Claim {
            let text = format!(
                "row = '0.1'\nclaim = 'c'\nsaid = 's'\nours = 'o'\nverdict = 'holds'\n{more}"
            );
            toml::from_str(&text).expect("a claim")
        };
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the repository");
        let wrong = |more: &str| check(root, &claim(more)).expect_err("wrong").to_string();
        assert_eq!(wrong(""), "rests on no test and no experiment");
        assert_eq!(wrong("experiment = 'none'"), "there is no experiment none");
        let test = "tests = ['xtask/src/founding.rs::no_such_test']";
        assert_eq!(wrong(test), "xtask/src/founding.rs has no test no_such_test");
        let test = "tests = ['xtask/src/founding.rs::a_claim_that_rests_on_nothing_is_an_error']";
        assert!(check(root, &claim(test)).is_ok());
    }
}
