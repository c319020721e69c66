//! `strobe record`: the bytes of a trace pin into a file, with what is needed to interpret them
//! later.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use strobe_decode::container::{Elf, Header, Note, PayloadKind, Polled, Writer};
use strobe_link::trace::link::{Error, ReadOutcome, Sample};
use strobe_model::spelling;
use strobe_symbols::Firmware;

use crate::files::{self, Recording};
use crate::flashing::{self, Progress};
use crate::interrupt::on_interrupt;
use crate::link::{self, Opened};
use crate::live::Live;
use crate::{exit, input, interrupt, terminal};

/// Examples and exit codes, below the sources.
fn after_help() -> String {
    format!(
        "{}\n\n{}",
        link::SOURCES,
        "\
Examples:
  strobe record serial:/dev/ttyUSB0@2000000 -o run.strobe --for 10s
  strobe record tcp:localhost:3443 -o run.strobe --clock 168MHz --baud 2M --elf fw.elf
  strobe record orbflow:localhost:3402 -o run.strobe
  strobe record sr:pin.sr:D0@8M -o run.strobe
  strobe record probe --chip STM32F070CB --rtt --elf fw.elf -o run.strobe
  strobe record openocd:localhost:6666 --flash --elf fw.elf --clock 168MHz --baud 2M -o run.strobe
  orbcat ... | strobe record - -o run.strobe

Without --for it goes on until Ctrl-C (SIGTERM, SIGHUP) or the end of the source. The file is whole
at any moment: a kill loses a fraction of a second.

Exit codes: 0 recorded (also after Ctrl-C), 68 the source cannot be opened, could not program the
firmware, broke off or was silent, 69 the plan loses packets all the time (without --insist), 64
wrong arguments, 65 unusable firmware, plan or capture, 66 cannot be read, 74 cannot be written"
    )
}

/// Record the bytes of a trace pin (SWO), with clock, settings and host times.
#[derive(clap::Args)]
#[command(after_help = after_help())]
pub struct Args {
    /// Where the bytes come from; see below.
    source: String,
    /// The recording; `-` is standard output.
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
    /// Record over a file that exists.
    #[arg(long)]
    force: bool,
    /// The firmware that runs: its hash and build id go into the recording, and its variables can
    /// be watched by name.
    #[arg(long, value_name = "FIRMWARE")]
    elf: Option<PathBuf>,
    /// How long to record, as 10s, 500ms, 2m.
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    time: Option<Duration>,
    /// End when nothing has come for so long, at any time; 0s never. Without it recording gives up
    /// after 5 s without a first byte, and waits for any later one.
    #[arg(long, value_name = "TIME", value_parser = duration)]
    silence: Option<Duration>,
    /// Show nothing while recording.
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    link: link::Options,
}

/// A time, as in every command.
pub fn duration(text: &str) -> Result<Duration, String> {
    let time = spelling::time(text).map(Duration::from_nanos);
    time.ok_or_else(|| spelling::TIME.to_owned())
}

impl Args {
    /// Registers the files that are read and written; the source is when it is opened.
    pub fn files(&self, named: &mut files::FileSet) {
        named.reads(&self.elf);
        named.writes("-o", files::of_output(&self.output));
    }
}

/// How often progress is shown and what waits is written.
const TICK: Duration = Duration::from_millis(50);
const SHOWN_EVERY: Duration = Duration::from_millis(250);

/// Opens, records, reports what was recorded.
pub fn run(args: &Args) -> anyhow::Result<ExitCode> {
    if let Some(path) = files::of_output(&args.output) {
        Recording::may_begin(path, args.force)?;
    }
    let firmware = args.elf.as_deref().map(input::firmware).transpose()?;
    // Before the file is begun: a source that cannot be opened leaves none.
    let elf = args.elf.as_deref().zip(firmware.as_ref());
    // Ctrl-C while flash is written must not leave a half-read image and a bar behind.
    let early = args.link.flash.then(on_interrupt);
    let mut progress = Progress::new(args.quiet, early.clone().unwrap_or_default());
    let opened = link::open(&args.source, &args.link, elf, args.time, &mut progress)?;
    drop(progress);
    flashing::report(opened.flashed.as_ref(), args.quiet);
    let header = header(&opened, args.elf.as_deref(), firmware.as_ref());
    let out = create(&args.output, args.force)?;
    let writer = Writer::new(out, &header).map_err(|e| unwritable(&args.output, &e))?;
    let live = Live::new(&header);
    let mut session = Session {
        args,
        opened,
        writer,
        live,
        begun: Instant::now(),
        last: Duration::ZERO,
        heard: Instant::now(),
        bar: bar(args.quiet),
        shown: Instant::now(),
        warned: LoggedWarnings::default(),
    };
    let ended = session.record(&early.unwrap_or_else(on_interrupt));
    session.finish(ended)
}

pub fn header(opened: &Opened, path: Option<&Path>, firmware: Option<&Firmware>) -> Header {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let elf = path.zip(firmware).map(|(path, firmware)| Elf {
        file: input::file_name(path),
        sha256: hex(&firmware.sha256()),
        build_id: firmware.build_id().map(hex),
    });
    Header {
        tool: concat!("strobe ", env!("CARGO_PKG_VERSION")).to_owned(),
        source: opened.source.clone(),
        target: opened.target.clone(),
        core: opened.core.clone(),
        settings: opened.settings.clone(),
        carries: opened.carries,
        programmed: opened.programmed,
        elf,
        flashed: opened.flashed.clone(),
    }
}

/// The file is not buffered: what the writer has written is out of this process.
fn create(path: &Path, force: bool) -> anyhow::Result<Box<dyn Write>> {
    match files::of_output(path) {
        Some(path) => Recording::create(path, force),
        None => Ok(Box::new(io::stdout())),
    }
}

/// What could not be recorded. That nobody reads standard output any more is for whoever reports
/// errors to judge.
fn unwritable(path: &Path, error: &io::Error) -> anyhow::Error {
    match files::of_output(path) {
        Some(path) => files::cannot_write(path, error),
        None if error.kind() == io::ErrorKind::BrokenPipe => io::Error::from(error.kind()).into(),
        None => exit::output(format!("cannot write standard output: {error}")),
    }
}

fn bar(quiet: bool) -> ProgressBar {
    if quiet || !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new_spinner();
    let style = ProgressStyle::with_template("{spinner} {msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    bar
}

/// Why a recording ended.
enum Ended {
    /// As was asked for, by that.
    Well(&'static str),
    /// The user has seen enough, or somebody asked for the end.
    Interrupted,
    /// The link broke.
    InvalidMeasurement(Error),
    /// Nothing came.
    Silent,
}

/// How long the first byte may take.
pub const FIRST_BYTE: Duration = Duration::from_secs(5);

/// Nothing has come for as long as the user said.
pub const SILENCE: &str = "silence";

/// What was warned of once.
#[derive(Default)]
struct LoggedWarnings {
    garbage: bool,
    line: bool,
    silence: bool,
}

struct Session<'a> {
    args: &'a Args,
    opened: Opened,
    writer: Writer<Box<dyn Write>>,
    live: Live,
    begun: Instant,
    /// When something came last, by the source's own clock if it has one, and by the host's.
    last: Duration,
    heard: Instant,
    bar: ProgressBar,
    shown: Instant,
    warned: LoggedWarnings,
}

impl Session<'_> {
    /// Records until something ends it.
    fn record(&mut self, interrupted: &AtomicBool) -> anyhow::Result<Ended> {
        let mut bytes = Vec::with_capacity(1 << 17);
        loop {
            let Some(wait) = self.time_left() else { return Ok(Ended::Well("time")) };
            if interrupted.load(Ordering::Relaxed) {
                return Ok(Ended::Interrupted);
            }
            let came = self.opened.link.read(&mut bytes, wait.min(TICK));
            self.take(&mut bytes)?;
            match came {
                Ok(ReadOutcome::Ended) => return Ok(Ended::Well("the source ended")),
                Err(error) => return Ok(Ended::InvalidMeasurement(error)),
                Ok(ReadOutcome::Note(note)) => self.note(&note)?,
                Ok(ReadOutcome::Samples(samples)) => self.samples(&samples)?,
                Ok(ReadOutcome::Bytes | ReadOutcome::Nothing) => {}
            }
            let now = self.now();
            self.writer.tick(now).map_err(|e| unwritable(&self.args.output, &e))?;
            if self.is_silent() {
                let well = Ended::Well(SILENCE);
                return Ok(if self.live.anything() { well } else { Ended::Silent });
            }
            self.show();
        }
    }

    /// How long to go on, if at all.
    fn time_left(&self) -> Option<Duration> {
        let Some(time) = self.args.time else { return Some(TICK) };
        let left = time.checked_sub(self.elapsed())?;
        (!left.is_zero()).then_some(left)
    }

    /// Microseconds since the recording began.
    fn now(&self) -> u64 {
        self.elapsed().as_micros() as u64
    }

    /// Since the recording began, by the source's own clock if it has one.
    fn elapsed(&self) -> Duration {
        self.opened.link.elapsed().unwrap_or_else(|| self.begun.elapsed())
    }

    fn take(&mut self, bytes: &mut Vec<u8>) -> anyhow::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.hear();
        self.warned.silence = false;
        let now = self.now();
        self.writer.raw(now, bytes).map_err(|e| unwritable(&self.args.output, &e))?;
        self.live.push(bytes);
        bytes.clear();
        Ok(())
    }

    fn samples(&mut self, samples: &[Sample]) -> anyhow::Result<()> {
        self.hear();
        for sample in samples {
            let host_us = sample.at.saturating_duration_since(self.begun).as_micros() as u64;
            let halted_us = u32::try_from(sample.halted.as_micros()).unwrap_or(u32::MAX);
            let polled = Polled { host_us, pc: sample.pc, halted_us };
            self.writer.polled(polled).map_err(|e| unwritable(&self.args.output, &e))?;
        }
        self.live.polled(samples.len());
        Ok(())
    }

    fn note(&mut self, note: &Note) -> anyhow::Result<()> {
        let now = self.now();
        self.writer.note(now, note).map_err(|e| unwritable(&self.args.output, &e))?;
        match note {
            Note::Gap { why } => {
                self.live.gap();
                self.message(&format!("the source broke off: {why}"));
            }
            Note::Reconnected => self.message("the source is back"),
            Note::Overrun { by, .. } => {
                self.live.gap();
                self.message(&format!("{by} lost bytes"));
            }
            Note::LineErrors { count } => {
                self.live.gap();
                if std::mem::replace(&mut self.warned.line, true) {
                    return Ok(());
                }
                self.message(&format!(
                    "{count} bytes arrived damaged or at another bit rate. The rate follows the \
                     core's clock: is it the one that the firmware has set?"
                ));
            }
            Note::Text { text } => self.message(text),
            _ => {}
        }
        Ok(())
    }

    fn hear(&mut self) {
        (self.last, self.heard) = (self.elapsed(), Instant::now());
    }

    /// Whether nothing has come for too long. Without a limit of the user's later silence ends
    /// nothing: the core may be asleep. Nor does a first byte that the host's clock alone finds
    /// late, as of a simulated board on a slow machine.
    fn is_silent(&mut self) -> bool {
        let limit = self.args.silence.unwrap_or(FIRST_BYTE);
        let is_patient = self.args.silence.is_none() && self.heard.elapsed() < limit;
        if limit.is_zero() || is_patient || self.elapsed().saturating_sub(self.last) < limit {
            return false;
        }
        if self.args.silence.is_some() {
            return true;
        }
        if self.live.anything() && !std::mem::replace(&mut self.warned.silence, true) {
            self.message(&format!("no data for {} s", limit.as_secs_f64()));
        }
        !self.live.anything()
    }

    fn show(&mut self) {
        if self.shown.elapsed() < SHOWN_EVERY {
            return;
        }
        self.shown = Instant::now();
        self.bar.set_message(self.live.line(self.elapsed()));
        self.bar.tick();
        if self.live.is_garbage() && !std::mem::replace(&mut self.warned.garbage, true) {
            self.message(
                "much of what comes is undecodable: is the bit rate right, now that the core has \
                 its final clock? are there frames (--frames)?",
            );
        }
    }

    fn message(&self, text: &str) {
        if !self.args.quiet {
            self.bar.suspend(|| terminal::message(&format!("strobe: {text}")));
        }
    }

    /// Puts the end mark, closes the link, and reports what was recorded.
    fn finish(mut self, ended: anyhow::Result<Ended>) -> anyhow::Result<ExitCode> {
        let elapsed = self.elapsed();
        let closed = self.opened.link.close();
        let ended = ended?;
        let why = match &ended {
            Ended::Well(why) => (*why).to_owned(),
            Ended::Interrupted => interrupt::by().to_owned(),
            Ended::InvalidMeasurement(error) => error.to_string(),
            Ended::Silent => "nothing came".to_owned(),
        };
        if let Ended::InvalidMeasurement(_) = ended {
            self.note(&Note::Gap { why: why.clone() })?;
        }
        if let Ok(Some(note)) = &closed {
            self.note(note)?;
        }
        self.live.finish();
        self.bar.finish_and_clear();
        let now = self.now();
        self.writer.finish(now, &why).map_err(|e| unwritable(&self.args.output, &e))?;
        if !self.args.quiet {
            terminal::message(&format!("strobe: {}; ended by: {why}", self.live.line(elapsed)));
        }
        match ended {
            Ended::Well(_) | Ended::Interrupted => {
                closed.map_err(link::no_link)?;
                if self.live.anything() || matches!(ended, Ended::Interrupted) {
                    return Ok(ExitCode::SUCCESS);
                }
                Err(exit::no_link(silent(None, &self.opened)))
            }
            Ended::InvalidMeasurement(error) => Err(exit::no_link(format!(
                "{error}; {} bytes up to there are in the recording",
                self.live.bytes()
            ))),
            Ended::Silent => {
                let limit = self.args.silence.unwrap_or(FIRST_BYTE);
                Err(exit::no_link(silent(Some(limit), &self.opened)))
            }
        }
    }
}

/// Nothing has come, for so long or at all.
pub fn silent(limit: Option<Duration>, opened: &Opened) -> String {
    let long = limit.map_or_else(String::new, |limit| format!(" for {} s", limit.as_secs_f64()));
    if let Some(instead) = opened.link.instead() {
        return format!(
            "nothing of the pin has come{long}: {instead}. A server's frames with another tag are \
             read with orbflow:HOST:PORT/TAG"
        );
    }
    let check = match opened.carries {
        PayloadKind::Kit => {
            "that the core runs; that the firmware has the kit, for this way (--elf gives where \
             its buffer is, --rtt-at without); that it calls it"
        }
        PayloadKind::Channel => {
            "that the core runs; that the firmware writes to this channel of RTT (--rtt=CHANNEL)"
        }
        PayloadKind::Unspecified | PayloadKind::Unknown => {
            "the wire from the SWO pin, and that the pin is not used otherwise; that it is routed \
             (TRACE_IOEN in DBGMCU_CR on STM32; --target does \
             it with a probe); that trace is on (TRCENA in DEMCR, ITM_TCR); the bit rate, which \
             follows the core's clock and is another one before \
             the firmware starts its PLL; that the core runs"
        }
    };
    format!("nothing has come{long}. Check: {check}")
}
