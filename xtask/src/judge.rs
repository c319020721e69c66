//! `cargo xtask judge`: figures whose truth is known, as strobe gives them now.
//!
//! The cases are programs of this repository (`judge/cases.toml`); those that need sources of
//! others are in docs/accuracy.md by hand, with where they are from. The table of all cases is
//! generated into that document, so that there is one source of these figures.

use std::fmt::Write;
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Context, Result, ensure};
use serde::Deserialize;
use serde_json::Value;

const CASES: &str = include_str!("judge/cases.toml");
const BEGIN: &str = "<!-- cargo xtask judge --write -->\n";
const END: &str = "<!-- end of cargo xtask judge -->";

/// Judge strobe by figures with a known truth, from the repository's own programs
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Put the table into docs/accuracy.md
    #[arg(long)]
    write: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    case: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    what: String,
    core: String,
    /// A program of firmware/prebuilt, and options.
    run: Vec<String>,
    /// Section, distribution.
    distribution: Option<[String; 2]>,
    /// Whether its least is the figure, as the shortest of pulses that are multiples of one bit.
    #[serde(default)]
    least: bool,
    /// Section, column, and what the row has in some cell.
    cell: Option<[String; 3]>,
    /// Whether the figure is how long the run was, in nanoseconds.
    #[serde(default)]
    duration: bool,
    truth: u64,
    #[serde(default)]
    percent: f64,
    from: String,
}

/// Strobe's figure: the least and the greatest likely value, and the bounds around all.
struct Figure {
    likely: (f64, f64),
    bounds: (f64, f64),
}

pub(crate) fn run(args: &Args) -> Result<ExitCode> {
    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("xtask is in the workspace")?;
    let cases: Cases = toml::from_str(CASES).context("judge/cases.toml")?;
    let mut build = Command::new("cargo");
    build.args(["build", "-q", "-p", "strobe-cli"]).current_dir(root);
    let built = build.status().context("cargo build")?;
    ensure!(built.success(), "strobe does not build");
    let mut table = String::from(
        "| what | core | truth | strobe | error | from |\n| --- | --- | ---:| ---:| ---:| --- |\n",
    );
    let mut wrong = 0;
    for case in &cases.case {
        let figure = measure(root, case).with_context(|| case.what.clone())?;
        let (error, holds) = judged(case, &figure);
        wrong += u32::from(!holds);
        let shown = shown(&figure);
        let Case { what, core, truth, from, .. } = case;
        let mark = if holds { "" } else { " **wrong**" };
        writeln!(table, "| {what} | {core} | {truth} | {shown} | {error:+.1} %{mark} | {from} |")?;
    }
    print!("{table}");
    if args.write {
        write(&root.join("docs/accuracy.md"), &table)?;
    }
    Ok(if wrong == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The greater error in percent, and whether the case holds: near enough, and the truth within the
/// bounds.
fn judged(case: &Case, figure: &Figure) -> (f64, bool) {
    let truth = case.truth as f64;
    let error = |value: f64| (value - truth) / truth * 100.0;
    let (low, high) = (error(figure.likely.0), error(figure.likely.1));
    let error = if low.abs() > high.abs() { low } else { high };
    let within = figure.bounds.0 <= truth && truth <= figure.bounds.1;
    (error, error.abs() <= case.percent && within)
}

fn shown(figure: &Figure) -> String {
    let Figure { likely: (least, most), bounds: (low, high) } = figure;
    let likely = if least == most { format!("{most}") } else { format!("{least} to {most}") };
    if low < least || most < high { format!("{likely} ({low} to {high})") } else { likely }
}

fn measure(root: &Path, case: &Case) -> Result<Figure> {
    let (program, options) = case.run.split_first().context("no program")?;
    let program = format!("firmware/prebuilt/{program}.elf");
    let ran = Command::new(root.join("target/debug/strobe"))
        .args(["run", &program, "--format", "json"])
        .args(options)
        .current_dir(root)
        .stderr(Stdio::null())
        .output()
        .context("cannot run strobe")?;
    let measurement: Value = serde_json::from_slice(&ran.stdout).context("no measurement")?;
    match (&case.distribution, &case.cell, case.duration) {
        (Some([section, name]), None, false) => {
            distribution(section_of(&measurement, section)?, name, case.least)
        }
        (None, Some([section, column, row]), false) => {
            cell(section_of(&measurement, section)?, column, row)
        }
        (None, None, true) => figure(&measurement["window"]["duration"]),
        _ => anyhow::bail!("a case has a distribution, a cell or the duration"),
    }
}

/// The content of a section.
fn section_of<'a>(measurement: &'a Value, id: &str) -> Result<&'a Value> {
    let sections = measurement["sections"].as_array().context("no sections")?;
    let found = sections.iter().find(|section| section["id"] == id);
    Ok(&found.with_context(|| format!("no section {id}"))?["content"])
}

fn distribution(content: &Value, name: &str, only_least: bool) -> Result<Figure> {
    let all = content["distributions"]["distributions"].as_array().context("no distributions")?;
    let found = all.iter().find(|one| one["name"] == name);
    let found = found.with_context(|| format!("no distribution {name}"))?;
    let end = if only_least { "min" } else { "max" };
    let least = found["spread"]["min"].as_f64().context("no least")?;
    let most = found["spread"][end].as_f64().context("no greatest")?;
    let low = found["low"]["min"].as_f64().unwrap_or(least);
    let high = found["high"][end].as_f64().unwrap_or(most);
    Ok(Figure { likely: (least, most), bounds: (low, high) })
}

fn cell(content: &Value, column: &str, row: &str) -> Result<Figure> {
    let columns = content["table"]["columns"].as_array().context("no table")?;
    let cells = |column: &Value| column["cells"].as_array().cloned().unwrap_or_default();
    let at = columns.iter().find_map(|column| cells(column).iter().position(|cell| cell == row));
    let at = at.with_context(|| format!("no row {row}"))?;
    let found = columns.iter().find(|one| one["id"] == column);
    let found = cells(found.with_context(|| format!("no column {column}"))?);
    figure(found.get(at).context("no cell")?)
}

/// A figure with its bounds, if it has any.
fn figure(found: &Value) -> Result<Figure> {
    let value = found.as_f64().or_else(|| found["value"].as_f64()).context("no figure")?;
    let low = found["low"].as_f64().unwrap_or(value);
    let high = found["high"].as_f64().unwrap_or(value);
    Ok(Figure { likely: (value, value), bounds: (low, high) })
}

/// Replaces the table between the marks.
fn write(path: &Path, table: &str) -> Result<()> {
    let text = std::fs::read_to_string(path)?;
    let (before, rest) = text.split_once(BEGIN).context("no place for the table")?;
    let (_, after) = rest.split_once(END).context("the table does not end")?;
    std::fs::write(path, format!("{before}{BEGIN}\n{table}\n{END}{after}"))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(percent: f64) -> Case {
        let text = format!(
            "what = 'a'\ncore = 'b'\nrun = ['c']\ntruth = 1000\npercent = {percent:?}\nfrom = 'd'"
        );
        toml::from_str(&text).expect("a case")
    }

    #[test]
    fn cases_are_sound() {
        let cases: Cases = toml::from_str(CASES).expect("cases");
        let kinds =
            |c: &Case| [c.distribution.is_some(), c.cell.is_some(), c.duration].map(u8::from);
        assert!(cases.case.iter().all(|case| kinds(case).iter().sum::<u8>() == 1));
    }

    #[test]
    fn right_figure_is_near_and_its_bounds_contain_truth() {
        let figure = |least, most, low, high| Figure { likely: (least, most), bounds: (low, high) };
        assert!(judged(&case(0.0), &figure(1000.0, 1000.0, 1000.0, 1000.0)).1);
        assert!(!judged(&case(0.0), &figure(999.0, 1000.0, 999.0, 1000.0)).1);
        assert!(judged(&case(1.0), &figure(1002.0, 1004.0, 900.0, 1100.0)).1);
        assert!(!judged(&case(1.0), &figure(1002.0, 1004.0, 1001.0, 1100.0)).1);
        assert_eq!(judged(&case(1.0), &figure(980.0, 1004.0, 900.0, 1100.0)), (-2.0, false));
    }

    #[test]
    fn distribution_minimum_and_duration_are_figures() {
        let content = serde_json::json!({"distributions": {"distributions": [
            {"name": "PA9 low", "spread": {"min": 417, "max": 2502}, "low": {"min": 416}},
        ]}});
        let bit = distribution(&content, "PA9 low", true).expect("a figure");
        assert_eq!((bit.likely, bit.bounds), ((417.0, 417.0), (416.0, 417.0)));
        let all = distribution(&content, "PA9 low", false).expect("a figure");
        assert_eq!((all.likely, all.bounds), ((417.0, 2502.0), (416.0, 2502.0)));
        let duration = serde_json::json!({"value": 100, "low": 99, "high": 101});
        assert_eq!(figure(&duration).expect("a figure").bounds, (99.0, 101.0));
    }

    #[test]
    fn figures_are_found_in_tables() {
        let table = serde_json::json!({"table": {"columns": [
            {"id": "cycles", "cells": [1, {"value": 5, "low": 4, "high": 7}]},
            {"id": "name", "cells": ["a", "b"]},
        ]}});
        let found = cell(&table, "cycles", "b").expect("a figure");
        assert_eq!((found.likely, found.bounds), ((5.0, 5.0), (4.0, 7.0)));
        assert!(cell(&table, "cycles", "c").is_err());
    }
}
