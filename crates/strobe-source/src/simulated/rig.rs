//! Several chips in one simulation, with wires between their pins.
//!
//! A wire takes time: what one chip does to it at an instant the other sees a fixed delay later. So
//! no chip can know what another does within that time, and each may be run on its own for half of
//! it, in whatever order: the outcome is the same, to the cycle, at every run.

use std::sync::atomic::AtomicBool;

use crate::simulated::run_record::EndReason;
use strobe_devices::board::{Board, BoardError, PartEntry};
use strobe_sim::device::DeviceId;
use strobe_sim::device::part::Edge;
use strobe_symbols::Firmware;

use super::drive::Run;
use super::{Error, Host, Outcome, Settings, WireError};

/// A chip with its board and what runs on it.
pub struct Chip<'a> {
    /// Its name in the rig.
    pub name: String,
    /// What it runs.
    pub firmware: &'a Firmware,
    /// Its board, parts included.
    pub board: Board,
    /// What is wanted of its run.
    pub settings: Settings,
}

impl<'a> Chip<'a> {
    /// The same chip with something else wanted of its run.
    pub(super) fn with_settings(&self, settings: Settings) -> Chip<'a> {
        let (name, board) = (self.name.clone(), self.board.clone());
        Chip { name, firmware: self.firmware, board, settings }
    }
}

/// A pin of a chip, by its place among the chips.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    /// Which chip.
    pub chip: usize,
    /// The pin, by the chip's name or the board's.
    pub name: String,
}

/// A wire: what the chip of `from` does to its pin is done to `to`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wire {
    /// Where it begins.
    pub from: Pin,
    /// Where it ends; no other wire may end there.
    pub to: Pin,
}

/// What a rig is made of.
#[derive(Clone, Copy)]
pub struct Layout<'a> {
    /// The chips; the run ends with the first that does.
    pub chips: &'a [Chip<'a>],
    /// What joins their pins.
    pub wires: &'a [Wire],
    /// What each wire takes, in nanoseconds, at least 2.
    pub delay: u64,
}

/// An error with the chip that it is about.
#[derive(Debug, thiserror::Error)]
#[error("chip {chip}: {error}")]
pub struct RigError {
    /// The chip's name.
    pub chip: String,
    /// What is wrong.
    pub error: Error,
}

/// What the part is called that holds a chip's ends of the wires.
const CABLE: &str = "wires";

/// Looks at hosts in a simulated second.
const LOOKS_PER_SECOND: u64 = 64;

/// Runs all chips to the end of the first and returns what was measured of each. `hosts` are the
/// chips' hosts, in their order.
///
/// # Errors
/// When the run cannot start; how it ended is in the records.
pub fn run(
    layout: Layout,
    hosts: &mut [&mut dyn Host],
    interrupted: &AtomicBool,
) -> Result<Vec<Outcome>, RigError> {
    let Layout { chips, wires, delay } = layout;
    let mut rig = Rig::new(chips, wires, delay.max(2), hosts)?;
    let ends = rig.drive(hosts, interrupted);
    let mut outcomes = Vec::new();
    for ((chip, member), end) in chips.iter().zip(rig.members).zip(ends) {
        let outcome = super::outcome(chip.firmware, &member.board, &chip.settings, member.run, end);
        outcomes.push(outcome.map_err(|error| of(chip, error))?);
    }
    Ok(outcomes)
}

fn of(chip: &Chip, error: Error) -> RigError {
    RigError { chip: chip.name.clone(), error }
}

/// The wires with the chips' own names for pins, no two of which end at one.
fn resolved(chips: &[Chip], wires: &[Wire]) -> Result<Vec<Wire>, RigError> {
    let own = |pin: &Pin| {
        let name = super::drive::pin_name(&chips[pin.chip].board, &pin.name);
        Pin { chip: pin.chip, name }
    };
    let all = wires.iter().map(|wire| Wire { from: own(&wire.from), to: own(&wire.to) });
    let all: Vec<Wire> = all.collect();
    for (i, (wire, given)) in all.iter().zip(wires).enumerate() {
        if all[..i].iter().any(|other| other.to == wire.to) {
            let error = WireError::SharedEnd { pin: given.to.name.clone() };
            return Err(of(&chips[wire.to.chip], error.into()));
        }
    }
    Ok(all)
}

/// A chip under way.
struct Member {
    board: Board,
    run: Run,
    cable: DeviceId,
    /// Where its outputs lead: (chip, its input).
    leads: Vec<(usize, usize)>,
    /// A time was asked for, up to which the chip may sleep.
    goes_on_asleep: bool,
    /// Why its run is over, if it is.
    end: Option<EndReason>,
}

struct Rig<'a> {
    names: Vec<&'a str>,
    members: Vec<Member>,
    delay: u64,
    /// What is on its way to each chip, while it is handed over.
    arriving: Vec<Vec<Edge>>,
}

impl<'a> Rig<'a> {
    fn new(
        chips: &'a [Chip],
        wires: &[Wire],
        delay: u64,
        hosts: &mut [&mut dyn Host],
    ) -> Result<Self, RigError> {
        let wires = resolved(chips, wires)?;
        let mut members = Vec::new();
        for ((i, chip), host) in chips.iter().enumerate().zip(hosts) {
            let member = Member::new(i, chip, &wires, *host);
            members.push(member.map_err(|error| of(chip, error))?);
        }
        let names = chips.iter().map(|chip| chip.name.as_str()).collect();
        let arriving = vec![Vec::new(); chips.len()];
        Ok(Rig { names, members, delay, arriving })
    }

    /// Runs to the end and returns for each chip why it ended.
    fn drive(&mut self, hosts: &mut [&mut dyn Host], interrupted: &AtomicBool) -> Vec<EndReason> {
        let look = 1_000_000_000 / LOOKS_PER_SECOND;
        // Half of a wire's time: an instruction under way may go a little beyond the end of a
        // stride. One chip waits for nobody.
        let stride = if self.members.len() > 1 { self.delay / 2 } else { look };
        let (mut now, mut next_look) = (0, look);
        self.members.iter_mut().for_each(|member| member.run.begin_scripts());
        while self.members.iter().all(|member| member.end.is_none()) {
            now += stride;
            let mut asleep = true;
            for member in &mut self.members {
                asleep &= member.advance(now, interrupted);
            }
            let moved = self.exchange();
            if now >= next_look {
                next_look = now + look;
                self.serve(hosts);
            }
            if asleep && !moved {
                let ends = self.members.iter_mut().map(|member| &mut member.end);
                ends.for_each(|end| *end = Some(EndReason::SleepsForever));
            }
        }
        let ends: Vec<_> = self.members.iter_mut().map(|member| member.end.take()).collect();
        let first = ends.iter().position(Option::is_some).unwrap_or_default();
        let other = EndReason::OtherChip { chip: self.names[first].to_owned() };
        let ends: Vec<_> = ends.into_iter().map(|e| e.unwrap_or_else(|| other.clone())).collect();
        for ((member, host), end) in self.members.iter_mut().zip(hosts).zip(&ends) {
            member.run.finish(end, *host);
        }
        ends
    }

    fn serve(&mut self, hosts: &mut [&mut dyn Host]) {
        for (member, host) in self.members.iter_mut().zip(hosts) {
            member.run.serve(*host);
            if member.run.is_full() {
                member.end = Some(EndReason::Limit);
            }
        }
    }

    /// Sends what has happened on the wires on its way; returns whether anything has.
    fn exchange(&mut self) -> bool {
        for member in &mut self.members {
            let edges = member.run.machine.bus_mut().take_edges(member.cable);
            let clocks = &member.run.machine.bus().clocks;
            for edge in edges {
                let at = clocks.nanoseconds_at(edge.at) + self.delay;
                let (chip, wire) = member.leads[edge.wire];
                // In nanoseconds until the chip that it goes to is known.
                self.arriving[chip].push(Edge { at, wire, ..edge });
            }
        }
        let mut moved = false;
        for (member, edges) in self.members.iter_mut().zip(&mut self.arriving) {
            if edges.is_empty() {
                continue;
            }
            moved = true;
            let bus = member.run.machine.bus_mut();
            edges.iter_mut().for_each(|edge| edge.at = bus.clocks.cycle_at_nanoseconds(edge.at));
            bus.edges_come(member.cable, edges);
            edges.clear();
        }
        moved
    }
}

impl Member {
    fn new(i: usize, chip: &Chip, wires: &[Wire], host: &mut dyn Host) -> Result<Self, Error> {
        let ends_at = |chip| wires.iter().filter(move |wire| wire.to.chip == chip);
        let own = wires.iter().filter(|wire| wire.from.chip == i);
        let leads = own.map(|wire| {
            let input = ends_at(wire.to.chip).position(|other| other.to == wire.to);
            (wire.to.chip, input.unwrap_or_default())
        });
        let leads = leads.collect();
        let outputs = wires.iter().filter(|w| w.from.chip == i).map(|w| w.from.name.clone());
        let inputs = wires.iter().filter(|w| w.to.chip == i).map(|w| w.to.name.clone());
        let cable = PartEntry {
            name: CABLE.to_owned(),
            model: "cable".to_owned(),
            options: toml::Table::from_iter([
                ("outputs".to_owned(), outputs.collect::<Vec<_>>().into()),
                ("inputs".to_owned(), inputs.collect::<Vec<_>>().into()),
            ]),
        };
        let board = chip.board.clone().with_parts([cable]).map_err(|error| match error {
            BoardError::Value { problem, .. } => Error::from(WireError::Invalid { problem }),
            other => other.into(),
        })?;
        let bus = super::ready(chip.firmware, &board, &chip.settings)?;
        let cable = bus.device_named(CABLE).expect("it has just been added");
        let run = Run::new(chip.firmware, &board, &chip.settings, bus, host)?;
        let goes_on_asleep = chip.settings.limit.is_some();
        Ok(Member { board, run, cable, leads, goes_on_asleep, end: None })
    }

    /// Runs up to a time, or to the end if that comes first; returns whether the chip sleeps and
    /// nothing of its own is left to wake it.
    fn advance(&mut self, nanoseconds: u64, interrupted: &AtomicBool) -> bool {
        self.end = self.advance_to(nanoseconds, interrupted);
        let sleeps = self.end == Some(EndReason::SleepsForever);
        if sleeps {
            // Another chip may wake it.
            self.run.machine.bus_mut().expects_input = true;
            self.end = self.advance_to(nanoseconds, interrupted);
            self.run.machine.bus_mut().expects_input = self.goes_on_asleep;
        }
        sleeps
    }

    /// Runs up to a time, which is another cycle once the firmware has changed its clock.
    fn advance_to(&mut self, nanoseconds: u64, interrupted: &AtomicBool) -> Option<EndReason> {
        loop {
            let clocks = &self.run.machine.bus().clocks;
            let (hz, to) = (clocks.core_hz(), clocks.cycle_at_nanoseconds(nanoseconds));
            let end = self.run.advance(to, interrupted);
            let machine = &self.run.machine;
            let is_there = machine.cycles() >= to && machine.bus().clocks.core_hz() == hz;
            if end.is_some() || is_there {
                return end;
            }
        }
    }
}
