//! Recordings of pins, for `strobe pins` and `strobe bus`: captures that an instrument took, and
//! firmware that is simulated while its pins are recorded.

use std::path::PathBuf;
use std::process::ExitCode;

use strobe_decode::capture::{Capture, Recording, Tick};
use strobe_model::measurement::{Ended, Fact, Finding, Measurement};
use strobe_sim::semihost::Console;
use strobe_source::simulated::run_record::{EndReason, RunRecord};
use strobe_source::simulated::{
    Beginning, Host, Progress, Recorder, bounding_runs, core_timing, ended,
};

use crate::host::RerunHost;
use crate::rig::{self, Rig};
use crate::simulate::PathFor;
use crate::{board, capture, exit, files, input, interrupt, simulate};

/// What the commands on recordings have in common.
#[derive(clap::Args)]
pub struct Source {
    /// What to measure: a firmware (ELF or Intel HEX) or a rig (.toml), whose pins are simulated;
    /// or a capture: a VCD file, a sigrok session (.sr) or a CSV file exported from Saleae's
    /// Logic.
    #[arg(value_name = "FIRMWARE|RIG|CAPTURE")]
    pub file: PathBuf,
    /// The clock that took the capture, if the file does not state it, as 24MHz.
    #[arg(long, value_name = "HZ", value_parser = capture::frequency)]
    pub samplerate: Option<Tick>,
    /// Stop at so many edges of all channels; an edge takes one to three bytes of memory as a
    /// rule.
    #[arg(long, value_name = "N", default_value_t = capture::MAX_EDGES)]
    pub max_edges: usize,
    /// Record simulated pins from here on, not from reset: a symbol, an address, or a pin's edge
    /// (`PB8=1`).
    #[arg(long, value_name = "PLACE", help_heading = "Simulation")]
    pub trigger: Option<String>,
    /// The chip of the rig whose pins are recorded; by default the first.
    #[arg(long, value_name = "NAME", help_heading = "Simulation")]
    pub chip: Option<String>,
    /// Another firmware for a chip of the rig: `cube=late.elf`.
    #[arg(long, value_name = "CHIP=FILE", help_heading = "Simulation")]
    pub load: Vec<PathFor>,
    #[command(flatten)]
    pub setup: simulate::Setup,
}

impl Source {
    /// Registers the files that are read.
    pub fn files(&self, named: &mut files::FileSet) {
        named.reads([&self.file]);
        named.reads(self.load.iter().map(|load| &load.path));
        self.setup.files(named);
    }
}

/// A recording, wherever it comes from.
pub struct Opened {
    /// The file's name.
    pub file: String,
    /// What it is, as `sigrok session`.
    pub format: String,
    /// The levels.
    pub capture: Capture,
    /// The same in the low and the high model, where these were run.
    pub bounding_runs: Option<[Capture; 2]>,
    /// What is known of the run, where it was simulated.
    pub run: Option<AboutRun>,
    /// How the command ends if all goes well: a simulated run may have ended otherwise than was
    /// asked for.
    pub code: ExitCode,
}

/// What a capture of simulated pins does not hold of the run.
pub struct AboutRun {
    /// How well the timing of the core is known, where it is inferred.
    timing: Option<Fact>,
    /// How it ended, where somebody stopped it.
    stopped: Option<Ended>,
    /// That figures have no bounds, where no further runs give them any.
    no_bounds: Option<Finding>,
}

impl AboutRun {
    fn of(record: &RunRecord) -> AboutRun {
        let timing = core_timing(record.subject.core(), record.subject.board());
        let stopped = record.window.end_reason == EndReason::Interrupted;
        let no_bounds = bounding_runs::no_bounds(record);
        AboutRun { timing, stopped: stopped.then(|| ended(record)), no_bounds }
    }

    /// Puts it into a measurement of the capture, which has the bounds of further runs if it
    /// `is_enclosed`.
    pub fn add_to(&self, measurement: &mut Measurement, is_enclosed: bool) {
        measurement.subject.facts.extend(self.timing.clone());
        measurement.findings.extend(self.no_bounds.clone().filter(|_| !is_enclosed));
        if let Some(ended) = &self.stopped {
            measurement.window.ended = ended.clone();
        }
    }
}

/// Reads the capture, or simulates the firmware.
pub fn open(source: &Source) -> anyhow::Result<Opened> {
    if source.file.extension().is_some_and(|extension| extension == "toml") {
        return simulate_rig(source);
    }
    let of_rigs = [(source.chip.is_some(), "--chip"), (!source.load.is_empty(), "--load")];
    if let Some((_, option)) = of_rigs.into_iter().find(|(given, _)| *given) {
        let file = source.file.display();
        return Err(exit::usage(format!("{option} is for rigs, and {file} is none")));
    }
    if input::is_firmware(&source.file)? {
        return simulate(source);
    }
    let mut given = source.setup.given().chain(source.trigger.as_ref().map(|_| "--trigger"));
    if let Some(option) = given.next() {
        let file = source.file.display();
        return Err(exit::usage(format!("{option} is for firmware, and {file} is none")));
    }
    let (format, capture) = capture::open(&source.file, source.samplerate, source.max_edges)?;
    Ok(Opened {
        file: input::file_name(&source.file),
        format: format.name().to_owned(),
        capture,
        bounding_runs: None,
        run: None,
        code: ExitCode::SUCCESS,
    })
}

fn simulate(source: &Source) -> anyhow::Result<Opened> {
    let firmware = input::firmware(&source.file)?;
    let choice = board::choose(&source.setup.board, &firmware)?;
    let name = choice.board.name().to_owned();
    let mut pins = Pins::new(&name, source.max_edges);
    let mut others = others(&name, source);
    let settings = simulate::recording(&source.setup, source.trigger.clone())?;
    let run = simulate::Run::new((&source.file, &firmware), &choice, &source.setup, settings);
    let done = run.with_recorder(&mut pins).bounded_with(&mut others)?;
    let end = exit::code_for(&done.record);
    let mut opened = opened(source, format!("simulated on {name}"), pins, &done.record, end)?;
    opened.bounding_runs = done.bounding_runs.and(both(others));
    Ok(opened)
}

/// Who records the pins in the low and in the high model.
fn others(board: &str, source: &Source) -> [PinHost; 2] {
    RerunHost::pair().map(|again| PinHost { pins: Pins::new(board, source.max_edges), again })
}

/// The captures of both, if both have one.
fn both(others: [PinHost; 2]) -> Option<[Capture; 2]> {
    let [low, high] = others.map(|one| one.pins.capture);
    low.zip(high).map(<[Capture; 2]>::from)
}

fn simulate_rig(source: &Source) -> anyhow::Result<Opened> {
    if source.setup.board.is_given() {
        return Err(exit::usage("--board is for one firmware; a rig file names its boards"));
    }
    let (chip, setup) = (source.chip.as_deref(), &source.setup);
    let rig = Rig::load(&source.file, chip, &source.load, setup)?;
    let mut pins = Pins::new(rig.board().name(), source.max_edges);
    let settings = simulate::recording(setup, source.trigger.clone())?;
    let mut others = others(rig.board().name(), source);
    let ran = rig.simulate(setup, &settings, Some(&mut pins), Some(&mut others))?;
    let format = format!("chip {}, simulated", rig.members[rig.chosen].name);
    let (code, chosen) = (rig::code_for(&ran), &ran[rig.chosen]);
    let mut opened = opened(source, format, pins, &chosen.record, code)?;
    opened.bounding_runs = chosen.bounding_runs.as_ref().and(both(others));
    Ok(opened)
}

fn opened(
    source: &Source,
    format: String,
    pins: Pins,
    record: &RunRecord,
    code: ExitCode,
) -> anyhow::Result<Opened> {
    let Some(mut capture) = pins.capture else {
        let place = source.trigger.as_deref().unwrap_or("reset");
        return Err(exit::never(format!(
            "nothing was recorded: the run ended before {place} was reached; --until may be too \
             early"
        )));
    };
    capture.notes.extend(notes(record));
    if let Some(simulated) = &mut capture.simulated {
        simulated.is_modelled = bounding_runs::differ(record);
    }
    let file = input::file_name(&source.file);
    let run = Some(AboutRun::of(record));
    Ok(Opened { file, format, capture, bounding_runs: None, run, code })
}

/// Notes on how a run went.
fn notes(record: &RunRecord) -> Vec<String> {
    let ended = match &record.window.end_reason {
        EndReason::Limit | EndReason::Reached { .. } => None,
        EndReason::Exit { code: 0 } | EndReason::SleepsForever => None,
        EndReason::Exit { code } => Some(format!("the firmware exited with code {code}")),
        EndReason::DefaultLimit => {
            Some("the firmware did not end by itself; --until sets how long it runs".to_owned())
        }
        EndReason::HardFault => Some("the run ended in a fault; strobe run shows it".to_owned()),
        EndReason::Lockup => Some("the core locked up; strobe run shows where".to_owned()),
        EndReason::Unmodelled => {
            Some("the run ended at a register that is not modelled (--strict)".to_owned())
        }
        EndReason::OtherChip { .. } => None,
        EndReason::Interrupted => Some(format!("the run was stopped by {}", interrupt::by())),
    };
    let warnings = record.warnings.iter().map(|warning| match warning.count {
        0 | 1 => warning.text.clone(),
        n => format!("{} ({n} times)", warning.text),
    });
    ended.into_iter().chain(warnings).collect()
}

/// Makes a capture of a run's edges.
struct Pins {
    board: String,
    max_edges: usize,
    recording: Option<Recording>,
    capture: Option<Capture>,
}

/// A board whose pins are recorded, and of which nothing else is seen.
struct PinHost {
    pins: Pins,
    again: RerunHost,
}

impl Host for PinHost {
    fn console(&mut self) -> Box<dyn Console> {
        Box::new(())
    }

    fn recorder(&mut self) -> Option<&mut dyn Recorder> {
        Some(&mut self.pins)
    }

    fn progress(&mut self, progress: &Progress) {
        self.again.progress(progress);
    }
}

impl Pins {
    fn new(board: &str, max_edges: usize) -> Self {
        Pins { board: board.to_owned(), max_edges, recording: None, capture: None }
    }
}

impl Recorder for Pins {
    fn begin(&mut self, beginning: &Beginning) {
        let Beginning { at_ps, pins, names } = beginning;
        let mut recording = Recording::new(&self.board, *at_ps, pins, self.max_edges);
        recording.name(names);
        self.recording = Some(recording);
    }

    fn edge(&mut self, pin: usize, level: bool, at_ps: u64) -> bool {
        self.recording.as_mut().is_none_or(|r| r.edge(pin, level, at_ps))
    }

    fn slept(&mut self, from_ps: u64, to_ps: u64) -> bool {
        self.recording.as_mut().is_none_or(|r| r.slept((from_ps, to_ps)))
    }

    fn end(&mut self, at_ps: u64, clock: &[(u64, u32)]) {
        self.capture = self.recording.take().map(|recording| recording.finish(at_ps, clock));
    }
}
