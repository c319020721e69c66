//! `strobe history`: the prepared questions about an archive.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;

use strobe_archive::history::{grew, of_item, overview};
use strobe_archive::{Filter, Key};
use strobe_model::number::first_of;

use crate::output::OutputArgs;
use crate::{archive, exit, files};

/// The number of names in a message.
const NAMED: usize = 10;

const EXAMPLES: &str = "\
Examples:
  strobe history archive                       what is in it; first builds that took more
  strobe history archive filter_step           a function over builds
  strobe history archive USART1 --section latencies --figure max
  strobe history archive '(all)' --section totals --figure cycles
  strobe history archive --grew 30d            what takes more than 30 days before
  strobe history archive main -o main.json

Builds are in the order of their commits' dates; without commits, in that of their measurement.

Exit codes: 0 done, 64 wrong arguments or no such row, 65 no archive, or none of its files usable,
66 cannot be read, 74 cannot be written";

/// Show how figures changed over builds, from an archive of `strobe log`: a function, interrupt or
/// thread build by build, the first build that took more, what grew most.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The archive's folder.
    directory: PathBuf,
    /// A function, interrupt, thread or other row, or a part of its name; `(all)` for the whole.
    #[arg(value_name = "ROW")]
    row: Option<String>,
    /// What grew most since so many days before the last build, as `30d`.
    #[arg(long, value_name = "DAYS", value_parser = days, conflicts_with = "row")]
    grew: Option<u32>,
    /// Only this project.
    #[arg(long, value_name = "NAME")]
    project: Option<String>,
    /// Only this board.
    #[arg(long, value_name = "NAME")]
    board: Option<String>,
    /// Only builds of this branch.
    #[arg(long, value_name = "NAME")]
    branch: Option<String>,
    /// Only of this firmware, by its name.
    #[arg(long, value_name = "NAME")]
    subject: Option<String>,
    /// Only this section of the measurements, as `interrupts`.
    #[arg(long, value_name = "SECTION")]
    section: Option<String>,
    /// Only this figure, as `cycles-inclusive` or `latency-max`.
    #[arg(long, value_name = "NAME")]
    figure: Option<String>,
    #[command(flatten)]
    result: OutputArgs,
}

impl Args {
    /// Registers the files that are read and written.
    pub fn files(&self, named: &mut files::FileSet) {
        named.reads_archive(&self.directory);
        self.result.files(named);
    }
}

fn days(text: &str) -> Result<u32, String> {
    let number = text.strip_suffix('d').unwrap_or(text);
    let days = number.parse::<u32>().ok().filter(|days| (1..=36_500).contains(days));
    days.ok_or_else(|| format!("`{text}` is no number of days, as 30d"))
}

/// Reads and answers.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let filter = Filter {
        project: args.project.clone(),
        board: args.board.clone(),
        branch: args.branch.clone(),
        subject: args.subject.clone(),
        section: args.section.clone(),
        figure: args.figure.clone(),
    };
    let (reading, series) = archive::read(&args.directory, &filter)?;
    if series.figures.is_empty() {
        return Err(none(args)?);
    }
    let answer = match (&args.row, args.grew) {
        (Some(row), _) => {
            let any = args.figure.is_some() || args.section.is_some();
            of_item(&reading, &series, row, any).map_err(|none| {
                exit::usage(match none.near.as_slice() {
                    [] => format!(
                        "{row}: nothing in the archive has that name{}",
                        like(row, &none.all)
                    ),
                    near => format!("{row}: which one of {}?", first_of(near, NAMED)),
                })
            })?
        }
        (None, Some(days)) => grew(&reading, &series, days),
        (None, None) => overview(&reading, &series),
    };
    let top = if args.row.is_some() { 0 } else { 20 };
    args.result.measurement(&answer, &args.result.selection_of(top))?;
    Ok(ExitCode::SUCCESS)
}

/// The error where there are no figures: files that cannot be read, or the first filter that leaves
/// nothing, with what there is.
fn none(args: &Args) -> anyhow::Result<anyhow::Error> {
    let place =
        || Filter { project: args.project.clone(), board: args.board.clone(), ..Filter::default() };
    let (reading, all) = archive::read(&args.directory, &place())?;
    let shown = args.directory.display();
    if let (true, Some((file, why))) = (all.figures.is_empty(), reading.skipped.first()) {
        return Ok(exit::data(format!("{shown}: no figure can be read; {file}: {why}")));
    }
    let of_key = |of: fn(&Key) -> &String| all.figures.keys().map(of).cloned().collect();
    let branches = all.origins.iter().filter_map(|origin| origin.branch.clone()).collect();
    let filters: [(&str, &Option<String>, BTreeSet<String>); 4] = [
        ("--branch", &args.branch, branches),
        ("--subject", &args.subject, of_key(|key| &key.subject)),
        ("--section", &args.section, of_key(|key| &key.section)),
        ("--figure", &args.figure, of_key(|key| &key.figure)),
    ];
    for (option, given, known) in filters {
        if let Some(name) = given.as_ref().filter(|name| !known.contains(*name)) {
            let known: Vec<String> = known.into_iter().collect();
            let (there, like) = (first_of(&known, NAMED), like(name, &known));
            return Ok(exit::usage(if known.is_empty() {
                format!("{option} {name}: nothing in {shown} has one")
            } else {
                format!("{option} {name}: {shown} has {there}{like}")
            }));
        }
    }
    Ok(exit::usage(format!(
        "{shown}: no figure is of that branch, subject, section and figure at once"
    )))
}

/// The names that are most like one that there is not.
fn like(name: &str, known: &[String]) -> String {
    let mut near: Vec<(f64, &String)> =
        known.iter().map(|other| (strsim::jaro_winkler(name, other), other)).collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    let near = near.into_iter().filter(|(like, _)| *like > 0.7).take(3);
    let near: Vec<&str> = near.map(|(_, name)| name.as_str()).collect();
    if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(", ")) }
}
