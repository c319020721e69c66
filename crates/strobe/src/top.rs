//! `strobe top`: where the core is just now, by its trace pin.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use strobe_link::trace::link::ReadOutcome;
use strobe_model::measurement::Measurement;
use strobe_report::file;
use strobe_report::text::{Top, top};
use strobe_source::traced::Session;
use strobe_symbols::Firmware;

use crate::files::FileSet;
use crate::flashing::{self, Progress};
use crate::interrupt::on_interrupt;
use crate::link::{self, Opened};
use crate::output::{self, Format};
use crate::run::By;
use crate::{exit, input, record, terminal, traced};

/// Show where the core is just now, from a trace pin (SWO), on the terminal.
#[derive(clap::Args)]
#[command(after_help = link::SOURCES)]
pub struct Args {
    /// Where the bytes come from; see below.
    source: String,
    /// The firmware that runs.
    #[arg(long, value_name = "FIRMWARE")]
    elf: Option<PathBuf>,
    /// What rows stand for.
    #[arg(long, value_enum, default_value_t = By::Function)]
    by: By,
    /// Rows; 0 for all.
    #[arg(long, default_value_t = 20, value_name = "N")]
    top: usize,
    /// How often to show it anew.
    #[arg(long, value_name = "TIME", value_parser = record::duration, default_value = "1s")]
    interval: Duration,
    /// How long to go on, as 10s, 2m; else until Ctrl-C or the end of the source.
    #[arg(long = "for", value_name = "TIME", value_parser = record::duration)]
    time: Option<Duration>,
    /// End when nothing has come for so long, at any time; 0s never. Without it top gives up after
    /// 5 s without a first byte, and waits for any later one.
    #[arg(long, value_name = "TIME", value_parser = record::duration)]
    silence: Option<Duration>,
    /// A function, or addresses as 0x8000100..0x8000120, whose samples count as idle. May be given
    /// several times.
    #[arg(long, value_name = "FUNCTION|RANGE")]
    idle: Vec<String>,
    /// The watched variable that points to the current thread, by name or comparator (0 to 3).
    #[arg(long, value_name = "NAME|N")]
    thread_pointer: Option<String>,
    /// How to print it; `json` is a measurement in a line for each refresh.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
    #[command(flatten)]
    link: link::Options,
}

/// How long to wait for bytes at once.
const TICK: Duration = Duration::from_millis(50);

impl Args {
    /// Registers no file: none is both read and written.
    pub fn files(&self, _: &mut FileSet) {}
}

/// Opens and shows until it ends.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    let firmware = args.elf.as_deref().map(input::firmware).transpose()?;
    let elf = args.elf.as_deref().zip(firmware.as_ref());
    let early = args.link.flash.then(on_interrupt);
    let mut progress = Progress::new(false, early.clone().unwrap_or_default());
    let opened = link::open(&args.source, &args.link, elf, args.time, &mut progress)?;
    drop(progress);
    flashing::report(opened.flashed.as_ref(), false);
    let header = record::header(&opened, args.elf.as_deref(), firmware.as_ref());
    let options = traced::Options {
        idle: args.idle.clone(),
        thread_pointer: args.thread_pointer.clone(),
        ..traced::Options::default()
    };
    let session = traced::begin(&options, Some(&header), firmware.as_ref())?;
    let mut live =
        Live { args, firmware: firmware.as_ref(), session, before: None, begun: Instant::now() };
    live.run(opened, &early.unwrap_or_else(on_interrupt))
}

struct Live<'a> {
    args: &'a Args,
    firmware: Option<&'a Firmware>,
    session: Session,
    /// What was shown last.
    before: Option<Measurement>,
    begun: Instant,
}

impl Live<'_> {
    fn run(&mut self, mut opened: Opened, interrupted: &AtomicBool) -> anyhow::Result<ExitCode> {
        let mut bytes = Vec::new();
        // By the source's own clock if it has one, and by the host's.
        let (mut shown, mut last, mut heard) = (Duration::ZERO, Duration::ZERO, Instant::now());
        let mut anything = false;
        let broken = loop {
            let elapsed = opened.link.elapsed().unwrap_or_else(|| self.begun.elapsed());
            let over = self.args.time.is_some_and(|time| elapsed >= time);
            if over || interrupted.load(Ordering::Relaxed) {
                break None;
            }
            let came = opened.link.read(&mut bytes, TICK);
            self.session.at(elapsed.as_micros().try_into().unwrap_or(u64::MAX));
            if !bytes.is_empty() {
                (last, heard, anything) = (elapsed, Instant::now(), true);
                self.session.push(&bytes).map_err(traced::unusable)?;
                bytes.clear();
            }
            match came {
                Ok(ReadOutcome::Ended) => break None,
                Err(error) => break Some(error),
                Ok(came) => {
                    if matches!(came, ReadOutcome::Samples(_)) {
                        (last, heard, anything) = (elapsed, Instant::now(), true);
                    }
                    self.session.take(&came);
                }
            }
            let silence = (elapsed.saturating_sub(last), heard.elapsed());
            if let Some(limit) = self.is_silent(silence, anything) {
                if !anything {
                    return Err(exit::no_link(record::silent(Some(limit), &opened)));
                }
                terminal::message(&format!("strobe: ended by: {}", record::SILENCE));
                break None;
            }
            if elapsed >= shown + self.args.interval {
                shown = elapsed;
                self.show(&opened, elapsed)?;
            }
        };
        let elapsed = opened.link.elapsed().unwrap_or_else(|| self.begun.elapsed());
        self.show(&opened, elapsed)?;
        let closed = opened.link.close().map(|_| ());
        broken.map_or(Ok(()), Err).and(closed).map_err(link::no_link)?;
        Ok(ExitCode::SUCCESS)
    }

    /// The limit that a silence has reached, as `strobe record` has it: the user's holds at any
    /// time and by the source's clock, the one of the first byte by the host's as well.
    fn is_silent(&self, silence: (Duration, Duration), anything: bool) -> Option<Duration> {
        let (own, host) = silence;
        match self.args.silence {
            Some(limit) => Some(limit).filter(|limit| !limit.is_zero() && own >= *limit),
            None => Some(record::FIRST_BYTE).filter(|first| !anything && own.min(host) >= *first),
        }
    }

    fn show(&mut self, opened: &Opened, elapsed: Duration) -> anyhow::Result<()> {
        let now = self.session.so_far(self.firmware).map_err(traced::unusable)?.measurement();
        let (mut out, mut clears) = (Vec::new(), false);
        match self.args.format {
            // One line for each refresh.
            Format::Json => {
                out.write_all(file::json(&now).as_bytes())?;
            }
            Format::Text => {
                clears = terminal::is_watched();
                let source = format!("{} {}", opened.source.kind, opened.source.name);
                let view = Top {
                    source: source.trim(),
                    nanoseconds: elapsed.as_nanos().try_into().unwrap_or(u64::MAX),
                    by: self.args.by.into(),
                    rows: self.args.top,
                };
                let options = output::options(true, false);
                top(&now, self.before.as_ref(), &view, &options, &mut out)?;
                if !clears {
                    out.push(b'\n');
                }
            }
        }
        if clears {
            terminal::clear()?;
        }
        terminal::result(&out)?;
        self.before = Some(now);
        Ok(())
    }
}
