//! Drives a simulated board through a run: windows, marks, limits.

mod call;
mod phase;
mod places;
mod prepare;
mod serve;

use std::sync::atomic::AtomicBool;

use crate::simulated::run_record::EndReason;
use strobe_devices::machine::{Machine, Report, Stop};
use strobe_sim::observe::Moment;
use strobe_sim::observe::calls::CallTree;
use strobe_sim::observe::counts::Counts;
use strobe_sim::observe::pins::PinLog;
use strobe_sim::signal::SignalId;

use super::Host;
use super::heap::Found;
use super::recording::Recording;
use super::script::Script;
use super::settings::{Limit, Settings};
use super::trace::RegisterWrite;
use super::vectors::Start;

pub(super) use call::Called;
pub(super) use phase::Shifting;
use places::{Arrival, Place};
pub(super) use places::{Arrivals, address, pin_name};

/// Everything that watches.
pub(super) type Watch = (Counts, (CallTree, PinLog));

/// Windows that are kept one by one.
pub(super) const MAX_SPANS: usize = 1 << 16;

/// Arrivals kept per mark.
const MAX_ARRIVALS: usize = 1 << 20;

/// Cycles for serial devices to send what they hold at the end.
const SENDING_LIMIT: u64 = 1 << 32;

/// A moment of the run.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Mark {
    pub cycle: u64,
    pub instructions: u64,
}

/// A run under way.
pub(super) struct Run {
    pub machine: Machine<Watch>,
    pub pins: Vec<(String, SignalId)>,
    pub arrivals: Vec<Arrivals>,
    pub fault: Option<(Report, bool)>,
    /// The operating system, if there is one.
    pub system: Option<crate::simulated::run_record::Rtos>,
    /// The memory allocators that are watched.
    pub allocators: Option<Found>,
    pub scripts: Vec<Script>,
    /// What the registers that a debugger wrote read as.
    pub programmed: Vec<RegisterWrite>,
    /// Where the firmware started.
    pub start: Start,
    recording: Option<Recording>,
    /// First start and last end of a window.
    pub begin: Option<Mark>,
    pub end: Mark,
    pub entries: u64,
    /// Sums over all windows.
    pub cycles: u64,
    pub instructions: u64,
    pub nanoseconds: u64,
    /// Each window.
    pub windows: crate::simulated::run_record::Windows,
    /// From which cycle to which each of them was, the first ones if there are many.
    pub spans: Vec<(u64, u64)>,
    /// What the user calls a wait.
    pub idle: Vec<std::ops::Range<u32>>,
    open: Option<Mark>,
    from: Option<Place>,
    to: Option<Place>,
    until: Option<Place>,
    until_name: String,
    /// Whether `to` and `until` were reached.
    reached: (bool, bool),
    limit: Option<Limit>,
    default_limit: Option<Limit>,
    run_on: bool,
    /// What a shifted run shifts.
    pub shifting: Option<Shifting>,
}

impl Run {
    /// Runs to the end and returns why it ended.
    pub(super) fn drive(&mut self, host: &mut dyn Host, interrupted: &AtomicBool) -> EndReason {
        self.begin_scripts();
        self.expect_input(host);
        let reason = self.go_on(host, interrupted);
        self.finish(&reason, host);
        reason
    }

    /// Runs on to where the run ends next.
    fn go_on(&mut self, host: &mut dyn Host, interrupted: &AtomicBool) -> EndReason {
        loop {
            let to = self.machine.cycles() + self.chunk(host);
            let end = self.advance(to.min(self.next_look()), interrupted);
            self.look_at_timers();
            self.serve(host);
            if let Some(reason) = end.or(self.is_full().then_some(EndReason::Limit)) {
                return reason;
            }
        }
    }

    /// Whether whoever records pins has no room for more.
    pub(super) fn is_full(&self) -> bool {
        self.recording.as_ref().is_some_and(Recording::is_full)
    }

    /// Sends what scripts have for the very beginning.
    pub(super) fn begin_scripts(&mut self) {
        self.scripts.iter_mut().for_each(|script| script.serve(&mut self.machine));
    }

    /// Runs up to a cycle, or to where the run ends if that comes first.
    pub(super) fn advance(&mut self, to: u64, interrupted: &AtomicBool) -> Option<EndReason> {
        loop {
            let (limit, reason) = self.next_limit();
            match self.machine.run(limit.min(to), interrupted) {
                Stop::Limit if self.machine.cycles() >= limit => {
                    if !self.limit_is_later() {
                        return Some(reason);
                    }
                }
                Stop::Limit => return None,
                stop => {
                    let end = self.stopped(stop);
                    if end.is_some() {
                        return end;
                    }
                }
            }
        }
    }

    /// What comes of a stop: the end of the run, or `None` if it goes on.
    fn stopped(&mut self, stop: Stop<Report>) -> Option<EndReason> {
        let reached =
            |there: bool, name: &str| there.then(|| EndReason::Reached { place: name.to_owned() });
        match stop {
            Stop::Limit => None,
            Stop::Address(at) => {
                self.note_arrival(at);
                reached(self.arrive(Arrival::Address(at)), &self.until_name)
            }
            Stop::Edge(pin, level) => {
                reached(self.arrive(Arrival::Edge(pin, level)), &self.until_name)
            }
            Stop::Exit(code) => Some(EndReason::Exit { code }),
            Stop::HardFault(report) => {
                self.fault.get_or_insert((*report, false));
                (!self.run_on).then_some(EndReason::HardFault)
            }
            Stop::Lockup(report) => {
                self.fault = Some((*report, true));
                Some(EndReason::Lockup)
            }
            Stop::SleepsForever => Some(EndReason::SleepsForever),
            Stop::Unmodelled { .. } => Some(EndReason::Unmodelled),
            Stop::Interrupted => Some(EndReason::Interrupted),
        }
    }

    /// Closes what is open at the end of a run; `reason` is why it ended.
    pub(super) fn finish(&mut self, reason: &EndReason, host: &mut dyn Host) {
        self.close_window(false);
        self.machine.bus_mut().catch_up_timers();
        if !self.was_cut_short(reason) {
            let limit = self.machine.cycles().saturating_add(SENDING_LIMIT);
            self.machine.finish_sending(limit);
        }
        self.serve(host);
        if let (Some(recording), Some(recorder)) = (&mut self.recording, host.recorder()) {
            recording.finish(&self.machine, recorder);
        }
    }

    /// Whether the run ended at a time or place that somebody chose; elsewhere the firmware itself
    /// came to an end, and on a board its serial devices would still send what they hold.
    fn was_cut_short(&self, reason: &EndReason) -> bool {
        matches!(
            reason,
            EndReason::Limit
                | EndReason::DefaultLimit
                | EndReason::Reached { .. }
                | EndReason::Interrupted
                | EndReason::OtherChip { .. }
        )
    }

    /// The cycle to stop at and what that would mean.
    fn next_limit(&self) -> (u64, EndReason) {
        let reason = if self.limit.is_some() { EndReason::Limit } else { EndReason::DefaultLimit };
        let clocks = &self.machine.bus().clocks;
        let cycle = match self.end() {
            Some(Limit::Cycles(n)) => n,
            Some(Limit::Nanoseconds(ns)) => clocks.cycle_at_nanoseconds(ns),
            None => u64::MAX,
        };
        (cycle, reason)
    }

    /// The limit that holds: the user's or the built-in one.
    fn end(&self) -> Option<Limit> {
        self.limit.or(self.default_limit)
    }

    /// A change of clock has moved a limit given in time.
    fn limit_is_later(&self) -> bool {
        self.next_limit().0 > self.machine.cycles()
    }

    /// A marked address was reached.
    fn note_arrival(&mut self, at: u32) {
        let cycle = self.machine.cycles();
        for arrivals in self.arrivals.iter_mut().filter(|a| a.address == at) {
            arrivals.count += 1;
            if arrivals.at.len() < MAX_ARRIVALS {
                arrivals.at.push(cycle);
            }
        }
    }

    /// A place where something begins or ends was reached; returns whether the run ends there.
    fn arrive(&mut self, at: Arrival) -> bool {
        let is = |place: Option<Place>| place.is_some_and(|place| place.is(at));
        self.reached.0 |= is(self.to) && self.open.is_some();
        self.reached.1 |= is(self.until);
        // `--from X --to X` measures from each arrival to the next: it closes one window and opens
        // another.
        if is(self.to) {
            self.windows.closed_again += u64::from(self.open.is_none());
            self.close_window(true);
        }
        if is(self.from) {
            match self.open {
                None => self.open_window(),
                // Without an end, the first window is all there is.
                Some(_) => self.windows.reopened += u64::from(self.to.is_some()),
            }
        }
        is(self.until)
    }

    pub(super) fn mark(&self) -> Mark {
        Mark { cycle: self.machine.cycles(), instructions: self.machine.instructions() }
    }

    /// A window begins here.
    pub(super) fn open_window(&mut self) {
        let mark = self.mark();
        self.begin.get_or_insert(mark);
        self.open = Some(mark);
        if let Some(recording) = &mut self.recording {
            recording.begin(&mut self.machine);
        }
        self.entries += 1;
        self.set_active(true);
    }

    /// A window ends at the place for that (`whole`), or with the run.
    fn close_window(&mut self, whole: bool) {
        let Some(open) = self.open.take() else { return };
        let mark = self.mark();
        let cycles = mark.cycle - open.cycle;
        if self.spans.len() < MAX_SPANS {
            self.spans.push((open.cycle, mark.cycle));
        }
        self.cycles += cycles;
        if whole {
            let began = super::record::moment(self.machine.bus(), open.cycle);
            self.windows.add(cycles, began);
        } else {
            self.windows.part = Some(cycles);
        }
        self.instructions += mark.instructions - open.instructions;
        let clocks = &self.machine.bus().clocks;
        self.nanoseconds += clocks.nanoseconds_at(mark.cycle) - clocks.nanoseconds_at(open.cycle);
        self.end = mark;
        self.set_active(false);
    }

    /// Whether windows begin at a place that was named.
    pub(super) fn is_marked(&self) -> bool {
        self.from.is_some()
    }

    /// What was asked for and never reached.
    pub(super) fn unreached(&self, settings: &Settings) -> Vec<String> {
        let named = |option: &str, spot: &Option<String>, reached: bool| {
            spot.iter().filter(|_| !reached).map(|spot| format!("{option} {spot}")).next()
        };
        let places = [
            named("--from", &settings.from, self.entries > 0),
            named("--to", &settings.to, self.reached.0),
            named("--until", &settings.until, self.reached.1),
        ];
        let edges = self.machine.observer().1.1.edges();
        let still = |(_, pin): &&(String, SignalId)| edges.iter().all(|edge| edge.pin != *pin);
        let pins = self.pins.iter().filter(still).map(|(name, _)| name);
        let symbols = self.arrivals.iter().filter(|a| a.count == 0).map(|a| &a.name);
        let marks = pins.chain(symbols).map(|name| format!("--mark {name}"));
        places.into_iter().flatten().chain(marks).collect()
    }

    /// Where the core is now.
    pub(super) fn now(&self) -> Moment {
        Moment {
            cycle: self.machine.cycles(),
            asleep: self.machine.asleep(),
            instructions: self.machine.instructions(),
        }
    }

    fn set_active(&mut self, active: bool) {
        let now = self.now();
        let ((counts, (tree, pins)), clocks) = self.machine.observer_and_clocks();
        counts.set_active(active);
        tree.set_active(active, now, clocks);
        pins.set_active(active);
    }
}
