//! The edges of all pins, passed to the host while the board runs: nothing is kept here but those
//! since the last look.
//!
//! Time is in picoseconds since reset, by the history of the core's clock.

use strobe_sim::board::Board;
use strobe_sim::machine::Machine;
use strobe_sim::observe::pins::Seen;
use strobe_sim::signal::SignalId;

use super::drive::Watch;

/// Receives what pins do.
pub trait Recorder {
    /// The recording begins.
    fn begin(&mut self, beginning: &Beginning);
    /// A pin, by its index in [`Beginning::pins`], has another level. Returns whether there is room
    /// for more; if not, the run ends.
    fn edge(&mut self, pin: usize, level: bool, at: Moment) -> bool;
    /// The core slept, or went round an idle loop, from one moment to another.
    fn slept(&mut self, from: Moment, to: Moment) -> bool;
    /// The run is over. The core's clock had so many hertz from each of the moments on.
    fn end(&mut self, at_ps: u64, clock: &[(u64, u32)]);
}

/// How a recording begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Beginning {
    /// When, in picoseconds since reset.
    pub at_ps: u64,
    /// Every pin with its level.
    pub pins: Vec<(String, bool)>,
    /// What the circuit board calls its pins: its name, the pin's.
    pub names: Vec<(String, String)>,
}

/// When something happened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Moment {
    /// In picoseconds since reset.
    pub at_ps: u64,
    /// How much sooner it may have been by the models' bounds, counted from reset: it never falls.
    pub sooner_ps: u64,
    /// How much later, in the same way.
    pub later_ps: u64,
}

/// A recording under way.
pub(super) struct Recording {
    names: Vec<(String, String)>,
    pins: Vec<SignalId>,
    begun: bool,
    /// Passed to the recorder as soon as there is one.
    beginning: Option<Beginning>,
    since_cycle: u64,
    slack: Slack,
    full: bool,
}

/// The models' slack so far, in cycles and in time.
#[derive(Default)]
struct Slack {
    cycles: (u64, u64),
    femtoseconds: (u128, u128),
    last_cycle: u64,
}

impl Recording {
    pub(super) fn new(board: &Board) -> Self {
        let name = |(own, pin): (&str, &str)| (own.to_owned(), pin.to_owned());
        Recording {
            names: board.pin_names().map(name).collect(),
            pins: Vec::new(),
            begun: false,
            beginning: None,
            since_cycle: 0,
            slack: Slack::default(),
            full: false,
        }
    }

    /// Whether the recorder wants no more.
    pub(super) fn is_full(&self) -> bool {
        self.full
    }

    /// From here on. What windows come later change nothing: a recording has no holes.
    pub(super) fn begin(&mut self, machine: &mut Machine<Watch>) {
        if std::mem::replace(&mut self.begun, true) {
            return;
        }
        let bus = machine.bus();
        self.pins = bus.signals.pins().collect();
        self.since_cycle = machine.cycles();
        let pin = |id: &SignalId| (bus.signals.name(*id).to_owned(), bus.signals.level(*id));
        self.beginning = Some(Beginning {
            at_ps: picoseconds(machine, self.since_cycle),
            pins: self.pins.iter().map(pin).collect(),
            names: std::mem::take(&mut self.names),
        });
        machine.observer_mut().1.1.record();
    }

    /// Hands over what has come.
    pub(super) fn serve(&mut self, machine: &mut Machine<Watch>, recorder: &mut dyn Recorder) {
        if let Some(beginning) = self.beginning.take() {
            recorder.begin(&beginning);
        }
        let Seen { edges, slept } = machine.observer_mut().1.1.take_seen();
        let mut slept = slept.into_iter().peekable();
        for edge in edges {
            while let Some((from, to)) = slept.next_if(|(from, _)| *from < edge.cycle) {
                self.sleep(machine, (from, to), recorder);
            }
            let Ok(pin) = self.pins.binary_search(&edge.pin) else { continue };
            let at = self.slack.moment(machine, edge.cycle, edge.slack);
            self.full |= !recorder.edge(pin, edge.level, at);
            if self.full {
                return;
            }
        }
        slept.for_each(|times| self.sleep(machine, times, recorder));
    }

    /// The slack of the last edge is good enough here: it separates sleep from work, nothing
    /// more.
    fn sleep(
        &mut self,
        machine: &Machine<Watch>,
        (from, to): (u64, u64),
        recorder: &mut dyn Recorder,
    ) {
        let slack = self.slack.cycles;
        let [from, to] = [from, to].map(|cycle| self.slack.moment(machine, cycle, slack));
        self.full |= !recorder.slept(from, to);
    }

    /// Sets when the recording ends.
    pub(super) fn finish(&mut self, machine: &Machine<Watch>, recorder: &mut dyn Recorder) {
        if !self.begun {
            return;
        }
        let cycle = machine.cycles();
        let history = machine.bus().clocks.history();
        let begun = history.partition_point(|change| change.cycle <= self.since_cycle);
        let spans = &history[begun.saturating_sub(1)..];
        let clock = spans.iter().map(|change| (picoseconds(machine, change.cycle), change.hz));
        recorder.end(picoseconds(machine, cycle), &clock.collect::<Vec<_>>());
    }
}

impl Slack {
    /// The moment of a cycle with this slack. What has been added to the slack since the moment
    /// before was added at the clock of that time or of this, of which the slower one counts.
    fn moment(&mut self, machine: &Machine<Watch>, cycle: u64, cycles: (u64, u64)) -> Moment {
        let clocks = &machine.bus().clocks;
        let more = (cycles.0.saturating_sub(self.cycles.0), cycles.1.saturating_sub(self.cycles.1));
        if more != (0, 0) {
            let slower = clocks.hz_at(cycle).min(clocks.hz_at(self.last_cycle));
            let time =
                |cycles: u64| u128::from(cycles) * 1_000_000_000_000_000 / u128::from(slower);
            self.femtoseconds.0 += time(more.0);
            self.femtoseconds.1 += time(more.1);
            self.cycles = (self.cycles.0 + more.0, self.cycles.1 + more.1);
        }
        self.last_cycle = self.last_cycle.max(cycle);
        Moment {
            at_ps: picoseconds(machine, cycle),
            sooner_ps: picoseconds_of(self.femtoseconds.0),
            later_ps: picoseconds_of(self.femtoseconds.1),
        }
    }
}

/// To the nearest.
fn picoseconds_of(femtoseconds: u128) -> u64 {
    u64::try_from((femtoseconds + 500) / 1000).unwrap_or(u64::MAX)
}

fn picoseconds(machine: &Machine<Watch>, cycle: u64) -> u64 {
    u64::try_from(machine.bus().clocks.picoseconds_at(cycle)).unwrap_or(u64::MAX)
}
