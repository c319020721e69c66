//! A capture of a simulated board: built edge by edge during the run, with facts that only a
//! simulation has beside levels.

use super::build::Builder;
use super::time::gcd;
use super::{Capture, Edge, Level, Place, Tick};

/// The channel that is high while the core runs. It is low while the core is asleep, or in an empty
/// loop that only an interrupt ends.
pub const AWAKE: &str = "awake";

/// Additional facts of a simulated capture.
#[derive(Debug, Clone, PartialEq)]
pub struct Simulated {
    /// The board.
    pub board: String,
    /// Other names of channels, those of the circuit board: name, channel's name.
    pub names: Vec<(String, String)>,
    /// Frequency of the core's clock in hertz, from each tick on.
    clock: Vec<(u64, u32)>,
    tick: Tick,
    /// Cumulated timing slack from each tick on: how much earlier and later than recorded events
    /// may have been.
    slack: Vec<Slack>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Slack {
    from: u64,
    sooner: u64,
    later: u64,
}

impl Simulated {
    /// The earliest and the latest time of something recorded at a tick.
    pub fn bounds(&self, tick: u64) -> (u64, u64) {
        let at = self.slack.partition_point(|slack| slack.from <= tick);
        let slack = at.checked_sub(1).map_or(Slack::default(), |at| self.slack[at]);
        (tick.saturating_sub(slack.sooner), tick.saturating_add(slack.later))
    }

    /// Cycles of the core's clock within spans of ticks.
    pub fn cycles(&self, spans: impl IntoIterator<Item = (u64, u64)>) -> u64 {
        let (numerator, denominator) = self.tick.fraction();
        let second = u128::from(denominator);
        let cycles = spans.into_iter().map(|span| self.times_hz(span));
        let cycles = cycles.fold(0, u128::saturating_add).saturating_mul(numerator.into());
        u64::try_from(cycles.saturating_add(second / 2) / second).unwrap_or(u64::MAX)
    }

    /// The ticks of a span, each multiplied by the frequency at its time.
    fn times_hz(&self, (from, to): (u64, u64)) -> u128 {
        let ends = self.clock.iter().skip(1).map(|(at, _)| *at).chain([u64::MAX]);
        let parts = self.clock.iter().zip(ends).map(|((begin, hz), end)| {
            let ticks = to.min(end).saturating_sub(from.max(*begin));
            u128::from(ticks).saturating_mul(u128::from(*hz))
        });
        parts.fold(0, u128::saturating_add)
    }
}

/// The longest tick above some picoseconds that divides the period of each of these clocks.
fn common_tick(clock: &[(u64, u32)]) -> Option<Tick> {
    let multiple = clock.iter().try_fold(1u64, |all, (_, hz)| {
        let hz = u64::from((*hz).max(1));
        (all / gcd(all, hz)).checked_mul(hz)
    });
    multiple.filter(|hz| *hz <= MOST_HZ).and_then(Tick::from_hz)
}

/// Times arrive rounded to picoseconds: ticks of ten can be recovered.
const MOST_HZ: u64 = 100_000_000_000;

/// A capture under construction. Until it is finished its ticks are picoseconds since the
/// beginning.
pub struct Recording {
    builder: Builder,
    board: String,
    names: Vec<(String, String)>,
    slack: Vec<Slack>,
    /// The slack at the beginning.
    base: Option<(u64, u64)>,
    /// When slack was last noted.
    noted: u64,
    start_ps: u64,
    awake: usize,
    last: u64,
    limit: usize,
    full: bool,
}

impl Recording {
    /// Begins a capture at a time after reset, with pins at their levels. `limit` is the maximum
    /// number of edges.
    pub fn new(board: &str, start_ps: u64, pins: &[(String, bool)], limit: usize) -> Self {
        let mut builder = Builder::new(limit);
        let awake = [(AWAKE.to_owned(), true)];
        for (at, (name, level)) in pins.iter().chain(&awake).enumerate() {
            builder.channel(name.clone());
            // The initial levels cannot exceed the limit.
            let _ = builder.set(at, 0, Level::of(*level), || Place::File);
        }
        Recording {
            builder,
            board: board.to_owned(),
            names: Vec::new(),
            slack: Vec::new(),
            base: None,
            noted: 0,
            start_ps,
            awake: pins.len(),
            last: 0,
            limit,
            full: false,
        }
    }

    /// A pin, by index, changes its level at a time after reset, with the models' slack (earlier,
    /// later) since then. Returns whether there is room for more.
    pub fn edge(&mut self, pin: usize, level: bool, at_ps: u64, slack: (u64, u64)) -> bool {
        let at = self.since_start(at_ps);
        self.note_slack(at, slack);
        self.set(pin, at, level)
    }

    /// The core slept from one moment to another.
    pub fn slept(&mut self, (from_ps, to_ps): (u64, u64), slack: (u64, u64)) -> bool {
        let (from, to) = (self.since_start(from_ps), self.since_start(to_ps));
        self.note_slack(from, slack);
        self.set(self.awake, from, false) && self.set(self.awake, to, true)
    }

    /// Finishes the capture at a time after reset. The core's clock had the given frequencies from
    /// those times on.
    pub fn finish(self, end_ps: u64, clock: &[(u64, u32)]) -> Capture {
        let end = self.since_start(end_ps).max(self.last);
        let picosecond = Tick::decimal(12);
        let tick = common_tick(clock).unwrap_or(picosecond);
        // A tick is at least a picosecond, so that everything still fits.
        let ticks = |ps: u64| picosecond.convert(ps, tick).unwrap_or(ps);
        let Recording { mut builder, names, mut slack, board, start_ps, limit, .. } = self;
        builder.retime(ticks);
        for step in &mut slack {
            let Slack { from, sooner, later } = *step;
            // Round the difference, not the slack, so that it never decreases.
            let soonest = ticks(from.saturating_sub(sooner));
            let from = ticks(from);
            *step = Slack { from, sooner: from.saturating_sub(soonest), later: ticks(later) };
        }
        let fastest = clock.iter().map(|(_, hz)| *hz).max().unwrap_or(1);
        let clock = clock.iter().map(|(at, hz)| (ticks(at.saturating_sub(start_ps)), *hz));
        let notes = self.full.then(|| {
            format!("the recording ends at {limit} edges, the limit; raise it with --max-edges")
        });
        Capture {
            tick,
            resolution: Tick::from_hz(fastest.into()).unwrap_or(tick),
            resolution_inferred: false,
            start: i64::try_from(ticks(start_ps)).unwrap_or(i64::MAX),
            end: ticks(end),
            channels: builder.finish(),
            notes: notes.into_iter().collect(),
            simulated: Some(Simulated { board, names, clock: clock.collect(), tick, slack }),
        }
    }

    /// Other names of channels.
    pub fn name(&mut self, names: &[(String, String)]) {
        self.names = names.to_vec();
    }

    fn since_start(&self, at_ps: u64) -> u64 {
        at_ps.saturating_sub(self.start_ps)
    }

    fn note_slack(&mut self, from: u64, (sooner, later): (u64, u64)) {
        let base = *self.base.get_or_insert((sooner, later));
        let (mut sooner, later) = (sooner.saturating_sub(base.0), later.saturating_sub(base.1));
        let steps = &mut self.slack;
        // Slack may grow suddenly after a while. The earliest times must stay in order
        // nevertheless.
        let before = self.noted;
        self.noted = before.max(from);
        let last = steps.last().copied().unwrap_or_default();
        sooner = sooner.min(last.sooner + from.saturating_sub(before));
        match steps.last_mut() {
            Some(last) if (last.sooner, last.later) == (sooner, later) => {}
            Some(last) if last.from >= from => (last.sooner, last.later) = (sooner, later),
            None if (sooner, later) == (0, 0) => {}
            _ => steps.push(Slack { from, sooner, later }),
        }
    }

    fn set(&mut self, channel: usize, at: u64, level: bool) -> bool {
        let fits = at <= Edge::MAX_TICK
            && self.builder.set(channel, at, Level::of(level), || Place::File).is_ok();
        self.full |= !fits;
        if fits {
            self.last = self.last.max(at);
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_in_while_a_board_runs_is_a_capture() {
        let pins = [("PA0".to_owned(), false), ("PA1".to_owned(), true)];
        let mut recording = Recording::new("board", 125_000, &pins, 4);
        assert!(recording.edge(0, true, 250_000, (125_000, 125_000)));
        assert!(recording.edge(0, false, 625_000, (125_000, 375_000)));
        assert!(recording.slept((625_000, 750_000), (125_000, 375_000)));
        assert!(!recording.slept((875_000, 1_000_000), (125_000, 375_000)), "a fifth edge");
        let capture = recording.finish(2_000_000, &[(0, 8_000_000)]);
        let names = capture.channels.iter().map(|c| (c.name.as_str(), c.edges.len()));
        assert_eq!(names.collect::<Vec<_>>(), [("PA0", 2), ("PA1", 0), (AWAKE, 2)]);
        assert_eq!(capture.tick.hz(), Some(8_000_000));
        assert_eq!((capture.start, capture.end, capture.notes.len()), (1, 15, 1));
        let simulated = capture.simulated.unwrap();
        assert_eq!(simulated.bounds(1), (1, 1));
        assert_eq!(simulated.bounds(8), (8, 10));
    }

    #[test]
    fn slack_that_comes_late_turns_no_time_round() {
        let mut recording = Recording::new("board", 0, &[("PA0".to_owned(), false)], 4);
        assert!(recording.edge(0, true, 1_000_000, (0, 0)));
        assert!(recording.edge(0, false, 1_250_000, (500_000, 500_000)));
        assert!(recording.edge(0, true, 2_000_000, (500_000, 500_000)));
        let capture = recording.finish(2_000_000, &[(0, 8_000_000)]);
        assert_eq!([8, 10, 16].map(|at| capture.bounds(at)), [(8, 8), (8, 14), (12, 20)]);
    }

    #[test]
    fn every_cycle_is_a_whole_number_of_ticks() {
        let clock = [(0, 16_000_000), (1_000_000_000, 168_000_000)];
        let mut recording = Recording::new("board", 0, &[("PA0".to_owned(), false)], 4);
        // The edges of cycles 100 and 101 at 168 MHz, rounded down to picoseconds.
        assert!(recording.edge(0, true, 1_000_595_238, (0, 0)));
        assert!(recording.edge(0, false, 1_000_601_190, (0, 0)));
        let capture = recording.finish(2_000_000_000, &clock);
        assert_eq!(capture.tick.hz(), Some(336_000_000));
        let [up, down] = [0, 1].map(|n| capture.channels[0].edges[n].at());
        assert_eq!((up, down), (336_000 + 200, 336_000 + 202));
        let simulated = capture.simulated.unwrap();
        assert_eq!(simulated.cycles([(0, 336_000), (336_000, down)]), 16_000 + 101);
    }
}
