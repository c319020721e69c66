//! `strobe init`: a first `strobe.toml`, with limits slightly above what a run measured.

use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use strobe_model::measurement::ids;

use strobe_analyse::attribution::{By, rows};
use strobe_analyse::budget::{Selector, Statistic, contributors};
use strobe_model::measurement::{Cell, Content, Measurement, Number, Quantity, Table, Trust};
use strobe_model::visible::is_obeyed;

use super::commands;
use super::config::{Firmware, Words};
use super::entry::From;
use super::error::StepError;
use super::measure;
use super::not_interrupted;
use crate::{exit, files, input, output, terminal};

/// Functions that get a budget, and the part of all cycles that one must have.
const FUNCTIONS: usize = 5;
const PART: f64 = 0.02;

/// Pins that get one.
const PINS: usize = 4;

/// Write a first strobe.toml from a run: budgets with comments, slightly above what was measured.
#[derive(clap::Args)]
pub struct Args {
    /// The firmware, an ELF file.
    firmware: PathBuf,
    /// Where to write it; `-` is standard output.
    #[arg(long, short, value_name = "FILE", default_value = "strobe.toml")]
    output: PathBuf,
    /// Replace a file that is there.
    #[arg(long)]
    force: bool,
    /// Board: a name from `strobe boards` or a board file.
    #[arg(long, value_name = "NAME|FILE")]
    board: Option<String>,
    /// End of the run, as of `strobe run`.
    #[arg(long, value_name = "WHEN")]
    until: Vec<String>,
    /// The code with which the firmware exits.
    #[arg(long, value_name = "CODE", default_value_t = 0)]
    exit_code: i32,
    /// Further options of `strobe run`, behind `--`: `-- --clock 16MHz`. They are written as `run`;
    /// files in them are relative to where strobe.toml is.
    #[arg(last = true, value_name = "OPTION OF RUN")]
    run: Vec<String>,
}

impl Args {
    /// Registers the files that are read and written.
    pub fn files(&self, named: &mut files::FileSet) {
        named.reads([&self.firmware]);
        // Its measurements run in the directory of the output.
        named.add(commands::named(&self.measured(self.firmware.clone())).within(self.directory()));
        named.writes("-o", self.file());
    }

    /// The file that is written; none for standard output.
    fn file(&self) -> Option<&Path> {
        files::of_output(&self.output)
    }

    /// The directory that paths in it are relative to.
    fn directory(&self) -> &Path {
        let parent = self.file().and_then(Path::parent);
        parent.filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."))
    }

    /// The same from the root. One that is not there is found out before anything runs in it.
    fn place(&self) -> anyhow::Result<PathBuf> {
        let refused = |error: io::Error| files::cannot_write(&self.output, &error);
        let place = self.directory().canonicalize().map_err(refused)?;
        if files::is_directory(&place)? {
            Ok(place)
        } else {
            Err(refused(io::ErrorKind::NotADirectory.into()))
        }
    }

    /// What is measured, of this file.
    fn measured(&self, elf: PathBuf) -> Firmware {
        let firmware = Firmware::of(elf, self.board.clone(), self.until.clone());
        Firmware { exit_code: self.exit_code, run: self.run.clone(), ..firmware }
    }
}

/// Measures and writes.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if let Some(path) = args.file().filter(|path| path.exists() && !args.force) {
        return Err(exit::usage(format!("{} exists; --force replaces it", path.display())));
    }
    let directory = args.place()?;
    // What is no firmware has its own words.
    input::firmware(&args.firmware)?;
    let elf = args.firmware.canonicalize().unwrap_or_else(|_| args.firmware.clone());
    let elf = elf.strip_prefix(&directory).map(Path::to_owned).unwrap_or(elf);
    let firmware = args.measured(elf);
    commands::register_sources(&firmware, &directory)?;
    let run = measure::watched(&firmware, &directory);
    not_interrupted()?;
    let run = run.map_err(StepError::passed_on)?;
    let [size, stack] =
        [From::Size, From::Stack].map(|from| measure::of(&firmware, &from, &directory));
    // What moves a pin is known of most firmware; of one whose pins cannot be recorded nothing is.
    let pins = measure::pins(&firmware, &directory);
    // These may have ended for that, and not for what the firmware lacks.
    not_interrupted()?;
    let mut written = Written::new(&firmware).all(&run, size.ok().as_ref(), stack.ok().as_ref());
    written.heap(&run);
    pins.iter().for_each(|pins| written.pins(pins));
    let text = written.0;
    output::write(text.as_bytes(), args.file())?;
    if let Some(path) = args.file() {
        let shown = path.display();
        terminal::message(&format!("{shown} written; edit it, then: strobe check {shown}"));
    }
    Ok(ExitCode::SUCCESS)
}

impl Firmware {
    /// One without budgets.
    fn of(elf: PathBuf, board: Option<String>, until: Vec<String>) -> Self {
        let name = elf.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Firmware { name, elf, board, until: Words::Several(until), ..Firmware::default() }
    }
}

/// `1 run`, `2 runs`.
fn counted(n: u64, what: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{n} {what}{plural}")
}

/// The text as it grows.
struct Written(String);

impl Written {
    fn new(firmware: &Firmware) -> Self {
        let mut text = String::from(
            "#:schema https://raw.githubusercontent.com/stroboscope-rs/stroboscope/main/\
             docs/schema/strobe-toml-1.json\n\
             # Budgets of this firmware: `strobe check` holds them, docs/check.md explains them.\n\
             # Limits are slightly above what was measured; `max = \"+2 %\"` counts from what\n\
             # `strobe check --accept` stored.\n\n[[firmware]]\n",
        );
        // Writing to a string cannot fail.
        let _ = writeln!(text, "elf = {}", quoted(&firmware.elf.display().to_string()));
        text.push_str("# build = \"make\"  # run before measuring\n");
        if let Some(board) = &firmware.board {
            let _ = writeln!(text, "board = {}", quoted(board));
        }
        if !firmware.until.all().is_empty() {
            let all: Vec<String> = firmware.until.all().iter().map(|until| quoted(until)).collect();
            let _ = writeln!(text, "until = [{}]", all.join(", "));
        }
        if !firmware.run.is_empty() {
            let all: Vec<String> = firmware.run.iter().map(|option| quoted(option)).collect();
            let _ = writeln!(text, "run = [{}]", all.join(", "));
        }
        if firmware.exit_code != 0 {
            let _ = writeln!(text, "exit-code = {}", firmware.exit_code);
        }
        Written(text)
    }

    fn all(
        mut self,
        run: &Measurement,
        size: Option<&Measurement>,
        stack: Option<&Measurement>,
    ) -> Self {
        self.whole(run);
        self.functions(run);
        self.interrupts(run);
        let idle = Some(run).and_then(|run| {
            let figure = Selector::Idle.find(run).ok()?;
            bound(&figure.quantity, false).filter(|percent| *percent > 1.0)
        });
        if let Some(percent) = idle {
            let min = format!("{} %", (percent * 0.9).floor());
            self.budget("time left for more", &["idle = true".into()], "min", &min);
        }
        for memory in ["flash", "ram"] {
            let total = size.and_then(|size| bound(size.total(memory)?, true));
            if let Some(bytes) = total.filter(|bytes| *bytes > 0.0) {
                let lines = ["size = \"total\"".into(), format!("figure = \"{memory}\"")];
                self.budget(
                    &format!("{bytes} bytes"),
                    &lines,
                    "max",
                    &format!("{} B", above(bytes)),
                );
            }
        }
        if let Some(stacks) = stack.and_then(|stack| stack.table(ids::section::STACKS)) {
            self.stacks(stacks);
        }
        self
    }

    /// As comments: what a heap needs is a choice of the program's author.
    fn heap(&mut self, run: &Measurement) {
        let total = |id| bound(run.total(id)?, true);
        let (Some(peak), Some(blocks)) = (total("heap-peak"), total("heap-blocks")) else { return };
        if blocks == 0.0 {
            return;
        }
        let most = format!("{} B", above(peak));
        self.offered(
            &format!("the heap's peak: {peak} bytes of {blocks} allocations in all"),
            &["heap = true".into(), "figure = \"peak\"".into()],
            &[("max", &most)],
        );
        if total("heap-leaks") == Some(0.0) {
            let lines = ["heap = true".into(), "figure = \"leaks\"".into()];
            self.offered("no place leaks", &lines, &[("max", "0")]);
        }
        for share in contributors(run, &Selector::Total("heap-blocks".into())).iter().take(3) {
            let lines = [
                format!("function = {}", quoted(&share.name)),
                "figure = \"call-heap-peak\"".into(),
            ];
            let comment = format!(
                "what a call adds to the heap: {}",
                counted(share.value.unsigned_abs(), "allocation")
            );
            self.offered(&comment, &lines, &[("max", &most)]);
        }
    }

    /// As comments: which of the pins have a time to keep is not known.
    fn pins(&mut self, pins: &Measurement) {
        let Some(table) = pins.table(ids::section::EDGES) else { return };
        // A channel that is no pin shows when the core is awake.
        let rises = pairs(table, "pin", "rising")
            .filter(|(pin, n)| *pin != "awake" && n.is_some_and(|n| n > 2.0));
        for (pin, _) in rises.take(PINS) {
            let of = |what: &str, of| {
                let (section, name) = ("pins".to_owned(), format!("{pin} {what}"));
                let selector = match what {
                    "frequency" => Selector::Rate { section, name: format!("{pin} period"), of },
                    _ => Selector::Spread { section, name, of },
                };
                selector.find(pins).ok().map(|figure| figure.quantity)
            };
            let name = format!("pin = {}", quoted(pin));
            let rate = |statistic| of("frequency", statistic)?.value().map(Number::as_f64);
            if let (Some(least), Some(most)) = (rate(Statistic::Min), rate(Statistic::Max)) {
                let (min, max) =
                    (format!("{:.0} Hz", least * 0.95), format!("{:.0} Hz", most * 1.05));
                self.offered(
                    &format!("rises {least:.1} to {most:.1} times a second"),
                    &[name.clone(), "figure = \"frequency-mean\"".into()],
                    &[("min", &min), ("max", &max)],
                );
            }
            if let Some(wide) = of("high", Statistic::Max).and_then(|width| bound(&width, true)) {
                // Of a capture these are picoseconds.
                let max = format!("{} ns", above(wide / 1e3));
                let lines = [name, "figure = \"high-max\"".into()];
                self.offered("the longest pulse", &lines, &[("max", &max)]);
            }
        }
    }

    /// A budget as a comment.
    fn offered(&mut self, comment: &str, lines: &[String], limits: &[(&str, &str)]) {
        let comment = comment.replace(is_obeyed, " ");
        let _ = write!(self.0, "\n# {comment}\n# [[firmware.budget]]\n");
        lines.iter().for_each(|line| self.0.push_str(&format!("# {line}\n")));
        limits.iter().for_each(|(key, limit)| self.0.push_str(&format!("# {key} = \"{limit}\"\n")));
    }

    fn budget(&mut self, comment: &str, lines: &[String], which: &str, limit: &str) {
        let lines = lines.join("\n");
        let _ = write!(
            self.0,
            "\n# {}\n[[firmware.budget]]\n{lines}\n{which} = \"{limit}\"\n",
            comment.replace(is_obeyed, " ")
        );
    }

    /// Whatever takes longer, a function without a budget too, is in the time of a program that
    /// ends by itself, or at a place.
    fn whole(&mut self, run: &Measurement) {
        let most = run.total(ids::total::CYCLES).and_then(|cycles| bound(cycles, true));
        let by_itself = ["exit", "reached", "sleeps-forever"];
        if let Some(most) = most.filter(|_| by_itself.contains(&run.window.ended.kind.as_str())) {
            let limit = format!("{} cycles", above(most));
            let comment = format!("the whole run: {most} cycles at most");
            self.budget(&comment, &["total = \"cycles\"".into()], "max", &limit);
        }
    }

    fn functions(&mut self, run: &Measurement) {
        // How often a handler runs depends on how long the rest takes: each run of it counts.
        let handlers: Vec<&str> = run.table(ids::section::INTERRUPTS).map_or(Vec::new(), |table| {
            let column = table.column(ids::column::HANDLER).map_or(&[][..], |column| &column.cells);
            column.iter().filter_map(Cell::text).collect()
        });
        let Some(profile) = run.profiles().next() else { return };
        let Some(measure) = profile.measures.first() else { return };
        let Some(flat) = rows(profile, &measure.id, &By::Function) else { return };
        let all = flat.total.busy().value as f64;
        let is_one = |name: &str| !name.starts_with('(') && !handlers.contains(&name);
        let named = flat.rows.iter().filter(|row| is_one(&row.name));
        for row in named.take(FUNCTIONS) {
            let busy = row.sums.busy();
            if (busy.value as f64) < PART * all || measure.unit.0 != "cycles" {
                continue;
            }
            let share = 100.0 * busy.value as f64 / all;
            let comment = format!("{} of {all} cycles ({share:.1} %)", busy.value);
            let limit = format!("{} cycles", above(busy.high as f64));
            self.budget(&comment, &[format!("function = {}", quoted(&row.name))], "max", &limit);
        }
    }

    fn interrupts(&mut self, run: &Measurement) {
        for (name, n, max) in longest(run, "latencies", "") {
            let comment = format!("worst of {}: {max} cycles", counted(n, "request"));
            let lines = [format!("interrupt = {}", quoted(name))];
            self.budget(&comment, &lines, "max", &format!("{} cycles", above(max as f64)));
        }
        for (name, n, max) in longest(run, "durations", "handler ") {
            let comment = format!("longest of {} of the handler: {max} cycles", counted(n, "run"));
            let figure = "figure = \"duration-max\"".to_owned();
            let lines = [format!("interrupt = {}", quoted(name)), figure];
            self.budget(&comment, &lines, "max", &format!("{} cycles", above(max as f64)));
        }
        let Some(table) = run.table(ids::section::INTERRUPTS) else { return };
        for (name, lost) in pairs(table, "name", "lost") {
            if lost == Some(0.0) {
                let lines =
                    [format!("interrupt = {}", quoted(name)), "figure = \"lost\"".to_owned()];
                self.budget("no request may be lost", &lines, "max", "0");
            }
        }
    }

    fn stacks(&mut self, stacks: &Table) {
        for (name, margin) in pairs(stacks, "stack", "margin") {
            // Only what is certainly left can be held.
            let Some(bytes) = margin.filter(|bytes| *bytes > 0.0) else { continue };
            let comment = format!("{bytes} bytes are left in the worst case");
            let min = format!("{} B", (bytes * 0.9).floor());
            self.budget(&comment, &[format!("stack = {}", quoted(name))], "min", &min);
        }
    }
}

/// Distributions of cycles whose names begin with some words: the rest of the name, how many values
/// there are, and the largest that one may be.
fn longest<'a>(
    run: &'a Measurement,
    section: &str,
    before: &'a str,
) -> impl Iterator<Item = (&'a str, u64, u64)> {
    let all = match run.section(section).map(|section| &section.content) {
        Some(Content::Distributions(all)) => &all.distributions[..],
        _ => &[],
    };
    all.iter().filter(|one| one.unit.0 == "cycles").filter_map(move |one| {
        let spread = one.high.as_ref().unwrap_or(&one.spread);
        Some((one.name.strip_prefix(before)?, one.spread.count(), spread.max()?))
    })
}

/// Names of rows with a figure of each, unless it may be less.
fn pairs<'a>(
    table: &'a Table,
    name: &str,
    figure: &str,
) -> impl Iterator<Item = (&'a str, Option<f64>)> {
    let cells = |id: &str| table.column(id).map_or(&[][..], |column| &column.cells);
    let both = cells(name).iter().zip(cells(figure));
    both.filter_map(|(name, cell): (&Cell, &Cell)| {
        let known = !matches!(cell, Cell::Figure { trust: Trust::AtMost, .. });
        let number = cell.number().filter(|_| known);
        Some((name.text()?, number.map(Number::as_f64)))
    })
}

/// The most or the least that a figure may be.
fn bound(quantity: &Quantity, most: bool) -> Option<f64> {
    let value = quantity.value()?;
    let (low, high) = quantity.trust().bounds().unwrap_or((value, value));
    Some(if most { high } else { low }.as_f64())
}

/// A twentieth more, rounded up to two digits.
fn above(value: f64) -> u64 {
    let more = (value * 1.05).ceil().max(1.0);
    let step = 10f64.powf((more.log10().floor() - 1.0).max(0.0));
    ((more / step).ceil() * step) as u64
}

/// A string of TOML, with what a terminal obeys escaped.
fn quoted(text: &str) -> String {
    if !text.contains(is_obeyed) {
        return toml::Value::String(text.to_owned()).to_string();
    }
    let mut out = String::from('"');
    for c in text.chars() {
        if is_obeyed(c) {
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            if matches!(c, '"' | '\\') {
                out.push('\\');
            }
            out.push(c);
        }
    }
    out + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_round_and_above() {
        assert_eq!([above(0.0), above(1.0), above(100.0), above(45123.0)], [1, 2, 110, 48000]);
        assert_eq!(quoted("a\"b\\"), "'a\"b\\'");
    }

    /// A file that is read in an editor shows names as they are, and has the same value.
    #[test]
    fn names_in_the_file_have_no_terminal_controls() {
        let hostile = "a\u{202e}\"b\\\u{1b}c\n\u{61c}'d";
        let text = quoted(hostile);
        assert_eq!(text, r#""a\u202e\"b\\\u001bc\u000a\u061c'd""#);
        let read: toml::Table = format!("x = {text}").parse().expect("TOML");
        assert_eq!(read["x"].as_str(), Some(hostile));
    }
}
