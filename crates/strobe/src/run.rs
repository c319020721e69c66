//! `strobe run`: simulate a firmware, profile it, report.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use strobe_model::{Record, Warning};
use strobe_source::simulated::{self, Limit, Settings};

use crate::output::{self, Format};
use crate::{board, exit, host, input};

/// Simulate a firmware cycle by cycle and report where the cycles went.
#[derive(clap::Args)]
pub struct Args {
    /// The firmware, an ELF file; nothing in it needs to be prepared.
    firmware: PathBuf,
    /// Board: a name from `strobe boards` or a board file; by default the one the firmware is linked for.
    #[arg(long, value_name = "NAME|FILE")]
    board: Option<String>,
    /// End the run: after cycles (`1000000c`), simulated time (`20ms`), at a symbol (`main`), or only when the
    /// firmware exits (`exit`). A time and a symbol may both be given.
    #[arg(long, value_name = "WHEN")]
    until: Vec<String>,
    /// Measure only from here on, each time it is reached (symbol or address).
    #[arg(long, value_name = "SYMBOL")]
    from: Option<String>,
    /// Measure only up to here (symbol or address).
    #[arg(long, value_name = "SYMBOL")]
    to: Option<String>,
    /// List pulse widths of a pin (`PB8`) or times between arrivals at a symbol.
    #[arg(long, value_name = "PIN|SYMBOL", value_delimiter = ',')]
    mark: Vec<String>,
    /// What rows of the profile stand for.
    #[arg(long, value_enum, default_value_t = By::Function)]
    by: By,
    /// Rows of the profile; 0 for all.
    #[arg(long, default_value_t = 20, value_name = "N")]
    top: usize,
    /// Print the call tree as well.
    #[arg(long)]
    tree: bool,
    /// Print a function's source and instructions with their cycles.
    #[arg(long, value_name = "FUNCTION")]
    annotate: Vec<String>,
    /// An access to a register that is not modelled ends the run.
    #[arg(long)]
    strict: bool,
    /// After a fault go on into the firmware's HardFault handler.
    #[arg(long)]
    run_on: bool,
    /// Do not show what the firmware prints.
    #[arg(long, short)]
    quiet: bool,
    /// How to print the result.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    /// Write the result to a file.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// What rows of the profile stand for.
#[derive(Clone, Copy, clap::ValueEnum)]
pub enum By {
    /// Functions, with what they call.
    Function,
    /// Source lines.
    Line,
    /// Instruction addresses.
    Address,
}

impl From<By> for strobe_model::By {
    fn from(by: By) -> Self {
        match by {
            By::Function => strobe_model::By::Function,
            By::Line => strobe_model::By::Line,
            By::Address => strobe_model::By::Address,
        }
    }
}

/// Runs and reports.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let firmware = input::firmware(&args.firmware)?;
    let choice = board::choose(args.board.as_deref(), &firmware)?;
    let settings = settings(args)?;
    let interrupted = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&interrupted);
    // A second Ctrl-C, with the report under way, ends at once.
    let _ = ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    });
    let mut terminal = host::Terminal::new(args.quiet);
    let result = simulated::run(&firmware, &choice.board, &settings, &mut terminal, &interrupted);
    terminal.finish();
    let mut record = result.map_err(explain)?;
    record.subject.file = input::file_name(&args.firmware);
    if let Some(why) = &choice.guessed {
        let text = format!(
            "board {} was chosen because the firmware is {why}; --board names another",
            record.subject.board
        );
        record.warnings.push(Warning { text, count: 1 });
    }
    let text = match args.format {
        Format::Json => strobe_report::json::record(&record).into_bytes(),
        Format::Text => text(args, &record)?,
    };
    output::write(&text, args.output.as_deref())?;
    Ok(exit::code_for(&record.window.end_reason, settings.until.is_some()))
}

/// Whose fault an error is decides its exit code.
fn explain(error: simulated::Error) -> anyhow::Error {
    use simulated::Error;
    match error {
        Error::Symbol(_) | Error::Pin { .. } => exit::usage(error.to_string()),
        Error::Board(_) | Error::DoesNotFit { .. } | Error::Vectors(_) => {
            exit::data(error.to_string())
        }
        Error::Balance(_) => error.into(),
    }
}

fn settings(args: &Args) -> anyhow::Result<Settings> {
    let mut settings = Settings {
        from: args.from.clone(),
        to: args.to.clone(),
        marks: args.mark.clone(),
        strict: args.strict,
        run_on_after_fault: args.run_on,
        ..Settings::default()
    };
    if settings.to.is_some() && settings.from.is_none() {
        return Err(exit::usage("--to needs --from: where does measuring start?"));
    }
    for until in &args.until {
        match limit(until) {
            Some(limit) if settings.limit.is_none() => settings.limit = Some(limit),
            None if until == "exit" => settings.default_limit_cycles = u64::MAX,
            None if settings.until.is_none() => settings.until = Some(until.clone()),
            _ => {
                return Err(exit::usage(format!(
                    "--until {until}: one time and one symbol at most"
                )));
            }
        }
    }
    Ok(settings)
}

/// `1000000c`, `20ms`: a number with a unit; anything else is a symbol.
fn limit(text: &str) -> Option<Limit> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '_')?;
    let number: f64 = text[..split].replace('_', "").parse().ok()?;
    let scale = |factor: f64| (number * factor).round() as u64;
    Some(match &text[split..] {
        "c" | "cycles" => Limit::Cycles(scale(1.0)),
        "ns" => Limit::Nanoseconds(scale(1.0)),
        "us" => Limit::Nanoseconds(scale(1e3)),
        "ms" => Limit::Nanoseconds(scale(1e6)),
        "s" => Limit::Nanoseconds(scale(1e9)),
        _ => return None,
    })
}

fn text(args: &Args, record: &Record) -> anyhow::Result<Vec<u8>> {
    let _ = args;
    let mut out = Vec::new();
    for row in record.profile.rows(args.by.into()).into_iter().take(args.top) {
        std::io::Write::write_fmt(&mut out, format_args!("{row:?}\n"))?;
    }
    Ok(out)
}
