//! Why a step of a check failed: reading the budgets, building, measuring, comparing.

use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use strobe_analyse::budget::InvalidLimit;
use strobe_model::spelling;
use thiserror::Error;

use crate::{exit, interrupt};

/// A file of budgets that cannot be checked.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum ConfigError {
    /// It is not TOML, or has other keys, in the words of the parser.
    #[error("{0}")]
    Syntax(String),
    /// It has a later form.
    #[error("version {0} is not known to this strobe; it reads 1")]
    Version(u32),
    /// It names no firmware.
    #[error("there is no [[firmware]]: nothing would be checked")]
    NoFirmware,
    /// Two firmwares have one name.
    #[error("two firmwares are called {0}; give one another `name`")]
    SameFirmware(String),
    /// A time is written in another way.
    #[error("{firmware}: `{time}`: {}", spelling::TIME)]
    Time {
        /// The firmware that has it.
        firmware: String,
        /// The time as it is written.
        time: String,
    },
    /// A firmware has no budget.
    #[error("{0} has no [[firmware.budget]]: nothing is checked")]
    NoBudgets(String),
    /// A budget is wrong.
    #[error("budget of {firmware}: {error}")]
    Budget {
        /// The firmware that has it.
        firmware: String,
        /// What is wrong.
        error: Box<BudgetError>,
    },
    /// Two budgets of a firmware have one name.
    #[error("{firmware} has two budgets `{name}`; give one another `name`")]
    SameBudget {
        /// The firmware.
        firmware: String,
        /// The name.
        name: String,
    },
    /// No figure keeps the limits of two budgets.
    #[error(
        "{firmware}: budgets {} and {} contradict each other: at least {least} and at most {most}",
        .budgets[0],
        .budgets[1]
    )]
    Contradiction {
        /// The firmware.
        firmware: String,
        /// The names of the budgets.
        budgets: [String; 2],
        /// The lower limit, as it is written.
        least: String,
        /// The upper limit, as it is written.
        most: String,
    },
}

/// A budget that cannot be checked.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum BudgetError {
    /// It has no subject.
    #[error("what is it about? Give one of {}", .known.join(", "))]
    NoSubject {
        /// The keys that name one.
        known: Vec<&'static str>,
    },
    /// It has two subjects.
    #[error("it is about {0} and {1}; make two of it")]
    TwoSubjects(&'static str, &'static str),
    /// A limit is written in another way.
    #[error("{subject}: {error}")]
    Limit {
        /// The subject.
        subject: String,
        /// What is wrong with the limit.
        error: InvalidLimit,
    },
    /// It has no limit.
    #[error("{0}: neither `max` nor `min` is given")]
    NoLimit(String),
    /// No figure keeps both limits.
    #[error("{subject}: at least {least} and at most {most} contradict each other")]
    Contradiction {
        /// The subject.
        subject: String,
        /// The lower limit, as it is written.
        least: String,
        /// The upper limit, as it is written.
        most: String,
    },
    /// It is to be judged in another way.
    #[error("{subject}: judge is `bounds` or `likely`, not `{judge}`")]
    Judge {
        /// The subject.
        subject: String,
        /// That way.
        judge: String,
    },
    /// The subject has no such figure.
    #[error(
        "{subject}: figure `{figure}`: there is {}{}",
        .known.join(", "),
        meant(.nearest.as_deref())
    )]
    Figure {
        /// The subject.
        subject: String,
        /// The figure that is asked for.
        figure: String,
        /// The figures that there are.
        known: Vec<&'static str>,
        /// The one that is most like it.
        nearest: Option<String>,
    },
    /// The firmware has no such measurement.
    #[error(
        "{subject}: `of = \"{of}\"`: there is {}{}",
        .known.join(", "),
        meant(.nearest.as_deref())
    )]
    Measurement {
        /// The subject.
        subject: String,
        /// The measurement that is asked for.
        of: String,
        /// The measurements that there are.
        known: Vec<String>,
        /// The one that is most like it.
        nearest: Option<String>,
    },
    /// A size is written in another way.
    #[error(
        "size `{0}`: write `total`, `layer/NAME`, `file/PATH`, `directory/PATH`, `section/NAME`, \
         `crate/NAME`, `archive/NAME`, `region/NAME` or `symbol/NAME`"
    )]
    SizeForm(String),
    /// A section is given without a row and a column.
    #[error(
        "section {section}: `row` and `column` choose the figure; of distributions the column is \
         one of {statistics}"
    )]
    SectionForm {
        /// The section.
        section: String,
        /// The statistics of distributions.
        statistics: String,
    },
}

fn meant(nearest: Option<&str>) -> String {
    nearest.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}

/// A command that did not come to its end.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum ProcessError {
    /// There is no file for its output.
    #[error("no temporary file: {0}")]
    NoFile(String),
    /// It cannot be started.
    #[error("cannot run {program} in {}: {error}", .directory.display())]
    NotStarted {
        /// The program.
        program: String,
        /// The directory that it was to run in.
        directory: PathBuf,
        /// The system's error.
        error: String,
    },
    /// The system does not report its end.
    #[error("cannot wait for it: {0}")]
    NoEnd(String),
    /// This process was interrupted.
    #[error("ended by {}", interrupt::by())]
    Interrupted,
    /// It took too long.
    #[error("it was ended after {} s; {output}", .timeout.as_secs_f64())]
    TimedOut {
        /// The time that it was given.
        timeout: Duration,
        /// The end of its output.
        output: String,
    },
}

/// One of strobe's own commands that gave no measurement.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{command}{why}")]
pub struct CommandError {
    /// The command, for people.
    pub command: String,
    /// The code that it ended with, if it did.
    pub code: Option<i32>,
    /// What it printed, or what else is in the way.
    pub why: String,
}

/// A step of a check that failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum StepError {
    /// A command of the file did not come to its end.
    #[error("`{command}`: {error}")]
    Process {
        /// The command.
        command: String,
        /// Why it did not.
        error: ProcessError,
    },
    /// A command of the file failed.
    #[error("`{command}` failed ({status}): {}", in_a_line(.output))]
    Failed {
        /// The command.
        command: String,
        /// Its status.
        status: ExitStatus,
        /// The end of its output.
        output: String,
    },
    /// One of strobe's own commands gave no measurement.
    #[error(transparent)]
    Command(CommandError),
    /// There is no directory for results.
    #[error("no temporary directory: {0}")]
    NoDirectory(String),
    /// This program is not found.
    #[error("strobe itself: {0}")]
    NoProgram(String),
    /// A file cannot be read, in the words of its reader.
    #[error("{0}")]
    Unreadable(String),
    /// A file is not a measurement.
    #[error("{} is no measurement", .0.display())]
    NoMeasurement(PathBuf),
    /// A command wrote something else.
    #[error("{0} wrote no measurement")]
    OtherOutput(String),
    /// The firmware has no measurement of that name.
    #[error("no measurement {0}")]
    UnknownMeasurement(String),
    /// There is no such measurement of the firmware.
    #[error("it was not measured")]
    NotMeasured,
    /// The firmware has no known allocator.
    #[error("{0}")]
    NoAllocator(String),
    /// The firmware has no such function.
    #[error("the firmware has no function `{name}`{}", listed(.nearest))]
    NoFunction {
        /// The function.
        name: String,
        /// Names that are much like it, the nearest first.
        nearest: Vec<String>,
    },
    /// A pin or symbol cannot be marked, in the words of the command that was to do it.
    #[error("{0}")]
    WrongMark(String),
    /// The baseline is of another firmware.
    #[error("the baseline is of {accepted}, not of {file}")]
    OtherFile {
        /// The file of the baseline.
        accepted: String,
        /// The file that is measured.
        file: String,
    },
    /// The baseline is of another board.
    #[error("the baseline is of a run on {accepted}, not on {board}")]
    OtherBoard {
        /// The board of the baseline.
        accepted: String,
        /// The board that is measured.
        board: String,
    },
    /// A step failed at the other revision.
    #[error("of the other revision: {0}")]
    OfRevision(Box<StepError>),
    /// The other revision has no such figure, in words.
    #[error("{0}")]
    Missing(String),
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { String::new() } else { format!("; nearest: {}", names.join(", ")) }
}

/// What a command printed, as a sentence has it: reports show line ends as what they are.
fn in_a_line(output: &str) -> String {
    let lines = output.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join("; ")
}

impl StepError {
    /// The same as an error of this command: a code that strobe has for mistakes, faults and what
    /// was never reached stays that. The message is without the command, which was not typed.
    pub fn passed_on(self) -> anyhow::Error {
        let StepError::Command(failed) = &self else { return exit::data(self.to_string()) };
        let own = failed.code.and_then(|code| u8::try_from(code).ok());
        let own = own.filter(|code| *code >= exit::USAGE);
        let why = &failed.why;
        let message = why.strip_prefix(": strobe: ").or(why.strip_prefix(": error: "));
        match (own, message) {
            (Some(code), Some(message)) => exit::with(code, message),
            (Some(code), None) => exit::with(code, self.to_string()),
            (None, _) => exit::data(self.to_string()),
        }
    }
}

/// A baseline that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum BaselineError {
    /// It has no head, in the words of the parser.
    #[error("no whole baseline; write it anew with strobe check --accept: {0}")]
    NoHead(String),
    /// It has another form.
    #[error(
        "a baseline of form {found}; this strobe reads {known}: write it anew with strobe check \
         --accept"
    )]
    OtherForm {
        /// Its form.
        found: String,
        /// The form that is read.
        known: &'static str,
    },
    /// It is not TOML, or has other keys, in the words of the parser.
    #[error("{0}")]
    Syntax(String),
    /// It has another number of figures than it announces.
    #[error(
        "the baseline announces {announced} figures and has {found}: it was cut off or edited; \
         write it anew with strobe check --accept"
    )]
    CutOff {
        /// The number that it announces.
        announced: usize,
        /// The number that it has.
        found: usize,
    },
}
