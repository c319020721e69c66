//! `docs/founding.md` and the pages of the experiments, from docs/founding.toml and the claims in
//! the experiments' own descriptions.
//!
//! A claim names the test or the experiment that gives our figure. One that is not there is an
//! error, so that no verdict outlives what it rests on.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

/// Writes docs/founding.md and the experiments' pages from docs/founding.toml and experiment.toml.
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

/// What a founding document states, and what became of it.
#[derive(Debug, Clone, Deserialize)]
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
    /// The experiment whose description it stands in.
    #[serde(skip)]
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

/// What an experiment states of itself.
#[derive(Debug, Deserialize)]
struct Experiment {
    question: String,
    #[serde(default)]
    setup: String,
    #[serde(default)]
    claim: Vec<Claim>,
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
    let mut table: Table = toml::from_str(&text).with_context(|| path.display().to_string())?;
    let experiments = experiments(&root.join("experiments"))?;
    for (name, experiment) in &experiments {
        let own = experiment.claim.iter().cloned();
        table.claim.extend(own.map(|claim| Claim { experiment: Some(name.clone()), ..claim }));
    }
    table.claim.sort_by_key(|claim| place(&claim.row));
    for claim in &table.claim {
        check(root, claim).with_context(|| format!("claim {}: {}", claim.row, claim.claim))?;
    }
    let mut pages = vec![(root.join("docs/founding.md"), founding(&table)?)];
    for (name, experiment) in &experiments {
        let folder = root.join("experiments").join(name);
        pages.push((folder.join("README.md"), page(name, experiment)?));
    }
    Ok(pages)
}

/// All experiments by name.
fn experiments(folder: &Path) -> Result<BTreeMap<String, Experiment>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path().join("experiment.toml");
        let name = path.parent().and_then(Path::file_name).map(|name| name.to_string_lossy());
        let (true, Some(name)) = (path.is_file(), &name) else { continue };
        let text = fs::read_to_string(&path)?;
        let experiment = toml::from_str(&text).with_context(|| path.display().to_string())?;
        all.insert(name.to_string(), experiment);
    }
    Ok(all)
}

/// Where a row belongs: `0.23 to 0.26` behind `0.16`.
fn place(row: &str) -> Vec<u32> {
    let first = row.split(' ').next().unwrap_or_default();
    first.split('.').map(|part| part.parse().unwrap_or(u32::MAX)).collect()
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

fn founding(table: &Table) -> Result<String> {
    let mut out = String::from(
        "<!-- Made by `cargo xtask founding` from founding.toml and the experiments. -->\n\n\
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

fn page(name: &str, experiment: &Experiment) -> Result<String> {
    let mut title = name.replace('-', " ");
    if let Some(first) = title.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    let mut out = format!(
        "<!-- Made by `cargo xtask founding` from experiment.toml. -->\n\n# {title}\n\n{}\n",
        experiment.question
    );
    for claim in &experiment.claim {
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
    fn rows_are_in_the_order_of_their_numbers() {
        let mut rows = ["4.13", "0.23 to 0.26", "4.7", "0.3", "0.27"];
        rows.sort_by_key(|row| place(row));
        assert_eq!(rows, ["0.3", "0.23 to 0.26", "0.27", "4.7", "4.13"]);
    }

    #[test]
    fn a_claim_that_rests_on_nothing_is_an_error() {
        let claim = |more: &str| -> Claim {
            let text = format!(
                "row = '0.1'\nclaim = 'c'\nsaid = 's'\nours = 'o'\nverdict = 'holds'\n{more}"
            );
            toml::from_str(&text).expect("a claim")
        };
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the repository");
        let within = |name: &str| Claim { experiment: Some(name.to_owned()), ..claim("") };
        let why = check(root, &within("none")).expect_err("wrong").to_string();
        assert_eq!(why, "there is no experiment none");
        assert!(check(root, &within("stepper")).is_ok());
        let wrong = |more: &str| check(root, &claim(more)).expect_err("wrong").to_string();
        assert_eq!(wrong(""), "rests on no test and no experiment");
        let test = "tests = ['xtask/src/founding.rs::no_such_test']";
        assert_eq!(wrong(test), "xtask/src/founding.rs has no test no_such_test");
        let test = "tests = ['xtask/src/founding.rs::a_claim_that_rests_on_nothing_is_an_error']";
        assert!(check(root, &claim(test)).is_ok());
    }
}
