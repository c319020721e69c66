//! Prepares a board for a run: what watches it, where it stops, and where the firmware starts.

use std::sync::Arc;

use strobe_devices::board::Board;
use strobe_devices::machine::Machine;
use strobe_sim::bus::Bus;
use strobe_sim::observe::Moment;
use strobe_sim::observe::calls::CallTree;
use strobe_sim::observe::counts::Counts;
use strobe_sim::observe::deepest::Marks;
use strobe_sim::observe::heap::Allocators as Watched;
use strobe_sim::observe::pins::PinLog;
use strobe_sim::observe::schedule::{Keep, LatencyOwner, Log};
use strobe_symbols::Firmware;

use super::places::{Place, marks, place};
use super::serve::goes_on_asleep;
use super::{Mark, Run, Shifting, Watch};
use crate::simulated::heap::{self, Found, Inspection};
use crate::simulated::recording::Recording;
use crate::simulated::script::Script;
use crate::simulated::settings::Settings;
use crate::simulated::trace::RegisterWrite;
use crate::simulated::vectors::{self, Start, VectorsError};
use crate::simulated::{Error, Host, calls, overflow, record, rtos, waiting};

impl Run {
    /// A run at its very beginning: reset is over, and no instruction has been executed.
    ///
    /// # Errors
    /// When a name or address of the settings is none of the firmware or board, or the firmware
    /// cannot start there.
    pub(in crate::simulated) fn new(
        firmware: &Firmware,
        board: &Board,
        settings: &Settings,
        mut bus: Bus,
        host: &mut dyn Host,
    ) -> Result<Self, Error> {
        let resolve = |spot: &Option<String>| {
            spot.as_deref().map(|s| place(firmware, board, &bus, s)).transpose()
        };
        let (from, to, until) =
            (resolve(&settings.from)?, resolve(&settings.to)?, resolve(&settings.until)?);
        let (pins, arrivals) = marks(firmware, board, &mut bus, &settings.marks)?;
        let functions: Vec<(u32, u32)> =
            crate::names::outermost(firmware).map(|f| (f.start, f.end() as u32)).collect();
        let mut counts = Counts::new(&bus);
        counts.set_active(from.is_none());
        let mut tree = call_tree(firmware, &bus, settings, &functions)?;
        let idle = waiting::named(firmware, &settings.idle)?;
        let wants_edges = settings.record_pins || !pins.is_empty();
        let mut log = PinLog::new(pins.iter().map(|(_, id)| *id).collect());
        log.set_active(from.is_none());
        log.keep_trace(host.trace_pin().is_some());
        bus.strict = settings.strict;
        bus.stops_at_clock = true;
        bus.expects_input = goes_on_asleep(settings.limit, host) || !settings.inputs.is_empty();
        tree.set_active(from.is_none(), Moment::default(), &bus.clocks);
        let (layout, system) = rtos::find(firmware, &settings.systems)?;
        tree.threads.know(variables(firmware), layout);
        let allocators = watch_heap(firmware, settings, &mut tree, &mut bus)?;
        let mut machine = Machine::new(board, bus, (counts, (tree, log)))
            .ok_or_else(|| Error::NoCore { board: board.name().to_owned() })?;
        machine.set_model(settings.model);
        machine.set_console(host.console());
        machine.record_pins(wants_edges);
        if settings.interpret {
            machine.interpret();
        }
        if settings.execute_waits {
            machine.execute_waits();
        }
        machine.set_function_entries(functions.iter().map(|f| f.0).collect());
        let marks = arrivals.iter().map(|a| a.address);
        let places = || [from, to, until].into_iter().flatten();
        machine.set_stops(marks.chain(places().filter_map(Place::address)).collect());
        machine.set_stop_edges(places().flat_map(Place::edges).collect());
        let (start, programmed) = start(firmware, board, settings, &mut machine)?;
        let mut run = Run {
            machine,
            pins,
            arrivals,
            fault: None,
            system,
            allocators,
            scripts: settings.inputs.iter().map(Script::new).collect(),
            programmed,
            start,
            recording: settings.record_pins.then(|| Recording::new(board)),
            begin: None,
            end: Mark::default(),
            entries: 0,
            cycles: 0,
            instructions: 0,
            nanoseconds: 0,
            windows: crate::simulated::run_record::Windows::default(),
            spans: Vec::new(),
            idle,
            open: None,
            from,
            to,
            until,
            reached: (false, false),
            until_name: settings.until.clone().unwrap_or_default(),
            limit: settings.limit,
            default_limit: settings.default_limit,
            run_on: settings.run_on_after_fault,
            shifting: settings.phase.filter(|phase| phase.part > 0).map(Shifting::new),
        };
        if from.is_none() {
            run.open_window();
        }
        Ok(run)
    }
}

/// The call tree, which logs who runs where somebody asks.
fn call_tree(
    firmware: &Firmware,
    bus: &Bus,
    settings: &Settings,
    functions: &[(u32, u32)],
) -> Result<CallTree, Error> {
    let mut tree = CallTree::new(bus, functions);
    let chosen = calls::chosen(firmware, functions, &settings.calls)?;
    tree.choose(&chosen, settings.heap.is_some());
    tree.know_helpers(crate::names::switch_helpers(firmware));
    tree.schedule.log = settings.timeline.as_ref().map(|wanted| {
        let only = settings.only.as_deref();
        let whose = wanted.worst.then(|| whose(firmware, bus, only));
        let keep = whose.map_or(Keep::Last, Keep::Worst);
        Log::new(keep, wanted.nanoseconds)
    });
    Ok(tree)
}

/// Finds the memory allocators and has their calls watched, where somebody asks.
fn watch_heap(
    firmware: &Firmware,
    settings: &Settings,
    tree: &mut CallTree,
    bus: &mut Bus,
) -> Result<Option<Found>, Error> {
    let Some(wanted) = &settings.heap else { return Ok(None) };
    let found = heap::find(firmware, wanted.allocators.as_ref(), wanted.check_memory)?;
    let mut watched = Watched::new(found.entries.clone());
    if let Some(sampling) = wanted.sample {
        let sampler = heap::Sampler::new(Arc::new(found.clone()), sampling);
        watched.filter = Some(Box::new(sampler));
    }
    if wanted.check_memory {
        watched.inspector = Some(Box::new(Inspection::new(found.clone())));
        bus.keep_writes();
    }
    tree.heap = Some(Box::new(watched));
    Ok(Some(found))
}

/// Resets the machine where the firmware starts, and writes the registers that a debugger would.
/// Returns both: the place, and what these registers read as.
fn start(
    firmware: &Firmware,
    board: &Board,
    settings: &Settings,
    machine: &mut Machine<Watch>,
) -> Result<(Start, Vec<RegisterWrite>), Error> {
    let start = vectors::start(firmware, board, machine.bus())?;
    match &start {
        Start::Reset => {}
        Start::Behind(table) => machine.start_elsewhere(table.address),
        Start::BootSection(address) => machine.start_elsewhere(*address),
    }
    machine.reset().map_err(VectorsError::Unreadable)?;
    if let Some(depths) = settings.trace_depths {
        machine.set_trace_depths(depths);
    }
    let programmed = settings.trace.apply(machine, board.name())?;
    let (pc, sp) = (machine.pc(), machine.sp());
    let floors = overflow::floors(firmware, machine.bus(), sp);
    let tree = &mut machine.observer_mut().1.0;
    tree.threads.know_floors(floors);
    tree.start(pc, sp);
    if settings.watch_stacks {
        tree.marks = Some(Marks::default());
    }
    if settings.apart {
        machine.distinguish();
    }
    Ok((start, programmed))
}

/// Everybody's latencies, or those of the interrupt or thread of that name.
fn whose(firmware: &Firmware, bus: &Bus, only: Option<&str>) -> LatencyOwner {
    let Some(name) = only else { return LatencyOwner::All };
    if let Some(exception) = record::exception_named(bus, name) {
        return LatencyOwner::Exception(exception);
    }
    // A thread without a name goes by the variable that its stack is in.
    let name = name.trim_start_matches('(').trim_end_matches(')').to_owned();
    let stack = firmware.data_symbols().iter().find(|symbol| symbol.name == name);
    let stack = stack.map_or(0..0, |s| s.address..s.address.saturating_add(s.size));
    LatencyOwner::Thread { name, stack }
}

/// Where variables are: (start, end).
fn variables(firmware: &Firmware) -> Vec<(u32, u32)> {
    let symbols = firmware.data_symbols().iter().filter(|symbol| symbol.size > 0);
    symbols.map(|symbol| (symbol.address, symbol.address.saturating_add(symbol.size))).collect()
}
