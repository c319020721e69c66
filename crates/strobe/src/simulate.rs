//! What `run` and `cycles --run` share: the options of a simulated run, and carrying it out.

use std::path::{Path, PathBuf};

use strobe_model::measurement::{Finding, Measurement, Severity};
use strobe_model::{EndReason, Record, Warning, spelling};
use strobe_sim::device::analog::Analog;
use strobe_sim::device::ethernet::Backend;
use strobe_source::cycles::FlashState;
use strobe_source::network;
use strobe_source::serial::{InputSpec, Source, Spec, Target};
use strobe_source::simulated::trace::{self, Programme, RegisterWrite};
use strobe_source::simulated::{
    self, Description, HeapSettings, Heaps, Host, Limit, Phase, Quiet, Recorder, SerialInput,
    Settings, StackUse, Systems, TimelineSettings,
};
use strobe_symbols::Firmware;

use crate::board::{self, Choice};
use crate::files::{self, Kind};
use crate::gallery::Gallery;
use crate::{analog, ending, exit, host, input, interrupt, measurement, serial_ports};

/// How to simulate, and what to measure of it.
#[derive(clap::Args, Default)]
#[command(next_help_heading = "Simulation")]
pub struct Options {
    /// The board and how it runs.
    #[command(flatten)]
    pub setup: Setup,
    /// Measure only from here on, each time it is reached: a symbol, an address (`0x8000123`), or
    /// a pin's edge (`PB8=1` or `PB8:rise`, `PB8=0` or `PB8:fall`, `PB8:any`).
    #[arg(long, value_name = "PLACE")]
    from: Option<String>,
    /// Measure only up to here.
    #[arg(long, value_name = "PLACE")]
    to: Option<String>,
    /// List pulse widths of a pin (`PB8`) or times between arrivals at a symbol. May be given
    /// several times, or with commas.
    #[arg(long, value_name = "PIN|SYMBOL", value_delimiter = ',')]
    mark: Vec<String>,
    /// Measure each call of a function, from entry to return: how its cycles spread with and
    /// without callees, and the worst call. May be given several times.
    #[arg(long, value_name = "FUNCTION")]
    calls: Vec<String>,
    /// A function that only waits: its cycles count as waiting, beside those of loops that are
    /// recognised as waits. May be given several times.
    #[arg(long, value_name = "FUNCTION")]
    idle: Vec<String>,
    /// By how much interrupts are shifted.
    #[arg(skip)]
    pub phase: Option<Phase>,
}

/// How to simulate, whatever is measured.
#[derive(clap::Args, Default)]
#[command(next_help_heading = "Simulation")]
pub struct Setup {
    /// Which board.
    #[command(flatten)]
    pub board: board::Which,
    /// End the run: after cycles (`1000000c`), simulated time (`20ms`), at a place (a symbol, an
    /// address, a pin's edge), or only when the firmware exits (`exit`). A time and a symbol
    /// may both be given. In any case a run ends when the firmware exits, at a HardFault, and,
    /// unless a time is given, when nothing is left to wake a sleeping core; by default also
    /// after a second of simulated time, or after 10,000 million cycles if a place is given or the
    /// firmware can exit (semihosting).
    #[arg(long, value_name = "WHEN")]
    pub until: Vec<String>,
    /// What is around the chip.
    #[command(flatten)]
    pub world: World,
}

/// What is around the chip, and how strict the simulation is: the same in every command that
/// simulates.
#[derive(clap::Args, Clone, Default)]
#[command(next_help_heading = "Simulation")]
pub struct World {
    /// Join a serial device to the host: `USART1=pty`, `USART2=file:log.txt`, `USART1=stdout`,
    /// `=stderr`, `=null`; by default what devices send goes to standard error. Files and
    /// pseudo-terminals get the bytes; elsewhere control characters are shown as `\x1b`. With
    /// `pty`, where somebody may type, the board runs no faster than a real one.
    #[arg(long, value_name = "DEVICE=TARGET")]
    uart: Vec<Spec>,
    /// Send a serial device bytes that are known before, the same at every run:
    /// `USART1=file:script.txt` or `USART1=stdin` (read to its end first). They arrive at the
    /// line's speed once the firmware switches its receiver on; what it does not take in time
    /// is overrun, as on a chip, and reported.
    #[arg(long, value_name = "DEVICE=SOURCE")]
    uart_input: Vec<InputSpec>,
    /// Do not send them before this time, such as `500ms`, when a shell is up.
    #[arg(long, value_name = "TIME", requires = "uart_input")]
    uart_input_after: Option<String>,
    /// What comes in at a channel of the analog to digital converter: `ADC0=512`, or
    /// `ADC0=file:samples.csv`, a value in each line (one for each conversion) or a time in
    /// seconds and the value from then on; by default the board file's.
    #[arg(long, value_name = "CHANNEL=VALUE|file:FILE")]
    adc: Vec<analog::Spec>,
    /// An AVR's fuses as avrdude shows them, low, high and extended: `0xff,0xde,0xfd`. They choose
    /// the clock. By default those that the firmware brings (`.fuse`), if any, else the
    /// board file's.
    #[arg(
        long,
        value_name = "LOW[,HIGH[,EXTENDED]]",
        value_delimiter = ',',
        num_args = 1..,
        value_parser = fuse
    )]
    fuses: Vec<u8>,
    /// Join an Ethernet controller to the host: `ETH=tap:strobe0`, a TAP interface of Linux; or
    /// `ETH=loopback`, a plug that returns each frame, or `ETH=none`; by default the
    /// board file's.
    #[arg(long, value_name = "DEVICE=TARGET")]
    ethernet: Vec<network::Spec>,
    /// An access to a register that is not modelled ends the run; without this it keeps its last
    /// value and is listed in the report.
    #[arg(long)]
    strict: bool,
    /// After a fault go on into the firmware's HardFault handler, instead of ending there.
    #[arg(long)]
    run_on: bool,
    /// Where an operating system keeps its threads: a description as in crates/strobe-source/rtos,
    /// or `none` to distinguish threads by their stacks alone. FreeRTOS, NuttX, RIOT and Zephyr are
    /// recognised without.
    #[arg(long, value_name = "FILE|none")]
    rtos: Option<String>,
    /// Do not compile hot code for the host: the same figures, several times more slowly.
    #[arg(long)]
    interpret: bool,
    /// Write a word to a register before the run, as a debugger does: `0xe0001000=0x40001e1f`.
    /// This is how the trace blocks of a Cortex-M3 or M4 are programmed from outside. May be
    /// given several times; the order counts.
    #[arg(long, value_name = "ADDRESS=VALUE")]
    trace_write: Vec<RegisterWrite>,
    /// Where the bounds of modelled figures are from: `runs`, two further runs with the least and
    /// the most of each wait; or `carried`, worked out beside the one run, which takes no time but
    /// is less sure where code waits for something. By default runs, up to 100 million
    /// instructions; carried where somebody types, for rigs and for benchmarks.
    #[arg(long, value_name = "FROM", value_enum)]
    bounds: Option<BoundsFrom>,
    /// Do not show what the firmware prints.
    #[arg(long, short)]
    pub quiet: bool,
    /// Keep what displays and lamps beside the chip show: PNG files, and pictures.json, with the
    /// times of each.
    #[arg(long, value_name = "DIR")]
    pub pictures: Option<PathBuf>,
    /// Put a file into a part beside the chip: the image of a memory card, `card=card.img`.
    #[arg(long, value_name = "PART=FILE")]
    pub insert: Vec<PathFor>,
}

impl World {
    /// Whether two further runs were asked for.
    pub fn repeats(&self) -> bool {
        self.bounds == Some(BoundsFrom::Runs)
    }
}

/// Where bounds of modelled figures are from.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum BoundsFrom {
    /// Runs of the low and the high model.
    Runs,
    /// What one run carries along.
    Carried,
}

/// Instructions up to which a run is done again for its bounds without being asked: half a second
/// or so.
const SHORT: u64 = 100_000_000;

/// A file for something with a name.
#[derive(Clone)]
pub struct PathFor {
    /// Whose.
    pub name: String,
    /// The file.
    pub path: PathBuf,
}

impl std::str::FromStr for PathFor {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((name, path)) if !name.is_empty() && !path.is_empty() => {
                Ok(PathFor { name: name.to_owned(), path: path.into() })
            }
            _ => Err("write it NAME=FILE".to_owned()),
        }
    }
}

impl Options {
    /// Registers the files that they name.
    pub fn files(&self, named: &mut files::Named) {
        self.setup.files(named);
    }

    /// One of two runs that are compared.
    pub fn of(setup: Setup, from: Option<String>, to: Option<String>, mark: Vec<String>) -> Self {
        Options { setup, from, to, mark, calls: Vec::new(), idle: Vec::new(), phase: None }
    }
}

impl Setup {
    /// Registers the files that it names.
    pub fn files(&self, named: &mut files::Named) {
        self.board.files(named);
        self.world.files(named);
    }
}

impl World {
    /// Whether bytes are sent to serial devices.
    pub fn has_serial_input(&self) -> bool {
        !self.uart_input.is_empty()
    }

    /// Registers the files that it names.
    pub fn files(&self, named: &mut files::Named) {
        for spec in &self.uart_input {
            if let Source::File(path) = &spec.source {
                named.reads([path]);
            }
        }
        named.reads(self.adc.iter().filter_map(analog::Spec::path));
        named.reads(self.rtos.iter().filter(|name| *name != "none"));
        named.reads(self.insert.iter().map(|insert| &insert.path));
        for spec in &self.uart {
            if let Target::File(path) = &spec.target {
                named.writes(&format!("--uart {}", spec.device), [path]);
            }
        }
    }

    /// Whether somebody types, or other machines send something.
    fn is_open(&self) -> bool {
        self.uart.iter().any(|spec| spec.target == Target::Pty)
            || self.ethernet.iter().any(|spec| matches!(spec.target, network::Target::Tap(_)))
    }

    /// The same without what the firmware prints.
    #[must_use]
    pub fn silent(&self) -> Self {
        World { quiet: true, ..self.clone() }
    }
}

impl Setup {
    /// The options that were given: they make no sense without a firmware.
    pub fn given(&self) -> impl Iterator<Item = &'static str> {
        let given = [
            (!self.until.is_empty(), "--until"),
            (!self.world.uart.is_empty(), "--uart"),
            (!self.world.uart_input.is_empty(), "--uart-input"),
            (!self.world.adc.is_empty(), "--adc"),
            (!self.world.fuses.is_empty(), "--fuses"),
            (!self.world.ethernet.is_empty(), "--ethernet"),
            (!self.world.insert.is_empty(), "--insert"),
            (self.world.strict, "--strict"),
            (self.world.run_on, "--run-on"),
            (self.world.rtos.is_some(), "--rtos"),
            (self.world.interpret, "--interpret"),
            (self.world.bounds.is_some(), "--bounds"),
            (!self.world.trace_write.is_empty(), "--trace-write"),
            (self.world.pictures.is_some(), "--pictures"),
        ];
        let own = given.into_iter().filter(|(is, _)| *is).map(|(_, option)| option);
        self.board.given().chain(own)
    }

    /// The terminal with the ends of serial lines and cables that the options name.
    pub fn host<'a>(&self) -> anyhow::Result<host::Terminal<'a>> {
        let ports = self.world.uart.iter().map(serial_ports::port).collect::<Result<_, _>>()?;
        let plugs = self.world.ethernet.iter().map(serial_ports::plug);
        let plugs = plugs.collect::<anyhow::Result<Vec<_>>>()?.into_iter().flatten();
        Ok(host::Terminal::new(self.world.quiet, ports, plugs.collect()))
    }
}

/// What to see of threads.
#[derive(Default)]
pub struct Threads {
    /// Only the thread or interrupt of this name.
    pub only: Option<String>,
    /// Keep their counts apart.
    pub apart: bool,
    /// Keep who ran when.
    pub timeline: Option<TimelineSettings>,
}

/// A finished run.
pub struct Finished {
    /// What was measured.
    pub record: Record,
    /// The same in the low and the high model, where these were run.
    pub others: Option<[Record; 2]>,
    /// How the firmware had set the flash at the end.
    pub flash: FlashState,
    /// How deep each stack got, if that was asked for.
    pub stacks: Vec<StackUse>,
    /// What became of the heaps, if that was asked for.
    pub heaps: Option<Heaps>,
}

impl Finished {
    /// What was measured, with the bounds that the runs of the other models give.
    pub fn measurement(&self) -> Measurement {
        match &self.others {
            Some(others) => simulated::extremes::measurement(&self.record, others),
            None => measurement::of(&self.record),
        }
    }
}

/// Runs the firmware on the chosen board; what leaves its trace pin goes to `trace`.
pub fn simulate(
    path: &Path,
    firmware: &Firmware,
    choice: &Choice,
    options: &Options,
    threads: Threads,
    trace: Option<&mut dyn trace::Pin>,
) -> anyhow::Result<Finished> {
    simulate_with_heap(path, firmware, choice, options, threads, None, trace)
}

/// The same, with the memory allocators watched, if they are wanted.
pub fn simulate_with_heap(
    path: &Path,
    firmware: &Firmware,
    choice: &Choice,
    options: &Options,
    threads: Threads,
    heap: Option<HeapSettings>,
    trace: Option<&mut dyn trace::Pin>,
) -> anyhow::Result<Finished> {
    let settings = Settings { heap, ..settings(options, threads)? };
    let mut quiet = [Quiet, Quiet];
    let outputs = Outputs { recorder: None, trace, others: Some(&mut quiet) };
    let mut done = carry_out(path, firmware, choice, &options.setup, &settings, outputs)?;
    never_reached(&mut done.record, &options.setup);
    Ok(done)
}

/// The same from reset to the end, without marks.
pub fn whole(
    path: &Path,
    firmware: &Firmware,
    choice: &Choice,
    setup: &Setup,
    threads: Threads,
) -> anyhow::Result<Finished> {
    let Threads { only, apart, timeline } = threads;
    let settings = Settings { timeline, only, apart, ..common_settings(setup)? };
    let mut quiet = [Quiet, Quiet];
    let outputs = Outputs { others: Some(&mut quiet), ..Outputs::of(None, None) };
    let mut done = carry_out(path, firmware, choice, setup, &settings, outputs)?;
    never_reached(&mut done.record, setup);
    Ok(done)
}

/// The same, for how deep each stack gets.
pub fn stacks(
    path: &Path,
    firmware: &Firmware,
    choice: &Choice,
    setup: &Setup,
) -> anyhow::Result<Finished> {
    let settings = common_settings(setup)?;
    let outputs = Outputs::<Quiet>::of(None, None);
    let mut done = carry_out(path, firmware, choice, setup, &settings, outputs)?;
    never_reached(&mut done.record, setup);
    Ok(done)
}

/// Runs the firmware with its memory allocators watched; `marks` are where windows begin and end.
pub fn heap(
    path: &Path,
    firmware: &Firmware,
    choice: &Choice,
    setup: &Setup,
    wanted: HeapSettings,
    marks: (Option<String>, Option<String>),
) -> anyhow::Result<Finished> {
    let settings = heap_settings(setup, wanted, marks)?;
    let outputs = Outputs::<Quiet>::of(None, None);
    let mut done = carry_out(path, firmware, choice, setup, &settings, outputs)?;
    never_reached(&mut done.record, setup);
    Ok(done)
}

/// The settings of a run with its memory allocators watched; `marks` are where windows begin and
/// end.
pub fn heap_settings(
    setup: &Setup,
    wanted: HeapSettings,
    (from, to): (Option<String>, Option<String>),
) -> anyhow::Result<Settings> {
    Ok(Settings { heap: Some(wanted), from, to, ..common_settings(setup)? })
}

/// The same, with every edge of every pin passed to a recorder; from a place on, if one is named.
pub fn record(
    path: &Path,
    firmware: &Firmware,
    choice: &Choice,
    setup: &Setup,
    from: Option<String>,
    recorder: &mut dyn Recorder,
    others: &mut [impl Host + Send; 2],
) -> anyhow::Result<Finished> {
    let settings = recording(setup, from)?;
    let outputs = Outputs { others: Some(others), ..Outputs::of(Some(recorder), None) };
    let mut done = carry_out(path, firmware, choice, setup, &settings, outputs)?;
    never_reached(&mut done.record, setup);
    Ok(done)
}

/// The settings of a run whose pins are recorded, from a place on, if one is named.
pub fn recording(setup: &Setup, from: Option<String>) -> anyhow::Result<Settings> {
    Ok(Settings { from, record_pins: true, ..common_settings(setup)? })
}

/// What receives a run's pin edges and trace bytes.
struct Outputs<'a, 'h, H> {
    recorder: Option<&'a mut dyn Recorder>,
    trace: Option<&'a mut dyn trace::Pin>,
    /// The hosts of the low and the high model's runs; none where these are of no use.
    others: Option<&'h mut [H; 2]>,
}

impl<'a, H> Outputs<'a, '_, H> {
    fn of(recorder: Option<&'a mut dyn Recorder>, trace: Option<&'a mut dyn trace::Pin>) -> Self {
        Outputs { recorder, trace, others: None }
    }
}

/// Whether a run is done again in the low and the high model.
fn wants_others(setup: &Setup, host: &host::Terminal, outcome: &simulated::Outcome) -> bool {
    let wanted = match setup.world.bounds {
        Some(from) => from == BoundsFrom::Runs,
        None => outcome.instructions <= SHORT,
    };
    let interrupted = outcome.record.window.end_reason == EndReason::Interrupted;
    wanted && !interrupted && host.is_repeatable() && simulated::extremes::differ(&outcome.record)
}

fn carry_out<H: Host + Send>(
    path: &Path,
    firmware: &Firmware,
    choice: &Choice,
    setup: &Setup,
    settings: &Settings,
    outputs: Outputs<H>,
) -> anyhow::Result<Finished> {
    let gallery = setup.world.pictures.as_deref().map(Gallery::new).transpose()?;
    let mut terminal = setup.host()?.with_gallery(gallery).with_recorder(outputs.recorder);
    terminal = terminal.with_trace(outputs.trace);
    let interrupted = interrupt::on_interrupt();
    let settings = &ending::patient(settings, [firmware].into_iter());
    let result = simulated::run(firmware, &choice.board, settings, &mut terminal, &interrupted);
    let galleries = terminal.finish().into_iter().collect();
    let outcome = result.map_err(explain)?;
    let left_out = Gallery::finish(galleries)?;
    let others = outputs.others.filter(|_| wants_others(setup, &terminal, &outcome));
    let others = others.and_then(|hosts| {
        let (board, likely) = (&choice.board, &outcome.record);
        simulated::extremes::run(firmware, board, settings, likely, hosts, &interrupted)
    });
    let mut record = outcome.record;
    record.subject.file = input::file_name(path);
    complete(&mut record, &terminal, left_out);
    if let Some(note) = &choice.note {
        record.warnings.push(Warning::new("board-choice", note));
    }
    let simulated::Outcome { flash, stacks, heaps, .. } = outcome;
    Ok(Finished { record, others, flash, stacks, heaps })
}

/// Adds to a record what only the host knows: what it could not deliver.
pub fn complete(record: &mut Record, host: &host::Terminal, left_out: u64) {
    for (what, device, lost) in host.lost() {
        let text =
            format!("{what} from {device} could not be delivered: its host end was closed or full");
        record.warnings.push(Warning::new("undelivered", text).times(lost));
    }
    if left_out > 0 {
        let text = "pictures were not written: there are too many";
        record.warnings.push(Warning::new("pictures-left-out", text).times(left_out));
    }
}

/// The code of warnings of what was asked for and never reached.
const NEVER_REACHED: &str = "never-reached";

/// Adds to a record that what was asked for was never reached.
pub fn never_reached(record: &mut Record, setup: &Setup) {
    let exited = matches!(record.window.end_reason, EndReason::Exit { .. });
    if !exited && setup.until.iter().any(|until| until == "exit") {
        record.unreached.push("--until exit".to_owned());
    }
    for asked in &record.unreached {
        let text = match (asked.starts_with("--from"), asked.starts_with("--mark")) {
            (true, _) => format!("{asked} was never reached, so nothing was measured"),
            (_, true) => format!("{asked}: it never changed or was never reached"),
            _ => format!("{asked} was never reached"),
        };
        record.warnings.push(Warning::new(NEVER_REACHED, text));
    }
}

/// What was asked for and never reached, for a measurement that is not made of the whole record.
pub fn unreached(record: &Record) -> impl Iterator<Item = Finding> {
    let all = record.warnings.iter().filter(|warning| warning.code == NEVER_REACHED);
    all.map(|warning| Finding::new(Severity::Warning, NEVER_REACHED, &warning.text))
}

fn end_of(spec: &network::Spec) -> (String, Backend) {
    let backend = match spec.target {
        network::Target::None => Backend::None,
        network::Target::Loopback => Backend::Loopback,
        network::Target::Tap(_) => Backend::Host,
    };
    (spec.device.clone(), backend)
}

/// Whose fault an error is decides its exit code.
pub fn explain(error: simulated::Error) -> anyhow::Error {
    let text = error.to_string();
    explain_as(error, text)
}

/// The same with another text, that states whose error it is.
pub fn explain_as(error: simulated::Error, text: String) -> anyhow::Error {
    use simulated::Error;
    match error {
        Error::Symbol(_)
        | Error::Pin { .. }
        | Error::Serial { .. }
        | Error::Network { .. }
        | Error::Part { .. }
        | Error::Analog { .. }
        | Error::Register { .. }
        | Error::Fuses { .. }
        | Error::Rtos(_) => exit::usage(text),
        Error::Board(_)
        | Error::DoesNotFit { .. }
        | Error::WrongCore { .. }
        | Error::Vectors(_)
        | Error::Allocators(_)
        | Error::Medium { .. }
        | Error::Wires(_) => exit::data(text),
        Error::Balance(_) => error.into(),
    }
}

/// The settings of a chip of a rig whose places are not asked for: it runs as long as the others.
pub fn elsewhere(asked: &Settings) -> Settings {
    Settings {
        limit: asked.limit,
        default_limit: asked.default_limit,
        strict: asked.strict,
        run_on_after_fault: asked.run_on_after_fault,
        interpret: asked.interpret,
        ..Settings::default()
    }
}

/// What the options ask of a run.
pub fn settings(options: &Options, threads: Threads) -> anyhow::Result<Settings> {
    let mut settings = Settings {
        from: options.from.clone(),
        to: options.to.clone(),
        marks: options.mark.clone(),
        calls: options.calls.clone(),
        idle: options.idle.clone(),
        timeline: threads.timeline,
        only: threads.only,
        apart: threads.apart,
        phase: options.phase,
        ..common_settings(&options.setup)?
    };
    shift_inputs(&mut settings);
    if settings.to.is_some() && settings.from.is_none() {
        return Err(exit::usage("--to needs --from: where does measuring start?"));
    }
    Ok(settings)
}

/// What is sent to serial devices comes later by the same part of a millisecond.
fn shift_inputs(settings: &mut Settings) {
    let Some(phase) = settings.phase else { return };
    let later = u64::from(phase.part) * 1_000_000 / u64::from(phase.of.max(1));
    for input in &mut settings.inputs {
        input.not_before_nanoseconds = input.not_before_nanoseconds.saturating_add(later);
    }
}

/// What is asked of a run whatever is measured.
fn common_settings(setup: &Setup) -> anyhow::Result<Settings> {
    let mut settings = Settings {
        networks: setup.world.ethernet.iter().map(end_of).collect(),
        serial: setup.world.uart.iter().map(|spec| spec.device.clone()).collect(),
        inputs: inputs(setup)?,
        media: media(setup)?,
        analog: analog(setup)?,
        fuses: setup.world.fuses.clone(),
        strict: setup.world.strict,
        run_on_after_fault: setup.world.run_on,
        interpret: setup.world.interpret,
        trace: Programme { writes: setup.world.trace_write.clone() },
        systems: systems(setup.world.rtos.as_deref())?,
        ..Settings::default()
    };
    for until in &setup.until {
        match limit(until) {
            Some(limit) if settings.limit.is_none() => settings.limit = Some(limit),
            None if until == "exit" => settings.default_limit = None,
            None if spelling::lacks_unit(until) => {
                return Err(exit::usage(format!(
                    "--until {until}: a number needs a unit, as in 1000c (cycles), 20us, 20ms or 2s"
                )));
            }
            None if settings.until.is_none() => settings.until = Some(until.clone()),
            _ => {
                return Err(exit::usage(format!(
                    "--until {until}: one time and one symbol at most"
                )));
            }
        }
    }
    if setup.until.is_empty() {
        // Where somebody types or other machines are, Ctrl-C ends it.
        let limit = ending::default_limit(&settings.inputs);
        settings.default_limit = limit.filter(|_| !setup.world.is_open());
    } else if settings.until.is_some() {
        settings.default_limit = settings.default_limit.and(Some(ending::PATIENCE));
    }
    Ok(settings)
}

fn media(setup: &Setup) -> anyhow::Result<Vec<(String, Vec<u8>)>> {
    let read = |insert: &PathFor| Ok((insert.name.clone(), input::medium(&insert.path)?));
    setup.world.insert.iter().map(read).collect()
}

fn analog(setup: &Setup) -> anyhow::Result<Vec<(String, Analog)>> {
    let one = |spec: &analog::Spec| Ok((spec.channel.clone(), spec.read()?));
    setup.world.adc.iter().map(one).collect()
}

/// A byte in any base: `0xde`, `222`, `0b11011110`.
fn fuse(text: &str) -> Result<u8, String> {
    let lower = text.to_ascii_lowercase();
    let parsed = match (lower.strip_prefix("0x"), lower.strip_prefix("0b")) {
        (Some(digits), _) => u8::from_str_radix(digits, 16),
        (_, Some(digits)) => u8::from_str_radix(digits, 2),
        _ => lower.parse(),
    };
    parsed.map_err(|_| "a byte, such as 0xff".to_owned())
}

fn inputs(setup: &Setup) -> anyhow::Result<Vec<SerialInput>> {
    let not_before_nanoseconds = match setup.world.uart_input_after.as_deref() {
        None => 0,
        Some(text) => match limit(text) {
            Some(Limit::Nanoseconds(nanoseconds)) => nanoseconds,
            _ => {
                return Err(exit::usage(format!(
                    "--uart-input-after {text}: a time such as 500ms or 2s"
                )));
            }
        },
    };
    let mut inputs: Vec<SerialInput> = Vec::new();
    for spec in &setup.world.uart_input {
        let device = spec.device.clone();
        let is_same = |other: &str| other.eq_ignore_ascii_case(&device);
        let typed = setup.world.uart.iter().any(|u| u.target == Target::Pty && is_same(&u.device));
        if typed || inputs.iter().any(|input| is_same(&input.device)) {
            return Err(exit::usage(format!("--uart-input {device}: it has an input already")));
        }
        let bytes = serial_ports::input(spec)?;
        inputs.push(SerialInput { device, bytes, not_before_nanoseconds });
    }
    Ok(inputs)
}

fn systems(named: Option<&str>) -> anyhow::Result<Systems> {
    let path = match named {
        None => return Ok(Systems::BuiltIn),
        Some("none") => return Ok(Systems::None),
        Some(path) => path,
    };
    let toml = files::text(Path::new(path), &Kind::RTOS)?;
    // The parser's messages show the line in question: indented, they stay one message.
    let parsed = Description::parse(&toml)
        .map_err(|e| exit::data(format!("{path}: {}", e.replace('\n', "\n  "))))?;
    Ok(Systems::This(Box::new(parsed)))
}

/// `1000000c`, `20ms`: a number with a unit; anything else is a place.
pub fn limit(text: &str) -> Option<Limit> {
    let cycles = spelling::cycles(text).map(Limit::Cycles);
    cycles.or_else(|| spelling::time(text).map(Limit::Nanoseconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_number_with_a_unit() {
        assert_eq!(limit("1_000c"), Some(Limit::Cycles(1000)));
        assert_eq!(limit("1.5ms"), Some(Limit::Nanoseconds(1_500_000)));
        assert_eq!(limit("main"), None);
        assert_eq!(limit("2parsecs"), None);
        assert_eq!(limit("12"), None);
    }
}
