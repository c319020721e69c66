//! The simulated board as a source: runs a firmware image with the full profile on and makes its
//! record.

mod advice;
pub mod bench;
pub mod bounding_runs;
mod calls;
mod debugger;
mod drive;
mod error;
mod families;
pub mod fit;
mod fuses;
mod heap;
pub mod link;
mod lost;
mod measurement;
mod overflow;
mod record;
mod recording;
pub mod rig;
mod rtos;
pub mod run_record;
mod scheduling;
mod script;
mod settings;
mod stacks;
pub mod trace;
mod vectors;
mod waiting;

use std::sync::atomic::AtomicBool;

use crate::simulated::run_record::{EndReason, RunRecord};
use strobe_devices::board::Board;
use strobe_sim::bus::Bus;
use strobe_sim::device::part::Picture;
use strobe_sim::semihost::Console;
use strobe_symbols::{Firmware, Machine};

use crate::cycles::FlashState;

pub use debugger::Debugger;
pub use error::{Error, PlaceError, WireError};
pub use heap::{Allocators, AllocatorsError, FunctionError, Heaps, TableError, allocators};
pub use measurement::{Joined, core_timing, ended, measurement, rig as rig_measurement};
pub(crate) use measurement::{of_rows as timing_of_rows, of_run as cycles_on_a_chip};
pub use recording::{Beginning, Recorder};
pub use rtos::{Description, DescriptionError, MissingSystem, Systems};
pub use settings::{
    DEFAULT_LIMIT, HeapSampling, HeapSettings, Limit, Phase, SerialInput, Settings, Spot,
    TimelineSettings,
};
pub use stacks::StackUse;
pub use vectors::VectorsError;

/// What the run needs from the host: streams, serial ports, progress. Everything has a quiet
/// default.
pub trait Host {
    /// Standard streams of semihosting.
    fn console(&mut self) -> Box<dyn Console>;
    /// Bytes that the serial device `name` has sent.
    fn serial_output(&mut self, name: &str, bytes: &[u8]) {
        let _ = (name, bytes);
    }
    /// Bytes for serial devices that have come in: (device, byte). A device takes no more than the
    /// `room` that it has now.
    fn serial_input(&mut self, room: &dyn Fn(&str) -> usize) -> Vec<(String, u8)> {
        let _ = room;
        Vec::new()
    }
    /// A frame, without its check sequence, that the Ethernet controller `name` has sent.
    fn frame_output(&mut self, name: &str, frame: &[u8]) {
        let _ = (name, frame);
    }
    /// A frame for the Ethernet controller `name` that has come in.
    fn frame_input(&mut self, name: &str) -> Option<Vec<u8>> {
        let _ = name;
        None
    }
    /// A part beside the chip shows a picture from that simulated time on.
    fn picture(&mut self, part: &str, nanoseconds: u64, picture: &Picture) {
        let _ = (part, nanoseconds, picture);
    }
    /// Whether serial input may still come: then a sleeping board waits for it.
    fn expects_input(&self) -> bool {
        false
    }
    /// Called now and then while input is expected, with the simulated time so far: a host where
    /// somebody types waits here until as much time has really passed.
    fn keep_pace(&mut self, nanoseconds: u64) {
        let _ = nanoseconds;
    }
    /// Who receives what leaves the trace pin, if the core has one and anybody wants it.
    fn trace_pin(&mut self) -> Option<&mut dyn trace::Pin> {
        None
    }
    /// Who looks at the memory while the board runs.
    fn debugger(&mut self) -> Option<&mut dyn Debugger> {
        None
    }
    /// Who receives the pins' edges, where [`Settings::record_pins`] asks for it.
    fn recorder(&mut self) -> Option<&mut dyn Recorder> {
        None
    }
    /// Called now and then.
    fn progress(&mut self, progress: &Progress) {
        let _ = progress;
    }
}

/// How far a run has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Core cycles since reset.
    pub cycles: u64,
    /// Simulated time since reset.
    pub nanoseconds: u64,
    /// Where it ends at the latest, if that is known.
    pub limit: Option<Limit>,
}

impl Progress {
    /// The part of the run that is done, from 0 to 1.
    #[must_use]
    pub fn share(&self) -> Option<f64> {
        let (done, all) = match self.limit? {
            Limit::Cycles(all) => (self.cycles, all),
            Limit::Nanoseconds(all) => (self.nanoseconds, all),
        };
        (all > 0).then(|| (done as f64 / all as f64).min(1.0))
    }
}

/// A host that throws output away.
pub struct Quiet;

impl Host for Quiet {
    fn console(&mut self) -> Box<dyn Console> {
        Box::new(())
    }
}

/// Runs `firmware` on `board` and returns what was measured.
///
/// # Errors
/// When the run cannot start; how it ended, faults included, is in the record.
pub fn run(
    firmware: &Firmware,
    board: &Board,
    settings: &Settings,
    host: &mut dyn Host,
    interrupted: &AtomicBool,
) -> Result<Outcome, Error> {
    let bus = ready(firmware, board, settings)?;
    let mut run = drive::Run::new(firmware, board, settings, bus, host)?;
    let end = run.drive(host, interrupted);
    outcome(firmware, board, settings, run, end)
}

/// The same where nothing but the record is of interest.
fn record_of(
    firmware: &Firmware,
    board: &Board,
    settings: &Settings,
    host: &mut dyn Host,
    interrupted: &AtomicBool,
) -> Result<RunRecord, Error> {
    let bus = ready(firmware, board, settings)?;
    let mut run = drive::Run::new(firmware, board, settings, bus, host)?;
    let end = run.drive(host, interrupted);
    record::make(firmware, board, settings, run, end)
}

/// A bus with everything in place that the settings ask for.
fn ready(firmware: &Firmware, board: &Board, settings: &Settings) -> Result<Bus, Error> {
    let mut bus = prepare(firmware, board)?;
    let inputs = settings.inputs.iter().map(|input| &input.device);
    for device in settings.serial.iter().chain(inputs) {
        if !bus.streams().any(|name| name.eq_ignore_ascii_case(device)) {
            let (device, board) = (device.clone(), board.name().to_owned());
            return Err(Error::Serial { device, board, known: list(bus.streams()) });
        }
    }
    for (device, backend) in &settings.networks {
        let named = bus.networks().find(|(_, name)| name.eq_ignore_ascii_case(device));
        let Some((id, _)) = named else {
            let (device, board) = (device.clone(), board.name().to_owned());
            let known = list(bus.networks().map(|(_, name)| name));
            return Err(Error::Network { device, board, known });
        };
        bus.connect(id, *backend);
    }
    for (part, medium) in &settings.media {
        let named = bus.parts().find(|(_, name)| name.eq_ignore_ascii_case(part));
        let Some((id, _)) = named else {
            let (part, board) = (part.clone(), board.name().to_owned());
            return Err(Error::Part {
                part,
                board,
                known: list(bus.parts().map(|(_, name)| name)),
            });
        };
        let inserted = bus.insert(id, medium.clone());
        inserted.map_err(|problem| Error::Medium { part: part.clone(), problem })?;
    }
    for (channel, input) in &settings.analog {
        if !bus.set_analog(channel, input) {
            let (channel, board) = (channel.clone(), board.name().to_owned());
            return Err(Error::Analog { channel, board });
        }
    }
    if !settings.fuses.is_empty() {
        if board.avr_core().is_none() {
            return Err(Error::Fuses { board: board.name().to_owned() });
        }
        fuses::program(&settings.fuses, "given", &mut bus);
    } else if let Some(own) = fuses::of(firmware) {
        fuses::program(own, "of the firmware", &mut bus);
    }
    Ok(bus)
}

/// Makes the record of a run that has ended.
fn outcome(
    firmware: &Firmware,
    board: &Board,
    settings: &Settings,
    run: drive::Run,
    end: EndReason,
) -> Result<Outcome, Error> {
    let (wait_states, prefetch) = run.machine.bus().flash_state;
    let programmed = run.programmed.clone();
    let stacks = stacks::used(firmware, &run);
    let heaps = heap::seen(firmware, &run);
    let instructions = run.machine.instructions();
    let flash = FlashState { wait_states, prefetch };
    let record = record::make(firmware, board, settings, run, end)?;
    Ok(Outcome { record, instructions, flash, programmed, stacks, heaps })
}

fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    match names.collect::<Vec<_>>()[..] {
        [] => "it has none".to_owned(),
        [one] => format!("there is {one}"),
        ref several => format!("there are {}", several.join(", ")),
    }
}

/// A finished run.
#[derive(Debug)]
pub struct Outcome {
    /// What was measured.
    pub record: RunRecord,
    /// Instructions from reset on.
    pub instructions: u64,
    /// How the firmware had set the flash at the end.
    pub flash: FlashState,
    /// What the registers of [`Settings::trace`] read as once they were written.
    pub programmed: Vec<trace::RegisterWrite>,
    /// How deep each stack got, if [`Settings::watch_stacks`] asks for it.
    pub stacks: Vec<StackUse>,
    /// What became of the firmware's heaps, if [`Settings::heap`] asks for it.
    pub heaps: Option<Heaps>,
}

/// A bus with the firmware's image in place.
///
/// # Errors
/// When the image does not fit or has no usable vector table.
pub fn prepare(firmware: &Firmware, board: &Board) -> Result<Bus, Error> {
    check_core(firmware, board)?;
    let mut bus = board.build()?;
    load(firmware, &mut bus).map_err(|(address, size)| Error::DoesNotFit {
        address,
        size,
        board: board.name().to_owned(),
        advice: advice::board_that_holds(firmware),
    })?;
    vectors::start(firmware, board, &bus).map_err(|error| Error::NoStart {
        error,
        advice: advice::board_with_vectors(firmware, board),
    })?;
    fuses::note_configuration(firmware, board, &mut bus);
    Ok(bus)
}

fn check_core(firmware: &Firmware, board: &Board) -> Result<(), Error> {
    if advice::fit(board, firmware).is_some() {
        return Ok(());
    }
    let target = firmware.build_target().and_then(|target| target.architecture);
    let is_arm = board.arm_core().is_some();
    Err(Error::WrongCore {
        built_for: match (firmware.machine(), target) {
            (Machine::Avr, _) => "AVR",
            (_, Some("ARMv7")) if is_arm => "ARMv7-M",
            (_, Some(architecture)) if is_arm => architecture,
            _ => "Arm",
        },
        board: board.name().to_owned(),
        core: board.core_name().to_owned(),
        advice: advice::board_that_holds(firmware),
    })
}

/// Puts the firmware into memory, and what a programmer writes beside it into registers, if the
/// board has them; the error is the first address without any, and the bytes of its segment.
fn load(firmware: &Firmware, bus: &mut Bus) -> Result<(), (u32, usize)> {
    let beside = families::configuration(firmware);
    let segments = firmware.segments().iter().filter(|segment| !segment.data().is_empty());
    for segment in segments {
        let (at, data) = (segment.load_address.0, segment.data());
        if fuses::is_for_programmer(firmware, segment) {
            continue;
        }
        let Err(fault) = bus.load(at, data) else { continue };
        let is_beside = beside.iter().any(|range| range.contains(&u64::from(at)));
        let programmed = firmware.machine() != Machine::Avr && bus.program(at, data);
        if !programmed && !is_beside {
            return Err((fault.address, data.len()));
        }
    }
    Ok(())
}
