//! Programs from a list, each against a peer's command: `cargo xtask bench --list FILE`.
//!
//! The bundled load is friendly: compute loops that run long. A list names programs of every sort,
//! also those that wait, that compile badly or that end soon, with what each is compared to. A
//! recorded ratio to the peer makes a run of the list a test: one that is a tenth worse fails. The
//! ratio is of times measured in turn on the same machine, so it can be recorded on another one.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use super::contender::timed;
use super::report::write_table;

/// A ratio may exceed the recorded one by this much: less is noise.
const TOLERANCE: f64 = 1.10;

/// CPU time below which a ratio means nothing: start-up and the clock's resolution.
const SHORTEST_S: f64 = 0.05;

/// A list of programs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    program: Vec<Entry>,
}

/// A program of a list.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    /// Its firmware, relative to the list.
    elf: PathBuf,
    /// Options of `strobe run`, as `--board`.
    #[serde(default)]
    options: Vec<String>,
    /// The peer's command, in which `{elf}` is the firmware. Without one the peer is strobe
    /// itself, interpreting every instruction.
    peer: Option<Vec<String>>,
    /// The recorded ratio of strobe's CPU time to the peer's.
    ratio: Option<f64>,
}

/// How a program is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    /// One run with the full profile.
    Once,
    /// With bounds from two further runs, as by default.
    Default,
    /// Interpreted, with every turn of waiting loops.
    Interpreted,
    Peer,
}

/// Median CPU seconds of one program.
#[derive(Debug)]
struct Timed {
    name: String,
    cpu_s: BTreeMap<Way, f64>,
    /// Simulated seconds.
    simulated_s: f64,
    recorded: Option<f64>,
}

impl Timed {
    /// Strobe's CPU time as a multiple of another way's, if both are long enough.
    fn ratio(&self, to: Way) -> Option<f64> {
        let (own, other) = (self.cpu_s.get(&Way::Once)?, self.cpu_s.get(&to)?);
        (own.max(*other) >= SHORTEST_S).then(|| own / other.max(1e-3))
    }

    /// Strobe's CPU time as a multiple of the peer's.
    fn to_peer(&self) -> Option<f64> {
        let peer = if self.cpu_s.contains_key(&Way::Peer) { Way::Peer } else { Way::Interpreted };
        self.ratio(peer)
    }

    /// Whether it has become slower than recorded.
    fn has_regressed(&self) -> bool {
        let pair = self.to_peer().zip(self.recorded);
        pair.is_some_and(|(ratio, recorded)| ratio > recorded * TOLERANCE)
    }
}

/// Runs a list and prints a table.
///
/// # Errors
/// If a command fails, or a program has become slower than recorded.
pub(super) fn run(path: &Path, strobe: &Path, scratch: &Path, runs: u32) -> Result<()> {
    let text =
        std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let list: List = toml::from_str(&text).with_context(|| format!("in {}", path.display()))?;
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut all = Vec::new();
    for entry in &list.program {
        let elf = folder.join(&entry.elf);
        if !elf.is_file() {
            eprintln!("{}: left out, {} does not exist", entry.name, elf.display());
            continue;
        }
        all.push(measure(entry, &elf, strobe, scratch, runs)?);
    }
    print!("{}", Table(&all));
    let regressed = all.iter().filter(|timed| timed.has_regressed());
    let names: Vec<&str> = regressed.map(|timed| timed.name.as_str()).collect();
    if !names.is_empty() {
        bail!("more than a tenth slower than recorded: {}", names.join(", "));
    }
    Ok(())
}

fn measure(entry: &Entry, elf: &Path, strobe: &Path, scratch: &Path, runs: u32) -> Result<Timed> {
    let output = scratch.join("list.measurement");
    let mut times: BTreeMap<Way, Vec<f64>> = BTreeMap::new();
    for turn in 1..=runs {
        for way in [Way::Once, Way::Default, Way::Interpreted, Way::Peer] {
            let Some(command) = command(way, entry, elf, strobe, &output) else { continue };
            eprintln!("{}: {way:?} ({turn} of {runs})", entry.name);
            let _ = std::fs::remove_file(&output);
            let (run, _) = timed(command)?;
            times.entry(way).or_default().push(run.cpu_us as f64 / 1e6);
            if way == Way::Once && !output.is_file() {
                bail!("{}: strobe ended with {} and no measurement", entry.name, run.exit_code);
            }
        }
    }
    let mut once = command(Way::Once, entry, elf, strobe, &output).context("a command")?;
    let _ = once.output();
    let cpu_s = times.into_iter().map(|(way, times)| (way, median(times))).collect();
    let simulated_s = simulated_seconds(&output)?;
    Ok(Timed { name: entry.name.clone(), cpu_s, simulated_s, recorded: entry.ratio })
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_unstable_by(f64::total_cmp);
    times[times.len() / 2]
}

fn command(way: Way, entry: &Entry, elf: &Path, strobe: &Path, out: &Path) -> Option<Command> {
    if way == Way::Peer {
        let (program, arguments) = entry.peer.as_ref()?.split_first()?;
        let mut command = Command::new(program);
        let elf = elf.to_string_lossy();
        command.args(arguments.iter().map(|argument| argument.replace("{elf}", &elf)));
        return Some(command);
    }
    let mut command = Command::new(strobe);
    command.args(["run", "--quiet", "--format", "json", "--output"]).arg(out);
    match way {
        Way::Once => command.args(["--bounds", "none"]),
        Way::Interpreted => command.args(["--bounds", "none", "--interpret", "--execute-waits"]),
        Way::Default | Way::Peer => &mut command,
    };
    command.args(&entry.options).arg(elf);
    Some(command)
}

/// The simulated time of a measurement.
fn simulated_seconds(path: &Path) -> Result<f64> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("no measurement in {}", path.display()))?;
    let measurement: serde_json::Value = serde_json::from_str(&text)?;
    let nanoseconds = measurement["window"]["duration"]["value"].as_f64();
    nanoseconds.map(|ns| ns / 1e9).context("the measurement has no duration")
}

/// What was measured, as a Markdown table.
struct Table<'a>(&'a [Timed]);

impl Display for Table<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "CPU seconds, medians. Ratios are of one run: below 1 strobe is faster.\n")?;
        let header = [
            "program",
            "one run",
            "default",
            "interpreted",
            "peer",
            "to peer",
            "recorded",
            "to interpreted",
            "default to one",
            "simulated s",
            "times the chip",
        ];
        let mut rows = vec![header.map(String::from)];
        rows.extend(self.0.iter().map(row));
        write_table(f, &rows, 1)
    }
}

fn row(timed: &Timed) -> [String; 11] {
    let seconds = |way| timed.cpu_s.get(&way).map_or("-".to_owned(), |s| format!("{s:.3}"));
    let ratio = |ratio: Option<f64>| ratio.map_or("-".to_owned(), |r| format!("{r:.2}"));
    let inverse = timed.ratio(Way::Default).map(|r| 1.0 / r.max(1e-6));
    let once = timed.cpu_s.get(&Way::Once).copied().unwrap_or(0.0).max(1e-3);
    [
        timed.name.clone(),
        seconds(Way::Once),
        seconds(Way::Default),
        seconds(Way::Interpreted),
        seconds(Way::Peer),
        ratio(timed.to_peer()),
        ratio(timed.recorded),
        ratio(timed.ratio(Way::Interpreted)),
        ratio(inverse),
        format!("{:.3}", timed.simulated_s),
        format!("{:.1}", timed.simulated_s / once),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timed(once: f64, peer: f64, recorded: f64) -> Timed {
        let cpu_s = BTreeMap::from([(Way::Once, once), (Way::Peer, peer)]);
        Timed { name: "one".to_owned(), cpu_s, simulated_s: 2.0, recorded: Some(recorded) }
    }

    #[test]
    fn a_tenth_more_than_recorded_is_a_regression() {
        assert!(!timed(1.05, 1.0, 1.0).has_regressed());
        assert!(timed(1.2, 1.0, 1.0).has_regressed());
        assert!(!timed(0.001, 0.000_1, 1.0).has_regressed(), "too short to compare");
    }

    #[test]
    fn entries_have_their_own_peer() {
        let text = r#"
            [[program]]
            name = "crc"
            elf = "crc.elf"
            options = ["--board", "mps2-an386"]
            peer = ["emulator", "-kernel", "{elf}"]
            ratio = 0.9
        "#;
        let list: List = toml::from_str(text).unwrap();
        let entry = &list.program[0];
        let (elf, strobe) = (Path::new("/x/crc.elf"), Path::new("strobe"));
        let command = command(Way::Peer, entry, elf, strobe, Path::new("out")).unwrap();
        let arguments: Vec<_> = command.get_args().collect();
        assert_eq!(arguments, ["-kernel", "/x/crc.elf"]);
    }
}
