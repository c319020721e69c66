//! Figures of benchmarks in a small sorted file that is reviewed as code is, and what has changed
//! since.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use strobe_model::measurement::ids;

use serde::Deserialize;
use strobe_model::measurement::{Column, Finding, Measurement, Severity, Table, Unit};
use strobe_report::bench::Verdict;
use strobe_report::grouped;

use crate::exit;
use crate::files::{self, Kind};

const SCHEMA: &str = "strobe-bench/1";

const HEAD: &str = "# Figures kept by strobe bench --save (docs/bench.md) for --baseline.\n";

/// The figures that are kept. More of one is worse, but for instructions: they are in the cycles.
const FIGURES: [(&str, &str, bool); 5] = [
    ("cycles", "cycles", true),
    ("instructions", "instructions", false),
    ("stack", "bytes of stack", true),
    ("blocks", "blocks allocated", true),
    ("allocated", "bytes allocated", true),
];

/// A whole file.
#[derive(Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SavedBaseline {
    schema: String,
    /// How many benchmarks it has: a file that was cut off has fewer.
    benchmarks: usize,
    #[serde(default)]
    firmware: BTreeMap<String, One>,
}

/// A firmware.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct One {
    board: String,
    /// Figures by name and input of the benchmark, `sort/64`.
    #[serde(default)]
    benchmark: BTreeMap<String, BTreeMap<String, i64>>,
}

/// Measured figures beside those that were kept.
pub struct Compared {
    /// What differs, one figure a row.
    pub table: Table,
    /// What is not in the table.
    pub notes: Vec<String>,
    /// What is worse, and what is no longer there.
    pub findings: Vec<Finding>,
    /// Whether there is any.
    pub is_worse: bool,
    /// What is to be said of each benchmark, by firmware and name.
    pub verdicts: Verdicts,
}

/// Verdicts with their reasons, by firmware and benchmark.
pub type Verdicts = BTreeMap<(String, String), (Verdict, Vec<String>)>;

impl SavedBaseline {
    /// Reads a file.
    ///
    /// # Errors
    /// What cannot be read (66); another version and what is cut off (65).
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let text = files::text(path, &Kind::BASELINE)?;
        Self::parse(&text).map_err(|e| {
            let e = e.trim_end().replace('\n', "\n  ");
            exit::data(format!("{}: {e}; write it anew with strobe bench --save", path.display()))
        })
    }

    fn parse(text: &str) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Head {
            schema: String,
        }
        let head: Head =
            toml::from_str(text).map_err(|e| format!("no whole baseline of benchmarks: {e}"))?;
        if head.schema != SCHEMA {
            return Err(format!("a file of form {}; this strobe reads {SCHEMA}", head.schema));
        }
        let kept: SavedBaseline = toml::from_str(text).map_err(|e| e.to_string())?;
        let found = kept.count();
        if found != kept.benchmarks {
            return Err(format!(
                "the baseline announces {} benchmarks and has {found}: it was cut off or edited",
                kept.benchmarks
            ));
        }
        Ok(kept)
    }

    fn count(&self) -> usize {
        self.firmware.values().map(|one| one.benchmark.len()).sum()
    }

    /// What is kept of measurements, by their names; nothing of benchmarks that failed.
    pub fn of(all: &[(String, Measurement)]) -> Self {
        let one = |(name, m): &(String, Measurement)| {
            let board = m.subject.board.clone().unwrap_or_default();
            (name.clone(), One { board, benchmark: figures(m) })
        };
        let mut kept = SavedBaseline {
            schema: SCHEMA.to_owned(),
            benchmarks: 0,
            firmware: all.iter().map(one).collect(),
        };
        kept.benchmarks = kept.count();
        kept
    }

    /// Writes it.
    ///
    /// # Errors
    /// When it cannot be written (74).
    pub fn write(&self, path: &Path) -> anyhow::Result<()> {
        files::replace(path, self.text().as_bytes())
    }

    /// A benchmark is a line, so that a review shows what has changed of it.
    fn text(&self) -> String {
        let quoted = |text: &str| toml::Value::String(text.to_owned()).to_string();
        let mut out = format!("{HEAD}schema = \"{SCHEMA}\"\nbenchmarks = {}\n", self.benchmarks);
        for (name, one) in &self.firmware {
            let _ = writeln!(out, "\n[firmware.{}]", quoted(name));
            let _ = writeln!(out, "board = {}", quoted(&one.board));
            let _ = writeln!(out, "\n[firmware.{}.benchmark]", quoted(name));
            for (benchmark, figures) in &one.benchmark {
                let known = FIGURES.iter().filter_map(|(id, ..)| Some((id, figures.get(*id)?)));
                let figures: Vec<String> = known.map(|(id, n)| format!("{id} = {n}")).collect();
                let _ = writeln!(out, "{} = {{ {} }}", quoted(benchmark), figures.join(", "));
            }
        }
        out
    }

    /// Compares measurements with it. Up to so many percent more are not worse; of what is no
    /// longer there only what was wanted counts.
    ///
    /// # Errors
    /// Figures of another board, or of none of these firmwares (65).
    pub fn compare(
        &self,
        all: &[(String, Measurement)],
        threshold: f64,
        wanted: &dyn Fn(&str) -> bool,
    ) -> anyhow::Result<Compared> {
        let mut out = Comparison::new(threshold);
        let mut is_any = false;
        for (name, m) in all {
            let Some(one) = self.named(name, all, &mut out) else {
                let text = format!("{name} is not in the baseline: nothing of it was compared");
                out.findings.push(Finding::new(Severity::Warning, "not-in-baseline", text));
                continue;
            };
            let board = m.subject.board.as_deref().unwrap_or_default();
            if one.board != board {
                return Err(exit::data(format!(
                    "the baseline's figures of {name} are of board {}, not of {board}",
                    one.board
                )));
            }
            out.add(name, &one.benchmark, &figures(m), wanted);
            is_any = true;
        }
        if !is_any {
            let of = |names: Vec<&String>| {
                names.into_iter().map(String::as_str).collect::<Vec<_>>().join(", ")
            };
            return Err(exit::data(format!(
                "the baseline has figures of {} and none of {}: nothing would be compared; --name \
                 names a firmware as there",
                of(self.firmware.keys().collect()),
                of(all.iter().map(|(name, _)| name).collect())
            )));
        }
        Ok(out.finish())
    }

    /// What is kept of a firmware. A single one is the other, whatever its file is called.
    fn named(
        &self,
        name: &str,
        all: &[(String, Measurement)],
        out: &mut Comparison,
    ) -> Option<&One> {
        let found = self.firmware.get(name);
        let mut others = self.firmware.iter();
        let (Some((other, one)), None, [_], None) = (others.next(), others.next(), all, found)
        else {
            return found;
        };
        let text = format!("the baseline's figures of {other} are taken for those of {name}");
        out.findings.push(Finding::new(Severity::Note, "other-name", text));
        Some(one)
    }
}

/// The figures of a measurement by benchmark and input.
fn figures(m: &Measurement) -> BTreeMap<String, BTreeMap<String, i64>> {
    let Some(table) = m.table(ids::section::BENCHMARKS) else { return BTreeMap::new() };
    let number = |id: &str, row: usize| {
        let cell = table.column(id)?.cells.get(row)?;
        i64::try_from(cell.number()?.as_u64()).ok()
    };
    let name =
        |row: usize| Some(table.column(ids::column::BENCHMARK)?.cells.get(row)?.text()?.to_owned());
    let mut out = BTreeMap::new();
    for row in (0..table.len()).filter(|row| number("cycles", *row).is_some()) {
        let known =
            FIGURES.iter().filter_map(|(id, ..)| Some(((*id).to_owned(), number(id, row)?)));
        if let Some(name) = name(row) {
            out.insert(name, known.collect());
        }
    }
    out
}

struct Comparison {
    threshold: f64,
    table: Table,
    same: usize,
    new: Vec<String>,
    findings: Vec<Finding>,
    is_worse: bool,
    verdicts: Verdicts,
}

impl Comparison {
    fn new(threshold: f64) -> Self {
        let table = Table::new(vec![
            Column::text(ids::column::FIRMWARE, "firmware"),
            Column::text(ids::column::BENCHMARK, "benchmark"),
            Column::text("figure", "figure"),
            Column::figure("baseline", "baseline", Unit::COUNT),
            Column::figure("now", "now", Unit::COUNT),
            Column::figure("difference", "difference", Unit::COUNT),
            Column::text("change", "change"),
        ]);
        Comparison {
            threshold,
            table,
            same: 0,
            new: Vec::new(),
            findings: Vec::new(),
            is_worse: false,
            verdicts: Verdicts::new(),
        }
    }

    fn add(
        &mut self,
        firmware: &str,
        before: &BTreeMap<String, BTreeMap<String, i64>>,
        after: &BTreeMap<String, BTreeMap<String, i64>>,
        wanted: &dyn Fn(&str) -> bool,
    ) {
        for (benchmark, now) in after {
            match before.get(benchmark) {
                Some(then) => self.figures(firmware, benchmark, then, now),
                None => {
                    self.new.push(format!("{benchmark} ({firmware})"));
                    self.judge(firmware, benchmark, Verdict::New, Vec::new());
                }
            }
        }
        let gone = before.keys().filter(|key| !after.contains_key(*key));
        for benchmark in gone.filter(|key| wanted(key.split('/').next().unwrap_or(key))) {
            let text = format!(
                "{benchmark} of {firmware} is in the baseline and was not measured: nothing is \
                 known of it now"
            );
            self.judge(firmware, benchmark, Verdict::Gone, vec![text.clone()]);
            self.findings.push(Finding::new(Severity::Fault, "gone", text));
            self.is_worse = true;
        }
    }

    fn judge(&mut self, firmware: &str, benchmark: &str, verdict: Verdict, why: Vec<String>) {
        let of = (firmware.to_owned(), benchmark.to_owned());
        self.verdicts.insert(of, (verdict, why));
    }

    fn figures(
        &mut self,
        firmware: &str,
        benchmark: &str,
        then: &BTreeMap<String, i64>,
        now: &BTreeMap<String, i64>,
    ) {
        let (mut verdict, mut notes) = (Verdict::Same, Vec::new());
        for (id, title, counts) in FIGURES {
            let (Some(&then), Some(&now)) = (then.get(id), now.get(id)) else { continue };
            let more = now - then;
            if more == 0 {
                self.same += 1;
                continue;
            }
            let percent = (then != 0).then(|| more as f64 / then as f64 * 100.0);
            let is_worse = counts && more > 0 && percent.is_none_or(|p| p > self.threshold);
            let change = percent.map_or("from nothing".to_owned(), |p| format!("{p:+.1} %"));
            if is_worse {
                let text = format!(
                    "{benchmark} of {firmware}: {now} {title}, {more} more than {then} ({change})"
                );
                self.findings.push(Finding::new(Severity::Fault, "worse", text));
                self.is_worse = true;
                verdict = Verdict::More;
            } else if verdict == Verdict::Same {
                verdict = Verdict::Differs;
            }
            let [was, is] = [then, now].map(|n| grouped(n.unsigned_abs()));
            notes.push(format!("{title} {is} after {was} ({change})"));
            self.table.row([
                firmware.into(),
                benchmark.into(),
                title.into(),
                then.into(),
                now.into(),
                more.into(),
                change.into(),
            ]);
        }
        self.judge(firmware, benchmark, verdict, notes);
    }

    fn finish(self) -> Compared {
        let (same, different) = (self.same, self.table.len());
        let mut notes = vec![format!(
            "Figures that differ: {different}; that are the same: {same}. Up to {} % more cycles, \
             stack or allocations are not worse.",
            self.threshold
        )];
        if !self.new.is_empty() {
            notes.push(format!("Not in the baseline: {}.", self.new.join(", ")));
        }
        let Comparison { table, findings, is_worse, verdicts, .. } = self;
        Compared { table, notes, findings, is_worse, verdicts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(cycles: i64) -> SavedBaseline {
        let figures = |n: i64| [("cycles".to_owned(), n), ("stack".to_owned(), 8)].into();
        let benchmark =
            [("sort/64".to_owned(), figures(cycles)), ("crc \"a\"".to_owned(), figures(5))];
        let one = One { board: "blue".to_owned(), benchmark: benchmark.into() };
        SavedBaseline {
            schema: SCHEMA.to_owned(),
            benchmarks: 2,
            firmware: [("fw".to_owned(), one)].into(),
        }
    }

    #[test]
    fn written_file_is_read_and_any_part_refused() {
        let text = kept(7).text();
        assert_eq!(SavedBaseline::parse(&text), Ok(kept(7)));
        for (at, _) in text.trim_end().match_indices('\n') {
            assert!(SavedBaseline::parse(&text[..at]).is_err(), "{}", &text[..at]);
        }
        let other = text.replace("bench/1", "bench/9");
        assert!(SavedBaseline::parse(&other).unwrap_err().contains("strobe-bench/9"));
    }

    fn compared(before: i64, after: i64, threshold: f64) -> Comparison {
        let (before, after) = (kept(before), kept(after));
        let mut out = Comparison::new(threshold);
        let all = |kept: &SavedBaseline| kept.firmware["fw"].benchmark.clone();
        out.add("fw", &all(&before), &all(&after), &|_| true);
        out
    }

    #[test]
    fn more_is_worse_beyond_the_threshold() {
        assert!(!compared(100, 100, 0.0).is_worse);
        assert!(compared(100, 101, 0.0).is_worse);
        assert!(!compared(100, 101, 1.0).is_worse);
        assert!(!compared(100, 90, 0.0).is_worse);
        let out = compared(100, 90, 0.0);
        assert_eq!((out.table.len(), out.same), (1, 3));
        let verdict = |name: &str| &out.verdicts[&("fw".to_owned(), name.to_owned())];
        let expected = (Verdict::Differs, vec!["cycles 90 after 100 (-10.0 %)".to_owned()]);
        assert_eq!(*verdict("sort/64"), expected);
        assert_eq!(*verdict("crc \"a\""), (Verdict::Same, Vec::new()));
    }

    #[test]
    fn vanished_benchmark_counts_if_it_was_requested() {
        let before = kept(7).firmware["fw"].benchmark.clone();
        for (name, expected) in [("sort", true), ("other", false)] {
            let mut out = Comparison::new(0.0);
            out.add("fw", &before, &BTreeMap::new(), &|benchmark| benchmark == name);
            assert_eq!(out.is_worse, expected);
        }
    }
}
