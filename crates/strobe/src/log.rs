//! `strobe log`: adds measurements to an archive.

mod entry;
mod logged;
mod source;

use std::path::PathBuf;
use std::process::ExitCode;

use strobe_archive::date;

use crate::{exit, files, measurement, output};
pub use entry::is_part;
use entry::{Entry, Names};
pub use logged::ArchiveArgs;
use source::Source;

const EXAMPLES: &str = "\
Examples:
  strobe run firmware.elf --log history          a run, straight into the archive
  strobe run firmware.elf -o run.measurement && strobe log history run.measurement
  strobe log history run.measurement size.measurement --project sensor --board rev-b
  strobe log history old.measurement --commit v1.2 --date 2026-03-01
  strobe history history; strobe history history main

Each call writes new files and replaces none, so that several may write at once. The files are
Parquet; what is in them is in docs/history.md.

Exit codes: 0 done, 64 wrong arguments, 65 no measurement, 66 cannot be read, 74 cannot be written";

/// Add measurements to an archive, with the commit that they are of: a folder of Parquet files by
/// project, board and date, which `strobe history` and any SQL engine read.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The archive's folder; made if there is none.
    directory: PathBuf,
    /// Measurements (-o FILE.measurement of any command).
    #[arg(required = true, value_name = "MEASUREMENT")]
    measurements: Vec<PathBuf>,
    /// Project [default: the name of git's work tree, else of the current folder].
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// Board [default: the measurement's; of sizes and stacks of an image `none`, else `unknown`].
    #[arg(long, value_name = "NAME")]
    board: Option<String>,
    /// What was measured [default: the name of the measured file]. Histories are kept apart by it.
    #[arg(long, value_name = "NAME")]
    subject: Option<String>,
    /// Commit of the firmware's source [default: that of the current folder, with `-dirty` behind
    /// it if files have changed].
    #[arg(long, value_name = "COMMIT")]
    commit: Option<String>,
    /// Branch [default: that of the current folder].
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// When it was measured, in UTC: `2026-11-23` or `2026-11-23T05:09:38Z` [default: now].
    #[arg(long, value_name = "TIME")]
    date: Option<String>,
}

impl Args {
    /// Registers the files that are read.
    pub fn files(&self, named: &mut files::FileSet) {
        named.reads(&self.measurements);
    }
}

/// Reads all, then writes.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let directory = &args.directory;
    entry::fits(directory)?;
    let parsed = |text: &String| {
        date::parse(text).ok_or_else(|| {
            exit::usage(format!("--date {text}: no date as 2026-11-23 or 2026-11-23T05:09:38Z"))
        })
    };
    let time = args.date.as_ref().map(parsed).transpose()?;
    let source = Source::of(args.commit.as_deref(), args.branch.as_deref())?;
    let names = Names {
        project: args.project.as_deref(),
        board: args.board.as_deref(),
        subject: args.subject.as_deref(),
    };
    let mut entry = Entry::new(directory, names, source, time)?;
    for path in &args.measurements {
        if path.is_dir() {
            let shown = path.display();
            return Err(exit::no_input(format!("{shown} is a directory; give measurements")));
        }
        let measurement = measurement::read(path)?.ok_or_else(|| {
            exit::data(format!(
                "{} is no measurement; commands write one with -o FILE.measurement",
                path.display()
            ))
        })?;
        if entry::is_part(&measurement) {
            return Err(exit::data(format!(
                "{}: it was stopped by the user, and part of a run beside whole ones would look \
                 like a change",
                path.display()
            )));
        }
        entry.add(&measurement)?;
    }
    let lines: String = entry.write()?.iter().map(|line| format!("{line}\n")).collect();
    output::write(lines.as_bytes(), None)?;
    Ok(ExitCode::SUCCESS)
}
