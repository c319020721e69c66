//! The edges of all pins, passed to the host while the board runs: nothing is kept here but those
//! since the last look.
//!
//! Time is in picoseconds since reset, by the history of the core's clock.

use strobe_devices::board::Board;
use strobe_devices::machine::Machine;
use strobe_sim::observe::pins::Seen;
use strobe_sim::signal::SignalId;

use super::drive::Watch;

/// Receives what pins do.
pub trait Recorder {
    /// The recording begins.
    fn begin(&mut self, beginning: &Beginning);
    /// A pin, by its index in [`Beginning::pins`], has another level. Returns whether there is room
    /// for more; if not, the run ends. Times are picoseconds since reset.
    fn edge(&mut self, pin: usize, level: bool, at_ps: u64) -> bool;
    /// The core slept, or went round an idle loop, from one moment to another.
    fn slept(&mut self, from_ps: u64, to_ps: u64) -> bool;
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

/// A recording under way.
pub(super) struct Recording {
    names: Vec<(String, String)>,
    pins: Vec<SignalId>,
    begun: bool,
    /// Passed to the recorder as soon as there is one.
    beginning: Option<Beginning>,
    since_cycle: u64,
    full: bool,
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
            self.full |= !recorder.edge(pin, edge.level, picoseconds(machine, edge.cycle));
            if self.full {
                return;
            }
        }
        slept.for_each(|times| self.sleep(machine, times, recorder));
    }

    fn sleep(
        &mut self,
        machine: &Machine<Watch>,
        (from, to): (u64, u64),
        recorder: &mut dyn Recorder,
    ) {
        let [from, to] = [from, to].map(|cycle| picoseconds(machine, cycle));
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

fn picoseconds(machine: &Machine<Watch>, cycle: u64) -> u64 {
    u64::try_from(machine.bus().clocks.picoseconds_at(cycle)).unwrap_or(u64::MAX)
}
