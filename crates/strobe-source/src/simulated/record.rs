//! Makes the record of a finished run.

mod exceptions;
mod fault;
mod series;
mod trust;
mod warnings;

use crate::code_profile::{AddressShare, Place, Share, TreeNode};
use crate::measuring::facts;
use crate::simulated::run_record::{EndReason, RunRecord, RunWindow, SimTime, Totals};
use strobe_devices::board::Board;
use strobe_model::measurement::{
    Balance, ClockSpan, Fact, Instrument, Parts, Quantity, Subject, Unit,
};
use strobe_model::{Cause, CauseCycles};
use strobe_sim::bus::Bus;
use strobe_sim::memory::MemoryKind;
use strobe_sim::observe::calls::{Node, NodeKind};
use strobe_sim::observe::counts::{self, AddressCount};
use strobe_symbols::Firmware;

pub(super) use self::exceptions::{exception_label, exception_named};
use super::drive::Run;
use super::settings::Settings;
use super::{Error, scheduling};
use crate::names::{Names, outermost};

pub(super) fn make(
    firmware: &Firmware,
    board: &Board,
    settings: &Settings,
    mut run: Run,
    end_reason: EndReason,
) -> Result<RunRecord, Error> {
    let (end, pc) = (run.now(), run.machine.pc());
    let (watch, clocks) = run.machine.observer_and_clocks();
    watch.1.0.finish(end, pc, clocks);
    let counts = run.machine.observer_mut().0.finish();
    let mut names = Names::new(firmware);
    names.add_samples(&counts);
    let shares = run.machine.observer().0.apart();
    names.profile.shares = shares.map(|s| share(&counts, s)).collect();
    names.profile.shares.sort_by_key(|share| share.who);
    let mut by_cause = CauseCycles::ZERO;
    counts.iter().for_each(|(_, c)| by_cause += c.cycles);
    let balance = balance(&run, &by_cause, &names)?;
    let calls = &run.machine.observer().1.0;
    names.profile.tree_cut = calls.cut;
    let starts: Vec<u32> = outermost(firmware).map(|f| f.start).collect();
    let exceptions = exceptions::all(&run, &mut names, &starts);
    let scheduling = scheduling::make(firmware, &run, &exceptions)?;
    let labels: Vec<&str> = scheduling.threads.iter().map(|t| t.name.as_str()).collect();
    names.profile.tree = tree(run.machine.bus(), calls.nodes(), &mut names, &starts, &labels);
    let seen = super::calls::seen(&run, &mut names, &starts, &labels);
    let warnings = warnings::all(firmware, board, &run, &names, &labels);
    let called = &run.machine.observer().1.0.sites;
    let waits = super::waiting::find(&names, run.machine.bus(), &run.idle, called);
    Ok(RunRecord {
        subject: subject(firmware, board, run.machine.bus()),
        machine: firmware.machine(),
        instrument: instrument(settings),
        window: window(&run, end_reason),
        totals: Totals { cycles: run.cycles, instructions: run.instructions, by_cause },
        balance,
        modelled: trust::of(&run, board, &by_cause),
        run_cycles: end.cycle,
        exceptions,
        scheduling: Some(scheduling),
        series: series::all(&run),
        unmodelled: warnings::unmodelled(run.machine.bus(), &names),
        warnings,
        fault: run.fault.as_ref().map(|(report, lockup)| fault::of(&run, report, *lockup, &names)),
        profile: names.profile,
        unreached: run.unreached(settings),
        calls: seen,
        waits,
        windows: settings.to.is_some().then(|| run.windows.clone()),
    })
}

pub(super) fn moment(bus: &Bus, cycle: u64) -> SimTime {
    SimTime { cycle, nanoseconds: bus.clocks.nanoseconds_at(cycle) }
}

/// How the cycles of the windows balance: what was attributed, and what has no name.
fn balance(run: &Run, by_cause: &CauseCycles, names: &Names) -> Result<Balance, Error> {
    let unnamed: u64 = names
        .profile
        .addresses
        .iter()
        .filter(|s| s.function.is_none())
        .map(|s| s.cycles.busy())
        .sum();
    let balance = Balance::new(Parts {
        taken: run.cycles,
        attributed: by_cause.busy() - unnamed,
        unattributed: if unnamed > 0 {
            vec![("no symbol".to_owned(), unnamed)]
        } else {
            Vec::new()
        },
        idle: by_cause[Cause::Asleep],
        ..Parts::new("cycles", Unit::CYCLES)
    })?;
    Ok(balance)
}

fn instrument(settings: &Settings) -> Instrument {
    Instrument {
        kind: "simulated board".to_owned(),
        tool: format!("strobe {}", env!("CARGO_PKG_VERSION")),
        settings: settings.describe(),
        environment: Default::default(),
    }
}

fn window(run: &Run, end_reason: EndReason) -> RunWindow {
    let moment = |cycle| moment(run.machine.bus(), cycle);
    RunWindow {
        begin: moment(run.begin.unwrap_or_default().cycle),
        end: moment(run.end.cycle),
        entries: run.entries,
        nanoseconds: run.nanoseconds,
        end_reason,
    }
}

/// A thread's or handler's part of all counts, which are in address order.
fn share(all: &[(u32, AddressCount)], share: counts::Share) -> Share {
    let mut addresses = Vec::with_capacity(share.counts.len());
    for (address, part) in share.counts {
        if let Ok(sample) = all.binary_search_by_key(&address, |(address, _)| *address) {
            let AddressCount { count, idle, jumped, cycles, .. } = part;
            let sample = sample as u32;
            addresses.push(AddressShare { sample, count, idle, jumped, cycles });
        }
    }
    Share { who: scheduling::who(share.who), addresses }
}

fn subject(firmware: &Firmware, board: &Board, bus: &Bus) -> Subject {
    let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
    let spans = bus.clocks.history().iter();
    let (mut flash, mut ram) = (0, 0);
    for segment in firmware.segments() {
        flash += segment.data().len() as u64;
        let memory = bus.memory_at(segment.run_address);
        let in_ram = memory.is_some_and(|memory| memory.kind == MemoryKind::Ram);
        ram += if in_ram { u64::from(segment.memory_size) } else { 0 };
    }
    let bytes = |name: &str, n: u64| Fact::figure(name, Quantity::exact(n, Unit::BYTES));
    let mut facts = facts(firmware);
    facts.extend([bytes("flash", flash), bytes("RAM", ram)]);
    Subject {
        kind: "firmware".to_owned(),
        name: String::new(),
        sha256: Some(hex(&firmware.sha256())),
        build_id: firmware.build_id().map(hex),
        board: Some(board.name().to_owned()),
        core: Some(board.core_name().to_owned()),
        clock: spans.map(|c| ClockSpan { cycle: c.cycle, hz: c.hz }).collect(),
        facts,
    }
}

fn tree(
    bus: &Bus,
    nodes: &[Node],
    names: &mut Names,
    starts: &[u32],
    threads: &[&str],
) -> Vec<TreeNode> {
    let mut place = |kind| match kind {
        NodeKind::Thread(n) => {
            Place::Thread(threads.get(n as usize).copied().unwrap_or_default().to_owned())
        }
        NodeKind::Exception(n) => Place::Exception(exception_label(bus, n)),
        NodeKind::Function(f) => match starts.get(f as usize).and_then(|&a| names.function_at(a)) {
            Some(function) => Place::Function(function),
            None => Place::Unknown,
        },
        NodeKind::Unknown => Place::Unknown,
    };
    nodes
        .iter()
        .map(|node| TreeNode {
            place: place(node.kind),
            parent: node.parent,
            calls: node.calls,
            self_cycles: node.cycles,
            self_idle: node.asleep,
            self_instructions: node.instructions,
        })
        .collect()
}
