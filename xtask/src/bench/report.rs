//! The figures of a benchmark and their presentation.

use std::fmt::{self, Display, Formatter};

use serde::Serialize;

use super::contender::Run;

/// All results of one `cargo xtask bench`.
#[derive(Serialize)]
pub(super) struct Report {
    /// The programs that strobe is compared with.
    pub(super) peers: String,
    pub(super) cpu: String,
    pub(super) programs: Vec<Program>,
}

/// One program, run by all contenders.
#[derive(Serialize)]
pub(super) struct Program {
    pub(super) core: &'static str,
    pub(super) name: String,
    pub(super) instructions: u64,
    pub(super) measured: Vec<Measured>,
}

/// One program, run by one contender, several times.
#[derive(Serialize)]
pub(super) struct Measured {
    pub(super) contender: &'static str,
    pub(super) runs: Vec<Run>,
}

impl Measured {
    /// The median of one figure of the runs, in seconds; of an even number the slower one.
    fn median(&self, figure: impl Fn(&Run) -> u64) -> f64 {
        let mut values: Vec<u64> = self.runs.iter().map(figure).collect();
        values.sort_unstable();
        values[values.len() / 2] as f64 / 1e6
    }
}

/// Shorter programs measure start-up, not speed.
const WORTH_A_RATE: u64 = 10_000_000;

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}; {}", self.peers, self.cpu)?;
        writeln!(f, "Medians; Minstr/s by CPU time, starting up included.\n")?;
        let header = ["core", "program", "contender", "Minstr", "wall s", "CPU s", "Minstr/s"];
        let mut rows = vec![header.map(String::from)];
        for program in &self.programs {
            let millions = program.instructions as f64 / 1e6;
            for (n, measured) in program.measured.iter().enumerate() {
                let [wall, cpu] = [measured.median(|r| r.wall_us), measured.median(|r| r.cpu_us)];
                rows.push([
                    program.core.into(),
                    program.name.clone(),
                    measured.contender.into(),
                    format!("{millions:.1}"),
                    format!("{wall:.3}"),
                    format!("{cpu:.3}"),
                    program.rate(n).map_or_else(|| "-".into(), |rate| format!("{rate:.0}")),
                ]);
            }
        }
        write_table(f, &rows, 3)?;
        writeln!(f, "\nGeometric means of Minstr/s:\n")?;
        let contenders = self.programs.first().map(|p| &p.measured[..]).unwrap_or_default();
        let mut cores: Vec<&str> = self.programs.iter().map(|p| p.core).collect();
        cores.dedup();
        let header = ["contender"].into_iter().chain(cores.iter().copied());
        let mut rows = vec![header.map(String::from).collect::<Vec<_>>()];
        for (n, contender) in contenders.iter().enumerate() {
            let means = cores.iter().map(|core| format!("{:.0}", self.mean(core, n)));
            rows.push([contender.contender.to_owned()].into_iter().chain(means).collect());
        }
        write_table(f, &rows, 1)
    }
}

impl Report {
    /// Geometric mean of one contender's rates over a core's programs.
    fn mean(&self, core: &str, contender: usize) -> f64 {
        let programs = self.programs.iter().filter(|p| p.core == core);
        let rates: Vec<f64> = programs.filter_map(|p| p.rate(contender)).collect();
        (rates.iter().map(|r| r.ln()).sum::<f64>() / rates.len() as f64).exp()
    }
}

impl Program {
    /// Million instructions per second of CPU time by one contender, if the program is long enough.
    fn rate(&self, contender: usize) -> Option<f64> {
        let cpu = self.measured[contender].median(|run| run.cpu_us);
        (self.instructions >= WORTH_A_RATE).then(|| self.instructions as f64 / 1e6 / cpu)
    }
}

/// A Markdown table with aligned columns, so that it can go into the documentation as it is.
pub(super) fn write_table<R: AsRef<[String]>>(
    f: &mut Formatter<'_>,
    rows: &[R],
    text_columns: usize,
) -> fmt::Result {
    let width =
        |column: usize| rows.iter().map(|row| row.as_ref()[column].len()).max().unwrap_or(0);
    for (n, row) in rows.iter().map(AsRef::as_ref).enumerate() {
        for (column, cell) in row.iter().enumerate() {
            let width = width(column);
            if column < text_columns {
                write!(f, "| {cell:<width$} ")?;
            } else {
                write!(f, "| {cell:>width$} ")?;
            }
        }
        writeln!(f, "|")?;
        if n == 0 {
            for column in 0..row.len() {
                let dashes = "-".repeat(width(column));
                let end = if column < text_columns { ' ' } else { ':' };
                write!(f, "| {dashes}{end}")?;
            }
            writeln!(f, "|")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(wall_us: u64, cpu_us: u64) -> Run {
        Run { wall_us, cpu_us, exit_code: 0, instructions: None, cycles: None }
    }

    #[test]
    fn the_table_shows_medians_and_rates() {
        let runs = vec![run(900_000, 500_000), run(1_100_000, 700_000), run(5_000_000, 400_000)];
        let program = |name: &str, instructions| Program {
            core: "core",
            name: name.into(),
            instructions,
            measured: vec![Measured { contender: "someone", runs: runs.clone() }],
        };
        let programs = vec![program("long", 100_000_000), program("short", 3)];
        let report = Report { peers: "peers".into(), cpu: "CPU".into(), programs };
        let table = report.to_string();
        let cells = |line: &str| line.split('|').map(|c| c.trim().to_owned()).collect::<Vec<_>>();
        let lines: Vec<_> = table.lines().rev().map(cells).collect();
        assert_eq!(lines[0], ["", "someone", "200", ""]);
        assert_eq!(lines[7], ["", "core", "long", "someone", "100.0", "1.100", "0.500", "200", ""]);
        assert_eq!(lines[6], ["", "core", "short", "someone", "0.0", "1.100", "0.500", "-", ""]);
    }
}
